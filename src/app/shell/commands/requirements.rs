//! Requirements that several commands share. Each returns the reason why it is not met; `None` if it is.

use super::CommandState;
use crate::app::{document::command::UiCommand, views};

/// Returns the reason why a command is not available in a state.
pub type Requirement = fn(&UiCommand, &CommandState<'_>) -> Option<&'static str>;

/// Returns the reason unless the condition holds.
pub fn unless(holds: bool, why: &'static str) -> Option<&'static str> {
    if holds { None } else { Some(why) }
}

/// Requires that a project is open and that no run is being prepared.
pub fn open_project(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    state.around.flow.not_ready()
}

/// Requires a document that can be changed: no finished run.
pub fn writable(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    let is_writable = state.document.session.live.playback.is_none();
    unless(is_writable, "A finished run is read-only: rerun it first")
}

/// Requires that the device has not failed.
pub fn working_device(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    let failure = state.document.session.live.checkpoints.failure.as_ref();
    unless(failure.is_none_or(|fault| !fault.stopped), "The device failed: continue on the CPU, or rebuild")
}

/// Requires an engine, which tests can switch off.
pub fn engine(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.live.has_engine(), "The engine is off")
}

/// Requires a loaded simulation.
pub fn simulation(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.live.is_loaded(), "No simulation: run the model first")
}

/// Requires a loaded simulation, except for views of pages that work without one.
pub fn simulation_of_view(command: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    match command {
        UiCommand::ShowView(view) | UiCommand::OpenAnother(view) if !views::needs_simulation(view) => None,
        _ => simulation(command, state),
    }
}

/// Requires that no run is being exported.
pub fn no_export(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.library.exporting.is_none(), "Another export is running")
}

/// Requires selected elements.
pub fn selection(_: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
    unless(!state.document.session.selection.elements.is_empty(), "Nothing is selected")
}
