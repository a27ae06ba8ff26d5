//! What every simulation kind promises, and the few shapes its results come in.

pub mod action;
pub mod element;
pub mod guard;
pub mod kind;
pub mod lineage;
pub mod probe;
pub mod wiring;

pub use action::{Action, ActionSpec};
pub use element::{Column, Course, ElementSet};
pub use guard::Lost;
pub use kind::{Bytes, Device, Kind, Place, Preset, Progress, Scene, Work};
pub use lineage::{Birth, Death, End, LifeEvent};
pub use probe::{Clock, Frame, Meaning, ProbeId, ProbeSpec, Reading, Series, Shape, Spike, Tap};
pub use wiring::{Link, Links, Wiring};

use crate::{
    gpu::{GpuError, KernelFacts, Pass},
    params::Change,
};
use std::sync::Arc;

/// Whether a change has been taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The next step uses it.
    Applied,
    /// The simulation has to be rebuilt from the project.
    NeedsRebuild,
}

/// Why a simulation could not be made or stopped.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The device failed. Says so in a sentence with the way out.
    #[error("{0}")]
    Device(String),
    /// No device of the wanted kind, or the kind has no backend for it.
    #[error("{0}")]
    NoDevice(String),
    /// Something the user gave does not fit: a file, a parameter, a query. Names the place.
    #[error("{0}")]
    Input(String),
    /// A value left the domain where the model means anything.
    #[error("{0}")]
    Diverged(String),
    /// The user cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SimError {
    /// Whether the device failed, so that the same may go well on another.
    pub const fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }
}

impl From<GpuError> for SimError {
    fn from(error: GpuError) -> Self {
        Self::Device(error.to_string())
    }
}

/// A fingerprint of what a simulation has done so far.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Digest {
    /// Hash of the event stream (spikes, in order), hexadecimal.
    pub hash: String,
    /// Named totals, e.g. `spikes`, `synaptic_events`.
    pub totals: Vec<(String, u64)>,
}

/// A running simulation, on either backend. Owned by the engine's thread.
pub trait Simulation: Send {
    /// What can be shown and recorded.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Names of the lanes of a `Series` probe whose lanes are not elements of a set; one lane if empty.
    fn lanes(&self, probe: ProbeId) -> Vec<String>;
    /// The sets of elements fields, spikes and tables are over.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// Where it is. Answers without the device, also after it has failed.
    fn clock(&self) -> Clock;
    /// Takes up a parameter change between two steps.
    fn set(&mut self, change: &Change) -> Result<Effect, SimError>;
    /// Takes up an action between two steps.
    fn act(&mut self, action: &Action) -> Result<(), SimError>;
    /// What will be read by `sample` from now on. What is not tapped costs nothing.
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError>;
    /// Takes `steps` steps.
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError>;
    /// Adds one reading per tap: histories since the last call, states as they are now.
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError>;
    /// Everything needed to continue bit for bit.
    fn save(&mut self) -> Result<Vec<u8>, SimError>;
    /// The reverse of `save`. An `Err` leaves the simulation as it was.
    fn load(&mut self, state: &[u8]) -> Result<(), SimError>;
    /// Back to step 0, with the parameters as they are now.
    fn rewind(&mut self) -> Result<(), SimError>;
    /// What it has done so far. Answers without the device, also after it has failed.
    fn digest(&self) -> Digest;
    /// Memory held, by owner, in bytes.
    fn memory(&self) -> Vec<(&'static str, u64)>;
    /// Who is connected to whom, when its elements are connected.
    fn wiring(&self) -> Option<Wiring> {
        None
    }
    /// What the compiler and the device made of its kernels; none on the CPU.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

const _: Option<&dyn Simulation> = None; // object-safe
