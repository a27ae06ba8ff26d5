//! Optimisers on a GPU: values that change between updates are read from device memory, and no call waits for the host, so that
//! an update can be part of a captured step.
//!
//! Order of the calls: [`CudaOptimizer::begin`] (norm, whether the update is applied, loss scale), [`CudaOptimizer::adamw`],
//! [`CudaOptimizer::muon`]. Given the same factor of the gradient, an update is bitwise equal to [`cpu`](super::cpu); the norm is
//! summed in another order, in two stages of fixed shape.

mod kernels;

pub use kernels::{OptimizerKernels, OptimizerRule, OptimizerSettings, OptimizerState};

use super::{LossScaler, MatrixRun, NEWTON_SCHULZ, ParameterGroups, muon_factor};
use crate::{
    gpu::{Any, AnyMut, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice},
    nn::{
        gemm::{
            Epilogue, Gemm, Layout,
            cuda::{CudaGemm, CudaGemmError, Options},
        },
        parameters::ParameterMap,
    },
    num::elements::{Bf16, F16},
};
use kernels::*;
use std::{ops::Range, sync::Arc};

/// Kernel modules of the optimisers.
pub const MODULES: &[ModuleSpec] = &[OptimizerKernels::SPEC];

/// Converts the rules of the groups to the format of the kernels, in the order of [`ParameterGroups::groups`].
pub fn rules(groups: &ParameterGroups) -> Vec<OptimizerRule> {
    let rule = |rule: &super::Rule| OptimizerRule {
        lr_factor: rule.lr_factor,
        decay: rule.decay as f32,
        mode: rule.mode() as u32,
    };
    groups.groups().iter().map(|group| rule(&group.rule)).collect()
}

/// Returns the optimiser state before the first update.
pub fn initial_state(scaler: &LossScaler) -> OptimizerState {
    OptimizerState { scale: scaler.scale as f32, good: scaler.good, ..OptimizerState::default() }
}

/// Copy of the weights in the storage format of the model.
pub enum Copy<'a> {
    /// There is no copy; the model uses the f32 weights.
    None,
    /// Copy in IEEE binary16.
    F16(&'a mut Slice<F16>),
    /// Copy in bfloat16.
    Bf16(&'a mut Slice<Bf16>),
}

impl Copy<'_> {
    /// Returns the kernel arguments: buffer and format.
    fn arguments(&mut self) -> (AnyMut<'_>, u32) {
        match self {
            Self::None => (AnyMut::none(), COPY_NONE),
            Self::F16(copy) => (AnyMut::from(&mut **copy), COPY_F16),
            Self::Bf16(copy) => (AnyMut::from(&mut **copy), COPY_BF16),
        }
    }

    fn check(&self, len: usize) -> Result<(), GpuError> {
        let (what, device) = match self {
            Self::None => return Ok(()),
            Self::F16(copy) => (copy.what, copy.len()),
            Self::Bf16(copy) => (copy.what, copy.len()),
        };
        if device == len { Ok(()) } else { Err(GpuError::Length { what, device, host: len }) }
    }
}

/// Weights and optimiser state.
pub struct Buffers<'a> {
    /// Master weights, f32.
    pub params: &'a mut Slice<f32>,
    /// Means of gradients; for Muon the momentum.
    pub means: &'a mut Slice<f32>,
    /// Means of squared gradients.
    pub squares: &'a mut Slice<f32>,
    /// Rounded copy of the weights.
    pub copy: Copy<'a>,
}

impl Buffers<'_> {
    fn check(&self, g: &Slice<f32>) -> Result<(), GpuError> {
        for buffer in [&*self.params, &*self.means, &*self.squares] {
            same_length(buffer, g.len())?;
        }
        self.copy.check(g.len())
    }
}

fn same_length(buffer: &Slice<f32>, len: usize) -> Result<(), GpuError> {
    if buffer.len() == len {
        return Ok(());
    }
    Err(GpuError::Length { what: buffer.what, device: buffer.len(), host: len })
}

/// Inputs of an update other than gradients.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// Hyperparameters and learning rate.
    pub settings: &'a Slice<OptimizerSettings>,
    /// Group table, from [`ParameterGroups::table`].
    pub groups: &'a Slice<u16>,
    /// Rules by group, from [`rules`].
    pub rules: &'a Slice<OptimizerRule>,
}

/// Returns the grid of a grid-stride kernel with `per_thread` elements per thread and iteration.
fn grid(n: usize, per_thread: usize) -> Grid {
    let blocks = n.div_ceil(256 * per_thread).clamp(1, 1 << 16) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// Returns a grid with one block per run of [`RUN`] elements of each matrix.
fn runs(n: usize, matrices: usize) -> Grid {
    let blocks = [n.div_ceil(RUN).max(1) as u32, matrices as u32, 1];
    Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes: 0 }
}

/// Numbers that state which matrices have a gradient: those with a number above 0.
#[derive(Clone, Copy)]
pub struct Used<'a> {
    /// Buffer of the numbers.
    pub numbers: &'a Slice<f64>,
    /// Elements from one matrix's number to the next.
    pub stride: usize,
}

/// Launches optimiser kernels on one device.
pub struct CudaOptimizer {
    kernels: OptimizerKernels,
}

impl CudaOptimizer {
    /// Loads the kernel module.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { kernels: OptimizerKernels::load(gpu)? })
    }

    /// Returns the temporaries of an update, as number of elements and bytes per element: those of the norm, then those that
    /// Muon holds at once.
    pub fn temporaries(map: &ParameterMap, matrices: &[MatrixRun]) -> Vec<(usize, usize)> {
        let most = |size: fn(&MatrixRun) -> usize| matrices.iter().map(size).max().unwrap_or(0);
        let (len, gram) = (most(MatrixRun::len), most(|run| run.count * run.first.side() * run.first.side()));
        let norm = map.len().div_ceil(RUN).max(most(|run| run.count * run.first.len().div_ceil(RUN))).max(1);
        vec![(norm, 4), (len, 4), (len, 4), (gram, 4), (gram, 4)]
    }

    /// Computes the norm of the gradient, whether the update is applied, and the scale of the next loss.
    pub fn begin(
        &self,
        pass: &mut Pass,
        tables: Tables<'_>,
        g: &Slice<f32>,
        state: &mut Slice<OptimizerState>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        let n_partials = g.len().div_ceil(RUN).max(1);
        let mut partials = frame.take::<f32>("sums of squares", n_partials)?;
        let Tables { settings, groups, rules } = tables;
        SumSquares { n: g.len() as u64, groups, rules, g, partials: &mut partials }.launch(
            &self.kernels,
            pass,
            runs(g.len(), 1),
        )?;
        BeginUpdate { n_partials: n_partials as u32, partials: &partials, settings, state }.launch(
            &self.kernels,
            pass,
            256,
        )
    }

    /// Updates all parameters of AdamW unless the update is skipped.
    pub fn adamw(
        &self,
        pass: &mut Pass,
        tables: Tables<'_>,
        state: &Slice<OptimizerState>,
        gradients: &Slice<f32>,
        to: &mut Buffers<'_>,
    ) -> Result<(), GpuError> {
        to.check(gradients)?;
        let Tables { settings, groups, rules } = tables;
        let Buffers { params, means, squares, copy } = to;
        let (copy, format) = copy.arguments();
        let n = gradients.len();
        UpdateAdamW { n: n as u64, settings, state, groups, rules, gradients, params, means, squares, copy, format }
            .launch(&self.kernels, pass, grid(n, 4))?;
        pass.last_items(n as u64);
        pass.last_bytes(n as u64 * if format == COPY_NONE { 28 } else { 30 });
        Ok(())
    }

    /// Updates matrices by Muon unless the update is skipped; `gemm` multiplies the matrices with the given options. A matrix
    /// that is not `used` keeps its momentum.
    pub fn muon(
        &self,
        pass: &mut Pass,
        (gemm, options): (&CudaGemm, &dyn Fn(&MatrixRun) -> Options),
        (matrices, used): (&[MatrixRun], Option<Used<'_>>),
        iterations: u32,
        tables: Tables<'_>,
        state: &Slice<OptimizerState>,
        gradients: &Slice<f32>,
        to: &mut Buffers<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        to.check(gradients)?;
        for run in matrices {
            let frame = frame.frame();
            let (matrix, range, len) = (run.first, run.range(), run.first.len());
            let (n, n_partials, grid) = (len as u64, len.div_ceil(RUN).max(1), runs(len, run.count));
            let numbers = match (run.used, used) {
                (Some(start), Some(Used { numbers, stride })) => {
                    Some(numbers.part(start..start + (run.count.max(1) - 1) * stride + 1)?)
                }
                _ => None,
            };
            let used_stride = used.map_or(0, |used| used.stride as u32);
            let used = Any::or_none(numbers.as_deref());
            let mut partials = frame.take::<f32>("sums of squares", run.count * n_partials)?;
            let mut x = frame.take::<f32>("Muon update", run.len())?;
            let g = gradients.part(range.clone())?;
            let mut momentum = to.means.part_mut(range)?;
            UpdateMomentum {
                n,
                used,
                used_stride,
                settings: tables.settings,
                state,
                g: &g,
                momentum: &mut momentum,
                x: &mut x,
                partials: &mut partials,
            }
            .launch(&self.kernels, pass, grid)?;
            DivideByNorm { n, n_partials: n_partials as u32, partials: &partials, x: &mut x }.launch(
                &self.kernels,
                pass,
                grid,
            )?;
            let mut next = frame.take::<f32>("Muon update, next", run.len())?;
            let is_swapped = orthogonalise(pass, (gemm, options(run)), run, iterations, &mut x, &mut next, &frame)?;
            let x = if is_swapped { &next } else { &x };
            let (copy, format) = to.copy.arguments();
            let Tables { settings, groups, rules } = tables;
            let factor = muon_factor(matrix.rows, matrix.columns) as f32;
            let (first, params) = (matrix.start as u64, &mut *to.params);
            let blocks = [len.div_ceil(256).clamp(1, 1 << 16) as u32, run.count as u32, 1];
            let grid = Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes: 0 };
            let kernel = UpdateMuon {
                first,
                n,
                factor,
                used,
                used_stride,
                settings,
                state,
                groups,
                rules,
                x,
                params,
                copy,
                format,
            };
            kernel.launch(&self.kernels, pass, grid)?;
        }
        Ok(())
    }

    /// Writes the copy of all weights, rounded to nearest.
    pub fn round(&self, pass: &mut Pass, params: &Slice<f32>, mut copy: Copy<'_>) -> Result<(), GpuError> {
        copy.check(params.len())?;
        let (copy, format) = copy.arguments();
        RoundWeights { n: params.len() as u64, params, copy, format }.launch(&self.kernels, pass, grid(params.len(), 4))
    }

    /// Writes the copy of all weights, rounded stochastically with the bits that the update leading to this state uses. Of the
    /// settings, only the seed is read.
    pub fn draw(
        &self,
        pass: &mut Pass,
        settings: &Slice<OptimizerSettings>,
        state: &Slice<OptimizerState>,
        params: &Slice<f32>,
        mut copy: Copy<'_>,
    ) -> Result<(), GpuError> {
        copy.check(params.len())?;
        let (copy, format) = copy.arguments();
        let n = params.len() as u64;
        DrawWeights { n, settings, state, params, copy, format }.launch(&self.kernels, pass, grid(params.len(), 4))
    }

    /// Copies a range of parameters with its state to the same number of elements at `to`; the ranges must not overlap.
    pub fn copy_range(
        &self,
        pass: &mut Pass,
        buffers: &mut Buffers<'_>,
        from: Range<usize>,
        to: usize,
    ) -> Result<(), GpuError> {
        self.edit(pass, buffers, EDIT_COPY, from.start, to..to.saturating_add(from.len()))
    }

    /// Sets a range of parameters and its state to zero.
    pub fn mask_range(&self, pass: &mut Pass, buffers: &mut Buffers<'_>, range: Range<usize>) -> Result<(), GpuError> {
        self.edit(pass, buffers, EDIT_MASK, range.start, range)
    }

    /// Sets the state of a range to zero; leaves the parameters.
    pub fn reset_range(&self, pass: &mut Pass, buffers: &mut Buffers<'_>, range: Range<usize>) -> Result<(), GpuError> {
        self.edit(pass, buffers, EDIT_RESET, range.start, range)
    }

    fn edit(
        &self,
        pass: &mut Pass,
        buffers: &mut Buffers<'_>,
        edit: u32,
        from: usize,
        to: Range<usize>,
    ) -> Result<(), GpuError> {
        let end = to.end.max(from.saturating_add(to.len()));
        for buffer in [&*buffers.params, &*buffers.means, &*buffers.squares] {
            if end > buffer.len() {
                return Err(GpuError::Length { what: buffer.what, device: buffer.len(), host: end });
            }
        }
        buffers.copy.check(buffers.params.len())?;
        let Buffers { params, means, squares, copy } = buffers;
        let (copy, format) = copy.arguments();
        let (from, n) = (from as u64, to.len());
        EditRange { edit, from, to: to.start as u64, n: n as u64, params, means, squares, copy, format }.launch(
            &self.kernels,
            pass,
            grid(n, 1),
        )
    }
}

/// Runs the Newton-Schulz iterations of all matrices of a run. Returns whether the results are in `next`.
fn orthogonalise(
    pass: &mut Pass,
    (gemm, options): (&CudaGemm, Options),
    run: &MatrixRun,
    iterations: u32,
    x: &mut Slice<f32>,
    next: &mut Slice<f32>,
    frame: &Frame<'_>,
) -> Result<bool, CudaGemmError> {
    let (rows, columns, side) = (run.first.rows, run.first.columns, run.first.side());
    let [a, b, c] = NEWTON_SCHULZ.map(|x| x as f32);
    let mut gram = frame.take::<f32>("Gram matrices", run.count * side * side)?;
    let mut polynomial = frame.take::<f32>("polynomials of Gram matrices", run.count * side * side)?;
    let is_wide = rows <= columns;
    // Batches the product over all matrices of the run: operands and results of consecutive matrices are adjacent.
    let of_all = |op: Gemm, strides: [usize; 3]| {
        let [a, b, c] = strides.map(|stride| if run.count > 1 { stride } else { 0 });
        let stride = |layout: Layout, stride| layout.stride(stride);
        Gemm { batch: run.count, a: stride(op.a, a), b: stride(op.b, b), c: stride(op.c, c), ..op }
    };
    let (len, square) = (rows * columns, side * side);
    let (mut x, mut next) = (x, next);
    for _ in 0..iterations {
        let product = if is_wide {
            Gemm::new(side, side, columns).transposed_b()
        } else {
            Gemm::new(side, side, rows).transposed_a()
        };
        let product = of_all(product, [len, len, square]);
        gemm.run(pass, &product, (x, x), &mut *gram, Epilogue::None, options)?;
        polynomial.copy_from(&gram)?;
        let product = of_all(Gemm::new(side, side, side).scaled(c, b), [square; 3]);
        gemm.run(pass, &product, (&*gram, &*gram), &mut *polynomial, Epilogue::None, options)?;
        next.copy_from(x)?;
        let strides = if is_wide { [square, len, len] } else { [len, square, len] };
        let product = of_all(Gemm::new(rows, columns, side).scaled(1.0, a), strides);
        let operands: (&Slice<f32>, &Slice<f32>) = if is_wide { (&*polynomial, x) } else { (x, &*polynomial) };
        gemm.run(pass, &product, operands, next, Epilogue::None, options)?;
        std::mem::swap(&mut x, &mut next);
    }
    Ok(iterations % 2 == 1)
}
