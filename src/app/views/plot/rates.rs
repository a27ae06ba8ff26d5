//! View of rates and other series with fixed lanes: one chart per probe over a shared time axis.

mod chart;
mod export;
mod legend;
mod readout;
mod trial_mean;
mod whole_run;

use super::{
    axes_choice::{AxesChoice, AxesOffer, XAxis},
    psth::Psth,
    psth_chart,
    samples::Samples,
    smooth::{self, Smooth},
};
use crate::{
    app::{
        document::{
            features::{has_probe, probes_where, tap},
            layout::Page,
            selection::Selection,
            time::{TimeLink, Timeline, paint},
        },
        kit::{self, icons, text},
        views::{View, ViewCtx, ViewDeclaration, element, run_ui},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Clock, ElementSet, Frame, Level, ProbeId, Reading, Shape, Tap, items_name},
};
use egui::{Align2, Rect, Sense, Ui, Vec2, pos2};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use trial_mean::TrialMean;
use whole_run::WholeRun;

const LEFT: f32 = 52.0;
const AXIS: f32 = 21.0;
/// Minimum width of a legend at the side, points; a narrower one is placed above the chart.
const NARROW: f32 = 84.0;
/// Height of a legend row, points.
const LEGEND_ROW: f32 = 17.0;
/// Minimum number of rows of a legend at the side; a lower one is placed above the chart.
const MIN_ROWS: usize = 3;
/// Minimum height of a chart, points; charts without room are not drawn.
const MIN_CHART: f32 = 36.0;
/// Minimum height of a chart that has names of reference values, points.
const MIN_NAMED: f32 = 48.0;
/// Width of the controls of counted rates in the toolbar, points.
const PSTH: f32 = 560.0;
/// Width of the controls of smoothing and export in the toolbar with the button of the counted rates, points.
const REST: f32 = 400.0;
/// Width of the controls of the axes in the toolbar, points.
const AXES: f32 = 400.0;

/// The rates view.
#[derive(Default)]
pub struct Rates {
    series: BTreeMap<ProbeId, Samples>,
    /// Time constant of the smoothing, samples; 0: no smoothing.
    smooth_over: u32,
    smoothed: BTreeMap<ProbeId, Smooth>,
    /// Names of the displayed probes; `None`: the first two.
    shown: Option<BTreeSet<String>>,
    hidden_lanes: BTreeSet<(ProbeId, usize)>,
    psth: Psth,
    link: TimeLink,
    axes: AxesChoice,
    whole_run: WholeRun,
    trial_mean: TrialMean,
    /// The visible times of the last frame.
    line: Timeline,
    clock: Clock,
}

fn is_fixed(shape: &Shape) -> bool {
    matches!(shape, Shape::Series { of } if of.is_empty())
}

/// Returns the first spikes probe and its set; `None` without one.
fn spikes_of(schema: &SimSchema) -> Option<(ProbeId, Arc<ElementSet>)> {
    let (id, spec) = probes_where(schema, |s| matches!(s, Shape::Spikes { .. })).next()?;
    let Shape::Spikes { over } = spec.shape else { return None };
    Some((id, schema.set(over)?.clone()))
}

impl Rates {
    fn shown(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let probes = probes_where(schema, is_fixed);
        match &self.shown {
            Some(names) => probes.filter(|(_, p)| names.contains(p.name)).map(|(id, _)| id).collect(),
            None => probes.take(2).map(|(id, _)| id).collect(),
        }
    }

    /// Groups the shown probes by chart: series of one unit with the same reference values are drawn together.
    fn charts(&self, schema: &SimSchema) -> Vec<Vec<ProbeId>> {
        let mut charts: Vec<Vec<ProbeId>> = vec![];
        let unit = |id: ProbeId| schema.probes[usize::from(id)].unit;
        let lines = |id: ProbeId| Level::lines(schema.levels(id));
        for id in self.shown(schema) {
            let is_same = |first: ProbeId| unit(first) == unit(id) && lines(first).eq(lines(id));
            let has_lines = lines(id).next().is_some();
            match charts.iter_mut().find(|chart| has_lines && is_same(chart[0])) {
                Some(chart) => chart.push(id),
                None => charts.push(vec![id]),
            }
        }
        charts
    }

    /// Returns the units and items that the shown series offer.
    fn offer(&self, schema: &SimSchema) -> AxesOffer {
        let mut offer = AxesOffer::default();
        for id in self.shown(schema) {
            offer.add(schema.probes[usize::from(id)].unit, schema.levels(id));
        }
        offer
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, offer: &AxesOffer) {
        element::time_ui(ui, ctx, &mut self.link);
        self.whole_run.toggle_ui(ui, &mut self.link);
        if self.trial_mean.toggle_ui(ui, ctx.schema) {
            self.reset(ctx.schema); // one trial and a mean are not joined to one curve
        }
        ui.separator();
        let (tokens, base) = (ctx.tokens, self.clock.base);
        kit::overflow_as_ui(ui, AXES, ("Axes", "Axes and unit"), |ui| {
            self.axes.ui(ui, tokens, offer, base);
        });
        ui.separator();
        let shown = self.shown(ctx.schema);
        for (id, probe) in probes_where(ctx.schema, is_fixed) {
            let mut on = shown.contains(&id);
            let text = egui::RichText::new(probe.label()).small();
            if ui.toggle_value(&mut on, text).on_hover_text(kit::unwrap(probe.docs)).changed() {
                let name = |p: &ProbeId| ctx.schema.probes[usize::from(*p)].name.to_owned();
                let names = self.shown.get_or_insert_with(|| shown.iter().map(name).collect());
                if on {
                    names.insert(probe.name.to_owned())
                } else {
                    names.remove(probe.name)
                };
            }
        }
        let counted = spikes_of(ctx.schema);
        kit::overflow_ui(ui, REST, |ui| self.rest_ui(ui, ctx, counted.as_ref()));
        if let Some((_, set)) = counted.filter(|_| self.psth.is_shown) {
            let name = ("Counting", "Options of counted rates");
            kit::overflow_as_ui(ui, PSTH, name, |ui| self.psth.toolbar_ui(ui, ctx, &set));
        }
    }

    /// Draws the controls of smoothing and export, and the switch of rates counted from events.
    fn rest_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, counted: Option<&(ProbeId, Arc<ElementSet>)>) {
        let name =
            |n: u32| if n == 0 { "none".to_owned() } else { format!("over {}", kit::counted(n.into(), "samples")) };
        kit::choice_ui(ui, ctx.tokens, "Smooth", &mut self.smooth_over, &smooth::CHOICES.map(|n| (n, name(n))));
        self.export_ui(ui, ctx);
        let Some((probe, _)) = counted else { return };
        let noun = ctx.schema.probes[usize::from(*probe)].events();
        let text = egui::RichText::new(format!("from {noun}")).small();
        let hint = format!("Rates counted from the {noun} in memory, with a bin width");
        ui.toggle_value(&mut self.psth.is_shown, text).on_hover_text(hint);
    }

    fn caption(&self, schema: &SimSchema, shown: &[ProbeId]) -> String {
        let samples: u64 = shown.iter().filter_map(|p| self.series.get(p)).map(|s| s.len() as u64).sum();
        let reduced = shown.iter().filter_map(|p| self.series.get(p)?.reduced()).max();
        let across = kit::steps(self.line.span, self.clock.base);
        let mut text = format!(
            "{}{}  |  window {across}  |  minimum to maximum per pixel",
            text::plural(samples as usize, "sample", "samples"),
            self.trial_mean.caption(schema)
        );
        if self.smooth_over > 0 {
            text += &format!("  |  exponential moving average over {} samples, raw data faint", self.smooth_over);
        }
        text += match (self.axes.x, &self.line.scale) {
            (XAxis::WallTime, Some(_)) => "  |  pauses excluded",
            (XAxis::WallTime, None) => "  |  wall time not recorded in this run",
            (XAxis::Items, None) => "  |  number of items per step not recorded in this run",
            _ => "",
        };
        if self.axes.is_log {
            text += "  |  logarithmic";
        }
        if let Some((n, (fewest, most))) = reduced {
            let n = kit::thousands(n);
            text += &format!("  |  oldest {n} as minimum and maximum of {fewest} to {most} samples");
        }
        text
    }

    /// Smooths new samples, and requests a repaint if some are left for the next frame.
    fn smooth(&mut self, ctx: &egui::Context, shown: &[ProbeId], schema: &SimSchema) {
        self.smoothed.retain(|probe, _| self.smooth_over > 0 && shown.contains(probe));
        for probe in shown.iter().filter(|_| self.smooth_over > 0) {
            let Some(raw) = self.series.get(probe) else { continue };
            let is_angle = schema.probes[usize::from(*probe)].is_angle();
            if !self.smoothed.entry(*probe).or_default().follow(raw, self.smooth_over, is_angle) {
                ctx.request_repaint();
            }
        }
    }
}

impl Rates {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "rates",
        title: "Rates",
        icon: icons::WAVE,
        help: "# Rates\n\nSeries with fixed curves: one chart per probe over the same times. Each pixel column shows the \
         minimum and the maximum of its samples.\n\n\
         *from spikes*, or another kind of events, counts rates from the events in memory: of all that the filter \
         shows, of the selection, per named group or per category, per element and second, silent elements included, with a \
         bin width and a kernel; *Align to* gives the PSTH around the onsets of stimuli, their pulses, or live edits.\n\n\
         *Smooth* draws an exponential moving average over the raw curve. *Axis* draws every step at its wall time, \
         pauses excluded, or at the number of items processed so far, such as tokens. *Unit* converts series that declare \
         other units, such as a loss to bits per byte or perplexity; *Log* makes vertical axes logarithmic. Series of one \
         quantity, such as the loss of a training text and of a held-out text, share a chart. *Whole run* shows all steps; \
         it is on for such series. *Mean of trials*, with several trials, draws their mean and a band of one standard deviation. \
         Hover: the values of all series and reference values. *Save CSV…* writes the shown \
         series in the chosen unit.\n\n\
         - drag: move in time · wheel: zoom · double-click or End: newest data\n\
         - click a legend row: hide or show · Alt+click: only this one · click *+N more*: the whole legend",
        gestures: &[("drag", "move"), ("right-drag", "zoom"), ("wheel", "zoom"), ("double-click", "fit")],
        pages: &[Page::Simulate],
        fits: |schema| has_probe(schema, is_fixed),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Rates {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        if schema.probes.is_empty() || spikes_of(schema).is_some() {
            Self::DECLARATION.title.into()
        } else {
            "Time series".into()
        }
    }

    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        let shown = self.shown(schema).into_iter().chain([probe]);
        self.shown = Some(shown.filter_map(|id| Some(schema.probes.get(usize::from(id))?.name.to_owned())).collect());
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let spikes = spikes_of(schema).filter(|_| self.psth.is_shown).map(|(id, _)| id);
        let series = self.shown(schema).into_iter().flat_map(|id| self.trial_mean.taps(schema, id));
        series.chain(spikes.map(tap)).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.series.clear();
        self.smoothed.clear();
        self.trial_mean.clear();
    }

    fn choice(&self) -> Option<String> {
        let mut parts = self.axes.to_parts();
        parts.extend(self.whole_run.to_part());
        parts.extend(self.trial_mean.to_part());
        if self.smooth_over > 0 {
            parts.push(format!("smooth={}", self.smooth_over));
        }
        if let Some(shown) = &self.shown {
            parts.push(format!("shown={}", shown.iter().map(String::as_str).collect::<Vec<_>>().join(",")));
        }
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        (self.axes, self.whole_run, self.smooth_over, self.shown, self.trial_mean) = Default::default();
        for (name, value) in text.split(';').filter_map(|part| part.split_once('=')) {
            self.axes.read_part(name, value);
            self.whole_run.read_part(name, value);
            self.trial_mean.read_part(name, value);
            match name {
                "smooth" => self.smooth_over = value.parse().unwrap_or_default(),
                "shown" => {
                    let names = value.split(',').filter(|name| !name.is_empty());
                    self.shown = Some(names.map(str::to_owned).collect());
                }
                _ => {}
            }
        }
    }

    fn schema_changed(&mut self, _: &SimSchema, changes: &SchemaChanges) {
        let changed = self.series.iter_mut().filter(|(id, _)| changes.probes.contains(id));
        changed.for_each(|(_, samples)| samples.change_lanes());
        self.trial_mean.clear();
        self.smoothed.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.clock = frame.clock;
        for (id, _) in probes_where(schema, is_fixed) {
            self.trial_mean.absorb(frame, id);
            if let Some(Reading::Series(series)) = frame.reading(self.trial_mean.key(schema, id)) {
                self.series.entry(id).or_default().push(series.lanes as usize, &series.steps, &series.values);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.clock = ctx.clock;
        let offer = self.offer(ctx.schema);
        let ends = (ctx.time.past.first() as f64, ctx.live_edge() as f64);
        self.whole_run.begin(&mut self.link, !offer.units.is_empty() && ctx.clock.base.is_count(), ends);
        self.line = self.link.line(&ctx.time.axis).with_scale(self.line.scale.clone());
        let shown = self.shown(ctx.schema);
        let caption = self.caption(ctx.schema, &shown);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &offer));
        if probes_where(ctx.schema, is_fixed).next().is_none() {
            kit::empty_ui(ui, canvas, ctx, "No series", "This simulation has no series", None);
            return;
        }
        let from_spikes = spikes_of(ctx.schema).filter(|_| self.psth.is_shown);
        let has_spikes = from_spikes.as_ref().is_some_and(|(id, _)| ctx.time.past.train(*id).is_some());
        if self.series.values().all(|s| s.len() == 0) && !ctx.running && !has_spikes {
            return run_ui(ui, canvas, ctx, "No samples yet", "Run to see its curves");
        }
        self.smooth(ui.ctx(), &shown, ctx.schema);
        if kit::fill_ui(ui, canvas, ctx.tokens) {
            self.canvas_ui(ui, canvas, ctx, from_spikes);
        }
    }
}

impl Rates {
    /// Returns the levels of the first series that counts items per step; empty without one.
    fn items_of<'a>(&self, schema: &'a SimSchema) -> &'a [Level] {
        let mut levels = probes_where(schema, is_fixed).map(|(id, _)| schema.levels(id));
        levels.find(|levels| items_name(levels).is_some()).unwrap_or_default()
    }

    /// Handles gestures and draws the charts.
    fn canvas_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        from_spikes: Option<(ProbeId, Arc<ElementSet>)>,
    ) {
        let charts = self.charts(ctx.schema);
        let response = ui.interact(canvas, ui.scope_id().with("rates"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Rates over time"));
        // All charts have the same pixel columns, so that their times are aligned.
        let right = self.legend_width(ui, &charts, ctx.schema, canvas.width());
        let all = Rect::from_min_max(canvas.min + Vec2::new(LEFT, 4.0), canvas.max - Vec2::new(right, AXIS));
        self.link.scale = self.axes.x.scale(self.items_of(ctx.schema), ctx.time.past.wall_clock());
        let edge = ctx.live_edge() as f64;
        self.line = self.link.interact(ui, &response, all, &mut ctx.time.axis, edge);
        self.whole_run.end(&mut self.link, &ctx.time.axis, response.double_clicked());
        if let Some((id, set)) = &from_spikes
            && let Some(train) = ctx.time.past.train(*id)
        {
            self.psth.find_groups(ui.ctx(), ctx, set);
            let shown = (&*ctx.time, &self.line, ctx.clock);
            self.psth.update(ui.ctx(), train, set, (&*ctx.selection, ctx.filter.shown()), shown);
            // At high speed the curves are older than the visible times; the axis then shows the times of the curves.
            if let Some((t0, t1)) = self.psth.late_times(&self.line) {
                (self.line.t0, self.line.t1) = (t0, t1);
            }
        }
        let line = self.line.clone();
        let painter = ui.painter_at(canvas);
        let (mono, clock) = (kit::mono(ui), ctx.clock);
        paint::point(&response, all, &line, &mut ctx.time.axis);
        let at = ctx.time.axis.pointer_step(ui.ctx().cumulative_pass_nr()).or(ctx.time.axis.cursor());
        paint::background(&painter, all, ctx.time, ctx.tokens, (line.t0, line.t1), |step| line.x_of(all, step));
        let n_chosen = charts.len() + usize::from(self.psth.is_shown);
        // A figure has all charts, however low.
        let n_fitting = if kit::is_staged(ui.ctx()) { n_chosen } else { (all.height() / MIN_CHART) as usize };
        let n_charts = n_chosen.min(n_fitting).max(1);
        let height = all.height() / n_charts as f32;
        let area_of = |i: usize| {
            let top = all.top() + height * i as f32;
            Rect::from_min_max(pos2(canvas.left(), top), pos2(canvas.right(), top + height - 6.0))
        };
        if let Some((id, set)) = from_spikes.filter(|_| charts.len() < n_charts) {
            let noun = ctx.schema.probes[usize::from(id)].events();
            let area = area_of(charts.len());
            psth_chart::paint(ui, area, (LEFT, right), &self.psth, (&set, &noun), &line, ctx);
        }
        for (i, probes) in charts.iter().enumerate().take(n_charts) {
            self.chart_ui(ui, area_of(i), probes, ctx, right, at);
        }
        if n_charts < n_chosen {
            let text = format!("+{} more: enlarge", n_chosen - n_charts);
            // The title of the time axis is at the bottom.
            let at = pos2(all.right(), canvas.top());
            painter.text(at, Align2::RIGHT_TOP, text, kit::small(ui), ctx.tokens.text_sub);
        }
        line.paint_axis(&painter, all, &mono, ctx.tokens, clock);
        paint::overlay(&painter, all, ctx.time, ctx.tokens, |step| line.x_of(all, step));
        paint::pointer_chip(&painter, &response, all, &line, (clock, &mono, ctx.tokens));
        self.readout_ui(&response, all, &charts, ctx);
    }
}
