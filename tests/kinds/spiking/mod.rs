//! Spiking networks.

mod cuda;
mod cuda_distribution;
mod cuda_fly;
mod cuda_traces;
mod cuda_trials;
mod device;
mod digits;
mod golden_spiking;
pub mod leaky;
mod non_finite;
mod plastic_projects;
mod plasticity;
mod plasticity_cuda;
mod plasticity_live;
mod plasticity_readings;
mod plasticity_weights;
mod reward;
mod rules;
pub mod small_network;
mod steps;
#[cfg(target_os = "linux")]
mod thread_count;

use neuropil::{gpu::Pass, sim::Simulation};

/// The digest after that many steps in such batches, some of which are measured.
fn digest_of(sim: &mut dyn Simulation, steps: u32, batch: u32) -> String {
    let mut left = steps;
    while left > 0 {
        let now = batch.min(left);
        let mut pass = if left.is_multiple_of(3) { Pass::measuring() } else { Pass::default() };
        sim.advance(now, &mut pass).expect("it runs");
        left -= now;
    }
    format!("{:?}", sim.digest(0))
}
