//! Training step on the CPU: gradients of all micro-batches, optimiser, then the router states.

use super::{
    activations::Activations,
    backward::BackwardInput,
    decoder::CpuDecoder,
    forward::Noise,
    network::{Extent, Network, refused},
    update,
};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            backend::{Batch, Decoder, Lengths, Outcome},
            cpu::{
                backend::{CpuTrainer, TextNetwork},
                copy,
                trainer::TrainingState,
            },
        },
        synaptic::{
            backend::{Dynamics, ExpertStep, Selection, Site, StepInput},
            experts::{self, LoadStatistics, RouterState},
            life::{Edit, ExpertRecord, score::specialization},
            model::{Config, Layout},
        },
    },
    nn::{optimizer::cpu::Buffers, real::Real},
    sim::SimError,
};
use std::sync::Arc;

/// Number of last tokens of a step whose selected experts are kept.
const SHOWN_TOKENS: usize = 256;

/// Network with its optimiser state and workspace.
pub struct Trainer<R> {
    /// Weights and router states.
    pub network: Network<R>,
    /// Gradient, moments, counters and step statistics.
    pub state: TrainingState<R>,
    /// Statistics of the experts of each block in the last step.
    pub experts: Vec<ExpertStep>,
    /// Records of experts, for scores, of the steps that were not collected yet, `[steps, L, E]`.
    pub records: Vec<ExpertRecord>,
    activations: Activations<R>,
    /// Largest micro-batch so far; `None` before the first micro-batch.
    largest: Option<Extent>,
    seed: u64,
}

/// Loss and expert statistics of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loss {
    /// Mean loss over the targets, nats.
    pub mean: f64,
    /// Statistics of the experts of each block.
    pub experts: Vec<ExpertStep>,
}

impl<R: Real + Default> Trainer<R> {
    /// Creates a trainer with zero weights. Fails as [`Network::new`] does.
    pub fn new(config: &Config, layout: &Arc<Layout>, dynamics: &Dynamics, seed: u64) -> Result<Self, SimError> {
        Ok(Self {
            network: Network::new(config, layout, dynamics)?,
            state: TrainingState::new(layout.map.len())?,
            experts: vec![],
            records: vec![],
            largest: None,
            activations: Activations::default(),
            seed,
        })
    }

    /// Returns the size of gradient, weights, moments and activations for micro-batches of `extent`, bytes.
    pub fn bytes(config: &Config, layout: &Layout, extent: Extent) -> u64 {
        let state = 4 * layout.map.len() * size_of::<R>();
        state as u64 + Activations::<R>::bytes(config, extent)
    }

    /// Runs a training step. A stopped step changes only the gradient. Fails if a batch is invalid.
    pub fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let Some(loss) = self.gradients(input.batches, input.step, pass)? else { return Ok(Outcome::Stopped) };
        self.apply(loss, input, pass)?;
        Ok(Outcome::Done)
    }

    /// Computes the mean loss over the targets of all batches, and the gradient of the mean loss plus the auxiliary losses,
    /// in which each batch is weighted by its number of targets. Returns `None` if stopped; fails if a batch is invalid.
    pub fn gradients(&mut self, batches: &[Batch<'_>], step: u64, pass: &mut Pass) -> Result<Option<Loss>, SimError> {
        batches.iter().try_for_each(|batch| check(batch, &self.network.config))?;
        let n_targets = batches.iter().map(Batch::n_targets).sum::<usize>().max(1) as f64;
        let sequences = batches.iter().map(|batch| batch.sequences).sum();
        let c = &self.network.config;
        let mut experts = vec![ExpertStep::new(c.experts, c.top_k); c.layers];
        let mut contributions = vec![0.0; c.layers * c.experts];
        let n = self.state.gradient.len() as u64;
        pass.span("zero gradient", n, || self.state.gradient.fill(R::zero()));
        let (mut total, mut first) = (0.0, 0);
        for batch in batches {
            let targets = &batch.masked_targets();
            let noise = Noise { seed: self.seed, step, first, sequences };
            let extent = self.extent(batch);
            let (network, acts) = (&self.network, &mut self.activations);
            if network.forward(batch.tokens, extent, Some(&noise), acts, pass)? == Outcome::Stopped {
                return Ok(None);
            }
            let share = batch.n_targets() as f64 / n_targets;
            for (step, block) in experts.iter_mut().zip(&acts.blocks) {
                step.load.add(&network.dynamics.router, &block.routing);
                step.aux += share * experts::aux_loss(&block.routing);
                step.selection = Selection::last(&block.routing, network.config.top_k, SHOWN_TOKENS);
            }
            let scale = R::of(1.0 / n_targets);
            let aux_weight = share * f64::from(network.dynamics.aux_weight);
            let input = BackwardInput { tokens: batch.tokens, targets, extent, noise: Some(&noise), scale, aux_weight };
            let to = (&mut self.state.gradient[..], &mut contributions[..]);
            if network.backward(&input, acts, to, pass)? == Outcome::Stopped {
                return Ok(None);
            }
            total += acts.head.losses[..targets.len()].iter().map(|loss| loss.f64()).sum::<f64>();
            first += batch.sequences;
        }
        for (step, of_block) in experts.iter_mut().zip(contributions.chunks_exact(self.network.config.experts)) {
            step.contribution.copy_from_slice(of_block);
        }
        Ok(Some(Loss { mean: total / n_targets, experts }))
    }

    fn apply(&mut self, loss: Loss, input: &StepInput<'_>, pass: &mut Pass) -> Result<(), SimError> {
        let n = self.state.gradient.len() as u64;
        let before = match input.measures {
            true => Some(pass.span("norms", n, || copy("weights before a step", &self.network.weights))?),
            false => None,
        };
        let Loss { mean, experts } = loss;
        let outcome = pass.span("optimiser", n, || {
            let (network, TrainingState { m, v, gradient, counters, .. }) = (&mut self.network, &mut self.state);
            update::apply(network, (m, v), gradient, counters.updates + 1, input, &experts)
        })?;
        let map = self.network.layout.map.clone();
        self.state.record(mean, &outcome, &map, before.as_deref(), &self.network.weights, pass);
        if outcome.is_applied {
            pass.span("metabolism", 1, || self.update_routers(&experts, input));
        }
        self.records.extend(experts.iter().flat_map(ExpertStep::records));
        self.experts = experts;
        Ok(())
    }

    /// Measures the specialization of experts on one sequence, for the records of the last step. Fails if the text does not
    /// fit the model.
    pub fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        let (network, n) = (&self.network, self.network.config.experts);
        let first = self.records.len().saturating_sub(network.config.layers * n);
        for (layer, records) in self.records[first..].chunks_exact_mut(n).enumerate() {
            let x = network.inspect(tokens, Site::RouterInput(layer))?;
            let routing = network.decisions(tokens, layer)?;
            let measured = specialization(&x, &routing.indices, network.config.top_k, n).map_err(refused)?;
            records.iter_mut().zip(measured).for_each(|(record, measured)| record.specialization = measured);
        }
        Ok(())
    }

    /// Applies edits to parameters and moments. Fails if a range of an edit is invalid.
    pub fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError> {
        let TrainingState { m, v, .. } = &mut self.state;
        let mut to = Buffers { p: &mut self.network.weights, m, v };
        for edit in edits {
            if edit.end() > to.p.len() {
                return Err(refused(format!("an edit of parameters ends at {} of {}", edit.end(), to.p.len())));
            }
            edit.apply(&mut to);
        }
        Ok(())
    }

    /// Updates the router states after a step. Frozen blocks keep their states.
    fn update_routers(&mut self, steps: &[ExpertStep], input: &StepInput<'_>) {
        let mut routers = std::mem::take(&mut self.network.routers);
        for (b, (state, step)) in routers.iter_mut().zip(steps).enumerate() {
            if !input.frozen.get(1 + b).copied().unwrap_or(false) {
                let genome = self.network.weight(self.network.layout.blocks[b].genome);
                experts::update_state(&self.network.dynamics.router, &step.load, genome, state);
            }
        }
        self.network.routers = routers;
    }

    /// Returns the extent of a batch, and records the largest extent for the memory report.
    fn extent(&mut self, batch: &Batch<'_>) -> Extent {
        let extent = Extent { sequences: batch.sequences, seq_len: batch.seq_len };
        if self.largest.is_none_or(|largest| largest.n_edges(1) < extent.n_edges(1)) {
            self.largest = Some(extent);
        }
        extent
    }

    /// Returns the state of the router of a block. Fails if there is no such block.
    pub fn router(&self, block: usize) -> Result<&RouterState, SimError> {
        self.network.routers.get(block).ok_or_else(|| refused(format!("there is no block {block}")))
    }

    /// Sets the state of the router of a block. Fails if there is no such block or the sizes of the state differ.
    pub fn set_router(&mut self, block: usize, state: &RouterState) -> Result<(), SimError> {
        let experts = self.network.config.experts;
        let is_short = [&state.fatigue, &state.energy, &state.balance].iter().any(|x| x.len() != experts);
        if is_short || state.alive.len() != experts || state.embeddings.len() != experts * experts::FEATURES {
            return Err(refused(format!("the state of a router is not that of {experts} experts")));
        }
        self.router(block)?;
        self.network.routers[block].clone_from(state);
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
        check(batch, &self.network.config)?;
        let (targets, extent) = (batch.masked_targets(), self.extent(batch));
        let (network, acts) = (&self.network, &mut self.activations);
        if network.forward(batch.tokens, extent, None, acts, pass)? == Outcome::Stopped
            || network.losses(&targets, acts, &pass.stop)? == Outcome::Stopped
        {
            return Ok(Outcome::Stopped);
        }
        losses.iter_mut().zip(&acts.head.losses).take(targets.len()).for_each(|(to, loss)| *to = loss.f64() as f32);
        Ok(Outcome::Done)
    }

    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(&self.network)
    }

    fn text_network(&self) -> Result<impl TextNetwork + 'static, SimError> {
        self.network.copied()
    }

    fn n_bytes(&self) -> [u64; 2] {
        let of = |extent| Activations::<R>::bytes(&self.network.config, extent);
        [self.network.n_bytes(), self.largest.map_or(0, of)]
    }
}

impl ExpertStep {
    /// Returns the records for scores, one per slot.
    fn records(&self) -> impl Iterator<Item = ExpertRecord> + '_ {
        let tokens = self.load.tokens.max(1) as f64;
        let of = move |(count, contribution): (&u64, &f64)| ExpertRecord {
            share: *count as f64 / tokens,
            contribution: *contribution,
            specialization: f64::NAN,
        };
        self.load.counts.iter().zip(&self.contribution).map(of)
    }

    fn new(experts: usize, top_k: usize) -> Self {
        Self {
            load: LoadStatistics::new(experts),
            contribution: vec![0.0; experts],
            aux: 0.0,
            selection: Selection { top_k, ..Selection::default() },
        }
    }
}

impl Selection {
    /// Returns the selection of the last `most` tokens.
    pub fn last<R: Real>(routing: &experts::Routing<R>, top_k: usize, most: usize) -> Self {
        let slots = routing.tokens.saturating_sub(most) * top_k..routing.tokens * top_k;
        let gates = routing.gates[slots.clone()].iter().map(|gate| gate.f64() as f32).collect();
        Self { top_k, experts: routing.indices[slots].to_vec(), gates }
    }
}

/// Checks a batch. Padding at the end has no effect on other losses, because tokens attend only to earlier ones.
fn check(batch: &Batch<'_>, config: &Config) -> Result<(), SimError> {
    if matches!(batch.lengths, Lengths::Packed(_)) {
        return Err(refused("sequences of different lengths in one row are not possible here"));
    }
    batch.check(config.context, config.vocab)
}
