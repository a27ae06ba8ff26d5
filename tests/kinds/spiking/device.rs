//! What tests on a GPU share.

use neuropil::{
    gpu::{Gpu, Pass},
    kinds::spiking::{
        Effect, Intervention, NeuronModel, Params, Source, SpikingKind,
        constants::Real,
        cpu::CpuSim,
        cuda::{CudaSim, PersistentMode, Tuning},
        setup::Setup,
    },
    sim::{BuildContext, Kind, Progress, Simulation},
};
use neuropil_test_support::{Need, skip};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub fn scene() -> BuildContext {
    BuildContext { seed: 3, ..BuildContext::default() }
}

pub fn cpu<T: Real>(params: &Params, setup: &Arc<Setup>) -> CpuSim<T> {
    CpuSim::new(params, &scene(), setup.clone(), 2).expect("it starts")
}

/// With NEUROPIL_RESIDENCE=off in two launches per window, with a number in that many blocks.
pub fn cuda<T: Real>(params: &Params, setup: &Arc<Setup>, gpu: &Arc<Gpu>) -> CudaSim<T> {
    let persistent = match std::env::var("NEUROPIL_RESIDENCE").as_deref() {
        Ok("off") => PersistentMode::Off,
        Ok(blocks) => PersistentMode::Blocks(blocks.parse().expect("a number of blocks")),
        Err(_) => PersistentMode::Auto,
    };
    let tuning = Tuning { persistent, ..Tuning::default() };
    CudaSim::tuned(params, &scene(), setup.clone(), gpu, tuning).expect("it starts on the GPU")
}

pub fn advance(sim: &mut dyn Simulation, steps: u32, batch: u32) -> String {
    let mut left = steps;
    while left > 0 {
        let now = batch.min(left);
        let mut pass = if left.is_multiple_of(3) { Pass::measuring() } else { Pass::default() };
        sim.advance(now, &mut pass).expect("it runs");
        left -= now;
    }
    format!("{:?}", sim.digest(0))
}

pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let found = std::env::var_os("NEUROPIL_SHARED").map_or(beside, PathBuf::from);
    if !found.join("data").exists() {
        skip(Need::Golden, "no ../shared: the big networks were not run");
        return None;
    }
    Some(found)
}

/// The networks of the benchmarks, read once.
pub fn fly(shared: &Path) -> Arc<Setup> {
    let mut params = Params::default();
    params.network.source = Source::Files;
    params.network.path = shared.join("data/fly_standin").display().to_string().into();
    Arc::new(SpikingKind::prepare(&params, &BuildContext::default(), &Progress::default()).expect("the network"))
}

/// A network of the references with its listed kicks.
pub fn kicked(shared: &Path, folder: &str) -> (Params, Arc<Setup>) {
    let folder = shared.join("data").join(folder);
    let mut params = Params::default();
    params.network.source = Source::Files;
    params.network.path = folder.display().to_string().into();
    params.stimulus.kicks = folder.join("kicks_A.csv").display().to_string().into();
    let setup = SpikingKind::prepare(&params, &BuildContext::default(), &Progress::default()).expect("the network");
    (params, Arc::new(setup))
}

pub fn drive(shared: &Path, case: &str) -> Params {
    let mut params = Params::default();
    if case == "fastfly" {
        params.network.model = NeuronModel::NoisyLeaky; // its noise is part of the model
        return params;
    }
    let list = |name: &str| format!("file = '{}'", shared.join(format!("data/fly_standin/stim_{name}.csv")).display());
    params.interventions.push(match case {
        "broad10" => Intervention {
            rate_hz: 200.0,
            weight_mv: 1.0,
            effect: Effect::Noise,
            target: "all".into(),
            ..Intervention::default()
        },
        name => Intervention { target: list(name).into(), ..Intervention::default() },
    });
    params
}
