//! One declaration per parameter.
//!
//! [`params!`](crate::params!) turns a plain struct into the project-file schema (serde), the default value,
//! the widget (unit, range, scale, choices), the tooltip (doc comment), the command-line override and the
//! granularity of undo. There is no second list anywhere. [`param_tree!`](crate::param_tree!) joins groups and
//! lists of groups into the parameters of a kind.

mod declare;
pub mod dimension;
pub mod distribution;
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
mod tree;
pub mod unit;
mod value;

pub use distribution::Distribution;
pub use interventions::Selection;
use one_of::{Part, VariantSpec};
pub use role::Role;
pub use schedule::Schedule;
use serde::{Serialize, de::DeserializeOwned, ser::SerializeStructVariant};
pub use spec::ParamSpec;
use std::borrow::Cow;
pub use tree::TreeNode;
pub use unit::Unit;
pub use value::{ChoiceSpec, ParamValue, PathText, Query, Value, ValueType};

/// How a slider spreads its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal ratios.
    Log,
}

/// A warning about a value that is valid but unusual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamWarning {
    /// Path of the parameter, e.g. `lif.v_threshold`.
    pub path: &'static str,
    /// What is unusual, its effect, and what to do.
    pub text: String,
}

/// When an edit takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apply {
    /// Between two steps of a running simulation.
    Live,
    /// Between two steps of a running simulation, after the loader has read the file that it names. For paths.
    Data,
    /// At the next rewind to step 0: it says how the simulation begins.
    Rewind,
    /// Only by rebuilding the simulation.
    Rebuild,
}

/// A struct declared with [`params!`](crate::params!).
pub trait ParamGroup: Default + Clone + PartialEq + Serialize + DeserializeOwned {
    /// One spec per field, in declaration order, then the parameters of the groups that its sum types choose from.
    const SPECS: &'static [ParamSpec];
    /// Names and former names of the fields.
    const NAMES: &'static [&'static str];
    /// Reads field `i`.
    fn field(&self, i: usize) -> Value;
    /// Writes field `i`; `false` when the kind of value does not fit.
    fn set_field(&mut self, i: usize, value: &Value) -> bool;
    /// Whether field `i`, or the parameter at the end of these parts of it, means anything given the others (`#[show_if]`).
    fn shows_field(&self, i: usize, parts: &[Part]) -> bool;
    /// Serialises the fields of a variant that holds this group.
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

    /// Writes parameter `i`; `false` when the kind of value does not fit or the parameter is not in the chosen group.
    fn set(&mut self, i: usize, value: &Value) -> bool {
        match Self::SPECS.get(i).and_then(|spec| spec.part) {
            None => self.set_field(i, value),
            Some(part) => {
                let sum = usize::from(part.field);
                part.write(self.get(sum), value).is_some_and(|value| self.set(sum, &value))
            }
        }
    }

    /// Whether parameter `i` means anything given the others.
    fn is_shown(&self, i: usize) -> bool {
        let (field, parts) = one_of::parts_to(Self::SPECS, i);
        self.shows_field(field, &parts)
    }

    /// The accepted range of the field of this name.
    fn accepted(name: &str) -> (f64, f64) {
        Self::SPECS.iter().find(|spec| spec.name == name).map_or((f64::NEG_INFINITY, f64::INFINITY), |spec| spec.hard)
    }

    /// All fields, in declaration order.
    fn row(&self) -> Vec<Value> {
        (0..one_of::n_fields(Self::SPECS)).map(|i| self.field(i)).collect()
    }

    /// The reverse of [`ParamGroup::row`]; `None` when a value does not fit. Rows of older logs may be shorter: what has
    /// been added since has its default.
    fn from_row(row: &[Value]) -> Option<Self> {
        let mut group = Self::default();
        let fits = row.len() <= one_of::n_fields(Self::SPECS);
        (fits && row.iter().enumerate().all(|(i, v)| group.set_field(i, v))).then_some(group)
    }
}

/// The address of a parameter inside a kind: group, item of a list group, field. Not for files, which name parameters by
/// their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId {
    /// Index of the group.
    pub group: u8,
    /// Index of the field in the group; [`ParamId::WHOLE`] addresses a whole list.
    pub field: u8,
    /// Index of the item in a list group, 0 otherwise.
    pub item: u16,
}

impl ParamId {
    /// Field index that stands for a whole list group, whose value is [`Value::Rows`].
    pub const WHOLE: u8 = u8::MAX;

    /// A field of a plain group.
    pub const fn of(group: usize, field: usize) -> Self {
        Self { group: group as u8, field: field as u8, item: 0 }
    }

    /// A list group as a whole.
    pub const fn list(group: usize) -> Self {
        Self { group: group as u8, field: Self::WHOLE, item: 0 }
    }
}

/// One group as the inspector lists it.
#[derive(Clone, Copy, Debug)]
pub struct GroupSpec {
    /// Field name of the group; the RON key.
    pub name: &'static str,
    /// Heading on screen; empty where the name in sentence case reads well ([`GroupSpec::label`]).
    pub title: &'static str,
    /// Former names: still read, never written.
    pub aliases: &'static [&'static str],
    /// The doc comment: the section's introduction.
    pub docs: &'static str,
    /// Its parameters: the fields, then those of the groups that its sum types choose from.
    pub params: &'static [ParamSpec],
    /// Whether the group is a list of items that each have these parameters.
    pub list: bool,
    /// What it is for.
    pub role: Role,
}

impl GroupSpec {
    /// The heading on screen: the declared title, else the name in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        title::or_from_name(self.title, self.name)
    }

    /// Whether the group is or was called this.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Its fields, which rows of a list have a value each for.
    pub fn fields(&self) -> &'static [ParamSpec] {
        &self.params[..one_of::n_fields(self.params)]
    }

    /// Name of the group that a part belongs to.
    pub fn variant_of(&self, part: Part) -> &'static str {
        let variants = self.params[usize::from(part.field)].kind.variants();
        variants.get(usize::from(part.variant)).map_or("", |variant| variant.choice.name)
    }

    /// Indices of its parameters as they are listed: the parameters of a sum type behind its field.
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

/// One edit, as the engine is sent it and as `--set` writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which parameter.
    pub id: ParamId,
    /// Its new value.
    pub value: Value,
}

/// All parameters of a kind: what widgets, the command line, undo and the engine see. Object-safe.
pub trait Params {
    /// The groups, in declaration order.
    fn groups(&self) -> &'static [GroupSpec];
    /// Items of a list group; 1 for a plain group.
    fn len(&self, group: u8) -> usize;
    /// Reads one. Reading an item that does not exist gives the field's default.
    fn get(&self, id: ParamId) -> Value;
    /// Writes one; `false` when the address or the kind of value does not fit.
    fn set(&mut self, change: &Change) -> bool;
    /// Whether the parameter means anything given its neighbours.
    fn is_shown(&self, id: ParamId) -> bool;
    /// Appends a default item to a list group; `false` for a plain group.
    fn push(&mut self, group: u8) -> bool;

    /// The declaration at an address; `None` for whole lists.
    fn spec(&self, id: ParamId) -> Option<&'static ParamSpec> {
        self.groups().get(usize::from(id.group))?.params.get(usize::from(id.field))
    }

    /// Whether the parameter exists now: those of a group that is not chosen do not.
    fn has(&self, id: ParamId) -> bool {
        let part = self.spec(id).and_then(|spec| spec.part);
        part.is_none_or(|part| {
            let sum = ParamId { field: part.field, ..id };
            matches!(self.get(sum), Value::Variant(v, _) if v == part.variant) && self.has(sum)
        })
    }

    /// `lif.tau_m`, `interventions.0.rate_hz`, `plasticity.rule.tau_plus`.
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

    /// Every address, lists item by item.
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

    /// All values: each field of a group, each list as a whole.
    fn snapshot(&self) -> Vec<Change> {
        let ids = self.groups().iter().enumerate().flat_map(|(g, group)| match group.list {
            true => vec![ParamId::list(g)],
            false => (0..group.fields().len()).map(|f| ParamId::of(g, f)).collect(),
        });
        ids.map(|id| Change { id, value: self.get(id) }).collect()
    }

    /// What must be sent to turn `old` into `self`. A list whose length differs is sent whole, and so is one of several
    /// groups where another is chosen.
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

    /// The parameters of a group or an item that differ from those of an item of `old`.
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
