//! Runs and records one simulation through the engine, as the window does, so that both give equal bits.

use super::{device, error::CliError, progress::ProgressLine, signal, speed::MeanCounts};
use crate::{
    engine::{Checkpoint, Command, Engine, EngineCounters, Event, RecordingEnd, SimSchema},
    gpu::{
        Timing,
        timing::{self, Row},
    },
    kinds::Prepared,
    project::{Project, RunStart, RunWriter},
    sim::{BuildContext, Clock, Digest, MemoryReport, Progress, SimError, Simulation, StepCount, Tap, TimeBase},
};
use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

/// Interval between saved states in memory.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// Interval between checks for interrupts and updates of the progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Result of a recorded simulation.
pub(super) struct Outcome {
    pub digest: Digest,
    /// Step at which the run began.
    pub first_step: u64,
    pub clock: Clock,
    /// Wall time of the steps, seconds.
    pub wall_s: f64,
    /// Part of the wall time spent waiting for the disk, seconds.
    pub stalled_s: f64,
    pub interrupted: bool,
    /// Reason why a failed write stopped the recording; `None` if the recording is complete.
    pub recording_failed: Option<String>,
    pub n_elements: Vec<(&'static str, u32)>,
    /// Number of trainable parameters; 0 without any.
    pub n_parameters: u64,
    pub memory: MemoryReport,
    /// Mean amounts per step of the quantities that vary with time.
    pub counts: Vec<StepCount>,
    /// Time per kernel in the profiled batches.
    pub timings: Vec<Row>,
}

/// End, batch size and speed of a session.
pub(super) struct Pacing {
    /// Step at which the session stops; `None` for a session that runs until an interrupt.
    pub until: Option<u64>,
    pub batch: Option<u32>,
    /// Maximum speed in simulated seconds (or steps) per wall second; `None` for no limit.
    pub speed: Option<f64>,
}

/// Prints the project's warnings, then loads the project with [`load`]. Fails under the conditions of [`load`].
pub(super) fn prepare(
    project: &Project,
    base: &Path,
    force: bool,
    meter: &ProgressLine,
) -> Result<Box<dyn Prepared>, CliError> {
    prepare_with(project, project.build_context(base), force, meter)
}

/// Prints the project's warnings, then loads the project with a given build context. Fails under the conditions of
/// [`load`].
pub(super) fn prepare_with(
    project: &Project,
    context: BuildContext,
    force: bool,
    meter: &ProgressLine,
) -> Result<Box<dyn Prepared>, CliError> {
    warn(project);
    load(project, context, force, meter)
}

/// Reads or generates the inputs on the loader's thread and shows the progress. Fails if the available memory seems too
/// small for the model, unless `force` is set.
pub(super) fn load(
    project: &Project,
    context: BuildContext,
    force: bool,
    meter: &ProgressLine,
) -> Result<Box<dyn Prepared>, CliError> {
    Preparing::begin(project, BuildContext { ignores_memory: force, ..context })?.finish(meter)
}

/// Inputs that are read or generated on the loader's thread.
struct Preparing {
    receiver: Receiver<Result<Box<dyn Prepared>, SimError>>,
    progress: Arc<Progress>,
}

impl Preparing {
    fn begin(project: &Project, context: BuildContext) -> Result<Self, CliError> {
        let (model, progress) = (project.model.clone(), Arc::new(Progress::default()));
        let (sender, receiver) = channel();
        let shared = progress.clone();
        std::thread::Builder::new().name("loader".into()).spawn(move || {
            sender.send(model.prepare(&context, &shared)).ok();
        })?;
        Ok(Self { receiver, progress })
    }

    fn finish(self, meter: &ProgressLine) -> Result<Box<dyn Prepared>, CliError> {
        loop {
            match self.receiver.recv_timeout(LOOK_EVERY) {
                Ok(outcome) => {
                    meter.clear();
                    return Ok(outcome?);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(_) => return Err(CliError::Failed("an internal error stopped the loading".into())),
            }
            let (stage, fraction) = self.progress.now();
            meter.update(f64::from(fraction), 1.0, || stage);
        }
    }
}

/// Opens the project's device while the loader's thread prepares the inputs. Fails if an input is invalid or the device is
/// not available.
pub(super) fn prepare_beside_device(
    project: &Project,
    base: &Path,
    force: bool,
) -> Result<(Box<dyn Prepared>, device::Chosen), CliError> {
    warn(project);
    let context = BuildContext { ignores_memory: force, ..project.build_context(base) };
    let (preparing, run) = (Preparing::begin(project, context)?, &project.run);
    let chosen = device::choose(run.device, run.gpu, run.threads).inspect_err(|_| preparing.progress.cancel())?;
    Ok((preparing.finish(&ProgressLine::new())?, chosen))
}

fn warn(project: &Project) {
    project.model.warnings().iter().for_each(|warning| eprintln!("neuropil: warning: {}", warning.text));
}

/// Start of a recording: simulation, taps and writer.
pub(super) struct Begin<'a> {
    /// [`Command::Load`] or [`Command::Resume`].
    pub command: Command,
    pub taps: Vec<Tap>,
    /// Opens the run folder once the simulation is ready.
    pub writer: Box<OpenWriter<'a>>,
    /// Messages about the checkpoint at which the run begins.
    pub notes: Vec<String>,
}

type OpenWriter<'a> = dyn FnOnce(RunStart<'_>) -> std::io::Result<RunWriter> + 'a;

impl Begin<'_> {
    /// Returns the clock of the simulation.
    pub fn clock(&self) -> Clock {
        match &self.command {
            Command::Load(sim) | Command::Resume(sim, _) => sim.clock(),
            _ => Clock::default(),
        }
    }

    /// Returns messages about the checkpoint, and deviations of the simulation from the requested settings.
    pub fn notices(&self) -> Vec<String> {
        let of_sim = match &self.command {
            Command::Load(sim) | Command::Resume(sim, _) => sim.notices(),
            _ => vec![],
        };
        self.notes.iter().cloned().chain(of_sim).collect()
    }
}

/// Runs a simulation to its end and records `taps` into `folder`. Calls `tick` with the clock at intervals. Fails if the
/// simulation fails or the folder cannot be created.
pub(super) fn record(
    sim: Box<dyn Simulation>,
    folder: &Path,
    start: RunStart<'_>,
    taps: Vec<Tap>,
    pacing: &Pacing,
    tick: &dyn Fn(Clock),
) -> Result<Outcome, CliError> {
    let writer = Box::new(|start: RunStart<'_>| RunWriter::create(folder, start));
    let begin = Begin { command: Command::Load(sim), taps, writer, notes: vec![] };
    record_from(begin, folder, start, pacing, tick)
}

/// Runs and records as [`record`] does, for a simulation that may continue an earlier run. Fails if the simulation fails or
/// the folder cannot be written.
pub(super) fn record_from(
    begin: Begin<'_>,
    folder: &Path,
    start: RunStart<'_>,
    pacing: &Pacing,
    tick: &dyn Fn(Clock),
) -> Result<Outcome, CliError> {
    let _closing = signal::closing();
    let first = begin.clock();
    let base = first.base;
    let engine = Engine::spawn(|| {})?;
    let plan = start.project.checkpoint_plan();
    // If the final state is a result, it must survive a failure of the simulation.
    let saves = plan.at_end && !plan.is_every(SAVE_EVERY);
    let Begin { command, taps, writer, .. } = begin;
    engine.send(command);
    let schema = loaded(&engine)?;
    let start = RunStart { taps: taps.clone(), sets: &schema.sets, ..start };
    let writer = writer(start)?;
    engine.send(Command::Batch(pacing.batch));
    engine.send(Command::Speed(pacing.speed));
    engine.send(Command::Record(taps, Box::new(writer)));
    let began = Instant::now();
    engine.send(pacing.until.map_or(Command::Play, Command::RunTo));
    let mut events = EngineEvents {
        engine: &engine,
        base,
        tick,
        failed: None,
        interrupted: false,
        timings: vec![],
        counts: MeanCounts::since(first.step),
        saves,
        last_save: Instant::now(),
        awaits_state: false,
        saved: None,
    };
    events.until_paused().map_err(|error| closed(error, folder, &engine))?;
    let wall_s = began.elapsed().as_secs_f64();
    let stalled_s = EngineCounters::read(&engine.counters.stalled_nanos) as f64 * 1e-9;
    engine.send(if events.interrupted { Command::InterruptRecording } else { Command::StopRecording });
    let (digest, clock) = events.until_closed()?;
    events.take_timings();
    Ok(Outcome {
        digest,
        first_step: first.step,
        clock,
        wall_s,
        stalled_s,
        interrupted: events.interrupted,
        recording_failed: events.failed,
        n_elements: schema.sets.iter().map(|s| (s.name, s.len)).collect(),
        n_parameters: schema.n_parameters,
        memory: schema.memory,
        counts: events.counts.means(),
        timings: timing::report(&events.timings, &schema.kernels),
    })
}

/// Adds the last step and a remedy to a GPU error of a failed run; returns any other error unchanged. The engine has closed
/// the recording before it reports the failure.
fn closed(error: CliError, folder: &Path, engine: &Engine) -> CliError {
    let step = EngineCounters::read(&engine.counters.step);
    match error {
        CliError::NoGpu(why) => CliError::NoGpu(format!(
            "{why}\nneuropil: {} is closed properly, up to step {step}; --device cpu runs it on the CPU",
            folder.display()
        )),
        other => other,
    }
}

fn loaded(engine: &Engine) -> Result<SimSchema, CliError> {
    loop {
        match engine.events.recv() {
            Ok(Event::Loaded(schema)) => return Ok(schema),
            Ok(Event::Failed(error)) => return Err(error.into()),
            Ok(_) => {}
            Err(_) => return Err(gone()),
        }
    }
}

fn gone() -> CliError {
    CliError::Failed("the engine stopped without a report: an internal error".into())
}

struct EngineEvents<'a> {
    engine: &'a Engine,
    base: TimeBase,
    tick: &'a dyn Fn(Clock),
    failed: Option<String>,
    interrupted: bool,
    /// Kernel times of the profiled batches.
    timings: Vec<Timing>,
    counts: MeanCounts,
    /// Whether states are saved in memory during the run.
    saves: bool,
    last_save: Instant,
    awaits_state: bool,
    /// The last saved state, which the recorder writes if the simulation fails; `None` before the first one.
    saved: Option<Checkpoint>,
}

impl EngineEvents<'_> {
    fn until_paused(&mut self) -> Result<(), CliError> {
        loop {
            match self.engine.events.recv_timeout(LOOK_EVERY) {
                Ok(Event::Running(false, _)) => return Ok(()),
                Ok(Event::Failed(error)) => return Err(error.into()),
                Ok(Event::Rejected { change: None, error }) if self.awaits_state => {
                    (self.awaits_state, self.saves) = (false, false);
                    eprintln!("neuropil: {error}");
                }
                Ok(Event::Rejected { error, .. }) => return Err(error.into()),
                Ok(Event::RecordingFailed(error, end)) => self.recording_failed(&error, &end),
                Ok(Event::CheckpointFailed(error)) => self.checkpoint_failed(&error),
                Ok(Event::StoppedEarly { probe, best }) => eprintln!("neuropil: {}", best.words(probe)),
                Ok(Event::Saved(checkpoint)) => (self.awaits_state, self.saved) = (false, Some(checkpoint)),
                Ok(_) => {}
                Err(e) if e.is_disconnected() => return Err(gone()),
                Err(_) => {}
            }
            self.take_timings();
            self.save_if_due();
            let step = EngineCounters::read(&self.engine.counters.step);
            (self.tick)(Clock { step, base: self.base });
            if signal::interrupted() && !self.interrupted {
                self.interrupted = true;
                self.engine.send(Command::Pause);
            }
        }
    }

    /// Collects the kernel timings and amounts of the newest frame, whose readings are ignored.
    fn take_timings(&mut self) {
        let Some(frame) = self.engine.take_frame() else { return };
        self.counts.add(frame.clock.step, frame.counts);
        for timing in frame.timings {
            match self.timings.iter_mut().find(|t| t.name == timing.name) {
                Some(sum) => sum.add(&timing),
                None => self.timings.push(timing),
            }
        }
    }

    /// If a state is due, requests it, so that the run can continue from it after a failure of the simulation. At most one
    /// state is kept.
    fn save_if_due(&mut self) {
        if self.saves && self.last_save.elapsed() >= SAVE_EVERY {
            self.last_save = Instant::now();
            self.saved = None;
            self.awaits_state = self.engine.send(Command::Save);
        }
    }

    fn checkpoint_failed(&mut self, error: &SimError) {
        eprintln!("neuropil: {error}");
        self.failed.get_or_insert(error.to_string());
    }

    /// Stores the message of the failure. The run continues, because its result may be worth more than its recording.
    fn recording_failed(&mut self, error: &std::io::Error, end: &RecordingEnd) {
        let step = end.clock.step;
        eprintln!("neuropil: the recording failed: {error}. The data up to step {step} is valid; the run continues");
        self.failed = Some(format!("{error}; recorded up to step {step}"));
    }

    fn until_closed(&mut self) -> Result<(Digest, Clock), CliError> {
        self.engine.send(Command::Digest);
        loop {
            match self.engine.events.recv() {
                Ok(Event::Digest(digest, clock)) => return Ok((digest, clock)),
                Ok(Event::RecordingFailed(error, end)) => self.recording_failed(&error, &end),
                Ok(Event::CheckpointFailed(error)) => self.checkpoint_failed(&error),
                Ok(_) => {}
                Err(_) => return Err(gone()),
            }
        }
    }
}

/// Starts a prepared simulation on its device. If a GPU is unusable and was only preferred, starts the simulation on the
/// CPU. Fails if the start fails on the last device.
pub(super) fn start(
    prepared: &dyn Prepared,
    seed: u64,
    chosen: &mut super::device::Chosen,
) -> Result<Box<dyn Simulation>, CliError> {
    match prepared.start(seed, &chosen.device) {
        Err(SimError::NoDevice(why)) if chosen.may_fall_back => {
            eprintln!("neuropil: running on the CPU: {why}");
            *chosen = super::device::cpu(chosen.threads);
            Ok(prepared.start(seed, &chosen.device)?)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests;
