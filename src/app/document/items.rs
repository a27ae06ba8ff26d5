//! Items of list groups, and groups that were chosen before.

use crate::params::{
    Change, GroupSpec, ParamId, ParamSpec, Params, Role, Value, ValueType, interventions::Intervention,
};
use std::collections::BTreeMap;

/// The label of a list item in all of the window: its name, else the list's noun and its number.
pub fn item_name(params: &dyn Params, group: usize, item: usize) -> String {
    let spec = params.groups()[group];
    let name = spec.fields().iter().position(|p| p.role == Role::Name);
    let value = name.map(|f| params.get(ParamId { item: item as u16, ..ParamId::of(group, f) }));
    match value {
        Some(Value::Text(text)) if !text.is_empty() => text,
        _ => setting(params, group, item).unwrap_or_else(|| format!("{} {}", item_noun(spec), item + 1)),
    }
}

/// What an intervention sets: `phases.coupling = 0`.
fn setting(params: &dyn Params, group: usize, item: usize) -> Option<String> {
    let intervention = Intervention::of(params, group, item).filter(|v| v.role() == Role::SetsParameter)?;
    let parameter = intervention.text(Role::Parameter);
    (!parameter.is_empty()).then(|| format!("{parameter} = {}", intervention.text(Role::ParameterValue)))
}

/// The noun of a list's items.
pub fn item_noun(group: GroupSpec) -> String {
    let acts_on_elements = |spec: &ParamSpec| match spec.kind {
        ValueType::Choice(effects) => spec.role == Role::Effect && effects.iter().any(|e| e.role.takes_target()),
        _ => false,
    };
    match group.role {
        Role::Interventions if group.params.iter().any(acts_on_elements) => "Stimulus".to_owned(),
        _ => group.label().trim_end_matches('s').to_owned(),
    }
}

/// Removes an item of a list group.
pub fn remove_item(params: &mut dyn Params, group: usize, item: usize) {
    let id = ParamId::list(group);
    if let Value::Rows(mut rows) = params.get(id)
        && item < rows.len()
    {
        rows.remove(item);
        params.set(&Change { id, value: Value::Rows(rows) });
    }
}

/// Values of groups that were chosen before, by path and group: choosing one again restores them. They are kept for the
/// session and are not part of the document.
#[derive(Default)]
pub struct LeftChoices(pub(crate) BTreeMap<(String, u16), Value>);
