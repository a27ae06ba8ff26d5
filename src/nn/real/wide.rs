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

/// Declares a function whose body is compiled for the widest vectors of the processor, as [`wide`] does for short loops. The body
/// must not call functions that are not `#[inline(always)]`.
macro_rules! wide_fn {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident($($arg:ident: $Arg:ty),* $(,)?) $body:block
    ) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "generated functions repeat the arguments of the declared one")]
        $vis fn $name($($arg: $Arg),*) {
            #[inline(always)]
            fn body($($arg: $Arg),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
                fn avx512($($arg: $Arg),*) {
                    body($($arg),*);
                }
                #[target_feature(enable = "avx2,fma,f16c")]
                fn avx2($($arg: $Arg),*) {
                    body($($arg),*);
                }
                match $crate::num::isa::Isa::best() {
                    $crate::num::isa::Isa::Avx512 | $crate::num::isa::Isa::Avx512Vnni => {
                        // SAFETY: the processor has these instructions.
                        return unsafe { avx512($($arg),*) };
                    }
                    // SAFETY: the processor has these instructions.
                    $crate::num::isa::Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::num::isa::Isa::Portable => {}
                }
            }
            body($($arg),*);
        }
    };
}
pub(crate) use wide_fn;
