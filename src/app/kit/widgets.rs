//! Widgets shared by all panels.

use super::{
    icons,
    theme::{RADIUS, ROW, Tokens},
};
use egui::{
    Align2, Button, Color32, CornerRadius, CursorIcon, FontFamily, FontId, Rect, Response, RichText, Sense, Stroke, Ui,
    Vec2, WidgetInfo, accesskit::Role, pos2, vec2,
};

/// Margin of a text field in a menu, where egui would use the narrow margin of menu entries.
pub const FIELD_MARGIN: egui::Margin = egui::Margin::symmetric(6, 4);

/// Draws a frameless icon button with a name for screen readers and the tooltip.
pub fn icon_button(ui: &mut Ui, glyph: &str, name: &str) -> Response {
    icon_toggle(ui, glyph, name, false)
}

/// Draws a frameless icon button that shows whether it is on.
pub fn icon_toggle(ui: &mut Ui, glyph: &str, name: &str, on: bool) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(22.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), on, name));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, RADIUS, t.hover);
    }
    let ink = match (ui.is_enabled(), on, response.hovered()) {
        (false, _, _) => Tokens::fade(t.text_sub, 0.4),
        (_, true, _) => t.accent,
        (_, _, true) => t.text_strong,
        _ => t.text_sub,
    };
    ui.painter().text(
        rect.center(),
        Align2::CENTER_CENTER,
        glyph,
        FontId::new(15.0, FontFamily::Name(icons::FAMILY.into())),
        ink,
    );
    response.on_hover_text(name)
}

/// Draws an on/off switch of 26 × 14 points.
pub fn switch(ui: &mut Ui, on: &mut bool, name: &str) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, mut response) = ui.allocate_exact_size(vec2(26.0, 18.0), Sense::click());
    if response.clicked() {
        *on = !*on;
        response.mark_changed();
    }
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, ui.is_enabled(), *on, name));
    let how = ui.ctx().animate_bool_responsive(response.id, *on);
    let body = Rect::from_center_size(rect.center(), vec2(26.0, 14.0));
    let off = if response.hovered() { t.text_sub } else { Tokens::fade(t.text_sub, 0.6) };
    let fill = off.lerp_to_gamma(t.accent, how);
    ui.painter().rect_filled(body, CornerRadius::same(7), fill);
    let x = egui::lerp(body.left() + 7.0..=body.right() - 7.0, how);
    ui.painter().circle_filled(pos2(x, body.center().y), 5.0, t.raised);
    focus_ring(ui, &response, body);
    response
}

/// Draws the dot at the end of a parameter row: hollow at the default, filled after a change, with a ring while an edit is not
/// applied yet. The caller resets the parameter after a click.
pub fn state_dot(ui: &mut Ui, changed: bool, pending: bool, name: &str) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(14.0, ROW - 4.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, ui.is_enabled(), name));
    match changed {
        true => ui.painter().circle_filled(rect.center(), 3.5, t.accent),
        false => ui.painter().circle_stroke(rect.center(), 3.0, Stroke::new(1.0, Tokens::fade(t.text_sub, 0.55))),
    };
    if pending {
        ui.painter().circle_stroke(rect.center(), 5.5, Stroke::new(1.5, t.accent));
    }
    focus_ring(ui, &response, rect);
    if changed { response.on_hover_cursor(CursorIcon::PointingHand) } else { response }
}

/// Adds a tooltip whose text is composed only while it is visible or a screen reader is active.
pub fn hover_text(response: Response, text: impl Fn() -> String) -> Response {
    if response.ctx.has_accesskit_node(response.id) {
        return response.on_hover_text(text());
    }
    response.on_hover_ui(|ui| {
        // As in `Response::on_hover_text`, the width does not depend on the text.
        ui.set_max_width(ui.spacing().tooltip_width);
        ui.label(text());
    })
}

/// Draws a coloured status dot.
pub fn dot(ui: &mut Ui, color: Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(10.0, 14.0), Sense::hover());
    ui.painter().circle_filled(rect.center(), 3.5, color);
    response
}

/// Draws the filled button of a panel or dialog, which has at most one such button.
pub fn primary(ui: &mut Ui, text: impl Into<String>) -> Response {
    let t = Tokens::of(ui.ctx());
    let text = RichText::new(text).color(t.on_accent).family(semibold());
    ui.add(Button::new(text).fill(t.accent).stroke(Stroke::NONE))
}

/// Returns the font family of group headings.
pub fn semibold() -> egui::FontFamily {
    egui::FontFamily::Name(super::fonts::SEMIBOLD.into())
}

/// Creates secondary text, for captions and units.
pub fn sub(ui: &Ui, text: impl Into<String>) -> RichText {
    RichText::new(text).color(Tokens::of(ui.ctx()).text_sub)
}

/// Draws the list of a drop-down over the menu or dialog that contains it. This must be called inside the list. A click
/// raises the menu or dialog again, even the short click that opens the list.
pub fn raise_list(ui: &Ui) {
    ui.ctx().move_to_top(ui.layer_id());
}

/// Draws a hairline at the bottom of a rectangle.
pub fn hairline_below(ui: &Ui, rect: Rect) {
    let t = Tokens::of(ui.ctx());
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
}

/// Draws the placeholder of an empty panel: icon, title and hint.
pub fn empty_state(ui: &mut Ui, glyph: &str, title: &str, hint: &str) {
    let t = Tokens::of(ui.ctx());
    ui.vertical_centered(|ui| {
        ui.label(icons::rich(glyph).size(34.0).color(Tokens::fade(t.text_sub, 0.5)));
        ui.label(RichText::new(title).color(t.text));
        ui.label(RichText::new(hint).small().color(t.text_sub));
    });
}

fn focus_ring(ui: &Ui, response: &Response, rect: Rect) {
    if response.has_focus() {
        let stroke = Stroke::new(1.0, Tokens::of(ui.ctx()).accent);
        ui.painter().rect_stroke(rect.expand(2.0), RADIUS, stroke, egui::StrokeKind::Outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns how often the text of a tooltip is composed in six frames with the pointer at `pointer`.
    fn n_composed(pointer: egui::Pos2, has_screen_reader: bool) -> u32 {
        let (ctx, composed) = (egui::Context::default(), Cell::new(0));
        if has_screen_reader {
            ctx.enable_accesskit();
        }
        for frame in 0..6 {
            let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0)));
            // A tooltip appears when the pointer rests.
            let events = if frame == 0 { vec![egui::Event::PointerMoved(pointer)] } else { vec![] };
            let time = Some(f64::from(frame) * 2.0);
            let input = egui::RawInput { screen_rect, events, time, ..egui::RawInput::default() };
            let mut output = ctx.run_ui(input, |ui| {
                hover_text(ui.button("a"), || {
                    composed.set(composed.get() + 1);
                    "a long text".to_owned()
                });
            });
            output.textures_delta.clear(); // nothing is painted
        }
        composed.get()
    }

    #[test]
    fn tooltips_that_are_not_read_are_not_composed() {
        let (on_it, beside) = (pos2(12.0, 12.0), pos2(350.0, 250.0));
        assert_eq!(n_composed(beside, false), 0);
        assert!(n_composed(on_it, false) > 0, "on screen");
        assert!(n_composed(beside, true) > 0, "for a screen reader");
    }
}
