//! Plot of a sweep: one number of every run, such as the mean of a series, against the values of one or two parameters.

mod chart;
mod choices;
mod export;
mod grid;
mod groups;
mod map;
mod runs;
mod sweeps;
mod text;
mod toolbar;

use super::{
    View, ViewCtx, ViewDeclaration,
    compare::{group_rate, read::SeriesName},
    placeholder,
};
use crate::{
    app::{
        document::{layout::Page, library::Library},
        kit::{self, icons, pool::PoolJob},
    },
    engine::SimSchema,
    kinds::Model,
    params::{ParamSpec, Scale, ValueType},
    project::Status,
    query::Named,
};
use choices::{Choices, Number};
use egui::Ui;
use grid::Grid;
use groups::{RunGroup, SweptPaths};
use runs::{Part, SweptRun, TappedProbe};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Maximum number of runs read in one job.
const AT_ONCE: usize = 16;

/// Maximum number of curves drawn, so that each has its own colour.
const MAX_CURVES: usize = 7;

/// Request to read a run: its folder, its number of steps, the series, the summarised part, and the definitions of the named
/// groups.
type Request = (PathBuf, u64, Option<TappedProbe>, Part, u64);

#[derive(Default)]
pub struct SweepPlot {
    choices: Choices,
    /// Newest sweep in the last frame.
    newest: String,
    /// Label of the chosen heat map, if there are several.
    among: String,
    read: BTreeMap<PathBuf, (Request, Result<SweptRun, String>)>,
    job: PoolJob<Vec<Request>, Vec<Result<SweptRun, String>>>,
    shown: Shown,
    is_stale: bool,
}

/// Names of a parameter in the plot.
struct ShownName {
    /// Label of axes and values: `Reset potential`; the title if another parameter has the same label.
    label: String,
    /// Title with the group: `LIF neuron › Reset potential`.
    title: String,
}

/// Drawn data, computed if the runs or the choices have changed.
#[derive(Default)]
struct Shown {
    /// Runs that were read without an error.
    runs: Vec<SweptRun>,
    /// Parameters, and pairs of parameters, that can be chosen.
    swept: Vec<SweptPaths>,
    /// Parameters of the axes: one or two.
    paths: Vec<String>,
    specs: Vec<ParamSpec>,
    /// Labels and titles of all parameters that can be chosen, by path.
    names: BTreeMap<String, ShownName>,
    /// Statistic that represents a run.
    number: Number,
    series: Option<SeriesName>,
    offered: Vec<SeriesName>,
    /// Runs grouped to curves, or to heat maps.
    groups: Vec<RunGroup>,
    /// Index of the drawn heat map in `groups`. `grid` is its cells.
    map: usize,
    grid: Grid,
    /// Number of curves that are not drawn.
    n_left_out: usize,
}

impl Shown {
    /// Whether the values of the parameter of an axis are numbers.
    fn is_numeric(&self, axis: usize) -> bool {
        self.specs
            .get(axis)
            .is_some_and(|spec| matches!(spec.kind, ValueType::Real | ValueType::Int | ValueType::Distribution))
    }

    fn has_map(&self) -> bool {
        self.paths.len() == 2
    }

    /// Returns the short label of a parameter; its path if no run has it.
    fn label<'a>(&'a self, path: &'a str) -> &'a str {
        self.names.get(path).map_or(path, |name| &name.label)
    }

    /// Returns the title of a parameter with its group; its path if no run has it.
    fn title<'a>(&'a self, path: &'a str) -> &'a str {
        self.names.get(path).map_or(path, |name| &name.title)
    }
}

impl SweepPlot {
    /// Takes the results of a reading job, and starts one for runs that were not yet read with the current choices.
    fn read_missing(&mut self, ctx: &egui::Context, library: &Library, named: &Arc<[Named]>) {
        if let Some((requests, results)) = self.job.poll() {
            for (request, result) in requests.into_iter().zip(results) {
                self.read.insert(request.0.clone(), (request, result));
            }
            self.is_stale = true;
        }
        let complete = || library.runs.iter().filter(|run| run.problem.is_none() && run.status == Status::Complete);
        let n = self.read.len();
        self.read.retain(|folder, _| complete().any(|run| run.folder == *folder));
        self.is_stale |= self.read.len() != n;
        let groups = library.groups.of(named);
        let generation = groups.generation(self.choices.series.as_ref().is_some_and(group_rate::is_group));
        let request = |run: &crate::app::document::library::Run| {
            (run.folder.clone(), run.steps, self.choices.series.clone(), self.choices.part, generation)
        };
        let missing = |request: &Request| self.read.get(&request.0).is_none_or(|(read, _)| read != request);
        let included = complete().filter(|run| self.choices.includes(&run.sweep, &self.newest));
        let missing: Vec<Request> = included.map(request).filter(missing).take(AT_ONCE).collect();
        if !missing.is_empty() && self.job.is_free(&missing) {
            let requests = missing.clone();
            self.job.start(ctx, missing, move || {
                let read = |(folder, _, wanted, part, _): &Request| {
                    runs::read(folder, wanted.as_ref(), *part, &groups).map_err(|e| e.to_string())
                };
                requests.iter().map(read).collect()
            });
        }
    }

    /// Computes the curves, or the cells of the heat map.
    fn update(&mut self) {
        let read = self.read.values().filter_map(|(_, run)| run.as_ref().ok());
        let runs: Vec<SweptRun> = read.filter(|run| self.choices.includes(&run.sweep, &self.newest)).cloned().collect();
        let swept = groups::swept(&runs);
        let paths = self.paths(&swept);
        let of_paths: Vec<&SweptRun> =
            runs.iter().filter(|run| paths.iter().all(|path| run.settings.contains_key(path))).collect();
        let offered = if paths.is_empty() { vec![] } else { offered(&of_paths) };
        let key = self.choices.series.clone().or_else(|| offered.first().map(|series| series.key.clone()));
        let (number, lane) = (self.number(&of_paths, key.as_ref()), self.choices.lane);
        let has_series = |run: &SweptRun| run.key == key;
        let y = |run: &SweptRun| number.of(run, lane).filter(|_| has_series(run));
        let mut groups = if paths.is_empty() { vec![] } else { groups::groups(&runs, &paths, y) };
        let specs = of_paths.first().map_or(vec![], |run| paths.iter().map(|path| run.settings[path].spec).collect());
        let series = offered.iter().find(|series| Some(&series.key) == key.as_ref()).cloned();
        let names = names(&runs, swept.iter().flat_map(|swept| &swept.paths).chain(&paths));
        let largest = groups.first().map_or_else(String::new, |group| group.label.clone());
        let n_left_out = if paths.len() == 1 { groups.len().saturating_sub(MAX_CURVES) } else { 0 };
        groups.truncate(groups.len() - n_left_out);
        groups::sort_by_label(&mut groups);
        let labelled = |label: &str| groups.iter().position(|group| group.label == label);
        let map = labelled(&self.among).or_else(|| labelled(&largest)).unwrap_or(0);
        let grid = groups.get(map).filter(|_| paths.len() == 2).map_or_else(Grid::default, |g| Grid::of(&g.points));
        self.shown = Shown { runs, swept, paths, specs, names, number, series, offered, groups, map, grid, n_left_out };
    }

    /// Returns the statistic that represents a run: the chosen one, otherwise the last value of the kind's result, otherwise
    /// the mean.
    fn number(&self, runs: &[&SweptRun], key: Option<&TappedProbe>) -> Number {
        let result = runs.first().and_then(|run| Model::by_name(&run.kind)?.result_probe());
        let is_result = key.is_some_and(|(probe, _)| Some(probe.as_str()) == result);
        self.choices.number.unwrap_or(if is_result { Number::Last } else { Number::Mean })
    }

    /// Returns the parameters to draw: the chosen ones if runs differ in them, otherwise the proposed ones.
    fn paths(&self, swept: &[SweptPaths]) -> Vec<String> {
        let chosen = &self.choices.paths;
        match !chosen.is_empty() && toolbar::has(swept, chosen) {
            true => chosen.clone(),
            false => groups::proposed(swept).map_or(vec![], |swept| swept.paths.clone()),
        }
    }

    fn is_numeric(&self, axis: usize) -> bool {
        self.shown.is_numeric(axis)
    }

    fn is_log(&self, axis: usize) -> bool {
        let declared = self.shown.specs.get(axis).is_some_and(|spec| spec.scale == Scale::Log);
        self.choices.is_log[axis].unwrap_or(declared) && self.values(axis).all(|at| at.x > 0.0)
    }

    /// Iterates over the values of a parameter at all drawn points.
    fn values(&self, axis: usize) -> impl Iterator<Item = &groups::Coordinate> {
        let is_drawn = |i: &usize| !self.shown.has_map() || *i == self.shown.map;
        let drawn = self.shown.groups.iter().enumerate().filter(move |(i, _)| is_drawn(i));
        drawn.flat_map(|(_, group)| &group.points).filter_map(move |point| point.at.get(axis))
    }

    fn empty_ui(&self, ui: &mut Ui, canvas: egui::Rect, ctx: &ViewCtx<'_>) {
        if self.job.is_busy() {
            placeholder::busy_ui(ui, canvas, ctx.tokens, "", None);
            return;
        }
        let unread = self.shown.runs.iter().find_map(|run| run.problem.as_deref());
        let (title, how) = if let Some(why) = unread {
            ("No points", why)
        } else if !self.shown.swept.is_empty() {
            ("No points", "These runs did not record the series: choose another one")
        } else {
            let how = "Runs that differ in one or two parameters are drawn here; Vary… in the menu of a parameter runs several values as an experiment";
            ("No sweep", how)
        };
        kit::empty_ui(ui, canvas, ctx, title, how, None);
    }
}

/// Returns the names of parameters by path. Of equal labels, each is the title.
fn names<'a>(runs: &[SweptRun], paths: impl Iterator<Item = &'a String>) -> BTreeMap<String, ShownName> {
    let name = |path: &String| {
        let setting = runs.iter().find_map(|run| run.settings.get(path))?;
        Some((path.clone(), ShownName { label: setting.label.clone(), title: setting.title.clone() }))
    };
    let mut out: BTreeMap<String, ShownName> = paths.filter_map(name).collect();
    let all: Vec<String> = out.values().map(|name| name.label.clone()).collect();
    for name in out.values_mut() {
        if all.iter().filter(|other| **other == name.label).count() > 1 {
            name.label = name.title.clone();
        }
    }
    out
}

/// Returns all series that these runs recorded.
fn offered(runs: &[&SweptRun]) -> Vec<SeriesName> {
    let mut out: Vec<SeriesName> = vec![];
    for series in runs.iter().flat_map(|run| &run.offered) {
        if out.iter().all(|known| known.key != series.key) {
            out.push(series.clone());
        }
    }
    out
}

impl SweepPlot {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "sweep",
        title: "Sweep",
        icon: icons::DISTRIBUTION,
        help: "# Sweep\n\nOne number of every finished run against the value of a parameter: the mean, last, lowest or \
         highest value \
         of a recorded series, or of the rate of a named group of the project, over all steps or the last part of them. With the \
         mean rate against the input it is an F-I curve. For models that train it is the last held-out loss.\n\n\
         *Newest sweep* opens the list of sweeps, with their dates and parameters: tick those whose runs are drawn together.\n\n\
         Runs that differ in this parameter and the seed only are one curve, whether they were recorded here, with `neuropil \
         run --sweep`, or as trials of an experiment (click a condition there). A point is the mean over seeds, its bar the standard deviation; small points are \
         single runs. Of two runs with the same values and the same seed the newest counts; interrupted runs are left out.\n\n\
         Runs that differ in two parameters are a heat map, a cell per combination of values: its colour is the mean over seeds. \
         A combination without a run is crossed out, and the line above counts them. *Second* set to none draws a curve per value \
         instead.\n\n\
         - hover: values, mean and standard deviation · click: the runs of this point or cell are compared\n\
         - an axis is logarithmic where its parameter is; *log* changes it\n\
         - *Export*: numbers of all runs as CSV, or the picture as PNG or SVG",
        gestures: &[("hover", "values and runs"), ("click", "compare these runs")],
        pages: &[Page::Runs],
        fits: |_| true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for SweepPlot {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn choice(&self) -> Option<String> {
        self.choices.to_text()
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        (self.choices, self.is_stale) = (Choices::from_text(text), true);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        if self.newest != ctx.runs.newest_sweep() {
            ctx.runs.newest_sweep().clone_into(&mut self.newest);
            self.is_stale = true;
        }
        self.read_missing(ui.ctx(), ctx.runs, &ctx.features.named);
        if std::mem::take(&mut self.is_stale) {
            self.update();
        }
        let caption = if self.shown.groups.is_empty() { String::new() } else { self.caption(ctx.runs) };
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        if self.shown.groups.is_empty() {
            return self.empty_ui(ui, canvas, ctx);
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
        } else if self.shown.has_map() {
            self.map_ui(ui, canvas, ctx);
        } else {
            self.chart_ui(ui, canvas, ctx);
        }
    }
}
