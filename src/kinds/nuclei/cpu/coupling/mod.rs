//! Coupling sums S_j = conj(z_j) Σ_k J_jk z_k and d_j = Σ_k J_jk with z = e^{iφ}, by several algorithms.
//!
//! Fitness and entropy, and thus J, are constant during the substeps of a generation. [`Coupling::plan`] computes the quantities
//! that depend only on J (sort order, factors, d) for all following [`Coupling::sums`].

mod dense;
mod fast;
pub mod fields;
mod pairs;
mod sorted;

use crate::kinds::{
    nuclei::{choices::CouplingMethod, real::Real},
    shared::threads::Threads,
};
use dense::Dense;
use fast::Fast;
use sorted::Sorted;

/// Minimum number of nuclei for which sorting is faster than the sum over all pairs.
const MIN_FAST: usize = 48;
/// Number of nuclei per partial sum.
const CHUNK: usize = 4096;

/// The coupling kernel J.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a, T> {
    /// f / T of all nuclei.
    pub x: &'a [T],
    /// H of all nuclei.
    pub h: &'a [T],
}

impl<T: Real> Kernel<'_, T> {
    /// Returns the coupling J of one pair.
    #[inline(always)]
    pub fn pair(&self, j: usize, k: usize) -> T {
        (-((self.x[j] - self.x[k]).abs() + (self.h[j] - self.h[k]).abs())).exp_neg()
    }
}

/// Coupling sums of all nuclei, the result of [`Coupling::sums`].
#[derive(Clone, Debug, Default)]
pub struct Sums<T> {
    /// Real parts of S.
    pub re: Vec<T>,
    /// Imaginary parts of S.
    pub im: Vec<T>,
    /// Row sums of J.
    pub d: Vec<T>,
}

impl<T: Real> Sums<T> {
    /// Allocates capacity for `n` nuclei.
    pub fn with_capacity(n: usize) -> Self {
        let room = || Vec::with_capacity(n);
        Self { re: room(), im: room(), d: room() }
    }

    pub fn n_bytes(&self) -> u64 {
        [&self.re, &self.im, &self.d].iter().map(|array| (array.capacity() * T::BYTES) as u64).sum()
    }

    /// Returns the memory for at most `most` nuclei, bytes.
    pub const fn bytes_of(most: usize) -> u64 {
        (3 * most * T::BYTES) as u64
    }

    fn resize(&mut self, n: usize) {
        for array in [&mut self.re, &mut self.im, &mut self.d] {
            array.resize(n, T::ZERO);
        }
    }
}

/// A coupling algorithm with its workspace.
pub struct Coupling<T> {
    method: CouplingMethod,
    cutoff: T,
    threads: Threads,
    fast: Fast<T>,
    sorted: Sorted,
    dense: Dense<T>,
    /// Whether the range of H is too large for `fast`.
    is_wide: bool,
}

impl<T: Real> Coupling<T> {
    /// Allocates the workspace for up to `most` nuclei.
    pub fn new(method: CouplingMethod, cutoff: f64, most: usize, threads: &Threads) -> Self {
        let mut new = Self {
            method,
            cutoff: T::of(cutoff),
            threads: threads.clone(),
            fast: Fast::default(),
            sorted: Sorted::default(),
            dense: Dense::default(),
            is_wide: false,
        };
        new.reserve(most);
        new
    }

    /// Changes the algorithm.
    pub fn set_method(&mut self, method: CouplingMethod, cutoff: f64, most: usize) {
        (self.method, self.cutoff) = (method, T::of(cutoff));
        self.reserve(most);
    }

    /// Changes the cutoff of [`CouplingMethod::Sparse`].
    pub fn set_cutoff(&mut self, cutoff: f64) {
        self.cutoff = T::of(cutoff);
    }

    fn reserve(&mut self, most: usize) {
        match self.method {
            CouplingMethod::Auto | CouplingMethod::Fast => self.fast.reserve(most),
            CouplingMethod::Scan1d | CouplingMethod::Sparse => self.sorted.reserve(most),
            CouplingMethod::Dense => self.dense.reserve(most),
            CouplingMethod::Naive | CouplingMethod::Tiled | CouplingMethod::MeanField => {}
        }
    }

    /// Returns the name of the algorithm in manifests. The state of each generation decides whether its sums run over all
    /// pairs.
    pub const fn name(&self) -> &'static str {
        match self.method {
            CouplingMethod::Auto | CouplingMethod::Fast => "fast",
            CouplingMethod::Naive => "naive",
            CouplingMethod::Tiled => "tiled",
            CouplingMethod::Dense => "matrix",
            CouplingMethod::Scan1d => "scan_1d",
            CouplingMethod::Sparse => "sparse",
            CouplingMethod::MeanField => "mean_field",
        }
    }

    /// Returns the algorithm used for `n` nuclei.
    pub const fn method_for(&self, n: usize) -> CouplingMethod {
        match self.method {
            CouplingMethod::Auto if n < MIN_FAST => CouplingMethod::Tiled,
            CouplingMethod::Auto | CouplingMethod::Fast if self.is_wide => CouplingMethod::Tiled,
            CouplingMethod::Auto => CouplingMethod::Fast,
            other => other,
        }
    }

    /// Prepares the sums with this kernel.
    pub fn plan(&mut self, kernel: Kernel<'_, T>) {
        let ends = kernel.h.iter().map(|h| h.wide()).fold((f64::MAX, f64::MIN), |(a, b), h| (a.min(h), b.max(h)));
        self.is_wide = ends.1 - ends.0 > fast::MAX_H_RANGE;
        match self.method_for(kernel.x.len()) {
            CouplingMethod::Fast => self.fast.plan(kernel, &self.threads),
            CouplingMethod::Scan1d | CouplingMethod::Sparse => self.sorted.plan(kernel.x),
            CouplingMethod::Dense => self.dense.plan(kernel, &self.threads),
            _ => {}
        }
    }

    /// Prepares the sums with a coupling matrix over all slots, of which `idx` are occupied; for [`CouplingMethod::Dense`].
    pub fn plan_matrix(&mut self, all: &[f64], n_slots: usize, idx: &[u32]) {
        self.dense.plan_matrix(all, n_slots, idx);
    }

    /// Computes S and d from the cosines and sines of the phases; `kernel` must be the planned one.
    pub fn sums(&mut self, kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        out.resize(cos.len());
        let threads = &self.threads;
        match self.method_for(cos.len()) {
            CouplingMethod::Naive => pairs::naive(kernel, cos, sin, out, threads),
            CouplingMethod::MeanField => pairs::mean_field(cos, sin, out),
            CouplingMethod::Fast => self.fast.sums(cos, sin, out, threads),
            CouplingMethod::Scan1d => self.sorted.scan(kernel, cos, sin, out),
            CouplingMethod::Sparse => self.sorted.sparse(kernel, self.cutoff, cos, sin, out, threads),
            CouplingMethod::Dense => self.dense.sums(cos, sin, out, threads),
            CouplingMethod::Tiled | CouplingMethod::Auto => pairs::tiled(kernel, cos, sin, out, threads),
        }
    }

    pub fn n_bytes(&self) -> u64 {
        self.fast.n_bytes() + self.sorted.n_bytes() + self.dense.n_bytes()
    }

    /// Returns the memory for at most `most` nuclei, bytes.
    pub fn bytes_of(method: CouplingMethod, most: usize) -> u64 {
        match method {
            CouplingMethod::Auto | CouplingMethod::Fast => Fast::<T>::bytes_of(most),
            CouplingMethod::Scan1d | CouplingMethod::Sparse => Sorted::bytes_of(most),
            CouplingMethod::Dense => (most * most * T::BYTES) as u64,
            CouplingMethod::Naive | CouplingMethod::Tiled | CouplingMethod::MeanField => 0,
        }
    }
}

/// Converts Σ J z to S by a rotation by minus the phase of the nucleus.
#[inline(always)]
pub fn turned<T: Real>(re: T, im: T, cos: T, sin: T) -> (T, T) {
    (re * cos + im * sin, im * cos - re * sin)
}
