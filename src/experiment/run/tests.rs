use super::*;
use crate::{
    experiment::{merge, repeat::repeat, table::RESULTS},
    gpu::{Pass, StopFlag},
    kinds::shared::trials::TrialSet,
    params::Change,
    project::{RunFolder, read},
    sim::{Action, Clock, Device, Digest, Effect, ElementSet, Frame, MemoryReport, ProbeId, ProbeSpec, Snapshot, Tap},
};
use neuropil_test_support::temp::TempFolder;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize},
};

/// A network of 60 neurons of which some are driven, with 20 ms per trial.
const NETWORK: &str = r#"network: (source: Balanced, n_neurons: 60, in_degree: 6),
    interventions: [(name: "drive", effect: Poisson, target: "idx < 12", rate_hz: 200.0)]"#;

fn project(experiment: &str) -> Project {
    let text = format!(
        "(model: Spiking(({NETWORK})), run: (duration_ms: 20.0, device: Cpu), experiment: (measures: [
            (name: \"rate\", read: \"spikes\"), (name: \"first\", read: \"spikes[idx >= 12]\", reduce: Latency)],
            {experiment}))"
    );
    let (project, warnings) = read(&text).expect("a project");
    assert!(warnings.is_empty(), "{warnings:?}");
    project
}

fn setting(threads: usize) -> Setting {
    Setting {
        device: Device::Cpu { threads },
        device_name: "CPU".to_owned(),
        threads: threads as u32,
        ignores_memory: false,
        check_silent: 0,
        command: String::new(),
    }
}

fn run_in(
    path: &Path,
    project: &Project,
    shard: Shard,
    setting: &Setting,
) -> Result<(ExperimentFolder, Table, Counters), SimError> {
    let (progress, counters) = (Progress::default(), Counters::default());
    let started = begin(project, Path::new("."), path, shard, setting, &progress)?;
    let (folder, table) = started.run(setting, &counters, &progress)?;
    Ok((folder, table, counters))
}

fn files(path: &Path) -> [Vec<u8>; 2] {
    [RESULTS, super::super::folder::RESULTS_PARQUET].map(|name| std::fs::read(path.join(name)).expect("a file"))
}

const CONDITIONS: &str = r#"seeds: "1..3", conditions: [
    Values((path: "interventions.drive.rate_hz", values: "100, 300")),
    Condition((name: "off", changes: [Off("drive")])),
    Condition((name: "again", seeds: "2, 7, 8")),
    Condition((name: "denser", changes: [Set("network.in_degree", "9")])),
    SilenceEach((query: "idx < 4 or idx > 55"))]"#;

#[test]
fn results_do_not_depend_on_workers_or_shards() {
    let temp = TempFolder::new("experiment");
    let project = project(CONDITIONS);
    let (folder, table, counters) =
        run_in(&temp.join("whole"), &project, Shard::default(), &setting(1)).expect("an experiment");
    assert_eq!(folder.manifest.status, Status::Complete);
    assert_eq!((table.trials.len(), table.n_failed()), (3 * 14, 0));
    assert!(Counters::read(&counters.n_same) > 0, "some silenced neurons have no spikes");
    let whole = files(&temp.join("whole"));
    run_in(&temp.join("three"), &project, Shard::default(), &setting(3)).expect("an experiment");
    assert!(files(&temp.join("three")) == whole, "three workers");
    let parts: Vec<PathBuf> = (1..=4).map(|part| temp.join(format!("part{part}"))).collect();
    for (part, path) in (1..=4).zip(&parts) {
        run_in(path, &project, Shard { part, of: 4 }, &setting(2)).expect("a part");
    }
    let lacking = merge::merge(&parts[1..], &temp.join("lacking")).expect_err("a part is missing");
    assert!(lacking.to_string().contains("11 trials of 42 are missing: parts 1/4"), "{lacking}");
    merge::merge(&parts, &temp.join("merged")).expect("all parts");
    assert!(files(&temp.join("merged")) == whole, "four parts");
    let twice = merge::merge(&[parts.clone(), vec![parts[0].clone()]].concat(), &temp.join("twice"));
    assert!(twice.expect_err("a part twice").to_string().contains("another part has the trial of"));
    // A trial alone, on a build of its own.
    for (condition, seed) in
        [("control", 2), ("rate_hz 300 Hz", 3), ("off", 1), ("again", 8), ("denser", 2), ("silence #57", 1)]
    {
        let done = repeat(&folder, condition, seed, &setting(1), &Progress::default()).expect("a trial");
        assert!(done.is_identical(), "{condition}, seed {seed}: {done:?}");
    }
}

#[test]
fn equal_seeds_give_equal_trials_and_silent_elements_change_nothing() {
    let temp = TempFolder::new("experiment");
    let inferred = project(CONDITIONS);
    let (folder, table, counters) =
        run_in(&temp.join("inferred"), &inferred, Shard::default(), &Setting { check_silent: 100, ..setting(2) })
            .expect("an experiment");
    assert_eq!(Counters::read(&counters.n_checked), Counters::read(&counters.n_same));
    assert_eq!(table.trials[&(folder.plan.find("again").expect("a condition"), 2)], table.trials[&(0, 2)]);
    let mut all = inferred;
    all.experiment.as_mut().expect("an experiment").infer_silent = false;
    let (_, run, counters) = run_in(&temp.join("run"), &all, Shard::default(), &setting(2)).expect("an experiment");
    assert_eq!(Counters::read(&counters.n_same), 0);
    for (key, trial) in &table.trials {
        let other = &run.trials[key];
        assert_eq!((&trial.values, &trial.hash), (&other.values, &other.hash), "{key:?}");
    }
    assert!(table.trials[&(3, 1)].values[1].is_none(), "without input no neuron fires, so there is no latency");
}

#[test]
fn recorded_trials_are_runs_with_the_same_results() {
    let temp = TempFolder::new("experiment");
    let conditions = r#"seeds: "4..5", conditions: [Condition((name: "off", changes: [Off("drive")]))]"#;
    let (_, alone, _) =
        run_in(&temp.join("alone"), &project(conditions), Shard::default(), &setting(2)).expect("an experiment");
    let recorded = project(&format!("{conditions}, record: EveryTrial"));
    let (folder, table, _) =
        run_in(&temp.join("recorded"), &recorded, Shard::default(), &setting(2)).expect("an experiment");
    assert_eq!(table.trials, alone.trials);
    for ((condition, seed), trial) in &table.trials {
        let run = RunFolder::open(&folder.trial_folder(*condition, *seed)).expect("a run");
        assert_eq!((run.manifest.seed, run.manifest.setup_seed, run.is_complete()), (*seed, 1, true));
        assert_eq!(run.manifest.digest.hash, trial.hash);
        let rate = run.spikes().expect("spikes").len() as f64 / 60.0 / 0.02;
        assert!((trial.values[0].expect("a rate") - rate).abs() < 1e-9);
    }
}

#[test]
fn a_failing_condition_is_reported_and_the_others_run() {
    let temp = TempFolder::new("experiment");
    let conditions = r#"seeds: "1..2", conditions: [
        Condition((name: "bad target", changes: [Target("drive", "class = none")])),
        Condition((name: "bad build", changes: [Set("network.source", "Files")])),
        Condition((name: "good", changes: [Off("drive")]))]"#;
    let project = project(conditions);
    let path = temp.join("failing");
    let (folder, table, _) = run_in(&path, &project, Shard::default(), &setting(1)).expect("an experiment");
    assert_eq!((folder.manifest.status, table.n_failed()), (Status::Complete, 4));
    let read = ExperimentFolder::open(&path).and_then(|folder| folder.table()).expect("the table");
    assert_eq!(read, table);
    let why = |condition| table.trials[&(condition, 1)].state.to_string();
    assert!(why(1).contains("`class`"), "{}", why(1));
    assert!(why(2).contains("network.path"), "{}", why(2));
    assert_eq!(why(3), "run");
    // Failed trials run again.
    let counters = Counters::default();
    let again = resume(&path, &setting(1), &Progress::default()).expect("an experiment");
    let (_, again) = again.run(&setting(1), &counters, &Progress::default()).expect("an experiment");
    assert_eq!((again, Counters::read(&counters.n_failed)), (table, 4));
}

#[test]
fn a_cancelled_experiment_continues() {
    let temp = TempFolder::new("experiment");
    let project = project(CONDITIONS);
    run_in(&temp.join("whole"), &project, Shard::default(), &setting(1)).expect("an experiment");
    let (path, setting) = (temp.join("cancelled"), setting(1));
    let progress = Progress::default();
    let mut started = begin(&project, Path::new("."), &path, Shard::default(), &setting, &progress).expect("it begins");
    assert!(resume(&path, &setting, &progress).is_err(), "the folder is locked");
    let mut n_parts = 0;
    loop {
        let (progress, counters) = (Progress::default(), Counters::default());
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| started.run(&setting, &counters, &progress));
            let before = loop {
                let done = Counters::read(&counters.n_done);
                if run.is_finished() || done >= 8 * (n_parts + 1) {
                    break Instant::now();
                }
                std::thread::yield_now();
            };
            progress.cancel();
            let ended = run.join().expect("no panic");
            assert!(before.elapsed().as_secs() < 5);
            ended
        });
        n_parts += 1;
        match ended {
            Ok(_) => break,
            Err(SimError::Cancelled) => {}
            Err(error) => panic!("{error}"),
        }
        let folder = ExperimentFolder::open(&path).expect("a folder");
        assert_eq!(folder.manifest.status, Status::Interrupted);
        assert!(!folder.table().expect("a table").trials.is_empty());
        started = resume(&path, &setting, &Progress::default()).expect("it continues");
    }
    assert!(n_parts > 1, "it was cancelled");
    assert!(files(&path) == files(&temp.join("whole")));
}

/// 1,000 pairs of conditions without changes, each with five seeds of its own: 5 % of the tests have p below 0.05.
#[test]
fn unchanged_conditions_differ_in_one_of_twenty_tests() {
    let temp = TempFolder::new("experiment");
    let mut project = project(r#"seeds: "1..10000""#);
    project.run.duration_ms = 10.0;
    let (_, table, _) = run_in(&temp.join("out"), &project, Shard::default(), &setting(2)).expect("an experiment");
    let rates = &table.by_measure()[0][0];
    let group = |first: u64| rates.range(first..first + 5).map(|(seed, value)| (*seed, *value)).collect();
    let p = |i: u64| crate::experiment::statistics::compare(&group(10 * i + 1), &group(10 * i + 6)).and_then(|c| c.p);
    let below = (0..1000).filter_map(p).filter(|p| *p < 0.05).count();
    assert!((35..=65).contains(&below), "{below} of 1,000");
    let same = crate::experiment::statistics::compare(&group(1), &group(1)).expect("pairs");
    assert_eq!((same.difference, same.p), (0.0, None), "equal seeds give equal trials");
}

#[test]
fn null_wirings_are_conditions_with_builds_of_their_own() {
    let temp = TempFolder::new("experiment-rewired");
    let conditions = r#"seeds: "1..2", conditions: [
        Values((path: "network.rewire", values: "Original, DegreePreserving, WeightsShuffled, SignsShuffled, Random"))]"#;
    let mut project = project(conditions);
    // Weights that differ, and that make neurons without drive spike.
    for text in ["network.in_degree=20", "network.excitatory_count=uniform(20, 90)"] {
        project.set(text, Path::new(".")).expect(text);
    }
    let (folder, table, _) = run_in(&temp.join("one"), &project, Shard::default(), &setting(1)).expect("an experiment");
    run_in(&temp.join("three"), &project, Shard::default(), &setting(3)).expect("an experiment");
    assert!(files(&temp.join("three")) == files(&temp.join("one")), "three workers");
    let hashes: Vec<&String> = (0..folder.plan.conditions.len()).map(|at| &table.trials[&(at, 2)].hash).collect();
    assert_eq!((hashes.len(), table.n_failed()), (6, 0));
    let distinct: std::collections::BTreeSet<&String> = hashes.iter().copied().collect();
    assert_eq!(distinct.len(), 5, "the original is the control: {hashes:?}");
    for condition in &folder.plan.conditions {
        let done = repeat(&folder, &condition.name, 2, &setting(1), &Progress::default()).expect("a trial");
        assert!(done.is_identical(), "{}: {done:?}", condition.name);
    }
}

/// Simulation that cancels its experiment in the third batch.
struct Cancelling {
    sim: Box<dyn Simulation>,
    progress: Arc<Progress>,
    stop: StopFlag,
    n_batches: Arc<AtomicUsize>,
    /// Whether the batch in progress was asked to stop.
    is_stopped: Arc<AtomicBool>,
}

impl Simulation for Cancelling {
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
        self.sim.set(change)
    }
    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.sim.act(action)
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sim.tap(taps)
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.sim.advance(steps, pass)?;
        if self.n_batches.fetch_add(1, Ordering::SeqCst) == 2 {
            self.progress.cancel();
            self.stop.raise();
            self.is_stopped.store(pass.is_stopping(), Ordering::SeqCst);
        }
        Ok(())
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
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        self.sim.restart(seed)
    }
    fn digest(&self, trial: u32) -> Digest {
        self.sim.digest(trial)
    }
    fn memory(&self) -> MemoryReport {
        self.sim.memory()
    }
}

#[test]
fn a_cancelled_trial_ends_with_the_batch_in_progress() {
    let project = project("conditions: []");
    let (setting, progress, counters) = (setting(1), Arc::new(Progress::default()), Counters::default());
    let (build, sim) = Build::new(&project, Path::new("."), &setting, &progress).expect("a build");
    let (stop, n_batches, is_stopped) = (StopFlag::default(), Arc::default(), Arc::default());
    let (counted, seen) = (Arc::clone(&n_batches), Arc::clone(&is_stopped));
    let cancelling = Cancelling { sim, progress: progress.clone(), stop: stop.clone(), n_batches, is_stopped };
    let recording = Recording { base: Path::new("."), device: "CPU", threads: 1, command: "" };
    let mut worker = Worker::new(&build, setting.device.clone(), &counters, &progress, stop, recording);
    worker.keep(Box::new(TrialSet::new(vec![Box::new(cancelling)], &[], 1)));
    let ended = worker.run(&Trial { project: &project, seed: 1, finds_active: false, folder: None });
    assert!(matches!(ended, Err(SimError::Cancelled)), "it was cancelled");
    assert_eq!(counted.load(Ordering::SeqCst), 3, "no batch begins after the request");
    assert!(seen.load(Ordering::SeqCst), "a step in progress is asked to stop");
    assert!(Counters::read(&counters.n_steps) <= 3, "the first batches are of one and at most two steps");
}
