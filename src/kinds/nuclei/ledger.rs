//! Who came and went, counted once: the identity ΔN = c·decays - (m-1)·fusions - deaths - missing, in every generation.

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Nuclei at step 0.
    pub founders: u64,
    /// Fusions.
    pub n_fused: u64,
    /// Nuclei that were absorbed by fusions: m - 1 each.
    pub absorbed: u64,
    /// Decays.
    pub n_decay: u64,
    /// Children in places that were free: c per decay, less the missing.
    pub children: u64,
    /// Children for whom there was no place.
    pub overflow: u64,
    /// Radioactive deaths.
    pub n_died: u64,
}

impl Ledger {
    /// How many must be alive.
    pub const fn n(&self) -> u64 {
        self.founders + self.children - self.absorbed - self.n_died
    }

    /// The same, when the totals do not contradict each other.
    pub fn checked_n(&self) -> Option<u64> {
        self.founders.checked_add(self.children)?.checked_sub(self.absorbed)?.checked_sub(self.n_died)
    }

    /// Whether this can be an earlier state of `later`.
    pub fn precedes(&self, later: &Self) -> bool {
        self.entries().iter().zip(later.entries()).all(|((_, a), (_, b))| *a <= b)
    }

    /// By name, for digests and saved states.
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

    /// The reverse of the values of [`Ledger::entries`].
    pub const fn from_values([founders, n_fused, absorbed, n_decay, children, overflow, n_died]: [u64; 7]) -> Self {
        Self { founders, n_fused, absorbed, n_decay, children, overflow, n_died }
    }

    /// What happened since `earlier`.
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
