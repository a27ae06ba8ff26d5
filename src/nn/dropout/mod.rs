//! Dropout with a mask that is a function of its address: nothing is stored for the backward pass.
//!
//! `x_i ← x_i / (1 - p)` where element i is kept, else 0 (Srivastava et al. 2014, inverted). The backward pass is the same
//! call on the gradient.
//!
//! # Address of a draw
//!
//! Element i uses word `i mod 4` of [`philox4x32`](crate::num::rng::philox4x32) with the key `seed` and the counter
//!
//! | word | |
//! |---|---|
//! | 0 | `i / 4`, low 32 bits |
//! | 1 | [`Purpose::Dropout`], `+ 2⁸ ·` low 16 bits of the site, `+ 2²⁴ · (i / 4 div 2³²)` |
//! | 2, 3 | step |
//!
//! The element is kept if the word is at least `p · 2³²`. The site numbers the layers and the places in a layer where dropout
//! is applied.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward};

use crate::num::rng::Purpose;

/// Dropout at one site of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability that an element is dropped, 0 to 1.
    pub p: f64,
    /// Seed of the project.
    pub seed: u64,
    /// Number of the site within the network, from layer and place; below 65,536.
    pub layer_site: u32,
    /// Index of the first element. Because of the index, the elements of a batch keep their masks when the batch is processed
    /// in parts.
    pub offset: u64,
}

impl Dropout {
    /// Returns the threshold of the random word: elements whose word is at least the threshold are kept; 2³² keeps none.
    pub fn threshold(&self) -> u64 {
        // NaN keeps all elements, as 0 does.
        (self.p.clamp(0.0, 1.0) * 4_294_967_296.0).round() as u64
    }

    /// Returns the factor of kept elements: 1 / (1 - p); 0 if all are dropped.
    pub fn factor(&self) -> f32 {
        if self.p < 1.0 { (1.0 / (1.0 - self.p.max(0.0))) as f32 } else { 0.0 }
    }

    /// Returns word 1 of the Philox counter for elements `4 i` to `4 i + 3`.
    pub const fn purpose(&self, i: u64) -> u32 {
        Purpose::Dropout as u32 | (self.layer_site & 0xffff) << 8 | ((i >> 32) as u32) << 24
    }
}
