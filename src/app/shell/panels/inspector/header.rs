//! Headers of side panels and of groups of parameters.

use super::search::Words;
use crate::{
    app::kit::{icons, text, theme::Tokens, widgets},
    params::GroupSpec,
};
use egui::{
    Align, FontId, Frame, Id, Layout, Margin, RichText, Sense, TextStyle, Ui, UiBuilder, WidgetInfo,
    accesskit::Role,
    collapsing_header::CollapsingState,
    text::{LayoutJob, TextFormat},
    vec2,
};

/// Draws the header of a side panel.
pub fn panel_head(ui: &mut Ui, title: &str, right: impl FnOnce(&mut Ui)) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::hover());
    let inner = rect.shrink2(vec2(10.0, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.label(RichText::new(title).family(widgets::semibold()).color(Tokens::of(ui.ctx()).text));
        ui.with_layout(Layout::right_to_left(Align::Center), right);
    });
    widgets::hairline_below(ui, rect);
}

/// Draws a collapsible group with its documentation as a tooltip, a text at the right, and the words of a search highlighted.
pub fn header_ui(ui: &mut Ui, group: &GroupSpec, (aside, words): (&str, &Words), body: impl FnOnce(&mut Ui)) {
    let t = Tokens::of(ui.ctx());
    let title = group.label();
    let mut state =
        CollapsingState::load_with_default_open(ui.ctx(), Id::unique(("inspector group", group.name)), true);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, state.is_open(), format!("Group {title}")));
    ui.painter().hline(rect.x_range(), rect.top(), egui::Stroke::new(1.0, t.line));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, Tokens::fade(t.hover, 0.6));
    }
    let inner = rect.shrink2(vec2(10.0, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let caret = if state.is_open() { icons::CARET_DOWN } else { icons::CARET_RIGHT };
        ui.label(icons::rich(caret).size(10.0).color(t.text_sub));
        let mut job = LayoutJob::default();
        let font = FontId::new(TextStyle::Body.resolve(ui.style()).size, widgets::semibold());
        words.append(&mut job, &title, 0.0, &TextFormat::simple(font, t.text_strong), &t);
        ui.label(job);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(aside).small().color(t.accent))
        });
    });
    if widgets::hover_text(response, || text::unwrap(group.docs)).clicked() {
        state.toggle(ui);
    }
    state.show_body_unindented(ui, |ui| {
        Frame::new().inner_margin(Margin { left: 10, right: 8, top: 2, bottom: 8 }).show(ui, body);
    });
}
