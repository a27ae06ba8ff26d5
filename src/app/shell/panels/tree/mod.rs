//! Project tree at the left: model, lists of the document, probes, runs and data.

mod lists;

use super::inspector;
use crate::{
    app::{
        document::{command::UiCommand, items::Item, open_document::Document, session::Session},
        kit::{focus, icons, text, theme::Tokens, widgets},
        shell::{
            commands::{Around, CommandState},
            panels::sets::Sets,
            queue::{Queue, ShellRequest},
        },
        views,
    },
    params::{ParamId, Params, Value, ValueType, titles},
    sim::{MemoryReport, ProbeId, Shape},
};
use egui::{
    Align, Frame, Id, Label, Layout, Margin, Response, RichText, ScrollArea, Sense, TextEdit, Ui, UiBuilder,
    WidgetInfo, accesskit::Role, collapsing_header::CollapsingState, vec2,
};

/// State of the project tree.
#[derive(Default)]
pub struct Outline {
    filter: String,
    /// Item to which commands apply; `None` if no item is selected.
    selected: Option<Item>,
    renaming: Option<(Item, String)>,
}

impl Outline {
    fn is_filtered(&self) -> bool {
        !self.filter.trim().is_empty()
    }

    /// Whether a name passes the filter.
    fn wants(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.filter.trim().to_lowercase())
    }
}

/// Draws the content of the project tree.
pub fn ui(
    ui: &mut Ui,
    document: &mut Document,
    (tree, sets): (&mut Outline, &mut Sets),
    around: Around<'_>,
    queue: &mut Queue,
) {
    inspector::panel_head(ui, "Project", |_| {});
    Frame::new().inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        let field = TextEdit::singleline(&mut tree.filter).hint_text("Filter").id(focus::filter_id("tree"));
        ui.add(field.desired_width(f32::INFINITY)).accessible_name("Filter the project");
    });
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        if !tree.is_filtered() {
            model_ui(ui, &document.session, queue);
        }
        lists::ui(ui, document, (tree, sets), around, queue);
        probes_ui(ui, &mut document.session, queue);
        runs_ui(ui, tree, &around.with(document), queue);
        data_ui(ui, document.session.project.model.params(), queue);
        ui.add_space(12.0);
    });
}

/// Draws a collapsible section with a count at the right.
fn section(ui: &mut Ui, title: &str, aside: &str, body: impl FnOnce(&mut Ui)) {
    let t = Tokens::of(ui.ctx());
    let mut state = CollapsingState::load_with_default_open(ui.ctx(), Id::unique(("tree section", title)), true);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, state.is_open(), format!("Section {title}")));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, t.hover);
    }
    let inner = rect.shrink2(vec2(8.0, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let caret = if state.is_open() { icons::CARET_DOWN } else { icons::CARET_RIGHT };
        ui.label(icons::rich(caret).size(10.0).color(t.text_sub));
        ui.label(RichText::new(title).family(widgets::semibold()).color(t.text_strong));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(widgets::sub(ui, aside).small()));
    });
    if response.clicked() {
        state.toggle(ui);
    }
    state.show_body_unindented(ui, body);
}

/// Draws a row with an icon, a name, and widgets at the right. The caller handles a click.
pub(crate) fn leaf(ui: &mut Ui, glyph: &str, name: &str, strong: bool, aside: impl FnOnce(&mut Ui)) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, t.hover);
    }
    leaf_contents_ui(ui, rect, (glyph, name, strong), aside);
    response
}

/// Draws a row that has no effect when it is clicked.
fn note_ui(ui: &mut Ui, glyph: &str, name: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, name));
    leaf_contents_ui(ui, rect, (glyph, name, false), |_| {});
}

fn leaf_contents_ui(
    ui: &mut Ui,
    rect: egui::Rect,
    (glyph, name, strong): (&str, &str, bool),
    aside: impl FnOnce(&mut Ui),
) {
    let t = Tokens::of(ui.ctx());
    if focus::is_out_of_reach(ui, rect) {
        return;
    }
    let mut inner = rect.shrink2(vec2(8.0, 0.0));
    inner.min.x += 16.0;
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::right_to_left(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        aside(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.label(icons::rich(glyph).color(t.text_sub));
            // The tooltip of a truncated name is the whole name.
            ui.add(Label::new(RichText::new(name).color(if strong { t.text } else { t.text_sub })).truncate());
        });
    });
}

/// Highlights the selected row.
fn mark(ui: &Ui, rect: egui::Rect) {
    let t = Tokens::of(ui.ctx());
    ui.painter().rect_filled(rect, 0, Tokens::fade(t.accent, 0.14));
    ui.painter().rect_filled(egui::Rect::from_min_size(rect.min, vec2(2.0, rect.height())), 0, t.accent);
}

fn number(ui: &mut Ui, n: impl Into<String>) {
    ui.label(widgets::sub(ui, n).monospace().size(11.0));
}

/// Draws the model, its sets and its memory. A click shows help on the model, a set in the table, or the memory by buffer.
fn model_ui(ui: &mut Ui, session: &Session, queue: &mut Queue) {
    let project = &session.project;
    let schema = &session.live.schema;
    section(ui, "Model", "", |ui| {
        let head = leaf(ui, icons::BRAIN, project.model.title(), true, |_| {});
        let about = || format!("{}\nClick for help on the model", text::unwrap(project.model.about()));
        if widgets::hover_text(head, about).clicked() {
            queue.push(UiCommand::ModelHelp);
        }
        if !project.model.semantics().is_empty() {
            let row = leaf(ui, icons::LIST, "Semantics of a step", true, |_| {});
            let what = "Click for the order of a step, refractory input and silencing, beside what other simulators do";
            if row.on_hover_text(what).clicked() {
                queue.push(UiCommand::Semantics);
            }
        }
        for set in &schema.sets {
            let n = |ui: &mut Ui| number(ui, text::count(set.len.into()));
            let row = leaf(ui, icons::SELECTION, &text::title(&set.noun()), true, n);
            if row.on_hover_text("Click to list them in the table").clicked() {
                queue.ask(ShellRequest::ShowSet(set.name));
            }
        }
        let total: u64 = schema.memory.total();
        if total > 0 {
            let row = leaf(ui, icons::MEMORY, "Memory", true, |ui| number(ui, text::bytes(total)));
            let hover = |ui: &mut Ui| {
                memory_ui(ui, &schema.memory);
                ui.label(widgets::sub(ui, "Click to show the memory by buffer").small());
            };
            if row.on_hover_ui(hover).clicked() {
                queue.push(UiCommand::ShowView("memory"));
            }
        }
    });
}

/// Draws a table with the memory of each owner.
fn memory_ui(ui: &mut Ui, report: &MemoryReport) {
    egui::Grid::new("memory by owner").num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
        for (owner, bytes) in report.by_owner().into_iter().filter(|(_, bytes)| *bytes > 0) {
            ui.label(text::title(owner));
            ui.label(egui::RichText::new(text::bytes(bytes)).monospace());
            ui.end_row();
        }
    });
}

/// Draws the probes with switches that record them. A click shows the probe in a view.
fn probes_ui(ui: &mut Ui, session: &mut Session, queue: &mut Queue) {
    let live = session.live.schema.probes;
    let probes = if live.is_empty() { session.project.model.probes() } else { live };
    let unused = session.project.model.unused_probes();
    let record = &mut session.project.record;
    let is = |entry: &String, name: &str| entry.split('[').next().map(str::trim) == Some(name);
    let n = probes.iter().filter(|p| record.iter().any(|w| is(w, p.name))).count();
    section(ui, "Probes", &format!("{n} recorded"), |ui| {
        for (id, probe) in probes.iter().enumerate() {
            let mut on = record.iter().any(|w| is(w, probe.name));
            // A recorded probe is shown even if the model does not use it, so that the user can switch it off.
            if !on && unused.iter().any(|unused| usize::from(*unused) == id) {
                continue;
            }
            let before = on;
            let name = probe.label();
            let response = leaf(ui, glyph_of(probe.shape), &name, true, |ui| {
                widgets::switch(ui, &mut on, &format!("Record {name}"));
                ui.label(widgets::sub(ui, probe.unit).small());
            });
            let view = views::showing(&probe.shape).title;
            let hint = || match live.is_empty() {
                true => text::unwrap(probe.docs),
                false => format!("{}\nClick to show it in the view “{view}”", text::unwrap(probe.docs)),
            };
            if widgets::hover_text(response, hint).clicked() && !live.is_empty() {
                queue.ask(ShellRequest::ShowProbe(id as ProbeId));
            }
            match (before, on) {
                (false, true) => record.push(probe.name.to_owned()),
                (true, false) => record.retain(|w| !is(w, probe.name)),
                _ => {}
            }
        }
        if probes.is_empty() {
            note_ui(ui, icons::WAVE, "No probes");
        }
    });
}

const fn glyph_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Spikes { .. } => icons::RASTER,
        Shape::Field { .. } => icons::BRAIN,
        Shape::Matrix { .. } => icons::GRID,
        Shape::Lineage { .. } => icons::TREE,
        Shape::Histogram { .. } => icons::GAUGE,
        Shape::Tokens { .. } | Shape::Text | Shape::Samples => icons::LIST,
        Shape::Links { .. } => icons::TREE,
        Shape::Series { .. } => icons::WAVE,
    }
}

fn runs_ui(ui: &mut Ui, tree: &Outline, state: &CommandState<'_>, queue: &mut Queue) {
    let (session, library) = (&state.document.session, &state.document.library);
    section(ui, "Runs", &library.runs.len().to_string(), |ui| {
        let shown = session.live.playback.as_ref().map(|r| r.open_folder());
        for (i, run) in library.runs.iter().enumerate().rev().filter(|(_, r)| tree.wants(&r.name)).take(20) {
            let is_open = session.live.recording.as_ref().is_some_and(|r| r.folder == run.folder);
            let status = if is_open { "recording" } else { run.status_text() };
            let glyph = if shown == Some(run.folder.as_path()) { icons::PLAY } else { icons::FLASK };
            let response = leaf(ui, glyph, &run.name, true, |ui| drop(ui.label(widgets::sub(ui, status).small())));
            if library.selected.as_deref() == Some(&run.folder) {
                mark(ui, response.rect);
            }
            if response.clicked() {
                queue.push(UiCommand::OpenRun(i));
            }
            response.context_menu(|ui| {
                ui.set_min_width(160.0);
                let folder = &run.folder;
                for command in [UiCommand::OpenRun(i), UiCommand::RevealRun(folder.clone())] {
                    if ui.button(command.text(state)).clicked() {
                        queue.push(command);
                        ui.close();
                    }
                }
            });
            widgets::hover_text(response, || format!("Open this run\n{}", run.folder.display()));
        }
        if library.runs.is_empty() {
            let hint = leaf(ui, icons::RECORD, "No runs yet", false, |_| {});
            if hint.on_hover_text("Click to start a recording").clicked() {
                queue.push(UiCommand::Record);
            }
        }
    });
}

/// Draws the input files. A click shows the parameter of the file.
fn data_ui(ui: &mut Ui, params: &dyn Params, queue: &mut Queue) {
    let is_path = |id: &ParamId| params.spec(*id).is_some_and(|s| s.kind == ValueType::Path);
    let paths: Vec<(ParamId, String)> = params
        .ids()
        .into_iter()
        .filter(is_path)
        .filter_map(|id| match params.get(id) {
            Value::Text(text) if !text.is_empty() => Some((id, text)),
            _ => None,
        })
        .collect();
    if paths.is_empty() {
        return;
    }
    section(ui, "Data sources", &paths.len().to_string(), |ui| {
        for (id, path) in &paths {
            let name = std::path::Path::new(path)
                .file_name()
                .map_or_else(|| path.clone(), |n| n.to_string_lossy().into_owned());
            let row = leaf(ui, icons::DATABASE, &name, true, |_| {});
            let hint = || format!("{}\n{path}\nClick to show the parameter", titles::title(params, *id));
            if widgets::hover_text(row, hint).clicked() {
                queue.ask(ShellRequest::FindParameter(params.path(*id)));
            }
        }
    });
}
