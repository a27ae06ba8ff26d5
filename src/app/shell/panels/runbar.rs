//! Run bar: run, pause, step, speed limit, measured speed, record and undo.

mod run_length;
mod shown_trial;
mod training;

use crate::{
    app::{
        document::{
            checkpoints::DeviceFailure, command::UiCommand, history::History, live::Live, open_document::Document,
        },
        host::device::Devices,
        kit::{
            icons, text,
            theme::{METRIC, Tokens},
            widgets,
        },
        shell::{
            actions::rebuild,
            commands::{Around, CommandState, menu},
            pacing::{self, Pacing},
            queue::Queue,
        },
    },
    gpu::{Compiling, compiling},
    params::{ParamId, titles},
    project::Project,
    sim::{TimeBase, rate_texts},
};
use egui::{
    Align, Button, ComboBox, Frame, Layout, Margin, Panel, ProgressBar, RichText, ScrollArea, Stroke, TextStyle, Ui,
    containers::menu::MenuButton, vec2,
};
use std::time::Duration;

const HEIGHT: f32 = 44.0;

/// Selection of the items after the speed limit, which depends on the available width.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Room {
    /// Shows only the time and Record.
    Least,
    /// Shows also the measured speed.
    Little,
    /// Shows also undo and redo.
    Some,
    /// Shows also the status in words and the progress of a run.
    Plenty,
}

/// Widths of the items at the right of the numbers, points: Record with its dot and spaces; undo, redo and history; the
/// status in words with the progress of a run.
const RECORD_WIDTH: f32 = 130.0;
const HISTORY_WIDTH: f32 = 130.0;
const WORDS_WIDTH: f32 = 120.0;

impl Room {
    /// Returns the items that fit into a width next to the measured speed and the time, of the given widths in points.
    fn of(width: f32, speed: f32, time: f32) -> Self {
        let least = time + RECORD_WIDTH;
        match width {
            w if w < least + speed => Self::Least,
            w if w < least + speed + HISTORY_WIDTH => Self::Little,
            w if w < least + speed + HISTORY_WIDTH + WORDS_WIDTH => Self::Some,
            _ => Self::Plenty,
        }
    }
}

/// Speed limits offered, in simulated seconds (or steps) per second; 0 means as fast as possible.
const SPEEDS: [f64; 8] = [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Draws the run bar.
pub fn ui(ui: &mut Ui, document: &mut Document, pacing: &mut Pacing, around: Around<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(10, 0));
    Panel::top("run bar").exact_size(HEIGHT).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            transport_ui(ui, document, pacing, around, queue);
            gap(ui);
            speed_ui(ui, &mut document.session.project);
            pacing::updates_ui(ui, &mut document.session.live, pacing);
            shown_trial::ui(ui, &mut document.session.live, around.keymap);
            gap(ui);
            let room = metrics_ui(ui, document);
            if room == Room::Plenty {
                pacing::progress_ui(ui, &document.session.live);
                ui.add_space(8.0);
            }
            let right = if room >= Room::Some { RECORD_WIDTH + HISTORY_WIDTH } else { RECORD_WIDTH };
            training::ui(ui, document, ui.available_width() - right);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                record_ui(ui, &around.with(document), queue);
                if room >= Room::Some {
                    gap(ui);
                    history_ui(ui, &around.with(document), queue);
                }
            });
        });
    });
}

fn gap(ui: &mut Ui) {
    let t = Tokens::of(ui.ctx());
    let (rect, _) = ui.allocate_exact_size(vec2(17.0, 22.0), egui::Sense::hover());
    ui.painter().vline(rect.center().x, rect.y_range(), Stroke::new(1.0, t.line));
}

fn transport_ui(ui: &mut Ui, document: &mut Document, pacing: &mut Pacing, around: Around<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    menu::button_ui(ui, &around.with(document), UiCommand::Rewind, queue);
    let is_recorded = document.session.live.playback.is_some();
    let running = if is_recorded { document.time.player.is_playing } else { document.session.live.running };
    let (glyph, word) = match (running, is_recorded) {
        (true, _) => (icons::PAUSE, "Pause"),
        (false, true) => (icons::PLAY, "Play"),
        (false, false) if document.session.runs_again() => (icons::PLAY, "Run again"),
        (false, false) => (icons::PLAY, "Run"),
    };
    let ink = if running { t.text_strong } else { t.on_accent };
    let ready = UiCommand::RunPause.why_not(&around.with(document));
    let content = (icons::rich(glyph).color(ink), RichText::new(word).color(ink).family(widgets::semibold()));
    let fill = if running { t.hover } else { t.accent };
    let button = Button::new(content).fill(fill).stroke(Stroke::new(1.0, if running { t.line } else { fill }));
    let response = ui.add_enabled(ready.is_none(), button.min_size(vec2(92.0, 28.0))).accessible_name(word);
    let hint = run_length::hint(document);
    if response.on_hover_text(hint).on_disabled_hover_text(ready.unwrap_or_default()).clicked() {
        queue.push(UiCommand::RunPause);
    }
    run_length::continuous_ui(ui, &mut document.session);
    menu::button_ui(ui, &around.with(document), UiCommand::Step, queue);
    pacing::step_ui(ui, document.session.project.model.time_base(), pacing);
}

/// Draws the menu of the speed limit, which is part of the document.
fn speed_ui(ui: &mut Ui, project: &mut Project) {
    let base = project.model.time_base();
    let speed = &mut project.run.speed;
    ui.label(widgets::sub(ui, "Speed"));
    let combo = ComboBox::from_id_salt("speed").width(64.0).selected_text(speed_text(*speed, base));
    let response = combo.show_ui(ui, |ui| {
        for choice in SPEEDS {
            ui.selectable_value(speed, choice, speed_text(choice, base));
        }
    });
    let of = if base.is_count() { base.plural() } else { "simulated seconds" };
    response.response.accessible_name("Speed").on_hover_text(format!("Speed limit: {of} per second"));
}

fn speed_text(speed: f64, base: TimeBase) -> String {
    match base {
        _ if speed <= 0.0 => "max".to_owned(),
        TimeBase::Seconds { .. } => format!("× {}", text::number(speed)),
        TimeBase::Count { .. } => format!("{}/s", text::number(speed)),
    }
}

/// Draws measured speed, time and status. Returns the selection of items that fit.
fn metrics_ui(ui: &mut Ui, document: &Document) -> Room {
    let t = Tokens::of(ui.ctx());
    let live = &document.session.live;
    let base = document.session.project.model.time_base();
    let (value, unit, hint) = if base.is_count() {
        let hint = format!("{} per second, over the last second", text::title(base.plural()));
        (live.pace.steps_per_sec().map(text::short), format!("{}/s", base.plural()), hint)
    } else {
        let hint = "Simulated seconds per second, over the last second".to_owned();
        (live.pace.real_time_factor().map(text::short), "× real time".to_owned(), hint)
    };
    let steps_per_s = live.pace.steps_per_sec();
    let peaks = document.profile.machine.ceilings.as_ref();
    let rates =
        steps_per_s.map_or_else(Vec::new, |n| rate_texts(&live.counts(&document.session.project.model), n, peaks));
    let facts = training::TrainingFacts::of(document).map(|facts| facts.size());
    let hint = [vec![hint], rates, facts.into_iter().collect()].concat().join("\n");
    let step = document.time.shown(live.clock.step);
    let time = document.time_text(step as f64);
    let (number, time_unit) = time.split_once(' ').unwrap_or((&time, ""));
    let speed = value.as_deref().unwrap_or("—");
    let room = Room::of(
        ui.available_width(),
        metric_width(ui, speed, &unit, SPEED_WIDTH),
        metric_width(ui, number, time_unit, TIME_WIDTH),
    );
    if room > Room::Least {
        metric(ui, speed, &unit, SPEED_WIDTH).on_hover_text(hint);
        ui.add_space(8.0);
    }
    metric(ui, number, time_unit, TIME_WIDTH).on_hover_text(format!("Step {}", text::count(step)));
    ui.add_space(8.0);
    let failed = live.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
    let (color, word) = match (live.running, live.is_loaded()) {
        _ if live.playback.is_some() => (t.warn, "PLAYBACK"),
        _ if failed => (t.error, "FAILED"),
        (true, _) => (breathing(ui, t.live), "LIVE"),
        (false, true) if live.has_ended() => (t.text_sub, "ENDED"),
        (false, true) => (t.text_sub, "PAUSED"),
        (false, false) => (Tokens::fade(t.text_sub, 0.5), "NO RUN"),
    };
    let dot = widgets::dot(ui, color);
    let hint = if live.has_ended() { run_length::hint(document) } else { word.to_owned() };
    if room < Room::Plenty {
        dot.on_hover_text(hint);
        return room;
    }
    // The step count does not change during a compilation or a long activity.
    let activity = live.counters().and_then(|counters| counters.activity.now()).filter(|_| live.running);
    let compiling = compiling().filter(|_| live.running);
    let word = match (compiling, activity) {
        (Some(compiling), _) => compiling_text(compiling),
        (None, Some((what, share))) => format!("{what} {:.0} %", share * 100.0),
        (None, None) => word.to_owned(),
    };
    let label = ui.label(RichText::new(word).small().color(if live.running { t.live } else { t.text_sub }));
    if live.has_ended() {
        label.on_hover_text(hint);
    } else if let Some(expected) = compiling.and_then(|compiling| compiling.expected) {
        label.on_hover_text(text::eta(expected.fraction, expected.spent));
    }
    room
}

/// Describes a compilation of kernels: `Compiling kernels for this GPU, once: 3 of 12, nn/softmax 42 %`.
fn compiling_text(compiling: Compiling) -> String {
    let share = compiling.expected.map_or(String::new(), |expected| format!(" {:.0} %", expected.fraction * 100.0));
    compiling.text() + &share
}

/// Minimum widths of the numbers, points, so that the items after them do not move with every digit.
const SPEED_WIDTH: f32 = 44.0;
const TIME_WIDTH: f32 = 72.0;

/// Returns the width of [`metric`] with the space after it, points.
fn metric_width(ui: &Ui, number: &str, unit: &str, least: f32) -> f32 {
    let t = Tokens::of(ui.ctx());
    let width = |text: &str, style: TextStyle| {
        ui.painter().layout_no_wrap(text.to_owned(), style.resolve(ui.style()), t.text).size().x
    };
    let spaces = 2.0 * ui.spacing().item_spacing.x + 8.0;
    width(number, TextStyle::Name(METRIC.into())).max(least) + width(unit, TextStyle::Small) + spaces
}

/// Draws a right-aligned number of minimum width, followed by its unit.
fn metric(ui: &mut Ui, number: &str, unit: &str, width: f32) -> egui::Response {
    let t = Tokens::of(ui.ctx());
    let font = TextStyle::Name(METRIC.into());
    let text = ui.painter().layout_no_wrap(number.to_owned(), font.resolve(ui.style()), t.text_strong);
    let width = width.max(text.size().x);
    let shown = ui.allocate_ui_with_layout(vec2(width, 28.0), Layout::right_to_left(Align::Center), |ui| {
        ui.set_min_width(width);
        ui.label(RichText::new(number).text_style(font).color(t.text_strong))
    });
    ui.label(RichText::new(unit).small().color(t.text_sub)) | shown.response
}

/// Returns the colour of a dot that pulses while frames arrive. The dot requests no repaints.
fn breathing(ui: &Ui, color: egui::Color32) -> egui::Color32 {
    let phase = ui.input(|i| i.time) * std::f64::consts::TAU / 1.2;
    Tokens::fade(color, 0.7 + 0.3 * phase.sin() as f32)
}

/// Draws the button that starts and stops a recording.
fn record_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let recording = state.document.session.live.recording.as_ref();
    let (glyph, word) = match recording {
        Some(r) => (icons::STOP, text::stopwatch(state.document.session.live.computed().saturating_sub(r.computed))),
        None => (icons::RECORD, "Record".to_owned()),
    };
    let why_not = UiCommand::Record.why_not(state);
    let ink = if why_not.is_some() { t.text_sub } else { t.error };
    let button = Button::new((icons::rich(glyph).color(ink), word)).min_size(vec2(84.0, 28.0));
    let response = ui.add_enabled(why_not.is_none(), button).accessible_name(UiCommand::Record.text(state));
    let hint = recording.map_or_else(
        || UiCommand::Record.tooltip().to_owned(),
        |r| format!("Computing time of the recording; {} with pauses", text::stopwatch(r.since.elapsed())),
    );
    let response = response.on_hover_text(hint).on_disabled_hover_text(why_not.unwrap_or_default());
    if response.clicked() {
        queue.push(UiCommand::Record);
    }
}

/// Draws undo, redo and the history menu, from right to left.
fn history_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let history = &state.document.session.history;
    let (undo, redo) = history.counts();
    let labels = history.labels();
    history_menu_ui(ui, history, queue);
    for (command, n, label) in [(UiCommand::Redo, redo, labels.1), (UiCommand::Undo, undo, labels.0)] {
        let name = command.text(state);
        let content = (icons::rich(command.icon()).size(14.0), widgets::sub(ui, n.to_string()).small());
        let button = Button::new(content).frame_when_inactive(false);
        let response = ui.add_enabled(n > 0, button).accessible_name(&name);
        let what =
            label.map_or_else(|| command.why_not(state).unwrap_or_default().to_owned(), |l| format!("{name}: {l}"));
        if response.on_hover_text(&what).on_disabled_hover_text(what).clicked() {
            queue.push(command);
        }
    }
}

/// Draws a menu with the labels of all steps: redo above, undo below. A click undoes or redoes up to a step.
fn history_menu_ui(ui: &mut Ui, history: &History, queue: &mut Queue) {
    let (past, future) = history.steps();
    let t = Tokens::of(ui.ctx());
    let glyph = icons::rich(icons::CLOCK).size(14.0).color(t.text_sub);
    let button = Button::new(glyph).frame_when_inactive(false);
    let (response, _) = MenuButton::from_button(button).ui(ui, |ui| {
        ui.set_min_width(260.0);
        if past.is_empty() && future.is_empty() {
            ui.label(widgets::sub(ui, "No changes yet"));
        }
        ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
            for (i, label) in future.iter().enumerate().rev() {
                let text = RichText::new(*label).color(t.text_sub);
                if ui.button(text).on_hover_text("Redo up to here").clicked() {
                    queue.push(UiCommand::UndoSteps(i as i32 + 1));
                }
            }
            for (i, label) in past.iter().enumerate() {
                let ink = if i == 0 { t.text_strong } else { t.text };
                if ui.button(RichText::new(*label).color(ink)).on_hover_text("Undo down to here, inclusive").clicked() {
                    queue.push(UiCommand::UndoSteps(-(i as i32) - 1));
                }
            }
        });
    });
    response.accessible_name("History").on_hover_text("History of changes");
}

/// Duration below which loading of data is not shown.
const SHORT: Duration = Duration::from_millis(300);

/// Draws a notice below the run bar: changes that wait for a rebuild or a rewind, a rebuild in progress, or a device failure.
pub fn notice_ui(ui: &mut Ui, document: &mut Document, devices: &Devices, around: Around<'_>, queue: &mut Queue) {
    let live = &document.session.live;
    if !live.is_loaded() {
        return;
    }
    // Small files are read before the user could see a notice.
    let data = || live.data_progress().filter(|(_, _, since)| *since > SHORT);
    let rebuild = live.progress().map(|(stage, part, since)| (format!("Rebuilding: {stage}"), part, since));
    let progress = rebuild.or_else(data);
    let waiting = live.waiting_for_rebuild(&document.session.project.model);
    let others = live.plan_waits(&document.session.project);
    let rewind = live.waiting_for_rewind(&document.session.project.model);
    let failure = live.checkpoints.failure.clone().filter(|_| progress.is_none());
    if progress.is_none() && failure.is_none() && waiting.is_empty() && others.is_empty() && rewind.is_empty() {
        return;
    }
    let t = Tokens::of(ui.ctx());
    let tint = if failure.is_some() { t.error } else { t.warn };
    let frame = Frame::new().fill(t.panel.lerp_to_gamma(tint, 0.14)).inner_margin(Margin::symmetric(12, 0));
    if let Some(failure) = failure {
        Panel::top("notice")
            .exact_size(32.0)
            .frame(frame)
            .show(ui, |ui| failure_ui(ui, document, &failure, around, queue));
        return;
    }
    Panel::top("notice").exact_size(32.0).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| match progress {
            Some((stage, fraction, since)) => {
                ui.label(stage);
                ui.add(ProgressBar::new(fraction).desired_width(220.0).desired_height(6.0).fill(t.accent));
                ui.label(widgets::sub(ui, text::eta(fraction, since)));
                if ui.button("Cancel").clicked() {
                    queue.push(UiCommand::CancelLoading);
                }
            }
            None if waiting.is_empty() && others.is_empty() => rewind_ui(ui, &document.session.project, &rewind, queue),
            None => {
                ui.label(icons::rich(icons::HAMMER).color(t.warn));
                let params = document.session.project.model.params();
                let mut names: Vec<String> = waiting.iter().map(|id| titles::title(params, *id)).collect();
                names.extend(others);
                let n = names.len();
                let verb = if n == 1 { "change needs" } else { "changes need" };
                ui.label(RichText::new(format!("{n} {verb} a rebuild")).color(t.text_strong));
                let place = devices.chosen().kind();
                ui.label(rebuild::cost(live, &document.session.project, place));
                ui.add(egui::Label::new(widgets::sub(ui, names.join(", "))).truncate());
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if widgets::primary(ui, "Rebuild now").clicked() {
                        queue.push(UiCommand::Rebuild);
                    }
                });
            }
        });
    });
}

/// Draws the notice of changes that take effect at a rewind.
fn rewind_ui(ui: &mut Ui, project: &Project, waiting: &[ParamId], queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let params = project.model.params();
    let names: Vec<String> = waiting.iter().map(|id| titles::title(params, *id)).collect();
    let verb = if names.len() == 1 { "change takes" } else { "changes take" };
    ui.label(icons::rich(icons::REWIND).color(t.warn));
    ui.label(RichText::new(format!("{} {verb} effect at the next rewind", names.len())).color(t.text_strong));
    ui.add(egui::Label::new(widgets::sub(ui, names.join(", "))).truncate());
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if widgets::primary(ui, "Rewind now").on_hover_text(UiCommand::Rewind.tooltip()).clicked() {
            queue.push(UiCommand::Rewind);
        }
    });
}

/// Draws the notice of a device failure, with its remedy.
fn failure_ui(ui: &mut Ui, document: &mut Document, failure: &DeviceFailure, around: Around<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let name = UiCommand::ContinueOnCpu.text(&around.with(document));
        let hint = recovery_text(&document.session.live);
        if widgets::primary(ui, name).on_hover_text(hint).clicked() {
            queue.push(UiCommand::ContinueOnCpu);
        }
        if !failure.stopped && ui.button("Not now").on_hover_text("The current simulation continues").clicked() {
            document.session.live.checkpoints.failure = None;
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.label(icons::rich(icons::ERROR).color(t.error));
            ui.add(egui::Label::new(RichText::new(&failure.text).color(t.text_strong)).truncate());
        });
    });
}

/// Returns a text that names the step from which the run would continue.
fn recovery_text(live: &Live) -> String {
    match live.checkpoints.recovery_point() {
        Some(kept) => format!("From the checkpoint at step {}", text::count(kept.state.clock.step)),
        None => "From step 0: there is no checkpoint".to_owned(),
    }
}
