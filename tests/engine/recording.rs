//! Recordings of real simulations: the engine starts the log, and every end leaves a run that replays.

use neuropil::{
    engine::{
        Checkpoint, CheckpointPlan, Command, EndStatus, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart,
        Scheduled, Sink,
    },
    params::path::parse,
    project::{
        LockedRun, Project, RunFolder, RunStart, RunWriter, Status,
        replay::{ReplayResult, replay},
    },
    sim::{Device, Frame, ProbeId, Progress, Simulation, Tap},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

/// A run writer that waits before it begins, and fails at a block.
struct Gate {
    writer: Box<RunWriter>,
    begun: Sender<()>,
    may_begin: Receiver<()>,
    blocks: usize,
    fails_at: usize,
}

impl Sink for Gate {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        self.begun.send(()).ok();
        self.may_begin.recv().ok();
        self.writer.begin(start)
    }
    fn write(&mut self, block: &Frame) -> io::Result<()> {
        self.blocks += 1;
        if self.blocks > self.fails_at {
            return Err(io::Error::other("no space left on device"));
        }
        self.writer.write(block)
    }
    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        self.writer.log(step, what)
    }
    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()> {
        self.writer.lanes_changed(step, probe, lanes)
    }
    fn checkpoints(&self) -> CheckpointPlan {
        self.writer.checkpoints()
    }
    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.writer.checkpoint(checkpoint)
    }
    fn finish(self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        self.writer.finish(end)
    }
}

/// A small network that fires at once, recording its spikes and the rates of its classes.
fn small() -> Project {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project = neuropil::project::open(&path).unwrap().0;
    for set in ["network.n_neurons=400", "network.in_degree=40", "measure.rate_bin_ms=5", "measure.group_by=none"] {
        project.set(set, Path::new(".")).unwrap();
    }
    project
}

fn build(project: &Project) -> Box<dyn Simulation> {
    let context = project.build_context(Path::new("."));
    project.model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default()).unwrap()
}

fn taps(sim: &dyn Simulation) -> Vec<Tap> {
    let id = |name: &str| sim.probes().iter().position(|p| p.name == name).expect(name) as ProbeId;
    ["spikes", "class_rates"].map(|name| Tap::of(id(name))).to_vec()
}

struct Session {
    engine: Engine,
    folder: PathBuf,
    taps: Vec<Tap>,
    project: Project,
    sets: Vec<std::sync::Arc<neuropil::sim::ElementSet>>,
    _temp: TempFolder,
}

impl Session {
    fn new(name: &str) -> Self {
        let (temp, project) = (TempFolder::new(name), small());
        let sim = build(&project);
        let (taps, sets) = (taps(&*sim), sim.sets().to_vec());
        let engine = Engine::spawn(|| {}).unwrap();
        engine.send(Command::Load(sim));
        engine.send(Command::Batch(Some(50)));
        Self { engine, folder: temp.join("run"), taps, project, sets, _temp: temp }
    }

    fn writer(&self) -> Box<RunWriter> {
        Box::new(RunWriter::create(&self.folder, self.start()).unwrap())
    }

    fn start(&self) -> RunStart<'_> {
        RunStart {
            project: &self.project,
            base: Path::new("."),
            taps: self.taps.clone(),
            sets: &self.sets,
            device: "CPU".into(),
            threads: 1,
            command: String::new(),
            trial: None,
            trials: 0,
        }
    }

    fn wait(&self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.engine.events.recv_timeout(Duration::from_secs(60)).expect("an event in time");
            if wanted(&event) {
                return event;
            }
        }
    }

    fn run_to(&self, step: u64) {
        self.engine.send(Command::RunTo(step));
        self.wait(|e| matches!(e, Event::Running(false, clock) if clock.step == step));
    }

    fn set(&self, text: &str) {
        let change = parse(self.project.model.params(), text).unwrap();
        self.engine.send(Command::Set(change));
    }

    fn record(&self) {
        self.engine.send(Command::Record(self.taps.clone(), self.writer()));
    }

    fn stop(&self) -> RecordingEnd {
        self.engine.send(Command::StopRecording);
        match self.wait(|e| matches!(e, Event::Recorded(_) | Event::RecordingFailed(..))) {
            Event::Recorded(end) | Event::RecordingFailed(_, end) => end,
            _ => unreachable!(),
        }
    }

    /// The steps of the log; the run has to replay identically.
    fn replayed(&self) -> Vec<u64> {
        let run = RunFolder::open(&self.folder).unwrap();
        let mut sim = build(&run.project().unwrap());
        match replay(&run, &mut *sim, &Progress::default()).unwrap() {
            ReplayResult::Identical { .. } => {}
            ReplayResult::Differs(what) => panic!("the replay differs: {what}"),
        }
        run.commands().unwrap().iter().map(|(step, _)| *step).collect()
    }
}

#[test]
fn edits_before_the_first_recorded_step_are_in_the_log() {
    let session = Session::new("before");
    let writer = session.writer(); // the window's snapshot of the project
    session.run_to(150);
    session.set("lif.w_syn=0.4");
    session.engine.send(Command::Record(session.taps.clone(), writer));
    session.run_to(600);
    session.stop();
    assert_eq!(session.replayed(), [150]);
}

#[test]
fn an_edit_while_the_recorder_begins_is_in_the_log_at_its_step() {
    let session = Session::new("while");
    let (begun, is_begun) = channel();
    let (begin, may_begin) = channel();
    let sink = Gate { writer: session.writer(), begun, may_begin, blocks: 0, fails_at: usize::MAX };
    session.run_to(100);
    session.engine.send(Command::Record(session.taps.clone(), Box::new(sink)));
    is_begun.recv_timeout(Duration::from_secs(60)).unwrap();
    session.run_to(200); // the queue holds what is recorded meanwhile
    session.set("lif.tau_m=14");
    session.run_to(300);
    begin.send(()).unwrap();
    session.run_to(600);
    assert_eq!(session.stop().clock.step, 600);
    assert_eq!(session.replayed(), [200]);
    let run = RunFolder::open(&session.folder).unwrap();
    assert_eq!(run.manifest.first_step, 100);
}

#[test]
fn a_recording_after_a_rewind_starts_with_the_parameters_of_the_rewind() {
    let session = Session::new("rewind");
    session.run_to(100);
    session.set("lif.w_syn=0.4");
    session.engine.send(Command::Rewind);
    session.set("lif.tau_m=14"); // at step 0, after the rewind: a log entry
    session.run_to(50);
    session.record();
    session.set("lif.tau_m=15");
    session.run_to(600);
    session.stop();
    assert_eq!(session.replayed(), [0, 50]);
    let run = RunFolder::open(&session.folder).unwrap();
    let params = run.project().unwrap().model;
    let value = |path: &str| parse(params.params(), path).map(|c| params.params().get(c.id) == c.value).unwrap();
    assert!(value("lif.w_syn=0.4") && !value("lif.tau_m=14"));
}

#[test]
fn lanes_that_change_while_recording_start_a_new_segment() {
    let session = Session::new("lanes");
    session.engine.send(Command::Subscribe(session.taps.clone()));
    session.record();
    session.run_to(300);
    let current = build(&session.project).lanes(session.taps[1].probe);
    assert_eq!(current, ["all"]);
    let other = &session.sets[0].columns[0].name;
    session.set(&format!("measure.group_by={other}"));
    let Event::SchemaChanged(schema) = session.wait(|e| matches!(e, Event::SchemaChanged(_))) else { unreachable!() };
    assert_eq!((schema.generation, schema.since_step), (1, 300));
    assert!(session.engine.take_frames().all(|f| f.generation == 0), "older samples are published before");
    session.run_to(600);
    assert!(session.engine.take_frames().all(|f| f.generation == 1));
    assert_eq!(session.stop().status, EndStatus::Complete);
    assert_eq!(session.replayed(), [300]);
    let run = RunFolder::open(&session.folder).unwrap();
    let rates: Vec<_> = run.manifest.streams.iter().filter(|s| s.probe == "class_rates").collect();
    assert_eq!(rates.len(), 2, "{rates:?}");
    assert_eq!((rates[0].from_step, rates[1].from_step), (0, 300));
    assert_ne!(rates[0].file, rates[1].file);
    assert_eq!((&rates[0].lanes, &rates[1].lanes), (&current, &schema.lanes[usize::from(session.taps[1].probe)]));
    let steps: Vec<Vec<u64>> = rates.iter().map(|s| run.rows(s).unwrap().steps.clone()).collect();
    assert!(steps[0].iter().all(|s| *s <= 300) && !steps[0].is_empty(), "{steps:?}");
    assert!(steps[1].iter().all(|s| *s > 300) && !steps[1].is_empty(), "{steps:?}");
}

/// The hash and the number of spikes, and the edits in the order in which they were applied.
fn result_at(session: &Session, step: u64) -> (neuropil::sim::Digest, Vec<(u64, LoggedCommand)>) {
    let mut applied = vec![];
    session.engine.send(Command::RunTo(step));
    session.engine.send(Command::Digest);
    loop {
        match session.wait(|e| matches!(e, Event::Applied(..) | Event::Digest(..))) {
            Event::Applied(step, what) => applied.push((step, what)),
            Event::Digest(digest, clock) if clock.step == step => return (digest, applied),
            // The engine answers between two batches.
            _ => _ = session.engine.send(Command::Digest),
        }
    }
}

#[test]
fn scheduled_edits_repeat_the_run_that_they_are_from() {
    let session = Session::new("scheduled");
    let edits = ["lif.w_syn=0.4", "lif.tau_m=15"].map(|text| parse(session.project.model.params(), text).unwrap());
    let mut applied = vec![];
    for (change, until) in edits.iter().zip([130, 275]) {
        session.run_to(until);
        session.engine.send(Command::Set(change.clone()));
        applied.push((until, LoggedCommand::Set(change.clone())));
    }
    let (recorded, _) = result_at(&session, 500);

    session.engine.send(Command::Load(build(&session.project)));
    let commands = applied.iter().map(|(step, what)| (*step, Scheduled::Set(what.change().unwrap().clone())));
    session.engine.send(Command::Schedule(commands.collect()));
    let (repeated, again) = result_at(&session, 500);
    assert_eq!((repeated, again), (recorded.clone(), applied), "at the same steps, with the same result");

    session.engine.send(Command::Load(build(&session.project)));
    let (plain, none) = result_at(&session, 500);
    assert!(plain != recorded && none.is_empty(), "another simulation drops the schedule");
}

#[test]
fn an_interrupted_recording_says_so() {
    let session = Session::new("interrupted");
    session.record();
    session.run_to(120);
    session.engine.send(Command::InterruptRecording);
    session.wait(|e| matches!(e, Event::Recorded(end) if end.status == EndStatus::Interrupted));
    let run = RunFolder::open(&session.folder).unwrap();
    assert_eq!((&run.manifest.status, run.manifest.last_step), (&Status::Interrupted { step: 120 }, 120));
    session.replayed();
}

#[test]
fn a_failed_recording_keeps_what_was_written_and_its_digest() {
    let session = Session::new("failed");
    let (begun, _) = channel();
    let (begin, may_begin) = channel();
    begin.send(()).unwrap();
    let sink = Gate { writer: session.writer(), begun, may_begin, blocks: 0, fails_at: 4 };
    session.engine.send(Command::Record(session.taps.clone(), Box::new(sink)));
    session.engine.send(Command::RunTo(2000));
    let Event::RecordingFailed(_, end) = session.wait(|e| matches!(e, Event::RecordingFailed(..))) else {
        unreachable!()
    };
    session.wait(|e| matches!(e, Event::Running(false, clock) if clock.step == 2000));
    session.engine.send(Command::Digest);
    let Event::Digest(whole, clock) = session.wait(|e| matches!(e, Event::Digest(..))) else { unreachable!() };
    assert_eq!(clock.step, 2000, "the simulation continues, and its result is kept");
    let run = RunFolder::open(&session.folder).unwrap();
    assert!(matches!(&run.manifest.status, Status::Failed(why) if why.contains("no space")));
    assert_eq!((run.manifest.last_step, end.clock.step), (200, 200));
    assert!(!run.manifest.digest.hash.is_empty() && run.manifest.digest.hash != whole.hash);
    session.replayed();
}

/// A full disk ends the recording, not the run; when there is room again, the run is resumed from its last checkpoint
/// and ends as the one that was not interrupted.
#[test]
fn a_run_whose_disk_was_full_is_resumed_to_the_same_result() {
    let mut session = Session::new("full");
    (session.project.run.checkpoint_steps, session.project.run.keep_checkpoints) = (100, 0);
    let (begun, _) = channel();
    let (begin, may_begin) = channel();
    begin.send(()).unwrap();
    let sink = Gate { writer: session.writer(), begun, may_begin, blocks: 0, fails_at: 7 };
    session.engine.send(Command::Record(session.taps.clone(), Box::new(sink)));
    session.engine.send(Command::RunTo(120));
    session.wait(|e| matches!(e, Event::Running(false, clock) if clock.step == 120));
    session.set("lif.w_syn=0.4");
    session.engine.send(Command::RunTo(600));
    session.wait(|e| matches!(e, Event::RecordingFailed(..)));
    session.wait(|e| matches!(e, Event::Running(false, clock) if clock.step == 600));
    session.engine.send(Command::Digest);
    let Event::Digest(whole, _) = session.wait(|e| matches!(e, Event::Digest(..))) else { unreachable!() };

    let run = RunFolder::open(&session.folder).unwrap();
    assert!(
        matches!(&run.manifest.status, Status::Failed(why) if why.contains("no space")),
        "{:?}",
        run.manifest.status
    );
    assert_eq!(session.replayed(), [120], "what was written is valid");
    let verified = LockedRun::open(&session.folder).unwrap().verify(&Progress::default()).unwrap();
    let from = verified.from.clone();
    let step = from.info.step;
    assert!((100..=run.manifest.last_step).contains(&step), "{step}");
    let writer = RunWriter::resume(verified, &session.start()).unwrap();
    let mut sim = build(&from.now);
    sim.load(&from.snapshot).unwrap();
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Resume(sim, from.history));
    engine.send(Command::Batch(Some(50)));
    session.engine = engine;
    session.engine.send(Command::Record(session.taps.clone(), Box::new(writer)));
    session.run_to(600);
    assert_eq!(session.stop().digest, whole);
    let run = RunFolder::open(&session.folder).unwrap();
    assert_eq!((&run.manifest.status, run.manifest.first_step, run.manifest.last_step), (&Status::Complete, 0, 600));
    assert_eq!(session.replayed(), [120]);
}

#[test]
fn a_rejected_change_leaves_engine_and_project_equal() {
    let session = Session::new("rejected");
    let mut project = session.project.clone();
    // A new stimulus without a target is no change the engine can apply.
    let params = project.model.params_mut();
    let before = params.snapshot();
    let group = params.groups().iter().position(|g| g.name == "interventions").unwrap();
    params.push(group as u8);
    let change = params.changes_since(session.project.model.params()).remove(0);
    session.engine.send(Command::Set(change.clone()));
    let Event::Rejected { change: rejected, error } = session.wait(|e| matches!(e, Event::Rejected { .. })) else {
        unreachable!()
    };
    assert_eq!(rejected, Some(change));
    assert!(!error.to_string().contains("ParamId"), "{error}");
    assert_eq!(session.engine.params(), before);
}
