//! Parameters as the kernels read them, and what the kernels cannot do.

use super::{coupling::Way, layout::Rules};
use crate::{
    kinds::nuclei::{
        Barrier, ChildBase, Dynamics, FuseKey, Method, Norm, OrderSeen, Params, Precision, Sent, Source, mixing,
        task::Setup,
    },
    sim::SimError,
};

/// Most nuclei that may fuse or decay in one generation: what one block sorts.
pub const MOST_CHOSEN: u32 = 4096;
/// Most weights for which a nucleus can learn: what fits into the shared memory of a block.
const MOST_LEARNING: usize = 512;

/// Whether a model can run here; says what to change when it cannot.
pub fn check(params: &Params, setup: &Setup) -> Result<(), SimError> {
    mixing::check(params)?;
    let refuse = |why: String| Err(SimError::NoDevice(format!("{why}; or run on the CPU")));
    let (population, capacity) = (&params.population, params.population.capacity as usize);
    if population.precision == Precision::F64 {
        return refuse("the GPU computes in single precision: set population.precision to F32".to_owned());
    }
    if matches!(params.coupling.method, Method::Scan1d | Method::Sparse) {
        return refuse("the GPU couples exactly: set coupling.method to Auto".to_owned());
    }
    let most =
        [("population.m_fuse", population.m_fuse as usize), ("k_worst or worst_share", population.k_of(capacity))];
    for (what, count) in most {
        if count.min(capacity) > MOST_CHOSEN as usize {
            return refuse(format!("{what} lets {count} nuclei be chosen, the GPU chooses {MOST_CHOSEN} at most"));
        }
    }
    if params.task.learning_rate > 0.0 && setup.problem.is_some() && setup.dim > MOST_LEARNING {
        return refuse(format!("nuclei of {} weights cannot learn on the GPU, {MOST_LEARNING} can", setup.dim));
    }
    Ok(())
}

/// How sums over all pairs are made.
pub fn way(params: &Params) -> Way {
    let is_given = !params.coupling.matrix.0.trim().is_empty();
    match (params.coupling.method, params.task.source) {
        (Method::Auto, Source::Nothing) | (Method::MeanField, _) => Way::MeanField,
        (Method::Naive, _) => Way::Naive,
        (Method::Dense, _) if is_given => Way::Given,
        (Method::Tiled | Method::Dense, _) => Way::Tiled,
        (Method::Fast, _) => Way::Fast,
        _ => Way::quickest(params.population.capacity),
    }
}

/// For kernels that move phases and decide events.
pub fn rules(params: &Params, seed: u64, dim: usize) -> Rules {
    let (population, tunnelling, phases) = (&params.population, &params.tunnelling, &params.phases);
    Rules {
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
        places: population.capacity,
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
        seen_local: u32::from(tunnelling.seen == OrderSeen::Local),
        square_root: u32::from(tunnelling.barrier == Barrier::SquareRoot),
        norm_by_row: u32::from(phases.norm == Norm::Row),
        as_found: u32::from(phases.dynamics == Dynamics::QkmCompat),
        waves: mixing::fields(params) as u32,
        sends_double: u32::from(params.coupling.sent == Sent::Double),
        coupling: phases.coupling as f32,
        dt: phases.dt as f32,
        omega_scale: phases.omega_scale as f32,
    }
}
