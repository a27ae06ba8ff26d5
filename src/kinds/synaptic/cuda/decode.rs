//! Prediction of the next token with a cache of keys, values and the states of synapses.

use super::{
    buffers::DeviceBuffers,
    network::{Cache, Network, Routers, Run},
    plan::{BlockTensors, Plan, SharedTensors},
};
use crate::{
    gpu::{Pass, Slice},
    kinds::{
        language::cuda::{
            buffers::{BatchBuffers, BatchParts},
            decode::PieceReader,
            error::OpError,
            format::ModelFormat,
            layers::widened,
            plan::{BatchShape, HeadTensors},
        },
        synaptic::{
            cpu::plastic::{MixtureTokens, Plastic},
            experts::Routing,
            model::Block,
            postsynaptic::FastMemory,
        },
    },
    sim::SimError,
};
use std::cell::RefMut;

/// Reads tokens one after the other, or some at a time; the results are the same.
pub struct PieceOfText<'a, T: ModelFormat> {
    network: &'a Network<T>,
    buffers: RefMut<'a, DeviceBuffers<T>>,
    /// Fast memory, which is on the host.
    plastic: Option<Memory>,
}

/// Fast memory, and the genomes of the experts of each block.
struct Memory {
    plastic: Plastic<f32>,
    genomes: Vec<Vec<f32>>,
}

impl Memory {
    /// Adds the read-out to the output `[n, C]` of a block, and writes.
    fn step<T: ModelFormat>(
        &mut self,
        block: usize,
        a: &BlockTensors<'_, T>,
        output: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (input, residual, mut values) = (a.norm_2.read()?, a.mid.read()?, output.read()?);
        let (indices, gates) = (a.indices.read()?, a.gates.read()?);
        let routing = Routing { tokens: a.inverse_norms.len(), indices, gates, ..Routing::default() };
        let at = MixtureTokens { input: &input, residual: &residual, output: &mut values, routing: &routing };
        let done = self.plastic.step(&self.genomes[block], block, at);
        done.map_err(|why| OpError::Refused(why.to_string()))?;
        Ok(output.write(&values)?)
    }
}

impl<'a, T: ModelFormat> PieceOfText<'a, T> {
    /// With an empty cache.
    pub fn new(network: &'a Network<T>, buffers: RefMut<'a, DeviceBuffers<T>>) -> Self {
        Self { network, buffers, plastic: None }
    }

    /// With an empty fast memory.
    pub fn plastic(mut self, op: FastMemory) -> Result<Self, SimError> {
        let (layout, weights) = (&self.network.layout, &self.buffers.trained.weights);
        let genome = |block: &Block| Ok(weights.read_range(self.network.range(block.genome))?);
        let genomes = layout.blocks.iter().map(genome).collect::<Result<Vec<_>, SimError>>()?;
        self.plastic = Some(Memory { plastic: Plastic::new(op, genomes.len()), genomes });
        Ok(self)
    }
}

impl<T: ModelFormat> PieceReader for PieceOfText<'_, T> {
    fn limits(&self) -> [usize; 2] {
        [self.network.config.context, self.network.config.vocab]
    }

    /// Their activations and logits fit the buffers of training.
    fn piece(&self) -> usize {
        let shape = BatchShape::full(1, self.network.config.context);
        let plan = Plan::new::<T>(&self.network.config, &self.network.dynamics, &shape, shape.seq_len);
        plan.logit_rows.min(self.buffers.batch.tokens.len())
    }

    fn clear(&mut self) {
        if let Some(memory) = &mut self.plastic {
            memory.plastic.clear();
        }
    }

    fn read(&mut self, first: usize, tokens: &[u32], to: &mut Vec<f32>) -> Result<(), OpError> {
        let (network, n) = (self.network, tokens.len());
        let b = &mut *self.buffers;
        let DeviceBuffers { trained, batch, keys, values, synapses, .. } = b;
        let DeviceBuffers { embeddings, fatigue, energy, balance, alive, .. } = b;
        let BatchBuffers { tokens: ids, targets, lengths, positions, flag, arena, .. } = batch;
        ids.write_at(0, tokens)?;
        let shape = BatchShape::full(1, n);
        let plan = Plan::new::<T>(&network.config, &network.dynamics, &shape, first + n);
        let parts = BatchParts::new(shape, (ids, targets), (lengths, positions))?;
        let (batch, weights) = (parts.at(first), &*trained.weights);
        let matrices = T::weights(&trained.weights, &trained.copy);
        let routers = Routers { embeddings, fatigue, energy, balance, alive };
        let frame = arena.frame();
        let mut x = frame.take::<f32>("residual stream", plan.stream)?;
        let mut next = frame.take::<f32>("next residual stream", plan.stream)?;
        let mut block = BlockTensors::take(&frame, &plan.block)?;
        let mut shared = SharedTensors::take(&frame, &plan.shared)?;
        let mut head = HeadTensors::take(&frame, &plan.head)?;
        let mut logits = frame.take::<T>("logits", n * plan.vocab)?;
        let (inner, mut pass) = (frame.frame(), Pass::default());
        let cache = Some(Cache { keys, values, synapses });
        let pass = &mut pass;
        let mut run = Run { network, weights, matrices, routers, batch, draws: None, cache, flag, frame: &inner, pass };
        run.embed(&mut x)?;
        for b in 0..network.config.layers {
            run.block(b, &x, &mut block, &mut shared.refs(), &mut next)?;
            if let Some(memory) = &mut self.plastic {
                memory.step(b, &block, &mut next)?;
            }
            std::mem::swap(&mut x, &mut next);
        }
        run.last_norm(&x, &mut head, &mut shared.wide)?;
        run.logits(&head.norm_f, &mut logits)?;
        to.extend(widened(&logits.read()?));
        Ok(())
    }
}
