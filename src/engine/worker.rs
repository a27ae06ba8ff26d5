//! The loop: obey, batch, sample, hand out.

use super::{Command, EngineCounters, Event, LoggedCommand, Mailbox, SimSchema, pace, recorder::Recorder};
use crate::{
    gpu::{Pass, nvtx},
    params::Change,
    sim::{Clock, Digest, Effect, Frame, SimError, Simulation, Tap},
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// One batch in this many is measured kernel by kernel.
pub const PROFILE_EVERY: u64 = 32;
/// Frames are handed to the screen at most this often; histories in between are folded. Less than a batch aims to take:
/// folding a batch that came a moment early copies its spikes while the device waits.
const FRAME_EVERY: Duration = Duration::from_millis(6);
/// States (fields, matrices) are read at most this often while it runs: no screen shows them sooner.
const STATES_EVERY: Duration = Duration::from_millis(16);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    Paused,
    Free,
    Until(u64),
}

pub(super) struct Worker<W> {
    inbox: Receiver<Command>,
    outbox: Sender<Event>,
    frames: Arc<Mailbox>,
    counters: Arc<EngineCounters>,
    wake: W,
    pass: Pass,
    sim: Option<Box<dyn Simulation>>,
    watch: Vec<Tap>,
    profile: Option<u32>,
    /// Somebody began to look: the next batch is measured.
    first_look: bool,
    recorder: Option<Recorder>,
    running: Running,
    pace: pace::Pace,
    batches: u64,
    epoch: u64,
    last_frame: Instant,
    ran: pace::Stopwatch,
    /// When states were last read, and whether it has run on since.
    last_states: Option<Instant>,
    states_are_behind: bool,
    held: Option<Frame>,
    /// Where a batch in progress began.
    whole: Option<(Digest, Clock)>,
}

impl<W: Fn()> Worker<W> {
    pub fn new(
        inbox: Receiver<Command>,
        outbox: Sender<Event>,
        frames: Arc<Mailbox>,
        counters: Arc<EngineCounters>,
        wake: W,
    ) -> Self {
        Self {
            inbox,
            outbox,
            frames,
            counters,
            wake,
            pass: Pass::default(),
            sim: None,
            watch: vec![],
            profile: None,
            first_look: false,
            recorder: None,
            running: Running::Paused,
            pace: pace::Pace::new(),
            batches: 0,
            epoch: 0,
            last_frame: Instant::now(),
            ran: pace::Stopwatch::default(),
            last_states: None,
            states_are_behind: false,
            held: None,
            whole: None,
        }
    }

    pub fn run(mut self) {
        loop {
            let command = match self.running {
                Running::Paused => match self.inbox.recv() {
                    Ok(command) => Some(command),
                    Err(_) => break,
                },
                _ => self.inbox.try_recv().ok(),
            };
            match command {
                Some(Command::Quit) => break,
                Some(command) => self.obey(command),
                None => match self.batch() {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => self.fail(error),
                },
            }
        }
        self.stop_recording();
    }

    fn tell(&self, event: Event) {
        self.outbox.send(event).ok();
        (self.wake)();
    }

    fn clock(&self) -> Clock {
        self.sim.as_ref().map(|s| s.clock()).unwrap_or_default()
    }

    /// The recording is closed before anybody hears of the failure, at the end of the last batch that came out of the
    /// simulation whole. When the device failed, what is left of the simulation there answers to nothing: its memory
    /// is given back.
    fn fail(&mut self, error: SimError) {
        self.pass.abandon();
        let (digest, clock) = self.whole.take().unwrap_or_else(|| (self.digest(), self.clock()));
        let was_running = std::mem::replace(&mut self.running, Running::Paused) != Running::Paused;
        self.ran.turn(false);
        self.pace.forget();
        self.hand_out_held();
        if error.is_device() {
            self.sim = None;
        }
        self.close_recording(digest, clock);
        self.tell(Event::Failed(error));
        if was_running {
            self.tell(Event::Running(false, clock));
        }
    }

    /// The simulation continues, unless its device failed. `change`: the rejected parameter change.
    fn reject(&mut self, change: Option<Change>, error: SimError) {
        if error.is_device() {
            return self.fail(error);
        }
        self.tell(Event::Rejected { change, error });
    }

    fn set_running(&mut self, running: Running) {
        let changed = (running == Running::Paused) != (self.running == Running::Paused);
        self.running = running;
        self.ran.turn(running != Running::Paused);
        self.pace.forget();
        if running == Running::Paused {
            if self.states_are_behind && self.sample(true).is_err() {
                self.states_are_behind = false; // whoever asks next hears of it
            }
            self.hand_out_held();
        }
        if changed {
            self.tell(Event::Running(running != Running::Paused, self.clock()));
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Load(sim) => self.load(sim),
            Command::Play if self.sim.is_some() => self.set_running(Running::Free),
            Command::Pause | Command::Play => self.set_running(Running::Paused),
            Command::Step(n) => self.run_to(self.clock().step.saturating_add(n)),
            Command::RunTo(step) => self.run_to(step),
            Command::Rewind => self.rewind(),
            Command::Speed(limit) => self.pace.limit(limit),
            Command::Batch(steps) => self.pace.fix(steps),
            Command::Set(change) => self.set(change),
            Command::Act(action) => {
                let done = self.sim.as_mut().map(|s| s.act(&action));
                match done {
                    Some(Ok(())) => self.log(LoggedCommand::Act(action)),
                    Some(Err(error)) => self.reject(None, error),
                    None => {}
                }
            }
            Command::Subscribe(taps) => {
                self.watch = taps;
                self.retap();
                self.show_now();
            }
            Command::Profile(every) => {
                self.first_look = self.profile.is_none() && every.is_some();
                self.profile = every.map(|n| n.max(1));
            }
            Command::Record(taps, sink) => self.record(taps, sink),
            Command::StopRecording => self.stop_recording(),
            Command::Save => match self.sim.as_mut().map(|s| (s.save(), s.clock())) {
                Some((Ok(state), clock)) => self.tell(Event::Saved(state, clock)),
                Some((Err(error), _)) => self.reject(None, error),
                None => {}
            },
            Command::Restore(state) => self.restore(&state),
            Command::Quit => {} // handled by the loop
        }
    }

    fn load(&mut self, sim: Box<dyn Simulation>) {
        self.stop_recording();
        self.set_running(Running::Paused);
        let probes = sim.probes();
        let schema = SimSchema {
            probes,
            lanes: (0..probes.len()).map(|i| sim.lanes(i as u16)).collect(),
            recorded: vec![],
            sets: sim.sets().to_vec(),
            connectivity: sim.connectivity(),
            memory: sim.memory(),
            kernels: sim.kernels(),
        };
        self.sim = Some(sim);
        self.watch.clear();
        self.start_epoch();
        self.tell(Event::Loaded(schema));
    }

    fn start_epoch(&mut self) {
        self.epoch += 1;
        self.ran.restart();
        self.held = None;
        self.counters.step.store(self.clock().step, Ordering::Relaxed);
    }

    fn run_to(&mut self, step: u64) {
        if self.sim.is_some() && step > self.clock().step {
            return self.set_running(Running::Until(step));
        }
        let was_paused = self.running == Running::Paused;
        self.set_running(Running::Paused);
        if was_paused {
            // Whoever waits for the end of the run hears that there is nothing to run.
            self.tell(Event::Running(false, self.clock()));
        }
    }

    fn rewind(&mut self) {
        self.stop_recording();
        match self.sim.as_mut().map(|s| s.rewind()) {
            Some(Err(error)) => return self.fail(error),
            Some(Ok(())) => self.log(LoggedCommand::Rewind),
            None => {}
        }
        self.pace.forget();
        self.start_epoch();
        self.show_now();
    }

    /// A recording ends where the simulation was before it jumped.
    fn restore(&mut self, state: &[u8]) {
        let (clock, digest) = (self.clock(), self.digest());
        match self.sim.as_mut().map(|s| s.load(state)) {
            Some(Err(error)) => return self.reject(None, error),
            Some(Ok(())) => self.close_recording(digest, clock),
            None => {}
        }
        self.pace.forget();
        self.start_epoch();
        self.show_now();
    }

    fn set(&mut self, change: Change) {
        match self.sim.as_mut().map(|s| s.set(&change)) {
            Some(Ok(Effect::NeedsRebuild)) => self.tell(Event::NeedsRebuild(change)),
            Some(Err(error)) => self.reject(Some(change), error),
            Some(Ok(Effect::Applied)) => self.log(LoggedCommand::Set(change)),
            None => self.reject(Some(change), SimError::Input("there is no simulation".to_owned())),
        }
    }

    fn log(&mut self, what: LoggedCommand) {
        let step = self.clock().step;
        if let Some(recorder) = &self.recorder {
            recorder.log(step, what.clone());
        }
        self.outbox.send(Event::Applied(step, what)).ok();
        // A running simulation shows the effect within a batch: drawing the window before that would only delay it.
        if self.running == Running::Paused {
            (self.wake)();
        }
    }

    /// What the simulation has to sample: the union of screen and disk. Elements of the same probe merge.
    fn retap(&mut self) {
        let mut union = self.watch.clone();
        for tap in self.recorder.iter().flat_map(|r| &r.taps) {
            match union.iter_mut().find(|t| t.probe == tap.probe) {
                Some(known) => {
                    known.elements.extend(&tap.elements);
                    known.elements.sort_unstable();
                    known.elements.dedup();
                }
                None => union.push(tap.clone()),
            }
        }
        if let Some(Err(error)) = self.sim.as_mut().map(|s| s.tap(&union)) {
            self.reject(None, error);
        }
    }

    fn record(&mut self, taps: Vec<Tap>, sink: Box<dyn super::Sink>) {
        self.stop_recording();
        let Some(sim) = &self.sim else {
            let nothing = std::io::Error::other("there is no simulation to record yet");
            return self.tell(Event::RecordingFailed(nothing));
        };
        let lanes = taps.iter().map(|t| (t.probe, sim.lanes(t.probe))).collect();
        match Recorder::start(taps, sink, sim.clock(), lanes, self.counters.clone()) {
            Ok(recorder) => {
                self.recorder = Some(recorder);
                self.retap();
            }
            Err(error) => self.tell(Event::RecordingFailed(error)),
        }
    }

    fn digest(&self) -> Digest {
        self.sim.as_ref().map_or_else(Digest::default, |s| s.digest())
    }

    fn stop_recording(&mut self) {
        if self.recorder.is_some() {
            self.close_recording(self.digest(), self.clock());
        }
    }

    fn close_recording(&mut self, digest: Digest, clock: Clock) {
        let Some(recorder) = self.recorder.take() else { return };
        match recorder.finish(digest.clone(), clock) {
            Ok(()) => self.tell(Event::Recorded(digest, clock)),
            Err(error) => self.tell(Event::RecordingFailed(error)),
        }
        self.retap();
        self.pace.forget();
    }

    /// Leaves a frame of the present state: after a load, a rewind, a new view.
    fn show_now(&mut self) {
        if let Err(error) = self.sample(true) {
            self.fail(error);
        }
        self.hand_out_held();
    }

    fn sample(&mut self, states: bool) -> Result<(), SimError> {
        let Some(sim) = &mut self.sim else { return Ok(()) };
        let timings = std::mem::take(&mut self.pass.timings);
        let mut frame =
            Frame { clock: sim.clock(), epoch: self.epoch, timings, ran_secs: self.ran.secs(), ..Frame::default() };
        frame.histories_only = !states;
        frame.spare = self.frames.spare();
        sim.sample(&mut frame)?;
        if states {
            self.last_states = Some(Instant::now());
        }
        self.states_are_behind = !states;
        if let Some(recorder) = &self.recorder
            && !recorder.offer(frame.only(&recorder.taps))
        {
            self.stop_recording();
        }
        let seen = if self.recorder.is_some() { frame.only(&self.watch) } else { frame };
        match &mut self.held {
            Some(held) => held.absorb(seen),
            none => *none = Some(seen),
        }
        Ok(())
    }

    /// States go to the screen now and then, to the disk every time.
    fn states_are_due(&self) -> bool {
        let recorded = |sim: &dyn Simulation, r: &Recorder| {
            r.taps.iter().any(|t| sim.probes().get(usize::from(t.probe)).is_some_and(|p| p.shape.is_state()))
        };
        self.last_states.is_none_or(|last| last.elapsed() >= STATES_EVERY)
            || self.sim.as_deref().zip(self.recorder.as_ref()).is_some_and(|(sim, r)| recorded(sim, r))
    }

    fn hand_out_held(&mut self) {
        if let Some(frame) = self.held.take() {
            self.frames.put(frame);
            self.last_frame = Instant::now();
            (self.wake)();
        }
    }

    /// One batch. `true` when the engine was told to quit while it waited for the speed limit.
    fn batch(&mut self) -> Result<bool, SimError> {
        let Some(sim) = &mut self.sim else {
            self.running = Running::Paused;
            return Ok(false);
        };
        let clock = sim.clock();
        let (mut steps, wait) = self.pace.next(clock.secs(), clock.secs_per_step);
        if let Running::Until(end) = self.running {
            steps = u64::from(steps).min(end.saturating_sub(clock.step)) as u32;
        }
        if !wait.is_zero() {
            // The pace is asked again afterwards: a long wait comes in pieces.
            match self.inbox.recv_timeout(wait) {
                Ok(Command::Quit) | Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            return Ok(false);
        }
        let stalled = EngineCounters::read(&self.counters.stalled_nanos);
        let start = Instant::now();
        let every = self.profile.map_or(PROFILE_EVERY, u64::from);
        let profiled = std::mem::take(&mut self.first_look) || self.batches.is_multiple_of(every);
        self.pass.begin(self.batches, clock.step, profiled, self.profile.is_some());
        self.batches += 1;
        self.whole = Some((self.digest(), clock));
        if let Some(sim) = &mut self.sim {
            let _range = nvtx::range("batch");
            sim.advance(steps, &mut self.pass)?;
        }
        let (due, sampling) = (self.states_are_due(), Instant::now());
        self.sample(due)?;
        self.pass.aside_since(sampling, "sample");
        self.whole = None;
        // Time spent waiting for the disk says nothing about the batch: shorter blocks would only make it worse.
        let stalled = Duration::from_nanos(EngineCounters::read(&self.counters.stalled_nanos) - stalled);
        let took = start.elapsed().saturating_sub(stalled);
        self.pass.end(steps, took.as_nanos() as u64)?;
        if let Some(held) = &mut self.held {
            held.batches.append(&mut self.pass.batches);
        }
        self.pace.took(steps, took);
        let clock = self.clock();
        self.counters.step.store(clock.step, Ordering::Relaxed);
        self.counters.batch_nanos.store(took.as_nanos() as u64, Ordering::Relaxed);
        self.counters.batch_steps.store(steps.into(), Ordering::Relaxed);
        if self.last_frame.elapsed() >= FRAME_EVERY {
            self.hand_out_held();
        }
        if matches!(self.running, Running::Until(end) if clock.step >= end) {
            self.set_running(Running::Paused);
        }
        Ok(false)
    }
}
