//! Fast memory of a decoder: written after each token, at the mixture of each block.

use super::network::refused;
use crate::{
    kinds::synaptic::{
        experts::{GENES, Phenotype, Routing},
        postsynaptic::{FastMemory, MemoryState, reference::Gains},
    },
    nn::real::Real,
    sim::SimError,
};

/// Memories of all blocks, of one text.
pub struct Plastic<R> {
    op: FastMemory,
    blocks: Vec<MemoryState<R>>,
}

/// Tokens at the mixture of a block, `[n, C]` each.
pub struct MixtureTokens<'a, R> {
    /// Input of the mixture.
    pub input: &'a [R],
    /// What its output is added to.
    pub residual: &'a [R],
    /// Sum of both; the read-out is added.
    pub output: &'a mut [R],
    /// Which experts made it.
    pub routing: &'a Routing<R>,
}

impl<R: Real> Plastic<R> {
    /// Empty.
    pub fn new(op: FastMemory, blocks: usize) -> Self {
        Self { op, blocks: (0..blocks).map(|_| MemoryState::new(&op)).collect() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.blocks.iter_mut().for_each(|state| *state = MemoryState::new(&self.op));
    }

    /// Reads and writes the memory of a block with these genomes, `[E, 4]`, token by token.
    pub fn step(&mut self, genome: &[R], block: usize, at: MixtureTokens<'_, R>) -> Result<(), SimError> {
        let (width, k) = (self.op.width, at.routing.indices.len() / at.routing.tokens.max(1));
        let state = &mut self.blocks[block];
        let rows = at.output.chunks_exact_mut(width).zip(at.residual.chunks_exact(width));
        for (token, ((output, residual), input)) in rows.zip(at.input.chunks_exact(width)).enumerate() {
            output.iter_mut().zip(residual).for_each(|(y, x)| *y -= *x);
            let gains = gains(at.routing, genome, token * k..(token + 1) * k);
            self.op.step(state, input, output, Some(gains)).map_err(refused)?;
            output.iter_mut().zip(residual).for_each(|(y, x)| *y += *x);
        }
        Ok(())
    }
}

/// Gains of the genomes of the experts that a token selected, weighted by gates.
fn gains<R: Real>(routing: &Routing<R>, genome: &[R], slots: std::ops::Range<usize>) -> Gains {
    let mut sum = Gains { camkii: 0.0, pp1: 0.0 };
    for i in slots {
        let expert = routing.indices[i] as usize;
        let (gate, of) = (routing.gates[i].f64(), Phenotype::of(&genome[expert * GENES..][..GENES]));
        sum.camkii += gate * of.camkii_gain;
        sum.pp1 += gate * of.pp1_gain;
    }
    sum
}
