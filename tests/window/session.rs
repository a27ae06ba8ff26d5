//! The window and the engine agree: the parameters that the window shows as applied are those of the simulation, after any
//! sequence of edits, undo and redo, valid or not; and a recording made then replays identically.

use crate::support::window;
use neuropil::{
    app::{Start, document::command::UiCommand},
    gpu::Pass,
    kinds::Model,
    num::rng::philox4x32,
    params::{Apply, Change, ParamId, Value, ValueType},
    project::{Project, RunFolder, replay::ReplayResult},
    sim::*,
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use window::{Window, is_built, open, start, until};

/// A simulation whose applied changes are mirrored: the parameters of the engine.
struct Mirrored {
    sim: Box<dyn Simulation>,
    model: Arc<Mutex<Model>>,
}

impl Simulation for Mirrored {
    fn probes(&self) -> &'static [ProbeSpec] {
        self.sim.probes()
    }
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.sim.lanes(probe)
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        self.sim.sets()
    }
    fn clock(&self) -> Clock {
        self.sim.clock()
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let effect = self.sim.set(change)?;
        if effect == Effect::Applied {
            assert!(self.model.lock().expect("lock").params_mut().set(change), "{change:?}");
        }
        Ok(effect)
    }
    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.sim.act(action)
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sim.tap(taps)
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.sim.advance(steps, pass)
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        self.sim.sample(frame)
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        self.sim.save()
    }
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        self.sim.load(state)
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        self.sim.rewind()
    }
    fn digest(&self, trial: u32) -> Digest {
        self.sim.digest(trial)
    }
    fn memory(&self) -> MemoryReport {
        self.sim.memory()
    }
}

struct Dice(u32, u32);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.1 += 1;
        philox4x32([self.0, self.1, 0, 0], [3, 5])[0] as usize % sides
    }
}

/// Texts a user may type into a name, a query or a target: some are valid.
const TEXTS: [&str; 8] = ["a", "b", "index < 5", "in a", "in b or index = 3", "and and (", "", "nowhere = 7"];

/// A random edit: a list push, removal or rename, or a live parameter. Any text may be invalid.
fn edit(params: &mut dyn neuropil::params::Params, dice: &mut Dice) {
    let lists: Vec<usize> = (0..params.groups().len()).filter(|g| params.groups()[*g].list).collect();
    if !lists.is_empty() && dice.roll(3) == 0 {
        let id = ParamId::list(lists[dice.roll(lists.len())]);
        match params.get(id) {
            Value::Rows(mut rows) if !rows.is_empty() && dice.roll(3) == 0 => {
                rows.remove(dice.roll(rows.len()));
                params.set(&Change { id, value: Value::Rows(rows) });
            }
            Value::Rows(rows) if rows.len() < 3 => drop(params.push(id.group)),
            _ => {}
        }
        return;
    }
    let live = |id: &ParamId| params.spec(*id).is_some_and(|s| s.apply == Apply::Live);
    let mut ids: Vec<ParamId> = params.ids().into_iter().filter(live).collect();
    if dice.roll(3) > 0 && ids.iter().any(|id| lists.contains(&usize::from(id.group))) {
        ids.retain(|id| lists.contains(&usize::from(id.group)));
    }
    let id = ids[dice.roll(ids.len())];
    let Some(spec) = params.spec(id) else { return };
    let value = match spec.kind {
        ValueType::Text | ValueType::Path | ValueType::Query => Value::Text(TEXTS[dice.roll(TEXTS.len())].to_owned()),
        _ => spec.value_at(dice.roll(1001) as f64 / 1000.0),
    };
    params.set(&Change { id, value });
}

fn small(kind: &str) -> Project {
    let mut project = Project { model: Model::by_name(kind).expect(kind), ..Project::default() };
    let texts: &[&str] = match kind {
        "spiking" => &["network.source=Balanced", "network.n_neurons=120", "network.in_degree=10"],
        _ => &["population.n_start=64", "population.capacity=64"],
    };
    for text in texts.iter().chain(&["run.device=Cpu", "run.threads=1"]) {
        project.set(text, Path::new(".")).expect(text);
    }
    let name = project.model.probes().iter().find(|p| matches!(p.shape, Shape::Spikes { .. } | Shape::Lineage { .. }));
    project.record = vec![name.expect("events").name.to_owned()];
    project
}

/// Where the document and the engine differ, each with whether the window marks it as not applied.
fn differences(w: &Window, engine: &Model) -> Vec<(String, bool)> {
    let session = w.state().session();
    let params = session.project.model.params();
    let changes = params.changes_since(engine.params());
    let waiting = session.live.waiting_for_rebuild(&session.project.model);
    let is_marked = |id: ParamId| session.live.rejection(id).is_some() || waiting.contains(&id);
    changes.into_iter().map(|c| (params.path(c.id), is_marked(c.id))).collect()
}

fn agree(w: &mut Window, engine: &Mutex<Model>, at: &str) {
    w.step();
    until(w, "all edits are answered", |w| !w.state().session().live.has_pending_edits());
    let engine = engine.lock().expect("lock").clone();
    assert_eq!(
        w.state().session().live.accepted_model(),
        Some(&engine),
        "{at}: the window knows the engine's parameters"
    );
    let unmarked: Vec<String> =
        differences(w, &engine).into_iter().filter(|(_, is_marked)| !is_marked).map(|(path, _)| path).collect();
    assert_eq!(unmarked, [""; 0], "{at}: the document differs from the engine without a mark");
}

/// Returns the number of rejected edits seen.
fn walk(kind: &'static str, seed: u32, rounds: usize) -> usize {
    let folder = TempFolder::new(&format!("agree-{kind}-{seed}"));
    let (project, file) = (small(kind), folder.join("walk.ron"));
    neuropil::project::save(&project, &file).expect("saved");
    let engine = Arc::new(Mutex::new(project.model.clone()));
    let mirror = engine.clone();
    let builder = move |project: &Project, scene: &_, progress: &_| {
        let sim = project.model.prepare(scene, progress)?.start(project.seed, &Device::Cpu { threads: 1 })?;
        *mirror.lock().expect("lock") = project.model.clone();
        Ok(Box::new(Mirrored { sim, model: mirror.clone() }) as Box<dyn Simulation>)
    };
    let mut w = open(Start { path: Some(file), project: None, builder: Some(Arc::new(builder)), ..start(true) });
    until(&mut w, "it is loaded", is_built);
    let ctx = w.ctx.clone();
    let (mut dice, mut n_rejected) = (Dice(seed, 0), 0);
    for round in 0..rounds {
        if round == rounds / 2 {
            w.state_mut().command(&ctx, UiCommand::Record);
            until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
        }
        match dice.roll(8) {
            0 => w.state_mut().command(&ctx, UiCommand::Undo),
            1 => w.state_mut().command(&ctx, UiCommand::Redo),
            2 => w.state_mut().command(&ctx, UiCommand::Step),
            _ => edit(w.state_mut().session_mut().project.model.params_mut(), &mut dice),
        }
        w.step();
        if round % 5 == 4 {
            agree(&mut w, &engine, &format!("{kind}, seed {seed}, round {round}"));
            n_rejected += w.state().session().live.acks.rejections().len();
        }
    }
    until(&mut w, "all steps are taken", |w| !w.state().session().live.running);
    agree(&mut w, &engine, &format!("{kind}, seed {seed}, at the end"));
    w.state_mut().command(&ctx, UiCommand::Record);
    until(&mut w, "the recording is closed", |w| w.state().session().live.recording.is_none());
    for message in w.state().messages() {
        assert!(!message.contains("ParamId {") && !message.contains("Change {"), "a sentence: {message}");
    }
    let runs = w.state().session().runs_folder();
    drop(w);
    let mut folders: Vec<PathBuf> = std::fs::read_dir(runs).expect("runs").flatten().map(|e| e.path()).collect();
    folders.sort();
    let run = RunFolder::open(folders.last().expect("a run")).expect("readable");
    let mut project = run.project().expect("project");
    project.seed = run.manifest.setup_seed;
    let progress = Progress::default();
    let prepared = project.model.prepare(&project.build_context(&run.manifest.base), &progress).expect("prepared");
    let mut sim = prepared.start(run.manifest.seed, &Device::Cpu { threads: 1 }).expect("started");
    let verdict = neuropil::project::replay::replay(&run, &mut *sim, &progress).expect("replayed");
    assert!(matches!(verdict, ReplayResult::Identical { .. }), "{kind}, seed {seed}: {verdict:?}");
    std::fs::remove_dir_all(folder).ok();
    n_rejected
}

#[test]
fn spiking_edits_agree_and_replay() {
    let n_rejected: usize = (0..3).map(|seed| walk("spiking", seed, 60)).sum();
    assert!(n_rejected > 20, "invalid edits are among them: {n_rejected}");
}

#[test]
fn nuclei_edits_agree_and_replay() {
    for seed in 0..4 {
        walk("nuclei", seed, 40);
    }
}
