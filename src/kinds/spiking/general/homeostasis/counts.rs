//! Spikes of single neurons since they were last taken.

use std::ops::Range;

/// Counters of the spikes of ranges of neurons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpikeCounts {
    counters: Vec<Counter>,
}

/// Counter of the neurons of one range.
#[derive(Clone, Debug, PartialEq)]
struct Counter {
    neurons: Range<u32>,
    counts: Vec<u32>,
}

impl SpikeCounts {
    /// Creates counters of ranges of neurons; the range of a counter that counts nothing is empty.
    pub fn new(ranges: impl Iterator<Item = Range<u32>>) -> Self {
        let counter = |neurons: Range<u32>| Counter { counts: vec![0; neurons.len()], neurons };
        Self { counters: ranges.map(counter).collect() }
    }

    /// Adds the spikes of a step, ascending.
    #[inline]
    pub fn add(&mut self, spikes: &[u32]) {
        for Counter { neurons, counts } in &mut self.counters {
            let from = spikes.partition_point(|i| *i < neurons.start);
            for neuron in spikes[from..].iter().take_while(|i| **i < neurons.end) {
                counts[(neuron - neurons.start) as usize] += 1;
            }
        }
    }

    /// Returns the counts of a counter and sets them to 0.
    pub fn take(&mut self, counter: usize) -> Vec<u32> {
        let counts = &mut self.counters[counter].counts;
        let next = vec![0; counts.len()];
        std::mem::replace(counts, next)
    }

    /// Sets all counts to 0.
    pub fn clear(&mut self) {
        self.counters.iter_mut().for_each(|counter| counter.counts.fill(0));
    }

    /// Returns all counts, counter by counter.
    pub fn all(&self) -> Vec<u32> {
        self.counters.iter().flat_map(|counter| counter.counts.iter().copied()).collect()
    }

    /// Returns the number of counts of all counters.
    pub fn len(&self) -> usize {
        self.counters.iter().map(|counter| counter.counts.len()).sum()
    }

    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces all counts, in the order of [`SpikeCounts::all`]; there must be as many.
    pub fn restore(&mut self, all: &[u32]) {
        let mut all = all.iter();
        self.counters.iter_mut().flat_map(|counter| &mut counter.counts).for_each(|count| {
            *count = all.next().copied().unwrap_or(0);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_are_counted_by_neuron_and_counter() {
        let mut counts = SpikeCounts::new([2..4, 0..0, 3..6].into_iter());
        counts.add(&[0, 2, 3, 5]);
        counts.add(&[3, 6]);
        assert_eq!(counts.all(), [1, 2, 2, 0, 1]);
        assert_eq!((counts.take(0), counts.take(1)), (vec![1, 2], vec![]));
        assert_eq!(counts.all(), [0, 0, 2, 0, 1]);
        counts.restore(&[5, 4, 3, 2, 1]);
        assert_eq!(counts.take(2), [3, 2, 1]);
    }
}
