//! Event totals. In every generation ΔN = c·decays - (m-1)·fusions - deaths - missing.

/// Event totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Number of nuclei at step 0.
    pub founders: u64,
    /// Number of fusions.
    pub n_fused: u64,
    /// Number of nuclei absorbed by fusions: m - 1 per fusion.
    pub absorbed: u64,
    /// Number of decays.
    pub n_decay: u64,
    /// Number of offspring placed in free slots: c per decay, minus the overflow.
    pub children: u64,
    /// Number of offspring without a free slot.
    pub overflow: u64,
    /// Number of deaths.
    pub n_died: u64,
}

impl Ledger {
    /// Returns the number of nuclei that follows from the totals.
    pub const fn n(&self) -> u64 {
        self.founders + self.children - self.absorbed - self.n_died
    }

    /// Returns the number of nuclei as [`Ledger::n`], or `None` if the totals are inconsistent.
    pub fn checked_n(&self) -> Option<u64> {
        self.founders.checked_add(self.children)?.checked_sub(self.absorbed)?.checked_sub(self.n_died)
    }

    /// Whether these totals can precede `later`.
    pub fn precedes(&self, later: &Self) -> bool {
        self.entries().iter().zip(later.entries()).all(|((_, a), (_, b))| *a <= b)
    }

    /// Returns names and values, for digests and saved states.
    pub const fn entries(&self) -> [(&'static str, u64); 7] {
        [
            ("founders", self.founders),
            ("fusions", self.n_fused),
            ("absorbed", self.absorbed),
            ("decays", self.n_decay),
            ("children", self.children),
            ("overflow", self.overflow),
            ("deaths", self.n_died),
        ]
    }

    /// Creates the totals from the values of [`Ledger::entries`].
    pub const fn from_values([founders, n_fused, absorbed, n_decay, children, overflow, n_died]: [u64; 7]) -> Self {
        Self { founders, n_fused, absorbed, n_decay, children, overflow, n_died }
    }

    /// Computes the difference between these totals and those of `earlier`.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            founders: 0,
            n_fused: self.n_fused - earlier.n_fused,
            absorbed: self.absorbed - earlier.absorbed,
            n_decay: self.n_decay - earlier.n_decay,
            children: self.children - earlier.children,
            overflow: self.overflow - earlier.overflow,
            n_died: self.n_died - earlier.n_died,
        }
    }
}
