//! Sequences of a corpus. A training batch is a function of its address, without state.

use super::Corpus;
use crate::num::rng::{Draw, Purpose};

/// Target of a token that is not counted in the loss.
pub const IGNORE: i32 = -1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Seed of the draws.
    pub seed: u64,
    /// Number of sequences per micro-batch (B).
    pub sequences: usize,
    /// Number of tokens per sequence (T).
    pub length: usize,
}

impl Batches {
    /// Returns the first token of sequence `sequence` of a micro-batch: the high word of w · n, where w is the 64-bit word of
    /// the draw (seed, Batch, step, lane) and n the number of places. The lane is micro-batch · B + sequence, so the sequences
    /// of k micro-batches of B sequences equal those of one batch of k B.
    pub fn offset(&self, corpus: &Corpus, step: u64, micro_batch: usize, sequence: usize) -> usize {
        let lane = (micro_batch * self.sequences + sequence) as u32;
        let [low, high, ..] = Draw { seed: self.seed, purpose: Purpose::Batch, step, lane }.words();
        let word = u128::from(low) | u128::from(high) << 32;
        let places = corpus.train().len().saturating_sub(self.length) as u128;
        ((word * places) >> 64) as usize
    }

    /// Fills one micro-batch: inputs and targets `[B, T]`. The corpus must have passed [`Corpus::check_length`].
    pub fn fill(&self, corpus: &Corpus, step: u64, micro_batch: usize, inputs: &mut [u32], targets: &mut [i32]) {
        let rows = inputs.chunks_exact_mut(self.length).zip(targets.chunks_exact_mut(self.length));
        for (sequence, (inputs, targets)) in rows.enumerate() {
            let offset = self.offset(corpus, step, micro_batch, sequence);
            pair(corpus, offset, inputs, targets);
        }
    }
}

/// Copies tokens from `offset` on to `inputs`, and the token after each to `targets`.
fn pair(corpus: &Corpus, offset: usize, inputs: &mut [u32], targets: &mut [i32]) {
    corpus.copy(offset, inputs);
    let (Some(last), Some(first)) = (targets.last_mut(), inputs.get(1..)) else { return };
    let mut next = [0];
    corpus.copy(offset + inputs.len(), &mut next);
    *last = next[0] as i32;
    targets.iter_mut().zip(first).for_each(|(target, token)| *target = *token as i32);
}

/// Windows of the held-out part. Every held-out token is the target in exactly one window. The first input is the last training
/// token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldOut {
    /// Number of tokens per window (T).
    pub length: usize,
}

impl HeldOut {
    /// Returns the number of windows.
    pub fn n_windows(&self, corpus: &Corpus) -> usize {
        corpus.held_out().len().div_ceil(self.length.max(1))
    }

    /// Fills windows from `first` on, up to the capacity of the slices: inputs and targets `[B, T]`. Positions after the end of
    /// the text have input 0 and target [`IGNORE`]. Returns the number of counted targets.
    pub fn fill(&self, corpus: &Corpus, first: usize, inputs: &mut [u32], targets: &mut [i32]) -> usize {
        inputs.fill(0);
        targets.fill(IGNORE);
        let (held_out, mut n) = (corpus.held_out(), 0);
        let rows = inputs.chunks_exact_mut(self.length).zip(targets.chunks_exact_mut(self.length));
        for (window, (inputs, targets)) in rows.enumerate() {
            let start = held_out.start + (first + window) * self.length;
            let len = held_out.end.saturating_sub(start).min(self.length);
            if len > 0 {
                pair(corpus, start - 1, &mut inputs[..len], &mut targets[..len]);
            }
            n += len;
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Style;

    fn corpus() -> Corpus {
        Corpus::small(Style::Harbour, 5_000, 1).unwrap()
    }

    #[test]
    fn held_out_windows_cover_the_last_tenth_once() {
        let corpus = corpus();
        for length in [1, 7, 64, 10_000] {
            let (windows, mut seen) = (HeldOut { length }, vec![]);
            let (mut inputs, mut targets) = (vec![0; 3 * length], vec![0; 3 * length]);
            for first in (0..windows.n_windows(&corpus)).step_by(3) {
                let n = windows.fill(&corpus, first, &mut inputs, &mut targets);
                let counted: Vec<u32> = targets.iter().filter(|t| **t != IGNORE).map(|t| *t as u32).collect();
                assert_eq!(counted.len(), n);
                seen.extend(counted);
            }
            let mut expected = vec![0; corpus.held_out().len()];
            corpus.copy(corpus.held_out().start, &mut expected);
            assert_eq!(seen, expected, "windows of {length}");
        }
    }

    #[test]
    fn batches_are_in_the_training_part_and_micro_batches_are_one_batch() {
        let corpus = corpus();
        let (whole, half) =
            (Batches { seed: 5, sequences: 8, length: 32 }, Batches { seed: 5, sequences: 4, length: 32 });
        let fill = |batches: &Batches, step, micro| {
            let n = batches.sequences * batches.length;
            let (mut inputs, mut targets) = (vec![0; n], vec![0; n]);
            batches.fill(&corpus, step, micro, &mut inputs, &mut targets);
            (inputs, targets)
        };
        let [all, first, second] = [fill(&whole, 9, 0), fill(&half, 9, 0), fill(&half, 9, 1)];
        assert_eq!((all.0, all.1), ([first.0, second.0].concat(), [first.1, second.1].concat()));
        assert_ne!(fill(&whole, 9, 0), fill(&whole, 10, 0));
        let places = corpus.train().len() - 32;
        let offsets: Vec<usize> = (0..32_000).map(|i| whole.offset(&corpus, i / 8, 0, i as usize % 8)).collect();
        let (low, high) = (offsets.iter().min().unwrap(), offsets.iter().max().unwrap());
        assert!(*low < 5 && *high >= places - 5 && *high < places, "{low} to {high} of {places}");
        // The last target of the last place is the last training token.
        let (mut inputs, mut targets) = ([0; 32], [0; 32]);
        pair(&corpus, places - 1, &mut inputs, &mut targets);
        assert_eq!(corpus.train().len(), places - 1 + 32 + 1);
        assert_eq!(targets[..31], inputs[1..].iter().map(|t| *t as i32).collect::<Vec<_>>()[..]);
    }

    /// Offsets must not change, because the addresses of draws are part of every run.
    #[test]
    fn offsets_stay_as_they_are() {
        let corpus = corpus();
        let batches = Batches { seed: 1, sequences: 4, length: 16 };
        let offsets: Vec<usize> = (0..4).map(|b| batches.offset(&corpus, 2, 0, b)).collect();
        assert_eq!((corpus.len(), corpus.hash), (5137, 15_987_581_852_543_467_624));
        assert_eq!(offsets, [3023, 3331, 2039, 3823]);
    }
}
