//! Rows of the menu *Simulation*: runs, the rerun of a recorded run, and the time cursor.

use crate::app::{
    document::command::UiCommand as C,
    kit::icons,
    shell::commands::{
        CommandState,
        requirements::{engine, open_project, simulation, unless, working_device, writable},
        row::{CTRL, NONE, Row, SHIFT, YieldsTo},
    },
};
use egui::{Key, Modifiers};

const TRIALS: &str =
    "All views show this trial alone: of a simulation from the present step on, of a recorded series at the same time";
const STEPS: &str = "Advances this many steps, then pauses";

pub const RUN: &[Row] = &[
    Row::labelled_by(
        C::RunPause,
        run_text,
        "Runs to the duration, or until paused where Continuous is on; pauses between two steps",
        icons::PLAY,
    )
    .keys(NONE, Key::Space)
    .needs(&[open_project, working_device, engine]),
    Row::labelled_by(C::Step, |_, state| step_text(state, 1), STEPS, icons::STEP).keys(NONE, Key::Period).needs(&[
        open_project,
        working_device,
        simulation,
    ]),
    Row::labelled_by(C::StepMore, |_, state| step_text(state, 10), STEPS, icons::STEP)
        .keys(SHIFT, Key::Period)
        .needs(&[open_project, working_device, simulation]),
    Row::labelled_by(C::RunToEnd, end_text, "Runs to the project's duration, then pauses", icons::STEP).needs(&[
        open_project,
        duration,
        time_left,
        writable,
        working_device,
        simulation,
    ]),
    Row::labelled_by(
        C::PauseDisplay,
        |_, state| if state.around.pacing.updates_are_off { "Resume display" } else { "Pause display" }.to_owned(),
        "The engine continues; the window draws only clock and speed",
        icons::EYE_OFF,
    ),
    Row::new(
        C::MeasurePeak,
        "Measure peak performance",
        "Measures bandwidth, arithmetic and launch rate for a few seconds; used by the roofline",
        icons::GAUGE,
    )
    .needs(&[writable, idle_device]),
    Row::new(
        C::Compare(200),
        "Compare with CPU reference",
        "Runs the project from step 0 on one CPU thread and on the device in use, and reports the first difference",
        icons::CHECK,
    )
    .needs(&[open_project, writable, no_comparison]),
    Row::new(
        C::Requests,
        "Ask the simulation…",
        "Questions to the running simulation, which change nothing",
        icons::COMMAND,
    )
    .needs(&[writable, requests]),
    Row::new(
        C::Rewind,
        "Rewind to step 0",
        "Same network, same parameters, time zero; a recording in progress is closed",
        icons::REWIND,
    )
    .keys(CTRL, Key::Backspace)
    .needs(&[open_project, working_device, simulation]),
    Row::new(C::NextTrial, "Next trial", TRIALS, icons::STEP).keys(NONE, Key::T).needs(&[several_trials]),
    Row::new(C::PreviousTrial, "Previous trial", TRIALS, icons::REWIND).keys(SHIFT, Key::T).needs(&[several_trials]),
    Row::labelled_by(
        C::Rebuild,
        rebuild_text,
        "Applies changes that need a new simulation; the old one continues meanwhile",
        icons::HAMMER,
    )
    .keys(CTRL, Key::R)
    .after_separator()
    .needs(&[open_project, engine]),
    Row::new(
        C::ContinueOnCpu,
        "Continue on CPU",
        "Continues from the last checkpoint, else from step 0; the project is unchanged",
        icons::CPU,
    )
    .without_keys()
    .needs(&[failed_device]),
    Row::new(C::CancelLoading, "Cancel loading", "Keeps the old simulation, or the old data", icons::CLOSE)
        .without_keys()
        .needs(&[loading]),
    Row::labelled_by(
        C::Record,
        |_, state| {
            let is_recording = state.document.session.live.recording.is_some();
            if is_recording { "Stop recording" } else { "Record" }.to_owned()
        },
        "Writes the chosen probes and every edit to a run folder",
        icons::RECORD,
    )
    .after_separator()
    .needs(&[open_project, writable, working_device, simulation]),
];

pub const RERUN: &[Row] = &[Row::new(
    C::RerunRecorded,
    "Rerun as recorded",
    "Runs the recorded project from step 0, and repeats its edits and actions at their steps",
    icons::PLAY,
)
.after_separator()
.needs(&[|_, state| state.document.session.live.why_not_rerun()])];

pub const TIME: &[Row] = &[
    // The comma steps back, because it is next to the full stop, which steps forward.
    cursor_row(-1, NONE, Key::ArrowLeft).fixed_keys(NONE, Key::Comma),
    cursor_row(1, NONE, Key::ArrowRight),
    cursor_row(-10, SHIFT, Key::ArrowLeft).fixed_keys(SHIFT, Key::Comma),
    cursor_row(10, SHIFT, Key::ArrowRight),
    Row::new(C::GoStart, "Move cursor to start", "The oldest step in the history", icons::REWIND)
        .keys(NONE, Key::Home)
        .yields_to(YieldsTo::FocusedWidgets)
        .after_separator()
        .needs(&[simulation, history]),
    Row::labelled_by(
        C::GoLive,
        |_, state| if state.document.time.axis.is_recorded { "Move cursor to end" } else { "Follow live" }.to_owned(),
        "Views follow the newest data again",
        icons::RECORD,
    )
    .keys(NONE, Key::End)
    .yields_to(YieldsTo::FocusedWidgets),
    Row::labelled_by(
        C::PlayPast,
        |_, state| {
            let is_playing = state.document.time.player.is_playing;
            if is_playing { "Pause playback" } else { "Play from cursor" }.to_owned()
        },
        "Moves the cursor through the history, at the speed of the run or in real time",
        icons::PLAY,
    )
    .keys(SHIFT, Key::Space)
    .needs(&[simulation, history]),
    Row::labelled_by(
        C::Loop,
        |_, state| if state.document.time.axis.is_looping { "Stop looping range" } else { "Loop range" }.to_owned(),
        "Repeats the range during playback",
        icons::LOOP,
    ),
    Row::new(C::ZoomToRange, "Zoom to range", "All linked views show the range", icons::SEARCH).needs(&[range]),
    Row::new(C::ClearRange, "Clear range", "Clears the time range", icons::SEARCH).needs(&[range]),
];

/// Creates the row of a movement of the time cursor.
const fn cursor_row(steps: i32, modifiers: Modifiers, key: Key) -> Row {
    let tooltip = "All linked views show the states at the cursor";
    Row::labelled_by(C::MoveCursor(steps), cursor_text, tooltip, icons::STEP)
        .keys(modifiers, key)
        .yields_to(YieldsTo::FocusedWidgets)
        .needs(&[simulation, history])
}

fn run_text(_: &C, state: &CommandState<'_>) -> String {
    let session = &state.document.session;
    match session.live.running {
        true => "Pause",
        false if session.runs_again() => "Run again",
        false => "Run",
    }
    .to_owned()
}

fn step_text(state: &CommandState<'_>, n: u32) -> String {
    format!("Step × {}", state.around.pacing.text(n))
}

fn end_text(_: &C, state: &CommandState<'_>) -> String {
    let end = state.document.session.project.planned_steps().map(|step| state.document.time_text(step as f64));
    format!("Run to {}", end.unwrap_or_else(|| "the planned end".into()))
}

fn rebuild_text(_: &C, state: &CommandState<'_>) -> String {
    match state.document.session.counts_in_force() {
        None => "Rebuild simulation",
        Some((_, 0)) => "Rerun project",
        Some(_) => "Rerun with these values",
    }
    .to_owned()
}

fn cursor_text(command: &C, state: &CommandState<'_>) -> String {
    let C::MoveCursor(steps) = command else { return String::new() };
    let way = if *steps < 0 { "back" } else { "forward" };
    format!("Time cursor {way} × {}", state.around.pacing.text(steps.unsigned_abs()))
}

fn duration(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.project.planned_steps().is_some(), "The project has no duration")
}

fn time_left(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let session = &state.document.session;
    let is_over = session.project.planned_steps().is_some_and(|end| end <= session.live.clock.step);
    unless(!is_over, "The duration is over: rewind first")
}

fn several_trials(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.live.n_trials() > 1, "One trial: set Trials in the run settings")
}

fn idle_device(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let is_idle = state.document.session.live.is_loaded() && !state.document.profile.machine.measuring;
    unless(is_idle, "No device in use, or a measurement is running")
}

fn no_comparison(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let is_comparing = state.document.profile.comparison.progress.is_some();
    let can_compare = state.document.session.live.is_loaded() && !is_comparing;
    unless(can_compare, "No simulation, or a comparison is running")
}

fn requests(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(!state.document.session.project.model.requests().is_empty(), "This kind answers no requests")
}

fn failed_device(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.live.checkpoints.failure.is_some(), "No device has failed")
}

fn loading(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let live = &state.document.session.live;
    unless(live.progress().is_some() || live.data_progress().is_some(), "Nothing is loading")
}

fn history(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let past = &state.document.time.past;
    unless(past.newest() > past.oldest(), "The history is empty")
}

fn range(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.time.axis.range.is_some(), "No range: drag over the time panel")
}
