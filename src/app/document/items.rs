//! Labels and removal of list items, and values of groups that were chosen before.

use crate::params::{
    Change, GroupSpec, ParamId, ParamSpec, Params, Role, Value, ValueType, interventions::Intervention, path,
};
use std::collections::BTreeMap;

/// Returns the label of a list item: its name, otherwise the parameter that it sets, otherwise the noun and its number.
pub fn item_name(params: &dyn Params, group: usize, item: usize) -> String {
    let spec = params.groups()[group];
    let name = spec.fields().iter().position(|p| p.role == Role::Name);
    let value = name.map(|f| params.get(ParamId { item: item as u16, ..ParamId::of(group, f) }));
    match value {
        Some(Value::Text(text)) if !text.is_empty() => text,
        _ => setting(params, group, item).unwrap_or_else(|| format!("{} {}", item_noun(spec), item + 1)),
    }
}

/// Formats the setting of an intervention: `Coupling = 0`; `None` if it sets no parameter.
fn setting(params: &dyn Params, group: usize, item: usize) -> Option<String> {
    let intervention = Intervention::of(params, group, item).filter(|v| v.role() == Role::SetsParameter)?;
    let parameter = intervention.text(Role::Parameter);
    let label = match path::find(params, &parameter) {
        Ok((_, spec)) => spec.label(),
        Err(_) => parameter.clone().into(),
    };
    (!parameter.is_empty()).then(|| format!("{label} = {}", intervention.text(Role::ParameterValue)))
}

/// Returns the noun of a list's items: `Stimulus` if the items can act on elements, otherwise the label of the list without
/// a final s.
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

/// Removes an item of a list group, if it exists.
pub fn remove_item(params: &mut dyn Params, group: usize, item: usize) {
    let id = ParamId::list(group);
    if let Value::Rows(mut rows) = params.get(id)
        && item < rows.len()
    {
        rows.remove(item);
        params.set(&Change { id, value: Value::Rows(rows) });
    }
}

/// Values of groups that were chosen before, by path and index of the group. Choosing a group again restores its values.
/// The values are kept for the session and are not part of the document.
#[derive(Default)]
pub struct LeftChoices(pub(crate) BTreeMap<(String, u16), Value>);
