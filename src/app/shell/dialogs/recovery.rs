//! Dialogs that prevent loss of work: unsaved changes, crash recovery, and a file that another program has changed.

use super::{answers::Answer, title_ui};
use crate::{
    app::{
        document::{command::Intent, journal::UnsavedWork},
        host::consent::{Received, ReceivedPurpose},
        kit::{theme::Tokens, widgets},
    },
    sim::TimeBase,
};
use egui::{Align, Button, Layout, RichText, ScrollArea, Ui};
use std::path::Path;

/// Data that would be lost if the document were closed.
pub struct AtRisk {
    /// Name of the project.
    pub name: String,
    /// Whether the project has unsaved changes.
    pub unsaved: bool,
    /// Whether a recording is in progress.
    pub recording: bool,
    /// Whether an experiment is in progress.
    pub experiment: bool,
    /// Time base of a step.
    pub base: TimeBase,
    /// Labels of the probes whose data are kept for an unrecorded run.
    pub keeps: Vec<String>,
    /// Number of trials of the simulation.
    pub trials: u32,
}

pub fn unsaved_ui(ui: &mut Ui, at_risk: &AtRisk, intent: &Intent) -> Option<Answer> {
    let ends_experiment = at_risk.experiment && *intent == Intent::Close;
    if !at_risk.unsaved {
        return match (at_risk.recording, ends_experiment) {
            (true, _) => recording_ui(ui, intent),
            (false, true) => experiment_ui(ui, intent),
            (false, false) => Some(Answer::Discard(intent.clone())), // saved or ended meanwhile
        };
    }
    title_ui(ui, &format!("Save changes to {}?", at_risk.name));
    ui.label("Discarding loses the changes since the last save.");
    if at_risk.recording {
        ui.label("The recording in progress is closed and kept.");
    }
    if ends_experiment {
        ui.label("The experiment in progress is cancelled; its finished trials are kept.");
    }
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let discard = danger(ui, "Discard changes");
        let (save, cancel) = ui
            .with_layout(Layout::right_to_left(Align::Center), |ui| {
                (widgets::primary(ui, "Save").clicked(), ui.button("Cancel").clicked())
            })
            .inner;
        match (save, discard, cancel) {
            (true, ..) => Some(Answer::Save(intent.clone())),
            (_, true, _) => Some(Answer::Discard(intent.clone())),
            (.., cancel) => cancel.then_some(Answer::Cancel),
        }
    })
    .inner
}

fn recording_ui(ui: &mut Ui, intent: &Intent) -> Option<Answer> {
    title_ui(ui, "Stop the recording?");
    ui.label("A recording is in progress. It is closed and kept.");
    stop_ui(ui, intent, "Keep recording")
}

fn experiment_ui(ui: &mut Ui, intent: &Intent) -> Option<Answer> {
    title_ui(ui, "Cancel the experiment?");
    ui.label("Finished trials are kept, and Continue runs the rest later.");
    stop_ui(ui, intent, "Keep running")
}

fn stop_ui(ui: &mut Ui, intent: &Intent, stay: &str) -> Option<Answer> {
    ui.add_space(14.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let stop = widgets::primary(ui, "Stop and continue").clicked();
        let cancel = ui.button(stay).clicked();
        if stop { Some(Answer::Discard(intent.clone())) } else { cancel.then_some(Answer::Cancel) }
    })
    .inner
}

pub fn restore_ui(ui: &mut Ui, left: &UnsavedWork, differences: &[String]) -> Option<Answer> {
    title_ui(ui, "Restore unsaved work?");
    let from = left.path.as_ref().map_or_else(|| "never saved".to_owned(), |p| p.display().to_string());
    ui.label(format!("Neuropil ended unexpectedly while “{}” had unsaved changes.", left.project.name));
    ui.label(widgets::sub(ui, from));
    ui.add_space(8.0);
    differences_ui(ui, "Unsaved changes", differences);
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let forget = danger(ui, "Discard");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let restore = widgets::primary(ui, "Restore").clicked();
            let has_file = left.base.is_some();
            let both = ui
                .add_enabled(has_file, Button::new("Open both"))
                .on_hover_text("Opens the saved file in a second window");
            match (restore, both.clicked(), forget) {
                (true, ..) => Some(Answer::Restore),
                (_, true, _) => Some(Answer::Both),
                (.., forget) => forget.then_some(Answer::Forget),
            }
        })
        .inner
    })
    .inner
}

pub fn file_changed_ui(ui: &mut Ui, path: &Path, differences: &[String], unsaved: bool) -> Option<Answer> {
    title_ui(ui, "The project file has changed");
    ui.label(format!("Another program changed {}.", path.display()));
    if unsaved {
        ui.label("Reload replaces your unsaved changes; Undo brings them back.");
    }
    ui.add_space(8.0);
    differences_ui(ui, "Changes from the open project to the file", differences);
    ui.add_space(14.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let reload = widgets::primary(ui, "Reload").clicked();
        let keep = ui.button("Keep open version").on_hover_text("The next save replaces the file").clicked();
        if reload { Some(Answer::Reload) } else { keep.then_some(Answer::Cancel) }
    })
    .inner
}

pub fn outside_files_ui(ui: &mut Ui, received: &Received) -> Option<Answer> {
    let name = received.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    title_ui(ui, &format!("Allow {name} to read these files?"));
    let (what, deny, allow) = match received.purpose {
        ReceivedPurpose::OpenProject(..) => ("project", "Do not open", "Allow and open"),
        ReceivedPurpose::OpenCircuit => ("circuit", "Do not open", "Allow and open"),
        ReceivedPurpose::OpenRun => ("run", "Do not open", "Allow and open"),
        ReceivedPurpose::ReplayRun => ("run", "Do not replay", "Allow and replay"),
        ReceivedPurpose::ExportRun(_) => ("run", "Do not export", "Allow and export"),
    };
    ui.label(format!("The {what} reads files outside its folder. Allow this only if you trust its source."));
    ui.label(widgets::sub(ui, received.path.display().to_string()));
    ui.add_space(8.0);
    let line = |one: &crate::project::OutsidePath| format!("{}: {}", one.title, one.path);
    let lines: Vec<String> = received.outside.iter().map(line).collect();
    differences_ui(ui, "Files", &lines);
    ui.add_space(14.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let cancel = widgets::primary(ui, deny).clicked();
        let allow = ui.button(allow).clicked();
        if allow { Some(Answer::Restore) } else { cancel.then_some(Answer::Cancel) }
    })
    .inner
}

pub fn crash_ui(ui: &mut Ui, file: &Path, report: &str) -> Option<Answer> {
    title_ui(ui, "Neuropil crashed");
    ui.label("This report stays on this machine unless you send it.");
    ui.label(widgets::sub(ui, file.display().to_string()));
    ui.add_space(8.0);
    let t = Tokens::of(ui.ctx());
    ScrollArea::both().max_height(260.0).auto_shrink([false, true]).show(ui, |ui| {
        ui.label(RichText::new(report).monospace().size(11.0).color(t.text));
    });
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let delete = danger(ui, "Delete report");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let keep = widgets::primary(ui, "Keep report").clicked();
            if ui.button("Copy").clicked() {
                ui.ctx().copy_text(report.to_owned());
            }
            if keep { Some(Answer::KeepReport) } else { delete.then_some(Answer::Forget) }
        })
        .inner
    })
    .inner
}

pub(super) fn danger(ui: &mut Ui, text: &str) -> bool {
    let ink = Tokens::of(ui.ctx()).error;
    ui.add(Button::new(RichText::new(text).color(ink))).clicked()
}

fn differences_ui(ui: &mut Ui, title: &str, lines: &[String]) {
    let t = Tokens::of(ui.ctx());
    ui.label(widgets::sub(ui, title).small());
    ScrollArea::vertical().max_height(200.0).auto_shrink([false, true]).show(ui, |ui| {
        for line in lines {
            ui.label(RichText::new(line).monospace().size(11.5).color(t.text));
        }
        if lines.is_empty() {
            ui.label(widgets::sub(ui, "No visible changes"));
        }
    });
}
