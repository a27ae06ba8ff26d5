//! Length checks for the buffers of an operation.

use crate::gpu::GpuError;

/// Error: the length of a buffer differs from the one that the operation declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs {needed} elements, and its buffer has {given}")]
pub struct LengthError {
    /// Name of the buffer.
    pub what: &'static str,
    /// Declared number of elements; `usize::MAX` if the product of its extents overflows.
    pub needed: usize,
    /// Number of elements in the buffer.
    pub given: usize,
}

/// Converts to the error type of device operations.
impl From<LengthError> for GpuError {
    fn from(error: LengthError) -> Self {
        Self::Length { what: error.what, device: error.given, host: error.needed }
    }
}

/// Checks that the length of each buffer, given as (name, extents, length), equals the product of its extents. Returns an
/// error for the first buffer with another length.
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
