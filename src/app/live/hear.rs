//! What the engine, the loader and a recording say, taken up once a frame.

use super::{Live, News, SinceZero, Taken};
use crate::{
    app::{commands::UiCommand, log::Level, rescue::Fault, views::Trouble},
    engine::{Command, Engine, Event, Logged},
    sim::{Frame, SimError},
};
use std::time::Instant;

impl Live {
    /// Takes everything the threads have said since the last call.
    pub fn poll(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        self.poll_loader(&mut news);
        self.poll_recorded(&mut news);
        while let Some(event) = self.engine.as_ref().and_then(|e| e.events.try_recv().ok()) {
            self.hear(event, &mut news);
        }
        let frames = self.engine.as_ref().map(Engine::take_frames);
        for frame in frames.into_iter().flatten().filter(|_| self.recorded.is_none()) {
            self.clock = frame.clock;
            self.skipped += frame.skipped;
            self.latency.frame(frame.clock.step);
            if self.running {
                self.pace.saw(frame.clock);
            }
            news.push(News::Frame(frame));
        }
        self.keep_checkpoint();
        news
    }

    /// A frame was shown.
    pub fn give_back(&self, frame: Frame) {
        if let Some(engine) = &self.engine {
            engine.give_back(frame);
        }
    }

    fn keep_checkpoint(&mut self) {
        let now = Instant::now();
        if self.running
            && let Some(sent) = &self.sent
            && self.rescue.is_due(now)
            && self.send(Command::Save)
        {
            self.rescue.asked(now, sent.clone());
        }
    }

    fn poll_loader(&mut self, news: &mut Vec<News>) {
        let Some(outcome) = self.loading.as_ref().and_then(|l| l.loader.poll()) else { return };
        let Some(loading) = self.loading.take() else { return };
        match outcome {
            Ok(sim) => {
                self.play_when_loaded = loading.play || self.running;
                let is_kept = |step: u64| step == sim.clock().step;
                if loading.resume.as_ref().is_some_and(|(step, _)| !is_kept(*step)) {
                    let why = "The kept state does not fit; the simulation starts from step 0";
                    news.push(News::Said(Level::Warning, why.into()));
                }
                self.revive();
                let resumed = loading.resume.filter(|(step, _)| is_kept(*step)).map(|(_, since)| since);
                if self.send(Command::Load(sim)) {
                    self.build_time = Some(loading.loader.since.elapsed());
                    self.taken = Taken::default();
                    let fresh = || SinceZero { project: loading.project.clone(), log: vec![] };
                    self.since_zero = Some(resumed.unwrap_or_else(fresh));
                    self.built = Some(loading.project.clone());
                    self.sent = Some(loading.project);
                    self.stubborn.clear();
                    self.speed_sent = None;
                } else {
                    news.push(News::Said(Level::Error, "The engine is busy; rebuild again".into()));
                }
            }
            Err(SimError::Cancelled) => news.push(News::Said(Level::Info, "Loading cancelled".into())),
            Err(error) => {
                if self.sent.is_none() {
                    self.error = Some(error.to_string());
                }
                let of_device = matches!(error, SimError::Device(_) | SimError::NoDevice(_));
                let gone = self.rescue.fault.as_ref().is_some_and(|fault| fault.stopped);
                if of_device && !gone {
                    let fault = Fault { text: error.to_string(), stopped: false, play: loading.play };
                    self.rescue.fault = Some(fault);
                }
                news.push(News::Said(Level::Error, format!("Could not build the simulation: {error}")));
            }
        }
    }

    fn hear(&mut self, event: Event, news: &mut Vec<News>) {
        let mut say = |level, text: String| news.push(News::Said(level, text));
        match event {
            Event::Loaded(exhibit) => {
                self.exhibit = exhibit;
                (self.recorded, self.trouble) = (None, None);
                self.rescue.forget();
                self.watched.clear();
                self.latency.forget();
                if std::mem::take(&mut self.play_when_loaded) {
                    self.send(Command::Play);
                }
                news.push(News::Loaded);
            }
            Event::Running(running, clock) => {
                self.running = running;
                self.clock = clock;
                if running {
                    self.trouble = None;
                }
                if !running {
                    self.target = None;
                }
                self.pace.forget();
            }
            Event::Applied(_, Logged::Rewind) => {
                self.since_zero = self.sent.clone().map(|project| SinceZero { project, log: vec![] });
                self.rescue.forget_states();
                self.trouble = None;
                say(Level::Info, "Rewound to step 0".into());
            }
            Event::Applied(step, what) => {
                match &what {
                    Logged::Set(change) => {
                        self.latency.applied(change.id, step);
                        self.taken.applied(change.id, step);
                    }
                    Logged::Act(action) => say(Level::Info, format!("{} at step {step}", action.name)),
                    Logged::Rewind => {}
                }
                if let Some(since) = &mut self.since_zero {
                    since.log.push((step, what));
                }
            }
            Event::NeedsRebuild(change) => {
                self.stubborn.insert(change.id);
                self.taken.refused(change.id);
                self.unsend(change.id);
            }
            Event::Refused(error) => {
                self.taken.refused_some();
                self.rescue.refused(Instant::now());
                say(Level::Warning, format!("Refused: {error}"));
            }
            Event::Failed(error) => {
                // A recording that could be closed is closed by now.
                self.recording = None;
                let way_out = match error.is_device() {
                    true => ("Continue on the CPU", UiCommand::ContinueOnCpu),
                    false => ("Rewind", UiCommand::Rewind),
                };
                self.trouble = Some(Trouble { why: error.to_string().into(), way_out });
                if error.is_device() {
                    let fault = Fault { text: error.to_string(), stopped: true, play: self.running };
                    self.rescue.fault = Some(fault);
                }
                self.running = false;
                say(Level::Error, format!("The simulation stopped: {error}"));
            }
            Event::Recorded(digest, clock) => {
                let totals: Vec<String> =
                    digest.totals.iter().map(|(n, v)| format!("{} {n}", crate::app::text::count(*v))).collect();
                say(Level::Info, format!("Recorded up to step {}: {}", clock.step, totals.join(", ")));
                if let Some(done) = self.recording.take() {
                    news.push(News::Recorded(done.folder, done.since.elapsed()));
                }
            }
            Event::RecordingFailed(error) => {
                self.recording = None;
                say(Level::Error, format!("Recording failed: {error}. What was written so far is readable"));
            }
            Event::Saved(state, clock) => {
                let n_logged = self.since_zero.as_ref().map_or(0, |since| since.log.len());
                self.rescue.saved(state, clock, n_logged, Instant::now());
            }
        }
    }
}
