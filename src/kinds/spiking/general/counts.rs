//! Poisson counts per step by one word: the count is the number of thresholds that the word reaches.

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
        while mean > 0.0 {
            term *= mean / k;
            if term < 1e-14 {
                break;
            }
            terms.push(term);
            k += 1.0;
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
        self.at_most.iter().map(|entry| u32::from(word >= *entry)).sum()
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
}
