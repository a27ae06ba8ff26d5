//! The synaptic language model as a [`Kind`].

use super::{
    Params, SynapticKind,
    backend::Backend,
    cpu::{CpuBackend, Trainer, network::Extent},
    cuda,
    model::{Config, Layout},
    presets, probes, requests,
    setup::Setup,
    simulation::SynapticSim,
};
use crate::{
    gpu::{Gpu, ModuleSpec},
    kinds::language::{choices::TokenizerChoice, measure::check_taps, probes::HELD_OUT_NAME, text},
    nn::gemm::cuda::Available,
    params::ParamWarning,
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Exactness, Example, Kind, MemoryReport, Preset, ProbeId,
        ProbeSpec, Progress, RequestSpec, ShareLevel, SimError, Simulation, StartRequest, StepCount, Tap, TimeBase,
    },
};
use std::sync::Arc;

/// Time base: a step is one update of the optimiser.
pub const STEPS: TimeBase = TimeBase::count("step", "steps");

impl Kind for SynapticKind {
    const TITLE: &'static str = "Synaptic language model";
    const ABOUT: &'static str = "A language model with a metabolism: attention whose keys release vesicles and run out of \
        them (Tsodyks & Markram 1997; Südhof 2013), and mixtures of experts with energy, genes and a lineage, which split, \
        merge and die while the model trains. It shows dynamics and makes no claim that they improve the loss.";
    const HELP: &'static str = include_str!("../../../assets/help/synaptic.md");
    const NAME: &'static str = "synaptic";
    const SHARED_MEMORY: &'static [&'static str] = text::SHARED_MEMORY;
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Devices sum in different orders, and the differences grow with every step.
    const EXACTNESS: Exactness = Exactness::SameDevice;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const SHARE_LEVELS: &'static [ShareLevel] = &[ShareLevel { row: "release", name: "goal", share: 0.05 }];
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const TEMPLATE: &'static str = include_str!("../../../projects/new/synaptic.ron");
    const EXAMPLES: &'static [Example] = super::examples::EXAMPLES;
    const BENCH: Option<Bench> = Some(super::bench_rows::run);
    const PRESETS: &'static [Preset] = presets::PRESETS;
    const KEEPS_FINAL_STATE: bool = true;
    const RESULT_PROBE: Option<&'static str> = Some(HELD_OUT_NAME);
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, gpu: &Arc<Gpu>) -> Vec<ModuleSpec> {
        cuda::modules::expected(params.compute.precision, Available::on(gpu))
    }

    fn time_base(_: &Params) -> TimeBase {
        STEPS
    }

    /// Returns the work of a step for a vocabulary of bytes; empty if the vocabulary depends on the text, because the
    /// simulation then returns the work.
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

    /// Returns the number of parameters without the padding of the vocabulary.
    fn n_parameters(params: &Params, setup: Option<&Setup>) -> Option<u64> {
        let has_bytes = params.data.tokenizer == TokenizerChoice::Bytes;
        let model = setup.map_or_else(|| assumed(params).filter(|_| has_bytes), |setup| setup.model(params).ok());
        model.map(|(config, layout)| layout.count(&config) as u64)
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

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, .. } = request;
        let (config, layout) = setup.model(params)?;
        let backend = start_backend(params, &config, &layout, context.seed, on)?;
        Ok(Box::new(SynapticSim::new(params, context.seed, setup, (config, layout), backend)?))
    }
}

/// Starts the model on a device, with zero weights. Fails if the device is not available or memory is exhausted.
pub(super) fn start_backend(
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

/// Returns the sizes and layout for a vocabulary of bytes; `None` if the parameters are invalid.
fn assumed(params: &Params) -> Option<(Config, Arc<Layout>)> {
    let config = params.config(256).ok()?;
    let layout = Arc::new(Layout::new(&config).ok()?);
    Some((config, layout))
}

/// Returns the work of a step.
pub(super) fn counts(params: &Params, config: &Config, layout: &Layout) -> Vec<StepCount> {
    let tokens = (params.training.sequences() * config.context) as f64;
    vec![
        StepCount::items("tokens", tokens),
        StepCount::ops("of the active experts and attention", tokens * config.flops_per_token()),
        // The optimiser reads and writes weights and two moments, and reads the gradient.
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
