//! Predicted memory of a population.

use super::{
    choices::{CouplingMethod, TaskSource},
    cpu::{coupling::Coupling, phases::Oscillators, turnover::Turnover, variants::Variants},
    events::Events,
    lineage::Lineage,
    mixing,
    params::Params,
    real::Real,
    state::{State, StateSizes},
    task::Setup,
};
use crate::{
    kinds::shared::real::StatePrecision,
    sim::{Buffers as _, MemoryReport},
};

/// Returns the memory of [`CpuSim`](super::cpu::CpuSim) by owner, as reported by its `memory`; empty if the task file has not
/// been read.
pub fn cpu(params: &Params, setup: Option<&Setup>) -> MemoryReport {
    match params.population.precision {
        StatePrecision::F64 => cpu_in::<f64>(params, setup),
        StatePrecision::F32 => cpu_in::<f32>(params, setup),
    }
}

/// Returns the number of samples and of weights in the task; `None` if the task file has not been read.
pub fn task_size(params: &Params, setup: Option<&Setup>) -> Option<(usize, usize)> {
    let task = &params.task;
    match (setup, task.source) {
        (Some(setup), _) => Some((setup.problem.as_ref().map_or(0, |p| p.samples()), setup.dim)),
        (None, TaskSource::Toy) => Some((task.n_samples as usize, task.n_inputs as usize)),
        (None, TaskSource::Nothing) => Some((0, task.n_inputs as usize)),
        (None, TaskSource::File) => None,
    }
}

fn cpu_in<T: Real>(params: &Params, setup: Option<&Setup>) -> MemoryReport {
    let Some((samples, dim)) = task_size(params, setup) else { return MemoryReport::default() };
    let capacity = params.population.capacity as usize;
    let rows = samples + if samples > dim { dim } else { 0 };
    let method = match (params.coupling.method, params.task.source) {
        (CouplingMethod::Auto, TaskSource::Nothing) => CouplingMethod::MeanField,
        (method, _) => method,
    };
    let fields = mixing::fields(params);
    let matrix = if params.coupling.matrix.0.trim().is_empty() { 0 } else { 8 * (capacity * capacity) as u64 };
    let mut report = State::<T>::predict(&StateSizes { capacity, dim, fields });
    report += MemoryReport::from([
        ("task", (rows * (dim + 1) * T::BYTES) as u64 + matrix),
        ("coupling", Coupling::<T>::bytes_of(method, capacity)),
        ("workspace", workspace_bytes::<T>(capacity, dim, fields)),
        ("slots", capacity as u64 * 12),
        ("recording", Lineage::bytes_of(capacity)),
        ("algorithms compared", Variants::<T>::bytes_of(params)),
    ]);
    report
}

/// Returns the workspace of a generation for tables of this size, bytes.
pub const fn workspace_bytes<T: Real>(capacity: usize, dim: usize, fields: usize) -> u64 {
    let lanes = capacity.div_ceil(128) * dim * 9 * T::BYTES;
    let arrays = capacity * 4 * T::BYTES;
    (lanes + arrays) as u64
        + Oscillators::<T>::bytes_of(fields, capacity)
        + Turnover::<T>::bytes_of(capacity)
        + Events::bytes_of(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::nuclei::NucleiKind,
        sim::{BuildContext, Device, DeviceKind, Kind as _, Progress, StartRequest},
    };
    use std::sync::Arc;

    #[test]
    fn prediction_matches_allocated_memory() {
        let mut all = vec![Params::default(), Params::kuramoto(1000), Params::compat()];
        all[2].population.precision = StatePrecision::F64;
        for method in [CouplingMethod::Dense, CouplingMethod::Scan1d, CouplingMethod::Tiled, CouplingMethod::Fast] {
            let mut params = Params::default();
            params.coupling.method = method;
            all.push(params);
        }
        all.push(Params::default());
        all[7].coupling.fields = 3;
        all.push(Params::kuramoto(700));
        all[8].measure.variants = true;
        for params in all {
            let on = DeviceKind::Cpu { threads: 2 };
            let predicted = NucleiKind::predict(&params, None, on);
            let setup = Arc::new(NucleiKind::prepare(&params, &BuildContext::default(), &Progress::default()).unwrap());
            assert_eq!(NucleiKind::predict(&params, Some(&setup), on), predicted);
            let held = NucleiKind::start(StartRequest::new(
                &params,
                &BuildContext::default(),
                setup,
                &Device::Cpu { threads: 2 },
                &Progress::default(),
            ))
            .unwrap()
            .memory();
            for ((owner, a), (real, b)) in predicted.by_owner().iter().zip(&held.by_owner()) {
                assert_eq!(owner, real);
                assert!((*a as f64 - *b as f64).abs() <= 0.2 * *b as f64 + 256.0, "{owner}: {a} for {b}");
            }
        }
    }
}
