//! Phase circle of any field of angles, with the Kuramoto order parameter as an arrow.

use super::{
    View, ViewCtx, ViewDeclaration,
    chosen::NamedProbe,
    cloud::{Cloud, MAX_SINGLE, Placed},
    fields::{self, ElementMask, Fields},
    hidden_text, no_values_ui, unfit_ui,
};
use crate::{
    app::{
        document::{color_scales::ColorScales, features::tap, layout::Page, selection::Selection},
        kit::{self, bar::ColorBar, color_scale::FieldScale, colors, icons},
    },
    engine::SimSchema,
    num::circular::CircularSum,
    sim::{ElementSet, Frame, ProbeId, ProbeSpec, Tap},
};
use egui::{Align2, Color32, Mesh, Painter, Pos2, Rect, Response, Sense, Stroke, Ui, Vec2, vec2};
use std::{f32::consts::TAU, sync::Arc};

/// Number of bins of the density ring.
const PARTS: usize = 180;
/// Radii of the circle and of the density ring, as fractions of the square's side.
const CIRCLE: f32 = 0.385;
const RING: (f32, f32) = (0.425, 0.47);

/// Order parameter (mean of e^{iφ}), and the counts per bin.
#[derive(Default)]
struct Order {
    sum: CircularSum,
    parts: Vec<u32>,
    total: usize,
}

impl Order {
    fn r(&self) -> f64 {
        self.sum.resultant()
    }

    fn psi(&self) -> f64 {
        self.sum.mean()
    }
}

/// The phase circle.
#[derive(Default)]
pub struct Circle {
    angle: NamedProbe,
    /// The field that colours the points; `None`: the angle.
    color_by: Option<ProbeId>,
    fields: Fields,
    cloud: Cloud<Order>,
    chosen: Option<Chosen>,
}

/// Sum of e^{iφ} over the selected elements.
#[derive(Clone, Copy)]
struct Chosen {
    /// Generations of placement and selection of the sum.
    key: (u64, u64),
    sum: CircularSum,
}

/// Places elements on the circle at their angles, with a small radial displacement against overlap. Also computes the order
/// parameter.
fn on_circle(angles: &[f32], part: &ElementMask) -> Placed<Order> {
    let mut order = Order { parts: vec![0; PARTS], total: angles.len(), ..Order::default() };
    let (mut of, mut at) = (vec![], vec![]);
    for (i, angle) in angles.iter().enumerate() {
        if !angle.is_finite() || !part.has(i) {
            continue;
        }
        let (sin, cos) = angle.sin_cos();
        order.sum.add(f64::from(*angle));
        let part = ((angle / TAU).rem_euclid(1.0) * PARTS as f32) as usize;
        order.parts[part % PARTS] += 1;
        let spread = ((i as f32 * 0.618_034).fract() - 0.5) * 0.035;
        of.push(i as u32);
        at.push([0.5 + (CIRCLE + spread) * cos, 0.5 + (CIRCLE + spread) * sin]);
    }
    Placed { of, at, found: order }
}

impl Circle {
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec, &'static str)> {
        fields::angle(schema, self.angle)
    }

    fn wanted(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let Some((id, _, over)) = self.probe(schema) else { return vec![] };
        let color_by = fields::color_field(schema, over, self.color_by);
        fields::wanted([Some(id), fields::mask(schema, over), color_by])
    }

    fn caption(&self, set: &str, n_hidden: u32) -> String {
        let order = &self.cloud.placed().found;
        let (n, total) = (self.cloud.placed().of.len(), order.total);
        let mut text = format!("{} of {} {set}", kit::thousands(n as u64), kit::thousands(total as u64));
        if n > 0 {
            text += &format!("  |  r = {:.3}  |  ψ = {}", order.r(), kit::angle(order.psi()));
        }
        if n > MAX_SINGLE {
            text += "  |  density";
        }
        text + &hidden_text(n_hidden)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &'static ProbeSpec, over: &str) {
        if fields::angle_ui(ui, ctx, &mut self.angle, probe) {
            self.clear();
        }
        self.fields.color_ui(ui, ctx, &mut self.color_by, over, (fields::label(probe), probe.name));
    }

    fn clear(&mut self) {
        self.fields.clear();
        self.cloud.clear();
        self.chosen = None;
    }

    /// Returns the field that colours the points, its latest values and its scale; `None` before they arrive.
    fn scale(&self, ctx: &ViewCtx<'_>, angle: ProbeId) -> Option<(&'static ProbeSpec, Arc<Vec<f32>>, FieldScale)> {
        let id = self.color_by.filter(|t| self.fields.get(*t).is_some()).unwrap_or(angle);
        self.fields.scale(ctx, id)
    }

    /// Returns the sum of e^{iφ} over the selected elements, cached per placement and selection.
    fn of_selected(&mut self, selected: &[u32], selection: u64) -> Chosen {
        let key = (self.cloud.generation, selection);
        if let Some(chosen) = self.chosen.filter(|c| c.key == key) {
            return chosen;
        }
        let placed = self.cloud.placed();
        let places = selected.iter().filter_map(|e| placed.of.binary_search(e).ok()).map(|i| placed.at[i]);
        let sum = places.map(|[x, y]| f64::from(y - 0.5).atan2(f64::from(x - 0.5))).collect();
        let chosen = Chosen { key, sum };
        self.chosen = Some(chosen);
        chosen
    }

    fn paint(&mut self, ui: &Ui, canvas: Rect, area: Rect, set: &ElementSet, angle: ProbeId, ctx: &ViewCtx<'_>) {
        let painter = ui.painter_at(canvas);
        let small = kit::small(ui);
        paint_guides(&painter, area, &small, ctx);
        paint_ring(&painter, area, &self.cloud.placed().found.parts, ctx);
        if let Some((_, values, scale)) = self.scale(ctx, angle) {
            let color = |of: u32| values.get(of as usize).map_or(Color32::TRANSPARENT, |v| scale.color(*v));
            self.cloud.paint(&painter, area, set, ctx, color);
        }
        let order = &self.cloud.placed().found;
        let (r, psi) = (order.r(), order.psi());
        if order.sum.n == 0 {
            return;
        }
        let selected = ctx.selection.of(set.name);
        if selected.len() > 1 {
            let sum = self.of_selected(selected, ctx.selection.generation).sum;
            paint_arrow(&painter, area, sum.resultant(), sum.mean(), ctx.tokens.accent);
        }
        paint_arrow(&painter, area, r, psi, ctx.tokens.text_strong);
        let font = kit::mono(ui);
        let corner = canvas.left_top() + vec2(12.0, 10.0);
        let big = egui::FontId { size: 18.0, ..font.clone() };
        let line = painter.text(corner, Align2::LEFT_TOP, format!("r {r:.2}"), big, ctx.tokens.text_strong);
        let text = format!("ψ {}", kit::angle(psi));
        painter.text(line.left_bottom() + vec2(0.0, 2.0), Align2::LEFT_TOP, text, font, ctx.tokens.text_sub);
    }
}

/// Draws the circle, a circle of half the radius, and angle labels.
fn paint_guides(painter: &Painter, area: Rect, font: &egui::FontId, ctx: &ViewCtx<'_>) {
    let (centre, side) = (area.center(), area.width());
    for share in [0.5, 1.0] {
        painter.circle_stroke(centre, CIRCLE * side * share, Stroke::new(1.0, ctx.tokens.line));
    }
    let reach = CIRCLE * side;
    painter.hline(centre.x - reach..=centre.x + reach, centre.y, (1.0, ctx.tokens.line.gamma_multiply(0.5)));
    painter.vline(centre.x, centre.y - reach..=centre.y + reach, (1.0, ctx.tokens.line.gamma_multiply(0.5)));
    if side < 180.0 {
        return;
    }
    for (turn, name) in [(0.0, "0"), (0.25, "π/2"), (0.5, "π"), (0.75, "-π/2")] {
        let at = centre + Vec2::angled(-turn * TAU) * (CIRCLE - 0.045) * side;
        painter.text(at, Align2::CENTER_CENTER, name, font.clone(), ctx.tokens.text_sub);
    }
}

/// Draws the density ring: bars outside of the circle, relative to the fullest bin. With more than [`MAX_SINGLE`] points it
/// replaces them.
fn paint_ring(painter: &Painter, area: Rect, parts: &[u32], ctx: &ViewCtx<'_>) {
    let most = parts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let n: u64 = parts.iter().map(|n| u64::from(*n)).sum();
    let inner = if n > MAX_SINGLE as u64 { CIRCLE - 0.03 } else { RING.0 };
    let mut mesh = Mesh::default();
    let at = |turn: f32, radius: f32| area.center() + Vec2::angled(-turn * TAU) * radius * area.width();
    for (i, n) in parts.iter().enumerate().filter(|(_, n)| **n > 0) {
        let share = *n as f32 / most as f32;
        let (from, to) = (i as f32 / parts.len() as f32, (i + 1) as f32 / parts.len() as f32);
        let outer = inner + (RING.1 - inner) * (0.12 + 0.88 * share.sqrt());
        let first = mesh.vertices.len() as u32;
        for corner in [at(from, inner), at(to, inner), at(to, outer), at(from, outer)] {
            mesh.colored_vertex(corner, colors::density(share.sqrt(), ctx.tokens.dark));
        }
        mesh.add_triangle(first, first + 1, first + 2);
        mesh.add_triangle(first, first + 2, first + 3);
    }
    painter.add(mesh);
}

fn paint_arrow(painter: &Painter, area: Rect, r: f64, psi: f64, color: Color32) {
    let along = Vec2::angled(-psi as f32);
    let tip = area.center() + along * (r as f32 * CIRCLE * area.width());
    painter.line_segment([area.center(), tip], Stroke::new(2.0, color));
    painter.circle_filled(area.center(), 2.5, color);
    let back = tip - along * 8.0;
    let wing = along.rot90() * 4.0;
    let head: Vec<Pos2> = vec![tip, back + wing, back - wing];
    painter.add(egui::Shape::convex_polygon(head, color, Stroke::NONE));
}

impl Circle {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "circle",
        title: "Circle",
        icon: icons::GRID,
        help: "# Phase circle\n\nEvery element at its angle, with a small radial jitter so that neighbours do not hide each \
         other. The arrow is the mean of e^{iφ} over all shown elements: its length r is 1 when all phases are equal and near 0 \
         when they are spread, its direction ψ is the mean angle. The outer ring is the density of angles; above \
         10,000 elements only the ring is drawn. With a selection, a second arrow is the mean over the selected elements.\n\n\
         - click: select · Ctrl+click: add or remove\n\
         - drag: rectangle · Alt+drag: lasso; with Ctrl they add\n\
         - right-click: actions",
        gestures: super::cloud::GESTURES,
        pages: &[Page::Simulate],
        fits: fields::has_angles,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Circle {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = self.probe(schema).map(|(_, p, _)| fields::label(p));
        name.map_or_else(|| Self::DECLARATION.title.into(), |name| format!("Circle: {name}"))
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.wanted(schema).into_iter().map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let wanted = self.wanted(schema);
        self.fields.absorb(frame, &wanted);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let found = self.probe(ctx.schema).and_then(|(id, p, over)| Some((id, p, ctx.schema.set(over)?.clone())));
        let Some((id, probe, set)) = found else {
            return unfit_ui(ui, ctx, ["No angle field", "The phase circle needs a field of angles"]);
        };
        let filter = ctx.filter.shown();
        if let Some(angles) = self.fields.get(id).cloned() {
            let part = ElementMask::of(ctx.schema, set.name, &self.fields, filter);
            let key = [self.fields.generation, 0, filter.generation];
            self.cloud.update(ui.ctx(), key, angles.len(), || move || on_circle(&angles, &part));
        }
        let n_hidden = filter.n_hidden(&set);
        let caption = self.caption(set.name, n_hidden);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, probe, set.name));
        if self.cloud.placed().of.is_empty() {
            return no_values_ui(ui, canvas, ctx, (n_hidden, "a phase"), ["No phases yet", "Run to see phases"]);
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let scale = self.color_by.and_then(|_| self.scale(ctx, id));
        let canvas = ColorBar::beside(ui, canvas, ctx.tokens, scale.as_ref().map(|(probe, _, scale)| (*probe, scale)));
        let area = Rect::from_center_size(canvas.center(), Vec2::splat(canvas.width().min(canvas.height()) - 4.0));
        if area.width() < 40.0 {
            return;
        }
        let response = ui.interact(canvas, ui.scope_id().with("circle"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Phase circle"));
        self.cloud.gestures_ui(ui, &response, area, &set, ctx);
        self.paint(ui, canvas, area, &set, id, ctx);
        self.tooltip_ui(&response, &set, ctx);
    }

    fn toggle_range(&mut self, schema: &SimSchema, scales: &mut ColorScales) -> Option<bool> {
        self.fields.toggle_range(schema, self.color_by?, scales)
    }
}

impl Circle {
    fn tooltip_ui(&self, response: &Response, set: &ElementSet, ctx: &ViewCtx<'_>) {
        let Some(element) = self.cloud.under_pointer() else { return };
        let values = self.fields.texts(ctx.schema, &self.wanted(ctx.schema), element);
        self.cloud.tooltip_ui(response, set, ctx, &values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::PI;

    #[test]
    fn the_arrow_is_the_mean_of_those_who_take_part() {
        let angles = [0.0, PI / 2.0, PI, f32::NAN, 0.0];
        let placed = on_circle(&angles, &ElementMask::masked(Some(Arc::new(vec![1.0, 1.0, 0.0, 1.0, 1.0]))));
        assert_eq!(placed.of, [0, 1, 4]);
        let order = &placed.found;
        assert!((order.r() - 5f64.sqrt() / 3.0).abs() < 1e-6 && (order.psi() - 0.5f64.atan()).abs() < 1e-6);
        assert_eq!((order.parts.iter().sum::<u32>(), order.parts[0], order.total), (3, 2, 5));
        assert!(placed.at.iter().all(|[x, y]| (x - 0.5).hypot(y - 0.5) < RING.0));
        assert_eq!(on_circle(&[], &ElementMask::default()).found.r(), 0.0);
        assert_eq!(
            on_circle(&[-1e-9], &ElementMask::default()).found.parts.iter().sum::<u32>(),
            1,
            "just below a full turn"
        );
    }
}
