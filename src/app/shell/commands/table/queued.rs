//! Rows of commands that no menu offers: panels queue them, and searches in the palette.

use crate::{
    app::{
        document::command::UiCommand as C,
        kit::{icons, text},
        shell::commands::{
            CommandState,
            requirements::{no_export, simulation_of_view, unless},
            row::Row,
        },
    },
    export::Format,
};
use std::path::PathBuf;

const REPLAYS: &str = "Runs the run folder again with every logged edit and compares every event";

pub const ROWS: &[Row] = &[
    Row::labelled_by(C::UndoSteps(0), steps_text, "Also applies to the running simulation", icons::CLOCK)
        .only_queued()
        .without_keys(),
    Row::labelled_by(C::OpenAnother(""), another_text, "Opens a second panel with this view", icons::GRID)
        .only_queued()
        .needs(&[simulation_of_view]),
    Row::labelled_by(
        C::ExportRun(PathBuf::new(), Format::Csv),
        export_text,
        "Exports the recorded probes for other programs",
        icons::EXPORT,
    )
    .only_queued()
    .needs(&[no_export]),
    Row::new(C::RevealRun(PathBuf::new()), "Open run folder", "In the desktop’s file manager", icons::FLASK)
        .only_queued(),
    Row::new(C::Replay(PathBuf::new()), "Replay and verify", REPLAYS, icons::REWIND)
        .only_queued()
        .needs(&[|_, state| unless(state.document.library.replaying.is_none(), "Another replay is running")]),
    Row::new(C::ContinueExperiment(PathBuf::new()), "Continue experiment", "Runs the missing trials", icons::PLAY)
        .only_queued()
        .needs(&[|_, state| unless(state.document.experiments.running.is_none(), "An experiment is running")]),
    Row::new(C::CancelReplay, "Cancel replay", REPLAYS, icons::CLOSE)
        .only_queued()
        .needs(&[|_, state| unless(state.document.library.replaying.is_some(), "No replay is running")]),
    Row::labelled_by(
        C::Branch(PathBuf::new(), 0),
        branch_text,
        "Continues from this state with its parameters; change them, run and record",
        icons::FLASK,
    )
    .only_queued(),
    Row::new(
        C::Resume(PathBuf::new()),
        "Resume",
        "Continues the run and its recording from its last checkpoint",
        icons::PLAY,
    )
    .only_queued(),
];

fn steps_text(command: &C, _: &CommandState<'_>) -> String {
    let C::UndoSteps(steps) = command else { return String::new() };
    let verb = if *steps < 0 { "Undo" } else { "Redo" };
    format!("{verb} {}", text::plural(steps.unsigned_abs() as usize, "step", "steps"))
}

fn another_text(command: &C, state: &CommandState<'_>) -> String {
    let C::OpenAnother(name) = command else { return String::new() };
    state.around.workspace.another_title(&state.document.session.live.schema, name)
}

fn export_text(command: &C, _: &CommandState<'_>) -> String {
    let C::ExportRun(_, format) = command else { return String::new() };
    format!("Export as {}", format.label())
}

fn branch_text(command: &C, _: &CommandState<'_>) -> String {
    let C::Branch(_, step) = command else { return String::new() };
    format!("Branch from step {}", text::count(*step))
}
