//! The worker thread: owns the simulation, takes commands, leaves frames.
//!
//! Knows `dyn Simulation`, no kind, no window. `wake` is the only thread to the screen.

mod loader;
mod mailbox;
mod pace;
pub mod parity;
mod priority;
mod recorder;
pub mod replay;
mod worker;

pub use loader::{Loader, Outcome};
pub use mailbox::Mailbox;
pub use priority::give_way;
pub use recorder::Sink;
pub use worker::PROFILE_EVERY;

use crate::{
    gpu::KernelFacts,
    params::Change,
    sim::{Action, Clock, Connectivity, Digest, ElementSet, Frame, ProbeId, ProbeSpec, SimError, Simulation, Tap},
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// What is asked of the engine. The list is closed: everything that can happen is here.
pub enum Command {
    /// Replaces the simulation; built on a loader thread, so this is cheap. The engine pauses.
    Load(Box<dyn Simulation>),
    /// Runs until told otherwise.
    Play,
    /// Stops between two steps.
    Pause,
    /// Takes exactly this many steps, then pauses.
    Step(u64),
    /// Runs up to this step, then pauses.
    RunTo(u64),
    /// Back to step 0. A recording in progress is closed.
    Rewind,
    /// Simulated seconds per wall second at most; `None` is as fast as possible.
    Speed(Option<f64>),
    /// Steps per batch; `None` adapts to 8 ms. Results do not depend on it.
    Batch(Option<u32>),
    /// Takes up a parameter change.
    Set(Change),
    /// Takes up an action.
    Act(Action),
    /// The probes that are on screen. Nothing else is sampled for the screen.
    Subscribe(Vec<Tap>),
    /// How many batches there are to one that is measured while somebody looks at where the time goes: each batch is
    /// then handed out, the measured ones launch by launch. `None` when nobody looks.
    Profile(Option<u32>),
    /// Starts recording these probes.
    Record(Vec<Tap>, Box<dyn Sink>),
    /// Stops recording and closes the run.
    StopRecording,
    /// Answers with `Event::Saved`.
    Save,
    /// Continues from a saved state.
    Restore(Vec<u8>),
    /// Ends the thread; a recording in progress is closed properly.
    Quit,
}

/// What a running simulation can show: sent with [`Event::Loaded`].
#[derive(Clone, Default)]
pub struct SimSchema {
    /// What can be tapped.
    pub probes: &'static [ProbeSpec],
    /// Lane names per probe, for `Series` with fixed lanes.
    pub lanes: Vec<Vec<String>>,
    /// Elements per probe that a finished run recorded; empty for a simulation, where any can be tapped.
    pub recorded: Vec<Vec<u32>>,
    /// The sets of elements.
    pub sets: Vec<Arc<ElementSet>>,
    /// Who is connected to whom, when elements are.
    pub connectivity: Option<Connectivity>,
    /// Memory by owner, bytes.
    pub memory: Vec<(&'static str, u64)>,
    /// What its kernels take of the device, for the timing table; empty on the CPU.
    pub kernels: Vec<KernelFacts>,
}

impl SimSchema {
    /// The elements of a probe that a finished run recorded; empty for a simulation.
    pub fn recorded(&self, probe: ProbeId) -> &[u32] {
        self.recorded.get(usize::from(probe)).map_or(&[], Vec::as_slice)
    }

    /// A probe by name.
    pub fn probe(&self, name: &str) -> Option<ProbeId> {
        self.probes.iter().position(|p| p.name == name).map(|i| i as ProbeId)
    }

    /// A set by name.
    pub fn set(&self, name: &str) -> Option<&Arc<ElementSet>> {
        self.sets.iter().find(|s| s.name == name)
    }
}

/// What the engine says that must not be lost. Rare: at most a few per command.
pub enum Event {
    /// A simulation took its place; views start over.
    Loaded(SimSchema),
    /// Running or not, and since which step.
    Running(bool, Clock),
    /// A change or an action was taken up at this step.
    Applied(u64, LoggedCommand),
    /// A change needs the simulation rebuilt from the project.
    NeedsRebuild(Change),
    /// A change or an action was rejected; the simulation continues. Every `Set` is answered in order by exactly one of
    /// `Applied`, `NeedsRebuild` and `Rejected`, or by `Failed`.
    Rejected {
        /// The rejected change; none for actions, states and taps.
        change: Option<Change>,
        /// The reason.
        error: SimError,
    },
    /// The simulation stopped; a recording in progress is closed. When its device failed, it is gone.
    Failed(SimError),
    /// The recording is complete on disk.
    Recorded(Digest, Clock),
    /// The recording failed; what was written so far is readable. The run goes on.
    RecordingFailed(std::io::Error),
    /// A checkpoint.
    Saved(Vec<u8>, Clock),
}

/// What a run's command log holds: with the project it makes the run replayable bit for bit.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum LoggedCommand {
    /// A parameter was changed.
    Set(Change),
    /// An action was taken.
    Act(Action),
    /// Back to step 0.
    Rewind,
}

/// Counters anyone may read at any time.
#[derive(Default)]
pub struct EngineCounters {
    /// Steps taken.
    pub step: AtomicU64,
    /// Wall nanoseconds of the last batch.
    pub batch_nanos: AtomicU64,
    /// Steps of the last batch.
    pub batch_steps: AtomicU64,
    /// Wall nanoseconds the run has waited for the recorder.
    pub stalled_nanos: AtomicU64,
    /// Bytes of memory the recorder's queue holds, in blocks.
    pub queued_blocks: AtomicU64,
}

impl EngineCounters {
    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// The other end of the engine.
pub struct Engine {
    /// Commands in.
    pub commands: Sender<Command>,
    /// Events out.
    pub events: Receiver<Event>,
    /// Frames out.
    pub frames: Arc<Mailbox>,
    /// Counters.
    pub counters: Arc<EngineCounters>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What a panic that was caught had to say.
pub fn why_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let why = panic.downcast_ref::<String>().map(String::as_str);
    why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}

impl Engine {
    /// Starts the thread. `wake` is called after every frame and event: `ctx.request_repaint()` in
    /// the app, nothing in tests.
    pub fn spawn(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(|| {}, wake)
    }

    /// The same beside a window: the engine's thread, and those that a simulation starts from it, give way to the
    /// thread that draws whenever both want the processor: `nice`, as on Unix, says how far.
    pub fn spawn_beside_window(nice: i32, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(move || priority::give_way(nice), wake)
    }

    fn spawn_with(prepare: impl FnOnce() + Send + 'static, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (commands, inbox) = bounded(256);
        // A few events per command at most, so this many wait only when nobody listens any more.
        let (outbox, events) = bounded(4096);
        let frames = Arc::new(Mailbox::default());
        let counters = Arc::new(EngineCounters::default());
        let (worker_frames, worker_counters) = (frames.clone(), counters.clone());
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || {
            prepare();
            let last_words = outbox.clone();
            let worker = worker::Worker::new(inbox, outbox, worker_frames, worker_counters, &wake);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| worker.run())) {
                let why = why_of(&*panic);
                let what = format!("a fault inside the program ({why}); the project is untouched, rebuild to go on");
                last_words.send(Event::Failed(SimError::Diverged(what))).ok();
                wake();
            }
        })?;
        Ok(Self { commands, events, frames, counters, thread: Some(thread) })
    }

    /// Sends a command; `false` when the engine is gone, or does not listen because nobody took its events:
    /// two full channels must not wait for each other for ever.
    pub fn send(&self, command: Command) -> bool {
        self.commands.send_timeout(command, std::time::Duration::from_secs(2)).is_ok()
    }

    /// Whether the thread has ended by a fault: nobody listens any more.
    pub fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// The newest frame, with everything that piled up since the last call folded in.
    pub fn take_frame(&self) -> Option<Frame> {
        self.frames.take()
    }

    /// The frames that piled up since the last call, oldest first: without the copying that folding takes.
    pub fn take_frames(&self) -> impl Iterator<Item = Frame> + use<> {
        self.frames.take_all().into_iter()
    }

    /// A frame was read: its memory is filled again.
    pub fn give_back(&self, frame: Frame) {
        self.frames.give_back(frame);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Events are taken meanwhile, so that a worker with something to say gets to hear the last command.
        while matches!(self.commands.try_send(Command::Quit), Err(e) if e.is_full()) {
            while self.events.try_recv().is_ok() {}
            std::thread::yield_now();
        }
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            self.events.recv_timeout(std::time::Duration::from_millis(1)).ok();
        }
        thread.join().ok();
    }
}
