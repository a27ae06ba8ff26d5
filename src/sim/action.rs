//! Actions: what a user can do to a running simulation besides changing its parameters.

use crate::params::{ParamSpec, Value};

/// A declared action: a form with a button in the window, a line in a run's command log.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    /// Stable name, e.g. `kick`.
    pub name: &'static str,
    /// Label on screen; empty where the name in sentence case reads well ([`ActionSpec::label`]).
    pub title: &'static str,
    /// Tooltip.
    pub docs: &'static str,
    /// The element set whose selected elements it acts on; empty when it acts on the whole simulation.
    pub over: &'static str,
    /// Its arguments.
    pub params: &'static [ParamSpec],
}

impl ActionSpec {
    /// The label on screen: the declared title, else the name in sentence case.
    pub fn label(&self) -> std::borrow::Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }
}

/// One use of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Name of the action.
    pub name: String,
    /// Indices of the elements it acts on.
    pub elements: Vec<u32>,
    /// One value per declared argument.
    pub values: Vec<Value>,
}

/// Declares actions: `actions! { pub const ACTIONS; /// Docs. fn kick(over "neurons") { /// Docs. #[param(…)] weight_mv: f64 = 68.75, } }`.
#[macro_export]
macro_rules! actions {
    (
        $(#[doc = $list_docs:literal])*
        $vis:vis const $NAME:ident;
        $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
            fn $action:ident (over $over:literal) {
                $( $(#[doc = $arg_docs:literal])* #[param($($key:ident = $value:expr),* $(,)?)] $arg:ident : $ty:ty ),* $(,)?
            }
        )*
    ) => {
        $(#[doc = $list_docs])*
        $vis const $NAME: &[$crate::sim::ActionSpec] = {
            #[allow(unused_imports)]
            use $crate::params::{Apply::*, Scale::*, Unit::*};
            &[ $( $crate::sim::ActionSpec {
                name: stringify!($action),
                title: concat!($($title)?),
                docs: concat!($($docs, "\n"),*),
                over: $over,
                params: &[ $( $crate::params::ParamSpec::new(
                    stringify!($arg), concat!($($arg_docs, "\n"),*), <$ty as $crate::params::ParamValue>::TYPE,
                ) $(.$key($value))* ),* ],
            } ),* ]
        };
    };
}
