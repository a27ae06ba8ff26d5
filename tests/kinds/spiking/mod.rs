//! Spiking networks.

mod cuda;
mod cuda_distribution;
mod cuda_fly;
mod cuda_traces;
mod cuda_trials;
mod device;
mod golden_spiking;
pub mod leaky;
mod non_finite;
pub mod small_network;
mod steps;
#[cfg(target_os = "linux")]
mod thread_count;
