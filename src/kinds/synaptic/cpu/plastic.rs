//! Fast memory of a decoder, which is written after each token at the mixture of each block.

use super::network::refused;
use crate::{
    kinds::synaptic::{
        experts::{Phenotype, Routing},
        postsynaptic::{FastMemory, Gains, MemoryState},
    },
    nn::real::Real,
    sim::SimError,
};

/// Fast memory of one text.
pub struct Plastic<R> {
    op: FastMemory,
    /// Memory of each block.
    blocks: Vec<MemoryState<R>>,
    /// Phenotypes of the experts of each block.
    phenotypes: Vec<Vec<Phenotype>>,
}

/// Activations of tokens at the mixture of a block, `[n, C]` each.
pub struct MixtureTokens<'a, R> {
    /// Input of the mixture.
    pub input: &'a [R],
    /// Residual stream to which the mixture's output is added.
    pub residual: &'a [R],
    /// Sum of residual stream and mixture; replaced by the sum with the memory's effect.
    pub output: &'a mut [R],
    /// Experts and gates that the tokens selected.
    pub routing: &'a Routing<R>,
}

impl<R: Real> Plastic<R> {
    /// Creates an empty memory. `phenotypes` are those of the experts of each block.
    pub fn new(op: FastMemory, phenotypes: Vec<Vec<Phenotype>>) -> Self {
        Self { op, blocks: phenotypes.iter().map(|_| MemoryState::new(&op)).collect(), phenotypes }
    }

    /// Clears the memory.
    pub fn clear(&mut self) {
        self.blocks.iter_mut().for_each(|state| *state = MemoryState::new(&self.op));
    }

    /// Reads and writes the memory of a block, token by token, and updates the output. Fails if the sizes do not match.
    pub fn step(&mut self, block: usize, at: MixtureTokens<'_, R>) -> Result<(), SimError> {
        let (n, routing) = (at.routing.tokens.max(1), at.routing);
        let (width, k) = (at.output.len() / n, routing.indices.len() / n);
        let phenotypes = &self.phenotypes[block];
        let rows = at.output.chunks_exact_mut(width).zip(at.residual.chunks_exact(width));
        for (token, ((output, residual), input)) in rows.zip(at.input.chunks_exact(width)).enumerate() {
            let gains = gains(routing, phenotypes, token * k..(token + 1) * k);
            output.iter_mut().zip(residual).for_each(|(y, x)| *y -= *x);
            self.op.step(&mut self.blocks[block], input, output, Some(gains)).map_err(refused)?;
            output.iter_mut().zip(residual).for_each(|(y, x)| *y += *x);
        }
        Ok(())
    }
}

/// Computes the gains of the genomes of the experts that a token selected, weighted by the gates.
fn gains<R: Real>(routing: &Routing<R>, phenotypes: &[Phenotype], slots: std::ops::Range<usize>) -> Gains {
    let mut sum = Gains { camkii: 0.0, pp1: 0.0 };
    for i in slots {
        let (gate, of) = (routing.gates[i].f64(), &phenotypes[routing.indices[i] as usize]);
        sum.camkii += gate * of.camkii_gain;
        sum.pp1 += gate * of.pp1_gain;
    }
    sum
}
