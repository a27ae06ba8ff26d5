//! The status bar: hints, messages, problems, saved state, frame time, memory, device.

use super::{App, commands::UiCommand, icons, interventions, text, theme::Tokens, widgets};
use egui::{Align, Frame, Layout, Margin, Panel, Popup, PopupCloseBehavior, RichText, ScrollArea, Sense, Ui};

/// Draws the bar.
pub fn ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(10, 0));
    Panel::bottom("status bar").exact_size(24.0).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            hints_ui(ui, app);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| facts_ui(ui, app, queue));
        });
    });
}

fn hint_id() -> egui::Id {
    egui::Id::unique("gestures of the hovered panel")
}

type Gestures = &'static [(&'static str, &'static str)];

/// Sets the gesture hints of the hovered panel; shown in the next frame.
pub fn hint(ctx: &egui::Context, gestures: Gestures) {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.insert_temp(hint_id(), (now, gestures)));
}

/// Gesture hints at the pointer.
fn hinted(ctx: &egui::Context) -> Option<Gestures> {
    let now = ctx.cumulative_pass_nr();
    let (at, gestures) = ctx.data(|d| d.get_temp::<(u64, Gestures)>(hint_id()))?;
    (now.saturating_sub(at) <= 2 && !gestures.is_empty()).then_some(gestures)
}

fn hints_ui(ui: &mut Ui, app: &App) {
    let selected = app.session.selection.elements.len();
    let hints: &[(&str, &str)] = match (selected, app.session.live.is_loaded()) {
        (0, true) => &[("Space", "run"), (".", "step"), ("Ctrl+K", "search"), ("?", "help")],
        (0, false) => &[("Space", "run"), ("Ctrl+O", "open"), ("Ctrl+K", "search")],
        _ if interventions::effects(app.session.project.model.params()).is_empty() => {
            &[("right-click", "actions"), ("P", "probe"), ("Esc", "clear")]
        }
        _ => &[("S", "stimulate"), ("X", "silence"), ("P", "probe"), ("Esc", "clear")],
    };
    let hints = hinted(ui.ctx()).unwrap_or(hints);
    let t = Tokens::of(ui.ctx());
    for (key, what) in hints {
        ui.label(RichText::new(*key).small().color(t.text));
        ui.label(widgets::sub(ui, *what).small());
        ui.add_space(8.0);
    }
}

/// The message history, behind a bell icon.
fn bell_ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    let unread = app.toasts.unread;
    let ink = if unread > 0 { t.accent } else { t.text_sub };
    let name = format!("Messages, {unread} new");
    let content =
        (icons::rich(icons::BELL).size(12.0).color(ink), RichText::new(unread.to_string()).small().color(ink));
    let button = ui.add(egui::Button::new(content).frame_when_inactive(false)).accessible_name(&name);
    let popup = Popup::menu(&button.on_hover_text(name)).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let is_open = popup.show(|ui| history_ui(ui, app, queue)).is_some();
    if is_open {
        app.toasts.unread = 0;
    }
}

fn history_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    ui.set_width(360.0);
    ui.horizontal(|ui| {
        ui.heading("Messages");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Open log").clicked() {
                queue.extend((!app.panels.log).then_some(UiCommand::ToggleLog));
                ui.close();
            }
        });
    });
    if app.toasts.history.is_empty() {
        ui.label(widgets::sub(ui, "No messages yet"));
    }
    ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        for notice in app.toasts.history.iter().rev() {
            let (glyph, color) = super::toasts::level_icon(&t, notice.level);
            ui.horizontal_top(|ui| {
                ui.label(icons::rich(glyph).color(color));
                ui.vertical(|ui| {
                    ui.label(&notice.text);
                    ui.label(widgets::sub(ui, format!("{} ago", text::wall_time(notice.at.elapsed()))).small());
                });
            });
        }
    });
}

/// From the right: messages, problems, saved state, frame time, memory, device.
fn facts_ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    let t = Tokens::of(ui.ctx());
    bell_ui(ui, app, queue);
    ui.add_space(8.0);
    let problems = app.log.problems();
    let (glyph, color) = if problems > 0 { (icons::WARNING, t.warn) } else { (icons::CHECK, t.text_sub) };
    let label = match problems {
        0 => "no problems".to_owned(),
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    };
    if fact(ui, glyph, &label, color, "Warnings and errors; opens the log").clicked() {
        queue.push(UiCommand::ToggleLog);
    }
    let session = &app.session;
    let saved = match (session.is_dirty(), session.saved_at) {
        (true, _) => "unsaved changes".to_owned(),
        (false, Some(at)) if at.elapsed().as_secs() < 60 => "saved just now".to_owned(),
        (false, Some(at)) => format!("saved {} min ago", at.elapsed().as_secs() / 60),
        (false, None) => "no changes".to_owned(),
    };
    fact(ui, icons::SAVE, &saved, t.text_sub, "Ctrl+S saves");
    if let Some(ms) = app.frames.own.quantiles() {
        fact(ui, icons::GAUGE, &format!("UI {:.1} ms", ms[0]), t.text_sub, "Median frame time; F12 shows details");
    }
    let memory: u64 = session.live.schema.memory.iter().map(|(_, n)| n).sum();
    if memory > 0 {
        let owners: Vec<String> =
            session.live.schema.memory.iter().map(|(o, n)| format!("{o} {}", text::bytes(*n))).collect();
        fact(ui, icons::MEMORY, &text::bytes(memory), t.text_sub, &owners.join("\n"));
    }
    let device = app.devices.chosen();
    let glyph = if device.is_gpu { icons::GPU } else { icons::CPU };
    fact(ui, glyph, &device.name, t.text_sub, &device.details);
}

fn fact(ui: &mut Ui, glyph: &str, label: &str, color: egui::Color32, hint: &str) -> egui::Response {
    let label = ui.add(egui::Label::new(RichText::new(label).small().color(color)).sense(Sense::click()));
    let icon = ui.label(icons::rich(glyph).size(12.0).color(color));
    ui.add_space(10.0);
    let response = label | icon;
    if hint.is_empty() { response } else { response.on_hover_text(hint) }
}
