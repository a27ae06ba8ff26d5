//! What happened to the population in one generation, and how it stood: what a backend tells the desk.

use super::mixing::MOST;

/// Who came and went in one generation, or by hand between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Those who fused, the host first; empty without a fusion.
    pub fused: Vec<u32>,
    /// Those who decayed, in their order.
    pub decayed: Vec<u32>,
    /// Child and parent; what decays is renewed in its own place and listed, too.
    pub born: Vec<(u32, u32)>,
    /// Children without a place.
    pub missing: u32,
    /// Radioactive deaths, ascending.
    pub died: Vec<u32>,
}

impl Events {
    /// Room for what can happen to so many at most.
    pub fn with_capacity(most: usize) -> Self {
        Self {
            fused: Vec::with_capacity(most),
            decayed: Vec::with_capacity(most),
            born: Vec::with_capacity(most),
            missing: 0,
            died: Vec::with_capacity(most),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.fused.clear();
        self.decayed.clear();
        self.born.clear();
        self.missing = 0;
        self.died.clear();
    }

    /// Bytes of so many.
    pub const fn bytes_of(most: usize) -> u64 {
        (most * 20) as u64
    }
}

/// How the population stood when the events of a generation were drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Living nuclei.
    pub n: u64,
    /// Global order |mean e^{iφ}|.
    pub r: f64,
    /// The same of the second field of phases and those after it.
    pub r_more: [f64; MOST - 1],
    /// Order weighted with J.
    pub r_j: f64,
    /// Angle of mean e^{iφ}.
    pub mean_phase: f64,
    /// P(r), what fusion is drawn with.
    pub p_dec: f64,
    /// Mean of P_j over all.
    pub p_mean: f64,
    /// Temperature T = 1 + standard deviation of f.
    pub temperature: f64,
    /// Fitness of the fittest.
    pub f_best: f64,
    /// Mean fitness.
    pub f_mean: f64,
    /// Median fitness; not a number unless somebody looks.
    pub f_median: f64,
    /// Error of the mean answer of the measure.ensemble fittest; not a number unless somebody looks.
    pub f_ensemble: f64,
    /// Mean entropy.
    pub h_mean: f64,
}
