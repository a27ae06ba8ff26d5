//! Safety recordings: what the program keeps of a run that is not recorded, and how a recording begins with it.

use crate::fake;
use neuropil::{
    engine::{Command, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart, SafetyPlan, Sink},
    params::path::parse,
    project::{
        OwnedRunStart, Project, RunFolder, RunWriter, SafetyWriter, Status, move_run,
        replay::{ReplayResult, replay},
        safety_taps,
    },
    sim::{Device, Frame, ProbeId, ProbeSpec, Progress, Simulation, Tap},
};
use neuropil_test_support::{PATIENCE, temp::TempFolder};
use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const LIMIT: u64 = 256_000_000;

/// An engine whose simulation is kept from step 0 on.
struct Kept {
    engine: Engine,
    project: Project,
    probes: &'static [ProbeSpec],
    sets: Vec<Arc<neuropil::sim::ElementSet>>,
    taps: Vec<Tap>,
    temp: TempFolder,
}

fn network() -> Project {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project = neuropil::project::open(&path).unwrap().0;
    for set in ["network.n_neurons=400", "network.in_degree=40", "measure.rate_bin_ms=5", "measure.group_by=none"] {
        project.set(set, Path::new(".")).unwrap();
    }
    project.record = vec!["class_rates".to_owned(), "spikes".to_owned()];
    project
}

fn build(project: &Project) -> Box<dyn Simulation> {
    let context = project.build_context(Path::new("."));
    project.model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default()).unwrap()
}

impl Kept {
    fn new(name: &str, sim: Box<dyn Simulation>, project: Project, taps: Vec<Tap>, plan: SafetyPlan) -> Self {
        let engine = Engine::spawn(|| {}).unwrap();
        let (probes, sets) = (sim.probes(), sim.sets().to_vec());
        engine.send(Command::Load(sim));
        engine.send(Command::Batch(Some(50)));
        let kept = Self { engine, project, probes, sets, taps, temp: TempFolder::new(name) };
        kept.keep("kept", plan, LIMIT);
        kept
    }

    /// Keeps the rates of a small network, not its spikes.
    fn network(name: &str) -> Self {
        let project = network();
        let sim = build(&project);
        let taps = safety_taps(project.taps().0, sim.probes());
        assert_eq!(
            taps.iter().map(|tap| sim.probes()[usize::from(tap.probe)].name).collect::<Vec<_>>(),
            ["class_rates"]
        );
        Self::new(name, sim, project, taps, at_once())
    }

    fn keep(&self, folder: &str, plan: SafetyPlan, limit: u64) {
        let writer = SafetyWriter::new(self.temp.join(folder), self.start(), limit);
        self.engine.send(Command::RecordSafety(SafetyPlan { taps: self.taps.clone(), ..plan }, Box::new(writer)));
    }

    fn start(&self) -> OwnedRunStart {
        OwnedRunStart {
            project: self.project.clone(),
            base: ".".into(),
            taps: self.taps.clone(),
            probes: self.probes,
            sets: self.sets.clone(),
            device: "CPU".into(),
            threads: 1,
            origin: None,
        }
    }

    fn wait<T>(&self, wanted: impl Fn(Event) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.engine.events.recv_timeout(PATIENCE).expect("an event in time")) {
                return found;
            }
        }
    }

    fn run_to(&self, step: u64) {
        self.engine.send(Command::RunTo(step));
        self.wait(|e| matches!(e, Event::Running(false, clock) if clock.step == step).then_some(()));
    }

    /// Runs on until the safety recording is closed. Returns why, and the step.
    fn run_until_closed(&self, from: u64) -> (String, u64) {
        for step in (from + 50..).step_by(50) {
            self.engine.send(Command::RunTo(step));
            let why = self.wait(|e| match e {
                Event::SafetyClosed(end) => Some(format!("{:?}", end.status)),
                Event::Running(false, _) => Some(String::new()),
                _ => None,
            });
            if !why.is_empty() {
                self.run_to(step + 50); // the simulation continues
                return (why, step + 50);
            }
        }
        unreachable!()
    }

    /// Records these taps into `run` with the kept beginning, up to a step.
    fn record_to(&self, taps: &[Tap], step: u64, with_state: bool) -> RunFolder {
        let mut taps = taps.to_vec();
        RunWriter::join_taps(&mut taps, &self.taps);
        let start = OwnedRunStart { taps: taps.clone(), ..self.start() };
        let writer = start.create(&self.temp.join("run")).unwrap().with_beginning(Some(self.temp.join("kept")));
        let writer = if with_state { writer.with_final_state() } else { writer };
        self.engine.send(Command::Record(taps, Box::new(writer)));
        self.run_to(step);
        self.engine.send(Command::StopRecording);
        self.wait(|e| match e {
            Event::Recorded(_) => Some(()),
            Event::RecordingFailed(why, _) => panic!("{why}"),
            _ => None,
        });
        RunFolder::open(&self.temp.join("run")).unwrap()
    }
}

/// Written and saved at once, not only when much would be lost.
fn at_once() -> SafetyPlan {
    SafetyPlan { max_state_bytes: LIMIT, ..SafetyPlan::default() }
}

/// A destination whose data take long to be removed.
struct SlowDisk(Arc<AtomicBool>);

impl Sink for SlowDisk {
    fn begin(&mut self, _: &RecordingStart) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &Frame) -> io::Result<()> {
        Ok(())
    }

    fn log(&mut self, _: u64, _: &LoggedCommand) -> io::Result<()> {
        Ok(())
    }

    fn lanes_changed(&mut self, _: u64, _: ProbeId, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn discard(self: Box<Self>) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(300));
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn finish(self: Box<Self>, _: &RecordingEnd) -> io::Result<()> {
        Ok(())
    }
}

/// A window that is closed at once after a new project leaves nothing that would be offered at the next start.
#[test]
fn the_engine_ends_when_discarded_data_are_removed() {
    let kept = Kept::network("kept-removed");
    let is_removed = Arc::new(AtomicBool::new(false));
    let plan = SafetyPlan { taps: kept.taps.clone(), ..at_once() };
    kept.engine.send(Command::RecordSafety(plan, Box::new(SlowDisk(is_removed.clone()))));
    kept.run_to(100);
    kept.engine.send(Command::DiscardSafety);
    drop(kept);
    assert!(is_removed.load(Ordering::Relaxed));
}

/// Waits for what another thread does.
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let end = std::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn replayed(run: &RunFolder) -> ReplayResult {
    replay(run, &mut *build(&run.project().unwrap()), &Progress::default()).unwrap()
}

#[test]
fn a_recording_begins_with_what_was_kept_from_step_0() {
    let kept = Kept::network("beginning");
    kept.run_to(300);
    let change = parse(kept.project.model.params(), "lif.w_syn=0.4").unwrap();
    kept.engine.send(Command::Set(change));
    kept.run_to(400);
    std::thread::sleep(Duration::from_millis(60)); // a pause is not computing time
    let run = kept.record_to(&kept.project.taps().0, 600, false);
    assert_eq!((run.manifest.first_step, run.manifest.last_step, &run.manifest.status), (0, 600, &Status::Complete));
    let stream = |probe: &str| run.manifest.streams.iter().find(|s| s.probe == probe).expect("recorded");
    let rates = run.rows(stream("class_rates")).unwrap().steps;
    assert!(rates.first() < Some(&100) && rates.last() > Some(&500), "{rates:?}");
    assert!(rates.windows(2).all(|w| w[1] - w[0] == w[1].min(rates[1] - rates[0])), "no gap: {rates:?}");
    assert_eq!((stream("class_rates").from_step, stream("spikes").from_step), (0, 400));
    assert_eq!(run.commands().unwrap().iter().map(|(step, _)| *step).collect::<Vec<_>>(), [300]);
    assert!(matches!(replayed(&run), ReplayResult::Identical { .. }), "{:?}", replayed(&run));
    assert!(!kept.temp.join("kept").exists(), "the run has its data");
    let (computed, wall) = (run.manifest.computed_s, run.manifest.wall_s);
    assert!(computed > 0.0 && wall - computed >= 0.06, "{computed} s of computing in {wall} s");
}

/// A paused simulation may never send another block, and may end by a crash.
#[test]
fn the_state_of_a_paused_run_is_listed() {
    let kept = Kept::network("paused");
    kept.run_to(50);
    kept.run_to(100);
    let open = || RunFolder::open(&kept.temp.join("kept"));
    soon("the state is listed", || open().is_ok_and(|run| run.manifest.checkpoints.iter().any(|c| c.step == 100)));
}

/// "Keep as run": the data so far and the last state, without a further step.
#[test]
fn a_run_that_was_not_recorded_is_kept_with_its_last_state() {
    let kept = Kept::network("last");
    kept.run_to(450);
    let run = kept.record_to(&[], 450, true);
    assert_eq!((run.manifest.first_step, run.manifest.last_step), (0, 450));
    assert_eq!(run.manifest.streams.iter().map(|s| &*s.probe).collect::<Vec<_>>(), ["class_rates"]);
    assert!(matches!(replayed(&run), ReplayResult::Identical { .. }));
    let from = run.continuation(None, &Progress::default()).unwrap();
    assert_eq!(from.info.step, 450, "it can be resumed where it was");
    let mut again = build(&from.now);
    again.load(&from.snapshot).unwrap();
    assert_eq!(again.clock().step, 450);
}

#[test]
fn what_is_lost_on_purpose_leaves_nothing() {
    for (name, command) in [("rewound", Command::Rewind), ("replaced", Command::Load(fake::boxed()))] {
        let kept = Kept::network(name);
        kept.run_to(300);
        soon("it is written", || kept.temp.join("kept/run.ron").exists());
        kept.engine.send(command);
        kept.engine.send(Command::Digest);
        kept.wait(|e| matches!(e, Event::Digest(..)).then_some(()));
        let temp = kept.temp;
        drop(kept.engine); // waits for its threads
        soon(name, || !temp.join("kept").exists());
    }
    let kept = Kept::network("quit");
    kept.run_to(100);
    drop(kept.engine);
    assert!(!kept.temp.join("kept").exists(), "a clean end leaves nothing");
}

#[test]
fn a_short_run_touches_no_disk_and_a_recording_has_its_beginning_all_the_same() {
    let kept = Kept::network("short");
    kept.keep("kept", SafetyPlan { write_after: Duration::from_secs(3600), ..at_once() }, LIMIT);
    kept.run_to(200);
    assert!(!kept.temp.join("kept/streams").exists() && !kept.temp.join("kept/run.ron").exists());
    let run = kept.record_to(&kept.project.taps().0, 300, false);
    assert_eq!(run.manifest.first_step, 0);
    assert!(matches!(replayed(&run), ReplayResult::Identical { .. }));
}

/// The disk stops the safety recording only: the simulation continues, and a recording too.
#[test]
fn a_full_disk_stops_the_safety_recording_only() {
    let kept = Kept::network("full");
    kept.keep("small", at_once(), 1);
    let (why, step) = kept.run_until_closed(0);
    assert!(why.contains("limit of 0 MB"), "{why}");
    std::fs::write(kept.temp.join("file"), "").unwrap();
    kept.keep("file/below", at_once(), LIMIT);
    let (_, step) = kept.run_until_closed(step);
    let run = kept.record_to(&kept.project.taps().0, step + 100, false);
    assert_eq!((run.manifest.first_step, run.manifest.last_step), (step, step + 100));
    assert!(matches!(replayed(&run), ReplayResult::Identical { .. }));
}

/// A window that crashes leaves a run that is read, moved among the others and continued.
#[test]
fn a_crash_leaves_a_run_that_can_be_kept() {
    let mut sim = fake::new();
    sim.panics_at = 400;
    let v = Tap { probe: 1 as ProbeId, elements: vec![1, 2], ..Tap::default() };
    let kept = Kept::new("crash", Box::new(sim), Project::default(), vec![v], at_once());
    kept.run_to(300);
    let folder = kept.temp.join("kept");
    // The state is saved after the first batch of a run that is written, on a thread, and listed with a later one.
    let is_listed = || RunFolder::open(&folder).is_ok_and(|run| !run.manifest.checkpoints.is_empty());
    for step in 350..399 {
        kept.run_to(step);
        if is_listed() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    kept.engine.send(Command::RunTo(600));
    kept.wait(|e| matches!(e, Event::Failed(_)).then_some(()));
    while !kept.engine.is_gone() {
        std::thread::yield_now();
    }
    let end = std::time::Instant::now() + PATIENCE;
    let run = loop {
        let run = RunFolder::open(&folder).unwrap();
        if run.manifest.status != Status::Running || std::time::Instant::now() > end {
            break run;
        }
    };
    assert!(run.manifest.last_step >= 350 && run.manifest.first_step == 0, "{:?}", run.manifest);
    assert!(!run.manifest.checkpoints.is_empty(), "a state to continue from");
    let runs = kept.temp.join("runs");
    let moved = move_run(&folder, &runs, "Crashed run").unwrap();
    assert_eq!(moved, runs.join("0001-crashed-run"));
    assert_eq!(RunFolder::open(&moved).unwrap().manifest.last_step, run.manifest.last_step);
    assert!(!folder.exists());
}
