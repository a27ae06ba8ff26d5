//! Context menu of a run, and the menu of exports.

use super::{
    table::RunTable,
    tags::{self, TagField},
};
use crate::{
    app::{
        document::{command::UiCommand, library::Run},
        kit::text,
        views::{ViewCtx, ViewRequest},
    },
    export::Format,
    project::Status,
};
use egui::{Button, Ui};

/// Draws the menu of exports: the table, and the formats of the selected run.
pub fn export_button_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, table: &RunTable) {
    let selected = ctx.runs.selected.clone();
    let menu = ui.menu_button("Export", |ui| {
        let csv = ui.add_enabled(!table.order.is_empty(), Button::new("Table as CSV…"));
        let hint = "Saves the shown rows and columns, with all digits";
        if csv.on_hover_text(hint).on_disabled_hover_text("No run is shown").clicked() {
            ctx.requests.push(ViewRequest::SaveText { name: "runs.csv".into(), text: table.to_csv() });
            ui.close();
        }
        ui.separator();
        match ctx.runs.runs.iter().position(|run| Some(&run.folder) == selected.as_ref()) {
            Some(at) => export_ui(ui, ctx, at),
            None => drop(ui.add_enabled(false, Button::new("Select a run to export it"))),
        }
    });
    menu.response.on_hover_text("Exports the table, or the selected run");
}

/// Draws the export formats of a run.
fn export_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, at: usize) {
    let run = &ctx.runs.runs[at];
    for format in Format::ALL {
        let why_not = match &ctx.runs.exporting {
            Some(_) => "Another export is running",
            None => run.not_exported.iter().find(|(known, _)| *known == format).map_or("", |(_, why)| why),
        };
        let button = ui.add_enabled(why_not.is_empty(), Button::new(format.label()));
        let hint = || format!("{}. Read by {}", format.docs(), format.readers());
        if button.on_hover_text(hint()).on_disabled_hover_text(why_not).clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::ExportRun(run.folder.clone(), format)));
            ui.close();
        }
    }
    ui.separator();
    let hint = "Shows what each format holds, and which programs read it";
    entry_ui(ui, ctx, "About the formats…", hint, UiCommand::ExportFormats);
}

/// Draws the context menu of the run at an index.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, field: &mut TagField, at: usize, run: &Run) {
    ui.set_min_width(150.0);
    entry_ui(ui, ctx, "Open", "Opens the run in the same views", UiCommand::OpenRun(at));
    let reveals = "Shows the folder in the desktop’s file manager";
    entry_ui(ui, ctx, "Open folder", reveals, UiCommand::RevealRun(run.folder.clone()));
    if ui.add_enabled(ctx.runs.replaying.is_none(), Button::new("Replay and verify")).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::Replay(run.folder.clone())));
        ui.close();
    }
    continue_ui(ui, ctx, run);
    ui.menu_button("Export", |ui| export_ui(ui, ctx, at));
    if ui.button("Copy path").clicked() {
        ui.copy_text(run.folder.display().to_string());
        ui.close();
    }
    ui.separator();
    let stays = egui::containers::menu::MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    egui::containers::menu::SubMenuButton::new("Tags")
        .config(stays)
        .ui(ui, |ui| tags::menu_ui(ui, ctx, field, run, false));
    let renames = "Renames the folder; branches of the run follow";
    entry_ui(ui, ctx, "Rename…", renames, UiCommand::RenameRun(run.folder.clone()));
    let targets = ctx.runs.marked_with(&run.folder);
    let label = if targets.len() == 1 {
        "Delete…".to_owned()
    } else {
        format!("Delete {}…", text::plural(targets.len(), "run", "runs"))
    };
    entry_ui(ui, ctx, &label, "Asks first, with the size and the branches", UiCommand::DeleteRuns(targets));
}

fn entry_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, label: &str, hint: &str, command: UiCommand) {
    if ui.button(label).on_hover_text(hint).clicked() {
        ctx.requests.push(ViewRequest::Command(command));
        ui.close();
    }
}

/// Draws the entries that continue a run from a checkpoint.
fn continue_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, run: &Run) {
    let is_resumable = run.problem.is_none() && run.status != Status::Running && !run.checkpoints.is_empty();
    let hint = "Continues the run and its recording from its last checkpoint";
    let why_not = "It has no checkpoint, or is being written";
    let resume = ui.add_enabled(is_resumable, Button::new("Resume"));
    if resume.on_hover_text(hint).on_disabled_hover_text(why_not).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::Resume(run.folder.clone())));
        ui.close();
    }
    if run.checkpoints.is_empty() {
        return;
    }
    ui.menu_button("Branch from here", |ui| {
        for step in run.checkpoints.iter().rev() {
            let label = format!("Step {}", text::count(*step));
            if ui.button(label).on_hover_text("Continues from this state; parameters can be changed").clicked() {
                ctx.requests.push(ViewRequest::Command(UiCommand::Branch(run.folder.clone(), *step)));
                ui.close();
            }
        }
    });
}
