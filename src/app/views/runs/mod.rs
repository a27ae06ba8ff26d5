//! Table of the project's recorded runs, one row per run. Rows and columns come from [`run_table`](crate::project::run_table).

mod cells;
mod choices;
mod columns_menu;
mod menu;
mod series;
mod table;
mod tags;

use super::{View, ViewCtx, ViewDeclaration, ViewRequest, placeholder};
use crate::{
    app::{
        document::{
            command::UiCommand,
            layout::Page,
            library::{DurationUnit, MAX_COMPARED, Run},
        },
        kit::{self, colors, focus, icons, text, widgets},
    },
    engine::SimSchema,
    project::run_table::{Column as RunColumn, NAME, NOTE, Quantity, TAGS},
};
use choices::{Choices, Widths};
use egui::{Color32, Rect, RichText, Sense, TextEdit, Ui, UiBuilder};
use egui_extras::{Column, TableBody, TableBuilder};
use series::SeriesReader;
use table::RunTable;
use tags::TagField;

/// Height of a row, points.
const ROW: f32 = 22.0;
/// Height of the line with the error of the filter, points.
const ERROR: f32 = 20.0;

/// Syntax of the filter, as a tooltip.
const FILTER: &str = "Words search names, states, hashes, tags and notes. tag:best  kind:spiking  status:complete  seed=3  \
    held_out<1.5  !tag:draft\nAny column can be compared: a header’s tooltip gives its name";

/// The view of recorded runs.
#[derive(Default)]
pub struct Runs {
    filter: String,
    choices: Choices,
    widths: Widths,
    table: RunTable,
    series: SeriesReader,
    /// Text of the search field in the menu of columns.
    search: String,
    tag: TagField,
    /// Note that is being edited: index of the run, and text; `None` if no note is edited.
    editing: Option<(usize, String)>,
}

impl Runs {
    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let field = TextEdit::singleline(&mut self.filter).hint_text("Filter runs").desired_width(200.0);
        let field = field.id(focus::filter_id("runs"));
        ui.add(field).on_hover_text(FILTER).accessible_name("Filter runs");
        columns_menu::button_ui(ui, &mut self.search, &mut self.choices, &self.table);
        menu::export_button_ui(ui, ctx, &self.table);
        if ui.button("Refresh").on_hover_text("Reads the runs folder again").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::RefreshRuns));
        }
        trials_ui(ui, ctx);
        selected_ui(ui, ctx);
        replay_ui(ui, ctx);
        export_progress_ui(ui, ctx);
    }

    fn table_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let unit = DurationUnit::of(&ctx.runs.runs);
        let shown: Vec<RunColumn> = self.table.shown_columns().cloned().collect();
        let keys: Vec<&str> = shown.iter().map(|column| &*column.key).collect();
        let longest = self.table.rows.iter().map(|row| row.cell(NAME).text().chars().count()).max().unwrap_or(0);
        let builder = TableBuilder::new(ui).id_salt(&keys).sense(Sense::click()).striped(false).resizable(true);
        let mut builder = builder.min_scrolled_height(0.0);
        for (i, column) in shown.iter().enumerate() {
            let is_rest = i + 1 == shown.len() && column.quantity == Quantity::Text;
            let width = cells::width_of(column, &self.widths, longest);
            let column =
                if is_rest { Column::remainder().at_least(80.0) } else { Column::initial(width).at_least(36.0) };
            builder = builder.column(column.clip(true));
        }
        let mut hidden = None;
        let table = builder.header(24.0, |mut header| {
            for column in &shown {
                let is_simulated = column.quantity == Quantity::Simulated;
                let head = if is_simulated { unit.head(&column.title) } else { column.head() };
                header.col(|ui| {
                    if cells::head_ui(ui, ctx.tokens, &mut self.choices, column, &head) {
                        hidden = Some(column.key.clone());
                    }
                });
            }
        });
        table.body(|body| self.rows_ui(body, ctx, &shown, &unit));
        if let Some(key) = hidden {
            self.choices.show(&self.table.columns, &key, false);
        }
    }

    fn rows_ui(&mut self, body: TableBody<'_>, ctx: &mut ViewCtx<'_>, shown: &[RunColumn], unit: &DurationUnit) {
        for (column, width) in shown.iter().zip(body.widths()) {
            self.widths.insert(column.key.clone(), *width);
        }
        let (mut clicked, order) = (None, self.table.order.clone());
        body.rows(ROW, order.len(), |mut row| {
            let at = order[row.index()];
            let run = ctx.runs.runs[at].clone();
            let mark = ctx.runs.compared.color(&run.folder).map(|color| colors::categorical(color, ctx.tokens));
            row.set_selected(mark.is_some() || ctx.runs.selected.as_deref() == Some(&run.folder));
            for column in shown {
                row.col(|ui| self.cell_ui(ui, ctx, column, (at, &run), unit, mark));
            }
            let response = row.response();
            if response.clicked() {
                clicked = Some((row.index(), response.ctx.input(|i| i.modifiers)));
            }
            if response.double_clicked() {
                ctx.requests.push(ViewRequest::Command(UiCommand::OpenRun(at)));
            }
            response.context_menu(|ui| menu::ui(ui, ctx, &mut self.tag, at, &run));
        });
        if clicked.is_some_and(|(row, keys)| !ctx.runs.click(row, &order, keys)) {
            ctx.requests.push(ViewRequest::Toast(format!("At most {MAX_COMPARED} runs are compared")));
        }
    }

    fn cell_ui(
        &mut self,
        ui: &mut Ui,
        ctx: &mut ViewCtx<'_>,
        column: &RunColumn,
        (at, run): (usize, &Run),
        unit: &DurationUnit,
        mark: Option<Color32>,
    ) {
        let row = &self.table.rows[at];
        match &*column.key {
            NOTE => self.note_ui(ui, ctx, at, run),
            TAGS => tags::cell_ui(ui, ctx, &mut self.tag, run),
            NAME => {
                let depth = if self.table.is_tree { run.depth } else { 0 };
                cells::ui(ui, ctx.tokens, column, cells::indented(row, depth), run, mark);
            }
            key => {
                let text = cells::text_of(column, row.cell(key), run, unit);
                cells::ui(ui, ctx.tokens, column, text, run, None);
            }
        }
    }

    /// Draws the editable note. It is saved when the field loses the focus.
    fn note_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, at: usize, run: &Run) {
        let is_here = self.editing.as_ref().is_some_and(|(row, _)| *row == at);
        let saved = || run.labels.note.clone();
        let mut text = if is_here { self.editing.take().map(|(_, t)| t).unwrap_or_default() } else { saved() };
        let field = TextEdit::singleline(&mut text).frame(egui::Frame::NONE).desired_width(f32::INFINITY);
        let response = ui.add(field.hint_text("…")).accessible_name(format!("Note of {}", run.name));
        if response.lost_focus() {
            if text != run.labels.note {
                ctx.runs.set_note(at, text);
            }
        } else if response.has_focus() {
            self.editing = Some((at, text));
        }
    }

    fn caption(&self, ctx: &ViewCtx<'_>) -> String {
        let n = ctx.runs.runs.len();
        let (shown, all) = (text::count(self.table.order.len() as u64), text::plural(n, "run", "runs"));
        let mut caption = format!("{shown} of {all} in {}", ctx.runs.folder.display());
        if self.series.n_missing > 0 {
            caption += &format!("  |  reading {}", text::plural(self.series.n_missing, "series", "series"));
        }
        caption
    }
}

/// Draws the button that returns from the trials of an experiment to the runs of the project.
fn trials_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(experiment) = &ctx.runs.trials_of else { return };
    let name = experiment.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let hint = format!("These are the recorded trials of {name}; lists the runs of the project again");
    if ui.button("All runs").on_hover_text(hint).clicked() {
        ctx.runs.trials_of = None;
        ctx.requests.push(ViewRequest::Command(UiCommand::RefreshRuns));
    }
}

/// Draws the actions on the selected run.
fn selected_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let selected = ctx.runs.selected.clone();
    let open = ui.add_enabled(selected.is_some(), egui::Button::new("Open folder"));
    let is_free = ctx.runs.replaying.is_none();
    let again = ui.add_enabled(selected.is_some() && is_free, egui::Button::new("Replay and verify"));
    let hint = "Runs the folder again with every logged edit and compares every event";
    if again.on_hover_text(hint).on_disabled_hover_text("No run selected, or a replay is running").clicked() {
        ctx.requests.extend(selected.clone().map(|folder| ViewRequest::Command(UiCommand::Replay(folder))));
    }
    let hint = "Shows the folder of the selected run in the file manager";
    if open.on_hover_text(hint).on_disabled_hover_text("No run selected").clicked() {
        ctx.requests.extend(selected.map(|folder| ViewRequest::Command(UiCommand::RevealRun(folder))));
    }
}

/// Draws the progress of the replay, with a cancel button.
fn replay_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(again) = &ctx.runs.replaying else { return };
    ui.add(egui::ProgressBar::new(again.progress.now().1).desired_width(80.0).desired_height(6.0));
    if ui.button("Cancel").on_hover_text(format!("Cancels the replay of {}", again.name)).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::CancelReplay));
    }
    ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
}

/// Draws the progress of the export, with a cancel button.
fn export_progress_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(export) = &ctx.runs.exporting else { return };
    ui.label(widgets::sub(ui, format!("Export of {}", export.name)).small());
    ui.add(egui::ProgressBar::new(export.progress.now().1).desired_width(80.0).desired_height(6.0));
    let hint = format!("Cancels the export of {} as {}", export.name, export.format.label());
    if ui.button("Cancel").on_hover_text(&hint).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::CancelExport));
    }
    ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
}

/// Draws the reason why the filter cannot be read in a line on top of the canvas. Returns the rest of the canvas.
fn error_ui(ui: &mut Ui, canvas: Rect, why: &str) -> Rect {
    let (line, rest) = canvas.split_top_bottom_at_y(canvas.top() + ERROR);
    let ink = crate::app::kit::theme::Tokens::of(ui.ctx()).error;
    ui.scope_builder(UiBuilder::new().max_rect(line.shrink2(egui::vec2(8.0, 2.0))), |ui| {
        let text = RichText::new(format!("Filter not applied: {why}")).small().color(ink);
        ui.add(egui::Label::new(text).truncate());
    });
    rest
}

impl Runs {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "runs",
        title: "Runs",
        icon: icons::FLASK,
        help: "# Runs\n\nOne row per run folder beside the project. *Changes* lists the parameters that differ from \
         the open project, with the values that were in force in the run: edits while it ran are named with their time.\n\n\
         - click a header: sort · click a row: select · Ctrl+click or Shift+click: compare · double-click: open\n\
         - *Vary…* in the menu of a parameter (right-click its name in the inspector) runs several values as an experiment; \
         a click on a condition there lists its recorded trials here\n\
         - *Replay and verify* runs the folder again with every logged edit and compares every event\n\
         - right-click: actions; *Branch from here* continues from a checkpoint, and the new run is listed below its parent\n\
         - *Columns* shows or hides columns: parameters that differ between the shown runs, best and last held-out loss, and \
         statistics of any recorded series; drag the edge of a header to resize it\n\
         - *Export* writes a run in a format of other programs; *About the formats…* in its menu lists what each one holds and which \
         programs read it\n\
         - *Tags* and the note are stored with the run; they set all marked runs if this one is marked\n\n\
         **Filter**\n\n- words search names, states, hashes, tags and notes; quotation marks keep spaces\n\
         - `tag:best` · `kind:spiking` · `status:complete` · `seed=3` · `held_out<1.5` · `tau_m>=15ms` · \
         `best(loss)<2`; `!` \
         negates\n- a header’s tooltip gives the name of its column",
        gestures: &[
            ("click", "select"),
            ("Ctrl+click", "compare"),
            ("double-click", "open"),
            ("right-click", "actions"),
            ("click a header", "sort"),
            ("right-click a header", "hide"),
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

    fn choice(&self) -> Option<String> {
        self.choices.to_text()
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        self.choices = Choices::from_text(text);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.table.update(ctx.runs, &self.filter, &self.choices, &self.series);
        self.series.update(ui.ctx(), ctx.runs, &self.table.needed);
        let caption = self.caption(ctx);
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
        let canvas = match &self.table.problem {
            Some(why) => error_ui(ui, canvas, why),
            None => canvas,
        };
        ui.scope_builder(UiBuilder::new().max_rect(canvas.shrink2(egui::vec2(8.0, 2.0))), |ui| {
            kit::solid_scroll_bars(ui);
            egui::ScrollArea::horizontal().show(ui, |ui| self.table_ui(ui, ctx));
        });
    }
}
