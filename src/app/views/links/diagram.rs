//! Drawing of links as lines between two columns of elements.

use super::{Ends, range, scale_colors};
use crate::{
    app::{
        kit::{self, color_scale::ColorScale, colors},
        views::{ViewCtx, element},
    },
    sim::{ElementSet, Link, ProbeSpec},
};
use egui::{Align2, Color32, Pos2, Rect, Response, Sense, Stroke, Ui, epaint::CubicBezierShape, pos2, vec2};

/// Maximum number of lines per point of height.
const LINES_PER_POINT: f32 = 6.0;
/// Maximum number of lines drawn as curves; more are straight.
const MAX_CURVES: usize = 600;
/// Height of a name, points.
const ROW: f32 = 13.0;
/// Maximum distance of the pointer from a node that it hovers, points.
const NEAR: f32 = 14.0;
/// Maximum number of links named in a tooltip.
const MAX_NAMED: usize = 6;

/// State of the drawing.
#[derive(Default)]
pub(super) struct Diagram {
    n_drawn: usize,
}

/// Column of the elements that have links.
struct Side {
    elements: Vec<u32>,
    x: f32,
    area: Rect,
}

impl Side {
    fn of(links: &[Link], end: fn(&Link) -> u32, x: f32, area: Rect) -> Self {
        let mut elements: Vec<u32> = links.iter().map(end).collect();
        elements.sort_unstable();
        elements.dedup();
        Self { elements, x, area }
    }

    fn step(&self) -> f32 {
        self.area.height() / self.elements.len().max(1) as f32
    }

    fn at(&self, i: usize) -> Pos2 {
        pos2(self.x, self.area.top() + (i as f32 + 0.5) * self.step())
    }

    fn place(&self, element: u32) -> Option<Pos2> {
        Some(self.at(self.elements.binary_search(&element).ok()?))
    }

    /// Returns the element at a position in the column or its names; `None` elsewhere.
    fn under(&self, at: Pos2, is_left: bool) -> Option<u32> {
        let is_beside = if is_left { at.x <= self.x + NEAR } else { at.x >= self.x - NEAR };
        let i = ((at.y - self.area.top()) / self.step()).floor();
        (is_beside && i >= 0.0).then(|| self.elements.get(i as usize).copied()).flatten()
    }
}

impl Diagram {
    /// Number of lines in the last drawing.
    pub fn n_drawn(&self) -> usize {
        self.n_drawn
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        (all, strongest): (&[Link], &[Link]),
        ends: &Ends<'_>,
        probe: &ProbeSpec,
        ctx: &mut ViewCtx<'_>,
    ) {
        let names = (canvas.width() * 0.22).min(130.0);
        let area = Rect::from_min_max(canvas.min + vec2(8.0, 24.0), canvas.max - vec2(8.0, 8.0));
        let bar = Rect::from_min_size(
            pos2(canvas.right() - 60.0, area.top() + 14.0),
            vec2(8.0, (area.height() - 24.0).clamp(4.0, 150.0)),
        );
        let left = Side::of(all, |l| l.from, area.left() + names, area);
        let right = Side::of(all, |l| l.to, bar.left() - names - 20.0, area);
        let response = ui.interact(canvas, ui.scope_id().with("links"), Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Links as lines"));
        let at = response.hover_pos();
        let hovered = at.and_then(|at| {
            let left = left.under(at, true).map(|e| (0, e));
            left.or_else(|| right.under(at, false).map(|e| (1, e)))
        });
        let most = (area.height() * LINES_PER_POINT) as usize;
        let fixed = ctx.color_scales.of(probe.name).range;
        let scale = ColorScale::new(scale_colors(strongest), false, range(strongest), fixed, ctx.tokens);
        self.lines(ui, canvas, &strongest[..strongest.len().min(most)], (&left, &right), hovered, &scale, ctx);
        for (i, side) in [&left, &right].into_iter().enumerate() {
            nodes(ui, side, i, names, ends, hovered, ctx);
        }
        let weights: Vec<f32> = all.iter().map(|l| l.weight).collect();
        scale.bar(ui, bar, probe.unit, scale.beyond(&weights), ctx.tokens);
        let Some((side, element)) = hovered else { return };
        act(ui, &response, ends, side, element, all, probe, ctx);
    }

    /// Draws the lines. The weakest are drawn first, so that the strongest stay visible.
    #[allow(clippy::too_many_arguments)]
    fn lines(
        &mut self,
        ui: &Ui,
        canvas: Rect,
        drawn: &[Link],
        (left, right): (&Side, &Side),
        hovered: Option<(usize, u32)>,
        scale: &ColorScale,
        ctx: &ViewCtx<'_>,
    ) {
        self.n_drawn = drawn.len();
        let painter = ui.painter_at(canvas);
        let is_of = |l: &Link| hovered.is_none_or(|(side, e)| if side == 0 { l.from == e } else { l.to == e });
        let fade = if hovered.is_some() { 0.15 } else { 0.8 };
        let (near, far): (Vec<&Link>, Vec<&Link>) = drawn.iter().rev().partition(|l| hovered.is_some() && is_of(l));
        for (links, opacity, width) in [(far, fade, 1.2), (near, 1.0, 2.0)] {
            for link in links {
                let (Some(a), Some(b)) = (left.place(link.from), right.place(link.to)) else { continue };
                // The lowest colours of a map are similar to the canvas, so a part of the text's colour is added.
                let color = scale.color(link.weight).lerp_to_gamma(ctx.tokens.text_sub, 0.12).gamma_multiply(opacity);
                let stroke = Stroke::new(width, color);
                if drawn.len() > MAX_CURVES {
                    painter.line_segment([a, b], stroke);
                    continue;
                }
                let bend = vec2((b.x - a.x) * 0.45, 0.0);
                let points = [a, a + bend, b - bend, b];
                painter.add(CubicBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke));
            }
        }
    }
}

/// Draws nodes and names of a column, with its title above.
fn nodes(
    ui: &Ui,
    side: &Side,
    number: usize,
    room: f32,
    ends: &Ends<'_>,
    hovered: Option<(usize, u32)>,
    ctx: &ViewCtx<'_>,
) {
    let (painter, font, t) = (ui.painter(), kit::small(ui), ctx.tokens);
    let (align, away) = if number == 0 { (Align2::RIGHT_CENTER, -8.0) } else { (Align2::LEFT_CENTER, 8.0) };
    let title_align = if number == 0 { Align2::RIGHT_BOTTOM } else { Align2::LEFT_BOTTOM };
    let title = pos2(side.x + away, side.area.top() - 4.0);
    painter.text(title, title_align, ends.names[number], font.clone(), t.text_sub);
    let every = (ROW / side.step().max(0.01)).ceil().max(1.0) as usize;
    let inks = ends.sets[number].and_then(|set| {
        let column = set.columns.first()?;
        Some((column, colors::of_column(column, t)))
    });
    for (i, element) in side.elements.iter().enumerate() {
        let is_hovered = hovered == Some((number, *element));
        let is_selected = ctx.selection.contains(ends.names[number], *element);
        let code =
            inks.as_ref().and_then(|(column, inks)| inks.get(usize::from(*column.codes.get(*element as usize)?)));
        let ink = if is_selected { t.accent } else { code.copied().unwrap_or(t.text_sub) };
        let radius = if is_hovered || is_selected { 4.0 } else { (side.step() * 0.4).clamp(1.0, 3.0) };
        painter.circle_filled(side.at(i), radius, ink);
        let is_crowded = hovered.is_some_and(|(s, h)| {
            s == number && h != *element && side.elements.binary_search(&h).is_ok_and(|h| h.abs_diff(i) < every)
        });
        if is_hovered || (i.is_multiple_of(every) && !is_crowded) {
            let text = kit::elide(painter, &ends.label(number, *element), &font, room - 12.0);
            let ink = if is_hovered || is_selected { t.text_strong } else { t.text };
            painter.text(side.at(i) + vec2(away, 0.0), align, text, font.clone(), ink);
        }
    }
}

/// Handles tooltip and clicks of an element.
#[allow(clippy::too_many_arguments)]
fn act(
    ui: &Ui,
    response: &Response,
    ends: &Ends<'_>,
    side: usize,
    element: u32,
    all: &[Link],
    probe: &ProbeSpec,
    ctx: &mut ViewCtx<'_>,
) {
    let mut own: Vec<Link> =
        all.iter().filter(|l| if side == 0 { l.from == element } else { l.to == element }).copied().collect();
    own.sort_unstable_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    let other = |l: &Link| if side == 0 { l.to } else { l.from };
    let arrow = if side == 0 { "→" } else { "←" };
    let name = |l: &Link| format!("{arrow} {}", ends.label(1 - side, other(l)));
    let mut values: Vec<_> =
        own.iter().take(MAX_NAMED).map(|l| (name(l), kit::with_unit(l.weight.into(), probe.unit))).collect();
    if own.len() > MAX_NAMED {
        values.push((format!("{} more", own.len() - MAX_NAMED), String::new()));
    }
    let set: Option<&ElementSet> = ends.sets[side].map(|set| &**set);
    let Some(set) = set else { return };
    if response.clicked() {
        match ui.input(|i| i.modifiers.command) {
            true => ctx.selection.toggle(set.name, element),
            false => ctx.selection.replace(set.name, vec![element]),
        }
    }
    response.clone().on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, set, element, &values));
}
