//! Labels of list items, and values of groups that were chosen before.

use crate::params::{GroupSpec, ParamSpec, Params, Role, Value, ValueType, interventions::Intervention, path, titles};
use std::collections::BTreeMap;

/// Item of a list: index of the group, and index of the item.
pub type Item = (usize, usize);

/// Returns the label of a list item: its name or its nodes, otherwise the parameter that it sets, otherwise the noun and its
/// number.
pub fn item_name(params: &dyn Params, group: usize, item: usize) -> String {
    let named = titles::item_label(params, group, item).or_else(|| setting(params, group, item));
    named.unwrap_or_else(|| format!("{} {}", item_noun(params.groups()[group]), item + 1))
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

/// Values of groups that were chosen before, by path and index of the group. Choosing a group again restores its values.
/// The values are kept for the session and are not part of the document.
#[derive(Default)]
pub struct LeftChoices(pub(crate) BTreeMap<(String, u16), Value>);
