//! Comparison of recorded runs: curves of one series of all selected runs and the current one, their statistics, and the
//! parameters by which the runs differ.

mod chart;
mod differences;
pub mod group_rate;
pub mod read;
mod table;

use super::{
    View, ViewCtx, ViewDeclaration, placeholder,
    plot::{
        axes_choice::{AxesChoice, AxesOffer, XAxis, title_in},
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
            time::{StepScale, Timeline},
        },
        kit::{
            self, colors, icons,
            legend::{LegendEntry, figure_legend},
            pool::PoolJob,
            text,
        },
    },
    engine::{SchemaChanges, SimSchema},
    query::Named,
    sim::{Frame, ProbeId, ProbeSpec, Reading, SeriesUnit, Shape, Tap, TimeBase},
};
use egui::{Color32, Rect, Ui, pos2, vec2};
use group_rate::CountedGroup;
use read::{RunSeries, SeriesName};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Name of a probe, and the arguments of its tap.
type ComparedProbe = (String, String);
/// Request to read a run: its folder, its number of steps, the wanted series, and the definitions of the named groups.
type Request = (PathBuf, u64, Option<ComparedProbe>, u64);

#[derive(Default)]
pub struct Compare {
    /// Chosen series; `None`: the first series of the first run.
    wanted: Option<ComparedProbe>,
    lane: usize,
    /// Time constant of the smoothing, samples; 0: no smoothing.
    smooth_over: u32,
    hides_current: bool,
    axes: AxesChoice,
    read: BTreeMap<PathBuf, (Request, Result<Arc<RunSeries>, String>)>,
    job: PoolJob<Request, Result<RunSeries, String>>,
    smoothed: BTreeMap<PathBuf, Smooth>,
    /// Visible steps of the first run; `None`: all.
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
    /// Quantity of the horizontal axis by step; `None`: simulated time or steps.
    scale: Option<StepScale>,
    /// Reason why there is no curve; `None` if there is one.
    problem: Option<String>,
}

fn is_fixed(shape: &Shape) -> bool {
    matches!(shape, Shape::Series { of } if of.is_empty())
}

impl Compare {
    /// Takes the result of a reading job, and starts one for the next run that was not yet read.
    fn read_missing(&mut self, ctx: &egui::Context, library: &Library, named: &Arc<[Named]>) {
        if let Some((request, result)) = self.job.poll() {
            self.smoothed.remove(&request.0);
            self.read.insert(request.0.clone(), (request, result.map(Arc::new)));
        }
        self.read.retain(|folder, _| library.compared.color(folder).is_some());
        let groups = library.groups.of(named);
        let generation = groups.generation(self.wanted.as_ref().is_some_and(group_rate::is_group));
        let request =
            |run: &crate::app::document::library::Run| (run.folder.clone(), run.steps, self.wanted.clone(), generation);
        let missing = |request: &Request| self.read.get(&request.0).is_none_or(|(read, _)| read != request);
        let mut requests = library.compared_runs().into_iter().map(|(run, _)| request(run));
        if let Some(next) = requests.find(|r| missing(r) && self.job.is_free(r)) {
            let (folder, _, wanted, _) = next.clone();
            let read = move || read::read(&folder, wanted.as_ref(), &groups).map_err(|e| e.to_string());
            self.job.start(ctx, next, read);
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
            let n = |group: &CountedGroup| format!(" (n = {})", kit::thousands(group.n.into()));
            let n = series.group.as_ref().map_or_else(String::new, n);
            lines.push(Line {
                name: format!("{}{n}", run.name),
                color,
                folder: Some(run.folder.clone()),
                series,
                scale: None,
                problem,
            });
        }
        let base = base_of(&lines);
        for line in lines.iter_mut().filter(|line| line.problem.is_none()) {
            line.scale = self.axes.x.scale(&line.series.levels, &line.series.wall_clock);
            line.problem = match (self.axes.x, &line.scale) {
                (XAxis::Steps, _) if base.is_some_and(|base| base.plural() != line.series.base.plural()) => {
                    Some(format!("its steps are {}", line.series.base.plural()))
                }
                (XAxis::Items, None) => Some("its items per step were not recorded".to_owned()),
                (XAxis::WallTime, None) => Some("its wall time was not recorded".to_owned()),
                _ => None,
            };
        }
        if let Some((id, _)) = self.probe_of(ctx.schema, key).filter(|_| self.shows_current(ctx))
            && let Some(samples) = self.current.get(&id).filter(|samples| samples.len() > 0)
        {
            let samples = samples.clone();
            let steps = (0, ctx.clock.step);
            let (levels, wall_clock) = (ctx.schema.levels(id).to_vec(), ctx.time.past.wall_clock().clone());
            let scale = self.axes.x.scale(&levels, &wall_clock);
            let base = ctx.clock.base;
            let series = RunSeries { base, steps, samples, levels, wall_clock, ..RunSeries::default() };
            let (name, color) = ("Current run".to_owned(), ctx.tokens.text_strong);
            let problem = (self.axes.x != XAxis::Steps && scale.is_none()).then(|| "no such axis".to_owned());
            lines.push(Line { name, color, folder: None, series: Arc::new(series), scale, problem });
        }
        lines
    }

    /// Whether the current run is drawn. It is not during playback, because it is then one of the recorded runs.
    fn shows_current(&self, ctx: &ViewCtx<'_>) -> bool {
        !self.hides_current && !ctx.time.axis.is_recorded
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, offered: &[SeriesName], lines: &[Line]) {
        let key = self.shown(ctx.runs);
        let Some(key) = &key else { return };
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
        let base = base_of(lines).unwrap_or_default();
        if self.axes.ui(ui, ctx.tokens, &axes_offer(offered, lines, key), base) {
            self.line = None;
        }
        if !ctx.time.axis.is_recorded && self.probe_of(ctx.schema, Some(key)).is_some() {
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
        if let Some((group, base)) = drawn.iter().find_map(|l| Some((l.series.group.as_ref()?, l.series.base))) {
            let width = kit::steps(group.bin_steps, base);
            text += &format!("  |  mean of the n {} of the group in bins of {width}", kit::spaced(group.set));
        }
        if self.smooth_over > 0 {
            text += &format!("  |  exponential moving average over {} samples, raw data faint", self.smooth_over);
        }
        if self.axes.is_log {
            text += "  |  logarithmic";
        }
        text
    }

    /// Returns the unit in which a line is shown.
    fn unit<'a>(&self, line: &'a Line) -> SeriesUnit<'a> {
        SeriesUnit::of(&line.series.levels, &self.axes.unit)
    }
}

/// Returns the units and items that the runs offer for a series.
fn axes_offer(offered: &[SeriesName], lines: &[Line], key: &ComparedProbe) -> AxesOffer {
    let unit = offered.iter().find(|series| series.key == *key).map_or("", |series| series.unit);
    let mut offer = AxesOffer::default();
    lines.iter().for_each(|line| offer.add(unit, &line.series.levels));
    offer
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
         window; or the rate of a named group, counted from the recorded spikes of each run: its query selects among the \
         neurons of that run. Below: its last, lowest and highest value in each run, the difference of the last one to the \
         first run, and the parameters whose values differ. While the pointer is in the chart, values are those of its step.\n\n\
         - in the table of runs, click: one run · Ctrl+click: add or remove one · Shift+click: add all between\n\
         - drag: move · wheel: zoom · double-click: all steps\n\
         - *Smooth* draws an exponential moving average over the raw curve\n\
         - *Axis* draws the runs over steps, wall time, or items processed so far, such as tokens; *Unit* converts series that \
         declare other units, such as a loss; *Log* makes the vertical axis logarithmic",
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

    fn choice(&self) -> Option<String> {
        let mut parts = self.axes.to_parts();
        if self.smooth_over > 0 {
            parts.push(format!("smooth={}", self.smooth_over));
        }
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        (self.axes, self.smooth_over) = Default::default();
        for (name, value) in text.split(';').filter_map(|part| part.split_once('=')) {
            self.axes.read_part(name, value);
            if name == "smooth" {
                self.smooth_over = value.parse().unwrap_or_default();
            }
        }
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
        self.read_missing(ui.ctx(), ctx.runs, &ctx.features.named);
        let n_marked = ctx.runs.compared_runs().len();
        self.has_marks = n_marked > 0;
        let key = self.shown(ctx.runs);
        let (offered, lines) = (self.offered(ctx.runs), self.lines(ctx, key.as_ref()));
        let caption = self.caption(&lines, n_marked);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            self.toolbar_ui(ui, ctx, &offered, &lines);
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
        let series = offered.iter().find(|series| Some(&series.key) == key.as_ref());
        let unit = lines.iter().find(|line| line.problem.is_none()).map_or(SeriesUnit::OWN, |line| self.unit(line));
        let title = series.map_or_else(String::new, |s| title_in(&s.label, s.unit, &unit, &self.axes.unit));
        if kit::is_staged(ui.ctx()) {
            let drawn = lines.iter().filter(|line| line.problem.is_none());
            let entries: Vec<_> = drawn.map(|line| LegendEntry::new(line.name.clone(), line.color)).collect();
            let (painter, area) = (ui.painter_at(canvas), canvas.shrink2(vec2(8.0, 4.0)));
            let rest = figure_legend(&painter, area, &kit::small(ui), ctx.tokens, &entries);
            self.chart_ui(ui, canvas.with_min_y(rest.top()), ctx, &lines, &title);
            return;
        }
        let split = (canvas.bottom() - table::height(lines.len())).max(canvas.center().y);
        let area = Rect::from_min_max(canvas.min, pos2(canvas.right(), split));
        let pointer = self.chart_ui(ui, area, ctx, &lines, &title);
        self.table_ui(ui, Rect::from_min_max(area.left_bottom(), canvas.max), ctx, &lines, pointer);
    }
}
