//! Traces of selected elements: one lane per element on a shared scale, with spikes as marks. The marks are from the spikes probe
//! of the same set.

use super::{
    line::{paint_line, range},
    measure_cursors::MeasureCursors,
    samples::Samples,
    spike_marks::Marks,
    trace_groups::{DrawnGroup, TraceGroups},
    trace_lane::{lane_label, short_label, value_text, y_scale},
};
use crate::{
    app::{
        document::{
            features::{has_probe, probes_where, tap},
            layout::Page,
            selection::Selection,
            time::{TimeLink, Timeline, paint},
        },
        kit::{self, colors, icons, text},
        views::{
            MenuEntry, MenuTarget, Opening, View, ViewCtx, ViewDeclaration,
            chosen::{ListedProbe, NamedProbe},
            element, fields, menu, run_ui, take_pin, unfit_ui,
        },
    },
    engine::{SchemaChanges, SimSchema},
    sim::{ElementSet, Frame, ProbeId, Reading, Shape, Tap},
};
use egui::{Align2, Key, Rect, Sense, Stroke, Ui, Vec2, pos2};
use std::{collections::BTreeMap, sync::Arc};

/// Maximum number of lanes.
const LANES: usize = 64;
/// Minimum height of a lane, points; Shift+wheel scrolls.
const MIN_LANE_HEIGHT: f32 = 18.0;
const LEFT: f32 = 200.0;
const AXIS: f32 = 21.0;
/// Height of the title of the values above the lanes, points.
const TOP: f32 = 20.0;
/// Width of the labels and scales of the lanes in a figure, which has no values, points.
const FIGURE_LEFT: f32 = 176.0;

#[derive(Default)]
struct Lane {
    samples: Samples,
}

/// The traces view.
#[derive(Default)]
pub struct Traces {
    chosen: NamedProbe,
    /// Pinned elements, independent of the selection.
    pinned: Vec<u32>,
    is_pinned: bool,
    wanted: Vec<u32>,
    /// Generation of a selection with more elements than lanes, and its most active elements at that time.
    most_active: Option<(u64, Vec<u32>)>,
    lanes: BTreeMap<u32, Lane>,
    link: TimeLink,
    menu_element: Option<u32>,
    /// Whether another probe was chosen whose data have not been requested yet.
    needs_refresh: bool,
    measure_cursors: MeasureCursors,
    /// Index of the top lane.
    first: usize,
    marks: Marks,
    groups: TraceGroups,
}

fn is_traced(shape: &Shape) -> bool {
    matches!(shape, Shape::Series { of } if !of.is_empty())
}

impl Traces {
    /// Returns the traced probe and the name of its set: the chosen one, otherwise the first recorded one, otherwise the first.
    /// `None` without a probe of traces.
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static str)> {
        let all: Vec<_> = probes_where(schema, is_traced).collect();
        let (id, spec) = self.shown(&all, schema)?;
        if let Shape::Series { of } = spec.shape { Some((id, of)) } else { None }
    }

    /// Returns the chosen one of the listed probes; without a choice, the first recorded one, else the first.
    fn shown(&self, listed: &[ListedProbe], schema: &SimSchema) -> Option<ListedProbe> {
        self.chosen.of(listed, |(id, _)| !schema.recorded(*id).is_empty())
    }

    /// Returns the traced elements. In a finished run these are the recorded elements that are selected, or all recorded ones if
    /// none is.
    fn elements(&self, schema: &SimSchema, set: &str, selection: &Selection) -> Vec<u32> {
        let all = match &self.most_active {
            _ if self.is_pinned => &self.pinned[..],
            Some((generation, elements)) if *generation == selection.generation => elements,
            _ => selection.of(set),
        };
        let recorded = self.probe(schema).map_or(&[][..], |(id, _)| schema.recorded(id));
        if recorded.is_empty() {
            return all[..all.len().min(LANES)].to_vec();
        }
        let is_wanted = |e: &&u32| all.contains(e);
        let wanted: Vec<u32> = recorded.iter().filter(is_wanted).take(LANES).copied().collect();
        if wanted.is_empty() { recorded[..recorded.len().min(LANES)].to_vec() } else { wanted }
    }

    fn spikes_probe(schema: &SimSchema, set: &str) -> Option<ProbeId> {
        probes_where(schema, |s| matches!(s, Shape::Spikes { over } if *over == set)).next().map(|(id, _)| id)
    }

    fn pin(&mut self, elements: Vec<u32>) {
        if !elements.is_empty() {
            (self.pinned, self.is_pinned) = (elements, true);
        }
    }

    /// Returns the most active elements of the selection, at most [`LANES`].
    fn to_pin(ctx: &ViewCtx<'_>, set: &str) -> Vec<u32> {
        let probe = Self::spikes_probe(ctx.schema, set);
        let counts = probe.and_then(|id| ctx.time.past.train(id)).map_or(&[][..], |train| train.counts.as_slice());
        ctx.selection.most_active(set, counts, LANES)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &'static str) {
        let all: Vec<_> = probes_where(ctx.schema, is_traced).collect();
        let shown = self.shown(&all, ctx.schema);
        if shown.is_some_and(|(_, shown)| self.chosen.ui(ui, ctx, "Trace", shown, &fields::named(&all))) {
            self.lanes.clear();
            self.needs_refresh = true;
        }
        let n = ctx.selection.of(set).len();
        let text = if self.is_pinned { "Pinned" } else { "Pin" };
        let hint = "Keep these traces when the selection changes (P)";
        let mut on = self.is_pinned;
        if ui.add_enabled_ui(on || n > 0, |ui| ui.toggle_value(&mut on, text).on_hover_text(hint)).inner.changed() {
            if on { self.pin(Self::to_pin(ctx, set)) } else { self.is_pinned = false }
        }
        self.needs_refresh |= self.groups.toggle_ui(ui, ctx, set, shown.map(|(_, probe)| probe));
        ui.separator();
        element::time_ui(ui, ctx, &mut self.link);
        self.measure_cursors.toggle_ui(ui, self.link.line(&ctx.time.axis));
    }

    /// Describes for the caption which elements the lanes show.
    fn scope(&self, n_selected: usize) -> String {
        if self.is_pinned {
            format!("{} pinned", self.pinned.len())
        } else if n_selected > LANES {
            format!("{LANES} most active of {} selected", kit::thousands(n_selected as u64))
        } else {
            format!("{n_selected} selected")
        }
    }

    fn lanes_ui(&mut self, ui: &mut Ui, canvas: Rect, set: &ElementSet, unit: &str, ctx: &mut ViewCtx<'_>) {
        let elements = self.wanted.clone();
        let is_unrecorded = self.probe(ctx.schema).is_some_and(|(id, _)| ctx.schema.unrecorded.contains(&id));
        let is_figure = kit::is_staged(ui.ctx());
        let left = if is_figure { FIGURE_LEFT.min(canvas.width() * 0.4) } else { LEFT };
        let plot = Rect::from_min_max(canvas.min + Vec2::new(left, TOP), canvas.max - Vec2::new(14.0, AXIS));
        let response = ui.interact(canvas, ui.scope_id().with("traces"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Traces over time"));
        let edge = ctx.live_edge() as f64;
        let before = self.link.line(&ctx.time.axis).clone();
        let line = match self.measure_cursors.drag(&response, plot, &before) {
            true => before,
            false => self.link.interact(ui, &response, plot, &mut ctx.time.axis, edge),
        };
        let px = ui.pixels_per_point();
        let columns = (plot.width() * px) as usize;
        let elements = self.scroll(ui, &response, plot, (elements, self.groups.lanes().len()));
        let groups = self.groups.drawn(&line, columns);
        let train = Self::spikes_probe(ctx.schema, set.name).and_then(|p| ctx.time.past.train(p));
        self.marks.update(ui.ctx(), train, &elements, &line);
        let painter = ui.painter_at(canvas);
        let (mono, clock) = (kit::mono(ui), ctx.clock);
        paint::point(&response, plot, &line, &mut ctx.time.axis);
        let at = ctx.time.axis.pointer_step(ui.ctx().cumulative_pass_nr()).or(ctx.time.axis.cursor());
        paint::background(&painter, plot, ctx.time, ctx.tokens, (line.t0, line.t1), |step| line.x_of(plot, step));
        let drawn: Vec<_> = elements
            .iter()
            .map(|e| {
                let samples = self.lanes.get(e).map(|l| &l.samples);
                samples.map(|s| s.extents(0, &s.cuts(line.t0, line.t1, columns))).unwrap_or_default()
            })
            .collect();
        let all = drawn.iter().flatten().chain(groups.iter().flat_map(DrawnGroup::extents));
        let all_values = all.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), e| (a.min(e.min), b.max(e.max)));
        let (low, high) = range(all_values.0, all_values.1);
        let height = plot.height() / (groups.len() + elements.len()).max(1) as f32;
        let lane_of = |row: usize| {
            let top = plot.top() + height * row as f32;
            Rect::from_min_max(pos2(plot.left(), top + 2.0), pos2(plot.right(), top + height - 2.0))
        };
        let y_of = |lane: Rect, v: f32| {
            lane.bottom() - ((f64::from(v) - low) / (high - low)) as f32 * (lane.height().min(400.0) - 7.0)
        };
        for (row, group) in groups.iter().enumerate() {
            let lane = lane_of(row);
            let y = |v: f32| y_of(lane, v);
            group.paint(ui, &painter, (lane, canvas.left()), at, (&y, unit), ctx);
            y_scale(ui, &painter, lane, (low, high), y, ctx);
        }
        for (i, (element, extents)) in elements.iter().zip(&drawn).enumerate() {
            let lane = lane_of(groups.len() + i);
            let (top, y) = (lane.top() - 2.0, |v: f32| y_of(lane, v));
            let color = colors::categorical(i, ctx.tokens);
            if groups.len() + i > 0 {
                painter.hline(canvas.left()..=plot.right(), top, (1.0, ctx.tokens.line.gamma_multiply(0.5)));
            }
            let gaps = match self.lanes.get(element) {
                Some(lane) => lane.samples.gaps(line.t0, line.t1),
                None if is_unrecorded => ctx.time.past.whole(),
                None => vec![],
            };
            paint::not_recorded(&painter, lane, &gaps, ctx.tokens, |step| line.x_of(lane, step));
            let inside = painter.with_clip_rect(lane.expand2(Vec2::new(0.0, 2.0)).intersect(painter.clip_rect()));
            paint_line(&inside, extents, |c| lane.left() + c / px, y, Stroke::new(1.25, color));
            self.paint_spikes(&inside, lane, *element, color, &line);
            if all_values.0 <= all_values.1 {
                y_scale(ui, &painter, lane, (low, high), y, ctx);
            }
            let samples = self.lanes.get(element).map(|l| &l.samples);
            let value = samples.and_then(|s| at.map_or_else(|| s.last(0), |step| s.at(0, step)));
            let (name, value) = (short_label(set.label(*element)), value_text(value, unit));
            lane_label(ui, &painter, (lane, canvas.left()), (&name, &value), color, ctx);
            if let Some(samples) = samples {
                self.measure_cursors.values(ui, &inside, lane, samples, unit, ctx.tokens);
            }
        }
        painter.vline(plot.left(), plot.y_range(), (1.0, ctx.tokens.line));
        if let Some((id, _)) = self.probe(ctx.schema) {
            let title = text::probe_title(&ctx.schema.probes[usize::from(id)]);
            let corner = pos2(plot.left() - 6.0, canvas.top() + 4.0);
            painter.text(corner, Align2::RIGHT_TOP, title, kit::small(ui), ctx.tokens.text_sub);
        }
        line.paint_axis(&painter, plot, &mono, ctx.tokens, clock);
        paint::overlay(&painter, plot, ctx.time, ctx.tokens, |step| line.x_of(plot, step));
        self.measure_cursors.paint(&painter, plot, &line, (clock, &mono, ctx.tokens));
        paint::pointer_chip(&painter, &response, plot, &line, (clock, &mono, ctx.tokens));
        let row = |at: egui::Pos2| ((at.y - plot.top()).max(0.0) / height) as usize;
        let under = response.hover_pos().and_then(|at| elements.get(row(at).checked_sub(groups.len())?));
        self.link_ui(&response, set, under.copied(), ctx);
    }

    /// Handles hover and the context menu of the element under the pointer.
    fn link_ui(&mut self, response: &egui::Response, set: &ElementSet, under: Option<u32>, ctx: &mut ViewCtx<'_>) {
        if under.is_some() && ctx.selection.set == set.name {
            ctx.selection.hovered = under;
        }
        if response.secondary_clicked() {
            self.menu_element = under;
        }
        response.context_menu(|ui| {
            let one = |e| MenuTarget { element: Some(e), elements: Arc::new(vec![e]), name: set.label(e) };
            let subject = self.menu_element.map_or_else(|| MenuTarget::at(ctx, set, None), one);
            menu::ui(ui, ctx, set, &subject);
        });
    }

    /// Scrolls by Shift+wheel. Returns the elements whose lanes fit below those of the named groups.
    fn scroll(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        plot: Rect,
        (all, n_groups): (Vec<u32>, usize),
    ) -> Vec<u32> {
        let fits = ((plot.height() / MIN_LANE_HEIGHT) as usize).saturating_sub(n_groups).max(1);
        let notches = ui.input(|i| if i.modifiers.shift { i.smooth_scroll_delta() } else { Vec2::ZERO });
        if response.hovered() && notches != Vec2::ZERO {
            let down = -(notches.x + notches.y).signum() as i64;
            self.first = (self.first as i64 + down).max(0) as usize;
        }
        self.first = self.first.min(all.len().saturating_sub(fits));
        all.into_iter().skip(self.first).take(fits).collect()
    }

    fn paint_spikes(&self, painter: &egui::Painter, lane: Rect, element: u32, color: egui::Color32, line: &Timeline) {
        for step in self.marks.of(element, line.t0) {
            let x = line.x_of(lane, *step as f64);
            if x > lane.right() {
                break;
            }
            painter.vline(x, lane.top()..=lane.top() + 7.0, (1.5, color));
        }
    }
}

/// Returns the part of the caption that names the events shown as marks; empty if the set has no events.
fn marks_text(schema: &SimSchema, set: &str) -> String {
    let probe = Traces::spikes_probe(schema, set).and_then(|id| schema.probes.get(usize::from(id)));
    probe.map_or_else(String::new, |probe| format!("  |  marks are {}", probe.events()))
}

impl Traces {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "traces",
        title: "Traces",
        icon: icons::WAVE,
        help: "# Traces\n\nOne trace per element, at most 64, on a shared scale. The marks on top of a trace are \
         its events, such as spikes. Without a pin the traces follow the selection; P or Pin keeps them.\n\n\
         *Groups* adds a trace per named group of the project: the mean of its elements, with a band of one standard \
         deviation over the elements on both sides. It has a sample per frame.\n\n\
         *A|B* shows two cursors: drag them to measure the time between them and the difference of the values.\n\n\
         - drag: move in time · wheel: zoom · Shift+wheel: scroll the traces · double-click or End: newest data",
        gestures: &[("drag", "move"), ("right-drag", "zoom"), ("wheel", "zoom"), ("double-click", "fit")],
        pages: &[Page::Simulate],
        fits: |schema| has_probe(schema, is_traced),
        menu: Some(MenuEntry { opening: Opening::Probe, ..MenuEntry::plot(0, "Traces") }),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Traces {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        self.lanes.clear();
        (self.chosen, self.needs_refresh) = (NamedProbe::named(schema, probe), true);
    }

    fn taps(&self, schema: &SimSchema, selection: &Selection) -> Vec<Tap> {
        let Some((probe, set)) = self.probe(schema) else { return vec![] };
        let elements = self.elements(schema, set, selection);
        let field = self.groups.field(schema, set, &schema.probes[usize::from(probe)]).map(tap);
        if elements.is_empty() {
            return field.into_iter().collect();
        }
        let spikes = Self::spikes_probe(schema, set).map(tap);
        [Tap::elements(probe, elements)].into_iter().chain(spikes).chain(field).collect()
    }

    fn take_needs_refresh(&mut self) -> bool {
        std::mem::take(&mut self.needs_refresh)
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.lanes.clear();
        self.groups.clear();
        let len = self.probe(schema).and_then(|(_, set)| schema.set(set)).map_or(0, |s| s.len);
        self.pinned.retain(|e| *e < len);
        self.is_pinned &= !self.pinned.is_empty();
    }

    fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        let Some((_, set)) = self.probe(schema) else { return };
        let Some(change) = changes.sets.iter().find(|c| c.name == set) else { return };
        self.pinned = change.follow(&self.pinned);
        self.is_pinned &= !self.pinned.is_empty();
        let old = std::mem::take(&mut self.lanes);
        let follow = |(element, lane)| Some((*change.follow(&[element]).first()?, lane));
        self.lanes = old.into_iter().filter_map(follow).collect();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let Some((probe, set)) = self.probe(schema) else { return };
        if let Some(id) = self.groups.field(schema, set, &schema.probes[usize::from(probe)])
            && let Some(Reading::Field(values)) = frame.reading(id)
        {
            self.groups.absorb(frame.clock.step, values);
        }
        if let Some(Reading::Series(series)) = frame.reading(probe) {
            let lanes = series.lanes.max(1) as usize;
            let is_playback = !schema.recorded(probe).is_empty();
            for (lane, element) in series.elements.iter().enumerate() {
                // Other subscribers may tap more elements.
                if !is_playback && !self.wanted.contains(element) {
                    continue;
                }
                let values: Vec<f32> = series.values.iter().skip(lane).step_by(lanes).copied().collect();
                self.lanes.entry(*element).or_default().samples.push(1, &series.steps, &values);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((probe, name)) = self.probe(ctx.schema) else {
            return unfit_ui(ui, ctx, ["No traces", "This simulation records no traces"]);
        };
        let Some(set) = ctx.schema.set(name).cloned() else { return };
        let is_key = !ui.ctx().text_edit_focused() && ui.input(|i| i.modifiers.is_none() && i.key_pressed(Key::P));
        match take_pin(ui.ctx()) {
            Some(elements) => self.pin(elements.to_vec()),
            None if is_key => self.pin(Self::to_pin(ctx, name)),
            None => {}
        }
        let generation = ctx.selection.generation;
        if ctx.selection.of(name).len() <= LANES {
            self.most_active = None;
        } else if self.most_active.as_ref().is_none_or(|(of, _)| *of != generation) {
            self.most_active = Some((generation, Self::to_pin(ctx, name)));
        }
        let wanted = self.elements(ctx.schema, name, ctx.selection);
        if wanted != self.wanted {
            if ctx.schema.recorded(probe).is_empty() {
                self.lanes.retain(|e, _| wanted.contains(e));
            }
            self.wanted = wanted;
        }
        self.needs_refresh |= self.groups.update(ui.ctx(), ctx, &set);
        let samples: u64 = self.wanted.iter().filter_map(|e| self.lanes.get(e)).map(|l| l.samples.len() as u64).sum();
        let caption = format!(
            "{}  |  {}  |  {}{}{}",
            text::plural(self.wanted.len(), "trace", "traces"),
            kit::counted(samples, "samples"),
            self.scope(ctx.selection.of(name).len()),
            marks_text(ctx.schema, name),
            self.groups.caption(&set.noun())
        );
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, name));
        let is_empty = self.wanted.is_empty() && self.groups.lanes().is_empty();
        if is_empty && ctx.schema.unrecorded.contains(&probe) {
            ctx.unrecorded = vec![ctx.schema.probes[usize::from(probe)].label().into_owned()];
            return run_ui(ui, canvas, ctx, "No traces", "");
        }
        if is_empty {
            let how = format!("Select {} and press P to record their traces", set.noun());
            kit::empty_ui(ui, canvas, ctx, "No traces", &how, None);
            return;
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let unit = ctx.schema.probes[usize::from(probe)].unit;
        self.lanes_ui(ui, canvas, &set, unit, ctx);
    }
}
