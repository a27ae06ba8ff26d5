//! The transformer as a [`Kind`].

use super::{
    Params, Precision, TransformerKind,
    backend::Backend,
    bench_rows,
    cpu::{CpuBackend, Trainer},
    cuda, examples,
    model::{Config, Layout},
    presets, probes, requests,
    setup::Setup,
    simulation::{TransformerSim, step_counts},
    weights,
};
use crate::{
    gpu::{Gpu, ModuleSpec},
    kinds::language::{choices::TokenizerChoice, measure::check_taps, probes::HELD_OUT_NAME, text},
    nn::gemm::cuda::Available,
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Exactness, Example, FileValues, HuggingFaceModel, Kind,
        MemoryReport, Preset, ProbeId, ProbeSpec, Progress, RequestSpec, SimError, Simulation, Snapshot, StartRequest,
        StepCount, Tap, TimeBase,
    },
};
use std::sync::Arc;

/// Time base: a step is one update of the optimiser.
pub const STEPS: TimeBase = TimeBase::count("step", "steps");

impl Kind for TransformerKind {
    const TITLE: &'static str = "Transformer";
    const ABOUT: &'static str = "A transformer language model (Vaswani et al. 2017; Radford et al. 2019) that trains on a \
        text of yours, or on a grammar whose entropy is known, and writes while it trains. Attention, activations and the \
        loss of every token can be watched.";
    const NAME: &'static str = "transformer";
    const SHARED_MEMORY: &'static [&'static str] = text::SHARED_MEMORY;
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
    const RESULT_PROBE: Option<&'static str> = Some(HELD_OUT_NAME);
    const SHAPE_FILE: &'static str = "data.weights";
    const HAS_HUGGING_FACE: bool = true;
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, gpu: &Arc<Gpu>) -> Vec<ModuleSpec> {
        cuda::modules::expected(params, Available::on(gpu))
    }

    fn time_base(_: &Params) -> TimeBase {
        STEPS
    }

    /// Returns the work of a step for a vocabulary of bytes; empty if the vocabulary depends on the text, because the
    /// simulation then returns the work.
    fn counts(params: &Params) -> Vec<StepCount> {
        match assumed(params) {
            Some((config, layout)) => step_counts(params, &config, &layout),
            None => vec![],
        }
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        Setup::prepare(params, context, progress)
    }

    fn values_of_file(params: &Params, context: &BuildContext) -> Result<FileValues, SimError> {
        weights::values_of_file(params, context)
    }

    fn hugging_face(params: &Params, state: &Snapshot) -> Result<HuggingFaceModel, SimError> {
        weights::publish::hugging_face(params, state)
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

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, .. } = request;
        let (config, layout) = setup.model(params)?;
        let backend = start_backend(params, &config, &layout, context, on)?;
        Ok(Box::new(TransformerSim::new(params, context.seed, setup, (config, layout), backend)?))
    }
}

/// Starts the model on a device, with zero weights. Fails if the device is not available or memory is exhausted.
pub(super) fn start_backend(
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

/// Returns the sizes and layout for a vocabulary of bytes; `None` if the parameters are invalid.
fn assumed(params: &Params) -> Option<(Config, Arc<Layout>)> {
    let config = Config::new(params, 256).ok()?;
    let layout = Arc::new(Layout::new(&config).ok()?);
    Some((config, layout))
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
