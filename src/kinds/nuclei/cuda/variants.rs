//! All ways to compute the coupling, side by side on the population as it is.

use super::{
    coupling::{Coupling, Way},
    generation::Machine,
};
use crate::{
    gpu::{Gpu, GpuError, Pass},
    kinds::nuclei::probes,
};
use std::sync::Arc;

/// Ways, the reference first.
const WAYS: [(&str, Way); 4] = [
    (probes::VARIANTS[0], Way::Naive),
    (probes::VARIANTS[1], Way::Tiled),
    (probes::VARIANTS[2], Way::Fast),
    (probes::VARIANTS[3], Way::MeanField),
];

impl Machine {
    /// Times each, sorting and all, on buffers of its own, and says how far it is from the first. To be called when the
    /// sums of a generation are made, before its events.
    pub fn time_variants(&self, gpu: &Arc<Gpu>, n: u64, pass: &mut Pass) -> Result<(), GpuError> {
        let (t, places) = (&self.table, self.table.rules.value().places);
        let mut reference: Option<Vec<f32>> = None;
        for (name, way) in WAYS {
            let mut coupling = Coupling::new(gpu, places, way, None)?;
            let quiet = &mut Pass::default();
            coupling.place(quiet, &t.census, &t.climate, &t.idx, &t.fields)?;
            pass.device_span(gpu, name, || {
                coupling.order(quiet, &t.census)?;
                coupling.couple(quiet, &t.census, &t.idx)
            })?;
            pass.last_items(n * n);
            let sums = coupling.sums.read_range(0..4 * n as usize)?;
            let reference = reference.get_or_insert_with(|| sums.clone());
            pass.off(name, error(&sums, reference));
        }
        Ok(())
    }
}

/// Largest difference of S and d over the largest d.
fn error(sums: &[f32], reference: &[f32]) -> f64 {
    let off = |(a, b): (&[f32], &[f32])| (0..3).map(|c| (f64::from(a[c]) - f64::from(b[c])).abs()).fold(0.0, f64::max);
    let most = reference.chunks_exact(4).map(|sum| f64::from(sum[2])).fold(f64::MIN_POSITIVE, f64::max);
    sums.chunks_exact(4).zip(reference.chunks_exact(4)).map(off).fold(0.0, f64::max) / most
}
