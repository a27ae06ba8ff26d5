//! Benchmark of every backend: `neuropil bench gemm`.
//!
//! A case is `SIZE-FORMAT-BACKEND-LAYOUT`. On a CPU, its roofline is the measured peak of multiply-adds of the same instruction
//! set. On a GPU, it is the lower of the measured arithmetic ceiling and the measured copy bandwidth times operations per byte.
//! The ceiling of tensor cores is that of mma.sync with f16, which also applies to bf16; the ceiling of s8 is twice and that of
//! tf32 half as high. wgmma exceeds the ceiling on Hopper, both in the project's kernel and in cuBLASLt.
//!
//! More cases have the sizes of an evolution strategy: weights as bytes (`s8`) and packed (`linear`, `interleaved`, `fp4`), sums of 32
//! bits, and results of 8 bits (`bytes` after the format).

mod integers;

use super::{
    Epilogue, Gemm, cpu,
    cuda::{Backend, CudaGemm, CudaGemmError, Operand, Options, Output},
};
use crate::{
    gpu::{
        Buf, Gpu, Pass,
        ceilings::{self, Ceilings, Limit},
    },
    num::elements::{Bf16, F16},
};
use std::{sync::Arc, time::Instant};

/// Measurement of one case.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Name of the case.
    pub name: String,
    /// Sizes (m, n, k).
    pub size: (usize, usize, usize),
    /// Median time per multiplication over the repeats, ms.
    pub ms: f64,
    /// Throughput, 10¹² operations per second; a multiply-add counts as two.
    pub tflops: f64,
    /// Throughput at the roofline, 10¹² operations per second.
    pub roofline: f64,
}

/// Number of measurements and selection of cases.
pub struct BenchOptions<'a> {
    /// Number of measurements per case.
    pub repeats: u32,
    /// Prefix of the names of cases to run; `None`: all.
    pub only: Option<&'a str>,
    /// Progress callback: receives the name of each case and the fraction done; returning false stops the benchmark.
    pub proceed: &'a dyn Fn(&str, f32) -> bool,
}

/// Sizes (m, n, k): squares, those of a GPT-2 of 124 million parameters with 8,192 and 65,536 tokens, and a smaller dense layer.
const SIZES: [(usize, usize, usize); 11] = [
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 2304, 768),
    (8192, 3072, 768),
    (8192, 768, 3072),
    (65_536, 2304, 768),
    (65_536, 3072, 768),
    (65_536, 768, 3072),
    (4096, 1536, 384),
];

/// Minimum duration of a measurement, seconds.
const MIN_S: f64 = 0.01;

fn median(mut secs: Vec<f64>) -> f64 {
    secs.sort_by(f64::total_cmp);
    secs.get(secs.len() / 2).copied().unwrap_or(f64::NAN)
}

fn row(name: String, g: &Gemm, secs: f64, ops: f64, bytes_per_s: f64, bytes: f64) -> BenchRow {
    let work = g.ops() as f64;
    let roofline = ops.min(bytes_per_s * work / bytes) * 1e-12;
    BenchRow { name, size: (g.m, g.n, g.k), ms: secs * 1e3, tflops: work / secs * 1e-12, roofline }
}

/// Returns values between -1 and 1 with varied bits: power draw, and with it the clock, depends on the operands.
fn operand(len: usize) -> impl Iterator<Item = f32> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0)
}

/// Sizes (m, n, k) on the CPU: squares, a layer of a GPT-2 with 512 tokens, and the same layer for 1 and 8 new tokens.
const CPU_SIZES: [(usize, usize, usize); 7] = [
    (64, 64, 64),
    (256, 256, 256),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (512, 3072, 768),
    (8, 3072, 768),
    (1, 3072, 768),
];

/// Measures every format and instruction set on `threads` CPU threads. Multiplications alternate with measurements of the peak,
/// because both depend on the clock and on other processes. Fails if the threads cannot be started.
pub fn run_cpu(threads: usize, options: &BenchOptions<'_>) -> Result<Vec<BenchRow>, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
    let mut bench = CpuBench { threads, pool, options, rows: vec![] };
    for (i, size) in CPU_SIZES.into_iter().enumerate() {
        let share = i as f32 / CPU_SIZES.len() as f32;
        for isa in cpu::Isa::available().into_iter().filter(|isa| *isa != cpu::Isa::Portable) {
            // Multiply-adds relative to f32: f64 has half as many lanes, and AVX-512 multiplies pairs of 16-bit integers at once.
            let pairs = if isa >= cpu::Isa::Avx512 { 2.0 } else { 1.0 };
            // The two forms of AVX-512 differ only in dot products of integers.
            let is_for_floats = isa != cpu::Isa::Avx512Vnni;
            let goes_on = (!is_for_floats
                || bench.case::<f32>("f32", isa, size, 1.0, share)?
                    && bench.case::<f64>("f64", isa, size, 0.5, share)?
                    && bench.case::<Bf16>("bf16", isa, size, 1.0, share)?)
                && bench.case::<i8>("s8", isa, size, pairs, share)?;
            if !goes_on {
                return Ok(bench.rows);
            }
        }
    }
    Ok(bench.rows)
}

struct CpuBench<'a> {
    threads: usize,
    pool: rayon::ThreadPool,
    options: &'a BenchOptions<'a>,
    rows: Vec<BenchRow>,
}

impl CpuBench<'_> {
    /// Measures a size, format and instruction set in every layout; returns false if stopped.
    fn case<E: cpu::Element + FromUnit>(
        &mut self,
        format: &str,
        isa: cpu::Isa,
        (m, n, k): (usize, usize, usize),
        relative_peak: f64,
        share: f32,
    ) -> Result<bool, String> {
        let new = Gemm::<E::Sum>::new(m, n, k);
        let layouts = [("nn", new), ("nt", new.transposed_b()), ("tn", new.transposed_a())];
        // Only f32 has a separate code path for each layout.
        let layouts = if format == "f32" { &layouts[..] } else { &layouts[1..2] };
        for (layout, g) in layouts {
            let name = format!("{m}x{n}x{k}-{format}-{isa:?}-{layout}").to_lowercase();
            if self.options.only.is_some_and(|only| !name.starts_with(only)) {
                continue;
            }
            if !(self.options.proceed)(&name, share) {
                return Ok(false);
            }
            let values = |len: usize| -> Vec<E> { operand(len).map(E::from_unit).collect() };
            let (a, b, mut c) = (values(m * k), values(k * n), vec![E::Sum::default(); m * n]);
            let mut measure = |times: u32| {
                let start = Instant::now();
                let all = || (0..times).try_for_each(|_| cpu::gemm_with(isa, g, &a, &b, &mut c, Epilogue::None));
                self.pool.install(all).map_err(|e| e.to_string())?;
                Ok::<f64, String>(start.elapsed().as_secs_f64() / f64::from(times))
            };
            measure(1)?;
            let times = (MIN_S / measure(2)?).ceil().clamp(1.0, 10_000.0) as u32;
            let lanes = if isa >= cpu::Isa::Avx512 { 16 } else { 8 };
            let (mut secs, mut peaks) = (vec![], vec![]);
            for _ in 0..self.options.repeats.max(3) {
                peaks.push(ceilings::multiply_adds(self.threads, lanes));
                secs.push(measure(times)?);
            }
            let peak = median(peaks) * self.threads as f64 * relative_peak;
            self.rows.push(row(name, &Gemm::new(m, n, k), median(secs), peak, f64::INFINITY, 1.0));
        }
        Ok(true)
    }
}

/// Measures every available backend on a GPU. The second result describes the library, or gives the reason why there is
/// none. Fails if the ceilings cannot be measured or a launch fails.
pub fn run_cuda(gpu: &Arc<Gpu>, options: &BenchOptions<'_>) -> Result<(Vec<BenchRow>, String), CudaGemmError> {
    let ceilings = ceilings::measure_gpu(gpu)?;
    let gemm = CudaGemm::new(gpu);
    let library = gemm.library().map_or_else(|why| why.to_string(), |library| library.describe());
    let mut bench = Bench { gpu, gemm, ceilings, options, rows: vec![] };
    for (i, size) in SIZES.into_iter().enumerate() {
        let share = i as f32 / SIZES.len() as f32;
        let goes_on = bench.case::<Bf16, Bf16>("bf16", size, share)?
            && bench.case::<F16, F16>("f16", size, share)?
            && bench.case::<f32, f32>("f32", size, share)?
            && bench.case::<i8, i32>("s8", size, share)?;
        if !goes_on {
            return Ok((bench.rows, library));
        }
    }
    bench.integers()?;
    Ok((bench.rows, library))
}

struct Bench<'a> {
    gpu: &'a Arc<Gpu>,
    gemm: CudaGemm,
    ceilings: Ceilings,
    options: &'a BenchOptions<'a>,
    rows: Vec<BenchRow>,
}

impl Bench<'_> {
    /// Measures a size and format on every backend; returns false if stopped.
    fn case<I: Operand + FromUnit, O: Output<Sum = I::Sum>>(
        &mut self,
        format: &str,
        (m, n, k): (usize, usize, usize),
        share: f32,
    ) -> Result<bool, CudaGemmError> {
        let square = m == n && n == k;
        let nt = Gemm::<I::Sum>::new(m, n, k).transposed_b();
        let all = [("nt", nt), ("nn", Gemm::new(m, n, k)), ("tn", Gemm::new(m, n, k).transposed_a())];
        let values = |len: usize| -> Vec<I> { operand(len).map(I::from_unit).collect() };
        let mut buffers = None;
        for backend in [Backend::CublasLt, Backend::Wgmma, Backend::TensorCores, Backend::Wmma, Backend::Simt] {
            // A single layout suffices where neither backends nor sizes are compared.
            let layouts =
                if square && matches!(backend, Backend::Wgmma | Backend::TensorCores) { &all[..] } else { &all[..1] };
            for (layout, g) in layouts {
                let name = format!("{m}x{n}x{k}-{format}-{backend}-{layout}");
                let is_slow = backend == Backend::Simt && m * n * k > 1 << 36;
                if is_slow || self.options.only.is_some_and(|only| !name.starts_with(only)) {
                    continue;
                }
                if !(self.options.proceed)(&name, share) {
                    return Ok(false);
                }
                if buffers.is_none() {
                    let a = Buf::from_slice(self.gpu, "A of the benchmark", &values(m * k))?;
                    let b = Buf::from_slice(self.gpu, "B of the benchmark", &values(k * n))?;
                    buffers = Some((a, b, Buf::<O>::zeros(self.gpu, "C of the benchmark", m * n)?));
                }
                let Some((a, b, c)) = &mut buffers else { continue };
                let tf32 = format == "f32" && backend != Backend::Simt;
                let options = Options { tf32, ..Options::only(backend) };
                let mut launch = |pass: &mut Pass| self.gemm.run(pass, g, (&**a, &**b), c, Epilogue::None, options);
                let secs = match timed(self.gpu, self.options.repeats, &mut launch) {
                    Ok(secs) => secs,
                    Err(CudaGemmError::Library(_) | CudaGemmError::Unable { .. }) => continue,
                    Err(why) => return Err(why),
                };
                let bytes = (m * k + k * n) * size_of::<I>() + m * n * size_of::<O>();
                let ops = self.ops(format, backend);
                let bandwidth = self.ceilings.best(Limit::Bytes).map_or(f64::NAN, |c| c.value);
                self.rows.push(row(name, &Gemm::new(m, n, k), secs, ops, bandwidth, bytes as f64));
            }
        }
        Ok(true)
    }

    /// Returns the arithmetic ceiling of a format and backend, operations per second.
    fn ops(&self, format: &str, backend: Backend) -> f64 {
        let named = |start: &str| {
            let found = self.ceilings.all(Limit::Ops).find(|c| c.name.starts_with(start));
            found.map_or(f64::NAN, |c| c.value)
        };
        match (backend, format) {
            (Backend::Simt, _) => named("f32"),
            (_, "s8") => 2.0 * named("f16 tensor"),
            (_, "f32") => 0.5 * named("f16 tensor"),
            _ => named("f16 tensor"),
        }
    }
}

/// Measures the median wall time per multiplication, seconds. Each measurement runs calls for at least [`MIN_S`].
fn timed(
    gpu: &Arc<Gpu>,
    repeats: u32,
    launch: &mut dyn FnMut(&mut Pass) -> Result<Backend, CudaGemmError>,
) -> Result<f64, CudaGemmError> {
    let mut measure = |times: u32| -> Result<f64, CudaGemmError> {
        gpu.synchronize()?;
        let start = Instant::now();
        for _ in 0..times {
            launch(&mut Pass::default())?;
        }
        gpu.synchronize()?;
        Ok(start.elapsed().as_secs_f64() / f64::from(times))
    };
    measure(1)?;
    let times = (MIN_S / measure(2)?).ceil().clamp(1.0, 1000.0) as u32;
    let secs = (0..repeats.max(3)).map(|_| measure(times)).collect::<Result<Vec<f64>, CudaGemmError>>()?;
    Ok(median(secs))
}

/// Conversion of a value between -1 and 1 to an element.
trait FromUnit {
    fn from_unit(x: f32) -> Self;
}

macro_rules! from_unit {
    ($($T:ty: $from:expr;)*) => { $( impl FromUnit for $T { fn from_unit(x: f32) -> Self { $from(x) } } )* };
}
from_unit! {
    f32: |x| x;
    f64: f64::from;
    F16: <F16 as crate::num::elements::Element>::from_f32;
    Bf16: <Bf16 as crate::num::elements::Element>::from_f32;
    i8: |x: f32| (x * 127.0) as i8;
}
