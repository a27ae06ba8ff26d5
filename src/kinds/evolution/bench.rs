//! Benchmark of generations: member tokens per second of the presets.
//!
//! | case | model |
//! | --- | --- |
//! | `nano` | the preset Nano, 65 characters |
//! | `nano-full-rank` | the preset Nano with one integer of noise per weight |
//! | `nano-activations` | the preset Nano with perturbed activations in place of weights |
//! | `rank1` | the preset Rank 1 on a GPU |
//! | `p1-seed` | the published program (P1), with its noise, bit for bit; attention in chunk form; on a GPU only |
//! | `p1-popcount`, `p1-rank1` | `p1-seed` with noise of set bits, and of rank 1; on a GPU only |
//! | `launches-nano`, `launches-rank1`, … | a case with launches that are not captured as graphs; on a GPU only |
//!
//! No multiplication by a weight of 0 is skipped. A time covers whole generations, from the draws to the end of the
//! update on the device.

use super::{
    EvolutionKind, Params,
    backend::{GenerationInput, StateBuffer},
    kind::{start_backend, step_counts},
    network::{Layout, Network},
    presets::PRESETS,
};
use crate::{
    data::text::{self, Source, Style, TokenUnit},
    gpu::{
        Pass,
        timing::{self, Row},
    },
    kinds::language::{kind::LanguageKind as _, model::Ranges as _},
    params::{Params as _, path},
    sim::{self, BenchOptions, Device, Progress, SimError},
};
use std::{sync::Arc, time::Instant};

/// Result of a case.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Name of the case.
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Number of parameters.
    pub parameters: usize,
    /// Number of members.
    pub population: usize,
    /// Member tokens of a generation.
    pub member_tokens: f64,
    /// Median time of a generation over the repeats, ms.
    pub ms_per_generation: f64,
    /// Standard deviation of the time over the repeats, relative to the median.
    pub spread: f64,
    /// Member tokens per second, in millions.
    pub member_mtokens_per_s: f64,
    /// Multiplications and additions of the members per second, 10¹².
    pub tops: f64,
    /// Memory held by the population, bytes.
    pub memory_bytes: u64,
    /// Mean loss of the members in the first and in the last generation, nats.
    pub losses: (f32, f32),
    /// Times by kernel or stage of one generation.
    pub timings: Vec<Row>,
}

struct Case {
    name: &'static str,
    preset: &'static str,
    vocab: usize,
    on_gpu_only: bool,
    set: &'static [&'static str],
    /// Whether launches are captured as graphs.
    is_captured: bool,
}

const NANO: Case = Case { name: "nano", preset: "Nano", vocab: 65, on_gpu_only: false, set: &[], is_captured: true };
const P1: Case = Case {
    name: "p1-seed",
    preset: "Published program (P1)",
    vocab: 256,
    on_gpu_only: true,
    set: &["model.attention=Efla(form: Chunk)"],
    is_captured: true,
};
const RANK1: Case = Case { name: "rank1", preset: "Rank 1", on_gpu_only: true, ..NANO };
const P1_RANK1: Case =
    Case { name: "p1-rank1", set: &["model.attention=Efla(form: Chunk)", "strategy.noise=LowRank(rank: 1)"], ..P1 };
const CASES: &[Case] = &[
    NANO,
    Case { name: "nano-full-rank", set: &["strategy.noise=FullRank"], ..NANO },
    Case { name: "nano-activations", set: &["strategy.noise=Activations"], ..NANO },
    RANK1,
    P1,
    Case {
        name: "p1-popcount",
        set: &["model.attention=Efla(form: Chunk)", "strategy.noise=FullRank(generator: Popcount)"],
        ..P1
    },
    P1_RANK1,
    Case { name: "launches-nano", on_gpu_only: true, is_captured: false, ..NANO },
    Case { name: "launches-rank1", is_captured: false, ..RANK1 },
    Case { name: "launches-p1-seed", is_captured: false, ..P1 },
    Case { name: "launches-p1-rank1", is_captured: false, ..P1_RANK1 },
];

/// Minimum duration of a repeat, seconds.
const MIN_S: f64 = 0.5;

impl Case {
    fn params(&self) -> Result<Params, SimError> {
        let preset = PRESETS.iter().find(|preset| preset.name.starts_with(self.preset));
        let preset = preset.ok_or_else(|| SimError::Input(format!("there is no preset {}", self.preset)))?;
        let mut params = Params::default();
        for text in preset.set.iter().chain(self.set) {
            let change = path::parse(&params, text).map_err(|e| SimError::Input(e.to_string()))?;
            params.set(&change);
        }
        Ok(params)
    }
}

/// Runs the cases whose names begin with [`BenchOptions::only`]. Fails if a case fails or there is none.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<sim::BenchRow>, SimError> {
    let on_gpu = matches!(options.device, Device::Cuda(_));
    let is_wanted = |case: &&Case| options.only.as_ref().is_none_or(|only| case.name.starts_with(only.as_str()));
    let cases = CASES.iter().filter(is_wanted).filter(|case| on_gpu || !case.on_gpu_only);
    let rows: Vec<sim::BenchRow> = cases
        .map(|case| measure(case, options, progress).map(|row| sim::BenchRow::new(&row, line(&row))))
        .collect::<Result<_, SimError>>()?;
    if rows.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}` on this device; there are {}",
            names.join(", ")
        )));
    }
    Ok(rows)
}

fn measure(case: &Case, options: &BenchOptions, progress: &Progress) -> Result<BenchRow, SimError> {
    progress.report(case.name, 0.0)?;
    let params = case.params()?;
    let network = Network::new(&params, case.vocab)?;
    let layout = Arc::new(Layout::new(&network.sizes)?);
    let mut backend = start_backend(&params, network, &layout, &options.device)?;
    backend.set_capturing(case.is_captured);
    backend.write(StateBuffer::Weights, 0, EvolutionKind::init(&network, &layout, 1).values())?;
    // The text has fewer characters than the vocabulary; that does not change the time.
    let source = Source::Grammar { style: Style::Harbour, n_bytes: 200_000, seed: 1, languages: 0..1 };
    let unit = if case.vocab < 256 { TokenUnit::Character } else { TokenUnit::Byte };
    let text = text::prepare(&source, &unit, &|_, _| true).map_err(|e| SimError::Input(e.to_string()))?;
    let frozen = vec![false; layout.layer_names().len()];
    let (mut number, mut losses) = (0, vec![]);
    let mut generations = |n: u32, pass: &mut Pass| -> Result<f64, SimError> {
        let since = Instant::now();
        for _ in 0..n {
            let (settings, course) = (params.settings(1), params.strategy.course(number));
            let input = GenerationInput { number, settings: &settings, course, text: &text, frozen: &frozen };
            backend.generation(&input, pass)?;
            number += 1;
        }
        backend.take_stats(&mut losses)?;
        Ok(since.elapsed().as_secs_f64() / f64::from(n))
    };
    let mut pass = Pass::default();
    let per_repeat =
        (MIN_S / generations(1, &mut pass)?.min(generations(1, &mut pass)?)).ceil().clamp(1.0, 100.0) as u32;
    let mut secs = vec![];
    for repeat in 0..options.repeats.max(3) {
        progress.report(case.name, repeat as f32 / options.repeats.max(3) as f32)?;
        secs.push(generations(per_repeat, &mut pass)?);
    }
    let mut measured = Pass::measuring();
    generations(1, &mut measured)?;
    measured.collect()?;
    let timings = timing::report(&measured.timings, &backend.kernels());
    secs.sort_by(f64::total_cmp);
    let (median, mean) = (secs[secs.len() / 2], secs.iter().sum::<f64>() / secs.len() as f64);
    let variance = secs.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (secs.len() - 1) as f64;
    let member_tokens = step_counts(&params, &network)[0].per_step;
    let rate = member_tokens / median;
    let loss = |stats: Option<&super::backend::StepStats>| stats.map_or(f32::NAN, |stats| stats.loss);
    Ok(BenchRow {
        name: case.name.to_owned(),
        device: options.device_name.clone(),
        parameters: network.sizes.parameters(),
        population: 2 * params.strategy.pairs(),
        member_tokens,
        ms_per_generation: median * 1e3,
        spread: variance.sqrt() / median,
        member_mtokens_per_s: rate * 1e-6,
        tops: rate * network.operations_per_token() * 1e-12,
        memory_bytes: backend.memory().total(),
        losses: (loss(losses.first()), loss(losses.last())),
        timings,
    })
}

fn line(row: &BenchRow) -> String {
    format!(
        "{:16} {:8.2} M member tokens/s ± {:4.1} %  {:10.2} ms/generation  {:7.2} TOP/s  {:6.2} M parameters  {:8.1} MB",
        row.name,
        row.member_mtokens_per_s,
        100.0 * row.spread,
        row.ms_per_generation,
        row.tops,
        row.parameters as f64 * 1e-6,
        row.memory_bytes as f64 * 1e-6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_models_whose_tokens_exist() {
        for case in CASES {
            let params = case.params().expect("a preset");
            let network = Network::new(&params, case.vocab).expect("a model");
            assert!(network.sizes.parameters() > 10_000 && params.strategy.pairs() > 100, "{}", case.name);
        }
    }
}
