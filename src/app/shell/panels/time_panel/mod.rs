//! The time panel at the bottom of the window: the run in memory with its events, interventions and edits, the cursor
//! and the selected range.

mod map;
mod paint;
mod replayed;
mod stats;

use super::side::Narrow;
use crate::{
    app::{
        document::command::UiCommand,
        kit::{self, icons, text, theme::Tokens, widgets},
        shell::App,
    },
    sim::TimeBase,
};
use egui::{Align, Frame, Layout, Margin, Panel, Rect, RichText, Sense, Ui, UiBuilder, pos2};
use replayed::Replayed;
pub use stats::Stats;

/// Height with event densities.
const HEIGHT: f32 = 96.0;
/// In a lower window only the ruler is shown, points.
const FITS: f32 = 840.0;
/// Height of the ruler alone.
const RULER_ONLY: f32 = 28.0;
/// The column of buttons at the left.
const SIDE: f32 = 156.0;

/// The state of the panel.
#[derive(Default)]
pub struct TimePanel {
    /// Whether only the ruler is displayed.
    pub is_collapsed: bool,
    low: Narrow,
    /// The smoothed highest density per stream, so that the scale does not jump.
    highest: Vec<f32>,
    stats: Stats,
    /// The parameters the engine ran with, replayed from its log.
    replayed: Option<Replayed>,
}

impl TimePanel {
    /// Collapses the panel in a low window until the user opens it.
    fn fit(&mut self, height: f32) {
        let mut is_open = !self.is_collapsed;
        self.low.fit(height < FITS, &mut is_open);
        self.is_collapsed = !is_open;
    }
}

/// Draws the panel if a simulation is loaded.
pub fn ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    if !app.document.session.live.is_loaded() || app.workspace.is_home {
        return;
    }
    app.update_marks();
    app.play_past(ui);
    let t = Tokens::of(ui.ctx());
    app.panels.time.fit(ui.ctx().content_rect().height());
    let height = if app.panels.time.is_collapsed { RULER_ONLY } else { HEIGHT };
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(0, 0));
    Panel::bottom("time").exact_size(height).frame(frame).show(ui, |ui| {
        let all = ui.max_rect();
        ui.painter().hline(all.x_range(), all.top() + 0.5, (1.0, t.line));
        let side = Rect::from_min_max(all.min, pos2(all.left() + SIDE, all.bottom()));
        ui.scope_builder(UiBuilder::new().max_rect(side.shrink2(egui::vec2(10.0, 2.0))), |ui| side_ui(ui, app, queue));
        ui.painter().vline(side.right(), all.y_range(), (1.0, t.line));
        let right = Rect::from_min_max(pos2(side.right() + 8.0, all.top()), pos2(all.right() - 12.0, all.bottom()));
        if right.width() > 60.0 {
            map::ui(ui, app, right, queue);
        }
    });
}

/// Play, loop, live; the extent of the history.
fn side_ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    ui.spacing_mut().item_spacing = egui::vec2(2.0, 1.0);
    ui.horizontal(|ui| {
        let is_playing = app.document.time.player.is_playing;
        let (glyph, name) =
            if is_playing { (icons::PAUSE, "Pause playback") } else { (icons::PLAY, "Play from cursor") };
        if widgets::icon_toggle(ui, glyph, name, is_playing).clicked() {
            queue.push(UiCommand::PlayPast);
        }
        let is_looping = app.document.time.axis.is_looping;
        if widgets::icon_toggle(ui, icons::LOOP, "Loop range", is_looping).clicked() {
            queue.push(UiCommand::Loop);
        }
        if !app.document.time.axis.is_recorded {
            let mut is_live = app.document.time.axis.cursor().is_none() && app.document.time.axis.line.follow;
            let was = is_live;
            kit::live_ui(ui, &t, &mut is_live, app.document.session.live.running);
            if is_live && !was {
                queue.push(UiCommand::GoLive);
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let folded = app.panels.time.is_collapsed;
            let (glyph, name) = if folded {
                (icons::CARET_RIGHT, "Expand the timeline")
            } else {
                (icons::CARET_DOWN, "Collapse the timeline")
            };
            if widgets::icon_button(ui, glyph, name).clicked() {
                app.panels.time.is_collapsed = !folded;
            }
        });
    });
    if app.panels.time.is_collapsed {
        return;
    }
    let small = |text: String| RichText::new(text).small().color(t.text_sub);
    ui.label(small(app.kept_text())).on_hover_text(app.memory_text());
    if app.document.time.axis.range.is_some() {
        range_ui(ui, app, queue);
    } else {
        let hint = "Drag: select range";
        ui.label(RichText::new(hint).small().color(Tokens::fade(t.text_sub, 0.7)));
    }
}

/// The selected range: its duration and its buttons.
fn range_ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let Some((from, to)) = app.document.time.axis.range else { return };
    ui.label(RichText::new(format!("range {}", app.span_text(to - from))).small().color(t.accent));
    ui.horizontal(|ui| {
        let small = |text: &str| egui::Button::new(RichText::new(text).small()).small();
        if ui.add(small("Zoom")).on_hover_text(UiCommand::ZoomToRange.tooltip()).clicked() {
            queue.push(UiCommand::ZoomToRange);
        }
        let button = ui.add(small("Stats")).on_hover_text("Show statistics of the range");
        egui::Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
            stats::ui(ui, app, (from, to));
        });
        if ui.add(small("Clear")).on_hover_text(UiCommand::ClearRange.tooltip()).clicked() {
            queue.push(UiCommand::ClearRange);
        }
    });
}

/// The banner above the views while the cursor is in the past.
pub fn banner_ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let Some(cursor) = app.document.time.axis.cursor().filter(|_| app.document.session.live.is_loaded()) else {
        return;
    };
    let t = Tokens::of(ui.ctx());
    let fill = t.panel.lerp_to_gamma(t.warn, if t.dark { 0.16 } else { 0.12 });
    let frame = Frame::new().fill(fill).inner_margin(Margin::symmetric(12, 0));
    Panel::top("scrubbed").exact_size(26.0).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            // While a run is being read, its last step counts, not the last one read.
            let last = app.document.session.live.playback.as_ref().map_or(0, |run| run.last);
            let (at, of) = (app.time_text(cursor), app.time_text(app.document.time.past.newest().max(last) as f64));
            match &app.document.session.live.playback {
                Some(run) => {
                    recording_ui(ui, app, run, (&at, &of), queue);
                    continue_ui(ui, app, queue);
                }
                None => {
                    ui.label(RichText::new(format!("Viewing {at} of {of}")).color(t.text_strong));
                    let back = ui.add(egui::Link::new(RichText::new("Follow live").color(t.warn)));
                    if back.on_hover_text("End").clicked() {
                        queue.push(UiCommand::GoLive);
                    }
                }
            }
            let note = app.state_note(cursor);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add(egui::Label::new(widgets::sub(ui, note).small()).truncate());
            });
        });
    });
}

/// Continues the shown run from the checkpoint before the time cursor.
fn continue_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    let (t, command) = (Tokens::of(ui.ctx()), app.checkpoint_at_cursor());
    let ink = if command.is_some() { t.warn } else { t.text_sub };
    let link = egui::Link::new(RichText::new("Continue from here").color(ink));
    let response = ui.add_enabled(command.is_some(), link);
    let Some(command) = command else {
        response.on_disabled_hover_text("The run has no checkpoint at or before the time cursor");
        return;
    };
    if response.on_hover_text(format!("{}. {}", command.text(app), command.tooltip())).clicked() {
        queue.push(command);
    }
}

/// Controls for displayed data of a simulation that is not running.
fn recording_ui(
    ui: &mut Ui,
    app: &App,
    run: &crate::app::document::playback::Playback,
    (at, of): (&str, &str),
    queue: &mut Vec<UiCommand>,
) {
    let t = Tokens::of(ui.ctx());
    ui.label(icons::rich(icons::FLASK).color(t.warn));
    ui.label(RichText::new(format!("Playback of {}: {at} of {of}", run.name())).color(t.text_strong));
    if run.fraction < 1.0 {
        ui.add(egui::ProgressBar::new(run.fraction).desired_width(120.0).desired_height(6.0).fill(t.accent));
        ui.label(widgets::sub(ui, "Reading…").small());
    }
    let mut link = |ui: &mut Ui, text: &str, hint: &str, command: UiCommand| {
        let response = ui.add(egui::Link::new(RichText::new(text).color(t.warn)));
        if response.on_hover_text(hint).clicked() {
            queue.push(command);
        }
    };
    let name = UiCommand::Rebuild.text(app);
    let Some((n_applied, n_edits)) = app.document.session.counts_in_force().filter(|(_, n_edits)| *n_edits > 0) else {
        return link(ui, &name, "Builds the simulation of the recorded project, at step 0", UiCommand::Rebuild);
    };
    let edits = text::plural(n_edits, "edit", "edits");
    let hint = "Parameters, groups and stimuli are shown as they were at the cursor";
    ui.label(widgets::sub(ui, format!("{n_applied} of {edits} applied")).small()).on_hover_text(hint);
    let again = UiCommand::RerunRecorded;
    if again.why_not(app).is_none() {
        link(ui, &again.text(app), again.tooltip(), again.clone());
    }
    let hint = "Builds the simulation with the values at the cursor, at step 0: edits of the run are not repeated";
    link(ui, &name, hint, UiCommand::Rebuild);
}

impl App {
    /// The time of the step that is shown at a place of the time axis, the last one before it.
    pub(crate) fn time_text(&self, place: f64) -> String {
        let (live, step) = (&self.document.session.live, place.floor());
        // Without a simulation the clock has no base.
        let base = if live.is_loaded() { live.clock.base } else { self.document.session.project.model.time_base() };
        if base.is_count() {
            return format!("{} {}", text::count(step as u64), base.name(step as u64));
        }
        let per_step = base.per_step();
        let last = live.playback.as_ref().map_or(0, |run| run.last);
        let newest = step.max(self.document.time.past.newest().max(last) as f64) * per_step;
        text::localised(kit::TimeUnit::of(base, newest, 1.0).text(step * per_step, per_step))
    }

    /// Formats a number of steps as a duration.
    fn span_text(&self, steps: f64) -> String {
        let base = self.document.session.live.clock.base;
        kit::steps(if base.is_count() { steps.round() } else { steps }, base)
    }

    /// The extent of the history.
    fn kept_text(&self) -> String {
        let past = &self.document.time.past;
        let span = |steps: u64| self.span_text(steps as f64);
        match past.newest().saturating_sub(past.oldest()) {
            single if single < past.seen() => {
                format!("{} · single events for the last {}", span(past.seen()), span(single))
            }
            all => format!("{} in memory", span(all)),
        }
    }

    fn memory_text(&self) -> String {
        use crate::app::{document::time, kit::text::bytes};
        let past = &self.document.time.past;
        let n_spikes: usize = past.trains().map(|(_, t)| t.history.len()).sum();
        let every = self.span_text(past.fields.every() as f64);
        let fields = match past.fields.n_bytes() {
            0 => "no fields in memory".to_owned(),
            n => format!("field states every {every}, {}", bytes(n as u64)),
        };
        format!(
            "Density since the start, single events for the newest part, counts in bins that widen with their age before. {}: {} events (maximum {} in {}), {fields} (maximum {}). The oldest events are dropped first; field states are thinned",
            bytes(past.n_bytes() as u64),
            kit::thousands(n_spikes as u64),
            kit::thousands(time::spikes::limit() as u64),
            bytes(time::spikes::limit() as u64 * 8),
            bytes(time::FIELDS_CAPACITY as u64),
        )
    }

    /// The step of the displayed field states.
    fn state_note(&self, cursor: f64) -> String {
        let schema = &self.document.session.live.schema;
        let is_kept = |id: usize| {
            let shape = schema.probes[id].shape;
            shape.is_state() && shape.meaning() != Some(crate::sim::Meaning::TimeSince)
        };
        let fields = &self.document.time.past.fields;
        let kept = (0..schema.probes.len()).filter(|id| is_kept(*id));
        let newest = kept.filter_map(|id| fields.at(id as u16, cursor as u64)).map(|(step, _)| step).max();
        newest.map_or_else(String::new, |step| format!("Fields at {}", self.time_text(step as f64)))
    }

    /// Updates the declared interventions and the applied edits.
    fn update_marks(&mut self) {
        let live = &self.document.session.live;
        let model = &self.document.session.project.model;
        self.document.time.disabled_stimuli = crate::app::document::interventions::disabled_stimuli(model.params());
        let secs = live.clock.base.per_step().max(f64::MIN_POSITIVE);
        let run = live.run_log().filter(|run| run.project.model.name() == model.name());
        let Some(run) = run else {
            self.document.time.spans = crate::app::document::interventions::spans(model.params(), secs);
            self.document.time.edits.clear();
            self.panels.time.replayed = None;
            return;
        };
        let is_other = |r: &Replayed| r.n_done > run.log.len() || r.secs != secs || r.began != run.project.model;
        if self.panels.time.replayed.as_ref().is_none_or(is_other) {
            self.panels.time.replayed = Some(Replayed::new(run.project.model.clone(), secs));
            self.document.time.edits.clear();
        }
        let Some(replayed) = &mut self.panels.time.replayed else { return };
        if replayed.n_done < run.log.len() || self.document.time.edits.len() != run.log.len() {
            self.document.time.edits.truncate(replayed.n_done);
            self.document.time.edits.extend(replayed.catch_up(&run.log));
        }
        self.document.time.spans = replayed.acted.spans();
    }

    /// Moves the cursor during playback, at the run's speed or in real time.
    fn play_past(&mut self, ui: &Ui) {
        if !self.document.time.player.is_playing {
            return;
        }
        let speed =
            if self.document.session.project.run.speed > 0.0 { self.document.session.project.run.speed } else { 1.0 };
        let secs = f64::from(ui.input(|i| i.unstable_dt.min(0.25))) * speed;
        let steps = match self.document.session.live.clock.base {
            TimeBase::Count { .. } => secs * STEPS_PER_SEC,
            TimeBase::Seconds { per_step } => secs / per_step.max(1e-9),
        };
        if self.document.time.play(steps) {
            ui.ctx().request_repaint();
        }
    }

    /// Moves the cursor by steps, from the live edge if there is no cursor.
    pub(crate) fn move_cursor(&mut self, steps: f64) {
        let (oldest, now) = (self.document.time.past.oldest() as f64, self.document.time.past.newest() as f64);
        let from = self.document.time.axis.cursor().unwrap_or(now);
        self.document.time.player.is_playing = false;
        self.document.time.axis.scrub(from + steps, oldest, now);
    }

    /// Starts playback at the cursor, at the start of the range or at the oldest step; or stops it.
    pub(crate) fn toggle_playback(&mut self) {
        let is_playing = &mut self.document.time.player.is_playing;
        *is_playing = !*is_playing;
        let is_at_end = self.document.time.axis.cursor().is_none_or(|at| at >= self.document.time.past.newest() as f64);
        if *is_playing && is_at_end {
            let start = self.document.time.axis.range.map_or(self.document.time.past.oldest() as f64, |(from, _)| from);
            self.document.time.axis.set_cursor(start);
        }
    }
}

/// Playback speed where steps have no duration, steps per second.
const STEPS_PER_SEC: f64 = 100.0;

/// The subscription of the panel: all event streams.
pub fn taps(app: &App) -> Vec<crate::sim::Tap> {
    if app.panels.pacing.updates_are_off {
        return vec![];
    }
    let is_events = |s: &crate::sim::Shape| matches!(s, crate::sim::Shape::Spikes { .. });
    crate::app::document::features::probes_where(&app.document.session.live.schema, is_events)
        .map(|(id, _)| crate::app::document::features::tap(id))
        .collect()
}

/// A named interactive area.
fn interact_area(ui: &Ui, rect: Rect, name: &str) -> egui::Response {
    let response = ui.interact(rect, ui.scope_id().with(name), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, name));
    response
}
