//! One simulation through the engine, recorded: the same path the window takes, so both give the same bits.

use super::{error::CliError, meter::Meter, signal};
use crate::{
    engine::{Command, Engine, Event, Exhibit, Gauges},
    kinds::Prepared,
    project::{Project, RunStart, RunWriter},
    sim::{Clock, Device, Digest, Progress, SimError, Simulation, Tap},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// How often interrupts and progress are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a recorded simulation went.
pub(super) struct Outcome {
    pub digest: Digest,
    pub clock: Clock,
    /// Wall time of the stepping, seconds.
    pub wall_s: f64,
    /// Of it, waiting for the disk.
    pub stalled_s: f64,
    pub interrupted: bool,
    /// Why the disk stopped recording, if it did.
    pub recording_failed: Option<String>,
    pub n_elements: Vec<(&'static str, u32)>,
    pub memory: Vec<(&'static str, u64)>,
}

/// How a session is paced.
pub(super) struct Pacing {
    /// Step to stop at; `None` runs until interrupted.
    pub until: Option<u64>,
    pub batch: Option<u32>,
    /// Simulated seconds per wall second at most.
    pub speed: Option<f64>,
}

/// Reads and generates on the loader's thread, with progress and cancel.
pub(super) fn prepare(project: &Project, base: &Path, meter: &Meter) -> Result<Box<dyn Prepared>, CliError> {
    let (model, scene) = (project.model.clone(), project.scene(base));
    let (sender, receiver) = std::sync::mpsc::channel();
    let progress = std::sync::Arc::new(Progress::default());
    let shared = progress.clone();
    std::thread::Builder::new().name("loader".into()).spawn(move || {
        sender.send(model.prepare(&scene, &shared)).ok();
    })?;
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(outcome) => {
                meter.clear();
                return Ok(outcome?);
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(_) => return Err(CliError::Failed("a fault inside the program stopped the loading".into())),
        }
        if signal::interrupted() {
            progress.cancel();
        }
        let (stage, fraction) = progress.now();
        meter.update(f64::from(fraction), 1.0, || stage);
    }
}

/// Runs a simulation to its end, recording `taps` into `folder`. `tick` is told the step now and then.
pub(super) fn record(
    sim: Box<dyn Simulation>,
    folder: &Path,
    start: RunStart<'_>,
    taps: Vec<Tap>,
    pacing: &Pacing,
    tick: &dyn Fn(Clock),
) -> Result<Outcome, CliError> {
    let secs_per_step = sim.clock().secs_per_step;
    let engine = Engine::spawn(|| {})?;
    engine.send(Command::Load(sim));
    let exhibit = loaded(&engine)?;
    let start = RunStart { taps: taps.clone(), sets: &exhibit.sets, ..start };
    let writer = RunWriter::create(folder, start)?;
    engine.send(Command::Batch(pacing.batch));
    engine.send(Command::Speed(pacing.speed));
    engine.send(Command::Record(taps, Box::new(writer)));
    let began = Instant::now();
    engine.send(pacing.until.map_or(Command::Play, Command::RunTo));
    let mut watched = Watched { engine: &engine, secs_per_step, tick, failed: None, interrupted: false };
    watched.until_paused()?;
    let wall_s = began.elapsed().as_secs_f64();
    let stalled_s = Gauges::read(&engine.gauges.stalled_nanos) as f64 * 1e-9;
    engine.send(Command::StopRecording);
    let (digest, clock) = watched.until_closed()?;
    Ok(Outcome {
        digest,
        clock,
        wall_s,
        stalled_s,
        interrupted: watched.interrupted,
        recording_failed: watched.failed,
        n_elements: exhibit.sets.iter().map(|s| (s.name, s.len)).collect(),
        memory: exhibit.memory,
    })
}

fn loaded(engine: &Engine) -> Result<Exhibit, CliError> {
    loop {
        match engine.events.recv() {
            Ok(Event::Loaded(exhibit)) => return Ok(exhibit),
            Ok(Event::Failed(error)) => return Err(error.into()),
            Ok(_) => {}
            Err(_) => return Err(gone()),
        }
    }
}

fn gone() -> CliError {
    CliError::Failed("the engine stopped without a word; this is a fault inside the program".into())
}

struct Watched<'a> {
    engine: &'a Engine,
    secs_per_step: f64,
    tick: &'a dyn Fn(Clock),
    failed: Option<String>,
    interrupted: bool,
}

impl Watched<'_> {
    fn until_paused(&mut self) -> Result<(), CliError> {
        loop {
            match self.engine.events.recv_timeout(LOOK_EVERY) {
                Ok(Event::Running(false, _)) => return Ok(()),
                Ok(Event::Failed(error)) => return Err(error.into()),
                Ok(Event::Refused(error)) => return Err(error.into()),
                Ok(Event::RecordingFailed(error)) => self.recording_failed(&error),
                Ok(_) => {}
                Err(e) if e.is_disconnected() => return Err(gone()),
                Err(_) => {}
            }
            self.engine.take_frame(); // nobody watches
            let step = Gauges::read(&self.engine.gauges.step);
            (self.tick)(Clock { step, secs_per_step: self.secs_per_step });
            if signal::interrupted() && !self.interrupted {
                self.interrupted = true;
                self.engine.send(Command::Pause);
            }
        }
    }

    /// The run goes on, because its result may be worth more than its recording; it is said at once.
    fn recording_failed(&mut self, error: &std::io::Error) {
        eprintln!("neuropil: the recording ended: {error}; what was recorded before is readable, the run goes on");
        self.failed = Some(error.to_string());
    }

    fn until_closed(&mut self) -> Result<(Digest, Clock), CliError> {
        let step = Gauges::read(&self.engine.gauges.step);
        let clock = Clock { step, secs_per_step: self.secs_per_step };
        while self.failed.is_none() {
            match self.engine.events.recv() {
                Ok(Event::Recorded(digest, clock)) => return Ok((digest, clock)),
                Ok(Event::RecordingFailed(error)) => self.recording_failed(&error),
                Ok(_) => {}
                Err(_) => return Err(gone()),
            }
        }
        Ok((Digest::default(), clock))
    }
}

/// Starts a prepared simulation on its device; when a GPU was only preferred, on the CPU.
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

/// A device a second simulation can be started on.
pub(super) fn one_thread(device: &Device) -> Device {
    match device {
        Device::Cpu { .. } => Device::Cpu { threads: 1 },
        gpu => gpu.clone(),
    }
}
