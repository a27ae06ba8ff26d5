//! Once per frame, around the panels: events of the engine and of jobs, the window title, subscriptions.

use super::{App, panels::time_panel};
use crate::app::{
    document::{activity::ActivityCheck, checkpoints, live, time},
    kit::level::Level,
};

impl App {
    pub(crate) fn process_inbox(&mut self) {
        self.messages.log.drain();
        let events = self.document.session.live.poll();
        self.document.session.live.schema.unused = self.document.session.project.model.unused_probes();
        for event in events {
            match event {
                live::LiveEvent::Loaded => {
                    self.overlays.requests.forget();
                    self.document.session.leave_run();
                    self.forget_path();
                    let layout = self.document.session.layout.take().filter(|_| !self.preferences.reset_layout);
                    self.document.time.reset();
                    if std::mem::take(&mut self.document.session.is_new) {
                        self.document.time.axis = time::TimeAxis::default();
                    }
                    let project = &self.document.session.project;
                    self.document.time.expect(project.planned_steps(), project.model.time_base());
                    self.workspace.open(layout.as_deref(), &self.document.session.live.schema);
                    self.messages.toasts.resolve(&[live::BUILD_FAILED, live::STOPPED]);
                    let device = self.host.devices.chosen();
                    self.set_machine(&device);
                    self.document.session.live.checkpoints.every =
                        device.is_gpu.then_some(checkpoints::CHECKPOINT_EVERY);
                    self.messages
                        .log
                        .add(Level::Info, format!("Simulation ready on {}. {}", device.name, device.details));
                    self.continue_recording();
                }
                live::LiveEvent::Frame(mut frame) => {
                    self.document.session.follow_individuals(&mut frame);
                    self.document.profile.absorb(&frame);
                    self.workspace.absorb(&self.document.session.live.schema, &mut self.document.time, &mut frame);
                    self.document.session.filter.absorb(&self.document.session.live.schema, &frame);
                    self.document.session.live.give_back(frame);
                }
                live::LiveEvent::SchemaChanged(changes) => {
                    changes.sets.iter().for_each(|set| self.document.session.selection.follow(set));
                    self.document.time.past.schema_changed(&self.document.session.live.schema, &changes);
                    self.workspace.schema_changed(&self.document.session.live.schema, &changes);
                }
                live::LiveEvent::Message(Level::Info, text) => self.messages.log.add(Level::Info, text),
                live::LiveEvent::Message(level, text) => self.messages.notify(level, text),
                live::LiveEvent::Answered(progress, clock, answer) => {
                    self.overlays.requests.answered(&progress, clock, answer)
                }
                live::LiveEvent::Repeated(change) => self.document.session.follow_repeated(&change),
                live::LiveEvent::Recorded(folder, took) => self.recorded(&folder, took),
                live::LiveEvent::Ended => {
                    let now = self.document.session.live.clock.step as f64;
                    self.document.time.axis.fit_run(self.document.time.past.first() as f64, now);
                }
                live::LiveEvent::RecordingFailed(why) if self.flow.keeping.is_some() => self.run_not_kept(&why),
                live::LiveEvent::RecordingFailed(why) => self.messages.notify(Level::Error, why),
            }
        }
        if self.document.session.live.progress().is_none() && !self.document.session.live.is_loaded() {
            self.flow.resuming = None; // the simulation of the run could not be built
        }
        self.document.time.past.update();
        ActivityCheck::update(&mut self.document.time, &self.document.session);
        self.feed_new_panels();
        while let Some(done) = self.host.jobs.poll() {
            done(self);
        }
    }

    /// The title bar: `● name — running 7.8×`, or `232 generations/s` for kinds that count.
    pub(crate) fn update_title(&mut self, ctx: &egui::Context) {
        let session = &self.document.session;
        let dirty = if session.is_dirty() { "● " } else { "" };
        let state = match (session.live.running, session.live.speed_text()) {
            (true, Some(speed)) => format!(" — running {speed}"),
            (true, None) => " — running".to_owned(),
            _ => String::new(),
        };
        let title = match &self.flow.opening {
            Some(opening) => format!("{} — Neuropil", opening.name()),
            None => format!("{dirty}{}{state} — Neuropil", session.project.name),
        };
        if title != self.host.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.host.title = title;
        }
    }

    /// Subscribes to the probes of the visible views: the engine samples no others for the window.
    pub(crate) fn subscribe(&mut self) {
        if !self.workspace.unfed.is_empty() | self.document.session.filter.take_needs_sample() {
            self.document.session.live.sample_again();
        }
        let session = &self.document.session;
        let is_quiet = self.panels.pacing.updates_are_off;
        let mut taps = if is_quiet { vec![] } else { self.workspace.taps(&session.live.schema, &session.selection) };
        let filter = if is_quiet { vec![] } else { session.filter.taps(&session.live.schema) };
        for tap in time_panel::taps(self).into_iter().chain(filter) {
            if taps.iter().all(|t| t.probe != tap.probe) {
                taps.push(tap);
            }
        }
        taps.sort_by_key(|tap| tap.probe);
        self.document.session.live.subscribe(taps);
        let wants_individuals = self.document.session.names_individuals();
        self.document.session.live.follow_individuals(wants_individuals);
        self.document.session.live.profile(self.workspace.profiles().then_some(self.document.profile.every));
    }
}
