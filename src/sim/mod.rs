//! The contract of every simulation kind, and the shapes of its results.

#![warn(missing_docs)]

pub mod action;
pub mod bench;
pub mod buffers;
mod cell_model;
pub mod connectivity;
pub mod element;
mod exactness;
mod example;
mod execution;
mod file_values;
mod graph_forecast;
mod host_memory;
mod hugging_face;
mod imported_network;
mod individuals;
mod input_data;
pub mod kind;
mod level;
pub mod lineage;
mod memory;
pub mod non_finite;
pub mod probe;
pub mod reading;
pub mod reading_cost;
pub mod request;
pub mod scripted;
mod semantics;
mod series_unit;
mod shortest_path;
pub mod snapshot;
mod step_count;
pub mod tap;
mod time_base;
pub mod trial;

pub use crate::num::digits::group_digits;
pub use action::{Action, ActionSpec, ActionUndo, ElementState};
pub use bench::{Bench, BenchOptions, BenchRow, TorchCase};
pub use buffers::Buffers;
pub use cell_model::CellModel;
pub use connectivity::{Connection, ConnectionSource, Connectivity, EdgeList, ElementGroup, SYNAPSES};
pub use element::{Column, ElementSet, MotionFields};
pub use exactness::Exactness;
pub use example::Example;
pub use execution::{Execution, KernelChoices};
pub use file_values::FileValues;
pub use graph_forecast::{GraphForecast, GraphProblem};
pub use host_memory::HostMemory;
pub use hugging_face::{HuggingFaceModel, NamedTensor};
pub use imported_network::ImportedNetwork;
pub use individuals::{FREE_SLOT, Individuals};
pub use input_data::InputData;
pub use kind::{
    BuildContext, Device, DeviceKind, Kind, Preset, Progress, RooflineWork, ShareLevel, StartRequest, Template,
};
pub use level::{Level, LevelUse};
pub use lineage::{AttributeSpec, AttributeValue, Attributes, Birth, Death, EndCause, LifeEvent};
pub use memory::{Held, MemoryReport};
pub use non_finite::NonFinite;
pub use probe::{Frame, Meaning, ProbeId, ProbeSpec, SPIKES, Shape, Spike};
pub use reading::{Axis, Histogram, Link, Matrix, Reading, Series, TextSample, Tokens};
pub use reading_cost::ReadingCost;
pub use request::{Answer, Request, RequestSpec};
pub use semantics::{Fact, Semantics};
pub use series_unit::{SeriesUnit, item_counts, items_name, items_until};
pub use shortest_path::{PathQuery, PathStep};
pub use snapshot::Snapshot;
pub use step_count::{Counted, StepCount, amount_text, rate_texts, share_of_peak};
pub use tap::{ArgSpec, ArgValues, Tap, TapArgs, TapKey};
pub use time_base::{Clock, TimeBase};
pub use trial::{Trial, TrialChoice, TrialStatistic};

use crate::{
    gpu::{GpuError, KernelFacts, Pass},
    num::hash::StreamHash,
    params::{Change, Params},
};
use std::sync::Arc;

/// Effect of a parameter change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The change was applied, and the next step uses it.
    Applied,
    /// The simulation must be rebuilt from the project.
    NeedsRebuild,
}

/// Reason why a simulation could not be built, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The device failed. The message contains advice.
    #[error("{0}")]
    Device(String),
    /// No device of the requested kind exists, or the kind has no backend for it.
    #[error("{0}")]
    NoDevice(String),
    /// A file, a parameter or a query is invalid. The message contains its place.
    #[error("{0}")]
    Input(String),
    /// A value left the model's valid range or became NaN.
    #[error("{0}")]
    Diverged(String),
    /// The user cancelled the job.
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

/// Hash and totals of a simulation since step 0.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Digest {
    /// Hexadecimal hash of the event stream (spikes in order).
    pub hash: String,
    /// Named totals, e.g. `spikes`, `synaptic_events`.
    pub totals: Vec<(String, u64)>,
    /// Digests of the trials, if hash and totals combine those of several; otherwise empty.
    #[serde(skip)]
    pub trials: Vec<Self>,
}

impl Digest {
    /// Creates a digest of one trial.
    pub const fn new(hash: String, totals: Vec<(String, u64)>) -> Self {
        Self { hash, totals, trials: vec![] }
    }

    /// Combines the digests of trials: adds the totals, and hashes the hashes in the order of the trials.
    pub fn of_trials(trials: Vec<Self>) -> Self {
        let mut hash = StreamHash::default();
        let mut totals: Vec<(String, u64)> = vec![];
        for trial in &trials {
            trial.hash.bytes().for_each(|b| hash.push(b.into()));
            for (name, n) in &trial.totals {
                match totals.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += n,
                    None => totals.push((name.clone(), *n)),
                }
            }
        }
        Self { hash: hash.hex(), totals, trials }
    }

    /// Returns the digest of a simulation: that of its only trial, or of all combined.
    pub fn of(sim: &dyn Simulation) -> Self {
        match sim.trials() {
            0 | 1 => sim.digest(0),
            n => Self::of_trials((0..n).map(|k| sim.digest(k)).collect()),
        }
    }

    /// Formats the totals with grouped digits: `12,204 spikes, 1,220,400 synaptic events`.
    pub fn totals_text(&self) -> String {
        let total = |(name, n): &(String, u64)| format!("{} {}", group_digits(*n), name.replace('_', " "));
        self.totals.iter().map(total).collect::<Vec<_>>().join(", ")
    }
}

/// Running simulation on either backend, owned by the engine's thread.
pub trait Simulation: Send {
    /// Returns the probes that can be shown and recorded.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Returns the lane names of a `Series` probe with fixed lanes, or an empty list for one unnamed lane.
    fn lanes(&self, probe: ProbeId) -> Vec<String>;
    /// Returns the values of each declared argument of a probe, in declaration order; empty for free text. The values may
    /// change during the run.
    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let _ = probe;
        vec![]
    }
    /// Returns the reference values of a series that hold after the present step, and the factors that convert its values and
    /// steps. The values may change during the run; the engine keeps former ones.
    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        let _ = probe;
        vec![]
    }
    /// Returns the number of changes of sets, lanes, choices, levels and connectivity other than by parameter changes and
    /// actions. After an increase, the engine reads these properties again; they hold after the step at which `advance`
    /// returned. If [`Pass::ends_at_changes`] is set, a simulation therefore returns after the step that changes them.
    fn generation(&self) -> u64 {
        0
    }
    /// Returns the element sets to which fields, spikes and tables refer. A set that changes during the run is replaced as
    /// a whole; ids are never reused.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// Returns the individuals in the slots of a set at the present step; `None` if the elements are not slots. The list is
    /// made only for the call.
    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        let _ = set;
        None
    }
    /// Returns the actions that the kind declares.
    fn actions(&self) -> &'static [ActionSpec] {
        &[]
    }
    /// Returns the elements, ascending, in the lasting state that an action sets: the frozen ones for `freeze`.
    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        let _ = action;
        vec![]
    }
    /// Returns the current step. Works without the device and after its failure.
    fn clock(&self) -> Clock;
    /// Applies a parameter change between two steps. Fails if the value is invalid or the device fails; the simulation is
    /// then unchanged.
    fn set(&mut self, change: &Change) -> Result<Effect, SimError>;
    /// Replaces input data between two steps, and sets the parameter that names the data. A failure leaves the simulation
    /// unchanged.
    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let _ = data;
        Ok(Effect::NeedsRebuild)
    }
    /// Performs an action between two steps on elements given by index. Callers use [`Action::perform`], which looks up the
    /// slots of individuals. A failure leaves the simulation unchanged.
    fn act(&mut self, action: &Action) -> Result<(), SimError>;
    /// Selects the probes that `sample` reads after this call. Untapped probes cost nothing. Histories of probes that stay
    /// tapped continue without a gap. A new `Lineage` tap starts with the living individuals, whose ids and birth steps do
    /// not depend on taps (see [`Birth`]). Fails if a tap is invalid or the device fails.
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError>;
    /// Takes `steps` steps. A simulation with long steps checks [`Pass::is_stopping`] at least every 100 ms. If it is set,
    /// the simulation undoes the current step and returns: the clock counts whole steps, and the next call repeats the step
    /// with equal results. Fails if the device fails or the state diverges.
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError>;
    /// Whether a measurement that [`advance`](Self::advance) began runs concurrently with later steps, as
    /// [`Pass::defers_measurements`] allows.
    fn is_measuring(&self) -> bool {
        false
    }
    /// Collects concurrent measurements: the complete ones or, with `waits`, all of them, including those that a stop
    /// interrupted. The next `sample` contains them, with the steps at which they began. Returns whether there were any.
    /// Fails if a measurement or the device fails.
    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        let _ = waits;
        Ok(false)
    }
    /// Adds one reading per tap: histories since the last call, and current states. Fails if the device fails.
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError>;
    /// Copies everything needed to continue bit for bit, except parameters, to host memory; the copy has
    /// [`Simulation::snapshot_bytes`] bytes. The section `step` is the step of the clock. The simulation does not change.
    /// Fails if the device or an allocation fails.
    fn save(&mut self) -> Result<Snapshot, SimError>;
    /// Restores a snapshot. Sections are found by name and shape; floating-point values of another precision are rounded.
    /// Fails if the snapshot does not fit; the simulation is then unchanged.
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError>;
    /// Returns the predicted size of a snapshot in host memory, bytes; 0 if unknown or small.
    fn snapshot_bytes(&self) -> u64 {
        0
    }
    /// Answers a request. No result of a later step changes. Checks `progress` at least every 100 ms, and fails with
    /// [`SimError::Cancelled`] after it was cancelled.
    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        let _ = progress;
        Err(SimError::Input(format!("there is no request `{}`", request.name)))
    }
    /// Returns the parameters in effect; `None` if the simulation has none.
    fn params(&self) -> Option<&dyn Params> {
        None
    }
    /// Returns to step 0 with the current parameters. Fails if the device fails.
    fn rewind(&mut self) -> Result<(), SimError>;
    /// Returns to step 0 with another seed of random draws, as a new simulation would; a generated network keeps its own
    /// seed. The taps stay. Returns `false` if the kind does not support this, so that the caller starts a new simulation.
    /// Fails if the device fails.
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        let _ = seed;
        Ok(false)
    }
    /// Returns the work of the last step if the work varies; empty if the kind's [`counts`](Kind::counts) hold for every
    /// step.
    fn counts(&self) -> Vec<StepCount> {
        vec![]
    }
    /// Returns the number of trainable parameters; 0 if the simulation trains none.
    fn n_parameters(&self) -> u64 {
        0
    }
    /// Returns the hash and totals of a trial so far. A simulation of one trial ignores the index. Works without the device and
    /// after its failure.
    fn digest(&self, trial: u32) -> Digest;
    /// Returns the number of trials that are stepped together, at least 1. They have one clock and one schema.
    fn trials(&self) -> u32 {
        1
    }
    /// Selects the trial, from 0, of which sets, lanes, individuals and answers are returned. No result of a step changes. There is
    /// no effect if there is no such trial.
    fn show_trial(&mut self, trial: u32) {
        let _ = trial;
    }
    /// Whether `advance` may return before its last step without a stop of its pass, because the schema changes or an edit is due, or may
    /// abort a step at a stop. Several trials of other simulations are advanced concurrently.
    fn returns_early(&self) -> bool {
        true
    }
    /// Whether sets or lanes changed in some trials and not in the others, so that the schema of one trial does not describe all.
    fn trials_differ(&self) -> bool {
        false
    }
    /// Returns the device and kernel choices.
    fn execution(&self) -> Execution {
        Execution::cpu()
    }
    /// Returns notices about deviations from the request, one sentence each, such as a missing library.
    fn notices(&self) -> Vec<String> {
        vec![]
    }
    /// Returns the memory in use by buffer.
    fn memory(&self) -> MemoryReport;
    /// Returns the connections among the elements; `None` if the elements have no connections.
    fn connectivity(&self) -> Option<Connectivity> {
        None
    }
    /// Returns the registers, shared memory and occupancy of the simulation's kernels; empty on the CPU.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

const _: Option<&dyn Simulation> = None; // the trait is object-safe
