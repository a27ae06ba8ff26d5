//! Draws the tokens of a step, and computes the held-out loss.

use super::backend::{Batch, IGNORED, Lengths, Outcome};
use crate::{
    data::text::{Batches, Corpus, HeldOut},
    gpu::Pass,
    sim::SimError,
};

/// Whether an event with period `every` occurs after step `step`; a period of 0 means never.
pub fn is_due(every: u32, step: u64) -> bool {
    every > 0 && step.is_multiple_of(every.into())
}

/// Tokens and targets of the micro-batches of a step. The memory is reused for later steps.
#[derive(Default)]
pub struct StepTokens {
    tokens: Vec<u32>,
    targets: Vec<i32>,
}

impl StepTokens {
    /// Draws the `micro_batches` micro-batches of step `step`.
    pub fn draw(&mut self, corpus: &Corpus, batches: &Batches, micro_batches: usize, step: u64) -> Vec<Batch<'_>> {
        let Batches { sequences, length, .. } = *batches;
        let n = sequences * length;
        let Self { tokens, targets } = self;
        tokens.resize(n * micro_batches, 0);
        targets.resize(n * micro_batches, 0);
        for (i, (tokens, targets)) in tokens.chunks_mut(n).zip(targets.chunks_mut(n)).enumerate() {
            batches.fill(corpus, step, i, tokens, targets);
        }
        let batch = |(tokens, targets)| Batch { sequences, seq_len: length, tokens, targets, lengths: Lengths::Full };
        tokens.chunks(n).zip(targets.chunks(n)).map(batch).collect()
    }

    /// Returns the first micro-batch of the last step; empty before the first step.
    pub fn first(&self, sequences: usize, length: usize) -> Batch<'_> {
        let n = (sequences * length).min(self.tokens.len());
        let sequences = n / length.max(1);
        Batch {
            sequences,
            seq_len: length,
            tokens: &self.tokens[..n],
            targets: &self.targets[..n],
            lengths: Lengths::Full,
        }
    }

    /// Returns the tokens of the last step, in the order of the micro-batches.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the host memory in use, bytes.
    pub const fn n_bytes(&self) -> u64 {
        (self.tokens.capacity() * 8) as u64
    }
}

/// Mean loss over the held-out text, evaluated in batches. A stopped evaluation continues with the next batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeldOutLoss {
    /// Number of evaluated windows.
    first: usize,
    sum: f64,
    n: u64,
}

impl HeldOutLoss {
    /// Evaluates the remaining windows and reports progress. Returns the mean loss, nats; `None` if stopped. `size` is
    /// (sequence length, sequences per batch, batches per call); `evaluate` writes the loss of each token of at most
    /// `batches per call` batches. Fails if `evaluate` fails.
    pub fn run(
        &mut self,
        corpus: &Corpus,
        size: (usize, usize, usize),
        pass: &mut Pass,
        evaluate: impl FnMut(&[Batch<'_>], &mut [f32], &mut Pass) -> Result<Outcome, SimError>,
    ) -> Result<Option<f32>, SimError> {
        let done = self.run_reported(corpus, size, pass, evaluate);
        pass.activity.end();
        done
    }

    fn run_reported(
        &mut self,
        corpus: &Corpus,
        (length, sequences, at_once): (usize, usize, usize),
        pass: &mut Pass,
        mut evaluate: impl FnMut(&[Batch<'_>], &mut [f32], &mut Pass) -> Result<Outcome, SimError>,
    ) -> Result<Option<f32>, SimError> {
        let windows = HeldOut { length };
        let all = windows.n_windows(corpus);
        while self.first < all {
            pass.activity.report("held-out text", self.first as f32 / all as f32);
            let n = (sequences * at_once.max(1)).min(all - self.first);
            let (mut tokens, mut targets) = (vec![0; n * length], vec![0; n * length]);
            windows.fill(corpus, self.first, &mut tokens, &mut targets);
            let parts = tokens.chunks(sequences * length).zip(targets.chunks(sequences * length));
            let batches: Vec<Batch<'_>> = parts
                .map(|(tokens, targets)| Batch {
                    sequences: tokens.len() / length,
                    seq_len: length,
                    tokens,
                    targets,
                    lengths: Lengths::Full,
                })
                .collect();
            let mut losses = vec![0.0; tokens.len()];
            if evaluate(&batches, &mut losses, pass)? == Outcome::Stopped {
                return Ok(None);
            }
            for (loss, _) in losses.iter().zip(&targets).filter(|(_, target)| **target != IGNORED) {
                self.sum += f64::from(*loss);
                self.n += 1;
            }
            self.first += n;
        }
        Ok(Some((self.sum / self.n.max(1) as f64) as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Style;

    #[test]
    fn a_pass_over_the_held_out_text_reports_how_far_it_is() {
        let corpus = Corpus::small(Style::Harbour, 5_000, 1).expect("a text");
        let (mut pass, mut seen) = (Pass::default(), vec![]);
        let loss = HeldOutLoss::default().run(&corpus, (32, 2, 1), &mut pass, |_, losses, pass| {
            losses.fill(1.0);
            seen.extend(pass.activity.now());
            Ok(Outcome::Done)
        });
        let loss = loss.expect("a loss");
        assert_eq!((loss, pass.activity.now()), (Some(1.0), None), "over");
        assert!(seen.len() > 5 && seen.is_sorted_by(|a, b| a.1 < b.1), "{seen:?}");
        assert_eq!(seen[0], ("held-out text", 0.0));
    }
}
