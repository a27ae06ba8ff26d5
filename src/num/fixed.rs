//! Order-free sums. Integer addition is associative, so a sum over spikes is equal for every order of threads, blocks and
//! backends.

/// Number in Q16.16: sixteen integer bits and sixteen fraction bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Q16(pub i32);

impl Q16 {
    /// Largest representable value, 32,767.99998.
    pub const MAX: Self = Self(i32::MAX);

    /// Returns the nearest representable number; saturates. NaN becomes 0.
    pub fn from_f64(x: f64) -> Self {
        Self((x * 65_536.0).round() as i32)
    }

    /// Adds two numbers; wraps like integer atomics of the hardware. Check [`Q16::headroom`] beforehand.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Returns the number of terms of size `largest` that can be added before a sum may wrap.
    pub fn headroom(largest: Self) -> u32 {
        i32::MAX.unsigned_abs() / largest.0.unsigned_abs().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter() {
        let terms: Vec<Q16> = (0..1000).map(|i| Q16::from_f64(f64::from(i * 37 % 101) * 0.123 - 5.0)).collect();
        let forward = terms.iter().fold(Q16(0), |a, b| a.plus(*b));
        let backward = terms.iter().rev().fold(Q16(0), |a, b| a.plus(*b));
        assert_eq!(forward, backward);
        assert!(Q16::headroom(Q16::from_f64(8.0)) >= 4095);
    }
}
