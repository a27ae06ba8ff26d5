//! The log, at the bottom.

use super::{App, icons, log::Level, theme::Tokens, widgets};
use egui::{ComboBox, Frame, Margin, Panel, RichText, ScrollArea, TextEdit, TextStyle, Ui};

/// Draws the panel when it is open.
pub fn ui(ui: &mut Ui, app: &mut App) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(10, 4));
    if !app.panels.log {
        return;
    }
    Panel::bottom("log").default_size(150.0).size_range(80.0..=400.0).resizable(true).frame(frame).show(ui, |ui| {
        super::side::reachable(ui, "log", "Log", |ui| content_ui(ui, app, &t));
    });
}

fn content_ui(ui: &mut Ui, app: &mut App, t: &Tokens) {
    ui.horizontal(|ui| {
        ui.heading("Log");
        ComboBox::from_id_salt("level")
            .width(80.0)
            .selected_text(level_name(app.log.least))
            .show_ui(ui, |ui| {
                for level in [Level::Info, Level::Warning, Level::Error] {
                    ui.selectable_value(&mut app.log.least, level, level_name(level));
                }
            })
            .response
            .accessible_name("Least level");
        ui.add(TextEdit::singleline(&mut app.log.filter).hint_text("Filter").desired_width(180.0))
            .accessible_name("Filter the log");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if widgets::icon_button(ui, icons::CLOSE, "Close the log").clicked() {
                app.panels.log = false;
            }
            if widgets::icon_button(ui, icons::TRASH, "Empty the log").clicked() {
                app.log.lines.clear();
            }
        });
    });
    lines_ui(ui, app, t);
}

fn lines_ui(ui: &mut Ui, app: &App, t: &Tokens) {
    let lines: Vec<_> = app.log.shown().collect();
    ui.spacing_mut().item_spacing.y = 2.0;
    let height = ui.text_style_height(&TextStyle::Monospace);
    ScrollArea::both().auto_shrink(false).stick_to_bottom(true).show_rows(ui, height, lines.len(), |ui, range| {
        for line in &lines[range] {
            let color = match line.level {
                Level::Info => t.text_sub,
                Level::Warning => t.warn,
                Level::Error => t.error,
            };
            let text = format!("{:>8.2} s  {:<7}  {}", line.secs, level_name(line.level).to_lowercase(), line.text);
            ui.add(egui::Label::new(RichText::new(text).monospace().color(color)).selectable(true).extend());
        }
    });
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "Info",
        Level::Warning => "Warning",
        Level::Error => "Error",
    }
}
