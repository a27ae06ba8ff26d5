//! What both backends hold of a project beside the neurons: parameters, plan, measurements; how edits and actions
//! are taken up.

use super::{
    NeuronModel, Params,
    edit::kick_weight,
    layout::{Constants, Real},
    measure::Meter,
    probes,
    setup::Setup,
    stimuli::Plan,
};
use crate::{
    kinds::edit,
    params::Change,
    sim::{Action, BuildContext, Clock, Connectivity, ElementSet, NonFinite, ProbeId, SimError},
};
use std::sync::Arc;

/// The backend-neutral half of a simulation.
pub struct Desk<T> {
    /// As they are now.
    pub params: Params,
    /// Seed and folder.
    pub context: BuildContext,
    /// Neurons and wiring.
    pub setup: Arc<Setup>,
    /// The one set there is.
    pub sets: Vec<Arc<ElementSet>>,
    /// Derived from the parameters.
    pub constants: Constants<T>,
    /// Drives and lesions over time.
    pub plan: Plan,
    /// The situation has to be looked up again before the next step.
    pub stale: bool,
    /// Steps taken.
    pub step: u64,
    /// What is measured.
    pub meter: Meter,
    /// Kicks to be given in the next step: neuron, mV.
    pub by_hand: Vec<(u32, T)>,
}

/// What an edit asks of the neurons.
pub enum Edit<T> {
    /// A new simulation.
    Rebuild,
    /// Nothing, or a new look at the plan.
    Applied,
    /// The neuron model is another: re-anchor every neuron with the constants as they `were`, then move u.
    Neurons {
        /// The constants before the edit.
        were: Box<Constants<T>>,
        /// To be added to u, mV, so that v stays when rest moves.
        shift: T,
    },
}

impl<T: Real> Desk<T> {
    /// At step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>) -> Result<Self, SimError> {
        Ok(Self {
            constants: derive(params),
            plan: Plan::new(params, &setup, context)?,
            meter: Meter::new(setup.neurons.clone(), params.dt_ms(), &params.measure),
            sets: vec![setup.neurons.clone()],
            params: params.clone(),
            context: context.clone(),
            setup,
            stale: true,
            step: 0,
            by_hand: vec![],
        })
    }

    /// Steps taken and their length.
    pub fn clock(&self) -> Clock {
        Clock { step: self.step, secs_per_step: self.params.dt_ms() * 1e-3 }
    }

    /// The connections, and their delay.
    pub fn connectivity(&self) -> Connectivity {
        self.setup.published(f64::from(self.constants.delay) * self.params.dt_ms() * 1e-3)
    }

    /// Names of the lanes of a series.
    pub fn lanes(&self, probe: ProbeId) -> Vec<String> {
        if probe == probes::CLASS_RATES { self.meter.class_names() } else { vec![] }
    }

    /// Takes up a change of a parameter between two steps.
    pub fn edit(&mut self, change: &Change) -> Result<Edit<T>, SimError> {
        let new = match edit::edit(&self.params, change)? {
            edit::Edit::Same => return Ok(Edit::Applied),
            edit::Edit::Rebuild => return Ok(Edit::Rebuild),
            edit::Edit::Live(new) => *new,
        };
        let old = &self.params;
        if new.measure != old.measure {
            if new.measure.group_by != old.measure.group_by {
                self.meter.check_column(&new.measure.group_by)?;
            }
            self.meter.configure(&new.measure, self.step);
        }
        if new.drives_otherwise_than(old) {
            self.plan = Plan::new(&new, &self.setup, &self.context)?;
            self.stale = true;
        }
        let mut edit = Edit::Applied;
        if new.lif != old.lif {
            let shift = T::of(old.lif.v_rest - new.lif.v_rest);
            let were = Box::new(std::mem::replace(&mut self.constants, derive(&new)));
            edit = Edit::Neurons { were, shift };
        }
        self.params = new;
        Ok(edit)
    }

    /// Takes up an action between two steps.
    pub fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let weight = T::of(kick_weight(action, self.setup.n())?);
        self.by_hand.extend(action.elements.iter().map(|i| (*i, weight)));
        Ok(())
    }

    /// Back to step 0; parameters and taps stay.
    pub fn rewind(&mut self) {
        self.step = 0;
        self.by_hand.clear();
        self.meter.rewind();
        self.stale = true;
    }
}

/// The first of those whose state is no number, as an error.
pub fn guard(lost: impl Iterator<Item = NonFinite>, neurons: &ElementSet) -> Result<(), SimError> {
    let Some(NonFinite { step, element }) = lost.min() else { return Ok(()) };
    let whose = format!("the state of neuron {}", neurons.label(element));
    Err(SimError::non_finite(
        &whose,
        step,
        "lower the weights of synapses and stimuli, or take back what was changed last",
    ))
}

/// Constants of the neurons; of noisy leaky units only the delay, one step, and the length of a step.
fn derive<T: Real>(params: &Params) -> Constants<T> {
    let constants = params.lif.derive();
    if params.network.model == NeuronModel::NoisyLeaky {
        return Constants { delay: 1, dt_ms: params.dt_ms(), ..constants };
    }
    constants
}
