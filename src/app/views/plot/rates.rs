//! View of rates and other series with fixed lanes: one chart per probe over a shared time axis.

mod legend;

use super::{
    drawn::DrawnCurves,
    lane_colors::lane_colors,
    levels::{Levels, Placement},
    line::{paint_line, range},
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
        kit::{self, icons, text, theme::Tokens},
        views::{View, ViewCtx, ViewDeclaration, element, run_ui},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Clock, ElementSet, Frame, ProbeId, Reading, Shape, Tap},
};
use egui::{Align2, Painter, Rect, Sense, Stroke, Ui, Vec2, pos2};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

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
/// Width of the smoothing controls in the toolbar, points.
const REST: f32 = 400.0;

/// The rates view.
#[derive(Default)]
pub struct Rates {
    series: BTreeMap<ProbeId, Samples>,
    /// Time constant of the smoothing, samples; 0: no smoothing.
    smooth_over: u32,
    smoothed: BTreeMap<ProbeId, Smooth>,
    /// Names of the displayed probes; `None`: the first two.
    shown: Option<BTreeSet<&'static str>>,
    hidden_lanes: BTreeSet<(ProbeId, usize)>,
    psth: Psth,
    link: TimeLink,
    /// Whether steps are drawn at their wall times.
    on_wall: bool,
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

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        element::time_ui(ui, ctx, &mut self.link);
        ui.separator();
        let shown = self.shown(ctx.schema);
        for (id, probe) in probes_where(ctx.schema, is_fixed) {
            let mut on = shown.contains(&id);
            let text = egui::RichText::new(probe.label()).small();
            if ui.toggle_value(&mut on, text).on_hover_text(kit::unwrap(probe.docs)).changed() {
                let names = self
                    .shown
                    .get_or_insert_with(|| shown.iter().map(|p| ctx.schema.probes[usize::from(*p)].name).collect());
                if on {
                    names.insert(probe.name)
                } else {
                    names.remove(probe.name)
                };
            }
        }
        let counted = spikes_of(ctx.schema);
        let needs = if self.psth.is_shown { REST + PSTH } else { REST };
        kit::overflow_ui(ui, needs, |ui| self.rest_ui(ui, ctx, counted.as_ref()));
    }

    /// Draws the controls of smoothing, the axis and rates counted from events.
    fn rest_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, counted: Option<&(ProbeId, Arc<ElementSet>)>) {
        let name =
            |n: u32| if n == 0 { "none".to_owned() } else { format!("over {}", kit::counted(n.into(), "samples")) };
        kit::choice_ui(ui, ctx.tokens, "Smooth", &mut self.smooth_over, &smooth::CHOICES.map(|n| (n, name(n))));
        let base = self.clock.base;
        let time = if base.is_count() { base.plural() } else { "simulated time" };
        let along = [(false, time.to_owned()), (true, "wall time".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Axis", &mut self.on_wall, &along);
        let Some((probe, set)) = counted else { return };
        let noun = ctx.schema.probes[usize::from(*probe)].events();
        let text = egui::RichText::new(format!("from {noun}")).small();
        let hint = format!("Rates counted from the {noun} in memory, with a bin width");
        ui.toggle_value(&mut self.psth.is_shown, text).on_hover_text(hint);
        if self.psth.is_shown {
            self.psth.toolbar_ui(ui, ctx, set);
        }
    }

    fn caption(&self, shown: &[ProbeId]) -> String {
        let samples: u64 = shown.iter().filter_map(|p| self.series.get(p)).map(|s| s.len() as u64).sum();
        let reduced = shown.iter().filter_map(|p| self.series.get(p)?.reduced()).max();
        let across = kit::steps(self.line.span, self.clock.base);
        let mut text = format!(
            "{}  |  window {across}  |  minimum to maximum per pixel",
            text::plural(samples as usize, "sample", "samples")
        );
        if self.smooth_over > 0 {
            text += &format!("  |  exponential moving average over {} samples, raw data faint", self.smooth_over);
        }
        if self.on_wall {
            text += if self.line.wall_clock.is_some() {
                "  |  pauses excluded"
            } else {
                "  |  wall time not recorded in this run"
            };
        }
        if let Some((n, (fewest, most))) = reduced {
            let n = kit::thousands(n);
            text += &format!("  |  oldest {n} as minimum and maximum of {fewest} to {most} samples");
        }
        text
    }

    fn chart_ui(&mut self, ui: &mut Ui, area: Rect, probe: ProbeId, ctx: &ViewCtx<'_>, right: f32, at: Option<f64>) {
        let spec = &ctx.schema.probes[usize::from(probe)];
        let names = ctx.schema.lanes.get(usize::from(probe)).cloned().unwrap_or_default();
        let n = names.len().max(1);
        let plot = Rect::from_min_max(area.min + Vec2::new(LEFT, 20.0), area.max - Vec2::new(right, 0.0));
        let painter = ui.painter_at(area.expand(1.0));
        let lane_colors = lane_colors(ctx.schema, &names, ctx.tokens);
        let Some(samples) = self.series.get(&probe) else {
            title(ui, &painter, area, spec, None, ctx.tokens);
            if ctx.schema.unrecorded.contains(&probe) && !self.on_wall {
                let gaps = ctx.time.past.whole();
                paint::not_recorded(&painter, plot, &gaps, ctx.tokens, |step| self.line.x_of(plot, step));
            }
            return;
        };
        let px = ui.pixels_per_point();
        let cuts = samples.cuts_along(&self.line, (plot.width() * px) as usize);
        let visible: Vec<usize> = (0..n).filter(|l| !self.hidden_lanes.contains(&(probe, *l))).collect();
        if !self.on_wall {
            let (gaps, former) = (samples.gaps(self.line.t0, self.line.t1), samples.former(self.line.t0, self.line.t1));
            paint::not_recorded(&painter, plot, &gaps, ctx.tokens, |step| self.line.x_of(plot, step));
            paint::other_lanes(&painter, plot, &former, ctx.tokens, |step| self.line.x_of(plot, step));
        }
        let lines: Vec<_> = visible.iter().map(|l| (*l, samples.extents(*l, &cuts))).collect();
        let all = lines.iter().flat_map(|(_, e)| e);
        let (low, high) = all.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), e| (a.min(e.min), b.max(e.max)));
        let levels = Levels::visible(ctx.schema.levels(probe), self.line.t0, self.line.t1);
        let (low, high) = levels.widen((low, high));
        let (low, high) = range(low, high);
        kit::y_axis(&painter, plot, &kit::mono(ui), ctx.tokens, low, high, "");
        painter.hline(plot.x_range(), plot.bottom(), (1.0, ctx.tokens.line));
        let y = |v: f32| plot.bottom() - ((f64::from(v) - low) / (high - low)) as f32 * plot.height();
        let inside = painter.with_clip_rect(plot.expand2(Vec2::new(0.0, 2.0)).intersect(painter.clip_rect()));
        let place = Placement { plot, x: |step| self.line.x_of(plot, step), y };
        levels.paint(&inside, &place, ctx.tokens);
        let mut occupied = DrawnCurves::default();
        let x = |column: f32| plot.left() + column / px;
        let smooth = self.smoothed.get(&probe).filter(|_| self.smooth_over > 0).map(Smooth::samples);
        let faint = if smooth.is_some() { 0.3 } else { 1.0 };
        for (lane, extents) in &lines {
            paint_line(&inside, extents, x, y, Stroke::new(1.25, lane_colors[*lane].gamma_multiply(faint)));
            occupied.add(extents, x, y);
        }
        if let Some(smooth) = smooth {
            let cuts = smooth.cuts_along(&self.line, (plot.width() * px) as usize);
            for lane in &visible {
                let (stroke, extents) = (Stroke::new(1.5, lane_colors[*lane]), smooth.extents(*lane, &cuts));
                paint_line(&inside, &extents, x, y, stroke);
                occupied.add(&extents, x, y);
            }
        }
        // A low chart has room only for the lines.
        if plot.height() >= MIN_NAMED {
            levels.paint_names(&painter, &place, &occupied, (&kit::small(ui), ctx.tokens));
        }
        let value = |lane: usize| at.map_or_else(|| samples.last(lane), |step| samples.at(lane, step));
        let end = title(ui, &painter, area, spec, (n == 1).then(|| value(0)).flatten(), ctx.tokens);
        // The names of a low chart are in a row above it.
        let n_fitting = (area.height() / LEGEND_ROW) as usize;
        if n > 1 && right >= NARROW && n_fitting >= n.min(MIN_ROWS) {
            let rows: Vec<_> = (0..n).map(|l| (names[l].clone(), lane_colors[l], value(l))).collect();
            let area = Rect::from_min_max(pos2(plot.right() + 8.0, area.top()), area.max);
            self.legend_ui(ui, area, probe, &rows, ctx);
        } else if n > 1 {
            let row = Rect::from_min_max(pos2(end + 10.0, area.top() + 2.0), pos2(plot.right(), area.top() + 19.0));
            let rows: Vec<_> = names.iter().map(String::as_str).zip(lane_colors).collect();
            self.names_ui(ui, row, probe, &rows, ctx.tokens);
        }
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

/// Draws a chart's name, unit and, with a single lane, its value. Returns the right edge of the text.
fn title(
    ui: &Ui,
    painter: &Painter,
    area: Rect,
    spec: &crate::sim::ProbeSpec,
    value: Option<f32>,
    tokens: &Tokens,
) -> f32 {
    let text = crate::app::kit::text::probe_title(spec);
    let at = area.min + Vec2::new(LEFT + 4.0, 3.0);
    let rect = painter.text(at, Align2::LEFT_TOP, text, kit::small(ui), tokens.text);
    if let Some(value) = value {
        let at = pos2(rect.right() + 10.0, rect.center().y);
        let value = kit::reading(value);
        return painter.text(at, Align2::LEFT_CENTER, value, kit::mono(ui), tokens.text_strong).right();
    }
    rect.right()
}

impl Rates {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "rates",
        title: "Rates",
        icon: icons::WAVE,
        help: "# Rates\n\nSeries with fixed curves: one chart per probe over the same times. Each pixel column shows the \
         minimum and the maximum of its samples.\n\n\
         *from spikes*, or another kind of events, counts rates from the events in memory: of all that the filter \
         shows, of the selection or per category, per element and second, silent elements included, with a bin width and a kernel; *Align to* gives the PSTH around the onsets of stimuli, their pulses, or live edits.\n\n*Smooth* draws an exponential moving average over the raw curve. *Axis* wall time draws every step at its \
         wall time, pauses excluded.\n\n\
         - drag: move in time · wheel: zoom · double-click or End: newest data\n\
         - click a legend row: hide or show · Alt+click: only this one",
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

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let spikes = spikes_of(schema).filter(|_| self.psth.is_shown).map(|(id, _)| id);
        self.shown(schema).into_iter().chain(spikes).map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.series.clear();
        self.smoothed.clear();
    }

    fn schema_changed(&mut self, _: &SimSchema, changes: &SchemaChanges) {
        let changed = self.series.iter_mut().filter(|(id, _)| changes.probes.contains(id));
        changed.for_each(|(_, samples)| samples.change_lanes());
        self.smoothed.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.clock = frame.clock;
        for (id, _) in probes_where(schema, is_fixed) {
            if let Some(Reading::Series(series)) = frame.reading(id) {
                self.series.entry(id).or_default().push(series.lanes as usize, &series.steps, &series.values);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let shown = self.shown(ctx.schema);
        self.clock = ctx.clock;
        self.line = self.link.line(&ctx.time.axis).with_wall_clock(self.line.wall_clock.clone());
        let caption = self.caption(&shown);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
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
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let response = ui.interact(canvas, ui.scope_id().with("rates"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Rates over time"));
        // All charts have the same pixel columns, so that their times are aligned.
        let right = self.legend_width(ui, &shown, ctx.schema, canvas.width());
        let all = Rect::from_min_max(canvas.min + Vec2::new(LEFT, 4.0), canvas.max - Vec2::new(right, AXIS));
        let wall_clock = ctx.time.past.wall_clock();
        self.link.wall_clock = (self.on_wall && wall_clock.is_known()).then(|| wall_clock.clone());
        let edge = ctx.live_edge() as f64;
        self.line = self.link.interact(ui, &response, all, &mut ctx.time.axis, edge);
        if let Some((id, set)) = &from_spikes
            && let Some(train) = ctx.time.past.train(*id)
        {
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
        let n_chosen = shown.len() + usize::from(self.psth.is_shown);
        let n_charts = n_chosen.min((all.height() / MIN_CHART) as usize).max(1);
        let height = all.height() / n_charts as f32;
        let area_of = |i: usize| {
            let top = all.top() + height * i as f32;
            Rect::from_min_max(pos2(canvas.left(), top), pos2(canvas.right(), top + height - 6.0))
        };
        if let Some((id, set)) = from_spikes.filter(|_| shown.len() < n_charts) {
            let noun = ctx.schema.probes[usize::from(id)].events();
            let area = area_of(shown.len());
            psth_chart::paint(ui, area, (LEFT, right), &self.psth, (&set, &noun), &line, ctx);
        }
        for (i, probe) in shown.iter().enumerate().take(n_charts) {
            let area = area_of(i);
            self.chart_ui(ui, area, *probe, ctx, right, at);
        }
        if n_charts < n_chosen {
            let text = format!("+{} more: enlarge", n_chosen - n_charts);
            let at = pos2(canvas.right() - 8.0, canvas.bottom() - 4.0);
            painter.text(at, Align2::RIGHT_BOTTOM, text, kit::small(ui), ctx.tokens.text_sub);
        }
        line.paint_axis(&painter, all, &mono, ctx.tokens, clock);
        paint::overlay(&painter, all, ctx.time, ctx.tokens, |step| line.x_of(all, step));
        paint::pointer_chip(&painter, &response, all, &line, (clock, &mono, ctx.tokens));
    }
}
