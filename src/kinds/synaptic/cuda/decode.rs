//! Prediction of the next token with a cache of keys, values and the states of synapses.

use super::{
    buffers::{DeviceBuffers, SynapticBuffers},
    network::{Cache, Network, Routers, Run},
    plan::{BlockTensors, Plan, SharedTensors},
};
use crate::{
    gpu::{Buf, Pass, Slice},
    kinds::{
        language::cuda::{
            batch::{BatchBuffers, BatchParts},
            decode::PieceReader,
            error::OpError,
            format::ModelFormat,
            layers::widened,
            plan::{BatchShape, HeadTensors},
        },
        synaptic::{
            cpu::plastic::{MixtureTokens, Plastic},
            experts::{GENES, Phenotype, Routing},
            model::Block,
            postsynaptic::{PlasticityRule, hebbian::ExpertCopy},
        },
    },
    sim::SimError,
};
use std::cell::RefMut;

/// Reads tokens one after the other, or some at a time; the results are the same.
pub struct PieceOfText<'a, T: ModelFormat> {
    network: &'a Network<T>,
    buffers: RefMut<'a, DeviceBuffers<T>>,
    /// What tokens write, which is on the host.
    plastic: Option<Plastic<f32>>,
}

/// The tensors of a block that plasticity reads, and where its experts are.
struct WrittenBlock<'a, T: ModelFormat> {
    network: &'a Network<T>,
    weights: &'a Slice<f32>,
    /// `[L, E]`
    energy: &'a Slice<f32>,
    number: usize,
}

impl<T: ModelFormat> WrittenBlock<'_, T> {
    /// Reads and writes what belongs to the block, and changes its output `[n, C]`. It is on the host.
    fn write(
        &self,
        plastic: &mut Plastic<f32>,
        a: &BlockTensors<'_, T>,
        output: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (layout, e) = (&self.network.layout, self.network.config.experts);
        let block = layout.blocks[self.number];
        let (input, residual, mut values) = (a.norm_2.read()?, a.mid.read()?, output.read()?);
        let (indices, gates) = (a.indices.read()?, a.gates.read()?);
        let energy = self.energy.read_range(self.number * e..(self.number + 1) * e)?;
        let expert = |expert: usize| {
            let read = |view| self.weights.read_range(layout.expert_range(view, expert));
            let (fc1, fc2) = (read(block.fc1)?, read(block.fc2)?);
            Ok(ExpertCopy { fc1, fc1_bias: read(block.fc1_bias)?, fc2, fc2_bias: read(block.fc2_bias)? })
        };
        let routing = Routing { tokens: a.inverse_norms.len(), indices, gates, ..Routing::default() };
        let at = MixtureTokens {
            input: &input,
            residual: &residual,
            output: &mut values,
            routing: &routing,
            energy: &energy,
            expert: &expert,
        };
        plastic.step(self.number, at).map_err(|why| OpError::Refused(why.to_string()))?;
        Ok(output.write(&values)?)
    }
}

impl<'a, T: ModelFormat> PieceOfText<'a, T> {
    /// With an empty cache.
    pub fn new(network: &'a Network<T>, buffers: RefMut<'a, DeviceBuffers<T>>) -> Self {
        Self { network, buffers, plastic: None }
    }

    /// Writes after each token.
    pub fn plastic(mut self, op: PlasticityRule) -> Result<Self, SimError> {
        let (network, weights) = (self.network, &self.buffers.trained.weights);
        let phenotypes = |block: &Block| {
            let mut decoded = Buf::zeros(&network.gpu, "phenotypes of experts", network.config.experts * GENES)?;
            let genome = weights.part(network.range(block.genome))?;
            network.ops.experts.decode_genomes(&mut Pass::default(), &genome, &mut decoded)?;
            let of = |values: &[f64]| Phenotype::from_values(std::array::from_fn(|gene| values[gene]));
            Ok(decoded.read()?.chunks_exact(GENES).map(of).collect())
        };
        let phenotypes = network.layout.blocks.iter().map(phenotypes).collect::<Result<_, SimError>>()?;
        self.plastic = Some(Plastic::new(op, phenotypes));
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
        if let Some(plastic) = &mut self.plastic {
            plastic.clear();
        }
    }

    fn read(&mut self, first: usize, tokens: &[u32], to: &mut Vec<f32>) -> Result<(), OpError> {
        let (network, n) = (self.network, tokens.len());
        let b = &mut *self.buffers;
        let DeviceBuffers { trained, batch, kind } = b;
        let SynapticBuffers { keys, values, synapses, .. } = kind;
        let SynapticBuffers { embeddings, fatigue, energy, balance, alive, .. } = kind;
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
            if let Some(plastic) = &mut self.plastic {
                WrittenBlock { network, weights, energy, number: b }.write(plastic, &block, &mut next)?;
            }
            std::mem::swap(&mut x, &mut next);
        }
        run.last_norm(&x, &mut head, &mut shared.wide)?;
        run.logits(&head.norm_f, &mut logits)?;
        to.extend(widened(&logits.read()?));
        Ok(())
    }
}
