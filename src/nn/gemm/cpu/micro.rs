//! Microkernels: one block of k over a tile that stays in registers, one per type and instruction set, all with the
//! sums of the definition.

/// `(depth, rows, strip, tile, adds)`: `tile[i][j] (+)= Σ rows[k][i] · strip[k][j]`, over `mr` × `nr` elements.
type Run<S> = unsafe fn(usize, *const S, *const S, *mut S, bool);

/// A microkernel and the size of its tile.
#[derive(Clone, Copy)]
pub struct Micro<S> {
    /// Rows.
    pub mr: usize,
    /// Columns.
    pub nr: usize,
    /// The function.
    pub run: Run<S>,
}

/// Instruction sets there is a microkernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the program was compiled for; without a fused multiply-add instruction, slow.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Isa {
    /// Those of this processor, slowest first.
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|isa| isa.is_here()).collect()
    }

    /// The fastest of this processor.
    pub fn best() -> Self {
        [Self::Avx512, Self::Avx2].into_iter().find(|isa| isa.is_here()).unwrap_or(Self::Portable)
    }

    fn is_here(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// A type that is summed.
pub trait Sum: Copy + Default + PartialEq + Send + Sync + 'static {
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Whether it has no fractions.
    const IS_INTEGER: bool;
    /// `a · b + c`, rounded once.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// `self · b`
    fn times(self, b: Self) -> Self;
    /// `self + b`
    fn plus(self, b: Self) -> Self;
    /// A function in f64, rounded once.
    fn by_f64(self, f: fn(f64) -> f64) -> Self;
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
            fn times(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self + b
            }
            fn by_f64(self, f: fn(f64) -> f64) -> Self {
                f(self.into()) as Self
            }
            fn micro(isa: Isa) -> Micro<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => x86::$avx512(),
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
    fn times(self, b: Self) -> Self {
        self.wrapping_mul(b)
    }
    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        self.wrapping_add(b)
    }
    fn by_f64(self, f: fn(f64) -> f64) -> Self {
        f(self.into()) as Self
    }
    fn micro(isa: Isa) -> Micro<Self> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => x86::i32_avx2(),
            _ => portable(),
        }
    }
}

/// Loops that the compiler may turn into vectors over columns.
///
/// # Safety
/// `rows` holds `depth` × `MR` elements, `strip` `depth` × `NR`, and `tile` `MR` × `NR`.
#[inline(always)]
unsafe fn loops<S: Sum, const MR: usize, const NR: usize>(
    depth: usize,
    rows: *const S,
    strip: *const S,
    tile: *mut S,
    adds: bool,
) {
    let mut sums = [[S::ZERO; NR]; MR];
    for k in 0..depth {
        // SAFETY: inside the packed panels.
        let (a, b) = unsafe { (&*rows.add(k * MR).cast::<[S; MR]>(), &*strip.add(k * NR).cast::<[S; NR]>()) };
        for i in 0..MR {
            for j in 0..NR {
                sums[i][j] = S::fma(a[i], b[j], sums[i][j]);
            }
        }
    }
    for (i, row) in sums.iter().enumerate() {
        // SAFETY: row `i` of the tile.
        let out = unsafe { &mut *tile.add(i * NR).cast::<[S; NR]>() };
        for j in 0..NR {
            out[j] = if adds { out[j].plus(row[j]) } else { row[j] };
        }
    }
}

fn portable<S: Sum>() -> Micro<S> {
    Micro { mr: 4, nr: 8, run: loops::<S, 4, 8> }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Micro, loops};
    use std::arch::x86_64::*;

    /// A microkernel of `$mr` rows by two vectors.
    macro_rules! micro {
        ($name:ident, $S:ty, $feature:literal, $lanes:literal, $mr:literal,
         $zero:ident, $load:ident, $store:ident, $set:ident, $fma:ident, $add:ident) => {
            pub(super) fn $name() -> Micro<$S> {
                /// # Safety
                /// As [`loops`], and the processor has the instruction set.
                #[target_feature(enable = $feature)]
                unsafe fn run(depth: usize, rows: *const $S, strip: *const $S, tile: *mut $S, adds: bool) {
                    let mut sums = [[$zero(); 2]; $mr];
                    for k in 0..depth {
                        // SAFETY: inside the packed panels.
                        unsafe {
                            let at = strip.add(k * 2 * $lanes);
                            let b = [$load(at), $load(at.add($lanes))];
                            let a = rows.add(k * $mr);
                            for i in 0..$mr {
                                let x = $set(*a.add(i));
                                sums[i] = [$fma(x, b[0], sums[i][0]), $fma(x, b[1], sums[i][1])];
                            }
                        }
                    }
                    for (i, row) in sums.iter().enumerate() {
                        for (j, sum) in row.iter().enumerate() {
                            // SAFETY: inside the tile.
                            unsafe {
                                let place = tile.add((2 * i + j) * $lanes);
                                $store(place, if adds { $add($load(place), *sum) } else { *sum });
                            }
                        }
                    }
                }
                Micro { mr: $mr, nr: 2 * $lanes, run }
            }
        };
    }

    micro!(
        f32_avx512,
        f32,
        "avx512f",
        16,
        14,
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps
    );
    micro!(
        f64_avx512,
        f64,
        "avx512f",
        8,
        14,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd
    );
    micro!(
        f32_avx2,
        f32,
        "avx2,fma",
        8,
        6,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    micro!(
        f64_avx2,
        f64,
        "avx2,fma",
        4,
        6,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );

    pub(super) fn i32_avx2() -> Micro<i32> {
        Micro { mr: 4, nr: 16, run: i32_loops }
    }

    /// # Safety
    /// As [`loops`], and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn i32_loops(depth: usize, rows: *const i32, strip: *const i32, tile: *mut i32, adds: bool) {
        // SAFETY: by the caller.
        unsafe { loops::<i32, 4, 16>(depth, rows, strip, tile, adds) }
    }
}
