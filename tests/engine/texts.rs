//! Texts that are written beside the steps: a recording has them when a checkpoint or its end says so, and they are those of a
//! simulation that writes them between two steps.

use neuropil::{
    engine::{Checkpoint, CheckpointPlan, Command, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    project::Project,
    sim::{Device, Frame, ProbeId, Progress, Reading, Simulation, Tap, TextSample},
};
use neuropil_test_support::PATIENCE;
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const SETTINGS: [&str; 8] = [
    "model.layers=1",
    "model.heads=2",
    "model.width=16",
    "model.context=32",
    "training.batch=1",
    "data.grammar_bytes=20000",
    "measure.sample_every=3",
    "measure.length=150",
];

/// A small model; texts take longer than the steps between them.
fn build(threads: usize) -> (Box<dyn Simulation>, Vec<Tap>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/nano.ron");
    let mut project: Project = neuropil::project::open(&path).expect("it opens").0;
    SETTINGS.iter().for_each(|set| project.set(set, Path::new(".")).expect("it is set"));
    project.record = ["samples", "activations"].map(str::to_owned).to_vec();
    let context = project.build_context(Path::new("."));
    let sim = project.model.build(&context, &Device::Cpu { threads }, &Progress::default()).expect("it is built");
    (sim, project.taps().0)
}

/// What a recording received: texts, and the steps of checkpoints with the texts before them.
#[derive(Default)]
struct Received {
    texts: Vec<TextSample>,
    /// Activations on the texts.
    counts: Vec<f32>,
    checkpoints: Vec<(u64, usize)>,
    n_at_end: Option<usize>,
}

struct Keeper(Arc<Mutex<Received>>);

impl Sink for Keeper {
    fn begin(&mut self, _: &RecordingStart) -> io::Result<()> {
        Ok(())
    }
    fn write(&mut self, block: &Frame) -> io::Result<()> {
        let mut received = self.0.lock().expect("nobody failed");
        for (_, reading) in &block.readings {
            match reading {
                Reading::Samples(texts) => received.texts.extend(texts.iter().cloned()),
                Reading::Histogram(histogram) => received.counts.extend(&histogram.counts),
                _ => {}
            }
        }
        Ok(())
    }
    fn log(&mut self, _: u64, _: &LoggedCommand) -> io::Result<()> {
        Ok(())
    }
    fn lanes_changed(&mut self, _: u64, _: ProbeId, _: &[String]) -> io::Result<()> {
        Ok(())
    }
    fn checkpoints(&self) -> CheckpointPlan {
        CheckpointPlan { every_steps: 4, at_end: true, ..CheckpointPlan::default() }
    }
    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        let mut received = self.0.lock().expect("nobody failed");
        let n = received.texts.len();
        received.checkpoints.push((checkpoint.clock.step, n));
        Ok(())
    }
    fn finish(self: Box<Self>, _: &RecordingEnd) -> io::Result<()> {
        let mut received = self.0.lock().expect("nobody failed");
        received.n_at_end = Some(received.texts.len());
        Ok(())
    }
}

fn wait<T>(engine: &Engine, wanted: impl Fn(&Event) -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Ok(event) = engine.events.recv_timeout(Duration::from_millis(100)) {
            if let Some(found) = wanted(&event) {
                return found;
            }
            match event {
                Event::Failed(error) | Event::Rejected { error, .. } => panic!("{error}"),
                _ => {}
            }
        }
    }
    panic!("the event did not come");
}

/// Records from a step on; before it only a window looks at the texts. With activations or without.
fn record(threads: usize, from: u64, steps: u64, with_activations: bool) -> Received {
    let (sim, mut taps) = build(threads);
    taps.truncate(if with_activations { 2 } else { 1 });
    let engine = Engine::spawn(|| {}).expect("it starts");
    let received = Arc::new(Mutex::new(Received::default()));
    engine.send(Command::Load(sim));
    engine.send(Command::Batch(Some(1)));
    if from > 0 {
        engine.send(Command::Subscribe(taps.clone()));
        engine.send(Command::RunTo(from));
        wait(&engine, |event| matches!(event, Event::Running(false, _)).then_some(()));
    }
    engine.send(Command::Record(taps, Box::new(Keeper(received.clone()))));
    engine.send(Command::RunTo(steps));
    wait(&engine, |event| matches!(event, Event::Running(false, _)).then_some(()));
    engine.send(Command::StopRecording);
    wait(&engine, |event| matches!(event, Event::Recorded(_)).then_some(()));
    drop(engine);
    Arc::into_inner(received).expect("the recording ended").into_inner().expect("nobody failed")
}

#[test]
fn texts_beside_the_steps_are_recorded_before_checkpoints_and_the_end() {
    const STEPS: u64 = 21;
    let [one, beside] = [1, 2].map(|threads| record(threads, 0, STEPS, false));
    assert_eq!(one.texts.iter().map(|text| text.step).collect::<Vec<_>>(), [3, 6, 9, 12, 15, 18, 21]);
    assert_eq!(beside.texts, one.texts, "written by another thread");
    for received in [one, beside] {
        assert_eq!(received.n_at_end, Some(7));
        assert_eq!(received.checkpoints, [4, 8, 12, 16, 20, 21].map(|step| (step, step as usize / 3)));
    }
}

/// A recording has the activations on the text of their step, and no text from before it.
#[test]
fn a_recording_is_the_same_however_texts_are_written() {
    for from in [0, 3] {
        let [one, beside] = [1, 2].map(|threads| record(threads, from, 12, true));
        let steps: Vec<u64> = one.texts.iter().map(|text| text.step).collect();
        assert_eq!(steps, if from == 0 { vec![3, 6, 9, 12] } else { vec![6, 9, 12] });
        assert_eq!(beside.texts, one.texts, "from step {from}");
        assert!(!one.counts.is_empty() && beside.counts == one.counts, "activations from step {from}");
    }
}

/// The last text of a paused simulation arrives without another step.
#[test]
fn a_paused_simulation_shows_the_text_that_it_was_writing() {
    let (sim, taps) = build(2);
    let engine = Engine::spawn(|| {}).expect("it starts");
    engine.send(Command::Load(sim));
    engine.send(Command::Batch(Some(1)));
    engine.send(Command::Subscribe(taps));
    engine.send(Command::RunTo(3));
    wait(&engine, |event| matches!(event, Event::Running(false, _)).then_some(()));
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let Some(frame) = engine.take_frame() else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        let texts = frame.readings.iter().filter_map(|(_, r)| if let Reading::Samples(t) = r { Some(t) } else { None });
        if let Some(text) = texts.flatten().next() {
            assert_eq!((text.step, frame.clock.step), (3, 3));
            return;
        }
    }
    panic!("the text did not come");
}
