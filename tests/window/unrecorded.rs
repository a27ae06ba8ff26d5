//! A run that is not recorded is not lost without a question, and can be kept.

use crate::support::{names, window};
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{self, Project, RunFolder},
    sim::Progress,
};
use neuropil_test_support::{PATIENCE, temp::TempFolder};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use window::{Window, assign, is_built, open, start, until};

/// A window with an open project that has run some steps and is paused. `is_long`: its steps count as much computing.
fn paused(folder: &TempFolder, is_long: bool) -> Window {
    let file = folder.join("kept.ron");
    // It runs until it is paused: a run that ends by itself may end between two looks.
    let run = project::RunPlan { continuous: true, ..Default::default() };
    project::save(&Project { name: "Kept".into(), run, ..Project::default() }, &file).expect("saved");
    let state_dir = Some(folder.join("state"));
    let mut w = open(Start { path: Some(file), project: None, state_dir, ..start(true) });
    until(&mut w, "it is loaded", is_built);
    if is_long {
        w.state_mut().session_mut().live.safety.recomputable = Duration::ZERO;
        command(&mut w, UiCommand::Rewind); // from here on it counts
    }
    // One after the other: between two steps the simulation is paused, and a step during another one ends earlier.
    for end in [100, 200] {
        command(&mut w, UiCommand::Step);
        until(&mut w, "it has run", |w| {
            w.state().session().live.clock.step >= end && !w.state().session().live.running
        });
    }
    w
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.step();
}

fn close(w: &mut Window) {
    let viewport = w.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default();
    viewport.events.push(egui::ViewportEvent::Close);
    w.step();
    w.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default().events.clear();
    w.step();
}

fn soon(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The safety recordings on disk.
fn kept(folder: &TempFolder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("state/unrecorded")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("run.ron").exists()).collect()
}

type Way<'a> = (&'a str, &'a dyn Fn(&mut Window));

#[test]
fn every_way_out_of_a_run_asks() {
    let folder = TempFolder::new("unrecorded-ways");
    let mut w = paused(&folder, true);
    let go = |what: UiCommand| move |w: &mut Window| command(w, what.clone());
    let ways: [Way<'_>; 6] = [
        ("quit", &close),
        ("new", &go(UiCommand::New("nuclei"))),
        ("example", &go(UiCommand::Example("kuramoto"))),
        ("reset", &go(UiCommand::Rewind)),
        ("rebuild", &go(UiCommand::Rebuild)),
        ("branch", &go(UiCommand::Branch(folder.join("runs/0001-kept"), 5))),
    ];
    for is_running in [false, true] {
        if is_running {
            command(&mut w, UiCommand::RunPause);
            until(&mut w, "it runs", |w| w.state().session().live.running);
        }
        for (name, way) in &ways {
            way(&mut w);
            w.run_steps(2);
            assert!(w.query_by_label("Keep as run").is_some(), "{name} does not ask, running: {is_running}");
            assert!(w.query_by_label_contains("were not recorded and would be lost").is_some());
            assert_eq!(names::unnamed(w.root()), [""; 0], "{name}");
            w.get_by_label("Cancel").click();
            w.run_steps(2);
            assert!(w.query_by_label("Keep as run").is_none(), "{name}");
            assert!(w.state().session().live.clock.step >= 100, "{name}");
        }
    }
}

/// What is computed again in a moment is not asked about, and leaves nothing on disk.
#[test]
fn a_short_run_is_not_asked_about() {
    let folder = TempFolder::new("unrecorded-short");
    let mut w = paused(&folder, false);
    command(&mut w, UiCommand::Rewind);
    until(&mut w, "it is rewound", |w| w.state().session().live.clock.step == 0);
    assert!(w.query_by_label("Keep as run").is_none());
    assert_eq!(kept(&folder), [] as [PathBuf; 0]);
}

#[test]
fn a_run_that_is_kept_is_a_run_with_its_last_state() {
    let folder = TempFolder::new("unrecorded-keep");
    let mut w = paused(&folder, true);
    let step = w.state().session().live.clock.step;
    soon("it is written beside the run", || kept(&folder).len() == 1);
    command(&mut w, UiCommand::New("nuclei"));
    w.run_steps(2);
    w.get_by_label("Keep as run").click();
    until(&mut w, "the new project is open", |w| w.state().session().project.model.name() == "nuclei");
    let run = RunFolder::open(&folder.join("runs/0001-kept")).expect("a run");
    assert_eq!((run.manifest.first_step, run.manifest.last_step), (0, step));
    assert_eq!(run.continuation(None, &Progress::default()).expect("resumable").info.step, step);
    assert!(w.state().messages().iter().any(|m| m.contains("Kept as")), "{:?}", w.state().messages());
    drop(w); // waits for the engine
    assert_eq!(kept(&folder), [] as [PathBuf; 0], "the run has what was kept");
}

#[test]
fn discarding_the_run_still_asks_about_changes() {
    let folder = TempFolder::new("unrecorded-both");
    let mut w = paused(&folder, true);
    assign(&mut w, "lif.tau_m=11");
    w.run_steps(2);
    command(&mut w, UiCommand::New("nuclei"));
    w.run_steps(2);
    w.get_by_label("Discard run").click();
    w.run_steps(5); // the next dialog has another size
    w.get_by_label("Discard changes").click();
    until(&mut w, "the new project is open", |w| w.state().session().project.model.name() == "nuclei");
    assert!(!folder.join("runs").exists());
    soon("it is removed", || kept(&folder).is_empty());
}

/// A recording holds the run: after it, only what follows is asked about.
#[test]
fn a_recorded_run_is_not_asked_about() {
    let folder = TempFolder::new("unrecorded-recorded");
    let mut w = paused(&folder, true);
    command(&mut w, UiCommand::Record);
    until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());
    let run = RunFolder::open(&folder.join("runs/0001-kept")).expect("a run");
    assert_eq!(run.manifest.first_step, 0, "it begins with what was kept");
    command(&mut w, UiCommand::Rewind);
    until(&mut w, "it is rewound", |w| w.state().session().live.clock.step == 0);
}

/// The folder that a crashed window leaves.
fn left_by_a_crash(folder: &TempFolder) -> PathBuf {
    let mut w = paused(folder, true);
    soon("it is written", || kept(folder).len() == 1);
    let left = folder.join("state/unrecorded/4194999-0"); // a process that is gone
    let before = w.state().session().live.clock.step;
    command(&mut w, UiCommand::Step);
    let is_done = |w: &Window| w.state().session().live.clock.step > before && !w.state().session().live.running;
    until(&mut w, "a step is taken", |w| is_done(w));
    // A copy made while the last step is written is that of no crash: the files have different steps.
    let step = w.state().session().live.clock.step;
    let is_written = |run: RunFolder| run.manifest.last_step == step;
    soon("the step is written", || RunFolder::open(&kept(folder)[0]).is_ok_and(is_written));
    copy(&kept(folder)[0], &left);
    left
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("readable").flatten() {
        match std::fs::copy(entry.path(), to.join(entry.file_name())) {
            Err(why) if why.kind() == ErrorKind::NotFound => {} // a file that is being written has its name only for a moment
            copied => drop(copied.expect("copied")),
        }
    }
}

#[test]
fn a_run_that_a_crash_left_is_offered_and_kept() {
    let folder = TempFolder::new("unrecorded-crash");
    let left = left_by_a_crash(&folder);
    std::fs::create_dir_all(folder.join("state/unrecorded/4194999-1")).expect("a folder");
    std::fs::write(folder.join("state/unrecorded/4194999-1/run.ron"), "damaged").expect("written");
    let mut w = open(Start { state_dir: Some(folder.join("state")), ..start(true) });
    until(&mut w, "it is offered", |w| w.query_by_label("Keep as run").is_some());
    assert!(w.query_by_label_contains("ended unexpectedly while “Kept” ran without a recording").is_some());
    assert_eq!(names::unnamed(w.root()), [""; 0]);
    w.get_by_label("Keep as run").click();
    until(&mut w, "it is moved", |_| folder.join("runs/0001-kept/run.ron").exists() && !left.exists());
    assert!(RunFolder::open(&folder.join("runs/0001-kept")).expect("a run").manifest.last_step > 0);
    soon("what holds no run is removed", || !folder.join("state/unrecorded/4194999-1").exists());
}

#[test]
fn a_run_that_a_crash_left_can_be_discarded() {
    let folder = TempFolder::new("unrecorded-discard");
    let left = left_by_a_crash(&folder);
    let mut w = open(Start { state_dir: Some(folder.join("state")), ..start(true) });
    until(&mut w, "it is offered", |w| w.query_by_label("Discard run").is_some());
    w.get_by_label("Discard run").click();
    until(&mut w, "it is removed", |_| !left.exists());
    assert!(!folder.join("runs").exists());
}
