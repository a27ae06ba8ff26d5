//! Predicted memory of a population.

use super::{
    coupling::CouplingSizes,
    generation::{Pipeline, PipelineSizes},
    kernel_params,
    memory::TableSizes,
    task::TaskSizes,
    variants::Variants,
};
use crate::{
    kinds::nuclei::{lineage::Lineage, mixing, params::Params, predict::task_size, task::Setup},
    sim::{Buffers as _, MemoryReport},
};

/// Returns the memory of [`CudaSim`](super::CudaSim), as reported by its `memory`; empty if the task file has not been read.
/// Assumes a device with tensor cores.
pub fn predict(params: &Params, setup: Option<&Setup>) -> MemoryReport {
    let Some((samples, dim)) = task_size(params, setup) else { return MemoryReport::default() };
    let n_slots = params.population.capacity as usize;
    let mut report = Pipeline::predict(&PipelineSizes {
        table: TableSizes { n_slots, dim, phase_fields: mixing::fields(params) },
        coupling: CouplingSizes { n_slots, algorithm: kernel_params::algorithm(params, None), blocks: None },
        task: TaskSizes::of(params, samples, dim, true),
        tile: None,
    });
    Variants::predict(params, &mut report);
    report.host("slots", 12 * n_slots as u64);
    report.host("recording", Lineage::bytes_of(n_slots));
    report
}
