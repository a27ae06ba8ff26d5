//! Contract of a simulation kind, and its build context.

use super::{
    ActionSpec, Bench, CellModel, EdgeList, ElementSet, Exactness, Example, FileValues, GraphForecast,
    HuggingFaceModel, ImportedNetwork, KernelChoices, MemoryReport, ProbeId, ProbeSpec, RequestSpec, Semantics,
    SimError, Simulation, Snapshot, StepCount, Tap, TimeBase, Trial,
};
use crate::{
    gpu::{Gpu, GpuError, ModuleSpec},
    params::ParamWarning,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

/// Device that a simulation runs on.
#[derive(Clone)]
pub enum Device {
    /// Reference backend on the CPU.
    Cpu {
        /// Number of threads, at least 1.
        threads: usize,
    },
    /// CUDA backend on the given GPU.
    Cuda(Arc<Gpu>),
}

/// Kind of a device without its handle, sufficient to predict memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// Reference backend on the CPU.
    Cpu {
        /// Number of threads, at least 1.
        threads: usize,
    },
    /// CUDA backend on a GPU.
    Cuda,
}

impl Device {
    /// Returns the kind of the device.
    pub const fn kind(&self) -> DeviceKind {
        match self {
            Self::Cpu { threads } => DeviceKind::Cpu { threads: *threads },
            Self::Cuda(_) => DeviceKind::Cuda,
        }
    }

    /// Returns the device for one of `sharing` simulations that run at a time: a GPU with streams of its own; the CPU as it is.
    ///
    /// # Errors
    /// Fails if the driver cannot create the streams.
    pub fn with_own_streams(&self, sharing: usize) -> Result<Self, GpuError> {
        Ok(match self {
            Self::Cpu { .. } => self.clone(),
            Self::Cuda(gpu) => Self::Cuda(gpu.with_new_streams(sharing)?),
        })
    }
}

/// Inputs of a build besides the kind's parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildContext {
    /// Folder of the project, from which relative paths start.
    pub base: PathBuf,
    /// Seed of all random draws.
    pub seed: u64,
    /// Whether a model is built even if its predicted memory exceeds the available memory.
    pub ignores_memory: bool,
    /// Kernel implementations to prefer, which are those of a recording that is replayed.
    pub kernels: KernelChoices,
    /// Cache folder of the program for values that are measured once per device; `None` if there is no such folder.
    pub cache: Option<PathBuf>,
}

impl BuildContext {
    /// Resolves an entered path. The path starts from the project's folder if the file exists there, otherwise from the
    /// working directory.
    pub fn resolve(&self, typed: &str) -> PathBuf {
        let path = Path::new(typed);
        let beside = self.base.join(path);
        if path.is_absolute() || !beside.exists() { path.to_owned() } else { beside }
    }
}

/// Progress and cancellation of a long job, shared between the job and its observers.
#[derive(Default)]
pub struct Progress {
    fraction_bits: AtomicU32,
    cancelled: AtomicBool,
    reports: AtomicU32,
    /// Number of the report that cancels the job, from 1; 0 for none.
    cancels_at: u32,
    stage: Mutex<String>,
}

impl Progress {
    /// Reports progress. Fails with [`SimError::Cancelled`] after the job was cancelled. A job calls this at least every 50
    /// ms.
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

    /// Creates the progress of a job that is cancelled at its n-th report, from 1, for tests.
    pub fn cancelled_at(report: u32) -> Self {
        Self { cancels_at: report, ..Self::default() }
    }

    /// Returns the number of reports so far.
    pub fn reports(&self) -> u32 {
        self.reports.load(Ordering::Relaxed)
    }

    /// Cancels the job, whose next report then fails.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the job is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the current stage, and the completed fraction from 0 to 1.
    pub fn now(&self) -> (String, f32) {
        let stage = self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        (stage, f32::from_bits(self.fraction_bits.load(Ordering::Relaxed)))
    }
}

/// Simulation to start: the argument of [`Kind::start`].
pub struct StartRequest<'a, K: Kind> {
    /// Parameters at step 0.
    pub params: &'a K::Params,
    /// Seed of the draws and folder of the files.
    pub context: &'a BuildContext,
    /// Setup of the parameters.
    pub setup: Arc<K::Setup>,
    /// Device to run on.
    pub device: &'a Device,
    /// Trials to step together; empty for one trial with `params` and the seed of the context. Kinds that step one trial get
    /// an empty list: several trials of them are several simulations.
    pub trials: &'a [Trial<'a, K::Params>],
    /// Progress of a start that takes long, and its cancellation.
    pub progress: &'a Progress,
}

impl<'a, K: Kind> StartRequest<'a, K> {
    /// Requests a simulation of one trial.
    pub const fn new(
        params: &'a K::Params,
        context: &'a BuildContext,
        setup: Arc<K::Setup>,
        device: &'a Device,
        progress: &'a Progress,
    ) -> Self {
        Self { params, context, setup, device, trials: &[], progress }
    }
}

/// Named set of parameter values with its citation.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Label in the menu.
    pub name: &'static str,
    /// Description of the model, as a sentence.
    pub docs: &'static str,
    /// Citation of the values.
    pub source: &'static str,
    /// Parameters and values in the syntax of `--set`; other parameters are unchanged.
    pub set: &'static [&'static str],
}

/// New project that a kind offers besides its usual one.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Identifier, different from the names of kinds.
    pub name: &'static str,
    /// Label in the menu.
    pub title: &'static str,
    /// Content of the project file.
    pub file: &'static str,
}

/// Reference value in the bar of a timing row, as a share of the step time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareLevel {
    /// Span or kernel of the row.
    pub row: &'static str,
    /// Label: `goal`, `limit`.
    pub name: &'static str,
    /// Share of the step time, 0 to 1.
    pub share: f64,
}

/// Lower bound of the work per item of a timing row, for the roofline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RooflineWork {
    /// Span or kernel of the row.
    pub row: &'static str,
    /// Bytes read and written.
    pub bytes: f64,
    /// Arithmetic operations; a fused multiply-add is two.
    pub ops: f64,
    /// Setting that enables the row; empty if it always appears.
    pub when: &'static str,
}

/// Simulation kind, as listed by [`kinds!`](crate::kinds).
pub trait Kind {
    /// Display name in menus.
    const TITLE: &'static str;
    /// One paragraph on the model with references.
    const ABOUT: &'static str;
    /// Help page on mechanisms and measurements, in the markup of help texts; may be empty.
    const HELP: &'static str = "";
    /// Stable lower-case identifier, for the command line and folders of golden files.
    const NAME: &'static str;
    /// Probes of the kind's simulations.
    const PROBES: &'static [ProbeSpec];
    /// Actions on the kind's simulations.
    const ACTIONS: &'static [ActionSpec];
    /// Requests to the kind's simulations.
    const REQUESTS: &'static [RequestSpec] = &[];
    /// Reproducibility of data and digest.
    const EXACTNESS: Exactness = Exactness::AnyBackend;
    /// Probes whose reproducibility differs from [`Kind::EXACTNESS`]; the constant `EXACT_PROBES` of
    /// [`probes!`](crate::probes!).
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = &[];
    /// CPU timing rows as name and tooltip. Kernel rows follow from [`Kind::MODULES`].
    const SPANS: &'static [(&'static str, &'static str)];
    /// Bytes and operations per work item of timing rows, for the roofline. Rows whose work depends on parameters are
    /// omitted.
    const WORK: &'static [RooflineWork] = &[];
    /// Reference values for the share of timing rows in the step time.
    const SHARE_LEVELS: &'static [ShareLevel] = &[];
    /// CUDA modules of the kind.
    const MODULES: &'static [ModuleSpec];
    /// Named sets of parameter values.
    const PRESETS: &'static [Preset];
    /// Content of the file of a new project; empty for default parameters.
    const TEMPLATE: &'static str = "";
    /// Further new projects of the kind.
    const TEMPLATES: &'static [Template] = &[];
    /// Example projects of the kind.
    const EXAMPLES: &'static [Example] = &[];
    /// Benchmark that `neuropil bench KIND` runs; `None` if the kind has no benchmark.
    const BENCH: Option<Bench> = None;
    /// Whether a recording ends with a checkpoint by default, because the state is the result.
    const KEEPS_FINAL_STATE: bool = false;
    /// Probe of a series whose last value is the result of a run: experiments measure it by default, and the table of runs has columns of
    /// it. Training minimises it. `None` if no single series is the result.
    const RESULT_PROBE: Option<&'static str> = None;
    /// Path of the parameter that names a file from which the values of other parameters follow, see
    /// [`Kind::values_of_file`]; empty if there is none.
    const SHAPE_FILE: &'static str = "";
    /// Whether saved states can be exported for `transformers`, see [`Kind::hugging_face`].
    const HAS_HUGGING_FACE: bool = false;
    /// Parameters as stored in the project file.
    type Params: crate::params::Params + Default + Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned;
    /// Immutable host data built from the parameters and shared: connectivity, weights, tokens.
    type Setup: Send + Sync;
    /// Returns the time base of a step.
    fn time_base(params: &Self::Params) -> TimeBase;
    /// Returns the work of a step computed from the parameters: tokens, operations, bytes.
    fn counts(params: &Self::Params) -> Vec<StepCount> {
        let _ = params;
        vec![]
    }
    /// Reads or generates the setup on the loader's thread. Fails if an input is invalid or unreadable, or the job is
    /// cancelled.
    fn prepare(params: &Self::Params, context: &BuildContext, progress: &Progress) -> Result<Self::Setup, SimError>;
    /// Reads the values of other parameters from the file that [`Kind::SHAPE_FILE`] names. Fails if no file is named, or the
    /// file is unreadable or of another model.
    fn values_of_file(params: &Self::Params, context: &BuildContext) -> Result<FileValues, SimError> {
        let _ = (params, context);
        Err(SimError::Input("no parameter of this kind names a file with the shape of a model".to_owned()))
    }
    /// Converts the weights of a saved state for the library `transformers` of Hugging Face. Fails if the library has no such
    /// model, or the state is that of another model.
    fn hugging_face(params: &Self::Params, state: &Snapshot) -> Result<HuggingFaceModel, SimError> {
        let _ = (params, state);
        Err(SimError::Input("`transformers` has no model of this kind".to_owned()))
    }
    /// Reads the network of a SONATA circuit from its configuration. Fails if a file is damaged, or the kind cannot hold the circuit;
    /// `None` for kinds without networks of neurons.
    fn of_circuit(path: &Path) -> Option<Result<ImportedNetwork<Self::Params>, SimError>> {
        let _ = path;
        None
    }
    /// Returns the neuron models of the elements with the values of their parameters; empty for kinds without neurons.
    fn cell_models(params: &Self::Params) -> Vec<CellModel> {
        let _ = params;
        vec![]
    }
    /// Returns the names of the edge lists of the connections: one per projection, or one empty name for all connections of a
    /// network; empty without connections.
    fn edge_lists(params: &Self::Params) -> Vec<String> {
        let _ = params;
        vec![]
    }
    /// Makes edge list `i` of [`Kind::edge_lists`] without starting a simulation. Rows are made when they are read where that is
    /// possible, so that no copy of the connections is needed. Weights that change are those of `state`, or without one those at
    /// step 0. Fails if memory does not suffice, the state is that of other connections, or the job is cancelled.
    fn edge_list(
        params: &Self::Params,
        setup: &Arc<Self::Setup>,
        i: usize,
        state: Option<&Snapshot>,
        progress: &Progress,
    ) -> Result<EdgeList, SimError> {
        let _ = (params, setup, i, state, progress);
        Err(SimError::Input("simulations of this kind have no connections".to_owned()))
    }
    /// Returns the elements of the first set with ids, names, positions and categories, without starting a simulation; `None` for kinds
    /// with elements that have only ids and names, or change.
    fn elements(setup: &Self::Setup) -> Option<Arc<ElementSet>> {
        let _ = setup;
        None
    }
    /// Returns notices about the input of the setup, one sentence each, included in [`Simulation::notices`].
    fn notices(setup: &Self::Setup) -> Vec<String> {
        let _ = setup;
        vec![]
    }
    /// Returns the number of trainable parameters; `None` if the kind trains none, or without a setup if it depends on files.
    fn n_parameters(params: &Self::Params, setup: Option<&Self::Setup>) -> Option<u64> {
        let _ = (params, setup);
        None
    }
    /// Owners in memory reports whose host memory all trials share: what [`Kind::prepare`] makes.
    const SHARED_MEMORY: &'static [&'static str] = &[];
    /// Returns the largest number of trials for which running at a time on a GPU is faster than one after another.
    fn trials_at_a_time(params: &Self::Params, setup: &Self::Setup, context: &BuildContext) -> usize {
        let _ = (params, setup, context);
        16
    }
    /// Predicts the memory of a simulation by buffer, as in [`Simulation::memory`]. Without a setup, the prediction uses
    /// the parameters alone. Returns an empty report if the memory is unknown.
    fn predict(params: &Self::Params, setup: Option<&Self::Setup>, on: DeviceKind) -> MemoryReport {
        let _ = (params, setup, on);
        MemoryReport::default()
    }
    /// Predicts the memory of `n` trials as [`Kind::predict`] does that of one; trials may have other buffers than a simulation that
    /// has the device alone.
    fn predict_trials(params: &Self::Params, setup: Option<&Self::Setup>, on: DeviceKind, n: u32) -> MemoryReport {
        Self::predict(params, setup, on).of_trials(n, Self::SHARED_MEMORY)
    }
    /// Returns the temporary host memory of [`Kind::prepare`], which [`Kind::predict`] does not include.
    fn scratch(params: &Self::Params) -> MemoryReport {
        let _ = params;
        MemoryReport::default()
    }
    /// Predicts what a build makes of the nodes and edges of the parameters; `None` if the parameters have none.
    fn forecast(params: &Self::Params) -> Option<GraphForecast> {
        let _ = params;
        None
    }
    /// Returns warnings about values that are valid but unusual.
    fn warnings(params: &Self::Params) -> Vec<ParamWarning> {
        let _ = params;
        vec![]
    }
    /// Returns what a step does where simulators differ; empty if there is nothing to compare with.
    fn semantics(params: &Self::Params) -> Semantics {
        let _ = params;
        Semantics::default()
    }
    /// Returns the probes without meaning for the model that the parameters choose. The window does not offer them, but
    /// they can be tapped.
    fn unused_probes(params: &Self::Params) -> Vec<ProbeId> {
        let _ = params;
        vec![]
    }
    /// Returns the CUDA modules that a simulation with these parameters loads before it runs, for the progress of their
    /// compilation. The list need not be exact, because every module is loaded when it is requested.
    fn loaded_modules(params: &Self::Params, gpu: &Arc<Gpu>) -> Vec<ModuleSpec> {
        let _ = (params, gpu);
        Self::MODULES.to_vec()
    }
    /// Makes the checks of [`Kind::start`] and [`Simulation::tap`] without allocating a simulation. Fails if one of the
    /// checks fails.
    fn check(
        params: &Self::Params,
        context: &BuildContext,
        setup: &Arc<Self::Setup>,
        on: DeviceKind,
        taps: &[Tap],
    ) -> Result<(), SimError>;
    /// Starts a simulation of a setup on a device. Fails under the conditions of [`Kind::check`], or if an allocation or the
    /// device fails.
    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError>
    where
        Self: Sized;
}
