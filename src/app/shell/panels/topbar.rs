//! The top bar: menus, project name, search field.

use crate::app::{
    document::{command::UiCommand, layout::Page},
    kit::{icons, theme::Tokens, widgets},
    shell::{App, commands::MENUS, keymap},
    views::page_of,
};
use egui::{
    Align, Button, Frame, Layout, Margin, MenuBar, Panel, RichText, ScrollArea, Ui, containers::menu::MenuButton, vec2,
};

const HEIGHT: f32 = 34.0;
/// Between the bar, a menu and the lower edge of the window, points.
const MARGIN: f32 = 32.0;
/// Minimum and usual width of the search field, points.
const FIELD: (f32, f32) = (270.0, 300.0);

/// Draws the bar.
pub fn ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(8, 0));
    Panel::top("top bar").exact_size(HEIGHT).frame(frame).show(ui, |ui| {
        MenuBar::new().ui(ui, |ui| {
            ui.set_min_height(HEIGHT);
            ui.spacing_mut().item_spacing.x = 6.0;
            let all = UiCommand::all(app);
            for menu in MENUS {
                MenuButton::new(menu).ui(ui, |ui| menu_ui(ui, app, menu, &all, queue));
            }
            ui.add_space(12.0);
            name_ui(ui, app);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| right_ui(ui, app, queue));
        });
    });
}

/// The entries of one menu. A long menu scrolls: it opens below the bar and never covers the button that opened it.
fn menu_ui(ui: &mut Ui, app: &App, menu: &str, all: &[UiCommand], queue: &mut Vec<UiCommand>) {
    ui.set_min_width(230.0);
    let entries = all.iter().filter(|c| c.menu().0 == menu).cloned();
    let (views, others): (Vec<_>, Vec<_>) = entries.partition(|c| matches!(c, UiCommand::ShowView(_)));
    let room = (ui.ctx().content_rect().height() - HEIGHT - MARGIN).max(HEIGHT);
    ScrollArea::vertical().max_height(room).min_scrolled_height(room).show(ui, |ui| {
        views_ui(ui, app, &views, queue);
        entries_ui(ui, app, &others, queue);
    });
}

/// A submenu of views per page.
fn views_ui(ui: &mut Ui, app: &App, views: &[UiCommand], queue: &mut Vec<UiCommand>) {
    for page in Page::ALL {
        let of_page = |c: &&UiCommand| matches!(c, UiCommand::ShowView(name) if page_of(name) == Some(page));
        let entries: Vec<UiCommand> = views.iter().filter(of_page).cloned().collect();
        if !entries.is_empty() {
            let label = (icons::rich(page.icon()).size(13.0), format!("{} views", page.title()));
            ui.menu_button(label, |ui| entries_ui(ui, app, &entries, queue));
        }
    }
}

/// Menu entries with their shortcuts.
pub fn entries_ui(ui: &mut Ui, app: &App, entries: &[UiCommand], queue: &mut Vec<UiCommand>) {
    for (i, command) in entries.iter().enumerate() {
        if command.menu().1 && i > 0 {
            ui.separator();
        }
        let why_not = command.why_not(app);
        let mut button = Button::new((icons::rich(command.icon()).size(13.0), command.text(app)));
        if let Some(shortcut) = app.preferences.keymap.of(command) {
            button = button.shortcut_text(RichText::new(keymap::shortcut_text(ui.ctx(), &shortcut)).small());
        }
        let response = ui.add_enabled(why_not.is_none(), button).accessible_name(command.text(app));
        let response = response.on_hover_text(command.tooltip()).on_disabled_hover_text(why_not.unwrap_or_default());
        if response.clicked() {
            queue.push(command.clone());
            ui.close();
        }
    }
}

fn name_ui(ui: &mut Ui, app: &App) {
    let t = Tokens::of(ui.ctx());
    if app.flow.opening.is_some() {
        return;
    }
    let session = &app.document.session;
    ui.label(RichText::new(&session.project.name).color(t.text_strong).family(widgets::semibold()));
    if session.is_dirty() {
        widgets::dot(ui, t.warn).on_hover_text("Unsaved changes");
    }
    ui.add_space(6.0);
    ui.label(widgets::sub(ui, session.project.model.title()));
}

/// Panel toggles, search field; from the right.
fn right_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    let panels = [
        (icons::SIDEBAR, UiCommand::ToggleInspector, app.panels.open.inspector),
        (icons::TERMINAL, UiCommand::ToggleLog, app.panels.open.log),
        (icons::TREE, UiCommand::ToggleTree, app.panels.open.tree),
    ];
    for (glyph, command, on) in panels {
        let keys = app.preferences.keymap.text(ui.ctx(), &command);
        if widgets::icon_toggle(ui, glyph, &format!("{} ({keys})", command.text(app)), on).clicked() {
            queue.push(command);
        }
    }
    ui.add_space(6.0);
    search_ui(ui, app, queue);
}

/// Opens the palette: a field, or an icon where there is no room.
fn search_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
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
    let keys = RichText::new(app.preferences.keymap.text(ui.ctx(), &UiCommand::Palette)).small();
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
