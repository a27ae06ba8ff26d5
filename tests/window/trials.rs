//! Several trials in the window: one is shown, all are recorded, as on the command line.

use crate::support::window;
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand},
    gpu::Pass,
    project::{self, Project, RunFolder, replay},
    sim::{BuildContext, Device, Frame, Progress, Reading, Spike, Tap, TrialChoice},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use window::{Window, is_built, open, start, until};

/// A network of 200 neurons and a short run.
fn project(name: &str) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project: Project = project::open(&source).expect("the example").0;
    for text in
        ["network.n_neurons=200", "run.device=Cpu", "run.threads=1", "run.duration_ms=60", "run.continuous=false"]
    {
        project.set(text, &folder).expect(text);
    }
    let file = folder.join("balanced.ron");
    project::save(&project, &file).expect("saved");
    (folder, file)
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(2);
}

/// Opens the project and builds it with this number of trials.
fn opened(file: &Path, trials: u32) -> Window {
    let mut w = open(Start { path: Some(file.to_owned()), project: None, builder: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    assert!(w.query_by_label("Shown trial").is_none(), "one trial needs no choice");
    w.state_mut().session_mut().project.run.trials = trials;
    w.run_steps(2);
    assert!(w.query_by_label("1 change needs a rebuild").is_some());
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it is rebuilt", |w| is_built(w) && w.state().session().live.schema.trials == trials);
    w.run_steps(2);
    w
}

/// Spikes that the raster draws.
fn shown(w: &Window) -> Vec<Spike> {
    let train = w.state().time().past.train(0);
    train.map_or(vec![], |train| train.history.slices(0, u32::MAX).flatten().copied().collect())
}

fn rewind(w: &mut Window) {
    command(w, UiCommand::Rewind);
    until(w, "it rewinds", |w| w.state().session().live.clock.step == 0);
}

/// Runs to the duration.
fn run(w: &mut Window) {
    let before = w.state().session().live.clock.step;
    command(w, UiCommand::RunPause);
    until(w, "it ends", |w| {
        let live = &w.state().session().live;
        !live.running && live.clock.step > before && live.has_ended()
    });
    w.run_steps(3);
}

#[test]
fn one_trial_is_shown_and_all_are_recorded() {
    let (folder, file) = project("trials");
    let mut w = opened(&file, 3);
    command(&mut w, UiCommand::NextTrial);
    assert_eq!(w.state().session().live.shown_trial(), 1);
    assert!(w.query_by_label("Shown trial").is_some());
    command(&mut w, UiCommand::Record);
    until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
    let run_folder = w.state().session().live.recording.as_ref().expect("a recording").folder.clone();
    run(&mut w);
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());

    // The views and the recording have the data of runs of their own.
    let series = RunFolder::open(&run_folder).expect("a series");
    let trials = series.trials().expect("trials");
    assert_eq!((series.manifest.trials, trials.len()), (3, 3));
    let project = project::open(&file).expect("the project").0;
    let prepared = project.model.prepare(&project.build_context(&folder), &Progress::default()).expect("a network");
    for trial in &trials {
        let device = Device::Cpu { threads: 1 };
        let mut alone = prepared.start(trial.manifest.seed, &device).expect("a simulation");
        let verdict = replay::replay_on(trial, &mut *alone, "CPU", &Progress::default()).expect("a verdict");
        assert!(matches!(verdict, replay::ReplayResult::Identical { .. }), "{}", verdict.text());
    }
    assert_eq!(trials[1].manifest.seed, project.seed + 1);
    let recorded = trials[1].spikes().expect("spikes");
    assert!(!recorded.is_empty() && recorded != trials[0].spikes().expect("spikes"));
    until(&mut w, "the raster shows the second trial", |w| shown(w) == recorded);

    // The command line writes the same series.
    let place = recorded_series(&folder, &file);
    let other = RunFolder::open(&place).expect("a series");
    assert_eq!(other.manifest.digest, series.manifest.digest);
    for (a, b) in trials.iter().zip(other.trials().expect("trials")) {
        let hashes = |run: &RunFolder| run.manifest.streams.iter().map(|s| s.hash.clone()).collect::<Vec<_>>();
        assert_eq!((hashes(a), &a.manifest.digest), (hashes(&b), &b.manifest.digest));
        assert_eq!(a.project().expect("a project").model, b.project().expect("a project").model);
    }
    let rates = |folder: &Path| std::fs::read_to_string(folder.join("rates.csv")).expect("rates");
    assert_eq!(rates(&run_folder), rates(&place));

    // Another trial is shown from the present step on; after a rewind the run of this trial is shown.
    command(&mut w, UiCommand::NextTrial);
    until(&mut w, "the views are cleared", |w| {
        w.state().time().past.train(0).is_none_or(|train| train.history.is_empty())
    });
    rewind(&mut w);
    run(&mut w);
    let third = trials[2].spikes().expect("spikes");
    until(&mut w, "the raster shows the third trial", |w| shown(w) == third);
    command(&mut w, UiCommand::NextTrial);
    assert_eq!(w.state().session().live.shown_trial(), 0, "the first trial follows the last");
    command(&mut w, UiCommand::PreviousTrial);
    assert_eq!(w.state().session().live.shown_trial(), 2);

    // An opened series shows its first trial.
    let mut w = open(Start { path: Some(run_folder), project: None, builder: None, ..start(true) });
    until(&mut w, "the series is open", |w| w.state().session().live.playback.is_some());
    let first = trials[0].spikes().expect("spikes");
    until(&mut w, "its first trial is shown", |w| shown(w) == first);
}

#[test]
fn a_rebuild_keeps_the_shown_trial_and_one_trial_has_no_choice() {
    let (_folder, file) = project("rebuilt trials");
    let mut w = opened(&file, 3);
    command(&mut w, UiCommand::PreviousTrial);
    assert_eq!(w.state().session().live.shown_trial(), 2);
    w.state_mut().session_mut().project.seed += 5;
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it is rebuilt", |w| {
        is_built(w)
            && w.state().session().live.built_project().is_some_and(|p| p.seed == w.state().session().project.seed)
    });
    assert_eq!(w.state().session().live.shown_trial(), 2, "the choice stays");
    run(&mut w);
    let project = w.state().session().project.clone();
    let context = BuildContext { seed: project.seed, ..project.build_context(Path::new(".")) };
    let prepared = project.model.prepare(&context, &Progress::default()).expect("a network");
    let mut alone = prepared.start(project.seed + 2, &Device::Cpu { threads: 1 }).expect("a simulation");
    alone.tap(&[Tap::of(0)]).expect("a tap");
    alone.advance(w.state().session().live.clock.step as u32, &mut Pass::default()).expect("it runs");
    let mut frame = Frame::default();
    alone.sample(&mut frame).expect("a sample");
    let Some(Reading::Spikes(spikes)) = frame.reading(0) else { panic!("spikes") };
    until(&mut w, "the raster shows the third trial", |w| shown(w) == *spikes);

    w.get_by_label("Mean of trials").click();
    let is_statistic = |tap: &Tap| matches!(tap.trial, TrialChoice::Statistic(_));
    until(&mut w, "the mean is read", |w| w.state().session().live.subscriptions().iter().any(is_statistic));
    rewind(&mut w);
    run(&mut w);
    w.state_mut().session_mut().project.run.trials = 1;
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "one trial is built", |w| is_built(w) && w.state().session().live.schema.trials == 1);
    w.run_steps(2);
    assert!(w.query_by_label("Shown trial").is_none());
    assert_eq!(w.state().session().live.shown_trial(), 0);
}

/// Writes a series of 3 trials with the command line to `runs/series`.
fn recorded_series(folder: &Path, file: &Path) -> PathBuf {
    let place = folder.join("runs/series");
    let words = ["run", "--trials", "3", "--device", "cpu", "--threads", "1", "--out"];
    let done =
        Command::new(env!("CARGO_BIN_EXE_neuropil")).args(words).arg(&place).arg(file).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    place
}

#[test]
fn another_recorded_trial_is_shown_at_the_same_time() {
    let (folder, file) = project("recorded trials");
    let place = recorded_series(&folder, &file);
    let [first, third] = ["0000", "0002"].map(|trial| {
        let run = RunFolder::open(&place.join("trials").join(trial)).expect("a trial");
        run.spikes().expect("spikes")
    });
    assert!(!third.is_empty() && first != third);
    let mut w = open(Start { path: Some(place.clone()), project: None, builder: None, ..start(true) });
    until(&mut w, "the series is open", |w| w.state().session().live.playback.is_some());
    until(&mut w, "its first trial is shown", |w| shown(w) == first);
    assert!(w.query_by_label("Shown trial").is_some());
    let open_folder = |w: &Window| w.state().session().live.playback.as_ref().map(|run| run.open_folder().to_owned());
    assert_eq!(open_folder(&w).as_ref(), Some(&place));

    command(&mut w, UiCommand::MoveCursor(7));
    w.state_mut().session_mut().selection.replace("neurons", vec![3, 5, 8]);
    w.run_steps(2);
    let cursor = w.state().time().axis.cursor();
    assert!(cursor.is_some_and(|step| step > 0.0));
    w.state_mut().session_mut().live.show_trial(2);
    until(&mut w, "the raster shows the third trial", |w| shown(w) == third);
    w.run_steps(2);
    assert_eq!((w.state().time().axis.cursor(), w.state().session().live.shown_trial()), (cursor, 2));
    assert_eq!(w.state().session().selection.of("neurons"), [3, 5, 8]);
    assert_eq!(open_folder(&w).as_ref(), Some(&place), "the series stays open");

    let missing = place.join("trials/0001");
    std::fs::remove_dir_all(&missing).expect("removed");
    command(&mut w, UiCommand::PreviousTrial);
    let names_it = |w: &Window| w.state().messages().iter().any(|text| text.contains(&*missing.to_string_lossy()));
    until(&mut w, "a message names the missing trial", names_it);
    w.run_steps(2);
    assert_eq!((w.state().session().live.shown_trial(), w.state().time().axis.cursor()), (2, cursor));
    assert!(shown(&w) == third, "the shown trial stays");
}
