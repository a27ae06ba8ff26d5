//! What a simulation kind is, beyond its parameters.

use super::{ActionSpec, ProbeSpec, SimError, Simulation};
use crate::gpu::{Gpu, ModuleSpec};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

/// Where a simulation is started.
#[derive(Clone)]
pub enum Device {
    /// The reference, with this many threads.
    Cpu {
        /// At least 1.
        threads: usize,
    },
    /// The fast one.
    Cuda(Arc<Gpu>),
}

/// A kind of device, without its handle: what a prediction needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The CPU, with this many threads.
    Cpu {
        /// At least 1.
        threads: usize,
    },
    /// A GPU.
    Cuda,
}

impl Device {
    /// What kind of device it is.
    pub const fn place(&self) -> Place {
        match self {
            Self::Cpu { threads } => Place::Cpu { threads: *threads },
            Self::Cuda(_) => Place::Cuda,
        }
    }
}

/// Bytes by owner.
pub type Bytes = Vec<(&'static str, u64)>;

/// What surrounds a model in its project: everything that is not a parameter of the kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Folder relative paths start from.
    pub base: PathBuf,
    /// Seed of every random draw.
    pub seed: u64,
}

impl Scene {
    /// A path as typed, made absolute: relative to the project's folder when that exists there, else to
    /// the working directory.
    pub fn resolve(&self, typed: &str) -> PathBuf {
        let path = Path::new(typed);
        let beside = self.base.join(path);
        if path.is_absolute() || !beside.exists() { path.to_owned() } else { beside }
    }
}

/// How far a long job is, and whether it is still wanted. Shared between the job and whoever watches.
#[derive(Default)]
pub struct Progress {
    fraction_bits: AtomicU32,
    cancelled: AtomicBool,
    stage: Mutex<String>,
}

impl Progress {
    /// Says how far the job is; `Err(Cancelled)` when nobody wants it any more. Call at least every 50 ms.
    pub fn report(&self, stage: &str, fraction: f32) -> Result<(), SimError> {
        self.fraction_bits.store(fraction.to_bits(), Ordering::Relaxed);
        let mut current = self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *current != stage {
            stage.clone_into(&mut current);
        }
        if self.cancelled.load(Ordering::Relaxed) { Err(SimError::Cancelled) } else { Ok(()) }
    }

    /// Stops the job at its next report.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// What is being done, and how much of it is, 0 to 1.
    pub fn now(&self) -> (String, f32) {
        let stage = self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        (stage, f32::from_bits(self.fraction_bits.load(Ordering::Relaxed)))
    }
}

/// Values that belong together and where they are from.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name in the menu.
    pub name: &'static str,
    /// What one gets, as a sentence.
    pub docs: &'static str,
    /// Citation.
    pub source: &'static str,
    /// What it sets, as `--set` takes it; the rest stays.
    pub set: &'static [&'static str],
}

/// What a row of the timings does per work item at the least: what no cleverness saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Name of the row.
    pub row: &'static str,
    /// Bytes read and written.
    pub bytes: f64,
    /// Arithmetic operations; a fused multiply-add is two.
    pub ops: f64,
    /// What has to be set for the row to appear; empty when nothing has to be.
    pub when: &'static str,
}

/// What [`kinds!`](crate::kinds) collects.
pub trait Kind {
    /// Name in menus.
    const TITLE: &'static str;
    /// One paragraph: what it models, after whom.
    const ABOUT: &'static str;
    /// Stable lower-case name: command line, golden folders.
    const NAME: &'static str;
    /// What its simulations can be asked to show and record.
    const PROBES: &'static [ProbeSpec];
    /// What can be done to its simulations.
    const ACTIONS: &'static [ActionSpec];
    /// What the rows of its CPU timings are: name, tooltip. Rows of kernels are told by [`Kind::MODULES`].
    const SPANS: &'static [(&'static str, &'static str)];
    /// What rows of its timings move and compute per work item, for the roofline. Rows whose work depends on parameters
    /// are not in it.
    const WORK: &'static [Work] = &[];
    /// Its CUDA modules.
    const MODULES: &'static [ModuleSpec];
    /// Sets of values with a name and a citation.
    const PRESETS: &'static [Preset];
    /// What the project file holds.
    type Params: crate::params::Params + Default + Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned;
    /// What is made of it on the host: wiring, weights, tokens. Heavy, immutable, shared.
    type Setup: Send + Sync;
    /// Simulated seconds per step.
    fn secs_per_step(params: &Self::Params) -> f64;
    /// Reads, generates, quantises. Runs on the loader thread.
    fn prepare(params: &Self::Params, scene: &Scene, progress: &Progress) -> Result<Self::Setup, SimError>;
    /// Memory a simulation will hold on a device once it has started, by owner as in [`Simulation::memory`]. Without a
    /// setup, what the parameters alone say. Empty when that is not known.
    fn predict(params: &Self::Params, setup: Option<&Self::Setup>, on: Place) -> Bytes {
        let _ = (params, setup, on);
        vec![]
    }
    /// Starts from a setup on a device.
    fn start(
        params: &Self::Params,
        scene: &Scene,
        setup: Arc<Self::Setup>,
        on: &Device,
    ) -> Result<Box<dyn Simulation>, SimError>;
}
