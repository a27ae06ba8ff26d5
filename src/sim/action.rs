//! Actions: changes that a user makes to a running simulation, other than parameter changes.

use super::{SimError, Simulation};
use crate::params::{ParamSpec, Value};

/// How an action is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionUndo {
    /// The former state is lost.
    Impossible,
    /// The action of this name undoes it on the same elements.
    By(&'static str),
    /// The action does not change the simulation.
    Unneeded,
}

/// Declared action: a form with a button in the window, an entry in a run's command log.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    /// Stable identifier, e.g. `kick`.
    pub name: &'static str,
    /// Label in the window; if empty, the name in sentence case ([`ActionSpec::label`]).
    pub title: &'static str,
    /// Doc comment of the declaration, shown as the tooltip.
    pub docs: &'static str,
    /// Element set whose selected elements the action applies to; empty if it applies to the whole simulation.
    pub over: &'static str,
    /// Declarations of the arguments.
    pub params: &'static [ParamSpec],
    /// How the action is undone.
    pub undo: ActionUndo,
    /// Adjective of the elements on which the action has an effect that lasts: `frozen`; empty if no effect lasts.
    pub state: &'static str,
    /// Least and largest number of elements that the action takes.
    pub n_elements: (u32, u32),
}

impl ActionSpec {
    /// Whether the action takes this number of elements.
    pub const fn takes(&self, n: usize) -> bool {
        self.over.is_empty() || self.n_elements.0 as usize <= n && n <= self.n_elements.1 as usize
    }

    /// Returns what undo does after the action, a sentence for tooltips and messages; empty if there is nothing to undo.
    pub const fn undo_note(&self) -> &'static str {
        match self.undo {
            ActionUndo::Impossible => "Cannot be undone",
            ActionUndo::By(_) => "Undo reverses it",
            ActionUndo::Unneeded => "",
        }
    }

    /// Returns the label in the window: the declared title, or the name in sentence case.
    pub fn label(&self) -> std::borrow::Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }
}

/// Elements on which an action has an effect that lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementState {
    /// Action that sets the state.
    pub action: &'static str,
    /// Adjective of the elements: `frozen`.
    pub state: &'static str,
    /// Set of the elements.
    pub over: &'static str,
    /// Elements in the state, ascending.
    pub elements: Vec<u32>,
}

impl ElementState {
    /// Reads the states of all elements of a simulation.
    pub fn all(sim: &dyn Simulation) -> Vec<Self> {
        let lasting = sim.actions().iter().filter(|spec| !spec.state.is_empty());
        let of = |spec: &ActionSpec| {
            let elements = sim.elements_in_state(spec.name);
            Self { action: spec.name, state: spec.state, over: spec.over, elements }
        };
        lasting.map(of).collect()
    }

    /// Whether an element of the set is in the state.
    pub fn has(&self, element: u32) -> bool {
        self.elements.binary_search(&element).is_ok()
    }
}

/// Action to perform, with elements and argument values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Action {
    /// Name of the declared action.
    pub name: String,
    /// Indices of the elements that the action applies to.
    pub elements: Vec<u32>,
    /// Ids of the individuals to which the action applies, if elements are slots. The slots are looked up when the action
    /// is performed.
    pub individuals: Vec<u64>,
    /// Step at which the elements were selected. Individuals that occupied their slots later are excluded; with `None`, no
    /// individual is excluded.
    pub seen: Option<u64>,
    /// One value per declared argument.
    pub values: Vec<Value>,
}

impl Action {
    /// Creates an action on elements given by index.
    pub fn on(name: impl Into<String>, elements: Vec<u32>, values: Vec<Value>) -> Self {
        Self { name: name.into(), elements, values, ..Self::default() }
    }

    /// Performs the action between two steps. Returns the action in the form of the command log, which names individuals by
    /// id if elements are slots.
    ///
    /// # Errors
    /// Fails if all individuals have ended, or if the simulation rejects the action. The simulation is then unchanged.
    pub fn perform(&self, sim: &mut dyn Simulation) -> Result<Self, SimError> {
        let over = sim.actions().iter().find(|spec| spec.name == self.name).map_or("", |spec| spec.over);
        let now = if over.is_empty() { None } else { sim.individuals(over) };
        let Some(now) = now else {
            sim.act(self)?;
            return Ok(Self { seen: None, ..self.clone() });
        };
        if self.elements.iter().any(|slot| *slot as usize >= now.ids.len()) {
            sim.act(self)?; // The kind's error names the slot that is out of range.
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
        // The kind rejects free slots, and slot numbers beyond the set.
        let elements = if found.is_empty() { self.elements.clone() } else { found.iter().map(|(s, _)| *s).collect() };
        let resolved =
            Self { elements, individuals: found.iter().map(|(_, id)| *id).collect(), seen: None, ..self.clone() };
        sim.act(&resolved)?;
        Ok(resolved)
    }

    /// Returns the action that undoes this performed action: the declared one, on the elements whose state it changed.
    /// `before` contains the states before the action. `None` if it changed nothing or cannot be undone.
    pub fn inverse(&self, specs: &[ActionSpec], before: &[ElementState]) -> Option<Self> {
        let spec = specs.iter().find(|spec| spec.name == self.name)?;
        let ActionUndo::By(undo) = spec.undo else { return None };
        let begins = !spec.state.is_empty();
        let state = before.iter().find(|state| state.action == if begins { spec.name } else { undo });
        let is_changed = |element: &u32| state.is_some_and(|state| state.has(*element)) != begins;
        let (mut elements, mut individuals) = (vec![], vec![]);
        for (i, element) in self.elements.iter().enumerate().filter(|(_, element)| is_changed(element)) {
            elements.push(*element);
            individuals.extend(self.individuals.get(i));
        }
        let is_empty = elements.is_empty();
        (!is_empty).then(|| Self { name: undo.to_owned(), elements, individuals, ..self.clone() })
    }

    /// Returns the number of given elements or individuals, including individuals that have ended.
    pub fn n_elements(&self) -> usize {
        self.elements.len().max(self.individuals.len())
    }
}

/// Returns the first of the values; the declaration of an action appends the default.
#[doc(hidden)]
pub const fn first<T: Copy>(values: &[T]) -> T {
    values[0]
}

/// Declares actions; an action that can be undone has `#[undo(By("name"))]`, an effect that lasts a `#[state("adjective")]`,
/// and one that does not take any number of elements `#[elements(least, most)]`:
/// `actions! { pub const ACTIONS; /// Docs. fn kick(over "neurons") { /// Docs. #[param(…)] weight_mv: f64 = 68.75, } }`.
#[macro_export]
macro_rules! actions {
    (
        $(#[doc = $list_docs:literal])*
        $vis:vis const $NAME:ident;
        $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
            $(#[undo($undo:expr)])?
            $(#[state($state:literal)])?
            $(#[elements($least:expr, $most:expr)])?
            fn $action:ident (over $over:literal) {
                $( $(#[doc = $arg_docs:literal])* #[param($($key:ident = $value:expr),* $(,)?)] $arg:ident : $ty:ty ),* $(,)?
            }
        )*
    ) => {
        $(#[doc = $list_docs])*
        $vis const $NAME: &[$crate::sim::ActionSpec] = {
            #[allow(unused_imports)]
            use $crate::{params::{Apply::*, Scale::*, Unit::*}, sim::ActionUndo::*};
            &[ $( $crate::sim::ActionSpec {
                name: stringify!($action),
                title: concat!($($title)?),
                docs: concat!($($docs, "\n"),*),
                over: $over,
                params: &[ $( $crate::params::ParamSpec::new(
                    stringify!($arg), concat!($($arg_docs, "\n"),*), <$ty as $crate::params::ParamValue>::TYPE,
                ) $(.$key($value))* ),* ],
                undo: $crate::sim::action::first(&[$($undo,)? Impossible]),
                state: concat!($($state)?),
                n_elements: $crate::sim::action::first(&[$(($least, $most),)? (1, u32::MAX)]),
            } ),* ]
        };
    };
}
