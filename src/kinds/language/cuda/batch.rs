//! A batch and its activations on a device.

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

/// What the sizes of [`BatchBuffers`] follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchSizes {
    /// Tokens of the largest batch.
    pub tokens: usize,
    /// Bytes of the arena.
    pub arena: usize,
    /// Whether sequences have lengths.
    pub is_divided: bool,
}

buffers! {
    /// A batch and its activations.
    pub struct BatchBuffers(gpu: Arc<Gpu>, s: BatchSizes) {
        "batch" {
            /// Tokens.
            pub tokens: Buf<u32> = Workspace "tokens" s.tokens;
            /// Targets.
            pub targets: Buf<i32> = Workspace "targets" s.tokens;
            /// Lengths or offsets of sequences.
            pub lengths: Buf<i32> = Workspace "lengths" if s.is_divided { s.tokens + 1 } else { 0 };
            /// Positions of packed tokens.
            pub positions: Buf<u32> = Workspace "positions" if s.is_divided { s.tokens } else { 0 };
            /// Raised where a token is out of range.
            pub flag: Buf<u32> = Workspace "invalid token" 1;
            /// Losses of the tokens of a batch that is evaluated.
            pub losses: Buf<f32> = Workspace "losses" s.tokens;
            /// Those of several batches, which are read together.
            kept_losses: Buf<f32> = Workspace "losses of several batches" MAX_KEPT * s.tokens;
        }
        "activations" {
            /// Activations and temporaries.
            pub arena: Arena = Workspace "activations" s.arena;
        }
    }
}

/// Batches of the largest size whose losses are kept until they are read.
pub const MAX_KEPT: usize = 16;

impl BatchBuffers {
    /// Keeps the losses of the batch that was evaluated, of `n` tokens, at an offset. The host does not wait.
    pub fn keep_losses(&mut self, at: usize, n: usize) -> Result<(), GpuError> {
        let losses = self.losses.part(0..n)?;
        self.kept_losses.part_mut(at..at + n)?.copy_from(&losses)
    }

    /// Room for losses that are kept, tokens.
    pub fn room_for_losses(&self) -> usize {
        self.kept_losses.len()
    }

    /// Waits for the losses that are kept, from the first on.
    pub fn read_losses(&self, to: &mut [f32]) -> Result<(), GpuError> {
        self.kept_losses.read_into(0, to)
    }

    /// Replaces what depends on the sizes of batches, where they changed. Nothing may use it.
    pub fn resize(&mut self, gpu: &Arc<Gpu>, sizes: &BatchSizes) -> Result<(), GpuError> {
        // The former activations are given back first.
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

    /// Copies a part of a batch to the device: whole sequences, or all of a packed batch.
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

/// Parts of the buffers of a batch that are in use.
pub struct BatchParts<'a> {
    shape: BatchShape,
    tokens: View<'a, u32>,
    targets: View<'a, i32>,
    lengths: Option<View<'a, i32>>,
    positions: Option<View<'a, u32>>,
}

/// A batch in device memory.
pub type DeviceBatch<'a> = BatchView<'a, Slice<u32>, Slice<i32>>;

impl<'a> BatchParts<'a> {
    /// What a batch of this shape uses of tokens and targets, and of lengths and positions.
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

    /// Sequences that begin at this position.
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
