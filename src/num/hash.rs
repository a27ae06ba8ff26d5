//! Hash of a stream of spikes: equal runs have equal hashes on every backend.

/// 64-bit hash of words, by a variant of FNV-1a that takes a word instead of a byte at a time. Spikes are summed instead. The
/// hash is not cryptographic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHash(pub u64);

impl Default for StreamHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl StreamHash {
    /// Appends one word.
    pub const fn push(&mut self, word: u32) {
        self.0 = (self.0 ^ word as u64).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    /// Adds a spike to the hash. The hash of spikes is a sum of mixed words, which does not depend on the order of the spikes.
    #[inline]
    pub const fn push_spike(&mut self, step: u32, lane: u32) {
        let both = ((step as u64) << 32 | lane as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let once = (both ^ both >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = self.0.wrapping_add((once ^ once >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93));
    }

    /// Adds a sum of mixed spikes that was computed elsewhere, for example on the device.
    pub const fn push_sum(&mut self, sum: u64) {
        self.0 = self.0.wrapping_add(sum);
    }

    /// Formats the hash as sixteen hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
