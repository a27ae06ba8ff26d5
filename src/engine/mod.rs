//! The engine: a worker thread that owns the simulation, handles commands and publishes frames.
//!
//! It uses `dyn Simulation` and depends on no kind and no window. The window is notified through `wake` only.

mod checkpoint;
mod handlers;
mod loader;
mod mailbox;
mod measuring;
mod messages;
mod pace;
pub mod parity;
mod priority;
mod recorder;
pub mod replay;
mod safety;
mod unfinished;
mod worker;

pub use checkpoint::{Checkpoint, CheckpointPlan};
pub use loader::{Loader, Outcome};
pub use mailbox::Mailbox;
pub use messages::{Command, EngineCounters, Event, LoggedCommand, Scheduled, SchemaChanges, SetChange, SimSchema};
pub use priority::lower_priority;
pub use recorder::{CommandHistory, EndStatus, RecordingEnd, RecordingStart, Sink};
pub use safety::SafetyPlan;

use crate::{
    gpu::StopFlag,
    params::Change,
    sim::{Frame, Progress, Request, SimError},
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

/// All parameters of the running simulation, shared by the worker.
pub(crate) type AcceptedParams = Arc<Mutex<Vec<Change>>>;

/// A handle to the engine's thread.
pub struct Engine {
    /// Commands to the thread.
    pub commands: Sender<Command>,
    /// Events from the thread.
    pub events: Receiver<Event>,
    /// Frames from the thread.
    pub frames: Arc<Mailbox>,
    /// Counters.
    pub counters: Arc<EngineCounters>,
    params: AcceptedParams,
    stop: StopFlag,
    asked: Mutex<Vec<Weak<Progress>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// The message of a caught panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let why = panic.downcast_ref::<String>().map(String::as_str);
    why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}

impl Engine {
    /// Starts the thread. `wake` is called after every frame and event: `ctx.request_repaint()` in the window, nothing
    /// in tests.
    pub fn spawn(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(|| {}, wake)
    }

    /// Starts the thread beside a window. It, and the threads a simulation starts from it, have a lower priority than
    /// the thread that draws; `nice` as on Unix.
    pub fn spawn_beside_window(nice: i32, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(move || priority::lower_priority(nice), wake)
    }

    fn spawn_with(prepare: impl FnOnce() + Send + 'static, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (commands, inbox) = bounded(256);
        // A few events per command at most, so the channel is full only when events are not read any more.
        let (outbox, events) = bounded(4096);
        let frames = Arc::new(Mailbox::default());
        let counters = Arc::new(EngineCounters::default());
        let params = AcceptedParams::default();
        let stop = StopFlag::default();
        let shared = worker::Shared {
            frames: frames.clone(),
            counters: counters.clone(),
            params: params.clone(),
            stop: stop.clone(),
        };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || {
            prepare();
            let last_event = outbox.clone();
            let worker = worker::Worker::new(inbox, outbox, shared, &wake);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| worker.run())) {
                let why = panic_message(&*panic);
                let what = format!("internal error ({why}). The project is unchanged: rebuild to continue");
                last_event.send(Event::Failed(SimError::Diverged(what))).ok();
                wake();
            }
        })?;
        Ok(Self { commands, events, frames, counters, params, stop, asked: Mutex::default(), thread: Some(thread) })
    }

    /// Sends a command; `false` when the engine has ended, or is blocked because its events are not read: two full
    /// channels must not wait for each other.
    pub fn send(&self, command: Command) -> bool {
        self.send_with(command, |command| self.commands.send_timeout(command, Duration::from_secs(2)).is_ok())
    }

    /// Sends a command if there is room; `false` when the queue is full, because a step takes long.
    pub fn try_send(&self, command: Command) -> bool {
        self.send_with(command, |command| self.commands.try_send(command).is_ok())
    }

    /// A command that ends a run does not wait for the end of a long step.
    fn send_with(&self, command: Command, send: impl FnOnce(Command) -> bool) -> bool {
        let stops = command.stops();
        if stops {
            self.stop.raise();
        }
        let is_sent = send(command);
        if stops && !is_sent {
            self.stop.lower();
        }
        is_sent
    }

    /// Sends a request; the answer is [`Event::Answered`] with this progress, which also cancels it.
    pub fn ask(&self, request: Request) -> Option<Arc<Progress>> {
        let progress = Arc::new(Progress::default());
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.retain(|known| known.strong_count() > 0);
            asked.push(Arc::downgrade(&progress));
        }
        self.try_send(Command::Ask(request, progress.clone())).then_some(progress)
    }

    /// Whether the thread has ended by a fault.
    pub fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// All parameters in effect: each field of a group, each list as a whole. Empty when the simulation does not publish
    /// them.
    pub fn params(&self) -> Vec<Change> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest frame, merged with all that are not read yet.
    pub fn take_frame(&self) -> Option<Frame> {
        self.frames.take()
    }

    /// The frames that are not read yet, oldest first, without the copies that merging costs.
    pub fn take_frames(&self) -> impl Iterator<Item = Frame> + use<> {
        self.frames.take_all().into_iter()
    }

    /// Returns a frame that was read: its memory is reused.
    pub fn give_back(&self, frame: Frame) {
        self.frames.give_back(frame);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.raise();
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter_map(Weak::upgrade).for_each(|progress| progress.cancel());
        drop(asked);
        // Events are read meanwhile, so that a worker blocked on a full channel receives the last command.
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
