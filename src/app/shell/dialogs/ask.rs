//! Window of requests: questions to the running simulation and their answers. All kinds use it.

use crate::{
    app::{
        document::{paths::PathSearch, session::Session},
        kit::{text, theme::Tokens, widgets},
        shell::panels::inspector,
    },
    params::{ParamSpec, Value, ValueType},
    sim::{Answer, Clock, Progress, Request, RequestSpec, request::Cell},
};
use egui::{Align, Button, Grid, Id, Layout, Rect, RichText, ScrollArea, Ui, Vec2, Window};
use std::{collections::BTreeMap, sync::Arc};

/// Answer with its question.
struct Answered {
    label: String,
    clock: Clock,
    answer: Result<Answer, String>,
    /// Sentence displayed instead of a table without rows.
    no_rows: String,
    /// Sum and mean of a column of the answer; empty without such a column.
    totals: String,
}

/// Request that is being answered.
struct Pending {
    label: String,
    /// Sentence displayed instead of a table without rows.
    no_rows: String,
    spec: &'static RequestSpec,
    progress: Arc<Progress>,
}

/// State of the window.
#[derive(Default)]
pub struct Requests {
    is_open: bool,
    /// Request whose first field gets the keyboard focus in the next frame; `None` to leave the focus unchanged.
    focus: Option<&'static str>,
    /// Last entered arguments, by request.
    values: BTreeMap<&'static str, Vec<Value>>,
    /// Request that is being answered; `None` if no answer is pending.
    pending: Option<Pending>,
    last: Option<Answered>,
    /// Search for a path.
    pub paths: PathSearch,
}

impl Requests {
    /// Opens the window, or brings it to the front, with the keyboard focus at a request.
    pub fn open(&mut self, at: Option<&'static RequestSpec>) {
        self.is_open = true;
        self.focus = at.map(|spec| spec.name);
    }

    /// Closes the window. Returns whether it was open.
    pub fn close(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// Stores the answer to the pending request; ignores the answer to any other request.
    pub fn answered(&mut self, progress: &Arc<Progress>, clock: Clock, answer: Result<Answer, String>) {
        if let Some(asked) = self.pending.take_if(|pending| Arc::ptr_eq(&pending.progress, progress)) {
            let totals = answer.as_ref().ok().and_then(|answer| asked.spec.totals(answer));
            let totals = totals.map_or_else(String::new, |totals| totals.text());
            self.last = Some(Answered { label: asked.label, clock, answer, no_rows: asked.no_rows, totals });
        }
    }

    /// Drops the pending request, because the simulation was replaced.
    pub fn forget(&mut self) {
        self.pending = None;
    }
}

/// Draws the window if it is open; `views` is the area of the views.
pub fn ui(ctx: &egui::Context, requests: &mut Requests, session: &mut Session, views: Rect) {
    if !requests.is_open {
        return;
    }
    let mut is_open = true;
    let area = Rect::from_center_size(views.intersect(ctx.content_rect()).center(), SIZE);
    // The palette has the keyboard focus until it is closed.
    let is_free = ctx.memory(|memory| memory.top_modal_layer().is_none());
    let focus = requests.focus.take_if(|_| is_free);
    let window = Window::new("Ask the simulation").id(Id::unique("requests")).open(&mut is_open).default_rect(area);
    let shown = window.show(ctx, |ui| {
        for spec in session.project.model.requests() {
            request_ui(ui, requests, session, spec, focus == Some(spec.name));
        }
        ui.separator();
        answer_ui(ui, requests);
    });
    if let Some(shown) = shown.filter(|_| focus.is_some()) {
        ctx.move_to_top(shown.response.layer_id);
    }
    if requests.focus.is_some() {
        ctx.request_repaint();
    }
    requests.is_open = is_open;
}

/// Initial size of the window, points.
const SIZE: Vec2 = Vec2::new(540.0, 360.0);

/// Size of the field of a number with its margins, points.
const NUMBER: Vec2 = Vec2::new(100.0, 22.0);
/// Minimum width of a text field, points.
const MIN_TEXT: f32 = 60.0;

/// Returns the width of a label, points.
fn width_of(ui: &Ui, label: &str) -> f32 {
    let font = egui::TextStyle::Body.resolve(ui.style());
    ui.painter().layout_no_wrap(label.to_owned(), font, egui::Color32::WHITE).size().x
}

/// Draws a button and the fields of the arguments. Texts are next to the button, numbers side by side below.
fn request_ui(
    ui: &mut Ui,
    requests: &mut Requests,
    session: &mut Session,
    spec: &'static RequestSpec,
    takes_focus: bool,
) {
    let values = requests.values.entry(spec.name).or_insert_with(spec.defaults);
    let label = spec.label().into_owned();
    let is_about_selection = !spec.over.is_empty() && !spec.has_ends();
    let elements = if is_about_selection { session.selection.elements.to_vec() } else { vec![] };
    let why_not = match () {
        () if requests.pending.is_some() => "Another question is being answered",
        () if session.live.playback.is_some() => "A finished run is not simulated; branch from one of its checkpoints",
        () if !session.live.is_loaded() => "There is no simulation",
        () if is_about_selection && elements.is_empty() => "Nothing is selected",
        () => "",
    };
    let is_text = |param: &ParamSpec| matches!(param.kind, ValueType::Text | ValueType::Path);
    let mut arguments: Vec<_> = spec.params.iter().zip(values.iter_mut()).collect();
    let (texts, numbers): (Vec<_>, Vec<_>) = arguments.drain(..).partition(|(param, _)| is_text(param));
    let clicked = ui.horizontal(|ui| {
        let button = ui.add_enabled(why_not.is_empty(), Button::new(&label)).accessible_name(&label);
        let button = button.on_hover_text(text::unwrap(spec.docs)).on_disabled_hover_text(why_not);
        let mut first = button.clone();
        // The fields share the width that the labels leave.
        let gap = ui.spacing().item_spacing.x;
        let labels: f32 = texts.iter().map(|(param, _)| width_of(ui, &param.label()) + 2.0 * gap).sum();
        let width = (ui.available_width() - labels) / texts.len().max(1) as f32;
        for (i, (param, value)) in texts.into_iter().enumerate() {
            ui.label(widgets::sub(ui, param.label()));
            ui.spacing_mut().text_edit_width = width.max(MIN_TEXT);
            let field = inspector::argument_ui(ui, spec.name, param, value);
            first = field.filter(|_| i == 0).unwrap_or(first);
        }
        if takes_focus {
            first.request_focus();
        }
        button.clicked()
    });
    ui.horizontal_wrapped(|ui| {
        for (param, value) in numbers {
            let size = Vec2::new(width_of(ui, &param.label()) + NUMBER.x, NUMBER.y);
            ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
                ui.label(widgets::sub(ui, param.label()));
                inspector::argument_ui(ui, spec.name, param, value);
            });
        }
    });
    ui.add_space(4.0);
    if clicked.inner {
        let request = Request { name: spec.name.to_owned(), elements, values: values.clone() };
        let no_rows = spec.no_rows(values);
        requests.pending = session.live.ask(request).map(|progress| Pending { label, no_rows, spec, progress });
    }
}

fn answer_ui(ui: &mut Ui, requests: &Requests) {
    if let Some(Pending { label, progress, .. }) = &requests.pending {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(label);
            if ui.button("Cancel").clicked() {
                progress.cancel();
            }
        });
    }
    let Some(Answered { label, clock, answer, no_rows, totals }) = &requests.last else { return };
    let t = Tokens::of(ui.ctx());
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("{label}, step {}", text::count(clock.step))).color(t.text_strong));
        if let Ok(answer) = answer
            && ui.button("Copy").on_hover_text("Copies the answer; columns are separated by tabs").clicked()
        {
            ui.copy_text(answer.text());
        }
    });
    if !totals.is_empty() {
        ui.add(egui::Label::new(totals).selectable(true));
    }
    ScrollArea::both().auto_shrink(false).show(ui, |ui| match answer {
        Err(why) => drop(ui.colored_label(t.error, why)),
        Ok(Answer::Text(text)) => drop(ui.add(egui::Label::new(text).wrap().selectable(true))),
        Ok(Answer::Table(_, rows)) if rows.is_empty() => drop(ui.label(no_rows)),
        Ok(Answer::Table(columns, rows)) => {
            Grid::new("answer").striped(true).show(ui, |ui| {
                columns.iter().for_each(|name| drop(ui.label(widgets::sub(ui, text::spaced(name)))));
                ui.end_row();
                for row in rows.iter().take(MOST_ROWS) {
                    row.iter().for_each(|cell| cell_ui(ui, cell));
                    ui.end_row();
                }
            });
            if rows.len() > MOST_ROWS {
                ui.label(widgets::sub(
                    ui,
                    format!("{}; Copy takes all", text::plural(rows.len() - MOST_ROWS, "more row", "more rows")),
                ));
            }
        }
    });
}

/// Draws a cell of a table. Numbers are right-aligned.
fn cell_ui(ui: &mut Ui, cell: &Cell) {
    match cell {
        Cell::Number(_) => {
            let layout = Layout::right_to_left(Align::Center);
            ui.with_layout(layout, |ui| ui.monospace(cell.text()));
        }
        Cell::Text(_) => drop(ui.monospace(cell.text())),
    }
}

/// Maximum number of rows of a table that are drawn.
const MOST_ROWS: usize = 500;
