//! Uniform noise of many neighbouring lanes at once: four steps per Philox call, addressed like
//! [`word_of_step`](super::trains::word_of_step).

use super::trains::{BLOCK, words};

/// Uniform in [-1, 1): the 24 high bits of a word, on a grid of 2⁻²³. Every operation is exact, so there is nothing
/// to agree on with other backends.
#[inline(always)]
pub const fn signed_unit(word: u32) -> f32 {
    (word >> 8) as i32 as f32 * (1.0 / 8_388_608.0) - 1.0
}

/// Uniform in [0, 1): the 24 high bits of a word, on a grid of 2⁻²⁴. Exact.
#[inline(always)]
pub const fn unit_from_zero(word: u32) -> f32 {
    (word >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
}

/// [`signed_unit`] of the lanes `first ..` in the steps `4 group .. 4 group + 4`, one slice per step, all of the same
/// length.
pub fn signed_units(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the feature.
            return unsafe { fill_avx512(seed, address, group, first, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature.
            return unsafe { fill_avx2(seed, address, group, first, out) };
        }
    }
    fill(seed, address, group, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fill_avx512(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    fill(seed, address, group, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    fill(seed, address, group, first, out);
}

/// Compiled once per instruction set.
#[inline(always)]
fn fill(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    let [a, b, c, d] = out;
    let steps = a.chunks_mut(BLOCK).zip(b.chunks_mut(BLOCK)).zip(c.chunks_mut(BLOCK)).zip(d.chunks_mut(BLOCK));
    let mut ids: [u32; BLOCK] = std::array::from_fn(|i| first.wrapping_add(i as u32));
    for (((a, b), c), d) in steps {
        let words = words(seed, address, group, &ids);
        for (words, out) in words.iter().zip([a, b, c, d]) {
            let units = words.map(|w| signed_unit(w as u32));
            out.copy_from_slice(&units[..out.len()]);
        }
        ids = ids.map(|i| i.wrapping_add(BLOCK as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{
        rng::Purpose,
        trains::{address, word_of_step},
    };

    #[test]
    fn blocks_hold_the_addressed_words() {
        let (seed, address) = (0x1234_5678_9abc_def0, address(Purpose::Noise, 0));
        for (group, first, len) in [(0, 0, 1), (7, 31, 100), (u64::from(u32::MAX) + 2, 5000, 64)] {
            let mut out: [Vec<f32>; 4] = std::array::from_fn(|_| vec![0.0; len]);
            signed_units(seed, address, group, first, &mut out);
            let mut plain = out.clone();
            fill(seed, address, group, first, &mut plain);
            assert_eq!(out, plain);
            for (s, row) in out.iter().enumerate() {
                for (i, got) in row.iter().enumerate() {
                    let word = word_of_step(seed, address, 4 * group + s as u64, first + i as u32);
                    assert_eq!(*got, signed_unit(word), "group {group} step {s} lane {i}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_ranges() {
        assert_eq!((signed_unit(0), signed_unit(u32::MAX)), (-1.0, 1.0 - 2.0_f32.powi(-23)));
        assert_eq!((signed_unit(1 << 31), signed_unit(0x8000_00ff)), (0.0, 0.0));
        assert_eq!((unit_from_zero(255), unit_from_zero(u32::MAX)), (0.0, 1.0 - 2.0_f32.powi(-24)));
    }
}
