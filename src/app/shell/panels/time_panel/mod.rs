//! Time panel at the bottom of the window: the run in memory with its events, interventions and edits, the cursor and the
//! selected range.

mod map;
mod paint;
mod stats;

use super::side::Narrow;
use crate::{
    app::{
        document::{
            command::UiCommand,
            features::{probes_where, tap},
            open_document::Document,
            playback::Playback,
            time,
        },
        kit::{self, icons, text, theme::Tokens, widgets},
        shell::{
            commands::{Around, CommandState},
            queue::Queue,
        },
    },
    engine::SimSchema,
    sim::Tap,
};
use egui::{Align, Frame, Layout, Margin, Panel, Rect, RichText, Sense, Ui, UiBuilder, pos2};
pub use stats::Stats;

/// Height of the panel with event densities, points.
const HEIGHT: f32 = 96.0;
/// Height of the window below which only the ruler is shown, points.
const FITS: f32 = 840.0;
/// Height of the panel with only the ruler, points.
const RULER_ONLY: f32 = 28.0;
/// Width of the column of buttons at the left, points.
const SIDE: f32 = 156.0;

/// State of the time panel.
#[derive(Default)]
pub struct TimePanel {
    /// Whether only the ruler is displayed.
    pub is_collapsed: bool,
    low: Narrow,
    /// Smoothed maximum density of each stream, so that the scale does not jump.
    highest: Vec<f32>,
    stats: Stats,
}

impl TimePanel {
    /// Collapses the panel when the window becomes low. The user can expand the panel again.
    fn fit(&mut self, height: f32) {
        let mut is_open = !self.is_collapsed;
        self.low.fit(height < FITS, &mut is_open);
        self.is_collapsed = !is_open;
    }
}

/// Draws the time panel of a loaded simulation.
pub fn ui(ui: &mut Ui, document: &mut Document, panel: &mut TimePanel, around: Around<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    panel.fit(ui.ctx().content_rect().height());
    let height = if panel.is_collapsed { RULER_ONLY } else { HEIGHT };
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(0, 0));
    Panel::bottom("time").exact_size(height).frame(frame).show(ui, |ui| {
        let all = ui.max_rect();
        ui.painter().hline(all.x_range(), all.top() + 0.5, (1.0, t.line));
        let side = Rect::from_min_max(all.min, pos2(all.left() + SIDE, all.bottom()));
        ui.scope_builder(UiBuilder::new().max_rect(side.shrink2(egui::vec2(10.0, 2.0))), |ui| {
            side_ui(ui, document, panel, queue)
        });
        ui.painter().vline(side.right(), all.y_range(), (1.0, t.line));
        let right = Rect::from_min_max(pos2(side.right() + 8.0, all.top()), pos2(all.right() - 12.0, all.bottom()));
        if right.width() > 60.0 {
            map::ui(ui, document, panel, right, (around, queue));
        }
    });
}

/// Draws the buttons to play, loop, follow and collapse, and the extent of the history.
fn side_ui(ui: &mut Ui, document: &Document, panel: &mut TimePanel, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    ui.spacing_mut().item_spacing = egui::vec2(2.0, 1.0);
    ui.horizontal(|ui| {
        let is_playing = document.time.player.is_playing;
        let (glyph, name) =
            if is_playing { (icons::PAUSE, "Pause playback") } else { (icons::PLAY, "Play from cursor") };
        if widgets::icon_toggle(ui, glyph, name, is_playing).clicked() {
            queue.push(UiCommand::PlayPast);
        }
        let is_looping = document.time.axis.is_looping;
        if widgets::icon_toggle(ui, icons::LOOP, "Loop range", is_looping).clicked() {
            queue.push(UiCommand::Loop);
        }
        if !document.time.axis.is_recorded {
            let mut is_live = document.time.axis.cursor().is_none() && document.time.axis.line.follow;
            let was = is_live;
            kit::live_ui(ui, &t, &mut is_live, document.session.live.running);
            if is_live && !was {
                queue.push(UiCommand::GoLive);
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let folded = panel.is_collapsed;
            let (glyph, name) = if folded {
                (icons::CARET_RIGHT, "Expand the timeline")
            } else {
                (icons::CARET_DOWN, "Collapse the timeline")
            };
            if widgets::icon_button(ui, glyph, name).clicked() {
                panel.is_collapsed = !folded;
            }
        });
    });
    if panel.is_collapsed {
        return;
    }
    let small = |text: String| RichText::new(text).small().color(t.text_sub);
    ui.label(small(kept_text(document))).on_hover_text(memory_text(document));
    if document.time.axis.range.is_some() {
        range_ui(ui, document, panel, queue);
    } else {
        let hint = "Drag: select range";
        ui.label(RichText::new(hint).small().color(Tokens::fade(t.text_sub, 0.7)));
    }
}

/// Draws the duration and the buttons of the selected range.
fn range_ui(ui: &mut Ui, document: &Document, panel: &mut TimePanel, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let Some((from, to)) = document.time.axis.range else { return };
    ui.label(RichText::new(format!("range {}", document.span_text(to - from))).small().color(t.accent));
    ui.horizontal(|ui| {
        let small = |text: &str| egui::Button::new(RichText::new(text).small()).small();
        if ui.add(small("Zoom")).on_hover_text(UiCommand::ZoomToRange.tooltip()).clicked() {
            queue.push(UiCommand::ZoomToRange);
        }
        let button = ui.add(small("Stats")).on_hover_text("Show statistics of the range");
        egui::Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
            stats::ui(ui, document, &mut panel.stats, (from, to));
        });
        if ui.add(small("Clear")).on_hover_text(UiCommand::ClearRange.tooltip()).clicked() {
            queue.push(UiCommand::ClearRange);
        }
    });
}

/// Draws a banner above the views while the cursor is in the past.
pub fn banner_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let document = state.document;
    let Some(cursor) = document.time.axis.cursor().filter(|_| document.session.live.is_loaded()) else {
        return;
    };
    let t = Tokens::of(ui.ctx());
    let fill = t.panel.lerp_to_gamma(t.warn, if t.dark { 0.16 } else { 0.12 });
    let frame = Frame::new().fill(fill).inner_margin(Margin::symmetric(12, 0));
    Panel::top("scrubbed").exact_size(26.0).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            // While a run is being read, the last step of the run is used instead of the last step that was read.
            let last = document.session.live.playback.as_ref().map_or(0, |run| run.last);
            let (at, of) =
                (document.time_text(cursor), document.time_text(document.time.past.newest().max(last) as f64));
            match &document.session.live.playback {
                Some(run) => {
                    recording_ui(ui, state, run, (&at, &of), queue);
                    continue_ui(ui, state, queue);
                }
                None => {
                    ui.label(RichText::new(format!("Viewing {at} of {of}")).color(t.text_strong));
                    let back = ui.add(egui::Link::new(RichText::new("Follow live").color(t.warn)));
                    if back.on_hover_text("End").clicked() {
                        queue.push(UiCommand::GoLive);
                    }
                }
            }
            let note = state_note(document, cursor);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add(egui::Label::new(widgets::sub(ui, note).small()).truncate());
            });
        });
    });
}

/// Draws a link that continues the shown run from the last checkpoint before the time cursor.
fn continue_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let (t, command) = (Tokens::of(ui.ctx()), state.document.checkpoint_at_cursor());
    let ink = if command.is_some() { t.warn } else { t.text_sub };
    let link = egui::Link::new(RichText::new("Continue from here").color(ink));
    let response = ui.add_enabled(command.is_some(), link);
    let Some(command) = command else {
        response.on_disabled_hover_text("The run has no checkpoint at or before the time cursor");
        return;
    };
    if response.on_hover_text(format!("{}. {}", command.text(state), command.tooltip())).clicked() {
        queue.push(command);
    }
}

/// Draws the controls of playback.
fn recording_ui(ui: &mut Ui, state: &CommandState<'_>, run: &Playback, (at, of): (&str, &str), queue: &mut Queue) {
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
    let name = UiCommand::Rebuild.text(state);
    let Some((n_applied, n_edits)) = state.document.session.counts_in_force().filter(|(_, n_edits)| *n_edits > 0)
    else {
        return link(ui, &name, "Builds the simulation of the recorded project, at step 0", UiCommand::Rebuild);
    };
    let edits = text::plural(n_edits, "edit", "edits");
    let hint = "Parameters, groups and stimuli are shown as they were at the cursor";
    ui.label(widgets::sub(ui, format!("{n_applied} of {edits} applied")).small()).on_hover_text(hint);
    let again = UiCommand::RerunRecorded;
    if again.why_not(state).is_none() {
        link(ui, &again.text(state), again.tooltip(), again.clone());
    }
    let hint = "Builds the simulation with the values at the cursor, at step 0: edits of the run are not repeated";
    link(ui, &name, hint, UiCommand::Rebuild);
}

/// Describes the extent of the history.
fn kept_text(document: &Document) -> String {
    let past = &document.time.past;
    let span = |steps: u64| document.span_text(steps as f64);
    match past.newest().saturating_sub(past.oldest()) {
        single if single < past.seen() => {
            format!("{} · single events for the last {}", span(past.seen()), span(single))
        }
        all => format!("{} in memory", span(all)),
    }
}

fn memory_text(document: &Document) -> String {
    let past = &document.time.past;
    let n_spikes: usize = past.trains().map(|(_, t)| t.history.len()).sum();
    let every = document.span_text(past.fields.every() as f64);
    let fields = match past.fields.n_bytes() {
        0 => "no fields in memory".to_owned(),
        n => format!("field states every {every}, {}", text::bytes(n as u64)),
    };
    format!(
        "Density since the start, single events for the newest part, counts in bins that widen with their age before. {}: {} events (maximum {} in {}), {fields} (maximum {}). The oldest events are dropped first; field states are thinned",
        text::bytes(past.n_bytes() as u64),
        kit::thousands(n_spikes as u64),
        kit::thousands(time::spikes::limit() as u64),
        text::bytes(time::spikes::limit() as u64 * 8),
        text::bytes(time::FIELDS_CAPACITY as u64),
    )
}

/// Returns a text with the step of the displayed field states; empty without field states.
fn state_note(document: &Document, cursor: f64) -> String {
    let schema = &document.session.live.schema;
    let is_kept = |id: usize| {
        let shape = schema.probes[id].shape;
        shape.is_state() && shape.meaning() != Some(crate::sim::Meaning::TimeSince)
    };
    let fields = &document.time.past.fields;
    let kept = (0..schema.probes.len()).filter(|id| is_kept(*id));
    let newest = kept.filter_map(|id| fields.at(id as u16, cursor as u64)).map(|(step, _)| step).max();
    newest.map_or_else(String::new, |step| format!("Fields at {}", document.time_text(step as f64)))
}

/// Returns the taps of the panel: all event streams.
pub fn taps(schema: &SimSchema) -> Vec<Tap> {
    let is_events = |s: &crate::sim::Shape| matches!(s, crate::sim::Shape::Spikes { .. });
    probes_where(schema, is_events).map(|(id, _)| tap(id)).collect()
}

/// Creates an interactive area with a name for screen readers.
fn interact_area(ui: &Ui, rect: Rect, name: &str) -> egui::Response {
    let response = ui.interact(rect, ui.scope_id().with(name), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, name));
    response
}
