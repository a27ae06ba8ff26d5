//! Sheet of keyboard shortcuts and pointer gestures, which `?` opens.

use super::preferences::{Page, SettingsDialog};
use crate::app::{
    document::command::UiCommand,
    kit::{
        theme::{TITLE, Tokens},
        widgets,
    },
    shell::{
        commands::{self, CommandState},
        keymap,
    },
};
use egui::{Align, Frame, Id, Layout, Margin, Modal, RichText, ScrollArea, TextStyle, Ui, vec2};

/// Width of a column, points.
const COLUMN: f32 = 330.0;

/// Pointer gestures common to all views.
const POINTER: &[(&str, &str)] = &[
    ("click", "select"),
    ("Ctrl+click", "add or remove"),
    ("Shift+click", "extend to here"),
    ("Shift+drag", "select a rectangle"),
    ("Alt+drag", "select with a lasso"),
    ("double-click", "focus it, or fit everything"),
    ("drag", "pan, or rotate in 3D"),
    ("right-drag", "zoom into a box"),
    ("wheel", "zoom at the pointer"),
    ("hover", "name and value"),
];

struct Group {
    title: &'static str,
    rows: Vec<(String, String)>,
}

fn groups(state: &CommandState<'_>, ctx: &egui::Context) -> Vec<Group> {
    let all = UiCommand::all(state);
    let mut groups: Vec<Group> = commands::MENUS
        .iter()
        .map(|menu| {
            let wanted = all.iter().filter(|c| c.menu() == *menu && c.has_own_keys());
            let rows = wanted
                .filter_map(|c| Some((keymap::shortcut_text(ctx, &state.around.keymap.of(c)?), c.text(state))))
                .collect();
            Group { title: menu, rows }
        })
        .collect();
    let pointer = POINTER.iter().map(|(gesture, what)| ((*gesture).to_owned(), (*what).to_owned())).collect();
    groups.push(Group { title: "Pointer, in all views", rows: pointer });
    groups.retain(|g| !g.rows.is_empty());
    groups
}

/// Draws the sheet if it is open.
pub fn ui(ctx: &egui::Context, is_open: &mut bool, settings: &mut Option<SettingsDialog>, state: &CommandState<'_>) {
    if !*is_open {
        return;
    }
    let t = Tokens::of(ctx);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
    let room = ctx.content_rect().size() - vec2(80.0, 100.0);
    let n_columns = ((room.x / COLUMN) as usize).clamp(1, 3);
    let modal = Modal::new(Id::unique("shortcuts sheet")).frame(frame).show(ctx, |ui| {
        ui.set_width(COLUMN * n_columns as f32);
        let close = head_ui(ui, settings);
        let most = room.y - 90.0;
        ScrollArea::vertical()
            .max_height(most)
            .min_scrolled_height(most)
            .show(ui, |ui| columns_ui(ui, groups(state, ctx), n_columns));
        close
    });
    let again = ctx.input(|i| i.key_pressed(egui::Key::Questionmark));
    *is_open = !(modal.inner || modal.should_close() || again);
}

fn head_ui(ui: &mut Ui, settings: &mut Option<SettingsDialog>) -> bool {
    let t = Tokens::of(ui.ctx());
    let mut close = false;
    ui.horizontal(|ui| {
        ui.label(RichText::new("Keyboard shortcuts").text_style(TextStyle::Name(TITLE.into())).color(t.text_strong));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            close = ui.button("Close").clicked();
            if ui.button("Edit shortcuts…").clicked() {
                *settings = Some(SettingsDialog::at(Page::Keys, ""));
                close = true;
            }
        });
    });
    ui.add_space(8.0);
    close
}

/// Draws the groups in columns; each group is added to the shortest one.
fn columns_ui(ui: &mut Ui, groups: Vec<Group>, n_columns: usize) {
    let mut columns: Vec<(usize, Vec<Group>)> = (0..n_columns).map(|_| (0, vec![])).collect();
    for group in groups {
        if let Some(shortest) = columns.iter_mut().min_by_key(|(n, _)| *n) {
            shortest.0 += group.rows.len() + 2;
            shortest.1.push(group);
        }
    }
    ui.columns(n_columns, |uis| {
        for (ui, (_, groups)) in uis.iter_mut().zip(columns) {
            ui.spacing_mut().item_spacing.y = 3.0;
            for group in groups {
                group_ui(ui, &group);
            }
        }
    });
}

fn group_ui(ui: &mut Ui, group: &Group) {
    let t = Tokens::of(ui.ctx());
    ui.label(RichText::new(group.title).family(widgets::semibold()).color(t.text_strong));
    for (keys, what) in &group.rows {
        ui.horizontal(|ui| {
            ui.allocate_ui_with_layout(vec2(116.0, 18.0), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(116.0);
                ui.label(RichText::new(keys).monospace().color(t.accent));
            });
            ui.add(egui::Label::new(RichText::new(what).color(t.text)).truncate());
        });
    }
    ui.add_space(10.0);
}
