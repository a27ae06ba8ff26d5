//! Toasts: short messages over the project tree, or in a strip above the status bar if the tree is not docked, so that they
//! cover no view. Errors are shown until they are closed or read in the list of messages.

use crate::app::{
    document::command::UiCommand,
    kit::{icons, level::Level, theme::Tokens, widgets},
};
use egui::{Align, Align2, Area, Frame, Id, Label, Layout, Margin, Order, Panel, Rect, Stroke, Ui, vec2};
use std::{collections::VecDeque, time::Instant};

/// Maximum number of messages in the history.
const MAX_KEPT: usize = 200;
/// Maximum number of messages shown.
const MAX_SHOWN: usize = 4;
/// Maximum width of a text with its glyph and its button, points; narrow panels reduce this width.
const WIDTH: f32 = 320.0;
/// Distance of the toasts from the edges of the panel, and margins of a frame, points.
const MARGIN: f32 = 6.0;
const FRAME_MARGIN: Margin = Margin::symmetric(10, 6);
/// Width of the glyph and the button next to a text, points.
const BESIDE_TEXT: f32 = 54.0;
/// Height of the strip, points.
const STRIP: f32 = 30.0;

/// Button of a toast.
pub struct ToastAction {
    pub label: &'static str,
    pub command: UiCommand,
}

struct Toast {
    id: u64,
    level: Level,
    text: String,
    action: Option<ToastAction>,
    /// Text before it was rewritten, by which a repeated message is found.
    given: String,
    until: Option<f64>,
    /// Whether the user has opened the list of messages since. A read error is not shown, but still counts as a problem.
    is_read: bool,
}

/// Message that was shown.
pub struct Notice {
    pub level: Level,
    pub text: String,
    pub at: Instant,
}

/// Messages on screen, and their history.
#[derive(Default)]
pub struct Toasts {
    list: Vec<Toast>,
    count: u64,
    /// Number of messages that were rewritten.
    n_rewritten: u64,
    /// Messages that were shown, oldest first.
    pub history: VecDeque<Notice>,
    /// Number of messages since the history was last opened.
    pub unread: usize,
}

impl Toasts {
    /// Shows a message, which replaces an earlier toast with an equal text.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        self.add_with(level, text.into(), None);
    }

    /// Shows a message as [`Toasts::add`] does, with a button.
    pub fn add_with(&mut self, level: Level, text: String, action: Option<ToastAction>) {
        self.list.retain(|t| t.given != text);
        self.history.push_back(Notice { level, text: text.clone(), at: Instant::now() });
        if self.history.len() > MAX_KEPT {
            self.history.pop_front();
        }
        self.unread += 1;
        self.count += 1;
        let given = text.clone();
        self.list.push(Toast { id: self.count, level, given, text, action, until: None, is_read: false });
        if self.list.len() > MAX_SHOWN {
            self.list.remove(0);
        }
    }

    /// Rewrites the messages that were added since the last call.
    pub fn rewrite_new(&mut self, rewritten: impl Fn(&str) -> String) {
        let n_new = (self.count - std::mem::replace(&mut self.n_rewritten, self.count)) as usize;
        for notice in self.history.iter_mut().rev().take(n_new) {
            notice.text = rewritten(&notice.text);
        }
        for toast in self.list.iter_mut().rev().take(n_new) {
            toast.text = rewritten(&toast.text);
        }
    }

    /// Iterates over the texts on screen, newest last.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|t| t.text.as_str())
    }

    /// Removes the messages that begin with one of these texts, because their cause is resolved.
    pub fn resolve(&mut self, beginnings: &[&str]) {
        self.list.retain(|t| !beginnings.iter().any(|b| t.text.starts_with(b)));
    }

    /// Removes all errors, because another document is opened.
    pub fn clear_errors(&mut self) {
        self.list.retain(|t| t.level < Level::Error);
    }

    /// Iterates over the errors on screen, newest last.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter(|t| t.level == Level::Error).map(|t| t.text.as_str())
    }

    /// Marks all messages as read, because their list is open.
    pub fn read(&mut self) {
        self.unread = 0;
        self.list.retain(|t| t.level == Level::Error);
        self.list.iter_mut().for_each(|t| t.is_read = true);
    }

    /// Removes messages other than errors after `stay_secs` seconds, and returns whether any are left to show.
    fn expire(&mut self, ctx: &egui::Context, stay_secs: f64) -> bool {
        let now = ctx.input(|i| i.time);
        for toast in &mut self.list {
            if toast.until.is_none() && toast.level < Level::Error {
                let times = if toast.action.is_some() { 3.0 } else { 1.0 };
                toast.until = Some(now + stay_secs * times);
            }
        }
        self.list.retain(|t| t.until.is_none_or(|until| now < until));
        if let Some(next) = self.list.iter().filter_map(|t| t.until).reduce(f64::min) {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64((next - now).max(0.05)));
        }
        self.list.iter().any(|t| !t.is_read)
    }

    /// Draws the newest message in a strip at the bottom of the window. Returns the command of a clicked button.
    pub fn strip_ui(&mut self, ui: &mut Ui, stay_secs: f64) -> Option<UiCommand> {
        if !self.expire(ui.ctx(), stay_secs) {
            return None;
        }
        let t = Tokens::of(ui.ctx());
        let shown: Vec<&Toast> = self.list.iter().filter(|t| !t.is_read).collect();
        let (newest, older) = shown.split_last()?;
        let (id, (glyph, color)) = (newest.id, level_icon(&t, newest.level));
        let frame = Frame::new().fill(t.raised).inner_margin(Margin::symmetric(10, 0));
        let mut command = None;
        let closed = Panel::bottom("messages").exact_size(STRIP).frame(frame).show(ui, |ui| {
            let row = Layout::right_to_left(Align::Center);
            ui.with_layout(row, |ui| {
                let close = widgets::icon_button(ui, icons::CLOSE, "Close message").clicked();
                if let Some(action) = newest.action.as_ref().filter(|action| ui.button(action.label).clicked()) {
                    command = Some(action.command.clone());
                }
                if !older.is_empty() {
                    let texts: Vec<&str> = older.iter().map(|t| t.text.as_str()).collect();
                    ui.label(widgets::sub(ui, format!("{} more", older.len()))).on_hover_text(texts.join("\n"));
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.label(icons::rich(glyph).color(color));
                    ui.add(Label::new(&newest.text).truncate());
                });
                close
            })
            .inner
        });
        if closed.inner || command.is_some() {
            self.list.retain(|t| t.id != id);
        }
        command
    }

    /// Draws the toasts at the lower end of the project tree. Messages other than errors disappear after `stay_secs` seconds, or
    /// three times as many if they have a button. Returns the command of a clicked button.
    pub fn ui(&mut self, ctx: &egui::Context, panel: Rect, stay_secs: f64) -> Option<UiCommand> {
        if !self.expire(ctx, stay_secs) {
            return None;
        }
        let (mut closed, mut command) = (None, None);
        let room = panel.intersect(ctx.content_rect()).shrink(MARGIN);
        let width = WIDTH.min(room.width() - FRAME_MARGIN.sum().x);
        let id = Id::unique("toasts");
        let before = ctx.memory(|m| m.area_rect(id)).map(|r| r.size());
        let place = Area::new(id).fixed_pos(room.right_bottom()).pivot(Align2::RIGHT_BOTTOM).order(Order::Foreground);
        let list: Vec<&Toast> = self.list.iter().filter(|t| !t.is_read).collect();
        let first = list.len() - n_fitting(ctx, &list, width, room.height());
        let shown = place.constrain_to(room).show(ctx, |ui| {
            for toast in &list[first..] {
                match toast_ui(ui, toast, width) {
                    Some(ToastClick::Close) => closed = Some(toast.id),
                    Some(ToastClick::Action) => command = toast.action.as_ref().map(|action| action.command.clone()),
                    None => {}
                }
            }
        });
        // The position is computed from the size in the last pass. After a change of size, the toasts would cover content
        // below the panel.
        if before.is_some_and(|before| before != shown.response.rect.size()) {
            ctx.request_discard("toasts have another size");
        }
        self.list.retain(|t| Some(t.id) != closed);
        command
    }
}

/// Clicked part of a toast.
enum ToastClick {
    Close,
    Action,
}

/// Returns the glyph and the colour of a message's level.
pub fn level_icon(t: &Tokens, level: Level) -> (&'static str, egui::Color32) {
    match level {
        Level::Info => (icons::CHECK, t.ok),
        Level::Warning => (icons::WARNING, t.warn),
        Level::Error => (icons::ERROR, t.error),
    }
}

/// Returns how many of the newest messages fit into a height, at least one if there are messages.
fn n_fitting(ctx: &egui::Context, list: &[&Toast], width: f32, height: f32) -> usize {
    let style = ctx.global_style();
    let font = egui::TextStyle::Body.resolve(&style);
    let height_of = |toast: &Toast| {
        let text = |f: &mut egui::epaint::FontsView<'_>| {
            f.layout(toast.text.clone(), font.clone(), egui::Color32::WHITE, width - BESIDE_TEXT).size().y
        };
        let button =
            toast.action.as_ref().map_or(0.0, |_| style.spacing.interact_size.y + style.spacing.item_spacing.y);
        let text = ctx.fonts_mut(text).max(style.spacing.interact_size.y) + button;
        text + FRAME_MARGIN.sum().y + style.spacing.item_spacing.y
    };
    let mut left = height;
    let fits = |toast: &&&Toast| {
        left -= height_of(toast);
        left >= 0.0
    };
    list.iter().rev().take_while(fits).count().max(list.len().min(1))
}

/// Draws a message. Returns the part that the user clicked.
fn toast_ui(ui: &mut Ui, toast: &Toast, width: f32) -> Option<ToastClick> {
    let t = Tokens::of(ui.ctx());
    let (glyph, color) = level_icon(&t, toast.level);
    let frame = Frame::popup(ui.style()).inner_margin(FRAME_MARGIN).stroke(Stroke::new(1.0, t.line));
    let shown = frame.show(ui, |ui| {
        ui.set_width(width);
        ui.horizontal_top(|ui| {
            ui.label(icons::rich(glyph).color(color));
            let text_width = ui.available_width() - 30.0;
            let acted = ui.allocate_ui_with_layout(vec2(text_width, 0.0), Layout::top_down(Align::LEFT), |ui| {
                ui.set_width(text_width);
                ui.label(&toast.text);
                let button = toast.action.as_ref().map(|action| ui.small_button(action.label));
                button.is_some_and(|button| button.clicked()).then_some(ToastClick::Action)
            });
            let closes = widgets::icon_button(ui, icons::CLOSE, "Close message").clicked();
            acted.inner.or(closes.then_some(ToastClick::Close))
        })
        .inner
    });
    shown.inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Context, RawInput, pos2};

    /// Draws one frame of the toasts. Returns their area; `None` before there were any.
    fn frame(ctx: &Context, toasts: &mut Toasts, views: Rect) -> Option<Rect> {
        let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(900.0, 600.0)));
        let input = RawInput { screen_rect, ..RawInput::default() };
        let mut output = ctx.run_ui(input, |ui| drop(toasts.ui(ui.ctx(), views, 5.0)));
        output.textures_delta.clear();
        ctx.memory(|m| m.area_rect(Id::unique("toasts")))
    }

    #[test]
    fn toasts_stay_within_the_panel_in_every_frame() {
        let ctx = Context::default();
        crate::app::kit::style::apply(&ctx);
        // The cases are narrow and low panels.
        for views in [
            Rect::from_min_max(pos2(0.0, 100.0), pos2(520.0, 500.0)),
            Rect::from_min_max(pos2(0.0, 100.0), pos2(260.0, 500.0)),
            Rect::from_min_max(pos2(230.0, 300.0), pos2(560.0, 500.0)),
        ] {
            let mut toasts = Toasts::default();
            frame(&ctx, &mut toasts, views);
            for n in 0..6 {
                toasts.add(
                    Level::Error,
                    format!("{n}: could not apply /a/long/path: ") + &"some more words ".repeat(n * 4),
                );
                let shown = frame(&ctx, &mut toasts, views).expect("an area");
                assert!(views.contains_rect(shown), "{n}: {shown:?} outside {views:?}");
            }
        }
    }

    #[test]
    fn messages_vanish_when_they_were_read_and_errors_stay_problems() {
        let ctx = Context::default();
        crate::app::kit::style::apply(&ctx);
        let mut toasts = Toasts::default();
        toasts.add(Level::Info, "saved");
        toasts.add(Level::Error, "could not save");
        assert!(toasts.expire(&ctx, 5.0) && toasts.unread == 2);
        toasts.read();
        assert!(!toasts.expire(&ctx, 5.0) && toasts.unread == 0);
        assert_eq!(toasts.errors().collect::<Vec<_>>(), ["could not save"]);
        toasts.add(Level::Info, "saved");
        assert!(toasts.expire(&ctx, 5.0), "a new message is shown");
    }
}
