//! Launch grids of kernels that allow any block size, chosen from occupancy and problem size.
//!
//! The occupancy API returns how many blocks of a size are resident on a multiprocessor. Among the sizes with the highest
//! occupancy the smallest is chosen, because smaller blocks leave fewer threads idle at the end. Problems too small to give
//! every multiprocessor a block get smaller blocks. [`BlockSize::Threads`] overrides the choice; results stay equal within the
//! rounding of their sums.
//!
//! Kernels whose blocks share no work get one block per part of the problem, because the device balances them better than a
//! persistent grid does.

use super::{GpuError, Grid, Kernel, error::Doing as _};

/// Threads per block of a kernel that allows any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockSize {
    /// Block size chosen from occupancy and problem size.
    #[default]
    Automatic,
    /// Fixed number, rounded up to whole warps and limited to the kernel's maximum.
    Threads(u32),
}

/// Threads per warp.
const WARP: u32 = 32;
/// Maximum number of rows per multiprocessor at which a row gets one thread per pack.
const FEW: u64 = 4;
/// Block sizes among which occupancy chooses.
const SIZES: [u32; 4] = [128, 256, 512, 1024];

/// Grid that fills a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Threads per block.
    pub block: u32,
    /// Resident blocks on the whole device.
    pub blocks: u32,
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Maximum number of threads per block.
    pub most: u32,
}

impl From<u32> for BlockSize {
    /// Converts a parameter, of which 0 means automatic.
    fn from(threads: u32) -> Self {
        if threads == 0 { Self::Automatic } else { Self::Threads(threads) }
    }
}

impl Fill {
    /// Returns a grid with one thread per item.
    fn items(self, items: u64, size: BlockSize) -> Grid {
        let block = self.block_of_items(items, size);
        Self::grid(items.div_ceil(block.into()).max(1), [block, 1, 1])
    }

    /// Returns a persistent grid: at most the resident blocks, whose threads loop over items.
    fn turns(self, items: u64, size: BlockSize) -> Grid {
        let block = self.block_of_items(items, size);
        let resident = u64::from(self.blocks) * u64::from(self.block) / u64::from(block);
        Self::grid(items.div_ceil(block.into()).clamp(1, resident.max(1)), [block, 1, 1])
    }

    fn block_of_items(self, items: u64, size: BlockSize) -> u32 {
        match size {
            BlockSize::Threads(threads) => self.allowed(threads),
            BlockSize::Automatic => {
                // Smaller blocks start too slowly for short work. The size is halved until every multiprocessor has a
                // block.
                let mut block = self.block.max(self.most.min(256));
                while block > 2 * WARP && items.div_ceil(block.into()) < self.multiprocessors.into() {
                    block /= 2;
                }
                block
            }
        }
    }

    /// Returns a grid with one warp per row and several rows per block if a warp suffices for a row, where a thread handles at
    /// most `kept` packs; otherwise a grid with one block per row. If there are few rows, which leave most of the device idle,
    /// a thread handles one pack.
    fn rows(self, rows: u64, packs: u64, kept: u32, size: BlockSize) -> Grid {
        let threads = match size {
            BlockSize::Threads(threads) => [self.allowed(threads), 1, 1],
            BlockSize::Automatic => {
                let kept = if rows <= u64::from(self.multiprocessors) * FEW { 1 } else { u64::from(kept) };
                let wanted = packs.div_ceil(kept).next_multiple_of(WARP.into()).min(self.most.into()) as u32;
                if wanted <= WARP {
                    // A block has fewer rows if there are not enough rows for all multiprocessors.
                    let mut side = self.block / WARP;
                    while side > 1 && rows.div_ceil(side.into()) < self.multiprocessors.into() {
                        side /= 2;
                    }
                    [WARP, side, 1]
                } else {
                    [wanted, 1, 1]
                }
            }
        };
        Self::grid(rows.div_ceil(threads[1].into()).max(1), threads)
    }

    fn allowed(self, threads: u32) -> u32 {
        threads.clamp(1, self.most).next_multiple_of(WARP).min(self.most / WARP * WARP).max(WARP)
    }

    fn grid(blocks: u64, threads: [u32; 3]) -> Grid {
        Grid::Blocks { blocks: [blocks.min(i32::MAX as u64) as u32, 1, 1], threads, shared_bytes: 0 }
    }
}

impl Kernel {
    /// Returns the grid that fills the device, without dynamic shared memory; computed once. Fails if the driver cannot report
    /// the occupancy.
    pub fn fill(&self) -> Result<Fill, GpuError> {
        if let Some(fill) = self.fill.get() {
            return Ok(*fill);
        }
        let mut best = (SIZES[0].min(self.spec.block), 0);
        for block in SIZES.into_iter().filter(|block| *block <= self.spec.block) {
            let blocks = self.function.occupancy_max_active_blocks_per_multiprocessor(block, 0, None);
            let blocks = blocks.doing(|| format!("asking for the occupancy of {}", self.spec.name))?;
            if block * blocks > best.0 * best.1 {
                best = (block, blocks);
            }
        }
        let (block, blocks) = (best.0, best.1.max(1) * self.gpu.multiprocessors);
        let fill = Fill { block, blocks, multiprocessors: self.gpu.multiprocessors, most: self.spec.block };
        Ok(*self.fill.get_or_init(|| fill))
    }

    /// Returns a grid for a kernel with one thread per item.
    pub fn grid_of_items(&self, items: u64, size: BlockSize) -> Result<Grid, GpuError> {
        Ok(self.fill()?.items(items, size))
    }

    /// Returns a persistent grid for a kernel whose blocks do work besides their items: the resident blocks loop over items.
    pub fn grid_of_turns(&self, items: u64, size: BlockSize) -> Result<Grid, GpuError> {
        Ok(self.fill()?.turns(items, size))
    }

    /// Returns a grid for a kernel with `blockDim.x` threads per row and `blockDim.y` rows per block. A row has `packs` vector
    /// accesses, of which a thread keeps `kept` in registers.
    pub fn grid_of_rows(&self, rows: u64, packs: u64, kept: u32, size: BlockSize) -> Result<Grid, GpuError> {
        Ok(self.fill()?.rows(rows, packs, kept, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Fill = Fill { block: 256, blocks: 8 * 132, multiprocessors: 132, most: 1024 };

    fn shape(grid: Grid) -> (u32, [u32; 3]) {
        let Grid::Blocks { blocks, threads, shared_bytes: 0 } = grid else { panic!("{grid:?}") };
        (blocks[0], threads)
    }

    #[test]
    fn a_grid_covers_its_items() {
        let of = |items, size| shape(H200.items(items, size));
        assert_eq!(of(0, BlockSize::Automatic), (1, [64, 1, 1]));
        assert_eq!(of(1, BlockSize::Automatic), (1, [64, 1, 1]));
        assert_eq!(of(132 * 256, BlockSize::Automatic), (132, [256, 1, 1]));
        assert_eq!(of(132 * 128, BlockSize::Automatic), (132, [128, 1, 1]));
        assert_eq!(of(1 << 30, BlockSize::Automatic), (1 << 22, [256, 1, 1]));
        assert_eq!(of(u64::MAX, BlockSize::Automatic), (i32::MAX.unsigned_abs(), [256, 1, 1]));
        assert_eq!(of(1000, BlockSize::Threads(33)), (16, [64, 1, 1]));
    }

    #[test]
    fn a_grid_of_turns_is_never_larger_than_the_device() {
        let of = |items, size| shape(H200.turns(items, size));
        assert_eq!(of(1, BlockSize::Automatic), (1, [64, 1, 1]));
        assert_eq!(of(1 << 40, BlockSize::Automatic), (8 * 132, [256, 1, 1]));
        assert_eq!(of(1 << 40, BlockSize::Threads(1024)), (2 * 132, [1024, 1, 1]));
    }

    #[test]
    fn threads_of_a_row_follow_its_length() {
        let of = |rows, packs, size| shape(H200.rows(rows, packs, 2, size));
        assert_eq!(of(65_536, 48, BlockSize::Automatic), (8192, [32, 8, 1]));
        assert_eq!(of(600, 48, BlockSize::Automatic), (150, [32, 4, 1]));
        assert_eq!(of(132, 48, BlockSize::Automatic), (132, [64, 1, 1]));
        assert_eq!(of(4, 128, BlockSize::Automatic), (4, [128, 1, 1]));
        assert_eq!(of(4, 16, BlockSize::Automatic), (4, [32, 1, 1]));
        assert_eq!(of(65_536, 96, BlockSize::Automatic), (65_536, [64, 1, 1]));
        assert_eq!(of(10, 1 << 30, BlockSize::Automatic), (10, [1024, 1, 1]));
        assert_eq!(of(0, 0, BlockSize::Automatic), (1, [32, 1, 1]));
        for threads in 1..=2000 {
            let (_, [x, y, _]) = of(10, 10, BlockSize::Threads(threads));
            assert!(x.is_multiple_of(32) && (32..=1024).contains(&x) && y == 1, "{threads}: {x}");
        }
    }

    #[test]
    fn zero_is_automatic() {
        assert_eq!([0, 96].map(BlockSize::from), [BlockSize::Automatic, BlockSize::Threads(96)]);
    }
}
