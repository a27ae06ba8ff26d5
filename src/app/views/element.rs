//! Tooltip of an element, and toggles of a time view.

use super::ViewCtx;
use crate::app::kit::{column, icons, live_ui, thousands};
use egui::{RichText, Ui};

/// Draws the toggles of a time view: LIVE follows the newest data, and link shares the time axis with other views.
pub fn time_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, link: &mut crate::app::document::time::TimeLink) {
    let (axis, tokens) = (&mut ctx.time.axis, ctx.tokens);
    let mut follow = link.line(axis).follow;
    if !axis.is_recorded {
        live_ui(ui, tokens, &mut follow, ctx.running);
    }
    if follow && !link.line(axis).follow {
        match link.is_linked() {
            true => axis.go_live(),
            false => link.line_mut(axis).follow = true,
        }
    }
    let (glyph, name) = match link.is_linked() {
        true => (icons::LINK, "Unlink time axis from other views"),
        false => (icons::UNLINK, "Link time axis to other views"),
    };
    let ink = if link.is_linked() { tokens.text_sub } else { tokens.warn };
    let button = egui::Button::new(icons::rich(glyph).color(ink)).frame(false);
    if ui.add(button).accessible_name(name).on_hover_text(name).clicked() {
        link.toggle(axis);
    }
}

/// Draws the tooltip of an element: its name, index, up to six categories and `values`.
pub fn element_ui(
    ui: &mut Ui,
    ctx: &ViewCtx<'_>,
    set: &crate::sim::ElementSet,
    element: u32,
    values: &[(String, String)],
) {
    ui.label(RichText::new(set.label(element)).strong().color(ctx.tokens.text_strong));
    egui::Grid::new("element").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        let mut row = |name: &str, text: &str| {
            ui.label(RichText::new(name).small().color(ctx.tokens.text_sub));
            ui.label(RichText::new(text).small().color(ctx.tokens.text));
            ui.end_row();
        };
        row("Index", &thousands(u64::from(element)));
        for set_column in set.columns.iter().filter(|c| !c.label(element).is_empty()).take(6) {
            row(&column(&set_column.name), set_column.label(element));
        }
        for state in ctx.schema.states_of(set.name, element) {
            row("State", state);
        }
        for (name, text) in values {
            row(name, text);
        }
    });
}
