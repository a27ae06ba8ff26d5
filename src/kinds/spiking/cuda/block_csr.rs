//! Connectivity partitioned by target block, for the persistent kernels.
//!
//! Groups of 32 neurons are assigned to the blocks in turn. A *head* per neuron and block is 0 without connections, the
//! connection itself if there is one, and otherwise the position of several connections among the block's *tails*, in quads that
//! one vector load reads. A block thus usually finds the connections of a spike to its own neurons by one load, and sums them in
//! shared memory, without atomics between SMs. The cost is four bytes per neuron and block, plus a similar amount for the
//! tails.

use crate::data::Csr;
use rayon::prelude::*;
use std::ops::Range;

/// Number of bits of the target within its block.
pub const MEMBER_BITS: u32 = 11;
/// Number of bits below the count in a connection: those of the target, and a set bit.
const COUNT_SHIFT: u32 = MEMBER_BITS + 1;
/// Number of connections per quad.
const QUAD: usize = 4;
/// Number of bits below the position in a head: the number of quads, and a clear bit.
const PLACE_SHIFT: u32 = 6;
/// Number of positions that a head can hold.
const MAX_PLACES: u32 = 1 << (u32::BITS - PLACE_SHIFT);
/// Maximum number of quads that a head can hold.
const MAX_QUADS_IN_HEAD: usize = 31;

/// Connections partitioned by target block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockCsr {
    /// Heads, by neuron, then by block.
    pub heads: Vec<u32>,
    /// Connections of neurons with several to one block, by block, in quads padded with zeros.
    pub tails: Vec<u32>,
    /// Start of the tails of each block, at whole quads.
    pub starts: Vec<u32>,
}

impl BlockCsr {
    /// Returns the maximum memory of a connectivity that is partitioned over `blocks` blocks, bytes.
    pub const fn most_bytes(n: u64, connections: u64, blocks: u64) -> u64 {
        // In the worst case, a quad has two connections, and every 124 connections need a quad for the number of quads.
        4 * (n * blocks + 2 * connections + connections / 31 + (QUAD as u64 + 1) * blocks + 1)
    }

    /// Returns the expected bytes of heads, tails and starts if the connections of a neuron are randomly distributed over the
    /// blocks, so that their number per block is Poisson distributed.
    pub fn expected_bytes(n: u64, connections: u64, blocks: u64) -> [u64; 3] {
        let heads = n * blocks;
        let mean = connections as f64 / heads.max(1) as f64;
        let most = (mean + 10.0 * mean.sqrt() + 10.0) as u64;
        let mut log_share = -mean; // logarithm of the share of neurons with k connections to a block
        let mut words = 0.0;
        for k in 1..=most {
            log_share += mean.ln() - (k as f64).ln();
            words += log_share.exp() * tail_words(k as usize) as f64;
        }
        let tails = (heads as f64 * words) as u64 + QUAD as u64 * blocks;
        [4 * heads, 4 * tails, 4 * (blocks + 1)]
    }

    /// Partitions a connectivity. Returns `None` if a synapse count or a position does not fit.
    pub fn new(connectivity: &Csr, blocks: u32) -> Option<Self> {
        Self::by_stretches(connectivity, blocks, connectivity.n().div_ceil(STRETCHES))
    }

    /// Partitions a connectivity with `stretch` neurons per parallel task. Returns `None` as [`Self::new`] does.
    fn by_stretches(connectivity: &Csr, blocks: u32, stretch: u32) -> Option<Self> {
        if !connectivity.overflow.is_empty() {
            return None;
        }
        let (n, n_blocks) = (connectivity.n(), blocks as usize);
        let starts: Vec<u32> = (0..n).step_by(stretch.max(1) as usize).collect();
        let part = |from: &u32| Stretch::of(connectivity, blocks, *from..from.saturating_add(stretch.max(1)).min(n));
        let parts: Vec<Stretch> = starts.par_iter().map(part).collect::<Option<_>>()?;
        let mut heads = Vec::with_capacity(n as usize * n_blocks);
        let mut tails = vec![first_tails(); n_blocks];
        for Stretch { heads: of_stretch, tails: more } in parts {
            let bases: Vec<u32> = tails.iter().map(|tails| (tails.len() / QUAD - 1) as u32).collect();
            for row in of_stretch.chunks_exact(n_blocks) {
                for (head, base) in row.iter().zip(&bases) {
                    heads.push(moved(*head, *base)?);
                }
            }
            tails.iter_mut().zip(more).for_each(|(tails, more)| tails.extend_from_slice(&more[QUAD..]));
        }
        let mut starts = vec![0];
        starts.extend(tails.iter().scan(0, |sum, t| {
            *sum += t.len() as u32;
            Some(*sum)
        }));
        Some(Self { heads, tails: tails.concat(), starts })
    }
}

/// Number of parallel tasks, each for a range of neurons.
const STRETCHES: u32 = 64;

/// Heads and tails of a range of neurons, with positions relative to the tails of this range.
struct Stretch {
    heads: Vec<u32>,
    /// Tails by block.
    tails: Vec<Vec<u32>>,
}

impl Stretch {
    fn of(connectivity: &Csr, blocks: u32, neurons: Range<u32>) -> Option<Self> {
        let n_blocks = blocks as usize;
        let mut heads = Vec::with_capacity(neurons.len() * n_blocks);
        let mut tails = vec![first_tails(); n_blocks];
        let mut rows: Vec<Vec<u32>> = vec![vec![]; n_blocks];
        for pre in neurons {
            for word in connectivity.row(pre) {
                let (target, count) = (connectivity.target(*word), connectivity.count(*word));
                let fits = count.checked_shl(COUNT_SHIFT).is_some_and(|wide| wide >> COUNT_SHIFT == count);
                if !fits {
                    return None;
                }
                let (group, block) = ((target / 32) / blocks, (target / 32) % blocks);
                let member = group * 32 + target % 32;
                debug_assert!(member < 1 << MEMBER_BITS);
                rows[block as usize].push((count << COUNT_SHIFT) as u32 | member << 1 | 1);
            }
            for (row, tails) in rows.iter_mut().zip(&mut tails) {
                heads.push(head(row, tails)?);
                row.clear();
            }
        }
        Some(Self { heads, tails })
    }
}

/// Creates a list of tails with one unused quad, so that the head of a long list is never 0.
fn first_tails() -> Vec<u32> {
    vec![0; QUAD]
}

/// Moves the position in a head by `quads` quads of tails. Returns `None` if it exceeds the limit.
fn moved(head: u32, quads: u32) -> Option<u32> {
    if head & 1 == 1 || head == 0 {
        return Some(head);
    }
    let place = (head >> PLACE_SHIFT).checked_add(quads).filter(|place| *place < MAX_PLACES)?;
    Some(place << PLACE_SHIFT | head & ((1 << PLACE_SHIFT) - 1))
}

/// Returns the head of some connections; several are appended to the tails. Returns `None` if the position does not fit.
fn head(row: &[u32], tails: &mut Vec<u32>) -> Option<u32> {
    if row.len() <= 1 {
        return Some(row.first().copied().unwrap_or(0));
    }
    let place = u32::try_from(tails.len() / QUAD).ok().filter(|p| *p < MAX_PLACES)?;
    let n_quads = row.len().div_ceil(QUAD);
    let stored = if n_quads <= MAX_QUADS_IN_HEAD { n_quads as u32 } else { 0 };
    if stored == 0 {
        tails.extend([(n_quads as u32) << 1, 0, 0, 0]);
    }
    tails.extend(row);
    tails.resize(tails.len().next_multiple_of(QUAD), 0);
    Some(place << PLACE_SHIFT | stored << 1)
}

/// Returns the number of words among the tails for the connections of a neuron to a block.
const fn tail_words(connections: usize) -> usize {
    let quads = connections.div_ceil(QUAD);
    match connections {
        0 | 1 => 0,
        _ if quads <= MAX_QUADS_IN_HEAD => QUAD * quads,
        _ => QUAD * (quads + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Returns the sums that `receive` of mailboxes.cuh adds for a spike of `pre`, by block and member.
    fn found(block_csr: &BlockCsr, blocks: u32, pre: u32) -> BTreeMap<(u32, u32), i32> {
        let mut all = BTreeMap::new();
        for block in 0..blocks {
            let head = block_csr.heads[(pre * blocks + block) as usize];
            let mut add = |word: u32| {
                assert_eq!(word & 1, 1);
                let before = all.insert((block, word >> 1 & 2047), word as i32 >> 12);
                assert_eq!(before, None);
            };
            if head & 1 == 1 {
                add(head);
                continue;
            }
            if head == 0 {
                continue;
            }
            let mut from = (head >> 6) as usize * QUAD + block_csr.starts[block as usize] as usize;
            let mut quads = (head >> 1 & 31) as usize;
            if quads == 0 {
                quads = block_csr.tails[from] as usize >> 1;
                from += QUAD;
            }
            block_csr.tails[from..from + quads * QUAD].iter().copied().filter(|w| *w != 0).for_each(&mut add);
        }
        all
    }

    #[test]
    fn every_connection_is_found_once() {
        let n = 500_u32;
        let mut connectivity = Csr { rows: vec![0], target_bits: Csr::target_bits_for(n), ..Csr::default() };
        for pre in 0..n {
            for target in (0..n).filter(|t| pre == 7 || (t * 31 + pre * 17) % (pre + 2) == 0) {
                let count = (target as i32 - 250) * if pre == 3 { 2000 } else { 1 };
                connectivity.words.push(Csr::pack(connectivity.target_bits, target, count));
            }
            connectivity.rows.push(connectivity.words.len() as u32);
        }
        for blocks in [1, 3, 16] {
            let block_csr = BlockCsr::new(&connectivity, blocks).expect("it fits");
            assert_eq!(block_csr.heads.len(), (n * blocks) as usize);
            for stretch in [1, 7, 499, 500, u32::MAX] {
                let again = BlockCsr::by_stretches(&connectivity, blocks, stretch);
                assert!(again.as_ref() == Some(&block_csr), "stretches of {stretch}");
            }
            let words = block_csr.heads.len() + block_csr.tails.len() + block_csr.starts.len();
            assert!(4 * words as u64 <= BlockCsr::most_bytes(n.into(), connectivity.len() as u64, blocks.into()));
            for pre in 0..n {
                let want: BTreeMap<(u32, u32), i32> = connectivity
                    .connections(pre)
                    .map(|(t, count)| (((t / 32) % blocks, (t / 32) / blocks * 32 + t % 32), count))
                    .collect();
                assert_eq!(found(&block_csr, blocks, pre), want, "neuron {pre} of {blocks} blocks");
            }
        }
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let mut connectivity =
            Csr { rows: vec![0, 1], words: vec![Csr::pack(1, 0, 1 << 19)], target_bits: 1, overflow: vec![] };
        assert_eq!(BlockCsr::new(&connectivity, 1), None);
        connectivity.words[0] = Csr::pack(1, 0, -(1 << 19));
        assert!(BlockCsr::new(&connectivity, 1).is_some());
        connectivity.overflow.push((0, 1 << 30));
        assert_eq!(BlockCsr::new(&connectivity, 1), None);
    }
}
