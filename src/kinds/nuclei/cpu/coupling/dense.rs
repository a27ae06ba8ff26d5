//! Coupling sums with a stored matrix J.

use super::{Kernel, Sums, turned};
use crate::kinds::{nuclei::real::Real, shared::threads::Threads};

/// Stored matrix J, `[N × N]`.
#[derive(Default)]
pub struct Dense<T> {
    j: Vec<T>,
}

impl<T: Real> Dense<T> {
    /// Reserves memory for up to `most` nuclei.
    pub fn reserve(&mut self, most: usize) {
        self.j.reserve_exact((most * most).saturating_sub(self.j.len()));
    }

    /// Evaluates J of a kernel for all pairs.
    pub fn plan(&mut self, kernel: Kernel<'_, T>, threads: &Threads) {
        let n = kernel.x.len();
        self.j.resize(n * n, T::ZERO);
        threads.for_each(8 * n * n, self.j.chunks_mut(n.max(1)).enumerate(), |(j, row)| {
            row.iter_mut().enumerate().for_each(|(k, w)| *w = kernel.pair(j, k));
        });
    }

    /// Copies J of the slots `idx` from the matrix of all slots.
    pub fn plan_matrix(&mut self, all: &[f64], n_slots: usize, idx: &[u32]) {
        let n = idx.len();
        self.j.resize(n * n, T::ZERO);
        for (row, j) in self.j.chunks_mut(n.max(1)).zip(idx) {
            let from = &all[*j as usize * n_slots..][..n_slots];
            row.iter_mut().zip(idx).for_each(|(w, k)| *w = T::of(from[*k as usize]));
        }
    }

    /// Multiplies J by [cos, sin, 1], row by row.
    pub fn sums(&self, cos: &[T], sin: &[T], out: &mut Sums<T>, threads: &Threads) {
        let n = cos.len();
        let rows = self.j.chunks(n.max(1)).zip(cos.iter().zip(sin));
        let pieces = out.re.iter_mut().zip(&mut out.im).zip(&mut out.d).zip(rows);
        threads.for_each(3 * n * n, pieces, |(((re, im), d), (row, (c, s)))| {
            let mut sums = [0.0; 3];
            for ((w, cos), sin) in row.iter().zip(cos).zip(sin) {
                sums[0] += (*w * *cos).wide();
                sums[1] += (*w * *sin).wide();
                sums[2] += w.wide();
            }
            let sums = sums.map(T::of);
            (*re, *im) = turned(sums[0], sums[1], *c, *s);
            *d = sums[2];
        });
    }

    pub fn n_bytes(&self) -> u64 {
        (self.j.capacity() * T::BYTES) as u64
    }
}
