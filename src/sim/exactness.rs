//! How exactly the data of a probe are repeated: what a replay may compare.

/// A declaration per kind, or per probe where it differs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Exactness {
    /// The same bits on every backend and device, for any number of threads.
    #[default]
    AnyBackend,
    /// The same bits on the same device with the same choices of kernels
    /// ([`KernelChoices`](super::KernelChoices)). Others round or sum differently, and the differences grow.
    SameDevice,
    /// The same bits on the same device; on others equal within this tolerance, relative to the larger of 1 and the
    /// recorded value.
    Tolerance(f32),
    /// Measured in wall-clock time: never compared.
    WallClock,
}

impl Exactness {
    /// The tolerance within which a repetition on the same device and kernels, or on others, must agree, 0 for every bit;
    /// `None` when it cannot be compared.
    pub fn tolerance(self, is_same: bool) -> Option<f32> {
        match self {
            Self::AnyBackend => Some(0.0),
            Self::SameDevice => is_same.then_some(0.0),
            Self::Tolerance(within) => Some(if is_same { 0.0 } else { within }),
            Self::WallClock => None,
        }
    }

    /// Why a repetition cannot be compared, after the name of the probe. `difference`: that of the device or its kernels.
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
