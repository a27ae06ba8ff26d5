//! Inspector at the right: every parameter of every kind, drawn from its declaration, and facts about the selection. Widgets edit
//! the document in place. Undo, saving and updates of the engine are derived from comparisons of documents.

mod actions;
mod choice;
mod distribution;
mod header;
mod label;
mod linked;
mod list;
pub mod number;
mod parameter;
mod presets;
mod query;
mod row;
mod rows;
mod search;
mod selection;
mod shape;
mod table;
mod value_text;

use crate::{
    app::{
        document::{command::UiCommand, items::Item, open_document::Document, session::Session},
        host::device::Devices,
        kit::{focus, icons, level::Level, widgets},
        shell::{
            actions::rebuild,
            commands::Around,
            queue::{Queue, ShellRequest},
        },
    },
    params::{GroupSpec, ParamId, Params},
    project::{PlanTree, Project, RunPlan},
};
pub use actions::{argument_ui, with_values};
use egui::{Align, Frame, Margin, Panel, ScrollArea, TextEdit, Ui};
use header::header_ui;
pub use header::panel_head;
pub use query::{add_item, missing};
use rows::Rows;
use search::Words;
use table::ListTable;

/// Texts in which the filter looks for the row of the seed.
const SEED: &str = "Random seed of every random draw";

/// Maximum fraction of the panel's height that the selection card takes.
const MAX_CARD_SHARE: f32 = 0.5;

/// Parameter below which the checkpoints of a recording are described.
const KEPT: &str = "run.keep_checkpoints";

/// State of the inspector.
#[derive(Default)]
pub struct Inspector {
    search: String,
    only_changed: bool,
    scroll_to: Option<&'static str>,
    /// Item to which the panel scrolls.
    scroll_to_item: Option<Item>,
    forms: actions::Forms,
    table: ListTable,
}

impl Inspector {
    /// Filters the rows by a path.
    pub fn find(&mut self, path: &str) {
        path.clone_into(&mut self.search);
    }

    /// Closes the window with the table of a list. Returns whether it was open.
    pub fn close_table(&mut self) -> bool {
        self.table.close()
    }

    /// Scrolls to an item of a list, and clears the filters if they hide its list.
    pub fn show_item(&mut self, params: &dyn Params, item: Item) {
        self.show_group(params.groups()[item.0].name);
        (self.scroll_to, self.scroll_to_item) = (None, Some(item));
    }

    /// Scrolls to a group, and clears the filters.
    pub fn show_group(&mut self, name: &'static str) {
        self.search.clear();
        self.only_changed = false;
        self.scroll_to = Some(name);
    }
}

/// Draws the content of the inspector.
pub fn ui(
    ui: &mut Ui,
    document: &mut Document,
    inspector: &mut Inspector,
    devices: &Devices,
    around: Around<'_>,
    queue: &mut Queue,
) {
    let mut messages = vec![];
    panel_head(ui, "Inspector", |ui| {
        presets::menu_ui(ui, &mut document.session, &mut messages);
        let only_changed = &mut inspector.only_changed;
        if widgets::icon_toggle(ui, icons::FUNNEL, "Only changed parameters", *only_changed).clicked() {
            *only_changed = !*only_changed;
        }
    });
    Frame::new().inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        let field = TextEdit::singleline(&mut inspector.search).hint_text("Filter parameters");
        let field = field.id(focus::filter_id("inspector"));
        ui.add(field.desired_width(f32::INFINITY)).accessible_name("Filter parameters");
    });
    notify(queue, messages);
    // The selection card is below the parameters, so that selecting does not move them.
    if selection::is_shown(&document.session) {
        let height = ui.available_height() * MAX_CARD_SHARE;
        Panel::bottom("inspector selection").resizable(false).frame(Frame::NONE).show_separator_line(true).show(
            ui,
            |ui| {
                // The card has the height of its content, up to the maximum; by default a scroll area would have 64 points.
                let card = ScrollArea::vertical().max_height(height).min_scrolled_height(height);
                card.show(ui, |ui| selection::ui(ui, document, &mut inspector.forms, around, queue));
            },
        );
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        let top = ui.cursor().top();
        groups_ui(ui, &mut document.session, inspector, (devices, around), queue);
        plan_ui(ui, &mut document.session, inspector, queue);
        project_ui(ui, &mut document.session.project, inspector);
        if ui.cursor().top() == top {
            nothing_ui(ui, inspector);
        }
        ui.add_space(16.0);
    });
}

/// Draws a message instead of the parameters if the filters hide all of them.
fn nothing_ui(ui: &mut Ui, inspector: &mut Inspector) {
    let (text, button) = match inspector.search.trim() {
        "" => ("No parameter is changed".to_owned(), "Show all"),
        search => (format!("No parameter matches “{search}”"), "Clear filter"),
    };
    ui.add_space(24.0);
    ui.vertical_centered(|ui| {
        ui.label(widgets::sub(ui, text));
        ui.add_space(6.0);
        if ui.button(button).clicked() {
            inspector.search.clear();
            inspector.only_changed = false;
        }
    });
}

fn notify(queue: &mut Queue, messages: Vec<(Level, String)>) {
    messages.into_iter().for_each(|(level, text)| queue.ask(ShellRequest::Notify(level, text)));
}

/// Draws the parameter groups of the kind.
fn groups_ui(
    ui: &mut Ui,
    session: &mut Session,
    inspector: &mut Inspector,
    (devices, around): (&Devices, Around<'_>),
    queue: &mut Queue,
) {
    let place = devices.chosen().kind();
    let features = session.features();
    let mut pending = session.live.waiting_for_rebuild(&session.project.model);
    pending.extend(session.live.waiting_for_rewind(&session.project.model));
    let cost = rebuild::cost(&session.live, &session.project, place);
    let warnings = session.project.model.warnings();
    let queries = query::QuerySource {
        schema: &session.live.schema,
        features: &features,
        selection: &session.selection,
        over: "",
    };
    let shape_file = session.project.model.shape_file();
    let mut rows = Rows {
        params: session.project.model.params_mut(),
        links: Some(&mut session.project.links),
        left_choices: Some(&mut session.left_choices),
        table: Some(&mut inspector.table),
        defaults: session.defaults.params(),
        pending: &pending,
        queries: Some(&queries),
        live: Some(&session.live),
        cost: &cost,
        messages: vec![],
        warnings: &warnings,
        hidden: "",
        browse: None,
        vary: None,
        note: None,
        scroll_to_item: inspector.scroll_to_item.take(),
        marked: around.workspace.graph.selected,
        shape_file,
        uses_shape: false,
        search: Words::new(&inspector.search),
        only_changed: inspector.only_changed,
    };
    let scroll_to = inspector.scroll_to.take();
    for (g, group) in rows.params.groups().iter().enumerate() {
        let top = ui.cursor().min;
        match group.list {
            true => list::ui(ui, &mut rows, g),
            false => group_ui(ui, &mut rows, g),
        }
        if scroll_to == Some(group.name) {
            let area = egui::Rect::from_min_max(top, ui.cursor().min);
            ui.scroll_to_rect(area, Some(Align::TOP));
        }
    }
    if let Some(table) = rows.table.take() {
        table::window_ui(ui.ctx(), &mut rows, table);
    }
    let (browse, vary, messages) = (rows.browse, rows.vary, rows.messages);
    queue.extend(rows.uses_shape.then_some(UiCommand::UseShape));
    notify(queue, messages);
    browse.into_iter().for_each(|id| queue.ask(ShellRequest::Browse(id)));
    vary.into_iter().for_each(|id| queue.ask(ShellRequest::Vary(id)));
}

fn group_ui(ui: &mut Ui, rows: &mut Rows<'_>, group: usize) {
    let spec = rows.params.groups()[group];
    let wanted: Vec<ParamId> = rows.ids(group, 0).into_iter().filter(|id| rows.is_wanted(*id)).collect();
    if wanted.is_empty() {
        return;
    }
    let changed = wanted.iter().filter(|id| rows.is_changed(**id)).count();
    let aside = if changed > 0 { format!("{changed} changed") } else { String::new() };
    let words = rows.search.clone();
    header_ui(ui, &spec, (&aside, &words), |ui| {
        for id in wanted {
            row::ui(ui, rows, id);
        }
    });
}

/// Draws a group of declared parameters outside the inspector.
pub fn declared_ui(ui: &mut Ui, params: &mut dyn Params, defaults: &dyn Params, group: usize, search: &str) {
    let mut rows = Rows::plain(params, defaults, Words::new(search));
    group_ui(ui, &mut rows, group);
}

/// Draws the run settings as rows of parameters.
fn plan_ui(ui: &mut Ui, session: &mut Session, inspector: &Inspector, queue: &mut Queue) {
    let mut plan = PlanTree { run: session.project.run.clone() };
    let when = session.project.checkpoint_words(session.live.schema.checkpoint_bytes);
    let note = when.map(|when| (KEPT, format!("Checkpoints {when}")));
    let defaults = PlanTree::default();
    let mut rows = Rows {
        hidden: RunPlan::unused(session.project.model.time_base()),
        only_changed: inspector.only_changed,
        note,
        ..Rows::plain(&mut plan, &defaults, Words::new(&inspector.search))
    };
    group_ui(ui, &mut rows, 0);
    notify(queue, rows.messages);
    if plan.run != session.project.run {
        session.project.run = plan.run;
    }
}

/// Draws name, seed, links and notes of the project.
fn project_ui(ui: &mut Ui, project: &mut Project, inspector: &Inspector) {
    let words = Words::new(&inspector.search);
    let shows = |row: &str| words.is_empty() || words.fit_text(&format!("Project {row}"));
    let texts = ["Name", SEED, "Links", "Notes"];
    if inspector.only_changed || !texts.iter().any(|row| shows(row)) {
        return;
    }
    let group = GroupSpec {
        name: "project",
        title: "Project",
        aliases: &[],
        docs: "The project.",
        params: &[],
        list: false,
        role: crate::params::Role::Plain,
    };
    header_ui(ui, &group, ("", &words), |ui| {
        if shows("Name") {
            row::plain(ui, "Name", |ui| {
                let field = TextEdit::singleline(&mut project.name).desired_width(f32::INFINITY);
                ui.add(field).accessible_name("Project name")
            });
        }
        if shows(SEED) {
            row::plain(ui, "Random seed", |ui| {
                let parse = |typed: &str| crate::params::Unit::One.parse(typed).ok();
                ui.add(egui::DragValue::new(&mut project.seed).custom_parser(parse))
                    .accessible_name("Seed")
                    .on_hover_text("Seed of every random draw")
            });
        }
        ui.add_space(4.0);
        if shows("Links") {
            linked::list_ui(ui, project);
        }
        if shows("Notes") {
            let notes = TextEdit::multiline(&mut project.notes).desired_rows(3).hint_text("Notes");
            ui.add(notes.desired_width(f32::INFINITY)).accessible_name("Notes");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::kit::style, kinds::Model};
    use egui::{Pos2, RawInput, Rect};

    /// Draws all groups of a kind in a low panel. Returns the painted shapes as text, and the number of the shapes.
    fn painted(ctx: &egui::Context, model: &mut Model, scroll: f32) -> (String, usize) {
        let (area, defaults) = (Rect::from_min_size(Pos2::ZERO, egui::vec2(380.0, 300.0)), model.clone());
        let input = RawInput { screen_rect: Some(area), ..RawInput::default() };
        let mut output = ctx.run_ui(input, |ui| {
            ScrollArea::vertical().auto_shrink(false).vertical_scroll_offset(scroll).show(ui, |ui| {
                for group in 0..model.params().groups().len() {
                    declared_ui(ui, model.params_mut(), defaults.params(), group, "");
                }
            });
        });
        output.textures_delta.clear();
        let n = output.shapes.len();
        (format!("{:?}", ctx.tessellate(output.shapes, 1.0)), n)
    }

    /// Only a screen reader causes rows outside the visible part to be drawn. The visible rows are painted identically.
    #[test]
    fn rows_out_of_sight_change_nothing_in_sight() {
        for mut model in Model::all() {
            let ctx = egui::Context::default();
            style::apply(&ctx);
            for scroll in [0.0, 150.0, 407.0] {
                ctx.enable_accesskit();
                (0..3).for_each(|_| drop(painted(&ctx, &mut model, scroll)));
                let (all, n_all) = painted(&ctx, &mut model, scroll);
                ctx.disable_accesskit();
                (0..8).for_each(|_| drop(painted(&ctx, &mut model, scroll)));
                let (seen, n_seen) = painted(&ctx, &mut model, scroll);
                assert!(seen == all, "{} from {scroll}", model.name());
                assert!(n_seen < n_all, "{} from {scroll}: {n_seen} of {n_all} shapes", model.name());
            }
        }
    }
}
