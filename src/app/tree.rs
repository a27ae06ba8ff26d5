//! The project at the left: model, lists of the document, probes, runs, data.

use super::{App, commands::UiCommand, icons, inspector, text, theme::Tokens, widgets};
use crate::{
    params::{Change, ParamId, Value, ValueType},
    sim::Shape,
};
use egui::{
    Align, Id, Label, Layout, Response, RichText, ScrollArea, Sense, Ui, UiBuilder, WidgetInfo, accesskit::Role,
    collapsing_header::CollapsingState, vec2,
};

/// Draws the content of the panel.
pub fn ui(ui: &mut Ui, app: &mut App, queue: &mut Vec<UiCommand>) {
    inspector::panel_head(ui, "Project", |_| {});
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        model_ui(ui, app);
        lists_ui(ui, app);
        probes_ui(ui, app);
        runs_ui(ui, app, queue);
        data_ui(ui, app);
        ui.add_space(12.0);
    });
}

/// A foldable section with a count at the right.
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

/// One line: glyph, name, something at the right.
pub(super) fn leaf(ui: &mut Ui, glyph: &str, name: &str, strong: bool, aside: impl FnOnce(&mut Ui)) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, t.hover);
    }
    let mut inner = rect.shrink2(vec2(8.0, 0.0));
    inner.min.x += 16.0;
    ui.scope_builder(UiBuilder::new().max_rect(inner).layout(Layout::right_to_left(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        aside(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.label(icons::rich(glyph).color(t.text_sub));
            ui.add(Label::new(RichText::new(name).color(if strong { t.text } else { t.text_sub })).truncate());
        });
    });
    response
}

fn number(ui: &mut Ui, n: impl Into<String>) {
    ui.label(widgets::sub(ui, n).monospace().size(11.0));
}

fn model_ui(ui: &mut Ui, app: &mut App) {
    let project = &app.session.project;
    let exhibit = &app.session.live.exhibit;
    section(ui, "Model", "", |ui| {
        let head = leaf(ui, icons::BRAIN, project.model.title(), true, |_| {});
        head.on_hover_text(text::unwrap(project.model.about()));
        for set in &exhibit.sets {
            leaf(ui, icons::SELECTION, &text::title(set.name), true, |ui| number(ui, text::count(set.len.into())));
        }
        for (owner, bytes) in exhibit.memory.iter().filter(|(_, bytes)| *bytes > 0).take(6) {
            leaf(ui, icons::MEMORY, &text::title(owner), false, |ui| number(ui, text::bytes(*bytes)));
        }
    });
}

/// Every list group of the kind: selections, stimuli and lesions, whatever it declares.
fn lists_ui(ui: &mut Ui, app: &mut App) {
    let groups = app.session.project.model.params().groups();
    for (g, group) in groups.iter().enumerate().filter(|(_, g)| g.list) {
        let n = app.session.project.model.params().len(g as u8);
        let title = list_title(group.name);
        section(ui, &title, &n.to_string(), |ui| {
            for item in 0..app.session.project.model.params().len(g as u8) {
                match group.name {
                    "selections" => super::sets::row_ui(ui, app, g, item),
                    _ => item_ui(ui, app, g, item),
                }
            }
            if leaf(ui, icons::PLUS, &format!("Add to {}", title.to_lowercase()), false, |_| {}).clicked() {
                app.session.project.model.params_mut().push(g as u8);
                app.panels.inspector = true;
                app.inspector.show_group(group.name);
            }
        });
    }
}

/// How a list is called: by its name, except for the one whose name says less than its field does.
fn list_title(name: &str) -> String {
    if name == "interventions" { "Stimuli and lesions".to_owned() } else { text::title(name) }
}

fn item_ui(ui: &mut Ui, app: &mut App, group: usize, item: usize) {
    let params = app.session.project.model.params_mut();
    let spec = params.groups()[group];
    let field = |name: &str| spec.params.iter().position(|p| p.name == name);
    let id = |f: usize| ParamId { item: item as u16, ..ParamId::of(group, f) };
    let name = inspector::item_name(params, group, item);
    let mut enabled = field("enabled").map(|f| (f, params.get(id(f)) == Value::Bool(true)));
    let glyph = item_glyph(params, group, item);
    let before = enabled;
    let strong = enabled.is_none_or(|(_, on)| on);
    let response = leaf(ui, glyph, &name, strong, |ui| {
        if let Some((_, on)) = &mut enabled {
            widgets::switch(ui, on, &format!("Enable {name}"));
        }
    });
    if let (true, Some((f, on))) = (before != enabled, enabled) {
        params.set(&Change { id: id(f), value: Value::Bool(on) });
    }
    if response.clicked() {
        app.panels.inspector = true;
        app.inspector.show_group(spec.name);
    }
}

/// Lesions and stimuli are told apart by the words of their effect.
fn item_glyph(params: &dyn crate::params::Params, group: usize, item: usize) -> &'static str {
    let spec = params.groups()[group];
    let Some(f) = spec.params.iter().position(|p| p.name == "effect") else { return icons::SELECTION };
    let value = params.get(ParamId { item: item as u16, ..ParamId::of(group, f) });
    match (spec.params[f].kind, value) {
        (ValueType::Choice(choices), Value::Choice(c)) => {
            let silences = choices.get(usize::from(c)).is_some_and(|c| c.name.starts_with("Silence"));
            if silences { icons::SCISSORS } else { icons::LIGHTNING }
        }
        _ => icons::SLIDERS,
    }
}

/// What can be shown; the switch says whether it is recorded.
fn probes_ui(ui: &mut Ui, app: &mut App) {
    let live = app.session.live.exhibit.probes;
    let probes = if live.is_empty() { app.session.project.model.probes() } else { live };
    let record = &mut app.session.project.record;
    let is = |wish: &String, name: &str| wish.split('[').next().map(str::trim) == Some(name);
    let n = probes.iter().filter(|p| record.iter().any(|w| is(w, p.name))).count();
    section(ui, "Probes", &format!("{n} recorded"), |ui| {
        for probe in probes {
            let mut on = record.iter().any(|w| is(w, probe.name));
            let before = on;
            let name = text::title(probe.name);
            let response = leaf(ui, glyph_of(probe.shape), &name, true, |ui| {
                widgets::switch(ui, &mut on, &format!("Record {name}"));
                ui.label(widgets::sub(ui, probe.unit).small());
            });
            response.on_hover_text(text::unwrap(probe.docs));
            match (before, on) {
                (false, true) => record.push(probe.name.to_owned()),
                (true, false) => record.retain(|w| !is(w, probe.name)),
                _ => {}
            }
        }
        if probes.is_empty() {
            leaf(ui, icons::WAVE, "Nothing to show yet", false, |_| {});
        }
    });
}

const fn glyph_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Spikes { .. } => icons::RASTER,
        Shape::Field { .. } => icons::BRAIN,
        Shape::Matrix { .. } => icons::GRID,
        Shape::Lineage { .. } => icons::TREE,
        Shape::Series { .. } | Shape::Text => icons::WAVE,
    }
}

fn runs_ui(ui: &mut Ui, app: &App, queue: &mut Vec<UiCommand>) {
    section(ui, "Runs", &app.runs.len().to_string(), |ui| {
        let shown = app.session.live.recorded.as_ref().map(|r| &r.folder);
        for (i, run) in app.runs.iter().enumerate().rev().take(20) {
            let name = run.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let glyph = if shown == Some(run) { icons::PLAY } else { icons::FLASK };
            let row = leaf(ui, glyph, &name, true, |_| {});
            if row.on_hover_text(format!("Open this run\n{}", run.display())).clicked() {
                queue.push(UiCommand::OpenRun(i));
            }
        }
        if app.runs.is_empty() {
            let hint = leaf(ui, icons::RECORD, "Finished runs appear here", false, |_| {});
            if hint.on_hover_text("Record starts one").clicked() {
                queue.push(UiCommand::Record);
            }
        }
    });
}

fn data_ui(ui: &mut Ui, app: &App) {
    let params = app.session.project.model.params();
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
            leaf(ui, icons::DATABASE, &name, true, |_| {}).on_hover_text(format!("{}\n{path}", params.path(*id)));
        }
    });
}
