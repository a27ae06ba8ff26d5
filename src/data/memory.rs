//! Memory limit for reading an input.

use super::{DataError, messages};
use std::path::Path;

/// Size up to which inputs may use [`LIMIT_OF_SMALL`] bytes.
const SMALL: u64 = 64 << 20;
/// Memory for reading a small input, bytes. Together with the program itself, memory stays below 1 GB.
const LIMIT_OF_SMALL: u64 = 768 << 20;

/// Returns the memory limit for an input of `n_bytes` bytes: constant for small inputs, proportional for larger ones.
pub const fn limit(n_bytes: u64) -> u64 {
    if n_bytes <= SMALL { LIMIT_OF_SMALL } else { n_bytes.saturating_mul(LIMIT_OF_SMALL / SMALL) }
}

/// Counter of the memory that a reader needs.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: u64,
    used: u64,
}

impl Budget {
    /// Creates the budget for an input of `n_bytes` bytes.
    pub const fn of(n_bytes: u64) -> Self {
        Self { limit: limit(n_bytes), used: 0 }
    }

    #[cfg(test)]
    pub const fn with_limit(limit: u64) -> Self {
        Self { limit, used: 0 }
    }

    /// Adds needed bytes. Fails beyond the limit.
    pub fn take(&mut self, path: &Path, n_bytes: u64) -> Result<(), DataError> {
        self.used = self.used.saturating_add(n_bytes);
        if self.used <= self.limit { Ok(()) } else { Err(too_large(path, self.limit)) }
    }

    /// Returns the number of bytes left.
    pub const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Returns the error about an input that needs more memory than its limit.
pub fn too_large(path: &Path, limit: u64) -> DataError {
    let limit = messages::group_digits(limit >> 20);
    DataError::format(path, format!("reading it would take more than {limit} MB of memory, the limit for its size"))
}

/// Returns the heap bytes of a string of this length, with its handle and the overhead of the allocator.
pub fn text_bytes(length: usize) -> u64 {
    if length == 0 { 24 } else { 24 + (length as u64 + 8).next_multiple_of(16).max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_inputs_share_a_limit_and_larger_ones_have_their_share() {
        assert_eq!((limit(0), limit(SMALL)), (LIMIT_OF_SMALL, LIMIT_OF_SMALL));
        assert_eq!(limit(2 * SMALL), 2 * LIMIT_OF_SMALL);
        let mut budget = Budget::of(1);
        budget.take(Path::new("x.csv"), LIMIT_OF_SMALL).unwrap();
        let why = budget.take(Path::new("x.csv"), 1).unwrap_err().to_string();
        assert_eq!(why, "x.csv: reading it would take more than 768 MB of memory, the limit for its size");
    }
}
