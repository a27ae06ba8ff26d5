//! Plot of a sweep: one number of every run, such as the mean of a series, against the values of one or two parameters.

mod chart;
mod choices;
mod export;
mod grid;
mod groups;
mod map;
mod runs;
mod toolbar;

use super::{View, ViewCtx, ViewDeclaration, compare::read::SeriesName, placeholder};
use crate::{
    app::{
        document::{layout::Page, library::Library},
        kit::{self, icons, pool::PoolJob, text},
    },
    engine::SimSchema,
    params::{ParamSpec, Scale, ValueType},
    project::Status,
};
use choices::Choices;
use egui::Ui;
use grid::Grid;
use groups::{RunGroup, SweptPaths};
use runs::{Part, SweptRun, TappedProbe};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// Maximum number of runs read in one job.
const AT_ONCE: usize = 16;

/// Maximum number of curves drawn, so that each has its own colour.
const MAX_CURVES: usize = 7;

/// Request to read a run: its folder, its number of steps, the series and the summarised part.
type Request = (PathBuf, u64, Option<TappedProbe>, Part);

#[derive(Default)]
pub struct SweepPlot {
    choices: Choices,
    /// Parameters of the last sweep that was applied to the choices.
    of_sweep: Vec<String>,
    /// Label of the chosen heat map, if there are several.
    among: String,
    read: BTreeMap<PathBuf, (Request, Result<SweptRun, String>)>,
    job: PoolJob<Vec<Request>, Vec<Result<SweptRun, String>>>,
    shown: Shown,
    is_stale: bool,
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
    specs: Vec<&'static ParamSpec>,
    /// Titles of all parameters of the runs, by path.
    titles: BTreeMap<String, String>,
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
        self.specs.get(axis).is_some_and(|spec| matches!(spec.kind, ValueType::Real | ValueType::Int))
    }

    /// Returns the title of a parameter; its path if no run has it.
    fn title_of(&self, path: &str) -> String {
        self.titles.get(path).map_or_else(|| path.to_owned(), Clone::clone)
    }

    fn has_map(&self) -> bool {
        self.paths.len() == 2
    }
}

impl SweepPlot {
    /// Takes the results of a reading job, and starts one for runs that were not yet read with the current choices.
    fn read_missing(&mut self, ctx: &egui::Context, library: &Library) {
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
        let request = |run: &crate::app::document::library::Run| {
            (run.folder.clone(), run.steps, self.choices.series.clone(), self.choices.part)
        };
        let missing = |request: &Request| self.read.get(&request.0).is_none_or(|(read, _)| read != request);
        let missing: Vec<Request> = complete().map(request).filter(missing).take(AT_ONCE).collect();
        if !missing.is_empty() && self.job.is_free(&missing) {
            let requests = missing.clone();
            self.job.start(ctx, missing, move || {
                let read = |(folder, _, wanted, part): &Request| {
                    runs::read(folder, wanted.as_ref(), *part).map_err(|e| e.to_string())
                };
                requests.iter().map(read).collect()
            });
        }
    }

    /// Computes the curves, or the cells of the heat map.
    fn update(&mut self) {
        let runs: Vec<SweptRun> = self.read.values().filter_map(|(_, run)| run.as_ref().ok().cloned()).collect();
        let swept = groups::swept(&runs);
        let paths = self.paths(&swept);
        let of_paths: Vec<&SweptRun> =
            runs.iter().filter(|run| paths.iter().all(|path| run.settings.contains_key(path))).collect();
        let offered = if paths.is_empty() { vec![] } else { offered(&of_paths) };
        let key = self.choices.series.clone().or_else(|| offered.first().map(|series| series.key.clone()));
        let (number, lane) = (self.choices.number, self.choices.lane);
        let has_series = |run: &SweptRun| run.key == key;
        let y = |run: &SweptRun| number.of(run, lane).filter(|_| has_series(run));
        let mut groups = if paths.is_empty() { vec![] } else { groups::groups(&runs, &paths, y) };
        let specs = of_paths.first().map_or(vec![], |run| paths.iter().map(|path| run.settings[path].spec).collect());
        let series = offered.iter().find(|series| Some(&series.key) == key.as_ref()).cloned();
        let largest = groups.first().map_or_else(String::new, |group| group.label.clone());
        let n_left_out = if paths.len() == 1 { groups.len().saturating_sub(MAX_CURVES) } else { 0 };
        groups.truncate(groups.len() - n_left_out);
        groups::sort_by_label(&mut groups);
        let labelled = |label: &str| groups.iter().position(|group| group.label == label);
        let map = labelled(&self.among).or_else(|| labelled(&largest)).unwrap_or(0);
        let grid = groups.get(map).filter(|_| paths.len() == 2).map_or_else(Grid::default, |g| Grid::of(&g.points));
        let titles = titles(&runs, &swept);
        self.shown = Shown { runs, swept, paths, specs, titles, series, offered, groups, map, grid, n_left_out };
    }

    /// Returns the parameters to draw: the chosen ones if runs differ in them, otherwise the proposed ones.
    fn paths(&self, swept: &[SweptPaths]) -> Vec<String> {
        let chosen = &self.choices.paths;
        let is_known = !chosen.is_empty() && (toolbar::has(swept, chosen) || self.of_sweep == *chosen);
        match is_known {
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

    /// Describes the values of the parameters: `4 values of LIF neuron › Reset potential`, and for a heat map also the
    /// number of values of the second one.
    fn values_summary(&self) -> String {
        let n = |axis| self.values(axis).map(|at| &*at.text).collect::<BTreeSet<_>>().len();
        let first = |title: String| format!("{} of {title}", text::plural(n(0), "value", "values"));
        match &self.shown.paths[..] {
            [path] => first(self.shown.title_of(path)),
            [x, y] => format!("{} × {} of {}", first(self.shown.title_of(x)), n(1), self.shown.title_of(y)),
            _ => String::new(),
        }
    }

    /// Describes the plot for screen readers.
    fn summary(&self) -> String {
        format!("{} against {}{}", self.title(), self.values_summary(), self.cells_summary())
    }

    /// Describes the cells of a heat map: ` | 11 of 12 combinations`; empty for curves.
    fn cells_summary(&self) -> String {
        match self.shown.has_map() {
            true => format!("  |  {} of {} combinations", self.shown.grid.n_filled(), self.shown.grid.cells.len()),
            false => String::new(),
        }
    }

    /// Returns the title of an axis: `Membrane time constant (ms)`.
    fn axis_title(&self, axis: usize) -> String {
        let Some(spec) = self.shown.specs.get(axis) else { return String::new() };
        let unit = spec.unit.suffix();
        if unit.is_empty() { spec.label().into_owned() } else { format!("{} ({unit})", spec.label()) }
    }

    /// Returns the title of the plot: `Mean of rate (Hz), last half of the steps`.
    fn title(&self) -> String {
        let (number, series) = (self.choices.number.name(), self.shown.series.as_ref());
        let mut title = format!("{}{} of ", number[..1].to_uppercase(), &number[1..]);
        title += series.map_or("", |series| &series.title);
        if let Some(lane) = series.and_then(|series| series.lanes.get(self.choices.lane)) {
            title += &format!(", {lane}");
        }
        match self.choices.part {
            Part::All => title,
            Part::Half => title + ", last half of the steps",
            Part::Tenth => title + ", last tenth of the steps",
        }
    }

    fn caption(&self, library: &Library) -> String {
        let is_drawn = |i: usize| !self.shown.has_map() || i == self.shown.map;
        let groups = || self.shown.groups.iter().enumerate().filter(|(i, _)| is_drawn(*i));
        let points = || groups().flat_map(|(_, group)| &group.points);
        let n_runs: usize = points().map(|point| point.runs.len()).sum();
        let mut caption = format!("{}{}", self.values_summary(), self.cells_summary());
        caption += &format!("  |  {}", text::plural(n_runs, "run", "runs"));
        if points().any(|point| point.runs.len() > 1) {
            caption += "  |  mean ± standard deviation over seeds";
        }
        let incomplete = library.runs.iter().filter(|run| run.problem.is_some() || run.status != Status::Complete);
        match incomplete.count() {
            0 => {}
            n => caption += &format!("  |  {} left out: not complete", text::plural(n, "run", "runs")),
        }
        if self.shown.n_left_out > 0 {
            caption += &format!("  |  {}", text::plural(self.shown.n_left_out, "more curve", "more curves"));
        }
        caption
    }

    fn empty_ui(&self, ui: &mut Ui, canvas: egui::Rect, ctx: &ViewCtx<'_>) {
        if self.job.is_busy() {
            placeholder::busy_ui(ui, canvas, ctx.tokens, "", None);
            return;
        }
        let (title, how) = if ctx.runs.sweeping.is_some() {
            ("No run of the sweep has ended", "Its points appear here, one after another")
        } else if !self.shown.swept.is_empty() {
            ("No points", "These runs did not record the series: choose another one")
        } else {
            let how = "Right-click a parameter in the inspector and choose Sweep…; runs that differ in one or two parameters are drawn here";
            ("No sweep", how)
        };
        kit::empty_ui(ui, canvas, ctx, title, how, None);
    }
}

/// Returns the titles of the swept parameters, by path.
fn titles(runs: &[SweptRun], swept: &[SweptPaths]) -> BTreeMap<String, String> {
    let title = |path: &String| runs.iter().find_map(|run| Some(run.settings.get(path)?.title.clone()));
    let paths = swept.iter().flat_map(|swept| &swept.paths);
    paths.filter_map(|path| Some((path.clone(), title(path)?))).collect()
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
         of a recorded series, over all steps or the last part of them. With the mean rate against the input it is an F-I curve.\n\n\
         Runs that differ in this parameter and the seed only are one curve, whether they come from *Sweep…* in the menu of a \
         parameter or from the command line. A point is the mean over seeds, its bar the standard deviation; small points are \
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
        if self.of_sweep != ctx.runs.swept {
            self.of_sweep.clone_from(&ctx.runs.swept);
            self.choices.paths.clone_from(&ctx.runs.swept);
            self.choices.is_log = [None; 2];
            self.is_stale = true;
        }
        self.read_missing(ui.ctx(), ctx.runs);
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
