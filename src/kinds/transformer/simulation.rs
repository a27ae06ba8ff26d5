//! The transformer's implementation of [`LanguageKind`].

use super::{
    Params,
    backend::{Backend, Site, StepInput},
    choices::Precision,
    model::{self, Config, Layout},
    probes::{self, SITES},
    readings::Norms,
    sampler::{self, OF_NORMS},
    sets,
};
use crate::{
    gpu::Pass,
    kinds::language::{
        backend::{Batch, Counters, Outcome, StepStats},
        kind::LanguageKind,
        measure::number,
        probes::ArgValues,
        sampler::{Probes, Sampler},
        simulation::{LanguageSim, indices},
        steps::is_due,
    },
    nn::parameters::Parameters,
    sim::{Action, ElementSet, ProbeId, Progress, Reading, SimError, Snapshot, StepCount, Tap, TapKey},
};
use std::{ops::RangeInclusive, sync::Arc};

/// Simulation of a transformer in training.
pub type TransformerSim = LanguageSim<TransformerKind>;

/// Marker type of the kind. [`LanguageKind`] is implemented here, [`Kind`](crate::sim::Kind) in `kind`.
pub struct TransformerKind;

/// Whether the step measures norms.
fn measures(sim: &TransformerSim, step: u64) -> bool {
    is_due(sim.params.measure.every, step) && sim.sampler.is_any_tapped(OF_NORMS)
}

impl LanguageKind for TransformerKind {
    type Backend = dyn Backend;
    /// Norms of each parameter at the last step that measured them.
    type Own = Norms;
    const SAMPLER: Probes = sampler::PROBES;

    fn own(_: &Config) -> Norms {
        vec![]
    }

    fn sets(_: &Params, _: &Config, layout: &Layout) -> Vec<Arc<ElementSet>> {
        sets::all(layout).to_vec()
    }

    fn init(config: &Config, layout: &Layout, seed: u64) -> Parameters<f32> {
        model::init(config, layout, seed)
    }

    fn counters(params: &Params) -> Counters {
        let loss_scale = if params.compute.precision == Precision::F16 { 65_536.0 } else { 1.0 };
        Counters { loss_scale, ..Counters::default() }
    }

    fn restart(norms: &mut Norms) {
        norms.clear();
    }

    fn step(sim: &mut TransformerSim, batches: &[Batch<'_>], pass: &mut Pass) -> Result<Outcome, SimError> {
        let step = sim.state.step;
        let (hyper, measures) = (sim.params.training.hyper(step), measures(sim, step + 1));
        let input = StepInput { step, batches, hyper: &hyper, frozen: &sim.state.frozen, measures };
        sim.backend.step(&input, pass)
    }

    fn after_counting(sim: &mut TransformerSim, steps: RangeInclusive<u64>) -> Result<(), SimError> {
        for step in steps {
            if measures(sim, step) {
                sim.record_norms(step)?;
            }
        }
        Ok(())
    }

    fn record_step(sampler: &mut Sampler, step: u64, stats: &StepStats) {
        sampler.push(probes::LOSS_SCALE, step, &[stats.gradient.unwrap_or_default().loss_scale]);
    }

    /// Whether a step was lost. With fp16 and a loss scale above 1, a skipped step is not lost, because it lowers the loss
    /// scale.
    fn is_lost(params: &Params, stats: &StepStats) -> bool {
        let loss_scale = stats.gradient.unwrap_or_default().loss_scale;
        let is_f16 = params.compute.precision == Precision::F16 && loss_scale > 1.0;
        stats.is_skipped() && !is_f16 || stats.loss.is_nan()
    }

    fn step_counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
        step_counts(params, config, layout)
    }

    fn act(sim: &mut TransformerSim, action: &Action) -> Result<(), SimError> {
        match action.name.as_str() {
            "freeze" => sim.freeze_layers(action, true),
            "unfreeze" => sim.freeze_layers(action, false),
            other => {
                Err(SimError::Input(format!("there is no action {other}; there are freeze, unfreeze, sample_now")))
            }
        }
    }

    fn elements_in_state(sim: &TransformerSim, action: &str) -> Vec<u32> {
        if action == "freeze" { indices(&sim.state.frozen) } else { vec![] }
    }

    /// Whether texts are sampled concurrently. This is not possible while activations are recorded, because they are read
    /// after the text.
    fn writes_beside(sim: &TransformerSim, is_for_screen: bool) -> bool {
        is_for_screen || !sim.sampler.is_tapped(probes::ACTIVATIONS)
    }

    fn arg_values(config: &Config, layout: &Layout, name: &str) -> ArgValues {
        match name {
            "layer" => ArgValues::Numbers(config.layers),
            "head" => ArgValues::Numbers(config.heads),
            "site" => ArgValues::Names(SITES.iter().map(|site| (*site).to_owned()).collect()),
            _ => ArgValues::Names(layout.map.views().map(|view| view.name.clone()).collect()),
        }
    }

    fn lanes(layout: &Layout, probe: ProbeId) -> Vec<String> {
        match probe {
            probes::WEIGHT_NORMS | probes::GRADIENT_NORMS | probes::UPDATE_RATIOS => layout.layer_names(),
            _ => vec![],
        }
    }

    fn histogram(sim: &TransformerSim, key: &TapKey) -> Result<Vec<f32>, SimError> {
        if key.probe == probes::WEIGHTS {
            return sim.weights_of(&key.args);
        }
        let layer = number(&key.args, "layer");
        let site = match key.args.get("site").as_deref() {
            Some(site) if site == SITES[1] => Site::AttentionOutput(layer),
            Some(site) if site == SITES[2] => Site::Hidden(layer),
            _ => Site::Residual(layer + 1),
        };
        sim.backend.inspect(&sim.shown_tokens(), site, &Progress::default())
    }

    fn reading(sim: &mut TransformerSim, tap: &Tap) -> Result<Option<Reading>, SimError> {
        Ok(sim.field(tap.probe).map(Reading::field))
    }

    /// Computes the attention map of the shown tokens. Fails if the device fails.
    fn kept_reading(sim: &mut TransformerSim, tap: &Tap) -> Result<Reading, SimError> {
        let tokens = sim.shown_tokens();
        let site = Site::Attention { layer: number(&tap.args, "layer"), head: number(&tap.args, "head") };
        let values = sim.backend.inspect(&tokens, site, &Progress::default())?;
        Ok(Reading::Matrix(crate::kinds::language::sampler::map(sim.token_names(&tokens), values)))
    }

    fn save(_: &mut TransformerSim, counters: &Counters, out: &mut Snapshot) -> Result<(), SimError> {
        out.number("finite_steps", counters.finite_steps);
        out.number("loss_scale", counters.loss_scale);
        Ok(())
    }

    fn saved_counters(from: &Snapshot, updates: u64) -> Result<Counters, SimError> {
        let (loss_scale, finite_steps) = (from.read_number("loss_scale")?, from.read_number("finite_steps")?);
        Ok(Counters { updates, loss_scale, finite_steps })
    }
}

/// Returns the work of a step.
pub(super) fn step_counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
    let tokens = (params.training.sequences() * config.context) as f64;
    let parameters = layout.map.count();
    vec![
        StepCount::items("tokens", tokens),
        StepCount::ops("of the model, 6 N + 6 L C T per token", tokens * config.flops_per_token(parameters)),
        // The optimiser reads and writes weights and two moments, and reads the gradient.
        StepCount::bytes("of the optimiser", 28.0 * parameters as f64),
    ]
}
