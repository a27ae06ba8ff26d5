//! Sums in the order of fitness: entropy ignored, or far pairs left out.

use super::{Kernel, Sums, turned};
use crate::kinds::nuclei::{cpu::crew::Crew, real::Real};

/// Nuclei of one piece of work.
const PIECE: usize = 256;

/// The living in the order of f, ties by index.
#[derive(Default)]
pub struct Sorted<T> {
    order: Vec<u32>,
    carried: Vec<[T; 3]>,
}

impl<T: Real> Sorted<T> {
    /// Makes room.
    pub fn reserve(&mut self, most: usize) {
        self.order.reserve_exact(most.saturating_sub(self.order.len()));
        self.carried.reserve_exact(most.saturating_sub(self.carried.len()));
    }

    /// Sorts.
    pub fn plan(&mut self, x: &[T]) {
        self.order.clear();
        self.order.extend(0..x.len() as u32);
        self.order.sort_unstable_by_key(|i| (x[*i as usize].ordered(), *i));
    }

    /// One linear recurrence up, one down.
    pub fn scan(&mut self, kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        self.carried.resize(cos.len(), [T::ZERO; 3]);
        let own = |i: usize| [cos[i], sin[i], T::ONE];
        let (mut carry, mut before) = ([T::ZERO; 3], None);
        for i in self.order.iter().map(|i| *i as usize) {
            step(&mut carry, before.map(|b: usize| kernel.x[i] - kernel.x[b]));
            self.carried[i] = carry;
            add(&mut carry, own(i));
            before = Some(i);
        }
        (carry, before) = ([T::ZERO; 3], None);
        for i in self.order.iter().rev().map(|i| *i as usize) {
            step(&mut carry, before.map(|b| kernel.x[b] - kernel.x[i]));
            let mut sums = self.carried[i];
            add(&mut sums, carry);
            add(&mut sums, own(i));
            (out.re[i], out.im[i]) = turned(sums[0], sums[1], cos[i], sin[i]);
            out.d[i] = sums[2];
            add(&mut carry, own(i));
            before = Some(i);
        }
    }

    /// Only pairs with J of at least `cutoff`.
    pub fn sparse(&mut self, kernel: Kernel<'_, T>, cutoff: T, cos: &[T], sin: &[T], out: &mut Sums<T>, crew: Crew) {
        self.carried.resize(cos.len(), [T::ZERO; 3]);
        let reach = -cutoff.ln();
        let order = &self.order[..];
        let near = |j: usize, k: usize| {
            let apart = (kernel.x[j] - kernel.x[k]).abs();
            (apart <= reach).then(|| apart + (kernel.h[j] - kernel.h[k]).abs())
        };
        let sum = |at: usize| {
            let j = order[at] as usize;
            let mut sums = [cos[j], sin[j], T::ONE];
            let mut meet = |k: u32| {
                let k = k as usize;
                let Some(apart) = near(j, k) else { return false };
                if apart <= reach {
                    let w = (-apart).decay();
                    add(&mut sums, [w * cos[k], w * sin[k], w]);
                }
                true
            };
            let _ = order[..at].iter().rev().all(|k| meet(*k));
            let _ = order[at + 1..].iter().all(|k| meet(*k));
            sums
        };
        let n = cos.len();
        crew.each(8 * n * n, self.carried.chunks_mut(PIECE).enumerate(), |(piece, rows)| {
            rows.iter_mut().enumerate().for_each(|(i, row)| *row = sum(piece * PIECE + i));
        });
        for (i, sums) in order.iter().map(|i| *i as usize).zip(&self.carried) {
            (out.re[i], out.im[i]) = turned(sums[0], sums[1], cos[i], sin[i]);
            out.d[i] = sums[2];
        }
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        (self.order.capacity() * 4 + self.carried.capacity() * 3 * T::BYTES) as u64
    }

    /// The same, beforehand.
    pub const fn bytes_of(most: usize) -> u64 {
        (most * (4 + 3 * T::BYTES)) as u64
    }
}

fn step<T: Real>(carry: &mut [T; 3], apart: Option<T>) {
    if let Some(apart) = apart {
        let decay = (-apart).decay();
        carry.iter_mut().for_each(|c| *c = *c * decay);
    }
}

fn add<T: Real>(to: &mut [T; 3], more: [T; 3]) {
    to.iter_mut().zip(more).for_each(|(a, b)| *a += b);
}
