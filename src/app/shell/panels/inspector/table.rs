//! Table of a list group in its own window, with a row per item and a column per field. Cells of a spreadsheet can be pasted.

use super::{
    choice,
    number::{self, NumberField},
    parameter, query,
    rows::Rows,
    value_text,
};
use crate::{
    app::{
        document::graph,
        kit::{icons, level::Level, text, theme::Tokens, widgets},
    },
    params::{Change, ParamId, ParamSpec, Role, Value, ValueType, table_text},
};
use egui::{Align, Event, Key, Layout, Modifiers, RichText, Sense, Ui, Window};
use egui_extras::{Column, TableBuilder};
use std::collections::BTreeSet;

const ROW: f32 = 24.0;

/// State of the table window.
#[derive(Default)]
pub struct ListTable {
    /// List that is shown; `None` if the window is closed.
    group: Option<&'static str>,
    selected: BTreeSet<usize>,
    /// Row that was clicked last, from which Shift extends the selection.
    anchor: usize,
    /// Row and column of the cell that is being edited; `None` if no cell is edited.
    cell: Option<(usize, usize)>,
}

/// Edit of the selected rows.
#[derive(Clone, Copy)]
enum Edit {
    Add,
    Duplicate,
    Delete,
    Up,
    Down,
}

impl ListTable {
    /// Opens the window with a list.
    pub(super) fn open(&mut self, group: &'static str) {
        *self = Self { group: Some(group), ..Self::default() };
    }

    /// Closes the window. Returns whether it was open.
    pub(super) fn close(&mut self) -> bool {
        self.group.take().is_some()
    }
}

/// Draws the window if it is open.
pub(super) fn window_ui(ctx: &egui::Context, rows: &mut Rows<'_>, table: &mut ListTable) {
    let Some(name) = table.group else { return };
    let Some(group) = rows.params.groups().iter().position(|g| g.list && g.name == name) else {
        table.group = None;
        return;
    };
    let title = rows.params.groups()[group].label();
    let mut is_open = true;
    let window = Window::new(title).id(egui::Id::unique(("list table", name))).open(&mut is_open);
    let shown = window.default_pos([240.0, 140.0]).default_size([760.0, 320.0]).show(ctx, |ui| {
        let is_read_only = rows.live.is_some_and(|live| live.playback.is_some());
        ui.add_enabled_ui(!is_read_only, |ui| content_ui(ui, rows, table, group));
    });
    let has_pointer = shown.is_some_and(|shown| shown.response.contains_pointer());
    if has_pointer {
        copy_and_paste(ctx, rows, table, group);
    }
    if !is_open {
        table.group = None;
    }
}

/// Returns the fields that are shown for any item of the list, in the order of the declaration.
fn fields(rows: &Rows<'_>, group: usize) -> Vec<usize> {
    let items = rows.params.len(group as u8);
    let at = |item: usize, f: usize| ParamId { item: item as u16, ..ParamId::of(group, f) };
    let is_shown = |f: &usize| items == 0 || (0..items).any(|item| rows.params.is_shown(at(item, *f)));
    let is_wanted = |f: &usize| is_shown(f) && !rows.has_no_choice(at(0, *f));
    (0..rows.params.groups()[group].fields().len()).filter(is_wanted).collect()
}

fn content_ui(ui: &mut Ui, rows: &mut Rows<'_>, table: &mut ListTable, group: usize) {
    let n = rows.params.len(group as u8);
    table.selected.retain(|row| *row < n);
    let pressed = toolbar_ui(ui, table, &crate::app::document::items::item_noun(rows.params.groups()[group]));
    if let Some(edit) = pressed.or_else(|| keys(ui, table)) {
        apply(rows, table, group, edit);
    }
    ui.separator();
    let fields = fields(rows, group);
    let specs = rows.params.groups()[group].params;
    ui.spacing_mut().item_spacing = egui::vec2(6.0, 2.0);
    let mut builder = TableBuilder::new(ui)
        .id_salt(("list table", group))
        .striped(true)
        .sense(Sense::hover())
        .auto_shrink(false)
        .cell_layout(Layout::left_to_right(Align::Center))
        .column(Column::exact(34.0));
    for f in &fields {
        builder = builder.column(column(&specs[*f]));
    }
    let header = |mut header: egui_extras::TableRow<'_, '_>| {
        header.col(|_| {});
        for f in &fields {
            header.col(|ui| heading_ui(ui, &specs[*f]));
        }
    };
    let n = rows.params.len(group as u8);
    table.cell = None;
    builder.header(ROW, header).body(|body| {
        body.rows(ROW, n, |mut row| {
            let item = row.index();
            row.set_selected(table.selected.contains(&item));
            row.col(|ui| handle_ui(ui, table, item));
            for (column, f) in fields.iter().enumerate() {
                let id = ParamId { item: item as u16, ..ParamId::of(group, *f) };
                row.col(|ui| {
                    if cell_ui(ui, rows, id, &specs[*f]) {
                        table.cell = Some((item, column));
                    }
                });
            }
        });
    });
}

fn toolbar_ui(ui: &mut Ui, table: &ListTable, noun: &str) -> Option<Edit> {
    let mut pressed = None;
    ui.horizontal(|ui| {
        let word = noun.to_lowercase();
        let is_any = !table.selected.is_empty();
        for (edit, glyph, name, key, needs_rows) in [
            (Edit::Add, icons::PLUS, format!("Add {word}"), "", false),
            (Edit::Duplicate, icons::COPY, "Duplicate rows".to_owned(), " (Ctrl+D)", true),
            (Edit::Delete, icons::TRASH, "Delete rows".to_owned(), " (Delete)", true),
            (Edit::Up, icons::ARROW_UP, "Move rows up".to_owned(), " (Alt+Up)", true),
            (Edit::Down, icons::ARROW_DOWN, "Move rows down".to_owned(), " (Alt+Down)", true),
        ] {
            let button = ui.add_enabled_ui(!needs_rows || is_any, |ui| widgets::icon_button(ui, glyph, &name)).inner;
            let button =
                button.on_hover_text(format!("{name}{key}")).on_disabled_hover_text("Select rows by their number");
            if button.clicked() {
                pressed = Some(edit);
            }
        }
        ui.label(widgets::sub(ui, "Ctrl+C and Ctrl+V copy and paste rows of a spreadsheet").small());
    });
    pressed
}

/// Returns the edit of a pressed key; `None` if no row is selected or a text is being edited.
fn keys(ui: &Ui, table: &ListTable) -> Option<Edit> {
    if table.selected.is_empty() || ui.ctx().text_edit_focused() {
        return None;
    }
    let keys = [
        (Modifiers::NONE, Key::Delete, Edit::Delete),
        (Modifiers::COMMAND, Key::D, Edit::Duplicate),
        (Modifiers::ALT, Key::ArrowUp, Edit::Up),
        (Modifiers::ALT, Key::ArrowDown, Edit::Down),
    ];
    ui.input_mut(|i| keys.into_iter().find_map(|(with, key, edit)| i.consume_key(with, key).then_some(edit)))
}

fn apply(rows: &mut Rows<'_>, table: &mut ListTable, group: usize, edit: Edit) {
    let id = ParamId::list(group);
    let Value::Rows(mut items) = rows.params.get(id) else { return };
    let selected = std::mem::take(&mut table.selected);
    match edit {
        Edit::Add => {
            query::add_item(rows.params, group);
            table.selected = [items.len()].into();
            return;
        }
        Edit::Duplicate => {
            // From the last to the first, so that the copies do not move the rows that follow.
            for item in selected.iter().rev() {
                graph::edit::duplicate(rows.params, (group, *item));
            }
            table.selected = selected.iter().enumerate().map(|(n, item)| item + n + 1).collect();
            return;
        }
        Edit::Delete => return selected.iter().rev().for_each(|item| graph::edit::remove(rows.params, (group, *item))),
        Edit::Up | Edit::Down => table.selected = move_rows(&mut items, &selected, matches!(edit, Edit::Up)),
    }
    rows.params.set(&Change { id, value: Value::Rows(items) });
}

/// Moves the selected rows by one position. Selected rows at the end of the list, and rows adjacent to them, do not move.
/// Returns the new positions.
fn move_rows<T>(items: &mut [T], selected: &BTreeSet<usize>, is_up: bool) -> BTreeSet<usize> {
    let mut places = BTreeSet::new();
    let order: Vec<usize> =
        if is_up { selected.iter().copied().collect() } else { selected.iter().rev().copied().collect() };
    for from in order {
        let to = if is_up { from.checked_sub(1) } else { Some(from + 1).filter(|to| *to < items.len()) };
        let to = to.filter(|to| !places.contains(to)).unwrap_or(from);
        items.swap(from, to);
        places.insert(to);
    }
    places
}

/// Handles the clipboard: Ctrl+C copies the selected rows, or all; Ctrl+V pastes at the edited cell, at the first selected row,
/// or at the end.
fn copy_and_paste(ctx: &egui::Context, rows: &mut Rows<'_>, table: &mut ListTable, group: usize) {
    let is_typing = ctx.text_edit_focused();
    let (mut is_copied, mut pasted) = (false, None);
    ctx.input_mut(|i| {
        i.events.retain(|event| match event {
            Event::Copy if !is_typing => {
                is_copied = true;
                false
            }
            // A single value that is pasted during typing belongs to the cell.
            Event::Paste(text) if !is_typing || text.trim_end().contains(['\t', '\n']) => {
                pasted = Some(text.clone());
                false
            }
            _ => true,
        });
    });
    let fields = fields(rows, group);
    let n = rows.params.len(group as u8);
    if is_copied {
        let items: Vec<usize> =
            if table.selected.is_empty() { (0..n).collect() } else { table.selected.iter().copied().collect() };
        rows.messages.push((Level::Info, format!("Copied {}", text::plural(items.len(), "row", "rows"))));
        ctx.copy_text(table_text::copy(rows.params, group, &items, &fields));
    }
    let Some(text) = pasted else { return };
    let at = table.cell.unwrap_or((table.selected.first().copied().unwrap_or(n), 0));
    match table_text::paste(rows.params, group, &text, at, &fields) {
        Ok((value, pasted)) => {
            rows.params.set(&Change { id: ParamId::list(group), value });
            table.selected = (at.0..at.0 + pasted).collect();
            rows.messages.push((Level::Info, format!("Pasted {}", text::plural(pasted, "row", "rows"))));
        }
        Err(why) => rows.messages.push((Level::Warning, format!("Nothing pasted: {why}"))),
    }
}

fn column(spec: &ParamSpec) -> Column {
    let width = match spec.kind {
        ValueType::Bool => 60.0,
        ValueType::Int | ValueType::Real => 84.0,
        _ => 140.0,
    };
    Column::initial(width).at_least(width * 0.7).clip(true).resizable(true)
}

fn heading_ui(ui: &mut Ui, spec: &ParamSpec) {
    let unit = spec.unit.suffix();
    let label = ui.add(egui::Label::new(RichText::new(spec.label()).family(widgets::semibold())).truncate());
    widgets::hover_text(label, || text::unwrap(spec.docs));
    ui.label(widgets::sub(ui, unit).small());
}

/// Draws the number of a row. A click selects the row, Ctrl adds or removes it, and Shift extends the selection.
fn handle_ui(ui: &mut Ui, table: &mut ListTable, item: usize) {
    let is_selected = table.selected.contains(&item);
    let handle = ui.selectable_label(is_selected, (item + 1).to_string()).on_hover_text("Select the row");
    if !handle.accessible_name(format!("Row {}", item + 1)).clicked() {
        return;
    }
    let modifiers = ui.input(|i| i.modifiers);
    match (modifiers.command, modifiers.shift) {
        (true, _) if is_selected => drop(table.selected.remove(&item)),
        (true, _) => drop(table.selected.insert(item)),
        (_, true) => table.selected.extend(table.anchor.min(item)..=table.anchor.max(item)),
        _ => table.selected = [item].into(),
    }
    table.anchor = item;
    ui.memory_mut(|m| m.stop_text_input());
}

/// Draws the widget of a value. Returns whether it is being edited as text.
fn cell_ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, spec: &ParamSpec) -> bool {
    if !rows.params.is_shown(id) {
        return false;
    }
    let name = format!("{} cell", rows.params.path(id));
    let old = rows.params.get(id);
    let width = ui.available_width();
    let (is_edited, new) = match (&old, spec.kind) {
        (Value::Bool(on), _) => {
            let mut on = *on;
            let (group, item) = (usize::from(id.group), usize::from(id.item));
            let missing = query::missing(rows.params, group, item).filter(|_| spec.role == Role::Enabled);
            let switch = ui.add_enabled_ui(missing.is_none(), |ui| widgets::switch(ui, &mut on, &name)).inner;
            let switch = switch.on_disabled_hover_text(missing.unwrap_or_default());
            (false, switch.changed().then_some(Value::Bool(on)))
        }
        (Value::Choice(now), ValueType::Choice(choices)) => {
            (false, choice::ui(ui, &name, *now, choices).map(Value::Choice))
        }
        (Value::Int(_) | Value::Real(_), _) => {
            let (response, new) = NumberField { spec, name: &name, width, with_unit: false }.show(ui, &old);
            if let Some(formula) = number::take_formula(ui.ctx(), &name) {
                rows.follow(id, &formula);
            }
            (response.has_focus(), new)
        }
        (Value::Text(now), _) if parameter::is_picked(spec.role) => {
            (false, parameter::picker_ui(ui, rows, id, &name, now))
        }
        (Value::Text(text), ValueType::Query) if rows.queries.is_some() => (false, query::ui(ui, rows, &name, text)),
        _ => {
            let (response, new) = value_text::ui(ui, &name, spec, &old);
            (response.has_focus(), new)
        }
    };
    let rejection = rows.live.and_then(|live| live.rejection(id)).map(|rejection| rejection.why.clone());
    if let Some(why) = rejection {
        let error = Tokens::of(ui.ctx()).error;
        let rect = ui.min_rect();
        ui.painter().rect_stroke(rect, 2, egui::Stroke::new(1.0, error), egui::StrokeKind::Inside);
        ui.interact(rect, ui.scope_id().with("rejection"), Sense::hover()).on_hover_text(format!("Not applied: {why}"));
    }
    if let Some(value) = new.filter(|value| *value != old && spec.admits(value)) {
        query::set_value(rows.params, &Change { id, value });
    }
    is_edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_moved_together_and_stop_at_the_ends() {
        let moved = |selected: &[usize], is_up| {
            let mut items = ['a', 'b', 'c', 'd', 'e'];
            let places = move_rows(&mut items, &selected.iter().copied().collect(), is_up);
            (String::from_iter(items), places.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(moved(&[1, 2], true), ("bcade".to_owned(), vec![0, 1]));
        assert_eq!(moved(&[1, 3], false), ("acbed".to_owned(), vec![2, 4]));
        assert_eq!(moved(&[0, 1, 3], true), ("abdce".to_owned(), vec![0, 1, 2]));
        assert_eq!(moved(&[4], false), ("abcde".to_owned(), vec![4]));
    }
}
