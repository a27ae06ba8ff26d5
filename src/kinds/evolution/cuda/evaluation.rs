//! Losses of the unperturbed model.

use super::{backend::CudaBackend, forward::Losses, memory::Work, rows::Rows};
use crate::{
    gpu::Pass,
    kinds::evolution::backend::{Batch, IGNORED, LOSS_UNITS, Outcome},
    sim::SimError,
};

impl CudaBackend {
    /// Computes the loss of each token with a workspace. Fails if the device fails.
    pub(super) fn evaluate_with(
        &self,
        batches: &[Batch<'_>],
        losses: &mut [f32],
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        let mut at = 0;
        for batch in batches {
            let per_call = (work.sizes.rows / batch.seq_len.max(1)).max(1) * batch.seq_len;
            for (tokens, targets) in batch.tokens.chunks(per_call).zip(batch.targets.chunks(per_call)) {
                if pass.is_stopping() {
                    return Ok(Outcome::Stopped);
                }
                let narrow: Vec<u16> = tokens.iter().map(|token| *token as u16).collect();
                let known: Vec<u16> = targets.iter().map(|target| (*target).max(0) as u16).collect();
                work.tokens.write_at(0, &narrow)?;
                work.targets.write_at(0, &known)?;
                let rows = Rows::unperturbed(1, tokens.len());
                let weights = (&*self.state.weights, &*self.state.shadows, &*self.state.draws);
                self.forward.losses(pass, rows, weights, work, (Losses::Rows, None))?;
                let units = work.row_losses.read_range(0..tokens.len())?;
                for ((loss, units), target) in losses[at..].iter_mut().zip(units).zip(targets) {
                    *loss = if *target == IGNORED { 0.0 } else { units.cast_signed() as f32 / LOSS_UNITS };
                }
                at += tokens.len();
            }
        }
        Ok(Outcome::Done)
    }
}
