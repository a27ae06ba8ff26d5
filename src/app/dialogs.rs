//! Questions that must be answered before anything else: unsaved changes, a path, texts to read.

use super::{
    App, help,
    jobs::Purpose,
    theme::{TITLE, Tokens},
    widgets,
};
use egui::{Align, Button, Frame, Id, Layout, Margin, Modal, RichText, ScrollArea, TextEdit, TextStyle, Ui};
use std::path::PathBuf;

/// What was asked for before the question.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// To close the window.
    Close,
    /// To choose a project.
    Pick,
    /// To open this project.
    Open(PathBuf),
    /// To begin a project of this kind.
    New(&'static str),
}

/// The open dialog.
pub enum Dialog {
    /// Save before going on?
    Unsaved(Intent),
    /// A path, typed.
    Path {
        /// What for.
        purpose: Purpose,
        /// What has been typed.
        text: String,
    },
    /// A title and a text in little markdown.
    Text(&'static str, String),
}

enum Answer {
    Cancel,
    Save(Intent),
    Discard(Intent),
    Path(Purpose, PathBuf),
}

/// Draws the dialog that is open and does what was answered.
pub fn ui(ctx: &egui::Context, app: &mut App) {
    if let Some(dialog) = &mut app.dialog {
        let t = Tokens::of(ctx);
        let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
        let name = app.session.project.name.clone();
        let modal = Modal::new(Id::unique("dialog")).frame(frame).show(ctx, |ui| {
            ui.set_width(460.0);
            match dialog {
                Dialog::Unsaved(intent) => unsaved_ui(ui, &name, intent),
                Dialog::Path { purpose, text } => path_ui(ui, purpose, text),
                Dialog::Text(title, text) => text_ui(ui, title, text),
            }
        });
        let close = modal.should_close();
        let answer = modal.inner.or_else(|| close.then_some(Answer::Cancel));
        if let Some(answer) = answer {
            app.dialog = None;
            answered(app, answer);
        }
    }
    if app.may_close() {
        ctx.send_viewport_cmd(egui::ViewportCommand::Close);
    }
}

fn answered(app: &mut App, answer: Answer) {
    match answer {
        Answer::Cancel => {}
        Answer::Save(intent) => app.save_then(intent),
        Answer::Discard(intent) => app.carry_out(intent),
        Answer::Path(purpose, path) => app.picked(purpose, path),
    }
}

fn title_ui(ui: &mut Ui, text: &str) {
    let t = Tokens::of(ui.ctx());
    ui.label(RichText::new(text).text_style(TextStyle::Name(TITLE.into())).color(t.text_strong));
    ui.add_space(6.0);
}

fn unsaved_ui(ui: &mut Ui, name: &str, intent: &Intent) -> Option<Answer> {
    title_ui(ui, &format!("Save changes to {name}?"));
    ui.label("Changes since the last save are lost otherwise. Run data is on disk already.");
    ui.add_space(14.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if widgets::primary(ui, "Save").clicked() {
            return Some(Answer::Save(intent.clone()));
        }
        if ui.button("Cancel").clicked() {
            return Some(Answer::Cancel);
        }
        ui.add_space(ui.available_width() - 128.0);
        let t = Tokens::of(ui.ctx());
        let discard = Button::new(RichText::new("Discard changes").color(t.error));
        ui.add(discard).clicked().then(|| Answer::Discard(intent.clone()))
    })
    .inner
}

fn path_ui(ui: &mut Ui, purpose: &Purpose, text: &mut String) -> Option<Answer> {
    let (title, verb) = match purpose {
        Purpose::Open => ("Open project", "Open"),
        Purpose::SaveAs => ("Save project as", "Save"),
        Purpose::Parameter(_) => ("Choose a file or folder", "Choose"),
    };
    title_ui(ui, title);
    ui.label(widgets::sub(ui, "This desktop offers no file dialog: type the path"));
    let field = ui.add(TextEdit::singleline(text).desired_width(f32::INFINITY).hint_text("/path/to/project.ron"));
    let field = field.accessible_name("Path");
    if ui.memory(|m| m.focused().is_none()) {
        field.request_focus();
    }
    let problem = match purpose {
        Purpose::Open if !text.is_empty() && !PathBuf::from(&*text).exists() => Some("There is no such file"),
        _ => None,
    };
    ui.label(RichText::new(problem.unwrap_or(" ")).small().color(Tokens::of(ui.ctx()).warn));
    let entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let ready = !text.trim().is_empty() && problem.is_none();
        let go = ui.add_enabled_ui(ready, |ui| widgets::primary(ui, verb).clicked()).inner;
        if ready && (go || entered) {
            return Some(Answer::Path(purpose.clone(), PathBuf::from(text.trim())));
        }
        ui.button("Cancel").clicked().then_some(Answer::Cancel)
    })
    .inner
}

fn text_ui(ui: &mut Ui, title: &str, text: &str) -> Option<Answer> {
    title_ui(ui, title);
    ScrollArea::vertical().max_height(440.0).show(ui, |ui| {
        ui.set_width(ui.available_width());
        help::markdown_ui(ui, text);
    });
    ui.add_space(10.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.button("Close").clicked().then_some(Answer::Cancel))
        .inner
}
