//! Coupling sums in order of fitness: without entropy (scan), or without distant pairs (sparse).

use super::{Kernel, Sums, turned};
use crate::kinds::{nuclei::real::Real, shared::threads::Threads};

/// Number of nuclei per chunk.
const CHUNK: usize = 256;

/// Nuclei in order of f, ties by index.
#[derive(Default)]
pub struct Sorted {
    order: Vec<u32>,
    carried: Vec<[f64; 3]>,
}

impl Sorted {
    /// Reserves memory for up to `most` nuclei.
    pub fn reserve(&mut self, most: usize) {
        self.order.reserve_exact(most.saturating_sub(self.order.len()));
        self.carried.reserve_exact(most.saturating_sub(self.carried.len()));
    }

    /// Sorts the nuclei by x.
    pub fn plan<T: Real>(&mut self, x: &[T]) {
        self.order.clear();
        self.order.extend(0..x.len() as u32);
        self.order.sort_unstable_by_key(|i| (x[*i as usize].ordered(), *i));
    }

    /// Computes sums without entropy by two linear recurrences, upwards and downwards, in double precision.
    pub fn scan<T: Real>(&mut self, kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        self.carried.resize(cos.len(), [0.0; 3]);
        let own = |i: usize| [cos[i].wide(), sin[i].wide(), 1.0];
        let (mut carry, mut before) = ([0.0; 3], None);
        for i in self.order.iter().map(|i| *i as usize) {
            attenuate(&mut carry, before.map(|b: usize| kernel.x[i] - kernel.x[b]));
            self.carried[i] = carry;
            add(&mut carry, own(i));
            before = Some(i);
        }
        (carry, before) = ([0.0; 3], None);
        for i in self.order.iter().rev().map(|i| *i as usize) {
            attenuate(&mut carry, before.map(|b| kernel.x[b] - kernel.x[i]));
            let mut sums = self.carried[i];
            add(&mut sums, carry);
            add(&mut sums, own(i));
            let sums = sums.map(T::of);
            (out.re[i], out.im[i]) = turned(sums[0], sums[1], cos[i], sin[i]);
            out.d[i] = sums[2];
            add(&mut carry, own(i));
            before = Some(i);
        }
    }

    /// Computes the sums over pairs with J of at least `cutoff`.
    pub fn sparse<T: Real>(
        &mut self,
        kernel: Kernel<'_, T>,
        cutoff: T,
        cos: &[T],
        sin: &[T],
        out: &mut Sums<T>,
        threads: &Threads,
    ) {
        self.carried.resize(cos.len(), [0.0; 3]);
        let reach = -cutoff.ln();
        let order = &self.order[..];
        let near = |j: usize, k: usize| {
            let apart = (kernel.x[j] - kernel.x[k]).abs();
            (apart <= reach).then(|| apart + (kernel.h[j] - kernel.h[k]).abs())
        };
        let sum = |at: usize| {
            let j = order[at] as usize;
            let mut sums = [cos[j], sin[j], T::ONE].map(T::wide);
            let mut add_pair = |k: u32| {
                let k = k as usize;
                let Some(apart) = near(j, k) else { return false };
                if apart <= reach {
                    let w = (-apart).exp_neg();
                    sums.iter_mut().zip([w * cos[k], w * sin[k], w]).for_each(|(sum, x)| *sum += x.wide());
                }
                true
            };
            let _ = order[..at].iter().rev().all(|k| add_pair(*k));
            let _ = order[at + 1..].iter().all(|k| add_pair(*k));
            sums
        };
        let n = cos.len();
        threads.for_each(8 * n * n, self.carried.chunks_mut(CHUNK).enumerate(), |(piece, rows)| {
            rows.iter_mut().enumerate().for_each(|(i, row)| *row = sum(piece * CHUNK + i));
        });
        for (i, sums) in order.iter().map(|i| *i as usize).zip(&self.carried) {
            let sums = sums.map(T::of);
            (out.re[i], out.im[i]) = turned(sums[0], sums[1], cos[i], sin[i]);
            out.d[i] = sums[2];
        }
    }

    pub fn n_bytes(&self) -> u64 {
        (self.order.capacity() * 4 + self.carried.capacity() * 24) as u64
    }

    /// Returns the memory for at most `most` nuclei, bytes.
    pub const fn bytes_of(most: usize) -> u64 {
        (most * (4 + 24)) as u64
    }
}

fn attenuate<T: Real>(carry: &mut [f64; 3], apart: Option<T>) {
    if let Some(apart) = apart {
        let decay = (-apart.wide()).exp_neg();
        carry.iter_mut().for_each(|c| *c *= decay);
    }
}

fn add(to: &mut [f64; 3], more: [f64; 3]) {
    to.iter_mut().zip(more).for_each(|(a, b)| *a += b);
}
