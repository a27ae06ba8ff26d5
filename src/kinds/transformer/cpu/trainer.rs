//! Training step on the CPU: gradients of all micro-batches, then the optimiser.

use super::{
    decoder::CpuDecoder,
    network::{GradientInput, Network, refused},
};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            cpu::{
                arena::HostArena,
                backend::{CpuTrainer, TextNetwork},
                blocks::Noise,
                copy,
                layers::HostBatch,
                outcome,
                trainer::TrainingState,
            },
            plan::{BatchShape, packed_positions},
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

/// Approximate number of operations of a layer between two checks of the stop flag. Larger batches are split.
const PART_OPS: usize = 2_000_000_000;

/// Network with its optimiser state and workspace.
pub struct Trainer<R> {
    /// Weights and tables of the model.
    pub network: Network<R>,
    /// Gradient, moments, counters and step statistics.
    pub state: TrainingState<R>,
    arena: HostArena<R>,
    seed: u64,
}

/// Part of a batch that consists of whole sequences.
struct Part<'a> {
    shape: BatchShape,
    tokens: &'a [u32],
    targets: Vec<i32>,
    /// Lengths of padded sequences, or offsets of packed ones; `None` for full sequences.
    lengths: Option<&'a [i32]>,
    /// Positions of packed tokens.
    positions: Vec<u32>,
    /// Index of the part's first token in the batch.
    first: usize,
}

impl Part<'_> {
    fn batch(&self) -> HostBatch<'_> {
        let positions = (!self.positions.is_empty()).then_some(&self.positions[..]);
        HostBatch {
            targets: &self.targets,
            lengths: self.lengths,
            positions,
            ..HostBatch::full(self.shape, self.tokens)
        }
    }
}

impl<R: Real + Default> Trainer<R> {
    /// Creates a trainer with zero weights. Fails if memory is exhausted.
    pub fn new(config: &Config, layout: &Arc<Layout>, seed: u64) -> Result<Self, SimError> {
        Ok(Self {
            network: Network::new(config, layout)?,
            state: TrainingState::new(layout.map.len())?,
            arena: HostArena::default(),
            seed,
        })
    }

    /// Returns the number of tokens whose activations are in memory at a time, for a batch of `sequences` sequences.
    pub fn part_tokens(config: &Config, sequences: usize, seq_len: usize) -> usize {
        let (width, hidden) = (config.width, config.fc_width() + config.hidden);
        let ops = 2 * width * (config.qkv_width() + width + hidden) + 4 * width * seq_len;
        (PART_OPS / (ops * seq_len).max(1)).clamp(1, sequences.max(1)) * seq_len
    }

    /// Returns the size of the activations for parts of `part_tokens` tokens, bytes.
    pub fn arena_bytes(config: &Config, part_tokens: usize) -> u64 {
        let rows = part_tokens.div_ceil(config.context.max(1));
        Network::<R>::arena_bytes(config, &BatchShape::full(rows, config.context)) as u64
    }

    /// Grows the arena to fit the activations of the batches. Fails if memory is exhausted.
    pub fn reserve<'b>(&mut self, batches: impl IntoIterator<Item = &'b Batch<'b>>) -> Result<(), SimError> {
        let config = &self.network.config;
        let bytes = |batch: &Batch<'_>| {
            let rows = sequences_of_part(config, batch);
            BatchShape::of(batch, 0..rows, true).map_or(0, |shape| Network::<R>::arena_bytes(config, &shape))
        };
        self.arena.reserve(batches.into_iter().map(bytes).max().unwrap_or(0))
    }

    /// Runs a training step. A stopped step changes only the gradient. Fails if an input is invalid or memory is exhausted.
    pub fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let noise = [input.hyper.dropout, input.hyper.attention_dropout];
        let Some(loss) = self.gradients(input.batches, input.step, noise, input.frozen, pass)? else {
            return Ok(Outcome::Stopped);
        };
        self.update(loss, input, pass)?;
        Ok(Outcome::Done)
    }

    /// Computes the mean loss over the targets of all batches and its gradient; `None` if stopped. `p` and `attention` are
    /// the dropout probabilities of elements and of attention probabilities. Gradients of frozen layers are incomplete.
    /// Fails if a batch is invalid or memory is exhausted.
    pub fn gradients(
        &mut self,
        batches: &[Batch<'_>],
        step: u64,
        [p, attention]: [f32; 2],
        frozen: &[bool],
        pass: &mut Pass,
    ) -> Result<Option<f64>, SimError> {
        let n_targets: usize = batches.iter().map(Batch::n_targets).sum();
        let scale = R::of(1.0 / n_targets.max(1) as f64);
        self.reserve(batches)?;
        let (n, stop) = (self.state.gradient.len() as u64, &pass.stop.clone());
        pass.span("zero gradient", n, || self.state.gradient.fill(R::zero()));
        let (layout, layers) = (&self.network.layout, self.network.config.layers);
        let is_frozen = |id: usize| frozen.get(layout.layer(ViewId(id)).index(layers)).copied().unwrap_or(false);
        let frozen: Vec<bool> = (0..layout.map.views().len()).map(is_frozen).collect();
        let (mut total, mut first) = (0.0, 0);
        for batch in batches {
            batch.check(self.network.config.context, self.network.config.vocab)?;
            for part in parts(&self.network.config, batch) {
                let start = (first + part.first) as u64;
                let noise = Noise { p, attention, seed: self.seed, step, first: start };
                let noise = Some(noise).filter(|_| p > 0.0 || attention > 0.0);
                let input = GradientInput { batch: part.batch(), noise, scale, frozen: &frozen, stop };
                match self.network.gradients(&input, &mut self.arena, &mut self.state.gradient, pass) {
                    Ok(losses) => total += losses,
                    Err(SimError::Cancelled) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            first += batch.n_tokens();
        }
        Ok(Some(total / n_targets.max(1) as f64))
    }

    fn update(&mut self, loss: f64, input: &StepInput<'_>, pass: &mut Pass) -> Result<(), SimError> {
        let (network, hyper) = (&mut self.network, input.hyper);
        let layout = network.layout.clone();
        let optimizer = optimizer(&network.config, &layout, hyper, input.frozen)?;
        let n = network.weights.len() as u64;
        let before = match input.measures {
            true => Some(pass.span("norms", n, || copy("weights before a step", &network.weights))?),
            false => None,
        };
        let t = self.state.counters.updates + 1;
        let update = Update { t, learning_rate: hyper.learning_rate.into(), grad_scale: 1.0 };
        let buffers = Buffers { p: &mut network.weights, m: &mut self.state.m, v: &mut self.state.v };
        let gradient = &self.state.gradient;
        let update = pass.span("optimiser", n, || optimizer.update(&layout.map, &update, buffers, gradient));
        self.state.record(loss, &update.map_err(refused)?, &layout.map, before.as_deref(), &network.weights, pass);
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
            let on = (&mut self.arena, &pass.stop);
            if outcome(self.network.losses(part.batch(), on, &mut losses[part.first..]))? == Outcome::Stopped {
                return Ok(Outcome::Stopped);
            }
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
        [self.network.n_bytes(), self.arena.bytes()]
    }
}

/// Returns the number of sequences per part of a batch. Packed sequences are one part.
fn sequences_of_part(config: &Config, batch: &Batch<'_>) -> usize {
    match batch.lengths {
        Lengths::Packed(_) => batch.sequences,
        _ => Trainer::<f32>::part_tokens(config, batch.sequences, batch.seq_len) / batch.seq_len.max(1),
    }
}

/// Splits a batch into parts of about equal work.
fn parts<'a>(config: &Config, batch: &Batch<'a>) -> impl Iterator<Item = Part<'a>> + use<'a> {
    let (seq_len, batch, sequences) = (batch.seq_len, *batch, sequences_of_part(config, batch));
    let all = batch.masked_targets();
    (0..batch.sequences).step_by(sequences.max(1)).filter_map(move |from| {
        let to = (from + sequences.max(1)).min(batch.sequences);
        let range = from * seq_len..to * seq_len;
        let (lengths, positions) = match batch.lengths {
            Lengths::Full => (None, vec![]),
            Lengths::Padded(lens) => (Some(&lens[from..to]), vec![]),
            Lengths::Packed(offsets) => (Some(offsets), packed_positions(offsets)),
        };
        let shape = BatchShape::of(&batch, from..to, true)?;
        let (tokens, targets) = (&batch.tokens[range.clone()], all[range.clone()].to_vec());
        Some(Part { shape, tokens, targets, lengths, positions, first: range.start })
    })
}

/// Returns the optimiser with the settings and frozen layers of a step. Fails if the groups are invalid.
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

/// Returns the numbers of rows of the matrices that a packed matrix contains (queries, keys and values; gate and up), so
/// that each is orthogonalised separately.
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
