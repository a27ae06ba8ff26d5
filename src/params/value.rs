//! Values and types of parameters.

use super::{
    Distribution, Role,
    one_of::{Part, VariantSpec},
    title,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Value of a parameter, as widgets and the engine exchange it. Files contain a
/// [`NamedValue`](super::named::NamedValue).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// State of a switch.
    Bool(bool),
    /// Signed whole number.
    Int(i64),
    /// Number in the unit of the declaration.
    Real(f64),
    /// Index into the declared choices.
    Choice(u16),
    /// Name, path or query.
    Text(String),
    /// Whole list group: one row per item, one value per field.
    Rows(Vec<Vec<Value>>),
    /// Distribution in the unit of the declaration.
    Distribution(Distribution),
    /// List of numbers in the unit of the declaration.
    List(Vec<f64>),
    /// Group of a sum type: its index and its values. Values missing at the end have their defaults.
    Variant(u16, Vec<Value>),
}

/// Declaration of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceSpec {
    /// Identifier in files and in `--set`.
    pub name: &'static str,
    /// Display name; if empty, the split name is displayed ([`ChoiceSpec::label`]).
    pub title: &'static str,
    /// Tooltip of the choice.
    pub docs: &'static str,
    /// Former names, which are accepted when read but never written.
    pub aliases: &'static [&'static str],
    /// Role of the choice.
    pub role: Role,
    /// Choices of earlier versions that this choice replaces. A project that names one of them is rejected; a recorded run is
    /// displayed with this choice.
    pub replaces: &'static [RetiredChoice],
}

/// Choice of earlier versions that is no longer offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetiredChoice {
    /// Identifier in files.
    pub name: &'static str,
    /// Reason, as a clause.
    pub why: &'static str,
}

impl RetiredChoice {
    /// Returns the message of a refusal, which names the choice to write instead.
    pub fn refusal(&self, instead: &ChoiceSpec) -> String {
        format!("`{}` is no longer offered: {}. Write `{}` instead", self.name, self.why, instead.name)
    }
}

impl ChoiceSpec {
    /// Returns the display name: the declared title, or `name` in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        title::or_from_variant(self.title, self.name)
    }

    /// Whether `name` is the display name, the current or a former name of the choice. Case is ignored.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.title.eq_ignore_ascii_case(name) && !name.is_empty()
            || self.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
    }
}

/// Type of a parameter, which determines widget and parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Switch, on or off.
    Bool,
    /// Whole number in a range.
    Int,
    /// Real number in a range.
    Real,
    /// One of the given choices.
    Choice(&'static [ChoiceSpec]),
    /// Free text without syntax.
    Text,
    /// Path of a file or folder.
    Path,
    /// Query over a set of elements (`class = sensory and side = left`).
    Query,
    /// Distribution of real numbers; a plain number is a constant.
    Distribution,
    /// List of numbers in a range.
    List {
        /// Whether the numbers are whole.
        whole: bool,
    },
    /// One of the given parameter groups.
    OneOf(&'static [VariantSpec]),
}

impl ValueType {
    /// Whether values have a unit and a range.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Int | Self::Real | Self::Distribution | Self::List { .. })
    }

    /// Finds the choice of earlier versions with the name `name`, and the choice that replaces it; `None` if there is no
    /// such choice.
    pub fn retired(self, name: &str) -> Option<(&'static ChoiceSpec, &'static RetiredChoice)> {
        let Self::Choice(choices) = self else { return None };
        let of = |choice: &'static ChoiceSpec| choice.replaces.iter().map(move |retired| (choice, retired));
        choices.iter().flat_map(of).find(|(_, retired)| retired.name.eq_ignore_ascii_case(name))
    }

    /// Returns the groups of a sum type; empty for other types.
    pub const fn variants(self) -> &'static [VariantSpec] {
        match self {
            Self::OneOf(variants) => variants,
            _ => &[],
        }
    }
}

/// Rust type that a parameter can have.
pub trait ParamValue: Clone {
    /// Type for widgets and parsers.
    const TYPE: ValueType;
    /// Converts to the exchange form.
    fn to_value(&self) -> Value;
    /// Converts from the exchange form; `None` if the type does not match.
    fn from_value(value: &Value) -> Option<Self>;
    /// Whether the parameter of a sum type to which `parts` lead is chosen and applies given its neighbours.
    fn shows_part(&self, _parts: &[Part]) -> bool {
        false
    }

    /// Returns the role of a choice, or [`Role::Plain`] for other types.
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
number!(f32 => Real as f64, f64 => Real as f64, u32 => Int as i64, i32 => Int as i64, u64 => Int as i64, i64 => Int as i64, bool => Bool as bool);

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
    /// Entered path of a file or folder, relative to the project's folder, then to the working directory.
    PathText,
    /// Entered query over elements.
    Query,
}
