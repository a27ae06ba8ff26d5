//! Distribution of a field's values over time: bands between quantiles, or a heat map.

mod course;
mod draw;
mod heat_map;
mod history_lines;
mod markers;
mod summary;
mod text;
mod thinned;

use super::{
    MenuEntry, MenuTarget, View, ViewCtx, ViewDeclaration,
    chosen::NamedProbe,
    fields::{self, ElementMask, Fields},
    menu, no_values_ui, placeholder, scatter, unfit_ui,
};
use crate::{
    app::{
        document::{
            features::{probes_where, tap},
            layout::Page,
            selection::Selection,
            time::{TimeLink, paint},
        },
        kit::{self, icons},
        views::element,
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, Meaning, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use course::{Source, SummarySeries};
use draw::Chart;
use egui::{Rect, Response, Sense, Ui, Vec2};
use history_lines::HistoryLines;
use std::{collections::BTreeSet, sync::Arc};
use summary::RawState;

/// Minimum width of a view with labels next to the markers, points.
const WIDE: f32 = 420.0;
/// Height of the axis below the plot and of the title above it, points.
const FRAME: [f32; 2] = [21.0, 24.0];

/// The view of the distribution over time.
#[derive(Default)]
pub struct Bands {
    field: NamedProbe,
    /// Fields whose values were always all equal, which are not the default choice.
    flat: BTreeSet<ProbeId>,
    fields: Fields,
    /// Step of the current values.
    at: u64,
    course: SummarySeries,
    history_lines: HistoryLines,
    is_log: bool,
    /// Whether the visible values were all positive.
    is_positive: bool,
    is_heat_map: bool,
    image: heat_map::HeatMapImage,
    link: TimeLink,
    under_pointer: Option<u32>,
    /// The element for which the context menu was opened.
    opened: Option<u32>,
}

/// Returns the fields of numbers, then those of times since an event.
fn candidates(schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
    let of = |meaning| probes_where(schema, move |s| s.meaning() == Some(meaning));
    of(Meaning::Number).chain(of(Meaning::TimeSince)).collect()
}

fn set_of(probe: &ProbeSpec) -> &'static str {
    if let Shape::Field { over, .. } = probe.shape { over } else { "" }
}

/// Returns the states of a field in the history after a step, then the current values with their step `at`.
fn raws(ctx: &ViewCtx<'_>, held: &Fields, (probe, set): (ProbeId, &str), at: u64, after: Option<u64>) -> Vec<RawState> {
    let (past, filter) = (&ctx.time.past.fields, ctx.filter.shown());
    let mask = fields::mask(ctx.schema, set);
    let then = |(step, values): (u64, &Arc<Vec<f32>>)| {
        let mask = mask.and_then(|m| past.at(m, step)).map(|(_, mask)| mask.clone());
        RawState { step, values: values.clone(), part: ElementMask::then(mask, set, filter) }
    };
    let newest = held.get(probe);
    let is_old = |(step, _): &(u64, &Arc<Vec<f32>>)| newest.is_none() || *step != at;
    let mut raws: Vec<RawState> = past.after(probe, after).filter(is_old).map(then).collect();
    if let Some(values) = newest {
        raws.push(RawState { step: at, values: values.clone(), part: ElementMask::of(ctx.schema, set, held, filter) });
    }
    raws
}

impl Bands {
    /// Returns the displayed field: the chosen one if it exists, otherwise the first whose values differ, or the first. `None`
    /// without fields.
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec)> {
        self.field.of(&candidates(schema), |(id, _)| !self.flat.contains(id))
    }

    fn wanted(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let Some((id, probe)) = self.probe(schema) else { return vec![] };
        [Some(id), fields::mask(schema, set_of(probe))].into_iter().flatten().collect()
    }

    /// Records whether all values of the displayed field were always equal, so that it is not the default choice.
    fn note_flat(&mut self, schema: &SimSchema) {
        let Some((id, probe)) = self.probe(schema) else { return };
        let Some(values) = self.fields.get(id).filter(|_| self.course.is_flat()) else { return };
        let mask = fields::mask(schema, set_of(probe)).and_then(|m| self.fields.get(m)).map(|m| m.as_slice());
        if fields::is_constant(values, |i| fields::is_included(mask, i)) {
            self.flat.insert(id);
        } else {
            self.flat.remove(&id);
        }
    }

    /// Summarises new states, including those in the history.
    fn add_new_states(&mut self, ui: &Ui, (id, probe): (ProbeId, &ProbeSpec), ctx: &ViewCtx<'_>) {
        let skip_negative = probe.shape.meaning() == Some(Meaning::TimeSince);
        let of = Source { probe: id, filter: ctx.filter.shown().generation, skip_negative };
        let (set, at, held) = (set_of(probe), self.at, &self.fields);
        let raws = |after| raws(ctx, held, (id, set), at, after);
        self.course.update(ui.ctx(), of, held.generation, raws);
        let selected = (ctx.selection.of(set), ctx.selection.generation);
        self.history_lines.update(of, selected, held.generation, raws);
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &'static ProbeSpec) {
        element::time_ui(ui, ctx, &mut self.link);
        ui.separator();
        let all = candidates(ctx.schema);
        let has_sets = all.iter().any(|(_, p)| set_of(p) != set_of(probe));
        let name = |p: &ProbeSpec| match has_sets {
            true => format!("{}: {}", kit::spaced(set_of(p)), fields::label(p)),
            false => fields::label(p),
        };
        let options: Vec<_> = all.iter().map(|(_, p)| (p.name, name(p))).collect();
        self.field.ui(ui, ctx, "Field", probe, &options);
        let pictures = [(false, "bands".to_owned()), (true, "heat map".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "As", &mut self.is_heat_map, &pictures);
        let hint = "Logarithmic scale, if all visible values are positive";
        ui.add_enabled_ui(self.is_positive, |ui| {
            ui.toggle_value(&mut self.is_log, "Log").on_hover_text(hint).on_disabled_hover_text(hint);
        });
    }

    /// Draws the chart and handles its pointer input.
    fn chart_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        (probe, set): (&ProbeSpec, &Arc<ElementSet>),
        ctx: &mut ViewCtx<'_>,
    ) {
        let response = ui.interact(canvas, ui.scope_id().with("bands"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Distribution over time"));
        let seen = |b: &Self, ctx: &ViewCtx<'_>| {
            let line = b.link.line(&ctx.time.axis);
            b.course.history().within(line.t0, line.t1)
        };
        let (scale, _) = draw::scale_of(&self.course.history().entries()[seen(self, ctx)], self.is_log);
        let is_figure = kit::is_staged(ui.ctx());
        let has_room = canvas.width() >= WIDE && !is_figure;
        let left = scatter::axis::gutter(ui, &scale, canvas.height() - FRAME[0] - FRAME[1]);
        let right = if has_room { markers::LABEL_WIDTH } else { 14.0 };
        let plot = Rect::from_min_max(canvas.min + Vec2::new(left, FRAME[1]), canvas.max - Vec2::new(right, FRAME[0]));
        let edge = ctx.live_edge() as f64;
        let line = self.link.interact(ui, &response, plot, &mut ctx.time.axis, edge);
        paint::point(&response, plot, &line, &mut ctx.time.axis);
        let seen = seen(self, ctx);
        let (scale, is_positive) = draw::scale_of(&self.course.history().entries()[seen.clone()], self.is_log);
        self.is_positive = is_positive;
        let chart = Chart { plot, scale, line: &line };
        self.paint(ui, canvas, &chart, seen, probe, ctx);
        response.context_menu(|ui| {
            let subject = MenuTarget::at(ctx, set, None);
            menu::ui(ui, ctx, set, &subject);
        });
        let style = (ctx.clock, &kit::mono(ui), ctx.tokens);
        paint::pointer_chip(&ui.painter_at(canvas), &response, plot, &line, style);
        self.tooltip(&response, &chart, (probe, set), ctx);
        // The markers select elements of the displayed state, which a figure does not show.
        if !is_figure {
            self.markers_ui(ui, &chart, (probe, set), has_room, ctx);
        }
    }

    fn paint(
        &mut self,
        ui: &Ui,
        canvas: Rect,
        chart: &Chart<'_>,
        seen: std::ops::Range<usize>,
        probe: &ProbeSpec,
        ctx: &ViewCtx<'_>,
    ) {
        let (painter, tokens) = (ui.painter_at(canvas), ctx.tokens);
        let (plot, mono, line) = (chart.plot, kit::mono(ui), chart.line);
        let inside = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
        let history = self.course.history();
        let ends = history.pieces(history.within(line.t0, line.t1)).into_iter();
        let ends: Vec<(u64, u64)> =
            ends.map(|p| (history.entries()[p.start].0, history.entries()[p.end - 1].0)).collect();
        let gaps: Vec<(f64, f64)> = ends.windows(2).map(|w| (w[0].1 as f64, w[1].0 as f64)).collect();
        paint::not_recorded(&inside, plot, &gaps, tokens, |step| line.x_of(plot, step));
        if self.is_heat_map {
            let generation = self.course.generation;
            self.image.paint(&inside, chart, (history, seen.clone()), generation, tokens);
            draw::median(&inside, chart, history, seen, tokens.text_strong.gamma_multiply(0.7));
        }
        paint::background(&inside, plot, ctx.time, tokens, (line.t0, line.t1), |step| line.x_of(plot, step));
        if !self.is_heat_map {
            let seen = history.within(line.t0, line.t1);
            draw::bands(&inside, chart, history, seen, tokens);
        }
        draw::history_lines(&inside, chart, &self.history_lines, tokens);
        let title = crate::app::kit::text::probe_title(probe);
        let fonts = (&mono, &kit::small(ui));
        scatter::axis::y(&painter, canvas.left() + 8.0, plot, fonts, tokens, &chart.scale, &title);
        line.paint_axis(&painter, plot, &mono, tokens, ctx.clock);
        paint::overlay(&painter, plot, ctx.time, tokens, |step| line.x_of(plot, step));
    }

    /// Shows the tooltip of the state nearest to the pointer.
    fn tooltip(&self, response: &Response, chart: &Chart<'_>, of: (&ProbeSpec, &ElementSet), ctx: &ViewCtx<'_>) {
        let Some(at) = response.hover_pos().filter(|at| chart.plot.contains(*at) && !response.dragged()) else {
            return;
        };
        let step = chart.line.step_at(chart.plot, at.x);
        let Some(i) = self.course.history().nearest(step) else { return };
        let text = self.tooltip_text(i, of, chart, ctx);
        response.clone().on_hover_text_at_pointer(text);
    }

    fn markers_ui(
        &mut self,
        ui: &Ui,
        chart: &Chart<'_>,
        (probe, set): (&ProbeSpec, &ElementSet),
        has_room: bool,
        ctx: &mut ViewCtx<'_>,
    ) {
        let Some(front) = self.course.front() else { return };
        let found = markers::ui(ui, chart, front, (set, probe), &mut self.opened, has_room, ctx);
        // The pointer has left a marker.
        if found.is_none() && self.under_pointer.is_some() && ctx.selection.hovered == self.under_pointer {
            ctx.selection.hovered = None;
        }
        self.under_pointer = found;
    }
}

impl Bands {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "bands",
        title: "Distribution",
        icon: icons::WAVE,
        help: "# Distribution over time\n\nThe values of a field over all living elements that the \
         filter shows. Bands reach from the 5 % to the 95 % quantile and from 25 % to 75 %, the strong line is the \
         median, the thin ones are minimum and maximum. *heat map* shows the share of elements per value bin.\n\nStates come from the history of the run; missing times are gaps. Long runs are thinned evenly; the caption gives \
         the number of states. Up to eight selected elements have a line each.\n\n\
         - click *lowest*, *median* or *highest*: select that element · Ctrl+click: add or remove · right-click: \
         menu\n\
         - drag: move in time · wheel: zoom · double-click or End: newest data",
        gestures: &[
            ("click a mark", "select"),
            ("Ctrl", "add"),
            ("drag", "move"),
            ("wheel", "zoom"),
            ("double-click", "newest"),
            ("right-click", "menu"),
        ],
        pages: &[Page::Explore, Page::Simulate],
        fits: |schema| !candidates(schema).is_empty(),
        menu: Some(MenuEntry::plot(3, "Distribution over time")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Bands {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = self.probe(schema).map(|(_, p)| fields::label(p));
        name.map_or_else(|| Self::DECLARATION.title.into(), |name| format!("Distribution: {name}"))
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.wanted(schema).into_iter().map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.fields.clear();
        self.flat.clear();
        self.course.clear();
        self.history_lines.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let wanted = self.wanted(schema);
        if !self.fields.absorb(frame, &wanted) {
            return;
        }
        let is_field = |id: &ProbeId| matches!(frame.reading(*id), Some(Reading::Field(_)));
        if wanted.first().is_some_and(is_field) {
            self.at = frame.clock.step;
        }
        // Before the first step fields may be unmeasured.
        if frame.clock.step > 0 {
            self.note_flat(schema);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let found = self.probe(ctx.schema).and_then(|(id, p)| Some((id, p, ctx.schema.set(set_of(p))?.clone())));
        let Some((id, probe, set)) = found else {
            return unfit_ui(ui, ctx, ["No field", "This simulation has no field of numbers"]);
        };
        self.add_new_states(ui, (id, probe), ctx);
        let caption = self.caption(&set, ctx);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, probe));
        if self.course.is_computing_first() {
            placeholder::busy_ui(ui, canvas, ctx.tokens, "Computing quantiles", None);
            return;
        }
        if self.course.history().entries().is_empty() {
            let notice = ["No values yet", "Run to see the distribution over time"];
            return no_values_ui(ui, canvas, ctx, (ctx.filter.shown().n_hidden(&set), "values"), notice);
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        self.chart_ui(ui, canvas, (probe, &set), ctx);
    }
}
