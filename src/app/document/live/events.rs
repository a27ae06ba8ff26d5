//! Handles events of the engine, the loader and a playback, once per frame.

use super::{BUILD_FAILED, EditAcks, Live, LiveEvent, RunLog, STOPPED, StopReason};
use crate::{
    app::{
        document::{
            checkpoints::{Checkpoint, DeviceFailure},
            command::UiCommand,
            history::UndoableAction,
        },
        kit::{level::Level, pool},
    },
    engine::{Command, CommandHistory, EndStatus, Engine, Event, LoggedCommand, RecordingEnd},
    kinds::Model,
    params::{ParamId, titles},
    sim::{Action, ActionSpec, Frame, Reading, SimError},
};
use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

impl Live {
    /// Handles all events since the last call. Returns the events for the rest of the window.
    pub fn poll(&mut self) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        self.poll_loader(&mut events);
        self.poll_data(&mut events);
        self.poll_playback(&mut events);
        self.poll_engine(&mut events);
        let frames = self.engine.as_ref().map(Engine::take_frames);
        let is_live = self.playback.is_none();
        for frame in frames.into_iter().flatten().filter(|_| is_live) {
            // The engine sends a schema before the first frame with this schema, and after the last frame with the former
            // schema.
            if frame.generation > self.schema.generation && self.next_schemas.is_empty() {
                self.poll_engine(&mut events);
            }
            while self.next_schemas.front().is_some_and(|next| next.generation <= frame.generation) {
                self.change_schema(&mut events);
            }
            self.clock = frame.clock;
            self.ran_secs = frame.ran_secs;
            self.counts.clone_from(&frame.counts);
            self.skipped += frame.skipped;
            self.latency.frame(frame.clock.step);
            if self.running {
                self.pace.observe(frame.clock);
            }
            match frame.trial == self.requested.shown_trial {
                true => events.push(LiveEvent::Frame(frame)),
                false => self.give_back(frame),
            }
        }
        while is_live && !self.next_schemas.is_empty() {
            self.change_schema(&mut events);
        }
        self.keep_checkpoint();
        events
    }

    fn poll_engine(&mut self, events: &mut Vec<LiveEvent>) {
        while let Some(event) = self.engine.as_ref().and_then(|e| e.events.try_recv().ok()) {
            self.handle_event(event, events);
        }
    }

    pub(super) fn change_schema(&mut self, events: &mut Vec<LiveEvent>) {
        let Some(next) = self.next_schemas.pop_front() else { return };
        let changed = next.changes_since(&self.schema);
        self.schema = next;
        events.push(LiveEvent::SchemaChanged(changed));
    }

    /// Returns a shown frame to the engine.
    pub fn give_back(&self, mut frame: Frame) {
        // Births and deaths are freed on the pool, because freeing thousands of them takes longer than drawing a frame.
        let has_lives = |reading: &Reading| matches!(reading, Reading::Lineage(events) if !events.is_empty());
        let lives: Vec<_> = frame.readings.extract_if(.., |(_, reading)| has_lives(reading)).collect();
        if !lives.is_empty() {
            pool::discard(lives);
        }
        if let Some(engine) = &self.engine {
            engine.give_back(frame);
        }
    }

    fn keep_checkpoint(&mut self) {
        let now = Instant::now();
        if self.running && self.checkpoints.is_due(now) && self.send(Command::Save) {
            self.checkpoints.requested(now);
        }
    }

    fn poll_loader(&mut self, events: &mut Vec<LiveEvent>) {
        let Some(outcome) = self.loading.as_ref().and_then(|l| l.loader.poll()) else { return };
        let Some(loading) = self.loading.take() else { return };
        match outcome {
            Ok(sim) => {
                self.requested.play_when_loaded = loading.play || self.running;
                let is_checkpoint = |step: u64| step == sim.clock().step;
                if loading.resume.as_ref().is_some_and(|(step, _)| !is_checkpoint(*step)) {
                    let why = "The checkpoint does not fit; the simulation starts from step 0";
                    events.push(LiveEvent::Message(Level::Warning, why.into()));
                }
                self.revive();
                let resumed = loading.resume.filter(|(step, _)| is_checkpoint(*step)).map(|(_, since)| since);
                let load = match &resumed {
                    Some(run) => {
                        let params = run.project.model.params().snapshot();
                        Command::Resume(sim, CommandHistory { params, commands: run.log.clone() })
                    }
                    None => Command::Load(sim),
                };
                let scheduled = loading.scheduled.map(|shared| {
                    Command::Schedule(std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner)))
                });
                if self.send(load) && scheduled.is_none_or(|commands| self.send(commands)) {
                    self.origin = loading.origin;
                    self.build_time = Some(loading.loader.since.elapsed());
                    self.acks = EditAcks::default();
                    let new_log = || RunLog { project: loading.project.clone(), log: vec![] };
                    self.versions.run_log = Some(resumed.unwrap_or_else(new_log));
                    self.versions.n_loads_pending += 1;
                    self.versions.accepted = Some(loading.project.clone());
                    self.versions.built = Some(loading.project.clone());
                    self.versions.sent = Some(loading.project);
                    self.versions.rebuild_only.clear();
                    self.requested.speed_sent = None;
                } else {
                    events.push(LiveEvent::Message(Level::Error, "The engine is busy. Rebuild again".into()));
                }
            }
            Err(SimError::Cancelled) => events.push(LiveEvent::Message(Level::Info, "Loading cancelled".into())),
            Err(error) => {
                if self.versions.sent.is_none() {
                    self.error = Some(loading.project.titled(&error.to_string()));
                }
                let of_device = matches!(error, SimError::Device(_) | SimError::NoDevice(_));
                let gone = self.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
                if of_device && !gone {
                    let failure = DeviceFailure { text: error.to_string(), stopped: false, play: loading.play };
                    self.checkpoints.failure = Some(failure);
                }
                events.push(LiveEvent::Message(Level::Error, format!("{BUILD_FAILED}: {error}")));
            }
        }
    }

    pub(super) fn handle_event(&mut self, event: Event, events: &mut Vec<LiveEvent>) {
        let mut message = |level, text: String| events.push(LiveEvent::Message(level, text));
        // Answers to edits of a simulation that was replaced are ignored.
        let is_answer =
            matches!(event, Event::Applied(..) | Event::Scheduled(_) | Event::NeedsRebuild(_) | Event::Rejected { .. });
        if is_answer && self.versions.n_loads_pending > 0 {
            return;
        }
        match event {
            Event::Loaded(schema) => {
                self.versions.n_loads_pending = self.versions.n_loads_pending.saturating_sub(1);
                self.schema = schema;
                self.next_schemas.clear();
                (self.playback, self.stop_reason) = (None, None);
                self.checkpoints.forget();
                self.requested.subscribed.clear();
                // A rebuilt simulation shows the trial that was shown before.
                let shown = std::mem::take(&mut self.requested.shown_trial);
                self.show_trial(shown);
                self.individuals.clear();
                self.requested.follows_individuals = false;
                self.latency.forget();
                self.safety.n_rewinds_pending = 0;
                self.restart_recorded(self.schema.since_step);
                self.restart_safety_recording();
                self.requested.starts_when_subscribed = std::mem::take(&mut self.requested.play_when_loaded);
                events.push(LiveEvent::Loaded);
            }
            Event::Running(running, clock) => {
                self.running = running;
                // A simulation that is paused while a run is shown has another time than the run.
                if self.playback.is_none() {
                    self.clock = clock;
                }
                if running {
                    self.stop_reason = None;
                }
                self.pace.forget();
                if !running {
                    self.target = None;
                    if std::mem::take(&mut self.requested.is_playing) && self.has_ended() {
                        events.push(LiveEvent::Ended);
                    }
                }
            }
            Event::Applied(_, LoggedCommand::Rewind) => {
                self.safety.n_rewinds_pending = self.safety.n_rewinds_pending.saturating_sub(1);
                self.recorded_up_to(Duration::ZERO, 0);
                let run = self.versions.accepted.clone().map(|project| RunLog { project, log: vec![] });
                self.versions.run_log = run;
                self.checkpoints.forget_states();
                self.origin = None;
                self.stop_reason = None;
                message(Level::Info, "Rewound to step 0".into());
                events.push(LiveEvent::Rewound);
            }
            Event::Applied(step, what) => {
                match &what {
                    LoggedCommand::Set(change) | LoggedCommand::Data(change, _) => {
                        self.latency.applied(change.id, step);
                        self.acks.applied(change, step);
                        if let Some(accepted) = &mut self.versions.accepted {
                            accepted.model.params_mut().set(change);
                        }
                    }
                    LoggedCommand::Act(action) => message(Level::Info, self.action_text(action, step)),
                    LoggedCommand::Rewind | LoggedCommand::Former(..) => {}
                }
                if let Some(since) = &mut self.versions.run_log {
                    since.log.push((step, what));
                }
            }
            Event::Scheduled(change) => {
                if let Some(sent) = &mut self.versions.sent {
                    sent.model.params_mut().set(&change);
                }
                events.push(LiveEvent::Repeated(change));
            }
            Event::NeedsRebuild(change) => {
                self.versions.rebuild_only.insert(change.id);
                self.acks.needs_rebuild(&change);
                self.update_sent();
            }
            Event::Rejected { change: Some(change), error } => {
                let text = self.rejection_text(change.id, &error);
                let why = self.titled(&error.to_string());
                if self.acks.rejected(change, why) {
                    message(Level::Warning, text);
                }
                self.update_sent();
            }
            Event::Rejected { change: None, error } => {
                self.checkpoints.rejected(Instant::now());
                message(Level::Warning, format!("Could not apply: {error}"));
            }
            Event::Failed(error) => {
                self.acks.forget_pending();
                // The engine has closed the recording.
                self.recording = None;
                let remedy = match error.is_device() {
                    true => ("Continue on CPU", UiCommand::ContinueOnCpu),
                    false => ("Rewind", UiCommand::Rewind),
                };
                self.stop_reason = Some(StopReason { why: self.titled(&error.to_string()).into(), remedy });
                if error.is_device() {
                    let failure = DeviceFailure { text: error.to_string(), stopped: true, play: self.running };
                    self.checkpoints.failure = Some(failure);
                }
                self.running = false;
                message(Level::Error, format!("{STOPPED}: {error}"));
            }
            Event::Recorded(RecordingEnd { status, digest, clock, computed }) => {
                let totals: Vec<String> =
                    digest.totals.iter().map(|(n, v)| format!("{} {n}", crate::app::kit::text::count(*v))).collect();
                let how =
                    if status == EndStatus::Complete { "Recorded" } else { "The recording ended early: recorded" };
                message(
                    Level::Info,
                    format!("{how} up to step {}: {}", crate::app::kit::text::count(clock.step), totals.join(", ")),
                );
                self.recorded_up_to(computed, clock.step);
                if let Some(done) = self.recording.take() {
                    let took = computed.saturating_sub(done.computed);
                    events.push(LiveEvent::Recorded(done.folder, took));
                }
                if self.versions.n_loads_pending == 0 && self.safety.n_rewinds_pending == 0 {
                    self.restart_safety_recording();
                }
            }
            Event::Undoable { done, inverse } => events.push(LiveEvent::Undoable(UndoableAction { done, inverse })),
            Event::SchemaChanged(_) | Event::Memory(_) | Event::States(_) if self.playback.is_some() => {}
            Event::SchemaChanged(schema) => self.next_schemas.push_back(schema),
            Event::Memory(memory) => self.next_schemas.back_mut().unwrap_or(&mut self.schema).memory = memory,
            Event::States(states) => self.next_schemas.back_mut().unwrap_or(&mut self.schema).states = states,
            Event::Answered { progress, clock, answer } => {
                events.push(LiveEvent::Answered(progress, clock, answer.map_err(|e| self.titled(&e.to_string()))));
            }
            Event::Digest(..) => {}
            Event::RecordingFailed(error, end) => {
                self.recording = None;
                let why = format!(
                    "Recording failed: {error}. The data up to step {} are valid",
                    crate::app::kit::text::count(end.clock.step)
                );
                events.push(LiveEvent::RecordingFailed(why));
                if self.versions.n_loads_pending == 0 && self.safety.n_rewinds_pending == 0 {
                    self.restart_safety_recording();
                }
            }
            Event::SafetyClosed(RecordingEnd { status: EndStatus::Failed(why), clock, .. }) => {
                let step = crate::app::kit::text::count(clock.step);
                message(Level::Warning, format!("The unrecorded run is kept up to step {step} only: {why}"));
            }
            Event::SafetyClosed(_) => {}
            Event::CheckpointFailed(error) => message(Level::Error, error.to_string()),
            Event::StoppedEarly { probe, best } => message(Level::Info, best.words(probe)),
            Event::Saved(state) => {
                if let Some(project) = &self.versions.accepted {
                    let kept = Checkpoint { state, project: project.clone() };
                    self.checkpoints.saved(kept, Instant::now());
                }
            }
        }
    }

    /// Formats the message of a performed action: `Split expert at step 1,204. Cannot be undone`.
    fn action_text(&self, action: &Action, step: u64) -> String {
        let specs = self.accepted_model().map_or(&[][..], Model::actions);
        let spec = specs.iter().find(|spec| spec.name == action.name);
        let name = spec.map_or_else(|| action.name.clone().into(), ActionSpec::label);
        let text = format!("{name} at step {}", crate::app::kit::text::count(step));
        match spec.map_or("", ActionSpec::undo_note) {
            "" => text,
            note => format!("{text}. {note}"),
        }
    }

    /// Replaces the paths of parameters in a message by their titles.
    fn titled(&self, text: &str) -> String {
        self.versions.accepted.as_ref().map_or_else(|| text.to_owned(), |project| project.titled(text))
    }

    /// Formats the message of a rejected edit: `Could not apply Interventions › Touch › Target: …`.
    fn rejection_text(&self, id: ParamId, error: &SimError) -> String {
        match self.accepted_model().map(Model::params) {
            Some(params) if id.field == ParamId::WHOLE => {
                format!("Could not apply {}: {error}", params.groups()[usize::from(id.group)].label())
            }
            // The message of the kind may already name the parameter.
            Some(params) => match (titles::title(params, id), titles::in_text(params, &error.to_string())) {
                (title, error) if error.starts_with(&title) => format!("Could not apply {error}"),
                (title, error) => format!("Could not apply {title}: {error}"),
            },
            None => format!("Could not apply: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::document::playback::{self, Opening},
        engine::SimSchema,
        sim::Clock,
    };
    use std::{path::Path, sync::Arc};

    #[test]
    fn a_simulation_that_pauses_behind_a_playback_does_not_change_its_time() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/capsule_2026_11/runs/balanced-edits");
        let builder: crate::app::document::live::Builder =
            Arc::new(|_, _, _| Err(SimError::Input("no network is needed".to_owned())));
        let Ok(Opening::Opened(opened)) = playback::open(&folder, &builder, &|_| true) else { panic!("a run") };
        let mut live = Live::new(None, builder, egui::Context::default()).unwrap();
        live.running = true;
        live.show(*opened).unwrap();
        let (clock, n_sets) = (live.clock, live.schema.sets.len());
        let mut events = vec![];
        live.handle_event(Event::Running(false, Clock::seconds(3_240_000, 1e-4)), &mut events);
        live.handle_event(Event::SchemaChanged(SimSchema { generation: 1, ..SimSchema::default() }), &mut events);
        assert!(!live.running && live.clock == clock);
        live.poll();
        assert!(live.schema.sets.len() == n_sets && n_sets > 0, "the schema is that of the run");
    }
}
