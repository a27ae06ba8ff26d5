//! Predicted device memory of a population.

use super::{
    couple_kernels::{FastSizes, tiled_partials},
    coupling::Algorithm,
    kernel_params,
    memory::{Scratch, Table},
    mixer::Mixer,
    task::Task,
};
use crate::{
    kinds::nuclei::{Params, TaskSource, mixing, task::Setup},
    sim::MemoryByOwner,
};

/// Memory of [`CudaSim`](super::CudaSim) by owner, as its `memory` reports it; empty when a task file has not been read.
pub fn predict(params: &Params, setup: Option<&Setup>) -> MemoryByOwner {
    let task = &params.task;
    let (samples, dim) = match (setup, task.source) {
        (Some(setup), _) => (setup.problem.as_ref().map_or(0, |p| p.samples()), setup.dim),
        (None, TaskSource::Toy) => (task.n_samples as usize, task.n_inputs as usize),
        (None, TaskSource::Nothing) => (0, task.n_inputs as usize),
        (None, TaskSource::File) => return vec![],
    };
    let n_slots = params.population.capacity as usize;
    let phase_fields = mixing::fields(params);
    let (weights, nuclei) = Table::bytes_of(n_slots, dim, phase_fields);
    vec![
        ("weights", weights),
        ("population", nuclei),
        ("task", Task::bytes_of(params, samples, dim)),
        (
            "coupling",
            coupling(kernel_params::algorithm(params, None), n_slots) + Mixer::bytes_of(phase_fields, n_slots),
        ),
        ("workspace", Scratch::bytes_of(n_slots, dim, phase_fields)),
        ("readings", 0),
        ("slots", 12 * n_slots as u64),
        ("recording", 0),
    ]
}

fn coupling(algorithm: Algorithm, n_slots: usize) -> u64 {
    let own = 32 * n_slots + 40 * n_slots.div_ceil(1024);
    let sizes = FastSizes::new(n_slots as u32);
    let more = match algorithm {
        Algorithm::Tiled => 4 * tiled_partials(n_slots),
        Algorithm::Fast => {
            let words = sizes.orders() + sizes.ranks() + sizes.records() + sizes.offsets();
            4 * words + 48 * sizes.room as usize
        }
        Algorithm::Matrix => 4 * n_slots * n_slots,
        Algorithm::Naive | Algorithm::MeanField => 0,
    };
    (own + more) as u64
}
