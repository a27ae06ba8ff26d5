//! Evaluates losses of batches in captured passes. The host waits once for several passes.

use super::{CudaBackend, DeviceModel, ModelParts};
use crate::{
    gpu::{Mark, Pass},
    kinds::language::{
        backend::{Batch, Lengths, Outcome},
        cuda::plan::shape_of,
    },
    sim::SimError,
};

impl<M: DeviceModel> CudaBackend<M> {
    /// Evaluates batches as one row of the profile, apart from the forward passes of training. Fails if the device fails.
    pub(super) fn evaluate_parts(
        &mut self,
        batches: &[Batch<'_>],
        losses: &mut [f32],
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        let fits = batches.iter().map(|batch| self.reserve_evaluated(batch)).collect::<Result<Vec<_>, _>>()?;
        let mut inner = Pass::default();
        inner.stop = pass.stop.clone();
        let n: usize = batches.iter().map(Batch::n_tokens).sum();
        pass.span("held-out", n as u64, || self.losses(batches, &fits, losses, &mut inner))
    }

    /// Reserves memory to evaluate a batch. Returns the number of sequences per pass. Fails if the batch does not fit the
    /// model or memory is exhausted.
    fn reserve_evaluated(&mut self, batch: &Batch<'_>) -> Result<usize, SimError> {
        let ModelParts { context, vocab, .. } = self.network.parts();
        batch.check(context, vocab)?;
        let fit = match batch.lengths {
            Lengths::Packed(_) => batch.sequences,
            _ => self.sizes.batch.tokens / batch.seq_len.max(1),
        };
        let fit = fit.clamp(1, batch.sequences.max(1));
        self.reserve(&shape_of(batch, 0..fit, self.sizes.batch.is_divided)?)?;
        Ok(fit)
    }

    /// Evaluates each batch in passes of `fits` sequences. The host waits once for several passes. Fails if the device
    /// fails.
    fn losses(
        &mut self,
        batches: &[Batch<'_>],
        fits: &[usize],
        losses: &mut [f32],
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        let parts = batches.iter().zip(fits).flat_map(|(batch, fit)| {
            let starts = (0..batch.sequences).step_by(*fit);
            starts.map(move |from| (batch, from..(from + fit).min(batch.sequences)))
        });
        // Numbers of tokens whose losses were read, and whose losses are still on the device.
        let (mut n_read, mut n_kept) = (0, 0);
        for (batch, rows) in parts {
            self.wait_for_earlier()?;
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let (n, b) = (rows.len() * batch.seq_len, &mut self.buffers.get_mut().batch);
            if n_kept + n > b.room_for_losses() {
                b.read_losses(&mut losses[n_read..n_read + n_kept])?;
                (n_read, n_kept) = (n_read + n_kept, 0);
            }
            let shape = b.upload(batch, rows)?;
            self.compute(M::losses(shape), pass)?;
            self.buffers.get_mut().batch.keep_losses(n_kept, n)?;
            n_kept += n;
            self.in_flight.push_back(Mark::now(&self.gpu)?);
        }
        self.buffers.get_mut().batch.read_losses(&mut losses[n_read..n_read + n_kept])?;
        Ok(Outcome::Done)
    }
}
