//! Where simulations run, and what to say about it. Devices are opened on the loader's thread.

use crate::{
    gpu::Gpu,
    kinds::Model,
    project::{DeviceChoice, RunPlan},
    sim::{Device, Place, Progress, Scene, SimError, Simulation},
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A device in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// For the status bar.
    pub name: String,
    /// In full, and why it is not another one.
    pub details: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
    /// CPU threads.
    pub threads: u32,
}

impl Described {
    /// What kind of device it is.
    pub fn place(&self) -> Place {
        if self.is_gpu { Place::Cuda } else { Place::Cpu { threads: self.threads.max(1) as usize } }
    }
}

/// The devices of this machine, opened when first wanted, and the one in use.
pub struct Devices {
    gpu: OnceLock<Result<Arc<Gpu>, String>>,
    chosen: Mutex<Described>,
}

impl Default for Devices {
    fn default() -> Self {
        Self { gpu: OnceLock::new(), chosen: Mutex::new(cpu(0, "").1) }
    }
}

impl Devices {
    /// The one in use.
    pub fn chosen(&self) -> Described {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, described: Described) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = described;
    }

    /// The device a plan asks for.
    fn choose(&self, plan: &RunPlan) -> Result<(Device, Described), SimError> {
        if plan.device == DeviceChoice::Cpu {
            return Ok(cpu(plan.threads, "The project asks for the CPU"));
        }
        let opened = self.gpu.get_or_init(|| Gpu::open(0).map_err(|e| e.to_string())).clone();
        let usable = opened.and_then(|gpu| match gpu.lost() {
            Some(lost) => Err(lost.to_string()),
            None => Ok(gpu),
        });
        match usable {
            Ok(gpu) => {
                let threads = cpu(plan.threads, "").1.threads;
                let described = Described { name: gpu.name.clone(), details: gpu.describe(), is_gpu: true, threads };
                Ok((Device::Cuda(gpu), described))
            }
            Err(why) if plan.device == DeviceChoice::Cuda => Err(SimError::NoDevice(why)),
            Err(why) => Ok(cpu(plan.threads, &format!("No CUDA: {why}"))),
        }
    }

    /// The loader's whole job: reads and generates, then starts where the plan asks for. A kind without a GPU backend
    /// runs on the CPU when the plan leaves the choice.
    pub fn build(
        &self,
        model: &Model,
        scene: &Scene,
        plan: &RunPlan,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError> {
        let prepared = model.prepare(scene, progress)?;
        let (device, described) = self.choose(plan)?;
        let bytes: u64 = prepared.predict(device.place()).iter().map(|(_, n)| n).sum();
        let needs = if bytes > 0 { format!("; needs about {}", super::text::bytes(bytes)) } else { String::new() };
        progress.report(&format!("Starting on {}{needs}", described.name), 0.99)?;
        let started = match (prepared.start(scene.seed, &device), &device, plan.device) {
            (Err(SimError::NoDevice(why)), Device::Cuda(_), DeviceChoice::Auto) => {
                let (device, described) = cpu(plan.threads, &why);
                prepared.start(scene.seed, &device).map(|sim| (sim, described))
            }
            (started, ..) => started.map(|sim| (sim, described)),
        };
        let (sim, described) = started?;
        self.take(described);
        Ok(sim)
    }
}

/// The CPU with this many threads, and why it is taken. For 0 all cores but one, which is left to the window: on a
/// machine with few cores a simulation that wants them all makes the window stutter and itself wait.
fn cpu(threads: u32, why: &str) -> (Device, Described) {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let threads = if threads > 0 { threads } else { all().saturating_sub(1).max(1) };
    let name = if threads == 1 { "CPU, 1 thread".to_owned() } else { format!("CPU, {threads} threads") };
    let described = Described { name, details: why.to_owned(), is_gpu: false, threads };
    (Device::Cpu { threads: threads as usize }, described)
}
