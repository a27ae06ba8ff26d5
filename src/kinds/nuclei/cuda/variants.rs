//! Timing of all coupling algorithms on the current population.

use super::{
    coupling::{Algorithm, Coupling},
    generation::Pipeline,
};
use crate::{
    gpu::{Gpu, GpuError, Pass},
    kinds::nuclei::probes,
};
use std::sync::Arc;

/// Algorithms, the reference first.
const ALGORITHMS: [(&str, Algorithm); 4] = [
    (probes::VARIANTS[0], Algorithm::Naive),
    (probes::VARIANTS[1], Algorithm::Tiled),
    (probes::VARIANTS[2], Algorithm::Fast),
    (probes::VARIANTS[3], Algorithm::MeanField),
];

impl Pipeline {
    /// Times each algorithm, including sorting, on separate buffers and compares it with the first. Call it after the
    /// coupling sums of a generation, before its events.
    pub fn time_variants(&self, gpu: &Arc<Gpu>, n: u64, pass: &mut Pass) -> Result<(), GpuError> {
        let (t, n_slots) = (&self.table, self.table.kernel_params.value().n_slots);
        let mut reference: Option<Vec<f32>> = None;
        for (name, algorithm) in ALGORITHMS {
            let mut coupling = Coupling::new(gpu, n_slots, algorithm, None)?;
            let quiet = &mut Pass::default();
            coupling.build_sites(quiet, &t.population, &t.stats, &t.idx, &t.fields)?;
            pass.device_span(gpu, name, || {
                coupling.order(quiet, &t.population)?;
                coupling.couple(quiet, &t.population, &t.idx)
            })?;
            pass.last_items(n * n);
            let sums = coupling.sums.read_range(0..4 * n as usize)?;
            let reference = reference.get_or_insert_with(|| sums.clone());
            pass.off(name, error(&sums, reference));
        }
        Ok(())
    }
}

/// Largest difference of S and d, relative to the largest d.
fn error(sums: &[f32], reference: &[f32]) -> f64 {
    let off = |(a, b): (&[f32], &[f32])| (0..3).map(|c| (f64::from(a[c]) - f64::from(b[c])).abs()).fold(0.0, f64::max);
    let most = reference.chunks_exact(4).map(|sum| f64::from(sum[2])).fold(f64::MIN_POSITIVE, f64::max);
    sums.chunks_exact(4).zip(reference.chunks_exact(4)).map(off).fold(0.0, f64::max) / most
}
