//! Changes by name, as files contain them: paths of parameters, names of choices and of fields. In memory a [`Change`] uses
//! indices of groups, fields and choices. Files never contain these indices, because they change whenever a declaration is
//! inserted.

use super::{
    Change, ChoiceSpec, Distribution, GroupSpec, ParamId, ParamSpec, Params, Value, ValueType,
    interventions::FORMER_FIELDS,
};
use serde::{Deserialize, Serialize};

/// [`Value`] whose choices and fields are given by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NamedValue {
    /// State of a switch.
    Bool(bool),
    /// Signed whole number.
    Int(i64),
    /// Number in the unit of the declaration.
    Real(f64),
    /// Name of a choice.
    Choice(String),
    /// Name, path or query.
    Text(String),
    /// Whole list group: a list of named fields per item. Missing fields have their defaults.
    Items(Vec<Vec<(String, NamedValue)>>),
    /// List of numbers in the unit of the declaration.
    List(Vec<f64>),
    /// Distribution in the unit of the declaration.
    Distribution(Distribution),
    /// Group of a sum type: its name and its named fields. Missing fields have their defaults.
    Variant(String, Vec<(String, NamedValue)>),
}

impl NamedValue {
    /// Converts the value of one parameter; `None` for a whole list group and for an undeclared choice.
    pub fn of(spec: &ParamSpec, value: &Value) -> Option<Self> {
        Some(match (value, spec.kind) {
            (Value::Bool(x), _) => Self::Bool(*x),
            (Value::Int(x), _) => Self::Int(*x),
            (Value::Real(x), _) => Self::Real(*x),
            (Value::Text(x), _) => Self::Text(x.clone()),
            (Value::List(x), _) => Self::List(x.clone()),
            (Value::Distribution(x), _) => Self::Distribution(*x),
            (Value::Choice(i), ValueType::Choice(choices)) => Self::Choice(choices.get(usize::from(*i))?.name.into()),
            (Value::Variant(i, row), ValueType::OneOf(variants)) => {
                let variant = variants.get(usize::from(*i))?;
                Self::Variant(variant.choice.name.into(), fields(variant.fields(), row)?)
            }
            _ => return None,
        })
    }

    /// Converts to a value of a declaration. Fails with an error that names the choice or field that no longer exists, or
    /// the parameter with another type.
    pub fn value(&self, spec: &ParamSpec) -> Result<Value, String> {
        Ok(match (self, spec.kind) {
            (Self::Bool(x), ValueType::Bool) => Value::Bool(*x),
            (Self::Int(x), ValueType::Int) => Value::Int(*x),
            (Self::Real(x), ValueType::Real) => Value::Real(*x),
            (Self::Text(x), ValueType::Text | ValueType::Path | ValueType::Query) => Value::Text(x.clone()),
            (Self::Choice(name), ValueType::Choice(choices)) => Value::Choice(choice(choices.iter().copied(), name)?),
            (Self::Variant(name, fields), ValueType::OneOf(variants)) => {
                let variant = choice(variants.iter().map(|v| v.choice), name)?;
                let spec = variants[usize::from(variant)];
                Value::Variant(variant, row(spec.fields(), (spec.defaults)(), name, fields)?)
            }
            // A choice may gain parameters between versions.
            (Self::Choice(name), ValueType::OneOf(variants)) => {
                Value::Variant(choice(variants.iter().map(|v| v.choice), name)?, vec![])
            }
            (Self::List(x), ValueType::List { .. }) => Value::List(x.clone()),
            (Self::Real(x), ValueType::List { .. }) => Value::List(vec![*x]),
            (Self::Int(x), ValueType::List { .. }) => Value::List(vec![*x as f64]),
            (Self::Distribution(x), ValueType::Distribution) => Value::Distribution(*x),
            (Self::Real(x), ValueType::Distribution) => Value::Distribution(Distribution::constant(*x)),
            (Self::Int(x), ValueType::Distribution) => Value::Distribution(Distribution::constant(*x as f64)),
            // Between versions, a whole number may become a real number. The reverse is accepted if no digits are lost.
            (Self::Int(x), ValueType::Real) => Value::Real(*x as f64),
            (Self::Real(x), ValueType::Int) if x.fract() == 0.0 => Value::Int(*x as i64),
            _ => return Err(format!("`{}` has a value of another type", spec.name)),
        })
    }
}

/// Finds the index of a choice by its current name, otherwise by a former one. Fails if no choice has the name.
fn choice(mut choices: impl Iterator<Item = ChoiceSpec> + Clone, name: &str) -> Result<u16, String> {
    let at = choices.clone().position(|c| c.name == name).or_else(|| choices.position(|c| c.is_called(name)));
    at.map(|i| i as u16).ok_or_else(|| format!("there is no choice `{name}`"))
}

/// Converts a change to path and value; `None` if address or value do not match the declarations. Parameters of a sum
/// type are qualified by their group, `plasticity.rule.Pair.tau_plus`, because other groups may have parameters of
/// equal names.
pub fn name(params: &dyn Params, change: &Change) -> Option<(String, NamedValue)> {
    let group = params.groups().get(usize::from(change.id.group))?;
    let value = match (&change.value, params.spec(change.id)) {
        (value, Some(spec)) => NamedValue::of(spec, value)?,
        (Value::Rows(rows), None) => {
            NamedValue::Items(rows.iter().map(|row| fields(group.fields(), row)).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some((path_with_groups(params, group, change.id), value))
}

/// Returns the path with the names of the groups that contain the parameters of sum types.
fn path_with_groups(params: &dyn Params, group: &GroupSpec, id: ParamId) -> String {
    match params.spec(id).and_then(|spec| Some((spec, spec.part?))) {
        Some((spec, part)) => {
            let sum = path_with_groups(params, group, ParamId { field: part.field, ..id });
            format!("{sum}.{}.{}", group.variant_of(part), spec.name)
        }
        None => params.path(id),
    }
}

fn fields(specs: &[ParamSpec], row: &[Value]) -> Option<Vec<(String, NamedValue)>> {
    let named = |(spec, value): (&ParamSpec, _)| Some((spec.name.to_owned(), NamedValue::of(spec, value)?));
    specs.iter().zip(row).map(named).collect()
}

/// Converts path and value back to a change, as the inverse of [`name`]; accepts former names. The function does not check
/// that list items exist and groups are chosen, because both may have differed when the file was written. Fails if a name
/// is unknown or the value does not fit.
pub fn resolve(params: &dyn Params, path: &str, value: &NamedValue) -> Result<Change, String> {
    let parts: Vec<&str> = path.split('.').collect();
    let unknown = || format!("there is no parameter `{path}`");
    let (g, group) = params.groups().iter().enumerate().find(|(_, g)| g.is_called(parts[0])).ok_or_else(unknown)?;
    if let ([_], NamedValue::Items(items), true) = (parts.as_slice(), value, group.list) {
        // For an item that does not exist, `get` returns the defaults.
        let default = |f: usize| params.get(ParamId { item: u16::MAX, ..ParamId::of(g, f) });
        let defaults: Vec<Value> = (0..group.fields().len()).map(default).collect();
        let present = |(name, _): &&(String, NamedValue)| !is_former(group, name);
        let rows = items.iter().map(|fields| {
            let fields: Vec<_> = fields.iter().filter(present).cloned().collect();
            row(group.fields(), defaults.clone(), group.name, &fields)
        });
        return Ok(Change { id: ParamId::list(g), value: Value::Rows(rows.collect::<Result<_, _>>()?) });
    }
    let (item, rest) = match (group.list, &parts[1..]) {
        (false, rest) => (0, rest),
        (true, [item, rest @ ..]) => (item.parse().map_err(|_| unknown())?, rest),
        (true, []) => return Err(unknown()),
    };
    let (name, parts) = rest.split_first().ok_or_else(unknown)?;
    let mut f = group.fields().iter().position(|s| s.is_called(name)).ok_or_else(unknown)?;
    for names in parts.chunks(2) {
        let [variant, name] = names else { return Err(unknown()) };
        f = part(group, f, variant, name).ok_or_else(unknown)?;
    }
    let value = value.value(&group.params[f]).map_err(|why| format!("{path}: {why}"))?;
    Ok(Change { id: ParamId { item, ..ParamId::of(g, f) }, value })
}

/// Finds the index of a named parameter of the sum type `field`; `None` if there is no such parameter.
fn part(group: &GroupSpec, field: usize, variant: &str, name: &str) -> Option<usize> {
    let variant = choice(group.params[field].kind.variants().iter().map(|v| v.choice), variant).ok()?;
    let is_it = |s: &ParamSpec| {
        s.part.is_some_and(|p| usize::from(p.field) == field && p.variant == variant) && s.is_called(name)
    };
    group.params.iter().position(is_it)
}

/// Returns the values of the fields of an item or a variant in declaration order. `of` names the item or variant in errors.
/// Fails if a field is unknown or a value does not fit.
fn row(
    specs: &[ParamSpec],
    defaults: Vec<Value>,
    of: &str,
    fields: &[(String, NamedValue)],
) -> Result<Vec<Value>, String> {
    let mut row = defaults;
    for (name, value) in fields {
        let at = specs.iter().position(|s| s.is_called(name));
        let at = at.ok_or_else(|| format!("items of `{of}` have no `{name}`"))?;
        row[at] = value.value(&specs[at])?;
    }
    Ok(row)
}

/// Whether a value is a choice that is no longer offered, so that a log is read without this change.
pub fn is_former_choice(params: &dyn Params, path: &str, value: &NamedValue) -> bool {
    let (NamedValue::Choice(name), Some((group, field))) = (value, path.split_once('.')) else { return false };
    let groups = params.groups().iter().filter(|of| of.is_called(group));
    groups.flat_map(GroupSpec::fields).any(|spec| spec.is_called(field) && spec.kind.retired(name).is_some())
}

/// Whether a field of list items was removed, so that files and logs are read without this field.
pub fn is_former(group: &GroupSpec, field: &str) -> bool {
    group.list && FORMER_FIELDS.contains(&(group.role, field))
}

/// Whether a path such as `selections.2.color` addresses a removed field.
pub fn is_former_path(params: &dyn Params, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let [list, _, field] = parts[..] else { return false };
    params.groups().iter().any(|group| group.is_called(list) && is_former(group, field))
}
