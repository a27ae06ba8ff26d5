//! Changes by name, as files hold them: the path of a parameter, the names of choices, the names of the fields of list
//! items. In memory a [`Change`] addresses by index; indices of groups, fields and choices change whenever a declaration
//! is inserted, so none reaches a file.

use super::{Change, ChoiceSpec, GroupSpec, ParamId, ParamSpec, Params, Value, ValueType};
use serde::{Deserialize, Serialize};

/// A [`Value`] whose choices and fields are named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NamedValue {
    /// A switch.
    Bool(bool),
    /// A count.
    Int(i64),
    /// A quantity, in the unit of the declaration.
    Real(f64),
    /// Name of a choice.
    Choice(String),
    /// A name, a path or a query.
    Text(String),
    /// A whole list group: its items, each a list of named fields. Missing fields have their defaults.
    Items(Vec<Vec<(String, NamedValue)>>),
}

impl NamedValue {
    /// The value of one parameter; `None` for a list and for a choice that is not declared.
    pub fn of(spec: &ParamSpec, value: &Value) -> Option<Self> {
        Some(match (value, spec.kind) {
            (Value::Bool(x), _) => Self::Bool(*x),
            (Value::Int(x), _) => Self::Int(*x),
            (Value::Real(x), _) => Self::Real(*x),
            (Value::Text(x), _) => Self::Text(x.clone()),
            (Value::Choice(i), ValueType::Choice(choices)) => Self::Choice(choices.get(usize::from(*i))?.name.into()),
            _ => return None,
        })
    }

    /// The value for a declaration. The error names what does not exist any more.
    pub fn value(&self, spec: &ParamSpec) -> Result<Value, String> {
        Ok(match (self, spec.kind) {
            (Self::Bool(x), ValueType::Bool) => Value::Bool(*x),
            (Self::Int(x), ValueType::Int) => Value::Int(*x),
            (Self::Real(x), ValueType::Real) => Value::Real(*x),
            (Self::Text(x), ValueType::Text | ValueType::Path | ValueType::Query) => Value::Text(x.clone()),
            (Self::Choice(name), ValueType::Choice(choices)) => Value::Choice(choice(choices, name)?),
            // A count may become a quantity between versions, and the reverse where nothing is lost.
            (Self::Int(x), ValueType::Real) => Value::Real(*x as f64),
            (Self::Real(x), ValueType::Int) if x.fract() == 0.0 => Value::Int(*x as i64),
            _ => return Err(format!("`{}` has a value of another type", spec.name)),
        })
    }
}

/// Index of a choice by its name or a former one.
fn choice(choices: &[ChoiceSpec], name: &str) -> Result<u16, String> {
    let at = choices.iter().position(|c| c.name == name).or_else(|| choices.iter().position(|c| c.is_called(name)));
    at.map(|i| i as u16).ok_or_else(|| format!("there is no choice `{name}`"))
}

/// A change as its path and its value; `None` when the address or the value does not fit the declarations.
pub fn name(params: &dyn Params, change: &Change) -> Option<(String, NamedValue)> {
    let group = params.groups().get(usize::from(change.id.group))?;
    let value = match (&change.value, params.spec(change.id)) {
        (value, Some(spec)) => NamedValue::of(spec, value)?,
        (Value::Rows(rows), None) => NamedValue::Items(rows.iter().map(|row| item(group, row)).collect::<Option<_>>()?),
        _ => return None,
    };
    Some((params.path(change.id), value))
}

fn item(group: &GroupSpec, row: &[Value]) -> Option<Vec<(String, NamedValue)>> {
    group
        .params
        .iter()
        .zip(row)
        .map(|(spec, value)| Some((spec.name.to_owned(), NamedValue::of(spec, value)?)))
        .collect()
}

/// The reverse of [`name`], with former names too. Items of lists are not checked: the list may have had others then.
pub fn resolve(params: &dyn Params, path: &str, value: &NamedValue) -> Result<Change, String> {
    let parts: Vec<&str> = path.split('.').collect();
    let unknown = || format!("there is no parameter `{path}`");
    let (g, group) = params.groups().iter().enumerate().find(|(_, g)| g.is_called(parts[0])).ok_or_else(unknown)?;
    let field = |name: &str| group.params.iter().position(|s| s.is_called(name)).ok_or_else(unknown);
    let (id, spec) = match (parts.as_slice(), value) {
        ([_], NamedValue::Items(items)) if group.list => {
            let rows = items.iter().map(|fields| row(params, g, fields)).collect::<Result<_, _>>()?;
            return Ok(Change { id: ParamId::list(g), value: Value::Rows(rows) });
        }
        ([_, name], _) if !group.list => (ParamId::of(g, field(name)?), &group.params[field(name)?]),
        ([_, item, name], _) if group.list => {
            let item = item.parse().map_err(|_| unknown())?;
            (ParamId { item, ..ParamId::of(g, field(name)?) }, &group.params[field(name)?])
        }
        _ => return Err(unknown()),
    };
    Ok(Change { id, value: value.value(spec).map_err(|why| format!("{path}: {why}"))? })
}

/// The fields of an item in the order of their declarations.
fn row(params: &dyn Params, group: usize, fields: &[(String, NamedValue)]) -> Result<Vec<Value>, String> {
    let specs = params.groups()[group].params;
    // An item that does not exist has the defaults.
    let default = |f: usize| params.get(ParamId { item: u16::MAX, ..ParamId::of(group, f) });
    let mut row: Vec<Value> = (0..specs.len()).map(default).collect();
    for (name, value) in fields {
        let at = specs.iter().position(|s| s.is_called(name));
        let at = at.ok_or_else(|| format!("items of `{}` have no `{name}`", params.groups()[group].name))?;
        row[at] = value.value(&specs[at])?;
    }
    Ok(row)
}
