//! Divides the network into contiguous ranges of targets, one per thread.

use crate::{
    buffers,
    data::Csr,
    kinds::spiking::stimuli::Gain,
    sim::{Buffers as _, SimError, buffers::Host},
};
use std::ops::Range;

/// Work of a neuron without its synapses, in units of the work per synapse, for balancing.
const NEURON_WORK: u64 = 20;

/// Prefetch distance, in targets.
const AHEAD: usize = 16;

/// Assignment of synapses to partitions.
pub struct Partitioning {
    /// First neuron of each partition, then the end.
    bounds: Vec<u32>,
    /// For each inner bound and each row: index of the first word whose target is at or beyond the bound.
    cuts: Vec<Vec<u32>>,
}

impl Partitioning {
    /// Divides the neurons so that the partitions receive nearly equal numbers of synapses.
    pub fn new(connectivity: &Csr, partitions: usize) -> Self {
        let n = connectivity.n();
        let partitions = partitions.clamp(1, n.max(1) as usize);
        let bounds = if partitions == 1 { vec![0, n] } else { balanced(connectivity, partitions) };
        let cut =
            |bound: u32| (0..n).map(|pre| connectivity.rows[pre as usize] + lower(connectivity, pre, bound)).collect();
        let cuts = bounds[1..bounds.len() - 1].iter().map(|b| cut(*b)).collect();
        Self { bounds, cuts }
    }

    /// Returns the number of partitions, at least 1.
    pub fn partitions(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the range of neurons of a partition.
    pub fn neurons(&self, partition: usize) -> Range<u32> {
        self.bounds[partition]..self.bounds[partition + 1]
    }

    /// Returns the range of the words of a row whose targets are in a partition.
    #[inline]
    pub fn words(&self, connectivity: &Csr, partition: usize, pre: u32) -> Range<usize> {
        let pre = pre as usize;
        let from = if partition == 0 { connectivity.rows[pre] } else { self.cuts[partition - 1][pre] };
        let to = if partition == self.cuts.len() { connectivity.rows[pre + 1] } else { self.cuts[partition][pre] };
        from as usize..to as usize
    }

    pub fn n_bytes(&self) -> u64 {
        self.cuts.iter().map(|c| c.len() as u64 * 4).sum()
    }
}

/// Returns the number of words of a row with targets below a bound.
fn lower(connectivity: &Csr, pre: u32, bound: u32) -> u32 {
    connectivity.row(pre).partition_point(|w| connectivity.target(*w) < bound) as u32
}

fn balanced(connectivity: &Csr, partitions: usize) -> Vec<u32> {
    let n = connectivity.n() as usize;
    let mut work = vec![NEURON_WORK; n];
    for word in &connectivity.words {
        work[connectivity.target(*word) as usize] += 1;
    }
    let total: u64 = work.iter().sum();
    let mut bounds = vec![0];
    let mut sum = 0;
    for (i, w) in work.iter().enumerate() {
        // Every later bound needs at least one neuron.
        let due = total * bounds.len() as u64 / partitions as u64;
        let room = n - i > partitions - bounds.len();
        if bounds.len() < partitions && i > bounds[bounds.len() - 1] as usize && (sum >= due || !room) {
            bounds.push(i as u32);
        }
        sum += w;
    }
    bounds.push(n as u32);
    bounds
}

buffers! {
    /// Sums of arriving synapses per target of one partition, and the list of targets with arrivals.
    #[derive(Default)]
    pub struct Arrivals(memory: Host, n: usize) {
        "input sums and event queue" {
            sums: Vec<i32> = Workspace "input sums" *n;
        }
        plain {
            touched: Vec<u32> = vec![];
            len: usize = 0;
        }
    }
}

impl Arrivals {
    /// Allocates sums for `targets` targets. Fails if memory is exhausted.
    pub fn new(targets: usize) -> Result<Self, SimError> {
        Self::allocate(&Host, &targets)
    }

    /// Takes the sum of a target, leaving 0.
    #[inline]
    pub fn take(&mut self, target: usize) -> i32 {
        std::mem::take(&mut self.sums[target])
    }

    /// Calls `accept(target, sum, later)` for every target with arrivals, in no particular order. A target may occur twice, the
    /// second time with a sum of 0; `later` is a target to prefetch.
    #[inline]
    pub fn drain(&mut self, mut accept: impl FnMut(u32, i32, u32)) {
        let touched = &self.touched[..std::mem::take(&mut self.len)];
        for (at, target) in touched.iter().enumerate() {
            let later = touched.get(at + AHEAD).unwrap_or(target);
            accept(*target, std::mem::take(&mut self.sums[*target as usize]), *later);
        }
    }

    /// Delivers one spike to the targets of the given words.
    #[inline]
    pub fn deliver(&mut self, connectivity: &Csr, words: Range<usize>, first: u32) {
        let row = &connectivity.words[words.clone()];
        self.reserve(row.len());
        let (bits, mask) = (connectivity.target_bits, (1_u32 << connectivity.target_bits) - 1);
        let (sums, touched) = (&mut self.sums[..], &mut self.touched[..]);
        let mut len = self.len;
        for word in row {
            let target = (word & mask) - first;
            let sum = &mut sums[target as usize];
            touched[len] = target;
            len += usize::from(*sum == 0);
            *sum = sum.wrapping_add((*word as i32) >> bits);
        }
        self.len = len;
        if !connectivity.overflow.is_empty() {
            self.correct(connectivity, words, first);
        }
    }

    /// Adds the parts of counts that do not fit into the packed words.
    #[cold]
    fn correct(&mut self, connectivity: &Csr, words: Range<usize>, first: u32) {
        let at = connectivity.overflow.partition_point(|(i, _)| (*i as usize) < words.start);
        for (i, exact) in connectivity.overflow[at..].iter().take_while(|(i, _)| (*i as usize) < words.end) {
            let word = connectivity.words[*i as usize];
            self.add(connectivity.target(word) - first, exact - connectivity.count(word));
        }
    }

    /// Delivers one spike with changed weights.
    pub fn deliver_scaled(&mut self, connectivity: &Csr, words: Range<usize>, first: u32, gain: Gain) {
        for i in words {
            let word = connectivity.words[i];
            let exact = connectivity.overflow.binary_search_by_key(&(i as u32), |(at, _)| *at);
            let count = exact.map_or_else(|_| connectivity.count(word), |k| connectivity.overflow[k].1);
            self.add(connectivity.target(word) - first, gain.apply(count));
        }
    }

    fn add(&mut self, target: u32, count: i32) {
        self.reserve(1);
        let sum = &mut self.sums[target as usize];
        self.touched[self.len] = target;
        self.len += usize::from(*sum == 0);
        *sum = sum.wrapping_add(count);
    }

    /// Reserves list entries for a row: each connection may add one, and one is written ahead.
    #[inline]
    fn reserve(&mut self, row: usize) {
        if self.touched.len() < self.len + row + 1 {
            self.touched.resize((self.len + row + 1).next_power_of_two().max(1024), 0);
        }
    }

    /// Clears all sums.
    pub fn clear(&mut self) {
        self.sums.fill(0);
        self.len = 0;
    }

    /// Returns the memory of the list of targets, bytes.
    pub fn list_bytes(&self) -> u64 {
        self.touched.capacity() as u64 * 4
    }
}
