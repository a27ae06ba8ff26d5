//! Trials that are recorded, each in a run folder of its own, which replays alone.

use super::trial::{FinishedTrial, Trial, TrialMeter, Worker};
use crate::{
    engine::{
        Checkpoint, CheckpointPlan, Command, Engine, EngineCounters, Event, LoggedCommand, RecordingEnd,
        RecordingStart, Sink,
    },
    experiment::reused_simulation::ReusedSimulation,
    project::{RunStart, RunWriter},
    sim::{ElementSet, Frame, Level, ProbeId, SimError, Simulation, Tap},
};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc::Receiver},
    time::Duration,
};

/// Interval between checks for cancellation.
const POLL: Duration = Duration::from_millis(5);
/// Path from the folder of a trial to that of the experiment, with the ids of the elements.
const IDS_IN: &str = "../../";

/// Properties of all run folders of an experiment.
#[derive(Clone, Copy)]
pub(in crate::experiment) struct Recording<'a> {
    /// Folder from which relative paths of the project start.
    pub base: &'a Path,
    pub device: &'a str,
    pub threads: u32,
    pub command: &'a str,
}

/// Meter that the recorder's thread fills and the trial takes.
type SharedMeter = Arc<Mutex<Option<TrialMeter>>>;

/// Runs and records a trial. Returns the simulation too, if the engine gave it back. Fails if the simulation or the recording
/// fails, and with [`SimError::Cancelled`].
pub(super) fn run(
    worker: &Worker<'_>,
    trial: &Trial<'_>,
    folder: &Path,
    sim: Box<dyn Simulation>,
    taps: Vec<Tap>,
    meter: TrialMeter,
) -> Result<(FinishedTrial, Option<Box<dyn Simulation>>), SimError> {
    let failed = |e: io::Error| SimError::Diverged(format!("the recording failed: {e}"));
    let meter: SharedMeter = Arc::new(Mutex::new(Some(meter)));
    let (sim, returned): (_, Receiver<Box<dyn Simulation>>) = ReusedSimulation::new(sim);
    let Recording { base, device, threads, command } = worker.recording;
    let start = RunStart {
        project: trial.project,
        base,
        taps: taps.clone(),
        sets: &worker.build.schema.sets,
        device: device.to_owned(),
        threads,
        command: command.to_owned(),
        trial: Some((trial.seed, IDS_IN)),
        trials: 0,
    };
    let writer = RunWriter::create(folder, start).map_err(failed)?;
    let engine = Engine::spawn(|| {}).map_err(failed)?;
    engine.send(Command::Load(sim));
    let sink = MeteredSink { writer: Box::new(writer), meter: meter.clone() };
    engine.send(Command::Record(taps, Box::new(sink)));
    engine.send(Command::RunTo(worker.build.until));
    let digest = Watch { engine: &engine, worker, n_steps: 0 }.until_closed()?;
    drop(engine);
    let meter = meter.lock().unwrap_or_else(PoisonError::into_inner).take();
    let meter = meter.ok_or_else(|| SimError::Diverged("the recording has no data".to_owned()))?;
    Ok((meter.finish(digest), returned.try_recv().ok()))
}

struct Watch<'a> {
    engine: &'a Engine,
    worker: &'a Worker<'a>,
    /// Steps that the progress contains.
    n_steps: u64,
}

impl Watch<'_> {
    /// Waits for the end of the trial, closes the recording and returns the digest.
    fn until_closed(&mut self) -> Result<crate::sim::Digest, SimError> {
        let (mut is_running, mut is_ending) = (false, false);
        loop {
            match self.engine.events.recv_timeout(POLL) {
                Ok(Event::Running(true, _)) => is_running = true,
                Ok(Event::Running(false, _)) if is_running && !is_ending => {
                    is_ending = true;
                    self.engine.send(Command::StopRecording);
                    self.engine.send(Command::Digest);
                }
                Ok(Event::Digest(digest, _)) if is_ending => {
                    self.count();
                    return Ok(digest);
                }
                Ok(Event::Failed(error) | Event::Rejected { error, .. }) => return Err(error),
                Ok(Event::RecordingFailed(error, _)) => {
                    return Err(SimError::Diverged(format!("the recording failed: {error}")));
                }
                Err(e) if e.is_disconnected() => return Err(SimError::Diverged("the engine stopped".to_owned())),
                _ => {}
            }
            self.count();
            if self.worker.progress.is_cancelled() || self.worker.stop.is_raised() {
                self.engine.send(Command::Pause);
                self.engine.send(Command::InterruptRecording);
                return Err(SimError::Cancelled);
            }
        }
    }

    fn count(&mut self) {
        let step = EngineCounters::read(&self.engine.counters.step).max(self.n_steps);
        self.worker.counters.n_steps.fetch_add(step - self.n_steps, Ordering::Relaxed);
        self.n_steps = step;
    }
}

/// Sink that computes the measures of the blocks it writes.
struct MeteredSink {
    writer: Box<RunWriter>,
    meter: SharedMeter,
}

impl Sink for MeteredSink {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        self.writer.begin(start)
    }

    fn write(&mut self, block: &Frame) -> io::Result<()> {
        if let Some(meter) = &mut *self.meter.lock().unwrap_or_else(PoisonError::into_inner) {
            meter.add(block);
        }
        self.writer.write(block)
    }

    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        self.writer.log(step, what)
    }

    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()> {
        self.writer.lanes_changed(step, probe, lanes)
    }

    fn levels_changed(&mut self, step: u64, probe: ProbeId, levels: &[Level]) -> io::Result<()> {
        self.writer.levels_changed(step, probe, levels)
    }

    fn checkpoints(&self) -> CheckpointPlan {
        self.writer.checkpoints()
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.writer.checkpoint(checkpoint)
    }

    fn mark(&mut self, step: u64) {
        self.writer.mark(step);
    }

    fn rescue(&mut self, checkpoint: &Checkpoint) {
        self.writer.rescue(checkpoint);
    }

    fn idle(&mut self) -> io::Result<()> {
        self.writer.idle()
    }

    fn continues(&self) -> bool {
        self.writer.continues()
    }

    fn sets_changed(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        self.writer.sets_changed(step, sets)
    }

    fn discard(self: Box<Self>) -> io::Result<()> {
        self.writer.discard()
    }

    fn finish(self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        self.writer.finish(end)
    }
}
