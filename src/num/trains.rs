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
const BLOCK: usize = 16;

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
            if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
                // SAFETY: the processor has the features.
                return unsafe { self.events_avx512(group, lanes, out) };
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the feature.
                return unsafe { self.events_avx2(group, lanes, out) };
            }
        }
        self.events(group, lanes, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
    fn events_avx512(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        self.events(group, lanes, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn events_avx2(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        self.events(group, lanes, out);
    }

    /// Compiled once per instruction set.
    #[inline(always)]
    fn events(&self, group: u64, lanes: &[u32], out: &mut [Vec<u32>; 4]) {
        let mut blocks = lanes.chunks_exact(BLOCK);
        for block in &mut blocks {
            let mut ids = [0_u32; BLOCK];
            ids.copy_from_slice(block);
            let flags = self.flags(group, &ids);
            for (half, first) in [0, BLOCK / 2].into_iter().enumerate() {
                let mut word = 0_u64;
                for i in 0..BLOCK / 2 {
                    word |= u64::from(flags[first + i]) << (8 * i);
                }
                while word != 0 {
                    let i = word.trailing_zeros() / 8;
                    let steps = (word >> (8 * i)) & 15;
                    let lane = ids[half * BLOCK / 2 + i as usize];
                    for (s, list) in out.iter_mut().enumerate() {
                        if steps >> s & 1 == 1 {
                            list.push(lane);
                        }
                    }
                    word &= !(0xff << (8 * i));
                }
            }
        }
        let rest = blocks.remainder();
        if !rest.is_empty() {
            let mut ids = [0_u32; BLOCK];
            ids[..rest.len()].copy_from_slice(rest);
            let flags = self.flags(group, &ids);
            for (lane, flags) in rest.iter().zip(flags) {
                for (s, list) in out.iter_mut().enumerate() {
                    if flags >> s & 1 == 1 {
                        list.push(*lane);
                    }
                }
            }
        }
    }

    /// Per lane: bit s is set when it has an event in step `4 group + s`. The words are kept in the low halves
    /// of 64-bit lanes, because the vector product of the low halves is the one Philox needs.
    #[inline(always)]
    fn flags(&self, group: u64, ids: &[u32; BLOCK]) -> [u8; BLOCK] {
        const LOW: u64 = 0xffff_ffff;
        let mut c = [[0_u64; BLOCK]; 4];
        for i in 0..BLOCK {
            c[0][i] = u64::from(ids[i]);
            c[1][i] = u64::from(self.address);
            c[2][i] = group & LOW;
            c[3][i] = group >> 32;
        }
        let mut key = [self.seed as u32, (self.seed >> 32) as u32];
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
        let mut flags = [0_u8; BLOCK];
        for i in 0..BLOCK {
            let mut f = 0_u64;
            for (s, words) in c.iter().enumerate() {
                f |= u64::from((words[i] & LOW) < self.bound) << s;
            }
            flags[i] = f as u8;
        }
        flags
    }
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
                train.events(group, &lanes, &mut plain);
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
