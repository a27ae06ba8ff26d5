//! # A population of nuclei with coupled phases
//!
//! Candidate solutions ("nuclei") of a regression are phase oscillators. Nuclei of similar fitness f and similar entropy
//! H of their weights are coupled. The higher the order parameter, the lower the barrier through which unfit nuclei decay
//! into offspring of fit ones and the highest-ranked nuclei fuse. After SODA-QD1102 (2025), with its population dynamics
//! and without its defects.
//!
//! ```text
//! f_j = (1/B) Σ_b (x_b·w_j - y_b)²     H_j = entropy of softmax(w_j)     T = 1 + standard deviation of f
//! S_j = Σ_k e^{-|f_j - f_k|/T} e^{-|H_j - H_k|} e^{i(φ_k - φ_j)}          d_j: the same with φ = 0
//! dφ_j/dt = ω_j + (K/d_j) Im S_j       r = |mean e^{iφ}|                 R_j = |S_j| / d_j
//! P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R))
//! the k least fit decay with P(R_j): 1 → 1 + c      the m of highest key fuse with P(r): m → 1      all die at rate λ
//! ```
//!
//! A step is one generation. [`cpu`] defines its order.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params), `choices`, `presets` | parameters and presets |
//! | [`task`] | samples, generated or read, and their QR compression |
//! | [`state`], [`start`] | the table of the population, and its initial values |
//! | [`draw`] | addressed random numbers |
//! | [`tunnel`] | probability of crossing the barrier |
//! | [`mixing`] | coupling between several phase fields |
//! | [`ledger`], [`events`], [`lineage`] | totals, events and ancestry |
//! | [`cpu`] | CPU backend: the definition of a generation |
//! | [`host`], [`saved`] | state shared by the backends: parameters, actions, saved states |
//! | [`measure`], [`probes`], [`fields`] | sampled curves, probes and fields |
//! | [`predict`] | predicted memory |
//! | [`bench`](mod@bench) | benchmarks |

pub mod bench;
mod choices;
pub mod counts;
pub mod cpu;
pub mod cuda;
mod event_log;
pub mod events;
pub mod fields;
pub mod host_state;
pub mod initial;
pub mod layout;
pub mod ledger;
pub mod lineage;
pub mod mixing;
mod params;
pub mod predict;
mod presets;
pub mod probes;
pub mod random;
pub mod real;
mod requests;
pub mod sampler;
pub mod saved;
pub mod state;
pub mod task;
pub mod tunnelling;
pub use choices::*;
pub use params::*;

use crate::{
    gpu::{Gpu, ModuleSpec},
    sim::{
        ActionSpec, BuildContext, Device, DeviceKind, Exactness, Kind, MemoryReport, Preset, ProbeId, ProbeSpec,
        Progress, RequestSpec, RooflineWork, SimError, Simulation, Tap, TimeBase,
    },
};
use cpu::CpuSim;
use host_state::HostState;
use std::sync::Arc;
use task::Setup;

/// A step is one generation.
pub const GENERATIONS: TimeBase = TimeBase::count("generation", "generations");

/// The nuclei kind.
pub struct NucleiKind;

impl Kind for NucleiKind {
    const TITLE: &'static str = "Nuclei";
    const ABOUT: &'static str = "A population of candidate solutions with coupled phases, after SODA-QD1102 (2025): as \
        phases synchronise, barriers open through which unfit nuclei decay into offspring of fit ones and the best ones \
        fuse. Kuramoto oscillators without births, and births and deaths without phases, are special cases.";
    const NAME: &'static str = "nuclei";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    /// Floating-point sums follow the order of the threads of a device, and events depend on every bit of them.
    const EXACTNESS: Exactness = Exactness::SameDevice;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const WORK: &'static [RooflineWork] = probes::WORK;
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
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
        // Constant phases matter only where a barrier depends on their order.
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

    fn start(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        on: &Device,
    ) -> Result<Box<dyn Simulation>, SimError> {
        match (on, params.population.precision) {
            (Device::Cpu { threads }, Precision::F64) => {
                Ok(Box::new(CpuSim::<f64>::new(params, context, setup, *threads)?))
            }
            (Device::Cpu { threads }, Precision::F32) => {
                Ok(Box::new(CpuSim::<f32>::new(params, context, setup, *threads)?))
            }
            (Device::Cuda(gpu), _) => Ok(Box::new(cuda::CudaSim::new(params, context, setup, gpu)?)),
        }
    }
}
