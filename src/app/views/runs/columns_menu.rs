//! Menu of the columns: fixed ones, parameters that differ between the shown runs, and statistics of recorded series.

use super::{choices::Choices, table::RunTable};
use crate::{
    app::kit::widgets,
    project::run_table::{Column, differing},
};
use egui::{CollapsingHeader, PopupCloseBehavior, ScrollArea, TextEdit, Ui};

/// Width of the menu, points.
const WIDTH: f32 = 280.0;

/// Draws the button of the menu, which stays open while columns are chosen. `search` is the text of its search field.
pub fn button_ui(ui: &mut Ui, search: &mut String, choices: &mut Choices, table: &RunTable) {
    let button = ui.button("Columns").on_hover_text("Shows or hides columns: parameters, results and series");
    egui::Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
        ui.set_width(WIDTH);
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(search).hint_text("Find column").desired_width(WIDTH - 90.0);
            let field = field.margin(widgets::FIELD_MARGIN);
            let hint = "Searches titles and names, also of parameters that do not differ";
            let field = ui.add(field).on_hover_text(hint).accessible_name("Find column");
            if button.clicked() {
                field.request_focus();
            }
            let reset = ui.add_enabled(choices.is_changed(), egui::Button::new("Reset"));
            if reset.on_hover_text("Shows the default columns").clicked() {
                choices.reset();
            }
        });
        ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
            ui.set_width(WIDTH);
            sections_ui(ui, search, choices, table);
        });
    });
}

fn sections_ui(ui: &mut Ui, search: &str, choices: &mut Choices, table: &RunTable) {
    let words = search.trim().to_lowercase();
    let fits = |column: &Column| {
        let text = format!("{} {} {}", column.title, column.group, column.key).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    };
    let found: Vec<&Column> = table.columns.iter().filter(|column| fits(column)).collect();
    let (mut series, other): (Vec<&Column>, Vec<&Column>) = found.iter().partition(|column| column.series.is_some());
    // Columns of one series may be at several places of the table.
    series.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
    let (fixed, parameters): (Vec<&Column>, Vec<&Column>) = other.iter().partition(|column| column.group.is_empty());
    for column in &fixed {
        entry_ui(ui, choices, table, column);
    }
    let differing = differing(table.shown_rows());
    let is_listed = |column: &&&Column| !words.is_empty() || differing.contains(&column.key) || choices.shows(column);
    let listed: Vec<&Column> = parameters.iter().filter(is_listed).copied().collect();
    if !parameters.is_empty() {
        ui.separator();
        let head = if words.is_empty() { "Parameters that differ between the shown runs" } else { "Parameters" };
        ui.label(widgets::sub(ui, head).small());
    }
    if listed.is_empty() && !parameters.is_empty() {
        ui.label(widgets::sub(ui, "None; type a name to find another one").small());
    }
    for column in listed {
        entry_ui(ui, choices, table, column);
    }
    if !series.is_empty() {
        ui.separator();
        ui.label(widgets::sub(ui, "Recorded series").small());
    }
    for group in series.chunk_by(|a, b| name_of(a) == name_of(b)) {
        let is_open = (!words.is_empty()).then_some(true);
        CollapsingHeader::new(&group[0].group).id_salt(name_of(group[0])).open(is_open).show(ui, |ui| {
            group.iter().for_each(|column| entry_ui(ui, choices, table, column));
        });
    }
    if found.is_empty() {
        ui.label(widgets::sub(ui, "No such column"));
    }
}

/// Returns the title and the name of the series of a column.
fn name_of(column: &Column) -> (&str, &str) {
    (&column.group, column.series.as_ref().map_or("", |series| &series.name))
}

fn entry_ui(ui: &mut Ui, choices: &mut Choices, table: &RunTable, column: &Column) {
    let mut is_shown = choices.shows(column);
    let about = format!("{}\nIn filters: {}", column.docs, column.key);
    if ui.checkbox(&mut is_shown, column.head()).on_hover_text(about).changed() {
        choices.show(&table.columns, &column.key, is_shown);
    }
}
