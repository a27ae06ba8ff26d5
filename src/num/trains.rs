//! Bernoulli trains: each lane has an event in each step with the same probability, independently.
//!
//! Time is cut into blocks of 64 steps. One random word gives the number of events of a block (inverse binomial
//! distribution), and further words give the steps of the events: a uniform choice without replacement (R. W. Floyd, in
//! Bentley, CACM 30, 1987). The process equals one draw per step, but needs far fewer random numbers if events are
//! rare. Words are addressed by lane and block, so results do not depend on earlier calls. The CUDA counterpart is
//! `kernels/common/trains.cuh`.

use super::{
    isa::Isa,
    rng::{Purpose, philox4x32},
};
use std::{array, sync::Arc};

/// Number of steps per block.
pub const TRAIN_STEPS: usize = 64;

/// Returns the address word of a train: its purpose, and its stream among several over the same lanes. Stream 0 is the plain
/// [`Purpose`].
pub const fn address(purpose: Purpose, stream: u32) -> u32 {
    purpose as u32 | stream << 8
}

/// Distribution of the number of events per block: entry k is the probability of at most k events, times 2³². A random word of
/// at least entry k means more than k events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chances(pub Arc<[u64; TRAIN_STEPS]>);

impl Chances {
    /// Computes the distribution for events with probability `p` per step.
    pub fn new(p: f64) -> Self {
        let p = p.clamp(0.0, 1.0);
        let q = 1.0 - p;
        // Only products and sums are used, in a fixed order: the bits are equal on every machine.
        let mut powers_of_q = [1.0; TRAIN_STEPS + 1];
        (1..=TRAIN_STEPS).for_each(|k| powers_of_q[k] = powers_of_q[k - 1] * q);
        let (mut choices, mut power_of_p, mut at_most) = (1.0, 1.0, 0.0);
        Self(Arc::new(array::from_fn(|k| {
            if k > 0 {
                choices *= (TRAIN_STEPS + 1 - k) as f64 / k as f64;
                power_of_p *= p;
            }
            at_most += choices * power_of_p * powers_of_q[TRAIN_STEPS - k];
            (at_most.min(1.0) * 4_294_967_296.0).round() as u64
        })))
    }

    /// Whether the probability of an event is zero.
    pub fn is_never(&self) -> bool {
        self.0[0] > u32::MAX as u64
    }
}

/// One train over many lanes.
#[derive(Clone, Debug)]
pub struct Train {
    pub seed: u64,
    /// Address word of the train ([`address`]).
    pub address: u32,
    /// Distribution of the number of events.
    pub chances: Chances,
}

/// Returns four words of a lane in a block; `call` counts the Philox calls.
fn call(seed: u64, address: u32, block: u64, call: u32, lane: u32) -> [u32; 4] {
    let key = [seed as u32, (seed >> 32) as u32];
    philox4x32([lane, address, block as u32, (block >> 32) as u32 | call << 26], key)
}

impl Train {
    /// Whether there is an event in a step of a lane.
    pub fn event(&self, step: u64, lane: u32) -> bool {
        self.events(step >> 6, lane) >> (step & 63) & 1 == 1
    }

    /// Returns the events of the steps `64 block .. 64 block + 64`, one bit each, the first step in the lowest bit.
    pub fn events(&self, block: u64, lane: u32) -> u64 {
        self.place(block, lane, call(self.seed, self.address, block, 0, lane))
    }

    /// Returns the events of a lane as bits, from the words of the lane's first call.
    #[inline]
    fn place(&self, block: u64, lane: u32, mut words: [u32; 4]) -> u64 {
        let n = self.chances.0.iter().take_while(|at_most| u64::from(words[0]) >= **at_most).count() as u32;
        // With many events, the steps without an event are chosen.
        let picks = n.min(TRAIN_STEPS as u32 - n);
        let mut bits = 0_u64;
        let mut rest = 0_u32;
        for i in 0..picks {
            // Each word serves two choices: the remainder after the first is uniform for the second, within 1e-6.
            if i % 2 == 0 {
                let at = i / 2 + 1;
                if at % 4 == 0 {
                    words = call(self.seed, self.address, block, at / 4, lane);
                }
                rest = words[(at % 4) as usize];
            }
            let last = TRAIN_STEPS as u32 - picks + i;
            let wide = u64::from(rest) * u64::from(last + 1);
            rest = wide as u32;
            let chosen = 1_u64 << (wide >> 32);
            bits |= if bits & chosen == 0 { chosen } else { 1 << last };
        }
        if n == picks { bits } else { !bits }
    }

    /// Lists the lanes with an event in each of the steps `64 block .. 64 block + 64`, in the given order. Clears `out` first.
    pub fn events_of_block(&self, block: u64, lanes: &[u32], out: &mut [Vec<u32>; TRAIN_STEPS]) {
        out.iter_mut().for_each(Vec::clear);
        if self.chances.is_never() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        match Isa::best() {
            // SAFETY: the processor supports the feature.
            Isa::Avx512 | Isa::Avx512Vnni => return unsafe { self.events_avx512(block, lanes, out) },
            // SAFETY: the processor supports the feature.
            Isa::Avx2 => return unsafe { self.events_avx2(block, lanes, out) },
            Isa::Portable => {}
        }
        self.gather(block, lanes, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn events_avx512(&self, block: u64, lanes: &[u32], out: &mut [Vec<u32>; TRAIN_STEPS]) {
        self.gather(block, lanes, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn events_avx2(&self, block: u64, lanes: &[u32], out: &mut [Vec<u32>; TRAIN_STEPS]) {
        self.gather(block, lanes, out);
    }

    /// Lists the lanes with an event. The function is inlined, so that each caller compiles it for the instruction set of the
    /// caller.
    #[inline(always)]
    fn gather(&self, block: u64, lanes: &[u32], out: &mut [Vec<u32>; TRAIN_STEPS]) {
        for some in lanes.chunks(BLOCK) {
            let mut ids = [0_u32; BLOCK];
            ids[..some.len()].copy_from_slice(some);
            let words = words(self.seed, self.address, block, &ids);
            for (i, lane) in some.iter().enumerate() {
                if words[0][i] & LOW < self.chances.0[0] {
                    continue;
                }
                let mut events = self.place(block, *lane, words.map(|w| w[i] as u32));
                while events != 0 {
                    out[events.trailing_zeros() as usize].push(*lane);
                    events &= events - 1;
                }
            }
        }
    }
}

/// Number of lanes evaluated together.
pub(super) const BLOCK: usize = 32;

/// Returns the four words of each lane, in the low halves of 64-bit lanes, because Philox needs the vector product of the low
/// halves. The high halves are undefined.
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

/// One random word per lane, in the low half of 64 bits.
pub(super) type Words = [u64; BLOCK];

const LOW: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    fn train(p: f64) -> Train {
        Train { seed: 0x1234_5678_9abc_def0, address: address(Purpose::Noise, 3), chances: Chances::new(p) }
    }

    #[test]
    fn blocks_return_the_addressed_events() {
        let lanes: Vec<u32> = (0..1003).map(|i| i * 7 % 5000).collect();
        for (p, block) in [(0.02, 0), (0.5, 77), (1.0, u64::from(u32::MAX) + 5), (0.0, 3), (0.97, 1 << 40)] {
            let train = train(p);
            let (mut got, mut plain) = (array::from_fn(|_| vec![9]), array::from_fn(|_| vec![]));
            train.events_of_block(block, &lanes, &mut got);
            train.gather(block, &lanes, &mut plain);
            assert_eq!(got, plain);
            for s in 0..TRAIN_STEPS as u64 {
                let want: Vec<u32> = lanes.iter().copied().filter(|l| train.event(64 * block + s, *l)).collect();
                assert_eq!(got[s as usize], want, "p {p} step {s}");
            }
        }
    }

    /// Mean, variance and independence equal those of one draw per step, within five standard errors.
    #[test]
    fn it_is_the_bernoulli_process() {
        for p in [1e-4, 0.015, 0.2, 0.5, 0.93] {
            let (train, n) = (train(p), 40_000_u32);
            let (mut of_step, mut total, mut squares, mut neighbours) = ([0_u32; TRAIN_STEPS], 0.0, 0.0, 0_u32);
            for lane in 0..n {
                let bits = train.events(u64::from(lane % 7), lane);
                (0..TRAIN_STEPS).for_each(|s| of_step[s] += (bits >> s & 1) as u32);
                total += f64::from(bits.count_ones());
                squares += f64::from(bits.count_ones()).powi(2);
                neighbours += (bits & bits >> 1).count_ones();
            }
            let (n, steps) = (f64::from(n), TRAIN_STEPS as f64);
            let near = |got: f64, want: f64, sd: f64, what: &str| {
                assert!((got - want).abs() <= 5.0 * sd + 1e-12, "p {p}: {what} {got}, expected {want} ± {sd}");
            };
            near(total, n * steps * p, (n * steps * p * (1.0 - p)).sqrt(), "events");
            let variance = squares / n - (total / n).powi(2);
            near(variance, steps * p * (1.0 - p), variance * (2.0 / n).sqrt().max(0.6 / (n * p).sqrt()), "variance");
            of_step.iter().for_each(|k| near(f64::from(*k), n * p, (n * p * (1.0 - p)).sqrt(), "events of a step"));
            let pairs = n * (steps - 1.0) * p * p;
            near(f64::from(neighbours), pairs, (3.0 * pairs).sqrt().max(1.0), "events in neighbouring steps");
        }
    }

    #[test]
    fn extremes_are_exact() {
        assert!(Chances::new(0.0).is_never() && !Chances::new(1e-9).is_never());
        assert_eq!(train(1.0).events(5, 6), u64::MAX);
        assert_eq!(train(0.0).events(5, 6), 0);
        assert_eq!(*Chances::new(1.0).0, [0; TRAIN_STEPS]);
    }
}
