//! Converts between state values and the 32-bit words of device memory.

use crate::kinds::spiking::constants::Real;

/// Converts state values to the words that the kernels read.
pub fn words<T: Real>(numbers: impl IntoIterator<Item = T>) -> impl Iterator<Item = u32> {
    numbers.into_iter().flat_map(|x| {
        let bits = x.to_bits();
        [bits as u32, (bits >> 32) as u32].into_iter().take(T::BYTES / 4)
    })
}

/// Converts words that the kernels write to state values.
pub fn numbers<T: Real>(words: &[u32]) -> impl Iterator<Item = T> + '_ {
    words.chunks_exact(T::BYTES / 4).map(|w| {
        let high = w.get(1).copied().unwrap_or(0);
        T::from_bits(u64::from(w[0]) | u64::from(high) << 32)
    })
}
