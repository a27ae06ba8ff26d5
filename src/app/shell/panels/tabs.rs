//! Tab bar of the workspaces: home, tabs, new workspace and layout menu.

use crate::app::{
    document::command::UiCommand,
    kit::{icons, theme::Tokens, widgets},
    shell::{
        commands::{CommandState, menu},
        queue::Queue,
        workspace::TabRename,
    },
};
use egui::{
    Align, Button, Frame, Id, Layout, Margin, Panel, Popup, PopupCloseBehavior, Response, RichText, TextEdit, Ui,
    WidgetInfo, vec2,
};

/// Height of the bar, points.
const HEIGHT: f32 = 30.0;

/// Draws the tab bar. Returns the index and the new title of a renamed workspace; `None` if no workspace was renamed.
pub fn ui(ui: &mut Ui, rename: &mut TabRename, state: &CommandState<'_>, queue: &mut Queue) -> Option<(usize, String)> {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(8, 0));
    let mut renamed = None;
    Panel::top("workspaces").exact_size(HEIGHT).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            if widgets::icon_toggle(ui, icons::HOUSE, "Home", state.around.workspace.is_home).clicked() {
                queue.push(UiCommand::Home);
            }
            for at in 0..state.around.workspace.tabs().count() {
                if rename.at == Some(at) {
                    renamed = rename_ui(ui, rename, at).or(renamed.take());
                } else {
                    tab_ui(ui, rename, state, at, queue);
                }
            }
            let more = widgets::icon_button(ui, icons::PLUS, "New workspace");
            if more.on_hover_text("Copies the current workspace").clicked() {
                queue.push(UiCommand::NewWorkspace);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| layout_ui(ui, state, queue));
        });
    });
    renamed
}

fn tab_ui(ui: &mut Ui, rename: &mut TabRename, state: &CommandState<'_>, at: usize, queue: &mut Queue) {
    let Some((page, title, is_active)) = state.around.workspace.tabs().nth(at) else { return };
    let response = tab(ui, page.icon(), title, is_active);
    let keys = state.around.keymap.text(ui.ctx(), &UiCommand::Workspace(at));
    let hint = format!("{} {keys}\nDouble-click to rename", page.about());
    let response = response.on_hover_text(hint);
    if response.clicked() {
        queue.push(UiCommand::Workspace(at));
    }
    if response.double_clicked() {
        *rename = TabRename { at: Some(at), text: title.to_owned() };
        return;
    }
    response.context_menu(|ui| {
        ui.set_min_width(160.0);
        if ui.button("Rename").clicked() {
            *rename = TabRename { at: Some(at), text: title.to_owned() };
            ui.close();
        }
        for command in [UiCommand::NewWorkspace, UiCommand::CloseWorkspace] {
            let why_not = command.why_not(state);
            let button = ui.add_enabled(why_not.is_none(), Button::new(command.text(state)));
            if button.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                queue.extend([UiCommand::Workspace(at), command]);
                ui.close();
            }
        }
    });
}

/// Draws a tab. The active tab has a line in the accent colour.
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

/// Draws the field of a title. Returns the index and the new title when the field loses the focus; `None` before, and if
/// the title is empty or Escape was pressed.
fn rename_ui(ui: &mut Ui, rename: &mut TabRename, at: usize) -> Option<(usize, String)> {
    let field = TextEdit::singleline(&mut rename.text).desired_width(110.0).id(Id::unique("rename tab"));
    let response = ui.add(field).accessible_name("Workspace title");
    if !response.lost_focus() {
        if !response.has_focus() {
            response.request_focus();
        }
        return None;
    }
    rename.at = None;
    let title = rename.text.trim().to_owned();
    let is_cancelled = ui.input(|i| i.key_pressed(egui::Key::Escape));
    (!title.is_empty() && !is_cancelled).then_some((at, title))
}

/// Draws the layout menu, and buttons to undo and redo layout changes.
fn layout_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let content = (icons::rich(icons::GRID).color(t.text_sub), RichText::new("Layout").color(t.text_sub));
    let button = ui.add(Button::new(content).frame_when_inactive(false)).accessible_name("Layout");
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClick).show(|ui| {
        ui.set_min_width(250.0);
        menu::entries_ui(ui, state, &UiCommand::layout(state), queue);
    });
    let (undo, redo) = state.around.workspace.steps();
    if undo + redo > 0 {
        for command in [UiCommand::RedoLayout, UiCommand::UndoLayout] {
            let ready = command.why_not(state).is_none();
            let name = command.text(state);
            if ui.add_enabled_ui(ready, |ui| widgets::icon_button(ui, command.icon(), &name)).inner.clicked() {
                queue.push(command);
            }
        }
    }
}
