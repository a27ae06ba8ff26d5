//! The inspector at the right: every parameter of every kind, drawn from its declaration, and facts about the
//! selection. Widgets edit the document in place; undo, saving and engine updates follow from comparing documents.

mod actions;
mod choice;
mod distribution;
mod label;
mod linked;
mod list;
pub mod number;
mod parameter;
mod presets;
mod query;
mod row;
mod selection;
mod table;
mod value_text;

use crate::{
    app::{
        document::{items::LeftChoices, live::Live, open_document::Document, session::Session},
        host::device::Devices,
        kit::{focus, icons, level::Level, text, theme::Tokens, widgets},
        shell::{
            actions::rebuild,
            commands::Around,
            queue::{Queue, ShellRequest},
        },
    },
    params::{
        Apply, GroupSpec, ParamId, ParamSpec, ParamWarning, Params,
        link::{self, Link},
    },
    project::{PlanTree, Project, RunPlan},
};
pub use actions::{argument_ui, with_values};
use egui::{
    Align, Frame, Id, Layout, Margin, Panel, RichText, ScrollArea, Sense, TextEdit, Ui, UiBuilder, WidgetInfo,
    accesskit::Role, collapsing_header::CollapsingState, vec2,
};
pub use query::{add_item, missing};
use table::ListTable;

/// Share of the panel's height that the selection card takes at most.
const MAX_CARD_SHARE: f32 = 0.45;

/// State of the inspector.
#[derive(Default)]
pub struct Inspector {
    search: String,
    only_changed: bool,
    scroll_to: Option<&'static str>,
    forms: actions::Forms,
    table: ListTable,
}

impl Inspector {
    /// Filters the rows by path.
    pub fn find(&mut self, path: &str) {
        path.clone_into(&mut self.search);
    }

    /// Scrolls to a group.
    pub fn show_group(&mut self, name: &'static str) {
        self.search.clear();
        self.only_changed = false;
        self.scroll_to = Some(name);
    }
}

/// Everything the rows are drawn from.
pub(crate) struct Rows<'a> {
    params: &'a mut dyn Params,
    defaults: &'a dyn Params,
    /// Links to formulas, where links are possible.
    links: Option<&'a mut Vec<Link>>,
    /// The table of a list, where there is one.
    table: Option<&'a mut ListTable>,
    /// Values of groups that were chosen before, where they are kept.
    left_choices: Option<&'a mut LeftChoices>,
    /// Edits pending until a rebuild or a rewind.
    pending: &'a [ParamId],
    /// Completes and checks queries, where there is a simulation.
    queries: Option<&'a query::QuerySource<'a>>,
    /// The simulation the edits are sent to, if any.
    live: Option<&'a Live>,
    /// Estimated cost of a rebuild, when known.
    cost: &'a str,
    /// Messages for the user.
    messages: Vec<(Level, String)>,
    /// Warnings about the present values.
    warnings: &'a [ParamWarning],
    /// Name of a parameter that has no meaning here; empty for none.
    hidden: &'static str,
    /// The path parameter whose browse button was clicked.
    browse: Option<ParamId>,
    /// The parameter that is to be swept.
    sweep: Option<ParamId>,
    search: String,
    only_changed: bool,
}

impl Rows<'_> {
    /// When an edit takes effect in the running simulation.
    fn apply(&self, id: ParamId) -> Option<Apply> {
        let live = self.live?;
        let declared = self.params.spec(id)?.apply;
        Some(if live.needs_rebuild(self.params, id) { Apply::Rebuild } else { declared })
    }

    /// The link of a parameter.
    fn link(&self, id: ParamId) -> Option<&Link> {
        link::of(self.params, self.links.as_deref()?, id)
    }

    fn is_changed(&self, id: ParamId) -> bool {
        self.params.get(id) != self.defaults.get(id)
    }

    /// Whether a parameter names a set of a model that has only one.
    fn has_no_choice(&self, id: ParamId) -> bool {
        let is_set = self.params.spec(id).is_some_and(|spec| spec.role == crate::params::Role::OverSet);
        let exists = usize::from(id.item) < self.params.len(id.group);
        is_set && !(exists && self.is_changed(id)) && self.queries.is_none_or(|queries| queries.schema.sets.len() < 2)
    }

    /// Whether a row passes the filters.
    fn is_wanted(&self, id: ParamId) -> bool {
        let is_hidden = !self.hidden.is_empty() && self.params.spec(id).is_some_and(|s| s.name == self.hidden);
        let is_hidden = is_hidden || self.has_no_choice(id);
        if is_hidden || !self.params.is_shown(id) || (self.only_changed && !self.is_changed(id)) {
            return false;
        }
        let needle = self.search.trim().to_lowercase();
        let is_in = |s: &ParamSpec| [&s.label(), s.docs].iter().any(|text| text.to_lowercase().contains(&needle));
        needle.is_empty() || self.params.path(id).contains(&needle) || self.params.spec(id).is_some_and(is_in)
    }

    fn ids(&self, group: usize, item: usize) -> Vec<ParamId> {
        let fields = self.params.groups()[group].in_order();
        let ids = fields.map(|f| ParamId { item: item as u16, ..ParamId::of(group, f) });
        ids.filter(|id| self.params.has(*id)).collect()
    }
}

/// Draws the content of the panel.
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
    // Pinned below the parameters, so that selecting does not move them.
    if selection::is_shown(&document.session) {
        let height = ui.available_height() * MAX_CARD_SHARE;
        Panel::bottom("inspector selection").resizable(false).frame(Frame::NONE).show_separator_line(true).show(
            ui,
            |ui| {
                // As high as its content, up to the share: a scroll area takes 64 points otherwise.
                let card = ScrollArea::vertical().max_height(height).min_scrolled_height(height);
                card.show(ui, |ui| selection::ui(ui, document, &mut inspector.forms, around, queue));
            },
        );
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        let top = ui.cursor().top();
        groups_ui(ui, &mut document.session, inspector, devices, queue);
        plan_ui(ui, &mut document.session, inspector, queue);
        project_ui(ui, &mut document.session.project, inspector);
        if ui.cursor().top() == top {
            nothing_ui(ui, inspector);
        }
        ui.add_space(16.0);
    });
}

/// Message in place of the parameters if the filters hide all of them.
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

/// The header of the side panels.
pub fn panel_head(ui: &mut Ui, title: &str, right: impl FnOnce(&mut Ui)) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::hover());
    let inner = rect.shrink2(vec2(10.0, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.label(RichText::new(title).family(widgets::semibold()).color(Tokens::of(ui.ctx()).text));
        ui.with_layout(Layout::right_to_left(Align::Center), right);
    });
    widgets::hairline_below(ui, rect);
}

fn notify(queue: &mut Queue, messages: Vec<(Level, String)>) {
    messages.into_iter().for_each(|(level, text)| queue.ask(ShellRequest::Notify(level, text)));
}

/// The kind's groups.
fn groups_ui(ui: &mut Ui, session: &mut Session, inspector: &mut Inspector, devices: &Devices, queue: &mut Queue) {
    let place = devices.chosen().kind();
    let features = session.features();
    let mut pending = session.live.waiting_for_rebuild(&session.project.model);
    pending.extend(session.live.waiting_for_rewind(&session.project.model));
    let cost = rebuild::cost(&session.live, &session.project.model, place);
    let warnings = session.project.model.warnings();
    let queries = query::QuerySource {
        schema: &session.live.schema,
        features: &features,
        selection: &session.selection,
        over: "",
    };
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
        sweep: None,
        search: inspector.search.clone(),
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
    let (browse, sweep, messages) = (rows.browse, rows.sweep, rows.messages);
    notify(queue, messages);
    browse.into_iter().for_each(|id| queue.ask(ShellRequest::Browse(id)));
    sweep.into_iter().for_each(|id| queue.ask(ShellRequest::Sweep(id)));
}

fn group_ui(ui: &mut Ui, rows: &mut Rows<'_>, group: usize) {
    let spec = rows.params.groups()[group];
    let wanted: Vec<ParamId> = rows.ids(group, 0).into_iter().filter(|id| rows.is_wanted(*id)).collect();
    if wanted.is_empty() {
        return;
    }
    let changed = wanted.iter().filter(|id| rows.is_changed(**id)).count();
    let aside = if changed > 0 { format!("{changed} changed") } else { String::new() };
    header_ui(ui, &spec, &aside, |ui| {
        for id in wanted {
            row::ui(ui, rows, id);
        }
    });
}

/// A collapsible group with its docs as a tooltip.
fn header_ui(ui: &mut Ui, group: &GroupSpec, aside: &str, body: impl FnOnce(&mut Ui)) {
    let t = Tokens::of(ui.ctx());
    let title = group.label();
    let mut state =
        CollapsingState::load_with_default_open(ui.ctx(), Id::unique(("inspector group", group.name)), true);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, state.is_open(), format!("Group {title}")));
    ui.painter().hline(rect.x_range(), rect.top(), egui::Stroke::new(1.0, t.line));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, Tokens::fade(t.hover, 0.6));
    }
    let inner = rect.shrink2(vec2(10.0, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let caret = if state.is_open() { icons::CARET_DOWN } else { icons::CARET_RIGHT };
        ui.label(icons::rich(caret).size(10.0).color(t.text_sub));
        ui.label(RichText::new(title).family(widgets::semibold()).color(t.text_strong));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(aside).small().color(t.accent))
        });
    });
    if widgets::hover_text(response, || text::unwrap(group.docs)).clicked() {
        state.toggle(ui);
    }
    state.show_body_unindented(ui, |ui| {
        Frame::new().inner_margin(Margin { left: 10, right: 8, top: 2, bottom: 8 }).show(ui, body);
    });
}

/// One group of declared parameters, outside the inspector.
pub fn declared_ui(ui: &mut Ui, params: &mut dyn Params, defaults: &dyn Params, group: usize, search: &str) {
    let search = search.to_owned();
    let mut rows = Rows {
        params,
        defaults,
        links: None,
        left_choices: None,
        table: None,
        pending: &[],
        queries: None,
        live: None,
        cost: "",
        messages: vec![],
        warnings: &[],
        hidden: "",
        browse: None,
        sweep: None,
        search,
        only_changed: false,
    };
    group_ui(ui, &mut rows, group);
}

/// Run settings, drawn as the same rows.
fn plan_ui(ui: &mut Ui, session: &mut Session, inspector: &Inspector, queue: &mut Queue) {
    let mut plan = PlanTree { run: session.project.run.clone() };
    let defaults = PlanTree::default();
    let mut rows = Rows {
        params: &mut plan,
        defaults: &defaults,
        links: None,
        left_choices: None,
        table: None,
        pending: &[],
        queries: None,
        live: None,
        cost: "",
        messages: vec![],
        warnings: &[],
        hidden: RunPlan::unused(session.project.model.time_base()),
        browse: None,
        sweep: None,
        search: inspector.search.clone(),
        only_changed: inspector.only_changed,
    };
    group_ui(ui, &mut rows, 0);
    notify(queue, rows.messages);
    if plan.run != session.project.run {
        session.project.run = plan.run;
    }
}

/// Name, seed, notes.
fn project_ui(ui: &mut Ui, project: &mut Project, inspector: &Inspector) {
    if !inspector.search.trim().is_empty() || inspector.only_changed {
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
    header_ui(ui, &group, "", |ui| {
        row::plain(ui, "Name", |ui| {
            ui.add(TextEdit::singleline(&mut project.name).desired_width(f32::INFINITY)).accessible_name("Project name")
        });
        row::plain(ui, "Random seed", |ui| {
            let parse = |typed: &str| crate::params::Unit::One.parse(typed).ok();
            ui.add(egui::DragValue::new(&mut project.seed).custom_parser(parse))
                .accessible_name("Seed")
                .on_hover_text("Seed of every random draw")
        });
        ui.add_space(4.0);
        linked::list_ui(ui, project);
        let notes =
            TextEdit::multiline(&mut project.notes).desired_rows(3).hint_text("Notes").desired_width(f32::INFINITY);
        ui.add(notes).accessible_name("Notes");
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::kit::style, kinds::Model};
    use egui::{Pos2, RawInput, Rect};

    /// Draws all groups of a kind in a low panel; returns the painted shapes and their number.
    fn painted(ctx: &egui::Context, model: &mut Model, scroll: f32) -> (String, usize) {
        let (area, defaults) = (Rect::from_min_size(Pos2::ZERO, vec2(380.0, 300.0)), model.clone());
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

    /// Rows outside the visible part are drawn only for a screen reader; visible rows are identical to the point.
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
