//! Uniform noise of many adjacent lanes at once: a Philox call gives four steps, addressed as by [`word_of_step`].

use super::{
    isa::Isa,
    rng::philox4x32,
    trains::{BLOCK, words},
};

/// Returns the word of a lane at a step: word `step % 4` of the call at `step / 4`.
pub const fn word_of_step(seed: u64, address: u32, step: u64, lane: u32) -> u32 {
    let group = step >> 2;
    let key = [seed as u32, (seed >> 32) as u32];
    philox4x32([lane, address, group as u32, (group >> 32) as u32], key)[(step & 3) as usize]
}

/// Maps the 24 high bits of a word to a uniform number in [-1, 1), on a grid of 2⁻²³. Every operation is exact, so all backends
/// give equal bits.
#[inline(always)]
pub const fn signed_unit(word: u32) -> f32 {
    (word >> 8) as i32 as f32 * (1.0 / 8_388_608.0) - 1.0
}

/// Maps the 24 high bits of a word to a uniform number in [0, 1), on a grid of 2⁻²⁴. The result is exact.
#[inline(always)]
pub const fn unit_from_zero(word: u32) -> f32 {
    (word >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
}

/// Writes [`signed_unit`] of the lanes `first ..` in the steps `4 group .. 4 group + 4`, one vector per step, all of equal
/// length.
pub fn signed_units(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    #[cfg(target_arch = "x86_64")]
    match Isa::best() {
        // SAFETY: the processor supports the feature.
        Isa::Avx512 | Isa::Avx512Vnni => return unsafe { fill_avx512(seed, address, group, first, out) },
        // SAFETY: the processor supports the feature.
        Isa::Avx2 => return unsafe { fill_avx2(seed, address, group, first, out) },
        Isa::Portable => {}
    }
    fill(seed, address, group, first, 0, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    fill(seed, address, group, first, 0, out);
}

/// Fills lanes from `first + at` on. Uses indices and arrays in memory, so that the compiler vectorises the loops.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
fn fill(seed: u64, address: u32, group: u64, first: u32, at: usize, out: &mut [Vec<f32>; 4]) {
    let len = out[0].len();
    for at in (at..len).step_by(BLOCK) {
        let mut ids = [0_u32; BLOCK];
        for i in 0..BLOCK {
            ids[i] = first.wrapping_add((at + i) as u32);
        }
        let words = words(seed, address, group, &ids);
        let lanes = BLOCK.min(len - at);
        for (words, out) in words.iter().zip(out.iter_mut()) {
            let mut units = [0.0; BLOCK];
            for i in 0..BLOCK {
                units[i] = signed_unit(words[i] as u32);
            }
            out[at..at + lanes].copy_from_slice(&units[..lanes]);
        }
    }
}

/// Number of vectors of eight lanes computed together, to hide the latency of multiplications.
#[cfg(target_arch = "x86_64")]
const ABREAST: usize = BLOCK / 8;

/// Fills whole blocks with intrinsics, which are 1.8 times as fast as the code that the compiler generates for [`fill`], and
/// the remaining lanes by [`fill`]. A step of 138,639 lanes takes 62 µs on one core of a 2023 server processor.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fill_avx512(seed: u64, address: u32, group: u64, first: u32, out: &mut [Vec<f32>; 4]) {
    use std::arch::x86_64::*;
    let [a, b, c, d] = &mut *out;
    let (a, b) = (a.as_chunks_mut::<BLOCK>().0, b.as_chunks_mut::<BLOCK>().0);
    let (c, d) = (c.as_chunks_mut::<BLOCK>().0, d.as_chunks_mut::<BLOCK>().0);
    let whole = a.len() * BLOCK;
    let eight = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let low = _mm512_set1_epi64(0xffff_ffff);
    for (at, (((a, b), c), d)) in a.iter_mut().zip(b).zip(c).zip(d).enumerate() {
        let lane = |v: usize| i64::from(first) + (at * BLOCK + v * 8) as i64;
        let ids = |v: usize| _mm512_and_si512(_mm512_add_epi64(eight, _mm512_set1_epi64(lane(v))), low);
        let words = philox_avx512(std::array::from_fn(ids), seed, address, group);
        for (words, out) in words.iter().zip([a, b, c, d]) {
            for (word, out) in words.iter().zip(out.as_chunks_mut::<8>().0) {
                let high = _mm256_srli_epi32::<8>(_mm512_cvtepi64_epi32(*word));
                let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(high), _mm256_set1_ps(1.0 / 8_388_608.0));
                // SAFETY: eight words are 32 bytes.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm256_sub_ps(scaled, _mm256_set1_ps(1.0))) };
            }
        }
    }
    fill(seed, address, group, first, whole, out);
}

/// Computes [`philox4x32`](super::rng::philox4x32) of many lanes, one per 64 bits; the high halves of the words are undefined.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(clippy::needless_range_loop, reason = "four arrays side by side")]
fn philox_avx512(
    lanes: [std::arch::x86_64::__m512i; ABREAST],
    seed: u64,
    address: u32,
    group: u64,
) -> [[std::arch::x86_64::__m512i; ABREAST]; 4] {
    use std::arch::x86_64::*;
    const XOR: i32 = 0x96; // ternary logic: a ^ b ^ c
    let same = |word: u64| _mm512_set1_epi64((word & 0xffff_ffff) as i64);
    let mut x = [lanes, [same(address.into()); ABREAST], [same(group); ABREAST], [same(group >> 32); ABREAST]];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let (k0, k1) = (same(key[0].into()), same(key[1].into()));
        for v in 0..ABREAST {
            let p0 = _mm512_mul_epu32(same(0xD251_1F53), x[0][v]);
            let p1 = _mm512_mul_epu32(same(0xCD9E_8D57), x[2][v]);
            x[0][v] = _mm512_ternarylogic_epi64::<XOR>(_mm512_srli_epi64::<32>(p1), x[1][v], k0);
            x[1][v] = p1;
            x[2][v] = _mm512_ternarylogic_epi64::<XOR>(_mm512_srli_epi64::<32>(p0), x[3][v], k1);
            x[3][v] = p0;
        }
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{
        rng::{Draw, Purpose},
        trains::address,
    };

    #[test]
    fn stream_0_is_the_plain_draw() {
        let address = address(Purpose::Stimulus, 0);
        for step in [0, 3, 4, 1_000_003] {
            assert_eq!(word_of_step(9, address, step, 17), Draw::of_step(9, Purpose::Stimulus, step, 17));
        }
    }

    #[test]
    fn blocks_hold_the_addressed_words() {
        let (seed, address) = (0x1234_5678_9abc_def0, address(Purpose::Noise, 0));
        for (group, first, len) in [(0, 0, 1), (7, 31, 100), (u64::from(u32::MAX) + 2, 5000, 64)] {
            let mut out: [Vec<f32>; 4] = std::array::from_fn(|_| vec![0.0; len]);
            signed_units(seed, address, group, first, &mut out);
            let mut plain = out.clone();
            fill(seed, address, group, first, 0, &mut plain);
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
