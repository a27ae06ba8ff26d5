//! Numbers of released vesicles, expected or drawn.

use crate::num::rng::{Draw, Purpose};

/// Number of vesicles that a query releases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Release {
    /// The expected number, `p·RRP`.
    #[default]
    Deterministic,
    /// For a share of the queries, all edges draw a count from the binomial distribution. Models without vesicles
    /// ([`Mode::Off`](super::Mode::Off), [`Mode::TsodyksMarkram`](super::Mode::TsodyksMarkram)) draw nothing.
    Binomial {
        /// Share of the queries that draw counts.
        fraction: f64,
    },
}

/// Maximum number of trials of a pool.
pub const MAX_TRIALS: u32 = 8;

/// Address of the random draws of one head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// Seed of the project, which is part of the address of every draw.
    pub seed: u64,
    /// Training step, of which the lower 32 bits are used.
    pub step: u64,
    /// Number of the head among all heads of all sequences and layers, `(layer·B + b)·H + h`, less than 2^30.
    pub head: u32,
}

impl Draws {
    /// Returns the four random words of an edge or a query. Positions must be less than 65,536.
    const fn words(&self, group: u64, query: usize, key: usize) -> [u32; 4] {
        let step = (self.step & 0xffff_ffff) | ((self.head as u64) << 2 | group) << 32;
        Draw { seed: self.seed, purpose: Purpose::Release, step, lane: (query as u32) << 16 | key as u32 }.words()
    }

    /// Whether a query draws counts.
    pub fn is_drawn(&self, fraction: f64, query: usize) -> bool {
        f64::from(self.words(2, query, 0)[0]) < fraction * 4_294_967_296.0
    }

    /// Returns the number of successes in `n <= 8` trials, each with probability `p`.
    pub fn count(&self, query: usize, key: usize, n: u32, p: f64) -> u32 {
        let below = p * 4_294_967_296.0;
        let hits = |words: [u32; 4], n: u32| words.iter().take(n as usize).filter(|w| f64::from(**w) < below).count();
        let second = if n > 4 { hits(self.words(1, query, key), n - 4) } else { 0 };
        (hits(self.words(0, query, key), n) + second) as u32
    }

    /// Returns the number of vesicles released from a pool: the pool is divided into `n = round(pool)` equal parts, at
    /// least 1 and at most [`MAX_TRIALS`], and each part is released with probability `p`. The expectation is `p·pool`, and
    /// the result is at most the pool.
    pub fn released(&self, query: usize, key: usize, pool: f64, p: f64) -> f64 {
        let n = trials(pool);
        f64::from(self.count(query, key, n, p)) * pool / f64::from(n)
    }
}

/// Returns the number of trials of a pool.
pub fn trials(pool: f64) -> u32 {
    // A NaN pool is converted to 0 and clamped to 1.
    (pool.round_ties_even() as u32).clamp(1, MAX_TRIALS)
}
