//! The contract of a simulation kind, and what it is built with.

use super::{
    ActionSpec, Bench, Exactness, Example, KernelChoices, MemoryReport, ProbeId, ProbeSpec, RequestSpec, SimError,
    Simulation, StepCount, Tap, TimeBase,
};
use crate::{
    gpu::{Gpu, ModuleSpec},
    params::ParamWarning,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

/// The device a simulation runs on.
#[derive(Clone)]
pub enum Device {
    /// The reference backend, with this many threads.
    Cpu {
        /// At least 1.
        threads: usize,
    },
    /// The CUDA backend.
    Cuda(Arc<Gpu>),
}

/// The kind of a device, without its handle: enough to predict memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The CPU, with this many threads.
    Cpu {
        /// At least 1.
        threads: usize,
    },
    /// A GPU.
    Cuda,
}

impl Device {
    /// The kind of this device.
    pub const fn kind(&self) -> DeviceKind {
        match self {
            Self::Cpu { threads } => DeviceKind::Cpu { threads: *threads },
            Self::Cuda(_) => DeviceKind::Cuda,
        }
    }
}

/// What a simulation is built with beside the kind's parameters: the project's folder and seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildContext {
    /// Folder that relative paths start from.
    pub base: PathBuf,
    /// Random seed of every draw.
    pub seed: u64,
    /// Whether a model is built even if its predicted memory exceeds what is available.
    pub ignores_memory: bool,
    /// Implementations to choose where possible: those of a recording that is repeated.
    pub kernels: KernelChoices,
    /// The program's cache folder, for what is measured once per device.
    pub cache: Option<PathBuf>,
}

impl BuildContext {
    /// Resolves a path as typed: relative to the project's folder when the file exists there, else to the working
    /// directory.
    pub fn resolve(&self, typed: &str) -> PathBuf {
        let path = Path::new(typed);
        let beside = self.base.join(path);
        if path.is_absolute() || !beside.exists() { path.to_owned() } else { beside }
    }
}

/// Progress and cancellation of a long job. Shared between the job and its observers.
#[derive(Default)]
pub struct Progress {
    fraction_bits: AtomicU32,
    cancelled: AtomicBool,
    reports: AtomicU32,
    /// The report that cancels the job, counted from 1; 0: none.
    cancels_at: u32,
    stage: Mutex<String>,
}

impl Progress {
    /// Reports progress; `Err(Cancelled)` once the job is cancelled. Call at least every 50 ms.
    pub fn report(&self, stage: &str, fraction: f32) -> Result<(), SimError> {
        self.fraction_bits.store(fraction.to_bits(), Ordering::Relaxed);
        let mut current = self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *current != stage {
            stage.clone_into(&mut current);
        }
        if self.reports.fetch_add(1, Ordering::Relaxed) + 1 == self.cancels_at {
            self.cancel();
        }
        if self.cancelled.load(Ordering::Relaxed) { Err(SimError::Cancelled) } else { Ok(()) }
    }

    /// Of a job that is cancelled at its n-th report, counted from 1: for tests.
    pub fn cancelled_at(report: u32) -> Self {
        Self { cancels_at: report, ..Self::default() }
    }

    /// Reports so far.
    pub fn reports(&self) -> u32 {
        self.reports.load(Ordering::Relaxed)
    }

    /// Cancels the job: its next report fails.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the job is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The current stage and the fraction done, 0 to 1.
    pub fn now(&self) -> (String, f32) {
        let stage = self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        (stage, f32::from_bits(self.fraction_bits.load(Ordering::Relaxed)))
    }
}

/// A named set of parameter values with its citation.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name in the menu.
    pub name: &'static str,
    /// What the preset models, as a sentence.
    pub docs: &'static str,
    /// Citation.
    pub source: &'static str,
    /// The parameters it sets, in the syntax of `--set`; others keep their values.
    pub set: &'static [&'static str],
}

/// A reference value of a timing row: a line in its bar, at a share of the time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareLevel {
    /// Name of the row: a span or a kernel.
    pub row: &'static str,
    /// Label: `goal`, `limit`.
    pub name: &'static str,
    /// The share, 0 to 1.
    pub share: f64,
}

/// The least work per item of a timing row, for the roofline: no implementation can do less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RooflineWork {
    /// Name of the timing row.
    pub row: &'static str,
    /// Bytes read and written.
    pub bytes: f64,
    /// Arithmetic operations; a fused multiply-add is two.
    pub ops: f64,
    /// The setting that makes the row appear; empty when it always does.
    pub when: &'static str,
}

/// A simulation kind, as listed by [`kinds!`](crate::kinds).
pub trait Kind {
    /// Name in menus.
    const TITLE: &'static str;
    /// One paragraph: what it models, with references.
    const ABOUT: &'static str;
    /// A page on its mechanisms and on what was measured, in the markup of help texts; empty: none.
    const HELP: &'static str = "";
    /// Stable lower-case name, for the command line and golden folders.
    const NAME: &'static str;
    /// Probes of its simulations.
    const PROBES: &'static [ProbeSpec];
    /// Actions on its simulations.
    const ACTIONS: &'static [ActionSpec];
    /// Requests to its simulations.
    const REQUESTS: &'static [RequestSpec] = &[];
    /// How exactly its data and its digest are repeated.
    const EXACTNESS: Exactness = Exactness::AnyBackend;
    /// Probes whose data are repeated in another way: `EXACT_PROBES` of [`probes!`](crate::probes!).
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = &[];
    /// Rows of its CPU timings: name, tooltip. Rows of kernels come from [`Kind::MODULES`].
    const SPANS: &'static [(&'static str, &'static str)];
    /// Bytes and operations per work item of its timing rows, for the roofline. Rows whose work depends on parameters
    /// are left out.
    const WORK: &'static [RooflineWork] = &[];
    /// Reference values of the share of timing rows in a step.
    const SHARE_LEVELS: &'static [ShareLevel] = &[];
    /// Its CUDA modules.
    const MODULES: &'static [ModuleSpec];
    /// Parameter presets.
    const PRESETS: &'static [Preset];
    /// File of a new project; empty: the defaults.
    const TEMPLATE: &'static str = "";
    /// Its example projects.
    const EXAMPLES: &'static [Example] = &[];
    /// Its benchmark.
    const BENCH: Option<Bench> = None;
    /// Whether a recording ends with a checkpoint unless the project says otherwise: yes where the state is the result.
    const KEEPS_FINAL_STATE: bool = false;
    /// Its parameters, as stored in the project file.
    type Params: crate::params::Params + Default + Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned;
    /// What is built from the parameters on the host: connectivity, weights, tokens. Large, immutable, shared.
    type Setup: Send + Sync;
    /// What a step is.
    fn time_base(params: &Self::Params) -> TimeBase;
    /// What a step does, in numbers that follow from the parameters: tokens, operations, bytes.
    fn counts(params: &Self::Params) -> Vec<StepCount> {
        let _ = params;
        vec![]
    }
    /// Reads or generates the setup. Runs on the loader thread.
    fn prepare(params: &Self::Params, context: &BuildContext, progress: &Progress) -> Result<Self::Setup, SimError>;
    /// Notices about the input of the setup, one sentence each; part of [`Simulation::notices`].
    fn notices(setup: &Self::Setup) -> Vec<String> {
        let _ = setup;
        vec![]
    }
    /// Predicts the memory of a started simulation by buffer, as in [`Simulation::memory`]. Without a setup, from the
    /// parameters alone. Empty when unknown.
    fn predict(params: &Self::Params, setup: Option<&Self::Setup>, on: DeviceKind) -> MemoryReport {
        let _ = (params, setup, on);
        MemoryReport::default()
    }
    /// Memory needed on the host while preparing, besides the prediction.
    fn scratch(params: &Self::Params) -> MemoryReport {
        let _ = params;
        MemoryReport::default()
    }
    /// Warnings about values that are valid but unusual.
    fn warnings(params: &Self::Params) -> Vec<ParamWarning> {
        let _ = params;
        vec![]
    }
    /// Probes without meaning for the model that the parameters choose: the window does not offer them. They can be tapped.
    fn unused_probes(params: &Self::Params) -> Vec<ProbeId> {
        let _ = params;
        vec![]
    }
    /// Checks what [`Kind::start`] and [`Simulation::tap`] check, without allocating a simulation.
    fn check(
        params: &Self::Params,
        context: &BuildContext,
        setup: &Arc<Self::Setup>,
        on: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError>;
    /// Starts a simulation of a setup on a device.
    fn start(
        params: &Self::Params,
        context: &BuildContext,
        setup: Arc<Self::Setup>,
        on: &Device,
    ) -> Result<Box<dyn Simulation>, SimError>;
}
