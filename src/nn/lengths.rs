//! Lengths of the buffers of an operation.

use crate::gpu::GpuError;

/// A buffer of another length than the operation declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs {needed} elements, and its buffer has {given}")]
pub struct LengthError {
    /// Which buffer.
    pub what: &'static str,
    /// Elements that the declaration implies; `usize::MAX` where they cannot be counted.
    pub needed: usize,
    /// Elements of the buffer.
    pub given: usize,
}

/// As the error of an operation on a device.
impl From<LengthError> for GpuError {
    fn from(error: LengthError) -> Self {
        Self::Length { what: error.what, device: error.given, host: error.needed }
    }
}

/// Checks buffers: name, extents whose product is the needed length, given length.
pub fn check<const N: usize>(buffers: [(&'static str, &[usize], usize); N]) -> Result<(), LengthError> {
    for (what, extents, given) in buffers {
        let needed = extents.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent)).unwrap_or(usize::MAX);
        if needed != given {
            return Err(LengthError { what, needed, given });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_length_is_named() {
        assert_eq!(check([("x", &[2, 3], 6), ("y", &[], 1), ("bias", &[0, usize::MAX], 0)]), Ok(()));
        let why = check([("x", &[2, 3], 6), ("the weight", &[3], 2)]).expect_err("too short");
        assert_eq!(why.to_string(), "the weight needs 3 elements, and its buffer has 2");
        assert_eq!(check([("x", &[usize::MAX, 2], 6)]).map_err(|e| e.needed), Err(usize::MAX));
    }
}
