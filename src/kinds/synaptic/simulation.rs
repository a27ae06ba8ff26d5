//! Parts of the simulation of this kind: mechanisms, routers, times of the life cycle and of measurements.

use super::{
    Params,
    backend::{Backend, StepInput},
    dynamics,
    experts::projection::Axes,
    life_cycle::Lives,
    model::{self, Config, Layout},
    probes::{self, EXPERTS},
    readings::Routed,
    sampler::{self, OF_EXPERTS},
    scores::Scores,
    sets,
};
use crate::{
    gpu::Pass,
    kinds::language::{
        backend::{Batch, Counters, Decoder, Outcome},
        kind::LanguageKind,
        probes::ArgValues,
        sampler::Probes,
        simulation::{LanguageSim, indices},
        steps::is_due,
    },
    nn::parameters::Parameters,
    params::Value,
    sim::{Action, Effect, ElementSet, Individuals, ProbeId, Reading, SimError, Snapshot, StepCount, Tap},
};
use std::sync::Arc;

/// Simulation of a synaptic language model.
pub type SynapticSim = LanguageSim<SynapticKind>;

/// Marker type of the kind. [`LanguageKind`] is implemented here, [`Kind`](crate::sim::Kind) in `kind`.
pub struct SynapticKind;

/// State of experts besides their weights, and values that readings share.
pub struct Own {
    /// Ids and events of experts.
    pub lives: Lives,
    /// Scores of experts.
    pub scores: Scores,
    /// Number of the last step included in `scores`.
    pub scored: u64,
    /// Axes of the map by layer; `None` before the first projection.
    pub axes: Vec<Option<Axes>>,
    /// Decisions of the routers that all readings of a step share.
    pub routed: Vec<Arc<Routed>>,
}

impl LanguageKind for SynapticKind {
    type Backend = dyn Backend;
    type Own = Own;
    const SAMPLER: Probes = sampler::PROBES;

    fn own(config: &Config) -> Own {
        Own { lives: Lives::new(config), scores: Scores::default(), scored: 0, axes: vec![], routed: vec![] }
    }

    fn sets(_: &Params, config: &Config, layout: &Layout) -> Vec<Arc<ElementSet>> {
        sets::all(config, layout).to_vec()
    }

    fn init(config: &Config, layout: &Layout, seed: u64) -> Parameters<f32> {
        model::init(config, layout, seed)
    }

    /// Begins at step 0 with rested routers and founders. Fails if the device fails.
    fn begin(sim: &mut SynapticSim) -> Result<(), SimError> {
        sim.backend.set_dynamics(&sim.params.dynamics(&sim.config))?;
        for layer in 0..sim.config.layers {
            sim.backend.set_router(layer, &dynamics::rested(&sim.config, layer, sim.seed))?;
        }
        sim.drop_records()?;
        (sim.own.scores, sim.own.scored) = (sim.no_scores(), 0);
        sim.begin_lives()
    }

    fn restart(own: &mut Own) {
        own.lives.take_log();
        own.axes.clear();
        own.routed.clear();
    }

    fn step(sim: &mut SynapticSim, batches: &[Batch<'_>], pass: &mut Pass) -> Result<Outcome, SimError> {
        let input = StepInput {
            step: sim.state.step,
            batches,
            hyper: &sim.params.training.hyper(sim.state.step),
            frozen: &sim.state.frozen,
            frozen_experts: &sim.own.lives.identities.frozen(),
            measures: false,
        };
        sim.backend.step(&input, pass)
    }

    /// Updates scores, life cycle and series of experts after a step. Fails if the device fails.
    fn after_step(sim: &mut SynapticSim, pass: &mut Pass) -> Result<(), SimError> {
        sim.score_step()?;
        sim.live(pass)?;
        if is_due(sim.params.measure.every, sim.state.step) { sim.record_experts() } else { Ok(()) }
    }

    fn step_counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
        super::kind::counts(params, config, layout)
    }

    fn before_change(sim: &mut SynapticSim, new: &Params) -> Result<Effect, SimError> {
        // The number of parameters also depends on release: the control experiment has its own.
        if new.config(sim.config.vocab)? != sim.config {
            return Ok(Effect::NeedsRebuild);
        }
        sim.backend.set_dynamics(&new.dynamics(&sim.config))?;
        sim.own.routed.clear();
        Ok(Effect::Applied)
    }

    fn act(sim: &mut SynapticSim, action: &Action) -> Result<(), SimError> {
        match action.name.as_str() {
            "freeze" => sim.freeze_experts(action, true),
            "unfreeze" => sim.freeze_experts(action, false),
            "freeze_layers" => sim.freeze_layers(action, true),
            "unfreeze_layers" => sim.freeze_layers(action, false),
            _ => sim.wish(action),
        }
    }

    fn elements_in_state(sim: &SynapticSim, action: &str) -> Vec<u32> {
        match action {
            "freeze" => indices(&sim.own.lives.identities.frozen()),
            "freeze_layers" => indices(&sim.state.frozen),
            _ => vec![],
        }
    }

    fn writer(sim: &SynapticSim) -> Result<Box<dyn Decoder + '_>, SimError> {
        sim.decoder(sim.params.plasticity.sampling)
    }

    /// Whether texts are sampled concurrently. This is not possible with plasticity, which runs on the host, and while
    /// vesicles are recorded, because their pools are read after the text.
    fn writes_beside(sim: &SynapticSim, is_for_screen: bool) -> bool {
        !sim.params.plasticity.sampling && (is_for_screen || !sim.sampler.is_tapped(probes::VESICLES))
    }

    fn decoder<'a>(sim: &'a SynapticSim, options: &[Value]) -> Result<Box<dyn Decoder + 'a>, SimError> {
        sim.decoder(matches!(options, [Value::Bool(true)]))
    }

    fn arg_values(config: &Config, _: &Layout, name: &str) -> ArgValues {
        ArgValues::Numbers(match name {
            "layer" => config.layers,
            "head" => config.heads,
            _ => config.context,
        })
    }

    fn check_tap(config: &Config, tap: &Tap) -> Result<(), SimError> {
        let experts = config.layers * config.experts;
        match tap.elements.iter().find(|e| **e as usize >= experts) {
            Some(e) => Err(SimError::Input(format!("there is no expert slot {e}: the model has {experts}, from 0"))),
            None => Ok(()),
        }
    }

    fn after_tap(sim: &mut SynapticSim) -> Result<(), SimError> {
        sim.tap_lives(sim.sampler.is_tapped(probes::LINEAGE), sim.sampler.is_tapped(probes::LOG))
    }

    fn lanes(_: &Layout, probe: ProbeId) -> Vec<String> {
        let names = match probe {
            probes::VESICLES => probes::POOLS,
            probes::EVENTS => probes::EVENT_LANES,
            _ => &[],
        };
        names.iter().map(|lane| (*lane).to_owned()).collect()
    }

    fn after_text(sim: &mut SynapticSim) -> Result<(), SimError> {
        if sim.sampler.is_tapped(probes::VESICLES) {
            let pools = sim.vesicles()?;
            sim.sampler.push(probes::VESICLES, sim.state.step, &pools);
        }
        Ok(())
    }

    fn reading(sim: &mut SynapticSim, tap: &Tap) -> Result<Option<Reading>, SimError> {
        sim.expert_reading(tap)
    }

    fn kept_reading(sim: &mut SynapticSim, tap: &Tap) -> Result<Reading, SimError> {
        sim.text_reading(tap)
    }

    fn individuals(own: &Own, set: &str) -> Option<Arc<Individuals>> {
        (set == EXPERTS).then(|| own.lives.identities.individuals())
    }

    fn totals(own: &Own) -> Vec<(&'static str, u64)> {
        ["splits", "merges", "removals"].into_iter().zip(own.lives.events).collect()
    }

    fn save(sim: &mut SynapticSim, _: &Counters, out: &mut Snapshot) -> Result<(), SimError> {
        sim.save_experts(out)
    }

    fn check_saved(config: &Config, from: &Snapshot) -> Result<(), SimError> {
        super::saved::check_sizes(config, from)
    }

    fn load(sim: &mut SynapticSim, from: &Snapshot, step: u64, weights: &[f32]) -> Result<(), SimError> {
        sim.load_experts(from, step, weights)
    }
}

impl SynapticSim {
    /// Creates a decoder. In a plastic decoder, each token writes the fast memory. Fails if the device fails.
    pub(super) fn decoder(&self, is_plastic: bool) -> Result<Box<dyn Decoder + '_>, SimError> {
        match is_plastic {
            true => self.backend.plastic_decoder(&self.params.fast_memory(&self.config)),
            false => self.backend.decoder(),
        }
    }

    /// Records the series of experts after the step that was just taken. Fails if the device fails.
    fn record_experts(&mut self) -> Result<(), SimError> {
        let step = self.state.step;
        self.sampler.push(probes::EVENTS, step, &self.own.lives.events.map(|n| n as f32));
        for probe in OF_EXPERTS.iter().copied() {
            if !self.sampler.is_tapped(probe) {
                continue;
            }
            let span = self.sampler.span(probe);
            let values = self.slot_values(probe, &span)?;
            self.sampler.push_elements(probe, step, span.start, &values);
        }
        Ok(())
    }
}
