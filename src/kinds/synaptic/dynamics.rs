//! Conversion of parameters to the sizes and constants of operations.

use super::{
    Params,
    backend::Dynamics,
    choices::{BalancingMethod, FirstValues, GateModel, PullMean, ReleaseMode, SplitRule},
    experts::{Balancing, FEATURES, PullOver, Router, RouterState},
    life::{LifeCycle, ParentChoice},
    model::Config,
    postsynaptic::{CamkiiPp1, FastMemory, Gate, Latch},
    presynaptic::{Edges, Mode, Presynaptic, Release},
};
use crate::{
    num::{
        normal,
        rng::{Draw, Purpose},
    },
    sim::SimError,
};

/// Returns the router of a layer at step 0: all experts rested, with random embeddings. Component i of an expert takes word
/// i mod 4 of the draw (seed, synaptic weights, layer, number of the expert · 24 / 4 + i / 4).
pub fn rested(config: &Config, layer: usize, seed: u64) -> RouterState {
    let component = |i: usize| {
        let draw = Draw { seed, purpose: Purpose::SynapticWeights, step: layer as u64, lane: (i / 4) as u32 };
        normal::quantile((f64::from(draw.words()[i % 4]) + 0.5) / 4_294_967_296.0) as f32
    };
    RouterState::new(config.experts, (0..config.experts * FEATURES).map(component).collect())
}

impl Params {
    /// Returns the sizes of the model for a vocabulary of `vocab` tokens. Fails if they are invalid.
    pub fn config(&self, vocab: usize) -> Result<Config, SimError> {
        let (model, experts) = (&self.model, &self.experts);
        let config = Config {
            vocab,
            context: model.context as usize,
            layers: model.layers as usize,
            heads: model.heads as usize,
            kv_heads: model.kv_heads as usize,
            width: model.width as usize,
            experts: experts.count as usize,
            top_k: experts.top_k as usize,
            hidden: experts.hidden as usize,
            rope_base: model.rope_base,
            temperature: self.presynaptic.mode == ReleaseMode::Temperature,
            automaton: (model.init == FirstValues::CellularAutomaton).then_some(model.rule as u8),
        };
        config.check()?;
        Ok(config)
    }

    /// Returns the mechanisms and constants, which can change while the model trains.
    pub fn dynamics(&self, config: &Config) -> Dynamics {
        let is_balanced_by_loss = self.experts.balancing == BalancingMethod::AuxLoss;
        Dynamics {
            presynaptic: self.release(config),
            router: self.router(config),
            aux_weight: if is_balanced_by_loss { self.experts.aux_weight as f32 } else { 0.0 },
        }
    }

    fn release(&self, config: &Config) -> Presynaptic {
        let p = &self.presynaptic;
        // Parameters that the window hides in a mode have no effect in this mode.
        let is_scan = p.mode == ReleaseMode::Scan;
        Presynaptic {
            mode: match p.mode {
                ReleaseMode::Off | ReleaseMode::Temperature => Mode::Off,
                ReleaseMode::Static => Mode::Static,
                ReleaseMode::Scan => Mode::Scan,
                ReleaseMode::TsodyksMarkram => Mode::TsodyksMarkram,
            },
            constants: p.into(),
            edges: match p.top_keys {
                k if k > 0 && is_scan => Edges::TopK(k as usize),
                _ => Edges::All,
            },
            context: config.context,
            release: match p.stochastic {
                fraction if fraction > 0.0 && is_scan => Release::Binomial { fraction },
                _ => Release::Deterministic,
            },
        }
    }

    fn router(&self, config: &Config) -> Router {
        let e = &self.experts;
        Router {
            metabolic_bias: if e.metabolism { e.metabolic_bias } else { 0.0 },
            align: e.align,
            energy_cost: e.energy_cost,
            pull: e.pull,
            pull_over: match e.pull_over {
                PullMean::AllTokens => PullOver::AllTokens,
                PullMean::OwnTokens => PullOver::OwnTokens,
            },
            push: e.push,
            balancing: match e.balancing {
                BalancingMethod::AuxLoss => Balancing::AuxLoss,
                BalancingMethod::Bias => Balancing::Bias { rate: e.bias_rate },
            },
            ..Router::new(config.experts, config.top_k, config.width)
        }
    }

    /// Returns the fast memory that a plastic decoder writes.
    pub fn fast_memory(&self, config: &Config) -> FastMemory {
        let p = &self.plasticity;
        FastMemory {
            decay: p.retain,
            // A rate above the retained share would not give a convex combination.
            rate: p.rate.min(p.retain),
            target_norm: p.target_norm,
            strength: p.strength,
            gate: match p.gate {
                GateModel::Open => Gate::Open,
                GateModel::Kinase => Gate::CamkiiPp1(CamkiiPp1 {
                    up: p.camkii_up,
                    down: p.camkii_down,
                    steepness: p.gate_slope,
                    ..CamkiiPp1::default()
                }),
                GateModel::Bistable => Gate::Latch(Latch { steepness: p.gate_slope, ..Latch::default() }),
            },
            ..FastMemory::new(config.width)
        }
    }

    /// Returns the constants of the life cycle.
    pub fn life_cycle(&self) -> LifeCycle {
        let life = &self.life;
        LifeCycle {
            warm_up: life.warm_up.into(),
            interval: if life.enabled { life.interval.into() } else { 0 },
            dead: life.reset_health,
            weak: life.merge_health,
            similar: life.merge_cosine,
            weakest: life.weak_health,
            healthy: life.split_health,
            loss_limit: if life.loss_limit > 0.0 { life.loss_limit } else { f64::INFINITY },
            parent: match life.split_rule {
                SplitRule::Healthiest => ParentChoice::Healthiest,
                SplitRule::GradientUtility => ParentChoice::GradientUtility,
            },
            noise: life.clone_noise,
            mutation: life.mutation,
            tilt: life.tilt,
            embedding_noise: life.embedding_noise,
        }
    }
}
