//! Unsaved work is protected: undo and redo, also in the running simulation; confirmation before closing; the crash
//! journal; changes by other programs; panics of the engine.

use crate::support::{fake, names, window};
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand, host::crash, shell::App},
    num::rng::philox4x32,
    params::{Apply, Change, ParamId, Value, ValueType},
    project::{self, Project},
};
use neuropil_test_support::{PATIENCE, alone, temp::TempFolder};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use window::{Window, assign, open, start, until, value};

struct Dice(u32, u32);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.1 += 1;
        philox4x32([self.0, self.1, 0, 0], [3, 5])[0] as usize % sides
    }
}

/// A random edit of the document: a parameter, a list, the notes, the recorded probes.
fn edit(project: &mut Project, dice: &mut Dice, live_only: bool) {
    match dice.roll(8) {
        0 => project.notes = format!("note {}", dice.roll(1000)),
        1 => project.record = vec![format!("v[{}]", dice.roll(1000))],
        2 if !live_only => project.seed = dice.roll(1000) as u64,
        3 => {
            let params = project.model.params_mut();
            let lists: Vec<usize> = (0..params.groups().len()).filter(|g| params.groups()[*g].list).collect();
            let group = lists[dice.roll(lists.len())];
            match params.get(ParamId::list(group)) {
                Value::Rows(mut rows) if !rows.is_empty() && dice.roll(2) == 0 => {
                    rows.remove(dice.roll(rows.len()));
                    params.set(&Change { id: ParamId::list(group), value: Value::Rows(rows) });
                }
                _ => drop(params.push(group as u8)),
            }
        }
        _ => set_one(project, dice, live_only),
    }
}

fn set_one(project: &mut Project, dice: &mut Dice, live_only: bool) {
    let params = project.model.params_mut();
    let ids = params.ids();
    let id = ids[dice.roll(ids.len())];
    let Some(spec) = params.spec(id) else { return };
    if live_only && spec.apply != Apply::Live {
        return;
    }
    let value = match spec.kind {
        ValueType::Text | ValueType::Path | ValueType::Query => Value::Text(format!("text {}", dice.roll(100))),
        _ => spec.value_at(dice.roll(1001) as f64 / 1000.0),
    };
    params.set(&Change { id, value });
}

#[test]
fn undo_and_redo_of_anything() {
    for seed in 0..6 {
        let mut w = open(start(false));
        w.run();
        let (begin, mut dice) = (w.state().session().project.clone(), Dice(seed, 0));
        for _ in 0..60 {
            edit(&mut w.state_mut().session_mut().project, &mut dice, false);
            w.step();
            // A walk back and forth in the middle of it.
            if dice.roll(12) == 0 {
                let ctx = w.ctx.clone();
                w.state_mut().command(&ctx, UiCommand::Undo);
                w.step();
            }
        }
        let end = w.state().session().project.clone();
        let (undo, _) = w.state().session().history.counts();
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, UiCommand::UndoSteps(-(undo as i32)));
        w.step();
        assert_eq!(w.state().session().project, begin, "seed {seed}: undo all is the start");
        assert!(!w.state().session().is_dirty());
        w.state_mut().command(&ctx, UiCommand::UndoSteps(undo as i32));
        w.step();
        assert_eq!(w.state().session().project, end, "seed {seed}: redo all is the end");
    }
}

/// The engine's parameters equal the document's after edits, undo and redo during a run.
#[test]
fn undo_reaches_the_running_engine() {
    let heard: Arc<Mutex<Vec<Change>>> = Arc::default();
    let ear = heard.clone();
    let builder = move |_: &Project, scene: &neuropil::sim::BuildContext, _: &neuropil::sim::Progress| {
        let mut sim = fake::new(scene.seed);
        sim.script.heard = ear.clone();
        Ok(Box::new(sim) as Box<dyn neuropil::sim::Simulation>)
    };
    let mut w = open(Start { builder: Some(Arc::new(builder)), ..start(true) });
    w.run();
    let mut engine = w.state().session().project.model.clone();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    let mut dice = Dice(77, 0);
    for round in 0..120 {
        let ctx = w.ctx.clone();
        match dice.roll(5) {
            0 => w.state_mut().command(&ctx, UiCommand::Undo),
            1 => w.state_mut().command(&ctx, UiCommand::Redo),
            _ => edit(&mut w.state_mut().session_mut().project, &mut dice, true),
        }
        w.step();
        if round % 10 == 9 {
            let wanted = w.state().session().project.model.clone();
            until(&mut w, "the engine has the document's parameters", |_| {
                for change in heard.lock().expect("lock").drain(..) {
                    assert!(engine.params_mut().set(&change));
                }
                engine == wanted
            });
        }
    }
    let log = &w.state().session().live.run_log().expect("a past").log;
    assert!(log.len() > 40, "edits and their undoing are in the run's log: {}", log.len());
}

#[test]
fn the_history_menu_lists_labelled_steps() {
    let mut w = open(start(false));
    w.run();
    for text in ["lif.tau_m=11", "lif.tau_m=12", "lif.w_syn=0.5"] {
        assign(&mut w, text);
        w.run();
    }
    w.get_by_label("History").click();
    w.run();
    w.get_by_label("set LIF neuron › Membrane time constant to 12 ms").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), value(&w, "lif.w_syn")), ("11 ms".into(), "0.275 mV".into()));
    assert_eq!(w.state().session().history.counts(), (1, 2));
    w.get_by_label("History").click();
    w.run();
    w.get_by_label("set LIF neuron › Synaptic weight (per synapse) to 0.5 mV").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), value(&w, "lif.w_syn")), ("12 ms".into(), "0.5 mV".into()));
}

fn saved(folder: &TempFolder) -> PathBuf {
    let file = folder.join("kept.ron");
    project::save(&Project { name: "Kept".into(), ..Project::default() }, &file).expect("saved");
    file
}

type Way<'a> = (&'a str, &'a dyn Fn(&mut Window));

#[test]
fn closing_and_replacing_a_document_asks() {
    let folder = TempFolder::new("guard");
    let file = saved(&folder);
    let mut w = open(start(false));
    w.run();
    assign(&mut w, "lif.tau_m=11");
    w.run();
    let ctx = w.ctx.clone();
    let drop_file = |w: &mut Window| {
        let dropped: Arc<dyn egui::DroppedFile + Send + Sync> = Arc::new(Dropped(file.clone()));
        w.input_mut().dropped_files.push(dropped);
    };
    let close = |w: &mut Window| {
        let viewport = w.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default();
        viewport.events.push(egui::ViewportEvent::Close);
    };
    let ways: [Way<'_>; 3] =
        [("close", &close), ("new", &|w| w.state_mut().command(&ctx, UiCommand::New("nuclei"))), ("drop", &drop_file)];
    for (name, way) in ways {
        way(&mut w);
        w.step();
        w.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default().events.clear();
        w.run();
        assert!(w.query_by_label("Discard changes").is_some(), "{name} does not ask");
        assert_eq!(names::unnamed(w.root()), [""; 0], "{name}");
        assert_eq!(value(&w, "lif.tau_m"), "11 ms", "{name}");
        w.get_by_label("Cancel").click();
        w.run();
        assert!(w.query_by_label("Discard changes").is_none(), "{name}");
    }
    drop_file(&mut w);
    w.step();
    w.run();
    w.get_by_label("Discard changes").click();
    until(&mut w, "the dropped project is open", |w| w.state().session().path.as_deref() == Some(&file));
}

/// A simulation that took long to compute is not dropped without a question, whether it runs or is paused.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }
    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|e| e.to_string())
    }
}

#[test]
fn changes_by_other_programs_are_noticed() {
    let folder = TempFolder::new("outside");
    let file = saved(&folder);
    let mut w = open(Start { path: Some(file.clone()), ..start(false) });
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    std::thread::sleep(Duration::from_millis(1200));
    w.step();
    let other = |text: &str| {
        let mut project = project::open(&file).expect("readable").0;
        project.set(text, Path::new(".")).expect("set");
        project::save(&project, &file).expect("saved");
    };
    other("lif.tau_m=44");
    until(&mut w, "it was noticed", |w| w.query_by_label("Reload").is_some());
    assert!(w.query_by_label_contains("LIF neuron › Membrane time constant: 20 ms → 44 ms").is_some());
    assert_eq!(names::unnamed(w.root()), [""; 0]);
    w.get_by_label("Reload").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), w.state().session().is_dirty()), ("44 ms".into(), false));
    other("lif.tau_m=45");
    until(&mut w, "it was noticed again", |w| w.query_by_label("Reload").is_some());
    w.get_by_label("Keep open version").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), w.state().session().is_dirty()), ("44 ms".into(), true));
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Save);
    until(&mut w, "it is saved", |w| !w.state().session().is_dirty());
    std::thread::sleep(Duration::from_millis(2200));
    w.run();
    assert!(w.query_by_label("Reload").is_none(), "our own writing is no news");
    assert!(folder.join("kept.ron.bak").exists(), "one backup is kept");
}

/// Panics are reported for the whole process: tests that cause one take turns.
static PANICS: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_panic_of_the_engine_is_contained() {
    let _alone = PANICS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let faults = Arc::new(Mutex::new(1));
    let builder = move |_: &Project, scene: &neuropil::sim::BuildContext, _: &neuropil::sim::Progress| {
        let mut sim = fake::new(scene.seed);
        let mut left = faults.lock().expect("lock");
        if *left > 0 {
            *left -= 1;
            sim.panics_at = 300;
        }
        Ok(Box::new(sim) as Box<dyn neuropil::sim::Simulation>)
    };
    let mut w = open(Start { builder: Some(Arc::new(builder)), ..start(true) });
    assign(&mut w, "lif.tau_m=12");
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it has failed", |w| w.state().messages().iter().any(|m| m.contains("a fault was asked for")));
    assert!(!w.state().session().live.running);
    assert_eq!(value(&w, "lif.tau_m"), "12 ms", "the project is untouched");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Rebuild);
    until(&mut w, "it is there again", |w| w.state().session().live.progress().is_none());
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "it runs on", |w| w.state().session().live.clock.step > 1000);
}

#[test]
fn a_crash_is_written_down_and_offered() {
    // The hook is the whole process's.
    if !alone("safety::a_crash_is_written_down_and_offered") {
        return;
    }
    let folder = TempFolder::new("crash");
    crash::remember("the last line of the log");
    crash::install(folder.to_path_buf());
    std::thread::Builder::new().name("doomed".into()).spawn(|| panic!("on purpose")).expect("thread").join().ok();
    let mut w = open(Start { state_dir: Some(folder.to_path_buf()), ..start(false) });
    until(&mut w, "it is offered", |w| w.query_by_label("Keep report").is_some());
    assert_eq!(names::unnamed(w.root()), [""; 0]);
    for part in ["on purpose", "doomed", "the last line of the log", env!("CARGO_PKG_VERSION")] {
        assert!(w.query_by_label_contains(part).is_some(), "{part}");
    }
    w.get_by_label("Delete report").click();
    w.run();
    let left = std::fs::read_dir(&*folder)
        .expect("folder")
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("crash-"));
    assert_eq!(left.count(), 0);
}

/// Rounds of the kill test.
const KILLS: u32 = 20;

/// A window that edits for as long as it lives, and says what it has done. Started by the test below.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os("NEUROPIL_VICTIM").map(PathBuf::from) else { return };
    let seed: u32 = std::env::var("NEUROPIL_SEED").expect("a seed").parse().expect("a number");
    let mut w =
        open(Start { path: Some(folder.join("kept.ron")), state_dir: Some(folder.join("state")), ..start(false) });
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    let mut dice = Dice(seed, 0);
    for n in 1.. {
        edit(&mut w.state_mut().session_mut().project, &mut dice, false);
        w.state_mut().session_mut().project.name = format!("edit {n}");
        w.step();
        println!("VICTIM {n}");
        std::thread::sleep(Duration::from_millis(dice.roll(20) as u64));
    }
}

/// What the victim had done after so many edits: its draws are known.
fn after(seed: u32, edits: u32) -> Project {
    let mut project = Project { name: "Kept".into(), ..Project::default() };
    let mut dice = Dice(seed, 0);
    for n in 1..=edits {
        edit(&mut project, &mut dice, false);
        project.name = format!("edit {n}");
        dice.roll(20);
    }
    project
}

/// Kills the process at a random moment, twenty times: what comes back is exactly one of its steps, at most two seconds
/// old.
#[test]
fn work_survives_a_kill() {
    for seed in 0..KILLS {
        let folder = TempFolder::new(&format!("kill-{seed}"));
        let file = saved(&folder);
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["safety::victim", "--exact", "--nocapture"])
            .env("NEUROPIL_VICTIM", &*folder)
            .env("NEUROPIL_SEED", seed.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let journal = folder.join(format!("state/journal-{}.ron", child.id()));
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let wait = Duration::from_millis(u64::from(philox4x32([seed; 4], [1, 2])[0] % 400));
        let (mut first, mut done, mut at) = (None, 0, vec![]);
        for line in lines.map_while(Result::ok) {
            let Some(n) = line.split("VICTIM ").nth(1).and_then(|n| n.trim().parse::<u32>().ok()) else { continue };
            done = n;
            at.push(Instant::now());
            // A process that is killed before its first edit is on disk leaves nothing to restore.
            let is_kept = std::fs::read(&journal).is_ok_and(|text| text.contains(&b'\n'));
            let first = *first.get_or_insert_with(Instant::now);
            if (is_kept && first.elapsed() > wait) || first.elapsed() > PATIENCE {
                break;
            }
        }
        child.kill().expect("SIGKILL");
        let killed = Instant::now();
        child.wait().expect("gone");
        let mut w = open(Start { state_dir: Some(folder.join("state")), ..start(false) });
        until(&mut w, "it is offered", |w| w.query_by_label("Restore").is_some());
        w.get_by_label("Restore").click();
        w.run();
        let restored = w.state().session().project.clone();
        let n: u32 = restored.name.strip_prefix("edit ").and_then(|n| n.parse().ok()).expect("an edit");
        assert_eq!(restored, after(seed, n), "seed {seed}: exactly what it was after edit {n}");
        // The child may have gone on for a moment after the last line that was read.
        let lost = done.saturating_sub(n);
        let age = at.get(n as usize - 1).map_or(Duration::ZERO, |t| killed - *t);
        assert!(lost == 0 || age < Duration::from_secs(2), "seed {seed}: {lost} edits lost, {age:?} of work");
        assert!(w.state().session().is_dirty() && w.state().session().path.as_deref() == Some(&file));
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, UiCommand::Undo);
        w.run();
        assert_eq!(w.state().session().project.name, "Kept", "restoring can be undone");
    }
}

#[test]
fn what_would_come_back_is_shown_and_can_be_refused() {
    let folder = TempFolder::new("torn");
    let file = saved(&folder);
    let (state, mut kept) = (folder.join("state"), project::open(&file).expect("readable").0);
    kept.set("lif.tau_m=17", Path::new(".")).expect("set");
    let mut w = open(Start { path: Some(file), state_dir: Some(state.clone()), ..start(false) });
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    assign(&mut w, "lif.tau_m=17");
    let mine = state.join(format!("journal-{}.ron", std::process::id()));
    until(&mut w, "it is kept", |_| mine.metadata().is_ok_and(|m| m.len() > 0));
    let whole = std::fs::read(&mine).expect("journal");
    std::mem::forget::<App>(w.into_state());
    let torn = [&whole[..], b"0123456789abcdef (None, \"torn"].concat();
    std::fs::write(state.join("journal-4194999.ron"), torn).expect("a process that is gone");
    std::fs::remove_file(&mine).ok();
    let mut w = open(Start { state_dir: Some(state.clone()), ..start(false) });
    until(&mut w, "it is offered", |w| w.query_by_label("Restore").is_some());
    assert!(w.query_by_label_contains("LIF neuron › Membrane time constant: 20 ms → 17 ms").is_some());
    assert!(w.query_by_label("Open both").is_some());
    assert_eq!(names::unnamed(w.root()), [""; 0]);
    w.get_by_label("Discard").click();
    w.run();
    assert!(!state.join("journal-4194999.ron").exists());
}
