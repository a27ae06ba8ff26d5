//! Loops compiled for the vector instructions of the processor.

use crate::num::isa::Isa;

/// A loop that is too long for the compiler to inline as a closure; mark `run` as `#[inline(always)]`.
pub trait Loop {
    /// Result of the loop.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs a [`Loop`] as [`wide`] does.
#[inline(always)]
pub fn wide_loop<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    match Isa::best() {
        // SAFETY: the processor has these instructions.
        Isa::Avx512 | Isa::Avx512Vnni => return unsafe { avx512_loop(work) },
        // SAFETY: the processor has these instructions.
        Isa::Avx2 => return unsafe { avx2_loop(work) },
        Isa::Portable => {}
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn avx512_loop<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn avx2_loop<L: Loop>(work: L) -> L::Output {
    work.run()
}

/// Runs a loop that is compiled for the widest vectors of this processor. The loop must not call functions that the compiler does
/// not inline. Results have the same bits on any instruction set, because the compiler neither contracts nor reorders
/// floating-point operations.
#[inline(always)]
pub fn wide<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    match Isa::best() {
        // SAFETY: the processor has these instructions.
        Isa::Avx512 | Isa::Avx512Vnni => return unsafe { avx512(work) },
        // SAFETY: the processor has these instructions.
        Isa::Avx2 => return unsafe { avx2(work) },
        Isa::Portable => {}
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn avx512<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn avx2<T>(work: impl FnOnce() -> T) -> T {
    work()
}
