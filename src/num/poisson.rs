//! Poisson counts per step by one word: the count is the number of thresholds that the word reaches.

use super::{
    isa::Isa,
    trains::{BLOCK, words},
};

/// Distribution of a Poisson count: entry k is the probability of at most k, times 2³². A word of at least entry k means more
/// than k. Only products, quotients and sums are used, in a fixed order, so the entries are equal on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoissonTable {
    /// Entries below 2³², ascending.
    pub at_most: Vec<u32>,
}

impl PoissonTable {
    /// Computes the distribution with the given mean per step.
    pub fn new(mean: f64) -> Self {
        // Sums of the terms mean^k / k!, relative to the largest, so that large means do not underflow.
        let peak = mean.floor();
        let mut terms = vec![1.0];
        let (mut term, mut k) = (1.0, peak);
        while k > 0.0 && term > 1e-14 {
            term *= k / mean;
            terms.push(term);
            k -= 1.0;
        }
        let skipped = k as usize;
        terms.reverse();
        let (mut term, mut k) = (1.0, peak + 1.0);
        term *= mean / k;
        while term >= 1e-14 {
            terms.push(term);
            k += 1.0;
            term *= mean / k;
        }
        let total: f64 = terms.iter().sum();
        let mut sum = 0.0;
        let entries = terms.iter().map(|term| {
            sum += term;
            (sum / total * 4_294_967_296.0).round() as u64
        });
        let fits = |entry: &u64| *entry <= u64::from(u32::MAX);
        Self { at_most: std::iter::repeat_n(0, skipped).chain(entries.take_while(fits).map(|e| e as u32)).collect() }
    }

    /// Returns the count of a word.
    #[inline]
    pub fn count(&self, word: u32) -> u32 {
        self.at_most.partition_point(|entry| word >= *entry) as u32
    }

    /// Returns the largest count.
    pub fn largest(&self) -> u32 {
        self.at_most.len() as u32
    }

    /// Whether all counts are 0.
    pub fn is_never(&self) -> bool {
        self.at_most.is_empty()
    }
}

/// Writes the counts of the lanes `first ..` in the steps `4 group .. 4 group + 4`, one vector per step, all of equal length. A
/// lane takes word `step % 4` of the call at `step / 4`, as [`word_of_step`](super::uniform::word_of_step) does.
pub fn counts_of_steps(
    table: &PoissonTable,
    (seed, address): (u64, u32),
    group: u64,
    first: u32,
    out: &mut [Vec<i32>; 4],
) {
    #[cfg(target_arch = "x86_64")]
    match Isa::best() {
        // SAFETY: the processor supports the feature.
        Isa::Avx512 | Isa::Avx512Vnni => return unsafe { fill_avx512(table, (seed, address), group, first, out) },
        // SAFETY: the processor supports the feature.
        Isa::Avx2 => return unsafe { fill_avx2(table, (seed, address), group, first, out) },
        Isa::Portable => {}
    }
    fill(table, (seed, address), group, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn fill_avx512(table: &PoissonTable, at: (u64, u32), group: u64, first: u32, out: &mut [Vec<i32>; 4]) {
    fill(table, at, group, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(table: &PoissonTable, at: (u64, u32), group: u64, first: u32, out: &mut [Vec<i32>; 4]) {
    fill(table, at, group, first, out);
}

/// Number of table entries up to which all of them are compared, without branches.
const FEW_ENTRIES: usize = 48;

/// Fills all lanes. Uses indices and arrays in memory, so that the compiler vectorises the loops.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
fn fill(table: &PoissonTable, (seed, address): (u64, u32), group: u64, first: u32, out: &mut [Vec<i32>; 4]) {
    let len = out[0].len();
    for at in (0..len).step_by(BLOCK) {
        let mut ids = [0_u32; BLOCK];
        for i in 0..BLOCK {
            ids[i] = first.wrapping_add((at + i) as u32);
        }
        let words = words(seed, address, group, &ids);
        let lanes = BLOCK.min(len - at);
        for (wide, out) in words.iter().zip(out.iter_mut()) {
            let mut counts = [0_i32; BLOCK];
            let mut words = [0_u32; BLOCK];
            for i in 0..BLOCK {
                words[i] = wide[i] as u32;
            }
            if table.at_most.len() <= FEW_ENTRIES {
                for entry in &table.at_most {
                    for i in 0..BLOCK {
                        counts[i] += i32::from(words[i] >= *entry);
                    }
                }
            } else {
                for i in 0..BLOCK {
                    counts[i] = table.count(words[i]) as i32;
                }
            }
            out[at..at + lanes].copy_from_slice(&counts[..lanes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_mean_and_variance_of_a_poisson_distribution() {
        for mean in [0.0, 0.003, 0.8, 1.6, 2.0, 40.0, 1500.0] {
            let table = PoissonTable::new(mean);
            let mut moments = [0.0; 3];
            let mut before = 0.0;
            for (k, end) in table.at_most.iter().map(|e| f64::from(*e)).chain([4_294_967_296.0]).enumerate() {
                let p = (end - before) / 4_294_967_296.0;
                before = end;
                (0..3).for_each(|i| moments[i] += p * (k as f64).powi(i as i32));
            }
            let variance = moments[2] - moments[1] * moments[1];
            assert!((moments[1] - mean).abs() < 1e-6 * (1.0 + mean), "{mean}: {moments:?}");
            assert!((variance - mean).abs() < 1e-4 * (1.0 + mean), "{mean}: {variance}");
            assert_eq!(table.count(u32::MAX), table.largest());
            assert_eq!(PoissonTable::new(mean), table);
        }
        assert!(PoissonTable::new(0.0).is_never());
    }

    #[test]
    fn counts_of_many_lanes_are_those_of_single_words() {
        use crate::num::uniform::word_of_step;
        for mean in [1.6, 90.0] {
            let table = PoissonTable::new(mean);
            let mut out: [Vec<i32>; 4] = std::array::from_fn(|_| vec![0; 77]);
            counts_of_steps(&table, (3, 9), 5, 100, &mut out);
            for (step, counts) in (20..).zip(&out) {
                let want = |lane: u32| table.count(word_of_step(3, 9, step, 100 + lane)) as i32;
                assert_eq!(*counts, (0..77).map(want).collect::<Vec<_>>(), "{mean}");
            }
        }
    }
}
