//! Decoder with a cache of keys, values and synaptic states on a device.

use super::{
    backend::Captured,
    buffers::{DeviceBuffers, SynapticBuffers},
    network::{Cache, Network, Routers, Run},
    plan::{BlockTensors, HeadTensors, Plan, SharedTensors},
};
use crate::{
    gpu::{Buf, Pass, Slice},
    kinds::{
        language::{
            cuda::{
                batch::{BatchBuffers, BatchParts},
                captures::Captures,
                decode::PieceReader,
                error::OpError,
                format::ModelFormat,
                layers::widened,
            },
            plan::BatchShape,
        },
        synaptic::{
            cpu::plastic::{MixtureTokens, Plastic},
            experts::{GENES, Phenotype, Routing},
            model::Block,
            network::predict,
            postsynaptic::FastMemory,
        },
    },
    sim::SimError,
};
use std::cell::{RefCell, RefMut};

/// Decoder of single tokens or chunks. Both give equal results.
pub struct PieceOfText<'a, T: ModelFormat> {
    network: &'a Network<T>,
    captures: Option<&'a RefCell<Captures<Captured>>>,
    buffers: RefMut<'a, DeviceBuffers<T>>,
    /// Fast memory on the host; `None` without plasticity.
    plastic: Option<Plastic<f32>>,
}

/// Applies the fast memory of a block to its output `[n, C]`. Activations are copied to the host and back. Fails if the
/// sizes do not match or a launch fails.
pub(super) fn write_memory<T: ModelFormat>(
    plastic: &mut Plastic<f32>,
    block: usize,
    a: &BlockTensors<'_, T>,
    output: &mut Slice<f32>,
) -> Result<(), OpError> {
    let (input, residual, mut values) = (a.norm_2.read()?, a.mid.read()?, output.read()?);
    let (indices, gates) = (a.indices.read()?, a.gates.read()?);
    let routing = Routing { tokens: a.inverse_norms.len(), indices, gates, ..Routing::default() };
    let at = MixtureTokens { input: &input, residual: &residual, output: &mut values, routing: &routing };
    plastic.step(block, at).map_err(|why| OpError::Refused(why.to_string()))?;
    Ok(output.write(&values)?)
}

impl<'a, T: ModelFormat> PieceOfText<'a, T> {
    /// Creates a decoder with an empty cache. Passes of one token use `captures` if given.
    pub fn new(
        network: &'a Network<T>,
        captures: Option<&'a RefCell<Captures<Captured>>>,
        buffers: RefMut<'a, DeviceBuffers<T>>,
    ) -> Self {
        Self { network, captures, buffers, plastic: None }
    }

    /// Enables plasticity: the memory is written after each token. Fails if the device fails.
    pub fn plastic(mut self, op: FastMemory) -> Result<Self, SimError> {
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

    /// Returns the largest chunk whose activations and logits fit the buffers.
    fn piece(&self) -> usize {
        let DeviceBuffers { kind, batch, .. } = &*self.buffers;
        (kind.logits.len() / self.network.config.padded_vocab()).min(batch.tokens.len())
    }

    fn clear(&mut self) {
        if let Some(plastic) = &mut self.plastic {
            plastic.clear();
        }
    }

    fn read(&mut self, first: usize, tokens: &[u32], to: &mut Vec<f32>) -> Result<(), OpError> {
        let (network, b) = (self.network, &mut *self.buffers);
        b.batch.tokens.write_at(0, tokens)?;
        if first == 0 {
            // Passes of one token read all rows of the cache, and multiply masked ones by 0: they must be finite.
            b.kind.keys.clear()?;
            b.kind.values.clear()?;
        }
        match self.captures.filter(|_| tokens.len() == 1) {
            Some(captures) => {
                b.kind.place.write(&[first as i32, first as i32 + 1])?;
                let launch = |pass: &mut Pass| token(network, b, pass);
                captures.borrow_mut().run(&network.gpu, Captured::Token, &mut Pass::default(), launch)?;
            }
            None => {
                let piece = Piece { shape: BatchShape::full(1, tokens.len()), first, has_place: false };
                piece.launch(network, b, self.plastic.as_mut(), &mut Pass::default())?;
            }
        }
        to.extend(widened(&b.kind.logits.read_range(0..tokens.len() * network.config.padded_vocab())?));
        Ok(())
    }
}

/// Launches the pass of one token, whose position is in device memory. Fails if the sizes do not match or a launch fails.
pub(super) fn token<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let last = network.config.context.saturating_sub(1);
    Piece { shape: BatchShape::full(1, 1), first: last, has_place: true }.launch(network, b, None, pass)
}

/// A chunk of tokens in device memory that follows the cached ones.
struct Piece {
    shape: BatchShape,
    /// Number of cached tokens, or the largest possible number if the number is in device memory.
    first: usize,
    /// Whether the number of cached tokens is in device memory.
    has_place: bool,
}

impl Piece {
    /// Appends the chunk to the cache, and writes its logits. Fails if the sizes do not match or a launch fails.
    fn launch<T: ModelFormat>(
        &self,
        network: &Network<T>,
        b: &mut DeviceBuffers<T>,
        plastic: Option<&mut Plastic<f32>>,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        let DeviceBuffers { trained, batch, kind } = b;
        let SynapticBuffers { keys, values, synapses, place, logits, .. } = kind;
        let SynapticBuffers { embeddings, fatigue, energy, balance, alive, .. } = kind;
        let BatchBuffers { tokens: ids, targets, lengths, positions, flag, arena, .. } = batch;
        let (shape, first) = (self.shape, self.first);
        let plan = Plan::new::<T>(&network.config, &network.dynamics, &shape, first + shape.seq_len);
        let parts = BatchParts::new(shape, (ids, targets), (lengths, positions))?;
        let (batch, weights) = (parts.at(first), &*trained.weights);
        let matrices = T::weights(&trained.weights, &trained.copy);
        let routers = Routers { embeddings, fatigue, energy, balance, alive };
        let frame = arena.frame();
        let mut x = frame.take::<f32>("residual stream", plan.stream)?;
        let mut next = frame.take::<f32>("next residual stream", plan.stream)?;
        let mut block = BlockTensors::take(&mut &frame, &plan.block)?;
        let mut shared = SharedTensors::take(&mut &frame, &plan.shared)?;
        let mut head = HeadTensors::take(&mut &frame, &plan.head)?;
        let inner = frame.frame();
        let cache = Some(Cache { keys, values, synapses, place: self.has_place.then_some(&**place) });
        let mut run = Run::new((network, &plan), (weights, matrices, routers), batch, flag, &inner, pass);
        (run.cache, run.plastic) = (cache, plastic);
        let mut logits = logits.part_mut(0..shape.n_tokens() * plan.vocab)?;
        let (streams, s) = ((&mut *x, &mut *next), &mut shared.refs());
        predict(&mut run, network.config.layers, streams, (&mut block, s), &mut head, &mut logits)
    }
}
