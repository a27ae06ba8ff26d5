//! Output tiles of blocks, and the grid.

use super::{GemmArgs, GemmError, Split};
use crate::gpu::Grid;

/// Minimum k of a split of a group.
const PIECE: u64 = 256;

/// Output tile of a block, and the resources of the block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Number of rows of C.
    pub rows: u32,
    /// Number of columns of C.
    pub columns: u32,
    /// Number of threads per block.
    pub threads: u32,
    /// Shared memory per block, bytes.
    pub shared_bytes: u32,
    /// Number of blocks that one SM of an H200 holds.
    resident: u32,
    /// Time per element of C, relative to the large tile, with all SMs busy; measured on an H200 with bf16 at 4096³.
    cost: f64,
}

impl Tile {
    /// Large tile on tensor cores: three stages of (128 + 256) × 128 bytes.
    pub const LARGE: Self =
        Self { rows: 128, columns: 256, threads: 256, shared_bytes: 147_456, resident: 1, cost: 1.0 };
    /// Small tile on tensor cores: four stages of (64 + 64) × 128 bytes.
    pub const SMALL: Self = Self { rows: 64, columns: 64, threads: 128, shared_bytes: 65_536, resident: 3, cost: 1.43 };
    /// Tile of wgmma: four stages of (128 + 256) × 128 bytes, two boxes of C of 16 × 128 bytes for each of eight warps, and
    /// barriers.
    pub const WGMMA: Self =
        Self { rows: 128, columns: 256, threads: 384, shared_bytes: 230_912, resident: 1, cost: 0.65 };
    /// Tile of WMMA: two stages of (128 + 128) × 80 bytes.
    pub const WMMA: Self = Self { rows: 128, columns: 128, threads: 256, shared_bytes: 40_960, resident: 2, cost: 1.5 };
    /// Tile without tensor cores: two tiles of 16 × 132 sums.
    pub const SIMT: Self = Self { rows: 128, columns: 128, threads: 256, shared_bytes: 16_896, resident: 2, cost: 1.0 };

    /// Chooses the tensor-core tile with the lower expected time on a device with `multiprocessors` SMs and `shared_per_block`
    /// bytes of shared memory per block.
    pub fn choose(g: &GemmArgs, batch: usize, multiprocessors: u32, shared_per_block: u32) -> Self {
        let expected = |tile: Self| tile.expected(tile.blocks(g, batch), multiprocessors);
        let fits = g.aligned != 0 && shared_per_block >= Self::LARGE.shared_bytes;
        if fits && expected(Self::LARGE) <= expected(Self::SMALL) { Self::LARGE } else { Self::SMALL }
    }

    /// Returns the expected time of `blocks` blocks, in units of the time per element of a large tile.
    pub(super) fn expected(self, blocks: u64, multiprocessors: u32) -> f64 {
        let waves = blocks.div_ceil(u64::from(multiprocessors.max(1) * self.resident));
        waves as f64 * f64::from(self.rows * self.columns * self.resident) * self.cost
    }

    pub(super) fn blocks(self, g: &GemmArgs, batch: usize) -> u64 {
        let tiles = u64::from(g.m.div_ceil(self.rows)) * u64::from(g.n.div_ceil(self.columns));
        tiles.saturating_mul(batch as u64)
    }

    /// Returns k per split for the split-K of groups, or 0 for no split, which is the case for more than `most` tiles. With few
    /// tiles, the splits give about three blocks per resident block slot; otherwise a split has twice the mean k of the groups.
    pub fn piece(self, g: &GemmArgs, multiprocessors: u32, most: usize) -> u32 {
        let groups = u64::from(g.batch.max(1));
        let (tiles, at_once) = (self.blocks(g, 1), u64::from(multiprocessors.max(1) * self.resident));
        if tiles.saturating_mul(groups) > most as u64 {
            return 0;
        }
        let is_few = 2 * tiles * groups < 3 * at_once;
        let piece = if is_few { u64::from(g.k) * tiles / (3 * at_once) } else { 2 * u64::from(g.k) / groups };
        u32::try_from(piece.max(1).next_multiple_of(PIECE)).unwrap_or(0)
    }

    /// Returns the grid for groups of unknown sizes: each group has at most one partial tile of rows, or one partial split of
    /// k. Fails if there are more blocks than a grid can have.
    pub fn grid_of_groups(self, g: &GemmArgs, split: Split) -> Result<Grid, GemmError> {
        self.grid_for(self.blocks_of_groups(g, split))
    }

    pub(super) fn blocks_of_groups(self, g: &GemmArgs, split: Split) -> u64 {
        let (full, groups) = (u64::from(g.m), u64::from(g.batch));
        let rows = match split {
            Split::Rows => full / u64::from(self.rows) + groups,
            Split::Depth => {
                let pieces = u64::from(g.k.checked_div(g.piece).unwrap_or(0));
                full.div_ceil(u64::from(self.rows)) * (groups + pieces)
            }
        };
        rows.saturating_mul(u64::from(g.n.div_ceil(self.columns)))
    }

    fn grid_for(self, blocks: u64) -> Result<Grid, GemmError> {
        let blocks = i32::try_from(blocks).map_err(|_| GemmError::TooLarge)?.unsigned_abs();
        Ok(Grid::Blocks { blocks: [blocks, 1, 1], threads: [self.threads, 1, 1], shared_bytes: self.shared_bytes })
    }

    /// Returns a one-dimensional grid of one block per tile; the kernels order the tiles. Fails if there are more blocks than a
    /// grid can have.
    pub fn grid(self, g: &GemmArgs, batch: usize) -> Result<Grid, GemmError> {
        self.grid_for(self.blocks(g, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(m: u32, n: u32) -> GemmArgs {
        GemmArgs { m, n, k: 1024, aligned: 1, ..GemmArgs::default() }
    }

    #[test]
    fn large_tiles_for_large_matrices_on_devices_that_hold_them() {
        let on_h200 = |m, n, batch| Tile::choose(&args(m, n), batch, 132, 232_448);
        assert_eq!(on_h200(4096, 4096, 1), Tile::LARGE);
        assert_eq!(on_h200(8192, 768, 12), Tile::LARGE);
        assert_eq!(on_h200(512, 512, 1), Tile::SMALL);
        assert_eq!(on_h200(64, 64, 96), Tile::SMALL);
        assert_eq!(Tile::choose(&args(4096, 4096), 1, 128, 101_376), Tile::SMALL, "Ada has too little shared memory");
        let unaligned = GemmArgs { aligned: 0, ..args(4096, 4096) };
        assert_eq!(Tile::choose(&unaligned, 1, 132, 232_448), Tile::SMALL);
    }

    #[test]
    fn long_groups_are_summed_in_pieces() {
        let of = |tile: Tile, groups: u32| {
            let g = GemmArgs { m: 256, n: 512, k: 32768, batch: groups, ..GemmArgs::default() };
            tile.piece(&g, 132, 1 << 16)
        };
        assert_eq!(
            [of(Tile::SIMT, 16), of(Tile::SIMT, 64), of(Tile::SMALL, 16), of(Tile::SMALL, 64)],
            [512, 1024, 1024, 1024]
        );
        assert_eq!(of(Tile::SMALL, 1 << 15), 0, "no memory for so many turns");
    }

    #[test]
    fn a_grid_that_can_not_be_counted_is_refused() {
        let grid = Tile::SMALL.grid(&args(65, 64), 3).expect("six blocks");
        let Grid::Blocks { blocks, .. } = grid else { panic!("{grid:?}") };
        assert_eq!(blocks, [6, 1, 1]);
        assert_eq!(Tile::SMALL.grid(&args(1 << 30, 1 << 30), 1), Err(GemmError::TooLarge));
    }
}
