//! Table of the project's recorded runs, one row per run.

use super::{View, ViewCtx, ViewDeclaration, ViewRequest, placeholder};
use crate::{
    app::{
        document::{
            command::UiCommand,
            layout::Page,
            library::{DurationUnit, Library, MAX_COMPARED, Run, as_tree},
        },
        kit::{self, colors, focus, icons, theme::Tokens, widgets},
    },
    export::Format,
    project::Status,
};
use egui::{Align, Color32, Label, Layout, RichText, Sense, TextEdit, Ui, UiBuilder};
use egui_extras::{Column, TableBuilder};
use std::cmp::Ordering;

/// Height of a row, points.
const ROW: f32 = 22.0;

/// The view of recorded runs.
pub struct Runs {
    filter: String,
    sort: usize,
    is_descending: bool,
    /// Note that is being edited: index of the run, and text; `None` if no note is edited.
    editing: Option<(usize, String)>,
}

impl Default for Runs {
    fn default() -> Self {
        Self { filter: String::new(), sort: 3, is_descending: true, editing: None }
    }
}

/// Column of the table: header, width in points, alignment, text of a cell, and sort order.
struct Field {
    head: &'static str,
    width: f32,
    is_number: bool,
    text: fn(&Run, &DurationUnit) -> String,
    order: fn(&Run, &Run) -> Ordering,
}

/// Index of the column of simulated times in [`FIELDS`].
const SIMULATED: usize = 4;

/// All columns of the table except the editable note.
const FIELDS: [Field; 11] = [
    Field { head: "Name", width: 150.0, is_number: false, text: |r, _| indented(r), order: |a, b| a.name.cmp(&b.name) },
    Field {
        head: "Kind",
        width: 84.0,
        is_number: false,
        text: |r, _| r.kind.clone(),
        order: |a, b| a.kind.cmp(&b.kind),
    },
    Field {
        head: "Status",
        width: 82.0,
        is_number: false,
        text: |r, _| r.status_text().to_owned(),
        order: |a, b| a.status_text().cmp(b.status_text()),
    },
    Field {
        head: "Started (UTC)",
        width: 138.0,
        is_number: false,
        text: |r, _| r.started.replace('T', " ").trim_end_matches('Z').to_owned(),
        order: |a, b| a.started.cmp(&b.started),
    },
    Field {
        head: "Simulated",
        width: 124.0,
        is_number: true,
        text: |r, unit| unit.text(r),
        order: |a, b| a.secs().total_cmp(&b.secs()),
    },
    Field {
        head: "Computing",
        width: 66.0,
        is_number: true,
        text: |r, _| match r.computed_secs {
            secs if secs > 0.0 => crate::app::kit::text::wall_time(std::time::Duration::from_secs_f64(secs)),
            _ => String::new(),
        },
        order: |a, b| a.computed_secs.total_cmp(&b.computed_secs),
    },
    Field {
        head: "Wall time",
        width: 58.0,
        is_number: true,
        text: |r, _| crate::app::kit::text::wall_time(std::time::Duration::from_secs_f64(r.wall_secs.max(0.0))),
        order: |a, b| a.wall_secs.total_cmp(&b.wall_secs),
    },
    Field {
        head: "Seed",
        width: 48.0,
        is_number: true,
        text: |r, _| r.seed.to_string(),
        order: |a, b| a.seed.cmp(&b.seed),
    },
    Field {
        head: "Hash",
        width: 76.0,
        is_number: true,
        text: |r, _| r.digest.clone(),
        order: |a, b| a.digest.cmp(&b.digest),
    },
    Field {
        head: "Data hash",
        width: 76.0,
        is_number: true,
        text: |r, _| r.data_hash.clone(),
        order: |a, b| a.data_hash.cmp(&b.data_hash),
    },
    Field {
        head: "Changes",
        width: 220.0,
        is_number: false,
        text: |r, _| r.changes.join(", "),
        order: |a, b| a.changes.cmp(&b.changes),
    },
];

/// Returns the name of a run, indented by four spaces per ancestor of the branch.
fn indented(run: &Run) -> String {
    format!("{}{}", "    ".repeat(run.depth), run.name)
}

impl Runs {
    /// Returns the indices of the runs that match the filter, sorted, with branches below the runs they continue.
    fn rows(&self, library: &Library) -> Vec<usize> {
        let needle = self.filter.trim().to_lowercase();
        let fits = |i: &usize| needle.split_whitespace().all(|word| library.runs[*i].search_text().contains(word));
        let mut rows: Vec<usize> = (0..library.runs.len()).filter(fits).collect();
        let order = FIELDS[self.sort.min(FIELDS.len() - 1)].order;
        rows.sort_by(|a, b| order(&library.runs[*a], &library.runs[*b]));
        if self.is_descending {
            rows.reverse();
        }
        as_tree(&library.runs, rows)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let field = TextEdit::singleline(&mut self.filter).hint_text("Filter runs").desired_width(200.0);
        let field = field.id(focus::filter_id("runs"));
        ui.add(field).accessible_name("Filter runs");
        if ui.button("Refresh").on_hover_text("Reads the runs folder again").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::RefreshRuns));
        }
        let selected = ctx.runs.selected.clone();
        let open = ui.add_enabled(selected.is_some(), egui::Button::new("Open folder"));
        let again =
            ui.add_enabled(selected.is_some() && ctx.runs.replaying.is_none(), egui::Button::new("Replay and verify"));
        let hint = "Runs the folder again with every logged edit and compares every event";
        if again.on_hover_text(hint).on_disabled_hover_text("No run selected, or a replay is running").clicked() {
            ctx.requests.extend(selected.clone().map(|folder| ViewRequest::Command(UiCommand::Replay(folder))));
        }
        if let Some(again) = &ctx.runs.replaying {
            ui.add(egui::ProgressBar::new(again.progress.now().1).desired_width(80.0).desired_height(6.0));
            if ui.button("Cancel").on_hover_text(format!("Cancels the replay of {}", again.name)).clicked() {
                ctx.requests.push(ViewRequest::Command(UiCommand::CancelReplay));
            }
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        }
        sweep_ui(ui, ctx);
        ui.add_enabled_ui(selected.is_some(), |ui| {
            let at = ctx.runs.runs.iter().position(|run| Some(&run.folder) == selected.as_ref());
            let menu = ui.menu_button("Export", |ui| at.map(|at| export_ui(ui, ctx, at)));
            menu.response.on_hover_text("Exports the selected run").on_disabled_hover_text("No run selected");
        });
        if open.on_disabled_hover_text("No run selected").clicked() {
            ctx.requests.extend(selected.map(|folder| ViewRequest::Command(UiCommand::RevealRun(folder))));
        }
    }

    fn table_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, rows: &[usize]) {
        let unit = DurationUnit::of(&ctx.runs.runs);
        let mut table =
            TableBuilder::new(ui).sense(Sense::click()).striped(false).resizable(true).min_scrolled_height(0.0);
        for field in &FIELDS {
            table = table.column(Column::initial(field.width).at_least(36.0).clip(true));
        }
        let table = table.column(Column::remainder().at_least(80.0).clip(true));
        let table = table.header(24.0, |mut header| {
            for (i, field) in FIELDS.iter().enumerate() {
                let head = if i == SIMULATED { unit.head(field.head) } else { field.head.to_owned() };
                header.col(|ui| self.head_ui(ui, ctx.tokens, i, field, &head));
            }
            header.col(|ui| {
                let text = widgets::sub(ui, "Note").small();
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| ui.label(text));
            });
        });
        let mut clicked = None;
        table.body(|body| {
            body.rows(ROW, rows.len(), |mut row| {
                let at = rows[row.index()];
                let run = ctx.runs.runs[at].clone();
                let mark = ctx.runs.compared.color(&run.folder).map(|color| colors::categorical(color, ctx.tokens));
                row.set_selected(mark.is_some() || ctx.runs.selected.as_deref() == Some(&run.folder));
                for (i, field) in FIELDS.iter().enumerate() {
                    row.col(|ui| cell_ui(ui, ctx.tokens, field, &run, &unit, mark.filter(|_| i == 0)));
                }
                row.col(|ui| self.note_ui(ui, ctx, at, &run));
                let response = row.response();
                if response.clicked() {
                    clicked = Some(row.index());
                }
                if response.double_clicked() {
                    ctx.requests.push(ViewRequest::Command(UiCommand::OpenRun(at)));
                }
                response.context_menu(|ui| menu_ui(ui, ctx, at, &run));
            });
        });
        let keys = ui.input(|i| i.modifiers);
        if clicked.is_some_and(|row| !ctx.runs.click(row, rows, keys)) {
            ctx.requests.push(ViewRequest::Toast(format!("At most {MAX_COMPARED} runs are compared")));
        }
    }

    fn head_ui(&mut self, ui: &mut Ui, t: &Tokens, i: usize, field: &Field, head: &str) {
        let arrow = match (self.sort == i, self.is_descending) {
            (true, true) => " ↓",
            (true, false) => " ↑",
            _ => "",
        };
        let ink = if self.sort == i { t.accent } else { t.text_sub };
        let text = RichText::new(format!("{head}{arrow}")).small().color(ink);
        let button = egui::Button::new(text).frame(false).truncate();
        // The header of a column is aligned as its cells.
        let response = ui.with_layout(layout_of(field), |ui| ui.add(button)).inner;
        if response.accessible_name(format!("Sort by {}", field.head)).clicked() {
            self.is_descending = self.sort == i && !self.is_descending;
            self.sort = i;
        }
    }

    /// Draws the editable note. It is saved when the field loses the focus.
    fn note_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, at: usize, run: &Run) {
        let is_here = self.editing.as_ref().is_some_and(|(row, _)| *row == at);
        let mut text = if is_here { self.editing.take().map(|(_, t)| t).unwrap_or_default() } else { run.note.clone() };
        let field = TextEdit::singleline(&mut text).frame(egui::Frame::NONE).desired_width(f32::INFINITY);
        let response = ui.add(field.hint_text("…")).accessible_name(format!("Note of {}", run.name));
        if response.lost_focus() {
            if text != run.note {
                ctx.runs.set_note(at, text);
            }
        } else if response.has_focus() {
            self.editing = Some((at, text));
        }
    }
}

/// Draws the progress of the sweep, with a cancel button.
fn sweep_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    let Some(sweeping) = &ctx.runs.sweeping else { return };
    let (what, fraction) = sweeping.progress.now();
    let text = {
        let (now, left) = ((sweeping.n_ended + 1).min(sweeping.n), sweeping.time_left());
        format!("Sweep {now} of {}: {what}{left}", sweeping.n)
    };
    ui.label(widgets::sub(ui, text).small());
    ui.add(egui::ProgressBar::new(fraction).desired_width(80.0).desired_height(6.0));
    if ui.button("Cancel").on_hover_text("Ends the run in progress and leaves out the others").clicked() {
        sweeping.progress.cancel();
    }
    ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
}

/// Returns the layout of a cell: numbers are right-aligned, texts left-aligned.
fn layout_of(field: &Field) -> Layout {
    match field.is_number {
        true => Layout::right_to_left(Align::Center),
        false => Layout::left_to_right(Align::Center),
    }
}

/// Draws a cell, with a swatch of the colour `mark` if there is one.
fn cell_ui(ui: &mut Ui, t: &Tokens, field: &Field, run: &Run, unit: &DurationUnit, mark: Option<Color32>) {
    let color = match (&run.problem, &run.status) {
        _ if field.head != "Status" => t.text,
        (Some(_), _) | (None, Status::Failed(_)) => t.error,
        (None, Status::Complete) => t.ok,
        (None, Status::Interrupted { .. } | Status::Running | Status::Unclosed) => t.warn,
    };
    let text = RichText::new((field.text)(run, unit)).color(color);
    let text = if field.is_number { text.monospace() } else { text };
    ui.with_layout(layout_of(field), |ui| {
        mark.map(|color| kit::swatch_ui(ui, color, true));
        ui.add(Label::new(text).truncate().selectable(false));
    });
}

/// Draws the menu of export formats of a run.
fn export_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, at: usize) {
    let run = &ctx.runs.runs[at];
    for format in Format::ALL {
        let why_not = run.not_exported.iter().find(|(known, _)| *known == format).map_or("", |(_, why)| why);
        let button = ui.add_enabled(why_not.is_empty(), egui::Button::new(format.label()));
        if button.on_hover_text(format.docs()).on_disabled_hover_text(why_not).clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::ExportRun(run.folder.clone(), format)));
            ui.close();
        }
    }
}

fn menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, at: usize, run: &Run) {
    ui.set_min_width(150.0);
    if ui.button("Open").clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::OpenRun(at)));
        ui.close();
    }
    if ui.button("Open folder").clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::RevealRun(run.folder.clone())));
        ui.close();
    }
    let is_free = ctx.runs.replaying.is_none();
    if ui.add_enabled(is_free, egui::Button::new("Replay and verify")).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::Replay(run.folder.clone())));
        ui.close();
    }
    let is_resumable = run.problem.is_none() && run.status != Status::Running && !run.checkpoints.is_empty();
    let hint = "Continues the run and its recording from its last checkpoint";
    let why_not = "It has no checkpoint, or is being written";
    let resume = ui.add_enabled(is_resumable, egui::Button::new("Resume"));
    if resume.on_hover_text(hint).on_disabled_hover_text(why_not).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::Resume(run.folder.clone())));
        ui.close();
    }
    if !run.checkpoints.is_empty() {
        ui.menu_button("Branch from here", |ui| {
            for step in run.checkpoints.iter().rev() {
                let label = format!("Step {}", crate::app::kit::text::count(*step));
                if ui.button(label).on_hover_text("Continues from this state; parameters can be changed").clicked() {
                    ctx.requests.push(ViewRequest::Command(UiCommand::Branch(run.folder.clone(), *step)));
                    ui.close();
                }
            }
        });
    }
    ui.menu_button("Export", |ui| export_ui(ui, ctx, at));
    if ui.button("Copy path").clicked() {
        ui.copy_text(run.folder.display().to_string());
        ui.close();
    }
}

impl Runs {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "runs",
        title: "Runs",
        icon: icons::FLASK,
        help: "# Runs\n\nOne row per run folder beside the project. *Changes* lists the parameters that differ from \
         the open project, with the values that were in force in the run: edits while it ran are named with their time.\n\n- click a header: sort · click a row: select · Ctrl+click or Shift+click: compare · double-click: open\n- *Sweep…* in the menu of a parameter (right-click its name in the inspector) records one run per value\n- *Replay and verify* runs the folder again with every logged edit and compares every event\n- right-click: actions; *Branch from here* continues from a checkpoint, and the new run is listed below its parent\n\
         - edit the last column to store a note with the run",
        gestures: &[
            ("click", "select"),
            ("Ctrl+click", "compare"),
            ("double-click", "open"),
            ("right-click", "actions"),
            ("click a header", "sort"),
        ],
        pages: &[Page::Runs],
        fits: |_| true,
        can_repeat: false,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Runs {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let rows = self.rows(ctx.runs);
        let caption = format!(
            "{} of {} in {}",
            kit::thousands(rows.len() as u64),
            kit::counted(ctx.runs.runs.len() as u64, "runs"),
            ctx.runs.folder.display()
        );
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        if ctx.runs.is_reading {
            placeholder::busy_ui(ui, canvas, ctx.tokens, "", None);
            return;
        }
        if ctx.runs.runs.is_empty() {
            let how = "A recording stores the selected probes and every edit, so that the run can be replayed";
            let title = "No runs yet";
            if kit::empty_ui(ui, canvas, ctx, title, how, Some("Record")) {
                ctx.requests.push(ViewRequest::Command(UiCommand::Record));
            }
            return;
        }
        ui.painter().rect_filled(canvas, 0, ctx.tokens.canvas);
        ui.scope_builder(UiBuilder::new().max_rect(canvas.shrink2(egui::vec2(8.0, 2.0))), |ui| {
            kit::solid_scroll_bars(ui);
            egui::ScrollArea::horizontal().show(ui, |ui| self.table_ui(ui, ctx, &rows));
        });
    }
}
