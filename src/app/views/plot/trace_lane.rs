//! Scale and label of a lane of the traces view.

use crate::app::{kit, views::ViewCtx};
use egui::{Align2, Rect, Ui, Vec2, pos2};

/// Width of the y scale left of a lane, points: room for the range of a low lane, `−52.0…−44.9`.
pub(super) const SCALE: f32 = 76.0;

/// Formats a value with its unit, rounded to two decimals; a dash without a value.
pub(super) fn value_text(value: Option<f32>, unit: &str) -> String {
    value.map_or_else(|| "—".to_owned(), |v| kit::with_unit(f64::from((v * 100.0).round() / 100.0), unit))
}

/// Shortens the label of an element, whose last characters distinguish it from others: `…40000000001`.
pub(super) fn short_label(label: String) -> String {
    let n = label.chars().count();
    if n > 14 { format!("…{}", label.chars().skip(n - 12).collect::<String>()) } else { label }
}

/// Draws the y scale of a lane: ticks, or only the range if the lane is too low for two labels.
pub(super) fn y_scale(
    ui: &Ui,
    painter: &egui::Painter,
    lane: Rect,
    (low, high): (f64, f64),
    y: impl Fn(f32) -> f32,
    ctx: &ViewCtx<'_>,
) {
    let (font, ink) = (kit::mono(ui), ctx.tokens.text_sub);
    let ticks = kit::ticks(low, high, if lane.height() > 80.0 { 4 } else { 2 });
    let labels = kit::tick_labels(&ticks);
    let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else { return };
    if (y(*first as f32) - y(*last as f32)).abs() < 11.0 {
        let text = format!("{}…{}", kit::reading(low as f32), kit::reading(high as f32));
        let text = kit::elide(painter, &text, &font, SCALE + 10.0);
        painter.text(pos2(lane.left() - 6.0, lane.center().y), Align2::RIGHT_CENTER, text, font, ink);
        return;
    }
    let mut free = f32::INFINITY;
    for (v, label) in ticks.iter().zip(labels) {
        let at = y(*v as f32);
        painter.hline(lane.left() - 3.0..=lane.left(), at, (1.0, ink));
        let middle = at.clamp(lane.top() + 5.0, lane.bottom() - 5.0);
        if middle + 11.0 <= free {
            painter.text(pos2(lane.left() - 6.0, middle), Align2::RIGHT_CENTER, label, font.clone(), ink);
            free = middle;
        }
    }
}

/// Draws the label of a lane. A tall lane also has a second line: its value at the pointer, or the latest one.
pub(super) fn lane_label(
    ui: &Ui,
    painter: &egui::Painter,
    (lane, left): (Rect, f32),
    (name, value): (&str, &str),
    color: egui::Color32,
    ctx: &ViewCtx<'_>,
) {
    let area = Rect::from_min_max(pos2(left + 8.0, lane.top()), pos2(lane.left() - SCALE, lane.bottom()));
    let painter = painter.with_clip_rect(area.intersect(painter.clip_rect()));
    // A figure shows no moment, so it has no values.
    let tall = lane.height() > 34.0 && !kit::is_staged(ui.ctx());
    let y = if tall { lane.center().y - 8.0 } else { lane.center().y };
    painter.rect_filled(
        Rect::from_center_size(
            pos2(area.left() + 2.0, lane.center().y),
            Vec2::new(3.0, (lane.height() - 4.0).min(28.0)),
        ),
        1.5,
        color,
    );
    let name = kit::elide(&painter, name, &kit::mono(ui), area.width() - 10.0);
    painter.text(pos2(area.left() + 9.0, y), Align2::LEFT_CENTER, name, kit::mono(ui), ctx.tokens.text);
    if tall {
        let at = pos2(area.left() + 9.0, lane.center().y + 8.0);
        painter.text(at, Align2::LEFT_CENTER, value, kit::mono(ui), ctx.tokens.text_sub);
    }
}
