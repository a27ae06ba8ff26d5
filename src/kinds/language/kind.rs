//! Trait of the parts of the simulation that a language kind implements.

use super::{
    backend::{Backend, Batch, Counters, Decoder, Outcome, StateBuffer, StepStats},
    model::ModelParams,
    probes::ArgValues,
    sampler::{self, Sampler},
    setup::Setup,
    simulation::LanguageSim,
};
use crate::{
    gpu::Pass,
    nn::parameters::Parameters,
    params::Value,
    sim::{
        Action, Effect, ElementSet, Individuals, Kind, ProbeId, Reading, SimError, Snapshot, StepCount, Tap, TapKey,
    },
};
use std::{ops::RangeInclusive, sync::Arc};

/// Model sizes of kind `K`.
pub type Config<K> = <<K as Kind>::Params as ModelParams>::Config;
/// Parameter layout of kind `K`: the range of each parameter.
pub type Layout<K> = <<K as Kind>::Params as ModelParams>::Layout;

/// Kind that trains a language model, with the kind-specific parts of a [`LanguageSim`].
///
/// A step calls [`step`](Self::step), then [`after_step`](Self::after_step). A tapped probe is read with
/// [`reading`](Self::reading); if that returns `None`, it is read with [`kept_reading`](Self::kept_reading).
pub trait LanguageKind: Kind<Setup = Setup, Params: ModelParams> + Sized + 'static {
    /// Trait of the models on a device.
    type Backend: Backend + ?Sized;
    /// State and measurements that only this kind has.
    type Own: Send;
    /// Probe specifications for the sampler.
    const SAMPLER: sampler::Probes;
    /// Path of the learning rate, for messages.
    const LEARNING_RATE: &'static str = "training.learning_rate";

    /// Creates the kind's state before step 0.
    fn own(config: &Config<Self>) -> Self::Own;
    /// Returns the element sets of the model.
    fn sets(params: &Self::Params, config: &Config<Self>, layout: &Layout<Self>) -> Vec<Arc<ElementSet>>;
    /// Draws random initial weights.
    fn init(config: &Config<Self>, layout: &Layout<Self>, seed: u64) -> Parameters<f32>;
    /// Returns the buffers that make up the state of the model, in the order of a saved state; the first are the weights.
    fn buffers(params: &Self::Params) -> &'static [StateBuffer] {
        let _ = params;
        &StateBuffer::ALL
    }
    /// Returns the counters of the optimiser before step 0.
    fn counters(params: &Self::Params) -> Counters {
        let _ = params;
        Counters { loss_scale: 1.0, ..Counters::default() }
    }
    /// Prepares step 0, for which the weights are already in the backend. Fails if the device fails.
    fn begin(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// Clears the kind's measurements.
    fn restart(own: &mut Self::Own) {
        let _ = own;
    }

    /// Runs a training step with the micro-batches that were drawn for it: none if the backend draws the tokens itself
    /// ([`ModelParams::batches`]). Fails if an input is invalid or the device fails.
    fn step(sim: &mut LanguageSim<Self>, batches: &[Batch<'_>], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Runs the measurements and changes of the kind after each completed step. Fails if the device fails.
    fn after_step(sim: &mut LanguageSim<Self>, pass: &mut Pass) -> Result<(), SimError> {
        let _ = (sim, pass);
        Ok(())
    }
    /// Uses the statistics of `steps`, the newest steps, after they were collected. Fails if the device fails.
    fn after_counting(sim: &mut LanguageSim<Self>, steps: RangeInclusive<u64>) -> Result<(), SimError> {
        let _ = (sim, steps);
        Ok(())
    }
    /// Pushes the kind's series of a step.
    fn record_step(sampler: &mut Sampler, step: u64, stats: &StepStats) {
        let _ = (sampler, step, stats);
    }
    /// Whether training cannot continue after a step, because its loss is not finite or its update was skipped.
    fn is_lost(params: &Self::Params, stats: &StepStats) -> bool {
        let _ = params;
        stats.is_skipped() || !stats.loss.is_finite()
    }
    /// Returns the work per step: operations, bytes and other counts.
    fn step_counts(params: &Self::Params, config: &Config<Self>, layout: &Layout<Self>) -> Vec<StepCount>;

    /// Checks or prepares a change of parameters before it takes effect. Fails if the change is invalid.
    fn before_change(sim: &mut LanguageSim<Self>, new: &Self::Params) -> Result<Effect, SimError> {
        let _ = (sim, new);
        Ok(Effect::Applied)
    }
    /// Performs an action other than `sample_now`. Fails if the action is unknown or its elements are invalid.
    fn act(sim: &mut LanguageSim<Self>, action: &Action) -> Result<(), SimError>;
    /// Returns the elements, ascending, in the lasting state that an action sets.
    fn elements_in_state(sim: &LanguageSim<Self>, action: &str) -> Vec<u32>;
    /// Creates the decoder for periodic texts. Fails if the device fails.
    fn writer(sim: &LanguageSim<Self>) -> Result<Box<dyn Decoder + '_>, SimError> {
        sim.backend.decoder()
    }
    /// Whether a copy of the model may sample a periodic text concurrently with later steps. This is not possible if
    /// measurements of the model depend on the sampled text, unless they are only shown on screen.
    fn writes_beside(sim: &LanguageSim<Self>, is_for_screen: bool) -> bool {
        let _ = (sim, is_for_screen);
        true
    }
    /// Creates the decoder that the options of a request select. Fails if an option is invalid or the device fails.
    fn decoder<'a>(sim: &'a LanguageSim<Self>, options: &[Value]) -> Result<Box<dyn Decoder + 'a>, SimError> {
        let _ = options;
        sim.backend.decoder()
    }

    /// Returns the valid values of probe argument `name`.
    fn arg_values(config: &Config<Self>, layout: &Layout<Self>, name: &str) -> ArgValues;
    /// Checks the elements of a tap. Fails if they are invalid.
    fn check_tap(config: &Config<Self>, tap: &Tap) -> Result<(), SimError> {
        let _ = (config, tap);
        Ok(())
    }
    /// Prepares the model for changed taps. Fails if the device fails.
    fn after_tap(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// Returns the names of the lanes of a series probe.
    fn lanes(layout: &Layout<Self>, probe: ProbeId) -> Vec<String> {
        let _ = (layout, probe);
        vec![]
    }
    /// Returns the values that a histogram counts. Fails if the device fails.
    fn histogram(sim: &LanguageSim<Self>, key: &TapKey) -> Result<Vec<f32>, SimError> {
        let _ = (sim, key);
        Ok(vec![])
    }
    /// Updates the measurements that depend on a text, after a text was sampled. Fails if the device fails.
    fn after_text(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// Reads a probe; returns `None` if the probe is a [`kept_reading`](Self::kept_reading). Fails if the device fails.
    fn reading(sim: &mut LanguageSim<Self>, tap: &Tap) -> Result<Option<Reading>, SimError>;
    /// Reads an expensive probe, whose reading is cached for the frames of several steps. Fails if the device fails.
    fn kept_reading(sim: &mut LanguageSim<Self>, tap: &Tap) -> Result<Reading, SimError>;
    /// Returns the individuals in the slots of an element set; `None` if the set has no slots.
    fn individuals(own: &Self::Own, set: &str) -> Option<Arc<Individuals>> {
        let _ = (own, set);
        None
    }
    /// Returns the totals of the digest, listed after steps and tokens.
    fn totals(own: &Self::Own) -> Vec<(&'static str, u64)> {
        let _ = own;
        vec![]
    }

    /// Adds the kind's sections to a saved state. Fails if the device fails.
    fn save(sim: &mut LanguageSim<Self>, counters: &Counters, out: &mut Snapshot) -> Result<(), SimError>;
    /// Checks the sizes of a saved state before any section is loaded. Fails if they differ.
    fn check_saved(config: &Config<Self>, from: &Snapshot) -> Result<(), SimError> {
        let _ = (config, from);
        Ok(())
    }
    /// Reads the optimiser's counters from a saved state with `updates` updates. Fails if a section is missing or invalid.
    fn saved_counters(from: &Snapshot, updates: u64) -> Result<Counters, SimError> {
        let _ = from;
        Ok(Counters { updates, loss_scale: 1.0, finite_steps: 0 })
    }
    /// Loads the kind's sections. `weights` contains the saved weights of step `step`, which are not in the backend yet.
    /// Fails if a section is missing or invalid; the simulation is then unchanged.
    fn load(sim: &mut LanguageSim<Self>, from: &Snapshot, step: u64, weights: &[f32]) -> Result<(), SimError> {
        let _ = (sim, from, step, weights);
        Ok(())
    }
}
