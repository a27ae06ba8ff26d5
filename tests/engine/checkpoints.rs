//! Checkpoints: what they contain, how they are written, and how a run continues from one.

use crate::fake;
use fake::Fake;
use neuropil::{
    engine::{Checkpoint, Command, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    gpu::Pass,
    kinds::Model,
    project::{Project, RunFolder, RunStart, RunWriter, Status},
    sim::{
        Answer, BuildContext, Device, Frame, ProbeId, Progress, Request, SimError, Simulation, Tap,
        request::AnswerShape,
    },
};
use neuropil_test_support::{PATIENCE, temp::TempFolder};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn engine(sim: Box<dyn Simulation>) -> Engine {
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(sim));
    wait(&engine, |e| matches!(e, Event::Loaded(_)).then_some(()));
    engine
}

/// Waits for an event: soon, also on a machine with other work.
fn wait<T>(engine: &Engine, wanted: impl Fn(Event) -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Ok(event) = engine.events.recv_timeout(Duration::from_millis(100))
            && let Some(found) = wanted(event)
        {
            return found;
        }
    }
    panic!("the event did not come");
}

fn wait_paused(engine: &Engine) {
    wait(engine, |e| matches!(e, Event::Running(false, _)).then_some(()));
}

fn save(engine: &Engine) -> Checkpoint {
    engine.send(Command::Save);
    wait(engine, |e| if let Event::Saved(checkpoint) = e { Some(checkpoint) } else { None })
}

/// A sink that keeps what a recording started with.
struct Started(Arc<Mutex<Option<RecordingStart>>>);

impl Sink for Started {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        *self.0.lock().unwrap() = Some(start.clone());
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
    fn finish(self: Box<Self>, _: &RecordingEnd) -> io::Result<()> {
        Ok(())
    }
}

/// Commands that were applied after the checkpoint, even at its step, are not part of it: replayed, they would be
/// applied twice.
#[test]
fn a_restored_checkpoint_has_the_log_of_then() {
    let engine = engine(fake::boxed());
    engine.send(Command::Set(fake::change(4)));
    engine.send(Command::RunTo(50));
    wait_paused(&engine);
    let saved = save(&engine);
    assert_eq!((saved.n_logged, saved.clock.step), (1, 50));
    engine.send(Command::Set(fake::change(5)));
    engine.send(Command::Set(fake::change(4)));
    engine.send(Command::Restore(saved));
    let start = Arc::new(Mutex::new(None));
    engine.send(Command::Record(vec![], Box::new(Started(start.clone()))));
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(_)).then_some(()));
    let start = start.lock().unwrap().take().expect("it began");
    assert_eq!((start.clock.step, start.history.commands.len()), (50, 1));
}

/// Every command that ends a run is handled within a step, and leaves whole steps.
#[test]
fn a_long_step_is_given_up_when_the_run_ends() {
    for round in 0..20 {
        let mut sim = fake::new();
        sim.is_endless = true;
        let engine = engine(Box::new(sim));
        engine.send(Command::Play);
        wait(&engine, |e| matches!(e, Event::Running(true, _)).then_some(()));
        match round % 4 {
            0 => engine.send(Command::Pause),
            1 => engine.send(Command::Restore(Checkpoint::default())), // refused: it runs on
            2 => engine.send(Command::Load(fake::boxed())),
            _ => true, // only the end of the engine
        };
        match round % 4 {
            0 => wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 0).then_some(())),
            1 => wait(&engine, |e| matches!(e, Event::Rejected { .. }).then_some(())),
            2 => wait(&engine, |e| matches!(e, Event::Loaded(_)).then_some(())),
            _ => {}
        }
    }
}

/// Records the fake with this plan of checkpoints.
fn record(sim: Fake, folder: &Path, checkpoint_steps: u64) -> Engine {
    let mut project = Project::default();
    (project.run.checkpoint_steps, project.run.keep_checkpoints) = (checkpoint_steps, 0);
    let (base, device, command, taps) = (Path::new("."), "CPU".into(), String::new(), vec![Tap::of(0)]);
    let sets = sim.sets().to_vec();
    let start = RunStart {
        project: &project,
        base,
        taps: taps.clone(),
        sets: &sets,
        device,
        threads: 1,
        command,
        trial: None,
        trials: 0,
    };
    let writer = RunWriter::create(folder, start).unwrap().with_probes(fake::PROBES);
    let engine = engine(Box::new(sim));
    engine.send(Command::Batch(Some(10)));
    engine.send(Command::Record(taps, Box::new(writer)));
    engine
}

/// The last state that was saved in memory becomes a checkpoint when the simulation fails: the run continues from it.
#[test]
fn a_saved_state_rescues_a_run_that_failed() {
    for (name, loses_device, is_dropped) in
        [("diverged", false, false), ("device", true, false), ("dropped", false, true)]
    {
        let temp = TempFolder::new(name);
        let folder = temp.join("run");
        let mut sim = fake::new();
        *(if loses_device { &mut sim.loses_device_at } else { &mut sim.diverges_at }) = 300;
        let engine = record(sim, &folder, 0);
        engine.send(Command::RunTo(100));
        wait_paused(&engine);
        let saved = save(&engine);
        let kept = (!is_dropped).then_some(saved.snapshot);
        engine.send(Command::Play);
        wait(&engine, |e| matches!(e, Event::Failed(_)).then_some(()));
        let run = RunFolder::open(&folder).unwrap();
        assert!(matches!(run.manifest.status, Status::Failed(_)) && run.manifest.last_step == 300);
        let Some(kept) = kept else {
            assert!(run.manifest.checkpoints.is_empty(), "a state that is held nowhere else is not kept for this");
            continue;
        };
        let from = run.continuation(None, &Progress::default()).unwrap();
        assert_eq!((from.file.directory.step, &*from.snapshot), (100, &*kept));
        let n_spikes = fake::expected(0, 100, 3).len() as u64;
        assert!(from.file.directory.files.contains(&("spikes.u32".to_owned(), 8 * n_spikes)), "as long as it was then");
    }
}

/// A checkpoint that memory has no room for is refused with a sentence; the recording continues.
#[test]
fn a_checkpoint_without_room_in_memory_is_refused() {
    let temp = TempFolder::new("large");
    let folder = temp.join("run");
    let mut sim = fake::new();
    sim.snapshot_bytes = 1 << 60;
    let engine = record(sim, &folder, 50);
    engine.send(Command::RunTo(100));
    let error = wait(&engine, |e| if let Event::CheckpointFailed(error) = e { Some(error.to_string()) } else { None });
    assert!(error.starts_with("the checkpoint of step 50 was not taken: it needs 1152921504.6 GB"), "{error}");
    wait_paused(&engine);
    engine.send(Command::Save);
    wait(&engine, |e| matches!(e, Event::Rejected { change: None, .. }).then_some(()));
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(_)).then_some(()));
    let run = RunFolder::open(&folder).unwrap();
    assert!(run.is_complete() && run.manifest.checkpoints.is_empty());
}

/// A model of every kind, small.
fn models() -> Vec<Model> {
    let small = [
        "network.source=Balanced",
        "network.n_neurons=200",
        "network.in_degree=20",
        "population.capacity=64",
        "population.n_start=32",
        "experts.weights_mib=1",
        "experts.hidden=16",
        "model.layers=2",
        "model.heads=2",
        "model.width=16",
        "model.context=16",
        "training.batch=2",
        "strategy.population=32",
        "data.grammar_bytes=10000",
        "measure.held_out_every=20",
        "measure.sample_every=10",
        "measure.length=20",
    ];
    let mut models = Model::all();
    for model in &mut models {
        for text in small {
            if let Ok(change) = neuropil::params::path::parse(model.params(), text) {
                model.params_mut().set(&change);
            }
        }
    }
    models
}

fn started(model: &Model) -> Box<dyn Simulation> {
    let context = BuildContext { seed: 3, ..BuildContext::default() };
    model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default()).expect("it is built")
}

fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

/// Saved at any step, written, read and loaded, every kind continues with the same digest.
#[test]
fn every_kind_continues_from_a_checkpoint() {
    for model in models() {
        let mut whole = started(&model);
        let mut states = vec![];
        for cut in [0, 1, 7, 33] {
            let now = whole.clock().step as u32;
            advance(&mut *whole, cut - now.min(cut));
            states.push(whole.save().expect("it saves"));
        }
        advance(&mut *whole, 40 - 33);
        for state in states {
            let mut again = started(&model);
            advance(&mut *again, 5);
            again.load(&state).expect("it loads");
            assert_eq!(again.save().expect("it saves"), state, "{}", model.name());
            let now = again.clock().step as u32;
            advance(&mut *again, 40 - now);
            assert_eq!(again.digest(0), whole.digest(0), "{} from step {now}", model.name());
        }
    }
}

/// Requests are declared, answered in the declared form, and change nothing.
#[test]
fn requests_change_nothing() {
    for model in models() {
        let (mut asked, mut not_asked) = (started(&model), started(&model));
        assert!(!model.requests().is_empty(), "{}", model.name());
        for _ in 0..4 {
            advance(&mut *asked, 10);
            advance(&mut *not_asked, 10);
            for spec in model.requests() {
                assert_eq!((spec.defaults)().len(), spec.params.len(), "{}", spec.name);
                for (param, value) in spec.params.iter().zip((spec.defaults)()) {
                    assert!(param.admits(&value), "{}.{}", spec.name, param.name);
                }
                let elements = if spec.over.is_empty() { vec![] } else { vec![3, 5] };
                let progress = Progress::default();
                let answer = match asked.ask(&spec.request(elements.clone()), &progress) {
                    Err(SimError::Input(_)) => continue, // e.g. there is no path
                    answer => answer.expect("an answer"),
                };
                match (spec.answer, &answer) {
                    (AnswerShape::Text, Answer::Text(text)) => assert!(!text.is_empty()),
                    (AnswerShape::Table(columns), Answer::Table(names, rows)) => {
                        assert!(columns == *names && rows.iter().all(|row| row.len() == columns.len()));
                    }
                    _ => panic!("{}: another form than declared", spec.name),
                }
            }
            assert_eq!(asked.save().expect("it saves"), not_asked.save().expect("it saves"));
        }
        assert_eq!(asked.digest(0), not_asked.digest(0), "{}", model.name());
        let unknown = Request { name: "nothing".into(), ..Request::default() };
        assert!(asked.ask(&unknown, &Progress::default()).is_err());
    }
}

/// The engine answers between two steps; a request of no kind is an answer too, not a failure.
#[test]
fn the_engine_answers_while_it_runs() {
    let model = models().remove(1);
    let engine = engine(started(&model));
    engine.send(Command::Play);
    let spec = &model.requests()[0];
    let progress = engine.ask(spec.request(vec![])).expect("it is sent");
    let answer = wait(&engine, |e| match e {
        Event::Answered { progress: of, answer, .. } if Arc::ptr_eq(&of, &progress) => Some(answer),
        _ => None,
    });
    assert!(answer.is_ok());
    let progress = engine.ask(Request { name: "nothing".into(), ..Request::default() }).expect("it is sent");
    let answer = wait(&engine, |e| match e {
        Event::Answered { progress: of, answer, .. } if Arc::ptr_eq(&of, &progress) => Some(answer),
        _ => None,
    });
    assert!(answer.is_err_and(|e| e.to_string().contains("no request `nothing`")));
}
