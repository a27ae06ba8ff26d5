//! The task on the device: samples or their QR compression, and inputs split into 16-bit values for tensor cores.

use super::layout::TaskEquations;
use crate::{
    buffers,
    gpu::{Buf, Gpu, GpuError},
    kinds::nuclei::{
        choices::{FitnessMethod, OutputFunction, Storage},
        params::Params,
        task::Setup,
    },
    num::halves,
    sim::Buffers as _,
};
use std::sync::Arc;

/// Buffer sizes of a [`Task`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSizes {
    /// Number of equations, padded.
    rows: usize,
    /// Number of weights, padded.
    columns: usize,
    /// Whether samples are replaced by their QR compression.
    is_compressed: bool,
    /// Sizes of the split inputs, if tensor cores are faster.
    split: Option<SplitSizes>,
}

/// Buffer sizes of [`SplitInputs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSizes {
    rows: usize,
    columns: usize,
}

impl TaskSizes {
    /// Returns the sizes for this number of samples and weights; `None` if all nuclei are equal.
    pub fn of(params: &Params, samples: usize, dim: usize, has_tensor_cores: bool) -> Option<Self> {
        let task = &params.task;
        let is_linear = task.answer == OutputFunction::Linear && task.method != FitnessMethod::Direct;
        let is_compressed = is_linear && samples > dim;
        let equations = if is_compressed { dim } else { samples };
        let splits = has_tensor_cores && tensor_cores_pay(task.storage, equations, dim);
        let rows = equations.next_multiple_of(if splits { 64 } else { 32 });
        let split = splits.then(|| SplitSizes { rows, columns: dim.next_power_of_two() });
        (samples > 0).then(|| Self { rows, columns: dim.next_multiple_of(16), is_compressed, split })
    }

    /// Returns the sizes for a prepared task on this device; `None` if all nuclei are equal or the task is empty. `plain`:
    /// without tensor cores.
    pub fn on(gpu: &Gpu, params: &Params, setup: &Setup, plain: bool) -> Option<Self> {
        let has_tensor_cores = !plain && gpu.capability >= MIN_CAPABILITY;
        Self::of(params, setup.problem.as_ref().map_or(0, |p| p.samples()), setup.dim, has_tensor_cores)
    }
}

buffers! {
    /// Device buffers of a task.
    pub struct Task(gpu: Arc<Gpu>, s: TaskSizes) {
        "task" {
            /// Sizes and flags of the equations.
            pub of: Buf<TaskEquations> = Derived "task" 1;
            /// `[columns × rows]` inputs, zero-padded.
            pub x: Buf<f32> = Derived "inputs" [s.columns, s.rows];
            /// `[rows]` targets, zero-padded.
            pub y: Buf<f32> = Derived "targets" s.rows;
        }
        groups {
            /// Inputs for tensor cores, if they are faster.
            pub split: Option<SplitInputs> = s.split;
        }
        plain {
            sizes: TaskSizes = *s;
        }
    }
}

buffers! {
    /// Inputs as two 16-bit values each.
    pub struct SplitInputs(gpu: Arc<Gpu>, s: SplitSizes) {
        "task" {
            /// `[2 × rows × columns]`: the rounded inputs, then their rounding errors.
            pub x: Buf<u16> = Derived "split inputs" [2, s.rows, s.columns];
        }
        plain {
            /// Number of columns: 32, 64 or 128.
            pub columns: usize = s.columns;
        }
    }
}

/// Minimum compute capability of the tensor core instructions.
const MIN_CAPABILITY: u32 = 80;
/// Range of the number of inputs, and minimum number of equations, for which tensor cores are faster.
const TENSOR_CORE_SIZES: (std::ops::RangeInclusive<usize>, usize) = (32..=128, 64);

impl Task {
    /// Allocates the task of the parameters; `None` if all nuclei are equal. `plain`: without tensor cores. Fails if
    /// device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, params: &Params, setup: &Setup, plain: bool) -> Result<Option<Self>, GpuError> {
        let mut task = Option::<Self>::allocate(gpu, &TaskSizes::on(gpu, params, setup, plain))?;
        task.iter_mut().try_for_each(|task| task.fill(params, setup))?;
        Ok(task)
    }

    /// Writes the samples or their compression. Fails if the device fails.
    pub fn fill(&mut self, params: &Params, setup: &Setup) -> Result<(), GpuError> {
        let Some(problem) = &setup.problem else { return Ok(()) };
        let (task, TaskSizes { rows, columns, is_compressed, .. }) = (&params.task, self.sizes);
        let compressed = setup.compressed.as_ref().filter(|_| is_compressed);
        let (x, y) = compressed.map_or((&problem.x, &problem.y), |c| (&c.r, &c.z));
        let mut turned = vec![0.0; rows * columns];
        for (b, row) in x.chunks_exact(setup.dim).enumerate() {
            row.iter().enumerate().for_each(|(c, x)| turned[c * rows + b] = *x as f32);
        }
        let mut targets: Vec<f32> = y.iter().map(|y| *y as f32).collect();
        targets.resize(rows, 0.0);
        let scale = if task.storage == Storage::F16 { scale_of(x) } else { 1.0 };
        let of = TaskEquations {
            rest: compressed.map_or(0.0, |c| c.rest),
            samples: problem.samples() as f64,
            rows: rows as u32,
            columns: columns as u32,
            inputs: setup.dim as u32,
            stride: setup.dim.next_multiple_of(4) as u32,
            n_slots: params.population.capacity,
            triangular: u32::from(compressed.is_some()),
            saturating: u32::from(task.answer == OutputFunction::Saturating),
            storage: match task.storage {
                Storage::Full => 0,
                Storage::F16 => 1,
                Storage::Bf16 => 2,
            },
            step: (2.0 * task.learning_rate / problem.samples() as f64) as f32,
            unscale: (1.0 / scale) as f32,
        };
        self.of.write(&[of])?;
        self.x.write(&turned)?;
        self.y.write(&targets)?;
        self.split.iter_mut().try_for_each(|split| split.fill(x, setup.dim, rows, task.storage, scale))
    }
}

/// Whether tensor cores are faster for this number of equations and inputs.
fn tensor_cores_pay(storage: Storage, equations: usize, dim: usize) -> bool {
    storage != Storage::Full && TENSOR_CORE_SIZES.0.contains(&dim) && equations >= TENSOR_CORE_SIZES.1
}

/// Returns the power of two that scales the largest input to about 1000, so that f16 rounding errors are normal numbers.
fn scale_of(x: &[f64]) -> f64 {
    let top = x.iter().map(|x| x.abs()).fold(0.0, f64::max);
    if top > 0.0 && top.is_finite() { (10.0 - top.log2().ceil()).clamp(-100.0, 100.0).exp2() } else { 1.0 }
}

impl SplitInputs {
    fn fill(&mut self, x: &[f64], inputs: usize, rows: usize, storage: Storage, scale: f64) -> Result<(), GpuError> {
        let columns = self.columns;
        let is_f16 = storage == Storage::F16;
        let round = if is_f16 { halves::f16 } else { halves::bf16 };
        let bits = if is_f16 { halves::f16_bits } else { halves::bf16_bits };
        let mut words = vec![0; 2 * rows * columns];
        for (b, row) in x.chunks_exact(inputs).enumerate() {
            for (c, x) in row.iter().enumerate() {
                let scaled = x * scale;
                let first = round(scaled as f32);
                words[b * columns + c] = bits(first);
                words[(rows + b) * columns + c] = bits((scaled - f64::from(first)) as f32);
            }
        }
        self.x.write(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_input_is_scaled_to_about_a_thousand() {
        for top in [1e-9, 0.3, 1.0, 5.0, 1e9] {
            let scaled = scale_of(&[-top, 0.1 * top]) * top;
            assert!((500.0..=1024.0).contains(&scaled), "{top}: {scaled}");
        }
        assert_eq!((scale_of(&[]), scale_of(&[0.0]), scale_of(&[f64::INFINITY])), (1.0, 1.0, 1.0));
    }
}
