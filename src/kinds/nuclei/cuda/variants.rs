//! Times all coupling algorithms on the current population.

use super::{
    coupling::{Algorithm, Coupling, CouplingSizes},
    memory::Table,
};
use crate::{
    gpu::{Gpu, GpuError, Pass},
    kinds::nuclei::{params::Params, probes},
    sim::{Buffers as _, MemoryReport},
};
use std::sync::Arc;

/// Algorithms to compare, the reference first.
const ALGORITHMS: [(&str, Algorithm); 4] = [
    (probes::VARIANTS[0], Algorithm::Naive),
    (probes::VARIANTS[1], Algorithm::Tiled),
    (probes::VARIANTS[2], Algorithm::Fast),
    (probes::VARIANTS[3], Algorithm::MeanField),
];

/// Owner of the memory in the memory report.
const OWNER: &str = "algorithms compared";

/// All coupling algorithms with their buffers, allocated when `measure.variants` is switched on.
pub struct Variants {
    couplings: Vec<Coupling>,
    /// Coupling sums of the reference and of one other algorithm, on the host.
    reference: Vec<f32>,
    sums: Vec<f32>,
}

impl Variants {
    /// Allocates the algorithms for the capacity of the population; `None` unless the parameters request the
    /// comparison. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, params: &Params) -> Result<Option<Self>, GpuError> {
        let couplings: Vec<Coupling> =
            sizes(params).map(|sizes| Coupling::allocate(gpu, &sizes)).collect::<Result<_, _>>()?;
        let room = || vec![0.0; 4 * params.population.capacity as usize];
        Ok((!couplings.is_empty()).then(|| Self { couplings, reference: room(), sums: room() }))
    }

    /// Adds the allocated memory to a report.
    pub fn report(&self, to: &mut MemoryReport) {
        self.couplings.iter().for_each(|coupling| add(coupling.held(), to));
        to.host(OWNER, ((self.reference.capacity() + self.sums.capacity()) * size_of::<f32>()) as u64);
    }

    /// Adds the memory that [`Variants::new`] allocates with these parameters.
    pub fn predict(params: &Params, to: &mut MemoryReport) {
        sizes(params).for_each(|sizes| add(Coupling::predict(&sizes), to));
        if params.measure.variants {
            to.host(OWNER, 2 * 4 * u64::from(params.population.capacity) * size_of::<f32>() as u64);
        }
    }

    /// Times each algorithm, including sorting, and compares its sums with the reference. Must be called after the
    /// coupling sums of a generation of `n` nuclei, before its events. Fails if the device fails.
    pub fn time(&mut self, gpu: &Gpu, t: &Table, n: u64, pass: &mut Pass) -> Result<(), GpuError> {
        let len = 4 * n as usize;
        for (at, (coupling, (name, _))) in self.couplings.iter_mut().zip(ALGORITHMS).enumerate() {
            let quiet = &mut Pass::default();
            coupling.build_sites(quiet, &t.population, &t.stats, &t.idx, &t.fields)?;
            pass.device_span(gpu, name, || {
                coupling.order(quiet, &t.population)?;
                coupling.couple(quiet, &t.population, &t.idx)
            })?;
            pass.last_items(n * n);
            let sums = if at == 0 { &mut self.reference } else { &mut self.sums };
            coupling.sums.read_into(0, &mut sums[..len])?;
            let off = if at == 0 { 0.0 } else { error(&self.sums[..len], &self.reference[..len]) };
            pass.off(name, off);
        }
        Ok(())
    }
}

/// Returns the sizes of the algorithms; empty unless the parameters request the comparison.
fn sizes(params: &Params) -> impl Iterator<Item = CouplingSizes> {
    let n_slots = params.population.capacity as usize;
    let algorithms = ALGORITHMS.into_iter().filter(|_| params.measure.variants);
    algorithms.map(move |(_, algorithm)| CouplingSizes { n_slots, algorithm, blocks: None })
}

/// Adds the buffers of an algorithm to a report.
fn add(coupling: MemoryReport, to: &mut MemoryReport) {
    coupling.iter().for_each(|held| to.add(OWNER, held.name, held.place, held.bytes));
}

/// Returns the maximum difference of S and d, relative to the largest d.
fn error(sums: &[f32], reference: &[f32]) -> f64 {
    let off = |(a, b): (&[f32], &[f32])| (0..3).map(|c| (f64::from(a[c]) - f64::from(b[c])).abs()).fold(0.0, f64::max);
    let most = reference.chunks_exact(4).map(|sum| f64::from(sum[2])).fold(f64::MIN_POSITIVE, f64::max);
    sums.chunks_exact(4).zip(reference.chunks_exact(4)).map(off).fold(0.0, f64::max) / most
}
