//! Text form of a change, `lif.tau_m=15ms`, with "did you mean" suggestions.

use super::{
    Change, Distribution, GroupSpec, ParamId, ParamSpec, Params, Role, Value, ValueType,
    distribution_argument::DistributionArgument, expression::without_groups, list_text, one_of_text,
};
use crate::num::digits::counted;
use strsim::levenshtein;

/// Reason why a `path=value` was rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PathError {
    /// The text contains no `=`.
    #[error("`{0}` has no `=`: write group.name=value")]
    NoEquals(String),
    /// No parameter has this path.
    #[error("there is no parameter `{path}`{}", hint(.nearest))]
    Unknown {
        /// Path that was requested.
        path: String,
        /// Nearest existing path; `None` if no path is similar.
        nearest: Option<String>,
    },
    /// The list has no such item.
    #[error("{path}: `{list}` has no item `{item}`{}", items(.known))]
    NoItem {
        /// Path that was requested.
        path: String,
        /// Path of the list.
        list: String,
        /// Number or name of the item.
        item: String,
        /// Existing items by name or number.
        known: Vec<String>,
    },
    /// The parameter belongs to a group that is not chosen.
    #[error("{path}: `{name}` belongs to {of}, and {sum} is {now}; set {sum}={of} first")]
    NotChosen {
        /// Path that was requested.
        path: String,
        /// Name of the parameter.
        name: String,
        /// Group that has the parameter.
        of: &'static str,
        /// Path of the sum type.
        sum: String,
        /// Group that is chosen.
        now: &'static str,
    },
    /// The value cannot be parsed.
    #[error("{path}: {why}")]
    Value {
        /// Path of the parameter.
        path: String,
        /// Reason, with the expected form.
        why: String,
    },
    /// The value is outside the accepted range.
    #[error("{path} ({title}): {value} is out of range. Enter a value from {min} to {max}{unit}")]
    Range {
        /// Path of the parameter.
        path: String,
        /// Label of the parameter.
        title: String,
        /// Value that was requested.
        value: String,
        /// Lowest accepted value.
        min: f64,
        /// Highest accepted value.
        max: f64,
        /// Suffix with a leading space.
        unit: String,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

fn items(known: &[String]) -> String {
    if known.is_empty() { "; it is empty".to_owned() } else { format!("; there are {}", known.join(", ")) }
}

/// Parses one `path=value`; the path may name an argument of a distribution. Fails if the path is unknown or the parameter does
/// not accept the value.
pub fn parse(params: &dyn Params, text: &str) -> Result<Change, PathError> {
    let (path, value) = text.split_once('=').ok_or_else(|| PathError::NoEquals(text.to_owned()))?;
    let path = path.trim();
    let wrong = |why| PathError::Value { path: path.to_owned(), why };
    let (id, spec) = match (find(params, path), argument(params, path)) {
        (Err(_), Some(argument)) => return argument.change(value.trim()).map_err(wrong),
        (found, _) => found?,
    };
    let value = parse_value(spec, value.trim()).map_err(|why| PathError::Value { path: path.to_owned(), why })?;
    let value = match (params.get(id), value) {
        // A choice of the current group keeps the values of the group.
        (now @ Value::Variant(chosen, _), Value::Variant(variant, row)) if chosen == variant && row.is_empty() => now,
        (_, value) => value,
    };
    match spec.refusal(&value) {
        None => Ok(Change { id, value }),
        Some(_) if matches!(spec.kind, ValueType::Int | ValueType::Real) => {
            let unit = if spec.unit.suffix().is_empty() { String::new() } else { format!(" {}", spec.unit.suffix()) };
            let (min, max) = spec.hard;
            let (path, title) = (path.to_owned(), spec.label().into_owned());
            Err(PathError::Range { path, title, value: show(spec, &value), min, max, unit })
        }
        Some(why) => Err(PathError::Value { path: path.to_owned(), why }),
    }
}

/// Finds address and declaration of a path such as `lif.tau_m`. Items of lists are given by number or name:
/// `interventions.0.rate_hz`, `interventions.sugar.rate_hz`. A field with a sum type is followed by a parameter of the chosen
/// group, `plasticity.rule.tau_plus`, or by a group and its parameter, `plasticity.rule.Pair.tau_plus`. Fails if the path, the
/// item or the chosen group does not exist.
pub fn find(params: &dyn Params, path: &str) -> Result<(ParamId, &'static ParamSpec), PathError> {
    let unknown = || PathError::Unknown { path: path.to_owned(), nearest: nearest(params, path) };
    let parts: Vec<&str> = path.split('.').collect();
    let (g, group) = params.groups().iter().enumerate().find(|(_, s)| s.is_called(parts[0])).ok_or_else(unknown)?;
    let (item, rest) = match (group.list, parts.get(1)) {
        (true, Some(key)) if parts.len() > 2 => {
            (item_of(params, g, key).ok_or_else(|| no_item(params, g, path, key))?, &parts[2..])
        }
        (true, _) => return Err(unknown()),
        (false, _) => (0, &parts[1..]),
    };
    let (name, inner) = rest.split_first().ok_or_else(unknown)?;
    let field = group.fields().iter().position(|s| s.is_called(name)).ok_or_else(unknown)?;
    let at = |f: usize| ParamId { item: item as u16, ..ParamId::of(g, f) };
    let (mut f, mut names) = (field, inner);
    while !names.is_empty() {
        let found = part_of(group, f, names, &params.get(at(f))).ok_or_else(unknown)?;
        if let Some(now) = found.instead_of {
            let (name, sum) = (names.join("."), params.path(at(f)));
            return Err(PathError::NotChosen { path: path.to_owned(), name, of: found.of, sum, now });
        }
        (f, names) = (found.index, found.rest);
    }
    Ok((at(f), &group.params[f]))
}

/// Finds the declaration of a parameter, or of an argument of its distribution: `lif.tau_m.mean`. Fails as [`find`] does.
pub fn spec_of(params: &dyn Params, path: &str) -> Result<ParamSpec, PathError> {
    match (find(params, path), argument(params, path)) {
        (Err(_), Some(argument)) => Ok(argument.spec),
        (found, _) => found.map(|(_, spec)| *spec),
    }
}

/// Finds the argument of a distribution with a path such as `lif.tau_m.mean`; `None` if there is no such argument.
fn argument(params: &dyn Params, path: &str) -> Option<DistributionArgument> {
    let (of, name) = path.rsplit_once('.')?;
    let (id, _) = find(params, of).ok()?;
    DistributionArgument::all(params, id).into_iter().find(|argument| argument.spec.name == name)
}

/// Parameter of a sum type, found by name.
struct FoundPart<'a> {
    index: usize,
    /// Group that has the parameter.
    of: &'static str,
    /// Chosen group, if the parameter belongs to another one; `None` otherwise.
    instead_of: Option<&'static str>,
    /// Remaining names of the path.
    rest: &'a [&'a str],
}

/// Finds the parameter of the sum type `field` at the start of `names`, with or without the name of its group. The chosen
/// group has precedence. Returns `None` if no group has such a parameter.
fn part_of<'a>(group: &GroupSpec, field: usize, names: &'a [&'a str], chosen: &Value) -> Option<FoundPart<'a>> {
    let Value::Variant(chosen, _) = *chosen else { return None };
    let variants = group.params[field].kind.variants();
    let find = |variant: Option<usize>, names: &'a [&'a str]| {
        let (name, rest) = names.split_first()?;
        let found = group.params.iter().enumerate().filter_map(|(f, spec)| {
            let part = spec.part.filter(|part| usize::from(part.field) == field && spec.is_called(name))?;
            let is_sum = rest.is_empty() || !spec.kind.variants().is_empty();
            (is_sum && variant.is_none_or(|v| v == usize::from(part.variant))).then_some((f, part))
        });
        let (index, part) = found.min_by_key(|(_, part)| part.variant != chosen)?;
        let now = variants.get(usize::from(chosen)).map_or("", |v| v.choice.name);
        let instead_of = (part.variant != chosen).then_some(now);
        Some(FoundPart { index, of: group.variant_of(part), instead_of, rest })
    };
    let variant = variants.iter().position(|v| v.choice.is_called(names[0]));
    let of_group = |is_exact: bool| {
        let variant = variant.filter(|v| !is_exact || variants[*v].choice.name == names[0])?;
        find(Some(variant), &names[1..])
    };
    of_group(true).or_else(|| find(None, names)).or_else(|| of_group(false))
}

fn item_of(params: &dyn Params, group: usize, key: &str) -> Option<usize> {
    let len = params.len(group as u8);
    if let Ok(i) = key.parse::<usize>() {
        return (i < len).then_some(i);
    }
    let name = params.groups()[group].fields().iter().position(|s| s.role == Role::Name)?;
    (0..len)
        .find(|i| params.get(ParamId { item: *i as u16, ..ParamId::of(group, name) }) == Value::Text(key.to_owned()))
}

fn no_item(params: &dyn Params, group: usize, path: &str, item: &str) -> PathError {
    let spec = &params.groups()[group];
    let name = spec.fields().iter().position(|s| s.role == Role::Name);
    let label = |i: usize| match name.map(|f| params.get(ParamId { item: i as u16, ..ParamId::of(group, f) })) {
        Some(Value::Text(name)) if !name.is_empty() => name,
        _ => i.to_string(),
    };
    PathError::NoItem {
        path: path.to_owned(),
        list: spec.name.to_owned(),
        item: item.to_owned(),
        known: (0..params.len(group as u8)).map(label).collect(),
    }
}

/// Parses a value of the declared type without checking its range. Fails with a clause about the text.
pub fn parse_value(spec: &ParamSpec, text: &str) -> Result<Value, String> {
    let is_zero = !spec.zero.is_empty() && text.eq_ignore_ascii_case(spec.zero);
    let text = if is_zero { "0" } else { text };
    Ok(match spec.kind {
        ValueType::Bool => Value::Bool(match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => true,
            "false" | "off" | "no" | "0" => false,
            _ => return Err(format!("`{text}` is neither true nor false")),
        }),
        ValueType::Int => Value::Int(match text.parse::<i64>() {
            Ok(i) => i,
            Err(_) => {
                // Thousands separators are accepted, because counts are displayed with them.
                let plain = without_groups(text).unwrap_or_else(|| text.to_owned());
                let x = spec.unit.parse(&plain)?;
                if x.fract() != 0.0 {
                    return Err(format!("`{text}` is not a whole number"));
                }
                x as i64
            }
        }),
        ValueType::Real => Value::Real(spec.unit.parse(text)?),
        ValueType::Choice(choices) => match choices.iter().position(|c| c.is_called(text)) {
            Some(i) => Value::Choice(i as u16),
            None => {
                if let Some((instead, retired)) = spec.kind.retired(text) {
                    return Err(retired.refusal(instead));
                }
                let names: Vec<&str> = choices.iter().map(|c| c.name).collect();
                return Err(format!("`{text}` is none of {}", names.join(", ")));
            }
        },
        ValueType::Text | ValueType::Path | ValueType::Query => Value::Text(text.to_owned()),
        ValueType::List { .. } => Value::List(list_text::parse(spec, text)?),
        ValueType::Distribution => Value::Distribution(Distribution::parse(text, spec)?),
        ValueType::OneOf(variants) => one_of_text::parse(variants, text)?,
    })
}

/// Splits a list of values at commas outside parentheses and at semicolons.
pub fn split_values(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').flat_map(one_of_text::split)
}

/// Formats a value with its unit for display.
pub fn show(spec: &ParamSpec, value: &Value) -> String {
    let unit = spec.unit.suffix();
    let space = if unit.is_empty() { "" } else { " " };
    match (value, spec.kind) {
        (Value::Bool(b), _) => b.to_string(),
        (Value::Int(i), _) => format!("{i}{space}{unit}"),
        (Value::Real(x), _) => format!("{x}{space}{unit}"),
        (Value::Choice(i), ValueType::Choice(c)) => c.get(usize::from(*i)).map_or("?", |c| c.name).to_owned(),
        (Value::Text(s), _) => s.clone(),
        (Value::Rows(rows), _) => counted(rows.len(), "item", "items"),
        (Value::List(values), _) => list_text::show(spec, values),
        (Value::Distribution(distribution), _) => distribution.show(spec),
        (Value::Variant(variant, row), kind) => one_of_text::show(kind.variants(), *variant, row),
        (Value::Choice(i), _) => i.to_string(),
    }
}

/// Returns the existing path that is nearest to a mistyped one; `None` if no path is similar.
pub fn nearest(params: &dyn Params, path: &str) -> Option<String> {
    let mut paths: Vec<String> = params.ids().into_iter().map(|id| params.path(id)).collect();
    paths.dedup();
    let last = path.rsplit('.').next().unwrap_or(path);
    paths
        .into_iter()
        .map(|p| {
            let whole = levenshtein(&p, path);
            let tail = levenshtein(p.rsplit('.').next().unwrap_or(&p), last);
            (whole.min(tail + 1), p)
        })
        .min()
        .filter(|(d, _)| *d <= 2 + path.len() / 4)
        .map(|(_, p)| p)
}
