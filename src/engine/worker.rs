//! The worker's loop: handle commands, run a batch, sample probes, publish frames.

use super::{
    AcceptedParams, Command, CommandHistory, EndStatus, EngineCounters, Event, Mailbox, RecordingEnd, Scheduled,
    SimSchema,
    measuring::MeasuringRate,
    pace,
    recorder::{Recorder, RecorderThread},
    safety::SafetyRecorder,
    shown_trial::Screen,
    states_rate::StatesRate,
};
use crate::{
    gpu::{Pass, StopFlag, nvtx},
    sim::{Clock, Digest, ElementSet, Frame, Shape, SimError, Simulation, Tap},
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Minimum time between two frames for the screen; histories in between are merged. The time is shorter than the target
/// duration of a batch, because merging a batch that ended slightly early copies its spikes while the device waits.
const FRAME_EVERY: Duration = Duration::from_millis(6);
/// Maximum size of the log text that a batch sends to the screen, bytes: more than anyone reads in a second.
const TEXT_LIMIT: usize = 16 << 10;
/// Minimum time between two readings of the memory in use during a run.
const MEMORY_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Running {
    Paused,
    Free,
    Until(u64),
}

/// State shared with the engine's handle.
pub(super) struct Shared {
    pub frames: Arc<Mailbox>,
    pub counters: Arc<EngineCounters>,
    pub params: AcceptedParams,
    pub stop: StopFlag,
}

pub(super) struct Worker<W> {
    pub inbox: Receiver<Command>,
    pub outbox: Sender<Event>,
    pub shared: Shared,
    pub wake: W,
    pub pass: Pass,
    pub sim: Option<Box<dyn Simulation>>,
    pub schema: SimSchema,
    /// [`Simulation::generation`] at the time the schema was read.
    pub sim_generation: u64,
    /// Parameters and commands since step 0, from which a recording can be replayed.
    pub history: CommandHistory,
    /// Scheduled commands, ascending by step.
    pub scheduled: VecDeque<(u64, Scheduled)>,
    /// Probes sampled for the screen.
    pub subscribed: Vec<Tap>,
    /// Trial and individuals in frames for the screen.
    pub screen: Screen,
    pub profile: Option<u32>,
    /// Whether the next batch is measured because profiling was just enabled.
    pub profile_next: bool,
    pub measuring: MeasuringRate,
    pub recorder: Option<Recorder>,
    /// Automatic safety recording; `None` if there is none.
    pub safety: Option<SafetyRecorder>,
    /// Threads that remove the data of discarded safety recordings.
    pub removals: Vec<RecorderThread>,
    /// Computing time: [`EngineCounters::computed_nanos`].
    pub computed: Duration,
    pub running: Running,
    pub pace: pace::Pace,
    pub batches: u64,
    pub epoch: u64,
    pub last_frame: Instant,
    pub run_time: pace::Stopwatch,
    /// Rate at which states are read for the screen.
    pub states_rate: StatesRate,
    /// Time of the last reading of the memory in use; `None` before the first batch.
    pub last_memory: Option<Instant>,
    /// Whether the last sample contained no states, or states that may be those of an earlier step.
    pub states_are_stale: bool,
    /// Readings that are not published yet; `None` if all are published.
    pub unpublished: Option<Frame>,
    /// Digest and clock at the start of the batch in progress, where the recording ends if the batch fails; `None` between
    /// batches.
    pub batch_start: Option<(Digest, Clock)>,
}

impl<W: Fn()> Worker<W> {
    pub fn new(inbox: Receiver<Command>, outbox: Sender<Event>, shared: Shared, wake: W) -> Self {
        let mut pass = Pass::default();
        pass.stop = shared.stop.clone();
        pass.activity = shared.counters.activity.clone();
        pass.ends_at_changes = true;
        pass.defers_measurements = true;
        Self {
            inbox,
            outbox,
            shared,
            wake,
            pass,
            sim: None,
            schema: SimSchema::default(),
            sim_generation: 0,
            history: CommandHistory::default(),
            scheduled: VecDeque::new(),
            subscribed: vec![],
            screen: Screen::default(),
            profile: None,
            profile_next: false,
            measuring: MeasuringRate::default(),
            recorder: None,
            safety: None,
            removals: vec![],
            computed: Duration::ZERO,
            running: Running::Paused,
            pace: pace::Pace::new(),
            batches: 0,
            epoch: 0,
            last_frame: Instant::now(),
            run_time: pace::Stopwatch::default(),
            states_rate: StatesRate::default(),
            last_memory: None,
            states_are_stale: false,
            unpublished: None,
            batch_start: None,
        }
    }

    pub fn run(mut self) {
        loop {
            let command = match self.running {
                Running::Paused => match self.wait_for_command() {
                    Ok(command) => Some(command),
                    Err(_) => break,
                },
                _ => self.inbox.try_recv().ok(),
            };
            match command {
                Some(Command::Quit) => break,
                Some(command) => self.handle_command(command),
                None => match self.batch() {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => self.fail(error),
                },
            }
        }
        let is_running = self.running != Running::Paused;
        self.end_recording(if is_running { EndStatus::Interrupted } else { EndStatus::Complete });
        self.finish_removals();
    }

    pub fn send_event(&self, event: Event) {
        self.outbox.send(event).ok();
        (self.wake)();
    }

    pub fn clock(&self) -> Clock {
        self.sim.as_ref().map(|s| s.clock()).unwrap_or_default()
    }

    pub fn digest(&self) -> Digest {
        self.sim.as_ref().map_or_else(Digest::default, |s| Digest::of(&**s))
    }

    /// Pauses after an error, closes the recordings at the end of the last whole batch, and sends the error. If the device
    /// failed, the simulation is dropped and its memory freed.
    pub fn fail(&mut self, error: SimError) {
        self.pass.abandon();
        let (digest, clock) = self.batch_start.take().unwrap_or_else(|| (self.digest(), self.clock()));
        let was_running = std::mem::replace(&mut self.running, Running::Paused) != Running::Paused;
        self.run_time.turn(false);
        self.pace.forget();
        self.publish();
        if error.is_device() {
            self.sim = None;
        }
        self.rescue();
        let status = EndStatus::Failed(error.to_string());
        self.close_safety_at(EndStatus::Interrupted, digest.clone(), clock);
        self.close_recording(RecordingEnd { status, digest, clock, computed: self.computed });
        self.send_event(Event::Failed(error));
        if was_running {
            self.send_event(Event::Running(false, clock));
        }
    }

    pub fn set_running(&mut self, running: Running) {
        let changed = (running == Running::Paused) != (self.running == Running::Paused);
        self.running = running;
        self.run_time.turn(running != Running::Paused);
        self.pace.forget();
        if running == Running::Paused {
            if self.states_are_stale && self.sample(true, self.is_measuring()).is_err() {
                self.states_are_stale = false; // the next command that reads reports the error
            }
            self.publish();
            self.write_safety(true);
        }
        if changed {
            self.send_event(Event::Running(running != Running::Paused, self.clock()));
        }
    }

    pub fn end_recording(&mut self, status: EndStatus) {
        if self.recorder.is_some() {
            if let Err(error) = self.finish_measuring() {
                self.send_event(Event::Rejected { change: None, error });
            }
            self.final_checkpoint(status == EndStatus::Interrupted);
            let (digest, clock) = (self.digest(), self.clock());
            self.close_recording(RecordingEnd { status, digest, clock, computed: self.computed });
        }
    }

    pub fn close_recording(&mut self, end: RecordingEnd) {
        let Some(recorder) = self.recorder.take() else { return };
        match recorder.finish(end) {
            (Ok(()), end) => self.send_event(Event::Recorded(end)),
            (Err(error), end) => self.send_event(Event::RecordingFailed(error, end)),
        }
        self.update_taps();
        self.pace.forget();
    }

    /// Publishes a frame of the present state, after a load, a rewind or a new subscription. Pauses with an error if the
    /// simulation cannot be read.
    pub fn sample_now(&mut self) {
        if let Err(error) = self.sample(true, false) {
            self.fail(error);
        }
        self.publish();
    }

    /// Samples histories, and with `states` also states. With `may_lag`, the states may be those of the previous reading.
    /// Fails if the simulation cannot be read.
    pub fn sample(&mut self, states: bool, may_lag: bool) -> Result<(), SimError> {
        let text_limit = (!self.records(|shape| shape == Shape::Text)).then_some(TEXT_LIMIT);
        let Some(sim) = &mut self.sim else { return Ok(()) };
        let mut frame = Frame {
            clock: sim.clock(),
            epoch: self.epoch,
            generation: self.schema.generation,
            trial: self.screen.trial,
            timings: std::mem::take(&mut self.pass.timings),
            ran_secs: self.run_time.secs(),
            counts: sim.counts(),
            histories_only: !states,
            may_lag,
            text_limit,
            spare: self.shared.frames.spare(),
            ..Frame::default()
        };
        sim.sample(&mut frame)?;
        if let Some(followed) = self.recorder.as_mut().and_then(|recorder| recorder.followed.as_mut()) {
            followed.read(&frame);
        }
        if states && self.screen.with_individuals {
            let of = |set: &Arc<ElementSet>| Some((set.name, sim.individuals(set.name)?));
            frame.individuals = sim.sets().iter().filter_map(of).collect();
        }
        if states {
            self.states_rate.read();
        }
        self.states_are_stale = !states || may_lag;
        self.end_if_trials_differ();
        if let Some(recorder) = &self.recorder
            && !recorder.offer(frame.only(&recorder.taps), self.digest())
        {
            self.end_recording(EndStatus::Complete); // the recorder ends at the last written block
        }
        if self.safety.is_some() {
            let digest = self.digest();
            if let Some(safety) = &mut self.safety {
                safety.add(&frame, digest);
                let subscribed = &self.subscribed;
                frame.readings.retain(|(key, _)| self.recorder.is_some() || subscribed.iter().any(|t| t.has_key(key)));
            }
        }
        let seen = match self.recorder.is_some() {
            true => Frame { individuals: std::mem::take(&mut frame.individuals), ..frame.only(&self.subscribed) },
            false => frame,
        };
        let seen = self.as_shown(seen);
        match &mut self.unpublished {
            Some(frame) => frame.absorb(seen),
            none => *none = Some(seen),
        }
        Ok(())
    }

    /// Whether a recording in progress contains data of a matching shape.
    fn records(&self, wanted: impl Fn(Shape) -> bool) -> bool {
        let recorded = |sim: &dyn Simulation, r: &Recorder| {
            r.taps.iter().any(|t| sim.probes().get(usize::from(t.probe)).is_some_and(|p| wanted(p.shape)))
        };
        self.sim.as_deref().zip(self.recorder.as_ref()).is_some_and(|(sim, r)| recorded(sim, r))
    }

    /// Samples a batch. If the simulation changed its schema in the last step, the schema is read again: the histories of
    /// the batch have the old schema, the states the new one. Fails if the simulation cannot be read.
    fn sample_batch(&mut self) -> Result<(), SimError> {
        if self.sim.as_ref().is_some_and(|sim| sim.generation() != self.sim_generation) {
            self.sample(false, false)?;
            self.update_schema(self.clock().step);
        }
        // A recording of states gets the exact states of every batch.
        let exact = self.records(Shape::is_state);
        // The screen gets states at intervals at which reading them takes a small share of the time.
        let due = exact || self.states_rate.is_due();
        let began = Instant::now();
        self.sample(due, !exact)?;
        if due {
            self.states_rate.took(began.elapsed());
        }
        Ok(())
    }

    /// Publishes the memory in use if the memory changed, at most once per [`MEMORY_EVERY`].
    fn update_memory(&mut self) {
        if self.last_memory.is_some_and(|last| last.elapsed() < MEMORY_EVERY) {
            return;
        }
        self.last_memory = Some(Instant::now());
        self.update_states(); // Elements may end while they are in a state.
        let Some(memory) = self.sim.as_ref().map(|sim| sim.memory()) else { return };
        if memory != self.schema.memory {
            self.schema.memory = memory.clone();
            self.send_event(Event::Memory(memory));
        }
    }

    pub fn publish(&mut self) {
        if let Some(frame) = self.unpublished.take() {
            self.shared.frames.put(frame);
            self.last_frame = Instant::now();
            (self.wake)();
        }
    }

    /// Runs one batch. Returns `true` if a command to quit arrived, or the channel of commands closed, during a wait for the
    /// speed limit. Fails if the simulation fails.
    fn batch(&mut self) -> Result<bool, SimError> {
        self.apply_scheduled();
        if self.running == Running::Paused {
            return Ok(false); // a scheduled command failed
        }
        let Some(sim) = &mut self.sim else {
            self.running = Running::Paused;
            return Ok(false);
        };
        let clock = sim.clock();
        let (mut steps, wait) = self.pace.next(clock.secs(), clock.base.per_step());
        if let Running::Until(end) = self.running {
            steps = u64::from(steps).min(end.saturating_sub(clock.step)) as u32;
        }
        if let Some((next, _)) = self.scheduled.front() {
            steps = u64::from(steps).min(next.saturating_sub(clock.step).max(1)) as u32;
        }
        if let Some(recorder) = &self.recorder {
            steps = u64::from(steps).min(recorder.schedule.steps_left(clock.step)) as u32;
        }
        if !wait.is_zero() {
            // A long wait is divided, and the pace is computed again after each part.
            match self.inbox.recv_timeout(wait) {
                Ok(Command::Quit) | Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Ok(command) => self.handle_command(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            return Ok(false);
        }
        let counters = self.shared.counters.clone();
        let stalled = EngineCounters::read(&counters.stalled_nanos);
        let start = Instant::now();
        let every = self.profile.filter(|n| *n > 0).map_or_else(|| self.measuring.every(), u64::from);
        let profiled = std::mem::take(&mut self.profile_next) || self.batches.is_multiple_of(every);
        self.pass.begin(self.batches, clock.step, profiled, self.profile.is_some());
        self.batches += 1;
        self.batch_start = Some((self.digest(), clock));
        self.pass.is_for_screen = self.recorder.is_none();
        self.pass.ends_at_results = self.follows_result();
        if let Some(sim) = &mut self.sim {
            let _range = nvtx::range("batch");
            sim.advance(steps, &mut self.pass)?;
        }
        let taken = (self.clock().step - clock.step) as u32;
        if taken == 0 {
            // A command is pending, for which the current step was aborted; or an aborted measurement has finished.
            self.pass.abandon();
            self.batch_start = None;
            if self.follows_result() {
                self.sample(false, false)?;
                self.follow_result();
            }
            std::thread::yield_now();
            return Ok(false);
        }
        let sampling = Instant::now();
        self.sample_batch()?;
        self.pass.aside_since(sampling, "sample");
        self.batch_start = None;
        // Time spent waiting for the disk is excluded, because shorter batches would not reduce it.
        let stalled = Duration::from_nanos(EngineCounters::read(&counters.stalled_nanos) - stalled);
        let took = start.elapsed().saturating_sub(stalled);
        self.measuring.took(profiled, taken, took.as_nanos() as u64);
        self.pass.end(taken, took.as_nanos() as u64)?;
        if let Some(frame) = &mut self.unpublished {
            frame.batches.append(&mut self.pass.batches);
        }
        let is_watched = !self.subscribed.is_empty();
        match taken == steps {
            true => self.pace.took(steps, took, is_watched),
            false => self.pace.cut_short(taken, took, is_watched),
        }
        self.computed += took;
        counters.computed_nanos.store(self.computed.as_nanos() as u64, Ordering::Relaxed);
        self.follow_result();
        self.checkpoint_if_due();
        self.write_safety(false);
        self.update_memory();
        let clock = self.clock();
        counters.step.store(clock.step, Ordering::Relaxed);
        counters.batch_nanos.store(took.as_nanos() as u64, Ordering::Relaxed);
        counters.batch_steps.store(taken.into(), Ordering::Relaxed);
        if self.last_frame.elapsed() >= FRAME_EVERY {
            self.publish();
        }
        if matches!(self.running, Running::Until(end) if clock.step >= end) {
            self.set_running(Running::Paused);
        }
        Ok(false)
    }
}
