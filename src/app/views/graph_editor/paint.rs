//! Painting of circles, lines and marks.

use super::{
    GraphEditor,
    pointer::Seen,
    scene::{Curve, Disc, END, Scene},
};
use crate::app::{
    document::{
        graph::{Edge, Graph},
        items::Item,
    },
    kit::{self, icons, theme::Tokens, widgets},
    views::ViewCtx,
};
use egui::{Align2, Color32, FontFamily, FontId, Painter, Pos2, Rect, Shape, Stroke, Ui, Vec2};

/// Range of the widths of lines, points.
const WIDTHS: (f32, f32) = (1.4, 6.0);
/// Radius of the mark of an attachment, points.
const MARK: f32 = 9.0;

/// State of an item that changes its colours.
#[derive(Clone, Copy, Default)]
struct Look {
    is_selected: bool,
    is_hovered: bool,
    is_focused: bool,
}

impl Look {
    fn of(item: Item, ctx: &ViewCtx<'_>, seen: &Seen) -> Self {
        Self {
            is_selected: ctx.graph.selected == Some(item),
            is_hovered: seen.hovered == Some(item),
            is_focused: seen.focused == Some(item),
        }
    }
}

/// Paints the graph.
pub fn graph(ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>, graph: &Graph, scene: &Scene, seen: &Seen) {
    let painter = ui.painter_at(canvas);
    let heaviest = graph.edges.iter().map(Edge::total_weight).fold(1e-9, f64::max);
    for (i, edge) in graph.edges.iter().enumerate() {
        if let Some(curve) = &scene.curves[i] {
            let look = Look::of(graph.edge_item(i), ctx, seen);
            line(&painter, ctx.tokens, curve, edge, width(edge, heaviest), look);
            unknown_node(ui, &painter, ctx.tokens, curve, edge);
        }
    }
    for (i, attachment) in graph.attachments.iter().enumerate() {
        let look = Look::of(attachment.item, ctx, seen);
        let at = (scene.marks[i], scene.discs[attachment.node]);
        mark(&painter, ctx.tokens, at, attachment.problem.is_some(), look);
    }
    for i in 0..graph.nodes.len() {
        let look = Look::of(graph.node_item(i), ctx, seen);
        circle(ui, &painter, ctx.tokens, graph, (i, scene.discs[i]), look);
        if seen.rim == Some(i) {
            painter.circle_stroke(
                scene.discs[i].centre,
                scene.discs[i].radius + 3.0,
                Stroke::new(3.0, Tokens::fade(ctx.tokens.accent, 0.7)),
            );
        }
    }
}

fn width(edge: &Edge, heaviest: f64) -> f32 {
    let share = (edge.total_weight() / heaviest).sqrt() as f32;
    WIDTHS.0 + (WIDTHS.1 - WIDTHS.0) * share.clamp(0.0, 1.0)
}

/// Paints a line with its end: an arrow excites, a dot inhibits.
fn line(painter: &Painter, tokens: &Tokens, curve: &Curve, edge: &Edge, width: f32, look: Look) {
    let inhibits = edge.weight < 0.0;
    let ink = match edge.problem {
        Some(_) => tokens.warn,
        None if inhibits => tokens.inhibitory,
        None => tokens.excitatory,
    };
    if look.is_selected || look.is_hovered || look.is_focused {
        let opacity = if look.is_selected { 0.5 } else { 0.25 };
        let halo = Stroke::new(width + 7.0, Tokens::fade(tokens.accent, opacity));
        painter.add(Shape::line(curve.points.clone(), halo));
    }
    let stroke = Stroke::new(width, ink);
    match edge.problem {
        Some(_) => painter.extend(Shape::dashed_line(&curve.points, stroke, 6.0, 4.0)),
        None => drop(painter.add(Shape::line(curve.points.clone(), stroke))),
    }
    if curve.is_complete {
        end(painter, curve, ink, inhibits, width);
    }
    if edge.problem.is_some() {
        warning(painter, tokens, curve.middle());
    }
}

/// Writes the name of the missing node at the open end of a line.
fn unknown_node(ui: &Ui, painter: &Painter, tokens: &Tokens, curve: &Curve, edge: &Edge) {
    let Some((from, to)) = edge.title.split_once(" → ") else { return };
    let (name, open, inside) = match (edge.from, edge.to) {
        (Some(_), None) => (to, curve.end(), curve.points[0]),
        (None, Some(_)) => (from, curve.points[0], curve.end()),
        _ => return,
    };
    let at = open + (open - inside).normalized() * 10.0;
    let name = kit::elide(painter, name, &kit::small(ui), 120.0);
    painter.text(at, Align2::CENTER_CENTER, name, kit::small(ui), tokens.warn);
}

fn end(painter: &Painter, curve: &Curve, ink: Color32, inhibits: bool, width: f32) {
    let half = (END * 0.5).max(width * 0.5 + 2.5);
    let (along, base) = (curve.towards, curve.end());
    if inhibits {
        painter.circle_filled(base + along * (END - half).max(0.0), half, ink);
        return;
    }
    let across = Vec2::new(-along.y, along.x) * (half + 1.0);
    let head = vec![base + along * END, base + across, base - across];
    painter.add(Shape::convex_polygon(head, ink, Stroke::NONE));
}

fn circle(ui: &Ui, painter: &Painter, tokens: &Tokens, graph: &Graph, (i, disc): (usize, Disc), look: Look) {
    let node = &graph.nodes[i];
    painter.circle_filled(disc.centre, disc.radius, tokens.raised);
    painter.circle_filled(disc.centre, disc.radius, Tokens::fade(sign_color(tokens, graph, i), 0.16));
    let ink = match (&node.problem, look.is_selected, look.is_hovered) {
        (_, true, _) => tokens.accent,
        (Some(_), ..) => tokens.warn,
        (None, _, true) => tokens.text,
        _ => tokens.text_sub,
    };
    painter.circle_stroke(disc.centre, disc.radius, Stroke::new(if look.is_selected { 2.5 } else { 1.5 }, ink));
    if look.is_focused {
        painter.circle_stroke(disc.centre, disc.radius + 4.0, Stroke::new(1.0, tokens.accent));
    }
    names(ui, painter, tokens, graph, i, disc);
    if node.problem.is_some() {
        warning(painter, tokens, disc.border(Vec2::new(0.7, -0.7)));
    }
}

/// Returns the colour of the sign that all lines from a node share; grey if they differ or there are none.
fn sign_color(tokens: &Tokens, graph: &Graph, node: usize) -> Color32 {
    let mut signs = graph.edges.iter().filter(|edge| edge.from == Some(node)).map(|edge| edge.weight < 0.0);
    match signs.next() {
        Some(first) if signs.all(|sign| sign == first) => {
            if first {
                tokens.inhibitory
            } else {
                tokens.excitatory
            }
        }
        _ => tokens.other,
    }
}

/// Writes name and size into a circle, or below it if the name does not fit.
fn names(ui: &Ui, painter: &Painter, tokens: &Tokens, graph: &Graph, i: usize, disc: Disc) {
    let node = &graph.nodes[i];
    let font = FontId::new(13.0, widgets::semibold());
    let name = if node.name.is_empty() { "?" } else { &node.name };
    let needs = painter.layout_no_wrap(name.to_owned(), font.clone(), tokens.text_strong).size().x;
    let size = kit::thousands(node.size as u64);
    if needs <= disc.radius * 1.75 {
        let has_size = disc.radius > 20.0;
        let up = if has_size { 7.0 } else { 0.0 };
        painter.text(disc.centre - Vec2::Y * up, Align2::CENTER_CENTER, name, font, tokens.text_strong);
        if has_size {
            painter.text(disc.centre + Vec2::Y * 8.0, Align2::CENTER_CENTER, size, kit::small(ui), tokens.text_sub);
        }
        return;
    }
    painter.text(disc.centre, Align2::CENTER_CENTER, size, kit::small(ui), tokens.text_sub);
    let name = kit::elide(painter, name, &font, 150.0);
    let below = disc.centre + Vec2::Y * (disc.radius + 11.0);
    let galley = painter.layout_no_wrap(name, font, tokens.text_strong);
    let area = Align2::CENTER_CENTER.anchor_size(below, galley.size());
    painter.rect_filled(area.expand2(Vec2::new(3.0, 0.0)), 3.0, Tokens::fade(tokens.canvas, 0.8));
    painter.galley(area.min, galley, tokens.text_strong);
}

/// Paints the mark of an item that belongs to a node, with an arrow to the circle.
fn mark(painter: &Painter, tokens: &Tokens, (at, disc): (Pos2, Disc), has_problem: bool, look: Look) {
    let along = (disc.centre - at).normalized();
    let ink = match (has_problem, look.is_selected || look.is_focused, look.is_hovered) {
        (_, true, _) => tokens.accent,
        (true, ..) => tokens.warn,
        (_, _, true) => tokens.text_strong,
        _ => tokens.text_sub,
    };
    let (from, to) = (at + along * MARK, disc.centre - along * disc.radius);
    painter.line_segment([from, to - along * 5.0], Stroke::new(1.4, ink));
    let across = Vec2::new(-along.y, along.x) * 4.0;
    let base = to - along * 7.0;
    painter.add(Shape::convex_polygon(vec![to, base + across, base - across], ink, Stroke::NONE));
    painter.circle(at, MARK, tokens.raised, Stroke::new(1.2, ink));
    glyph(painter, at, icons::LIGHTNING, 11.0, ink);
}

fn warning(painter: &Painter, tokens: &Tokens, at: Pos2) {
    painter.circle_filled(at, 8.0, tokens.canvas);
    glyph(painter, at, icons::WARNING, 14.0, tokens.warn);
}

fn glyph(painter: &Painter, at: Pos2, glyph: &str, size: f32, ink: Color32) {
    let font = FontId::new(size, FontFamily::Name(icons::FAMILY.into()));
    painter.text(at, Align2::CENTER_CENTER, glyph, font, ink);
}

impl GraphEditor {
    /// Paints the line that is being drawn to the pointer.
    pub(super) fn paint_gesture(&self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>, scene: &Scene) {
        let Some((from, at)) = self.drawn_line(ui) else { return };
        let Some(disc) = scene.discs.get(from) else { return };
        let painter = ui.painter_at(canvas);
        let ink = if self.inhibits { ctx.tokens.inhibitory } else { ctx.tokens.excitatory };
        painter.circle_stroke(disc.centre, disc.radius + 3.0, Stroke::new(2.0, ctx.tokens.accent));
        if !disc.contains(at) {
            painter.line_segment([disc.border(at - disc.centre), at], Stroke::new(2.0, Tokens::fade(ink, 0.8)));
            painter.circle_filled(at, 3.5, ink);
        }
    }
}
