//! A training step: gradients of all micro-batches, then the optimiser.

use super::{
    activations::Activations,
    backward::BackwardInput,
    decoder::CpuDecoder,
    forward::Noise,
    network::{Extent, Network, refused},
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::cpu::{
            backend::{CpuTrainer, TextNetwork},
            copy,
            trainer::TrainingState,
        },
        transformer::{
            backend::{Batch, Decoder, Hyper, Lengths, Outcome, StepInput},
            choices::ActivationFunction,
            model::{Config, Layout},
        },
    },
    nn::{
        optimizer::{
            Clip, ParameterGroups, Update,
            cpu::{Buffers, Optimizer},
        },
        parameters::{View, ViewId},
        real::Real,
    },
    sim::SimError,
};
use std::sync::Arc;

/// Operations of a layer between two looks at the stop flag, about: larger batches are taken in parts.
const PART_OPS: usize = 2_000_000_000;

/// A network with everything that training needs.
pub struct Trainer<R> {
    /// Weights.
    pub network: Network<R>,
    /// Gradient, moments, what the steps were.
    pub state: TrainingState<R>,
    activations: Activations<R>,
    seed: u64,
}

/// A part of a batch: whole sequences.
struct Part<'a> {
    tokens: &'a [u32],
    targets: Vec<i32>,
    extent: Extent<'a>,
    /// Positions of packed tokens.
    positions: Vec<u32>,
    /// First token in the batch.
    first: usize,
}

impl Part<'_> {
    fn extent(&self) -> Extent<'_> {
        Extent { positions: (!self.positions.is_empty()).then_some(&self.positions), ..self.extent }
    }
}

impl<R: Real + Default> Trainer<R> {
    /// With zero weights.
    pub fn new(config: &Config, layout: &Arc<Layout>, seed: u64) -> Result<Self, SimError> {
        Ok(Self {
            network: Network::new(config, layout)?,
            state: TrainingState::new(layout.map.len())?,
            activations: Activations::default(),
            seed,
        })
    }

    /// Tokens whose activations are in memory at a time, for a batch of that many sequences.
    pub fn part_tokens(config: &Config, sequences: usize, seq_len: usize) -> usize {
        let (width, hidden) = (config.width, config.fc_width() + config.hidden);
        let ops = 2 * width * (config.qkv_width() + width + hidden) + 4 * width * seq_len;
        (PART_OPS / (ops * seq_len).max(1)).clamp(1, sequences.max(1)) * seq_len
    }

    /// Bytes held, with room for parts of that many tokens.
    pub fn bytes(config: &Config, layout: &Layout, part_tokens: usize) -> u64 {
        let state = 4 * layout.map.len() * size_of::<R>();
        state as u64 + Activations::<R>::bytes(config, part_tokens)
    }

    /// Makes room for the activations of batches. On an error the room is as before.
    pub fn reserve<'b>(&mut self, batches: impl IntoIterator<Item = &'b Batch<'b>>) -> Result<(), SimError> {
        let config = &self.network.config;
        let tokens = |batch: &Batch<'_>| match batch.lengths {
            Lengths::Packed(_) => batch.n_tokens(),
            _ => Self::part_tokens(config, batch.sequences, batch.seq_len),
        };
        let most = batches.into_iter().map(tokens).max().unwrap_or(0);
        self.activations.reserve(config, most)
    }

    /// Takes a step. A stop leaves everything but the gradient as it was.
    pub fn step(&mut self, input: &StepInput<'_>, stop: &StopFlag) -> Result<Outcome, SimError> {
        let noise = [input.hyper.dropout, input.hyper.attention_dropout];
        let Some(loss) = self.gradients(input.batches, input.step, noise, input.frozen, stop)? else {
            return Ok(Outcome::Stopped);
        };
        self.update(loss, input)?;
        Ok(Outcome::Done)
    }

    /// The mean loss over the targets of all batches, and its gradient; `None` when it was stopped. Elements and
    /// attention probabilities are dropped with these probabilities. Gradients of frozen layers are not complete.
    pub fn gradients(
        &mut self,
        batches: &[Batch<'_>],
        step: u64,
        [p, attention]: [f32; 2],
        frozen: &[bool],
        stop: &StopFlag,
    ) -> Result<Option<f64>, SimError> {
        let n_targets: usize = batches.iter().map(Batch::n_targets).sum();
        let scale = R::of(1.0 / n_targets.max(1) as f64);
        self.state.gradient.fill(R::zero());
        let (mut total, mut first) = (0.0, 0);
        for batch in batches {
            batch.check(self.network.config.context, self.network.config.vocab)?;
            for part in parts(&self.network.config, batch) {
                let start = (first + part.first) as u64;
                let noise = Noise { p, attention, seed: self.seed, step, first: start };
                let noise = Some(noise).filter(|_| p > 0.0 || attention > 0.0);
                let (network, acts, extent) = (&self.network, &mut self.activations, &part.extent());
                if network.forward(part.tokens, extent, noise.as_ref(), acts, stop)? == Outcome::Stopped {
                    return Ok(None);
                }
                let Part { tokens, targets, .. } = &part;
                let input = BackwardInput { tokens, targets, extent, noise: noise.as_ref(), scale, frozen };
                if network.backward(&input, acts, &mut self.state.gradient, stop)? == Outcome::Stopped {
                    return Ok(None);
                }
                total += acts.losses[..targets.len()].iter().map(|loss| loss.f64()).sum::<f64>();
            }
            first += batch.n_tokens();
        }
        Ok(Some(total / n_targets.max(1) as f64))
    }

    fn update(&mut self, loss: f64, input: &StepInput<'_>) -> Result<(), SimError> {
        let (network, hyper) = (&mut self.network, input.hyper);
        let layout = network.layout.clone();
        let optimizer = optimizer(&network.config, &layout, hyper, input.frozen)?;
        let before = if input.measures { Some(copy("weights before a step", &network.weights)?) } else { None };
        let t = self.state.counters.updates + 1;
        let update = Update { t, learning_rate: hyper.learning_rate.into(), grad_scale: 1.0 };
        let buffers = Buffers { p: &mut network.weights, m: &mut self.state.m, v: &mut self.state.v };
        let outcome = optimizer.update(&layout.map, &update, buffers, &self.state.gradient).map_err(refused)?;
        self.state.record(loss, &outcome, &layout.map, before.as_deref(), &self.network.weights);
        Ok(())
    }
}

impl<R: Real + Default> CpuTrainer for Trainer<R> {
    type Real = R;

    fn weights(&self) -> &[R] {
        &self.network.weights
    }

    fn weights_mut(&mut self) -> &mut [R] {
        &mut self.network.weights
    }

    fn state(&self) -> &TrainingState<R> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut TrainingState<R> {
        &mut self.state
    }

    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        self.reserve([batch])?;
        batch.check(self.network.config.context, self.network.config.vocab)?;
        for part in parts(&self.network.config, batch) {
            let (network, acts) = (&self.network, &mut self.activations);
            if network.forward(part.tokens, &part.extent(), None, acts, &pass.stop)? == Outcome::Stopped
                || network.losses(&part.targets, acts, &pass.stop)? == Outcome::Stopped
            {
                return Ok(Outcome::Stopped);
            }
            let to = losses[part.first..].iter_mut().zip(&acts.losses).take(part.targets.len());
            to.for_each(|(to, loss)| *to = loss.f64() as f32);
        }
        Ok(Outcome::Done)
    }

    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(&self.network)
    }

    fn text_network(&self) -> Result<impl TextNetwork + 'static, SimError> {
        self.network.copied()
    }

    fn n_bytes(&self) -> [u64; 2] {
        [self.network.n_bytes(), Activations::<R>::bytes(&self.network.config, self.activations.capacity)]
    }
}

/// Parts of a batch, of about equal work; packed sequences are one part.
fn parts<'a>(config: &Config, batch: &Batch<'a>) -> impl Iterator<Item = Part<'a>> + use<'a> {
    let (seq_len, batch) = (batch.seq_len, *batch);
    let all = batch.masked_targets();
    let is_packed = matches!(batch.lengths, Lengths::Packed(_));
    let sequences = match is_packed {
        true => batch.sequences,
        false => Trainer::<f32>::part_tokens(config, batch.sequences, seq_len) / seq_len.max(1),
    };
    (0..batch.sequences).step_by(sequences.max(1)).map(move |from| {
        let to = (from + sequences).min(batch.sequences);
        let range = from * seq_len..to * seq_len;
        let extent = Extent { sequences: to - from, seq_len, lens: None, offsets: None, positions: None };
        let mut positions = vec![];
        if let Lengths::Packed(offsets) = batch.lengths {
            positions = offsets.windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect();
        }
        let extent = match batch.lengths {
            Lengths::Full => extent,
            Lengths::Padded(lens) => Extent { lens: Some(&lens[from..to]), ..extent },
            Lengths::Packed(offsets) => Extent { offsets: Some(offsets), ..extent },
        };
        let (tokens, targets) = (&batch.tokens[range.clone()], all[range.clone()].to_vec());
        Part { tokens, targets, extent, positions, first: range.start }
    })
}

/// The optimiser of a step.
pub fn optimizer(config: &Config, layout: &Layout, hyper: &Hyper, frozen: &[bool]) -> Result<Optimizer, SimError> {
    let rule = |view: &View| {
        let id = layout.map.find(&view.name).unwrap_or(layout.wte);
        let role = layout.role(id);
        let is_frozen = frozen.get(layout.layer(id).index(config.layers)).copied().unwrap_or(false);
        hyper.rule(role.decays(), role.is_hidden_matrix(), is_frozen)
    };
    let groups = ParameterGroups::new(&layout.map, rule).map_err(refused)?;
    let matrices = groups.matrices(&layout.map, |view| matrix_parts(config, layout, layout.map.find(&view.name)));
    Ok(Optimizer { adamw: hyper.adamw(), muon: hyper.muon(), clip: Clip(hyper.clip.into()), groups, matrices })
}

/// Rows of the matrices that a packed one is made of: queries, keys and values; gate and up.
pub fn matrix_parts(config: &Config, layout: &Layout, view: Option<ViewId>) -> Vec<usize> {
    let is = |of: fn(&crate::kinds::transformer::model::Block) -> ViewId| {
        view.is_some_and(|view| layout.blocks.iter().any(|block| of(block) == view))
    };
    if is(|block| block.qkv.weight) {
        let kv = config.kv_heads * config.head_dim();
        return vec![config.width, kv, kv];
    }
    if config.activation == ActivationFunction::SwiGlu && is(|block| block.fc.weight) {
        return vec![config.hidden, config.hidden];
    }
    vec![]
}
