//! The result of a sweep: one number of every run, such as the mean of a series, against the value of a parameter.

mod chart;
mod curves;
mod export;
mod runs;

use super::{Selection, View, ViewCtx, ViewRequest, compare::read::SeriesName, kit, placeholder, pool::PoolJob};
use crate::{
    app::{commands::UiCommand, icons, library::Library, text},
    engine::SimSchema,
    params::{ParamSpec, Scale},
    project::Status,
    sim::{Frame, Tap},
};
use curves::Curve;
use egui::Ui;
use runs::{Key, Part, SweptRun};
use std::{collections::BTreeMap, path::PathBuf};

/// Runs read in one job.
const AT_ONCE: usize = 16;

/// Curves drawn at most: each has a colour of its own.
const MAX_CURVES: usize = 7;

/// A number of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Number {
    #[default]
    Mean,
    Last,
    Lowest,
    Highest,
}

impl Number {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Mean, "mean"), (Self::Last, "last"), (Self::Lowest, "lowest"), (Self::Highest, "highest")];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(number, _)| *number == self).map_or("", |(_, name)| name)
    }

    /// Of a lane of a run; `None` where the run has no samples of it.
    fn of(self, run: &SweptRun, lane: usize) -> Option<f64> {
        let summary = run.lanes.get(lane).filter(|summary| summary.n > 0)?;
        let value = match self {
            Self::Mean => summary.mean(),
            Self::Last => summary.last,
            Self::Lowest => summary.min,
            Self::Highest => summary.max,
        };
        Some(f64::from(value))
    }
}

/// What is read of a run: its folder with its number of steps, the series, and the part of it.
type Request = (PathBuf, u64, Option<Key>, Part);

/// The view.
#[derive(Default)]
pub struct SweepPlot {
    /// The parameter; none: that of the last sweep, or the one with the most runs.
    path: Option<String>,
    /// The last sweep whose parameter was taken over.
    of_sweep: Option<String>,
    wanted: Option<Key>,
    lane: usize,
    number: Number,
    part: Part,
    /// Whether the axis of the parameter is logarithmic; none: as it is declared.
    is_log: Option<bool>,
    read: BTreeMap<PathBuf, (Request, Result<SweptRun, String>)>,
    job: PoolJob<Vec<Request>, Vec<Result<SweptRun, String>>>,
    shown: Shown,
    is_stale: bool,
}

/// What is drawn, computed when the runs or the choices change.
#[derive(Default)]
struct Shown {
    runs: Vec<SweptRun>,
    /// The parameters that can be chosen, with the number of their runs.
    swept: Vec<(String, usize)>,
    path: String,
    spec: Option<&'static ParamSpec>,
    series: Option<SeriesName>,
    offered: Vec<SeriesName>,
    curves: Vec<Curve>,
    /// Curves that are not drawn.
    n_left_out: usize,
}

impl SweepPlot {
    /// Reads runs that were not read yet.
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
        let request = |run: &crate::app::library::Run| (run.folder.clone(), run.steps, self.wanted.clone(), self.part);
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

    /// Computes the curves.
    fn update(&mut self) {
        let runs: Vec<SweptRun> = self.read.values().filter_map(|(_, run)| run.as_ref().ok().cloned()).collect();
        let swept = curves::swept(&runs);
        let known =
            |path: &&String| swept.iter().any(|(name, _)| name == *path) || self.of_sweep.as_ref() == Some(*path);
        let path =
            self.path.as_ref().filter(known).or(swept.first().map(|(path, _)| path)).cloned().unwrap_or_default();
        let of_path = runs.iter().filter_map(|run| Some((run, run.settings.get(&path)?)));
        let mut offered: Vec<SeriesName> = vec![];
        for series in of_path.clone().flat_map(|(run, _)| &run.offered) {
            if offered.iter().all(|known| known.key != series.key) {
                offered.push(series.clone());
            }
        }
        let key = self.wanted.clone().or_else(|| offered.first().map(|series| series.key.clone()));
        let (number, lane) = (self.number, self.lane);
        let has_series = |run: &SweptRun| run.key == key;
        let mut all = curves::curves(&runs, &path, |run| number.of(run, lane).filter(|_| has_series(run)));
        let n_left_out = all.len().saturating_sub(MAX_CURVES);
        all.truncate(MAX_CURVES);
        let spec = of_path.clone().next().map(|(_, setting)| setting.spec);
        let series = offered.iter().find(|series| Some(&series.key) == key.as_ref()).cloned();
        self.shown = Shown { swept, path, spec, series, offered, curves: all, n_left_out, runs };
    }

    fn is_log(&self) -> bool {
        let positive = |curve: &Curve| curve.points.iter().all(|point| point.x > 0.0);
        let declared = self.shown.spec.is_some_and(|spec| spec.scale == Scale::Log);
        self.is_log.unwrap_or(declared) && self.shown.curves.iter().all(positive)
    }

    /// `Mean of rate (Hz), last half of the steps`.
    fn title(&self) -> String {
        let (number, series) = (self.number.name(), self.shown.series.as_ref());
        let mut title = format!("{}{} of ", number[..1].to_uppercase(), &number[1..]);
        title += series.map_or("", |series| &series.title);
        if let Some(lane) = series.and_then(|series| series.lanes.get(self.lane)) {
            title += &format!(", {}", kit::spaced(lane));
        }
        match self.part {
            Part::All => title,
            Part::Half => title + ", last half of the steps",
            Part::Tenth => title + ", last tenth of the steps",
        }
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        if self.shown.curves.is_empty() && self.shown.swept.is_empty() {
            return;
        }
        let tokens = ctx.tokens;
        let mut path = self.shown.path.clone();
        let names: Vec<_> = self.shown.swept.iter().map(|(path, _)| (path.clone(), path.clone())).collect();
        self.is_stale |= kit::choice_ui(ui, tokens, "Parameter", &mut path, &names);
        if path != self.shown.path {
            (self.path, self.is_log) = (Some(path), None);
        }
        if let Some(series) = self.shown.series.clone() {
            let mut key = series.key.clone();
            let names: Vec<_> = self.shown.offered.iter().map(|s| (s.key.clone(), s.title.clone())).collect();
            if kit::choice_ui(ui, tokens, "Series", &mut key, &names) {
                (self.wanted, self.lane, self.is_stale) = (Some(key), 0, true);
            }
            if !series.lanes.is_empty() {
                let names: Vec<_> = series.lanes.iter().map(|lane| kit::spaced(lane)).enumerate().collect();
                self.is_stale |= kit::choice_ui(ui, tokens, "Lane", &mut self.lane, &names);
            }
        }
        let named = |list: &[(Number, &str)]| list.iter().map(|(n, name)| (*n, (*name).to_owned())).collect::<Vec<_>>();
        self.is_stale |= kit::choice_ui(ui, tokens, "Number", &mut self.number, &named(&Number::ALL));
        let parts = Part::ALL.map(|(part, name)| (part, name.to_owned()));
        self.is_stale |= kit::choice_ui(ui, tokens, "Over", &mut self.part, &parts);
        if chart::is_numeric(self.shown.spec) {
            let mut is_log = self.is_log();
            let toggle = ui.toggle_value(&mut is_log, "log").on_hover_text("Logarithmic axis of the parameter");
            if toggle.changed() {
                self.is_log = Some(is_log);
            }
        }
        ui.menu_button("Export", |ui| self.export_ui(ui, ctx))
            .response
            .on_hover_text("The numbers of all runs, or the picture");
    }

    fn export_ui(&self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let name = format!("sweep-{}.csv", self.shown.path.rsplit('.').next().unwrap_or_default());
        if ui.button("Copy as CSV").clicked() {
            ui.copy_text(export::csv(&self.shown, self.lane));
            ui.close();
        }
        if ui.button("Save as CSV…").clicked() {
            let text = export::csv(&self.shown, self.lane);
            ctx.requests.push(ViewRequest::SaveText { name, text });
            ui.close();
        }
        if ui.button("Figure…").on_hover_text("PNG or SVG").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::ExportPanel));
            ui.close();
        }
    }

    fn caption(&self, library: &Library) -> String {
        let points = || self.shown.curves.iter().flat_map(|curve| &curve.points);
        let n_runs: usize = points().map(|point| point.runs.len()).sum();
        let mut caption = format!("{} of {}", self.n_values(), self.shown.path);
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
            let how = "Right-click a parameter in the inspector and choose Sweep…; runs that differ in one parameter only are drawn here";
            ("No sweep", how)
        };
        kit::empty_ui(ui, canvas, ctx, title, how, None);
    }
}

impl View for SweepPlot {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn title(&self, _: &SimSchema) -> String {
        "Sweep".into()
    }

    fn taps(&self, _: &SimSchema, _: &Selection) -> Vec<Tap> {
        vec![]
    }

    fn reset(&mut self, _: &SimSchema) {}

    fn schema_changed(&mut self, _: &SimSchema, _: &crate::engine::SchemaChanges) {}

    fn absorb(&mut self, _: &SimSchema, _: &Frame) {}

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        if self.of_sweep != ctx.runs.swept {
            self.of_sweep.clone_from(&ctx.runs.swept);
            self.path.clone_from(&ctx.runs.swept);
            self.is_stale = true;
        }
        self.read_missing(ui.ctx(), ctx.runs);
        if std::mem::take(&mut self.is_stale) {
            self.update();
        }
        let caption = if self.shown.curves.is_empty() { String::new() } else { self.caption(ctx.runs) };
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        if self.shown.curves.is_empty() {
            return self.empty_ui(ui, canvas, ctx);
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if !kit::tiny_ui(ui, canvas, ctx.tokens) {
            self.chart_ui(ui, canvas, ctx);
        }
    }

    fn icon(&self) -> &'static str {
        icons::DISTRIBUTION
    }

    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[("hover", "the runs of a point"), ("click", "compare these runs")]
    }

    fn help(&self) -> &'static str {
        "# Sweep\n\nOne number of every finished run against the value of a parameter: the mean, last, lowest or highest value \
         of a recorded series, over all steps or the last part of them. With the mean rate against the input it is an F-I curve.\n\n\
         Runs that differ in this parameter and the seed only are one curve, whether they come from *Sweep…* in the menu of a \
         parameter or from the command line. A point is the mean over seeds, its bar the standard deviation; small points are \
         single runs. Of two runs with the same values and the same seed the newest counts; interrupted runs are left out.\n\n\
         - hover: value, number of seeds · click: the runs of this point are compared\n\
         - the axis is logarithmic where the parameter is; *log* changes it\n\
         - *Export*: numbers of all runs as CSV, or the picture as PNG or SVG"
    }
}
