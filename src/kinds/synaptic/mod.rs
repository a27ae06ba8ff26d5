//! # A language model with presynaptic and postsynaptic dynamics, and experts that live, split and merge
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! attention: logits = q·k / sqrt(D) + bias of the release of key j - barrier · distance / context
//! mixture:   the k experts with the largest router logits; their outputs weighted by gates
//! ```
//!
//! A step is one update of the optimiser, then of the state of the routers; every so many steps experts are judged, and
//! split, merge or end. Which tokens a step reads, and every other random number, is a draw with an address (seed, purpose,
//! step, lane).
//!
//! | file, folder | subject |
//! | --- | --- |
//! | [`params`](Params), [`mechanisms`], [`choices`] | parameters |
//! | `dynamics` | parameters as the constants of operations |
//! | [`presynaptic`] | release of vesicles along a sequence, as a bias of attention logits |
//! | [`experts`] | router, genomes, metabolism, mixture of experts |
//! | [`postsynaptic`] | memory written while a text is continued |
//! | [`life`] | life cycle of experts |
//! | [`model`] | sizes, names and first values of the parameters |
//! | [`backend`] | what the simulation asks of a backend |
//! | [`cpu`], [`cuda`] | the model on the CPU, which is the definition, and on a GPU |
//! | [`setup`] | the text as tokens |
//! | [`simulation`] | what the kind adds to the simulation of a language model |
//! | `life_cycle`, `scores`, `saved` | experts while a model trains, and in a saved state |
//! | [`probes`], `readings`, `synapses`, [`sampler`] | what can be shown |
//! | [`bench`] | speed of training, losses of variants |
//! | [`language`](super::language) | what all kinds that learn language share |

pub mod backend;
pub mod bench;
pub mod choices;
pub mod cpu;
pub mod cuda;
mod dynamics;
pub mod experts;
pub mod life;
mod life_cycle;
pub mod mechanisms;
pub mod model;
mod params;
pub mod postsynaptic;
pub mod presets;
pub mod presynaptic;
pub mod probes;
mod readings;
mod requests;
pub mod sampler;
mod saved;
mod scores;
mod sets;
pub mod setup;
pub mod simulation;
mod synapses;
pub use choices::*;
pub use params::*;

use crate::{
    gpu::{Gpu, ModuleSpec},
    kinds::language::{measure::check_taps, text},
    nn::gemm::cuda::Available,
    params::ParamWarning,
    sim::{
        ActionSpec, BuildContext, Device, DeviceKind, Exactness, Kind, MemoryReport, Preset, ProbeId, ProbeSpec,
        Progress, RequestSpec, ShareLevel, SimError, Simulation, StepCount, Tap, TimeBase,
    },
};
use backend::Backend;
use cpu::{CpuBackend, Trainer, network::Extent};
use model::{Config, Layout};
use setup::Setup;
use simulation::SynapticSim;
use std::sync::Arc;

/// A step is one update of the optimiser.
pub const STEPS: TimeBase = TimeBase::count("step", "steps");

/// The kind.
pub struct SynapticKind;

impl Kind for SynapticKind {
    const TITLE: &'static str = "Synaptic language model";
    const ABOUT: &'static str = "A language model with a metabolism: attention whose keys release vesicles and run out of \
        them (Tsodyks & Markram 1997; Südhof 2013), and mixtures of experts with energy, genes and a lineage, which split, \
        merge and die while the model trains. It shows dynamics and makes no claim that they improve the loss.";
    const HELP: &'static str = include_str!("../../../assets/help/synaptic.md");
    const NAME: &'static str = "synaptic";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Devices sum in other orders, and the differences grow with every step.
    const EXACTNESS: Exactness = Exactness::SameDevice;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const SHARE_LEVELS: &'static [ShareLevel] = &[ShareLevel { row: "release", name: "goal", share: 0.05 }];
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const PRESETS: &'static [Preset] = presets::PRESETS;
    const KEEPS_FINAL_STATE: bool = true;
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, gpu: &Arc<Gpu>) -> Vec<ModuleSpec> {
        cuda::modules::expected(params.compute.precision, Available::on(gpu))
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
            DeviceKind::Cuda => {
                let sequences = params.training.batch as usize;
                cuda::memory(&config, &layout, &params.dynamics(&config), sequences, params.compute.precision)
            }
        };
        report.host("text", setup.map_or(params.data.generated_bytes(), Setup::n_bytes));
        report
    }

    fn warnings(params: &Params) -> Vec<ParamWarning> {
        params.warnings()
    }

    fn unused_probes(params: &Params) -> Vec<ProbeId> {
        if params.presynaptic.releases() {
            return vec![];
        }
        vec![probes::SYNAPSE, probes::VESICLES, probes::RELEASE_BIAS]
    }

    fn check(
        params: &Params,
        _: &BuildContext,
        setup: &Arc<Setup>,
        on: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError> {
        let (config, layout) = setup.model(params)?;
        if on == DeviceKind::Cuda {
            cuda::check(&params.dynamics(&config), &config)?;
        }
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
        let backend = start_backend(params, &config, &layout, context.seed, on)?;
        Ok(Box::new(SynapticSim::new(params, context.seed, setup, (config, layout), backend)?))
    }
}

/// The model on a device, with zero weights.
fn start_backend(
    params: &Params,
    config: &Config,
    layout: &Arc<Layout>,
    seed: u64,
    on: &Device,
) -> Result<Box<dyn Backend>, SimError> {
    let dynamics = params.dynamics(config);
    match on {
        Device::Cpu { threads } => Ok(Box::new(CpuBackend::new(config, layout, &dynamics, seed, *threads)?)),
        Device::Cuda(gpu) => {
            let sequences = params.training.batch as usize;
            cuda::create(gpu, (config, layout, &dynamics), seed, sequences, params.compute.precision)
        }
    }
}

/// The model with a vocabulary of bytes.
fn assumed(params: &Params) -> Option<(Config, Arc<Layout>)> {
    let config = params.config(256).ok()?;
    let layout = Arc::new(Layout::new(&config).ok()?);
    Some((config, layout))
}

/// What a step does.
fn counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
    let tokens = (params.training.sequences() * config.context) as f64;
    vec![
        StepCount::items("tokens", tokens),
        StepCount::ops("of the active experts and attention", tokens * config.flops_per_token()),
        // Weights and gradients are read and written, two moments as well.
        StepCount::bytes("of the optimiser", 28.0 * layout.map.count() as f64),
    ]
}

fn cpu_memory(params: &Params, config: &Config, layout: &Layout) -> MemoryReport {
    let extent = Extent { sequences: params.training.batch as usize, seq_len: config.context };
    let (n, tokens) = (layout.map.len() as u64 * 4, params.training.sequences() * config.context);
    let mut report = MemoryReport::default();
    report.host("parameters", n);
    report.host("gradient", n);
    report.host("optimiser", 2 * n);
    report.host("activations", Trainer::<f32>::bytes(config, layout, extent) - 4 * n);
    report.host("batches", tokens as u64 * 8);
    report
}
