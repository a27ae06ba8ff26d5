//! *Run* pauses at the duration, exactly, and shows the whole run; *Continuous* lets it continue; Run again starts again.

use crate::support::window;
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::Project,
};
use std::path::Path;
use window::{Window, open, start, until};

fn window(duration: &str) -> Window {
    let mut project = Project::default();
    project.set(duration, Path::new(".")).expect("a setting");
    let mut w = open(Start { project: Some(project), ..start(true) });
    w.run();
    w
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(2);
}

fn step(w: &Window) -> u64 {
    w.state().session().live.clock.step
}

/// Runs until it pauses.
fn run(w: &mut Window) {
    let before = step(w);
    command(w, UiCommand::RunPause);
    until(w, "it runs and ends", |w| step(w) > before && !w.state().session().live.running);
    w.run_steps(3);
}

#[test]
fn run_pauses_at_the_duration_and_starts_again() {
    let mut w = window("run.duration_ms=1234.5");
    run(&mut w);
    assert_eq!(step(&w), 12_345, "exactly at the duration");
    let line = &w.state().time().axis.line;
    assert_eq!((line.t0, line.t1), (0.0, 12_345.0), "the views show the whole run");
    assert!(w.query_by_label("ENDED").is_some(), "the run bar says so");
    assert!(w.query_all_by_label_contains("LIVE").next().is_none(), "nothing is live while it is paused");
    assert!(w.query_all_by_label_contains("● LATEST").next().is_some());
    assert!(w.state().session().live.has_ended() && w.query_by_label("Run again").is_some());
    command(&mut w, UiCommand::Step);
    until(&mut w, "it steps", |w| step(w) == 12_445);
    until(&mut w, "beyond the end Run continues", |w| w.query_by_label("Run").is_some());
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it ends at the next multiple", |w| step(w) == 24_690 && !w.state().session().live.running);
    w.run_steps(2);
    w.get_by_label("Run again").click();
    until(&mut w, "it starts again from step 0 and ends", |w| step(w) == 12_345 && !w.state().session().live.running);
}

#[test]
fn a_longer_duration_and_continuous_apply_to_the_run_in_progress() {
    let mut w = window("run.duration_ms=100");
    run(&mut w);
    assert_eq!(step(&w), 1_000);
    w.state_mut().session_mut().project.run.duration_ms = 150.0;
    w.run_steps(2);
    assert!(!w.state().session().live.has_ended(), "the duration is longer now");
    run(&mut w);
    assert_eq!(step(&w), 1_500, "it continues");
    w.get_by_label("Continuous is off: Run pauses at the duration").click();
    w.run_steps(3);
    assert_eq!(w.state().session().history.labels().0, Some("set Run settings › Continuous to on"), "an undo step");
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs beyond the duration", |w| step(w) > 6_000);
    command(&mut w, UiCommand::Undo);
    until(&mut w, "it pauses at a multiple", |w| !w.state().session().live.running);
    assert_eq!(step(&w) % 1_500, 0);
    assert!(w.state().session().live.has_ended());
}

#[test]
fn a_rewind_moves_the_end_and_another_document_does_not_run() {
    let mut w = window("run.duration_ms=30000");
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| step(w) > 2_000);
    w.state_mut().session_mut().project.run.duration_ms = 2_000.0;
    w.run_steps(1);
    command(&mut w, UiCommand::Rewind);
    until(&mut w, "it ends", |w| !w.state().session().live.running && step(w) > 0);
    assert_eq!(step(&w) % 20_000, 0, "at a multiple of the duration");
    w.state_mut().session_mut().project.run.continuous = true;
    w.run_steps(1);
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.running);
    let other = Project::default();
    w.state_mut().session_mut().replace(other, None);
    w.run_steps(2);
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    w.run_steps(20);
    assert!(!w.state().session().live.running, "the simulation of a closed document stays paused");
}

#[test]
fn a_run_without_a_duration_has_no_end() {
    let mut w = window("run.duration_ms=never");
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs beyond the default", |w| step(w) > 12_000);
}
