//! Toasts: short messages at the lower right. Errors stay until they are closed.

use super::{icons, log::Level, theme::Tokens, widgets};
use egui::{Align, Align2, Area, Frame, Id, Layout, Margin, Order, Rect, Stroke, Ui, vec2};
use std::{collections::VecDeque, time::Instant};

/// Messages kept in the history.
const MAX_KEPT: usize = 200;
/// Messages shown at once.
const MAX_SHOWN: usize = 4;

struct Toast {
    id: u64,
    level: Level,
    text: String,
    until: Option<f64>,
}

/// A message that was shown.
pub struct Notice {
    /// Severity.
    pub level: Level,
    /// Text.
    pub text: String,
    /// Time.
    pub at: Instant,
}

/// The messages on screen and their history.
#[derive(Default)]
pub struct Toasts {
    list: Vec<Toast>,
    count: u64,
    /// Oldest first.
    pub history: VecDeque<Notice>,
    /// Messages since the history was last opened.
    pub unread: usize,
}

impl Toasts {
    /// Shows a message. A repeated text replaces the earlier toast.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.list.retain(|t| t.text != text);
        self.history.push_back(Notice { level, text: text.clone(), at: Instant::now() });
        if self.history.len() > MAX_KEPT {
            self.history.pop_front();
        }
        self.unread += 1;
        self.count += 1;
        self.list.push(Toast { id: self.count, level, text, until: None });
        if self.list.len() > MAX_SHOWN {
            self.list.remove(0);
        }
    }

    /// The texts on screen, newest last.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|t| t.text.as_str())
    }

    /// Removes the errors that begin with one of these texts: they are mended.
    pub fn resolve(&mut self, beginnings: &[&str]) {
        self.list.retain(|t| !beginnings.iter().any(|b| t.text.starts_with(b)));
    }

    /// Removes all errors: another document is opened.
    pub fn clear_errors(&mut self) {
        self.list.retain(|t| t.level < Level::Error);
    }

    /// The errors on screen, newest last.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter(|t| t.level == Level::Error).map(|t| t.text.as_str())
    }

    /// Draws the toasts at the lower right of the views. Messages other than errors disappear after this many seconds.
    pub fn ui(&mut self, ctx: &egui::Context, views: Rect, stay_secs: f64) {
        let now = ctx.input(|i| i.time);
        for toast in &mut self.list {
            if toast.until.is_none() && toast.level < Level::Error {
                toast.until = Some(now + stay_secs);
            }
        }
        self.list.retain(|t| t.until.is_none_or(|until| now < until));
        if let Some(next) = self.list.iter().filter_map(|t| t.until).reduce(f64::min) {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64((next - now).max(0.05)));
        }
        let mut closed = None;
        let corner = views.intersect(ctx.content_rect()).right_bottom() - vec2(12.0, 12.0);
        let place =
            Area::new(Id::unique("toasts")).fixed_pos(corner).pivot(Align2::RIGHT_BOTTOM).order(Order::Foreground);
        place.show(ctx, |ui| {
            for toast in &self.list {
                if toast_ui(ui, toast) {
                    closed = Some(toast.id);
                }
            }
        });
        self.list.retain(|t| Some(t.id) != closed);
    }
}

/// Glyph and colour of a message.
pub fn level_icon(t: &Tokens, level: Level) -> (&'static str, egui::Color32) {
    match level {
        Level::Info => (icons::CHECK, t.ok),
        Level::Warning => (icons::WARNING, t.warn),
        Level::Error => (icons::ERROR, t.error),
    }
}

/// One message; `true` when it was closed.
fn toast_ui(ui: &mut Ui, toast: &Toast) -> bool {
    let t = Tokens::of(ui.ctx());
    let (glyph, color) = level_icon(&t, toast.level);
    let frame = Frame::popup(ui.style()).inner_margin(Margin::symmetric(10, 6)).stroke(Stroke::new(1.0, t.line));
    let shown = frame.show(ui, |ui| {
        ui.set_width(320.0);
        ui.horizontal_top(|ui| {
            ui.label(icons::rich(glyph).color(color));
            let text_width = ui.available_width() - 30.0;
            ui.allocate_ui_with_layout(vec2(text_width, 0.0), Layout::top_down(Align::LEFT), |ui| {
                ui.set_width(text_width);
                ui.label(&toast.text);
            });
            widgets::icon_button(ui, icons::CLOSE, "Close message").clicked()
        })
        .inner
    });
    shown.inner
}
