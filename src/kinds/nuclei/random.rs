//! Addressed random numbers: Philox 4×32-10 with counter (slot, block, generation, stream) and the seed as key. A draw depends
//! only on its address, never on earlier draws.

use crate::num::{exact, rng::philox4x32};
use std::f64::consts::TAU;

/// Purpose of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RandomStream {
    /// Initial weights of founders.
    InitW = 1,
    /// Initial phases; block: field.
    InitPhase = 2,
    /// Natural frequencies of slots.
    InitOmega = 3,
    /// Whether a nucleus decays.
    Decay = 4,
    /// Whether the fusion occurs; slot 0.
    Fuse = 5,
    /// Weights of offspring.
    Mut = 6,
    /// Phases of offspring; block: field.
    PhaseChild = 7,
    /// Noise of the phases; block: substep in the low 16 bits, phase field above.
    Noise = 8,
    /// Spike counts of the quantum-Kuramoto maps.
    Spike = 9,
    /// Whether a nucleus dies.
    Death = 10,
    /// Inputs of the generated task; slot: sample.
    TaskX = 16,
    /// Solution weights of the generated task.
    TaskW = 17,
    /// Noise of the generated targets; slot: sample.
    TaskNoise = 18,
    /// Weights of the offspring of the action `decay`.
    MutManual = 19,
    /// Phases of the offspring of the action `decay`.
    PhaseManual = 20,
    /// Embedding vectors of phase fields; slot: field.
    FieldPosition = 21,
}

/// Address of a draw without slot and block.
#[derive(Clone, Copy, Debug)]
pub struct RandomAddress {
    pub seed: u64,
    pub stream: RandomStream,
    /// Generation, modulo 2³².
    pub generation: u32,
}

impl RandomAddress {
    /// Returns the four random words of a block.
    pub const fn words(self, slot: u32, block: u32) -> [u32; 4] {
        philox4x32([slot, block, self.generation, self.stream as u32], [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Returns a uniform value in (0, 1), on a grid of 2⁻²³ shifted by half a step: exact, also in single precision.
    pub fn uniform(self, slot: u32) -> f64 {
        self.uniform_of(slot, 0)
    }

    /// Returns a uniform value in (0, 1) from any block.
    pub fn uniform_of(self, slot: u32, block: u32) -> f64 {
        exact::unit(self.words(slot, block)[0]).into()
    }

    /// Returns the four standard normal values of a block (Box-Muller).
    pub fn normals(self, slot: u32, block: u32) -> [f64; 4] {
        let [a, b, c, d] = self.words(slot, block).map(|word| f64::from(exact::unit(word)));
        let pair = |u: f64, v: f64| {
            let (sin, cos) = (TAU * v).sin_cos();
            let radius = (-2.0 * u.ln()).sqrt();
            [radius * cos, radius * sin]
        };
        let ([x0, x1], [x2, x3]) = (pair(a, b), pair(c, d));
        [x0, x1, x2, x3]
    }

    /// Returns the first of the normal values of a block.
    pub fn normal(self, slot: u32, block: u32) -> f64 {
        self.normals(slot, block)[0]
    }

    /// Calls `take` with `count` standard normal values: value 4b + i is value i of block b.
    pub fn each_normal(self, slot: u32, count: usize, mut take: impl FnMut(usize, f64)) {
        for block in 0..count.div_ceil(4) {
            let normals = self.normals(slot, block as u32);
            normals.iter().take(count - 4 * block).enumerate().for_each(|(i, x)| take(4 * block + i, *x));
        }
    }
}
