//! A nuclei simulation allocates no memory after its start.

use super::cuda::runs;
use crate::device::gpu_alone;
use neuropil::{
    gpu::Pass,
    kinds::nuclei::{CouplingMethod, NucleiKind, Params, cpu::CpuSim, cuda::Tuning, probes, task},
    params::{Params as _, path},
    sim::{BuildContext, DeviceKind, Effect, Kind, Progress, Simulation},
};
use neuropil_test_support::allocator::{bytes, calls};
use std::sync::Arc;

#[test]
fn generations_allocate_no_memory() {
    let methods = [
        CouplingMethod::Auto,
        CouplingMethod::Tiled,
        CouplingMethod::Scan1d,
        CouplingMethod::Sparse,
        CouplingMethod::MeanField,
        CouplingMethod::Dense,
    ];
    for (method, fields) in methods.into_iter().map(|method| (method, 1)).chain([(CouplingMethod::Auto, 3)]) {
        let mut params = Params::default();
        (params.coupling.method, params.coupling.fields) = (method, fields);
        (params.population.capacity, params.population.death_rate) = (360, 0.05);
        (params.population.worst_share, params.tunnelling.hbar) = (0.05, 2.0);
        let scene = BuildContext { seed: 2, ..BuildContext::default() };
        let setup = Arc::new(task::prepare(&params, &scene, &Progress::default()).expect("a task"));
        let mut sim = CpuSim::<f32>::new(&params, &scene, setup, 1).expect("it starts");
        let mut pass = Pass::default();
        let before = calls();
        sim.advance(60, &mut pass).expect("it runs");
        let asked = calls() - before;
        let ledger = sim.host().ledger;
        assert!(ledger.n_decay > 100 && ledger.n_died > 100 && ledger.n() > 300, "{ledger:?}");
        assert_eq!(asked, 0, "{method:?} with {fields} fields allocated memory {asked} times");
    }
}

/// Comparing the algorithms allocates when it is switched on, as predicted, not in every profiled batch.
#[test]
fn comparing_algorithms_allocates_no_memory_while_running() {
    let mut params = Params::default();
    params.population.capacity = 600;
    let scene = BuildContext { seed: 2, ..BuildContext::default() };
    let start = |params: &Params| {
        let setup = Arc::new(task::prepare(params, &scene, &Progress::default()).expect("a task"));
        CpuSim::<f32>::new(params, &scene, setup, 1).expect("it starts")
    };
    let mut later = start(&params);
    let change = path::parse(&params, "measure.variants=true").expect("a path");
    assert!(matches!(later.set(&change), Ok(Effect::Applied)));
    assert!(params.set(&change));
    for mut sim in [start(&params), later] {
        let mut pass = Pass::measuring();
        sim.advance(20, &mut pass).expect("it runs"); // the rows of the kernel table are named once
        let held = sim.memory();
        let before = bytes();
        sim.advance(20, &mut pass).expect("it runs");
        // Times of the kernel table are sorted into buckets that grow with their number.
        assert!(bytes() - before < 8192, "allocated {} bytes while running", bytes() - before);
        assert_eq!(sim.memory(), held);
        let owned = held.by_owner().into_iter().find(|(owner, _)| *owner == "algorithms compared");
        assert!(owned.is_some_and(|(_, bytes)| bytes > 600 * 600 * 4), "{held:?}");
    }
}

/// The same on a GPU.
#[test]
fn cuda_comparing_algorithms_allocates_no_memory_while_running() {
    let Some(gpu) = gpu_alone() else { return };
    let mut params = runs::lively();
    let mut later = runs::start(&params, &gpu, Tuning::default());
    let change = path::parse(&params, "measure.variants=true").expect("a path");
    assert!(matches!(later.set(&change), Ok(Effect::Applied)) && params.set(&change));
    let predicted = NucleiKind::predict(&params, None, DeviceKind::Cuda);
    for mut sim in [runs::start(&params, &gpu, Tuning::default()), later] {
        assert_eq!(sim.memory(), predicted);
        let mut pass = Pass::measuring();
        sim.advance(20, &mut pass).expect("it runs"); // the rows of the kernel table are named once
        let (before, host) = (gpu.allocations(), bytes());
        sim.advance(1, &mut pass).expect("it runs");
        let host = bytes() - host;
        assert_eq!(gpu.allocations(), before, "device memory was allocated");
        assert!(host < 65_536, "{host} B were allocated");
        for name in probes::VARIANTS.iter().take(4) {
            let row = pass.timings.iter().find(|row| row.name == *name).expect("it is timed");
            assert!(row.nanos > 0 && row.off.is_some_and(|off| off.is_finite()), "{name}");
        }
    }
}
