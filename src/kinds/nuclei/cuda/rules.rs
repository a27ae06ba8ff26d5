//! Parameters as the kernels read them.

use super::{
    coupling::Way,
    layout::{Equations, Rules},
};
use crate::{
    gpu::{Buf, Gpu, GpuError},
    kinds::nuclei::{
        Answer, Barrier, ChildBase, Dynamics, FitnessMethod, FuseKey, Method, Norm, OrderSeen, Params, Precision,
        Source, Storage, task::Setup,
    },
    sim::SimError,
};
use std::sync::Arc;

/// Most nuclei that may fuse or decay in one generation: what one block sorts.
pub const MOST_CHOSEN: u32 = 4096;
/// Most weights for which a nucleus can learn: what fits into the shared memory of a block.
const MOST_LEARNING: usize = 512;

/// Whether a model can run here; says what to change when it cannot.
pub fn check(params: &Params, setup: &Setup) -> Result<(), SimError> {
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
    match (params.coupling.method, params.task.source) {
        (Method::Auto, Source::Nothing) | (Method::MeanField, _) => Way::MeanField,
        (Method::Naive, _) => Way::Naive,
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
        coupling: phases.coupling as f32,
        dt: phases.dt as f32,
        omega_scale: phases.omega_scale as f32,
    }
}

/// The task on the device: one of its two forms.
pub struct Task {
    /// What kind of equations.
    pub of: Buf<Equations>,
    /// [columns × rows] inputs.
    pub x: Buf<f32>,
    /// [rows] targets.
    pub y: Buf<f32>,
}

impl Task {
    /// As the parameters want it; none when all nuclei are alike.
    pub fn new(gpu: &Arc<Gpu>, params: &Params, setup: &Setup) -> Result<Option<Self>, GpuError> {
        let Some(problem) = &setup.problem else { return Ok(None) };
        let task = &params.task;
        let can = task.answer == Answer::Linear && task.method != FitnessMethod::Direct;
        let compressed = setup.compressed.as_ref().filter(|_| can);
        let (x, y) = compressed.map_or((&problem.x, &problem.y), |c| (&c.r, &c.z));
        let (rows, columns) = (y.len().next_multiple_of(32), setup.dim.next_multiple_of(16));
        let mut turned = vec![0.0; rows * columns];
        for (b, row) in x.chunks_exact(setup.dim).enumerate() {
            row.iter().enumerate().for_each(|(c, x)| turned[c * rows + b] = *x as f32);
        }
        let mut targets: Vec<f32> = y.iter().map(|y| *y as f32).collect();
        targets.resize(rows, 0.0);
        let of = Equations {
            rest: compressed.map_or(0.0, |c| c.rest),
            samples: problem.samples() as f64,
            rows: rows as u32,
            columns: columns as u32,
            inputs: setup.dim as u32,
            stride: setup.dim.next_multiple_of(4) as u32,
            places: params.population.capacity,
            triangular: u32::from(compressed.is_some()),
            saturating: u32::from(task.answer == Answer::Saturating),
            storage: match task.storage {
                Storage::Full => 0,
                Storage::F16 => 1,
                Storage::Bf16 => 2,
            },
            step: (2.0 * task.learning_rate / problem.samples() as f64) as f32,
            pad: 0,
        };
        Ok(Some(Self {
            of: Buf::from_slice(gpu, "task", &[of])?,
            x: Buf::from_slice(gpu, "inputs", &turned)?,
            y: Buf::from_slice(gpu, "targets", &targets)?,
        }))
    }

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        self.of.bytes() + self.x.bytes() + self.y.bytes()
    }
}
