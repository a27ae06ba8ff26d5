//! Mean squared errors, without storing predictions.

use crate::{
    kinds::{
        nuclei::{
            choices::{FitnessMethod, OutputFunction, Storage},
            params::Task,
            real::Real,
            state::State,
            task::{Problem, Setup},
        },
        shared::threads::Threads,
    },
    num::halves,
};

/// Number of nuclei per vector.
const LANES: usize = 8;
/// Number of samples per partial sum; it limits the growth of rounding errors with the number of samples.
const RUN: usize = 64;
/// Limit of a saturating output.
const SATURATION: f64 = 1000.0;

/// Least-squares equations of the task, in the precision of the state.
#[derive(Clone, Debug, Default)]
pub struct Equations<T> {
    /// `[rows × inputs]` inputs.
    pub x: Vec<T>,
    /// `[rows]` target values.
    pub y: Vec<T>,
    /// Number of columns of `x`.
    pub inputs: usize,
    /// Whether row b starts with b zeros.
    pub triangular: bool,
    /// Residual sum of squares that is independent of the weights.
    pub rest: T,
    /// Number of samples, B.
    pub samples: usize,
}

impl<T: Real> Equations<T> {
    /// Creates one equation per sample.
    pub fn direct(problem: &Problem) -> Self {
        let (x, y) = (numbers(&problem.x), numbers(&problem.y));
        Self { x, y, inputs: problem.inputs, triangular: false, rest: T::ZERO, samples: problem.samples() }
    }

    /// Returns the compressed equations; `None` if the setup has none.
    pub fn compressed(setup: &Setup) -> Option<Self> {
        let (problem, of) = (setup.problem.as_ref()?, setup.compressed.as_ref()?);
        let (x, y) = (numbers(&of.r), numbers(&of.z));
        let rest = T::of(of.rest);
        Some(Self { x, y, inputs: problem.inputs, triangular: true, rest, samples: problem.samples() })
    }

    pub fn n_bytes(&self) -> u64 {
        ((self.x.len() + self.y.len()) * T::BYTES) as u64
    }
}

fn numbers<T: Real>(wide: &[f64]) -> Vec<T> {
    wide.iter().map(|x| T::of(*x)).collect()
}

/// Direct and compressed equations of a task.
#[derive(Clone, Debug, Default)]
pub struct EquationForms<T> {
    direct: Option<Equations<T>>,
    compressed: Option<Equations<T>>,
}

impl<T: Real> EquationForms<T> {
    /// Creates the equations of the prepared task.
    pub fn new(setup: &Setup) -> Self {
        Self { direct: setup.problem.as_ref().map(Equations::direct), compressed: Equations::compressed(setup) }
    }

    /// Returns the equations selected by the parameters; `None` if all nuclei are equal.
    pub fn for_task(&self, task: &Task) -> Option<&Equations<T>> {
        let can = task.answer == OutputFunction::Linear && task.method != FitnessMethod::Direct;
        self.compressed.as_ref().filter(|_| can).or(self.direct.as_ref())
    }

    pub fn n_bytes(&self) -> u64 {
        self.direct.iter().chain(&self.compressed).map(Equations::n_bytes).sum()
    }
}

/// Rounds a weight to its storage format.
#[inline]
fn stored<T: Real>(w: T, storage: Storage) -> T {
    match storage {
        Storage::Full => w,
        Storage::F16 => T::of(halves::f16(w.wide() as f32).into()),
        Storage::Bf16 => T::of(halves::bf16(w.wide() as f32).into()),
    }
}

/// One weight of each nucleus of a vector.
pub type Lanes<T> = [T; LANES];

/// Writes f of the nuclei in `idx` to `out`, in tiles of `tile` nuclei; the result does not depend on `tile`. `room` is workspace
/// for the weights of one vector per tile.
pub fn measure<T: Real>(
    of: &Equations<T>,
    task: &Task,
    state: &State<T>,
    idx: &[u32],
    tile: usize,
    threads: &Threads,
    room: &mut Vec<Lanes<T>>,
    out: &mut [T],
) {
    let work = idx.len() * of.x.len();
    room.resize(idx.len().div_ceil(tile) * of.inputs, [T::ZERO; LANES]);
    let tiles = out.chunks_mut(tile).zip(idx.chunks(tile)).zip(room.chunks_mut(of.inputs));
    threads.for_each(work, tiles, |((out, slots), w)| {
        for (out, slots) in out.chunks_mut(LANES).zip(slots.chunks(LANES)) {
            // Weights are transposed, so that the nuclei of a vector are contiguous; the last vector may be partial.
            for (lane, slot) in slots.iter().enumerate() {
                let row = state.row(*slot).iter().zip(&mut *w);
                row.for_each(|(from, to)| to[lane] = stored(*from, task.storage));
            }
            out.copy_from_slice(&errors(of, task.answer, w)[..out.len()]);
        }
    });
}

fn errors<T: Real>(of: &Equations<T>, answer: OutputFunction, w: &[[T; LANES]]) -> [T; LANES] {
    let mut total = [of.rest; LANES];
    let rows = of.x.chunks_exact(of.inputs).zip(&of.y);
    let mut run = [T::ZERO; LANES];
    for (b, (x, y)) in rows.enumerate() {
        let from = if of.triangular { b } else { 0 };
        let mut p = [T::ZERO; LANES];
        for (x, w) in x[from..].iter().zip(&w[from..]) {
            for lane in 0..LANES {
                p[lane] += *x * w[lane];
            }
        }
        if answer == OutputFunction::Saturating {
            p = p.map(saturated);
        }
        for lane in 0..LANES {
            let miss = p[lane] - *y;
            run[lane] += miss * miss;
        }
        if (b + 1).is_multiple_of(RUN) || b + 1 == of.y.len() {
            total.iter_mut().zip(&mut run).for_each(|(t, r)| *t += std::mem::take(r));
        }
    }
    total.map(|t| t / T::of(of.samples as f64))
}

fn saturated<T: Real>(p: T) -> T {
    (p / T::of(SATURATION)).tanh() * T::of(SATURATION)
}

/// Computes the error of the mean output of the nuclei in `slots`.
pub fn ensemble_error<T: Real>(of: &Equations<T>, answer: OutputFunction, state: &State<T>, slots: &[u32]) -> f64 {
    let mut total = of.rest.wide();
    for (x, y) in of.x.chunks_exact(of.inputs).zip(&of.y) {
        let answers = slots.iter().map(|slot| {
            let p: T = x.iter().zip(state.row(*slot)).map(|(x, w)| *x * *w).sum();
            if answer == OutputFunction::Saturating { saturated(p).wide() } else { p.wide() }
        });
        total += (answers.sum::<f64>() / slots.len() as f64 - y.wide()).powi(2);
    }
    total / of.samples as f64
}

/// Takes one gradient step of a nucleus: w -= (2η/B) Xᵀ(X w - y).
pub fn step_gradient<T: Real>(of: &Equations<T>, answer: OutputFunction, rate: f64, w: &mut [T], slope: &mut [T]) {
    slope.fill(T::ZERO);
    for (b, (x, y)) in of.x.chunks_exact(of.inputs).zip(&of.y).enumerate() {
        let from = if of.triangular { b } else { 0 };
        let p: T = x[from..].iter().zip(&w[from..]).map(|(x, w)| *x * *w).sum();
        let miss = match answer {
            OutputFunction::Linear => p - *y,
            OutputFunction::Saturating => {
                let t = (p / T::of(SATURATION)).tanh();
                (t * T::of(SATURATION) - *y) * (T::ONE - t * t)
            }
        };
        x[from..].iter().zip(&mut slope[from..]).for_each(|(x, s)| *s += *x * miss);
    }
    let step = T::of(2.0 * rate / of.samples as f64);
    w.iter_mut().zip(slope).for_each(|(w, s)| *w = *w - step * *s);
}

/// Computes the entropy H = ln Z - Σ p (w - max w) with p = e^{w - max w} / Z, without epsilon and overflow.
pub fn entropy<T: Real>(w: &[T]) -> T {
    let Some(top) = w.iter().copied().reduce(T::max) else { return T::ZERO };
    let (mut z, mut sum) = (T::ZERO, T::ZERO);
    for w in w {
        let below = *w - top;
        let e = below.exp_neg();
        z += e;
        sum += e * below;
    }
    (z.ln() - sum / z).max(T::ZERO)
}
