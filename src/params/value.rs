//! Values of parameters, and the types that a parameter can have.

use super::{
    Distribution, Role,
    one_of::{Part, VariantSpec},
    title,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A parameter's value, as widgets and the engine exchange it; files hold a [`NamedValue`](named::NamedValue).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A switch.
    Bool(bool),
    /// A count.
    Int(i64),
    /// A quantity.
    Real(f64),
    /// Index into the declared choices.
    Choice(u16),
    /// A name, a path or a query.
    Text(String),
    /// A whole list group: one row per item, one value per field.
    Rows(Vec<Vec<Value>>),
    /// A distribution of a quantity.
    Distribution(Distribution),
    /// A list of quantities or counts.
    List(Vec<f64>),
    /// One of several groups: its index and its values. Values missing at the end are the defaults.
    Variant(u16, Vec<Value>),
}

/// One of several named possibilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceSpec {
    /// As files and `--set` spell it.
    pub name: &'static str,
    /// Name on screen; empty where splitting `name` reads well ([`ChoiceSpec::label`]).
    pub title: &'static str,
    /// Tooltip.
    pub docs: &'static str,
    /// Former names: still read, never written.
    pub aliases: &'static [&'static str],
    /// What it is for.
    pub role: Role,
}

impl ChoiceSpec {
    /// The name on screen: the declared title, else `name` in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        title::or_from_variant(self.title, self.name)
    }

    /// Whether the choice is or was called this, on screen or in files; case does not matter.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.title.eq_ignore_ascii_case(name) && !name.is_empty()
            || self.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
    }
}

/// What a parameter holds: decides the widget and the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A switch.
    Bool,
    /// A whole number.
    Int,
    /// A real number.
    Real,
    /// One of these.
    Choice(&'static [ChoiceSpec]),
    /// Free text.
    Text,
    /// A file or folder.
    Path,
    /// A query over a set of elements (`class = sensory and side = left`).
    Query,
    /// A distribution of real numbers; a number is a constant.
    Distribution,
    /// A list of numbers.
    List {
        /// Whether they are counts.
        whole: bool,
    },
    /// One of these groups of parameters.
    OneOf(&'static [VariantSpec]),
}

impl ValueType {
    /// Whether it has a unit and a range.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Int | Self::Real | Self::Distribution | Self::List { .. })
    }

    /// The groups of a sum type; none for other types.
    pub const fn variants(self) -> &'static [VariantSpec] {
        match self {
            Self::OneOf(variants) => variants,
            _ => &[],
        }
    }
}

/// A type a parameter can have.
pub trait ParamValue: Clone {
    /// What widgets and parsers see.
    const TYPE: ValueType;
    /// To the exchange form.
    fn to_value(&self) -> Value;
    /// From the exchange form; `None` when the kind of value does not fit.
    fn from_value(value: &Value) -> Option<Self>;
    /// Whether a parameter of a sum type, at the end of these parts, is chosen and means anything given its neighbours.
    fn shows_part(&self, _parts: &[Part]) -> bool {
        false
    }

    /// The role of a choice.
    fn role(&self) -> Role {
        match (Self::TYPE, self.to_value()) {
            (ValueType::Choice(choices), Value::Choice(c)) => choices[usize::from(c)].role,
            _ => Role::Plain,
        }
    }
}

macro_rules! number {
    ($($ty:ty => $variant:ident as $wide:ty),* $(,)?) => {$(
        impl ParamValue for $ty {
            const TYPE: ValueType = ValueType::$variant;
            fn to_value(&self) -> Value { Value::$variant(*self as $wide) }
            fn from_value(value: &Value) -> Option<Self> {
                match value { Value::$variant(v) => Some(*v as $ty), _ => None }
            }
        }
    )*};
}
number!(f32 => Real as f64, f64 => Real as f64, u32 => Int as i64, i32 => Int as i64, u64 => Int as i64, bool => Bool as bool);

macro_rules! list {
    ($($ty:ty => $whole:literal),* $(,)?) => {$(
        impl ParamValue for Vec<$ty> {
            const TYPE: ValueType = ValueType::List { whole: $whole };
            fn to_value(&self) -> Value { Value::List(self.iter().map(|x| f64::from(*x)).collect()) }
            fn from_value(value: &Value) -> Option<Self> {
                match value { Value::List(values) => Some(values.iter().map(|x| *x as $ty).collect()), _ => None }
            }
        }
    )*};
}
list!(f64 => false, f32 => false, u32 => true);

macro_rules! text {
    ($($ty:ty => $kind:ident),* $(,)?) => {$(
        impl ParamValue for $ty {
            const TYPE: ValueType = ValueType::$kind;
            fn to_value(&self) -> Value { Value::Text(self.clone().into()) }
            fn from_value(value: &Value) -> Option<Self> {
                match value { Value::Text(v) => Some(v.clone().into()), _ => None }
            }
        }
    )*};
}
text!(String => Text, PathText => Path, Query => Query);

macro_rules! text_type {
    ($($(#[doc = $docs:literal])* $Name:ident),* $(,)?) => {$(
        $(#[doc = $docs])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $Name(pub String);
        impl From<String> for $Name { fn from(s: String) -> Self { Self(s) } }
        impl From<&str> for $Name { fn from(s: &str) -> Self { Self(s.to_owned()) } }
        impl From<$Name> for String { fn from(s: $Name) -> Self { s.0 } }
    )*};
}
text_type! {
    /// A file or folder as typed; relative to the project's folder, then to the working directory.
    PathText,
    /// A query over elements, as typed.
    Query,
}
