//! Once per frame, around the panels: events of the engine and of jobs, the window title, subscriptions.

use super::{App, panels::time_panel};
use crate::app::{
    document::{activity::ActivityCheck, checkpoints, live, time},
    kit::level::Level,
};

impl App {
    pub(crate) fn process_inbox(&mut self) {
        self.log.drain();
        let events = self.session.live.poll();
        self.session.live.schema.unused = self.session.project.model.unused_probes();
        for event in events {
            match event {
                live::LiveEvent::Loaded => {
                    self.requests.forget();
                    self.session.leave_run();
                    self.forget_path();
                    let layout = self.session.layout.take().filter(|_| !self.reset_layout);
                    self.time.reset();
                    if std::mem::take(&mut self.session.is_new) {
                        self.time.axis = time::TimeAxis::default();
                    }
                    let project = &self.session.project;
                    self.time.expect(project.planned_steps(), project.model.time_base());
                    self.workspace.open(layout.as_deref(), &self.session.live.schema);
                    self.toasts.resolve(&[live::BUILD_FAILED, live::STOPPED]);
                    let device = self.devices.chosen();
                    self.set_machine(&device);
                    self.session.live.checkpoints.every = device.is_gpu.then_some(checkpoints::CHECKPOINT_EVERY);
                    self.log.add(Level::Info, format!("Simulation ready on {}. {}", device.name, device.details));
                    self.continue_recording();
                }
                live::LiveEvent::Frame(mut frame) => {
                    self.session.follow_individuals(&mut frame);
                    self.profile.absorb(&frame);
                    self.workspace.absorb(&self.session.live.schema, &mut self.time, &mut frame);
                    self.session.filter.absorb(&self.session.live.schema, &frame);
                    self.session.live.give_back(frame);
                }
                live::LiveEvent::SchemaChanged(changes) => {
                    changes.sets.iter().for_each(|set| self.session.selection.follow(set));
                    self.time.past.schema_changed(&self.session.live.schema, &changes);
                    self.workspace.schema_changed(&self.session.live.schema, &changes);
                }
                live::LiveEvent::Message(Level::Info, text) => self.log.add(Level::Info, text),
                live::LiveEvent::Message(level, text) => self.notify(level, text),
                live::LiveEvent::Answered(progress, clock, answer) => self.requests.answered(&progress, clock, answer),
                live::LiveEvent::Repeated(change) => self.session.follow_repeated(&change),
                live::LiveEvent::Recorded(folder, took) => self.recorded(&folder, took),
                live::LiveEvent::Ended => {
                    let now = self.session.live.clock.step as f64;
                    self.time.axis.fit_run(self.time.past.first() as f64, now);
                }
                live::LiveEvent::RecordingFailed(why) if self.keeping.is_some() => self.run_not_kept(&why),
                live::LiveEvent::RecordingFailed(why) => self.notify(Level::Error, why),
            }
        }
        if self.session.live.progress().is_none() && !self.session.live.is_loaded() {
            self.resuming = None; // the simulation of the run could not be built
        }
        self.time.past.update();
        ActivityCheck::update(&mut self.time, &self.session);
        self.feed_new_panels();
        while let Some(done) = self.jobs.poll() {
            done(self);
        }
    }

    /// The title bar: `● name — running 7.8×`, or `232 generations/s` for kinds that count.
    pub(crate) fn update_title(&mut self, ctx: &egui::Context) {
        let session = &self.session;
        let dirty = if session.is_dirty() { "● " } else { "" };
        let state = match (session.live.running, session.live.speed_text()) {
            (true, Some(speed)) => format!(" — running {speed}"),
            (true, None) => " — running".to_owned(),
            _ => String::new(),
        };
        let title = match &self.opening {
            Some(opening) => format!("{} — Neuropil", opening.name()),
            None => format!("{dirty}{}{state} — Neuropil", session.project.name),
        };
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Subscribes to the probes of the visible views: the engine samples no others for the window.
    pub(crate) fn subscribe(&mut self) {
        if !self.workspace.unfed.is_empty() | self.session.filter.take_needs_sample() {
            self.session.live.sample_again();
        }
        let session = &self.session;
        let is_quiet = self.pacing.updates_are_off;
        let mut taps = if is_quiet { vec![] } else { self.workspace.taps(&session.live.schema, &session.selection) };
        let filter = if is_quiet { vec![] } else { session.filter.taps(&session.live.schema) };
        for tap in time_panel::taps(self).into_iter().chain(filter) {
            if taps.iter().all(|t| t.probe != tap.probe) {
                taps.push(tap);
            }
        }
        taps.sort_by_key(|tap| tap.probe);
        self.session.live.subscribe(taps);
        let wants_individuals = self.session.names_individuals();
        self.session.live.follow_individuals(wants_individuals);
        self.session.live.profile(self.workspace.profiles().then_some(self.profile.every));
    }
}
