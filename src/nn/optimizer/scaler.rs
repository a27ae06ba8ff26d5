//! Loss scale for 16-bit floating point.

/// Adapts the loss scale: it grows after `interval` updates without overflow, and shrinks after an overflow (like PyTorch's
/// `GradScaler`).
///
/// The state is `scale` and `good`; the other fields are constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScaler {
    /// Scale of the next loss.
    pub scale: f64,
    /// Number of updates without overflow since the scale changed.
    pub good: u32,
    /// Factor by which the scale grows.
    pub growth: f64,
    /// Factor by which the scale shrinks after an overflow.
    pub backoff: f64,
    /// Number of updates without overflow before the scale grows.
    pub interval: u32,
}

impl LossScaler {
    /// Minimum and maximum of the scale.
    pub const LIMITS: (f64, f64) = (1.0, 16_777_216.0);

    /// Creates a constant scale.
    pub const fn fixed(scale: f64) -> Self {
        Self { scale, good: 0, growth: 1.0, backoff: 1.0, interval: u32::MAX }
    }

    /// Records whether a gradient overflowed. Returns whether the update is applied.
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
