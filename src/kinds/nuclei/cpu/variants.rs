//! Timing of all coupling algorithms on the current population.

use super::{
    coupling::{Coupling, Kernel, Sums},
    thread_pool::ThreadPool,
};
use crate::{
    gpu::Pass,
    kinds::nuclei::{CouplingMethod, probes, real::Real},
};

/// Maximum number of nuclei, the first ones: naive sums over more take too long.
const MAX_NUCLEI: usize = 4096;

/// Algorithms, the reference first.
const ALGORITHMS: [(&str, CouplingMethod); 7] = [
    (probes::VARIANTS[0], CouplingMethod::Naive),
    (probes::VARIANTS[1], CouplingMethod::Tiled),
    (probes::VARIANTS[2], CouplingMethod::Fast),
    (probes::VARIANTS[3], CouplingMethod::MeanField),
    (probes::VARIANTS[4], CouplingMethod::Scan1d),
    (probes::VARIANTS[5], CouplingMethod::Sparse),
    (probes::VARIANTS[6], CouplingMethod::Dense),
];

/// Times each algorithm and compares it with the first.
pub fn time<T: Real>(kernel: Kernel<'_, T>, (cos, sin): (&[T], &[T]), cutoff: f64, pool: ThreadPool, pass: &mut Pass) {
    let n = cos.len().min(MAX_NUCLEI);
    let kernel = Kernel { x: &kernel.x[..n], h: &kernel.h[..n] };
    let (cos, sin) = (&cos[..n], &sin[..n]);
    let mut reference = None;
    for (name, method) in ALGORITHMS {
        let mut coupling = Coupling::new(method, cutoff, n, pool);
        let mut sums = Sums::with_capacity(n);
        pass.span(name, (n * n) as u64, || {
            coupling.plan(kernel);
            coupling.sums(kernel, cos, sin, &mut sums);
        });
        let reference = reference.get_or_insert_with(|| sums.clone());
        pass.off(name, error(&sums, reference));
    }
}

/// Largest difference of S and d, relative to the largest d.
fn error<T: Real>(sums: &Sums<T>, reference: &Sums<T>) -> f64 {
    let most = |a: &[T], b: &[T]| a.iter().zip(b).map(|(a, b)| (a.wide() - b.wide()).abs()).fold(0.0, f64::max);
    let off = most(&sums.re, &reference.re).max(most(&sums.im, &reference.im)).max(most(&sums.d, &reference.d));
    off / reference.d.iter().map(|d| d.wide()).fold(f64::MIN_POSITIVE, f64::max)
}
