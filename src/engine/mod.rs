//! The engine: a worker thread that owns the simulation, handles commands and publishes frames.
//!
//! The engine uses `dyn Simulation` and depends on no kind and no window. The window is notified only through `wake`.

#![warn(missing_docs)]

mod best;
mod checkpoint;
mod counters;
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
mod shown_trial;
mod states_rate;
mod unfinished;
mod worker;

pub use best::{BestPlan, BestState};
pub use checkpoint::{Checkpoint, CheckpointPlan};
pub use counters::EngineCounters;
pub use loader::{Loader, Outcome};
pub use mailbox::Mailbox;
pub use messages::{Command, Event, LoggedCommand, Scheduled, SchemaChanges, SetChange, SimSchema};
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

/// All parameters of the running simulation, as the worker last published them.
pub(crate) type AcceptedParams = Arc<Mutex<Vec<Change>>>;

/// Handle of the engine's thread.
pub struct Engine {
    /// Channel of commands to the thread.
    pub commands: Sender<Command>,
    /// Channel of events from the thread.
    pub events: Receiver<Event>,
    /// Mailbox of frames from the thread.
    pub frames: Arc<Mailbox>,
    /// Counters that the thread updates.
    pub counters: Arc<EngineCounters>,
    params: AcceptedParams,
    stop: StopFlag,
    asked: Mutex<Vec<Weak<Progress>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Returns the message of a caught panic, or a replacement if the panic has none.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let why = panic.downcast_ref::<String>().map(String::as_str);
    why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}

impl Engine {
    /// Starts the thread. `wake` is called after every frame and event: `ctx.request_repaint()` in the window, nothing in tests.
    /// Fails if the thread cannot be started.
    pub fn spawn(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(|| {}, wake)
    }

    /// Starts the thread with the Unix nice value `nice`, a lower priority than that of the caller, which draws the window.
    /// Threads that a simulation starts inherit the priority. Fails if the thread cannot be started.
    pub fn spawn_with_priority(nice: i32, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::spawn_with(move || priority::lower_priority(nice), wake)
    }

    fn spawn_with(prepare: impl FnOnce() + Send + 'static, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (commands, inbox) = bounded(256);
        // A command causes a few events at most, so the channel is full only if events are no longer read.
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

    /// Sends a command. Returns `false` if the engine has ended or is blocked because its events are not read: two full
    /// channels must not wait for each other.
    pub fn send(&self, command: Command) -> bool {
        self.send_with(command, |command| self.commands.send_timeout(command, Duration::from_secs(2)).is_ok())
    }

    /// Sends a command if there is room. Returns `false` if the queue is full because a step takes long, or if the engine
    /// has ended.
    pub fn try_send(&self, command: Command) -> bool {
        self.send_with(command, |command| self.commands.try_send(command).is_ok())
    }

    /// Sends a command. A command that ends a run aborts a long step in progress.
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

    /// Sends a request; `None` if the queue is full or the engine has ended. [`Event::Answered`] contains the returned
    /// progress object, which can also cancel the request.
    pub fn ask(&self, request: Request) -> Option<Arc<Progress>> {
        let progress = Arc::new(Progress::default());
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.retain(|known| known.strong_count() > 0);
            asked.push(Arc::downgrade(&progress));
        }
        self.try_send(Command::Ask(request, progress.clone())).then_some(progress)
    }

    /// Whether the thread has ended abnormally.
    pub fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// Returns all parameters in effect: each field of a group, each list as a whole. The list is empty if the simulation
    /// does not publish its parameters.
    pub fn params(&self) -> Vec<Change> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes all unread frames, merged into one; `None` if there are no frames.
    pub fn take_frame(&self) -> Option<Frame> {
        self.frames.take()
    }

    /// Takes the unread frames, oldest first. Unlike [`take_frame`](Self::take_frame), the frames are not merged and their
    /// data not copied.
    pub fn take_frames(&self) -> impl Iterator<Item = Frame> + use<> {
        self.frames.take_all().into_iter()
    }

    /// Recycles the memory of a frame that was read.
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
        // The loop reads events, so that a worker blocked on a full channel receives the last command.
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
