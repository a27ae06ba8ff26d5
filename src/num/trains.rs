//! Bernoulli trains of many lanes at once: four steps per Philox call, eight or sixteen lanes per
//! instruction. Every variant returns the bits of [`Draw::of_step`](super::rng::Draw::of_step), extended by
//! a stream number.

use super::rng::{Purpose, philox4x32};

/// The address word of a train: what for, and which of several streams over the same lanes.
/// Stream 0 is the plain [`Purpose`].
pub const fn address(purpose: Purpose, stream: u32) -> u32 {
    purpose as u32 | stream << 8
}

/// The word of one lane in one step: call at `step / 4`, word `step % 4`.
pub const fn word_of_step(seed: u64, address: u32, step: u64, lane: u32) -> u32 {
    let group = step >> 2;
    let key = [seed as u32, (seed >> 32) as u32];
    philox4x32([lane, address, group as u32, (group >> 32) as u32], key)[(step & 3) as usize]
}

/// Lanes evaluated together.
pub(super) const BLOCK: usize = 32;

/// One train over many lanes.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    /// Project seed.
    pub seed: u64,
    /// See [`address`].
    pub address: u32,
    /// An event happens when the word lies below; see [`bound_from_probability`](super::rng::bound_from_probability).
    pub bound: u64,
}

impl Train {
    /// The lanes with an event in each of the steps `4 group .. 4 group + 4`, in the order given.
    /// `out` is cleared first.
    pub fn events_of_group(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        out.iter_mut().for_each(Vec::clear);
        if self.bound == 0 {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has the feature.
                return unsafe { self.events_avx512(group, lanes, out) };
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the feature.
                return unsafe { self.events_avx2(group, lanes, out) };
            }
        }
        self.events(group, lanes, out, below);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn events_avx512(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        self.events(group, lanes, out, |words, bound| below_avx512(words, bound));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn events_avx2(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        self.events(group, lanes, out, |words, bound| below_avx2(words, bound));
    }

    /// Compiled once per instruction set.
    #[inline(always)]
    fn events(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4], below: impl Fn(&Words, u64) -> u32) {
        for some in lanes.chunks(BLOCK) {
            let mut ids = [0_u32; BLOCK];
            ids[..some.len()].copy_from_slice(some);
            let words = words(self.seed, self.address, group, &ids);
            let valid = u32::MAX >> (BLOCK - some.len());
            for (words, list) in words.iter().zip(out.iter_mut()) {
                let mut events = below(words, self.bound) & valid;
                while events != 0 {
                    list.push(ids[events.trailing_zeros() as usize % BLOCK]);
                    events &= events - 1;
                }
            }
        }
    }
}

/// The four words of each lane, in the low halves of 64-bit lanes, because the vector product of the low halves
/// is the one Philox needs. The high halves hold anything.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "four arrays side by side, one vector each")]
pub(super) fn words(seed: u64, address: u32, group: u64, ids: &[u32; BLOCK]) -> [Words; 4] {
    let mut c = [ids.map(u64::from), [u64::from(address); BLOCK], [group & LOW; BLOCK], [group >> 32; BLOCK]];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let (k0, k1) = (u64::from(key[0]), u64::from(key[1]));
        for i in 0..BLOCK {
            let p0 = 0xD251_1F53_u64 * (c[0][i] & LOW);
            let p1 = 0xCD9E_8D57_u64 * (c[2][i] & LOW);
            c[0][i] = (p1 >> 32) ^ c[1][i] ^ k0;
            c[1][i] = p1;
            c[2][i] = (p0 >> 32) ^ c[3][i] ^ k1;
            c[3][i] = p0;
        }
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// One word per lane.
pub(super) type Words = [u64; BLOCK];

const LOW: u64 = 0xffff_ffff;

/// Bit i: the low half of word i lies below the bound.
fn below(words: &Words, bound: u64) -> u32 {
    words.iter().enumerate().fold(0, |bits, (i, w)| bits | u32::from((w & LOW) < bound) << i)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn below_avx512(words: &Words, bound: u64) -> u32 {
    use std::arch::x86_64::*;
    let (low, bound) = (_mm512_set1_epi64(LOW as i64), _mm512_set1_epi64(bound as i64));
    words.chunks_exact(8).enumerate().fold(0, |bits, (i, eight)| {
        // SAFETY: eight words are 64 bytes.
        let word = unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
        bits | u32::from(_mm512_cmplt_epu64_mask(_mm512_and_si512(word, low), bound)) << (8 * i)
    })
}

/// Words and bounds have 33 bits, so that the signed comparison serves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn below_avx2(words: &Words, bound: u64) -> u32 {
    use std::arch::x86_64::*;
    let (low, bound) = (_mm256_set1_epi64x(LOW as i64), _mm256_set1_epi64x(bound as i64));
    words.chunks_exact(4).enumerate().fold(0, |bits, (i, four)| {
        // SAFETY: four words are 32 bytes.
        let word = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
        let less = _mm256_cmpgt_epi64(bound, _mm256_and_si256(word, low));
        bits | (_mm256_movemask_pd(_mm256_castsi256_pd(less)) as u32) << (4 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::super::rng::{Draw, bound_from_probability};
    use super::*;

    #[test]
    fn blocks_return_the_addressed_words() {
        let lanes: Vec<u32> = (0..1003).map(|i| i * 7 % 5000).collect();
        for (stream, p, group) in [(0, 0.02, 0), (3, 0.5, 77), (0xabcdef, 1.0, u64::from(u32::MAX) + 5), (1, 0.0, 3)] {
            let address = address(Purpose::Noise, stream);
            let bound = bound_from_probability(p);
            let train = Train { seed: 0x1234_5678_9abc_def0, address, bound };
            let (mut got, mut plain) = (<[Vec<u32>; 4]>::default(), <[Vec<u32>; 4]>::default());
            train.events_of_group(group, &lanes, &mut got);
            if bound > 0 {
                train.events(group, &lanes, &mut plain, below);
                assert_eq!(got, plain);
            }
            for s in 0..4 {
                let want = |lane: &u32| u64::from(word_of_step(train.seed, address, 4 * group + s, *lane)) < bound;
                let want: Vec<u32> = lanes.iter().copied().filter(want).collect();
                assert_eq!(got[s as usize], want, "stream {stream} step {s}");
            }
        }
    }

    #[test]
    fn stream_0_is_the_plain_draw() {
        let address = address(Purpose::Stimulus, 0);
        for step in [0, 3, 4, 1_000_003] {
            assert_eq!(word_of_step(9, address, step, 17), Draw::of_step(9, Purpose::Stimulus, step, 17));
        }
    }
}
