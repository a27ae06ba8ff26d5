//! The scale of the loss of 16-bit floating point.

/// Finds the scale: it grows after updates without overflow, and shrinks at one with (as PyTorch's `GradScaler`).
///
/// The state is `scale` and `good`; the rest are constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScaler {
    /// Scale of the next loss.
    pub scale: f64,
    /// Updates without overflow since the scale changed.
    pub good: u32,
    /// Factor of a growing scale.
    pub growth: f64,
    /// Factor of a shrinking scale.
    pub backoff: f64,
    /// Updates without overflow before the scale grows.
    pub interval: u32,
}

impl LossScaler {
    /// Limits of the scale.
    pub const LIMITS: (f64, f64) = (1.0, 16_777_216.0);

    /// A scale that stays.
    pub const fn fixed(scale: f64) -> Self {
        Self { scale, good: 0, growth: 1.0, backoff: 1.0, interval: u32::MAX }
    }

    /// Takes in whether a gradient overflowed. Returns whether the update is applied.
    pub fn update(&mut self, is_overflow: bool) -> bool {
        let mut factor = 1.0;
        if is_overflow {
            (self.good, factor) = (0, self.backoff);
        } else {
            self.good = self.good.saturating_add(1);
            if self.good >= self.interval {
                (self.good, factor) = (0, self.growth);
            }
        }
        // A factor of 1 also keeps a fixed scale beyond the limits.
        if factor != 1.0 {
            self.scale = (self.scale * factor).clamp(Self::LIMITS.0, Self::LIMITS.1);
        }
        !is_overflow
    }
}

impl Default for LossScaler {
    fn default() -> Self {
        Self { scale: 65_536.0, good: 0, growth: 2.0, backoff: 0.5, interval: 2000 }
    }
}
