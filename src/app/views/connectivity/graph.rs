//! Graph of the selection between its inputs and its outputs.

use super::ego::{Ego, Partner};
use crate::{
    app::{
        kit::{self, colors, heatmap::short},
        views::{MenuTarget, ViewCtx, element, menu},
    },
    sim::{Connectivity, ElementSet},
};
use egui::{Align2, Color32, Pos2, Rect, Sense, Stroke, Ui, Vec2, epaint::CubicBezierShape, pos2};
use std::sync::Arc;

/// Maximum number of partners drawn per side.
const MAX_PARTNERS: usize = 25;
/// Height of a partner's box, and its range of widths, points.
const HEIGHT: f32 = 19.0;
const WIDTHS: (f32, f32) = (48.0, 150.0);
/// Range of widths of the selection's box, points.
const MIDDLE_WIDTHS: (f32, f32) = (48.0, 130.0);
/// Minimum length of a connection between two boxes, points.
const GAP: f32 = 22.0;
const MARGIN: f32 = 12.0;

#[derive(Default)]
pub struct Graph {
    most: Option<usize>,
}

pub fn caption(ego: &Ego) -> String {
    let inputs = kit::counted(ego.inputs.len() as u64, "inputs");
    let outputs = kit::counted(ego.outputs.len() as u64, "outputs");
    format!("{inputs}, {outputs}, {} among them", kit::counted(ego.inner, "connections"))
}

/// Partner with its rectangle.
struct Place<'a> {
    partner: &'a Partner,
    area: Rect,
}

impl Graph {
    pub fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let mut most = self.most.unwrap_or(MAX_PARTNERS);
        let options = [10, 15, 20, MAX_PARTNERS].map(|n| (n, format!("{n} per side")));
        if kit::choice_ui(ui, ctx.tokens, "Strongest", &mut most, &options) {
            self.most = Some(most);
        }
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        set: &Arc<ElementSet>,
        wiring: &Connectivity,
        ego: &Ego,
    ) {
        if ego.inputs.is_empty() && ego.outputs.is_empty() {
            kit::empty_ui(ui, canvas, ctx, "No partners", "The selection has no inputs and no outputs", None);
            return;
        }
        let fits = ((canvas.height() - 56.0) / (HEIGHT + 3.0)).max(1.0) as usize;
        let most = self.most.unwrap_or(MAX_PARTNERS).min(fits);
        let (middle, width) = columns(canvas);
        let left = places(&ego.inputs, most, canvas.left() + MARGIN, width, canvas);
        let right = places(&ego.outputs, most, canvas.right() - MARGIN - width, width, canvas);
        let shown = left.iter().chain(&right);
        let heaviest = shown.map(|p| p.partner.total).fold(1e-9, f64::max);
        let hovered = ctx.selection.hovered_in(set.name);
        for (place, from_left) in left.iter().map(|p| (p, true)).chain(right.iter().map(|p| (p, false))) {
            edge(ui, canvas, place, middle, from_left, heaviest, hovered, ctx);
        }
        self.middle_ui(ui, middle, ctx, set);
        rest_ui(ui, canvas, ctx, &ego.inputs, left.len(), true);
        rest_ui(ui, canvas, ctx, &ego.outputs, right.len(), false);
        for place in left.iter().chain(&right) {
            node_ui(ui, place, ctx, set, wiring);
        }
    }

    fn middle_ui(&self, ui: &Ui, middle: Rect, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let name = MenuTarget::at(ctx, set, None).name;
        let painter = ui.painter();
        painter.rect_filled(middle, 6.0, ctx.tokens.raised);
        painter.rect_stroke(middle, 6.0, (1.5, ctx.tokens.accent), egui::StrokeKind::Inside);
        let text = kit::elide(painter, &name, &kit::small(ui), middle.width() - 12.0);
        painter.text(middle.center(), Align2::CENTER_CENTER, text, kit::small(ui), ctx.tokens.text_strong);
    }
}

/// Returns the box of the selection and the width of the partners' boxes, so that no box covers another.
fn columns(canvas: Rect) -> (Rect, f32) {
    let room = canvas.width() - 2.0 * (MARGIN + GAP);
    let middle = (room * 0.3).clamp(MIDDLE_WIDTHS.0, MIDDLE_WIDTHS.1);
    let width = ((room - middle) / 2.0).clamp(WIDTHS.0, WIDTHS.1);
    (Rect::from_center_size(canvas.center(), Vec2::new(middle, 40.0)), width)
}

fn places(partners: &[Partner], most: usize, left: f32, width: f32, canvas: Rect) -> Vec<Place<'_>> {
    let n = partners.len().min(most);
    let step = ((canvas.height() - 52.0) / n.max(1) as f32).min(HEIGHT + 12.0);
    let top = canvas.center().y - step * (n as f32 - 1.0) / 2.0;
    let size = Vec2::new(width, HEIGHT);
    let at = |i: usize| Rect::from_center_size(pos2(left + width / 2.0, top + step * i as f32), size);
    partners.iter().take(n).enumerate().map(|(i, partner)| Place { partner, area: at(i) }).collect()
}

#[allow(clippy::too_many_arguments)]
fn edge(
    ui: &Ui,
    canvas: Rect,
    place: &Place<'_>,
    middle: Rect,
    from_left: bool,
    heaviest: f64,
    hovered: Option<u32>,
    ctx: &ViewCtx<'_>,
) {
    let (a, b) = match from_left {
        true => (place.area.right_center(), middle.left_center()),
        false => (middle.right_center(), place.area.left_center()),
    };
    let bend = Vec2::X * (b.x - a.x) * 0.5;
    let width = (place.partner.total / heaviest).sqrt() as f32 * 6.0 + 0.5;
    let ink = if place.partner.net < 0.0 { ctx.tokens.inhibitory } else { ctx.tokens.excitatory };
    let strength = if hovered.is_none_or(|h| h == place.partner.element) { 0.75 } else { 0.3 };
    let curve = CubicBezierShape::from_points_stroke(
        [a, a + bend, b - bend, b],
        false,
        Color32::TRANSPARENT,
        Stroke::new(width, ink.gamma_multiply(strength)),
    );
    ui.painter_at(canvas).add(curve);
}

/// Draws the number of drawn partners, and their share of the weight.
fn rest_ui(ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>, partners: &[Partner], n: usize, is_input: bool) {
    let all: f64 = partners.iter().map(|p| p.total).sum();
    let drawn: f64 = partners.iter().take(n).map(|p| p.total).sum();
    let what = if is_input { "inputs" } else { "outputs" };
    let text = match partners.len() - n {
        0 => format!("{} {what}", kit::thousands(n as u64)),
        rest => format!(
            "{n} of {} {what}, {:.0} % of the weight",
            kit::thousands((n + rest) as u64),
            100.0 * drawn / all.max(1e-9)
        ),
    };
    let (at, align) = match is_input {
        true => (canvas.left_top() + Vec2::new(12.0, 6.0), Align2::LEFT_TOP),
        false => (canvas.right_top() + Vec2::new(-12.0, 6.0), Align2::RIGHT_TOP),
    };
    ui.painter().text(at, align, text, kit::small(ui), ctx.tokens.text_sub);
}

fn node_ui(ui: &mut Ui, place: &Place<'_>, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>, wiring: &Connectivity) {
    let (partner, element) = (place.partner, place.partner.element);
    let response =
        ui.interact(place.area, ui.scope_id().with(("partner", element, place.area.left() as i32)), Sense::click());
    let name = element_name(set, element);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Go to {name}")));
    let painter = ui.painter();
    let fill = if response.hovered() { ctx.tokens.hover } else { ctx.tokens.raised };
    painter.rect_filled(place.area, 4.0, fill);
    let ink = set
        .columns
        .first()
        .and_then(|c| colors::of_column(c, ctx.tokens).get(usize::from(*c.codes.get(element as usize)?)).copied());
    painter.circle_filled(place.area.left_center() + Vec2::X * 9.0, 3.5, ink.unwrap_or(ctx.tokens.other));
    let right = place.area.right_center() - Vec2::X * 6.0;
    let number = painter.text(right, Align2::RIGHT_CENTER, short(partner.net), kit::mono(ui), ctx.tokens.text_sub);
    let left: Pos2 = place.area.left_center() + Vec2::X * 17.0;
    let text = kit::elide_before(painter, &name, " #", &kit::small(ui), number.left() - left.x - 6.0);
    painter.text(left, Align2::LEFT_CENTER, text, kit::small(ui), ctx.tokens.text);
    if response.hovered() && (ctx.selection.set == set.name) {
        ctx.selection.hovered = Some(element);
    }
    if response.clicked() {
        match ui.input(|i| i.modifiers.command) {
            true => ctx.selection.toggle(set.name, element),
            false => ctx.selection.replace(set.name, vec![element]),
        }
    }
    response.context_menu(|ui| {
        let subject = MenuTarget { element: Some(element), elements: Arc::new(vec![element]), name: name.clone() };
        menu::ui(ui, ctx, set, &subject);
    });
    let values = [
        ("Σ |w|".to_owned(), format!("{} {}", kit::thousands(partner.total as u64), wiring.unit)),
        ("Σ w".to_owned(), short(partner.net)),
        ("connections".to_owned(), kit::thousands(partner.n.into())),
    ];
    response.on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, set, element, &values));
}

/// Returns an element's name; without one, its label in the column with the most categories, and its index.
pub fn element_name(set: &ElementSet, element: u32) -> String {
    if set.names.get(element as usize).is_some_and(|n| !n.is_empty()) {
        return set.label(element);
    }
    let finest = set.columns.iter().filter(|c| !c.label(element).is_empty()).max_by_key(|c| c.labels.len());
    match finest {
        Some(column) => {
            let label = column.label(element);
            // A number alone is ambiguous, so the name of its column precedes it.
            let of =
                if label.parse::<f64>().is_ok() { format!("{} ", kit::spaced(&column.name)) } else { String::new() };
            format!("{of}{label} #{element}")
        }
        None => set.label(element),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_box_covers_another_in_narrow_and_wide_panels() {
        let partners: Vec<Partner> = (0..9).map(|element| Partner { element, total: 1.0, net: 1.0, n: 1 }).collect();
        for width in [230.0, 320.0, 400.0, 900.0] {
            let canvas = Rect::from_min_size(pos2(10.0, 20.0), Vec2::new(width, 300.0));
            let (middle, width) = columns(canvas);
            let left = places(&partners, 9, canvas.left() + MARGIN, width, canvas);
            let right = places(&partners, 9, canvas.right() - MARGIN - width, width, canvas);
            assert!(left.iter().all(|p| p.area.right() + GAP * 0.9 < middle.left()), "{canvas:?}");
            assert!(right.iter().all(|p| p.area.left() - GAP * 0.9 > middle.right()), "{canvas:?}");
        }
    }
}
