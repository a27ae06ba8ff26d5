//! # A transformer language model that is observed while it trains
//!
//! A decoder of the GPT family on tokens of a text: embeddings, L blocks of attention and feed-forward layer, logits.
//!
//! ```text
//! x = wte[token] (+ positions)
//! pre-norm block:   x += proj(attention(norm_1(x)));  x += mlp_proj(act(fc(norm_2(x))))
//! post-norm block:  x = norm_1(x + proj(attention(x)));  x = norm_2(x + mlp_proj(act(fc(x))))
//! logits = head · norm_f(x)        loss = mean over targets of (ln Σ exp logits - logit of the target)
//! ```
//!
//! A step is one update of the optimiser: the gradient of the mean loss over all micro-batches, clipped, then AdamW or
//! Muon. Which tokens a step reads, and every other random number, is a draw with an address (seed, purpose, step, lane).
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params) | parameters of a project |
//! | [`model`] | sizes, names and initial values of the model's parameters |
//! | [`weights`] | initial weights read from files |
//! | [`backend`] | interface between the simulation and its backends |
//! | [`network`], [`plan`] | forward and backward pass over the layers of a backend, and the tensors that they hold |
//! | [`cpu`] | reference implementation on the CPU |
//! | [`cuda`] | implementation on a GPU |
//! | [`setup`] | tokenised text |
//! | [`simulation`] | the kind's implementation of [`LanguageKind`](super::language::kind::LanguageKind) |
//! | [`probes`], `readings`, [`sampler`] | probes and their readings |
//! | [`language`](super::language) | parts shared by all language kinds: simulation, texts, batches, sampling and scoring |
//! | [`bench`] | benchmark of training steps |

pub mod backend;
pub mod bench;
mod bench_rows;
mod choices;
pub mod cpu;
pub mod cuda;
mod examples;
pub mod model;
pub mod network;
mod params;
pub mod plan;
pub mod presets;
pub mod probes;
mod readings;
mod requests;
pub mod sampler;
mod sets;
pub mod setup;
pub mod simulation;
pub mod weights;
pub use choices::*;
pub use params::*;

use crate::{
    gpu::{Gpu, ModuleSpec},
    kinds::language::{measure::check_taps, text},
    nn::gemm::cuda::Available,
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Exactness, Example, Kind, MemoryReport, Preset, ProbeId,
        ProbeSpec, Progress, RequestSpec, SimError, Simulation, StepCount, Tap, TimeBase,
    },
};
use backend::Backend;
use cpu::{CpuBackend, Trainer};
use model::{Config, Layout};
use setup::Setup;
use simulation::TransformerSim;
use std::sync::Arc;

/// Time base of the kind: a step is one update of the optimiser.
pub const STEPS: TimeBase = TimeBase::count("step", "steps");

/// Marker type that implements [`Kind`] for transformers.
pub struct TransformerKind;

impl Kind for TransformerKind {
    const TITLE: &'static str = "Transformer";
    const ABOUT: &'static str = "A transformer language model (Vaswani et al. 2017; Radford et al. 2019) that trains on a \
        text of yours, or on a grammar whose entropy is known, and writes while it trains. Attention, activations and the \
        loss of every token can be watched.";
    const NAME: &'static str = "transformer";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Devices sum in different orders, and the differences grow with every step.
    const EXACTNESS: Exactness = Exactness::SameDevice;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const TEMPLATE: &'static str = include_str!("../../../projects/new/transformer.ron");
    const EXAMPLES: &'static [Example] = examples::EXAMPLES;
    const BENCH: Option<Bench> = Some(bench_rows::run);
    const PRESETS: &'static [Preset] = presets::PRESETS;
    const KEEPS_FINAL_STATE: bool = true;
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, gpu: &Arc<Gpu>) -> Vec<ModuleSpec> {
        cuda::modules::expected(params, Available::on(gpu))
    }

    fn time_base(_: &Params) -> TimeBase {
        STEPS
    }

    /// Assumes a vocabulary of bytes; if the project reads a text, the simulation counts instead.
    fn counts(params: &Params) -> Vec<StepCount> {
        match assumed(params) {
            Some((config, layout)) => counts(params, &config, &layout),
            None => vec![],
        }
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        Setup::prepare(params, context, progress)
    }

    fn notices(setup: &Setup) -> Vec<String> {
        setup.notices()
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryReport {
        let model = setup.map_or_else(|| assumed(params), |setup| setup.model(params).ok());
        let Some((config, layout)) = model else { return MemoryReport::default() };
        let mut report = match on {
            DeviceKind::Cpu { .. } => cpu_memory(params, &config, &layout),
            DeviceKind::Cuda => cuda::memory(params, &config, &layout),
        };
        let text = setup.map_or(params.data.generated_bytes(), Setup::n_bytes);
        report.host("text", text);
        report
    }

    fn unused_probes(params: &Params) -> Vec<ProbeId> {
        if params.compute.precision == Precision::F16 { vec![] } else { vec![probes::LOSS_SCALE] }
    }

    fn check(
        params: &Params,
        _: &BuildContext,
        setup: &Arc<Setup>,
        _: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError> {
        let (config, layout) = setup.model(params)?;
        text::check(setup.texts.tokenizer(), &params.measure)?;
        check_taps::<Self>(taps, &config, &layout)
    }

    fn start(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        on: &Device,
    ) -> Result<Box<dyn Simulation>, SimError> {
        let (config, layout) = setup.model(params)?;
        let backend = start_backend(params, &config, &layout, context, on)?;
        Ok(Box::new(TransformerSim::new(params, context.seed, setup, (config, layout), backend)?))
    }
}

/// Creates the backend with zero weights.
fn start_backend(
    params: &Params,
    config: &Config,
    layout: &Arc<Layout>,
    context: &BuildContext,
    on: &Device,
) -> Result<Box<dyn Backend>, SimError> {
    match on {
        Device::Cpu { threads } => Ok(Box::new(CpuBackend::new(config, layout, context.seed, *threads)?)),
        Device::Cuda(gpu) => cuda::create(gpu, params, config, layout, context),
    }
}

/// Sizes and layout for a vocabulary of 256 bytes; `None` if the model cannot be built.
fn assumed(params: &Params) -> Option<(Config, Arc<Layout>)> {
    let config = Config::new(params, 256).ok()?;
    let layout = Arc::new(Layout::new(&config).ok()?);
    Some((config, layout))
}

/// Tokens, operations and bytes per step.
fn counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
    let tokens = (params.training.sequences() * config.context) as f64;
    let parameters = layout.map.count();
    vec![
        StepCount::items("tokens", tokens),
        StepCount::ops("of the model, 6 N + 6 L C T per token", tokens * config.flops_per_token(parameters)),
        // Weights, gradients and both moments are read; weights and moments are written.
        StepCount::bytes("of the optimiser", 28.0 * parameters as f64),
    ]
}

fn cpu_memory(params: &Params, config: &Config, layout: &Layout) -> MemoryReport {
    let (n, tokens) = (layout.map.len() as u64 * 4, params.training.sequences() * config.context);
    let part = Trainer::<f32>::part_tokens(config, params.training.batch as usize, config.context);
    let mut report = MemoryReport::default();
    report.host("parameters", n);
    report.host("gradient", n);
    report.host("optimiser", 2 * n);
    report.host("activations", Trainer::<f32>::arena_bytes(config, part));
    report.host("batches", tokens as u64 * 8);
    report
}
