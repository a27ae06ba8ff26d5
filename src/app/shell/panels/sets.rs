//! Named selections in the project tree: element count, click to select, F2 to rename, Delete to remove, colour.

use super::tree::leaf;
use crate::{
    app::{
        document::{filter::QueryContext, interventions},
        kit::{colors, icons, level::Level, pool::PooledResult, text, theme::Tokens, widgets},
        shell::App,
    },
    params::{Change, ParamId, Params, Role, Value, ValueType},
    project::{record, record_selection},
    query::{self, Named, Query},
    sim::Shape,
};
use egui::{Key, RichText, TextEdit, Ui};

/// Element count of each selection, or the error of its query.
type Counts = Vec<Result<u32, String>>;

/// State of the selections in the tree.
#[derive(Default)]
pub struct Sets {
    counts: PooledResult<(Vec<Named>, Vec<usize>, u64), Counts>,
    /// The item being renamed, and the typed name.
    renaming: Option<(usize, String)>,
    /// The item clicked last: target of F2 and Delete.
    chosen: Option<usize>,
    /// The names of the selections in the last frame.
    names: Vec<String>,
}

impl Sets {
    /// Whether a selection is chosen.
    pub fn is_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Clears the choice.
    pub fn forget(&mut self) {
        self.chosen = None;
    }
}

enum SetAction {
    Select,
    Rename,
    Delete,
    Edit,
    Recolor(Option<u8>),
    /// Record this probe of its elements, or no longer.
    Record(&'static str, bool),
}

/// Draws one selection.
pub fn row_ui(ui: &mut Ui, app: &mut App, group: usize, item: usize) {
    if item == 0 {
        count(ui, app);
    }
    if app.panels.sets.renaming.as_ref().is_some_and(|(i, _)| *i == item) {
        return rename_ui(ui, app, group, item);
    }
    let name = crate::app::document::items::item_name(app.document.session.project.model.params(), group, item);
    let count = app.panels.sets.counts.get().and_then(|c| c.get(item).cloned());
    let t = Tokens::of(ui.ctx());
    let color = app.document.session.project.view.colors.get(&name).copied();
    let response = leaf(ui, icons::SELECTION, &name, true, |ui| match &count {
        Some(Ok(n)) => drop(ui.label(widgets::sub(ui, text::count((*n).into())).monospace().size(11.0))),
        Some(Err(_)) => drop(ui.label(icons::rich(icons::WARNING).color(t.warn))),
        None => {}
    });
    if let Some(color) = color {
        let at = response.rect.left_center() + egui::vec2(12.0, 0.0);
        ui.painter().circle_filled(at, 3.5, colors::categorical(usize::from(color.max(1) - 1), &t));
    }
    let query = query_of(app.document.session.project.model.params(), item);
    let hint = match count {
        Some(Err(why)) => why,
        _ => query,
    };
    let mut action = response.clicked().then_some(SetAction::Select);
    if response.double_clicked() {
        action = Some(SetAction::Rename);
    }
    if app.panels.sets.chosen == Some(item) && response.contains_pointer() && !ui.ctx().text_edit_focused() {
        let pressed = |key| ui.input(|i| i.key_pressed(key));
        action = if pressed(Key::F2) { Some(SetAction::Rename) } else { action };
        action = if pressed(Key::Delete) { Some(SetAction::Delete) } else { action };
    }
    response.context_menu(|ui| {
        action = menu_ui(ui, &name, color, &t).or_else(|| record_ui(ui, app, &name)).or(action.take());
    });
    response.on_hover_text(hint);
    if let Some(action) = action {
        app.panels.sets.chosen = Some(item);
        act(app, group, item, &name, action);
    }
}

fn menu_ui(ui: &mut Ui, name: &str, color: Option<u8>, t: &Tokens) -> Option<SetAction> {
    let mut action = None;
    ui.label(RichText::new(name).strong());
    ui.separator();
    for (word, what) in [
        ("Select", SetAction::Select),
        ("Rename (F2)", SetAction::Rename),
        ("Edit the query…", SetAction::Edit),
        ("Delete (Del)", SetAction::Delete),
    ] {
        if ui.button(word).clicked() {
            action = Some(what);
        }
    }
    ui.menu_button("Colour", |ui| {
        if ui.radio(color.is_none(), "None").clicked() {
            action = Some(SetAction::Recolor(None));
        }
        for number in 1..=t.categorical.len() as u8 {
            let response = ui.radio(color == Some(number), format!("      Colour {number}"));
            let at = response.rect.left_center() + egui::vec2(26.0, 0.0);
            ui.painter().circle_filled(at, 5.0, colors::categorical(usize::from(number) - 1, t));
            if response.clicked() {
                action = Some(SetAction::Recolor(Some(number)));
                ui.close();
            }
        }
    });
    action
}

/// Probes of single elements: records them for the elements of a selection.
fn record_ui(ui: &mut Ui, app: &App, name: &str) -> Option<SetAction> {
    let schema = &app.document.session.live.schema;
    let over = app.document.session.features().set_named(schema, name)?.name;
    let probes: Vec<_> = schema.probes.iter().filter(|p| p.shape == Shape::Series { of: over }).collect();
    if probes.is_empty() {
        return None;
    }
    let mut action = None;
    ui.menu_button("Record", |ui| {
        for probe in probes {
            let entry = record_selection(probe.name, name);
            let mut on = app.document.session.project.record.contains(&entry);
            let hint = format!("Records {} of the elements of this selection, one by one", probe.label());
            if ui.checkbox(&mut on, probe.label()).on_hover_text(hint).changed() {
                action = Some(SetAction::Record(probe.name, on));
            }
        }
    });
    action
}

fn act(app: &mut App, group: usize, item: usize, name: &str, action: SetAction) {
    if let SetAction::Record(probe, on) = action {
        let record = &mut app.document.session.project.record;
        record.retain(|entry| record::probe_of(entry) != probe);
        record.extend(on.then(|| record_selection(probe, name)));
        return;
    }
    let params = app.document.session.project.model.params_mut();
    match action {
        SetAction::Select => app.select_set(name),
        SetAction::Rename => app.panels.sets.renaming = Some((item, name.to_owned())),
        SetAction::Delete => {
            crate::app::document::items::remove_item(params, group, item);
            app.document.session.project.view.set_color(name, None);
            app.panels.sets.chosen = None;
        }
        SetAction::Edit => {
            app.panels.open.inspector = true;
            app.panels.inspector.show_group(params.groups()[group].name);
        }
        SetAction::Recolor(color) => app.document.session.project.view.set_color(name, color),
        SetAction::Record(..) => {}
    }
}

fn rename_ui(ui: &mut Ui, app: &mut App, group: usize, item: usize) {
    let Some((_, typed)) = &mut app.panels.sets.renaming else { return };
    let field = TextEdit::singleline(typed).desired_width(f32::INFINITY);
    let response = ui.add(field).accessible_name("Selection name");
    let is_cancelled = ui.input(|i| i.key_pressed(Key::Escape));
    if !response.lost_focus() && !is_cancelled {
        response.request_focus();
        return;
    }
    let Some((_, typed)) = app.panels.sets.renaming.take() else { return };
    if is_cancelled || typed.trim().is_empty() {
        return;
    }
    if let Err(why) = rename(app.document.session.project.model.params_mut(), group, item, typed.trim()) {
        app.messages.notify(Level::Warning, why);
    }
}

/// Renames a selection, also in every query that names it.
fn rename(params: &mut dyn Params, group: usize, item: usize, new: &str) -> Result<(), String> {
    let sets = interventions::named(params);
    let Some(old) = sets.get(item).map(|s| s.name.clone()).filter(|old| old != new) else { return Ok(()) };
    if sets.iter().any(|s| s.name == new) {
        return Err(format!("The name “{new}” is already used"));
    }
    let queries: Vec<ParamId> =
        params.ids().into_iter().filter(|id| params.spec(*id).is_some_and(|s| s.kind == ValueType::Query)).collect();
    for id in queries {
        if let Value::Text(text) = params.get(id)
            && let Some(text) = renamed(&text, &old, new)
        {
            params.set(&Change { id, value: Value::Text(text) });
        }
    }
    if let Some(f) = interventions::field(params, group, Role::Name) {
        let id = ParamId { item: item as u16, ..ParamId::of(group, f) };
        params.set(&Change { id, value: Value::Text(new.to_owned()) });
    }
    Ok(())
}

/// A query with a selection renamed; `None` when it does not name it.
fn renamed(text: &str, old: &str, new: &str) -> Option<String> {
    if !old.is_empty() && text.trim() == old {
        return Some(new.to_owned());
    }
    let mut places = Vec::new();
    named_in(&query::parse(text).ok()?, old, &mut places);
    let mut out = text.to_owned();
    places.sort_by_key(|at| std::cmp::Reverse(at.start));
    places.iter().for_each(|at| out.replace_range(at.clone(), &query::quote(new)));
    (!places.is_empty()).then_some(out)
}

fn named_in(query: &Query, name: &str, out: &mut Vec<std::ops::Range<usize>>) {
    match query {
        Query::Set(word) if word.text == name => out.push(word.at.clone()),
        Query::All | Query::Set(_) | Query::Test(..) => {}
        Query::Not(of) | Query::Choose { of, .. } | Query::Linked { of, .. } => named_in(of, name, out),
        Query::And(all) | Query::Or(all) => all.iter().for_each(|of| named_in(of, name, out)),
    }
}

fn query_of(params: &dyn Params, item: usize) -> String {
    interventions::named(params).get(item).map(|s| text::first_line(&s.query)).unwrap_or_default()
}

/// Counts the elements of the selections on the thread pool when they have changed.
fn count(ui: &Ui, app: &mut App) {
    let schema = &app.document.session.live.schema;
    let features = app.document.session.features();
    let sets = schema.sets.iter().map(|set| std::sync::Arc::as_ptr(set) as usize).collect::<Vec<_>>();
    if sets.is_empty() {
        return;
    }
    let key = (features.named.to_vec(), sets, features.seed);
    app.panels.sets.counts.poll();
    if !app.panels.sets.counts.is_stale(&key) {
        return;
    }
    let schema = &app.document.session.live.schema;
    let of = |set| QueryContext::new(schema, &features, std::sync::Arc::clone(set), &Default::default());
    let asked: Vec<_> = schema.sets.iter().map(|set| (set.name, of(set))).collect();
    let named = features.named.clone();
    app.panels.sets.counts.want(ui.ctx(), key, move |progress| {
        let count = |s: &Named| {
            let is_own = |(i, (set, _)): &(usize, &(&str, QueryContext))| s.is_over(set, *i == 0);
            let own = asked.iter().enumerate().find(is_own).ok_or_else(|| format!("there is no set `{}`", s.set))?;
            let found = own.1.1.with(|known| known.select(&s.query));
            found.map(|f| f.len() as u32).map_err(|wrong| wrong.of(&s.query))
        };
        let counts = named.iter().map(|s| if progress.is_cancelled() { Ok(0) } else { count(s) }).collect();
        (!progress.is_cancelled()).then_some(counts)
    });
}

impl App {
    /// Keeps the colour of a selection that was renamed in this frame, wherever that was.
    pub(crate) fn follow_selection_names(&mut self) {
        let params = self.document.session.project.model.params();
        let Some(group) = interventions::list(params, Role::Selections) else { return };
        let n = params.len(group as u8);
        let names: Vec<String> =
            (0..n).map(|item| crate::app::document::items::item_name(params, group, item)).collect();
        if names == self.panels.sets.names {
            return;
        }
        let old = std::mem::replace(&mut self.panels.sets.names, names);
        let mut differing = old.iter().zip(&self.panels.sets.names).filter(|(a, b)| a != b);
        if let (true, Some((was, is)), None) =
            (old.len() == self.panels.sets.names.len(), differing.next(), differing.next())
        {
            self.document.session.project.view.rename(was, is);
            for entry in &mut self.document.session.project.record {
                if let Some(query) = record::query_of(entry).and_then(|query| renamed(query, was, is)) {
                    *entry = record::with_query(entry, &query);
                }
            }
        }
    }

    /// Selects the elements of a named selection.
    pub(crate) fn select_set(&mut self, name: &str) {
        let (schema, features) = (&self.document.session.live.schema, self.document.session.features());
        let Some(set) = features.set_named(schema, name).cloned() else { return };
        let over = set.name;
        let asked = QueryContext::new(schema, &features, set, &Default::default());
        let query = format!("in {}", query::quote(name));
        let asked_at = self.document.session.selection.generation;
        let find = move || asked.with(|known| known.select(&query)).map_err(|wrong| wrong.of(&query));
        self.job("select", find, move |app, found| match found {
            Ok(elements) => app.document.session.selection.replace_late(over, elements, asked_at),
            Err(why) => app.messages.notify(Level::Error, format!("Could not select: {why}")),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renaming_changes_all_queries() {
        assert_eq!(renamed("sugar", "sugar", "Sugar GRNs").as_deref(), Some("Sugar GRNs"));
        let both = "in sugar and (side = sugar or downstream of sugar >= 5)";
        let want = "in \"Sugar GRNs\" and (side = sugar or downstream of \"Sugar GRNs\" >= 5)";
        assert_eq!(renamed(both, "sugar", "Sugar GRNs").as_deref(), Some(want));
        assert_eq!(renamed("class = sugar", "sugar", "x"), None);
        let mut model = crate::kinds::Model::default();
        let params = model.params_mut();
        interventions::add_set(params, "class = gustatory", "sugar", "");
        interventions::add_set(params, "in sugar and side = left", "left sugar", "");
        let group = interventions::list(params, Role::Selections).unwrap();
        assert_eq!(rename(params, group, 0, "sweet"), Ok(()));
        let named = interventions::named(params);
        assert_eq!((named[0].name.as_str(), named[1].query.as_str()), ("sweet", "in sweet and side = left"));
        assert!(rename(params, group, 0, "left sugar").is_err());
    }
}
