//! Times all coupling algorithms on the current population.

use super::coupling::{Coupling, Kernel, Sums};
use crate::{
    gpu::Pass,
    kinds::{
        nuclei::{choices::CouplingMethod, params::Params, probes, real::Real},
        shared::threads::Threads,
    },
};

/// Maximum number of nuclei to compare; naive sums over more take too long.
const MAX_NUCLEI: usize = 4096;

/// Algorithms to compare, the reference first.
const ALGORITHMS: [(&str, CouplingMethod); 7] = [
    (probes::VARIANTS[0], CouplingMethod::Naive),
    (probes::VARIANTS[1], CouplingMethod::Tiled),
    (probes::VARIANTS[2], CouplingMethod::Fast),
    (probes::VARIANTS[3], CouplingMethod::MeanField),
    (probes::VARIANTS[4], CouplingMethod::Scan1d),
    (probes::VARIANTS[5], CouplingMethod::Sparse),
    (probes::VARIANTS[6], CouplingMethod::Dense),
];

/// All coupling algorithms with their workspace, allocated when `measure.variants` is switched on.
pub struct Variants<T> {
    couplings: [Coupling<T>; ALGORITHMS.len()],
    reference: Sums<T>,
    sums: Sums<T>,
}

impl<T: Real> Variants<T> {
    /// Allocates the algorithms for the capacity of the population; `None` unless the parameters request the comparison.
    pub fn new(params: &Params, threads: &Threads) -> Option<Self> {
        let n = params.measure.variants.then(|| n_compared(params.population.capacity))?;
        let coupling = |(_, method)| Coupling::new(method, params.coupling.sparse_cutoff, n, threads);
        let room = || Sums::with_capacity(n);
        Some(Self { couplings: ALGORITHMS.map(coupling), reference: room(), sums: room() })
    }

    pub fn n_bytes(&self) -> u64 {
        let couplings: u64 = self.couplings.iter().map(Coupling::n_bytes).sum();
        couplings + self.reference.n_bytes() + self.sums.n_bytes()
    }

    /// Returns the memory that [`Variants::new`] allocates with these parameters, bytes.
    pub fn bytes_of(params: &Params) -> u64 {
        if !params.measure.variants {
            return 0;
        }
        let n = n_compared(params.population.capacity);
        let couplings: u64 = ALGORITHMS.iter().map(|(_, method)| Coupling::<T>::bytes_of(*method, n)).sum();
        couplings + 2 * Sums::<T>::bytes_of(n)
    }

    /// Times each algorithm and compares it with the reference.
    pub fn time(&mut self, kernel: Kernel<'_, T>, (cos, sin): (&[T], &[T]), cutoff: f64, pass: &mut Pass) {
        let n = cos.len().min(MAX_NUCLEI);
        let kernel = Kernel { x: &kernel.x[..n], h: &kernel.h[..n] };
        let (cos, sin) = (&cos[..n], &sin[..n]);
        for (at, (coupling, (name, _))) in self.couplings.iter_mut().zip(ALGORITHMS).enumerate() {
            coupling.set_cutoff(cutoff);
            let sums = if at == 0 { &mut self.reference } else { &mut self.sums };
            pass.span(name, (n * n) as u64, || {
                coupling.plan(kernel);
                coupling.sums(kernel, cos, sin, sums);
            });
            let off = if at == 0 { 0.0 } else { error(&self.sums, &self.reference) };
            pass.off(name, off);
        }
    }
}

/// Returns the number of nuclei that are compared in a population with this capacity.
fn n_compared(capacity: u32) -> usize {
    MAX_NUCLEI.min(capacity as usize)
}

/// Returns the maximum difference of S and d, relative to the largest d.
fn error<T: Real>(sums: &Sums<T>, reference: &Sums<T>) -> f64 {
    let most = |a: &[T], b: &[T]| a.iter().zip(b).map(|(a, b)| (a.wide() - b.wide()).abs()).fold(0.0, f64::max);
    let off = most(&sums.re, &reference.re).max(most(&sums.im, &reference.im)).max(most(&sums.d, &reference.d));
    off / reference.d.iter().map(|d| d.wide()).fold(f64::MIN_POSITIVE, f64::max)
}
