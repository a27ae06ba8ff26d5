//! A simulation with several trials shows one of them. Commands apply to all, and a recording contains all.

use neuropil::{
    engine::{Command, Engine, Event},
    kinds::Prepared,
    params::path,
    project::{Project, RunFolder, RunStart, SeriesWriter, read, replay},
    sim::{BuildContext, Device, Digest, Progress, Reading, Simulation, Spike, Tap, TrialChoice},
};
use neuropil_test_support::temp::TempFolder;
use std::{path::Path, sync::mpsc, time::Duration};

const PROJECT: &str = r#"(model: Spiking((network: (source: Balanced, n_neurons: 60, in_degree: 6),
    interventions: [(name: "drive", effect: Poisson, target: "idx < 12", rate_hz: 300.0)])))"#;
const HALF: u64 = 300;

/// Runs to a step and returns the spikes that the screen received.
fn spikes(engine: &Engine, wake: &mpsc::Receiver<()>, to: u64) -> Vec<Spike> {
    engine.send(Command::RunTo(to));
    let mut all = vec![];
    let mut is_paused = false;
    while !is_paused {
        wake.recv_timeout(Duration::from_secs(20)).expect("the engine is alive");
        while let Ok(event) = engine.events.try_recv() {
            is_paused |= matches!(event, Event::Running(false, clock) if clock.step == to);
        }
        if let Some(frame) = engine.take_frame() {
            assert!(frame.readings.iter().all(|(key, _)| *key == Tap::of(0).key()), "{:?}", frame.readings);
            for (_, reading) in frame.readings {
                let Reading::Spikes(spikes) = reading else { panic!("spikes") };
                all.extend(spikes);
            }
        }
    }
    all
}

#[test]
fn views_receive_the_spikes_of_the_chosen_trial() {
    let (project, _) = read(PROJECT).expect("a project");
    let device = Device::Cpu { threads: 1 };
    let prepared = project.model.prepare(&BuildContext::default(), &Progress::default()).expect("a network");
    let start = |seeds: &[u64]| {
        let trials: Vec<_> = seeds.iter().map(|seed| (*seed, &[][..])).collect();
        prepared.start_trials(&trials, &device, &Progress::default()).expect("a simulation")
    };
    let run = |sim, other: Option<u32>| {
        let (sender, wake) = mpsc::channel();
        let engine = Engine::spawn(move || {
            let _ = sender.send(());
        })
        .expect("an engine");
        engine.send(Command::Load(sim));
        engine.send(Command::Subscribe(vec![Tap::of(0)]));
        let first = spikes(&engine, &wake, HALF);
        if let Some(trial) = other {
            engine.send(Command::ShowTrial(trial));
        }
        (first, spikes(&engine, &wake, 2 * HALF))
    };
    let alone = [1, 2, 3].map(|seed| run(start(&[seed]), None));
    assert!(alone[0] != alone[2] && !alone[0].0.is_empty() && !alone[2].1.is_empty());
    let (first, second) = run(start(&[1, 2, 3]), Some(2));
    assert_eq!((first, second), (alone[0].0.clone(), alone[2].1.clone()));
    let (_, unchanged) = run(start(&[1, 2, 3]), Some(7));
    assert_eq!(unchanged, alone[0].1, "there is no such trial");
}

fn network(text: &str, settings: &[&str]) -> (Project, Box<dyn Prepared>) {
    let (mut project, _) = read(text).expect("a project");
    settings.iter().for_each(|setting| project.set(setting, Path::new(".")).expect(setting));
    let prepared = project.model.prepare(&BuildContext::default(), &Progress::default()).expect("a network");
    (project, prepared)
}

fn series(prepared: &dyn Prepared, n: u32) -> Box<dyn Simulation> {
    prepared.start_series(1, n, &Device::Cpu { threads: 1 }, &Progress::default()).expect("a simulation")
}

fn spawned() -> (Engine, mpsc::Receiver<()>) {
    let (sender, wake) = mpsc::channel();
    let engine = Engine::spawn(move || {
        let _ = sender.send(());
    });
    (engine.expect("an engine"), wake)
}

/// Waits for an event.
fn event<T>(engine: &Engine, wake: &mpsc::Receiver<()>, mut wanted: impl FnMut(Event) -> Option<T>) -> T {
    loop {
        while let Ok(event) = engine.events.try_recv() {
            if let Event::Rejected { error, .. } | Event::Failed(error) = &event {
                panic!("{error}");
            }
            if let Some(found) = wanted(event) {
                return found;
            }
        }
        wake.recv_timeout(Duration::from_secs(20)).expect("the engine is alive");
    }
}

fn run_to(engine: &Engine, wake: &mpsc::Receiver<()>, to: u64) -> Digest {
    engine.send(Command::RunTo(to));
    event(engine, wake, |event| matches!(event, Event::Running(false, clock) if clock.step == to).then_some(()));
    engine.send(Command::Digest);
    event(engine, wake, |event| if let Event::Digest(digest, _) = event { Some(digest) } else { None })
}

/// Edits at half of a run, saves, runs on, returns to the state, then to step 0. Returns the digests after each part.
fn edited(sim: Box<dyn Simulation>, project: &Project) -> Vec<Digest> {
    let (engine, wake) = spawned();
    engine.send(Command::Load(sim));
    let mut digests = vec![run_to(&engine, &wake, HALF)];
    let change = path::parse(project.model.params(), "interventions.0.rate_hz=700").expect("a change");
    engine.send(Command::Set(change));
    engine.send(Command::Save);
    let state = event(&engine, &wake, |event| if let Event::Saved(state) = event { Some(state) } else { None });
    digests.push(run_to(&engine, &wake, 2 * HALF));
    engine.send(Command::Restore(state));
    digests.push(run_to(&engine, &wake, 2 * HALF));
    engine.send(Command::Rewind);
    digests.push(run_to(&engine, &wake, HALF));
    digests
}

#[test]
fn edits_saved_states_and_rewinds_apply_to_all_trials() {
    let (project, prepared) = network(PROJECT, &[]);
    let together = edited(series(&*prepared, 3), &project);
    assert!(together.iter().all(|digest| digest.trials.len() == 3));
    for k in 0..3 {
        let alone = prepared.start(1 + k, &Device::Cpu { threads: 1 }).expect("a simulation");
        let own: Vec<Digest> = together.iter().map(|digest| digest.trials[k as usize].clone()).collect();
        assert_eq!(own, edited(alone, &project), "trial {k}");
    }
    assert_eq!(together[1], together[2], "a restored state continues equally");
    assert!(together[0] != together[3], "the edit holds after a rewind");
}

/// Prepares the folder of a series of three trials. Returns its sink.
fn sink(folder: &Path, project: &Project, sim: &dyn Simulation) -> Box<SeriesWriter> {
    let start = RunStart {
        project,
        base: Path::new("."),
        taps: project.taps().0,
        sets: sim.sets(),
        device: "CPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 3,
    };
    Box::new(SeriesWriter::create(folder, &start, sim.probes()).expect("a series"))
}

fn of_all_trials(project: &Project) -> Vec<Tap> {
    project.taps().0.into_iter().map(|tap| Tap { trial: TrialChoice::All, ..tap }).collect()
}

/// Records three trials of a project with an edit at half of the run, while the last trial is shown.
fn record(folder: &Path, (text, settings): (&str, &[&str]), edit: &str, half: u64) -> Vec<RunFolder> {
    let (project, prepared) = network(text, settings);
    let sim = series(&*prepared, 3);
    let writer = sink(folder, &project, &*sim);
    let (engine, wake) = spawned();
    engine.send(Command::Load(sim));
    engine.send(Command::Subscribe(project.taps().0));
    engine.send(Command::Record(of_all_trials(&project), writer));
    run_to(&engine, &wake, half);
    engine.send(Command::ShowTrial(2));
    engine.send(Command::Set(path::parse(project.model.params(), edit).expect("a change")));
    run_to(&engine, &wake, 2 * half);
    engine.send(Command::StopRecording);
    let end = event(&engine, &wake, |event| match event {
        Event::Recorded(end) => Some(end),
        Event::RecordingFailed(error, _) => panic!("{error}"),
        _ => None,
    });
    let run = RunFolder::open(folder).expect("a run");
    assert_eq!((run.manifest.trials, run.manifest.last_step, run.is_complete()), (3, 2 * half, true));
    assert_eq!((&run.manifest.digest.hash, run.project().expect("a project").run.trials), (&end.digest.hash, 3));
    let trials = run.trials().expect("trials");
    for (k, trial) in trials.iter().enumerate() {
        assert!(trial.is_complete() && trial.notes.is_empty(), "{:?}", trial.notes);
        assert_eq!((trial.manifest.seed, trial.manifest.setup_seed), (project.seed + k as u64, project.seed));
        assert_eq!(trial.manifest.digest.hash, end.digest.trials[k].hash);
        let own = trial.project().expect("a project");
        assert_eq!(own.run.trials, 1, "a trial is a run of its own");
        let mut alone = prepared.start(trial.manifest.seed, &Device::Cpu { threads: 1 }).expect("a simulation");
        let verdict = replay::replay_on(trial, &mut *alone, "CPU", &Progress::default()).expect("a verdict");
        assert!(matches!(verdict, replay::ReplayResult::Identical { .. }), "trial {k}: {}", verdict.text());
    }
    trials
}

#[test]
fn a_recorded_series_replays_trial_by_trial() {
    let folder = TempFolder::new("series");
    let text = PROJECT.replace("(model", "(record: [\"spikes\", \"v[0, 5]\"], model");
    let trials = record(&folder.join("balanced"), (&text, &[]), "interventions.0.rate_hz=700", HALF);
    let spikes: Vec<Vec<Spike>> = trials.iter().map(|trial| trial.spikes().expect("spikes")).collect();
    assert!(!spikes[0].is_empty() && spikes[0] != spikes[1] && spikes[1] != spikes[2]);
    let rates = std::fs::read_to_string(folder.join("balanced/rates.csv")).expect("rates");
    assert!(rates.starts_with("idx,rate_hz,std_hz\n") && rates.lines().count() > 2, "{rates}");
}

#[test]
fn every_kind_records_series() {
    let folder = TempFolder::new("series of kinds");
    let nuclei = r#"(record: ["fitness", "deaths", "lineage"], model: Nuclei(()))"#;
    record(&folder.join("nuclei"), (nuclei, &["population.capacity=300"]), "phases.noise=0.3", 20);
    let nano = r#"(record: ["loss", "samples"], model: Transformer(()))"#;
    let small = [
        "model.layers=1",
        "model.heads=2",
        "model.width=16",
        "model.context=16",
        "training.batch=2",
        "training.micro_batches=1",
        "data.grammar_bytes=10000",
        "measure.held_out_every=20",
        "measure.sample_every=5",
        "measure.length=20",
    ];
    record(&folder.join("nano"), (nano, &small), "training.learning_rate=0.01", 10);
}

#[cfg(feature = "demo")]
#[test]
fn a_series_ends_when_its_trials_have_other_elements() {
    let folder = TempFolder::new("other elements");
    let settings = ["growth.split_every=200", "experts.initial_weight=normal(0, 0.1)"];
    let (project, prepared) = network(r#"(record: ["loss"], model: Demo(()))"#, &settings);
    let sim = series(&*prepared, 3);
    let writer = sink(&folder.join("demo"), &project, &*sim);
    let (engine, wake) = spawned();
    engine.send(Command::Load(sim));
    engine.send(Command::Record(of_all_trials(&project), writer));
    engine.send(Command::RunTo(3000));
    let (why, end) = event(&engine, &wake, |event| match event {
        Event::RecordingFailed(error, end) => Some((error.to_string(), end)),
        Event::Recorded(_) => panic!("the trials have split other experts"),
        _ => None,
    });
    assert!(why.contains("`neuropil run --trials`"), "{why}");
    let run = RunFolder::open(&folder.join("demo")).expect("a run");
    assert_eq!(run.manifest.last_step, end.clock.step);
    assert!(matches!(run.manifest.status, neuropil::project::Status::Failed(_)));
}

#[cfg(all(feature = "demo", target_os = "linux"))]
#[test]
fn trials_beyond_the_memory_are_refused_with_the_way_out() {
    let (_, prepared) = network("(model: Demo(()))", &["experts.weights_mib=1024"]);
    let refused = prepared.start_series(1, 9_999, &Device::Cpu { threads: 1 }, &Progress::default());
    let Err(error) = refused else { panic!("10 TB") };
    let why = error.to_string();
    assert!(why.starts_with("9999 trials: needs about 107") && why.ends_with("need less: run.trials"), "{why}");
}
