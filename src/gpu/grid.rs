//! The launch grid of a kernel.

use cudarc::driver::LaunchConfig;

/// Blocks, threads per block, and shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Number of threads in one dimension, rounded up to blocks of the declared size.
    Threads(u32),
    /// Blocks in up to three dimensions, with a block size chosen at run time.
    Blocks {
        /// Number of blocks in x, y, z.
        blocks: [u32; 3],
        /// Threads of each block in x, y, z; their product is at most the declared size.
        threads: [u32; 3],
        /// Dynamic shared memory of each block, bytes: `extern __shared__`. More than 48 KiB is reserved at the first launch.
        shared_bytes: u32,
    },
    /// Blocks that synchronise across the grid and must all be resident: see
    /// [`Kernel::fits_at_once`](super::Kernel::fits_at_once).
    Cooperative {
        /// Number of blocks.
        blocks: u32,
        /// Threads per block, at most the declared number.
        block: u32,
        /// Dynamic shared memory per block, bytes.
        shared_bytes: u32,
    },
}

impl From<u32> for Grid {
    fn from(threads: u32) -> Self {
        Self::Threads(threads)
    }
}

impl Grid {
    /// Returns a grid with enough blocks of `threads` threads to cover `extent` cells in x, y, z, with one thread per cell.
    pub fn covering(extent: [u32; 3], threads: [u32; 3]) -> Self {
        let blocks = std::array::from_fn(|i| extent[i].div_ceil(threads[i].max(1)).max(1));
        Self::Blocks { blocks, threads, shared_bytes: 0 }
    }

    /// Sets the dynamic shared memory per block, bytes. Has no effect on [`Grid::Threads`].
    #[must_use]
    pub fn with_shared(mut self, bytes: u32) -> Self {
        if let Self::Blocks { shared_bytes, .. } | Self::Cooperative { shared_bytes, .. } = &mut self {
            *shared_bytes = bytes;
        }
        self
    }

    pub(super) fn config(self, declared: u32) -> LaunchConfig {
        let (blocks, threads, shared_mem_bytes) = match self {
            Self::Threads(threads) => ([threads.div_ceil(declared).max(1), 1, 1], [declared, 1, 1], 0),
            Self::Blocks { blocks, threads, shared_bytes } => (blocks, threads, shared_bytes),
            Self::Cooperative { blocks, block, shared_bytes } => ([blocks, 1, 1], [block, 1, 1], shared_bytes),
        };
        LaunchConfig { grid_dim: blocks.into(), block_dim: threads.into(), shared_mem_bytes }
    }
}

/// Returns the number of threads per block of a launch.
pub(super) fn block_of(config: &LaunchConfig) -> u32 {
    let (x, y, z) = config.block_dim;
    x.saturating_mul(y).saturating_mul(z)
}

/// Returns the number of threads of a whole launch.
pub(super) fn threads_of(config: &LaunchConfig) -> u32 {
    let (x, y, z) = config.grid_dim;
    x.saturating_mul(y).saturating_mul(z).saturating_mul(block_of(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_covers_what_it_is_asked_to() {
        let config = Grid::from(1000).config(256);
        assert_eq!((config.grid_dim, config.block_dim, threads_of(&config)), ((4, 1, 1), (256, 1, 1), 1024));
        assert_eq!(Grid::from(0).config(256).grid_dim, (1, 1, 1));
        let config = Grid::covering([100, 7, 3], [32, 4, 1]).config(128);
        assert_eq!((config.grid_dim, config.block_dim, block_of(&config)), ((4, 2, 3), (32, 4, 1), 128));
        let config = Grid::Cooperative { blocks: 3, block: 64, shared_bytes: 9 }.config(128);
        assert_eq!((config.grid_dim, config.block_dim, config.shared_mem_bytes), ((3, 1, 1), (64, 1, 1), 9));
    }
}
