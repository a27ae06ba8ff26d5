//! Benchmark of training steps: tokens per second of the presets, on random tokens.
//!
//! | case | model |
//! | --- | --- |
//! | `train-nano` | the preset Nano, bytes |
//! | `train-chars` | the preset of 10.7 M parameters, 65 characters |
//! | `train-gpt2` | the preset of 124 M parameters, 50,257 tokens; on a GPU only |
//! | `recompute-gpt2` | `train-gpt2` with whole blocks recomputed in the backward pass |
//! | `unfused-…`, `measured-…` | the case without fused layers; with measured GEMM implementations |
//! | `f32-…` | the case in f32, as the baseline of bf16 |
//! | `dropout-chars`, `unfused-dropout-chars` | `train-chars` with dropout of 0.2; without fused layers |
//! | `attention-dropout-chars` | `train-chars` with dropout of 0.2, also of attention probabilities |
//!
//! Dropout is off unless the name states otherwise, and a step has [`Case::micro_batches`] micro-batches. A
//! [`Workload`] contains everything that another program needs to run the same case. Times cover whole steps including
//! the optimiser, until the device has finished.

use super::{
    Params,
    backend::{Batch, Lengths, StateBuffer, StepInput, StepStats},
    kind::start_backend,
    model::{self, Config, Layout},
    presets::PRESETS,
};
use crate::{
    gpu::{
        PROFILE_EVERY, Pass,
        timing::{self, Row},
    },
    params::{Params as _, path},
    sim::{BenchOptions, BuildContext, Device, Progress, SimError},
};
use std::{sync::Arc, time::Instant};

/// Sizes of a case, for another program that trains the same model.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Workload {
    /// Number of blocks.
    pub layers: usize,
    /// Number of attention heads.
    pub heads: usize,
    /// Number of features per token.
    pub width: usize,
    /// Width of feed-forward layers.
    pub hidden: usize,
    /// Padded vocabulary size.
    pub vocab: usize,
    /// Number of tokens per sequence.
    pub context: usize,
    /// Number of sequences per micro-batch.
    pub batch: usize,
    /// Number of micro-batches per step.
    pub micro_batches: usize,
    /// Whether linear layers and norms have biases.
    pub bias: bool,
    /// Whether positions are rotary; otherwise they are learned.
    pub rope: bool,
    /// Number format of weights and activations: `f32`, `tf32`, `f16`, `bf16`.
    pub precision: String,
}

/// Result of a case.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Name of the case.
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Whether the case sets parameters that are not part of the workload, so that another program cannot run the case.
    pub is_variant: bool,
    /// Sizes of the case, for another program.
    pub workload: Workload,
    /// Number of parameters, without padding.
    pub parameters: usize,
    /// Median time of a step over the repeats, ms.
    pub ms_per_step: f64,
    /// Standard deviation of the step time over the repeats, relative to the median.
    pub spread: f64,
    /// Training throughput, tokens per second.
    pub tokens_per_s: f64,
    /// Throughput in 10¹² floating-point operations per second, counted by the formula of llm.c: 6 N + 6 L C T per token.
    pub tflops: f64,
    /// Memory held by the model, bytes.
    pub memory_bytes: u64,
    /// Losses of the first and the last step, nats.
    pub losses: (f32, f32),
    /// Time of all kernels of a step in which each is measured, ms; 0 on the CPU.
    pub kernel_ms: f64,
    /// Wall time of a step in which each kernel is measured, ms.
    pub measured_ms: f64,
    /// Wall time of a step if one step in [`PROFILE_EVERY`] is measured, ms.
    pub profiled_ms: f64,
    /// Times by kernel or stage of the measured steps.
    pub timings: Vec<Row>,
}

struct Case {
    name: &'static str,
    preset: &'static str,
    vocab: usize,
    micro_batches: u32,
    on_gpu_only: bool,
    /// Parameters that differ from the preset.
    set: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case { name: "train-nano", ..NANO },
    Case { name: "train-chars", ..CHARS },
    Case { name: "train-gpt2", ..GPT2 },
    Case { name: "recompute-gpt2", set: &["compute.checkpointing=Blocks"], ..GPT2 },
    Case { name: "unfused-chars", set: &["compute.fused=false"], ..CHARS },
    Case { name: "unfused-gpt2", set: &["compute.fused=false"], ..GPT2 },
    Case { name: "f32-chars", set: &["compute.precision=F32"], ..CHARS },
    Case { name: "measured-chars", set: &["compute.gemm=Measured"], ..CHARS },
    Case { name: "measured-gpt2", set: &["compute.gemm=Measured"], ..GPT2 },
    Case { name: "dropout-chars", set: &["training.dropout=0.2"], ..CHARS },
    Case { name: "unfused-dropout-chars", set: &["training.dropout=0.2", "compute.fused=false"], ..CHARS },
    Case { name: "attention-dropout-chars", set: &["training.dropout=0.2", "training.attention_dropout=0.2"], ..CHARS },
];
const NANO: Case = Case { name: "", preset: "Nano", vocab: 256, micro_batches: 1, on_gpu_only: false, set: &[] };
const CHARS: Case = Case { preset: "Characters", vocab: 65, ..NANO };
const GPT2: Case = Case { preset: "GPT-2", vocab: 50_257, micro_batches: 4, on_gpu_only: true, ..NANO };

/// Minimum duration of a repeat, seconds.
const MIN_S: f64 = 1.0;
/// Number of steps in which kernels are measured.
const MEASURED: u32 = 3;

impl Case {
    /// Returns the parameters of the preset with the changes of the case. Fails if there is no such preset or a change is
    /// invalid.
    fn params(&self) -> Result<Params, SimError> {
        let preset = PRESETS.iter().find(|preset| preset.name.starts_with(self.preset));
        let preset = preset.ok_or_else(|| SimError::Input(format!("there is no preset {}", self.preset)))?;
        let mut params = Params::default();
        let mut set = |text: &str| {
            let change = path::parse(&params, text).map_err(|e| SimError::Input(e.to_string()))?;
            params.set(&change);
            Ok::<_, SimError>(())
        };
        preset
            .set
            .iter()
            .chain(&["training.dropout=0", "training.attention_dropout=0"])
            .chain(self.set)
            .try_for_each(|text| set(text))?;
        params.training.micro_batches = self.micro_batches;
        Ok(params)
    }
}

/// Runs the cases whose names begin with [`BenchOptions::only`]. Returns no rows if there are no such cases. Fails if a case
/// fails.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    let on_gpu = matches!(options.device, Device::Cuda(_));
    let is_wanted = |case: &&Case| options.only.as_ref().is_none_or(|only| case.name.starts_with(only.as_str()));
    let cases = CASES.iter().filter(is_wanted).filter(|case| on_gpu || !case.on_gpu_only);
    cases.map(|case| measure(case, options, progress)).collect()
}

fn measure(case: &Case, options: &BenchOptions, progress: &Progress) -> Result<BenchRow, SimError> {
    progress.report(case.name, 0.0)?;
    let params = case.params()?;
    let config = Config::new(&params, case.vocab)?;
    let layout = Arc::new(Layout::new(&config)?);
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    let mut backend = start_backend(&params, &config, &layout, &context, &options.device)?;
    backend.write(StateBuffer::Weights, 0, model::init(&config, &layout, 1).values())?;
    let workload = workload(&params, &config);

    // All steps read equal tokens, so that the loss falls slightly. The time of a step does not depend on the tokens.
    let n = workload.batch * workload.context;
    let word = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % case.vocab as u64;
    let tokens: Vec<u32> = (0..(n * workload.micro_batches) as u64).map(|i| word(i) as u32).collect();
    let targets: Vec<i32> = (1..=(n * workload.micro_batches) as u64).map(|i| word(i) as i32).collect();
    let batch = |(tokens, targets)| Batch {
        sequences: workload.batch,
        seq_len: workload.context,
        tokens,
        targets,
        lengths: Lengths::Full,
    };
    let batches: Vec<Batch<'_>> = tokens.chunks(n).zip(targets.chunks(n)).map(batch).collect();
    let frozen = vec![false; layout.n_layers()];
    let (mut step, mut stats) = (0, Vec::<StepStats>::new());
    // The closure runs `n` steps and profiles one step in `every`, or none if `every` is 0.
    let mut steps = |n: u32, every: u64, pass: &mut Pass| -> Result<f64, SimError> {
        let since = Instant::now();
        for i in 0..u64::from(n) {
            pass.begin(step, step, every > 0 && i.is_multiple_of(every), false);
            let hyper = params.training.hyper(step);
            let input = StepInput { step, batches: &batches, hyper: &hyper, frozen: &frozen, measures: false };
            backend.step(&input, pass)?;
            step += 1;
        }
        backend.take_stats(&mut stats)?;
        Ok(since.elapsed().as_secs_f64() / f64::from(n))
    };
    let mut pass = Pass::default();
    steps(2, 0, &mut pass)?;
    let per_repeat = (MIN_S / steps(1, 0, &mut pass)?).ceil().clamp(1.0, 500.0) as u32;
    let repeats = options.repeats.max(3);
    let mut secs = vec![];
    for repeat in 0..repeats {
        progress.report(case.name, repeat as f32 / repeats as f32)?;
        secs.push(steps(per_repeat, 0, &mut pass)?);
    }
    let profiled = per_repeat.next_multiple_of(PROFILE_EVERY as u32);
    let profiled_ms = steps(profiled, PROFILE_EVERY, &mut pass)? * 1e3;
    pass.collect()?;
    pass.timings.clear();
    let measured_ms = steps(MEASURED, 1, &mut pass)? * 1e3;
    pass.collect()?;
    let on_device = pass.timings.iter().map(|row| row.nanos).sum::<u64>() as f64 * 1e-6 / f64::from(MEASURED);
    let kernel_ms = if matches!(options.device, Device::Cuda(_)) { on_device } else { 0.0 };
    let timings = timing::report(&pass.timings, &backend.kernels());

    secs.sort_by(f64::total_cmp);
    let (median, mean) = (secs[secs.len() / 2], secs.iter().sum::<f64>() / secs.len() as f64);
    let variance = secs.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (secs.len() - 1) as f64;
    let (parameters, tokens_per_s) = (layout.count(&config), tokens.len() as f64 / median);
    let loss = |stats: Option<&StepStats>| stats.map_or(f32::NAN, |s| s.loss);
    Ok(BenchRow {
        name: case.name.to_owned(),
        device: options.device_name.clone(),
        is_variant: !case.set.is_empty(),
        workload,
        parameters,
        ms_per_step: median * 1e3,
        spread: variance.sqrt() / median,
        tokens_per_s,
        tflops: tokens_per_s * config.flops_per_token(parameters) * 1e-12,
        memory_bytes: backend.memory().total(),
        losses: (loss(stats.first()), loss(stats.last())),
        kernel_ms,
        measured_ms,
        profiled_ms,
        timings,
    })
}

fn workload(params: &Params, config: &Config) -> Workload {
    Workload {
        layers: config.layers,
        heads: config.heads,
        width: config.width,
        hidden: config.hidden,
        vocab: config.padded_vocab(),
        context: config.context,
        batch: params.training.batch as usize,
        micro_batches: params.training.micro_batches as usize,
        bias: config.bias,
        rope: matches!(config.positions, model::Position::Rope { .. }),
        precision: format!("{:?}", params.compute.precision).to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_models() {
        for case in CASES {
            let params = case.params().expect("a preset");
            let config = Config::new(&params, case.vocab).expect("a model");
            let workload = workload(&params, &config);
            assert!(workload.vocab >= case.vocab && workload.layers > 0, "{}", case.name);
            println!("{}: {}", case.name, serde_json::to_string(&workload).expect("JSON"));
        }
    }
}
