//! The coupling of all phases, by either method, on buffers of its own.

use super::{
    couple::{Couple, Fast, FastSizes, tiled_items, tiled_partials},
    layout::{Census, Climate, Rules},
};
use crate::gpu::{Buf, Gpu, GpuError, Pass};
use std::sync::Arc;

/// How sums over all pairs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Pair by pair from global memory: the reference.
    Naive,
    /// Pair by pair.
    Tiled,
    /// Exact in O(N log N).
    Fast,
    /// All weights 1.
    MeanField,
    /// All weights from a table: [`Coupling::give`].
    Given,
}

/// From how many places on the O(N log N) form is taken: on an H200 it takes 46 us per generation and 18 us per sum for
/// 16,384 nuclei, where all pairs take 93 us per sum; for 4096 it takes 29 and 16 us against 13.
pub const FAST_FROM: u32 = 16_384;

impl Way {
    /// The quicker exact one for a table of this size. It depends on nothing else: both round differently.
    pub const fn quickest(capacity: u32) -> Self {
        if capacity >= FAST_FROM { Self::Fast } else { Self::Tiled }
    }
}

/// Memory of the O(N log N) form.
struct Sorted {
    kernels: Fast,
    sizes: FastSizes,
    keys: Buf<u32>,
    by_x: Buf<u32>,
    sites: Buf<f32>,
    orders: Buf<u32>,
    ranks: Buf<u32>,
    near: Buf<f32>,
    records: Buf<f32>,
    offsets: Buf<f32>,
}

impl Sorted {
    fn new(gpu: &Arc<Gpu>, capacity: u32) -> Result<Self, GpuError> {
        let sizes = FastSizes::new(capacity);
        let room = sizes.room as usize;
        Ok(Self {
            kernels: Fast::load(gpu)?,
            sizes,
            keys: Buf::zeros(gpu, "sort keys", 2 * room)?,
            by_x: Buf::zeros(gpu, "order by fitness", 2 * room)?,
            sites: Buf::zeros(gpu, "sorted sites", 4 * room)?,
            orders: Buf::zeros(gpu, "orders by entropy", sizes.orders())?,
            ranks: Buf::zeros(gpu, "ranks by entropy", sizes.ranks())?,
            near: Buf::zeros(gpu, "sums of neighbours", 4 * room)?,
            records: Buf::zeros(gpu, "prefix sums", sizes.records())?,
            offsets: Buf::zeros(gpu, "sums of units", sizes.offsets())?,
        })
    }

    /// Both orders, for these fitnesses and entropies.
    fn order(
        &mut self,
        pass: &mut Pass,
        capacity: u32,
        census: &Buf<Census>,
        sites: &Buf<f32>,
    ) -> Result<(), GpuError> {
        let (k, FastSizes { room, levels }) = (&self.kernels, self.sizes);
        k.sort_blocks(pass, capacity, census, sites, &mut self.keys, &mut self.by_x)?;
        for bits in 10..room.ilog2() {
            k.merge_x(pass, capacity, census, room, bits, bits % 2, &mut self.keys, &mut self.by_x)?;
        }
        self.sort(pass, capacity, census, sites)?;
        let (k, sorted) = (&self.kernels, &self.sites);
        let (keys, orders, ranks) = (&mut self.keys, &mut self.orders, &mut self.ranks);
        k.order_blocks(pass, capacity, census, room, sorted, keys, orders, ranks)?;
        for level in 2..levels {
            k.merge_h(pass, capacity, census, room, level, keys, orders, ranks)?;
        }
        Ok(())
    }

    fn sort(&mut self, pass: &mut Pass, capacity: u32, census: &Buf<Census>, sites: &Buf<f32>) -> Result<(), GpuError> {
        let FastSizes { room, .. } = self.sizes;
        let side = self.sizes.sorted_side();
        self.kernels.sort_sites(pass, capacity, census, room, side, &self.by_x, sites, &mut self.sites)
    }

    fn couple(
        &mut self,
        pass: &mut Pass,
        capacity: u32,
        census: &Buf<Census>,
        sums: &mut Buf<f32>,
    ) -> Result<(), GpuError> {
        let (k, FastSizes { room, levels }, side) = (&self.kernels, self.sizes, self.sizes.sorted_side());
        k.near(pass, capacity.div_ceil(4), census, &self.sites, &mut self.near)?;
        let (sorted, records, offsets) = (&self.sites, &mut self.records, &mut self.offsets);
        k.far_scan(pass, levels * room / 2, census, room, sorted, &self.orders, records, offsets)?;
        k.far_offsets(pass, 256 * self.sizes.halves() as u32, census, room, levels, offsets)?;
        let (by_x, ranks, near) = (&self.by_x, &self.ranks, &self.near);
        k.far_gather(pass, capacity, census, room, levels, side, by_x, sorted, ranks, records, offsets, near, sums)
    }

    fn n_bytes(&self) -> u64 {
        let words = self.keys.bytes() + self.by_x.bytes() + self.orders.bytes() + self.ranks.bytes();
        let numbers = self.sites.bytes() + self.near.bytes() + self.records.bytes() + self.offsets.bytes();
        words + numbers
    }
}

/// The coupling of up to `capacity` nuclei.
pub struct Coupling {
    /// Which method.
    pub way: Way,
    kernels: Couple,
    capacity: u32,
    /// Work items of `couple_tiled` launched; more wait in line.
    items: u32,
    sorted: Option<Sorted>,
    /// What the pairs see of each nucleus, in the order of the list of the living.
    pub sites: Buf<f32>,
    /// S, d and the local order of each, in the same order.
    pub sums: Buf<f32>,
    partials: Buf<f32>,
    parts: Buf<f64>,
    matrix: Buf<f32>,
}

impl Coupling {
    /// `blocks` is how many blocks work on pairs at once, if not as many as there are work items; it changes no bit.
    pub fn new(gpu: &Arc<Gpu>, capacity: u32, way: Way, blocks: Option<u32>) -> Result<Self, GpuError> {
        let places = capacity as usize;
        let partials = if way == Way::Tiled { tiled_partials(places) } else { 0 };
        Ok(Self {
            way,
            kernels: Couple::load(gpu)?,
            capacity,
            items: blocks.unwrap_or(tiled_items(places) as u32),
            sorted: if way == Way::Fast { Some(Sorted::new(gpu, capacity)?) } else { None },
            sites: Buf::zeros(gpu, "sites", 4 * places)?,
            sums: Buf::zeros(gpu, "coupling sums", 4 * places)?,
            partials: Buf::zeros(gpu, "partial sums", partials)?,
            parts: Buf::zeros(gpu, "sums of blocks", 5 * places.div_ceil(1024))?,
            matrix: Buf::zeros(gpu, "given coupling", if way == Way::Given { places * places } else { 0 })?,
        })
    }

    /// The weights of all pairs of places, row by row.
    pub fn give(&mut self, matrix: &[f64]) -> Result<(), GpuError> {
        let matrix: Vec<f32> = matrix.iter().map(|weight| *weight as f32).collect();
        self.matrix.write(&matrix)
    }

    /// Makes the sites of the living, for phases that have changed.
    pub fn place(
        &mut self,
        pass: &mut Pass,
        census: &Buf<Census>,
        climate: &Buf<Climate>,
        idx: &Buf<u32>,
        fields: &Buf<f32>,
    ) -> Result<(), GpuError> {
        self.kernels.place(pass, self.capacity, census, climate, self.capacity, idx, fields, &mut self.sites)
    }

    /// To be called when fitnesses or entropies have changed, before [`Coupling::couple`].
    pub fn order(&mut self, pass: &mut Pass, census: &Buf<Census>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.order(pass, self.capacity, census, &self.sites),
            None => Ok(()),
        }
    }

    /// To be called instead when only phases have changed.
    pub fn keep_order(&mut self, pass: &mut Pass, census: &Buf<Census>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.sort(pass, self.capacity, census, &self.sites),
            None => Ok(()),
        }
    }

    /// Sums over all pairs.
    pub fn couple(&mut self, pass: &mut Pass, census: &Buf<Census>, idx: &Buf<u32>) -> Result<(), GpuError> {
        let (k, n) = (&self.kernels, self.capacity);
        let (sites, sums) = (&self.sites, &mut self.sums);
        match (&mut self.sorted, self.way) {
            (Some(sorted), _) => sorted.couple(pass, n, census, sums),
            (None, Way::Naive) => k.couple_naive(pass, n, census, sites, sums),
            (None, Way::Given) => {
                let threads = n.saturating_mul(32);
                k.couple_given(pass, threads, census, n, idx, &self.matrix, sites, sums)
            }
            (None, Way::MeanField) => {
                k.sum_rotors(pass, n.div_ceil(4), census, sites, &mut self.parts)?;
                k.couple_meanfield(pass, n, census, sites, &self.parts, sums)
            }
            (None, _) => {
                k.couple_tiled(pass, 256 * self.items, census, sites, &mut self.partials)?;
                k.couple_reduce(pass, n, census, sites, &self.partials, sums)
            }
        }
    }

    /// The order of each, into the table, and of the whole.
    pub fn find_order(
        &mut self,
        pass: &mut Pass,
        census: &Buf<Census>,
        rules: &Buf<Rules>,
        idx: &Buf<u32>,
        fields: &mut Buf<f32>,
        climate: &mut Buf<Climate>,
    ) -> Result<(), GpuError> {
        let threads = self.capacity.div_ceil(4);
        self.kernels.sum_order(pass, threads, census, rules, idx, &self.sites, &self.sums, fields, &mut self.parts)?;
        self.kernels.find_order(pass, 1, census, rules, &self.parts, climate)
    }

    /// Levels of the O(N log N) form.
    pub fn levels(&self) -> u32 {
        self.sorted.as_ref().map_or(0, |s| s.sizes.levels)
    }

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        let own =
            self.sites.bytes() + self.sums.bytes() + self.partials.bytes() + self.parts.bytes() + self.matrix.bytes();
        own + self.sorted.as_ref().map_or(0, Sorted::n_bytes)
    }
}
