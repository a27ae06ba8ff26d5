//! Batches on their way to the device.

use super::{
    buffers::DeviceBuffers,
    format::ModelFormat,
    plan::{BatchShape, Division},
};
use crate::{
    kinds::transformer::backend::{Batch, Lengths},
    sim::SimError,
};

/// Copies a part of a batch to the device: whole sequences, or all of a packed batch.
pub fn upload<T: ModelFormat>(
    b: &mut DeviceBuffers<T>,
    batch: &Batch<'_>,
    from: usize,
    to: usize,
) -> Result<BatchShape, SimError> {
    let range = from * batch.seq_len..to * batch.seq_len;
    b.tokens.write_at(0, &batch.tokens[range.clone()])?;
    match batch.lengths {
        Lengths::Full => b.targets.write_at(0, &batch.targets[range])?,
        Lengths::Padded(lens) => {
            b.lengths.write_at(0, &lens[from..to])?;
            b.targets.write_at(0, &batch.masked_targets()[range])?;
        }
        Lengths::Packed(offsets) => {
            if offsets.len() > b.lengths.len() {
                return Err(SimError::Input(format!("a batch of {} packed sequences", offsets.len() - 1)));
            }
            b.lengths.write_at(0, offsets)?;
            let positions: Vec<u32> = offsets.windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect();
            b.positions.write_at(0, &positions)?;
            b.targets.write_at(0, &batch.targets[range])?;
        }
    }
    Ok(shape_of(batch, from, to))
}

/// Sizes of some sequences of a batch, or of all of a packed one.
pub fn shape_of(batch: &Batch<'_>, from: usize, to: usize) -> BatchShape {
    let division = match batch.lengths {
        Lengths::Full => Division::Full,
        Lengths::Padded(_) => Division::Padded,
        Lengths::Packed(offsets) => {
            let longest = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
            Division::Packed { sequences: offsets.len() - 1, longest }
        }
    };
    BatchShape { division, ..BatchShape::full(to - from, batch.seq_len) }
}
