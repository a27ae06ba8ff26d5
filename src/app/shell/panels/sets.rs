//! Named selections in the project tree: element count, selection by click, renaming by F2, deletion by Delete, colour.

use super::tree::leaf;
use crate::{
    app::{
        document::{experiment::edit, filter::QueryContext, graph, interventions, items, session::Session},
        kit::{colors, icons, level::Level, pool::PooledResult, text, theme::Tokens, widgets},
        shell::queue::{Queue, ShellRequest},
        views::ViewRequest,
    },
    experiment::changes::can_silence,
    params::{Change, ParamId, Params, Role, Value, ValueType},
    project::{record, record_selection},
    query::{self, Named, Query},
    sim::Shape,
};
use egui::{Key, RichText, TextEdit, Ui};

/// Element count of each selection, or the error of its query.
type Counts = Vec<Result<u32, String>>;

/// State of the named selections in the tree.
#[derive(Default)]
pub struct Sets {
    counts: PooledResult<(Vec<Named>, Vec<usize>, u64), Counts>,
    /// Item that is being renamed, and the typed name; `None` if no item is being renamed.
    renaming: Option<(usize, String)>,
    /// Last clicked item, to which F2 and Delete apply; `None` if no item is chosen.
    chosen: Option<usize>,
    /// Names of the selections in the last frame.
    names: Vec<String>,
}

impl Sets {
    /// Whether a named selection is chosen.
    pub fn is_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Clears the choice of a named selection.
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
    /// Adds a condition to the experiment in which the elements are silenced; `true`: one per element.
    Condition(bool),
    /// Starts (`true`) or stops recording this probe of the selection's elements.
    Record(&'static str, bool),
}

/// Draws the row of a named selection.
pub fn row_ui(ui: &mut Ui, session: &mut Session, sets: &mut Sets, (group, item): (usize, usize), queue: &mut Queue) {
    if item == 0 {
        count(ui, session, sets);
    }
    if sets.renaming.as_ref().is_some_and(|(i, _)| *i == item) {
        return rename_ui(ui, session, sets, (group, item), queue);
    }
    let name = items::item_name(session.project.model.params(), group, item);
    let count = sets.counts.get().and_then(|c| c.get(item).cloned());
    let t = Tokens::of(ui.ctx());
    let color = session.project.view.colors.get(&name).copied();
    let response = leaf(ui, icons::SELECTION, &name, true, |ui| match &count {
        Some(Ok(n)) => drop(ui.label(widgets::sub(ui, text::count((*n).into())).monospace().size(11.0))),
        Some(Err(_)) => drop(ui.label(icons::rich(icons::WARNING).color(t.warn))),
        None => {}
    });
    if let Some(color) = color {
        let at = response.rect.left_center() + egui::vec2(12.0, 0.0);
        ui.painter().circle_filled(at, 3.5, colors::categorical(usize::from(color.max(1) - 1), &t));
    }
    let query = query_of(session.project.model.params(), item);
    let hint = match count {
        Some(Err(why)) => why,
        _ => query,
    };
    let mut action = response.clicked().then_some(SetAction::Select);
    if response.double_clicked() {
        action = Some(SetAction::Rename);
    }
    if sets.chosen == Some(item) && response.contains_pointer() && !ui.ctx().text_edit_focused() {
        let pressed = |key| ui.input(|i| i.key_pressed(key));
        action = if pressed(Key::F2) { Some(SetAction::Rename) } else { action };
        action = if pressed(Key::Delete) { Some(SetAction::Delete) } else { action };
    }
    response.context_menu(|ui| {
        let chosen = menu_ui(ui, &name, color, &t).or_else(|| record_ui(ui, session, &name));
        action = chosen.or_else(|| conditions_ui(ui, session)).or(action.take());
    });
    response.on_hover_text(hint);
    if let Some(action) = action {
        sets.chosen = Some(item);
        act(session, sets, (group, item), &name, action, queue);
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

/// Draws the entries that add conditions to the experiment. Returns the chosen one; `None` without a choice.
fn conditions_ui(ui: &mut Ui, session: &Session) -> Option<SetAction> {
    if !can_silence(session.project.model.params()) {
        return None;
    }
    let mut action = None;
    for (word, hint, is_each) in [
        ("Silence in a condition", "Adds a condition to the experiment in which the group is silenced", false),
        ("Silence each…", "Adds a condition per element of the group to the experiment", true),
    ] {
        if ui.button(word).on_hover_text(hint).clicked() {
            action = Some(SetAction::Condition(is_each));
        }
    }
    action
}

/// Draws a menu of the probes that can be recorded for the elements of a selection. Returns the chosen change; `None`
/// without a choice.
fn record_ui(ui: &mut Ui, session: &Session, name: &str) -> Option<SetAction> {
    let schema = &session.live.schema;
    let over = session.features().set_named(schema, name)?.name;
    let probes: Vec<_> = schema.probes.iter().filter(|p| p.shape == Shape::Series { of: over }).collect();
    if probes.is_empty() {
        return None;
    }
    let mut action = None;
    ui.menu_button("Record", |ui| {
        for probe in probes {
            let entry = record_selection(probe.name, name);
            let mut on = session.project.record.contains(&entry);
            let hint = format!("Records {} of each of the {} of this group", probe.label(), text::spaced(over));
            if ui.checkbox(&mut on, probe.label()).on_hover_text(hint).changed() {
                action = Some(SetAction::Record(probe.name, on));
            }
        }
    });
    action
}

fn act(
    session: &mut Session,
    sets: &mut Sets,
    (group, item): (usize, usize),
    name: &str,
    action: SetAction,
    queue: &mut Queue,
) {
    if let SetAction::Record(probe, on) = action {
        let record = &mut session.project.record;
        record.retain(|entry| record::probe_of(entry) != probe);
        record.extend(on.then(|| record_selection(probe, name)));
        return;
    }
    if let SetAction::Condition(is_each) = action {
        let set = interventions::set_of(session.project.model.params(), group, item);
        let rule = if is_each { edit::silence_each(name, &set) } else { edit::silence(name, name) };
        return queue.ask(ShellRequest::View(ViewRequest::AddConditions(rule)));
    }
    let params = session.project.model.params_mut();
    match action {
        SetAction::Select => queue.ask(ShellRequest::SelectNamed(name.to_owned())),
        SetAction::Rename => sets.renaming = Some((item, name.to_owned())),
        SetAction::Delete => {
            graph::edit::remove(params, (group, item));
            session.project.view.set_color(name, None);
            sets.chosen = None;
        }
        SetAction::Edit => queue.ask(ShellRequest::ShowGroup(params.groups()[group].name)),
        SetAction::Recolor(color) => session.project.view.set_color(name, color),
        SetAction::Record(..) | SetAction::Condition(_) => {}
    }
}

fn rename_ui(ui: &mut Ui, session: &mut Session, sets: &mut Sets, (group, item): (usize, usize), queue: &mut Queue) {
    let Some((_, typed)) = &mut sets.renaming else { return };
    let field = TextEdit::singleline(typed).desired_width(f32::INFINITY);
    let response = ui.add(field).accessible_name("Selection name");
    let is_cancelled = ui.input(|i| i.key_pressed(Key::Escape));
    if !response.lost_focus() && !is_cancelled {
        response.request_focus();
        return;
    }
    let Some((_, typed)) = sets.renaming.take() else { return };
    if is_cancelled || typed.trim().is_empty() {
        return;
    }
    if let Err(why) = rename(session.project.model.params_mut(), group, item, typed.trim()) {
        queue.ask(ShellRequest::Notify(Level::Warning, why));
    }
}

/// Renames a selection, and the selection's name in every query. Fails if another selection has the new name.
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

/// Returns a query with a selection renamed; `None` if the query does not name it or is invalid.
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

/// Counts the elements of the selections on the pool if they have changed.
fn count(ui: &Ui, session: &Session, counted: &mut Sets) {
    let schema = &session.live.schema;
    let features = session.features();
    let sets = schema.sets.iter().map(|set| std::sync::Arc::as_ptr(set) as usize).collect::<Vec<_>>();
    if sets.is_empty() {
        return;
    }
    let key = (features.named.to_vec(), sets, features.seed);
    counted.counts.poll();
    if !counted.counts.is_stale(&key) {
        return;
    }
    let schema = &session.live.schema;
    let of = |set| QueryContext::new(schema, &features, std::sync::Arc::clone(set), &Default::default());
    let asked: Vec<_> = schema.sets.iter().map(|set| (set.name, of(set))).collect();
    let named = features.named.clone();
    counted.counts.want(ui.ctx(), key, move |progress| {
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

/// Updates the colour, the selected group and the recorded probes of a selection that was renamed in this frame by any widget.
pub fn follow_names(session: &mut Session, sets: &mut Sets) {
    let params = session.project.model.params();
    let Some(group) = interventions::list(params, Role::Selections) else { return };
    let n = params.len(group as u8);
    let names: Vec<String> = (0..n).map(|item| items::item_name(params, group, item)).collect();
    if names == sets.names {
        return;
    }
    let old = std::mem::replace(&mut sets.names, names);
    let mut differing = old.iter().zip(&sets.names).filter(|(a, b)| a != b);
    if let (true, Some((was, is)), None) = (old.len() == sets.names.len(), differing.next(), differing.next()) {
        session.project.view.rename(was, is);
        if session.selection.group.as_ref() == Some(was) {
            session.selection.group = Some(is.clone());
        }
        for entry in &mut session.project.record {
            if let Some(query) = record::query_of(entry).and_then(|query| renamed(query, was, is)) {
                *entry = record::with_query(entry, &query);
            }
        }
        if let Some(experiment) = &mut session.project.experiment {
            experiment.map_queries(&|query| renamed(query, was, is));
        }
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
