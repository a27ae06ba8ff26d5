//! Exchange of the targets of pairs of connections, which keeps the numbers of inputs and outputs of each neuron.

use super::{Edges, LABEL, STRETCH, Stage, below, words};
use crate::data::{DataError, ProgressFn, report};
use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
};

/// Number of times that each connection is offered an exchange with a random other one. A single pass without refusals is already
/// a random permutation of the targets.
const SWEEPS: u32 = 3;
/// Number of outputs above which the targets of a neuron are looked up in a table, so that the time of a look-up is bounded.
const LONG: usize = 256;

/// Exchanges the targets of pairs of connections. An exchange is refused if it would connect a pair twice or a neuron with itself,
/// or takes a neuron's connection with itself. Fails if `watch` cancels.
pub(super) fn swap(edges: &mut Edges, seed: u64, watch: &ProgressFn) -> Result<(), DataError> {
    let n = edges.targets.len();
    let mut sources = vec![0_u32; n];
    (0..edges.n()).for_each(|pre| sources[edges.range(pre)].fill(pre));
    let mut pairs = Pairs::new(edges);
    for sweep in 0..SWEEPS {
        for first in 0..n {
            if first.is_multiple_of(STRETCH) {
                let done = (sweep as f32 + first as f32 / n as f32) / SWEEPS as f32;
                report(watch, LABEL, 0.05 + 0.9 * done)?;
            }
            let second = below(words(seed, Stage::Swap, sweep, first as u32), n as u64) as usize;
            let ends = [first, second].map(|at| (sources[at], edges.targets[at]));
            if pairs.admit(edges, ends) {
                pairs.exchange(ends);
                edges.targets.swap(first, second);
            }
        }
    }
    Ok(())
}

/// Connected pairs of neurons with many outputs.
struct Pairs(HashSet<u64, BuildHasherDefault<Mix>>);

/// Pair of a presynaptic and a postsynaptic neuron.
type Ends = (u32, u32);

const fn key((pre, post): Ends) -> u64 {
    (pre as u64) << 32 | post as u64
}

impl Pairs {
    fn new(edges: &Edges) -> Self {
        let long = (0..edges.n()).filter(|pre| edges.range(*pre).len() > LONG);
        Self(long.flat_map(|pre| edges.range(pre).map(move |at| key((pre, edges.targets[at])))).collect())
    }

    fn contains(&self, edges: &Edges, (pre, post): Ends) -> bool {
        let row = edges.range(pre);
        if row.len() > LONG { self.0.contains(&key((pre, post))) } else { edges.targets[row].contains(&post) }
    }

    /// Whether two connections may exchange their targets.
    fn admit(&self, edges: &Edges, [(a, b), (c, d)]: [Ends; 2]) -> bool {
        let is_moved = a != c && b != d;
        let has_loop = a == b || c == d || a == d || c == b;
        is_moved && !has_loop && !self.contains(edges, (a, d)) && !self.contains(edges, (c, b))
    }

    fn exchange(&mut self, [(a, b), (c, d)]: [Ends; 2]) {
        for (old, new) in [((a, b), (a, d)), ((c, d), (c, b))] {
            if self.0.remove(&key(old)) {
                self.0.insert(key(new));
            }
        }
    }
}

/// Hash of one word: multiplication and fold, as keys are not chosen by an attacker.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}
