//! Coupling sums on the device.

use super::{
    couple_kernels::{
        BuildSites, CoupleKernels, CoupleMatrix, CoupleMeanField, CoupleNaive, CoupleTiled, FastKernels, FastSizes,
        GatherFar, MergeByH, MergeByX, PermuteSites, ReduceOrder, ReduceTiles, ScanFar, ScanFarOffsets, SortBlocks,
        SortBlocksByH, SumNear, SumOrder, SumPhasors, tiled_items, tiled_partials,
    },
    layout::{DeviceStats, KernelParams, PopulationCounts},
};
use crate::{
    buffers,
    gpu::{Buf, Gpu, GpuError, Pass},
    kinds::nuclei::task::Setup,
    sim::Buffers as _,
};
use std::sync::Arc;

/// Algorithm of the coupling sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// All pairs, from global memory: the reference.
    Naive,
    /// All pairs, in tiles in shared memory.
    Tiled,
    /// Exact in O(N log N).
    Fast,
    /// Mean field: J = 1.
    MeanField,
    /// J stored as a matrix: [`Coupling::set_matrix`].
    Matrix,
}

/// Minimum number of slots for the O(N log N) algorithm, measured on an H200.
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

    /// Returns the name of the algorithm in a manifest.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Returns the algorithm with this name; `None` if there is none or it is not exact for any J.
    pub fn exact(name: &str) -> Option<Self> {
        let of_name = Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm);
        of_name.filter(|algorithm| matches!(algorithm, Self::Naive | Self::Tiled | Self::Fast))
    }

    /// Returns the fastest exact algorithm for a table of this size. The choice depends only on the size, because rounding
    /// differs.
    pub const fn fastest(capacity: u32) -> Self {
        if capacity >= FAST_FROM { Self::Fast } else { Self::Tiled }
    }
}

buffers! {
    /// Buffers of the O(N log N) algorithm.
    pub struct FastSums(gpu: Arc<Gpu>, s: FastSizes) {
        "coupling" {
            /// Sort keys, in two halves.
            keys: Buf<u32> = Workspace "sort keys" [2, s.room as usize];
            /// Sites in order of fitness, in two halves.
            by_x: Buf<u32> = Workspace "order by fitness" [2, s.room as usize];
            /// Sites sorted by fitness.
            sites: Buf<f32> = Workspace "sorted sites" [s.room as usize, 4];
            /// Sites in order of entropy, by level.
            orders: Buf<u32> = Workspace "orders by entropy" s.orders();
            /// Ranks by entropy, by level.
            ranks: Buf<u32> = Workspace "ranks by entropy" s.ranks();
            /// Sums over neighbours in order of fitness.
            near: Buf<f32> = Workspace "sums of neighbours" [s.room as usize, 4];
            /// Prefix sums in order of entropy.
            records: Buf<f32> = Workspace "prefix sums" s.records();
            /// Sums over units of 1024 sites.
            offsets: Buf<f32> = Workspace "sums of units" s.offsets();
        }
        plain {
            kernels: FastKernels = FastKernels::load(gpu)?;
            /// Sizes of the buffers.
            sizes: FastSizes = *s;
        }
    }
}

impl FastSums {
    /// Sorts the sites by fitness and by entropy.
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
}

/// Buffer sizes of a [`Coupling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CouplingSizes {
    /// Number of slots.
    pub n_slots: usize,
    pub algorithm: Algorithm,
    /// Number of blocks of `couple_tiled`; `None`: one per work item. Results do not depend on the number.
    pub blocks: Option<u32>,
}

impl CouplingSizes {
    fn fast(&self) -> Option<FastSizes> {
        (self.algorithm == Algorithm::Fast).then(|| FastSizes::new(self.n_slots as u32))
    }

    fn partials(&self) -> usize {
        if self.algorithm == Algorithm::Tiled { tiled_partials(self.n_slots) } else { 0 }
    }

    fn matrix(&self) -> [usize; 2] {
        if self.algorithm == Algorithm::Matrix { [self.n_slots; 2] } else { [0; 2] }
    }
}

buffers! {
    /// Coupling sums of up to `n_slots` nuclei.
    pub struct Coupling(gpu: Arc<Gpu>, s: CouplingSizes) {
        "coupling" {
            /// Site of each nucleus, in order of occupied slots.
            pub sites: Buf<f32> = Workspace "sites" [s.n_slots, 4];
            /// S, d and local order of each nucleus, in order of occupied slots.
            pub sums: Buf<f32> = Workspace "coupling sums" [s.n_slots, 4];
            /// Partial sums of the tiles.
            partials: Buf<f32> = Workspace "partial sums" s.partials();
            /// Sums over blocks of 1024 sites.
            parts: Buf<f64> = Workspace "sums of blocks of sites" [s.n_slots.div_ceil(1024), 5];
            /// J, if given as a matrix.
            matrix: Buf<f32> = Derived "given coupling" s.matrix();
        }
        groups {
            /// Buffers of the O(N log N) algorithm, if it is used.
            sorted: Option<FastSums> = s.fast();
        }
        plain {
            pub algorithm: Algorithm = s.algorithm;
            kernels: CoupleKernels = CoupleKernels::load(gpu)?;
            /// Maximum number of nuclei.
            capacity: u32 = s.n_slots as u32;
            /// Number of blocks of `couple_tiled`; they loop over the work items.
            items: u32 = s.blocks.unwrap_or(tiled_items(s.n_slots) as u32);
        }
    }
}

impl Coupling {
    /// Allocates the buffers. `blocks` is the number of blocks of `couple_tiled`, by default one per work item; results
    /// do not depend on it. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, capacity: u32, algorithm: Algorithm, blocks: Option<u32>) -> Result<Self, GpuError> {
        Self::allocate(gpu, &CouplingSizes { n_slots: capacity as usize, algorithm, blocks })
    }

    /// Writes the coupling matrix of a setup if the algorithm reads one. Fails if the device fails.
    pub fn fill(&mut self, setup: &Setup) -> Result<(), GpuError> {
        match (&setup.matrix, self.algorithm) {
            (Some(matrix), Algorithm::Matrix) => self.set_matrix(matrix),
            _ => Ok(()),
        }
    }

    /// Sets J of all pairs of slots, row by row. Fails if the device fails.
    pub fn set_matrix(&mut self, matrix: &[f64]) -> Result<(), GpuError> {
        let matrix: Vec<f32> = matrix.iter().map(|weight| *weight as f32).collect();
        self.matrix.write(&matrix)
    }

    /// Builds the sites of all nuclei. Fails if the device fails.
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

    /// Sorts the sites. Must be called after fitness or entropy changed, before [`Coupling::couple`]. Fails if the
    /// device fails.
    pub fn order(&mut self, pass: &mut Pass, population: &Buf<PopulationCounts>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.order(pass, self.capacity, population, &self.sites),
            None => Ok(()),
        }
    }

    /// Copies the sites in the existing order. Replaces [`Coupling::order`] if only phases changed. Fails if the device
    /// fails.
    pub fn keep_order(&mut self, pass: &mut Pass, population: &Buf<PopulationCounts>) -> Result<(), GpuError> {
        match &mut self.sorted {
            Some(sorted) => sorted.sort(pass, self.capacity, population, &self.sites),
            None => Ok(()),
        }
    }

    /// Computes the coupling sums. Fails if the device fails.
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

    /// Writes local orders to the table, and computes the order parameters. Fails if the device fails.
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

    /// Returns the number of levels of the O(N log N) algorithm.
    pub fn levels(&self) -> u32 {
        self.sorted.as_ref().map_or(0, |s| s.sizes.levels)
    }
}
