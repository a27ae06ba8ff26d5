//! A fingerprint of a stream of spikes: equal runs have equal hashes, on every backend.

/// 64-bit FNV-1a over little-endian words, folded one word at a time. Not cryptographic.
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

    /// Appends a spike: one round for both numbers, because every spike of a run passes here, one after the other.
    pub const fn push_spike(&mut self, step: u32, lane: u32) {
        self.0 = (self.0 ^ (step as u64) << 32 ^ lane as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }

    /// Sixteen hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
