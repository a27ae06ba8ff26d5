//! Parameters as read by the kernels, and the limits of the kernels.

use super::{coupling::Algorithm, layout::KernelParams};
use crate::{
    kinds::{
        nuclei::{
            choices::{
                Barrier, ChildBase, CouplingMethod, CouplingNorm, Dynamics, FuseKey, OrderUsed, SentPhase, TaskSource,
            },
            mixing,
            params::Params,
            task::Setup,
        },
        shared::real::StatePrecision,
    },
    num::digits::{counted, group_digits},
    sim::SimError,
};

/// Maximum number of nuclei selected for fusion or decay in one generation: one block sorts them.
pub const MAX_SELECTED: u32 = 4096;
/// Maximum number of weights of a nucleus with a gradient step, limited by the shared memory of a block.
pub const MAX_LEARNING: usize = 512;

/// Returns an error if the kernels do not support the parameters.
pub fn check(params: &Params, setup: &Setup) -> Result<(), SimError> {
    mixing::check(params)?;
    let refuse = |why: String| Err(SimError::NoDevice(format!("{why}; or run on the CPU")));
    let (population, capacity) = (&params.population, params.population.capacity as usize);
    if population.precision == StatePrecision::F64 {
        return refuse("the GPU backend uses single precision: set population.precision to F32".to_owned());
    }
    if matches!(params.coupling.method, CouplingMethod::Scan1d | CouplingMethod::Sparse) {
        return refuse("the GPU backend has exact coupling algorithms only: set coupling.method to Auto".to_owned());
    }
    let most =
        [("population.m_fuse", population.m_fuse as usize), ("k_worst or worst_share", population.k_of(capacity))];
    for (what, count) in most {
        if count.min(capacity) > MAX_SELECTED as usize {
            return refuse(format!(
                "{what} selects {}; the GPU backend selects at most {}",
                counted(count, "nucleus", "nuclei"),
                group_digits(MAX_SELECTED.into())
            ));
        }
    }
    if params.task.learning_rate > 0.0 && setup.problem.is_some() && setup.dim > MAX_LEARNING {
        return refuse(format!(
            "nuclei have {} weights; the GPU backend supports task.learning_rate for at most {MAX_LEARNING}",
            setup.dim
        ));
    }
    Ok(())
}

/// Returns the coupling algorithm of the parameters; `preferred` if they do not select one.
pub fn algorithm(params: &Params, preferred: Option<Algorithm>) -> Algorithm {
    let has_matrix = !params.coupling.matrix.0.trim().is_empty();
    match (params.coupling.method, params.task.source) {
        (CouplingMethod::Auto, TaskSource::Nothing) | (CouplingMethod::MeanField, _) => Algorithm::MeanField,
        (CouplingMethod::Naive, _) => Algorithm::Naive,
        (CouplingMethod::Dense, _) if has_matrix => Algorithm::Matrix,
        (CouplingMethod::Tiled | CouplingMethod::Dense, _) => Algorithm::Tiled,
        (CouplingMethod::Fast, _) => Algorithm::Fast,
        _ => preferred.unwrap_or(Algorithm::fastest(params.population.capacity)),
    }
}

/// Returns the parameters as read by the kernels.
pub fn kernel_params(params: &Params, seed: u64, dim: usize) -> KernelParams {
    let (population, tunnelling, phases) = (&params.population, &params.tunnelling, &params.phases);
    KernelParams {
        seed,
        worst_share: population.worst_share,
        sigma: population.sigma,
        p_death: population.p_death(),
        attempts: population.attempts_per_step,
        r_threshold: tunnelling.r_threshold,
        prefactor: tunnelling.prefactor,
        hbar: tunnelling.hbar,
        width: tunnelling.width,
        mass: tunnelling.mass,
        noise: (2.0 * phases.noise * phases.dt).sqrt(),
        n_slots: population.capacity,
        dim: dim as u32,
        stride: dim.next_multiple_of(4) as u32,
        k_worst: population.k_worst,
        m_fuse: population.m_fuse,
        c_new: population.c_new,
        n_min: population.n_min,
        fuse_key: match population.fuse_key {
            FuseKey::Hybrid => 0,
            FuseKey::Entropy => 1,
            FuseKey::Fitness => 2,
        },
        child_base: match population.child_base {
            ChildBase::Best => 0,
            ChildBase::Fused => 1,
            ChildBase::Parent => 2,
        },
        uses_local_order: u32::from(tunnelling.seen == OrderUsed::Local),
        square_root: u32::from(tunnelling.barrier == Barrier::SquareRoot),
        norm_by_row: u32::from(phases.norm == CouplingNorm::Row),
        compat_map: u32::from(phases.dynamics == Dynamics::QkmCompat),
        phase_fields: mixing::fields(params) as u32,
        sends_double: u32::from(params.coupling.sent == SentPhase::Double),
        coupling: phases.coupling as f32,
        dt: phases.dt as f32,
        omega_scale: phases.omega_scale as f32,
    }
}
