//! Exponential decay over whole steps.

/// Number of fine entries; an age is `coarse · FINE + fine`.
pub const FINE: u32 = 1024;
/// Largest number of coarse entries.
const MAX_COARSE: u32 = 1 << 16;
/// Factors below this are 0.
const LEAST: f64 = 1e-30;

/// Table of `exp(-age / tau)` for whole steps, as the product of two entries. Entries are computed in double precision and rounded
/// once.
#[derive(Clone, Debug, PartialEq)]
pub struct Decay {
    /// Decay over 0 to [`FINE`] - 1 steps, followed by the decay over multiples of [`FINE`] steps; the last entry is 0.
    pub table: Vec<f32>,
}

impl Decay {
    /// Creates the table of a time constant in ms. With a time constant of 0, the decay over one step or more is 0.
    pub fn new(tau_ms: f64, dt_ms: f64) -> Self {
        let at = |age: u32| {
            let factor =
                if tau_ms > 0.0 { (-f64::from(age) * dt_ms / tau_ms).exp() } else { f64::from(u8::from(age == 0)) };
            if factor < LEAST { 0.0 } else { factor as f32 }
        };
        let mut table: Vec<f32> = (0..FINE).map(at).collect();
        table.extend((0..MAX_COARSE).map(|i| at(i * FINE)).take_while(|factor| *factor > 0.0));
        table.push(0.0);
        Self { table }
    }

    /// Returns the decay over a number of steps.
    #[inline]
    pub fn over(&self, age: u32) -> f32 {
        let coarse = (FINE + age / FINE).min(self.table.len() as u32 - 1);
        self.table[coarse as usize] * self.table[(age % FINE) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_are_exponential_to_three_roundings() {
        for tau in [0.5, 15.0, 1000.0] {
            let decay = Decay::new(tau, 0.1);
            for age in (0..4000).chain([5000, 123_456]) {
                let (found, expected) = (f64::from(decay.over(age)), (-f64::from(age) * 0.1 / tau).exp());
                assert!((found - expected).abs() <= 1.8e-7 * expected + 1e-29, "{tau} {age}: {found} {expected}");
            }
            assert_eq!(decay.over(u32::MAX), 0.0);
        }
        assert_eq!([0, 1, 1 << 30].map(|age| Decay::new(0.0, 0.1).over(age)), [1.0, 0.0, 0.0]);
    }
}
