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

    /// Sixteen hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
