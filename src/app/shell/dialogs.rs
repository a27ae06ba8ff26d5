//! Modal dialogs about unsaved changes, runs, file paths, layout names and other questions.

pub mod answers;
pub mod ask;
pub mod import;
pub mod nwb;
pub mod paths;
pub mod preferences;
pub mod recovery;
mod run_folders;
mod runs;
pub mod shortcuts_sheet;
pub mod trees;
pub mod vary;
mod vary_axis;

use super::pages::help;
use crate::{
    app::{
        document::{command::Intent, journal::UnsavedWork, live::Unrecorded},
        host::consent::Received,
        kit::{
            modal,
            theme::{TITLE, Tokens},
            widgets,
        },
    },
    project::{Project, delete::Deletion},
};
use answers::{Answer, LeftRun, Purpose};
use egui::{Align, Frame, Id, Layout, Margin, Modal, RichText, ScrollArea, TextEdit, TextStyle, Ui};
use nwb::NwbForm;
use recovery::AtRisk;
use std::path::PathBuf;
use vary::VaryForm;

/// Contents of the open dialog.
pub enum Dialog {
    /// Asks whether to save changes before an action.
    Unsaved(Intent),
    /// Asks whether to keep the run before an action, with the data that would be lost.
    Unrecorded(Intent, Unrecorded),
    /// Offers a run that a crashed window did not record.
    LeftRun(Box<LeftRun>),
    /// Asks for a path as text.
    Path {
        /// Purpose of the file.
        purpose: Purpose,
        /// Text that was typed.
        text: String,
    },
    /// Asks for the name of the current layout, and whether to save it in the project.
    Layout(String, bool),
    /// Offers the unsaved work of a crashed window, with its changes.
    Restore(UnsavedWork, Vec<String>),
    /// Offers a project file that another program has written, with its changes.
    FileChanged(PathBuf, Box<Project>, Vec<String>),
    /// Asks whether a project or run may read files outside its folder.
    OutsideFiles(Received),
    /// Shows the file and the text of a crash report.
    Crash(PathBuf, String),
    /// Asks for the values of varied parameters.
    Vary(Box<VaryForm>),
    /// Asks for subject and session of an NWB export.
    Nwb(NwbForm),
    /// Asks for a new name of the run in a folder.
    RenameRun(PathBuf, String),
    /// Asks whether to delete runs, with the consequences.
    DeleteRuns(Vec<Deletion>),
    /// Shows a title and a text in Markdown.
    Text(&'static str, String),
}

impl Dialog {
    /// Creates the dialog that asks for the name of a layout.
    pub const fn layout_name() -> Self {
        Self::Layout(String::new(), false)
    }
}

/// Draws the open dialog. If it was answered, closes it and returns the answer with the dialog; otherwise `None`.
pub fn ui(
    ctx: &egui::Context,
    open: &mut Option<Dialog>,
    at_risk: impl FnOnce() -> AtRisk,
) -> Option<(Answer, Dialog)> {
    let dialog = open.as_mut()?;
    let t = Tokens::of(ctx);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
    let at_risk = at_risk();
    let shown = Modal::new(Id::unique("dialog")).frame(frame).show(ctx, |ui| {
        ui.set_width(460.0);
        match dialog {
            Dialog::Unsaved(intent) => recovery::unsaved_ui(ui, &at_risk, intent),
            Dialog::Unrecorded(intent, lost) => runs::unrecorded_ui(ui, &at_risk, intent, *lost),
            Dialog::LeftRun(left) => runs::left_run_ui(ui, left),
            Dialog::Path { purpose, text } => path_ui(ui, purpose, text),
            Dialog::Layout(name, in_project) => layout_ui(ui, name, in_project),
            Dialog::Restore(left, lines) => recovery::restore_ui(ui, left, lines),
            Dialog::FileChanged(path, _, lines) => recovery::file_changed_ui(ui, path, lines, at_risk.unsaved),
            Dialog::OutsideFiles(received) => recovery::outside_files_ui(ui, received),
            Dialog::Crash(file, report) => recovery::crash_ui(ui, file, report),
            Dialog::Vary(form) => form.ui(ui),
            Dialog::Nwb(form) => form.ui(ui),
            Dialog::RenameRun(folder, name) => run_folders::rename_ui(ui, folder, name),
            Dialog::DeleteRuns(runs) => run_folders::delete_ui(ui, runs),
            Dialog::Text(title, text) => text_ui(ui, title, text),
        }
    });
    // A text has no entries, so a click beside it closes it.
    let close = match dialog {
        Dialog::Text(..) => shown.should_close(),
        _ => modal::is_closed(&shown),
    };
    let answer = shown.inner.or_else(|| close.then_some(Answer::Cancel))?;
    Some((answer, open.take()?))
}

fn title_ui(ui: &mut Ui, text: &str) {
    let t = Tokens::of(ui.ctx());
    ui.label(RichText::new(text).text_style(TextStyle::Name(TITLE.into())).color(t.text_strong));
    ui.add_space(6.0);
}

/// Whether Enter was pressed in the dialog's only field. Gives the field the keyboard focus if no widget has it.
fn was_entered(ui: &Ui, field: &egui::Response) -> bool {
    // This is checked first, because requesting the focus again would hide that it was lost.
    let entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    if ui.memory(|m| m.focused().is_none()) {
        field.request_focus();
    }
    entered
}

fn path_ui(ui: &mut Ui, purpose: &Purpose, text: &mut String) -> Option<Answer> {
    let (title, verb) = match purpose {
        Purpose::Open => ("Open project", "Open"),
        Purpose::SaveAs => ("Save project as", "Save"),
        Purpose::SaveText(..) => ("Save as", "Save"),
        Purpose::Figure(_) => ("Export panel: .png or .svg", "Export"),
        Purpose::Parameter(_) => ("Choose a file or folder", "Choose"),
        Purpose::Import => ("Choose a connection list", "Choose"),
    };
    title_ui(ui, title);
    ui.label(widgets::sub(ui, "No file dialog on this desktop: type the path"));
    let field = ui.add(TextEdit::singleline(text).desired_width(f32::INFINITY).hint_text("/path/to/project.ron"));
    let field = field.accessible_name("Path");
    let entered = was_entered(ui, &field);
    let problem = match purpose {
        Purpose::Open if !text.is_empty() && !PathBuf::from(&*text).exists() => Some("No such file"),
        _ => None,
    };
    ui.label(RichText::new(problem.unwrap_or(" ")).small().color(Tokens::of(ui.ctx()).warn));
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

fn layout_ui(ui: &mut Ui, name: &mut String, in_project: &mut bool) -> Option<Answer> {
    title_ui(ui, "Save layout");
    let field = ui.add(TextEdit::singleline(name).desired_width(f32::INFINITY).hint_text("Name"));
    let field = field.accessible_name("Name of the layout");
    let entered = was_entered(ui, &field);
    ui.add_space(6.0);
    ui.radio_value(in_project, false, "For all projects");
    ui.radio_value(in_project, true, "In this project");
    ui.add_space(10.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let ready = !name.trim().is_empty();
        let go = ui.add_enabled_ui(ready, |ui| widgets::primary(ui, "Save").clicked()).inner;
        if ready && (go || entered) {
            return Some(Answer::Layout(name.trim().to_owned(), *in_project));
        }
        ui.button("Cancel").clicked().then_some(Answer::Cancel)
    })
    .inner
}

/// Height of the margins, the title and the buttons of a dialog around its text, points.
const AROUND_TEXT: f32 = 180.0;

fn text_ui(ui: &mut Ui, title: &str, text: &str) -> Option<Answer> {
    title_ui(ui, title);
    // The dialog is as high as its text, up to the height of the window.
    let most = (ui.ctx().content_rect().height() - AROUND_TEXT).max(120.0);
    ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, |ui| {
        ui.set_width(ui.available_width());
        help::markdown_ui(ui, text);
    });
    ui.add_space(10.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let close = ui.button("Close").clicked().then_some(Answer::Cancel);
        if ui.button("Copy").on_hover_text("Copy the text").clicked() {
            ui.copy_text(format!("{title}\n{text}"));
        }
        close
    })
    .inner
}
