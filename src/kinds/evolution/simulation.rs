//! The implementation of [`LanguageKind`] for populations.

use super::{
    Params,
    backend::{Backend, GenerationInput, GenerationStats, Site},
    model::{Vector, Weights},
    network::{Layout, Network},
    params::Noise,
    probes,
    readings::Own,
    sets,
    strategy::{NoiseForm, Settings},
};
use crate::{
    gpu::Pass,
    kinds::language::{
        backend::{Batch, Counters, Outcome, StateBuffer},
        kind::LanguageKind,
        probes::ArgValues,
        sampler::Probes,
        simulation::{LanguageSim, indices},
        steps::is_due,
    },
    nn::parameters::Parameters,
    sim::{Action, ElementSet, ProbeId, Reading, SimError, Snapshot, StepCount, Tap, TapKey},
};
use std::{ops::RangeInclusive, sync::Arc};

/// Simulation of a population that evolves.
pub type EvolutionSim = LanguageSim<EvolutionKind>;

/// Marker type of the kind. [`LanguageKind`] is implemented here, [`Kind`](crate::sim::Kind) in `kind`.
pub struct EvolutionKind;

impl Params {
    /// Returns the settings of the strategy for a run.
    pub fn settings(&self, seed: u64) -> Settings {
        let strategy = &self.strategy;
        Settings {
            sequences: strategy.sequences as usize,
            texts: strategy.texts,
            noise: match &strategy.noise {
                Noise::LowRank(noise) => NoiseForm::LowRank(noise.rank as usize),
                Noise::FullRank(noise) => NoiseForm::FullRank(noise.generator),
                Noise::Activations(_) => NoiseForm::Activations,
            },
            shaping: strategy.shaping,
            clip: strategy.clip,
            rule: strategy.update.rule(),
            vector_rate: strategy.vector_rate as f32,
            trains_positions: strategy.trained_positions,
            has_byte_residual: strategy.byte_residual,
            seed,
        }
    }
}

impl LanguageKind for EvolutionKind {
    type Backend = dyn Backend;
    type Own = Own;
    const SAMPLER: Probes = Probes {
        specs: probes::PROBES,
        of_text: &[probes::SAMPLES, probes::TOKENS, probes::ATTENTION, probes::WRITES],
        limit: |_| 1.6,
    };
    const LEARNING_RATE: &'static str = "strategy.learning_rate";

    fn own(_: &Network) -> Own {
        Own::default()
    }

    fn sets(params: &Params, _: &Network, layout: &Layout) -> Vec<Arc<ElementSet>> {
        sets::all(params.strategy.pairs(), layout)
    }

    /// Returns the initial weights, which do not depend on the seed.
    fn init(network: &Network, layout: &Layout, _: u64) -> Parameters<f32> {
        let weights = Weights::initial(&network.sizes);
        let matrices = weights.matrices.iter().map(|matrix| matrix.iter().map(|w| f32::from(*w)).collect::<Vec<f32>>());
        let mut values = matrices.chain(weights.vectors.iter().cloned());
        let mut all = Parameters::zeros(layout.map.clone());
        all.for_each_mut(|_, to| to.copy_from_slice(&values.next().unwrap_or_default()));
        all
    }

    fn buffers(params: &Params) -> &'static [StateBuffer] {
        &StateBuffer::ALL[..=params.strategy.update.rule().n_moments()]
    }

    fn begin(sim: &mut EvolutionSim) -> Result<(), SimError> {
        let none = vec![None; sim.layout.map.views().len()];
        sim.backend.set_mean_squares(&none)
    }

    fn restart(own: &mut Own) {
        own.last = GenerationStats::default();
    }

    fn step(sim: &mut EvolutionSim, _: &[Batch<'_>], pass: &mut Pass) -> Result<Outcome, SimError> {
        let number = sim.state.step;
        let input = GenerationInput {
            number,
            settings: &sim.params.settings(sim.seed),
            course: sim.params.strategy.course(number),
            text: sim.setup.texts.of_step(number),
            frozen: &sim.state.frozen,
        };
        sim.backend.generation(&input, pass)
    }

    fn after_step(sim: &mut EvolutionSim, _: &mut Pass) -> Result<(), SimError> {
        if is_due(sim.params.measure.every, sim.state.step) { sim.record_model() } else { Ok(()) }
    }

    fn after_counting(sim: &mut EvolutionSim, steps: RangeInclusive<u64>) -> Result<(), SimError> {
        let mut generations = vec![];
        sim.backend.take_generations(&mut generations)?;
        for (step, generation) in steps.zip(generations) {
            if is_due(sim.params.measure.every, step) {
                sim.record_generation(step, &generation);
            }
            sim.own.last = generation;
        }
        Ok(())
    }

    fn step_counts(params: &Params, network: &Network, _: &Layout) -> Vec<StepCount> {
        super::kind::step_counts(params, network)
    }

    fn act(sim: &mut EvolutionSim, action: &Action) -> Result<(), SimError> {
        match action.name.as_str() {
            "freeze" => sim.freeze_layers(action, true),
            "unfreeze" => sim.freeze_layers(action, false),
            other => {
                Err(SimError::Input(format!("there is no action {other}; there are freeze, unfreeze, sample_now")))
            }
        }
    }

    fn elements_in_state(sim: &EvolutionSim, action: &str) -> Vec<u32> {
        if action == "freeze" { indices(&sim.state.frozen) } else { vec![] }
    }

    fn arg_values(network: &Network, layout: &Layout, name: &str) -> ArgValues {
        match name {
            "layer" => ArgValues::Numbers(network.sizes.layers),
            _ => ArgValues::Names(layout.map.views().map(|view| view.name.clone()).collect()),
        }
    }

    fn lanes(layout: &Layout, probe: ProbeId) -> Vec<String> {
        let tensors = || layout.map.views().map(|view| view.name.clone());
        match probe {
            probes::FITNESS_QUANTILES => probes::QUANTILES.iter().map(|(name, _)| (*name).to_owned()).collect(),
            probes::CHANGED | probes::SATURATION => tensors().take(layout.n_matrices()).collect(),
            probes::SUM_RMS => tensors().collect(),
            probes::LIVE_ATTENTION | probes::OVERWRITTEN => {
                (0..layout.n_layers()).map(|layer| format!("Layer {layer}")).collect()
            }
            _ => vec![],
        }
    }

    fn histogram(sim: &EvolutionSim, key: &TapKey) -> Result<Vec<f32>, SimError> {
        let (_, values) = sim.weights_of(&key.args)?;
        Ok(values)
    }

    fn reading(sim: &mut EvolutionSim, tap: &Tap) -> Result<Option<Reading>, SimError> {
        Ok(sim.field(tap.probe).map(Reading::field))
    }

    fn kept_reading(sim: &mut EvolutionSim, tap: &Tap) -> Result<Reading, SimError> {
        sim.matrix(tap).map(Reading::Matrix)
    }

    fn save(sim: &mut EvolutionSim, _: &Counters, out: &mut Snapshot) -> Result<(), SimError> {
        // A tensor without a mean square, before the first generation, is saved as -1.
        let squares = sim.backend.mean_squares()?.into_iter().map(|square| square.unwrap_or(-1.0)).collect();
        out.list::<f32>("mean_squares", squares);
        Ok(())
    }

    fn load(sim: &mut EvolutionSim, from: &Snapshot, _: u64, _: &[f32]) -> Result<(), SimError> {
        let squares: Vec<f32> = from.read("mean_squares", &[sim.layout.map.views().len()])?;
        crate::kinds::language::saved::expect_finite(&squares, "a mean square")?;
        let squares: Vec<Option<f32>> = squares.into_iter().map(|square| (square >= 0.0).then_some(square)).collect();
        sim.backend.set_mean_squares(&squares)
    }
}

impl EvolutionSim {
    /// Reads the vector of the biases of the logits. Fails if the device fails.
    pub(super) fn biases(&self) -> Result<Vec<f32>, SimError> {
        let view = self.layout.map.views().nth(self.layout.n_matrices() + Vector::HeadBias as usize);
        let mut values = vec![0.0; view.map_or(0, |view| view.len())];
        self.backend.read(StateBuffer::Weights, view.map_or(0, |view| view.start), &mut values)?;
        Ok(values)
    }

    /// Computes the shares of live attention and of overwritten values of each layer on the first held-out tokens. Fails if the
    /// device fails.
    pub(super) fn liveness(&self) -> Result<[Vec<f32>; 2], SimError> {
        let (text, context) = (self.corpus(), self.config.sizes.steps);
        let held_out = text.held_out();
        let mut tokens = vec![0; context.min(held_out.len())];
        text.copy(held_out.start, &mut tokens);
        let values = self.backend.inspect(&tokens, Site::Liveness, &crate::sim::Progress::default())?;
        Ok([0, 1].map(|at| values.chunks_exact(2).map(|pair| 100.0 * pair[at]).collect()))
    }
}
