//! The life cycle on the device: records of experts, edits of parameters, states of the routers.

use super::{
    backend::{Captured, CudaBackend, in_use},
    buffers::DeviceBuffers,
    error::OpError,
    network::{DeviceBatch, Network, Routers, Run},
    pass,
    plan::{BatchShape, Plan, SharedTensors},
};
use crate::{
    gpu::Pass,
    kinds::{
        language::backend::MAX_WAITING_STEPS,
        synaptic::{
            experts::{FEATURES, RouterState},
            life::{Edit, ExpertRecord, cuda::Served},
        },
    },
    nn::optimizer::cuda::{Buffers, Copy},
    sim::SimError,
};

impl CudaBackend {
    /// Moves the records of experts that were not read to the end of `out`.
    pub(super) fn read_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        let (most, n) = (MAX_WAITING_STEPS as u64, self.sizes.layers * self.sizes.experts);
        self.scored = self.scored.max(self.recorded.saturating_sub(most));
        while self.scored < self.recorded {
            let start = (self.scored % most) as usize;
            let steps = ((self.recorded - self.scored) as usize).min(MAX_WAITING_STEPS - start);
            out.extend(self.buffers.get_mut().expert_records.read_range(start * n..(start + steps) * n)?);
            self.scored += steps as u64;
        }
        Ok(())
    }

    /// Measures the specialization of experts on a text, for the record of the last step.
    pub(super) fn specialize(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        let c = &self.network.config;
        if tokens.len() > self.sizes.tokens.min(c.context) || tokens.iter().any(|token| *token as usize >= c.vocab) {
            let why = format!("a text of {} tokens does not fit the model", tokens.len());
            return Err(OpError::Refused(why).into());
        }
        if self.recorded == 0 || tokens.is_empty() {
            return Ok(());
        }
        self.buffers.get_mut().tokens.write_at(0, tokens)?;
        let n = tokens.len();
        // No row of a training step.
        self.compute(Captured::Specialization(n), &mut Pass::default(), |network, _, b, pass| {
            specialize(network, b, n, pass)
        })
    }

    /// Applies edits to parameters and their state.
    pub(super) fn apply_edits(&mut self, edits: &[Edit]) -> Result<(), OpError> {
        let Self { network, buffers, .. } = self;
        let DeviceBuffers { weights, means, squares, arena, .. } = buffers.get_mut();
        let mut to = Buffers { params: &mut *weights, means, squares, copy: Copy::None };
        let (ops, mut pass) = (&network.ops, Pass::default());
        for edit in edits {
            ops.life.edit(&mut pass, &ops.optimizer, edit, &mut to, &arena.frame())?;
        }
        Ok(())
    }

    /// The state of the router of a layer.
    pub(super) fn read_router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.check_layer(layer)?;
        let b = self.buffers.try_borrow().map_err(|_| in_use())?;
        let e = self.sizes.experts;
        let of_experts = layer * e..(layer + 1) * e;
        Ok(RouterState {
            embeddings: b.embeddings.read_range(layer * e * FEATURES..(layer + 1) * e * FEATURES)?,
            fatigue: b.fatigue.read_range(of_experts.clone())?,
            energy: b.energy.read_range(of_experts.clone())?,
            balance: b.balance.read_range(of_experts.clone())?,
            alive: b.alive.read_range(of_experts)?.into_iter().map(|alive| u8::from(alive != 0)).collect(),
        })
    }

    /// Sets it.
    pub(super) fn write_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.check_layer(layer)?;
        let e = self.sizes.experts;
        let is_short = [&state.fatigue, &state.energy, &state.balance].iter().any(|x| x.len() != e);
        if is_short || state.alive.len() != e || state.embeddings.len() != e * FEATURES {
            return Err(OpError::Refused(format!("the state of a router is not that of {e} experts")).into());
        }
        let (alive, k) = (state.n_alive(), self.sizes.top_k);
        if alive < k {
            let why = format!("{k} experts per token need as many living experts, and there are {alive}");
            return Err(OpError::Refused(why).into());
        }
        let b = self.buffers.get_mut();
        b.embeddings.write_at(layer * e * FEATURES, &state.embeddings)?;
        b.fatigue.write_at(layer * e, &state.fatigue)?;
        b.energy.write_at(layer * e, &state.energy)?;
        b.balance.write_at(layer * e, &state.balance)?;
        let alive: Vec<u32> = state.alive.iter().map(|alive| u32::from(*alive != 0)).collect();
        Ok(b.alive.write_at(layer * e, &alive)?)
    }
}

/// The specialization of all experts on the first tokens of the batch.
fn specialize(network: &Network, b: &mut DeviceBuffers, n: usize, pass: &mut Pass) -> Result<(), OpError> {
    let DeviceBuffers { weights, tokens, targets, flag, arena, params, expert_records, .. } = b;
    let DeviceBuffers { embeddings, fatigue, energy, balance, alive, .. } = b;
    let (layers, experts, top_k) = (network.config.layers, network.config.experts, network.config.top_k);
    let shape = BatchShape { sequences: 1, seq_len: n };
    let plan = Plan::new(&network.config, &network.dynamics, &shape, n);
    let (tokens, targets) = (tokens.part(0..n)?, targets.part(0..n)?);
    let batch = DeviceBatch { shape, first: 0, tokens: &tokens, targets: &targets };
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let frame = arena.frame();
    let mut streams = pass::streams(&frame, &plan, layers)?;
    let mut blocks = pass::blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&frame, &plan.shared)?;
    let inner = frame.frame();
    let mut run = Run { network, weights, routers, batch, draws: None, cache: None, flag, frame: &inner, pass };
    run.forward(&mut streams, &mut blocks, &mut shared.refs())?;
    for (layer, block) in blocks.iter().enumerate() {
        let slots = &(layer * experts..(layer + 1) * experts);
        let served = Served { x: &block.norm_2, indices: &block.indices, top_k, slots };
        network.ops.life.measure_specialization(run.pass, params.buf(), served, expert_records)?;
    }
    Ok(())
}
