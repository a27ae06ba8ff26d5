//! Life cycle on a device: records of experts, edits of parameters, router states.

use super::{
    backend::{Captured, SynapticBackend},
    buffers::{DeviceBuffers, SynapticBuffers},
    network::{Network, Routers, Run},
    pass,
    plan::{Plan, SharedTensors},
};
use crate::{
    gpu::{Pass, ViewMut},
    kinds::{
        language::{
            cuda::{
                batch::{BatchBuffers, BatchParts},
                buffers::{Trained, waiting},
                error::OpError,
                format::ModelFormat,
            },
            plan::{BatchShape, streams},
        },
        synaptic::{
            backend::SlotAverage,
            experts::{FEATURES, RouterState},
            life::{Edit, ExpertArrays, ExpertRecord, cuda::Served},
            network,
        },
    },
    nn::optimizer::cuda::{Buffers, Copy},
    sim::SimError,
};
use std::ops::Range;

impl<T: ModelFormat> SynapticBackend<T> {
    /// Appends the records of experts that were not read yet to `out`. Fails if the device fails.
    pub(super) fn read_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        let (steps, n) = (self.host.scored..self.recorded(), self.sizes.kind.layers * self.sizes.kind.experts);
        for part in waiting(steps.clone()) {
            out.extend(self.buffers_mut().kind.expert_records.read_range(part.start * n..part.end * n)?);
        }
        self.host.scored = steps.end;
        Ok(())
    }

    /// Measures the specialization of experts on a text, for the records of the last step. Fails if the text does not fit
    /// the model.
    pub(super) fn specialize(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        let c = &self.network.config;
        if tokens.len() > self.sizes.batch.tokens.min(c.context)
            || tokens.iter().any(|token| *token as usize >= c.vocab)
        {
            let why = format!("a text of {} tokens does not fit the model", tokens.len());
            return Err(OpError::Refused(why).into());
        }
        if self.recorded() == 0 || tokens.is_empty() {
            return Ok(());
        }
        self.buffers_mut().batch.tokens.write_at(0, tokens)?;
        // A separate pass keeps the measurement out of the timing rows of the step.
        self.compute(Captured::Specialization(tokens.len()), &mut Pass::default())
    }

    /// Applies edits to parameters and moments. Fails if a range is invalid or a launch fails.
    pub(super) fn apply_edits(&mut self, edits: &[Edit]) -> Result<(), OpError> {
        let (network, b) = self.parts_mut();
        let Trained { weights, means, squares, .. } = &mut b.trained;
        let mut to = Buffers { params: &mut *weights, means, squares, copy: Copy::None };
        let (ops, mut pass) = (&network.ops, Pass::default());
        for edit in edits {
            ops.life.edit(&mut pass, &ops.model.optimizer, edit, &mut to, &b.batch.arena.frame())?;
        }
        Ok(b.trained.round(&ops.model.optimizer, &mut pass)?)
    }

    /// Computes the mean square gradients of the experts of a layer, summed on the device. Fails if the device fails.
    pub(super) fn utility(&self, arrays: &ExpertArrays) -> Result<Vec<f64>, SimError> {
        let mut b = self.workspace()?;
        let DeviceBuffers { trained, batch, .. } = &mut *b;
        let (life, experts) = (&self.network.ops.life, self.sizes.kind.experts);
        let frame = batch.arena.frame();
        Ok(life.gradient_utility(&mut Pass::default(), arrays, experts, &trained.squares, &frame)?)
    }

    /// Reads the averages of the given slots, numbered over all layers. Fails if the device fails.
    pub(super) fn read_slots(&self, average: SlotAverage, slots: Range<usize>) -> Result<Vec<f32>, SimError> {
        let b = self.buffers()?;
        let values = match average {
            SlotAverage::Fatigue => &b.kind.fatigue,
            SlotAverage::Energy => &b.kind.energy,
        };
        Ok(values.read_range(slots)?)
    }

    /// Reads the router state of a layer. Fails if there is no such layer.
    pub(super) fn read_router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.check_layer(layer)?;
        let held = self.buffers()?;
        let b = &held.kind;
        let e = self.sizes.kind.experts;
        let of_experts = layer * e..(layer + 1) * e;
        Ok(RouterState {
            embeddings: b.embeddings.read_range(layer * e * FEATURES..(layer + 1) * e * FEATURES)?,
            fatigue: b.fatigue.read_range(of_experts.clone())?,
            energy: b.energy.read_range(of_experts.clone())?,
            balance: b.balance.read_range(of_experts.clone())?,
            alive: b.alive.read_range(of_experts)?.into_iter().map(|alive| u8::from(alive != 0)).collect(),
        })
    }

    /// Writes the router state of a layer. Fails if there is no such layer, the sizes differ or too few experts are alive.
    pub(super) fn write_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.check_layer(layer)?;
        let e = self.sizes.kind.experts;
        let is_short = [&state.fatigue, &state.energy, &state.balance].iter().any(|x| x.len() != e);
        if is_short || state.alive.len() != e || state.embeddings.len() != e * FEATURES {
            return Err(OpError::Refused(format!("the state of a router is not that of {e} experts")).into());
        }
        let (alive, k) = (state.n_alive(), self.sizes.kind.top_k);
        if alive < k {
            let why = format!("{k} experts per token need as many living experts, and there are {alive}");
            return Err(OpError::Refused(why).into());
        }
        let b = &mut self.buffers_mut().kind;
        b.embeddings.write_at(layer * e * FEATURES, &state.embeddings)?;
        b.fatigue.write_at(layer * e, &state.fatigue)?;
        b.energy.write_at(layer * e, &state.energy)?;
        b.balance.write_at(layer * e, &state.balance)?;
        let alive: Vec<u32> = state.alive.iter().map(|alive| u32::from(*alive != 0)).collect();
        Ok(b.alive.write_at(layer * e, &alive)?)
    }
}

/// Launches a pass that measures the specialization of all experts on the first `n` tokens of the batch. Fails if a launch
/// fails.
pub(super) fn specialize<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    n: usize,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, kind } = b;
    let SynapticBuffers { embeddings, fatigue, energy, balance, alive, expert_records, .. } = kind;
    let Trained { weights, copy, params, .. } = trained;
    let matrices = T::weights(weights, copy);
    let BatchBuffers { tokens, targets, lengths, positions, flag, arena, .. } = batch;
    let (layers, experts, top_k) = (network.config.layers, network.config.experts, network.config.top_k);
    let shape = BatchShape::full(1, n);
    let plan = Plan::new::<T>(&network.config, &network.dynamics, &shape, n);
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let batch = parts.at(0);
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let frame = arena.frame();
    let mut streams: Vec<ViewMut<'_, f32>> = streams(&mut &frame, layers + 1, plan.stream)?;
    let mut blocks = pass::blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&mut &frame, &plan.shared)?;
    let inner = frame.frame();
    let mut run = Run::new((network, &plan), (weights, matrices, routers), batch, flag, &inner, pass);
    network::forward(&mut run, &mut streams, &mut blocks, &mut shared.refs())?;
    for (layer, block) in blocks.iter().enumerate() {
        let slots = &(layer * experts..(layer + 1) * experts);
        let served = Served { x: &block.norm_2, indices: &block.indices, top_k, slots };
        network.ops.life.measure_specialization(run.pass, params.buf(), served, expert_records)?;
    }
    Ok(())
}
