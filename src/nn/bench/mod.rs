//! Benchmark of the operations of a language model on a GPU, as part of `neuropil bench transformer`.
//!
//! A case runs one or a few kernels of one call, in bf16 at the sizes of a GPT-2 of 124 million parameters. Its roofline is the
//! longer of two times: the bytes that the call has to move, divided by the measured copy bandwidth, and the operations on
//! tensor cores, divided by their measured peak. Each input and output counts once; repeated reads from a cache do not count,
//! so a small case may exceed its roofline.
//!
//! Matrix multiplications have a separate benchmark: [`gemm::bench`](super::gemm::bench).

mod cases;

use super::gemm::bench::BenchOptions;
use crate::gpu::{
    Gpu, Pass,
    ceilings::{self, Ceilings, Limit},
};
use std::{sync::Arc, time::Instant};

/// Measurement of one case.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Name of the case: operation and sizes.
    pub name: String,
    /// Kernels that a call launches.
    pub kernels: Vec<&'static str>,
    /// Median time per call over the repeats, ms.
    pub ms: f64,
    /// Roofline time of a call, ms.
    pub roofline_ms: f64,
    /// Memory throughput, 10⁹ bytes per second.
    pub gb_per_s: f64,
    /// Throughput of tensor cores, 10¹² operations per second; 0 if the case uses none.
    pub tflops: f64,
    /// Standard deviation of the repeats, relative to their median.
    pub spread: f64,
}

/// Minimum work of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// Bytes of inputs and outputs.
    bytes: f64,
    /// Operations on tensor cores; a multiply-add counts as two.
    tensor_ops: f64,
}

impl Work {
    const fn bytes(bytes: usize) -> Self {
        Self { bytes: bytes as f64, tensor_ops: 0.0 }
    }

    /// Returns the roofline time on a device, seconds.
    fn roofline(&self, ceilings: &Ceilings) -> f64 {
        let best = |limit, start: &str| {
            let named = ceilings.all(limit).filter(|c| c.name.starts_with(start));
            named.map(|c| c.value).fold(f64::NAN, f64::max)
        };
        (self.bytes / best(Limit::Bytes, "copy")).max(self.tensor_ops / best(Limit::Ops, "f16 tensor"))
    }
}

/// Closure that launches a call.
type Launch = Box<dyn FnMut(&mut Pass) -> Result<(), String>>;

/// A call to be measured.
struct Case {
    name: &'static str,
    kernels: &'static [&'static str],
    work: Work,
    /// Allocates the buffers of the call.
    prepare: fn(&Arc<Gpu>) -> Result<Launch, String>,
}

/// Minimum duration of a repeat, seconds.
const MIN_S: f64 = 0.01;

/// Measures every case whose name begins with [`BenchOptions::only`]. Skips cases that the device does not support. Fails if
/// the device is lost or its ceilings cannot be measured.
pub fn run_cuda(gpu: &Arc<Gpu>, options: &BenchOptions<'_>) -> Result<Vec<BenchRow>, String> {
    let cases: Vec<Case> =
        cases::all().into_iter().filter(|c| options.only.is_none_or(|o| c.name.starts_with(o))).collect();
    if cases.is_empty() {
        return Ok(vec![]);
    }
    let ceilings = ceilings::measure_gpu(gpu).map_err(|e| e.to_string())?;
    let mut rows = vec![];
    for (i, case) in cases.iter().enumerate() {
        if !(options.proceed)(case.name, i as f32 / cases.len() as f32) {
            break;
        }
        let measured = (case.prepare)(gpu).and_then(|mut launch| timed(gpu, options.repeats, &mut launch));
        let (secs, spread) = match measured {
            Ok(measured) => measured,
            Err(why) if gpu.lost().is_some() => return Err(why),
            // This device does not have the variant.
            Err(why) => {
                tracing::info!("{} was not measured: {why}", case.name);
                continue;
            }
        };
        rows.push(BenchRow {
            name: case.name.to_owned(),
            kernels: case.kernels.to_vec(),
            ms: secs * 1e3,
            roofline_ms: case.work.roofline(&ceilings) * 1e3,
            gb_per_s: case.work.bytes / secs * 1e-9,
            tflops: case.work.tensor_ops / secs * 1e-12,
            spread,
        });
    }
    Ok(rows)
}

/// Measures the median time per call in seconds, and the relative standard deviation of the repeats. Each repeat runs calls for
/// at least [`MIN_S`].
fn timed(gpu: &Arc<Gpu>, repeats: u32, launch: &mut Launch) -> Result<(f64, f64), String> {
    let mut measure = |times: u32| -> Result<f64, String> {
        gpu.synchronize().map_err(|e| e.to_string())?;
        let start = Instant::now();
        (0..times).try_for_each(|_| launch(&mut Pass::default()))?;
        gpu.synchronize().map_err(|e| e.to_string())?;
        Ok(start.elapsed().as_secs_f64() / f64::from(times))
    };
    measure(1)?;
    let times = (MIN_S / measure(2)?).ceil().clamp(1.0, 1000.0) as u32;
    let mut secs = (0..repeats.max(5)).map(|_| measure(times)).collect::<Result<Vec<f64>, String>>()?;
    secs.sort_by(f64::total_cmp);
    let (median, mean) = (secs[secs.len() / 2], secs.iter().sum::<f64>() / secs.len() as f64);
    let variance = secs.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (secs.len() - 1) as f64;
    Ok((median, variance.sqrt() / median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::MODULES;
    use std::collections::BTreeSet;

    #[test]
    fn every_kernel_of_nn_is_in_a_case() {
        let cases = cases::all();
        let names: BTreeSet<&str> = cases.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), cases.len(), "names of cases");
        assert!(cases.iter().all(|c| c.work.bytes > 0.0));
        let measured: BTreeSet<&str> = cases.iter().flat_map(|c| c.kernels).copied().collect();
        let modules = MODULES.iter().copied().flatten().filter(|m| !m.file.starts_with("nn/gemm"));
        let declared: BTreeSet<&str> = modules.flat_map(|m| m.kernels).map(|k| k.name).collect();
        let missing: Vec<&&str> =
            declared.difference(&measured).filter(|k| !cases::LEFT_OUT.concat().contains(k)).collect();
        assert!(missing.is_empty(), "kernels without a case of the benchmark: {missing:?}");
        let unknown: Vec<&&str> = measured.difference(&declared).collect();
        assert!(unknown.is_empty(), "cases of kernels that do not exist: {unknown:?}");
    }

    #[test]
    fn the_roofline_is_the_longer_of_two_times() {
        let ceiling =
            |name: &str, limit, value| ceilings::Ceiling { name: name.into(), limit, value, ..Default::default() };
        let list = vec![ceiling("copy", Limit::Bytes, 4e12), ceiling("f16 tensor cores", Limit::Ops, 6e14)];
        let ceilings = Ceilings { list, ..Ceilings::default() };
        let close = |work: Work, secs: f64| assert!((work.roofline(&ceilings) / secs - 1.0).abs() < 1e-12);
        close(Work::bytes(4_000_000), 1e-6);
        close(Work { bytes: 4e6, tensor_ops: 6e9 }, 1e-5);
    }
}
