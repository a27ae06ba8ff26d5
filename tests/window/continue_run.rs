//! A recorded run continues: as a branch from the time cursor of a playback, and as itself.

use crate::support::window;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{self, FinalCheckpoint, Project, RunFolder, RunPlan, Status},
};
use neuropil_test_support::temp::TempFolder;
use std::path::PathBuf;
use window::{Window, is_built, open, start, until};

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.step();
}

fn step(w: &Window) -> u64 {
    w.state().session().live.clock.step
}

/// A window whose project has a recorded run of some steps, with these checkpoints.
fn recorded(folder: &TempFolder, run: RunPlan) -> (Window, PathBuf) {
    let file = folder.join("kept.ron");
    let project = Project { name: "Kept".into(), record: vec!["spikes".into()], run, ..Project::default() };
    project::save(&project, &file).expect("saved");
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "it is loaded", is_built);
    command(&mut w, UiCommand::Record);
    until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
    // One after the other: between two steps the simulation is paused, and a step during another one ends earlier.
    for end in [100, 200] {
        command(&mut w, UiCommand::Step);
        until(&mut w, "it has run", |w| step(w) >= end && !w.state().session().live.running);
    }
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());
    until(&mut w, "the run is listed", |w| UiCommand::all(&w.state().command_state()).contains(&UiCommand::OpenRun(0)));
    (w, folder.join("runs/0001-kept"))
}

#[test]
fn a_playback_continues_from_the_checkpoint_before_the_time_cursor() {
    let folder = TempFolder::new("continue-here");
    let plan = RunPlan { checkpoint_steps: 40, keep_checkpoints: 0, ..RunPlan::default() };
    let (mut w, run) = recorded(&folder, plan);
    command(&mut w, UiCommand::OpenRun(0));
    until(&mut w, "the run is open", |w| w.state().session().live.playback.as_ref().is_some_and(|p| p.fraction >= 1.0));
    let link = |w: &Window| w.get_by_label("Continue from here").accesskit_node().is_disabled();
    assert!(link(&w), "no checkpoint at or before the start");
    command(&mut w, UiCommand::MoveCursor(1000));
    let manifest = RunFolder::open(&run).expect("a run").manifest;
    let cursor = w.state().time().axis.cursor().unwrap_or(manifest.last_step as f64);
    let before = manifest.checkpoints.iter().map(|c| c.step).filter(|at| *at as f64 <= cursor).max();
    w.step();
    assert!(!link(&w));
    w.get_by_label("Continue from here").click();
    until(&mut w, "it is a simulation at the checkpoint", |w| {
        let live = &w.state().session().live;
        live.playback.is_none() && live.is_loaded() && Some(live.clock.step) == before
    });
    assert!(before.is_some(), "cursor {cursor}, {:?}", manifest.checkpoints);
    assert_eq!(w.state().session().runs_folder().parent(), Some(&*std::fs::canonicalize(&*folder).expect("a folder")));
}

#[test]
fn a_run_is_resumed_and_recorded_on() {
    let folder = TempFolder::new("resume");
    let plan = RunPlan { final_checkpoint: FinalCheckpoint::Yes, ..RunPlan::default() };
    let (mut w, run) = recorded(&folder, plan);
    let end = RunFolder::open(&run).expect("a run").manifest.last_step;
    command(&mut w, UiCommand::Resume(run.clone()));
    until(&mut w, "it records again", |w| w.state().session().live.recording.is_some());
    until(&mut w, "it is where it ended", |w| step(w) == end);
    command(&mut w, UiCommand::Step);
    until(&mut w, "it has run", |w| step(w) > end && !w.state().session().live.running);
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());
    let resumed = RunFolder::open(&run).expect("a run");
    assert_eq!((resumed.manifest.status.clone(), resumed.manifest.last_step), (Status::Complete, step(&w)));
    assert_eq!(resumed.manifest.resumed.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [end]);
}

#[test]
fn a_run_without_a_checkpoint_is_not_resumed_and_says_why() {
    let folder = TempFolder::new("resume-not");
    let plan = RunPlan { final_checkpoint: FinalCheckpoint::No, checkpoint_every_s: 0.0, ..RunPlan::default() };
    let (mut w, run) = recorded(&folder, plan);
    command(&mut w, UiCommand::Resume(run));
    until(&mut w, "it says why", |w| w.state().messages().iter().any(|m| m.contains("no usable checkpoint")));
    assert!(w.state().session().live.is_loaded(), "the simulation is as it was");
}
