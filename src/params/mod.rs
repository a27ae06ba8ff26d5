//! Parameters of a kind. Each parameter is declared once.
//!
//! [`params!`](crate::params!) turns a plain struct into the project-file schema (serde), the default value, the widget
//! (unit, range, scale, choices), the tooltip (doc comment), the command-line override and the granularity of undo. No
//! other list of parameters exists. [`param_tree!`](crate::param_tree!) joins groups and lists of groups into the
//! parameters of a kind.

#![warn(missing_docs)]

mod declare;
pub mod dimension;
pub mod distribution;
pub mod distribution_argument;
mod distribution_text;
pub mod expression;
pub mod interventions;
pub mod link;
mod list_text;
pub mod named;
#[cfg(test)]
mod nested_tests;
pub mod one_of;
mod one_of_text;
pub mod path;
pub mod reference;
mod role;
pub mod schedule;
mod spec;
pub mod table_text;
pub mod title;
pub mod titles;
mod tree;
pub mod unit;
mod value;

pub use distribution::Distribution;
pub use interventions::Selection;
use one_of::{Part, VariantSpec};
pub use role::Role;
pub use schedule::Schedule;
use serde::{Serialize, de::DeserializeOwned, ser::SerializeStructVariant};
pub use spec::{ParamSpec, named_steps};
use std::borrow::Cow;
pub use tree::TreeNode;
pub use unit::Unit;
pub use value::{ChoiceSpec, ParamValue, PathText, Query, RetiredChoice, Value, ValueType};

/// Spacing of values along a slider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps per distance.
    Linear,
    /// Equal ratios per distance.
    Log,
}

/// Warning about a value that is valid but unusual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamWarning {
    /// Path of the parameter, e.g. `lif.v_threshold`.
    pub path: Cow<'static, str>,
    /// Sentences that state what is unusual, its effect, and the remedy.
    pub text: String,
}

/// Time at which an edit takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apply {
    /// Applied between two steps of a running simulation.
    Live,
    /// Applied between two steps of a running simulation, after the loader has read the named file. Used for paths.
    Data,
    /// Applied at the next rewind to step 0. Used for values that define the initial state.
    Rewind,
    /// Applied by rebuilding the simulation.
    Rebuild,
}

/// Struct that is declared with [`params!`](crate::params!).
pub trait ParamGroup: Default + Clone + PartialEq + Serialize + DeserializeOwned {
    /// One specification per field in declaration order, followed by the parameters of the groups in its sum types.
    const SPECS: &'static [ParamSpec];
    /// Current and former names of the fields.
    const NAMES: &'static [&'static str];
    /// Reads field `i`.
    fn field(&self, i: usize) -> Value;
    /// Writes field `i`. Returns `false` if the type of the value does not match.
    fn set_field(&mut self, i: usize, value: &Value) -> bool;
    /// Whether field `i` applies given the other fields (`#[show_if]`). With `parts`, whether the parameter applies to
    /// which they lead within the field.
    fn shows_field(&self, i: usize, parts: &[Part]) -> bool;
    /// Serialises the fields into the variant that holds this group. Fails if the serialiser fails.
    fn serialize_fields<S: SerializeStructVariant>(&self, fields: &mut S) -> Result<(), S::Error>;

    /// Reads parameter `i` of [`ParamGroup::SPECS`].
    fn get(&self, i: usize) -> Value {
        match Self::SPECS[i].part {
            None => self.field(i),
            Some(part) => {
                let sum = usize::from(part.field);
                part.read(Self::SPECS[sum].kind, self.get(sum))
            }
        }
    }

    /// Writes parameter `i`. Returns `false` if the type does not match or the parameter is not in the chosen group.
    fn set(&mut self, i: usize, value: &Value) -> bool {
        match Self::SPECS.get(i).and_then(|spec| spec.part) {
            None => self.set_field(i, value),
            Some(part) => {
                let sum = usize::from(part.field);
                part.write(self.get(sum), value).is_some_and(|value| self.set(sum, &value))
            }
        }
    }

    /// Whether parameter `i` applies given the other parameters.
    fn is_shown(&self, i: usize) -> bool {
        let (field, parts) = one_of::parts_to(Self::SPECS, i);
        self.shows_field(field, &parts)
    }

    /// Returns the accepted range of the named field; unbounded if there is no such field.
    fn accepted(name: &str) -> (f64, f64) {
        Self::SPECS.iter().find(|spec| spec.name == name).map_or((f64::NEG_INFINITY, f64::INFINITY), |spec| spec.hard)
    }

    /// Returns the values of all fields in declaration order.
    fn row(&self) -> Vec<Value> {
        (0..one_of::n_fields(Self::SPECS)).map(|i| self.field(i)).collect()
    }

    /// Creates a group from the values of [`ParamGroup::row`]; `None` if a value does not fit or there are too many values.
    /// Rows of older logs may be shorter; the missing fields have their defaults.
    fn from_row(row: &[Value]) -> Option<Self> {
        let mut group = Self::default();
        let fits = row.len() <= one_of::n_fields(Self::SPECS);
        (fits && row.iter().enumerate().all(|(i, v)| group.set_field(i, v))).then_some(group)
    }
}

/// Address of a parameter within a kind: group, item of a list group, field. Files name parameters by path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId {
    /// Index of the group.
    pub group: u8,
    /// Index of the field in the group; [`ParamId::WHOLE`] for a whole list.
    pub field: u8,
    /// Index of the item in a list group; otherwise 0.
    pub item: u16,
}

impl ParamId {
    /// Field index of a whole list group, whose value is [`Value::Rows`].
    pub const WHOLE: u8 = u8::MAX;

    /// Creates the address of a field in a plain group.
    pub const fn of(group: usize, field: usize) -> Self {
        Self { group: group as u8, field: field as u8, item: 0 }
    }

    /// Creates the address of a whole list group.
    pub const fn list(group: usize) -> Self {
        Self { group: group as u8, field: Self::WHOLE, item: 0 }
    }
}

/// Declaration of a group as the inspector lists it.
#[derive(Clone, Copy, Debug)]
pub struct GroupSpec {
    /// Field name of the group, and its key in RON.
    pub name: &'static str,
    /// Heading in the window; if empty, the name in sentence case ([`GroupSpec::label`]).
    pub title: &'static str,
    /// Former names, which are accepted when read but never written.
    pub aliases: &'static [&'static str],
    /// Doc comment, shown as the introduction of the section.
    pub docs: &'static str,
    /// Parameters: the fields, followed by those of the groups in its sum types.
    pub params: &'static [ParamSpec],
    /// Whether the group is a list of items with these parameters.
    pub list: bool,
    /// Role of the group.
    pub role: Role,
}

impl GroupSpec {
    /// Returns the heading in the window: the declared title, or the name in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        title::or_from_name(self.title, self.name)
    }

    /// Whether this is the current or a former name of the group.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Returns the fields of the group, in the order of the values in a row of a list.
    pub fn fields(&self) -> &'static [ParamSpec] {
        &self.params[..one_of::n_fields(self.params)]
    }

    /// Returns the name of the variant to which a part belongs; empty if there is no such variant.
    pub fn variant_of(&self, part: Part) -> &'static str {
        let variants = self.params[usize::from(part.field)].kind.variants();
        variants.get(usize::from(part.variant)).map_or("", |variant| variant.choice.name)
    }

    /// Returns the indices of the parameters in display order: the parameters of a sum type follow its field.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + use<> {
        fn add(params: &[ParamSpec], i: usize, order: &mut Vec<usize>) {
            order.push(i);
            let is_of = |part: usize| params[part].part.is_some_and(|part| usize::from(part.field) == i);
            (0..params.len()).filter(|part| is_of(*part)).for_each(|part| add(params, part, order));
        }
        let mut order = Vec::with_capacity(self.params.len());
        (0..one_of::n_fields(self.params)).for_each(|f| add(self.params, f, &mut order));
        order.into_iter()
    }
}

/// Edit of one parameter, as sent to the engine and written by `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Address of the parameter.
    pub id: ParamId,
    /// New value of the parameter.
    pub value: Value,
}

/// All parameters of a kind, as widgets, the command line, undo and the engine use them. The trait is object-safe.
pub trait Params {
    /// Returns the groups in declaration order.
    fn groups(&self) -> &'static [GroupSpec];
    /// Returns the number of items in a list group; 1 for a plain group.
    fn len(&self, group: u8) -> usize;
    /// Reads a parameter. For an item that does not exist, returns the default of the field.
    fn get(&self, id: ParamId) -> Value;
    /// Writes a parameter. Returns `false` if the address or the type of the value does not match.
    fn set(&mut self, change: &Change) -> bool;
    /// Whether the parameter applies given its neighbours.
    fn is_shown(&self, id: ParamId) -> bool;
    /// Whether a group applies given the other groups.
    fn shows_group(&self, group: u8) -> bool {
        usize::from(group) < self.groups().len()
    }
    /// Appends a default item to a list group. Returns `false` for a plain group.
    fn push(&mut self, group: u8) -> bool;

    /// Returns the declaration at an address; `None` for whole lists and for addresses that do not exist.
    fn spec(&self, id: ParamId) -> Option<&'static ParamSpec> {
        self.groups().get(usize::from(id.group))?.params.get(usize::from(id.field))
    }

    /// Whether the parameter exists. The parameters of a group that is not chosen do not exist.
    fn has(&self, id: ParamId) -> bool {
        let part = self.spec(id).and_then(|spec| spec.part);
        part.is_none_or(|part| {
            let sum = ParamId { field: part.field, ..id };
            matches!(self.get(sum), Value::Variant(v, _) if v == part.variant) && self.has(sum)
        })
    }

    /// Returns the path of a parameter: `lif.tau_m`, `interventions.0.rate_hz`, `plasticity.rule.tau_plus`.
    fn path(&self, id: ParamId) -> String {
        let group = &self.groups()[usize::from(id.group)];
        if usize::from(id.field) >= group.params.len() {
            return group.name.to_owned();
        }
        let mut path = group.name.to_owned();
        if group.list {
            path += &format!(".{}", id.item);
        }
        let (_, parts) = one_of::parts_to(group.params, id.field.into());
        for i in parts.iter().map(|part| part.field).chain([id.field]) {
            path += ".";
            path += group.params[usize::from(i)].name;
        }
        path
    }

    /// Returns the addresses of all parameters. Those of lists are in the order of the items.
    fn ids(&self) -> Vec<ParamId> {
        let mut out = Vec::new();
        for (g, group) in self.groups().iter().enumerate() {
            for item in 0..self.len(g as u8) {
                let ids = group.in_order().map(|f| ParamId { item: item as u16, ..ParamId::of(g, f) });
                out.extend(ids.filter(|id| self.has(*id)));
            }
        }
        out
    }

    /// Returns the values of all parameters: each field of a group, each list as a whole.
    fn snapshot(&self) -> Vec<Change> {
        let ids = self.groups().iter().enumerate().flat_map(|(g, group)| match group.list {
            true => vec![ParamId::list(g)],
            false => (0..group.fields().len()).map(|f| ParamId::of(g, f)).collect(),
        });
        ids.map(|id| Change { id, value: self.get(id) }).collect()
    }

    /// Returns the changes that turn `old` into `self`. A list of another length is one change, and so is a sum type with
    /// another chosen group.
    fn changes_since(&self, old: &dyn Params) -> Vec<Change> {
        let mut out = Vec::new();
        for g in 0..self.groups().len() {
            if self.len(g as u8) != old.len(g as u8) {
                let id = ParamId::list(g);
                out.push(Change { id, value: self.get(id) });
                continue;
            }
            for item in 0..self.len(g as u8) {
                let item = item as u16;
                out.extend(self.changed_fields(ParamId { item, ..ParamId::of(g, 0) }, old, item));
            }
        }
        out
    }

    /// Returns the changes of the parameters of a group or an item that differ from those of item `old_item` of `old`.
    fn changed_fields(&self, at: ParamId, old: &dyn Params, old_item: u16) -> Vec<Change> {
        let group = self.groups()[usize::from(at.group)];
        let differing = group.in_order().filter_map(|f| {
            let id = ParamId { field: f as u8, ..at };
            let (value, old_value) = (self.get(id), old.get(ParamId { item: old_item, ..id }));
            let is_same_choice = matches!((&value, &old_value), (Value::Variant(a, _), Value::Variant(b, _)) if a == b);
            let is_sent = group.params[f].part.is_none() || self.has(id) && old.has(ParamId { item: old_item, ..id });
            (value != old_value && !is_same_choice && is_sent).then_some(Change { id, value })
        });
        differing.collect()
    }
}
