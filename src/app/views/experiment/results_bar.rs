//! Controls that the views of results share: experiment, measure, progress and export.

use crate::{
    app::{
        document::{command::UiCommand, experiment::Results},
        kit::{self, icons, widgets},
        views::{ViewCtx, ViewRequest},
    },
    experiment::{
        export::{csv, statistics_columns},
        folder::Status,
    },
};
use egui::{Button, ProgressBar, Ui};
use std::path::{Path, PathBuf};

/// Draws the choice of the experiment.
pub fn folder_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(shown) = ctx.experiments.state.folder() else { return };
    let mut folders: Vec<PathBuf> = ctx.experiments.state.listed().iter().rev().cloned().collect();
    if !folders.contains(&shown) {
        folders.insert(0, shown.clone());
    }
    let options: Vec<_> = folders.into_iter().map(|folder| (folder.clone(), name_of(&folder))).collect();
    let mut chosen = shown;
    if kit::choice_ui(ui, ctx.tokens, "Experiment", &mut chosen, &options) {
        ctx.experiments.state.show(chosen);
    }
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Draws the choice of the measure, which all views of results share.
pub fn measure_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, results: &Results) {
    let measures = &results.table.measures;
    if measures.len() > 1 {
        let mut chosen = ctx.experiments.state.measure_of(results);
        let options: Vec<_> = measures.iter().cloned().enumerate().collect();
        if kit::choice_ui(ui, ctx.tokens, "Measure", &mut chosen, &options) {
            ctx.experiments.state.measure.clone_from(&measures[chosen]);
        }
    }
}

/// Draws the progress of the experiment in progress, or a button that continues an unfinished one.
pub fn progress_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, results: Option<&Results>) {
    if let Some(running) = &mut ctx.experiments.state.running {
        let (share, text) = running.now();
        ui.add(ProgressBar::new(share).desired_width(80.0).desired_height(6.0).fill(ctx.tokens.accent));
        ui.label(widgets::sub(ui, text).small());
        if ui.button("Cancel").on_hover_text("Cancels the experiment; finished trials are kept").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::CancelExperiment));
        }
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        return;
    }
    let Some(results) = results else { return };
    let (n, planned) = results.n_trials();
    let has_rest = n < planned || results.states.iter().any(|state| state.n_failed > 0);
    if has_rest && results.damaged.is_empty() {
        let (word, hint) = match results.status() {
            Status::Complete => ("Repeat failed", "Runs the failed trials again; the others are kept"),
            _ => ("Continue", "Runs the trials that are missing and those that failed; the others are kept"),
        };
        if ui.button(word).on_hover_text(hint).clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::ContinueExperiment(results.folder.path.clone())));
        }
    }
}

/// Draws the menu of exports: statistics and trials as CSV, and the figure.
pub fn export_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, results: &Results) {
    let menu = ui.menu_button("Export", |ui| {
        let statistics =
            ui.button("Statistics as CSV…").on_hover_text("A row per condition and measure, with all digits");
        if statistics.clicked() {
            let text = csv(&statistics_columns(&results.folder, &results.table));
            let name = format!("{}-statistics.csv", results.name());
            ctx.requests.push(ViewRequest::SaveText { name, text });
            ui.close();
        }
        let trials = ui.button("Trials as CSV…").on_hover_text("A row per condition, seed and measure");
        if trials.clicked() {
            let name = format!("{}-trials.csv", results.name());
            ctx.requests.push(ViewRequest::SaveText { name, text: results.table.text() });
            ui.close();
        }
    });
    menu.response.on_hover_text("Exports the numbers of the experiment on display");
}

/// Draws the button that opens the figure dialog for this panel.
pub fn figure_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let hint = "Exports this panel as PNG or SVG at the size of a publication";
    let button = ui.add(Button::new((icons::rich(icons::EXPORT).size(13.0), "Figure…"))).accessible_name("Figure…");
    if button.on_hover_text(hint).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::ExportPanel));
    }
}
