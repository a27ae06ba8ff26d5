//! Where simulations run, and what to say about it. Devices are opened on the loader's thread.

use crate::{
    engine::parity::{self, Parity},
    gpu::{
        Gpu,
        ceilings::{self, Ceilings},
    },
    kinds::Model,
    project::{
        DeviceChoice, RunFolder, RunPlan,
        replay::{Verdict, replay},
    },
    sim::{Bytes, Device, Place, Progress, Scene, SimError, Simulation},
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Times a comparison looks at all fields.
const LOOKS: u64 = 200;

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
    /// Memory the simulation was predicted to hold, by owner; empty when that is not known.
    pub predicted: Bytes,
    /// Memory of the device, bytes; 0 when not known.
    pub memory: u64,
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

    /// What is known about CUDA on this machine.
    pub fn cuda(&self) -> String {
        match self.gpu.get() {
            None => "not looked for yet".to_owned(),
            Some(Ok(gpu)) => format!("{}, {}", gpu.name, gpu.describe()),
            Some(Err(why)) => why.clone(),
        }
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
                let memory = gpu.memory().map_or(0, |m| m.total);
                let (name, details, predicted) = (gpu.name.clone(), gpu.describe(), vec![]);
                let described = Described { name, details, is_gpu: true, threads, predicted, memory };
                Ok((Device::Cuda(gpu), described))
            }
            Err(why) if plan.device == DeviceChoice::Cuda => Err(SimError::NoDevice(why)),
            Err(why) => Ok(cpu(plan.threads, &format!("No CUDA: {why}"))),
        }
    }

    /// Runs a model on one CPU thread and on the device in use, and compares. On the CPU, with at least two threads.
    pub fn compare(&self, model: &Model, scene: &Scene, steps: u64, progress: &Progress) -> Result<Parity, SimError> {
        let (subject, name) = self.in_use();
        let (reference, described) = cpu(1, "");
        let prepared = model.prepare(scene, progress)?;
        let mut reference = prepared.start(scene.seed, &reference)?;
        let mut subject = prepared.start(scene.seed, &subject)?;
        let every = (steps / LOOKS).max(1) as u32;
        let parity = parity::compare(&mut *reference, &mut *subject, (steps, every), progress)?;
        Ok(Parity { names: (described.name, name), ..parity })
    }

    /// The device in use, and its name.
    fn in_use(&self) -> (Device, String) {
        let chosen = self.chosen();
        match self.gpu.get() {
            Some(Ok(gpu)) if chosen.is_gpu => (Device::Cuda(gpu.clone()), chosen.name),
            _ => {
                let (device, described) = cpu(chosen.threads.max(2), "");
                (device, described.name)
            }
        }
    }

    /// Runs a recorded run again on the device in use and compares, event by event; a series, trial by trial.
    pub fn replay(&self, run: &RunFolder, progress: &Progress) -> Result<Verdict, SimError> {
        let trials = run.trials().map_err(|e| SimError::Input(e.to_string()))?;
        let mut verdict = Verdict::Differs("there is nothing in it".into());
        for trial in &trials {
            verdict = self.replay_one(trial, progress)?;
            if let Verdict::Differs(_) = verdict {
                break;
            }
        }
        Ok(verdict)
    }

    fn replay_one(&self, run: &RunFolder, progress: &Progress) -> Result<Verdict, SimError> {
        let mut project = run.project().map_err(|e| SimError::Input(e.to_string()))?;
        project.seed = run.manifest.setup_seed;
        let prepared = project.model.prepare(&project.scene(&run.manifest.base), progress)?;
        let mut sim = prepared.start(run.manifest.seed, &self.in_use().0)?;
        replay(run, &mut *sim, progress)
    }

    /// What the device in use can do at best. Takes seconds.
    pub fn measure(&self) -> Result<Ceilings, String> {
        let chosen = self.chosen();
        match self.gpu.get() {
            Some(Ok(gpu)) if chosen.is_gpu => ceilings::measure_gpu(gpu).map_err(|e| e.to_string()),
            _ => Ok(ceilings::measure_cpu(chosen.threads as usize)),
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
        let place = if described.is_gpu { Place::Cuda } else { Place::Cpu { threads: described.threads as usize } };
        self.take(Described { predicted: prepared.predict(place), ..described });
        Ok(sim)
    }
}

/// The CPU with this many threads, and why it is taken. For 0 all cores but one, which is left to the window: on a
/// machine with few cores a simulation that wants them all makes the window stutter and itself wait.
fn cpu(threads: u32, why: &str) -> (Device, Described) {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let threads = if threads > 0 { threads } else { all().saturating_sub(1).max(1) };
    let name = if threads == 1 { "CPU, 1 thread".to_owned() } else { format!("CPU, {threads} threads") };
    let details = why.to_owned();
    let described = Described { name, details, is_gpu: false, threads, predicted: vec![], memory: 0 };
    (Device::Cpu { threads: threads as usize }, described)
}
