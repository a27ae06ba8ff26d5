//! How much memory a population will hold, before it is started.

use super::{
    Method, Params, Precision, Source,
    cpu::{coupling::Coupling, phases::Waves, turnover::Turnover},
    events::Events,
    mixing,
    real::Real,
    state::State,
    task::Setup,
};
use crate::sim::MemoryByOwner;

/// What [`CpuSim`](super::cpu::CpuSim) holds, by the owners of its `memory`; empty when the task has not been read.
pub fn cpu(params: &Params, setup: Option<&Setup>) -> MemoryByOwner {
    match params.population.precision {
        Precision::F64 => cpu_in::<f64>(params, setup),
        Precision::F32 => cpu_in::<f32>(params, setup),
    }
}

fn cpu_in<T: Real>(params: &Params, setup: Option<&Setup>) -> MemoryByOwner {
    let task = &params.task;
    let (samples, dim) = match (setup, task.source) {
        (Some(setup), _) => (setup.problem.as_ref().map_or(0, |p| p.samples()), setup.dim),
        (None, Source::Toy) => (task.n_samples as usize, task.n_inputs as usize),
        (None, Source::Nothing) => (0, task.n_inputs as usize),
        (None, Source::File) => return vec![],
    };
    let capacity = params.population.capacity as usize;
    let rows = samples + if samples > dim { dim } else { 0 };
    let method = match (params.coupling.method, task.source) {
        (Method::Auto, Source::Nothing) => Method::MeanField,
        (method, _) => method,
    };
    let fields = mixing::fields(params);
    let (weights, rest) = State::<T>::bytes_of(capacity, dim, fields);
    let given = if params.coupling.matrix.0.trim().is_empty() { 0 } else { 8 * (capacity * capacity) as u64 };
    vec![
        ("weights", weights),
        ("nuclei", rest),
        ("task", (rows * (dim + 1) * T::BYTES) as u64 + given),
        ("coupling", Coupling::<T>::bytes_of(method, capacity)),
        ("working space", working_space::<T>(capacity, dim, fields)),
        ("places", capacity as u64 * 12),
        ("measurements", 0),
    ]
}

/// Arrays over the living, and what selection and events need, for tables of that size.
pub const fn working_space<T: Real>(capacity: usize, dim: usize, fields: usize) -> u64 {
    let lanes = capacity.div_ceil(128) * dim * 9 * T::BYTES;
    let arrays = capacity * 4 * T::BYTES;
    (lanes + arrays) as u64
        + Waves::<T>::bytes_of(fields, capacity)
        + Turnover::<T>::bytes_of(capacity)
        + Events::bytes_of(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::nuclei::NucleiKind,
        sim::{BuildContext, Device, DeviceKind, Kind as _, Progress},
    };
    use std::sync::Arc;

    #[test]
    fn what_is_predicted_is_held() {
        let mut all = vec![Params::default(), Params::kuramoto(1000), Params::compat()];
        all[2].population.precision = Precision::F64;
        for method in [Method::Dense, Method::Scan1d, Method::Tiled, Method::Fast] {
            let mut params = Params::default();
            params.coupling.method = method;
            all.push(params);
        }
        all.push(Params::default());
        all[7].coupling.fields = 3;
        for params in all {
            let on = DeviceKind::Cpu { threads: 2 };
            let told = NucleiKind::predict(&params, None, on);
            let setup = Arc::new(NucleiKind::prepare(&params, &BuildContext::default(), &Progress::default()).unwrap());
            assert_eq!(NucleiKind::predict(&params, Some(&setup), on), told);
            let held = NucleiKind::start(&params, &BuildContext::default(), setup, &Device::Cpu { threads: 2 })
                .unwrap()
                .memory();
            for ((owner, a), (real, b)) in told.iter().zip(&held) {
                assert_eq!(owner, real);
                assert!((*a as f64 - *b as f64).abs() <= 0.2 * *b as f64 + 256.0, "{owner}: {a} for {b}");
            }
        }
    }
}
