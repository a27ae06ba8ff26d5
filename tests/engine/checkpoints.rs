//! Checkpoints: what they contain, how they are written, and how a run continues from one.

use crate::fake;
use fake::Fake;
use neuropil::{
    engine::{Checkpoint, Command, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    sim::{Frame, ProbeId, Simulation},
};
use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn engine(sim: Box<dyn Simulation>) -> Engine {
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(sim));
    wait(&engine, |e| matches!(e, Event::Loaded(_)).then_some(()));
    engine
}

/// Waits for an event, 20 s at most.
fn wait<T>(engine: &Engine, wanted: impl Fn(Event) -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
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
    let engine = engine(Fake::boxed());
    engine.send(Command::Set(Fake::change(4)));
    engine.send(Command::RunTo(50));
    wait_paused(&engine);
    let saved = save(&engine);
    assert_eq!((saved.n_logged, saved.clock.step), (1, 50));
    engine.send(Command::Set(Fake::change(5)));
    engine.send(Command::Set(Fake::change(4)));
    engine.send(Command::Restore(saved));
    let start = Arc::new(Mutex::new(None));
    engine.send(Command::Record(vec![], Box::new(Started(start.clone()))));
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(_)).then_some(()));
    let start = start.lock().unwrap().take().expect("it began");
    assert_eq!((start.clock.step, start.history.commands.len()), (50, 1));
}
