//! Rows and fields of the editor.

use crate::app::kit::{icons, theme::Tokens, widgets};
use egui::{Align, Frame, Layout, Margin, RichText, TextEdit, Ui, vec2};

/// Width of the labels, points.
const LABEL: f32 = 74.0;
/// Width of the button beside a field with the space between them, points.
const BUTTON: f32 = 34.0;

/// Draws a row with a label.
pub fn row_ui<R>(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        ui.allocate_ui_with_layout(vec2(LABEL, 20.0), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(LABEL);
            ui.add(egui::Label::new(widgets::sub(ui, label).small()).truncate());
        });
        add(ui)
    })
    .inner
}

/// Draws the entries of a menu, and returns the text of the chosen one.
pub type Proposals<'a> = dyn FnMut(&mut Ui) -> Option<String> + 'a;

/// Draws a row with a text field and, if wanted, a menu of proposals at its right.
pub fn text_ui(
    ui: &mut Ui,
    (label, name): (&str, &str),
    text: &mut String,
    (hint, about): (&str, &str),
    menu: Option<&mut Proposals<'_>>,
) {
    row_ui(ui, label, |ui| {
        let width = ui.available_width() - if menu.is_some() { BUTTON } else { 0.0 };
        let field = TextEdit::singleline(text).hint_text(hint).desired_width(width.max(40.0));
        ui.add(field).accessible_name(name).on_hover_text(about);
        if let Some(menu) = menu {
            let glyph = icons::rich(icons::CARET_DOWN).size(12.0);
            let button = ui.menu_button(glyph, |ui| {
                ui.set_min_width(180.0);
                menu(ui)
            });
            button.response.accessible_name(format!("Choose: {name}")).on_hover_text("Choose from a list");
            if let Some(chosen) = button.inner.flatten() {
                *text = chosen;
            }
        }
    });
}

/// Draws a frame around a rule or a measure, with its title and a button that removes it. Returns whether it was removed.
pub fn card_ui(ui: &mut Ui, tokens: &Tokens, (glyph, title): (&str, &str), add: impl FnOnce(&mut Ui)) -> bool {
    let frame = Frame::new().fill(tokens.raised).corner_radius(4).inner_margin(Margin::symmetric(8, 6));
    let mut is_removed = false;
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            ui.label(icons::rich(glyph).size(13.0).color(tokens.text_sub));
            ui.label(RichText::new(title).color(tokens.text).small());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                is_removed = widgets::icon_button(ui, icons::CLOSE, &format!("Remove: {title}")).clicked();
            });
        });
        add(ui);
    });
    ui.add_space(4.0);
    is_removed
}
