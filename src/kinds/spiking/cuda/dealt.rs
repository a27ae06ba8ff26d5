//! The wiring as resident blocks read it: for each neuron and each block of targets, what the neuron's spikes bring to it.
//!
//! Groups of 32 neurons are dealt to the blocks in turn. A *head* per neuron and block is 0 where nothing is connected, the
//! connection itself where there is one, and where there are several, their place among the block's *tails*, where they lie
//! in quads that a thread reads at once. A block that is told who fired then finds what concerns it by one look, mostly, and
//! adds it up in its own memory: no additions between multiprocessors. The price is four bytes per neuron and block: 73 MB
//! for a fly on 132 blocks, and as much again for the tails.

use crate::data::Csr;

/// Bits of the target within its block.
const MEMBER_BITS: u32 = 11;
/// Bits below the count in a connection: the target, and one that is set.
const COUNT_SHIFT: u32 = MEMBER_BITS + 1;
/// Connections of a quad.
const QUAD: usize = 4;
/// Quads a head can tell the number of.
const TOLD: usize = 31;

/// A wiring dealt to blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dealt {
    /// By neuron, then block.
    pub heads: Vec<u32>,
    /// Connections of those who have several to a block, by block, in quads that are filled up with zeros.
    pub tails: Vec<u32>,
    /// Where the tails of each block begin; whole quads.
    pub starts: Vec<u32>,
}

impl Dealt {
    /// Bytes of a wiring dealt to that many blocks, at most.
    pub const fn most_bytes(n: u64, connections: u64, blocks: u64) -> u64 {
        // Two to a quad at worst, and a quad with their number for each 124.
        4 * (n * blocks + 2 * connections + connections / 31 + (QUAD as u64 + 1) * blocks + 1)
    }

    /// Deals a wiring to blocks. `None` when a count or a number of connections does not fit.
    pub fn new(wiring: &Csr, blocks: u32) -> Option<Self> {
        if !wiring.overflow.is_empty() {
            return None;
        }
        let n_blocks = blocks as usize;
        let mut heads = Vec::with_capacity(wiring.n() as usize * n_blocks);
        // The first quad is not used, lest a head with a long list be 0.
        let mut tails = vec![vec![0_u32; QUAD]; n_blocks];
        let mut hands: Vec<Vec<u32>> = vec![vec![]; n_blocks];
        for pre in 0..wiring.n() {
            for word in wiring.row(pre) {
                let (target, count) = (wiring.target(*word), wiring.count(*word));
                let fits = count.checked_shl(COUNT_SHIFT).is_some_and(|wide| wide >> COUNT_SHIFT == count);
                if !fits {
                    return None;
                }
                let (group, block) = ((target / 32) / blocks, (target / 32) % blocks);
                let member = group * 32 + target % 32;
                debug_assert!(member < 1 << MEMBER_BITS);
                hands[block as usize].push((count << COUNT_SHIFT) as u32 | member << 1 | 1);
            }
            for (hand, tails) in hands.iter_mut().zip(&mut tails) {
                heads.push(head(hand, tails)?);
                hand.clear();
            }
        }
        let mut starts = vec![0];
        starts.extend(tails.iter().scan(0, |sum, t| {
            *sum += t.len() as u32;
            Some(*sum)
        }));
        Some(Self { heads, tails: tails.concat(), starts })
    }
}

/// The head of some connections; several go to the tails.
fn head(hand: &[u32], tails: &mut Vec<u32>) -> Option<u32> {
    if hand.len() <= 1 {
        return Some(hand.first().copied().unwrap_or(0));
    }
    let place = u32::try_from(tails.len() / QUAD).ok().filter(|p| *p < 1 << 26)?;
    let n_quads = hand.len().div_ceil(QUAD);
    let told = if n_quads <= TOLD { n_quads as u32 } else { 0 };
    if told == 0 {
        tails.extend([(n_quads as u32) << 1, 0, 0, 0]);
    }
    tails.extend(hand);
    tails.resize(tails.len().next_multiple_of(QUAD), 0);
    Some(place << 6 | told << 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What `take` of posts.cuh adds for a spike of `pre`, by block and member.
    fn found(dealt: &Dealt, blocks: u32, pre: u32) -> BTreeMap<(u32, u32), i32> {
        let mut all = BTreeMap::new();
        for block in 0..blocks {
            let head = dealt.heads[(pre * blocks + block) as usize];
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
            let mut from = (head >> 6) as usize * QUAD + dealt.starts[block as usize] as usize;
            let mut quads = (head >> 1 & 31) as usize;
            if quads == 0 {
                quads = dealt.tails[from] as usize >> 1;
                from += QUAD;
            }
            dealt.tails[from..from + quads * QUAD].iter().copied().filter(|w| *w != 0).for_each(&mut add);
        }
        all
    }

    #[test]
    fn every_connection_is_found_once() {
        let n = 500_u32;
        let mut wiring = Csr { rows: vec![0], target_bits: Csr::target_bits_for(n), ..Csr::default() };
        for pre in 0..n {
            for target in (0..n).filter(|t| pre == 7 || (t * 31 + pre * 17) % (pre + 2) == 0) {
                let count = (target as i32 - 250) * if pre == 3 { 2000 } else { 1 };
                wiring.words.push(Csr::pack(wiring.target_bits, target, count));
            }
            wiring.rows.push(wiring.words.len() as u32);
        }
        for blocks in [1, 3, 16] {
            let dealt = Dealt::new(&wiring, blocks).expect("it fits");
            assert_eq!(dealt.heads.len(), (n * blocks) as usize);
            let words = dealt.heads.len() + dealt.tails.len() + dealt.starts.len();
            assert!(4 * words as u64 <= Dealt::most_bytes(n.into(), wiring.len() as u64, blocks.into()));
            for pre in 0..n {
                let want: BTreeMap<(u32, u32), i32> = wiring
                    .connections(pre)
                    .map(|(t, count)| (((t / 32) % blocks, (t / 32) / blocks * 32 + t % 32), count))
                    .collect();
                assert_eq!(found(&dealt, blocks, pre), want, "neuron {pre} of {blocks} blocks");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_dealt() {
        let mut wiring =
            Csr { rows: vec![0, 1], words: vec![Csr::pack(1, 0, 1 << 19)], target_bits: 1, overflow: vec![] };
        assert_eq!(Dealt::new(&wiring, 1), None);
        wiring.words[0] = Csr::pack(1, 0, -(1 << 19));
        assert!(Dealt::new(&wiring, 1).is_some());
        wiring.overflow.push((0, 1 << 30));
        assert_eq!(Dealt::new(&wiring, 1), None);
    }
}
