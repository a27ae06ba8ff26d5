//! Coupling sums on the device.

use super::{
    couple_kernels::{
        BuildSites, CoupleKernels, CoupleMatrix, CoupleMeanField, CoupleNaive, CoupleTiled, FastKernels, FastSizes,
        GatherFar, MergeByH, MergeByX, PermuteSites, ReduceOrder, ReduceTiles, ScanFar, ScanFarOffsets, SortBlocks,
        SortBlocksByH, SumNear, SumOrder, SumPhasors, tiled_items, tiled_partials,
    },
    layout::{DeviceStats, KernelParams, PopulationCounts},
};
use crate::gpu::{Buf, Gpu, GpuError, Pass};
use std::sync::Arc;

/// Algorithm of the coupling sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// All pairs from global memory: the reference.
    Naive,
    /// All pairs, in tiles.
    Tiled,
    /// Exact in O(N log N).
    Fast,
    /// J = 1.
    MeanField,
    /// J stored as a matrix: [`Coupling::set_matrix`].
    Matrix,
}

/// Number of slots from which the O(N log N) algorithm is used. On an H200 it takes 46 us per generation and 18 us per sum
/// for 16,384 nuclei, all pairs take 93 us per sum; for 4096 nuclei 29 and 16 us against 13 us.
pub const FAST_FROM: u32 = 16_384;

impl Algorithm {
    /// All algorithms by the names in manifests.
    const NAMED: [(&str, Self); 5] = [
        ("naive", Self::Naive),
        ("tiled", Self::Tiled),
        ("fast", Self::Fast),
        ("mean_field", Self::MeanField),
        ("matrix", Self::Matrix),
    ];

    /// The name in a manifest.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// An exact algorithm for any J, by its name.
    pub fn exact(name: &str) -> Option<Self> {
        let of_name = Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm);
        of_name.filter(|algorithm| matches!(algorithm, Self::Naive | Self::Tiled | Self::Fast))
    }

    /// The faster exact algorithm for a table of this size. It depends on the size only, because rounding differs.
    pub const fn fastest(capacity: u32) -> Self {
        if capacity >= FAST_FROM { Self::Fast } else { Self::Tiled }
    }
}

/// Buffers of the O(N log N) algorithm.
struct FastSums {
    kernels: FastKernels,
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

impl FastSums {
    fn new(gpu: &Arc<Gpu>, capacity: u32) -> Result<Self, GpuError> {
        let sizes = FastSizes::new(capacity);
        let room = sizes.room as usize;
        Ok(Self {
            kernels: FastKernels::load(gpu)?,
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

    /// Sorts by fitness and by entropy.
    fn order(
        &mut self,
        pass: &mut Pass,
        capacity: u32,
        population: &Buf<PopulationCounts>,
        sites: &Buf<f32>,
    ) -> Result<(), GpuError> {
        let (k, FastSizes { room, levels }) = (&self.kernels, self.sizes);
        SortBlocks { population, sites, keys: &mut self.keys, by_x: &mut self.by_x }.launch(k, pass, capacity)?;
        for bits in 10..room.ilog2() {
            MergeByX { population, room, bits, from: bits % 2, keys: &mut self.keys, by_x: &mut self.by_x }
                .launch(k, pass, capacity)?;
        }
        self.sort(pass, capacity, population, sites)?;
        let (k, sorted) = (&self.kernels, &self.sites);
        let (keys, orders, ranks) = (&mut self.keys, &mut self.orders, &mut self.ranks);
        SortBlocksByH { population, room, sorted, keys, orders, ranks }.launch(k, pass, capacity)?;
        for level in 2..levels {
            MergeByH { population, room, level, keys, orders, ranks }.launch(k, pass, capacity)?;
        }
        Ok(())
    }

    fn sort(
        &mut self,
        pass: &mut Pass,
        capacity: u32,
        population: &Buf<PopulationCounts>,
        sites: &Buf<f32>,
    ) -> Result<(), GpuError> {
        let FastSizes { room, .. } = self.sizes;
        let side = self.sizes.sorted_side();
        PermuteSites { population, room, from: side, by_x: &self.by_x, sites, sorted: &mut self.sites }.launch(
            &self.kernels,
            pass,
            capacity,
        )
    }

    fn couple(
        &mut self,
        pass: &mut Pass,
        capacity: u32,
        population: &Buf<PopulationCounts>,
        sums: &mut Buf<f32>,
    ) -> Result<(), GpuError> {
        let (k, FastSizes { room, levels }, side) = (&self.kernels, self.sizes, self.sizes.sorted_side());
        SumNear { population, sorted: &self.sites, near_sums: &mut self.near }.launch(k, pass, capacity.div_ceil(4))?;
        let (sorted, records, offsets) = (&self.sites, &mut self.records, &mut self.offsets);
        ScanFar { population, room, sorted, orders: &self.orders, records, offsets }.launch(
            k,
            pass,
            levels * room / 2,
        )?;
        ScanFarOffsets { population, room, levels, offsets }.launch(k, pass, 256 * self.sizes.halves() as u32)?;
        let (by_x, ranks, near) = (&self.by_x, &self.ranks, &self.near);
        GatherFar { population, room, levels, from: side, by_x, sorted, ranks, records, offsets, near_sums: near, sums }
            .launch(k, pass, capacity)
    }

    fn n_bytes(&self) -> u64 {
        let words = self.keys.bytes() + self.by_x.bytes() + self.orders.bytes() + self.ranks.bytes();
        let numbers = self.sites.bytes() + self.near.bytes() + self.records.bytes() + self.offsets.bytes();
        words + numbers
    }
}

/// Coupling sums of up to `capacity` nuclei.
pub struct Coupling {
    /// Algorithm.
    pub algorithm: Algorithm,
    kernels: CoupleKernels,
    capacity: u32,
    /// Blocks of `couple_tiled`; they loop over the work items.
    items: u32,
    sorted: Option<FastSums>,
    /// Site of each nucleus, in order of occupied slots.
    pub sites: Buf<f32>,
    /// S, d and local order of each nucleus, in the same order.
    pub sums: Buf<f32>,
    partials: Buf<f32>,
    parts: Buf<f64>,
    matrix: Buf<f32>,
}

impl Coupling {
    /// `blocks` is the number of blocks of `couple_tiled`, by default one per work item; results do not depend on it.
    pub fn new(gpu: &Arc<Gpu>, capacity: u32, algorithm: Algorithm, blocks: Option<u32>) -> Result<Self, GpuError> {
        let n_slots = capacity as usize;
        let partials = if algorithm == Algorithm::Tiled { tiled_partials(n_slots) } else { 0 };
        Ok(Self {
            algorithm,
            kernels: CoupleKernels::load(gpu)?,
            capacity,
            items: blocks.unwrap_or(tiled_items(n_slots) as u32),
            sorted: if algorithm == Algorithm::Fast { Some(FastSums::new(gpu, capacity)?) } else { None },
            sites: Buf::zeros(gpu, "sites", 4 * n_slots)?,
            sums: Buf::zeros(gpu, "coupling sums", 4 * n_slots)?,
            partials: Buf::zeros(gpu, "partial sums", partials)?,
            parts: Buf::zeros(gpu, "sums of blocks", 5 * n_slots.div_ceil(1024))?,
            matrix: Buf::zeros(
                gpu,
                "given coupling",
                if algorithm == Algorithm::Matrix { n_slots * n_slots } else { 0 },
            )?,
        })
    }

    /// Sets J of all pairs of slots, row by row.
    pub fn set_matrix(&mut self, matrix: &[f64]) -> Result<(), GpuError> {
        let matrix: Vec<f32> = matrix.iter().map(|weight| *weight as f32).collect();
        self.matrix.write(&matrix)
    }

    /// Builds the sites of all nuclei.
    pub fn build_sites(
        &mut self,
        pass: &mut Pass,
        population: &Buf<PopulationCounts>,
        stats: &Buf<DeviceStats>,
        idx: &Buf<u32>,
        fields: &Buf<f32>,
    ) -> Result<(), GpuError> {
        BuildSites { population, stats, n_slots: self.capacity, idx, fields, sites: &mut self.sites }.launch(
            &self.kernels,
            pass,
            self.capacity,
        )
    }

    /// Sorts the sites; call it after fitness or entropy changed, before [`Coupling::couple`].
    pub fn order(&mut self, pass: &mut Pass, population: &Buf<PopulationCounts>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.order(pass, self.capacity, population, &self.sites),
            None => Ok(()),
        }
    }

    /// Copies the sites in the known order; call it instead when only phases changed.
    pub fn keep_order(&mut self, pass: &mut Pass, population: &Buf<PopulationCounts>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.sort(pass, self.capacity, population, &self.sites),
            None => Ok(()),
        }
    }

    /// Computes the coupling sums.
    pub fn couple(
        &mut self,
        pass: &mut Pass,
        population: &Buf<PopulationCounts>,
        idx: &Buf<u32>,
    ) -> Result<(), GpuError> {
        let (k, n) = (&self.kernels, self.capacity);
        let (sites, sums) = (&self.sites, &mut self.sums);
        match (&mut self.sorted, self.algorithm) {
            (Some(sorted), _) => sorted.couple(pass, n, population, sums),
            (None, Algorithm::Naive) => CoupleNaive { population, sites, sums }.launch(k, pass, n),
            (None, Algorithm::Matrix) => {
                let threads = n.saturating_mul(32);
                CoupleMatrix { population, n_slots: n, idx, matrix: &self.matrix, sites, sums }.launch(k, pass, threads)
            }
            (None, Algorithm::MeanField) => {
                SumPhasors { population, sites, parts: &mut self.parts }.launch(k, pass, n.div_ceil(4))?;
                CoupleMeanField { population, sites, parts: &self.parts, sums }.launch(k, pass, n)
            }
            (None, _) => {
                CoupleTiled { population, sites, partials: &mut self.partials }.launch(k, pass, 256 * self.items)?;
                ReduceTiles { population, sites, partials: &self.partials, sums }.launch(k, pass, n)
            }
        }
    }

    /// Writes local orders to the table, and computes the order parameters.
    pub fn reduce_order(
        &mut self,
        pass: &mut Pass,
        population: &Buf<PopulationCounts>,
        kernel_params: &Buf<KernelParams>,
        idx: &Buf<u32>,
        fields: &mut Buf<f32>,
        stats: &mut Buf<DeviceStats>,
    ) -> Result<(), GpuError> {
        let threads = self.capacity.div_ceil(4);
        SumOrder {
            population,
            params: kernel_params,
            idx,
            sites: &self.sites,
            sums: &self.sums,
            fields,
            parts: &mut self.parts,
        }
        .launch(&self.kernels, pass, threads)?;
        ReduceOrder { population, params: kernel_params, parts: &self.parts, stats }.launch(&self.kernels, pass, 1)
    }

    /// Levels of the O(N log N) algorithm.
    pub fn levels(&self) -> u32 {
        self.sorted.as_ref().map_or(0, |s| s.sizes.levels)
    }

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        let own =
            self.sites.bytes() + self.sums.bytes() + self.partials.bytes() + self.parts.bytes() + self.matrix.bytes();
        own + self.sorted.as_ref().map_or(0, FastSums::n_bytes)
    }
}
