//! Release over whole sequences from position 0, by a shorter kernel.

use super::{
    CudaPresynaptic, ScanExtent,
    args::{RING, ScanSequences, TABLE},
    constants::{ScanConstants, has_table},
    sizes,
};
use crate::{
    gpu::{AnyMut, GpuError, Grid, Pass, Slice},
    kinds::synaptic::presynaptic::{Presynaptic, Release},
};

/// Number of warps of a block, which share a table.
const BLOCK_WARPS: u32 = 4;
/// Number of warps per multiprocessor that shared memory leaves room for. The warps of the first keys, which take longest,
/// start first, and few others run beside them.
const WARPS: u32 = 16;

impl CudaPresynaptic {
    /// Replaces each visible logit by its sum with bias and barrier, for an extent that [`is_sequence`] accepts. Fails if
    /// the device fails.
    pub(super) fn walk_sequences(
        &self,
        pass: &mut Pass,
        op: &Presynaptic,
        extent: &ScanExtent,
        (edges, factor): (&mut Slice<f32>, Option<&mut Slice<f32>>),
        is_packed: bool,
    ) -> Result<(), GpuError> {
        let of_factor = factor.as_ref().map_or(0, |_| if is_packed { 2 } else { 4 });
        let (a, c, grid) = (sizes(extent), ScanConstants::derive(op), self.grid_of_walks(extent, 4 * RING * 128));
        let (factor, is_packed) = (factor.map_or(AnyMut::none(), AnyMut::from), is_packed.into());
        ScanSequences { a, c, is_packed, edges, factor }.launch(&self.kernels, pass, grid)?;
        pass.last_work(extent.visible(), extent.visible() * (8 + of_factor), 60 * extent.visible());
        Ok(())
    }

    /// Returns a grid with a warp per 32 keys, with `bytes_of_warp` bytes of shared memory each, besides the table.
    fn grid_of_walks(&self, extent: &ScanExtent, bytes_of_warp: u32) -> Grid {
        let warps = (extent.heads * extent.n_keys() / 32) as u32;
        let needed = 16 * TABLE + BLOCK_WARPS * bytes_of_warp;
        let shared_bytes = (self.shared_per_block / (WARPS / BLOCK_WARPS)).saturating_sub(1024).max(needed);
        Grid::Blocks { blocks: [warps.div_ceil(BLOCK_WARPS), 1, 1], threads: [32 * BLOCK_WARPS, 1, 1], shared_bytes }
    }
}

/// Whether `walk_sequences` supports the pass, given that no states are kept in memory.
pub(super) fn is_sequence(op: &Presynaptic, extent: &ScanExtent) -> bool {
    let is_drawn = matches!(op.release, Release::Binomial { fraction } if fraction > 0.0);
    !is_drawn && has_table(op) && extent.first_query == 0 && matches!(extent.n_queries, 128 | 256 | 512)
}
