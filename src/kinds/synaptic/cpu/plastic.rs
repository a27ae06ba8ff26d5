//! Fast memory of a decoder, which is written after each token at the mixture of each block.

use super::network::refused;
use crate::{
    kinds::synaptic::{
        experts::{Phenotype, Routing},
        postsynaptic::{
            FastMemory, MemoryState, PlasticityRule,
            hebbian::{ExpertCopy, WrittenExpert},
            reference::{Constants, Gains},
        },
    },
    nn::real::Real,
    sim::SimError,
};
use std::collections::{HashMap, hash_map::Entry};

/// Fast memory of one text.
pub struct Plastic<R> {
    written: Written<R>,
    /// Phenotypes of the experts of each block.
    phenotypes: Vec<Vec<Phenotype>>,
}

enum Written<R> {
    Delta {
        op: FastMemory,
        blocks: Vec<MemoryState<R>>,
    },
    /// Experts that were selected so far, by block and index.
    Hebbian {
        op: Constants,
        experts: HashMap<(usize, usize), WrittenExpert<R>>,
    },
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
    /// Energy of the experts, `[E]`.
    pub energy: &'a [f32],
    /// Trained weights of an expert.
    pub expert: &'a dyn Fn(usize) -> Result<ExpertCopy<R>, SimError>,
}

impl<R: Real> Plastic<R> {
    /// Creates an empty memory. `phenotypes` are those of the experts of each block.
    pub fn new(op: PlasticityRule, phenotypes: Vec<Vec<Phenotype>>) -> Self {
        let written = match op {
            PlasticityRule::Delta(op) => {
                Written::Delta { op, blocks: phenotypes.iter().map(|_| MemoryState::new(&op)).collect() }
            }
            PlasticityRule::Hebbian(op) => Written::Hebbian { op, experts: HashMap::new() },
        };
        Self { written, phenotypes }
    }

    /// Clears the memory.
    pub fn clear(&mut self) {
        match &mut self.written {
            Written::Delta { op, blocks } => blocks.iter_mut().for_each(|state| *state = MemoryState::new(op)),
            Written::Hebbian { experts, .. } => experts.clear(),
        }
    }

    /// Reads and writes the memory of a block, token by token, and updates the output.
    pub fn step(&mut self, block: usize, at: MixtureTokens<'_, R>) -> Result<(), SimError> {
        let (n, routing) = (at.routing.tokens.max(1), at.routing);
        let (width, k) = (at.output.len() / n, routing.indices.len() / n);
        let phenotypes = &self.phenotypes[block];
        let rows = at.output.chunks_exact_mut(width).zip(at.residual.chunks_exact(width));
        for (token, ((output, residual), input)) in rows.zip(at.input.chunks_exact(width)).enumerate() {
            let slots = token * k..(token + 1) * k;
            match &mut self.written {
                Written::Delta { op, blocks } => {
                    output.iter_mut().zip(residual).for_each(|(y, x)| *y -= *x);
                    let gains = gains(routing, phenotypes, slots);
                    op.step(&mut blocks[block], input, output, Some(gains)).map_err(refused)?;
                    output.iter_mut().zip(residual).for_each(|(y, x)| *y += *x);
                }
                Written::Hebbian { op, experts } => {
                    output.copy_from_slice(residual);
                    for slot in slots {
                        let (e, gate) = (routing.indices[slot] as usize, routing.gates[slot]);
                        let expert = match experts.entry((block, e)) {
                            Entry::Occupied(written) => written.into_mut(),
                            Entry::Vacant(new) => new.insert(WrittenExpert::new((at.expert)(e)?)),
                        };
                        let y = expert.step(op, input, at.energy[e], of(&phenotypes[e])).map_err(refused)?;
                        output.iter_mut().zip(&y).for_each(|(out, y)| *out += gate * *y);
                    }
                }
            }
        }
        Ok(())
    }
}

const fn of(phenotype: &Phenotype) -> Gains {
    Gains { camkii: phenotype.camkii_gain, pp1: phenotype.pp1_gain }
}

/// Gains of the genomes of the experts that a token selected, weighted by the gates.
fn gains<R: Real>(routing: &Routing<R>, phenotypes: &[Phenotype], slots: std::ops::Range<usize>) -> Gains {
    let mut sum = Gains { camkii: 0.0, pp1: 0.0 };
    for i in slots {
        let (gate, of) = (routing.gates[i].f64(), of(&phenotypes[routing.indices[i] as usize]));
        sum.camkii += gate * of.camkii;
        sum.pp1 += gate * of.pp1;
    }
    sum
}
