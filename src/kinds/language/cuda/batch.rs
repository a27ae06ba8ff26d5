//! Device buffers of a batch and its activations.

use super::{error::OpError, plan::shape_of};
use crate::{
    buffers,
    gpu::{Arena, Buf, Gpu, GpuError, Slice, View},
    kinds::language::{
        backend::{Batch, Lengths},
        plan::{BatchShape, BatchView, Division, packed_positions},
    },
    sim::SimError,
};
use std::{ops::Range, sync::Arc};

/// Sizes that determine [`BatchBuffers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchSizes {
    /// Number of tokens of the largest batch.
    pub tokens: usize,
    /// Size of the arena in bytes.
    pub arena: usize,
    /// Whether batches may be padded or packed.
    pub is_divided: bool,
}

buffers! {
    /// Device buffers of a batch and its activations.
    pub struct BatchBuffers(gpu: Arc<Gpu>, s: BatchSizes) {
        "batch" {
            /// Token ids of the batch.
            pub tokens: Buf<u32> = Workspace "tokens" s.tokens;
            /// Target ids of the batch.
            pub targets: Buf<i32> = Workspace "targets" s.tokens;
            /// Lengths of padded sequences, or offsets of packed ones.
            pub lengths: Buf<i32> = Workspace "lengths" if s.is_divided { s.tokens + 1 } else { 0 };
            /// Positions of packed tokens.
            pub positions: Buf<u32> = Workspace "positions" if s.is_divided { s.tokens } else { 0 };
            /// Nonzero if a token id was out of range.
            pub flag: Buf<u32> = Workspace "invalid token" 1;
            /// Loss of each token of an evaluated batch.
            pub losses: Buf<f32> = Workspace "losses" s.tokens;
            /// Losses of several evaluated batches, which are read back together.
            kept_losses: Buf<f32> = Workspace "losses of several batches" MAX_KEPT * s.tokens;
        }
        "activations" {
            /// Arena for activations and temporaries.
            pub arena: Arena = Workspace "activations" s.arena;
        }
    }
}

/// Number of full-size batches whose losses fit into the buffer that is read back.
pub const MAX_KEPT: usize = 16;

impl BatchBuffers {
    /// Copies the losses of the last evaluated batch, `n` tokens, to offset `at` of the kept losses. The copy is
    /// asynchronous. Fails if the losses do not fit or the device fails.
    pub fn keep_losses(&mut self, at: usize, n: usize) -> Result<(), GpuError> {
        let losses = self.losses.part(0..n)?;
        self.kept_losses.part_mut(at..at + n)?.copy_from(&losses)
    }

    /// Returns the capacity of the kept losses in tokens.
    pub fn room_for_losses(&self) -> usize {
        self.kept_losses.len()
    }

    /// Waits for the kept losses and copies the first `to.len()` of them. Fails if the device fails.
    pub fn read_losses(&self, to: &mut [f32]) -> Result<(), GpuError> {
        self.kept_losses.read_into(0, to)
    }

    /// Reallocates all buffers that depend on batch sizes. The buffers must not be in use. Fails if memory is exhausted.
    pub fn resize(&mut self, gpu: &Arc<Gpu>, sizes: &BatchSizes) -> Result<(), GpuError> {
        // The old arena is freed before the new one is allocated.
        self.arena = Arena::new(gpu, "activations", 0)?;
        self.arena = Arena::new(gpu, "activations", sizes.arena)?;
        self.tokens = Buf::zeros(gpu, "tokens", sizes.tokens)?;
        self.targets = Buf::zeros(gpu, "targets", sizes.tokens)?;
        self.losses = Buf::zeros(gpu, "losses", sizes.tokens)?;
        self.kept_losses = Buf::zeros(gpu, "losses of several batches", MAX_KEPT * sizes.tokens)?;
        if sizes.is_divided {
            self.lengths = Buf::zeros(gpu, "lengths", sizes.tokens + 1)?;
            self.positions = Buf::zeros(gpu, "positions", sizes.tokens)?;
        }
        Ok(())
    }

    /// Copies the sequences `rows` of a batch, or a whole packed batch, to the device. Returns their shape. Fails if the
    /// model does not support the layout or the device fails.
    pub fn upload(&mut self, batch: &Batch<'_>, rows: Range<usize>) -> Result<BatchShape, SimError> {
        let shape = shape_of(batch, rows.clone(), !self.lengths.is_empty())?;
        let range = rows.start * batch.seq_len..rows.end * batch.seq_len;
        self.tokens.write_at(0, &batch.tokens[range.clone()])?;
        match (batch.lengths, shape.division) {
            (Lengths::Padded(lens), Division::Padded) => self.lengths.write_at(0, &lens[rows])?,
            (Lengths::Packed(offsets), _) => {
                if offsets.len() > self.lengths.len() {
                    return Err(SimError::Input(format!("a batch of {} packed sequences", offsets.len() - 1)));
                }
                self.lengths.write_at(0, offsets)?;
                self.positions.write_at(0, &packed_positions(offsets))?;
            }
            _ => {}
        }
        match batch.lengths {
            Lengths::Padded(_) => self.targets.write_at(0, &batch.masked_targets()[range])?,
            _ => self.targets.write_at(0, &batch.targets[range])?,
        }
        Ok(shape)
    }
}

/// Parts of the batch buffers that a batch uses.
pub struct BatchParts<'a> {
    shape: BatchShape,
    tokens: View<'a, u32>,
    targets: View<'a, i32>,
    lengths: Option<View<'a, i32>>,
    positions: Option<View<'a, u32>>,
}

/// Batch in device memory.
pub type DeviceBatch<'a> = BatchView<'a, Slice<u32>, Slice<i32>>;

impl<'a> BatchParts<'a> {
    /// Slices the buffers for a batch of shape `shape`. Fails if the buffers are smaller than the batch.
    pub fn new(
        shape: BatchShape,
        (tokens, targets): (&'a Slice<u32>, &'a Slice<i32>),
        (lengths, positions): (&'a Slice<i32>, &'a Slice<u32>),
    ) -> Result<Self, OpError> {
        let n = shape.n_tokens();
        let (lengths, positions) = match shape.division {
            Division::Full => (None, None),
            Division::Padded => (Some(lengths.part(0..shape.sequences)?), None),
            Division::Packed { sequences, .. } => (Some(lengths.part(0..sequences + 1)?), Some(positions.part(0..n)?)),
        };
        Ok(Self { shape, tokens: tokens.part(0..n)?, targets: targets.part(0..n)?, lengths, positions })
    }

    /// Returns the batch with its first tokens at position `offset`.
    pub fn at(&self, offset: usize) -> DeviceBatch<'_> {
        DeviceBatch {
            shape: self.shape,
            offset,
            tokens: &self.tokens,
            targets: &self.targets,
            lengths: self.lengths.as_deref(),
            positions: self.positions.as_deref(),
        }
    }
}
