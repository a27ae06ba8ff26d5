//! Pseudorandom permutations with images that are computed one by one.

/// Pseudorandom permutation of `0..n`: a Feistel network of four rounds over the next power of four, repeated until the
/// result is below `n` (Black & Rogaway 2002).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    keys: [u32; 4],
    n: u64,
    half: u32,
}

impl Permutation {
    /// Creates the permutation of `0..n` that four random words choose.
    pub const fn new(keys: [u32; 4], n: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { keys, n, half: bits.div_ceil(2) }
    }

    /// Returns the image of a number below `n`.
    pub const fn image(&self, of: u64) -> u64 {
        let mask = (1_u64 << self.half) - 1;
        let mut x = of;
        loop {
            let mut round = 0;
            while round < 4 {
                let (high, low) = (x >> self.half, x & mask);
                let mut mixed = (low as u32 ^ self.keys[round]).wrapping_mul(0x85eb_ca6b);
                mixed = (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35);
                x = low << self.half | (high ^ (mixed ^ mixed >> 16) as u64) & mask;
                round += 1;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_an_image_once() {
        for n in [1, 2, 3, 10, 64, 65, 1000] {
            let permutation = Permutation::new([1, 2, 3, 4], n);
            let mut images: Vec<u64> = (0..n).map(|i| permutation.image(i)).collect();
            assert!(n < 10 || !images.is_sorted());
            images.sort_unstable();
            assert_eq!(images, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn images_of_a_large_range_are_spread_evenly() {
        let n = 138_639_u64 * 138_638;
        let permutation = Permutation::new([5, 6, 7, 8], n);
        let mut bins = [0_u32; 64];
        (0..64_000).for_each(|i| bins[(permutation.image(i) * 64 / n) as usize] += 1);
        let chi: f64 = bins.iter().map(|found| (f64::from(*found) - 1000.0).powi(2) / 1000.0).sum();
        assert!((20.0..120.0).contains(&chi), "{chi} with 63 degrees of freedom");
    }
}
