//! Sums over all pairs: S_j = conj(z_j) Σ_k J_jk z_k and d_j = Σ_k J_jk, with z = e^{iφ}, in several ways.
//!
//! Fitness and entropy stand still during the substeps of a generation, and J with them: what depends on them alone (an
//! order, factors, d) is made once by [`Coupling::plan`] and used by every [`Coupling::sums`].

mod dense;
mod fast;
pub mod fields;
mod pairs;
mod sorted;

use super::crew::Crew;
use crate::kinds::nuclei::{Method, real::Real};
use dense::Dense;
use fast::Fast;
use sorted::Sorted;

/// Below this many nuclei the plain sum over pairs is quicker than sorting.
const FEW: usize = 48;
/// Nuclei of one piece of work.
const GRAIN: usize = 4096;

/// Who acts how much on whom.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a, T> {
    /// f / T of the living.
    pub x: &'a [T],
    /// H of the living.
    pub h: &'a [T],
}

impl<T: Real> Kernel<'_, T> {
    /// J of a pair.
    #[inline(always)]
    pub fn pair(&self, j: usize, k: usize) -> T {
        (-((self.x[j] - self.x[k]).abs() + (self.h[j] - self.h[k]).abs())).decay()
    }
}

/// Sums of the living; what [`Coupling::sums`] fills.
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
    /// Room for so many.
    pub fn with_capacity(n: usize) -> Self {
        let room = || Vec::with_capacity(n);
        Self { re: room(), im: room(), d: room() }
    }

    fn resize(&mut self, n: usize) {
        for array in [&mut self.re, &mut self.im, &mut self.d] {
            array.resize(n, T::ZERO);
        }
    }
}

/// The coupling of one generation, and room for that of the largest population.
pub struct Coupling<T> {
    method: Method,
    cutoff: T,
    crew: Crew,
    fast: Fast<T>,
    sorted: Sorted,
    dense: Dense<T>,
    /// H is spread too wide for `fast`.
    is_wide: bool,
}

impl<T: Real> Coupling<T> {
    /// For populations of up to so many.
    pub fn new(method: Method, cutoff: f64, most: usize, crew: Crew) -> Self {
        let mut new = Self {
            method,
            cutoff: T::of(cutoff),
            crew,
            fast: Fast::default(),
            sorted: Sorted::default(),
            dense: Dense::default(),
            is_wide: false,
        };
        new.reserve(most);
        new
    }

    /// Takes another method from now on.
    pub fn choose(&mut self, method: Method, cutoff: f64, most: usize) {
        (self.method, self.cutoff) = (method, T::of(cutoff));
        self.reserve(most);
    }

    fn reserve(&mut self, most: usize) {
        match self.method {
            Method::Auto | Method::Fast => self.fast.reserve(most),
            Method::Scan1d | Method::Sparse => self.sorted.reserve(most),
            Method::Dense => self.dense.reserve(most),
            Method::Naive | Method::Tiled | Method::MeanField => {}
        }
    }

    /// The method that is used for so many.
    pub const fn method_for(&self, n: usize) -> Method {
        match self.method {
            Method::Auto if n < FEW => Method::Tiled,
            Method::Auto | Method::Fast if self.is_wide => Method::Tiled,
            Method::Auto => Method::Fast,
            other => other,
        }
    }

    /// Prepares for sums with this kernel.
    pub fn plan(&mut self, kernel: Kernel<'_, T>) {
        let ends = kernel.h.iter().map(|h| h.wide()).fold((f64::MAX, f64::MIN), |(a, b), h| (a.min(h), b.max(h)));
        self.is_wide = ends.1 - ends.0 > fast::WIDEST;
        match self.method_for(kernel.x.len()) {
            Method::Fast => self.fast.plan(kernel, self.crew),
            Method::Scan1d | Method::Sparse => self.sorted.plan(kernel.x),
            Method::Dense => self.dense.plan(kernel, self.crew),
            _ => {}
        }
    }

    /// Prepares for sums with J given for all places, of which these live; the method is [`Method::Dense`].
    pub fn plan_given(&mut self, all: &[f64], places: usize, idx: &[u32]) {
        self.dense.plan_given(all, places, idx);
    }

    /// S and d for these e^{iφ}, as cosines and sines; the kernel is the one that was planned.
    pub fn sums(&mut self, kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        out.resize(cos.len());
        let crew = self.crew;
        match self.method_for(cos.len()) {
            Method::Naive => pairs::naive(kernel, cos, sin, out, crew),
            Method::MeanField => pairs::mean_field(cos, sin, out),
            Method::Fast => self.fast.sums(cos, sin, out, crew),
            Method::Scan1d => self.sorted.scan(kernel, cos, sin, out),
            Method::Sparse => self.sorted.sparse(kernel, self.cutoff, cos, sin, out, crew),
            Method::Dense => self.dense.sums(cos, sin, out, crew),
            Method::Tiled | Method::Auto => pairs::tiled(kernel, cos, sin, out, crew),
        }
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        self.fast.n_bytes() + self.sorted.n_bytes() + self.dense.n_bytes()
    }

    /// The same, beforehand.
    pub fn bytes_of(method: Method, most: usize) -> u64 {
        match method {
            Method::Auto | Method::Fast => Fast::<T>::bytes_of(most),
            Method::Scan1d | Method::Sparse => Sorted::bytes_of(most),
            Method::Dense => (most * most * T::BYTES) as u64,
            Method::Naive | Method::Tiled | Method::MeanField => 0,
        }
    }
}

/// From Σ J z to S: turned back by the own phase.
#[inline(always)]
pub fn turned<T: Real>(re: T, im: T, cos: T, sin: T) -> (T, T) {
    (re * cos + im * sin, im * cos - re * sin)
}
