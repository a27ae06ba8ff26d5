//! Lines of `commands.ron`: each is a pair `(step, command)` with names. Logs of format 1 address parameters, choices and
//! arguments by index; `log_order.ron` contains the order of that format.

use super::file;
use crate::{
    engine::LoggedCommand,
    kinds::Model,
    params::{
        Params,
        named::{self, NamedValue},
    },
    sim::{Action, ActionSpec},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub(super) use unnamed::Order;

/// First format of run folders whose logs hold names.
const NAMED_SINCE: u32 = 2;

/// Command in the form of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Line {
    /// Parameter change: path, value.
    Set(String, NamedValue),
    /// Replaced input data: path of the parameter, value, hash of the file.
    Data(String, NamedValue, String),
    /// Action on elements or individuals.
    Act {
        action: String,
        /// Ids of the individuals, if the elements of the set are slots.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        individuals: Vec<u64>,
        /// Public ids of the elements, if the set has ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<u64>,
        /// Version of the set to which the elements belong, from 1; 0 for the first.
        #[serde(default, skip_serializing_if = "is_first")]
        version: u32,
        /// Indices of the elements, if the line has neither `individuals` nor `ids`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        elements: Vec<u32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<(String, NamedValue)>,
    },
    /// A rewind to step 0.
    Rewind,
}

/// Whether a version is the default, which is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_first(version: &u32) -> bool {
    *version == 0
}

/// Declarations that a log refers to.
pub(super) struct Declarations<'a> {
    /// Parameters of the kind.
    pub params: &'a dyn Params,
    /// Actions of the kind.
    pub actions: &'a [ActionSpec],
    /// Returns the public ids of the elements in a version of a set; empty if the elements have no ids.
    pub ids: &'a dyn Fn(&str, u32) -> Vec<u64>,
    /// Returns the present version of a set, from 1, for lines that are written.
    pub version: &'a dyn Fn(&str) -> u32,
    /// Order to which the indices of the log refer; `None` for a log of names.
    pub order: Option<Order>,
}

/// Reads a line of a log without its run, so that public ids cannot be resolved. Fails if the kind is unknown or the line is
/// invalid.
pub fn read_line(kind: &str, format: u32, line: &str) -> Result<(u64, LoggedCommand), String> {
    let model = Model::by_name(kind).ok_or_else(|| format!("no kind `{kind}`"))?;
    let order = order_of(format, kind)?;
    Declarations { params: model.params(), actions: model.actions(), ids: &|_, _| vec![], version: &|_| 1, order }
        .read(line)
}

/// Returns the order of declarations for logs of a format and kind; `None` if the logs contain names. Fails if logs of the
/// format have no commands of the kind.
pub(super) fn order_of(format: u32, kind: &str) -> Result<Option<Order>, String> {
    if format < NAMED_SINCE { unnamed::order_in(include_str!("log_order.ron"), kind).map(Some) } else { Ok(None) }
}

impl Declarations<'_> {
    fn action(&self, name: &str) -> Option<&ActionSpec> {
        self.actions.iter().find(|a| a.name == name)
    }

    /// Formats a command as a line of the present format, without line end. Fails if a parameter or argument is not declared.
    pub fn write(&self, step: u64, command: &LoggedCommand) -> Result<String, String> {
        let line = match command {
            LoggedCommand::Rewind => Line::Rewind,
            LoggedCommand::Former(path, value) => Line::Set(path.clone(), value.clone()),
            LoggedCommand::Set(change) => {
                let named = named::name(self.params, change).ok_or("a change of no declared parameter")?;
                Line::Set(named.0, named.1)
            }
            LoggedCommand::Data(change, hash) => {
                let named = named::name(self.params, change).ok_or("a change of no declared parameter")?;
                Line::Data(named.0, named.1, hash.clone())
            }
            LoggedCommand::Act(action) => self.name_action(action).ok_or("an action with undeclared arguments")?,
        };
        ron::to_string(&(step, line)).map_err(|e| e.to_string())
    }

    fn name_action(&self, action: &Action) -> Option<Line> {
        let spec = self.action(&action.name)?;
        let arguments = spec.params.iter().zip(&action.values);
        let version = (self.version)(spec.over);
        // A replay looks up the slots of individuals again.
        let elements = if action.individuals.is_empty() { &action.elements[..] } else { &[] };
        let known = if elements.is_empty() { vec![] } else { (self.ids)(spec.over, version) };
        let ids = elements.iter().map(|e| known.get(*e as usize).copied()).collect::<Option<Vec<u64>>>();
        Some(Line::Act {
            action: action.name.clone(),
            individuals: action.individuals.clone(),
            elements: if ids.is_some() { vec![] } else { elements.to_vec() },
            version: if ids.as_ref().is_some_and(|ids| !ids.is_empty()) && version > 1 { version } else { 0 },
            ids: ids.unwrap_or_default(),
            arguments: arguments
                .map(|(s, v)| Some((s.name.to_owned(), NamedValue::of(s, v)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Parses a line of the log. Fails if the line has a syntax error, an unknown name or an unknown id.
    pub fn read(&self, line: &str) -> Result<(u64, LoggedCommand), String> {
        let (step, line) = if let Some(order) = &self.order {
            let (step, old) = file::from_ron::<(u64, unnamed::Command)>(line).map_err(|e| e.what)?;
            (step, old.named(order)?)
        } else {
            file::from_ron::<(u64, Line)>(line).map_err(|e| e.what)?
        };
        Ok((step, self.resolve(line)?))
    }

    fn resolve(&self, line: Line) -> Result<LoggedCommand, String> {
        Ok(match line {
            Line::Rewind => LoggedCommand::Rewind,
            Line::Set(path, value)
                if named::is_former_path(self.params, &path) || named::is_former_choice(self.params, &path, &value) =>
            {
                LoggedCommand::Former(path, value)
            }
            Line::Set(path, value) => LoggedCommand::Set(named::resolve(self.params, &path, &value)?),
            Line::Data(path, value, hash) => LoggedCommand::Data(named::resolve(self.params, &path, &value)?, hash),
            Line::Act { action, individuals, ids, version, mut elements, arguments } => {
                let spec = self.action(&action).ok_or_else(|| format!("there is no action `{action}`"))?;
                if !ids.is_empty() {
                    let known = (self.ids)(spec.over, version);
                    let at: BTreeMap<u64, u32> = known.iter().enumerate().map(|(i, id)| (*id, i as u32)).collect();
                    let find = |id: &u64| {
                        at.get(id).copied().ok_or_else(|| format!("{action}: none of the {} has id {id}", spec.over))
                    };
                    elements = ids.iter().map(find).collect::<Result<_, _>>()?;
                }
                let value = |spec: &crate::params::ParamSpec| {
                    let given = arguments.iter().find(|(name, _)| spec.is_called(name));
                    given.ok_or_else(|| format!("{action}: no value for `{}`", spec.name))?.1.value(spec)
                };
                let values = spec.params.iter().map(value).collect::<Result<_, _>>()?;
                LoggedCommand::Act(Action { name: action, elements, individuals, seen: None, values })
            }
        })
    }
}

/// Logs of format 1, which contain indices.
mod unnamed {
    use super::{Line, NamedValue};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    /// Order of a kind's declarations: groups with their fields, arguments of actions.
    #[derive(Clone, Debug, Default, Deserialize)]
    pub struct Order {
        groups: Vec<Group>,
        actions: BTreeMap<String, Vec<Field>>,
    }

    #[derive(Clone, Debug, Deserialize)]
    struct Group {
        name: String,
        list: bool,
        fields: Vec<Field>,
    }

    /// Name of a parameter, and names of its choices in order.
    #[derive(Clone, Debug, Deserialize)]
    struct Field(String, Vec<String>);

    /// Returns the frozen order of a kind. Fails if there is no order of the kind.
    pub fn order_in(text: &str, kind: &str) -> Result<Order, String> {
        let mut orders = super::file::from_ron::<BTreeMap<String, Order>>(text).map_err(|e| e.to_string())?;
        orders.remove(kind).ok_or_else(|| format!("logs of format 1 have no commands of kind `{kind}`"))
    }

    #[derive(Clone, Debug, Deserialize)]
    pub enum Command {
        Set(Change),
        Act(Action),
        Rewind,
    }

    #[derive(Clone, Debug, Deserialize)]
    pub struct Change {
        id: Id,
        value: Value,
    }

    #[derive(Clone, Copy, Debug, Deserialize)]
    struct Id {
        group: usize,
        /// Index of the field; 255 addresses a whole list.
        field: usize,
        item: usize,
    }

    #[derive(Clone, Debug, Deserialize)]
    pub struct Action {
        name: String,
        elements: Vec<u32>,
        values: Vec<Value>,
    }

    #[derive(Clone, Debug, Deserialize)]
    enum Value {
        Bool(bool),
        Int(i64),
        Real(f64),
        Choice(usize),
        Text(String),
        Rows(Vec<Vec<Value>>),
    }

    impl Value {
        fn named(self, field: &Field) -> Result<NamedValue, String> {
            Ok(match self {
                Self::Bool(x) => NamedValue::Bool(x),
                Self::Int(x) => NamedValue::Int(x),
                Self::Real(x) => NamedValue::Real(x),
                Self::Text(x) => NamedValue::Text(x),
                Self::Choice(i) => {
                    NamedValue::Choice(field.1.get(i).ok_or_else(|| format!("{} has no choice {i}", field.0))?.clone())
                }
                Self::Rows(_) => return Err(format!("{} is not a list", field.0)),
            })
        }
    }

    /// Converts values in the order of `fields` to named values. The fields without a value keep their defaults. Fails if
    /// there are more values than fields.
    fn row(values: Vec<Value>, fields: &[Field]) -> Result<Vec<(String, NamedValue)>, String> {
        if values.len() > fields.len() {
            return Err(format!("{} values for {} fields", values.len(), fields.len()));
        }
        values.into_iter().zip(fields).map(|(v, field)| Ok((field.0.clone(), v.named(field)?))).collect()
    }

    impl Command {
        /// Converts the command to names. Fails if an index is out of range.
        pub fn named(self, order: &Order) -> Result<Line, String> {
            Ok(match self {
                Self::Rewind => Line::Rewind,
                Self::Act(Action { name, elements, values }) => {
                    let fields = order.actions.get(&name).ok_or_else(|| format!("there is no action `{name}`"))?;
                    let (individuals, ids, arguments) = (vec![], vec![], row(values, fields)?);
                    Line::Act { action: name, individuals, ids, version: 0, elements, arguments }
                }
                Self::Set(Change { id, value }) => {
                    let missing = || format!("there is no parameter {} in group {}", id.field, id.group);
                    let Group { name, list, fields } = order.groups.get(id.group).ok_or_else(missing)?;
                    match (value, fields.get(id.field)) {
                        (Value::Rows(rows), None) if id.field == 255 => {
                            let items = rows.into_iter().map(|r| row(r, fields)).collect::<Result<_, _>>()?;
                            Line::Set(name.clone(), NamedValue::Items(items))
                        }
                        (value, Some(field)) => {
                            let item = if *list { format!("{}.", id.item) } else { String::new() };
                            Line::Set(format!("{name}.{item}{}", field.0), value.named(field)?)
                        }
                        _ => return Err(missing()),
                    }
                }
            })
        }
    }
}

#[cfg(test)]
mod tests;
