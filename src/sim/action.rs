//! Actions: what a user can do to a running simulation besides changing its parameters.

use super::{SimError, Simulation};
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Action {
    /// Name of the action.
    pub name: String,
    /// Indices of the elements it acts on.
    pub elements: Vec<u32>,
    /// Ids of the individuals it acts on, where elements are slots: their slots are found when it is performed.
    pub individuals: Vec<u64>,
    /// The step at which the elements were seen: individuals that are in their slots since later are not meant.
    pub seen: Option<u64>,
    /// One value per declared argument.
    pub values: Vec<Value>,
}

impl Action {
    /// An action on elements by index, with these arguments.
    pub fn on(name: impl Into<String>, elements: Vec<u32>, values: Vec<Value>) -> Self {
        Self { name: name.into(), elements, values, ..Self::default() }
    }

    /// Performs it between two steps, and returns it as the command log names it: by the ids of the individuals, where the
    /// elements are slots.
    ///
    /// # Errors
    /// When all individuals have ended, or the simulation rejects it. The simulation is as it was.
    pub fn perform(&self, sim: &mut dyn Simulation) -> Result<Self, SimError> {
        let over = sim.actions().iter().find(|spec| spec.name == self.name).map_or("", |spec| spec.over);
        let now = if over.is_empty() { None } else { sim.individuals(over) };
        let Some(now) = now else {
            sim.act(self)?;
            return Ok(Self { seen: None, ..self.clone() });
        };
        if self.elements.iter().any(|slot| *slot as usize >= now.ids.len()) {
            sim.act(self)?; // names the slot
        }
        let found = if self.individuals.is_empty() {
            let seen = self.seen.unwrap_or(u64::MAX);
            self.elements.iter().filter_map(|slot| Some((*slot, now.seen_at(*slot, seen)?))).collect()
        } else {
            now.slots_of(&self.individuals)
        };
        if found.is_empty() && !(self.individuals.is_empty() && self.seen.is_none()) {
            let n = self.individuals.len().max(self.elements.len());
            return Err(SimError::Input(format!("{}: none of the {n} selected {over} is alive", self.name)));
        }
        // Free slots and those beyond the set, given by number, are the kind's to reject.
        let elements = if found.is_empty() { self.elements.clone() } else { found.iter().map(|(s, _)| *s).collect() };
        let resolved =
            Self { elements, individuals: found.iter().map(|(_, id)| *id).collect(), seen: None, ..self.clone() };
        sim.act(&resolved)?;
        Ok(resolved)
    }

    /// Number of elements it acts on.
    pub fn n_elements(&self) -> usize {
        self.elements.len().max(self.individuals.len())
    }
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
