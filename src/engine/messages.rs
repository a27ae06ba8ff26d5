//! Messages of the engine: commands, events, and the schema of the running simulation.

use super::{BestState, Checkpoint, CommandHistory, RecordingEnd, SafetyPlan, Sink};
use crate::{
    gpu::KernelFacts,
    params::{Change, named::NamedValue},
    sim::{
        Action, Answer, ArgValues, Clock, Connectivity, Digest, ElementSet, ElementState, InputData, Level,
        MemoryReport, ProbeId, ProbeSpec, Progress, Request, Shape, SimError, Simulation, Tap, TapArgs,
    },
};
use std::{collections::HashMap, io, sync::Arc};

/// Command to the engine.
pub enum Command {
    /// Replaces the simulation by one that was built on a loader thread, so that this command is fast. The engine pauses.
    Load(Box<dyn Simulation>),
    /// Replaces the simulation by one that continues a run, with its command log since step 0.
    Resume(Box<dyn Simulation>, CommandHistory),
    /// Runs until paused.
    Play,
    /// Pauses between two steps.
    Pause,
    /// Runs this number of steps, then pauses.
    Step(u64),
    /// Runs up to this step, then pauses.
    RunTo(u64),
    /// Runs up to the next multiple of this number of steps, then pauses.
    RunToMultiple(u64),
    /// Returns to step 0 and closes a recording in progress.
    Rewind,
    /// Limits the speed to simulated seconds per wall-clock second; `None` for no limit.
    Speed(Option<f64>),
    /// Sets the steps per batch; `None` adapts the number to a target duration of at least 8 ms. Results do not depend on
    /// the number.
    Batch(Option<u32>),
    /// Applies a parameter change between two steps.
    Set(Change),
    /// Replaces input data by data that a loader has prepared, between two steps.
    Replace(InputData),
    /// Performs an action between two steps, and reports with [`Event::Undoable`] how to undo it.
    Act(Action),
    /// Performs an action that undoes or repeats an earlier one.
    ActAgain(Action),
    /// Schedules logged commands for their steps, ascending, in place of those already scheduled. A new simulation, a
    /// restored state or a rewind clears the schedule.
    Schedule(Vec<(u64, Scheduled)>),
    /// Selects the probes that are sampled for the screen.
    Subscribe(Vec<Tap>),
    /// Selects whether frames contain the individuals of slot sets.
    Individuals(bool),
    /// Profiles every n-th batch launch by launch, and puts every batch into frames. `None` ends profiling; for 0 the
    /// engine chooses an n at which profiling costs at most 1 % of the run time.
    Profile(Option<u32>),
    /// Starts a recording of these probes.
    Record(Vec<Tap>, Box<dyn Sink>),
    /// Ends the recording as complete.
    StopRecording,
    /// Ends the recording as interrupted before its planned end.
    InterruptRecording,
    /// Starts a safety recording at the present step, in place of the last one, which is removed. The safety recording ends when
    /// a recording begins, which may take over its data. It is removed when the simulation is replaced, rewound or restored.
    RecordSafety(SafetyPlan, Box<dyn Sink>),
    /// Ends the safety recording and removes its data.
    DiscardSafety,
    /// Saves the state and answers with [`Event::Saved`].
    Save,
    /// Continues from a checkpoint with its state, parameters and command log. Ends a recording in progress.
    Restore(Checkpoint),
    /// Answers a request between two steps with [`Event::Answered`], without changing the simulation.
    Ask(Request, Arc<Progress>),
    /// Answers with [`Event::Digest`].
    Digest,
    /// Shows this trial of the simulation, from 0, on the screen; no change if there is no such trial.
    ShowTrial(u32),
    /// Ends the thread; a recording in progress is closed.
    Quit,
}

/// Command that is scheduled for a step.
pub enum Scheduled {
    /// Parameter change, as [`Command::Set`].
    Set(Change),
    /// Replaced input data, as [`Command::Replace`].
    Replace(InputData),
    /// Action, as [`Command::Act`].
    Act(Action),
}

impl Command {
    /// Whether the command ends a run, which aborts a long step in progress.
    pub(super) const fn stops(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Resume(..) | Self::Pause | Self::Rewind | Self::Restore(_) | Self::Quit)
    }
}

/// Schema of a simulation: its probes, sets and other properties that views need. The schema is sent with
/// [`Event::Loaded`], and again after a change.
#[derive(Clone, Default)]
pub struct SimSchema {
    /// Number of schema changes since the simulation was loaded. Frames carry the generation of their readings.
    pub generation: u64,
    /// Step after which this generation holds; for the first generation, the step at which the simulation was loaded.
    pub since_step: u64,
    /// Probes of the simulation.
    pub probes: &'static [ProbeSpec],
    /// Probes without meaning for the present parameters, which views do not offer.
    pub unused: Vec<ProbeId>,
    /// Whether the parameters describe a graph of nodes and edges.
    pub has_graph: bool,
    /// Lane names per probe, for `Series` with fixed lanes.
    pub lanes: Vec<Vec<String>>,
    /// Values of each argument of each probe that can be tapped; for a finished run, the recorded values.
    pub choices: Vec<Vec<Vec<String>>>,
    /// Reference values per probe, including those that held earlier.
    pub levels: Vec<Vec<Level>>,
    /// Argument lists per probe that a finished run recorded; empty for a simulation.
    pub recorded_args: Vec<Vec<TapArgs>>,
    /// Elements per probe that a finished run recorded; empty for a simulation, in which any element can be tapped.
    pub recorded: Vec<Vec<u32>>,
    /// Probes that a finished run did not record; empty for a simulation.
    pub unrecorded: Vec<ProbeId>,
    /// Number of trainable parameters; 0 if the simulation trains none.
    pub n_parameters: u64,
    /// Number of trials that the simulation holds; 0 without a simulation.
    pub trials: u32,
    /// Element sets to which fields, spikes and tables refer.
    pub sets: Vec<Arc<ElementSet>>,
    /// Connections among elements; `None` for a simulation without connections.
    pub connectivity: Option<Connectivity>,
    /// Memory in use, by buffer.
    pub memory: MemoryReport,
    /// Predicted size of a checkpoint, bytes; 0 if unknown.
    pub checkpoint_bytes: u64,
    /// Registers, shared memory and occupancy of the simulation's kernels; empty on the CPU.
    pub kernels: Vec<KernelFacts>,
    /// Notices about deviations from the request, such as a missing library.
    pub notices: Vec<String>,
    /// Elements on which an action has an effect that lasts.
    pub states: Vec<ElementState>,
}

impl SimSchema {
    /// Reads the present schema of a simulation.
    pub fn of(sim: &dyn Simulation) -> Self {
        let ids = || 0..sim.probes().len() as ProbeId;
        Self {
            generation: 0,
            since_step: sim.clock().step,
            probes: sim.probes(),
            unused: vec![],
            has_graph: false,
            lanes: ids().map(|id| sim.lanes(id)).collect(),
            choices: ids().map(|id| sim.choices(id)).collect(),
            levels: ids().map(|id| sim.levels(id)).collect(),
            recorded_args: vec![],
            recorded: vec![],
            unrecorded: vec![],
            n_parameters: sim.n_parameters(),
            trials: sim.trials(),
            sets: sim.sets().to_vec(),
            connectivity: sim.connectivity(),
            memory: sim.memory(),
            checkpoint_bytes: sim.snapshot_bytes(),
            kernels: sim.kernels(),
            notices: sim.notices(),
            states: ElementState::all(sim),
        }
    }

    /// Returns the adjectives of the states of an element: `frozen`.
    pub fn states_of(&self, set: &str, element: u32) -> impl Iterator<Item = &'static str> {
        let of_set = self.states.iter().filter(move |state| state.over == set && state.has(element));
        of_set.map(|state| state.state)
    }

    /// Returns the elements of a probe that a finished run recorded; empty for a simulation.
    pub fn recorded(&self, probe: ProbeId) -> &[u32] {
        self.recorded.get(usize::from(probe)).map_or(&[], Vec::as_slice)
    }

    /// Returns the id of the probe with the name `name`; `None` if there is no such probe.
    pub fn probe(&self, name: &str) -> Option<ProbeId> {
        self.probes.iter().position(|p| p.name == name).map(|i| i as ProbeId)
    }

    /// Returns the element set with the name `name`; `None` if there is no such set.
    pub fn set(&self, name: &str) -> Option<&Arc<ElementSet>> {
        self.sets.iter().find(|s| s.name == name)
    }

    /// Returns the values that an argument of a probe can have; empty for free text.
    pub fn choices(&self, probe: ProbeId, arg: usize) -> &[String] {
        self.choices.get(usize::from(probe)).and_then(|args| args.get(arg)).map_or(&[], Vec::as_slice)
    }

    /// Returns the reference values of a probe and the factors that convert its series.
    pub fn levels(&self, probe: ProbeId) -> &[Level] {
        self.levels.get(usize::from(probe)).map_or(&[], Vec::as_slice)
    }

    /// Merges the reference values with those of an older schema, which the present schema replaces after step `step`.
    pub(super) fn follow_levels(&mut self, older: &Self, step: u64) {
        for (now, known) in self.levels.iter_mut().zip(&older.levels) {
            let mut known = known.clone();
            Level::follow(&mut known, now, step);
            *now = known;
        }
    }

    /// Creates a tap of a probe with the given arguments. If a finished run did not record them, the tap has the first
    /// arguments that the run recorded.
    pub fn tap(&self, probe: ProbeId, args: &TapArgs) -> Tap {
        let recorded = self.recorded_args.get(usize::from(probe)).map_or(&[][..], Vec::as_slice);
        let shown = if recorded.contains(args) { args } else { recorded.first().unwrap_or(args) };
        Tap::with(probe, shown.clone())
    }

    /// Checks that the arguments of a tap have listed values.
    ///
    /// # Errors
    /// Fails with a sentence that lists the accepted values.
    pub fn check_args(&self, tap: &Tap) -> Result<(), String> {
        let Some(spec) = self.probes.get(usize::from(tap.probe)) else { return Ok(()) };
        for (i, arg) in spec.args.iter().enumerate().filter(|(_, arg)| arg.values == ArgValues::Listed) {
            let (value, known) = (tap.args.get(arg.name), self.choices(tap.probe, i));
            if let Some(value) = value.filter(|value| !known.iter().any(|k| k == value)) {
                let name = arg.name;
                return Err(format!("{}: there is no {name} `{value}`; there are: {}", spec.name, known.join(", ")));
            }
        }
        Ok(())
    }

    /// Checks several taps with [`check_args`](Self::check_args).
    ///
    /// # Errors
    /// Fails with the message about the first wrong tap.
    pub fn check_taps(&self, taps: &[Tap]) -> Result<(), String> {
        taps.iter().try_for_each(|tap| self.check_args(tap))
    }

    /// Compares two generations by their lanes, choices, levels and sets.
    pub fn changes_since(&self, old: &Self) -> SchemaChanges {
        let sets = SetChange::between(&old.sets, &self.sets);
        let is_changed = |name: &str| sets.iter().any(|s| s.name == name);
        let over_changed = |i: usize| self.probes.get(i).is_some_and(|p| p.shape.sets().into_iter().any(is_changed));
        let probes = (0..self.probes.len().max(old.probes.len()))
            .filter(|i| self.lanes.get(*i) != old.lanes.get(*i) || over_changed(*i))
            .map(|i| i as ProbeId)
            .collect();
        SchemaChanges { probes, sets, has_others: self.choices != old.choices || self.levels != old.levels }
    }
}

/// Difference between two generations of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaChanges {
    /// Probes with changed lanes or over a changed set. Their samples up to the change belong to the old schema.
    pub probes: Vec<ProbeId>,
    /// Changes of element sets.
    pub sets: Vec<SetChange>,
    /// Whether choices or levels changed.
    pub has_others: bool,
}

/// Change of an element set: the former index of each element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetChange {
    /// Name of the set.
    pub name: &'static str,
    /// Former index of each element; `None` for a new element.
    pub former: Arc<Vec<Option<u32>>>,
}

impl SetChange {
    /// Matches elements by id, or by index if the elements have no ids.
    pub(crate) fn new(old: Option<&Arc<ElementSet>>, new: &ElementSet) -> Self {
        let n_old = old.map_or(0, |old| old.len);
        let former = match old.filter(|old| !old.ids.is_empty() && !new.ids.is_empty()) {
            Some(old) => {
                let places: HashMap<u64, u32> = old.ids.iter().copied().zip(0..).collect();
                new.ids.iter().map(|id| places.get(id).copied()).collect()
            }
            None => (0..new.len).map(|i| (i < n_old).then_some(i)).collect(),
        };
        Self { name: new.name, former: Arc::new(former) }
    }

    /// Returns the present indices of elements given by former indices; removed elements are omitted.
    pub fn follow(&self, former: &[u32]) -> Vec<u32> {
        let now: HashMap<u32, u32> = self.former.iter().zip(0..).filter_map(|(f, i)| Some(((*f)?, i))).collect();
        former.iter().filter_map(|f| now.get(f).copied()).collect()
    }

    /// Moves the taps of single elements to the present indices of the elements; returns whether a tap changed. The series
    /// of a removed element ends.
    pub(crate) fn follow_taps(changes: &[Self], probes: &[ProbeSpec], taps: &mut [Tap]) -> bool {
        let mut is_changed = false;
        for tap in taps.iter_mut().filter(|tap| !tap.elements.is_empty()) {
            let shape = probes.get(usize::from(tap.probe)).map(|probe| probe.shape);
            let is_of = |change: &&Self| matches!(shape, Some(Shape::Series { of }) if of == change.name);
            let Some(change) = changes.iter().find(is_of) else { continue };
            let now = change.follow(&tap.elements);
            is_changed |= now != tap.elements;
            tap.elements = now;
        }
        is_changed
    }

    /// Returns the changes of the sets of `new` that differ from those of equal name in `old`.
    pub(crate) fn between(old: &[Arc<ElementSet>], new: &[Arc<ElementSet>]) -> Vec<Self> {
        let find = |name: &str| old.iter().find(|set| set.name == name);
        let is_same = |set: &&Arc<ElementSet>| find(set.name).is_some_and(|o| Arc::ptr_eq(o, set) || **o == ***set);
        new.iter().filter(|set| !is_same(set)).map(|set| Self::new(find(set.name), set)).collect()
    }

    /// Reorders values of the former elements to the present order; NaN for new elements.
    pub fn arrange(&self, values: &[f32]) -> Vec<f32> {
        let value = |f: &Option<u32>| f.and_then(|f| values.get(f as usize)).copied().unwrap_or(f32::NAN);
        self.former.iter().map(value).collect()
    }
}

impl SchemaChanges {
    /// Whether nothing has changed.
    pub const fn is_empty(&self) -> bool {
        self.probes.is_empty() && self.sets.is_empty() && !self.has_others
    }
}

/// Event of the engine. Events are never dropped; a command causes a few at most.
pub enum Event {
    /// A simulation was loaded, so views clear their data.
    Loaded(SimSchema),
    /// The schema changed during the run. Frames of older generations were published before.
    SchemaChanged(SimSchema),
    /// The memory in use changed, because some buffers are allocated on first use.
    Memory(MemoryReport),
    /// The states of elements changed, because an action was performed or the simulation returned to another step.
    States(Vec<ElementState>),
    /// The action that was applied last can be undone by the action `inverse`.
    Undoable {
        /// The action as it was performed.
        done: Action,
        /// The action that undoes it.
        inverse: Action,
    },
    /// The simulation started or paused, at this step.
    Running(bool, Clock),
    /// A change or an action was applied at this step.
    Applied(u64, LoggedCommand),
    /// A scheduled change comes next, so that controls can follow it.
    Scheduled(Change),
    /// A change has no effect until the simulation is rebuilt from the project.
    NeedsRebuild(Change),
    /// A command was rejected and the simulation is unchanged. Every `Set` and `Replace` is answered in order by
    /// exactly one of `Applied`, `NeedsRebuild` and `Rejected`, or by `Failed`.
    Rejected {
        /// Rejected parameter change; `None` for actions, states and taps.
        change: Option<Change>,
        /// Reason for the rejection.
        error: SimError,
    },
    /// The simulation stopped with an error; a recording in progress is closed. If the device failed, the simulation is dropped.
    Failed(SimError),
    /// The recording is closed.
    Recorded(RecordingEnd),
    /// The recording failed; contains the end of its valid data. The simulation continues.
    RecordingFailed(io::Error, RecordingEnd),
    /// The safety recording was closed and its data kept, because a recording began, or the simulation or the disk failed.
    SafetyClosed(RecordingEnd),
    /// A checkpoint of the recording could not be taken. The recording continues.
    CheckpointFailed(SimError),
    /// The run was paused, because the followed result of its recording no longer improves.
    StoppedEarly {
        /// Name of the result's probe.
        probe: &'static str,
        /// Best state of the recording.
        best: BestState,
    },
    /// State requested by [`Command::Save`].
    Saved(Checkpoint),
    /// Hash and totals of the simulation at this step.
    Digest(Digest, Clock),
    /// Answer to a request.
    Answered {
        /// Progress object of the request, which identifies it.
        progress: Arc<Progress>,
        /// Step at which the request was answered.
        clock: Clock,
        /// Result of the request.
        answer: Result<Answer, SimError>,
    },
}

/// Entry of a run's command log. The project and the log make a run replayable bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedCommand {
    /// A parameter change.
    Set(Change),
    /// Replaced input data: the parameter with the path of the file, and XXH64 of its content.
    Data(Change, String),
    /// Action on the simulation.
    Act(Action),
    /// A rewind to step 0.
    Rewind,
    /// Change of a value that was a parameter when the run was recorded and affected no result: path, value. Replays ignore
    /// the entry.
    Former(String, NamedValue),
}

impl LoggedCommand {
    /// Returns the parameter change of the entry; `None` for actions, rewinds and former parameters.
    pub const fn change(&self) -> Option<&Change> {
        match self {
            Self::Set(change) | Self::Data(change, _) => Some(change),
            Self::Act(_) | Self::Rewind | Self::Former(..) => None,
        }
    }
}
