//! Head of a model: logits of normalised tokens, losses and gradients. At most [`LOGIT_ROWS`] rows of logits are in memory
//! at a time.

use super::refused;
use crate::{
    gpu::StopFlag,
    kinds::language::backend::Outcome,
    nn::{
        cross_entropy::{self, CrossEntropy},
        gemm::{Epilogue, Gemm, cpu::gemm},
        real::Real,
    },
    sim::SimError,
};

/// Maximum number of rows of logits in memory at a time.
pub const LOGIT_ROWS: usize = 512;

/// Matrix of logits with its sizes.
#[derive(Clone, Copy)]
pub struct Head<'a, R> {
    /// Weights `[padded vocabulary, width]`.
    pub weight: &'a [R],
    /// Number of features per token.
    pub width: usize,
    /// Vocabulary size without padding.
    pub vocab: usize,
}

/// Outputs per token, and workspace for logits.
pub struct LossRows<'a, R> {
    /// Workspace for logits and then their gradients, [`LOGIT_ROWS`] rows.
    pub logits: &'a mut [R],
    /// Loss of each token, `[tokens]`.
    pub losses: &'a mut [R],
    /// Log-sum-exp of the logits of each token, `[tokens]`.
    pub lse: &'a mut [R],
}

impl<R: Real> Head<'_, R> {
    /// Computes the logits of normalised tokens. Fails if the sizes do not match.
    pub fn logits(&self, x: &[R], logits: &mut [R]) -> Result<(), SimError> {
        let op = Gemm::new(x.len() / self.width, self.padded(), self.width).transposed_b();
        gemm(&op, x, self.weight, logits, Epilogue::None).map_err(refused)
    }

    const fn padded(&self) -> usize {
        self.weight.len() / self.width
    }

    const fn loss(&self, rows: usize) -> CrossEntropy {
        CrossEntropy { rows, vocab: self.vocab, padded: self.padded() }
    }

    /// Writes the losses of tokens from their normalised features. Checks the stop flag between chunks of rows. Fails if
    /// the sizes do not match.
    pub fn losses(&self, x: &[R], targets: &[i32], to: LossRows<'_, R>, stop: &StopFlag) -> Result<Outcome, SimError> {
        for from in (0..targets.len()).step_by(LOGIT_ROWS) {
            if stop.is_raised() {
                return Ok(Outcome::Stopped);
            }
            let end = (from + LOGIT_ROWS).min(targets.len());
            let logits = &mut to.logits[..(end - from) * self.padded()];
            self.logits(&x[from * self.width..end * self.width], logits)?;
            let (losses, lse) = (&mut to.losses[from..end], &mut to.lse[from..end]);
            cross_entropy::forward(&self.loss(end - from), logits, &targets[from..end], losses, lse)
                .map_err(refused)?;
        }
        Ok(Outcome::Done)
    }

    /// Writes the losses of tokens and, to `dx`, `scale` times the gradients of their normalised features. Adds the
    /// gradient of the matrix to `dweight`, which is `None` for a frozen matrix. Checks the stop flag between chunks of
    /// rows. Fails if the sizes do not match.
    pub fn backward(
        &self,
        x: &[R],
        (targets, scale): (&[i32], R),
        to: LossRows<'_, R>,
        dx: &mut [R],
        mut dweight: Option<&mut [R]>,
        stop: &StopFlag,
    ) -> Result<Outcome, SimError> {
        let (width, padded) = (self.width, self.padded());
        for from in (0..targets.len()).step_by(LOGIT_ROWS) {
            if stop.is_raised() {
                return Ok(Outcome::Stopped);
            }
            let end = (from + LOGIT_ROWS).min(targets.len());
            let rows = end - from;
            let (x, logits) = (&x[from * width..end * width], &mut to.logits[..rows * padded]);
            self.logits(x, logits)?;
            let (losses, lse) = (&mut to.losses[from..end], &mut to.lse[from..end]);
            let of = &targets[from..end];
            cross_entropy::backward(&self.loss(rows), logits, of, scale, losses, lse).map_err(refused)?;
            let by_weight = Gemm::new(rows, width, padded);
            gemm(&by_weight, logits, self.weight, &mut dx[from * width..end * width], Epilogue::None)
                .map_err(refused)?;
            if let Some(dweight) = &mut dweight {
                let by_input = Gemm::new(padded, width, rows).transposed_a().scaled(R::one(), R::one());
                gemm(&by_input, logits, x, dweight, Epilogue::None).map_err(refused)?;
            }
        }
        Ok(Outcome::Done)
    }
}
