//! Nuclei as a [`Kind`].

use super::{
    choices::{Dynamics, TaskSource},
    cpu::{self, CpuSim},
    cuda,
    host_state::{GENERATIONS, HostState},
    params::Params,
    predict, presets, probes, requests,
    task::{self, Setup},
};
use crate::{
    gpu::{Gpu, ModuleSpec},
    kinds::shared::real::StatePrecision,
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Exactness, Example, Kind, MemoryReport, Preset, ProbeId,
        ProbeSpec, Progress, RequestSpec, RooflineWork, SimError, Simulation, StartRequest, Tap, TimeBase,
    },
};
use std::sync::Arc;

/// The nuclei kind, registered in `kinds!`.
pub struct NucleiKind;

impl Kind for NucleiKind {
    const TITLE: &'static str = "Nuclei";
    const ABOUT: &'static str = "A population of candidate solutions with coupled phases, after SODA-QD1102 (2025): as \
        phases synchronise, barriers open through which unfit nuclei decay into offspring of fit ones and the best ones \
        fuse. Kuramoto oscillators without births, and births and deaths without phases, are special cases.";
    const NAME: &'static str = "nuclei";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Floating-point sums depend on the order of the threads of a device, and events depend on every bit of these sums.
    const EXACTNESS: Exactness = Exactness::SameDevice;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const WORK: &'static [RooflineWork] = probes::WORK;
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const TEMPLATE: &'static str = include_str!("../../../projects/new/nuclei.ron");
    const EXAMPLES: &'static [Example] = super::examples::EXAMPLES;
    const BENCH: Option<Bench> = Some(super::bench::run);
    const PRESETS: &'static [Preset] = presets::PRESETS;
    type Params = Params;
    type Setup = Setup;

    fn loaded_modules(params: &Params, _: &Arc<Gpu>) -> Vec<ModuleSpec> {
        cuda::loaded_modules(params)
    }

    fn time_base(_: &Params) -> TimeBase {
        GENERATIONS
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        task::prepare(params, context, progress)
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryReport {
        match on {
            DeviceKind::Cpu { .. } => predict::cpu(params, setup),
            DeviceKind::Cuda => cuda::predict::predict(params, setup),
        }
    }

    fn unused_probes(params: &Params) -> Vec<ProbeId> {
        let population = &params.population;
        let is_fixed = !population.can_fuse() && !population.can_decay() && population.death_rate <= 0.0;
        let of_turnover = is_fixed.then_some([probes::LINEAGE, probes::BARRIER, probes::P_FIELD]);
        let has_no_task = params.task.source == TaskSource::Nothing;
        // Without a task all nuclei are equal: error and entropy are 0.
        let of_task = has_no_task.then_some([
            probes::FITNESS,
            probes::FITNESS_OF,
            probes::FITNESS_FIELD,
            probes::ENTROPY,
            probes::ENTROPY_FIELD,
        ]);
        // Constant phases matter only if a barrier depends on their order.
        let has_no_phases =
            params.phases.dynamics == Dynamics::Still && (is_fixed || params.tunnelling.r_threshold <= 0.0);
        let of_phases = [probes::ORDER, probes::MEAN_PHASE, probes::PHASE, probes::PHASE_OF, probes::LOCAL_ORDER];
        let of_phases = has_no_phases.then_some(of_phases).into_iter().flatten();
        let of_motion = (params.phases.dynamics == Dynamics::Still).then_some(probes::OMEGA);
        of_turnover
            .into_iter()
            .flatten()
            .chain(of_task.into_iter().flatten())
            .chain(of_phases)
            .chain(of_motion)
            .collect()
    }

    fn check(
        params: &Params,
        context: &BuildContext,
        setup: &Arc<Setup>,
        on: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError> {
        match on {
            DeviceKind::Cpu { .. } => cpu::check(params)?,
            DeviceKind::Cuda => cuda::kernel_params::check(params, setup)?,
        }
        HostState::new(params, context, setup.clone(), 0).sampler.tap(taps, 0, &[])
    }

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, .. } = request;
        match (on, params.population.precision) {
            (Device::Cpu { threads }, StatePrecision::F64) => {
                Ok(Box::new(CpuSim::<f64>::new(params, context, setup, *threads)?))
            }
            (Device::Cpu { threads }, StatePrecision::F32) => {
                Ok(Box::new(CpuSim::<f32>::new(params, context, setup, *threads)?))
            }
            (Device::Cuda(gpu), _) => Ok(Box::new(cuda::CudaSim::new(params, context, setup, gpu)?)),
        }
    }
}
