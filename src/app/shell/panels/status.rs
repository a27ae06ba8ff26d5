//! Status bar: hints, messages, problems, saved state, frame time, memory and device.

use crate::{
    app::{
        document::{command::UiCommand, interventions, library::Library, open_document::Document, session::Session},
        host::{device::Devices, system::ProcessMemory},
        kit::{icons, text, theme::Tokens, widgets},
        shell::{
            flow::Flow,
            messages::Messages,
            panels::{
                gestures,
                problems::{Problem, problems},
                toasts::{Toasts, level_icon},
            },
            queue::{Queue, ShellRequest},
        },
    },
    project::DeviceChoice,
};
use egui::{Align, Frame, Layout, Margin, Panel, Popup, PopupCloseBehavior, RichText, ScrollArea, Sense, Ui};

/// Data that the bar shows, except the document.
pub struct Facts<'a> {
    pub messages: &'a mut Messages,
    pub flow: &'a Flow,
    pub devices: &'a Devices,
    pub process_memory: &'a mut ProcessMemory,
    /// Median time of a frame, ms; `None` before a frame was measured.
    pub frame_ms: Option<f32>,
    /// Whether the log panel is open.
    pub log_is_open: bool,
}

/// Draws the status bar.
pub fn ui(ui: &mut Ui, document: &mut Document, facts: Facts<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(10, 0));
    Panel::bottom("status bar").exact_size(24.0).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            facts_ui(ui, document, facts, queue);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| hints_ui(ui, &document.session));
        });
    });
}

fn hints_ui(ui: &mut Ui, session: &Session) {
    let selected = session.selection.elements.len();
    let hints: &[(&str, &str)] = match (selected, session.live.is_loaded()) {
        (0, true) => &[("Space", "run"), (".", "step"), ("Ctrl+K", "search"), ("?", "help")],
        (0, false) => &[("Space", "run"), ("Ctrl+O", "open"), ("Ctrl+K", "search")],
        _ if !interventions::can(session.project.model.params(), interventions::Intervention::Stimulate) => {
            &[("right-click", "actions"), ("P", "probe"), ("Esc", "clear")]
        }
        _ => &[("S", "stimulate"), ("X", "silence"), ("P", "probe"), ("Esc", "clear")],
    };
    let hints = gestures::hinted(ui.ctx()).unwrap_or(hints);
    let t = Tokens::of(ui.ctx());
    for (key, what) in hints {
        let font = egui::TextStyle::Small.resolve(ui.style());
        let size = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), t.text).size().x;
        if size(key) + size(what) + 20.0 > ui.available_width() {
            break;
        }
        ui.label(RichText::new(*key).small().color(t.text));
        ui.label(widgets::sub(ui, *what).small());
        ui.add_space(8.0);
    }
}

/// Draws a bell icon that opens the message history.
fn bell_ui(ui: &mut Ui, toasts: &mut Toasts, log_is_open: bool, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let unread = toasts.unread;
    let ink = if unread > 0 { t.accent } else { t.text_sub };
    let name = format!("Messages, {unread} new");
    let content =
        (icons::rich(icons::BELL).size(12.0).color(ink), RichText::new(unread.to_string()).small().color(ink));
    let button = ui.add(egui::Button::new(content).frame_when_inactive(false)).accessible_name(&name);
    let popup = Popup::menu(&button.on_hover_text(name)).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let is_open = popup.show(|ui| history_ui(ui, toasts, log_is_open, queue)).is_some();
    if is_open {
        toasts.read();
    }
}

fn history_ui(ui: &mut Ui, toasts: &Toasts, log_is_open: bool, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    ui.set_width(360.0);
    ui.horizontal(|ui| {
        ui.heading("Messages");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Open log").clicked() {
                queue.extend((!log_is_open).then_some(UiCommand::ToggleLog));
                ui.close();
            }
        });
    });
    if toasts.history.is_empty() {
        ui.label(widgets::sub(ui, "No messages yet"));
    }
    ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        for notice in toasts.history.iter().rev() {
            let (glyph, color) = level_icon(&t, notice.level);
            ui.horizontal_top(|ui| {
                ui.label(icons::rich(glyph).color(color));
                ui.vertical(|ui| {
                    ui.label(&notice.text);
                    ui.label(widgets::sub(ui, format!("{} ago", text::stopwatch(notice.at.elapsed()))).small());
                });
            });
        }
    });
}

/// Draws items from right to left in order of importance: messages, problems, saved state, device, memory, frame time. Items
/// without room are omitted.
fn facts_ui(ui: &mut Ui, document: &mut Document, facts: Facts<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let Facts { messages, flow, devices, process_memory, frame_ms, log_is_open } = facts;
    bell_ui(ui, &mut messages.toasts, log_is_open, queue);
    ui.add_space(8.0);
    problems_ui(ui, problems(document, flow, devices, &messages.toasts), log_is_open, queue);
    export_ui(ui, &document.library, queue);
    let session = &document.session;
    let saved = match (session.is_dirty(), session.saved_at) {
        _ if session.live.playback.is_some() => "read-only".to_owned(),
        (true, _) => "unsaved changes".to_owned(),
        (false, Some(at)) if at.elapsed().as_secs() < 60 => "saved just now".to_owned(),
        (false, Some(at)) => format!("saved {} min ago", at.elapsed().as_secs() / 60),
        (false, None) => "no changes".to_owned(),
    };
    fact(ui, icons::SAVE, &saved, t.text_sub, "Ctrl+S saves");
    let device = devices.chosen();
    let glyph = if device.is_gpu { icons::GPU } else { icons::CPU };
    let response = fact(ui, glyph, &device.name, t.text_sub, &device.details);
    Popup::menu(&response).show(|ui| device_ui(ui, &mut document.session, devices));
    let (label, details) = memory_text(document, process_memory);
    if !label.is_empty() {
        fact(ui, icons::MEMORY, &label, t.text_sub, &details);
    }
    if let Some(ms) = frame_ms {
        let hint = "Median frame time; F12 shows details";
        fact(ui, icons::GAUGE, &format!("UI {:.1} ms", ms), t.text_sub, hint);
    }
}

/// Draws the progress of the export, with a cancel button.
fn export_ui(ui: &mut Ui, library: &Library, queue: &mut Queue) {
    let Some(export) = &library.exporting else { return };
    if ui.small_button("Cancel").on_hover_text("Cancels the export; no file is written").clicked() {
        queue.push(UiCommand::CancelExport);
    }
    let (stage, fraction) = export.progress.now();
    let label = format!("{} {:.0} %", text::title(&stage), fraction * 100.0);
    fact(ui, icons::EXPORT, &label, Tokens::of(ui.ctx()).text_sub, &format!("Export of {}", export.name));
    ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
}

/// Draws the menu of the machine's devices. The choice is a setting of the project and takes effect at the next build.
fn device_ui(ui: &mut Ui, session: &mut Session, devices: &Devices) {
    ui.heading("Device");
    if session.live.playback.is_some() {
        ui.label(widgets::sub(ui, "A finished run is shown"));
        return;
    }
    let run = &mut session.project.run;
    let mut choices = vec![("Automatic".to_owned(), DeviceChoice::Auto, run.gpu)];
    choices.push(("CPU".to_owned(), DeviceChoice::Cpu, run.gpu));
    let present = devices.present();
    for gpu in present {
        let label = format!("cuda:{} {}, {}", gpu.ordinal, gpu.name, text::bytes(gpu.memory));
        choices.push((label, DeviceChoice::Cuda, gpu.ordinal as u32));
    }
    if present.is_empty() {
        choices.push(("NVIDIA GPU, none on this machine".to_owned(), DeviceChoice::Cuda, run.gpu));
    }
    for (label, device, gpu) in choices {
        let is_chosen = run.device == device && (device != DeviceChoice::Cuda || run.gpu == gpu);
        if ui.selectable_label(is_chosen, label).clicked() {
            (run.device, run.gpu) = (device, gpu);
            ui.close();
        }
    }
    ui.label(widgets::sub(ui, "Takes effect at the next build"));
}

/// Returns the memory of the model and of the process as a label, and a list of its parts.
fn memory_text(document: &Document, process_memory: &mut ProcessMemory) -> (String, String) {
    let memory = &document.session.live.schema.memory;
    let (model, owners) = (memory.total(), memory.by_owner());
    let mut lines: Vec<String> = owners.iter().map(|(owner, n)| format!("{owner} {}", text::bytes(*n))).collect();
    lines.push(format!("history {}", text::bytes(document.time.past.n_bytes() as u64)));
    let process = process_memory.bytes();
    let parts = [("model", model), ("process", process)].into_iter().filter(|(_, n)| *n > 0);
    let label = parts.map(|(of, n)| format!("{of} {}", text::bytes(n))).collect::<Vec<_>>().join(" · ");
    lines.push(format!("process, with window and graphics {}", text::bytes(process)));
    (label, lines.join("\n"))
}

/// Draws the number of current problems. A click lists the problems.
fn problems_ui(ui: &mut Ui, problems: Vec<Problem>, log_is_open: bool, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let (glyph, color) = if problems.is_empty() { (icons::CHECK, t.text_sub) } else { (icons::WARNING, t.warn) };
    let label = match problems.len() {
        0 => "no problems".to_owned(),
        n => text::plural(n, "problem", "problems"),
    };
    let response = fact(ui, glyph, &label, color, "Current problems");
    let popup = Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    popup.show(|ui| {
        ui.set_width(360.0);
        ui.horizontal(|ui| {
            ui.heading("Problems");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Open log").clicked() {
                    queue.extend((!log_is_open).then_some(UiCommand::ToggleLog));
                    ui.close();
                }
            });
        });
        if problems.is_empty() {
            ui.label(widgets::sub(ui, "No problems"));
        }
        ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
            for problem in problems {
                ui.horizontal_top(|ui| {
                    ui.label(icons::rich(icons::WARNING).color(t.warn));
                    ui.vertical(|ui| {
                        ui.add(egui::Label::new(&problem.text).wrap().selectable(true));
                        if let Some((label, command)) = problem.remedy
                            && ui.button(label).clicked()
                        {
                            queue.push(command);
                            ui.close();
                        }
                        if let Some(path) = problem.parameter
                            && ui.button("Show parameter").clicked()
                        {
                            queue.ask(ShellRequest::FindParameter(path));
                            ui.close();
                        }
                    });
                });
            }
        });
    });
}

/// Draws an item of the bar if there is room. Without room, returns the response of an empty area.
fn fact(ui: &mut Ui, glyph: &str, label: &str, color: egui::Color32, hint: &str) -> egui::Response {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let width = ui.painter().layout_no_wrap(label.to_owned(), font, color).size().x + 12.0 + 10.0 + 12.0;
    if width > ui.available_width() {
        let nothing = egui::Rect::from_min_size(ui.cursor().right_top(), egui::Vec2::ZERO);
        return ui.interact(nothing, egui::Id::unique(("status item left out", label)), Sense::hover());
    }
    let text = egui::Label::new(RichText::new(label).small().color(color)).sense(Sense::click());
    let text = ui.add(text.extend());
    let icon = ui.label(icons::rich(glyph).size(12.0).color(color));
    ui.add_space(10.0);
    let response = text | icon;
    if hint.is_empty() { response } else { response.on_hover_text(hint) }
}
