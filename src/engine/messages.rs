//! What the engine is sent and what it sends: commands, events, and the schema of the running simulation.

use super::{Checkpoint, CommandHistory, RecordingEnd, Sink};
use crate::{
    gpu::KernelFacts,
    params::Change,
    sim::{Action, Clock, Connectivity, Digest, ElementSet, ProbeId, ProbeSpec, SimError, Simulation, Tap},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A command to the engine. The list is closed.
pub enum Command {
    /// Replaces the simulation. It is built on a loader thread, so this is cheap. The engine pauses.
    Load(Box<dyn Simulation>),
    /// Replaces the simulation by one that continues a run: its command log since step 0 is given.
    Resume(Box<dyn Simulation>, CommandHistory),
    /// Runs until paused.
    Play,
    /// Pauses between two steps.
    Pause,
    /// Takes exactly this many steps, then pauses.
    Step(u64),
    /// Runs up to this step, then pauses.
    RunTo(u64),
    /// Returns to step 0. A recording in progress is closed.
    Rewind,
    /// Limits the speed, simulated seconds per wall-clock second; `None` is as fast as possible.
    Speed(Option<f64>),
    /// Sets the steps per batch; `None` adapts them to 8 ms. Results do not depend on it.
    Batch(Option<u32>),
    /// Applies a parameter change.
    Set(Change),
    /// Performs an action.
    Act(Action),
    /// Sets the probes sampled for the screen.
    Subscribe(Vec<Tap>),
    /// Profiles one batch in this many, launch by launch, and puts every batch into frames; `None` ends it.
    Profile(Option<u32>),
    /// Starts recording these probes.
    Record(Vec<Tap>, Box<dyn Sink>),
    /// Ends the recording: it is complete.
    StopRecording,
    /// Ends the recording before its planned end.
    InterruptRecording,
    /// Answers with [`Event::Saved`].
    Save,
    /// Continues from a checkpoint: its state, its parameters, and the command log until then. A recording ends.
    Restore(Checkpoint),
    /// Answers with [`Event::Digest`].
    Digest,
    /// Ends the thread; a recording in progress is closed.
    Quit,
}

/// What a running simulation can show. Sent with [`Event::Loaded`], and again when it changes while it runs.
#[derive(Clone, Default)]
pub struct SimSchema {
    /// Counts the changes since the simulation was loaded. Frames carry the generation that their readings follow.
    pub generation: u64,
    /// The step from which this generation holds.
    pub since_step: u64,
    /// What can be tapped.
    pub probes: &'static [ProbeSpec],
    /// Probes without meaning for the present parameters: views do not offer them.
    pub unused: Vec<ProbeId>,
    /// Lane names per probe, for `Series` with fixed lanes.
    pub lanes: Vec<Vec<String>>,
    /// Elements per probe that a finished run recorded; empty for a simulation, where any can be tapped.
    pub recorded: Vec<Vec<u32>>,
    /// The element sets.
    pub sets: Vec<Arc<ElementSet>>,
    /// The connections among elements, if there are any.
    pub connectivity: Option<Connectivity>,
    /// Memory by owner, bytes.
    pub memory: Vec<(&'static str, u64)>,
    /// Registers, shared memory and occupancy of its kernels; empty on the CPU.
    pub kernels: Vec<KernelFacts>,
}

impl SimSchema {
    /// The schema of a simulation as it is now.
    pub(super) fn of(sim: &dyn Simulation) -> Self {
        Self {
            generation: 0,
            since_step: sim.clock().step,
            probes: sim.probes(),
            unused: vec![],
            lanes: lanes_of(sim),
            recorded: vec![],
            sets: sim.sets().to_vec(),
            connectivity: sim.connectivity(),
            memory: sim.memory(),
            kernels: sim.kernels(),
        }
    }

    /// The elements of a probe that a finished run recorded; empty for a simulation.
    pub fn recorded(&self, probe: ProbeId) -> &[u32] {
        self.recorded.get(usize::from(probe)).map_or(&[], Vec::as_slice)
    }

    /// A probe by name.
    pub fn probe(&self, name: &str) -> Option<ProbeId> {
        self.probes.iter().position(|p| p.name == name).map(|i| i as ProbeId)
    }

    /// A set by name.
    pub fn set(&self, name: &str) -> Option<&Arc<ElementSet>> {
        self.sets.iter().find(|s| s.name == name)
    }

    /// The probes whose lanes differ from those of another generation.
    pub fn changed_lanes(&self, other: &Self) -> Vec<ProbeId> {
        (0..self.probes.len().max(other.probes.len()))
            .filter(|i| self.lanes.get(*i) != other.lanes.get(*i))
            .map(|i| i as ProbeId)
            .collect()
    }
}

/// Lane names of every probe.
pub(super) fn lanes_of(sim: &dyn Simulation) -> Vec<Vec<String>> {
    (0..sim.probes().len()).map(|i| sim.lanes(i as ProbeId)).collect()
}

/// An event of the engine. Events are not dropped; there are a few per command at most.
pub enum Event {
    /// A simulation was loaded; views clear their data.
    Loaded(SimSchema),
    /// The schema changed while the simulation runs. Frames of older generations were published before.
    SchemaChanged(SimSchema),
    /// The simulation started or paused, at this step.
    Running(bool, Clock),
    /// A change or an action was applied at this step.
    Applied(u64, LoggedCommand),
    /// A change needs the simulation rebuilt from the project.
    NeedsRebuild(Change),
    /// A command was rejected; the simulation is as it was before. Every `Set` is answered in order by exactly one of
    /// `Applied`, `NeedsRebuild` and `Rejected`, or by `Failed`.
    Rejected {
        /// The rejected change; none for actions, states and taps.
        change: Option<Change>,
        /// The reason.
        error: SimError,
    },
    /// The simulation stopped with an error; a recording in progress is closed. When its device failed, it is dropped.
    Failed(SimError),
    /// The recording is closed.
    Recorded(RecordingEnd),
    /// The recording failed, with the end of its valid data. The simulation continues.
    RecordingFailed(io::Error, RecordingEnd),
    /// The state that [`Command::Save`] asks for.
    Saved(Checkpoint),
    /// Hash and totals of the simulation at this step.
    Digest(Digest, Clock),
}

/// An entry of a run's command log. With the project, the log makes a run replayable bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedCommand {
    /// A parameter change.
    Set(Change),
    /// An action.
    Act(Action),
    /// A rewind to step 0.
    Rewind,
}

/// Counters that can be read at any time.
#[derive(Default)]
pub struct EngineCounters {
    /// Steps taken.
    pub step: AtomicU64,
    /// Wall-clock nanoseconds of the last batch.
    pub batch_nanos: AtomicU64,
    /// Steps of the last batch.
    pub batch_steps: AtomicU64,
    /// Wall-clock nanoseconds the simulation has waited for the recorder.
    pub stalled_nanos: AtomicU64,
    /// Blocks in the recorder's queue.
    pub queued_blocks: AtomicU64,
}

impl EngineCounters {
    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
