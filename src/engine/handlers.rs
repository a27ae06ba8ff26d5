//! Command handlers of the worker.

use super::{
    Checkpoint, Command, CommandHistory, EndStatus, Event, LoggedCommand, RecordingEnd, RecordingStart, Scheduled,
    SetChange, SimSchema, Sink, checkpoint,
    measuring::MeasuringRate,
    recorder::Recorder,
    shown_trial::Screen,
    worker::{Running, Worker},
};
use crate::{
    params::{Change, Params},
    sim::{
        Action, Digest, Effect, ElementState, Frame, InputData, ProbeId, Progress, Request, Shape, SimError,
        Simulation, Tap,
    },
};
use std::{
    io,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

impl<W: Fn()> Worker<W> {
    pub(super) fn handle_command(&mut self, command: Command) {
        if command.stops() {
            self.shared.stop.lower();
        }
        match command {
            Command::Load(sim) => self.load(sim, None),
            Command::Resume(sim, history) => self.load(sim, Some(history)),
            Command::Play if self.sim.is_some() => self.set_running(Running::Free),
            Command::Pause | Command::Play => self.set_running(Running::Paused),
            Command::Step(n) => self.run_to(self.clock().step.saturating_add(n)),
            Command::RunTo(step) => self.run_to(step),
            Command::RunToMultiple(n) => self.run_to((self.clock().step / n.max(1) + 1).saturating_mul(n.max(1))),
            Command::Rewind => self.rewind(),
            Command::Speed(limit) => self.pace.limit(limit),
            Command::Batch(steps) => self.pace.fix(steps),
            Command::Set(change) => self.set(change),
            Command::Replace(data) => self.replace(data),
            Command::Act(action) => self.act_undoable(&action),
            Command::ActAgain(action) => drop(self.act(&action)),
            Command::Schedule(commands) => self.scheduled = commands.into(),
            Command::Subscribe(taps) => self.subscribe(taps),
            Command::ShowTrial(trial) => self.show_trial(trial),
            Command::Individuals(wanted) => {
                self.screen.with_individuals = wanted;
                if wanted {
                    self.sample_now();
                }
            }
            Command::Profile(every) => {
                self.profile_next = self.profile.is_none() && every.is_some();
                self.profile = every;
            }
            Command::Record(taps, sink) => self.record(taps, sink),
            Command::RecordSafety(plan, sink) => self.record_safety(plan, sink),
            Command::DiscardSafety => self.discard_safety(),
            Command::StopRecording => self.end_recording(EndStatus::Complete),
            Command::InterruptRecording => self.end_recording(EndStatus::Interrupted),
            Command::Save => self.save(),
            Command::Restore(checkpoint) => self.restore(&checkpoint),
            Command::Ask(request, progress) => self.ask(&request, progress),
            Command::Digest => self.send_event(Event::Digest(self.digest(), self.clock())),
            Command::Quit => {} // handled by the loop
        }
    }

    /// Reports a rejected command. The simulation continues unchanged unless its device failed. `change` is the rejected
    /// parameter change, if the command was one.
    pub(super) fn reject(&mut self, change: Option<Change>, error: SimError) {
        if error.is_device() {
            return self.fail(error);
        }
        self.send_event(Event::Rejected { change, error });
    }

    fn load(&mut self, sim: Box<dyn Simulation>, resumed: Option<CommandHistory>) {
        self.end_recording(EndStatus::Complete);
        self.discard_safety();
        self.set_running(Running::Paused);
        self.schema = SimSchema::of(&*sim);
        self.sim_generation = sim.generation();
        if resumed.is_none() {
            self.restart_computed();
        }
        self.history = resumed.unwrap_or_else(|| history_from(&*sim));
        self.sim = Some(sim);
        self.pace.restart();
        self.scheduled.clear();
        self.measuring = MeasuringRate::default();
        self.last_memory = None;
        self.subscribed.clear();
        self.screen = Screen::default();
        self.share_params();
        self.start_epoch();
        self.send_event(Event::Loaded(self.schema.clone()));
    }

    fn restart_computed(&mut self) {
        self.computed = Duration::ZERO;
        self.shared.counters.computed_nanos.store(0, Ordering::Relaxed);
    }

    pub(super) fn start_epoch(&mut self) {
        self.epoch += 1;
        self.run_time.restart();
        self.unpublished = None;
        self.shared.counters.step.store(self.clock().step, Ordering::Relaxed);
    }

    fn run_to(&mut self, step: u64) {
        if self.sim.is_some() && step > self.clock().step {
            return self.set_running(Running::Until(step));
        }
        let was_paused = self.running == Running::Paused;
        self.set_running(Running::Paused);
        if was_paused {
            // Without a simulation nothing can run, but the end of the run is reported.
            self.send_event(Event::Running(false, self.clock()));
        }
    }

    fn rewind(&mut self) {
        self.end_recording(EndStatus::Complete);
        self.scheduled.clear();
        match self.sim.as_mut().map(|s| s.rewind()) {
            Some(Err(error)) => return self.fail(error),
            Some(Ok(())) => {
                self.restart_computed();
                self.applied(LoggedCommand::Rewind);
            }
            None => {}
        }
        self.discard_safety();
        self.history = self.sim.as_deref().map(history_from).unwrap_or_default();
        self.pace.forget();
        self.start_epoch();
        self.update_schema(self.clock().step);
        self.update_states();
        self.sample_now();
    }

    /// Restores a checkpoint. The recording ends at the step before the jump.
    fn restore(&mut self, from: &Checkpoint) {
        if let Err(error) = self.finish_measuring() {
            return self.reject(None, error);
        }
        let (clock, digest) = (self.clock(), self.digest());
        match self.sim.as_mut().map(|s| checkpoint::restore(&mut **s, from)) {
            Some(Err(error)) => return self.reject(None, error),
            Some(Ok(())) => {
                let computed = self.computed;
                self.close_recording(RecordingEnd { digest, clock, computed, ..RecordingEnd::default() });
                self.discard_safety();
                self.scheduled.clear();
                self.history.commands.truncate(from.n_logged as usize);
                self.share_params();
            }
            None => {}
        }
        self.pace.forget();
        self.start_epoch();
        self.update_schema(self.clock().step);
        self.update_states();
        self.sample_now();
    }

    fn set(&mut self, change: Change) {
        match self.sim.as_mut().map(|s| s.set(&change)) {
            Some(Ok(Effect::NeedsRebuild)) => self.send_event(Event::NeedsRebuild(change)),
            Some(Err(error)) => self.reject(Some(change), error),
            Some(Ok(Effect::Applied)) => {
                self.share_params();
                self.applied(LoggedCommand::Set(change));
                self.update_schema(self.clock().step);
            }
            None => self.reject(Some(change), SimError::Input("there is no simulation".to_owned())),
        }
    }

    fn replace(&mut self, data: InputData) {
        match self.sim.as_mut().map(|s| s.replace(&data)) {
            Some(Ok(Effect::NeedsRebuild)) => self.send_event(Event::NeedsRebuild(data.change)),
            Some(Err(error)) => self.reject(Some(data.change), error),
            Some(Ok(Effect::Applied)) => {
                self.share_params();
                self.applied(LoggedCommand::Data(data.change, data.hash));
                self.update_schema(self.clock().step);
            }
            None => self.reject(Some(data.change), SimError::Input("there is no simulation".to_owned())),
        }
    }

    /// Performs an action and reports how to undo it.
    fn act_undoable(&mut self, action: &Action) {
        let before = self.schema.states.clone();
        let Some(done) = self.act(action) else { return };
        let specs = self.sim.as_ref().map_or(&[][..], |sim| sim.actions());
        if let Some(inverse) = done.inverse(specs, &before) {
            self.send_event(Event::Undoable { done, inverse });
        }
    }

    /// Performs an action. Returns it as it was performed; `None` if it was rejected.
    fn act(&mut self, action: &Action) -> Option<Action> {
        match self.sim.as_mut().map(|s| action.perform(&mut **s))? {
            Ok(performed) => {
                self.applied(LoggedCommand::Act(performed.clone()));
                self.update_schema(self.clock().step);
                self.update_states();
                Some(performed)
            }
            Err(error) => {
                self.reject(None, error);
                None
            }
        }
    }

    /// Sends the states of elements if they changed.
    pub(super) fn update_states(&mut self) {
        let states = self.sim.as_deref().map(ElementState::all).unwrap_or_default();
        if states != self.schema.states {
            self.schema.states.clone_from(&states);
            self.send_event(Event::States(states));
        }
    }

    /// Applies the scheduled commands that are due before the next step.
    pub(super) fn apply_scheduled(&mut self) {
        let step = self.clock().step;
        while self.scheduled.front().is_some_and(|(due, _)| *due <= step) {
            let Some((_, command)) = self.scheduled.pop_front() else { break };
            match command {
                Scheduled::Set(change) => {
                    self.outbox.send(Event::Scheduled(change.clone())).ok();
                    self.set(change);
                }
                Scheduled::Replace(data) => {
                    self.outbox.send(Event::Scheduled(data.change.clone())).ok();
                    self.replace(data);
                }
                Scheduled::Act(action) => drop(self.act(&action)),
            }
        }
    }

    fn ask(&mut self, request: &Request, progress: Arc<Progress>) {
        let none = || Err(SimError::Input("there is no simulation".to_owned()));
        let answer = self.sim.as_mut().map_or_else(none, |sim| sim.ask(request, &progress));
        self.pace.forget(); // the time spent on the answer is not caught up
        let failure = answer.as_ref().err().filter(|e| e.is_device()).map(|e| SimError::Device(e.to_string()));
        self.send_event(Event::Answered { progress, clock: self.clock(), answer });
        if let Some(error) = failure {
            self.fail(error);
        }
    }

    /// Logs an applied command and reports it.
    fn applied(&mut self, what: LoggedCommand) {
        let step = self.clock().step;
        if let Some(recorder) = &self.recorder {
            recorder.log(step, what.clone());
        }
        if let Some(safety) = &mut self.safety {
            safety.log(step, what.clone());
        }
        self.history.commands.push((step, what.clone()));
        self.outbox.send(Event::Applied(step, what)).ok();
        // A running simulation shows the effect after the present batch, and an earlier repaint would delay the batch.
        if self.running == Running::Paused {
            (self.wake)();
        }
    }

    fn share_params(&self) {
        let params = self.sim.as_ref().and_then(|s| s.params()).map(Params::snapshot).unwrap_or_default();
        *self.shared.params.lock().unwrap_or_else(PoisonError::into_inner) = params;
    }

    /// Sends the schema again if it differs from the last one. The new schema holds after step `since`. Samples are read
    /// after every batch, so the samples of the old schema have been published and recorded.
    pub(super) fn update_schema(&mut self, since: u64) {
        let Some(sim) = self.sim.as_deref() else { return };
        let (mut now, generation) = (SimSchema::of(sim), sim.generation());
        now.follow_levels(&self.schema, since);
        let changes = now.changes_since(&self.schema);
        if std::mem::replace(&mut self.sim_generation, generation) == generation && changes.is_empty() {
            return;
        }
        let new = SimSchema { generation: self.schema.generation + 1, since_step: since, ..now };
        self.publish();
        if let Some(recorder) = &self.recorder {
            recorder.schema_changed(since, &self.schema, &new, &changes);
        }
        if let Some(safety) = &mut self.safety {
            safety.schema_changed(since, &self.schema, &new, &changes);
        }
        let recorded = self.recorder.as_mut().map_or(&mut [][..], |recorder| &mut recorder.taps);
        let is_followed = [&mut self.subscribed[..], recorded]
            .map(|taps| SetChange::follow_taps(&changes.sets, new.probes, taps))
            .contains(&true);
        if is_followed {
            self.update_taps();
        }
        self.schema = new;
        self.send_event(Event::SchemaChanged(self.schema.clone()));
    }

    /// Taps the probes that the screen and the recordings need. Taps with equal keys are merged into one with the elements
    /// of all.
    pub(super) fn update_taps(&mut self) {
        let mut union = self.subscribed.clone();
        Tap::merge(&mut union, self.recorder.iter().flat_map(|r| &r.taps).cloned());
        Tap::merge(&mut union, self.recorder.iter().filter_map(|r| Some(r.followed.as_ref()?.tap.clone())));
        Tap::merge(&mut union, self.safety.iter().flat_map(|s| &s.taps).cloned());
        if let Some(Err(error)) = self.sim.as_mut().map(|s| s.tap(&union)) {
            self.reject(None, error);
        }
    }

    fn record(&mut self, taps: Vec<Tap>, sink: Box<dyn Sink>) {
        self.end_recording(EndStatus::Complete);
        // A recording that begins must not contain measurements that began before it.
        if let Err(error) = self.finish_measuring() {
            let why = io::Error::other(error.to_string());
            return self.send_event(Event::RecordingFailed(why, RecordingEnd::default()));
        }
        let Some(sim) = &self.sim else {
            let nothing = io::Error::other("there is no simulation to record yet");
            return self.send_event(Event::RecordingFailed(nothing, RecordingEnd::default()));
        };
        // In a resumed run, the element of a tap may have ceased to exist.
        let checked = if sim.clock().step == 0 { self.schema.check_taps(&taps) } else { Ok(()) };
        if let Err(wrong) = checked {
            return self.send_event(Event::RecordingFailed(io::Error::other(wrong), RecordingEnd::default()));
        }
        let (digest, probes) = (Digest::of(&**sim), sim.probes());
        let Some(start) = self.recording_start(&taps) else { return };
        let continues = sink.continues();
        // The safety recording is complete up to this step, so the recording may take over its data.
        self.close_safety(EndStatus::Complete);
        match Recorder::start(taps, probes, sink, start, digest, self.shared.counters.clone()) {
            Ok(recorder) => {
                self.recorder = Some(recorder);
                self.end_lineage_taps();
                self.update_taps();
                if continues {
                    self.drop_unread();
                }
            }
            Err(error) => self.send_event(Event::RecordingFailed(error, RecordingEnd::default())),
        }
    }

    /// Returns the state at the start of a recording of these taps; `None` without a simulation.
    pub(super) fn recording_start(&self, taps: &[Tap]) -> Option<RecordingStart> {
        let sim = self.sim.as_ref()?;
        let lanes: Vec<(ProbeId, Vec<String>)> = taps.iter().map(|t| (t.probe, sim.lanes(t.probe))).collect();
        let levels = taps.iter().map(|t| (t.probe, sim.levels(t.probe))).filter(|(_, l)| !l.is_empty()).collect();
        let (clock, execution) = (sim.clock(), sim.execution());
        let (computed, history) = (self.computed, self.history.clone());
        let (begun, n_parameters) = (Some(Instant::now()), sim.n_parameters());
        Some(RecordingStart { clock, begun, computed, execution, n_parameters, lanes, levels, history })
    }

    /// Discards unread lineage events before a recording continues another. A lineage tap begins with the living
    /// individuals, which the continued recording already contains.
    fn drop_unread(&mut self) {
        let mut frame = Frame { histories_only: true, ..Frame::default() };
        if let Some(Err(error)) = self.sim.as_mut().map(|s| s.sample(&mut frame)) {
            self.reject(None, error);
        }
    }

    /// Ends the window's lineage taps before a recording begins: a new lineage tap starts with the living individuals,
    /// which the recording needs.
    fn end_lineage_taps(&mut self) {
        let Some(sim) = &mut self.sim else { return };
        let probes = sim.probes();
        let is_lineage =
            |tap: &Tap| probes.get(usize::from(tap.probe)).is_some_and(|p| matches!(p.shape, Shape::Lineage { .. }));
        let others: Vec<Tap> = self.subscribed.iter().filter(|tap| !is_lineage(tap)).cloned().collect();
        if others.len() < self.subscribed.len()
            && let Err(error) = sim.tap(&others)
        {
            self.reject(None, error);
        }
    }
}

/// Creates a history that starts with a simulation's present parameters.
fn history_from(sim: &dyn Simulation) -> CommandHistory {
    CommandHistory { params: sim.params().map(Params::snapshot).unwrap_or_default(), commands: vec![] }
}
