//! What every trained model holds on a device: weights and the state of their optimiser, what the steps were.

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
    kinds::language::backend::{Counters, MAX_WAITING_STEPS, StateBuffer, StepStats, ViewNorms},
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

/// What the sizes of [`Trained`] follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainedSizes {
    /// Elements of the parameters.
    pub n: usize,
    /// Elements of the gradient and of each moment: those of the parameters, or 0 of a model that is not trained.
    pub n_trained: usize,
    /// Named parameters.
    pub views: usize,
}

impl TrainedSizes {
    /// Of parameters.
    pub fn new(map: &ParameterMap) -> Self {
        Self { n: map.len(), n_trained: map.len(), views: map.views().len() }
    }

    /// Temporaries of an update in which any of these matrices may be one of Muon, bytes.
    pub fn temporaries(map: &ParameterMap, matrices: &[MatrixRun]) -> usize {
        let all = CudaOptimizer::temporaries(map, matrices);
        all.into_iter().map(|temporary| Arena::bytes_of(&[temporary])).sum()
    }
}

buffers! {
    /// Weights, the state of their optimiser, and what the steps were.
    pub struct Trained<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: TrainedSizes) {
        "parameters" {
            /// Master weights.
            pub weights: Buf<f32> = State "weights" s.n;
            /// Weights in the format of the model, unless it is f32.
            pub copy: Buf<T> = Derived "rounded weights" if T::HAS_COPY { s.n } else { 0 };
        }
        "gradient" {
            /// Of the step.
            pub gradient: Buf<f32> = Workspace "gradient" s.n_trained;
        }
        "optimiser" {
            /// First moments.
            pub means: Buf<f32> = State "first moments" s.n_trained;
            /// Second moments.
            pub squares: Buf<f32> = State "second moments" s.n_trained;
            /// Updates, loss scale.
            pub state: Buf<OptimizerState> = Derived "optimiser state" 1;
            /// Learning rate and others.
            pub settings: Cell<OptimizerSettings> = Derived "optimiser settings" 1;
            /// Rules of groups.
            rules: Buf<OptimizerRule> = Derived "rules of parameters" s.views;
            /// Group of each run of parameters.
            groups: Buf<u16> = Derived "groups of parameters" s.n / ALIGN;
        }
        "batch" {
            /// What the host says about the step.
            pub params: Cell<StepParams> = Workspace "step" 1;
            /// Gradient of the loss of a target; loss scale of the step.
            pub scale: Buf<f32> = Workspace "gradient of a loss" 2;
            /// Sum of the losses of the step.
            pub total: Buf<LossTotal> = Workspace "loss" 1;
        }
        "readback" {
            /// Losses and norms of steps that the host has not read.
            records: Buf<StepRecord> = Readback "records of steps" MAX_WAITING_STEPS;
            /// Ranges of the named parameters.
            views: Buf<ViewRange> = Derived "ranges of parameters" s.views;
            /// Sums of squares of parts of the parameters.
            partials: Buf<f64> = Workspace "sums of squares" 3 * s.views * VIEW_PARTS as usize;
            /// Norms of the named parameters in the steps that the host has not read.
            norms: Buf<f32> = Readback "norms of parameters" [MAX_WAITING_STEPS, 3 * s.views];
            /// Weights before a step whose changes are measured.
            before: Option<Buf<f32>> = Workspace "weights before a step" 0;
        }
        plain {
            /// The groups that rules and groups on the device are of.
            known: Option<ParameterGroups> = None;
            /// How the next update is computed.
            pub update: UpdatePlan = UpdatePlan::default();
            /// Whether the next update measures norms of parameters.
            pub measures: bool = false;
        }
    }
}

/// How an update is computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdatePlan {
    /// Matrices of Muon.
    pub matrices: Vec<MatrixRun>,
    /// Newton-Schulz iterations.
    pub iterations: u32,
}

impl<T: ModelFormat> Trained<T> {
    /// Before step 0. Of the settings, seed and rounding count.
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

    /// Copies elements to the host.
    pub fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), GpuError> {
        self.buffer(buffer).read_into(start, to)
    }

    /// Copies elements from the host.
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

    /// Rounds all weights anew, where the model has a copy: as the last update did.
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

    /// State of the optimiser beside its moments.
    pub fn counters(&self) -> Result<Counters, GpuError> {
        let state = self.state.read()?.first().copied().unwrap_or_default();
        Ok(Counters { updates: state.t, loss_scale: state.scale, finite_steps: state.good })
    }

    /// Sets it. Draws of the rounding depend on the number of updates.
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

    /// Appends what the steps `from..to` were.
    pub fn read_records(&self, steps: Range<u64>, out: &mut Vec<StepStats>) -> Result<(), GpuError> {
        for part in waiting(steps) {
            out.extend(self.records.read_range(part)?.into_iter().map(|record| StepStats {
                loss: record.loss,
                gradient_norm: record.norm,
                loss_scale: record.scale,
                is_skipped: record.is_applied == 0 || !record.loss.is_finite(),
            }));
        }
        Ok(())
    }

    /// Norms of each parameter in a step that measured them, by the number of its record.
    pub fn view_norms(&self, record: u64) -> Result<Vec<ViewNorms>, GpuError> {
        let (n, row) = (3 * self.views.len(), (record % MAX_WAITING_STEPS as u64) as usize);
        let of = |n: &[f32]| ViewNorms { weight: n[0], gradient: n[1], update: n[2] };
        Ok(self.norms.read_range(row * n..(row + 1) * n)?.chunks_exact(3).map(of).collect())
    }

    /// Sets whether the next update measures norms of parameters.
    pub fn set_measures(&mut self, gpu: &Arc<Gpu>, measures: bool) -> Result<(), GpuError> {
        if measures && self.before.is_none() {
            self.before = Some(Buf::zeros(gpu, "weights before a step", self.weights.len())?);
        }
        self.measures = measures;
        Ok(())
    }

    /// Sets how the following updates are computed. Whether captured ones are no longer valid.
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

    /// Clears the loss and the gradient of a step, but for the ranges that are written before they are read, in order.
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

    /// Keeps the weights where their changes are measured; the update follows.
    pub fn keep_before(&mut self) -> Result<(), GpuError> {
        match self.before.as_mut().filter(|_| self.measures) {
            Some(before) => before.copy_from(&self.weights),
            None => Ok(()),
        }
    }

    /// Updates the weights by their gradient. `used` says which matrices have one, where that is not all.
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

    /// Measures and records a step.
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

/// Where the records of steps are: ranges of a ring of [`MAX_WAITING_STEPS`], oldest first.
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
