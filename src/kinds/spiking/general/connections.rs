//! Connections that rules make, held in memory by projection and presynaptic neuron.

use super::{
    FixedDegree,
    cpu::pieces::in_parallel,
    network::RuleNetwork,
    plan::{TARGET_BITS, WeightFormat},
    rows::{RowMaker, Synapse},
};
use crate::{
    num::hash::StreamHash,
    sim::{Progress, SimError},
};

/// Mask of the target in the word of a synapse.
pub const TARGET: u32 = (1 << TARGET_BITS) - 1;

/// Approximate number of synapses that a thread makes between two reports of progress.
const PIECE: u64 = 1 << 20;

/// Weights of a projection as stored, one per synapse unless constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// One weight for all synapses.
    Constant(i32),
    /// Weights of 16 bits, to be shifted left by this number of bits.
    Narrow(Vec<i16>, u32),
    /// Weights of 32 bits.
    Wide(Vec<i32>),
}

/// Connections of one projection in compressed rows, each sorted by target.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Start of each row; one more entry than presynaptic neurons.
    pub starts: Vec<u64>,
    /// Target in the low [`TARGET_BITS`] bits, delay beyond the smallest one of the projection in the upper bits.
    pub words: Vec<u32>,
    /// Weights of the synapses.
    pub weights: Weights,
}

/// All connections of a network, by projection.
#[derive(Clone, Debug, PartialEq)]
pub struct Connections {
    /// Rows of each projection.
    pub rows: Vec<Rows>,
    /// Hash of all connections, independent of the order in which they were made.
    pub hash: StreamHash,
}

impl Rows {
    fn new(format: WeightFormat, n_from: u32, expected: u64) -> Result<Self, SimError> {
        let mut rows = Self {
            starts: vec![0],
            words: vec![],
            weights: match format {
                WeightFormat::Constant(weight) => Weights::Constant(weight),
                WeightFormat::Narrow(shift) => Weights::Narrow(vec![], shift),
                WeightFormat::Wide => Weights::Wide(vec![]),
            },
        };
        let n = expected as usize;
        let reserved = rows.starts.try_reserve_exact(n_from as usize).and_then(|()| rows.words.try_reserve_exact(n));
        let reserved = reserved.and_then(|()| match &mut rows.weights {
            Weights::Constant(_) => Ok(()),
            Weights::Narrow(weights, _) => weights.try_reserve_exact(n),
            Weights::Wide(weights) => weights.try_reserve_exact(n),
        });
        reserved.map_err(|_| {
            let size = crate::num::digits::group_digits(expected);
            SimError::Input(format!("the memory does not hold {size} synapses. Lower sizes, degrees or probabilities"))
        })?;
        Ok(rows)
    }

    fn push(&mut self, synapse: &Synapse) {
        self.words.push(synapse.target | synapse.delay << TARGET_BITS);
        match &mut self.weights {
            Weights::Constant(_) => {}
            Weights::Narrow(weights, _) => weights.push(synapse.weight as i16),
            Weights::Wide(weights) => weights.push(synapse.weight),
        }
    }

    fn append(&mut self, mut other: Self) {
        let base = self.words.len() as u64;
        self.starts.extend(other.starts.iter().skip(1).map(|start| base + start));
        self.words.append(&mut other.words);
        match (&mut self.weights, other.weights) {
            (Weights::Narrow(a, _), Weights::Narrow(mut b, _)) => a.append(&mut b),
            (Weights::Wide(a), Weights::Wide(mut b)) => a.append(&mut b),
            _ => {}
        }
    }

    /// Releases memory that was reserved for more synapses than there are.
    fn shrink(&mut self) {
        self.words.shrink_to_fit();
        match &mut self.weights {
            Weights::Constant(_) => {}
            Weights::Narrow(weights, _) => weights.shrink_to_fit(),
            Weights::Wide(weights) => weights.shrink_to_fit(),
        }
    }

    /// Returns the range of the synapses of a presynaptic neuron.
    #[inline]
    pub fn range(&self, source: u32) -> std::ops::Range<usize> {
        self.starts[source as usize] as usize..self.starts[source as usize + 1] as usize
    }

    /// Returns the weight of a synapse in units of the receptor's sums.
    pub fn units(&self, synapse: usize) -> i32 {
        match &self.weights {
            Weights::Constant(weight) => *weight,
            Weights::Narrow(weights, shift) => i32::from(weights[synapse]) << shift,
            Weights::Wide(weights) => weights[synapse],
        }
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        let weights = match &self.weights {
            Weights::Constant(_) => 0,
            Weights::Narrow(weights, _) => 2 * weights.capacity(),
            Weights::Wide(weights) => 4 * weights.capacity(),
        };
        (8 * self.starts.capacity() + 4 * self.words.capacity() + weights) as u64
    }
}

impl Connections {
    /// Makes the connections of a network with `threads` threads, whose number changes no bit. Fails if memory does not
    /// suffice or `progress` cancels.
    pub fn make(network: &RuleNetwork, threads: usize, progress: &Progress) -> Result<Self, SimError> {
        let total = network.plan.synapses().max(1);
        let (mut rows, mut hash, mut made) = (vec![], 0_u64, 0);
        for i in 0..network.plan.projections.len() {
            let maker = network.maker(i);
            let report = |n: u64| progress.report("connections", ((made + n) as f32 / total as f32).min(1.0));
            report(0)?;
            let projection = made_on_host(&maker, threads, &report)?;
            made += projection.words.len() as u64;
            hash = hash.wrapping_add(hash_of(i, &projection));
            rows.push(projection);
        }
        Ok(Self { rows, hash: StreamHash(hash) })
    }

    /// Returns the number of connections.
    pub fn len(&self) -> u64 {
        self.rows.iter().map(|rows| rows.words.len() as u64).sum()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        self.rows.iter().map(Rows::n_bytes).sum()
    }
}

/// Makes the rows of one projection. `report` receives the number of synapses. Fails if memory does not suffice or `report`
/// fails.
pub fn made_on_host(
    maker: &RowMaker<'_>,
    threads: usize,
    report: &impl Fn(u64) -> Result<(), SimError>,
) -> Result<Rows, SimError> {
    match &maker.plan.rule {
        super::ConnectionRule::FixedInDegree(rule) => transposed(maker, rule, report),
        _ => by_rows(maker, threads, report),
    }
}

/// Returns the sum of [`mixed`] over the synapses of a projection. The sum does not depend on their order, so the
/// device computes the same bits.
pub fn hash_of(projection: usize, rows: &Rows) -> u64 {
    let mut sum = 0_u64;
    for source in 0..rows.starts.len() as u32 - 1 {
        for at in rows.range(source) {
            sum = sum.wrapping_add(mixed(projection as u32, source, rows.words[at], rows.units(at)));
        }
    }
    sum
}

/// Mixes the parts of a synapse into one word of the hash.
pub const fn mixed(projection: u32, source: u32, word: u32, weight: i32) -> u64 {
    let mut hash = StreamHash(0);
    hash.push_spike(source, word);
    let ends = hash.0;
    hash = StreamHash(0);
    hash.push_spike(projection ^ ends as u32, weight as u32 ^ (ends >> 32) as u32);
    hash.0 ^ ends
}

/// Makes rows one by one, pieces of adjacent sources in parallel.
fn by_rows(
    maker: &RowMaker<'_>,
    threads: usize,
    report: &impl Fn(u64) -> Result<(), SimError>,
) -> Result<Rows, SimError> {
    let n_from = maker.sizes[0];
    let degrees = maker.degrees();
    let expected = maker.plan.synapses;
    let mut rows = Rows::new(maker.plan.format, n_from, expected + expected / 64)?;
    let per_piece = (PIECE * u64::from(n_from) / expected.max(1)).clamp(1, 1 << 16) as u32;
    let piece = |first: u32| -> Result<Rows, SimError> {
        let mut piece = Rows::new(maker.plan.format, 0, 0)?;
        let mut row = vec![];
        for source in first..n_from.min(first.saturating_add(per_piece)) {
            maker.row(source, degrees.as_ref().map(|d| d[source as usize]), &mut row);
            row.iter().for_each(|synapse| piece.push(synapse));
            piece.starts.push(piece.words.len() as u64);
        }
        Ok(piece)
    };
    let mut first = 0;
    while first < n_from {
        let firsts: Vec<u32> = (first..n_from).step_by(per_piece as usize).take(threads.max(1)).collect();
        let made = in_parallel(&firsts, piece)?;
        made.into_iter().for_each(|piece| rows.append(piece));
        report(rows.words.len() as u64)?;
        first = first.saturating_add(per_piece.saturating_mul(firsts.len() as u32));
    }
    rows.shrink();
    Ok(rows)
}

/// Makes the connections of a fixed in-degree: counts the outputs of each presynaptic neuron, then fills the rows.
fn transposed(
    maker: &RowMaker<'_>,
    rule: &FixedDegree,
    report: &impl Fn(u64) -> Result<(), SimError>,
) -> Result<Rows, SimError> {
    let [n_from, n_to] = maker.sizes;
    let degree = rule.n.max(0) as u32;
    let source = |target: u32, number: u32, word: u32| match rule.multapses {
        true => maker.partner(word, n_from, target, rule.autapses),
        false => maker.other_partner(number, n_from, target, rule.autapses),
    };
    let mut rows = Rows::new(maker.plan.format, n_from, maker.plan.synapses)?;
    rows.starts.resize(n_from as usize + 1, 0);
    for target in 0..n_to {
        if target % 1024 == 0 {
            report(u64::from(target) * u64::from(degree) / 2)?;
        }
        for number in 0..degree {
            rows.starts[source(target, number, maker.draws.synapse(target, number)[0]) as usize + 1] += 1;
        }
    }
    for i in 0..n_from as usize {
        rows.starts[i + 1] += rows.starts[i];
    }
    let mut next = rows.starts.clone();
    rows.words.resize(maker.plan.synapses as usize, 0);
    match &mut rows.weights {
        Weights::Constant(_) => {}
        Weights::Narrow(weights, _) => weights.resize(maker.plan.synapses as usize, 0),
        Weights::Wide(weights) => weights.resize(maker.plan.synapses as usize, 0),
    }
    for target in 0..n_to {
        if target % 1024 == 0 {
            report((u64::from(n_to) + u64::from(target)) * u64::from(degree) / 2)?;
        }
        for number in 0..degree {
            let words = maker.draws.synapse(target, number);
            let place = &mut next[source(target, number, words[0]) as usize];
            let (at, synapse) = (*place as usize, maker.synapse(target, words));
            *place += 1;
            rows.words[at] = synapse.target | synapse.delay << TARGET_BITS;
            match &mut rows.weights {
                Weights::Constant(_) => {}
                Weights::Narrow(weights, _) => weights[at] = synapse.weight as i16,
                Weights::Wide(weights) => weights[at] = synapse.weight,
            }
        }
    }
    sort_pairs(&mut rows);
    Ok(rows)
}

/// Sorts the synapses of each pair of neurons, in rows with ascending targets, as [`Synapse`] orders them.
fn sort_pairs(rows: &mut Rows) {
    for source in 0..rows.starts.len() as u32 - 1 {
        let row = rows.range(source);
        let mut from = row.start;
        while from < row.end {
            let target = rows.words[from] & TARGET;
            let n = rows.words[from..row.end].iter().take_while(|word| **word & TARGET == target).count();
            if n > 1 {
                sort_synapses(rows, from..from + n);
            }
            from += n;
        }
    }
}

fn sort_synapses(rows: &mut Rows, pair: std::ops::Range<usize>) {
    match &mut rows.weights {
        Weights::Constant(_) => rows.words[pair].sort_unstable(),
        Weights::Narrow(weights, _) => sort_together(&mut rows.words[pair.clone()], &mut weights[pair]),
        Weights::Wide(weights) => sort_together(&mut rows.words[pair.clone()], &mut weights[pair]),
    }
}

fn sort_together<T: Copy + Ord>(words: &mut [u32], weights: &mut [T]) {
    let mut all: Vec<(u32, T)> = words.iter().copied().zip(weights.iter().copied()).collect();
    all.sort_unstable();
    for (i, (word, weight)) in all.into_iter().enumerate() {
        (words[i], weights[i]) = (word, weight);
    }
}
