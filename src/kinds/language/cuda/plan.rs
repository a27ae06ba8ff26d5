//! Allocation of tensors from a device arena, and shapes of batches in it.

use super::error::OpError;
use crate::{
    gpu::{Frame, GpuError, ViewMut, layout::CudaType},
    kinds::language::{
        backend::Batch,
        plan::{BatchShape, Memory, TakeFrom, UNDIVIDED},
    },
};
use std::ops::Range;

impl Memory for &Frame<'_> {
    type Error = GpuError;
}

impl<'f, T: CudaType> TakeFrom<&'f Frame<'_>> for ViewMut<'f, T> {
    fn take_from(memory: &mut &'f Frame<'_>, name: &'static str, len: usize) -> Result<Self, GpuError> {
        memory.take::<T>(name, len)
    }
}

/// Returns the shape of some sequences of a batch. Fails if [`BatchShape::of`] returns `None`.
pub fn shape_of(batch: &Batch<'_>, rows: Range<usize>, is_divided: bool) -> Result<BatchShape, OpError> {
    BatchShape::of(batch, rows, is_divided).ok_or_else(|| OpError::Refused(UNDIVIDED.to_owned()))
}
