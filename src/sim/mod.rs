//! The contract of every simulation kind, and the shapes of its results.

pub mod action;
pub mod bench;
pub mod buffers;
pub mod connectivity;
pub mod element;
mod exactness;
mod example;
mod execution;
mod host_memory;
mod individuals;
mod input_data;
pub mod kind;
mod level;
pub mod lineage;
mod memory;
pub mod non_finite;
pub mod probe;
pub mod reading;
mod reading_cost;
pub mod request;
pub mod scripted;
mod shortest_path;
pub mod snapshot;
mod step_count;
pub mod tap;
mod time_base;

pub use action::{Action, ActionSpec};
pub use bench::{Bench, BenchOptions, BenchRow, TorchCase};
pub use buffers::Buffers;
pub use connectivity::{Connection, ConnectionSource, Connectivity};
pub use element::{Column, ElementSet, MotionFields};
pub use exactness::Exactness;
pub use example::Example;
pub use execution::{Execution, KernelChoices};
pub use host_memory::HostMemory;
pub use individuals::{FREE_SLOT, Individuals};
pub use input_data::InputData;
pub use kind::{BuildContext, Device, DeviceKind, Kind, Preset, Progress, RooflineWork, ShareLevel};
pub use level::Level;
pub use lineage::{AttributeSpec, AttributeValue, Attributes, Birth, Death, EndCause, LifeEvent};
pub use memory::{Held, MemoryReport};
pub use non_finite::NonFinite;
pub use probe::{Frame, Meaning, ProbeId, ProbeSpec, SPIKES, Shape, Spike};
pub use reading::{Axis, Histogram, Link, Matrix, Reading, Series, TextSample, Tokens};
pub use reading_cost::ReadingCost;
pub use request::{Answer, Request, RequestSpec};
pub use shortest_path::{PathQuery, PathStep};
pub use snapshot::Snapshot;
pub use step_count::{Counted, StepCount, rate_texts};
pub use tap::{ArgSpec, ArgValues, Tap, TapArgs, TapKey};
pub use time_base::{Clock, TimeBase};

use crate::{
    gpu::{GpuError, KernelFacts, Pass},
    params::{Change, Params},
};
use std::sync::Arc;

/// The effect of a parameter change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Applied: the next step uses it.
    Applied,
    /// The simulation must be rebuilt from the project.
    NeedsRebuild,
}

/// Why a simulation could not be built, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The device failed. The message says what to do.
    #[error("{0}")]
    Device(String),
    /// No device of the requested kind, or the kind has no backend for it.
    #[error("{0}")]
    NoDevice(String),
    /// Invalid input: a file, a parameter, a query. The message names the place.
    #[error("{0}")]
    Input(String),
    /// A value left the model's valid range.
    #[error("{0}")]
    Diverged(String),
    /// The user cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SimError {
    /// Whether the device failed, so that another device may succeed.
    pub const fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }
}

impl From<GpuError> for SimError {
    fn from(error: GpuError) -> Self {
        Self::Device(error.to_string())
    }
}

/// Hash and totals of everything a simulation has done so far.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Digest {
    /// Hash of the event stream (spikes, in order), hexadecimal.
    pub hash: String,
    /// Named totals, e.g. `spikes`, `synaptic_events`.
    pub totals: Vec<(String, u64)>,
}

/// A running simulation, on either backend. Owned by the engine's thread.
pub trait Simulation: Send {
    /// The probes: what can be shown and recorded.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Names of the lanes of a `Series` probe whose lanes are not elements of a set; one lane if empty.
    fn lanes(&self, probe: ProbeId) -> Vec<String>;
    /// The values of each declared argument of a probe, in the order of their declarations; empty for a free text. They
    /// may change while it runs.
    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let _ = probe;
        vec![]
    }
    /// Reference values of a series that hold after the present step; they may change while it runs. The engine keeps the former
    /// ones.
    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        let _ = probe;
        vec![]
    }
    /// Counts the changes of sets, lanes, choices, levels and connectivity that are not the effect of a parameter change or
    /// an action. The engine reads them again when it is another one: the new ones hold after the step at which `advance`
    /// returned, so a simulation that changes them in a step returns after it where [`Pass::ends_at_changes`] asks for it.
    fn generation(&self) -> u64 {
        0
    }
    /// The element sets that fields, spikes and tables are over. A set that changes while it runs is replaced as a whole:
    /// ids are never used again.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// The individuals in the slots of a set, as they are now; `None` where the elements are no slots. Nothing is computed
    /// for it unless it is called.
    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        let _ = set;
        None
    }
    /// The declared actions.
    fn actions(&self) -> &'static [ActionSpec] {
        &[]
    }
    /// The current step. Works without the device, also after it has failed.
    fn clock(&self) -> Clock;
    /// Applies a parameter change between two steps. An `Err` leaves the simulation as it was.
    fn set(&mut self, change: &Change) -> Result<Effect, SimError>;
    /// Replaces input data between two steps, and sets the parameter that names them. An `Err` leaves the simulation as it
    /// was.
    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let _ = data;
        Ok(Effect::NeedsRebuild)
    }
    /// Performs an action between two steps, on elements by index: callers use [`Action::perform`], which finds the slots of
    /// individuals. An `Err` leaves the simulation as it was.
    fn act(&mut self, action: &Action) -> Result<(), SimError>;
    /// Selects what `sample` reads from now on. Probes that are not tapped cost nothing. Histories of probes that stay
    /// tapped continue without a gap. A `Lineage` whose tap begins starts with the individuals that live then, with the
    /// ids and birth steps they have without a tap (see [`Birth`]).
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError>;
    /// Takes `steps` steps. A simulation whose steps are long looks at [`Pass::is_stopping`] within every 100 ms, and then
    /// returns with the step in progress undone: the clock counts whole steps, and the next call repeats it with the
    /// same results.
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError>;
    /// Whether a measurement that [`advance`](Self::advance) began is in progress beside later steps, which [`Pass::leaves_measurements`]
    /// allows.
    fn is_measuring(&self) -> bool {
        false
    }
    /// Takes in measurements in progress: those that are complete, or all of them, for which it then waits, with those that a stop
    /// interrupted. The next `sample` has them, with the step at which they began. Whether there were any.
    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        let _ = waits;
        Ok(false)
    }
    /// Adds one reading per tap: histories since the last call, current states.
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError>;
    /// Copies everything needed to continue bit for bit, parameters excepted, to host memory: one copy, of
    /// [`Simulation::snapshot_bytes`]. The number `step` is that of the clock. Changes nothing.
    fn save(&mut self) -> Result<Snapshot, SimError>;
    /// The reverse of `save`. Sections are found by name and shape; floating-point numbers of another precision are
    /// rounded. An `Err` leaves the simulation as it was.
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError>;
    /// Predicted host memory of a snapshot, bytes; 0 when unknown or small.
    fn snapshot_bytes(&self) -> u64 {
        0
    }
    /// Answers a request of its kind. Looks at `progress` within every 100 ms, and ends when it is cancelled.
    fn ask(&self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        let _ = progress;
        Err(SimError::Input(format!("there is no request `{}`", request.name)))
    }
    /// Its parameters in effect, when it has any.
    fn params(&self) -> Option<&dyn Params> {
        None
    }
    /// Returns to step 0, with the current parameters.
    fn rewind(&mut self) -> Result<(), SimError>;
    /// Returns to step 0 as a fresh start with another seed of its random draws would; a generated network keeps its
    /// own seed. Taps stay. `false` if the kind does not support it: start another simulation.
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        let _ = seed;
        Ok(false)
    }
    /// What the last step did, in numbers, where it varies; empty where the kind's [`counts`](Kind::counts) hold for
    /// every step.
    fn counts(&self) -> Vec<StepCount> {
        vec![]
    }
    /// Hash and totals so far. Works without the device, also after it has failed.
    fn digest(&self) -> Digest;
    /// The device, and the implementations it chose where several exist.
    fn execution(&self) -> Execution {
        Execution::cpu()
    }
    /// What it does otherwise than asked, a sentence each: a library that was not found.
    fn notices(&self) -> Vec<String> {
        vec![]
    }
    /// Memory held, by buffer.
    fn memory(&self) -> MemoryReport;
    /// The connections among its elements, if there are any.
    fn connectivity(&self) -> Option<Connectivity> {
        None
    }
    /// Registers, shared memory and occupancy of its kernels; none on the CPU.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

const _: Option<&dyn Simulation> = None; // object-safe
