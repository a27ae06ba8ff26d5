//! How much memory a population will hold on a GPU, before it is started.

use super::{
    couple::{FastSizes, tiled_partials},
    coupling::Way,
    memory::{Scratch, Table},
    mixer::Mixer,
    rules,
    task::Task,
};
use crate::{
    kinds::nuclei::{Params, Source, mixing, task::Setup},
    sim::MemoryByOwner,
};

/// What [`CudaSim`](super::CudaSim) holds, by the owners of its `memory`; empty when the task has not been read.
pub fn predict(params: &Params, setup: Option<&Setup>) -> MemoryByOwner {
    let task = &params.task;
    let (samples, dim) = match (setup, task.source) {
        (Some(setup), _) => (setup.problem.as_ref().map_or(0, |p| p.samples()), setup.dim),
        (None, Source::Toy) => (task.n_samples as usize, task.n_inputs as usize),
        (None, Source::Nothing) => (0, task.n_inputs as usize),
        (None, Source::File) => return vec![],
    };
    let places = params.population.capacity as usize;
    let waves = mixing::fields(params);
    let (weights, nuclei) = Table::bytes_of(places, dim, waves);
    vec![
        ("weights", weights),
        ("population", nuclei),
        ("task", Task::bytes_of(params, samples, dim)),
        ("coupling", coupling(rules::way(params), places) + Mixer::bytes_of(waves, places)),
        ("working space", Scratch::bytes_of(places, dim, waves)),
        ("places", 12 * places as u64),
        ("measurements", 0),
    ]
}

fn coupling(way: Way, places: usize) -> u64 {
    let own = 32 * places + 40 * places.div_ceil(1024);
    let sizes = FastSizes::new(places as u32);
    let more = match way {
        Way::Tiled => 4 * tiled_partials(places),
        Way::Fast => {
            let words = sizes.orders() + sizes.ranks() + sizes.records() + sizes.offsets();
            4 * words + 48 * sizes.room as usize
        }
        Way::Given => 4 * places * places,
        Way::Naive | Way::MeanField => 0,
    };
    (own + more) as u64
}
