//! The running simulation as the window knows it: engine, loader, and the state that they reported last.

mod acks;
mod edits;
mod ends;
mod events;
mod input_data;
mod playback;
mod recovery;
mod rerun;
mod run_length;
mod safety;
mod subscriptions;
mod versions;

pub use acks::{EditAcks, Rejection};
pub use ends::{Origin, StopReason, Target};
use input_data::DataLoading;
pub use safety::{Safety, SafetyFolder, Unrecorded};
use versions::{Requested, Versions};

use super::{
    checkpoints::Checkpoints,
    history::UndoableAction,
    playback::Playback,
    run_stats::{Latency, Pace},
};
use crate::{
    app::kit::level::Level,
    engine::{Command, Engine, Loader, LoggedCommand, Outcome, SchemaChanges, SimSchema, Sink},
    params::Change,
    project::Project,
    sim::{Action, Answer, BuildContext, Clock, Frame, Individuals, Progress, Request, Snapshot, StepCount, Tap},
};
use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// Beginning of the message of a failed build.
pub const BUILD_FAILED: &str = "Could not build the simulation";
/// Beginning of the message of a simulation that stopped.
pub const STOPPED: &str = "The simulation stopped";

/// Function that builds the simulation of a project on the loader thread. The app uses
/// [`Devices::build`](crate::app::host::device::Devices::build); tests use their own.
pub type Builder = Arc<dyn Fn(&Project, &BuildContext, &Progress) -> Outcome + Send + Sync>;

/// Nice value of the engine thread relative to the window, with a graphics processor.
pub const ENGINE_NICE: i32 = 5;

/// Event of the engine, loader or playback for the rest of the window.
pub enum LiveEvent {
    /// A simulation was loaded.
    Loaded,
    Frame(Frame),
    /// A message for the log. Warnings and errors are also toasts.
    Message(Level, String),
    /// The schema changed while the simulation runs. Frames before this event have the old schema.
    SchemaChanged(SchemaChanges),
    /// The answer to a request.
    Answered(Arc<Progress>, Clock, Result<Answer, String>),
    /// An action was performed that can be undone.
    Undoable(UndoableAction),
    /// The simulation returned to step 0.
    Rewound,
    /// A recorded change was applied again in a rerun, so that the document follows.
    Repeated(Change),
    /// A recording is complete: its folder and the computing time.
    Recorded(PathBuf, Duration),
    /// The run reached its duration and paused.
    Ended,
    /// A recording failed, with the reason.
    RecordingFailed(String),
}

/// A recording in progress.
pub struct Recording {
    pub since: Instant,
    /// Computing time of the simulation at the start of the recording.
    pub computed: Duration,
    pub folder: PathBuf,
}

struct Loading {
    loader: Loader,
    project: Project,
    play: bool,
    /// Step of the checkpoint from which to continue, and the command log up to the checkpoint; `None` for a new run.
    resume: Option<(u64, RunLog)>,
    /// Checkpoint of another run at which the simulation begins; `None` for step 0.
    origin: Option<Origin>,
    /// Commands of a recorded run that are applied at their steps; `None` except in a rerun.
    scheduled: Option<rerun::SharedSchedule>,
}

/// Run since step 0: the document at step 0, and the applied edits and actions. The replay of a recording needs both.
#[derive(Clone)]
pub struct RunLog {
    /// The document at step 0.
    pub project: Project,
    /// Applied commands by step.
    pub log: Vec<(u64, LoggedCommand)>,
}

/// The running simulation.
pub struct Live {
    engine: Option<Engine>,
    /// Nice value of the engine thread, which is used again after a failure; `None` without an engine.
    nice: Option<i32>,
    builder: Builder,
    wake: egui::Context,
    loading: Option<Loading>,
    data_loading: Option<DataLoading>,
    /// Document from which the simulation was built, and document that the engine has.
    versions: Versions,
    /// Last requests to the engine.
    requested: Requested,
    /// Sets and probes of the simulation.
    pub schema: SimSchema,
    /// Schemas of frames that are not handled yet.
    next_schemas: VecDeque<SimSchema>,
    /// Individuals in the sets of slots, as last reported; empty unless a selection or a query names them.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
    /// Last reported clock.
    pub clock: Clock,
    /// Whether the simulation is running.
    pub running: bool,
    /// Target of the run in progress; `None` if the run has no target.
    pub target: Option<Target>,
    /// Whether the display is paused, so that new data do not cause a prompt repaint.
    quiet: Arc<AtomicBool>,
    /// Recording in progress; `None` without a recording.
    pub recording: Option<Recording>,
    /// Automatic safety recording.
    pub safety: Safety,
    /// Base folder of relative paths in the simulation's project.
    base: PathBuf,
    /// Checkpoint of another run at which the simulation began; `None` for step 0.
    pub origin: Option<Origin>,
    /// Finished run that is shown instead of a simulation; `None` if no run is shown.
    pub playback: Option<Playback>,
    /// Reason why there is no simulation; `None` if there is a simulation or none was built yet.
    pub error: Option<String>,
    /// Checkpoints, to continue after a device failure.
    pub checkpoints: Checkpoints,
    /// Reason why the simulation stopped; `None` after it runs again.
    pub stop_reason: Option<StopReason>,
    /// Work of the last step if it varies; otherwise empty.
    counts: Vec<StepCount>,
    pub pace: Pace,
    /// Latency from edit to frame.
    pub latency: Latency,
    /// Acknowledgements of edits.
    pub acks: EditAcks,
    /// Wall-clock time that the simulation has run since step 0, seconds.
    pub ran_secs: f64,
    /// Duration of the last build; `None` before the first build.
    pub build_time: Option<Duration>,
    /// Number of spikes that are not shown because the window was too slow.
    pub skipped: u64,
}

impl Live {
    /// Starts the engine thread with the nice value `engine`; with `None`, there is no engine (tests of the window alone).
    /// Fails if the thread cannot be started.
    pub fn new(engine: Option<i32>, builder: Builder, wake: egui::Context) -> Result<Self, String> {
        let quiet = Arc::new(AtomicBool::new(false));
        let start = |nice| recovery::start_engine(nice, &wake, &quiet).map_err(|e| format!("engine thread: {e}"));
        let nice = engine;
        let engine = engine.map(start).transpose()?;
        Ok(Self {
            engine,
            nice,
            builder,
            wake,
            loading: None,
            data_loading: None,
            versions: Versions::default(),
            requested: Requested::default(),
            schema: SimSchema::default(),
            next_schemas: VecDeque::new(),
            individuals: vec![],
            clock: Clock::default(),
            running: false,
            target: None,
            quiet,
            recording: None,
            safety: Safety::default(),
            base: PathBuf::from("."),
            origin: None,
            playback: None,
            error: None,
            stop_reason: None,
            checkpoints: Checkpoints::default(),
            counts: vec![],
            pace: Pace::default(),
            latency: Latency::default(),
            acks: EditAcks::default(),
            ran_secs: 0.0,
            build_time: None,
            skipped: 0,
        })
    }

    /// Builds a simulation on the loader thread. The current simulation continues until the new one is ready.
    pub fn build(&mut self, project: &Project, context: BuildContext, play: bool) {
        self.base.clone_from(&context.base);
        let (builder, wanted) = (self.builder.clone(), project.clone());
        let job = move |progress: &Progress| builder(&wanted, &context, progress);
        self.load(job, project.clone(), play, None);
    }

    /// Builds a paused simulation that continues from a checkpoint of a run.
    pub fn branch(&mut self, project: &Project, context: BuildContext, state: Arc<Snapshot>, origin: Origin) {
        self.load_state(project, context, state, None);
        if let Some(loading) = &mut self.loading {
            loading.origin = Some(origin);
        }
    }

    /// Builds a paused simulation that continues a run at a checkpoint, given by its step and the run up to it.
    pub fn resume(&mut self, project: &Project, context: BuildContext, state: Arc<Snapshot>, at: (u64, RunLog)) {
        self.load_state(project, context, state, Some(at));
    }

    /// Builds a paused simulation in a saved state.
    fn load_state(
        &mut self,
        project: &Project,
        context: BuildContext,
        state: Arc<Snapshot>,
        resume: Option<(u64, RunLog)>,
    ) {
        self.base.clone_from(&context.base);
        let (builder, wanted) = (self.builder.clone(), project.clone());
        let job = move |progress: &Progress| {
            let mut sim = builder(&wanted, &context, progress)?;
            sim.load(&state)?;
            Ok(sim)
        };
        self.load(job, project.clone(), false, resume);
    }

    /// Sends a request; `None` if there is no engine or it is busy. The event with the answer contains the returned
    /// progress, which can also cancel the request.
    pub fn ask(&self, request: Request) -> Option<Arc<Progress>> {
        self.engine.as_ref()?.ask(request)
    }

    fn load(
        &mut self,
        job: impl FnOnce(&Progress) -> Outcome + Send + 'static,
        project: Project,
        play: bool,
        resume: Option<(u64, RunLog)>,
    ) {
        self.cancel_loading();
        self.data_loading = None;
        self.error = None;
        let wake = self.wake.clone();
        match Loader::spawn(job, move || wake.request_repaint()) {
            Ok(loader) => self.loading = Some(Loading { loader, project, play, resume, origin: None, scheduled: None }),
            Err(e) => self.error = Some(format!("loader thread: {e}")),
        }
    }

    /// Cancels the loader, which stops at its next progress report.
    pub fn cancel_loading(&mut self) {
        self.cancel_data();
        if let Some(loading) = self.loading.take() {
            loading.loader.progress.cancel();
        }
    }

    /// Drops the simulation of a closed document.
    pub fn forget(&mut self) {
        self.cancel_loading();
        self.data_loading = None;
        self.pause();
        self.send(Command::DiscardSafety);
        (self.versions.sent, self.versions.accepted) = (None, None);
        self.acks = EditAcks::default();
        self.playback = None;
        self.versions.run_log = None;
        self.schema = SimSchema::default();
        self.clock = Clock::default();
        self.ran_secs = 0.0;
        (self.error, self.stop_reason) = (None, None);
        self.checkpoints.forget();
        self.requested.subscribed.clear();
        self.requested.shown_trial = 0;
        self.individuals.clear();
    }

    /// Returns the stage, completed fraction and elapsed time of the loader, or of a compilation of kernels; `None` if
    /// nothing is loaded.
    pub fn progress(&self) -> Option<(String, f32, Duration)> {
        let loading = self.loading.as_ref()?;
        let (stage, fraction) = loading.loader.progress.now();
        let since = loading.loader.since.elapsed();
        let Some(compiling) = crate::gpu::compiling() else { return Some((stage, fraction, since)) };
        let (fraction, since) = compiling.expected.map_or((fraction, since), |of| (of.fraction, of.spent));
        Some((compiling.text(), fraction, since))
    }

    /// Whether there is a simulation to run, whose schema the engine has sent, or a finished run to show.
    pub fn is_loaded(&self) -> bool {
        self.versions.sent.is_some() && !self.schema.probes.is_empty() || self.playback.is_some()
    }

    /// Formats the measured speed: `7.8×` real time, or `232 generations/s` for counted steps; `None` before enough steps.
    pub fn speed_text(&self) -> Option<String> {
        match !self.clock.base.is_count() {
            true => self.pace.real_time_factor().map(|x| format!("{}×", crate::app::kit::text::short(x))),
            false => self
                .pace
                .steps_per_sec()
                .map(|n| format!("{} {}/s", crate::app::kit::text::short(n), self.clock.base.plural())),
        }
    }

    /// Returns the work per step, or the work of the last step if it varies.
    pub fn counts(&self, model: &crate::kinds::Model) -> Vec<StepCount> {
        if self.counts.is_empty() { model.counts() } else { self.counts.clone() }
    }

    /// Whether there is an engine.
    pub fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// Returns the counters of the engine; `None` without an engine.
    pub fn counters(&self) -> Option<&crate::engine::EngineCounters> {
        self.engine.as_ref().map(|e| &*e.counters)
    }

    fn send(&self, command: Command) -> bool {
        // The queue is full while the engine computes a long step. The window never waits for room.
        self.engine.as_ref().is_some_and(|e| e.try_send(command))
    }

    /// Pauses between two steps.
    pub fn pause(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.play = false;
        }
        (self.requested.is_playing, self.requested.starts_when_subscribed) = (false, false);
        self.requested.play_when_loaded = false;
        self.send(Command::Pause);
    }

    /// Takes `steps` steps.
    pub fn step(&mut self, steps: u64) {
        let from = self.clock.step;
        self.requested.is_playing = false;
        if self.send(Command::Step(steps)) {
            self.target = Some(Target { from, to: from.saturating_add(steps), since: Instant::now() });
        }
    }

    /// Runs up to a step.
    pub fn run_to(&mut self, step: u64) {
        self.requested.is_playing = false;
        if self.send(Command::RunTo(step)) {
            self.target = Some(Target { from: self.clock.step, to: step, since: Instant::now() });
        }
    }

    /// Pauses or resumes prompt repaints for new data.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet.store(quiet, std::sync::atomic::Ordering::Relaxed);
        self.wake.request_repaint();
    }

    /// Returns to step 0. A simulation that runs to a duration continues.
    pub fn rewind(&mut self) {
        self.pace.forget();
        if self.send(Command::Rewind) {
            self.safety.n_rewinds_pending += 1;
            if let Some(project) = self.versions.accepted.clone() {
                self.start_safety_recording(&project);
            }
        }
        if self.running && self.requested.is_playing {
            self.start_run(); // The end of the run is counted from step 0.
        }
    }

    /// Sends an action on elements as they are displayed. Has no effect on a finished run.
    pub fn act(&mut self, action: Action) {
        if self.playback.is_none() {
            self.send(Command::Act(Action { seen: Some(self.clock.step), ..action }));
        }
    }

    /// Sends an action that undoes or repeats an earlier one.
    pub fn act_again(&mut self, action: Action) {
        self.send(Command::ActAgain(action));
    }

    /// Starts a recording.
    pub fn record(&mut self, taps: Vec<Tap>, sink: Box<dyn Sink>, folder: PathBuf) {
        if self.send(Command::Record(taps, sink)) {
            self.recording = Some(Recording { since: Instant::now(), computed: self.computed(), folder });
        }
    }

    /// Ends the recording.
    pub fn stop_recording(&mut self) {
        self.send(Command::StopRecording);
    }

    /// Returns the document from which the simulation was built; `None` without a simulation.
    pub fn built_project(&self) -> Option<&Project> {
        self.versions.built.as_ref()
    }

    /// Returns the model as it was built; `None` without a simulation.
    pub fn built_model(&self) -> Option<&crate::kinds::Model> {
        self.built_project().map(|project| &project.model)
    }

    /// Returns the run since step 0, for recordings; `None` without a simulation.
    pub fn run_log(&self) -> Option<&RunLog> {
        self.versions.run_log.as_ref()
    }
}
