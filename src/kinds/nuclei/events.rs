//! Events and statistics of one generation, passed from a backend to the host state.

use super::mixing::MAX_FIELDS;

/// Events of one generation, or of an action between two generations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// Slots of the nuclei that fused, the host first; empty without a fusion.
    pub fused: Vec<u32>,
    /// Slots of nuclei that decayed, by descending error.
    pub decayed: Vec<u32>,
    /// Slots of offspring and parent, grouped by parent in the order of `decayed`. A decaying nucleus is replaced in its own
    /// slot, which is included.
    pub born: Vec<(u32, u32)>,
    /// Number of offspring without a free slot.
    pub missing: u32,
    /// Slots of nuclei that died, ascending.
    pub died: Vec<u32>,
    /// Final errors of the nuclei in `fused`, `decayed` and `died`, in this order; empty if they were not read from the device.
    pub errors: Vec<f32>,
}

impl Events {
    /// Allocates capacity for the events of at most `most` nuclei.
    pub fn with_capacity(most: usize) -> Self {
        Self {
            fused: Vec::with_capacity(most),
            decayed: Vec::with_capacity(most),
            born: Vec::with_capacity(most),
            missing: 0,
            died: Vec::with_capacity(most),
            errors: Vec::with_capacity(most),
        }
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.fused.clear();
        self.decayed.clear();
        self.born.clear();
        self.missing = 0;
        self.died.clear();
        self.errors.clear();
    }

    /// Whether there are no events.
    pub const fn is_empty(&self) -> bool {
        self.fused.is_empty() && self.decayed.is_empty() && self.died.is_empty()
    }

    /// Returns the memory of the events of at most `most` nuclei, bytes.
    pub const fn bytes_of(most: usize) -> u64 {
        (most * 24) as u64
    }
}

/// Statistics of the population when the events of a generation are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PopulationStats {
    /// Number of nuclei.
    pub n: u64,
    /// Global order |mean e^{iφ}|.
    pub r: f64,
    /// Global order of phase fields 2 to F.
    pub r_more: [f64; MAX_FIELDS - 1],
    /// Order weighted with the coupling J.
    pub r_j: f64,
    /// Angle of mean e^{iφ}.
    pub mean_phase: f64,
    /// P(r), the probability of fusion.
    pub p_dec: f64,
    /// Mean of P_j over all nuclei.
    pub p_mean: f64,
    /// Temperature T = 1 + standard deviation of f.
    pub temperature: f64,
    /// Error of the fittest nucleus.
    pub f_best: f64,
    /// Mean error of all nuclei.
    pub f_mean: f64,
    /// Median error; NaN unless the probe is tapped.
    pub f_median: f64,
    /// Error of the mean output of the measure.ensemble fittest nuclei; NaN unless the probe is tapped.
    pub f_ensemble: f64,
    /// Mean entropy of all nuclei.
    pub h_mean: f64,
}
