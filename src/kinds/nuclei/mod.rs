//! # A population of nuclei with coupled phases
//!
//! Candidate solutions ("nuclei") of a regression carry a phase each. Phases of nuclei that resemble each other, in
//! fitness f and in the entropy H of their weights, pull at each other; the more order there is, the lower the barrier
//! through which bad nuclei decay into children of good ones and the most promising fuse. After the public SODA-QD1102
//! (2025), with its law of the population and without its defects.
//!
//! ```text
//! f_j = (1/B) Σ_b (x_b·w_j - y_b)²     H_j = entropy of softmax(w_j)     T = 1 + standard deviation of f
//! S_j = Σ_k e^{-|f_j - f_k|/T} e^{-|H_j - H_k|} e^{i(φ_k - φ_j)}          d_j: the same with φ = 0
//! dφ_j/dt = ω_j + (K/d_j) Im S_j       r = |mean e^{iφ}|                 R_j = |S_j| / d_j
//! P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R))
//! the k worst decay with P(R_j): 1 → 1 + c      the m best-keyed fuse with P(r): m → 1      all die at rate λ
//! ```
//!
//! A step is one generation. [`cpu`] says in which order it goes.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params), `choices`, `presets` | what a user can set |
//! | [`task`] | samples, generated or read, and their exact compression |
//! | [`state`], [`start`] | the table, and what it holds at step 0 |
//! | [`draw`] | addresses of random numbers |
//! | [`tunnel`] | the barrier |
//! | [`mixing`] | several fields of phases on the same nuclei |
//! | [`ledger`], [`events`], [`lineage`] | who came and went |
//! | [`cpu`] | a generation, as it is defined |
//! | [`desk`], [`saved`] | what backends share: edits, actions, saved states |
//! | [`measure`], [`probes`], [`fields`] | what is seen of it |
//! | [`predict`] | how much memory it will take |
//! | [`bench`](mod@bench) | how fast it is |

pub mod bench;
mod choices;
pub mod cpu;
pub mod cuda;
pub mod desk;
pub mod draw;
pub mod events;
pub mod fields;
pub mod layout;
pub mod ledger;
pub mod lineage;
pub mod measure;
pub mod mixing;
mod params;
pub mod predict;
mod presets;
pub mod probes;
pub mod real;
pub mod saved;
pub mod start;
pub mod state;
pub mod task;
pub mod tunnel;
pub use choices::*;
pub use params::*;

use crate::{
    gpu::ModuleSpec,
    sim::{
        ActionSpec, BuildContext, Device, DeviceKind, Kind, MemoryByOwner, Preset, ProbeSpec, Progress, RooflineWork,
        SimError, Simulation,
    },
};
use cpu::CpuSim;
use std::sync::Arc;
use task::Setup;

/// The kind.
pub struct NucleiKind;

impl Kind for NucleiKind {
    const TITLE: &'static str = "Nuclei";
    const ABOUT: &'static str = "A population of candidate solutions with coupled phases, after SODA-QD1102 (2025): as \
        phases fall into step, barriers open through which bad nuclei decay into children of good ones and promising ones \
        fuse. Kuramoto oscillators alone, and birth and death alone, are special cases.";
    const NAME: &'static str = "nuclei";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const WORK: &'static [RooflineWork] = probes::WORK;
    const MODULES: &'static [ModuleSpec] = cuda::MODULES;
    const PRESETS: &'static [Preset] = presets::PRESETS;
    type Params = Params;
    type Setup = Setup;

    /// Generations have no duration: it counts in steps.
    fn secs_per_step(_: &Params) -> f64 {
        1.0
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
        task::prepare(params, context, progress)
    }

    fn predict(params: &Params, setup: Option<&Setup>, on: DeviceKind) -> MemoryByOwner {
        match on {
            DeviceKind::Cpu { .. } => predict::cpu(params, setup),
            DeviceKind::Cuda => cuda::predict::predict(params, setup),
        }
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
