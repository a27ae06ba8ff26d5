//! The network cut into contiguous ranges of targets, one per thread.

use crate::{data::Csr, kinds::spiking::stimuli::Gain};
use std::ops::Range;

/// Work of a neuron beside its synapses, in synapses, when ranges are balanced.
const NEURON_WORK: u64 = 20;

/// Targets that are fetched ahead while others are worked on.
const AHEAD: usize = 16;

/// Which synapses belong to whom.
pub struct Split {
    /// First neuron of each part, and the end.
    bounds: Vec<u32>,
    /// For each inner bound and each row: the first word whose target lies at or beyond the bound.
    cuts: Vec<Vec<u32>>,
}

impl Split {
    /// Cuts so that the parts receive about equally many synapses.
    pub fn new(wiring: &Csr, parts: usize) -> Self {
        let n = wiring.n();
        let parts = parts.clamp(1, n.max(1) as usize);
        let bounds = if parts == 1 { vec![0, n] } else { balanced(wiring, parts) };
        let cut = |bound: u32| (0..n).map(|pre| wiring.rows[pre as usize] + lower(wiring, pre, bound)).collect();
        let cuts = bounds[1..bounds.len() - 1].iter().map(|b| cut(*b)).collect();
        Self { bounds, cuts }
    }

    /// Number of parts, at least 1.
    pub fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The neurons of a part.
    pub fn neurons(&self, part: usize) -> Range<u32> {
        self.bounds[part]..self.bounds[part + 1]
    }

    /// The words of a row whose targets lie in a part.
    #[inline]
    pub fn words(&self, wiring: &Csr, part: usize, pre: u32) -> Range<usize> {
        let pre = pre as usize;
        let from = if part == 0 { wiring.rows[pre] } else { self.cuts[part - 1][pre] };
        let to = if part == self.cuts.len() { wiring.rows[pre + 1] } else { self.cuts[part][pre] };
        from as usize..to as usize
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        self.cuts.iter().map(|c| c.len() as u64 * 4).sum()
    }
}

/// Words of a row with targets below a bound.
fn lower(wiring: &Csr, pre: u32, bound: u32) -> u32 {
    wiring.row(pre).partition_point(|w| wiring.target(*w) < bound) as u32
}

fn balanced(wiring: &Csr, parts: usize) -> Vec<u32> {
    let n = wiring.n() as usize;
    let mut work = vec![NEURON_WORK; n];
    for word in &wiring.words {
        work[wiring.target(*word) as usize] += 1;
    }
    let total: u64 = work.iter().sum();
    let mut bounds = vec![0];
    let mut sum = 0;
    for (i, w) in work.iter().enumerate() {
        // A part must be left for each bound to come.
        let due = total * bounds.len() as u64 / parts as u64;
        let room = n - i > parts - bounds.len();
        if bounds.len() < parts && i > bounds[bounds.len() - 1] as usize && (sum >= due || !room) {
            bounds.push(i as u32);
        }
        sum += w;
    }
    bounds.push(n as u32);
    bounds
}

/// Sums of arriving synapses per target of one part, and who has any.
#[derive(Default)]
pub struct Arrivals {
    sums: Vec<i32>,
    touched: Vec<u32>,
    len: usize,
}

impl Arrivals {
    /// For this many targets.
    pub fn new(targets: usize) -> Self {
        Self { sums: vec![0; targets], touched: vec![], len: 0 }
    }

    /// Takes the sum of a target, leaving 0.
    #[inline]
    pub fn take(&mut self, target: usize) -> i32 {
        std::mem::take(&mut self.sums[target])
    }

    /// Calls `accept(target, sum, later)` for every target with arrivals, in no particular order. A target may come
    /// twice, then with a sum of 0 once; `later` will come a while after, so that it can be fetched ahead.
    #[inline]
    pub fn drain(&mut self, mut accept: impl FnMut(u32, i32, u32)) {
        let touched = &self.touched[..std::mem::take(&mut self.len)];
        for (at, target) in touched.iter().enumerate() {
            let later = touched.get(at + AHEAD).unwrap_or(target);
            accept(*target, std::mem::take(&mut self.sums[*target as usize]), *later);
        }
    }

    /// Delivers one spike over the given words.
    #[inline]
    pub fn deliver(&mut self, wiring: &Csr, words: Range<usize>, first: u32) {
        let row = &wiring.words[words.clone()];
        self.reserve(row.len());
        let (bits, mask) = (wiring.target_bits, (1_u32 << wiring.target_bits) - 1);
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
        if !wiring.overflow.is_empty() {
            self.correct(wiring, words, first);
        }
    }

    /// Adds what did not fit into the packed counts.
    #[cold]
    fn correct(&mut self, wiring: &Csr, words: Range<usize>, first: u32) {
        let at = wiring.overflow.partition_point(|(i, _)| (*i as usize) < words.start);
        for (i, exact) in wiring.overflow[at..].iter().take_while(|(i, _)| (*i as usize) < words.end) {
            let word = wiring.words[*i as usize];
            self.add(wiring.target(word) - first, exact - wiring.count(word));
        }
    }

    /// Delivers one spike with changed weights.
    pub fn deliver_scaled(&mut self, wiring: &Csr, words: Range<usize>, first: u32, gain: Gain) {
        for i in words {
            let word = wiring.words[i];
            let exact = wiring.overflow.binary_search_by_key(&(i as u32), |(at, _)| *at);
            let count = exact.map_or_else(|_| wiring.count(word), |k| wiring.overflow[k].1);
            self.add(wiring.target(word) - first, gain.apply(count));
        }
    }

    fn add(&mut self, target: u32, count: i32) {
        self.reserve(1);
        let sum = &mut self.sums[target as usize];
        self.touched[self.len] = target;
        self.len += usize::from(*sum == 0);
        *sum = sum.wrapping_add(count);
    }

    /// Makes room for a row: every connection may add an entry, and one is written ahead.
    #[inline]
    fn reserve(&mut self, row: usize) {
        if self.touched.len() < self.len + row + 1 {
            self.touched.resize((self.len + row + 1).next_power_of_two().max(1024), 0);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sums.fill(0);
        self.len = 0;
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        ((self.sums.len() + self.touched.capacity()) * 4) as u64
    }
}
