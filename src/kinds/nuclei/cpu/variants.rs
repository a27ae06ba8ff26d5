//! All ways to compute the coupling, side by side on the population as it is.

use super::{
    coupling::{Coupling, Kernel, Sums},
    crew::Crew,
};
use crate::{
    gpu::Pass,
    kinds::nuclei::{Method, probes, real::Real},
};

/// Nuclei that take part at most, the first ones: the naive sums over more take longer than anybody waits.
const MOST: usize = 4096;

/// Ways, the reference first.
const WAYS: [(&str, Method); 7] = [
    (probes::VARIANTS[0], Method::Naive),
    (probes::VARIANTS[1], Method::Tiled),
    (probes::VARIANTS[2], Method::Fast),
    (probes::VARIANTS[3], Method::MeanField),
    (probes::VARIANTS[4], Method::Scan1d),
    (probes::VARIANTS[5], Method::Sparse),
    (probes::VARIANTS[6], Method::Dense),
];

/// Times each, and says how far it is from the first.
pub fn time<T: Real>(kernel: Kernel<'_, T>, (cos, sin): (&[T], &[T]), cutoff: f64, crew: Crew, pass: &mut Pass) {
    let n = cos.len().min(MOST);
    let kernel = Kernel { x: &kernel.x[..n], h: &kernel.h[..n] };
    let (cos, sin) = (&cos[..n], &sin[..n]);
    let mut reference = None;
    for (name, method) in WAYS {
        let mut coupling = Coupling::new(method, cutoff, n, crew);
        let mut sums = Sums::with_capacity(n);
        pass.span(name, (n * n) as u64, || {
            coupling.plan(kernel);
            coupling.sums(kernel, cos, sin, &mut sums);
        });
        let reference = reference.get_or_insert_with(|| sums.clone());
        pass.off(name, error(&sums, reference));
    }
}

/// Largest difference of S and d over the largest d.
fn error<T: Real>(sums: &Sums<T>, reference: &Sums<T>) -> f64 {
    let most = |a: &[T], b: &[T]| a.iter().zip(b).map(|(a, b)| (a.wide() - b.wide()).abs()).fold(0.0, f64::max);
    let off = most(&sums.re, &reference.re).max(most(&sums.im, &reference.im)).max(most(&sums.d, &reference.d));
    off / reference.d.iter().map(|d| d.wide()).fold(f64::MIN_POSITIVE, f64::max)
}
