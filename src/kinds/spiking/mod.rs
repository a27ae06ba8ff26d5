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
//! | [`cpu`] | the step |
//! | [`measure`], [`probes`] | what is seen of it |
//! | [`edit`] | what is said to it while it runs |
//! | [`saved`] | bytes of saved states |
//! | [`bench`] | how fast it is |

pub mod bench;
pub mod cpu;
pub mod edit;
pub mod files;
pub mod layout;
pub mod leaky;
pub mod measure;
mod params;
pub mod probes;
pub mod saved;
pub mod select;
pub mod setup;
pub mod stimuli;
pub use params::*;

use crate::{
    gpu::ModuleSpec,
    sim::{ActionSpec, Device, Kind, ProbeSpec, Progress, Scene, SimError, Simulation},
};
use cpu::{CpuSim, leaky::LeakySim};
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
    const MODULES: &'static [ModuleSpec] = &[];
    type Params = Params;
    type Setup = Setup;

    fn secs_per_step(params: &Params) -> f64 {
        params.dt_ms() * 1e-3
    }

    fn prepare(params: &Params, scene: &Scene, progress: &Progress) -> Result<Setup, SimError> {
        setup::prepare(params, scene, progress)
    }

    fn start(params: &Params, scene: &Scene, setup: Arc<Setup>, on: &Device) -> Result<Box<dyn Simulation>, SimError> {
        let threads = match on {
            Device::Cpu { threads } => *threads,
            Device::Cuda(_) => {
                return Err(SimError::NoDevice("spiking networks run on the CPU only, so far".to_owned()));
            }
        };
        Ok(match (params.network.model, params.lif.precision) {
            (NeuronModel::ExponentialLif, Precision::F64) => {
                Box::new(CpuSim::<f64>::new(params, scene, setup, threads)?)
            }
            (NeuronModel::ExponentialLif, Precision::F32) => {
                Box::new(CpuSim::<f32>::new(params, scene, setup, threads)?)
            }
            (NeuronModel::NoisyLeaky, _) => Box::new(LeakySim::new(params, scene, setup, threads)?),
        })
    }
}
