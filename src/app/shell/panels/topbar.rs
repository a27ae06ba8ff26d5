//! Top bar: menus, project name and search field.

use crate::app::{
    document::{command::UiCommand, layout::Page},
    kit::{icons, theme::Tokens, widgets},
    shell::{
        commands::{CommandState, MENUS, menu},
        panels::side::OpenPanels,
        queue::Queue,
    },
    views::page_of,
};
use egui::{
    Align, Button, Frame, Layout, Margin, MenuBar, Panel, RichText, ScrollArea, Ui, containers::menu::MenuButton, vec2,
};

const HEIGHT: f32 = 34.0;
/// Space between a menu and the lower edge of the window, points.
const MARGIN: f32 = 32.0;
/// Minimum and maximum width of the search field, points.
const FIELD: (f32, f32) = (270.0, 300.0);

/// Draws the top bar.
pub fn ui(ui: &mut Ui, state: &CommandState<'_>, open: &OpenPanels, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(8, 0));
    Panel::top("top bar").exact_size(HEIGHT).frame(frame).show(ui, |ui| {
        MenuBar::new().ui(ui, |ui| {
            ui.set_min_height(HEIGHT);
            ui.spacing_mut().item_spacing.x = 6.0;
            let all = UiCommand::all(state);
            for title in MENUS {
                MenuButton::new(title).ui(ui, |ui| menu_ui(ui, state, title, &all, queue));
            }
            ui.add_space(12.0);
            name_ui(ui, state);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| right_ui(ui, state, open, queue));
        });
    });
}

/// Draws the entries of a menu. A long menu scrolls, so that it stays below the bar and does not cover its button.
fn menu_ui(ui: &mut Ui, state: &CommandState<'_>, title: &str, all: &[UiCommand], queue: &mut Queue) {
    ui.set_min_width(230.0);
    let entries = all.iter().filter(|c| c.menu() == title).cloned();
    let (views, others): (Vec<_>, Vec<_>) = entries.partition(|c| matches!(c, UiCommand::ShowView(_)));
    let room = (ui.ctx().content_rect().height() - HEIGHT - MARGIN).max(HEIGHT);
    ScrollArea::vertical().max_height(room).min_scrolled_height(room).show(ui, |ui| {
        views_ui(ui, state, &views, queue);
        menu::entries_ui(ui, state, &others, queue);
    });
}

/// Draws a submenu of views for each page.
fn views_ui(ui: &mut Ui, state: &CommandState<'_>, views: &[UiCommand], queue: &mut Queue) {
    for page in Page::ALL {
        let of_page = |c: &&UiCommand| matches!(c, UiCommand::ShowView(name) if page_of(name) == Some(page));
        let entries: Vec<UiCommand> = views.iter().filter(of_page).cloned().collect();
        if !entries.is_empty() {
            let label = (icons::rich(page.icon()).size(13.0), format!("{} views", page.title()));
            ui.menu_button(label, |ui| menu::entries_ui(ui, state, &entries, queue));
        }
    }
}

fn name_ui(ui: &mut Ui, state: &CommandState<'_>) {
    let t = Tokens::of(ui.ctx());
    if state.around.flow.opening.is_some() {
        return;
    }
    let session = &state.document.session;
    ui.label(RichText::new(&session.project.name).color(t.text_strong).family(widgets::semibold()));
    if session.is_dirty() {
        widgets::dot(ui, t.warn).on_hover_text("Unsaved changes");
    }
    ui.add_space(6.0);
    ui.label(widgets::sub(ui, session.project.model.title()));
}

/// Draws panel toggles and the search field, from right to left.
fn right_ui(ui: &mut Ui, state: &CommandState<'_>, open: &OpenPanels, queue: &mut Queue) {
    let panels = [
        (icons::SIDEBAR, UiCommand::ToggleInspector, open.inspector),
        (icons::TERMINAL, UiCommand::ToggleLog, open.log),
        (icons::TREE, UiCommand::ToggleTree, open.tree),
    ];
    for (glyph, command, on) in panels {
        let keys = state.around.keymap.text(ui.ctx(), &command);
        if widgets::icon_toggle(ui, glyph, &format!("{} ({keys})", command.text(state)), on).clicked() {
            queue.push(command);
        }
    }
    ui.add_space(6.0);
    search_ui(ui, state, queue);
}

/// Draws a field that opens the palette, or an icon if there is no room.
fn search_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    const NAME: &str = "Search commands and parameters";
    let t = Tokens::of(ui.ctx());
    let room = ui.available_width();
    if room < FIELD.0 {
        if widgets::icon_button(ui, icons::SEARCH, NAME).clicked() {
            queue.push(UiCommand::Palette);
        }
        return;
    }
    let hint = (icons::rich(icons::SEARCH).color(t.text_sub), RichText::new(NAME).color(t.text_sub));
    let keys = RichText::new(state.around.keymap.text(ui.ctx(), &UiCommand::Palette)).small();
    let field = Button::new(hint)
        .shortcut_text(keys)
        .min_size(vec2(room.min(FIELD.1), 24.0))
        .frame(true)
        .fill(t.raised)
        .stroke(egui::Stroke::new(1.0, t.line));
    if ui.add(field).accessible_name(NAME).clicked() {
        queue.push(UiCommand::Palette);
    }
}
