//! The fitness task: samples, generated or read, and their exact QR compression.

use super::{
    choices::TaskSource,
    params::{Params, Task},
    random::{RandomAddress, RandomStream},
};
use crate::{
    data::{DataError, samples},
    sim::{BuildContext, Progress, SimError},
};

/// Inputs and targets, row by row, in double precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// `[B × D]` inputs.
    pub x: Vec<f64>,
    /// `[B]` target values.
    pub y: Vec<f64>,
    /// Number of inputs per sample, D.
    pub inputs: usize,
}

/// Compressed samples: f = (|R w - z|² + ρ) / B, from the thin QR factorisation X = QR.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compressed {
    /// `[D × D]` upper triangle, row by row.
    pub r: Vec<f64>,
    /// `[D]` z = Qᵀy.
    pub z: Vec<f64>,
    /// ρ = |y - Qz|².
    pub rest: f64,
}

/// Data prepared once per project: samples, their compression, and the coupling matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Samples of the task; `None`: all nuclei are equal.
    pub problem: Option<Problem>,
    /// Compressed samples, if there are more samples than inputs.
    pub compressed: Option<Compressed>,
    /// Number of weights per nucleus.
    pub dim: usize,
    /// `[N_max × N_max]` coupling matrix, if read from a file.
    pub matrix: Option<Vec<f64>>,
    /// Source of the samples, as text.
    pub provenance: String,
}

impl Problem {
    /// Returns the number of samples, B.
    pub const fn samples(&self) -> usize {
        self.y.len()
    }

    /// Computes the QR compression by Householder reflections, in double precision; `None` unless there are more samples than
    /// inputs.
    pub fn compressed(&self) -> Option<Compressed> {
        let (rows, columns) = (self.samples(), self.inputs);
        if rows <= columns {
            return None;
        }
        let (mut a, mut y) = (self.x.clone(), self.y.clone());
        for k in 0..columns {
            reflect(&mut a, &mut y, columns, k);
        }
        let r = (0..columns * columns).map(|i| if i % columns < i / columns { 0.0 } else { a[i] }).collect();
        let rest = y[columns..].iter().map(|x| x * x).sum();
        y.truncate(columns);
        Some(Compressed { r, z: y, rest })
    }
}

/// Zeroes column `k` below the diagonal by a reflection of all rows from `k` on.
fn reflect(a: &mut [f64], y: &mut [f64], columns: usize, k: usize) {
    let rows = y.len();
    let norm = (k..rows).map(|i| a[i * columns + k].powi(2)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return;
    }
    let head = a[k * columns + k];
    let alpha = if head > 0.0 { -norm } else { norm };
    let mut v: Vec<f64> = (k..rows).map(|i| a[i * columns + k]).collect();
    v[0] = head - alpha;
    let scale = 2.0 / v.iter().map(|x| x * x).sum::<f64>();
    for j in k..columns {
        let dot: f64 = v.iter().enumerate().map(|(i, x)| x * a[(k + i) * columns + j]).sum();
        v.iter().enumerate().for_each(|(i, x)| a[(k + i) * columns + j] -= scale * dot * x);
    }
    let dot: f64 = v.iter().zip(&y[k..]).map(|(x, y)| x * y).sum();
    v.iter().zip(&mut y[k..]).for_each(|(x, y)| *y -= scale * dot * x);
}

impl Setup {
    /// Creates a setup from the given samples, with their compression.
    pub fn new(problem: Problem, provenance: String) -> Self {
        let (compressed, dim) = (problem.compressed(), problem.inputs);
        Self { compressed, dim, problem: Some(problem), matrix: None, provenance }
    }
}

/// Maximum number of weights of a population: 8 GB in double precision.
const MAX_WEIGHTS: u64 = 1 << 30;

/// Reads or generates the task, and reads the coupling matrix. Fails if a parameter or a file is invalid, or `progress`
/// cancels.
pub fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
    let (task, population) = (&params.task, &params.population);
    if population.n_start > population.capacity {
        let (n, most) = (population.n_start, population.capacity);
        return Err(SimError::Input(format!("population.n_start is {n}, above population.capacity = {most}")));
    }
    progress.report("task", 0.0)?;
    let mut setup = match task.source {
        TaskSource::Nothing => Setup { dim: task.n_inputs as usize, ..Setup::default() },
        TaskSource::Toy => Setup::new(generate(task, context.seed), "generated".to_owned()),
        TaskSource::File => read(task, context, progress)?,
    };
    let weights = u64::from(population.capacity) * setup.dim as u64;
    if weights > MAX_WEIGHTS {
        return Err(SimError::Input(format!(
            "population.capacity × {} inputs is {weights} weights; the maximum is {MAX_WEIGHTS}",
            setup.dim
        )));
    }
    let typed = params.coupling.matrix.0.trim();
    if !typed.is_empty() {
        progress.report("coupling", 0.5)?;
        let watch = |stage: &str, part: f32| progress.report(stage, 0.5 + 0.5 * part).is_ok();
        let read = samples::square(&context.resolve(typed), "J", population.capacity as usize, &watch);
        setup.matrix = Some(read.map_err(read_error)?);
    }
    Ok(setup)
}

fn read_error(error: DataError) -> SimError {
    match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    }
}

/// Draws y = X w + noise, with w such that the variance of the targets is about 1.
fn generate(task: &Task, seed: u64) -> Problem {
    let (samples, inputs) = (task.n_samples as usize, task.n_inputs as usize);
    let draw = |stream| RandomAddress { seed, stream, generation: 0 };
    let mut solution = vec![0.0; inputs];
    let scale = (1.0 / inputs as f64).sqrt();
    draw(RandomStream::TaskW).each_normal(0, inputs, |d, x| solution[d] = scale * x);
    let mut x = vec![0.0; samples * inputs];
    let mut y = vec![0.0; samples];
    for (b, (row, y)) in x.chunks_exact_mut(inputs).zip(&mut y).enumerate() {
        draw(RandomStream::TaskX).each_normal(b as u32, inputs, |d, value| row[d] = value);
        *y = row.iter().zip(&solution).map(|(x, w)| x * w).sum::<f64>()
            + task.noise * draw(RandomStream::TaskNoise).normal(b as u32, 0);
    }
    Problem { x, y, inputs }
}

fn read(task: &Task, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
    let typed = task.path.0.trim();
    if typed.is_empty() {
        return Err(SimError::Input(
            "task.path is empty: set it to a table or a NumPy archive with X and y".to_owned(),
        ));
    }
    let watch = |stage: &str, part: f32| progress.report(stage, 0.5 * part).is_ok();
    let read = samples::read(&context.resolve(typed), task.target.trim(), &watch).map_err(read_error)?;
    Ok(Setup::new(Problem { x: read.x, y: read.y, inputs: read.inputs }, read.provenance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(problem: &Problem, w: &[f64]) -> f64 {
        let rows = problem.x.chunks_exact(problem.inputs).zip(&problem.y);
        rows.map(|(x, y)| (x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>() - y).powi(2)).sum::<f64>()
            / problem.samples() as f64
    }

    #[test]
    fn compression_is_exact() {
        let task = Task { n_samples: 50, n_inputs: 7, noise: 0.3, ..Task::default() };
        let problem = generate(&task, 3);
        let Compressed { r, z, rest } = problem.compressed().unwrap();
        for seed in 0..5 {
            let mut w = [0.0; 7];
            RandomAddress { seed, stream: RandomStream::InitW, generation: 0 }.each_normal(0, 7, |d, x| w[d] = x);
            let rows = r.chunks_exact(7).zip(&z);
            let squares: f64 = rows.map(|(r, z)| (r.iter().zip(&w).map(|(r, w)| r * w).sum::<f64>() - z).powi(2)).sum();
            let (a, b) = (direct(&problem, &w), (squares + rest) / 50.0);
            assert!((a - b).abs() <= 1e-13 * a, "{a} {b}");
        }
        assert!(Problem { inputs: 60, ..Problem::default() }.compressed().is_none());
    }
}
