//! Map of the run, from its first step to the newest one, and its pointer input.

use super::{TimePanel, interact_area, paint};
use crate::app::{
    document::{
        command::UiCommand,
        open_document::Document,
        time::{self, Time},
    },
    shell::{
        commands::{Around, CommandState},
        queue::Queue,
    },
};
use egui::{PointerButton, Rect, Response, Ui, pos2};

/// Height of the ruler, points.
const RULER: f32 = 24.0;
/// Height of a row of interventions, points.
const SPANS: f32 = 12.0;

/// Maximum number of rows of interventions.
const MAX_SPAN_ROWS: usize = 3;

/// Mapping between steps and the screen.
#[derive(Clone, Copy)]
pub struct Map {
    /// Area of the whole map.
    pub all: Rect,
    pub from: f64,
    pub to: f64,
    /// Number of rows of interventions.
    pub span_rows: usize,
}

impl Map {
    pub fn ruler(&self) -> Rect {
        self.all.with_max_y(self.all.top() + RULER.min(self.all.height()))
    }

    /// Returns the area of the event densities.
    pub fn bands(&self) -> Rect {
        let bottom = (self.all.bottom() - self.span_rows as f32 * SPANS - 4.0).max(self.ruler().bottom());
        Rect::from_min_max(self.ruler().left_bottom(), pos2(self.all.right(), bottom))
    }

    pub fn spans(&self) -> Rect {
        Rect::from_min_max(self.bands().left_bottom(), pos2(self.all.right(), self.all.bottom() - 3.0))
    }

    /// Returns the area of a row of interventions.
    pub fn span_row(&self, row: usize) -> Rect {
        let all = self.spans();
        let height = all.height() / self.span_rows.max(1) as f32;
        let top = all.top() + height * row.min(self.span_rows.max(1) - 1) as f32;
        Rect::from_min_max(pos2(all.left(), top), pos2(all.right(), top + height))
    }

    /// Returns the horizontal screen coordinate of a step, points.
    pub fn x(&self, step: f64) -> f32 {
        self.all.left() + ((step - self.from) / (self.to - self.from)) as f32 * self.all.width()
    }

    /// Returns the step at a horizontal screen coordinate in points, clamped to the map.
    pub fn step(&self, x: f32) -> f64 {
        let share = f64::from((x - self.all.left()) / self.all.width()).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }
}

pub(super) fn ui(
    ui: &mut Ui,
    document: &mut Document,
    panel: &mut TimePanel,
    all: Rect,
    (around, queue): (Around<'_>, &mut Queue),
) {
    let past = &document.time.past;
    let (from, newest) = (past.first() as f64, past.newest() as f64);
    let oldest = past.oldest() as f64;
    let to = newest.max(from + document.time.axis.line.span.min(10_000.0)).max(from + 20.0);
    let span_rows = time::rows(&document.time.spans, MAX_SPAN_ROWS).into_iter().max().map_or(1, |row| row + 1);
    let map = Map { all, from, to, span_rows };
    let ruler = interact_area(ui, map.ruler(), "Time cursor");
    cursor(&ruler, &mut document.time, &map, (oldest, newest));
    if !panel.is_collapsed {
        let body = Rect::from_min_max(map.bands().min, map.spans().max);
        let body = interact_area(ui, body, "Range of time");
        range(&body, &mut document.time, &map, (oldest, newest));
        menu(&body, &around.with(document), queue);
        paint::labels_ui(&body, document, &map);
    }
    paint::paint(ui, document, panel, &map);
    if let Some(at) = ruler.hover_pos() {
        paint::chip(ui, document, &map, at.x);
    }
}

/// Moves the time cursor by a drag or a click on the ruler.
fn cursor(ruler: &Response, time: &mut Time, map: &Map, (oldest, newest): (f64, f64)) {
    let is_held = ruler.dragged_by(PointerButton::Primary) || ruler.clicked();
    if let Some(at) = ruler.interact_pointer_pos().filter(|_| is_held) {
        time.player.is_playing = false;
        time.axis.scrub(map.step(at.x), oldest, newest);
    }
    ruler.ctx.set_cursor_icon(if ruler.hovered() { egui::CursorIcon::ResizeHorizontal } else { return });
}

/// Selects a range by a drag, moves the cursor by a click, and clears the range by a double click.
fn range(body: &Response, time: &mut Time, map: &Map, (oldest, newest): (f64, f64)) {
    let origin = body.ctx.input(|i| i.pointer.press_origin());
    if let (true, Some(a), Some(b)) = (body.dragged_by(PointerButton::Primary), origin, body.interact_pointer_pos())
        && (a.x - b.x).abs() > 2.0
    {
        let (a, b) = (map.step(a.x), map.step(b.x));
        time.axis.range = Some((a.min(b), a.max(b).min(newest.max(1.0))));
    } else if body.double_clicked() {
        time.axis.range = None;
    } else if let Some(at) = body.interact_pointer_pos().filter(|_| body.clicked()) {
        time.axis.scrub(map.step(at.x), oldest, newest);
    }
}

fn menu(body: &Response, state: &CommandState<'_>, queue: &mut Queue) {
    body.context_menu(|ui| {
        for command in
            [UiCommand::ZoomToRange, UiCommand::ClearRange, UiCommand::Loop, UiCommand::PlayPast, UiCommand::GoLive]
        {
            let why_not = command.why_not(state);
            let response = ui.add_enabled(why_not.is_none(), egui::Button::new(command.text(state)));
            if response.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                queue.push(command);
                ui.close();
            }
        }
    });
}
