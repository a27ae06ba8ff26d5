//! Language models that evolve, as a [`Kind`].

use super::{
    EvolutionKind, Params,
    backend::Backend,
    bench,
    choices::TextChoice,
    cpu::{self, backend::CpuBackend},
    cuda::{
        self,
        backend::CudaBackend,
        kernels::{MAX_RANK, MAX_STATE, MAX_STEPS},
    },
    examples,
    network::{Layout, Network},
    params::Noise,
    presets, probes, requests,
    simulation::EvolutionSim,
};
use crate::{
    data::{DataError, tensors::TensorFile},
    gpu::{Gpu, ModuleSpec},
    kinds::{
        language::{
            choices::TokenizerChoice,
            measure::check_taps,
            model::{self as language, ModelParams, Ranges as _},
            params::{Data, Measure},
            probes::HELD_OUT_NAME,
            setup::Setup,
            text,
        },
        shared::weights::{self, TensorSource},
    },
    nn::parameters::Parameters,
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Example, Kind, MemoryReport, Preset, ProbeSpec, Progress,
        RequestSpec, SimError, Simulation, StartRequest, StepCount, Tap, TimeBase,
    },
};
use std::{path::Path, sync::Arc};

/// Time base: a step is a generation.
pub const GENERATIONS: TimeBase = TimeBase::count("generation", "generations");

impl Kind for EvolutionKind {
    const TITLE: &'static str = "Evolution";
    const ABOUT: &'static str = "A language model with ternary weights, 8-bit activations and linear attention (EFLA, Lei et al. \
        2025) that is trained without gradients: by an evolution strategy (Salimans et al. 2017; EGGROLL, Sarkar et al. 2025) \
        from the losses of a population of perturbed models.";
    const NAME: &'static str = "evolution";
    const SHARED_MEMORY: &'static [&'static str] = text::SHARED_MEMORY;
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    const EXACT_PROBES: &'static [(&'static str, crate::sim::Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const TEMPLATE: &'static str = include_str!("../../../projects/new/evolution.ron");
    const EXAMPLES: &'static [Example] = examples::EXAMPLES;
    const BENCH: Option<Bench> = Some(bench::run);
    const PRESETS: &'static [Preset] = presets::PRESETS;
    const KEEPS_FINAL_STATE: bool = true;
    const RESULT_PROBE: Option<&'static str> = Some(HELD_OUT_NAME);
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(_: &Params, _: &Arc<Gpu>) -> Vec<ModuleSpec> {
        [cuda::MODULES, cuda::SHARED].concat()
    }

    fn time_base(_: &Params) -> TimeBase {
        GENERATIONS
    }

    fn counts(params: &Params) -> Vec<StepCount> {
        Network::new(params, 256).map_or_else(|_| vec![], |network| step_counts(params, &network))
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        Setup::prepare(params, context, progress)
    }

    fn notices(setup: &Setup) -> Vec<String> {
        setup.notices()
    }

    fn n_parameters(params: &Params, setup: Option<&Setup>) -> Option<u64> {
        let has_bytes = params.data.tokenizer == TokenizerChoice::Bytes;
        let vocab = setup.map(|setup| setup.texts.tokenizer().n_vocab()).or_else(|| has_bytes.then_some(256))?;
        Network::new(params, vocab).ok().map(|network| network.sizes.parameters() as u64)
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryReport {
        let vocab = setup.map_or(256, |setup| setup.texts.tokenizer().n_vocab());
        let Ok(network) = Network::new(params, vocab) else { return MemoryReport::default() };
        let moments = params.strategy.update.rule().n_moments();
        let mut report = match on {
            DeviceKind::Cpu { threads } => {
                cpu::backend::memory(&network, moments * network.sizes.parameters(), threads)
            }
            DeviceKind::Cuda => {
                let Ok(layout) = Layout::new(&network.sizes) else { return MemoryReport::default() };
                let pairs = params.strategy.pairs();
                cuda::memory::predict(&network, &layout.map, &params.settings(0), (pairs, moments))
            }
        };
        report.host("text", setup.map_or(params.data.generated_bytes(), Setup::n_bytes));
        report
    }

    fn check(
        params: &Params,
        _: &BuildContext,
        setup: &Arc<Setup>,
        on: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError> {
        let (network, layout) = setup.model(params)?;
        text::check(setup.texts.tokenizer(), &params.measure)?;
        if on == DeviceKind::Cuda {
            check_gpu(&network, params)?;
        }
        check_taps::<Self>(taps, &network, &layout)
    }

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, .. } = request;
        let (network, layout) = setup.model(params)?;
        let backend = start_backend(params, network, &layout, on)?;
        Ok(Box::new(EvolutionSim::new(params, context.seed, setup, (network, layout), backend)?))
    }
}

/// Starts the population on a device. Fails if a GPU has no kernel for the model, the device fails, or memory is
/// exhausted.
pub fn start_backend(
    params: &Params,
    network: Network,
    layout: &Layout,
    on: &Device,
) -> Result<Box<dyn Backend>, SimError> {
    let (pairs, moments) = (params.strategy.pairs(), params.strategy.update.rule().n_moments());
    Ok(match on {
        Device::Cpu { threads } => Box::new(CpuBackend::new(network, layout.map.clone(), moments, *threads)),
        Device::Cuda(gpu) => {
            check_gpu(&network, params)?;
            Box::new(CudaBackend::new(gpu, network, layout.map.clone(), (pairs, moments))?)
        }
    })
}

/// Fails if a GPU has no kernel for the model.
fn check_gpu(network: &Network, params: &Params) -> Result<(), SimError> {
    let rank = if let Noise::LowRank(noise) = &params.strategy.noise { noise.rank } else { 0 };
    let too_much = match network.attention.state {
        None if network.sizes.steps > MAX_STEPS => format!("a context of at most {MAX_STEPS} tokens in chunk form"),
        Some(_) if network.sizes.width > MAX_STATE => format!("a width of at most {MAX_STATE} with a state matrix"),
        _ if rank > MAX_RANK => format!("a rank of at most {MAX_RANK}"),
        _ => return Ok(()),
    };
    Err(SimError::Input(format!(
        "kind evolution computes {too_much} on a GPU: change the model, or choose the CPU as device"
    )))
}

/// Returns the counts of a generation: member tokens, text tokens, and operations.
pub fn step_counts(params: &Params, network: &Network) -> Vec<StepCount> {
    let members = 2.0 * (params.strategy.pairs() * params.strategy.sequences as usize * network.sizes.steps) as f64;
    vec![
        StepCount::items("member tokens", members),
        StepCount::items("text tokens", params.tokens_per_step(network.sizes.steps) as f64),
        StepCount::ops("of the members, matrices and attention", members * network.operations_per_token()),
    ]
}

impl ModelParams for Params {
    type Config = Network;
    type Layout = Layout;

    fn model(&self, vocab: usize) -> Result<(Network, Arc<Layout>), SimError> {
        let network = Network::new(self, vocab)?;
        Ok((network, Arc::new(Layout::new(&network.sizes)?)))
    }

    /// Reads unrounded weights, exported from a saved state of this kind.
    fn read_weights(
        path: &Path,
        _: &Network,
        layout: &Layout,
        progress: &Progress,
    ) -> Result<Parameters<f32>, SimError> {
        let watch = |what: &str, part: f32| progress.report(what, part).is_ok();
        let failed = |error: DataError| match error {
            DataError::Cancelled => SimError::Cancelled,
            other => SimError::Input(other.to_string()),
        };
        let file = TensorFile::open(path).map_err(failed)?;
        let names: Vec<&str> = layout.map().views().map(|view| view.name.as_str()).collect();
        let is_other = |name: &str| !names.contains(&name);
        weights::read(&file, layout.map(), TensorSource::same, is_other, &watch).map_err(failed)
    }

    fn data(&self) -> &Data {
        &self.data
    }

    fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Returns the number of sequences of an evaluation; the backend draws the text of members itself.
    fn batches(&self) -> [usize; 2] {
        [EVALUATED_TOGETHER, 0]
    }

    fn tokens_per_step(&self, context: usize) -> usize {
        let readers = if self.strategy.texts == TextChoice::PerPair { self.strategy.pairs() } else { 1 };
        readers * self.strategy.sequences as usize * context
    }

    fn rate_at(&self, step: u64) -> f64 {
        self.strategy.rate_at(step)
    }
}

/// Number of held-out sequences that are evaluated together.
const EVALUATED_TOGETHER: usize = 64;

impl language::Sizes for Network {
    fn vocab(&self) -> usize {
        self.sizes.vocabulary
    }

    fn context(&self) -> usize {
        self.sizes.steps
    }
}
