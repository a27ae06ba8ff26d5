//! Rows of the menu *Runs*.

use crate::{
    app::{
        document::command::UiCommand as C,
        kit::{icons, text},
        shell::commands::{
            CommandState,
            requirements::{no_export, unless, writable},
            row::Row,
        },
    },
    export::Format,
};
use std::path::{Path, PathBuf};

/// Maximum number of runs offered in menus and the palette; only the newest are.
const MAX_RUNS: usize = 20;

const STARTS: &str = "Runs every condition of the project’s experiment with every seed";
const RENAMES: &str = "Renames the folder of the selected run; branches of the run follow";
const DELETES: &str = "Deletes the marked runs; asks first, with their size and their branches";

pub const ROWS: &[Row] = &[
    Row::new(C::RefreshRuns, "Refresh runs", "Reads the runs folder of the project again", icons::FLASK),
    Row::new(C::StartExperiment, "Start experiment", STARTS, icons::PLAY).needs(&[writable, no_experiment, conditions]),
    Row::new(C::CancelExperiment, "Cancel experiment", "Finished trials are kept", icons::CLOSE)
        .needs(&[|_, state| unless(state.document.experiments.running.is_some(), "No experiment is running")]),
    Row::labelled_by(C::RenameRun(PathBuf::new()), rename_text, RENAMES, icons::PENCIL)
        .each(|state| state.document.library.selected.clone().map(C::RenameRun).into_iter().collect())
        .without_keys(),
    Row::labelled_by(C::DeleteRuns(vec![]), delete_text, DELETES, icons::TRASH)
        .each(|state| state.document.library.selected_runs().map(C::DeleteRuns).into_iter().collect())
        .without_keys(),
    Row::labelled_by(C::OpenRun(0), run_text, "Opens a finished run in the same views", icons::FLASK)
        .each(|state| (0..state.document.library.runs.len()).rev().take(MAX_RUNS).map(C::OpenRun).collect()),
    Row::labelled_by(
        C::Export(Format::Csv),
        export_text,
        "Exports the recorded probes for other programs",
        icons::EXPORT,
    )
    .each(|_| Format::ALL.map(C::Export).to_vec())
    .after_separator()
    .needs(&[exportable_run, no_export]),
    Row::new(C::CancelExport, "Cancel export", "Cancels the export in progress; no file is written", icons::CLOSE)
        .needs(&[|_, state| unless(state.document.library.exporting.is_some(), "No export is running")]),
];

/// Requires that no experiment is running.
fn no_experiment(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.experiments.running.is_none(), "An experiment is running")
}

/// Requires an experiment in the document.
fn conditions(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let has_experiment = state.document.session.project.experiment.is_some();
    unless(has_experiment, "The project has no experiment: add conditions on the page Experiment")
}

fn rename_text(command: &C, _: &CommandState<'_>) -> String {
    let C::RenameRun(folder) = command else { return String::new() };
    format!("Rename run {}…", name_of(folder))
}

fn delete_text(command: &C, _: &CommandState<'_>) -> String {
    let C::DeleteRuns(folders) = command else { return String::new() };
    match &folders[..] {
        [folder] => format!("Delete run {}…", name_of(folder)),
        folders => format!("Delete {}…", text::plural(folders.len(), "marked run", "marked runs")),
    }
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn run_text(command: &C, state: &CommandState<'_>) -> String {
    let C::OpenRun(at) = command else { return String::new() };
    format!("Open run {}", state.document.library.runs.get(*at).map_or("", |run| &run.name))
}

fn export_text(command: &C, _: &CommandState<'_>) -> String {
    let C::Export(format) = command else { return String::new() };
    format!("Export last run as {}", format.label())
}

fn exportable_run(command: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let C::Export(format) = command else { return None };
    state.document.library.why_not_export(*format)
}
