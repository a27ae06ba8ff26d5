//! What a kind adds to the simulation of a language model.

use super::{
    backend::{Backend, Batch, Counters, Decoder, Outcome, StepStats},
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

/// Sizes of the model of a kind.
pub type Config<K> = <<K as Kind>::Params as ModelParams>::Config;
/// Ranges of its parameters.
pub type Layout<K> = <<K as Kind>::Params as ModelParams>::Layout;

/// A kind that learns language: its parts of a [`LanguageSim`].
///
/// A step calls [`step`](Self::step), then [`after_step`](Self::after_step). Readings are asked for with
/// [`reading`](Self::reading), then with [`kept_reading`](Self::kept_reading).
pub trait LanguageKind: Kind<Setup = Setup, Params: ModelParams> + Sized + 'static {
    /// The model on a device.
    type Backend: Backend + ?Sized;
    /// State and measurements that other kinds do not have.
    type Own: Send;
    /// What the sampler needs to know about the probes.
    const SAMPLER: sampler::Probes;

    /// Its state before step 0.
    fn own(config: &Config<Self>) -> Self::Own;
    /// Element sets.
    fn sets(config: &Config<Self>, layout: &Layout<Self>) -> Vec<Arc<ElementSet>>;
    /// Random weights.
    fn init(config: &Config<Self>, layout: &Layout<Self>, seed: u64) -> Parameters<f32>;
    /// State of the optimiser before step 0.
    fn counters(params: &Self::Params) -> Counters {
        let _ = params;
        Counters { loss_scale: 1.0, ..Counters::default() }
    }
    /// Prepares step 0: weights are in the backend.
    fn begin(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// Forgets measurements of its own.
    fn restart(own: &mut Self::Own) {
        let _ = own;
    }

    /// Takes a step.
    fn step(sim: &mut LanguageSim<Self>, batches: &[Batch<'_>], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// What follows a step that was taken.
    fn after_step(sim: &mut LanguageSim<Self>, pass: &mut Pass) -> Result<(), SimError> {
        let _ = (sim, pass);
        Ok(())
    }
    /// What follows when the records of steps were read: of these steps, which are the newest.
    fn after_counting(sim: &mut LanguageSim<Self>, steps: RangeInclusive<u64>) -> Result<(), SimError> {
        let _ = (sim, steps);
        Ok(())
    }
    /// Adds series of a step.
    fn record_step(sampler: &mut Sampler, step: u64, stats: &StepStats) {
        let _ = (sampler, step, stats);
    }
    /// Whether training cannot continue after a step.
    fn is_lost(params: &Self::Params, stats: &StepStats) -> bool {
        let _ = params;
        stats.is_skipped || !stats.loss.is_finite()
    }
    /// What a step does.
    fn step_counts(params: &Self::Params, config: &Config<Self>, layout: &Layout<Self>) -> Vec<StepCount>;

    /// A change of parameters, before it is in force.
    fn before_change(sim: &mut LanguageSim<Self>, new: &Self::Params) -> Result<Effect, SimError> {
        let _ = (sim, new);
        Ok(Effect::Applied)
    }
    /// Does an action, other than writing a text.
    fn act(sim: &mut LanguageSim<Self>, action: &Action) -> Result<(), SimError>;
    /// The decoder that writes periodic texts.
    fn writer(sim: &LanguageSim<Self>) -> Result<Box<dyn Decoder + '_>, SimError> {
        sim.backend.decoder()
    }
    /// Whether periodic texts may be written by a copy of the model beside later steps: nothing is measured on them in the model that
    /// wrote them, but what only a screen shows.
    fn writes_beside(sim: &LanguageSim<Self>, is_for_screen: bool) -> bool {
        let _ = (sim, is_for_screen);
        true
    }
    /// The decoder that options of a request choose.
    fn decoder<'a>(sim: &'a LanguageSim<Self>, options: &[Value]) -> Result<Box<dyn Decoder + 'a>, SimError> {
        let _ = options;
        sim.backend.decoder()
    }

    /// Values of an argument of its probes.
    fn arg_values(config: &Config<Self>, layout: &Layout<Self>, name: &str) -> ArgValues;
    /// Checks the elements of a tap.
    fn check_tap(config: &Config<Self>, tap: &Tap) -> Result<(), SimError> {
        let _ = (config, tap);
        Ok(())
    }
    /// What follows a change of the tapped probes.
    fn after_tap(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// Names of the lanes of a series.
    fn lanes(layout: &Layout<Self>, probe: ProbeId) -> Vec<String> {
        let _ = (layout, probe);
        vec![]
    }
    /// Values that a histogram counts.
    fn histogram(sim: &LanguageSim<Self>, key: &TapKey) -> Result<Vec<f32>, SimError> {
        let _ = (sim, key);
        Ok(vec![])
    }
    /// What follows a written text.
    fn after_text(sim: &mut LanguageSim<Self>) -> Result<(), SimError> {
        let _ = sim;
        Ok(())
    }
    /// A reading of this moment, or `None` if it is one of [`kept_reading`](Self::kept_reading).
    fn reading(sim: &mut LanguageSim<Self>, tap: &Tap) -> Result<Option<Reading>, SimError>;
    /// A reading that takes long: it is kept for the frames of some steps.
    fn kept_reading(sim: &mut LanguageSim<Self>, tap: &Tap) -> Result<Reading, SimError>;
    /// Individuals in the slots of a set.
    fn individuals(own: &Self::Own, set: &str) -> Option<Arc<Individuals>> {
        let _ = (own, set);
        None
    }
    /// Totals of the digest, after steps and tokens.
    fn totals(own: &Self::Own) -> Vec<(&'static str, u64)> {
        let _ = own;
        vec![]
    }

    /// Adds sections to a saved state.
    fn save(sim: &mut LanguageSim<Self>, counters: &Counters, out: &mut Snapshot) -> Result<(), SimError>;
    /// Checks sizes of a saved state before anything is read.
    fn check_saved(config: &Config<Self>, from: &Snapshot) -> Result<(), SimError> {
        let _ = (config, from);
        Ok(())
    }
    /// State of the optimiser in a saved state, with these updates.
    fn saved_counters(from: &Snapshot, updates: u64) -> Result<Counters, SimError> {
        let _ = from;
        Ok(Counters { updates, loss_scale: 1.0, finite_steps: 0 })
    }
    /// Loads its sections; `weights` are those of the state at `step`, which the backend does not have yet. An error changes
    /// nothing.
    fn load(sim: &mut LanguageSim<Self>, from: &Snapshot, step: u64, weights: &[f32]) -> Result<(), SimError> {
        let _ = (sim, from, step, weights);
        Ok(())
    }
}
