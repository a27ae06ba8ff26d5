//! Coupling by pairs: declarations, and how much of everything.

use super::layout::{Census, Climate, Rules};
use crate::{
    gpu::kernel::{In, InOut, Size},
    kernels,
};

kernels! {
    /// Sites, their coupling by all pairs, and the order of the whole.
    pub struct Couple in "nuclei/couple.cu" using [Census, Climate, Rules] {
        /// One thread per living nucleus: what its pairs see of it. Items: nuclei.
        #[block(256)]
        fn place(census: In<Census>, climate: In<Climate>, places: Size<u32>, idx: In<u32>, fields: In<f32>, sites: InOut<f32>);

        /// One thread per nucleus, all others from global memory. Items: pairs.
        #[block(256)]
        fn couple_naive(census: In<Census>, sites: In<f32>, sums: InOut<f32>);

        /// One block per 1024 nuclei and stretch of the others, four nuclei per thread; bounded by one exponential per
        /// pair. Items: pairs.
        #[block(256)]
        fn couple_tiled(census: In<Census>, sites: In<f32>, partials: InOut<f32>);

        /// Adds up the stretches in order. Items: nuclei.
        #[block(256)]
        fn couple_reduce(census: In<Census>, sites: In<f32>, partials: In<f32>, sums: InOut<f32>);

        /// Sums of the phase factors, 1024 per block. Items: nuclei.
        #[block(256)]
        fn sum_rotors(census: In<Census>, sites: In<f32>, parts: InOut<f64>);

        /// The coupling when all weights are 1. Items: nuclei.
        #[block(256)]
        fn couple_meanfield(census: In<Census>, sites: In<f32>, parts: In<f64>, sums: InOut<f32>);

        /// The coupling when a table gives it, one warp per nucleus; bounded by reading the table. Items: pairs.
        #[block(256)]
        fn couple_given(census: In<Census>, places: Size<u32>, idx: In<u32>, matrix: In<f32>, sites: In<f32>, sums: InOut<f32>);

        /// What one of several fields of phases sends, in place of the phases. Items: nuclei.
        #[block(256)]
        fn send_field(census: In<Census>, rules: In<Rules>, field: Size<u32>, idx: In<u32>, fields: In<f32>, sites: InOut<f32>);

        /// Adds what was coupled of one field to what all receive. Items: nuclei.
        #[block(256)]
        fn mix_field(census: In<Census>, rules: In<Rules>, field: Size<u32>, mixing: In<f32>, sites: In<f32>, sums: In<f32>, mixed: InOut<f32>);

        /// The sums one field receives. Items: nuclei.
        #[block(256)]
        fn hand_field(census: In<Census>, rules: In<Rules>, field: Size<u32>, idx: In<u32>, fields: In<f32>, mixed: In<f32>, sites: InOut<f32>, sums: InOut<f32>);

        /// Hands S, d and R to the table; sums for the order of the whole, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_order(census: In<Census>, rules: In<Rules>, idx: In<u32>, sites: In<f32>, sums: In<f32>, fields: InOut<f32>, parts: InOut<f64>);

        /// One block: the order of the whole, and what is likely with it.
        #[block(256)]
        fn find_order(census: In<Census>, rules: In<Rules>, parts: In<f64>, climate: InOut<Climate>);
    }
}

kernels! {
    /// The same coupling in O(N log N).
    pub struct Fast in "nuclei/fast.cu" using [Census] {
        /// Sorts 1024 sites by x. Items: nuclei.
        #[block(1024)]
        fn sort_blocks(census: In<Census>, sites: In<f32>, keys: InOut<u32>, by_x: InOut<u32>);

        /// Merges neighbouring sorted stretches of 2^bits sites by x, one thread per site. Items: nuclei.
        #[block(256)]
        fn merge_x(census: In<Census>, room: Size<u32>, bits: Size<u32>, from: Size<u32>, keys: InOut<u32>, by_x: InOut<u32>);

        /// Sites in x order. Items: nuclei.
        #[block(256)]
        fn sort_sites(census: In<Census>, room: Size<u32>, from: Size<u32>, by_x: In<u32>, sites: In<f32>, sorted: InOut<f32>);

        /// H order within 256, 512 and 1024 sites, and ranks in the neighbouring half. Items: nuclei.
        #[block(1024)]
        fn order_blocks(census: In<Census>, room: Size<u32>, sorted: In<f32>, keys: InOut<u32>, orders: InOut<u32>, ranks: InOut<u32>);

        /// The same for one level of larger halves. Items: nuclei.
        #[block(256)]
        fn merge_h(census: In<Census>, room: Size<u32>, level: Size<u32>, keys: InOut<u32>, orders: InOut<u32>, ranks: InOut<u32>);

        /// All pairs within 256 neighbours in x. Items: pairs.
        #[block(64)]
        fn near(census: In<Census>, sorted: In<f32>, near_sums: InOut<f32>);

        /// Prefix and suffix sums over 1024 sites of one level per block; bounded by writing 32 bytes per site and
        /// level. Items: sites and levels.
        #[block(512)]
        fn far_scan(census: In<Census>, room: Size<u32>, sorted: In<f32>, orders: In<u32>, records: InOut<f32>, offsets: InOut<f32>);

        /// Sums of whole units before and behind each, one warp per half and component.
        #[block(128)]
        fn far_offsets(census: In<Census>, room: Size<u32>, levels: Size<u32>, offsets: InOut<f32>);

        /// Every site reads the sum before and behind it in the neighbouring half of every level; bounded by 32 bytes
        /// at a random place per site and level. Items: sites and levels.
        #[block(256)]
        fn far_gather(
            census: In<Census>, room: Size<u32>, levels: Size<u32>, from: Size<u32>, by_x: In<u32>, sorted: In<f32>,
            ranks: In<u32>, records: In<f32>, offsets: In<f32>, near_sums: In<f32>, sums: InOut<f32>
        );
    }
}

/// Sites one block of `couple_tiled` works for.
const BLOCK_J: usize = 1024;

/// Most work items of `couple_tiled` for up to `capacity` sites: `cut_of` in `couple.cu` says how they are cut.
pub const fn tiled_items(capacity: usize) -> usize {
    let blocks = capacity.div_ceil(BLOCK_J);
    match blocks {
        0..=8 if blocks * capacity.div_ceil(64) < 264 => blocks * capacity.div_ceil(64),
        0..=8 => 264 + blocks,
        9..=32 => 528 + blocks,
        _ => 2112 + blocks,
    }
}

/// Floats of the partial sums.
pub const fn tiled_partials(capacity: usize) -> usize {
    3 * BLOCK_J * tiled_items(capacity)
}

/// Sizes of the O(N log N) form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastSizes {
    /// Places: a power of two, at least 1024.
    pub room: u32,
    /// Levels of halves of 256 and more.
    pub levels: u32,
}

impl FastSizes {
    /// For up to `capacity` sites.
    pub fn new(capacity: u32) -> Self {
        let room = capacity.next_power_of_two().max(1024);
        Self { room, levels: room.ilog2() - 8 }
    }

    /// Which half of the two-sided buffers of the x order holds the result.
    pub const fn sorted_side(self) -> u32 {
        (self.room.ilog2() - 10) % 2
    }

    /// Words of `orders`: one more level, which the last merge within 1024 writes when there is no larger one.
    pub const fn orders(self) -> usize {
        (self.levels as usize + 1) * self.room as usize
    }

    /// Words of `ranks`.
    pub const fn ranks(self) -> usize {
        self.levels as usize * self.room as usize
    }

    /// Floats of `records`.
    pub const fn records(self) -> usize {
        8 * self.ranks()
    }

    /// Halves of all levels together.
    pub const fn halves(self) -> usize {
        2 * (self.room as usize >> 8)
    }

    /// Floats of `offsets`: one entry per unit of 1024 (or per half) and one behind the last of each half.
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

    /// The rule of `cut_of` in `couple.cu`.
    fn items_of(n: usize) -> (usize, usize) {
        let blocks = n.div_ceil(1024);
        let wanted = if blocks <= 8 {
            264
        } else if blocks <= 32 {
            528
        } else {
            2112
        };
        let chunk = n.div_ceil(n.div_ceil(64).min(wanted_per(wanted, blocks))).next_multiple_of(32);
        (blocks, n.div_ceil(chunk))
    }

    fn wanted_per(wanted: usize, blocks: usize) -> usize {
        wanted.div_ceil(blocks)
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
