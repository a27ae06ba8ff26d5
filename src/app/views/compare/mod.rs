//! Comparison of recorded runs: curves of one series of all selected runs and the current one, their statistics, and the
//! parameters by which the runs differ.

mod chart;
mod differences;
pub mod read;
mod table;

use super::{
    View, ViewCtx, ViewDeclaration, placeholder,
    plot::{
        samples::Samples,
        smooth::{self, Smooth},
    },
};
use crate::{
    app::{
        document::{
            features::{probes_where, tap},
            layout::Page,
            library::Library,
            selection::Selection,
            time::Timeline,
        },
        kit::{self, colors, icons, pool::PoolJob, text},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap, TimeBase},
};
use egui::{Color32, Rect, Ui, pos2};
use read::{RunSeries, SeriesName};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Name of a probe, and the arguments of its tap.
type ComparedProbe = (String, String);
/// Request to read a run: its folder, its number of steps, and the wanted series.
type Request = (PathBuf, u64, Option<ComparedProbe>);

#[derive(Default)]
pub struct Compare {
    /// Chosen series; `None`: the first series of the first run.
    wanted: Option<ComparedProbe>,
    lane: usize,
    /// Time constant of the smoothing, samples; 0: no smoothing.
    smooth_over: u32,
    hides_current: bool,
    read: BTreeMap<PathBuf, (Request, Result<Arc<RunSeries>, String>)>,
    job: PoolJob<Request, Result<RunSeries, String>>,
    smoothed: BTreeMap<PathBuf, Smooth>,
    /// Visible steps, in the time base of the first run; `None`: all.
    line: Option<Timeline>,
    /// Series of the current run, by probe.
    current: BTreeMap<ProbeId, Samples>,
    /// Whether runs were selected for comparison in the last frame.
    has_marks: bool,
}

/// Run that is a curve of the chart and a row of the table.
struct Line {
    name: String,
    color: Color32,
    /// Folder of the run; `None`: the current run.
    folder: Option<PathBuf>,
    series: Arc<RunSeries>,
    /// Reason why there is no curve; `None` if there is one.
    problem: Option<String>,
}

fn is_fixed(shape: &Shape) -> bool {
    matches!(shape, Shape::Series { of } if of.is_empty())
}

impl Compare {
    /// Takes the result of a reading job, and starts one for the next run that was not yet read.
    fn read_missing(&mut self, ctx: &egui::Context, library: &Library) {
        if let Some((request, result)) = self.job.poll() {
            self.smoothed.remove(&request.0);
            self.read.insert(request.0.clone(), (request, result.map(Arc::new)));
        }
        self.read.retain(|folder, _| library.compared.color(folder).is_some());
        let request = |run: &crate::app::document::library::Run| (run.folder.clone(), run.steps, self.wanted.clone());
        let missing = |request: &Request| self.read.get(&request.0).is_none_or(|(read, _)| read != request);
        let mut requests = library.compared_runs().into_iter().map(|(run, _)| request(run));
        if let Some(next) = requests.find(|r| missing(r) && self.job.is_free(r)) {
            let (folder, _, wanted) = next.clone();
            self.job.start(ctx, next, move || read::read(&folder, wanted.as_ref()).map_err(|e| e.to_string()));
        }
    }

    /// Returns the shown series: the chosen one, otherwise the first one of the first run with series. `None` until one is read.
    fn shown(&self, library: &Library) -> Option<ComparedProbe> {
        let of_run = |run: &crate::app::document::library::Run| self.read.get(&run.folder)?.1.as_ref().ok();
        let first = || library.compared_runs().into_iter().find_map(|(run, _)| of_run(run)?.offered.first());
        self.wanted.clone().or_else(|| first().map(|series| series.key.clone()))
    }

    /// Returns all series that the selected runs recorded, in their order.
    fn offered(&self, library: &Library) -> Vec<SeriesName> {
        let mut out: Vec<SeriesName> = vec![];
        for (run, _) in library.compared_runs() {
            let Some((_, Ok(series))) = self.read.get(&run.folder) else { continue };
            let new = series.offered.iter().filter(|new| out.iter().all(|known| known.key != new.key));
            out.extend(new.cloned().collect::<Vec<_>>());
        }
        out
    }

    /// Returns the probe of the current run that has the shown series; `None` if there is none or the tap has arguments.
    fn probe_of(&self, schema: &SimSchema, key: Option<&ComparedProbe>) -> Option<(ProbeId, &'static ProbeSpec)> {
        let (name, _) = key.filter(|(_, args)| args.is_empty())?;
        probes_where(schema, is_fixed).find(|(_, probe)| probe.name == *name)
    }

    /// Returns the runs in the order in which they were selected, then the current run.
    fn lines(&self, ctx: &ViewCtx<'_>, key: Option<&ComparedProbe>) -> Vec<Line> {
        let mut lines: Vec<Line> = vec![];
        for (run, color) in ctx.runs.compared_runs() {
            let (series, problem) = match self.read.get(&run.folder) {
                Some((_, Ok(series))) => (series.clone(), None),
                Some((_, Err(why))) => (Arc::default(), Some(why.clone())),
                None => (Arc::default(), Some("reading…".to_owned())),
            };
            let problem = problem.or_else(|| (series.samples.len() == 0).then(|| "not recorded".to_owned()));
            let color = colors::categorical(color, ctx.tokens);
            lines.push(Line { name: run.name.clone(), color, folder: Some(run.folder.clone()), series, problem });
        }
        let base = base_of(&lines);
        for line in lines.iter_mut().filter(|line| line.problem.is_none()) {
            if base.is_some_and(|base| base.plural() != line.series.base.plural()) {
                line.problem = Some(format!("its steps are {}", line.series.base.plural()));
            }
        }
        if let Some((id, _)) = self.probe_of(ctx.schema, key).filter(|_| self.shows_current(ctx))
            && let Some(samples) = self.current.get(&id).filter(|samples| samples.len() > 0)
        {
            let samples = samples.clone();
            let steps = (0, ctx.clock.step);
            let series = Arc::new(RunSeries { base: ctx.clock.base, steps, samples, ..RunSeries::default() });
            let color = ctx.tokens.text_strong;
            lines.push(Line { name: "Current run".into(), color, folder: None, series, problem: None });
        }
        lines
    }

    /// Whether the current run is drawn. It is not during playback, because it is then one of the recorded runs.
    fn shows_current(&self, ctx: &ViewCtx<'_>) -> bool {
        !self.hides_current && !ctx.time.axis.is_recorded
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, offered: &[SeriesName], shown: Option<&ComparedProbe>) {
        let Some(key) = shown else { return };
        let mut chosen = key.clone();
        let names: Vec<_> = offered.iter().map(|series| (series.key.clone(), series.title.clone())).collect();
        if kit::choice_ui(ui, ctx.tokens, "Series", &mut chosen, &names) {
            (self.wanted, self.lane) = (Some(chosen), 0);
        }
        let lanes = offered.iter().find(|series| series.key == *key).map_or(&[][..], |series| &series.lanes);
        if !lanes.is_empty() {
            let names: Vec<_> = lanes.iter().cloned().enumerate().collect();
            kit::choice_ui(ui, ctx.tokens, "Curve", &mut self.lane, &names);
        }
        let name =
            |n: u32| if n == 0 { "none".to_owned() } else { format!("over {}", kit::counted(n.into(), "samples")) };
        kit::choice_ui(ui, ctx.tokens, "Smooth", &mut self.smooth_over, &smooth::CHOICES.map(|n| (n, name(n))));
        if !ctx.time.axis.is_recorded && self.probe_of(ctx.schema, shown).is_some() {
            let mut on = !self.hides_current;
            let text = egui::RichText::new("Current run").small();
            ui.toggle_value(&mut on, text).on_hover_text("Draws the run in the window, too");
            self.hides_current = !on;
        }
        if ui.add_enabled(self.line.is_some(), egui::Button::new("Fit")).on_hover_text("Shows all steps").clicked() {
            self.line = None;
        }
    }

    fn caption(&self, lines: &[Line], n_marked: usize) -> String {
        let drawn: Vec<&Line> = lines.iter().filter(|line| line.problem.is_none()).collect();
        let n_samples = |line: &&Line| line.series.samples.len() as u64 + line.series.samples.dropped();
        let samples: u64 = drawn.iter().map(n_samples).sum();
        let n = drawn.iter().filter(|line| line.folder.is_some()).count();
        let mut text =
            format!("{n} of {}  |  {}", text::plural(n_marked, "run", "runs"), kit::counted(samples, "samples"));
        text += "  |  minimum to maximum per pixel";
        if self.smooth_over > 0 {
            text += &format!("  |  exponential moving average over {} samples, raw data faint", self.smooth_over);
        }
        text
    }
}

/// Returns the time base of the first curve; `None` without curves.
fn base_of(lines: &[Line]) -> Option<TimeBase> {
    lines.iter().find(|line| line.problem.is_none()).map(|line| line.series.base)
}

impl Compare {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "compare",
        title: "Compare runs",
        icon: icons::WAVE,
        help: "# Compare runs\n\nDraws one recorded series of all runs that are marked in the table of runs, and of the \
         run in the \
         window. Below: its last, lowest and highest value in each run, the difference of the last one to the first run, \
         and the parameters whose values differ. While the pointer is in the chart, values are those of its step.\n\n\
         - in the table of runs, click: one run · Ctrl+click: add or remove one · Shift+click: add all between\n\
         - drag: move · wheel: zoom · double-click: all steps\n- *Smooth* draws an exponential moving average over the raw curve",
        gestures: &[("drag", "move"), ("wheel", "zoom"), ("double-click", "fit"), ("hover", "values at a step")],
        pages: &[Page::Runs],
        fits: |_| true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Compare {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let wanted = self.wanted.as_ref().filter(|_| self.has_marks && !self.hides_current);
        self.probe_of(schema, wanted).map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.current.clear();
    }

    fn schema_changed(&mut self, _: &SimSchema, changes: &SchemaChanges) {
        self.current.retain(|id, _| !changes.probes.contains(id));
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        for (id, _) in probes_where(schema, is_fixed) {
            if let Some(Reading::Series(series)) = frame.reading(id) {
                self.current.entry(id).or_default().push(series.lanes as usize, &series.steps, &series.values);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.read_missing(ui.ctx(), ctx.runs);
        let n_marked = ctx.runs.compared_runs().len();
        self.has_marks = n_marked > 0;
        let key = self.shown(ctx.runs);
        let (offered, lines) = (self.offered(ctx.runs), self.lines(ctx, key.as_ref()));
        let caption = self.caption(&lines, n_marked);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            self.toolbar_ui(ui, ctx, &offered, key.as_ref());
        });
        if n_marked == 0 {
            let how = "Click a run in the table; Ctrl+click or Shift+click adds more";
            kit::empty_ui(ui, canvas, ctx, "No run selected", how, None);
            return;
        }
        if key.is_none() {
            if self.job.is_busy() {
                placeholder::busy_ui(ui, canvas, ctx.tokens, "", None);
                return;
            }
            let problem = lines.iter().find_map(|line| line.problem.clone()).filter(|why| why != "not recorded");
            let how = problem.unwrap_or_else(|| "These runs recorded no series: switch one on under Probes".into());
            kit::empty_ui(ui, canvas, ctx, "No curves", &how, None);
            return;
        }
        if self.wanted.is_none() {
            self.wanted.clone_from(&key);
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let title = offered.iter().find(|series| Some(&series.key) == key.as_ref()).map_or("", |series| &*series.title);
        let split = (canvas.bottom() - table::height(lines.len())).max(canvas.center().y);
        let area = Rect::from_min_max(canvas.min, pos2(canvas.right(), split));
        let pointer = self.chart_ui(ui, area, ctx, &lines, title);
        self.table_ui(ui, Rect::from_min_max(area.left_bottom(), canvas.max), ctx, &lines, pointer);
    }
}
