//! Device buffers of every trained model: weights, optimiser state, step records.

use super::{
    error::OpError,
    format::ModelFormat,
    kernels::{
        BeginStep, FinishViews, RecordStep, StepKernels, StepParams, StepRecord, SumViews, VIEW_PARTS, ViewRange,
    },
    layers::ModelOps,
};
use crate::{
    buffers,
    gpu::{Arena, Buf, Cell, Frame, Gpu, GpuError, Grid, Pass},
    kinds::language::backend::{Counters, GradientStats, MAX_WAITING_STEPS, StateBuffer, StepStats, ViewNorms},
    nn::{
        cross_entropy::cuda::LossTotal,
        optimizer::{
            LossScaler, MatrixRun, ParameterGroups,
            cuda::{
                self, Buffers as OptimizerBuffers, CudaOptimizer, OptimizerRule, OptimizerSettings, OptimizerState,
                Tables, Used,
            },
        },
        parameters::{ALIGN, ParameterMap},
    },
};
use std::{ops::Range, sync::Arc};

/// Sizes that determine [`Trained`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainedSizes {
    /// Number of elements of all parameters, including padding.
    pub n: usize,
    /// Number of elements of the gradient and of each moment: `n`, or 0 if the model is not trained.
    pub n_trained: usize,
    /// Number of named parameters.
    pub views: usize,
}

impl TrainedSizes {
    /// Creates the sizes for the parameters of `map`.
    pub fn new(map: &ParameterMap) -> Self {
        Self { n: map.len(), n_trained: map.len(), views: map.views().len() }
    }

    /// Returns the size in bytes of the temporaries of an update in which any of `matrices` may use Muon.
    pub fn temporaries(map: &ParameterMap, matrices: &[MatrixRun]) -> usize {
        let all = CudaOptimizer::temporaries(map, matrices);
        all.into_iter().map(|temporary| Arena::bytes_of(&[temporary])).sum()
    }
}

buffers! {
    /// Weights, optimiser state and step records.
    pub struct Trained<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: TrainedSizes) {
        "parameters" {
            /// Master weights in f32.
            pub weights: Buf<f32> = State "weights" s.n;
            /// Rounded weights in the format of the model; empty if the format is f32.
            pub copy: Buf<T> = Derived "rounded weights" if T::HAS_COPY { s.n } else { 0 };
        }
        "gradient" {
            /// Gradient of the step, summed over its micro-batches.
            pub gradient: Buf<f32> = Workspace "gradient" s.n_trained;
        }
        "optimiser" {
            /// First moments of AdamW, or momentum of Muon.
            pub means: Buf<f32> = State "first moments" s.n_trained;
            /// Second moments of AdamW.
            pub squares: Buf<f32> = State "second moments" s.n_trained;
            /// Update count and loss scale.
            pub state: Buf<OptimizerState> = Derived "optimiser state" 1;
            /// Learning rate and other settings of the update.
            pub settings: Cell<OptimizerSettings> = Derived "optimiser settings" 1;
            /// Update rule of each parameter group.
            rules: Buf<OptimizerRule> = Derived "rules of parameters" s.views;
            /// Group of each run of [`ALIGN`] parameters.
            groups: Buf<u16> = Derived "groups of parameters" s.n / ALIGN;
        }
        "batch" {
            /// Host inputs of a step: record index and number of targets.
            pub params: Cell<StepParams> = Workspace "step" 1;
            /// Gradient of the loss of one target, and the loss scale of the step.
            pub scale: Buf<f32> = Workspace "gradient of a loss" 2;
            /// Sum of the losses of the step.
            pub total: Buf<LossTotal> = Workspace "loss" 1;
        }
        "readback" {
            /// Losses and norms of steps that the host has not read: a ring of [`MAX_WAITING_STEPS`] records.
            records: Buf<StepRecord> = Readback "records of steps" MAX_WAITING_STEPS;
            /// Ranges of the named parameters.
            views: Buf<ViewRange> = Derived "ranges of parameters" s.views;
            /// Partial sums of squares per parameter.
            partials: Buf<f64> = Workspace "sums of squares" 3 * s.views * VIEW_PARTS as usize;
            /// Norms of the named parameters in the steps that the host has not collected, one row per step.
            norms: Buf<f32> = Readback "norms of parameters" [MAX_WAITING_STEPS, 3 * s.views];
            /// Weights before the step, if changes are measured.
            before: Option<Buf<f32>> = Workspace "weights before a step" 0;
        }
        plain {
            /// Groups whose rules and tables are on the device.
            known: Option<ParameterGroups> = None;
            /// Plan of the next update.
            pub update: UpdatePlan = UpdatePlan::default();
            /// Whether the next update measures norms of parameters.
            pub measures: bool = false;
        }
    }
}

/// Plan of an optimiser update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdatePlan {
    /// Matrices that Muon updates.
    pub matrices: Vec<MatrixRun>,
    /// Number of Newton-Schulz iterations per update.
    pub iterations: u32,
}

impl<T: ModelFormat> Trained<T> {
    /// Writes the initial optimiser state and the parameter ranges. Before the first update, only seed and rounding of
    /// `settings` are used. Fails if the device fails.
    pub fn begin_training(
        &mut self,
        map: &ParameterMap,
        scaler: &LossScaler,
        settings: OptimizerSettings,
    ) -> Result<(), GpuError> {
        self.state.write(&[cuda::initial_state(scaler)])?;
        self.settings.set(settings)?;
        let views = map.views().map(|view| ViewRange { start: view.start as u64, len: view.len() as u64 });
        self.views.write(&views.collect::<Vec<_>>())
    }

    fn buffer(&self, of: StateBuffer) -> &Buf<f32> {
        match of {
            StateBuffer::Weights => &self.weights,
            StateBuffer::FirstMoment => &self.means,
            StateBuffer::SecondMoment => &self.squares,
        }
    }

    /// Copies elements of a state buffer to the host, from index `start` on. Fails if the device fails.
    pub fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), GpuError> {
        self.buffer(buffer).read_into(start, to)
    }

    /// Copies elements of a state buffer from the host, from index `start` on. New weights are rounded. Fails if the device
    /// fails.
    pub fn write(
        &mut self,
        buffer: StateBuffer,
        start: usize,
        from: &[f32],
        optimizer: &CudaOptimizer,
    ) -> Result<(), GpuError> {
        match buffer {
            StateBuffer::Weights => {
                self.weights.write_at(start, from)?;
                self.round(optimizer, &mut Pass::default())
            }
            StateBuffer::FirstMoment => self.means.write_at(start, from),
            StateBuffer::SecondMoment => self.squares.write_at(start, from),
        }
    }

    /// Rounds all weights to the model's copy, with the random draws of the last update. Fails if the device fails.
    pub fn round(&mut self, optimizer: &CudaOptimizer, pass: &mut Pass) -> Result<(), GpuError> {
        let (settings, state, is_stochastic) = (&self.settings, &self.state, self.is_stochastic());
        T::keep(&mut self.copy, &self.weights, |weights, copy| match is_stochastic {
            true => optimizer.draw(pass, settings.buf(), state, weights, copy),
            false => optimizer.round(pass, weights, copy),
        })
    }

    /// Whether the copy of the weights is rounded stochastically.
    fn is_stochastic(&self) -> bool {
        self.settings.value().is_stochastic != 0
    }

    /// Returns the optimiser state other than the moments. Fails if the device fails.
    pub fn counters(&self) -> Result<Counters, GpuError> {
        let state = self.state.read()?.first().copied().unwrap_or_default();
        Ok(Counters { updates: state.t, loss_scale: state.scale, finite_steps: state.good })
    }

    /// Sets the optimiser state other than the moments, and rounds the weights again if the draws of stochastic rounding
    /// change. Fails if the device fails.
    pub fn set_counters(
        &mut self,
        counters: Counters,
        scaler: &LossScaler,
        optimizer: &CudaOptimizer,
    ) -> Result<(), GpuError> {
        let mut state = cuda::initial_state(scaler);
        (state.t, state.scale, state.good) = (counters.updates, counters.loss_scale, counters.finite_steps);
        self.state.write(&[state])?;
        if self.is_stochastic() { self.round(optimizer, &mut Pass::default()) } else { Ok(()) }
    }

    /// Appends the statistics of the recorded steps `steps` to `out`. Fails if the device fails.
    pub fn read_records(&self, steps: Range<u64>, out: &mut Vec<StepStats>) -> Result<(), GpuError> {
        for part in waiting(steps) {
            out.extend(self.records.read_range(part)?.into_iter().map(|record| StepStats {
                loss: record.loss,
                gradient: Some(GradientStats {
                    norm: record.norm,
                    loss_scale: record.scale,
                    is_skipped: record.is_applied == 0 || !record.loss.is_finite(),
                }),
            }));
        }
        Ok(())
    }

    /// Returns the norms of each parameter in a step that measured them, given the number of its record. Fails if the
    /// device fails.
    pub fn view_norms(&self, record: u64) -> Result<Vec<ViewNorms>, GpuError> {
        let (n, row) = (3 * self.views.len(), (record % MAX_WAITING_STEPS as u64) as usize);
        let of = |n: &[f32]| ViewNorms { weight: n[0], gradient: n[1], update: n[2] };
        Ok(self.norms.read_range(row * n..(row + 1) * n)?.chunks_exact(3).map(of).collect())
    }

    /// Sets whether the next update measures norms of parameters. Fails if the memory for the earlier weights is exhausted.
    pub fn set_measures(&mut self, gpu: &Arc<Gpu>, measures: bool) -> Result<(), GpuError> {
        if measures && self.before.is_none() {
            self.before = Some(Buf::zeros(gpu, "weights before a step", self.weights.len())?);
        }
        self.measures = measures;
        Ok(())
    }

    /// Sets the rules, plan and settings of further updates. Returns whether captured updates are no longer valid. Fails if
    /// the device fails.
    pub fn set_update(
        &mut self,
        map: &ParameterMap,
        settings: OptimizerSettings,
        groups: ParameterGroups,
        update: UpdatePlan,
    ) -> Result<bool, GpuError> {
        if self.settings.value() != settings {
            self.settings.set(settings)?;
        }
        if self.known.as_ref() != Some(&groups) {
            self.rules.write_at(0, &cuda::rules(&groups))?;
            self.groups.write(&groups.table(map))?;
            self.known = Some(groups);
        }
        if self.update == update {
            return Ok(false);
        }
        self.update = update;
        Ok(true)
    }

    /// Clears the loss and the gradient of a step, except the ascending ranges `written`, which the first micro-batch
    /// overwrites. Fails if a launch fails.
    pub fn begin_step(
        &mut self,
        kernels: &StepKernels,
        params: StepParams,
        written: &[Range<usize>],
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        self.params.set(params)?;
        let Self { gradient, params, state, total, scale, .. } = self;
        BeginStep { params: params.buf(), state, total, scale }.launch(kernels, pass, 1)?;
        let mut from = 0;
        for range in written {
            gradient.clear_range(from..range.start)?;
            from = range.end;
        }
        let end = gradient.len();
        gradient.clear_range(from..end)
    }

    /// Saves the weights before the update if their changes are measured. Fails if a launch fails.
    pub fn keep_before(&mut self) -> Result<(), GpuError> {
        match self.before.as_mut().filter(|_| self.measures) {
            Some(before) => before.copy_from(&self.weights),
            None => Ok(()),
        }
    }

    /// Updates the weights. `used` selects the matrices that have a gradient; with `None`, all matrices have one. Fails if
    /// a launch fails.
    pub fn optimize(
        &mut self,
        (ops, map): (&ModelOps, &ParameterMap),
        used: Option<Used<'_>>,
        frame: &Frame<'_>,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        let Self { weights, copy, gradient, means, squares, state, settings, rules, groups, update, .. } = self;
        let tables = Tables { settings: settings.buf(), groups, rules };
        ops.optimizer.begin(pass, tables, gradient, state, &frame.frame())?;
        let mut to = OptimizerBuffers { params: &mut *weights, means, squares, copy: T::copy(copy) };
        ops.optimizer.adamw(pass, tables, state, gradient, &mut to)?;
        if !update.matrices.is_empty() {
            let options = |run: &MatrixRun| ops.options_of_update(map, run);
            let (matrices, n) = ((&update.matrices[..], used), update.iterations);
            ops.optimizer.muon(pass, (&ops.gemm, &options), matrices, n, tables, state, gradient, &mut to, frame)?;
        }
        Ok(())
    }

    /// Measures norms if requested, and records the loss and gradient norm of the step. Fails if a launch fails.
    pub fn record_step(&mut self, kernels: &StepKernels, pass: &mut Pass) -> Result<(), GpuError> {
        let Self { weights, gradient, params, scale, total, state, records, .. } = self;
        let Self { views, partials, norms, before, measures, .. } = self;
        if let Some(before) = before.as_ref().filter(|_| *measures) {
            let n = views.len() as u32;
            let grid = Grid::Blocks { blocks: [n, VIEW_PARTS, 1], threads: [256, 1, 1], shared_bytes: 0 };
            let (weights, before, gradient) = (&**weights, &**before, &**gradient);
            SumViews { views, weights, before, gradient, partials }.launch(kernels, pass, grid)?;
            FinishViews { n_views: n, params: params.buf(), scale, partials, norms }.launch(kernels, pass, n)?;
        }
        RecordStep { params: params.buf(), state, total, scale, records }.launch(kernels, pass, 1)
    }
}

/// Returns the ranges of the ring of [`MAX_WAITING_STEPS`] records that contain `steps`, oldest first.
pub fn waiting(steps: Range<u64>) -> impl Iterator<Item = Range<usize>> {
    let most = MAX_WAITING_STEPS as u64;
    let mut at = steps.start.max(steps.end.saturating_sub(most));
    std::iter::from_fn(move || {
        let start = (at % most) as usize;
        let n = (steps.end.saturating_sub(at) as usize).min(MAX_WAITING_STEPS - start);
        at += n as u64;
        (n > 0).then_some(start..start + n)
    })
}
