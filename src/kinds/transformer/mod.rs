//! # A transformer that trains and writes while it is watched
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
//! | [`params`](Params) | parameters |
//! | [`model`] | sizes, names and first values of the model's parameters |
//! | [`weights`] | initial weights of files |
//! | [`backend`] | what the simulation asks of a backend |
//! | [`network`], [`plan`] | the passes of the model over the layers of a backend, and the tensors that they hold |
//! | [`cpu`] | the model on the CPU: the definition |
//! | [`cuda`] | the same on a GPU |
//! | [`setup`] | the text as tokens |
//! | [`simulation`] | what the kind adds to the simulation of a language model |
//! | [`probes`], `readings`, [`sampler`] | what can be shown |
//! | [`language`](super::language) | what all kinds that learn language share: the simulation, texts, batches, writing and scoring |
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

/// A step is one update of the optimiser.
pub const STEPS: TimeBase = TimeBase::count("step", "steps");

/// The kind.
pub struct TransformerKind;

impl Kind for TransformerKind {
    const TITLE: &'static str = "Transformer";
    const ABOUT: &'static str = "A transformer language model (Vaswani et al. 2017; Radford et al. 2019) that trains on a \
        text of yours, or on a grammar whose entropy is known, and writes while it trains. Attention, activations and the \
        loss of every token can be watched.";
    const NAME: &'static str = "transformer";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Devices sum in other orders, and the differences grow with every step.
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

    /// For a vocabulary of bytes, unless the text is read: then the simulation counts.
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

/// The model on a device, with zero weights.
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

/// The model with a vocabulary of bytes.
fn assumed(params: &Params) -> Option<(Config, Arc<Layout>)> {
    let config = Config::new(params, 256).ok()?;
    let layout = Arc::new(Layout::new(&config).ok()?);
    Some((config, layout))
}

/// What a step does.
fn counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
    let tokens = (params.training.sequences() * config.context) as f64;
    let parameters = layout.map.count();
    vec![
        StepCount::items("tokens", tokens),
        StepCount::ops("of the model, 6 N + 6 L C T per token", tokens * config.flops_per_token(parameters)),
        // Weights and gradients are read and written, two moments as well.
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
