//! Benchmark of training: bytes per second of the presets' sizes, and the loss of variants on a text.
//!
//! | cases | measurement |
//! | --- | --- |
//! | `train-…` | time of a training step with life cycle on the text of a grammar; the share of release in the forward pass |
//! | `tf32-…`, `bf16-…` | `train-…` with operands of multiplications in tf32 or bf16 |
//! | `ablate-…` | held-out loss without release, with a static transform, with the scan, with a trained temperature per head |
//! | `grow-…` | held-out loss of a mixture that splits and merges, and of mixtures of fixed size |
//! | `change-…` | held-out loss on a generated text whose languages change |
//!
//! The variants of a seed train on the same batches. Each repeat has its own seed, from 1.

use super::{
    Params, choices::Precision, kind::start_backend, model::Config, presynaptic::Constants, setup::Setup,
    simulation::SynapticSim,
};
use crate::{
    gpu::{
        Pass,
        timing::{self, Row, Timing},
    },
    kinds::language::{probes::LOSS, steps::HeldOutLoss},
    params::{Params as _, PathText, path},
    sim::{BenchOptions, BuildContext, Device, Frame, Progress, Reading, SimError, Simulation as _, Tap},
};
use std::{sync::Arc, time::Instant};

/// Model of a case and its training steps, as input of other programs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Workload {
    /// Number of tokens of the vocabulary.
    pub vocab: usize,
    /// Number of tokens of a sequence.
    pub context: usize,
    /// Number of blocks of the model.
    pub layers: usize,
    /// Number of query heads of a block.
    pub heads: usize,
    /// Number of key/value heads.
    pub kv_heads: usize,
    /// Number of features of a token.
    pub width: usize,
    /// Number of experts of a block.
    pub experts: usize,
    /// Number of experts that each token selects.
    pub top_k: usize,
    /// Number of hidden features of an expert.
    pub hidden: usize,
    /// Number of sequences of a micro-batch.
    pub batch: usize,
    /// Number of micro-batches of a step.
    pub micro_batches: usize,
    /// Mode of release: `Scan`.
    pub release: String,
    /// Constants of release.
    pub constants: Constants,
    /// Format of the weights and of the arithmetic.
    pub precision: &'static str,
}

fn workload(params: &Params, config: &Config) -> Workload {
    let release = params.dynamics(config).presynaptic;
    Workload {
        vocab: config.vocab,
        context: config.context,
        layers: config.layers,
        heads: config.heads,
        kv_heads: config.kv_heads,
        width: config.width,
        experts: config.experts,
        top_k: config.top_k,
        hidden: config.hidden,
        batch: params.training.batch as usize,
        micro_batches: params.training.micro_batches as usize,
        release: format!("{:?}", release.mode),
        constants: release.constants,
        precision: match params.compute.precision {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
        },
    }
}

/// Measured duration of training steps.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct SpeedRow {
    /// Name of the case: `train-nano`.
    pub name: String,
    /// Displayed name of the device.
    pub device: String,
    /// Sizes of the model and of its steps.
    pub workload: Workload,
    /// Number of parameters of the model, including all experts.
    pub parameters: usize,
    /// Median duration of a step over the repeats, ms.
    pub ms_per_step: f64,
    /// Standard deviation of the repeats, relative to their median.
    pub spread: f64,
    /// Number of bytes trained per second.
    pub bytes_per_s: f64,
    /// Share of presynaptic release in the time of the forward pass up to the logits, 0 to 1. Exact only with one thread,
    /// because heads run in parallel.
    pub release_share: f64,
    /// Timings by stage of an additional step.
    pub timings: Vec<Row>,
}

/// Result of a trained variant.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct VariantRow {
    /// Name of the case: `ablate-off`.
    pub name: String,
    /// Displayed name of the device.
    pub device: String,
    /// Number of parameters of the model, including all experts.
    pub parameters: usize,
    /// Number of bytes that each seed trained on.
    pub trained_bytes: u64,
    /// Loss of the whole held-out text at the end, nats per byte, by seed.
    pub held_out: Vec<f64>,
    /// Mean of `held_out` over the seeds.
    pub mean: f64,
    /// Standard deviation of `held_out` over the seeds; 0 with one seed.
    pub sd: f64,
    /// Mean training loss of the second half of the steps, nats per byte, by seed. For a text that changes, it includes the
    /// loss after each change.
    pub online: Vec<f64>,
    /// Mean training time of a seed, seconds.
    pub seconds: f64,
    /// Numbers of splits, merges and removals, summed over all seeds.
    pub events: [u64; 3],
}

/// Measurement of one case.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum CaseRow {
    /// Time of training steps.
    Speed(Box<SpeedRow>),
    /// Losses of a trained variant.
    Variant(VariantRow),
}

struct Case {
    name: &'static str,
    /// Lists of differences from the default parameters, which are those of nano.
    set: &'static [&'static [&'static str]],
}

const SPEED: &[Case] = &[
    Case { name: "train-nano", set: &[] },
    Case { name: "train-nano-off", set: &[&["presynaptic.mode=Off"]] },
    Case { name: "train-nano-static", set: &[&["presynaptic.mode=Static"]] },
    Case { name: "train-nano16", set: &[&["experts.count=16"]] },
    Case { name: "train-nano64", set: &[&["experts.count=64"]] },
    Case {
        name: "train-mini",
        set: &[&["model.layers=3", "model.width=128", "experts.count=12", "experts.hidden=256"]],
    },
];

/// Cases that run only on a GPU.
const LARGE: &[Case] = &[
    Case { name: "train-small", set: &[SMALL] },
    Case { name: "train-small64", set: &[SMALL, &["experts.count=64"]] },
    Case { name: "train-large", set: &[LARGE_SIZE] },
    Case { name: "tf32-small", set: &[SMALL, TF32] },
    Case { name: "tf32-small64", set: &[SMALL, TF32, &["experts.count=64"]] },
    Case { name: "tf32-large", set: &[LARGE_SIZE, TF32] },
    Case { name: "bf16-small", set: &[SMALL, BF16] },
    Case { name: "bf16-small64", set: &[SMALL, BF16, &["experts.count=64"]] },
    Case { name: "bf16-large", set: &[LARGE_SIZE, BF16] },
];
const BF16: &[&str] = &["compute.precision=Bf16"];
const TF32: &[&str] = &["compute.precision=Tf32"];
const SMALL: &[&str] = &[
    "model.layers=4",
    "model.width=256",
    "model.heads=8",
    "model.kv_heads=2",
    "model.context=256",
    "experts.count=16",
    "experts.hidden=512",
    "training.batch=64",
];
const LARGE_SIZE: &[&str] = &[
    "model.layers=6",
    "model.width=512",
    "model.heads=8",
    "model.kv_heads=2",
    "model.context=512",
    "experts.count=16",
    "experts.hidden=1024",
    "training.batch=64",
];

const VARIANTS: &[Case] = &[
    Case { name: "ablate-off", set: &[&["life.enabled=false", "presynaptic.mode=Off"]] },
    Case { name: "ablate-static", set: &[&["life.enabled=false", "presynaptic.mode=Static"]] },
    Case { name: "ablate-scan", set: &[&["life.enabled=false", "presynaptic.mode=Scan"]] },
    Case { name: "ablate-temperature", set: &[&["life.enabled=false", "presynaptic.mode=Temperature"]] },
    Case { name: "grow-fixed8", set: &[&["life.enabled=false"]] },
    Case { name: "grow-fixed16", set: &[&["life.enabled=false", "experts.count=16"]] },
    Case { name: "grow-live16", set: &[LIVE] },
];

/// Variants on the text of `projects/synaptic-nano16.ron`.
const CHANGING: &[Case] = &[
    Case { name: "change-fixed8", set: &[CHANGES, &["life.enabled=false"]] },
    Case { name: "change-fixed16", set: &[CHANGES, &["life.enabled=false", "experts.count=16"]] },
    Case { name: "change-live16", set: &[CHANGES, LIVE] },
];

/// Differences of the preset "Live evolution" with 16 experts.
const LIVE: &[&str] = &[
    "experts.count=16",
    "experts.metabolic_bias=0.02",
    "experts.aux_weight=0",
    "experts.pull_over=OwnTokens",
    "experts.push=0.001",
    "life.merge_health=0.25",
    "life.loss_limit=0.005",
];
const CHANGES: &[&str] =
    &["data.grammar_bytes=500000", "data.languages=48", "data.languages_at_once=12", "data.text_steps=500"];

/// Stages of the forward pass up to the logits, as the network names them.
const FORWARD: [&str; 11] =
    ["embed", "norm", "qkv", "rope", "scores", "release", "softmax", "values", "projection", "router", "experts"];

/// Minimum duration of a repeat, seconds.
const MIN_S: f64 = 1.0;
/// Number of steps between two checks of the progress.
const STRIDE: u32 = 10;

/// Returns the names of all cases.
pub fn cases() -> impl Iterator<Item = &'static str> {
    SPEED.iter().chain(LARGE).chain(VARIANTS).chain(CHANGING).map(|case| case.name)
}

/// Runs the cases that `options` select. Returns no rows if no name begins with [`BenchOptions::only`]. Fails if a case is
/// invalid, an input is unreadable, or the job is cancelled.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<CaseRow>, SimError> {
    let is_wanted = |case: &&Case| options.only.as_ref().is_none_or(|only| is_chosen(only, case.name));
    let mut rows = vec![];
    let large = if matches!(options.device, Device::Cuda(_)) { LARGE } else { &[] };
    for case in SPEED.iter().chain(large).filter(is_wanted) {
        rows.push(CaseRow::Speed(Box::new(measure(case, options, progress)?)));
    }
    if let Some(text) = &options.text {
        let mut params = params(&[])?;
        params.data.text = PathText(text.to_string_lossy().into_owned());
        let setup = Arc::new(Setup::prepare(&params, &BuildContext::default(), progress)?);
        for case in VARIANTS.iter().filter(is_wanted) {
            rows.push(CaseRow::Variant(train(case, &setup, options, progress)?));
        }
    }
    // These variants take long, so they run only with a text or if `only` selects them.
    let is_asked_for = options.text.is_some() || options.only.is_some();
    for case in CHANGING.iter().filter(is_wanted).filter(|_| is_asked_for) {
        let setup = Arc::new(Setup::prepare(&params(case.set)?, &BuildContext::default(), progress)?);
        rows.push(CaseRow::Variant(train(case, &setup, options, progress)?));
    }
    Ok(rows)
}

/// Whether `only` selects a case: by its full name, or as a prefix if no case has this name.
fn is_chosen(only: &str, name: &str) -> bool {
    if cases().any(|case| case == only) { name == only } else { name.starts_with(only) }
}

/// Returns the parameters of nano with the changes of a case, without measurements during training. Fails if a change is
/// invalid.
fn params(set: &[&[&str]]) -> Result<Params, SimError> {
    let mut params = Params::default();
    for text in set.iter().copied().flatten() {
        let change = path::parse(&params, text).map_err(|e| SimError::Input(e.to_string()))?;
        params.set(&change);
    }
    (params.measure.every, params.measure.held_out_every, params.measure.sample_every) = (1, 0, 0);
    Ok(params)
}

fn start(params: &Params, seed: u64, setup: &Arc<Setup>, device: &Device) -> Result<SynapticSim, SimError> {
    let (config, layout) = setup.model(params)?;
    let backend = start_backend(params, &config, &layout, seed, device)?;
    SynapticSim::new(params, seed, setup.clone(), (config, layout), backend)
}

fn measure(case: &Case, options: &BenchOptions, progress: &Progress) -> Result<SpeedRow, SimError> {
    progress.report(case.name, 0.0)?;
    let params = params(case.set)?;
    let setup = Arc::new(Setup::prepare(&params, &BuildContext::default(), progress)?);
    let mut sim = start(&params, 1, &setup, &options.device)?;
    let mut steps = |n: u32, pass: &mut Pass| -> Result<f64, SimError> {
        let since = Instant::now();
        sim.advance(n, pass)?;
        Ok(since.elapsed().as_secs_f64() / f64::from(n))
    };
    steps(2, &mut Pass::default())?;
    let per_repeat = (MIN_S / steps(1, &mut Pass::default())?).ceil().clamp(1.0, 500.0) as u32;
    let repeats = options.repeats.max(3);
    let mut secs = vec![];
    for repeat in 0..repeats {
        progress.report(case.name, repeat as f32 / repeats as f32)?;
        secs.push(steps(per_repeat, &mut Pass::default())?);
    }
    let mut pass = Pass::measuring();
    steps(1, &mut pass)?;
    if let Device::Cuda(gpu) = &options.device {
        gpu.synchronize()?;
    }
    pass.collect()?;
    secs.sort_by(f64::total_cmp);
    let median = secs[secs.len() / 2];
    let bytes = params.training.sequences() * params.model.context as usize;
    Ok(SpeedRow {
        name: case.name.to_owned(),
        device: options.device_name.clone(),
        workload: workload(&params, &sim.config),
        parameters: sim.layout.map.count(),
        ms_per_step: median * 1e3,
        spread: deviation(&secs).1 / median,
        bytes_per_s: bytes as f64 / median,
        release_share: release_share(&pass.timings),
        timings: timing::report(&pass.timings, &sim.backend.kernels()),
    })
}

fn release_share(timings: &[Timing]) -> f64 {
    let of = |names: &[&str]| timings.iter().filter(|t| names.contains(&t.name)).map(|t| t.nanos).sum::<u64>() as f64;
    of(&["release"]) / of(&FORWARD).max(1.0)
}

fn train(case: &Case, setup: &Arc<Setup>, options: &BenchOptions, progress: &Progress) -> Result<VariantRow, SimError> {
    let mut params = params(case.set)?;
    let schedule =
        format!("training.schedule=Linear(start: {}, steps: {}, end: 0)", options.steps / 10 * 7, options.steps);
    let change = path::parse(&params, &schedule).map_err(|e| SimError::Input(e.to_string()))?;
    params.set(&change);
    let mut row = VariantRow { name: case.name.to_owned(), device: options.device_name.clone(), ..Default::default() };
    let seeds = options.repeats.max(1);
    for seed in 1..=u64::from(seeds) {
        let mut sim = start(&params, seed, setup, &options.device)?;
        sim.tap(&[Tap::of(LOSS)])?;
        let (mut pass, since) = (Pass::default(), Instant::now());
        while sim.clock().step < u64::from(options.steps) {
            let done = sim.clock().step as f32 / options.steps as f32;
            progress.report(&format!("{}, seed {seed}", case.name), (seed as f32 - 1.0 + done) / seeds as f32)?;
            sim.advance(STRIDE.min(options.steps - sim.clock().step as u32), &mut pass)?;
        }
        row.seconds += since.elapsed().as_secs_f64() / f64::from(seeds);
        row.online.push(online(&mut sim)?);
        row.held_out.push(held_out(&mut sim, progress)?.into());
        (row.parameters, row.trained_bytes) = (sim.layout.map.count(), sim.state.tokens);
        row.events.iter_mut().zip(sim.own.lives.events).for_each(|(all, n)| *all += n);
    }
    (row.mean, row.sd) = deviation(&row.held_out);
    Ok(row)
}

/// Returns the mean training loss of the second half of the steps. Fails if the device fails.
fn online(sim: &mut SynapticSim) -> Result<f64, SimError> {
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame)?;
    let Some((_, Reading::Series(losses))) = frame.readings.first() else { return Ok(f64::NAN) };
    let half = &losses.values[losses.values.len() / 2..];
    Ok(deviation(&half.iter().map(|loss| f64::from(*loss)).collect::<Vec<_>>()).0)
}

/// Computes the loss of the held-out text. Fails if the device fails.
fn held_out(sim: &mut SynapticSim, progress: &Progress) -> Result<f32, SimError> {
    let size = (sim.config.context, sim.params.training.batch as usize, sim.backend.batches_at_once());
    let setup = sim.setup.clone();
    let loss = HeldOutLoss::default().run(
        setup.texts.after(sim.state.step),
        size,
        &mut Pass::default(),
        |batches, losses, pass| {
            progress.report("held-out text", 0.0)?;
            sim.backend.evaluate(batches, losses, pass)
        },
    )?;
    // The pass cannot be stopped, so that there is a loss.
    Ok(loss.unwrap_or(f32::NAN))
}

/// Returns the mean and standard deviation.
fn deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests;
