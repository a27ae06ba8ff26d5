//! Page of a workspace without a simulation: progress of loading, the error of a build, or a Run button.

use crate::{
    app::{
        document::{command::UiCommand, session::Session},
        host::device::Devices,
        kit::{
            icons, text,
            theme::{TITLE, Tokens},
            widgets,
        },
        shell::{
            commands::CommandState,
            log::{self, Link},
            queue::Queue,
        },
    },
    project::{DeviceChoice, Project},
    sim::DeviceKind,
};
use egui::{Align, Layout, ProgressBar, Rect, RichText, TextStyle, Ui, UiBuilder, vec2};

/// Draws the page of the workspace.
pub fn ui(ui: &mut Ui, state: &CommandState<'_>, devices: &Devices, queue: &mut Queue) {
    let size = vec2(440.0, 320.0).min(ui.available_size());
    let rect = Rect::from_center_size(ui.max_rect().center(), size);
    ui.scope_builder(UiBuilder::new().max_rect(rect).layout(Layout::top_down(Align::Center)), |ui| {
        match (state.document.session.live.progress(), state.document.session.live.error.clone()) {
            (Some(progress), _) => loading_ui(ui, &state.document.session.project, devices, progress, queue),
            (None, Some(error)) => failed_ui(ui, state, devices, &error, queue),
            (None, None) => start_ui(ui, &state.document.session, devices, queue),
        }
    });
}

fn title(text: impl Into<String>) -> RichText {
    RichText::new(text).text_style(TextStyle::Name(TITLE.into()))
}

fn loading_ui(
    ui: &mut Ui,
    project: &Project,
    devices: &Devices,
    (stage, fraction, since): (String, f32, std::time::Duration),
    queue: &mut Queue,
) {
    let t = Tokens::of(ui.ctx());
    ui.add_space(70.0);
    ui.label(title(format!("Preparing {}", project.name)).color(t.text_strong));
    ui.add_space(4.0);
    ui.label(widgets::sub(ui, if stage.is_empty() { "Starting".to_owned() } else { stage }));
    ui.add_space(8.0);
    ui.add(ProgressBar::new(fraction).desired_width(320.0).desired_height(6.0).fill(t.accent));
    ui.add_space(4.0);
    ui.label(widgets::sub(ui, text::eta(fraction, since)).small());
    memory_ui(ui, project, devices);
    ui.add_space(12.0);
    if ui.button("Cancel").clicked() {
        queue.push(UiCommand::CancelLoading);
    }
}

/// Shows the predicted memory on each device that the project may use, if the kind predicts it.
fn memory_ui(ui: &mut Ui, project: &Project, devices: &Devices) {
    let threads = devices.chosen().threads.max(1) as usize;
    let places =
        [(DeviceChoice::Cuda, DeviceKind::Cpu { threads }, "the CPU"), (DeviceChoice::Cpu, DeviceKind::Cuda, "a GPU")];
    let (mut totals, mut owners) = (vec![], vec![]);
    for (_, place, name) in places.into_iter().filter(|(elsewhere, ..)| project.run.device != *elsewhere) {
        let bytes = project.model.predict(place);
        if !bytes.is_empty() {
            totals.push(format!("{} on {name}", text::bytes(bytes.total())));
            owners.extend(bytes.by_owner().iter().map(|(owner, n)| format!("{owner} on {name}: {}", text::bytes(*n))));
        }
    }
    if !totals.is_empty() {
        let line = widgets::sub(ui, format!("Needs about {}", totals.join(", "))).small();
        ui.label(line).on_hover_text(owners.join("\n"));
    }
    let is_for_gpu = project.run.device == DeviceChoice::Cuda;
    if let Some(slow) = crate::app::shell::step_cost::on_cpu(&project.model, threads as u32).filter(|_| !is_for_gpu) {
        ui.label(RichText::new(slow).small().color(Tokens::of(ui.ctx()).warn));
    }
}

fn failed_ui(ui: &mut Ui, state: &CommandState<'_>, devices: &Devices, error: &str, queue: &mut Queue) {
    let session = &state.document.session;
    let t = Tokens::of(ui.ctx());
    ui.add_space(60.0);
    ui.label(icons::rich(icons::ERROR).size(34.0).color(t.error));
    ui.label(title("The simulation could not be built").color(t.text_strong));
    ui.add_space(4.0);
    ui.add(egui::Label::new(RichText::new(error).color(t.text)).wrap().selectable(true));
    memory_ui(ui, &session.project, devices);
    ui.add_space(12.0);
    if session.live.checkpoints.failure.is_some() {
        if widgets::primary(ui, UiCommand::ContinueOnCpu.text(state)).clicked() {
            queue.push(UiCommand::ContinueOnCpu);
        }
        ui.add_space(4.0);
    }
    let params = session.project.model.params();
    if let Some(link) = log::parameter(params, error).map(Link::Param) {
        if widgets::primary(ui, "Show parameter").on_hover_text("Finds it in the inspector").clicked() {
            queue.ask(link.request(params));
        }
        ui.add_space(4.0);
    }
    if ui.button("Try again").clicked() {
        queue.push(UiCommand::Rebuild);
    }
}

/// Draws the reason of a failed build in a line at the top.
pub fn failed_bar_ui(ui: &mut Ui, error: &str, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let frame = egui::Frame::new().fill(t.panel).inner_margin(egui::Margin::symmetric(10, 4));
    egui::Panel::top("failed build").frame(frame).show_separator_line(true).show(ui, |ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Try again").clicked() {
                queue.push(UiCommand::Rebuild);
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.label(icons::rich(icons::ERROR).color(t.error));
                ui.add(egui::Label::new(format!("The simulation could not be built: {error}")).truncate());
            });
        });
    });
}

fn start_ui(ui: &mut Ui, session: &Session, devices: &Devices, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let project = &session.project;
    ui.add_space(18.0);
    ui.label(icons::rich(icons::BRAIN).size(38.0).color(Tokens::fade(t.accent, 0.9)));
    ui.label(title(&project.name).color(t.text_strong));
    ui.label(RichText::new(crate::app::kit::text::unwrap(project.model.about())).color(t.text_sub));
    ui.add_space(10.0);
    if session.live.has_engine() && widgets::primary(ui, "Run this project").clicked() {
        queue.push(UiCommand::RunPause);
    }
    memory_ui(ui, &session.project, devices);
    ui.add_space(14.0);
    if ui.button("Other examples").clicked() {
        queue.push(UiCommand::Home);
    }
}
