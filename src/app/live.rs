//! The running simulation as the window knows it: engine, loader, and what was last heard of them.

mod edits;
mod hear;
mod show;
mod taken;
mod wants;
mod way_on;

pub use taken::Taken;

use super::{
    log::Level,
    meter::{Latency, Pace},
    pacing::Target,
    recorded::Recorded,
    rescue::Rescue,
    views::Trouble,
};
use crate::{
    engine::{Command, Engine, Exhibit, Loader, Logged, Outcome, Sink},
    params::ParamId,
    project::Project,
    sim::{Action, Clock, Frame, Progress, Scene, Tap},
};
use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// Makes a simulation of a project: the loader thread's whole job. The app takes
/// [`Devices::build`](super::device::Devices::build); tests bring their own.
pub type Builder = Arc<dyn Fn(&Project, &Scene, &Progress) -> Outcome + Send + Sync>;

/// How far the engine gives way to the thread that draws, where there is a graphics processor.
pub const ENGINE_NICE: i32 = 5;

/// What the engine has to say to the rest of the window.
pub enum News {
    /// A simulation took its place.
    Loaded,
    /// New data.
    Frame(Frame),
    /// Something for the log; warnings and errors are also toasts.
    Said(Level, String),
    /// A recording is complete.
    Recorded(PathBuf, Duration),
}

/// A recording in progress.
pub struct Recording {
    /// Since when.
    pub since: Instant,
    /// Where to.
    pub folder: PathBuf,
}

struct Loading {
    loader: Loader,
    project: Project,
    play: bool,
    /// Where it goes on from, when the simulation before it was lost with its device: the step, and the commands until
    /// then.
    resume: Option<(u64, SinceZero)>,
}

/// Edits and actions a running simulation took up since step 0, and what it was then.
#[derive(Clone)]
pub struct SinceZero {
    /// The document at step 0.
    pub project: Project,
    /// Step by step.
    pub log: Vec<(u64, Logged)>,
}

/// The running simulation.
pub struct Live {
    engine: Option<Engine>,
    /// How far its thread gives way, to start another one after a fault.
    nice: Option<i32>,
    builder: Builder,
    wake: egui::Context,
    loading: Option<Loading>,
    /// What the simulation has by now: the document that was built, and every edit sent since.
    sent: Option<Project>,
    /// The document as it was built.
    built: Option<Project>,
    /// What a recording needs to be replayed.
    since_zero: Option<SinceZero>,
    /// Parameters the simulation would only take up when rebuilt, although they are declared live.
    stubborn: HashSet<ParamId>,
    play_when_loaded: bool,
    watched: Vec<Tap>,
    profiled: Option<u32>,
    speed_sent: Option<f64>,
    /// What the simulation can show.
    pub exhibit: Exhibit,
    /// Where it was when last heard of.
    pub clock: Clock,
    /// Whether it runs.
    pub running: bool,
    /// Where the run in progress is to end.
    pub target: Option<Target>,
    /// Whether new data may wait: nobody draws it.
    quiet: Arc<AtomicBool>,
    /// The recording in progress.
    pub recording: Option<Recording>,
    /// The finished run on show instead of a simulation.
    pub recorded: Option<Recorded>,
    /// Why there is no simulation.
    pub error: Option<String>,
    /// What is kept for the day the device fails.
    pub rescue: Rescue,
    /// Why the simulation stopped by itself; none once it runs again.
    pub trouble: Option<Trouble>,
    /// Real-time factor.
    pub pace: Pace,
    /// From edit to picture.
    pub latency: Latency,
    /// What has become of the edits.
    pub taken: Taken,
    /// How long building it took.
    pub build_time: Option<Duration>,
    /// Spikes the window never saw because it was slow.
    pub skipped: u64,
}

impl Live {
    /// Starts the engine's thread so far behind the window's, or none (tests of the window alone).
    pub fn new(engine: Option<i32>, builder: Builder, wake: egui::Context) -> Result<Self, String> {
        let quiet = Arc::new(AtomicBool::new(false));
        let start = |nice| way_on::start_engine(nice, &wake, &quiet).map_err(|e| format!("engine thread: {e}"));
        let nice = engine;
        let engine = engine.map(start).transpose()?;
        Ok(Self {
            engine,
            nice,
            builder,
            wake,
            loading: None,
            sent: None,
            built: None,
            since_zero: None,
            stubborn: HashSet::new(),
            play_when_loaded: false,
            watched: vec![],
            profiled: None,
            speed_sent: None,
            exhibit: Exhibit::default(),
            clock: Clock::default(),
            running: false,
            target: None,
            quiet,
            recording: None,
            recorded: None,
            error: None,
            trouble: None,
            rescue: Rescue::default(),
            pace: Pace::default(),
            latency: Latency::default(),
            taken: Taken::default(),
            build_time: None,
            skipped: 0,
        })
    }

    /// Builds a simulation on the loader thread; the present one runs on until the new one is ready.
    pub fn build(&mut self, project: &Project, scene: Scene, play: bool) {
        let (builder, wanted) = (self.builder.clone(), project.clone());
        let job = move |progress: &Progress| builder(&wanted, &scene, progress);
        self.load(job, project.clone(), play, None);
    }

    fn load(
        &mut self,
        job: impl FnOnce(&Progress) -> Outcome + Send + 'static,
        project: Project,
        play: bool,
        resume: Option<(u64, SinceZero)>,
    ) {
        self.cancel_loading();
        self.error = None;
        let wake = self.wake.clone();
        match Loader::spawn(job, move || wake.request_repaint()) {
            Ok(loader) => self.loading = Some(Loading { loader, project, play, resume }),
            Err(e) => self.error = Some(format!("loader thread: {e}")),
        }
    }

    /// Stops the loader at its next report.
    pub fn cancel_loading(&mut self) {
        if let Some(loading) = self.loading.take() {
            loading.loader.progress.cancel();
        }
    }

    /// Forgets the simulation of a document that was closed.
    pub fn forget(&mut self) {
        self.cancel_loading();
        self.pause();
        self.sent = None;
        self.recorded = None;
        self.exhibit = Exhibit::default();
        self.clock = Clock::default();
        (self.error, self.trouble) = (None, None);
        self.rescue.forget();
        self.watched.clear();
    }

    /// Stage, fraction and elapsed time of the loader.
    pub fn progress(&self) -> Option<(String, f32, Duration)> {
        let loading = self.loading.as_ref()?;
        let (stage, fraction) = loading.loader.progress.now();
        Some((stage, fraction, loading.loader.since.elapsed()))
    }

    /// Whether there is a simulation to run.
    pub fn is_loaded(&self) -> bool {
        self.sent.is_some() || self.recorded.is_some()
    }

    /// Whether commands have anywhere to go.
    pub fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// Counters of the worker.
    pub fn gauges(&self) -> Option<&crate::engine::Gauges> {
        self.engine.as_ref().map(|e| &*e.gauges)
    }

    fn send(&self, command: Command) -> bool {
        // A full queue means the engine is busy with one long step: the window never waits for it.
        self.engine.as_ref().is_some_and(|e| e.commands.try_send(command).is_ok())
    }

    /// Runs until told otherwise.
    pub fn play(&mut self) {
        match self.loading.as_mut() {
            Some(loading) if self.sent.is_none() => loading.play = true,
            _ => {
                self.send(Command::Play);
            }
        }
    }

    /// Stops between two steps.
    pub fn pause(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.play = false;
        }
        self.send(Command::Pause);
    }

    /// Takes this many steps.
    pub fn step(&mut self, steps: u64) {
        let from = self.clock.step;
        if self.send(Command::Step(steps)) {
            self.target = Some(Target { from, to: from.saturating_add(steps), since: Instant::now() });
        }
    }

    /// Runs up to a step.
    pub fn run_to(&mut self, step: u64) {
        if self.send(Command::RunTo(step)) {
            self.target = Some(Target { from: self.clock.step, to: step, since: Instant::now() });
        }
    }

    /// Whether new data may wait: nobody draws it.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet.store(quiet, std::sync::atomic::Ordering::Relaxed);
        self.wake.request_repaint();
    }

    /// Back to step 0.
    pub fn rewind(&mut self) {
        self.pace.forget();
        self.send(Command::Rewind);
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action) {
        self.send(Command::Act(action));
    }

    /// Starts a recording.
    pub fn record(&mut self, taps: Vec<Tap>, sink: Box<dyn Sink>, folder: PathBuf) {
        if self.send(Command::Record(taps, sink)) {
            self.recording = Some(Recording { since: Instant::now(), folder });
        }
    }

    /// Ends the recording.
    pub fn stop_recording(&mut self) {
        self.send(Command::StopRecording);
    }

    /// The model as it was built.
    pub fn built_model(&self) -> Option<&crate::kinds::Model> {
        self.built.as_ref().map(|project| &project.model)
    }

    /// What a recording needs to be replayed.
    pub fn since_zero(&self) -> Option<&SinceZero> {
        self.since_zero.as_ref()
    }
}
