//! Records of experts and edits of parameters on a GPU, by the kernels of `kernels/synaptic/life.cu`.

use super::{Edit, ExpertArrays, ExpertRecord, edits::Normals, score::SHORTEST};
use crate::{
    device_constants, device_struct,
    gpu::{
        Frame, Gpu, GpuError, Grid, Pass, Slice,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    kinds::{
        language::backend::MAX_WAITING_STEPS,
        synaptic::experts::cuda::{CONTRIBUTION, COUNT, STATISTICS, StepTokens},
    },
    nn::{
        lengths,
        optimizer::cuda::{Buffers, CudaOptimizer},
    },
};
use std::{ops::Range, sync::Arc};

pub use crate::kinds::language::cuda::kernels::StepParams;

/// Number of steps in the ring of records.
pub const MAX_RECORDS: usize = MAX_WAITING_STEPS;

const CONSTANTS: &[Constant] = device_constants![MAX_RECORDS, STATISTICS, CONTRIBUTION, COUNT, SHORTEST];

device_struct! {
    /// Sizes of a measurement of the specialization.
    pub struct SpecializationArgs {
        /// Tokens of the measured sequence
        tokens: u32,
        /// Components of a token
        width: u32,
        /// Experts per token
        top_k: u32,
        /// Slots of experts of all layers
        experts: u32,
        /// First slot of the layer
        first: u32,
    }
}

device_struct! {
    /// Parameters that get noise, and the place of its draws.
    pub struct NoiseArgs {
        /// Seed of the project
        seed: u64,
        /// Step of the draws
        step: u64,
        /// First parameter that gets noise
        start: u64,
        /// Parameters that get noise
        n: u64,
        /// Purpose of the draws
        purpose: u32,
        /// Lane of the first draw
        first_lane: u32,
    }
}

kernels! {
    /// Scores and edits of experts.
    pub struct LifeKernels in "synaptic/life.cu"
        using [ExpertRecord, StepParams, StepTokens, SpecializationArgs, NoiseArgs] with [CONSTANTS]
    {
        /// One thread per expert of all layers: its record of the step. Items: experts.
        #[block(256)]
        fn record_experts as RecordExperts(
            experts: Size<u32>, params: In<StepParams>, step: In<StepTokens>, statistics: In<f64>,
            records: InOut<ExpertRecord>
        );

        /// One block per expert of a layer: its specialization, in the record of the last step.
        #[block(256)]
        fn measure_specialization as MeasureSpecialization(
            a: Size<SpecializationArgs>, params: In<StepParams>, x: In<f32>, indices: In<u32>,
            records: InOut<ExpertRecord>
        );

        /// An element per thread: weighted means of two ranges of parameters with their state.
        #[block(256)]
        fn mix_range as MixRange(
            alpha: Size<f64>, from: Size<u64>, to: Size<u64>, n: Size<u64>, params: InOut<f32>, means: InOut<f32>,
            squares: InOut<f32>
        );

        /// One thread per number: adds numbers to parameters.
        #[block(256)]
        fn add_numbers as AddNumbers(start: Size<u64>, n: Size<u32>, numbers: In<f32>, params: InOut<f32>);

        /// One block: the standard deviation of a range of parameters, times a factor.
        #[block(1024)]
        fn measure_spread as MeasureSpread(
            factor: Size<f64>, start: Size<u64>, n: Size<u64>, params: In<f32>, spread: InOut<f64>
        );

        /// One block per expert of a layer: adds the sum of its part of an array to its sum.
        #[block(256)]
        fn sum_parts as SumParts(start: Size<u64>, len: Size<u64>, values: In<f32>, sums: InOut<f64>);

        /// Four elements per thread: adds noise to a range of parameters.
        #[block(256)]
        fn add_noise as AddNoise(a: Size<NoiseArgs>, spread: In<f64>, params: InOut<f32>);
    }
}

/// Tokens of a sequence with the experts that they selected in a layer.
#[derive(Clone, Copy)]
pub struct Served<'a> {
    /// Inputs of the experts, `[N, C]`.
    pub x: &'a Slice<f32>,
    /// Selected experts, `[N, k]`.
    pub indices: &'a Slice<u32>,
    /// Number of experts per token.
    pub top_k: usize,
    /// Range of the layer's slots among those of all layers.
    pub slots: &'a Range<usize>,
}

/// Operations of the life cycle on one device.
pub struct CudaLife {
    kernels: LifeKernels,
}

impl CudaLife {
    /// Loads the kernels of the life cycle. Fails if they cannot be compiled or loaded.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { kernels: LifeKernels::load(gpu)? })
    }

    /// Records a step from the statistics of all experts (`[L, E, 32]`). Fails if a launch fails.
    pub fn record(
        &self,
        pass: &mut Pass,
        params: &Slice<StepParams>,
        step: &Slice<StepTokens>,
        statistics: &Slice<f64>,
        records: &mut Slice<ExpertRecord>,
    ) -> Result<(), GpuError> {
        let experts = records.len() / MAX_RECORDS;
        lengths::check([("the statistics of experts", &[experts, STATISTICS], statistics.len())])?;
        let experts = experts as u32;
        RecordExperts { experts, params, step, statistics, records }.launch(&self.kernels, pass, experts)
    }

    /// Adds the specialization of the experts of a layer to the records of the last step. Fails if a launch fails.
    pub fn measure_specialization(
        &self,
        pass: &mut Pass,
        params: &Slice<StepParams>,
        served: Served<'_>,
        records: &mut Slice<ExpertRecord>,
    ) -> Result<(), GpuError> {
        let Served { x, indices, top_k, slots } = served;
        let tokens = indices.len() / top_k.max(1);
        let width = x.len() / tokens.max(1);
        lengths::check([
            ("selected experts", &[tokens, top_k], indices.len()),
            ("inputs of experts", &[tokens, width], x.len()),
        ])?;
        let a = SpecializationArgs {
            tokens: tokens as u32,
            width: width as u32,
            top_k: top_k as u32,
            experts: (records.len() / MAX_RECORDS) as u32,
            first: slots.start as u32,
        };
        let grid = Grid::Blocks { blocks: [slots.len() as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        MeasureSpecialization { a, params, x, indices, records }.launch(&self.kernels, pass, grid)
    }

    /// Returns the mean square gradients of the `slots` experts of a layer, as
    /// [`gradient_utility`](super::slots::gradient_utility) computes them. Fails if a launch fails.
    pub fn gradient_utility(
        &self,
        pass: &mut Pass,
        arrays: &ExpertArrays,
        slots: usize,
        squares: &Slice<f32>,
        frame: &Frame<'_>,
    ) -> Result<Vec<f64>, GpuError> {
        let mut sums = frame.take::<f64>("sums of second moments", slots)?;
        sums.write(&vec![0.0; slots])?;
        for array in &arrays.weights {
            let end = array.range(slots).start;
            if end > squares.len() {
                return Err(GpuError::Length { what: squares.what, device: squares.len(), host: end });
            }
            let grid = Grid::Blocks { blocks: [slots as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
            let (start, len) = (array.start as u64, array.len as u64);
            SumParts { start, len, values: squares, sums: &mut sums }.launch(&self.kernels, pass, grid)?;
        }
        Ok(sums.read()?.into_iter().map(|sum| sum / arrays.n_weights() as f64).collect())
    }

    /// Applies an edit, as [`Edit::apply`] does on the CPU. Fails if a range is invalid or a launch fails.
    pub fn edit(
        &self,
        pass: &mut Pass,
        optimizer: &CudaOptimizer,
        edit: &Edit,
        to: &mut Buffers<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        let (end, host) = (to.params.len(), edit.end());
        if host > end {
            return Err(GpuError::Length { what: to.params.what, device: end, host });
        }
        match edit {
            Edit::Clear(range) => optimizer.mask_range(pass, to, range.clone()),
            Edit::Copy { from, to: first } => optimizer.copy_range(pass, to, from.clone(), *first),
            Edit::Mix { from, to: first, alpha } => {
                let (alpha, n, first) = (*alpha, from.len() as u64, *first as u64);
                let Buffers { params, means, squares, .. } = to;
                MixRange { alpha, from: from.start as u64, to: first, n, params, means, squares }.launch(
                    &self.kernels,
                    pass,
                    covering(from.len()),
                )
            }
            Edit::Add { start, values } => {
                let frame = frame.frame();
                let mut numbers = frame.take::<f32>("numbers added to parameters", values.len())?;
                numbers.write(&values.iter().map(|x| *x as f32).collect::<Vec<_>>())?;
                let (start, n) = (*start as u64, values.len() as u32);
                AddNumbers { start, n, numbers: &numbers, params: &mut *to.params }.launch(&self.kernels, pass, n)
            }
            Edit::Noise { range, relative, normals } => {
                self.add_noise(pass, range, (*relative, normals), &mut *to.params, &frame.frame())
            }
        }
    }

    fn add_noise(
        &self,
        pass: &mut Pass,
        range: &Range<usize>,
        (factor, normals): (f64, &Normals),
        params: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        let mut spread = frame.take::<f64>("spread of parameters", 1)?;
        let (start, n) = (range.start as u64, range.len() as u64);
        let one = Grid::Blocks { blocks: [1, 1, 1], threads: [1024, 1, 1], shared_bytes: 0 };
        MeasureSpread { factor, start, n, params: &*params, spread: &mut spread }.launch(&self.kernels, pass, one)?;
        let Normals { seed, purpose, step, first_lane } = *normals;
        let a = NoiseArgs { seed, step, start, n, purpose: purpose as u32, first_lane };
        AddNoise { a, spread: &spread, params }.launch(&self.kernels, pass, covering(range.len().div_ceil(4)))
    }
}

/// Returns a grid with a thread per item. Above 2^24 items, each thread loops over several.
fn covering(n: usize) -> Grid {
    let blocks = n.div_ceil(256).clamp(1, 1 << 16) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}
