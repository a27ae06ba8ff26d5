//! Nuclei simulations on the CPU, from parameters and a seed.

use neuropil::{
    gpu::Pass,
    kinds::nuclei::{Params, cpu::CpuSim, real::Real, task},
    sim::{BuildContext, Progress, Simulation},
};
use std::sync::Arc;

pub fn scene(seed: u64) -> BuildContext {
    BuildContext { seed, ..BuildContext::default() }
}

pub fn cpu<T: Real>(params: &Params, seed: u64, threads: usize) -> CpuSim<T> {
    let setup = task::prepare(params, &scene(seed), &Progress::default()).expect("a task");
    CpuSim::new(params, &scene(seed), Arc::new(setup), threads).expect("it starts")
}

pub fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}
