//! Peak performance of the processor: streaming, scattered additions, multiply-adds. All threads run, and the figures
//! are per thread, since a timing row sums the time of all threads.

use super::{Ceiling, Ceilings, Limit, median};
use std::time::Instant;

/// Elements of each of the three arrays of a thread: together much larger than any cache.
const STREAMED: usize = 12 << 20;
/// Targets of scattered additions: the number of neurons of a fly brain.
const TARGETS: usize = 138_639;
/// Additions per thread and repeat.
const ADDITIONS: usize = 20_000_000;
/// Rounds of multiply-adds on [`WIDE`] numbers.
const ROUNDS: usize = 2_000_000;
/// Independent sums, enough to fill two units of eight lanes for the latency of four to five cycles.
const WIDE: usize = 96;
/// The same for two units of sixteen lanes.
const WIDEST: usize = 192;
const REPEATS: usize = 5;

/// Name of the processor with its thread count: the key of the stored record.
pub fn name(threads: usize) -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, m)| m.trim().to_owned()));
    format!("{}, {threads} threads", model.unwrap_or_else(|| format!("CPU {}", std::env::consts::ARCH)))
}

/// Measures for a few seconds.
pub fn measure(threads: usize) -> Ceilings {
    let threads = threads.max(1);
    let streamed = (STREAMED / threads).max(4 << 20);
    let triad = each(threads, || Triad::new(streamed), Triad::go);
    let adds = each(threads, || vec![0_i32; TARGETS], |sums| scatter(sums));
    let math = each(threads, || [0.5_f32; WIDEST], multiply_add);
    let per_sec = |work: usize, secs: f64| work as f64 / secs;
    let list = vec![
        Ceiling::new(
            "triad",
            "a = b + s c over arrays larger than the caches, 12 bytes per element; per thread, all at work",
            Limit::Bytes,
            per_sec(12 * streamed, triad),
        ),
        Ceiling::new(
            "scattered s32 additions",
            "Random places of 138,639 sums of each thread; per thread, all at work",
            Limit::Updates,
            per_sec(ADDITIONS, adds),
        ),
        Ceiling::new(
            fma_name(),
            "Independent sums in registers; per thread, all at work",
            Limit::Ops,
            per_sec(2 * independent_sums() * ROUNDS, math),
        ),
    ];
    Ceilings::of(name(threads), list)
}

/// Median time of `work` on all threads at once, each with its own data, without the first run.
fn each<T: Send>(threads: usize, new: impl Fn() -> T, work: impl Fn(&mut T) + Sync) -> f64 {
    let mut materials: Vec<T> = (0..threads).map(|_| new()).collect();
    let once = |materials: &mut [T]| {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for material in materials {
                let job = || work(material);
                // If a thread cannot be started, the result is too low, not too high.
                drop(std::thread::Builder::new().name("ceiling".into()).spawn_scoped(scope, job));
            }
        });
        start.elapsed().as_secs_f64()
    };
    once(&mut materials);
    median((0..REPEATS).map(|_| once(&mut materials)).collect())
}

struct Triad {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Triad {
    fn new(len: usize) -> Self {
        Self { a: vec![0.0; len], b: vec![1.0; len], c: vec![2.0; len] }
    }

    fn go(&mut self) {
        let s = std::hint::black_box(3.0_f32);
        for ((a, b), c) in self.a.iter_mut().zip(&self.b).zip(&self.c) {
            *a = b + s * c;
        }
        std::hint::black_box(&self.a);
    }
}

fn scatter(sums: &mut [i32]) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..ADDITIONS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = ((state >> 32) * sums.len() as u64) >> 32;
        sums[at as usize] += 1;
    }
    std::hint::black_box(sums);
}

fn multiply_add(sums: &mut [f32; WIDEST]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the processor has it: checked above.
        return unsafe { fused_avx512(sums) };
    }
    let Some(sums) = sums.first_chunk_mut::<WIDE>() else { return };
    #[cfg(target_arch = "x86_64")]
    if has_fma() {
        // SAFETY: the processor has both features: checked above.
        return unsafe { fused(sums) };
    }
    rounds(sums, |a, x, y| a * x + y);
}

fn independent_sums() -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        return WIDEST;
    }
    WIDE
}

fn rounds(sums: &mut [f32; WIDE], step: impl Fn(f32, f32, f32) -> f32) {
    let (x, y) = std::hint::black_box((0.999_f32, 0.001_f32));
    let mut local = *sums;
    for _ in 0..ROUNDS {
        for sum in &mut local {
            *sum = step(*sum, x, y);
        }
    }
    *sums = std::hint::black_box(local);
}

/// The loop is written out, because a closure would not be compiled for the instruction set.
#[cfg(target_arch = "x86_64")]
macro_rules! fused {
    ($name:ident, $features:literal, $wide:ident) => {
        #[target_feature(enable = $features)]
        #[allow(clippy::disallowed_methods, reason = "only the speed is measured, not the result")]
        fn $name(sums: &mut [f32; $wide]) {
            let (x, y) = std::hint::black_box((0.999_f32, 0.001_f32));
            let mut local = *sums;
            for _ in 0..ROUNDS {
                for sum in &mut local {
                    *sum = sum.mul_add(x, y);
                }
            }
            *sums = std::hint::black_box(local);
        }
    };
}
#[cfg(target_arch = "x86_64")]
fused!(fused, "avx2,fma", WIDE);
#[cfg(target_arch = "x86_64")]
fused!(fused_avx512, "avx512f", WIDEST);

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2")
}

fn fma_name() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        return "f32 multiply-add, AVX-512";
    } else if has_fma() {
        return "f32 multiply-add, AVX2";
    }
    "f32 multiply and add"
}
