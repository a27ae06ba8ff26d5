//! Creates selections and interventions in the document from the selected elements. The lists are found by the roles
//! [`Role::Selections`] and [`Role::Interventions`].

use super::{items::item_name, selection::Selection, time::Span};
use crate::{
    engine::SimSchema,
    params::{Change, ChoiceSpec, ParamId, Params, Role, Value, ValueType, interventions},
    query::{self, Named},
};

pub use interventions::{field, list};

/// Intervention on the selected elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervention {
    Stimulate,
    Silence,
}

impl Intervention {
    /// Returns the roles of the effects of this intervention, preferred first.
    const fn effects(self) -> &'static [Role] {
        match self {
            Self::Stimulate => &[Role::Excites],
            Self::Silence => &[Role::Silences, Role::SilencesOutput],
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Stimulate => "Stimulate",
            Self::Silence => "Silence",
        }
    }
}

/// Returns the name of a set in the form that selections of the project contain; empty for the first set.
pub fn set_text<'a>(schema: &SimSchema, set: &'a str) -> &'a str {
    if schema.sets.first().is_none_or(|first| first.name == set) { "" } else { set }
}

/// Whether selected elements can be targets of interventions, which is the case for elements of the first set.
pub fn can_target(schema: &SimSchema, selection: &Selection) -> bool {
    schema.sets.first().is_none_or(|set| set.name == selection.set)
}

/// Adds the selected elements as a named selection, unless they were selected as a named group or a selection has this query
/// and set. Returns the name of the selection; `None` if the kind has no selections.
pub fn name_selection(params: &mut dyn Params, schema: &SimSchema, selection: &Selection) -> Option<String> {
    let group = list(params, Role::Selections)?;
    let over = set_text(schema, selection.set);
    if let Some(group) = group_of(params, schema, selection) {
        return Some(group);
    }
    let (name, query) = (field(params, group, Role::Name)?, field(params, group, Role::Query)?);
    let category = category(schema, selection);
    let (called, query_text) = match category {
        Some((column, label)) => (label.to_owned(), format!("{} = {}", query::quote(column), query::quote(label))),
        None => {
            let set = schema.set(selection.set).map(|set| &**set);
            (label(schema, selection), query::of_individuals(&selection.individuals, set, &selection.elements))
        }
    };
    let wanted = Value::Text(query_text);
    let read = |params: &dyn Params, item: usize, f: usize| params.get(at(group, item, f));
    for item in 0..params.len(group as u8) {
        let is_same = read(params, item, query) == wanted && set_of(params, group, item) == over;
        if let (true, Value::Text(known)) = (is_same, read(params, item, name)) {
            return Some(known);
        }
    }
    let item = params.len(group as u8);
    let text = free_name(params, group, name, &called);
    params.push(group as u8);
    params.set(&Change { id: at(group, item, name), value: Value::Text(text.clone()) });
    params.set(&Change { id: at(group, item, query), value: wanted });
    put_set(params, group, item, over);
    Some(text)
}

/// Returns the name of the group that was selected; `None` if the elements were selected in another way, or the project has
/// no such group any more.
pub fn group_of(params: &dyn Params, schema: &SimSchema, selection: &Selection) -> Option<String> {
    let name = selection.group.as_ref()?;
    let over = set_text(schema, selection.set);
    let is_it = |group: &Named| group.name == *name && group.set.trim() == over;
    named(params).iter().any(is_it).then(|| name.clone())
}

/// Returns the set that a selection names; empty for the first set.
pub fn set_of(params: &dyn Params, group: usize, item: usize) -> String {
    match field(params, group, Role::OverSet).map(|f| params.get(at(group, item, f))) {
        Some(Value::Text(text)) => text.trim().to_owned(),
        _ => String::new(),
    }
}

fn put_set(params: &mut dyn Params, group: usize, item: usize, over: &str) {
    if let Some(f) = field(params, group, Role::OverSet).filter(|_| !over.is_empty()) {
        params.set(&Change { id: at(group, item, f), value: Value::Text(over.to_owned()) });
    }
}

/// Returns the column and the label if the selected elements are exactly those of one category; `None` otherwise or for fewer
/// than two elements.
fn category<'a>(schema: &'a SimSchema, selection: &Selection) -> Option<(&'a str, &'a str)> {
    let set = schema.set(selection.set)?;
    let [first, _, ..] = selection.elements.as_slice() else { return None };
    set.columns.iter().find_map(|column| {
        let code = *column.codes.get(*first as usize)?;
        let has_it = |element: &u32| column.codes.get(*element as usize) == Some(&code);
        let label = column.labels.get(usize::from(code)).filter(|label| !label.is_empty())?;
        let n = || column.codes.iter().filter(|c| **c == code).count();
        let is_all = selection.elements.iter().all(has_it) && n() == selection.elements.len();
        is_all.then_some((column.name.as_str(), label.as_str()))
    })
}

/// Adds an intervention on the selected elements. Returns its name; `None` if the kind has no such effect or the elements
/// cannot be targets.
pub fn add(
    params: &mut dyn Params,
    schema: &SimSchema,
    selection: &Selection,
    intervention: Intervention,
) -> Option<String> {
    let choices = effects(params);
    let choice = intervention.effects().iter().find_map(|e| choices.iter().position(|c| c.role == *e))?;
    add_effect(params, schema, selection, choice as u16, intervention.verb())
}

/// Whether the kind has an effect for this intervention.
pub fn can(params: &dyn Params, intervention: Intervention) -> bool {
    effects(params).iter().any(|choice| intervention.effects().contains(&choice.role))
}

/// Returns the effects that an intervention can have; empty if the kind has no interventions.
pub fn effects(params: &dyn Params) -> &'static [ChoiceSpec] {
    let spec = list(params, Role::Interventions).and_then(|g| Some((g, field(params, g, Role::Effect)?)));
    match spec.map(|(g, f)| params.groups()[g].params[f].kind) {
        Some(ValueType::Choice(choices)) => choices,
        _ => &[],
    }
}

/// Adds an intervention with the effect at index `choice` on the selected elements. Returns its name; `None` if the elements
/// cannot be targets.
pub fn add_effect(
    params: &mut dyn Params,
    schema: &SimSchema,
    selection: &Selection,
    choice: u16,
    verb: &str,
) -> Option<String> {
    let target_name =
        Some(selection).filter(|s| can_target(schema, s)).and_then(|s| name_selection(params, schema, s))?;
    let group = list(params, Role::Interventions)?;
    let effect = field(params, group, Role::Effect)?;
    let (name, target) = (field(params, group, Role::Name)?, field(params, group, Role::Target)?);
    let item = params.len(group as u8);
    let text = free_name(params, group, name, &format!("{verb} {target_name}"));
    params.push(group as u8);
    params.set(&Change { id: at(group, item, name), value: Value::Text(text.clone()) });
    params.set(&Change { id: at(group, item, target), value: Value::Text(target_name) });
    params.set(&Change { id: at(group, item, effect), value: Value::Choice(choice) });
    // New items are disabled if they have no target yet; this item has one.
    if let Some(enabled) = field(params, group, Role::Enabled) {
        params.set(&Change { id: at(group, item, enabled), value: Value::Bool(true) });
    }
    Some(text)
}

/// Returns the named selections of the project.
pub fn named(params: &dyn Params) -> Vec<Named> {
    interventions::selections(params).into_iter().map(Named::from).collect()
}

/// Adds a named selection over a set ([`set_text`]). Returns its name; `None` if the kind has no selections.
pub fn add_set(params: &mut dyn Params, query: &str, preferred: &str, over: &str) -> Option<String> {
    let group = list(params, Role::Selections)?;
    let (name, query_field) = (field(params, group, Role::Name)?, field(params, group, Role::Query)?);
    let item = params.len(group as u8);
    let text = free_name(params, group, name, preferred);
    params.push(group as u8);
    params.set(&Change { id: at(group, item, name), value: Value::Text(text.clone()) });
    params.set(&Change { id: at(group, item, query_field), value: Value::Text(query.to_owned()) });
    put_set(params, group, item, over);
    Some(text)
}

fn at(group: usize, item: usize, field: usize) -> ParamId {
    ParamId { item: item as u16, ..ParamId::of(group, field) }
}

/// Formats the selected elements: one element by its label, several by their count.
pub fn label(schema: &SimSchema, selection: &Selection) -> String {
    match selection.elements.as_slice() {
        [slot] if !selection.individuals.is_empty() => format!("Individual {}, slot {slot}", selection.individuals[0]),
        [one] => schema.set(selection.set).map_or_else(|| format!("#{one}"), |set| set.label(*one)),
        many => {
            let noun = schema.set(selection.set).map_or_else(|| selection.set.into(), |set| set.noun());
            crate::app::kit::text::counted(many.len() as u64, &noun)
        }
    }
}

/// Formats a title with the selected group, and the number of selected individuals that have ended: `sugar · 3 nuclei · 5
/// ended`.
pub fn title(schema: &SimSchema, selection: &Selection) -> String {
    let label = match &selection.group {
        Some(group) => format!("{group} · {}", label(schema, selection)),
        None => label(schema, selection),
    };
    match selection.n_ended {
        0 => label,
        n => format!("{label} · {} ended", crate::app::kit::text::count(n as u64)),
    }
}

fn free_name(params: &dyn Params, group: usize, field: usize, preferred: &str) -> String {
    let taken = |name: &str| {
        (0..params.len(group as u8)).any(|i| params.get(at(group, i, field)) == Value::Text(name.to_owned()))
    };
    let mut names = std::iter::once(preferred.to_owned()).chain((2..).map(|n| format!("{preferred} ({n})")));
    names.find(|n| !taken(n)).unwrap_or_default()
}

/// Returns the spans of the enabled interventions with valid times; `per_step` is
/// [`TimeBase::per_step`](crate::sim::TimeBase::per_step).
pub fn spans(params: &dyn Params, per_step: f64) -> Vec<Span> {
    let span = |v: interventions::Intervention<'_>| {
        let when = v.schedule(per_step).ok()?;
        Some(Span {
            label: item_name(params, v.group, v.item),
            from: when.from as f64,
            to: if when.to == u64::MAX { f64::INFINITY } else { when.to as f64 },
            since: 0.0,
            pulses: when.pulses.map(|(every, on)| (every as f64, on as f64)),
            is_lesion: v.role().is_lesion(),
        })
    };
    interventions::Intervention::all(params).filter(|v| v.is_enabled()).filter_map(span).collect()
}

/// Returns the names of the disabled interventions that stimulate.
pub fn disabled_stimuli(params: &dyn Params) -> Vec<String> {
    let all = interventions::Intervention::all(params).filter(|v| !v.is_enabled() && !v.role().is_lesion());
    all.map(|v| item_name(params, v.group, v.item)).collect()
}

/// Returns the choice that is the value of a parameter; `None` if the parameter has another type.
pub fn choice(params: &dyn Params, id: ParamId) -> Option<&'static ChoiceSpec> {
    match (params.spec(id)?.kind, params.get(id)) {
        (ValueType::Choice(choices), Value::Choice(c)) => choices.get(usize::from(c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn selected(elements: &[u32]) -> Selection {
        Selection { set: "neurons", elements: Arc::new(elements.to_vec()), ..Selection::default() }
    }

    #[test]
    fn only_disabled_stimuli_are_listed_as_disabled() {
        let mut project = crate::project::Project::default();
        let params = project.model.params_mut();
        let (group, schema) = (list(params, Role::Interventions).unwrap(), SimSchema::default());
        let n = params.len(group as u8);
        add(params, &schema, &selected(&[3]), Intervention::Stimulate);
        add(params, &schema, &selected(&[4]), Intervention::Silence);
        let before = disabled_stimuli(params);
        let enabled = field(params, group, Role::Enabled).unwrap();
        for item in [n, n + 1] {
            params.set(&Change { id: at(group, item, enabled), value: Value::Bool(false) });
        }
        let disabled = disabled_stimuli(params);
        assert_eq!(disabled.len(), before.len() + 1, "a silencing is no stimulus: {disabled:?}");
    }

    #[test]
    fn a_stimulus_names_its_target_once() {
        let mut project = crate::project::Project::default();
        let params = project.model.params_mut();
        let (group, schema) = (list(params, Role::Interventions).unwrap(), SimSchema::default());
        let two = selected(&[3, 4]);
        let added = add(params, &schema, &two, Intervention::Stimulate);
        assert_eq!(added.as_deref(), Some("Stimulate 2 neurons"));
        add(params, &schema, &two, Intervention::Silence);
        assert_eq!(params.len(group as u8), 2);
        assert_eq!(params.len(list(params, Role::Selections).unwrap() as u8), 1);
        let to = field(params, group, Role::Stop).unwrap();
        params.set(&Change { id: at(group, 1, to), value: Value::Real(250.0) });
        let spans = spans(params, 1e-4);
        assert_eq!(
            spans.iter().map(|s| (s.to, s.is_lesion)).collect::<Vec<_>>(),
            [(f64::INFINITY, false), (2_500.0, true)]
        );
        assert!(!spans[0].is_bounded() && spans[0].label == "Stimulate 2 neurons");
        let name = field(params, group, Role::Name).unwrap();
        params.set(&Change { id: at(group, 1, name), value: Value::Text(String::new()) });
        let unnamed = super::spans(params, 1e-4)[1].label.clone();
        assert_eq!(unnamed, item_name(params, group, 1), "without a name, as in the inspector and the tree");
        assert_eq!(unnamed, "Stimulus 2");
    }

    #[test]
    fn a_named_group_is_silenced_by_its_name() {
        let mut project = crate::project::Project::default();
        let (params, schema) = (project.model.params_mut(), SimSchema::default());
        add_set(params, "idx < 3", "first three", "").expect("a group");
        let mut selection = Selection { set: "neurons", ..Selection::default() };
        selection.select_group("first three".into(), "neurons", vec![0, 1, 2], 0);
        assert_eq!(add(params, &schema, &selection, Intervention::Silence).as_deref(), Some("Silence first three"));
        let group = list(params, Role::Interventions).expect("interventions");
        let target = field(params, group, Role::Target).expect("a target");
        assert_eq!(params.get(at(group, 0, target)), Value::Text("first three".into()));
        assert_eq!(named(params).len(), 1, "no list of the present elements");
        selection.toggle("neurons", 7);
        assert_eq!(group_of(params, &schema, &selection), None, "another selection");
        selection.select_group("gone".into(), "neurons", vec![0], selection.generation);
        assert_eq!(group_of(params, &schema, &selection), None);
    }

    #[test]
    fn a_whole_category_is_named_and_queried_by_its_label() {
        use crate::sim::{Column, ElementSet};
        let column =
            Column::from_texts("super_class", &["motor", "visual_centrifugal", "visual_centrifugal", "motor", "motor"]);
        let set = ElementSet { name: "neurons", len: 5, columns: vec![column], ..ElementSet::default() };
        let schema = SimSchema { sets: vec![Arc::new(set)], ..SimSchema::default() };
        let mut project = crate::project::Project::default();
        let params = project.model.params_mut();
        let name = name_selection(params, &schema, &selected(&[1, 2]));
        assert_eq!(name.as_deref(), Some("visual_centrifugal"));
        assert_eq!(named(params)[0].query, "super_class = visual_centrifugal");
        assert_eq!(
            name_selection(params, &schema, &selected(&[0, 3])).as_deref(),
            Some("2 neurons"),
            "only some of them"
        );
    }
}
