//! Headers of the table's columns.

use super::Cell;
use crate::app::kit::{text, theme::Tokens};
use egui::{Align, Layout, RichText, Ui};

/// Draws a column header: a button that sorts. Returns whether it was pressed.
pub fn ui(ui: &mut Ui, cell: Cell<'_>, sorted: Option<bool>, tokens: &Tokens) -> bool {
    let name = match cell {
        Cell::Index => "Index".to_owned(),
        Cell::Id => "ID".to_owned(),
        Cell::Name => "Name".to_owned(),
        Cell::Category(_, name) => text::column(name),
        Cell::Trail(..) => "History".to_owned(),
        Cell::State => "State".to_owned(),
        Cell::Field(_, spec) if spec.unit.is_empty() => spec.label().into_owned(),
        Cell::Field(_, spec) => format!("{} ({})", spec.label(), spec.unit),
    };
    let hint = match cell {
        Cell::Trail(..) => "Recent values, on one scale for all rows. Click to sort by the value",
        Cell::State => "Effects of actions that last",
        _ => "Click to sort",
    };
    let sorted = sorted.filter(|_| !matches!(cell, Cell::Trail(..) | Cell::State));
    let (text, color) = match sorted {
        Some(true) => (format!("{name} ↑"), tokens.accent),
        Some(false) => (format!("{name} ↓"), tokens.accent),
        None => (name.clone(), tokens.text_sub),
    };
    // A narrow column truncates its title.
    let hint = format!("{name}\n{hint}");
    let button = egui::Button::new(RichText::new(text).small().color(color)).frame(false);
    let mut pressed = false;
    let is_number = matches!(cell, Cell::Index | Cell::Id | Cell::Field(..));
    let layout = if is_number { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) };
    ui.with_layout(layout, |ui| pressed = ui.add(button.truncate()).on_hover_text(hint).clicked());
    pressed
}
