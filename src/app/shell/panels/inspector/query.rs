//! Query fields: completion, a picker of targets, and validation. An invalid query remains in the field with its error and does
//! not reach the document.

use super::rows::Rows;
use crate::{
    app::{
        document::{features::KindFeatures, filter::QueryContext, graph, selection::Selection},
        kit::{icons, text, theme::Tokens, widgets},
    },
    engine::SimSchema,
    params::{Change, ParamId, ParamSpec, Params, Role, Value, ValueType},
    query::{self, Completion},
    sim::ElementSet,
};
use egui::{
    Align, Id, Key, Layout, Popup, PopupCloseBehavior, Response, RichText, ScrollArea, TextEdit, Ui, text::CCursor,
    text_edit::TextEditState,
};
use std::sync::Arc;

/// Maximum number of categories listed per column.
const MAX_LABELS: usize = 200;

/// Data for completion and validation of queries.
pub(super) struct QuerySource<'a> {
    pub schema: &'a SimSchema,
    pub features: &'a KindFeatures,
    pub selection: &'a Selection,
    /// Name of the element set that the query selects from; empty for the first set.
    pub over: &'a str,
}

impl QuerySource<'_> {
    fn set(&self) -> Option<&Arc<ElementSet>> {
        if self.over.is_empty() { self.schema.sets.first() } else { self.schema.set(self.over) }
    }

    /// Returns an error if a query is invalid. Queries over connections are only parsed: selecting their
    /// elements takes too long for the window.
    fn check(&self, text: &str) -> Result<(), String> {
        let parsed = query::parse(text).map_err(|e| e.of(text))?;
        let is_slow = ["downstream", "upstream"].iter().any(|word| text.contains(word));
        let Some(set) = self.set().filter(|_| !is_slow) else {
            drop(parsed);
            return Ok(());
        };
        let context = QueryContext::new(self.schema, self.features, set.clone(), &Default::default());
        context.with(|known| known.select(text)).map(drop).map_err(|e| e.of(text))
    }

    fn complete(&self, text: &str, cursor: usize) -> Vec<Completion> {
        let Some(set) = self.set() else { return vec![] };
        let context = QueryContext::new(self.schema, self.features, set.clone(), &Default::default());
        let at = text.char_indices().nth(cursor).map_or(text.len(), |(i, _)| i);
        context.with(|known| query::complete(text, at, known))
    }
}

/// Text being edited, and the committed text at the start of the edit.
#[derive(Clone, Default)]
struct Draft {
    from: String,
    text: String,
    problem: Option<String>,
}

fn draft_id(name: &str) -> Id {
    Id::unique(("query draft", name))
}

/// Returns the reason why the text in the field called `name` is invalid; `None` if it is valid.
pub(super) fn problem(ctx: &egui::Context, name: &str) -> Option<String> {
    ctx.data(|d| d.get_temp::<Draft>(draft_id(name)))?.problem
}

fn enabled(params: &dyn Params, group: usize, item: usize) -> Option<ParamId> {
    let field = params.groups().get(group)?.fields().iter().position(|p| p.role == Role::Enabled)?;
    Some(ParamId { item: item as u16, ..ParamId::of(group, field) })
}

/// Returns a description of what an item needs before it can be enabled: a target, a file or a parameter. Returns `None` if
/// the item needs nothing.
pub fn missing(params: &dyn Params, group: usize, item: usize) -> Option<String> {
    enabled(params, group, item).filter(|_| params.groups()[group].list)?;
    let specs = params.groups()[group].params;
    let is_needed =
        |spec: &ParamSpec| matches!(spec.kind, ValueType::Query | ValueType::Path) || spec.role == Role::Parameter;
    let is_missing = |(f, spec): &(usize, &ParamSpec)| {
        let id = ParamId { item: item as u16, ..ParamId::of(group, *f) };
        let is_empty = matches!(params.get(id), Value::Text(text) if text.trim().is_empty());
        is_needed(spec) && is_empty && params.is_shown(id)
    };
    let (_, spec) = specs.iter().enumerate().find(is_missing)?;
    Some(format!("Choose a {} first", spec.label().to_lowercase()))
}

/// Adds an item to a list group. An incomplete item is disabled, and a node has a free name.
pub fn add_item(params: &mut dyn Params, group: usize) {
    let item = params.len(group as u8);
    params.push(group as u8);
    if params.groups()[group].role == Role::Nodes {
        graph::edit::name_node(params, item);
    }
    if missing(params, group, item).is_some()
        && let Some(id) = enabled(params, group, item)
    {
        params.set(&Change { id, value: Value::Bool(false) });
    }
}

/// Sets a value. Enables an item that becomes complete; disables an item that becomes incomplete.
pub fn set_value(params: &mut dyn Params, change: &Change) {
    let (group, item) = (usize::from(change.id.group), usize::from(change.id.item));
    let was_complete = missing(params, group, item).is_none();
    params.set(change);
    let is_complete = missing(params, group, item).is_none();
    if let (true, Some(id)) = (was_complete != is_complete, enabled(params, group, item)) {
        params.set(&Change { id, value: Value::Bool(is_complete) });
    }
}

/// Draws the field and the picker. Returns the new query if a valid query was entered or picked; `None` otherwise.
pub(super) fn ui(ui: &mut Ui, rows: &Rows<'_>, name: &str, now: &str) -> Option<Value> {
    let source = rows.queries?;
    let over = crate::params::path::find(rows.params, name).map(|(id, _)| {
        crate::app::document::interventions::set_of(rows.params, usize::from(id.group), usize::from(id.item))
    });
    let source = &QuerySource { over: over.as_deref().unwrap_or_default(), ..*source };
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let path = name.split(' ').next().unwrap_or(name);
        let title = crate::params::titles::of_path(rows.params, path).unwrap_or_default();
        let picked = picker_ui(ui, source, &title);
        let typed = field_ui(ui, source, name, now);
        if let Some(picked) = picked {
            ui.data_mut(|d| d.remove::<Draft>(draft_id(name)));
            return Some(Value::Text(picked));
        }
        typed.map(Value::Text)
    })
    .inner
}

fn field_ui(ui: &mut Ui, source: &QuerySource<'_>, name: &str, now: &str) -> Option<String> {
    let (id, draft_id) = (ui.make_persistent_id(("query", name)), draft_id(name));
    let fresh = || Draft { from: now.to_owned(), text: now.to_owned(), problem: None };
    let mut draft = ui.data(|d| d.get_temp::<Draft>(draft_id)).filter(|d| d.from == now).unwrap_or_else(fresh);
    let completions = if ui.memory(|m| m.has_focus(id)) { completions(ui, source, id, &draft.text) } else { vec![] };
    let takes_first = !completions.is_empty() && ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, Key::Tab));
    let t = Tokens::of(ui.ctx());
    let ink = if draft.problem.is_some() { t.error } else { t.text };
    let field = TextEdit::singleline(&mut draft.text).id(id).hint_text("Choose or type a target").text_color(ink);
    let field = field.lock_focus(true).desired_width(ui.available_width()).clip_text(true);
    let response = ui.add(field).accessible_name(name);
    let chosen = if response.has_focus() { completions_ui(&response, &completions) } else { None };
    if let Some(completion) = chosen.or(takes_first.then_some(0)).and_then(|i| completions.get(i)) {
        accept(ui, id, &mut draft.text, completion);
    } else if response.lost_focus() && !ui.input(|i| i.key_pressed(Key::Escape)) {
        draft.problem = if draft.text.trim().is_empty() { None } else { source.check(&draft.text).err() };
        if draft.problem.is_none() {
            ui.data_mut(|d| d.remove::<Draft>(draft_id));
            return (draft.text != now).then_some(draft.text);
        }
    } else if response.lost_focus() {
        draft = fresh();
    }
    let is_kept = response.has_focus() || draft.text != now;
    ui.data_mut(|d| {
        if is_kept {
            d.insert_temp(draft_id, draft);
        } else {
            d.remove::<Draft>(draft_id);
        }
    });
    None
}

fn completions(ui: &Ui, source: &QuerySource<'_>, id: Id, text: &str) -> Vec<Completion> {
    let cursor = TextEditState::load(ui.ctx(), id).and_then(|s| s.cursor.char_range()).map(|c| c.primary.index.0);
    source.complete(text, cursor.unwrap_or_else(|| text.chars().count()))
}

fn completions_ui(field: &Response, completions: &[Completion]) -> Option<usize> {
    let mut chosen = None;
    if completions.is_empty() {
        return None;
    }
    let popup = Popup::from_response(field).id(field.id.with("completions")).open(true);
    popup.close_behavior(PopupCloseBehavior::IgnoreClicks).show(|ui| {
        ui.set_width(field.rect.width().max(220.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        for (i, completion) in completions.iter().enumerate() {
            ui.horizontal(|ui| {
                if ui.selectable_label(i == 0, RichText::new(&completion.text).monospace()).clicked() {
                    chosen = Some(i);
                }
                ui.label(widgets::sub(ui, text::first_line(&completion.hint)).small());
            });
        }
    });
    chosen
}

fn accept(ui: &Ui, id: Id, text: &mut String, completion: &Completion) {
    if text.get(completion.at.clone()).is_none() {
        return;
    }
    text.replace_range(completion.at.clone(), &format!("{} ", completion.text));
    let cursor = text[..completion.at.start + completion.text.len() + 1].chars().count();
    if let Some(mut state) = TextEditState::load(ui.ctx(), id) {
        state.cursor.set_char_range(Some(egui::text::CCursorRange::one(CCursor::new(cursor))));
        state.store(ui.ctx(), id);
    }
    ui.memory_mut(|m| m.request_focus(id));
}

/// Draws a menu of targets: the selection, all elements, named groups and categories. Returns the query of the picked
/// target; `None` without a click.
fn picker_ui(ui: &mut Ui, source: &QuerySource<'_>, title: &str) -> Option<String> {
    let button = widgets::icon_button(ui, icons::CROSSHAIR, &format!("Choose {title}"));
    let mut picked = None;
    Popup::menu(&button).show(|ui| {
        ui.set_min_width(180.0);
        let set = source.set().filter(|set| set.name == source.selection.set || source.selection.set.is_empty());
        let selected = set.map_or(&[][..], |set| source.selection.of(set.name));
        let label = match selected.len() {
            0 => "Current selection (nothing selected)".to_owned(),
            n => format!("Current selection ({})", text::count(n as u64)),
        };
        if ui.add_enabled(!selected.is_empty(), egui::Button::new(label)).clicked() {
            let individuals = &source.selection.individuals;
            picked = Some(query::of_individuals(individuals, set.map(|set| &**set), selected));
        }
        if ui.button("All").clicked() {
            picked = Some("all".to_owned());
        }
        for named in source.features.named.iter().filter(|n| !n.name.is_empty() && !n.query.trim().is_empty()) {
            if ui.button(&named.name).on_hover_text(text::first_line(&named.query)).clicked() {
                picked = Some(format!("in {}", query::quote(&named.name)));
            }
        }
        match source.set() {
            Some(set) => categories_ui(ui, set, &mut picked),
            None => drop(ui.label(widgets::sub(ui, "Run the model to list categories").small())),
        }
    });
    picked
}

fn categories_ui(ui: &mut Ui, set: &ElementSet, picked: &mut Option<String>) {
    if !set.columns.is_empty() {
        ui.separator();
    }
    for column in &set.columns {
        ui.menu_button(text::column(&column.name), |ui| {
            ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                for label in column.labels.iter().filter(|l| !l.is_empty()).take(MAX_LABELS) {
                    if ui.button(label.as_str()).clicked() {
                        *picked = Some(format!("{} = {}", query::quote(&column.name), query::quote(label)));
                        ui.close();
                    }
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::interventions;

    #[test]
    fn an_item_that_is_not_complete_is_disabled_and_enabled_when_it_is() {
        let mut model = crate::kinds::Model::default();
        let params = model.params_mut();
        let group = interventions::list(params, Role::Interventions).unwrap();
        add_item(params, group);
        let [on, target, effect, parameter] = [Role::Enabled, Role::Target, Role::Effect, Role::Parameter]
            .map(|role| ParamId::of(group, interventions::field(params, group, role).unwrap()));
        let text = |text: &str| Value::Text(text.to_owned());
        let sets =
            crate::app::document::interventions::effects(params).iter().position(|e| e.role == Role::SetsParameter);
        let edits = [
            (target, text("all"), true, "its first target enables it"),
            (on, Value::Bool(false), false, "by hand"),
            (target, text("idx = 3"), false, "an item disabled by the user stays disabled"),
            (on, Value::Bool(true), true, "by hand"),
            (target, text(""), false, "without its target it is disabled"),
            (target, text("all"), true, "again"),
            (effect, Value::Choice(sets.unwrap() as u16), false, "it has no parameter yet"),
            (parameter, text("lif.tau_m"), true, "a target is not needed"),
        ];
        assert_eq!(missing(params, group, 0).as_deref(), Some("Choose a target first"));
        assert_eq!(params.get(on), Value::Bool(false));
        for (id, value, is_enabled, why) in edits {
            set_value(params, &Change { id, value });
            assert_eq!(params.get(on), Value::Bool(is_enabled), "{why}");
        }
    }
}
