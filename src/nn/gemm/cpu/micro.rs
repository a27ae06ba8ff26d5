//! Microkernels. A microkernel computes one block of k over a tile whose sums stay in registers; there is one for each type,
//! instruction set and number of rows. All microkernels have the order of summation of the definition.
//!
//! A tile of AVX-512 is 14 × 32: its 28 sums, two vectors of B and one broadcast element of A occupy 31 of the 32 registers, and
//! each k needs 16 loads for 28 multiply-adds. The tile of AVX2, 6 × 16, does the same with 16 registers.

use super::activation;
use crate::nn::activation::Activation;
pub use crate::num::isa::Isa;

/// Microkernel with the arguments `(depth, rows, strip, ahead, total, out)`. The last four are given with the number of
/// elements between two of their rows. The result is `out[i][j] = (total[i][j] +) Σ rows[k][i] · strip[k][j]`. A null `total`
/// counts as 0. `ahead` is prefetched into the second-level cache; its address may be invalid.
type Run<S> = unsafe fn(usize, *const S, Rows<S>, Rows<S>, Rows<S>, (*mut S, usize));
/// Pointer to the first element, and number of elements from one row to the next.
pub type Rows<S> = (*const S, usize);

/// Microkernels of one type and instruction set.
#[derive(Clone, Copy)]
pub struct Micro<S: 'static> {
    /// Microkernels for 1, 2, … rows.
    pub runs: &'static [Run<S>],
    /// Number of columns.
    pub nr: usize,
    /// Instruction set of the microkernels.
    pub isa: Isa,
}

impl<S> Micro<S> {
    /// Returns the maximum number of rows.
    pub const fn mr(&self) -> usize {
        self.runs.len()
    }
}

/// Type of the sums.
pub trait Sum: bytemuck::Pod + Default + PartialEq + Send + Sync {
    /// Additive identity, 0.
    const ZERO: Self;
    /// Multiplicative identity, 1.
    const ONE: Self;
    /// Whether the type is an integer.
    const IS_INTEGER: bool;
    /// Computes the fused multiply-add `a · b + c`, rounded once.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// Computes the product `self · b`.
    fn times(self, b: Self) -> Self;
    /// Computes the sum `self + b`.
    fn plus(self, b: Self) -> Self;
    /// Applies the activation: `x = f(x)`.
    fn activate(f: Activation, x: &mut [Self]);
    /// Multiplies by the derivative: `x = x · f′(z)`.
    fn times_gradient(f: Activation, z: &[Self], x: &mut [Self]);
    #[doc(hidden)]
    fn packed_fma(a: Self, b: Self, c: Self) -> Self;
    #[doc(hidden)]
    fn micro(isa: Isa) -> Micro<Self>;
}

macro_rules! real {
    ($S:ty, $avx512:ident, $avx2:ident) => {
        impl Sum for $S {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const IS_INTEGER: bool = false;
            #[inline(always)]
            #[expect(clippy::disallowed_methods, reason = "the definition rounds once")]
            fn fma(a: Self, b: Self, c: Self) -> Self {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self + b
            }
            fn activate(f: Activation, x: &mut [Self]) {
                activation::apply(f, x);
            }
            fn times_gradient(f: Activation, z: &[Self], x: &mut [Self]) {
                activation::times_gradient(f, z, x);
            }
            #[inline(always)]
            fn packed_fma(a: Self, b: Self, c: Self) -> Self {
                Self::fma(a, b, c)
            }
            fn micro(isa: Isa) -> Micro<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 | Isa::Avx512Vnni => x86::$avx512(),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => x86::$avx2(),
                    _ => portable(),
                }
            }
        }
    };
}
real!(f32, f32_avx512, f32_avx2);
real!(f64, f64_avx512, f64_avx2);

impl Sum for i32 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const IS_INTEGER: bool = true;
    #[inline(always)]
    fn fma(a: Self, b: Self, c: Self) -> Self {
        c.wrapping_add(a.wrapping_mul(b))
    }
    #[inline(always)]
    fn times(self, b: Self) -> Self {
        self.wrapping_mul(b)
    }
    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        self.wrapping_add(b)
    }
    fn activate(_: Activation, _: &mut [Self]) {
        unreachable!("refused by Parts::check")
    }
    fn times_gradient(_: Activation, _: &[Self], _: &mut [Self]) {
        unreachable!("refused by Parts::check")
    }
    /// Computes the sum of two products of 16-bit halves, plus `c`.
    #[inline(always)]
    fn packed_fma(a: Self, b: Self, c: Self) -> Self {
        let halves = |x: Self| (Self::from(x as i16), x >> 16);
        let ((a0, a1), (b0, b1)) = (halves(a), halves(b));
        Self::fma(a1, b1, Self::fma(a0, b0, c))
    }
    fn micro(isa: Isa) -> Micro<Self> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => x86::i32_vnni(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::i32_avx512(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::i32_avx2(),
            _ => portable(),
        }
    }
}

/// Prefetches `lines` of `len` elements into the first-level cache.
#[inline]
pub fn prefetch<T>(from: *const T, step: usize, lines: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..len * size_of::<T>()).step_by(64) {
        for line in 0..lines {
            let at = from.wrapping_add(line * step).cast::<i8>().wrapping_add(byte);
            // SAFETY: no address is invalid for this instruction.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, step, lines, len);
}

/// # Safety
/// `rows` must have `depth` × `M` elements. `strip`, `total` and `out` must have rows of 8 elements: `depth` rows in `strip`,
/// and `M` rows in the others.
unsafe fn portable_run<S: Sum, const M: usize>(
    depth: usize,
    rows: *const S,
    (strip, strip_step): Rows<S>,
    _: Rows<S>,
    (total, total_step): Rows<S>,
    (out, out_step): (*mut S, usize),
) {
    let mut sums = [[S::ZERO; 8]; M];
    for k in 0..depth {
        // SAFETY: by the caller.
        let (a, b) = unsafe { (&*rows.add(k * M).cast::<[S; M]>(), &*strip.add(k * strip_step).cast::<[S; 8]>()) };
        for i in 0..M {
            for j in 0..8 {
                sums[i][j] = S::packed_fma(a[i], b[j], sums[i][j]);
            }
        }
    }
    for (i, row) in sums.iter_mut().enumerate() {
        // SAFETY: by the caller.
        unsafe {
            if !total.is_null() {
                let total = &*total.add(i * total_step).cast::<[S; 8]>();
                row.iter_mut().zip(total).for_each(|(x, t)| *x = t.plus(*x));
            }
            *out.add(i * out_step).cast::<[S; 8]>() = *row;
        }
    }
}

fn portable<S: Sum>() -> Micro<S> {
    let runs: &'static [Run<S>] =
        const { &[portable_run::<S, 1>, portable_run::<S, 2>, portable_run::<S, 3>, portable_run::<S, 4>] };
    Micro { runs, nr: 8, isa: Isa::Portable }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Isa, Micro, Rows, Run};
    use std::arch::x86_64::*;

    /// Defines microkernels of two vectors of columns, for each of the given numbers of rows.
    macro_rules! micro {
        ($name:ident, $S:ty, $isa:ident, $feature:literal, $lanes:literal, [$($rows:literal)*],
         $zero:ident, $load:ident, $store:ident, $set:ident, $add:ident, $fma:expr) => {
            pub(super) fn $name() -> Micro<$S> {
                /// # Safety
                /// As for [`super::portable_run`], with two vectors per row, and the processor must support the instruction
                /// set.
                #[target_feature(enable = $feature)]
                unsafe fn run<const M: usize>(
                    depth: usize,
                    rows: *const $S,
                    (strip, strip_step): Rows<$S>,
                    (ahead, ahead_step): Rows<$S>,
                    (total, total_step): Rows<$S>,
                    (out, out_step): (*mut $S, usize),
                ) {
                    let mut sums = [[$zero(); 2]; M];
                    for k in 0..depth {
                        // SAFETY: by the caller.
                        unsafe {
                            _mm_prefetch::<_MM_HINT_T1>(ahead.wrapping_add(k * ahead_step).cast());
                            let at = strip.add(k * strip_step);
                            let b = [$load(at.cast()), $load(at.add($lanes).cast())];
                            let a = rows.add(k * M);
                            for i in 0..M {
                                let x = $set(*a.add(i));
                                sums[i] = [($fma)(x, b[0], sums[i][0]), ($fma)(x, b[1], sums[i][1])];
                            }
                        }
                    }
                    for (i, row) in sums.iter().enumerate() {
                        for (j, sum) in row.iter().enumerate() {
                            // SAFETY: by the caller.
                            unsafe {
                                let from = total.wrapping_add(i * total_step + j * $lanes);
                                let sum = if total.is_null() { *sum } else { $add($load(from.cast()), *sum) };
                                $store(out.add(i * out_step + j * $lanes).cast(), sum);
                            }
                        }
                    }
                }
                const RUNS: &[Run<$S>] = &[$(run::<$rows>),*];
                Micro { runs: RUNS, nr: 2 * $lanes, isa: Isa::$isa }
            }
        };
    }

    micro!(f32_avx512, f32, Avx512, "avx512f", 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14],
        _mm512_setzero_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_add_ps, _mm512_fmadd_ps);
    micro!(f64_avx512, f64, Avx512, "avx512f", 8, [1 2 3 4 5 6 7 8 9 10 11 12 13 14],
        _mm512_setzero_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_fmadd_pd);
    micro!(f32_avx2, f32, Avx2, "avx2,fma", 8, [1 2 3 4 5 6],
        _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_add_ps, _mm256_fmadd_ps);
    micro!(f64_avx2, f64, Avx2, "avx2,fma", 4, [1 2 3 4 5 6],
        _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_fmadd_pd);
    // Integers are packed in pairs of 16 bits, of two k.
    micro!(i32_vnni, i32, Avx512Vnni, "avx512f,avx512bw,avx512vnni", 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14],
        _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32, _mm512_add_epi32,
        |a, b, sum| _mm512_dpwssd_epi32(sum, a, b));
    micro!(i32_avx512, i32, Avx512, "avx512f,avx512bw", 16, [1 2 3 4 5 6 7 8 9 10 11 12],
        _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32, _mm512_add_epi32,
        |a, b, sum| _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)));
    micro!(i32_avx2, i32, Avx2, "avx2", 8, [1 2 3 4 5],
        _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32, _mm256_add_epi32,
        |a, b, sum| _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)));
}
