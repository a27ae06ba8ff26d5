//! Devices that simulations run on, and their descriptions. Devices are opened on the loader thread.

use crate::{
    app::kit::text,
    engine::parity::{self, Parity},
    gpu::{
        self, Gpu, Present,
        ceilings::{self, Ceilings},
    },
    kinds::Model,
    num::digits::counted,
    project::{
        DeviceChoice, RunFolder, RunPlan,
        replay::{ReplayResult, replay_on},
    },
    sim::{BuildContext, Device, DeviceKind, MemoryReport, Progress, SimError, Simulation},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Number of comparisons of all fields when a device is compared with the CPU.
const N_COMPARISONS: u64 = 200;

/// Description of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Short name, for the status bar.
    pub name: String,
    /// Full description, or the reason why this device was chosen.
    pub details: String,
    /// Whether the device is a GPU.
    pub is_gpu: bool,
    /// Ordinal among the GPUs.
    pub ordinal: u32,
    pub threads: u32,
    /// Predicted memory of the simulation by owner; empty if unknown.
    pub predicted: MemoryReport,
    /// Memory of the device, bytes; 0 if unknown.
    pub memory: u64,
}

impl DeviceInfo {
    /// Returns the kind of device.
    pub fn kind(&self) -> DeviceKind {
        if self.is_gpu { DeviceKind::Cuda } else { DeviceKind::Cpu { threads: self.threads.max(1) as usize } }
    }
}

/// Devices of this machine, opened on first use, and the one in use.
pub struct Devices {
    /// Opened GPUs by ordinal, and the errors of GPUs that could not be opened.
    gpus: Mutex<BTreeMap<u32, Result<Arc<Gpu>, String>>>,
    /// GPUs that the driver lists, after the first query.
    present: OnceLock<Vec<Present>>,
    chosen: Mutex<DeviceInfo>,
}

impl Default for Devices {
    fn default() -> Self {
        Self { gpus: Mutex::default(), present: OnceLock::new(), chosen: Mutex::new(cpu(0, "").1) }
    }
}

impl Devices {
    /// Returns the description of the device in use.
    pub fn chosen(&self) -> DeviceInfo {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the status of CUDA on this machine.
    pub fn cuda(&self) -> String {
        let opened = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(ordinal, gpu): (&u32, &Result<Arc<Gpu>, String>)| match gpu {
            Ok(gpu) => format!("cuda:{ordinal} {}", gpu.describe()),
            Err(why) => why.clone(),
        };
        let opened: Vec<String> = opened.iter().map(status).collect();
        let others = self.present().len().saturating_sub(opened.len());
        match (opened.is_empty(), others) {
            (true, _) => "not checked yet".to_owned(),
            (false, 0) => opened.join("; "),
            (false, n) => format!("{}; {n} more", opened.join("; ")),
        }
    }

    /// Returns the GPUs that the driver lists; empty before the first query.
    pub fn present(&self) -> &[Present] {
        self.present.get().map_or(&[], Vec::as_slice)
    }

    /// Returns an opened GPU; `None` if the GPU was not opened or its opening failed.
    fn opened(&self, ordinal: u32) -> Option<Arc<Gpu>> {
        let opened = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        opened.get(&ordinal).and_then(|gpu| gpu.clone().ok())
    }

    /// Opens a GPU, or returns an open one. Fails with the error of the first attempt if the GPU could not be opened.
    fn open(&self, ordinal: u32) -> Result<Arc<Gpu>, String> {
        self.present.get_or_init(|| gpu::present().unwrap_or_default());
        let mut opened = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        opened.entry(ordinal).or_insert_with(|| Gpu::open(ordinal as usize).map_err(|e| e.to_string())).clone()
    }

    fn set_chosen(&self, described: DeviceInfo) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = described;
    }

    /// Opens the device that the run settings request. With `Auto`, the CPU replaces a GPU that is not available. Fails with
    /// `Cuda` if the GPU is not available.
    fn choose(&self, plan: &RunPlan) -> Result<(Device, DeviceInfo), SimError> {
        if plan.device == DeviceChoice::Cpu {
            return Ok(cpu(plan.threads, "Chosen by the project"));
        }
        let usable = self.open(plan.gpu).and_then(|gpu| match gpu.lost() {
            Some(lost) => Err(lost.to_string()),
            None => Ok(gpu),
        });
        match usable {
            Ok(gpu) => {
                let threads = cpu(plan.threads, "").1.threads;
                let memory = gpu.memory().map_or(0, |m| m.total);
                let (name, details, predicted) = (gpu.name.clone(), gpu.describe(), MemoryReport::default());
                let described =
                    DeviceInfo { name, details, is_gpu: true, ordinal: plan.gpu, threads, predicted, memory };
                Ok((Device::Cuda(gpu), described))
            }
            Err(why) if plan.device == DeviceChoice::Cuda => Err(SimError::NoDevice(why)),
            Err(why) => Ok(cpu(plan.threads, &format!("CUDA is not available: {why}"))),
        }
    }

    /// Opens the device for the trials of an experiment, without a change of the device in use. Returns it with its name and number
    /// of CPU threads. Fails as the choice for a simulation does.
    pub fn for_trials(&self, plan: &RunPlan) -> Result<(Device, String, u32), SimError> {
        self.choose(plan).map(|(device, described)| (device, described.name, described.threads))
    }

    /// Compares a run on one CPU thread with a run on the device in use (on the CPU, with at least two threads). Fails if a
    /// simulation fails or the job is cancelled.
    pub fn compare(
        &self,
        model: &Model,
        context: &BuildContext,
        steps: u64,
        progress: &Progress,
    ) -> Result<Parity, SimError> {
        let (subject, name) = self.in_use();
        let (reference, described) = cpu(1, "");
        let prepared = model.prepare(context, progress)?;
        let mut reference = prepared.start(context.seed, &reference)?;
        let mut subject = prepared.start(context.seed, &subject)?;
        let every = (steps / N_COMPARISONS).max(1) as u32;
        let parity = parity::compare(&mut *reference, &mut *subject, (steps, every), progress)?;
        Ok(Parity { names: (described.name, name), ..parity })
    }

    /// Returns the device in use and its name. The CPU gets at least two threads.
    fn in_use(&self) -> (Device, String) {
        let chosen = self.chosen();
        match self.opened(chosen.ordinal) {
            Some(gpu) if chosen.is_gpu => (Device::Cuda(gpu), chosen.name),
            _ => {
                let (device, described) = cpu(chosen.threads.max(2), "");
                (device, described.name)
            }
        }
    }

    /// Replays a recorded run on the device in use and compares the events. A series is compared trial by trial, up to the first
    /// difference. Fails if the run is unreadable, a simulation fails or the job is cancelled.
    pub fn replay(&self, run: &RunFolder, progress: &Progress) -> Result<ReplayResult, SimError> {
        let trials = run.trials().map_err(|e| SimError::Input(e.to_string()))?;
        let mut verdict = ReplayResult::Differs("the run has no trials".into());
        for trial in &trials {
            verdict = self.replay_one(trial, progress)?;
            if let ReplayResult::Differs(_) = verdict {
                break;
            }
        }
        Ok(verdict)
    }

    fn replay_one(&self, run: &RunFolder, progress: &Progress) -> Result<ReplayResult, SimError> {
        let mut project = run.project().map_err(|e| SimError::Input(e.to_string()))?;
        project.seed = run.manifest.setup_seed;
        let prepared = project.model.prepare(&run.build_context(&project), progress)?;
        let (device, name) = self.in_use();
        let mut sim = prepared.start(run.manifest.seed, &device)?;
        replay_on(run, &mut *sim, &name, progress)
    }

    /// Measures the peak performance of the device in use, which takes seconds. Fails if the GPU fails.
    pub fn measure(&self) -> Result<Ceilings, String> {
        let chosen = self.chosen();
        match self.opened(chosen.ordinal) {
            Some(gpu) if chosen.is_gpu => ceilings::measure_gpu(&gpu).map_err(|e| e.to_string()),
            _ => Ok(ceilings::measure_cpu(chosen.threads as usize)),
        }
    }

    /// Prepares the setup and starts the trials of the simulation on the requested device. With `Auto`, a kind without a GPU backend runs
    /// on the CPU. Fails if the device is not available, if the setup or the start fails, or if the job is cancelled.
    pub fn build(
        &self,
        model: &Model,
        context: &BuildContext,
        plan: &RunPlan,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError> {
        let begin = std::time::Instant::now();
        // Opening a GPU takes long, so the host reads and generates the setup concurrently.
        let (prepared, chosen) = std::thread::scope(|scope| {
            let opening = std::thread::Builder::new().name("device".into()).spawn_scoped(scope, || self.choose(plan));
            let prepared = model.prepare(context, progress);
            let panicked = |_| Err(SimError::NoDevice("an internal error stopped opening the device".to_owned()));
            (prepared, opening.map_or_else(|_| self.choose(plan), |opening| opening.join().unwrap_or_else(panicked)))
        });
        let (prepared, (device, described)) = (prepared?, chosen?);
        tracing::debug!("prepared in {:.1?}", begin.elapsed());
        let n = plan.trials;
        let bytes: u64 = prepared.predict_trials(device.kind(), n).total();
        let needs =
            if bytes > 0 { format!("; needs about {}", crate::app::kit::text::bytes(bytes)) } else { String::new() };
        progress.report(&format!("Starting on {}{needs}", described.name), 0.99)?;
        let started = match (prepared.start_series(context.seed, n, &device, progress), &device, plan.device) {
            (Err(SimError::NoDevice(why)), Device::Cuda(_), DeviceChoice::Auto) => {
                let (device, described) = cpu(plan.threads, &why);
                prepared.start_series(context.seed, n, &device, progress).map(|sim| (sim, described))
            }
            (started, ..) => started.map(|sim| (sim, described)),
        };
        let (sim, described) = started?;
        tracing::debug!("built in {:.1?}", begin.elapsed());
        let place =
            if described.is_gpu { DeviceKind::Cuda } else { DeviceKind::Cpu { threads: described.threads as usize } };
        self.set_chosen(DeviceInfo { predicted: prepared.predict_trials(place, n), ..described });
        Ok(sim)
    }
}

/// Returns the CPU with `threads` threads and its description; `why` is the reason for the choice. 0 threads means all
/// cores but one: the window needs one core, or it stutters and delays the simulation.
fn cpu(threads: u32, why: &str) -> (Device, DeviceInfo) {
    let all = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let details = [why.to_owned(), threads_text(threads, all)].into_iter().filter(|part| !part.is_empty());
    let details = details.collect::<Vec<_>>().join(". ");
    let threads = if threads > 0 { threads } else { all.saturating_sub(1).max(1) };
    let name = format!("CPU, {}", counted(threads, "thread", "threads"));
    let described =
        DeviceInfo { name, details, is_gpu: false, ordinal: 0, threads, predicted: MemoryReport::default(), memory: 0 };
    (Device::Cpu { threads: threads as usize }, described)
}

/// Says how many of the processor's `all` threads are used, and why. 0 wanted threads means all but one.
fn threads_text(wanted: u32, all: u32) -> String {
    let of = text::plural(all as usize, "processor thread", "processor threads");
    match wanted {
        0 if all > 1 => format!(
            "Uses {} of {of}: one is left to the window. “CPU threads” in the run settings sets another number",
            all - 1
        ),
        0 => format!("Uses {of}, all of this machine"),
        _ => format!("Uses {wanted} of {of}, the number in the run settings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_details_of_the_processor_say_why_a_thread_is_left_out() {
        assert!(threads_text(0, 2).starts_with("Uses 1 of 2 processor threads: one is left to the window."));
        assert_eq!(threads_text(2, 2), "Uses 2 of 2 processor threads, the number in the run settings");
        assert_eq!(threads_text(0, 1), "Uses 1 processor thread, all of this machine");
        let details = cpu(2, "Chosen by the project").1.details;
        assert!(details.starts_with("Chosen by the project. Uses 2 of "), "{details}");
    }
}
