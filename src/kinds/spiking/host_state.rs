//! State shared by both backends, except the neurons: parameters, stimulus plan, measurements; and the application of edits and
//! actions.

use super::{
    actions::{WeightEdit, kick_weight},
    constants::{Constants, Real},
    general::{
        homeostasis::state::{Thresholds, counters},
        patterns::readout::Readout,
        plasticity::shuffle::ShuffleDraws,
    },
    measure::Measurements,
    params::{Lif, NeuronModel, Params},
    probes,
    setup::Setup,
    stimuli::StimulusPlan,
    synapse_readings::{RecordedSynapses, SYNAPSE_PROBES},
    weight_matrix::{self, MatrixReadings},
    weight_readings::{WEIGHT_PROBES, WeightReadings, projection_set},
};
use crate::{
    kinds::shared::{edit, host_sim::Host},
    params::{Change, Params as AnyParams},
    sim::{
        Action, ActionSpec, BuildContext, Clock, Connectivity, Digest, ElementSet, Frame, NonFinite, ProbeId,
        ProbeSpec, Reading, SimError, Tap, TapKey,
    },
};
use std::sync::Arc;

/// Backend-independent part of a simulation.
pub struct HostState<T> {
    pub params: Params,
    /// Seed of the project and folder of its files.
    pub context: BuildContext,
    /// Neurons and connectivity.
    pub setup: Arc<Setup>,
    /// The neurons; with plastic projections also [`probes::PROJECTIONS`].
    pub sets: Vec<Arc<ElementSet>>,
    /// Constants derived from the parameters.
    pub constants: Constants<T>,
    /// Stimuli and silencing over time.
    pub plan: StimulusPlan,
    /// Whether the active stimuli must be recomputed before the next step.
    pub stimuli_changed: bool,
    /// Number of completed steps.
    pub step: u64,
    /// Counters, hash and samples.
    pub measurements: Measurements,
    /// Manual kicks for the next step: (neuron, mV).
    pub manual_kicks: Vec<(u32, T)>,
    /// Taps of mean weights between categories.
    pub matrices: MatrixReadings,
    /// Raised thresholds of adaptive neurons in networks from rules.
    pub thresholds: Thresholds,
}

/// Work that an edit requires of the backend.
pub enum Edit<T> {
    /// The simulation has to be rebuilt.
    Rebuild,
    /// The edit requires no work, or only an update of the active stimuli.
    Applied,
    /// The neuron model changed: re-anchor every neuron with the old constants `were`, then shift u.
    Neurons {
        /// Constants before the edit.
        were: Box<Constants<T>>,
        /// Increment of u, mV, that keeps v constant if the resting potential changes.
        shift: T,
    },
}

impl<T: Real> HostState<T> {
    /// Creates the host state at step 0. Fails if a stimulus is invalid.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>) -> Result<Self, SimError> {
        let mut measurements = Measurements::new(setup.neurons.clone(), params.dt_ms(), &params.measure);
        measurements.weights = WeightReadings::new(params);
        measurements.weights.synapses.set(RecordedSynapses::find(params, &setup)?);
        let plan = StimulusPlan::new(params, &setup, context)?;
        measurements.readout = plan.patterns().cloned().and_then(Readout::new);
        let rules = setup.rules().ok();
        measurements.counts = rules.map(|network| counters(&network.plan)).unwrap_or_default();
        let thresholds = rules.map(|network| Thresholds::new(&network.plan)).unwrap_or_default();
        Ok(Self {
            constants: derive(params),
            plan,
            thresholds,
            measurements,
            matrices: MatrixReadings::default(),
            sets: [setup.neurons.clone()].into_iter().chain(projection_set(params)).collect(),
            params: params.clone(),
            context: context.clone(),
            setup,
            stimuli_changed: true,
            step: 0,
            manual_kicks: vec![],
        })
    }

    /// Applies a parameter change between two steps. Fails if a value or a stimulus is invalid, or a column does not exist.
    pub fn edit(&mut self, change: &Change) -> Result<Edit<T>, SimError> {
        let new = match edit::check_change(&self.params, change)? {
            edit::Edit::Same => return Ok(Edit::Applied),
            edit::Edit::Rebuild => return Ok(Edit::Rebuild),
            edit::Edit::Live(new) => *new,
        };
        let old = &self.params;
        if new.recorded_synapses != old.recorded_synapses {
            let synapses = RecordedSynapses::find(&new, &self.setup)?;
            self.measurements.weights.synapses.set(synapses);
        }
        if new.selections != old.selections {
            self.matrices.update_groups(&new, &self.setup, &self.context)?;
        }
        if new.measure != old.measure {
            if new.measure.group_by != old.measure.group_by {
                self.measurements.check_column(&new.measure.group_by)?;
            }
            self.measurements.configure(&new.measure, self.step);
        }
        if new.stimuli_differ_from(old) {
            let plan = StimulusPlan::new(&new, &self.setup, &self.context)?;
            follow(&mut self.measurements, &plan);
            self.plan = plan;
            self.stimuli_changed = true;
        }
        let mut edit = Edit::Applied;
        // Start potentials only take effect at a rewind.
        if (Lif { start: old.lif.start.clone(), ..new.lif.clone() }) != old.lif {
            let shift = T::of(old.lif.v_rest - new.lif.v_rest);
            let were = Box::new(std::mem::replace(&mut self.constants, derive(&new)));
            edit = Edit::Neurons { were, shift };
        }
        self.measurements.weights.configure(&new);
        self.params = new;
        Ok(edit)
    }

    /// Sets the taps. Fails if a probe, a neuron or the value of an argument does not exist.
    pub fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let matrices = MatrixReadings::new(taps, &self.params, &self.setup, &self.context)?;
        self.measurements.tap(taps, self.step)?;
        self.matrices = matrices;
        Ok(())
    }

    /// Applies an action between two steps. Returns the change of weights if the backend has to make one, which networks without
    /// plastic projections never do. Fails as [`kick_weight`] and [`WeightEdit::of`] do.
    pub fn act(&mut self, action: &Action) -> Result<Option<WeightEdit>, SimError> {
        let draws = ShuffleDraws { seed: self.context.seed, step: self.step };
        if let Some(edit) = WeightEdit::of(action, &self.params, draws)? {
            return Ok(Some(edit));
        }
        let weight = T::of(kick_weight(action, self.setup.n())?);
        self.manual_kicks.extend(action.elements.iter().map(|i| (*i, weight)));
        Ok(None)
    }

    /// Sets the seed of all random draws and random queries. A rewind must follow. Fails if a stimulus is invalid with this
    /// seed.
    pub fn reseed(&mut self, seed: u64) -> Result<(), SimError> {
        let context = BuildContext { seed, ..self.context.clone() };
        let plan = self.plan.reseeded(&self.params, &self.setup, &context)?;
        follow(&mut self.measurements, &plan);
        self.plan = plan;
        self.context = context;
        Ok(())
    }

    /// Returns to step 0; parameters and taps are kept.
    pub fn rewind(&mut self) {
        self.step = 0;
        self.thresholds.clear();
        self.manual_kicks.clear();
        self.measurements.rewind();
        self.matrices.drop_unread();
        self.stimuli_changed = true;
    }
}

impl<T: Real> Host for HostState<T> {
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;

    fn probes(&self) -> &'static [ProbeSpec] {
        match self.params.network.model {
            NeuronModel::ExponentialLif => probes::PROBES,
            NeuronModel::NoisyLeaky => probes::LEAKY_PROBES,
        }
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        match probe {
            probes::CLASS_RATES => self.measurements.class_names(),
            probes::MEAN_WEIGHT | probes::WEIGHT_SD => self.measurements.weights.names().to_vec(),
            probes::THIRD_FACTOR => self.measurements.weights.modulated().to_vec(),
            probes::ACCURACY => vec!["held-out patterns".to_owned()],
            _ if SYNAPSE_PROBES.contains(&probe) => self.measurements.weights.synapses.names().to_vec(),
            _ => vec![],
        }
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        match probe {
            probes::WEIGHT_MATRIX => weight_matrix::choices(&self.params, &self.setup),
            _ => vec![],
        }
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn connectivity(&self) -> Option<Connectivity> {
        Some(self.setup.connectivity(delay_secs(&self.params)))
    }

    fn clock(&self) -> Clock {
        Clock::seconds(self.step, self.params.dt_ms() * 1e-3)
    }

    fn params(&self) -> &dyn AnyParams {
        &self.params
    }

    fn taps(&self) -> Vec<ProbeId> {
        self.measurements.taps().collect()
    }

    fn taps_with_arguments(&self) -> Vec<TapKey> {
        self.matrices.keys()
    }

    fn take(&mut self, probe: ProbeId, frame: &mut Frame) -> Option<Reading> {
        match probe {
            probes::SPIKES => Some(Reading::Spikes(self.measurements.take_spikes(std::mem::take(&mut frame.spare)))),
            probes::ACCURACY => self.measurements.readout.as_mut().map(Readout::take),
            _ if WEIGHT_PROBES.contains(&probe) => self.measurements.weights.take(probe),
            _ if SYNAPSE_PROBES.contains(&probe) => self.measurements.weights.synapses.take(probe),
            _ => self.measurements.take_series(probe).map(Reading::Series),
        }
    }

    fn digest(&self) -> Digest {
        self.measurements.digest()
    }
}

/// Makes the readout follow the presented patterns of other stimuli.
fn follow(measurements: &mut Measurements, plan: &StimulusPlan) {
    if let Some((readout, patterns)) = measurements.readout.as_mut().zip(plan.patterns()) {
        readout.follow(patterns.clone());
    }
}

/// Returns an error about the first neuron with a non-finite state, if any.
pub fn check_finite(lost: impl Iterator<Item = NonFinite>, neurons: &ElementSet) -> Result<(), SimError> {
    let Some(NonFinite { step, element }) = lost.min() else { return Ok(()) };
    let whose = format!("the state of neuron {}", neurons.label(element));
    Err(SimError::non_finite(&whose, step, "lower the weights of synapses and stimuli, or undo the last change"))
}

/// Returns the delay of all connections of a network with one neuron model, seconds.
pub fn delay_secs(params: &Params) -> f64 {
    f64::from(derive::<f64>(params).delay) * params.dt_ms() * 1e-3
}

/// Returns the constants of the neuron model; for leaky units only the delay and the time between two spikes (one step each), and
/// the step length.
fn derive<T: Real>(params: &Params) -> Constants<T> {
    let constants = params.lif.derive();
    if params.network.model == NeuronModel::NoisyLeaky {
        return Constants { delay: 1, refractory: 1, dt_ms: params.dt_ms(), ..constants };
    }
    constants
}
