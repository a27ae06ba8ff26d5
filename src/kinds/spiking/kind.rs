//! Spiking networks as a [`Kind`].

use super::{
    cell_models, circuit,
    cpu::{CpuSim, leaky::LeakySim},
    cuda::{self, CudaSim, SHARED_WINDOW, Tuning},
    edge_lists,
    general::{
        Plasticity,
        cpu::GeneralSim,
        cuda::{
            RulesSim,
            kernels::{RulesConnectKernels, RulesKernels, RulesPlasticKernels},
        },
        forecast,
    },
    host_state,
    params::{NeuronModel, Params, Source, StatePrecision},
    pattern_stimulus,
    predict::{self, NetworkSize},
    presets, probes, requests,
    setup::{self, Setup},
    stimuli::StimulusPlan,
    synapse_readings::SYNAPSE_PROBES,
    weight_readings::{WEIGHT_PROBES, learning_projections},
};
use crate::{
    gpu::{Gpu, ModuleSpec},
    params::ParamWarning,
    sim::{
        ActionSpec, Bench, BuildContext, CellModel, Device, DeviceKind, EdgeList, ElementSet, Exactness, Example,
        GraphForecast, ImportedNetwork, Kind, MemoryReport, Preset, ProbeId, ProbeSpec, Progress, RequestSpec,
        RooflineWork, Semantics, SimError, Simulation, Snapshot, StartRequest, StepCount, Tap, Template, TimeBase,
    },
};
use std::{path::Path, sync::Arc};

/// Number of neurons above which a simulation has blocks on all multiprocessors of a large GPU. Eight trials at a time of the fly,
/// with 138,639 neurons, are a quarter slower on an H200 than one after another.
const FILLS_GPU: u32 = 50_000;

/// Maximum number of trials at a time.
const TRIALS: usize = 16;
/// Maximum number of trials at a time of networks of which few neurons are reached. 32 are a tenth slower on an H200, where 16
/// processors wait for them.
const REACHED_TRIALS: usize = 16;

/// The spiking kind, registered in `kinds!`.
pub struct SpikingKind;

impl Kind for SpikingKind {
    const TITLE: &'static str = "Spiking network";
    const ABOUT: &'static str = "Leaky integrate-and-fire neurons with exponential synapses on a connectome, after \
        Shiu et al. 2024: the whole fly brain, parts of it, or a generated network. Stimulate, silence and rewire groups \
        of neurons while it runs.";
    const NAME: &'static str = "spiking";
    const SHARED_MEMORY: &'static [&'static str] = &["connectivity", "names and positions"];
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const WORK: &'static [RooflineWork] = probes::WORK;
    const MODULES: &'static [ModuleSpec] = &[
        cuda::kernels::Kernels::SPEC,
        cuda::kernels::Kernels::SINGLE,
        cuda::kernels::LeakyKernels::SPEC,
        cuda::kernels::VariantKernels::SPEC,
        RulesKernels::SPEC,
        RulesConnectKernels::SPEC,
        RulesPlasticKernels::SPEC,
    ];
    const TEMPLATE: &'static str = include_str!("../../../projects/new/spiking.ron");
    const TEMPLATES: &'static [Template] = &[Template {
        name: "rules",
        title: "Network from rules",
        file: include_str!("../../../projects/new/rules.ron"),
    }];
    const EXAMPLES: &'static [Example] = super::examples::EXAMPLES;
    const BENCH: Option<Bench> = Some(super::bench::run);
    const PRESETS: &'static [Preset] = presets::PRESETS;
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, _: &Arc<Gpu>) -> Vec<ModuleSpec> {
        if params.network.source == Source::Rules {
            let is_plastic = params.projections.iter().any(|p| !matches!(p.plasticity, Plasticity::Static(_)));
            let plastic = is_plastic.then_some(RulesPlasticKernels::SPEC);
            return [RulesKernels::SPEC, RulesConnectKernels::SPEC].into_iter().chain(plastic).collect();
        }
        let (step, leaky) = match (params.network.model, params.lif.precision) {
            (NeuronModel::ExponentialLif, StatePrecision::F64) => (cuda::kernels::Kernels::SPEC, None),
            (NeuronModel::ExponentialLif, StatePrecision::F32) => (cuda::kernels::Kernels::SINGLE, None),
            (NeuronModel::NoisyLeaky, _) => (cuda::kernels::Kernels::SINGLE, Some(cuda::kernels::LeakyKernels::SPEC)),
        };
        let variants = params.measure.variants.then_some(cuda::kernels::VariantKernels::SPEC);
        [Some(step), leaky, variants].into_iter().flatten().collect()
    }

    fn semantics(params: &Params) -> Semantics {
        super::semantics::of(params)
    }

    fn time_base(params: &Params) -> TimeBase {
        TimeBase::seconds(params.dt_ms() * 1e-3)
    }

    fn counts(params: &Params) -> Vec<StepCount> {
        let sizes = NetworkSize::from_params(params);
        sizes.map(|s| StepCount::items("neuron updates", s.neurons as f64)).into_iter().collect()
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        setup::prepare(params, context, progress)
    }

    fn notices(setup: &Setup) -> Vec<String> {
        setup.notices.clone()
    }

    fn trials_at_a_time(params: &Params, setup: &Setup, context: &BuildContext) -> usize {
        let steps_reached =
            params.network.source != Source::Rules && params.network.model == NeuronModel::ExponentialLif;
        let drives_few = || StimulusPlan::new(params, setup, context).is_ok_and(|plan| plan.drives_few(setup.n()));
        match setup.n() {
            _ if steps_reached && drives_few() => REACHED_TRIALS,
            n if n > FILLS_GPU => 1,
            _ => TRIALS,
        }
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryReport {
        predict::of(params, setup, on, &Tuning::default())
    }

    /// Trials on a GPU are those of which few neurons are driven; others need a little more memory.
    fn predict_trials(params: &Params, setup: Option<&Setup>, on: DeviceKind, n: u32) -> MemoryReport {
        let tuning = if n > 1 { Tuning::reached(1, SHARED_WINDOW) } else { Tuning::default() };
        predict::of(params, setup, on, &tuning).of_trials(n, Self::SHARED_MEMORY)
    }

    fn scratch(params: &Params) -> MemoryReport {
        predict::scratch(params)
    }

    fn forecast(params: &Params) -> Option<GraphForecast> {
        (params.network.source == Source::Rules).then(|| forecast::forecast(params))
    }

    fn elements(setup: &Setup) -> Option<Arc<ElementSet>> {
        Some(setup.neurons.clone())
    }

    fn of_circuit(path: &Path) -> Option<Result<ImportedNetwork<Params>, SimError>> {
        Some(circuit::read(path))
    }

    fn cell_models(params: &Params) -> Vec<CellModel> {
        cell_models::of(params)
    }

    fn edge_lists(params: &Params) -> Vec<String> {
        edge_lists::names(params)
    }

    fn edge_list(
        params: &Params,
        setup: &Arc<Setup>,
        i: usize,
        state: Option<&Snapshot>,
        progress: &Progress,
    ) -> Result<EdgeList, SimError> {
        edge_lists::make(params, setup, i, state, progress)
    }

    fn warnings(params: &Params) -> Vec<ParamWarning> {
        params.warnings()
    }

    fn unused_probes(params: &Params) -> Vec<ProbeId> {
        let of_model: &[ProbeId] = match params.network.model {
            NeuronModel::ExponentialLif => &[],
            NeuronModel::NoisyLeaky => &[probes::G],
        };
        let learning = learning_projections(params);
        let is_modulated =
            |(i, _): &(usize, String)| matches!(params.projections[*i].plasticity, Plasticity::RewardStdp(_));
        let of_weights: &[ProbeId] = match &learning[..] {
            [] => &[WEIGHT_PROBES.as_slice(), &[probes::WEIGHT_MATRIX]].concat(),
            all if all.iter().any(is_modulated) => &[],
            _ => &[probes::THIRD_FACTOR],
        };
        let has_readout = pattern_stimulus::parameters(params).is_some_and(|of| !of.readout.trim().is_empty());
        let of_readout: &[ProbeId] = if has_readout { &[] } else { &[probes::ACCURACY] };
        let of_synapses: &[ProbeId] = match learning.iter().any(is_modulated) {
            _ if learning.is_empty() || params.recorded_synapses.is_empty() => &SYNAPSE_PROBES,
            true => &[],
            false => &[probes::ELIGIBILITY],
        };
        [of_model, of_weights, of_readout, of_synapses].concat()
    }

    fn check(
        params: &Params,
        context: &BuildContext,
        setup: &Arc<Setup>,
        _: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError> {
        let mut host = host_state::HostState::<f64>::new(params, context, setup.clone())?;
        if taps.iter().any(|tap| tap.probe == probes::CLASS_RATES) {
            host.measurements.check_column(&params.measure.group_by)?;
        }
        host.tap(taps)
    }

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, progress, .. } = request;
        let model = params.network.model;
        match on {
            Device::Cpu { threads } if params.network.source == Source::Rules => {
                Ok(Box::new(GeneralSim::new(params, context, setup, *threads, progress)?))
            }
            Device::Cpu { threads } => Ok(match (model, params.lif.precision) {
                (NeuronModel::ExponentialLif, StatePrecision::F64) => {
                    Box::new(CpuSim::<f64>::new(params, context, setup, *threads)?)
                }
                (NeuronModel::ExponentialLif, StatePrecision::F32) => {
                    Box::new(CpuSim::<f32>::new(params, context, setup, *threads)?)
                }
                (NeuronModel::NoisyLeaky, _) => Box::new(LeakySim::new(params, context, setup, *threads)?),
            }),
            Device::Cuda(gpu) => on_gpu(params, context, setup, gpu, progress).map_err(|error| match error {
                SimError::Device(why) => SimError::NoDevice(why), // no simulation has started, so nothing is lost
                other => other,
            }),
        }
    }
}

fn on_gpu(
    params: &Params,
    context: &BuildContext,
    setup: Arc<Setup>,
    gpu: &Arc<Gpu>,
    progress: &Progress,
) -> Result<Box<dyn Simulation>, SimError> {
    if params.network.source == Source::Rules {
        return Ok(Box::new(RulesSim::new(params, context, setup, gpu, progress)?));
    }
    Ok(match (params.network.model, params.lif.precision) {
        (NeuronModel::ExponentialLif, StatePrecision::F64) => {
            Box::new(CudaSim::<f64>::new(params, context, setup, gpu)?)
        }
        _ => Box::new(CudaSim::<f32>::new(params, context, setup, gpu)?),
    })
}
