//! Reproducibility of a probe's data, which decides what a replay can compare.

/// Reproducibility of data, declared for a kind, and for a probe that differs from its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Exactness {
    /// Equal bits on every backend and device, for any number of threads.
    #[default]
    AnyBackend,
    /// Equal bits on the same device with the same kernel choices ([`KernelChoices`](super::KernelChoices)). Other devices
    /// or kernels round or sum differently, and the differences grow.
    SameDevice,
    /// Equal bits on the same device; on other devices, equal within this tolerance, relative to the larger of 1 and the
    /// recorded value.
    Tolerance(f32),
    /// Measured in wall-clock time, and never compared.
    WallClock,
}

impl Exactness {
    /// Returns the tolerance of a comparison between recording and replay; 0 for equal bits, `None` if the data cannot be
    /// compared. `is_same` tells whether both used the same device and kernels.
    pub fn tolerance(self, is_same: bool) -> Option<f32> {
        match self {
            Self::AnyBackend => Some(0.0),
            Self::SameDevice => is_same.then_some(0.0),
            Self::Tolerance(within) => Some(if is_same { 0.0 } else { within }),
            Self::WallClock => None,
        }
    }

    /// Returns the reason why a replay cannot be compared, as a continuation of the probe's name. `difference` describes
    /// the device or kernels.
    pub fn why_not(self, difference: &str) -> String {
        match self {
            Self::WallClock => "it measures wall-clock time".to_owned(),
            _ => format!("it has the same bits only on the same device with the same kernels, and {difference}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_depends_on_the_device() {
        use Exactness::{AnyBackend, SameDevice, Tolerance, WallClock};
        let here = [AnyBackend, SameDevice, Tolerance(0.1), WallClock].map(|e| e.tolerance(true));
        assert_eq!(here, [Some(0.0), Some(0.0), Some(0.0), None]);
        let elsewhere = [AnyBackend, SameDevice, Tolerance(0.1), WallClock].map(|e| e.tolerance(false));
        assert_eq!(elsewhere, [Some(0.0), None, Some(0.1), None]);
    }
}
