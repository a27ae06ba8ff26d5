//! The workspace tab bar: home, tabs, new workspace, layout menu.

use super::Workspaces;
use crate::app::{
    document::command::UiCommand,
    kit::{icons, theme::Tokens, widgets},
    shell::App,
};
use egui::{
    Align, Button, Frame, Id, Layout, Margin, Panel, Popup, PopupCloseBehavior, Response, RichText, TextEdit, Ui,
    WidgetInfo, vec2,
};

const HEIGHT: f32 = 30.0;

/// The tab being renamed.
#[derive(Default)]
pub struct Rename {
    at: Option<usize>,
    text: String,
}

/// Draws the tab bar.
pub fn ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(8, 0));
    Panel::top("workspaces").exact_size(HEIGHT).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            home_ui(ui, app, queue);
            for at in 0..app.workspace.list.len() {
                tab_ui(ui, app, at, queue);
            }
            let more = widgets::icon_button(ui, icons::PLUS, "New workspace");
            if more.on_hover_text("Copies the current workspace").clicked() {
                queue.push(UiCommand::NewWorkspace);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| layout_ui(ui, app, queue));
        });
    });
}

fn home_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    if widgets::icon_toggle(ui, icons::HOUSE, "Home", app.workspace.is_home).clicked() {
        queue.push(UiCommand::Home);
    }
}

fn tab_ui(ui: &mut Ui, app: &mut App, at: usize, queue: &mut Vec<UiCommand>) {
    if app.workspace.rename.at == Some(at) {
        return rename_ui(ui, &mut app.workspace, at);
    }
    let workspaces = &app.workspace;
    let workspace = &workspaces.list[at];
    let is_active = workspaces.active == at && !workspaces.is_home;
    let response = tab(ui, workspace.now.page.icon(), &workspace.now.title, is_active);
    let keys = app.preferences.keymap.text(ui.ctx(), &UiCommand::Workspace(at));
    let hint = format!("{} {keys}\nDouble-click to rename", workspace.now.page.about());
    let response = response.on_hover_text(hint);
    if response.clicked() {
        queue.push(UiCommand::Workspace(at));
    }
    if response.double_clicked() {
        app.workspace.rename = Rename { at: Some(at), text: workspace.now.title.clone() };
    } else {
        response.context_menu(|ui| {
            ui.set_min_width(160.0);
            if ui.button("Rename").clicked() {
                let text = app.workspace.list[at].now.title.clone();
                app.workspace.rename = Rename { at: Some(at), text };
                ui.close();
            }
            for command in [UiCommand::NewWorkspace, UiCommand::CloseWorkspace] {
                let why_not = command.why_not(app);
                let button = ui.add_enabled(why_not.is_none(), Button::new(command.text(app)));
                if button.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                    queue.extend([UiCommand::Workspace(at), command]);
                    ui.close();
                }
            }
        });
    }
}

/// A tab with an accent line when active.
fn tab(ui: &mut Ui, glyph: &str, title: &str, is_active: bool) -> Response {
    let t = Tokens::of(ui.ctx());
    let ink = if is_active { t.text_strong } else { t.text_sub };
    let content = (icons::rich(glyph).color(ink), RichText::new(title).color(ink).family(widgets::semibold()));
    let response = ui.add(Button::new(content).frame_when_inactive(false).min_size(vec2(0.0, 24.0)));
    response.widget_info(|| {
        WidgetInfo::selected(egui::accesskit::Role::Tab, ui.is_enabled(), is_active, format!("Workspace {title}"))
    });
    if is_active {
        let rect = ui.max_rect();
        let line = egui::Rect::from_x_y_ranges(response.rect.x_range(), rect.bottom() - 2.0..=rect.bottom());
        ui.painter().rect_filled(line, 1, t.accent);
    }
    response
}

fn rename_ui(ui: &mut Ui, workspaces: &mut Workspaces, at: usize) {
    let field = TextEdit::singleline(&mut workspaces.rename.text).desired_width(110.0).id(Id::unique("rename tab"));
    let response = ui.add(field).accessible_name("Workspace title");
    if response.lost_focus() {
        let title = workspaces.rename.text.trim().to_owned();
        let is_free = workspaces.titles().all(|other| other != title);
        if !title.is_empty() && is_free && !ui.input(|i| i.key_pressed(egui::Key::Escape)) {
            workspaces.list[at].now.title = title;
        }
        workspaces.rename.at = None;
    } else if !response.has_focus() {
        response.request_focus();
    }
}

/// The menu of the layout.
fn layout_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let content = (icons::rich(icons::GRID).color(t.text_sub), RichText::new("Layout").color(t.text_sub));
    let button = ui.add(Button::new(content).frame_when_inactive(false)).accessible_name("Layout");
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClick).show(|ui| {
        ui.set_min_width(250.0);
        let mut commands = UiCommand::layout(app);
        commands.retain(|c| !matches!(c, UiCommand::Workspace(_)));
        crate::app::shell::panels::topbar::entries_ui(ui, app, &commands, queue);
    });
    let (undo, redo) = app.workspace.steps();
    if undo + redo > 0 {
        for command in [UiCommand::RedoLayout, UiCommand::UndoLayout] {
            let ready = command.why_not(app).is_none();
            let name = command.text(app);
            if ui.add_enabled_ui(ready, |ui| widgets::icon_button(ui, command.icon(), &name)).inner.clicked() {
                queue.push(command);
            }
        }
    }
}
