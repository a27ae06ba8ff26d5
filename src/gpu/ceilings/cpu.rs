//! Peak performance of the processor: streaming, scattered additions, multiply-adds. All threads run, and the figures are per
//! thread, because a timing row sums the time of all threads.

use super::{Ceiling, Ceilings, Limit, median};
use crate::num::isa::Isa;
use std::time::Instant;

/// Elements of each of the three arrays, over all threads; a thread has at least 4 Mi. The arrays are much larger than any
/// cache.
const STREAMED: usize = 12 << 20;
/// Targets of scattered additions: the number of neurons of the fly connectome.
const TARGETS: usize = 138_639;
/// Additions per thread and repeat.
const ADDITIONS: usize = 20_000_000;
/// Rounds of multiply-adds on [`WIDE`] or [`WIDEST`] accumulators; an unoptimised build takes a hundred times as long
/// per round.
const ROUNDS: usize = if cfg!(debug_assertions) { 20_000 } else { 2_000_000 };
/// Independent accumulators that hide a latency of four to five cycles on two units of eight lanes.
const WIDE: usize = 96;
/// Independent accumulators for two units of sixteen lanes.
const WIDEST: usize = 192;
const REPEATS: usize = 5;

/// Returns the name of the processor with its thread count: the key of the stored measurements.
pub fn name(threads: usize) -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, m)| m.trim().to_owned()));
    format!("{}, {threads} threads", model.unwrap_or_else(|| format!("CPU {}", std::env::consts::ARCH)))
}

/// Measures all limits, which takes a few seconds.
pub fn measure(threads: usize) -> Ceilings {
    let threads = threads.max(1);
    let streamed = (STREAMED / threads).max(4 << 20);
    let triad = each(threads, || Triad::new(streamed), Triad::go);
    let adds = each(threads, || vec![0_i32; TARGETS], |sums| scatter(sums));
    let per_sec = |work: usize, secs: f64| work as f64 / secs;
    let multiply_adds = VECTORS.iter().filter(|vectors| vectors.isa <= Isa::best()).map(|vectors| {
        let how = "Independent sums in registers; per thread, all at work";
        Ceiling::new(vectors.name, how, Limit::Ops, measure_vectors(threads, vectors))
    });
    let mut list = vec![
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
    ];
    list.extend(multiply_adds);
    Ceilings::of(name(threads), list)
}

/// Returns f32 additions and multiplications per second and thread, with all threads busy and vectors of at most `lanes` lanes.
/// The rate is NaN if there is no such loop.
pub fn multiply_adds(threads: usize, lanes: usize) -> f64 {
    let best = VECTORS.iter().find(|vectors| vectors.lanes <= lanes && vectors.isa <= Isa::best());
    best.map_or(f64::NAN, |vectors| measure_vectors(threads.max(1), vectors))
}

fn measure_vectors(threads: usize, vectors: &Vectors) -> f64 {
    (2 * vectors.sums * ROUNDS) as f64 / each(threads, || [0.5_f32; WIDEST], vectors.run)
}

/// Returns the median time, seconds, of `work` run on all threads at once, each with its own data. Excludes the first
/// run and the start of threads.
fn each<T: Send>(threads: usize, new: impl Fn() -> T, work: impl Fn(&mut T) + Sync) -> f64 {
    let mut materials: Vec<T> = (0..threads).map(|_| new()).collect();
    let once = |materials: &mut [T]| {
        std::thread::scope(|scope| {
            let job = |material| {
                let work = &work;
                let timed = move || {
                    let start = Instant::now();
                    work(material);
                    start.elapsed().as_secs_f64()
                };
                std::thread::Builder::new().name("ceiling".into()).spawn_scoped(scope, timed).ok()
            };
            let handles: Vec<_> = materials.iter_mut().map(job).collect();
            handles.into_iter().flatten().filter_map(|handle| handle.join().ok()).fold(0.0, f64::max)
        })
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

/// Multiply-add loop for one vector length.
struct Vectors {
    name: &'static str,
    /// f32 lanes per vector.
    lanes: usize,
    /// Number of independent accumulators.
    sums: usize,
    /// Instruction set that `run` requires.
    isa: Isa,
    run: fn(&mut [f32; WIDEST]),
}

/// Multiply-add loops, widest vectors first.
const VECTORS: &[Vectors] = &[
    #[cfg(target_arch = "x86_64")]
    Vectors {
        name: "f32 multiply-add, AVX-512",
        lanes: 16,
        sums: WIDEST,
        isa: Isa::Avx512,
        // SAFETY: only called if the processor has the instruction set.
        run: |sums| unsafe { fused_avx512(sums) },
    },
    #[cfg(target_arch = "x86_64")]
    Vectors {
        name: "f32 multiply-add, AVX2",
        lanes: 8,
        sums: WIDE,
        isa: Isa::Avx2,
        // SAFETY: only called if the processor has the instruction set.
        run: |sums| narrow(sums, |sums| unsafe { fused(sums) }),
    },
    Vectors {
        name: "f32 multiply and add",
        lanes: 1,
        sums: WIDE,
        isa: Isa::Portable,
        run: |sums| narrow(sums, |sums| rounds(sums, |a, x, y| a * x + y)),
    },
];

fn narrow(sums: &mut [f32; WIDEST], run: impl Fn(&mut [f32; WIDE])) {
    if let Some(sums) = sums.first_chunk_mut() {
        run(sums);
    }
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

/// Defines the loop in a macro, because a closure would not be compiled for the instruction set.
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
