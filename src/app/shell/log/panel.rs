//! Log panel at the bottom of the window.

use super::{Line, Link, Log};
use crate::app::{
    document::open_document::Document,
    kit::{focus, icons, level::Level, text, theme::Tokens, widgets},
    shell::{panels::side, queue::Queue},
};
use egui::{
    Align, ComboBox, CursorIcon, Frame, Label, Layout, Margin, Panel, RichText, ScrollArea, Sense, TextEdit, TextStyle,
    Ui,
};

/// Draws the panel if it is open.
pub fn ui(ui: &mut Ui, log: &mut Log, is_open: &mut bool, document: &Document, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(t.panel).inner_margin(Margin::symmetric(10, 4));
    if !*is_open {
        return;
    }
    Panel::bottom("log").default_size(150.0).size_range(80.0..=400.0).resizable(true).frame(frame).show(ui, |ui| {
        side::reachable(ui, "log", "Log", |ui| {
            head_ui(ui, log, is_open);
            lines_ui(ui, log, document, &t, queue);
        });
    });
}

fn head_ui(ui: &mut Ui, log: &mut Log, is_open: &mut bool) {
    ui.horizontal(|ui| {
        ui.heading("Log");
        let filter = &mut log.filter;
        let least = ComboBox::from_id_salt("level").width(80.0).selected_text(level_name(filter.least));
        let response = least.show_ui(ui, |ui| {
            for level in [Level::Info, Level::Warning, Level::Error] {
                ui.selectable_value(&mut filter.least, level, level_name(level));
            }
        });
        response.response.accessible_name("Minimum level");
        let all = "All sources";
        let shown = if filter.target.is_empty() { all } else { &filter.target };
        let source = ComboBox::from_id_salt("target").width(100.0).selected_text(shown.to_owned());
        let response = source.show_ui(ui, |ui| {
            ui.selectable_value(&mut filter.target, String::new(), all);
            for target in &log.targets {
                ui.selectable_value(&mut filter.target, target.clone(), target);
            }
        });
        response.response.accessible_name("Source");
        let field = TextEdit::singleline(&mut filter.text).hint_text("Filter").desired_width(180.0);
        ui.add(field.id(focus::filter_id("log"))).accessible_name("Filter log");
        let (n, of) = (log.n_shown(), log.count());
        ui.label(
            widgets::sub(ui, format!("{} of {}", text::count(n as u64), text::plural(of, "line", "lines"))).small(),
        );
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if widgets::icon_button(ui, icons::CLOSE, "Close log").clicked() {
                *is_open = false;
            }
            if widgets::icon_button(ui, icons::TRASH, "Clear log").clicked() {
                log.clear();
            }
            if widgets::icon_button(ui, icons::COPY, "Copy shown lines").clicked() {
                let lines: Vec<String> = (0..n).filter_map(|i| log.shown(i)).map(written).collect();
                ui.copy_text(lines.join("\n"));
            }
        });
    });
}

fn lines_ui(ui: &mut Ui, log: &mut Log, document: &Document, t: &Tokens, queue: &mut Queue) {
    let n = log.n_shown();
    if n == 0 {
        let why = if log.count() == 0 { "No messages yet" } else { "No matching lines" };
        ui.label(widgets::sub(ui, why));
        return;
    }
    ui.spacing_mut().item_spacing.y = 2.0;
    let height = ui.text_style_height(&TextStyle::Monospace);
    let mut followed = None;
    ScrollArea::both().auto_shrink(false).stick_to_bottom(true).show_rows(ui, height, n, |ui, range| {
        for line in range.filter_map(|i| log.shown(i)) {
            let color = match line.level {
                Level::Info => t.text_sub,
                Level::Warning => t.warn,
                Level::Error => t.error,
            };
            let link = Link::of(document, &line.text);
            let shown = RichText::new(written(line)).monospace().color(color);
            let label = Label::new(shown).selectable(false).extend().sense(Sense::click());
            let response = ui.add(label);
            response.context_menu(|ui| {
                if ui.button("Copy line").clicked() {
                    ui.copy_text(written(line));
                    ui.close();
                }
            });
            if link.is_some() {
                let response = response.on_hover_cursor(CursorIcon::PointingHand).on_hover_text("Click to show");
                if response.clicked() {
                    followed = link;
                }
            }
        }
    });
    if let Some(link) = followed {
        queue.ask(link.request(document.session.project.model.params()));
    }
}

fn written(line: &Line) -> String {
    let level = level_name(line.level).to_lowercase();
    format!("{:>8.2} s  {level:<7}  {:<8}  {}", line.secs, line.target, line.text)
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "Info",
        Level::Warning => "Warning",
        Level::Error => "Error",
    }
}
