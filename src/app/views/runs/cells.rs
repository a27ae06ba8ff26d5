//! Cells and headers of the table of runs.

use super::choices::{Choices, Widths};
use crate::{
    app::{
        document::library::{DurationUnit, Run},
        kit::{self, numbers, text, theme::Tokens},
    },
    project::{
        Status,
        run_table::{CHANGES, Cell, Column, NAME, NOTE, Quantity, Row, STATUS},
    },
};
use egui::{Align, Color32, Label, Layout, Response, RichText, Ui};
use std::time::Duration;

/// Largest width of a column of names before the user changes it, points.
const MAX_NAME: f32 = 320.0;
/// Largest width of a column that its header needs, points.
const MAX_HEAD: f32 = 210.0;
/// Approximate width of a character, points.
const CHARACTER: f32 = 6.6;
/// Number from which values have no decimals.
const LARGE: f64 = 1000.0;

/// Returns the layout of a column: numbers are right-aligned, texts left-aligned.
pub fn layout_of(column: &Column) -> Layout {
    match column.quantity.is_number() || column.quantity == Quantity::Hash {
        true => Layout::right_to_left(Align::Center),
        false => Layout::left_to_right(Align::Center),
    }
}

/// Returns the width of a column: the user's, otherwise one that fits its header and usual contents.
pub fn width_of(column: &Column, widths: &Widths, longest_name: usize) -> f32 {
    let usual = match (&*column.key, column.quantity) {
        (NAME, _) => {
            return known(column, widths).unwrap_or((longest_name as f32 * CHARACTER + 24.0).clamp(110.0, MAX_NAME));
        }
        (CHANGES | NOTE, _) => 200.0,
        (_, Quantity::Date) => 138.0,
        (_, Quantity::Tags) => 110.0,
        (_, Quantity::Hash) => 76.0,
        (_, Quantity::Text) => 84.0,
        (_, Quantity::Simulated) => 90.0,
        (_, Quantity::Count) => 48.0,
        (_, Quantity::WallTime | Quantity::Value) => 62.0,
    };
    let head = (column.head().chars().count() as f32 * CHARACTER + 14.0).min(MAX_HEAD);
    known(column, widths).unwrap_or(f32::max(usual, head))
}

fn known(column: &Column, widths: &Widths) -> Option<f32> {
    widths.get(&column.key).copied()
}

/// Draws a header. A click sorts by the column, a right-click opens a menu. Returns whether the column is to be hidden.
pub fn head_ui(ui: &mut Ui, t: &Tokens, choices: &mut Choices, column: &Column, head: &str) -> bool {
    let is_sorted = choices.sort.key == column.key;
    let arrow = match (is_sorted, choices.sort.is_descending) {
        (true, true) => " ↓",
        (true, false) => " ↑",
        _ => "",
    };
    let ink = if is_sorted { t.accent } else { t.text_sub };
    let text = RichText::new(format!("{head}{arrow}")).small().color(ink);
    let button = egui::Button::new(text).frame(false).truncate();
    // The header of a column is aligned as its cells.
    let response = ui.with_layout(layout_of(column), |ui| ui.add(button)).inner;
    let response = response.accessible_name(format!("Sort by {}", column.title));
    let response = response.on_hover_text(format!("{head}\n{}\nIn filters: {}", column.docs, column.key));
    if response.clicked() {
        choices.sort_by(&column.key);
    }
    let mut hides = false;
    response.context_menu(|ui| {
        for (label, is_descending) in [("Sort ascending", false), ("Sort descending", true)] {
            if ui.button(label).on_hover_text("Runs without a value are last").clicked() {
                choices.sort.key.clone_from(&column.key);
                choices.sort.is_descending = is_descending;
                ui.close();
            }
        }
        if ui.button("Hide column").on_hover_text("The menu Columns shows it again").clicked() {
            hides = true;
            ui.close();
        }
    });
    hides
}

/// Formats a value of a column. `unit` is the unit of all simulated times.
pub fn text_of(column: &Column, cell: &Cell, run: &Run, unit: &DurationUnit) -> String {
    match (column.quantity, cell) {
        (Quantity::Simulated, _) => unit.text(run),
        (Quantity::WallTime, Cell::Number(secs)) => text::wall_time(Duration::from_secs_f64(secs.max(0.0))),
        (Quantity::Count, Cell::Number(n)) => text::count(*n as u64),
        (Quantity::Value, Cell::Number(n)) if n.abs() >= LARGE => numbers::fixed(*n, 0),
        (Quantity::Value, Cell::Number(n)) => numbers::value(*n),
        (Quantity::Value, Cell::Labelled { number, .. }) => text::number(*number),
        (_, cell) => cell.title().into_owned(),
    }
}

/// Draws the value of a run, with a swatch of the colour `mark` if there is one. The tooltip contains the whole text, or why the
/// run failed.
pub fn ui(ui: &mut Ui, t: &Tokens, column: &Column, shown: String, run: &Run, mark: Option<Color32>) -> Response {
    let color = match (&run.problem, &run.status) {
        _ if column.key != STATUS => t.text,
        (Some(_), _) | (None, Status::Failed(_)) => t.error,
        (None, Status::Complete) => t.ok,
        (None, Status::Interrupted { .. } | Status::Running | Status::Unclosed) => t.warn,
    };
    let text = RichText::new(&shown).color(color);
    let text = if column.quantity.is_number() || column.quantity == Quantity::Hash { text.monospace() } else { text };
    let label = ui.with_layout(layout_of(column), |ui| {
        mark.map(|color| kit::swatch_ui(ui, color, true));
        ui.add(Label::new(text).truncate().selectable(false).show_tooltip_when_elided(false))
    });
    if shown.is_empty() { label.inner } else { label.inner.on_hover_text(about(column, run, &shown)) }
}

fn about(column: &Column, run: &Run, shown: &str) -> String {
    match (&*column.key, &run.problem, &run.status) {
        (STATUS, Some(why), _) | (STATUS, None, Status::Failed(why)) => why.clone(),
        (NAME, ..) => run.folder.display().to_string(),
        _ => shown.trim().to_owned(),
    }
}

/// Returns the name of a run, indented by four spaces per ancestor of the branch.
pub fn indented(row: &Row, depth: usize) -> String {
    format!("{}{}", "    ".repeat(depth), row.cell(NAME).text())
}
