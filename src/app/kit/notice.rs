//! Notices in a panel without data: the empty state and the error state.

use super::{icons, theme::Tokens};
use egui::{Align, Color32, Layout, Rect, RichText, TextStyle, Ui, UiBuilder, Vec2};

/// Colours and icon of a panel.
pub trait Look {
    /// Returns the design tokens of the current theme.
    fn tokens(&self) -> &Tokens;
    /// Returns the icon of the panel.
    fn icon(&self) -> &'static str;
}

/// Draws the empty state: a title, instructions for getting data, and a button. Returns whether the button was pressed.
pub fn empty_ui(ui: &mut Ui, canvas: Rect, ctx: &impl Look, title: &str, how: &str, button: Option<&str>) -> bool {
    let ink = Tokens::fade(ctx.tokens().text_sub, 0.4);
    notice_ui(ui, canvas, ctx.tokens(), (ctx.icon(), ink), [title, how], button)
}

/// Draws the error state: the failed operation, the reason, and a button to recover. Returns whether the button was
/// pressed.
pub fn failed_ui(ui: &mut Ui, canvas: Rect, ctx: &impl Look, title: &str, why: &str, button: Option<&str>) -> bool {
    notice_ui(ui, canvas, ctx.tokens(), (icons::ERROR, ctx.tokens().error), [title, why], button)
}

fn notice_ui(
    ui: &mut Ui,
    canvas: Rect,
    tokens: &Tokens,
    (glyph, ink): (&str, Color32),
    [title, text]: [&str; 2],
    button: Option<&str>,
) -> bool {
    super::panel::note_empty(ui.ctx(), title);
    ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
    let wrap = |text: &str, style: TextStyle| {
        let galley =
            ui.painter().layout(text.to_owned(), style.resolve(ui.style()), tokens.text, canvas.width() - 24.0);
        galley.size().y
    };
    let rest = 14.0 + if button.is_some() { 34.0 } else { 0.0 };
    let [heading, body] = [wrap(title, TextStyle::Heading), wrap(text, TextStyle::Body) + 2.0];
    // If there is no room for the text, it becomes a tooltip.
    let has_text = canvas.height() >= heading + body + rest;
    let height = heading + rest + if has_text { body } else { 0.0 };
    let has_room = canvas.height() > height + 100.0;
    let height = height + if has_room { 56.0 } else { 0.0 };
    if canvas.height() < height {
        return low_notice_ui(ui, canvas, tokens, [title, text], button);
    }
    let area = Rect::from_center_size(canvas.center(), Vec2::new(canvas.width() - 24.0, height)).intersect(canvas);
    let mut pressed = false;
    ui.scope_builder(UiBuilder::new().max_rect(area).layout(Layout::top_down(Align::Center)), |ui| {
        if has_room {
            ui.label(icons::rich(glyph).size(40.0).color(ink));
            ui.add_space(4.0);
        }
        let title = ui.label(RichText::new(title).text_style(TextStyle::Heading).color(tokens.text));
        ui.add_space(2.0);
        if has_text {
            ui.label(RichText::new(text).color(tokens.text_sub));
        } else {
            title.on_hover_text(text);
        }
        if let Some(button) = button {
            ui.add_space(8.0);
            pressed = ui.button(button).clicked();
        }
    });
    pressed
}

/// Draws a notice in one line, for low panels. The button appears only if the whole title fits.
fn low_notice_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, [title, text]: [&str; 2], button: Option<&str>) -> bool {
    let size = Vec2::new(canvas.width() - 24.0, 24.0);
    let area = UiBuilder::new().max_rect(Rect::from_center_size(canvas.center(), size).intersect(canvas));
    let width = |text: &str, style: TextStyle| {
        ui.painter().layout_no_wrap(text.to_owned(), style.resolve(ui.style()), tokens.text).size().x
    };
    let needs = |button: &&str| width(title, TextStyle::Heading) + width(button, TextStyle::Button) + 36.0;
    let button = button.filter(|b| needs(b) <= size.x);
    let row = ui.scope_builder(area.layout(Layout::right_to_left(Align::Center)), |ui| {
        let pressed = button.is_some_and(|button| ui.button(button).clicked());
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let title = RichText::new(title).text_style(TextStyle::Heading).color(tokens.text);
            ui.add(egui::Label::new(title).truncate()).on_hover_text(text);
        });
        pressed
    });
    row.inner
}
