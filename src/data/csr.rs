//! Connections in compressed sparse rows, one row per presynaptic neuron, four bytes per connection.

/// Compressed sparse rows. A connection is one word: the target in the low [`Csr::target_bits`] bits, the signed synapse count
/// in the upper bits. Counts that do not fit are kept exactly in a sorted overflow list, and their word holds the nearest count
/// that fits. Rows are sorted by target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// Start of each row in `words`; one more entry than neurons.
    pub rows: Vec<u32>,
    /// Connections, packed into words.
    pub words: Vec<u32>,
    /// Number of bits of the target field.
    pub target_bits: u32,
    /// Clipped counts: (index into `words`, exact count), sorted by index.
    pub overflow: Vec<(u32, i32)>,
}

impl Csr {
    /// Returns the number of bits needed to address one of `n` neurons, at least 1.
    pub const fn target_bits_for(n: u32) -> u32 {
        let bits = u32::BITS - n.saturating_sub(1).leading_zeros();
        if bits == 0 { 1 } else { bits }
    }

    /// Returns the largest count that fits next to a target of `target_bits` bits.
    pub const fn largest_count(target_bits: u32) -> i32 {
        (1_i32 << (31 - target_bits)) - 1
    }

    /// Returns the number of neurons.
    pub fn n(&self) -> u32 {
        self.rows.len().saturating_sub(1) as u32
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Packs a connection; the count is clipped to the range that fits.
    pub fn pack(target_bits: u32, target: u32, count: i32) -> u32 {
        let most = Self::largest_count(target_bits);
        ((count.clamp(-most, most) as u32) << target_bits) | target
    }

    /// Returns the target of a packed connection.
    #[inline]
    pub const fn target(&self, word: u32) -> u32 {
        word & ((1 << self.target_bits) - 1)
    }

    /// Returns the count of a packed connection, which may be clipped.
    #[inline]
    pub const fn count(&self, word: u32) -> i32 {
        (word as i32) >> self.target_bits
    }

    /// Returns the packed row of a neuron.
    pub fn row(&self, pre: u32) -> &[u32] {
        &self.words[self.rows[pre as usize] as usize..self.rows[pre as usize + 1] as usize]
    }

    /// Iterates over the exact connections of a neuron: (target, count).
    pub fn connections(&self, pre: u32) -> impl Iterator<Item = (u32, i32)> + '_ {
        let start = self.rows[pre as usize];
        // Rows and overflow are in one order, so a row needs a single search.
        let mut exact = &self.overflow[self.overflow.partition_point(|(at, _)| *at < start)..];
        self.row(pre).iter().zip(start..).map(move |(word, at)| match exact.split_first() {
            Some(((i, count), rest)) if *i == at => {
                exact = rest;
                (self.target(*word), *count)
            }
            _ => (self.target(*word), self.count(*word)),
        })
    }

    /// Returns the memory in use, bytes.
    pub fn n_bytes(&self) -> u64 {
        (self.rows.len() * 4 + self.words.len() * 4 + self.overflow.len() * 8) as u64
    }
}

/// Counts of synapses and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynapseCounts {
    /// Sum of the counts, without their signs.
    pub n_synapses: u64,
    /// Number of connections with a positive count.
    pub n_excitatory: u64,
    /// Number of connections with a negative count.
    pub n_inhibitory: u64,
}

impl Csr {
    /// Counts the synapses and the connections by sign.
    pub fn synapse_counts(&self) -> SynapseCounts {
        let mut counts = SynapseCounts::default();
        for word in &self.words {
            let count = self.count(*word);
            counts.n_synapses += u64::from(count.unsigned_abs());
            counts.n_excitatory += u64::from(count > 0);
            counts.n_inhibitory += u64::from(count < 0);
        }
        for (at, exact) in &self.overflow {
            let packed = self.count(self.words[*at as usize]);
            counts.n_synapses += u64::from(exact.unsigned_abs()) - u64::from(packed.unsigned_abs());
        }
        counts
    }
}
