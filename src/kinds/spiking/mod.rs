//! # Spiking networks on a connectome
//!
//! Leaky integrate-and-fire neurons with exponential synapses, all alike, wired by a connectome in which a
//! connection of n synapses weighs n times one synapse (Shiu et al., *Nature* 634:210, 2024, of the fly brain):
//!
//! ```text
//! τ_m   dv/dt = v_rest - v + g + I        frozen while refractory
//! τ_syn dg/dt = -g                        frozen while refractory
//! v > v_threshold        →  spike, v = v_reset, g = 0, refractory for t_refractory
//! spike of j, t_delay ago →  g += w_syn · n_ij, unless refractory
//! stimulus               →  v += weight, unless refractory; driven neurons have no refractory period
//! ```
//!
//! Equal to the authors' Brian2 model spike for spike in double precision; [`cpu`] says in which order a step goes and
//! why silent neurons cost nothing. Exact propagators after Rotter & Diesmann, *Biol. Cybern.* 81:381 (1999).
//!
//! A second model, noisy [`leaky`] units in steps of 1 ms, is there for comparing speed; wiring, stimuli, lesions and
//! measurements are the same.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params) | what a user can set, in user units |
//! | [`layout`] | user units → constants and propagators, the only place |
//! | [`leaky`] | a second, simpler model: what its step computes, bit for bit |
//! | [`setup`] | files or generators → neurons and wiring |
//! | [`select`], [`files`] | who is meant: queries and lists |
//! | [`stimuli`] | drives and lesions over time |
//! | [`cpu`] | the step, as it is defined |
//! | [`cuda`] | the same step on an NVIDIA GPU |
//! | [`desk`], [`saved`] | what both backends share: edits, actions, saved states |
//! | [`measure`], [`probes`] | what is seen of it |
//! | [`predict`] | how much memory it will take |
//! | [`edit`] | what is said to it while it runs |
//! | [`bench`] | how fast it is |

pub mod bench;
pub mod cpu;
pub mod cuda;
pub mod desk;
pub mod edit;
pub mod files;
pub mod layout;
pub mod leaky;
pub mod measure;
mod params;
pub mod predict;
mod presets;
pub mod probes;
pub mod saved;
pub mod select;
pub mod setup;
pub mod stimuli;
pub use params::*;

use crate::{
    gpu::{Gpu, ModuleSpec},
    sim::{
        ActionSpec, BuildContext, Device, DeviceKind, Kind, MemoryByOwner, Preset, ProbeSpec, Progress, RooflineWork,
        SimError, Simulation,
    },
};
use cpu::{CpuSim, leaky::LeakySim};
use cuda::CudaSim;
use predict::Sizes;
use setup::Setup;
use std::sync::Arc;

/// The kind.
pub struct Card;

impl Kind for Card {
    const TITLE: &'static str = "Spiking network";
    const ABOUT: &'static str = "Leaky integrate-and-fire neurons with exponential synapses on a connectome, after \
        Shiu et al. 2024: the whole fly brain, parts of it, or a generated network. Stimulate, silence and rewire groups \
        of neurons while it runs.";
    const NAME: &'static str = "spiking";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const WORK: &'static [RooflineWork] = probes::WORK;
    const MODULES: &'static [ModuleSpec] = &[
        cuda::kernels::Kernels::SPEC,
        cuda::kernels::Kernels::SINGLE,
        cuda::kernels::UnitKernels::SPEC,
        cuda::kernels::WayKernels::SPEC,
    ];
    const PRESETS: &'static [Preset] = presets::PRESETS;
    type Params = Params;
    type Setup = Setup;

    fn secs_per_step(params: &Params) -> f64 {
        params.dt_ms() * 1e-3
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        setup::prepare(params, context, progress)
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryByOwner {
        let sizes = setup.map(Sizes::of).or_else(|| Sizes::told(params));
        match (sizes, on) {
            _ if params.network.model == NeuronModel::NoisyLeaky => vec![], // not predicted
            (Some(sizes), DeviceKind::Cpu { threads }) => predict::cpu(params, &sizes, threads),
            (Some(sizes), DeviceKind::Cuda) => predict::cuda(params, &sizes),
            (None, _) => vec![],
        }
    }

    fn start(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        on: &Device,
    ) -> Result<Box<dyn Simulation>, SimError> {
        let model = params.network.model;
        match on {
            Device::Cpu { threads } => Ok(match (model, params.lif.precision) {
                (NeuronModel::ExponentialLif, Precision::F64) => {
                    Box::new(CpuSim::<f64>::new(params, context, setup, *threads)?)
                }
                (NeuronModel::ExponentialLif, Precision::F32) => {
                    Box::new(CpuSim::<f32>::new(params, context, setup, *threads)?)
                }
                (NeuronModel::NoisyLeaky, _) => Box::new(LeakySim::new(params, context, setup, *threads)?),
            }),
            Device::Cuda(gpu) => on_gpu(params, context, setup, gpu).map_err(|error| match error {
                SimError::Device(why) => SimError::NoDevice(why), // it never started: nothing is lost
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
) -> Result<Box<dyn Simulation>, SimError> {
    Ok(match (params.network.model, params.lif.precision) {
        (NeuronModel::ExponentialLif, Precision::F64) => Box::new(CudaSim::<f64>::new(params, context, setup, gpu)?),
        _ => Box::new(CudaSim::<f32>::new(params, context, setup, gpu)?),
    })
}
