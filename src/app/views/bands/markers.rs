//! Markers of the elements with the lowest, the median and the highest value of the displayed state.

use super::{
    draw::Chart,
    summary::{Member, Summary},
};
use crate::{
    app::{
        kit::{self, theme::Tokens},
        views::{MenuTarget, ViewCtx, element, fields, menu},
    },
    sim::{ElementSet, ProbeSpec},
};
use egui::{Align2, FontId, Painter, Pos2, Rect, Response, Sense, Ui, Vec2, WidgetInfo, pos2};

/// Names of the markers, in the order of [`Summary::members`].
pub const NAMES: [&str; 3] = ["lowest", "median", "highest"];
/// Width of the labels right of the plot, points.
pub const LABEL_WIDTH: f32 = 112.0;
/// Height of a label, points.
const HEIGHT: f32 = 15.0;
/// Radius of a marker, and half the size of its click area, points.
const RADIUS: [f32; 2] = [3.5, 7.0];

/// Draws the markers of the displayed state, if it is visible, and handles their pointer input. `opened` is the element for which
/// the context menu was opened. Returns the element under the pointer; `None` if there is none.
pub fn ui(
    ui: &Ui,
    chart: &Chart<'_>,
    front: &Summary,
    (set, probe): (&ElementSet, &ProbeSpec),
    opened: &mut Option<u32>,
    has_room: bool,
    ctx: &mut ViewCtx<'_>,
) -> Option<u32> {
    let x = chart.x(front.step);
    if !chart.plot.expand(1.0).x_range().contains(x) {
        return None;
    }
    let mut found = None;
    let places = front.members.map(|m| pos2(x, chart.y(m.value)));
    let rows = spread(places.map(|p| p.y), chart.plot);
    for (i, member) in front.members.into_iter().enumerate() {
        let label = has_room.then(|| {
            let corner = pos2(chart.plot.right() + 10.0, rows[i] - HEIGHT / 2.0);
            Rect::from_min_size(corner, Vec2::new(LABEL_WIDTH - 12.0, HEIGHT))
        });
        let response = interact(ui, places[i], label, NAMES[i]);
        paint(ui, places[i], label, (NAMES[i], member), response.hovered(), chart.plot, ctx.tokens);
        found = found.or(response.hovered().then_some(member.element));
        work(response, member, (set, probe), opened, ctx);
    }
    found
}

/// Returns the y of the labels: near their values, without overlap.
fn spread(places: [f32; 3], plot: Rect) -> [f32; 3] {
    let half = HEIGHT / 2.0;
    let (top, bottom) = (plot.top() + half, (plot.bottom() - half).max(plot.top() + half));
    let middle = places[1].clamp(top + HEIGHT, (bottom - HEIGHT).max(top + HEIGHT));
    let lowest = places[0].max(middle + HEIGHT).min(bottom.max(middle + HEIGHT));
    let highest = places[2].min(middle - HEIGHT).max(top.min(middle - HEIGHT));
    [lowest, middle, highest]
}

/// Handles a marker and its label as one button.
fn interact(ui: &Ui, at: Pos2, label: Option<Rect>, name: &str) -> Response {
    let area = Rect::from_center_size(at, Vec2::splat(2.0 * RADIUS[1]));
    let mark = ui.interact(area, ui.scope_id().with(("mark", name)), Sense::click());
    let tooltip_text = |text: String| move || WidgetInfo::labeled(egui::Role::Button, true, text.clone());
    let Some(label) = label else {
        mark.widget_info(tooltip_text(format!("Select the {name}")));
        return mark;
    };
    mark.widget_info(tooltip_text(format!("Mark of the {name}")));
    let words = ui.interact(label, ui.scope_id().with(("name", name)), Sense::click());
    words.widget_info(tooltip_text(format!("Select the {name}")));
    // The hovered part handles the menu and the tooltip.
    if words.hovered() || words.clicked() || words.secondary_clicked() || words.context_menu_opened() {
        words
    } else if mark.hovered() || mark.clicked() || mark.secondary_clicked() || mark.context_menu_opened() {
        mark
    } else {
        words
    }
}

fn paint(
    ui: &Ui,
    at: Pos2,
    label: Option<Rect>,
    (name, member): (&str, Member),
    is_hovered: bool,
    plot: Rect,
    tokens: &Tokens,
) {
    let painter = ui.painter();
    let color = if is_hovered { tokens.accent } else { tokens.text_strong };
    if let Some(label) = label {
        let faint = (1.0, tokens.text_sub.gamma_multiply(0.45));
        let foot = pos2(plot.right(), at.y);
        painter.line_segment([at, foot], faint);
        painter.line_segment([foot, label.left_center() - Vec2::X * 2.0], faint);
        words(painter, label, name, member.value, (&kit::small(ui), &kit::mono(ui)), (is_hovered, tokens));
    }
    painter.circle_filled(at, RADIUS[0], color);
    painter.circle_stroke(at, RADIUS[0], (1.0, tokens.canvas));
}

fn words(
    painter: &Painter,
    label: Rect,
    name: &str,
    value: f32,
    (small, mono): (&FontId, &FontId),
    (is_hovered, tokens): (bool, &Tokens),
) {
    let color = if is_hovered { tokens.text_strong } else { tokens.text };
    let end = painter.text(label.left_center(), Align2::LEFT_CENTER, name, small.clone(), color).right();
    let value = kit::elide(painter, &kit::reading(value), mono, label.right() - end - 6.0);
    painter.text(pos2(end + 6.0, label.center().y), Align2::LEFT_CENTER, value, mono.clone(), tokens.text_strong);
}

/// Handles click, context menu and tooltip of a marker.
fn work(
    response: Response,
    member: Member,
    (set, probe): (&ElementSet, &ProbeSpec),
    opened: &mut Option<u32>,
    ctx: &mut ViewCtx<'_>,
) {
    if response.hovered() {
        response.ctx.set_cursor_icon(egui::CursorIcon::PointingHand);
        if ctx.selection.set == set.name || ctx.selection.set.is_empty() {
            ctx.selection.hovered = Some(member.element);
        }
    }
    if response.clicked() {
        if response.ctx.input(|i| i.modifiers.command) {
            ctx.selection.toggle(set.name, member.element);
        } else {
            ctx.selection.replace(set.name, vec![member.element]);
        }
    }
    // The menu keeps its element when another one becomes the extreme.
    if response.secondary_clicked() {
        *opened = Some(member.element);
    }
    response.context_menu(|ui| {
        let subject = MenuTarget::at(ctx, set, *opened);
        menu::ui(ui, ctx, set, &subject);
    });
    let value = (fields::label(probe), kit::with_unit(member.value.into(), probe.unit));
    response.on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, set, member.element, &[value]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart_and_in_the_plot() {
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 200.0));
        assert_eq!(spread([180.0, 100.0, 20.0], plot), [180.0, 100.0, 20.0]);
        for places in [[100.0; 3], [200.0; 3], [0.0; 3], [200.0, 199.0, 0.0]] {
            let rows = spread(places, plot);
            assert!(rows[0] - rows[1] >= HEIGHT && rows[1] - rows[2] >= HEIGHT, "{rows:?}");
            assert!(rows[0] <= 200.0 && rows[2] >= 0.0, "{rows:?}");
        }
    }
}
