//! Page of the file given at start, shown while the file is read or after opening it has failed. No other project is opened
//! instead.

use crate::app::{
    document::command::UiCommand,
    kit::{
        icons, text,
        theme::{TITLE, Tokens},
        widgets,
    },
    shell::{
        flow::Opening,
        queue::{Queue, ShellRequest},
    },
};
use egui::{Align, Layout, Rect, RichText, TextStyle, Ui, UiBuilder, vec2};

/// Draws the page of the file.
pub fn ui(ui: &mut Ui, opening: &Opening, queue: &mut Queue) {
    let (name, path, error) = (opening.name(), opening.path.display().to_string(), opening.error.clone());
    let t = Tokens::of(ui.ctx());
    let rect = Rect::from_center_size(ui.max_rect().center(), vec2(520.0, 280.0).min(ui.available_size()));
    let title = |text: String| RichText::new(text).text_style(TextStyle::Name(TITLE.into())).color(t.text_strong);
    let mut retry = false;
    ui.scope_builder(UiBuilder::new().max_rect(rect).layout(Layout::top_down(Align::Center)), |ui| {
        let Some(error) = error else {
            ui.add_space(90.0);
            ui.spinner();
            ui.label(title(format!("Opening {name}")));
            return;
        };
        ui.add_space(30.0);
        ui.label(icons::rich(icons::ERROR).size(34.0).color(t.error));
        ui.label(title(format!("Could not open {name}")));
        ui.label(widgets::sub(ui, text::first_line(&path)).small()).on_hover_text(&path);
        ui.add_space(4.0);
        let reason = error.strip_prefix("Could not open: ").unwrap_or(&error);
        ui.add(egui::Label::new(RichText::new(reason).color(t.text)).wrap().selectable(true));
        ui.add_space(12.0);
        ui.horizontal(|ui| {
            ui.add_space((ui.available_width() - 290.0).max(0.0) / 2.0);
            retry = widgets::primary(ui, "Try again").clicked();
            for (command, label) in [(UiCommand::Open, "Open another…"), (UiCommand::Home, "Examples")] {
                if ui.button(label).on_hover_text(command.tooltip()).clicked() {
                    queue.push(command);
                }
            }
        });
    });
    if retry {
        queue.ask(ShellRequest::RetryOpening);
    }
}
