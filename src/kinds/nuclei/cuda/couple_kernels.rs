//! Kernel declarations of the coupling sums, and their buffer sizes.

use super::layout::{DeviceStats, KernelParams, PopulationCounts};
use super::memory::TABLE;
use crate::{
    device_constants,
    gpu::{
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
};

kernels! {
    /// Sites, coupling sums over all pairs, and the order parameters.
    pub struct CoupleKernels in "nuclei/couple.cu" using [PopulationCounts, DeviceStats, KernelParams] with [TABLE, TILES] {
        /// Builds the site of every nucleus, one thread each. Items: nuclei.
        #[block(256)]
        fn build_sites as BuildSites(population: In<PopulationCounts>, stats: In<DeviceStats>, n_slots: Size<u32>, idx: In<u32>, fields: In<f32>, sites: InOut<f32>);

        /// One thread per nucleus reads all other nuclei from global memory: the reference. Items: pairs.
        #[block(256)]
        fn couple_naive as CoupleNaive(population: In<PopulationCounts>, sites: In<f32>, sums: InOut<f32>);

        /// One block per 1024 nuclei and chunk of the others, four nuclei per thread; bounded by one exponential per pair.
        /// Items: pairs.
        #[block(256)]
        fn couple_tiled as CoupleTiled(population: In<PopulationCounts>, sites: In<f32>, partials: InOut<f32>);

        /// Adds the partial sums of the chunks in order. Items: nuclei.
        #[block(256)]
        fn reduce_tiles as ReduceTiles(population: In<PopulationCounts>, sites: In<f32>, partials: In<f32>, sums: InOut<f32>);

        /// Sums of e^{iφ}, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_phasors as SumPhasors(population: In<PopulationCounts>, sites: In<f32>, parts: InOut<f64>);

        /// Mean-field coupling, J = 1. Items: nuclei.
        #[block(256)]
        fn couple_mean_field as CoupleMeanField(population: In<PopulationCounts>, sites: In<f32>, parts: In<f64>, sums: InOut<f32>);

        /// Coupling by a stored matrix J, one warp per nucleus; bounded by reading the matrix. Items: pairs.
        #[block(256)]
        fn couple_matrix as CoupleMatrix(population: In<PopulationCounts>, n_slots: Size<u32>, idx: In<u32>, matrix: In<f32>, sites: In<f32>, sums: InOut<f32>);

        /// Writes the transmitted phasors of one phase field into the sites. Items: nuclei.
        #[block(256)]
        fn send_field as SendField(population: In<PopulationCounts>, params: In<KernelParams>, field: Size<u32>, idx: In<u32>, fields: In<f32>, sites: InOut<f32>);

        /// Adds the sums of one phase field, weighted by G, to the sums of all fields. Items: nuclei.
        #[block(256)]
        fn mix_field as MixField(population: In<PopulationCounts>, params: In<KernelParams>, field: Size<u32>, mixing: In<f32>, sites: In<f32>, sums: In<f32>, mixed: InOut<f32>);

        /// Gathers the sums of one phase field. Items: nuclei.
        #[block(256)]
        fn gather_field as GatherField(population: In<PopulationCounts>, params: In<KernelParams>, field: Size<u32>, idx: In<u32>, fields: In<f32>, mixed: In<f32>, sites: InOut<f32>, sums: InOut<f32>);

        /// Writes S, d and R to the table; partial sums of the order parameters, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_order as SumOrder(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, sites: In<f32>, sums: In<f32>, fields: InOut<f32>, parts: InOut<f64>);

        /// One block: order parameters and tunnelling probabilities.
        #[block(256)]
        fn reduce_order as ReduceOrder(population: In<PopulationCounts>, params: In<KernelParams>, parts: In<f64>, stats: InOut<DeviceStats>);
    }
}

kernels! {
    /// The coupling sums in O(N log N).
    pub struct FastKernels in "nuclei/fast.cu" using [PopulationCounts] {
        /// Sorts 1024 sites by x. Items: nuclei.
        #[block(1024)]
        fn sort_blocks as SortBlocks(population: In<PopulationCounts>, sites: In<f32>, keys: InOut<u32>, by_x: InOut<u32>);

        /// Merges neighbouring sorted runs of 2^bits sites by x, one thread per site. Items: nuclei.
        #[block(256)]
        fn merge_by_x as MergeByX(population: In<PopulationCounts>, room: Size<u32>, bits: Size<u32>, from: Size<u32>, keys: InOut<u32>, by_x: InOut<u32>);

        /// Copies sites in order of x. Items: nuclei.
        #[block(256)]
        fn permute_sites as PermuteSites(population: In<PopulationCounts>, room: Size<u32>, from: Size<u32>, by_x: In<u32>, sites: In<f32>, sorted: InOut<f32>);

        /// Sorts by H within 256, 512 and 1024 sites, and stores ranks in the neighbouring half. Items: nuclei.
        #[block(1024)]
        fn sort_blocks_by_h as SortBlocksByH(population: In<PopulationCounts>, room: Size<u32>, sorted: In<f32>, keys: InOut<u32>, orders: InOut<u32>, ranks: InOut<u32>);

        /// Merges one level of larger halves by H. Items: nuclei.
        #[block(256)]
        fn merge_by_h as MergeByH(population: In<PopulationCounts>, room: Size<u32>, level: Size<u32>, keys: InOut<u32>, orders: InOut<u32>, ranks: InOut<u32>);

        /// Sums over all pairs within 256 neighbours in x. Items: pairs.
        #[block(64)]
        fn sum_near as SumNear(population: In<PopulationCounts>, sorted: In<f32>, near_sums: InOut<f32>);

        /// Prefix and suffix sums over 1024 sites of one level per block; bounded by writing 32 bytes per site and
        /// level. Items: sites and levels.
        #[block(512)]
        fn scan_far as ScanFar(population: In<PopulationCounts>, room: Size<u32>, sorted: In<f32>, orders: In<u32>, records: InOut<f32>, offsets: InOut<f32>);

        /// Sums of whole units before and after each unit, one warp per half and component.
        #[block(128)]
        fn scan_far_offsets as ScanFarOffsets(population: In<PopulationCounts>, room: Size<u32>, levels: Size<u32>, offsets: InOut<f32>);

        /// Every site reads the sums before and after it in the neighbouring half of every level; bounded by a random read
        /// of 32 bytes per site and level. Items: sites and levels.
        #[block(256)]
        fn gather_far as GatherFar(
            population: In<PopulationCounts>, room: Size<u32>, levels: Size<u32>, from: Size<u32>, by_x: In<u32>, sorted: In<f32>,
            ranks: In<u32>, records: In<f32>, offsets: In<f32>, near_sums: In<f32>, sums: InOut<f32>
        );
    }
}

/// Number of sites per block of `couple_tiled`.
const BLOCK_J: usize = 1024;

const TILES: &[Constant] = device_constants![BLOCK_J];

/// Returns the maximum number of work items of `couple_tiled` for up to `capacity` sites; see `cut_of` in `couple.cu`.
pub const fn tiled_items(capacity: usize) -> usize {
    let blocks = capacity.div_ceil(BLOCK_J);
    match blocks {
        0..=8 if blocks * capacity.div_ceil(64) < 264 => blocks * capacity.div_ceil(64),
        0..=8 => 264 + blocks,
        9..=32 => 528 + blocks,
        _ => 2112 + blocks,
    }
}

/// Returns the number of floats of partial sums for up to `capacity` sites.
pub const fn tiled_partials(capacity: usize) -> usize {
    3 * BLOCK_J * tiled_items(capacity)
}

/// Buffer sizes of the O(N log N) algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastSizes {
    /// Padded number of sites: a power of two, at least 1024.
    pub room: u32,
    /// Number of merge levels whose halves have 256 or more sites.
    pub levels: u32,
}

impl FastSizes {
    /// Computes the sizes for up to `capacity` sites.
    pub fn new(capacity: u32) -> Self {
        let room = capacity.next_power_of_two().max(1024);
        Self { room, levels: room.ilog2() - 8 }
    }

    /// Returns the index of the double buffer that holds the result of the sort by x.
    pub const fn sorted_side(self) -> u32 {
        (self.room.ilog2() - 10) % 2
    }

    /// Returns the number of words in `orders`. The additional level is written by the last merge within 1024 sites.
    pub const fn orders(self) -> usize {
        (self.levels as usize + 1) * self.room as usize
    }

    /// Returns the number of words in `ranks`.
    pub const fn ranks(self) -> usize {
        self.levels as usize * self.room as usize
    }

    /// Returns the number of floats in `records`.
    pub const fn records(self) -> usize {
        8 * self.ranks()
    }

    /// Returns the number of halves of all levels.
    pub const fn halves(self) -> usize {
        2 * (self.room as usize >> 8)
    }

    /// Returns the number of floats in `offsets`: one entry per unit of 1024 sites (or per half), and one after the last unit
    /// of each half.
    pub fn offsets(self) -> usize {
        let entries = |level: u32| {
            let half = 256_usize << level;
            (self.room as usize / half) * ((half / 1024).max(1) + 1)
        };
        8 * (0..self.levels).map(entries).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes `cut_of` of `couple.cu` on the host.
    fn items_of(n: usize) -> (usize, usize) {
        let blocks = n.div_ceil(1024);
        let with_details = if blocks <= 8 {
            264
        } else if blocks <= 32 {
            528
        } else {
            2112
        };
        let chunk = n.div_ceil(n.div_ceil(64).min(items_per_block(with_details, blocks))).next_multiple_of(32);
        (blocks, n.div_ceil(chunk))
    }

    fn items_per_block(with_details: usize, blocks: usize) -> usize {
        with_details.div_ceil(blocks)
    }

    #[test]
    fn partial_sums_fit() {
        for n in (1..5000).chain((5000..600_000).step_by(997)) {
            let (blocks, splits) = items_of(n);
            assert!(blocks * splits <= tiled_items(n), "{n}");
            assert!(3 * n * splits <= tiled_partials(n), "{n}");
            assert!(tiled_items(n) <= tiled_items(n + 1), "fewer than {n} fit, too");
        }
    }

    #[test]
    fn levels_reach_from_256_to_half_the_room() {
        assert_eq!(FastSizes::new(1), FastSizes { room: 1024, levels: 2 });
        assert_eq!(FastSizes::new(262_144), FastSizes { room: 262_144, levels: 10 });
        assert_eq!(FastSizes::new(262_145).levels, 11);
        assert_eq!((FastSizes::new(8192).sorted_side(), FastSizes::new(4096).sorted_side()), (1, 0));
        assert_eq!(FastSizes::new(1024).offsets(), 8 * (4 * 2 + 2 * 2));
        assert_eq!(FastSizes::new(4096).offsets(), 8 * (16 * 2 + 8 * 2 + 4 * 2 + 2 * 3));
    }
}
