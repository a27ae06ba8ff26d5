//! Playback of a finished run. A thread reads the run in slices into the history and views that a running simulation uses.

mod trials;

pub use trials::{ShownTrial, TrialToOpen};

use super::live::Builder;
use crate::{
    engine::{LoggedCommand, SimSchema},
    kinds::Model,
    project::{
        OutsidePath, Project, RunFolder, folder::trial_folder, outside_paths_of_run, playback::PlaybackReader,
        run::MANIFEST,
    },
    sim::{ArgSpec, BuildContext, ElementSet, Frame, Meaning, ProbeSpec, Shape, TapArgs},
};
use crossbeam_channel::{Receiver, TryRecvError, bounded};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum number of slices that are read ahead.
const AHEAD: usize = 2;
/// Time limit per frame of the window for taking slices.
const TIME_PER_FRAME: Duration = Duration::from_millis(3);

/// Run folder that was opened.
pub struct OpenedRun {
    pub run: RunFolder,
    /// Place of the run in its series; `None` for a single run.
    pub trial: Option<ShownTrial>,
    /// The project at step 0.
    pub project: Project,
    /// Command log, with all edits and actions.
    pub log: Vec<(u64, LoggedCommand)>,
    /// Sets and probes at the start.
    pub schema: SimSchema,
    /// Later schemas of the run.
    pub later: Vec<SimSchema>,
    /// Warnings about missing data.
    pub notes: Vec<String>,
}

/// The outcome of opening a run.
pub enum Opening {
    /// The run is open.
    Opened(Box<OpenedRun>),
    /// The run reads files outside its folder, which the user has not allowed.
    NeedsConsent(Vec<OutsidePath>),
}

/// Opens a run. Positions and categories of its elements come from its project, which is built again if `allows` returns true for
/// the files outside the run folder. Fails if the folder or its project is unreadable.
pub fn open(folder: &Path, builder: &Builder, allows: &dyn Fn(&[OutsidePath]) -> bool) -> Result<Opening, String> {
    let (run, trial) = shown_run(folder).map_err(|e| e.to_string())?;
    let (project, replaced) = run.displayed_project().map_err(|e| e.to_string())?;
    let outside = outside_paths_of_run(&run, &project);
    if !allows(&outside) {
        return Ok(Opening::NeedsConsent(outside));
    }
    let mut notes = replaced;
    let probes = project.model.probes();
    let mut on_cpu = project.clone();
    on_cpu.run.device = crate::project::DeviceChoice::Cpu;
    on_cpu.run.trials = 1;
    let built = builder(&on_cpu, &project.build_context(&run.base()), &crate::sim::Progress::default());
    let sets = match built {
        Ok(sim) => sim.sets().to_vec(),
        Err(why) => {
            notes.push(format!("positions and categories are not available: {why}"));
            stored_sets(&run, probes)
        }
    };
    Ok(Opening::Opened(Box::new(OpenedRun { trial, ..opened(run, project, notes, sets) })))
}

/// Reads the log and the schemas of a run with the sets of its first step. `notes` are messages about its project.
fn opened(run: RunFolder, project: Project, notes: Vec<String>, sets: Vec<Arc<ElementSet>>) -> OpenedRun {
    let mut notes = [run.notes.clone(), notes].concat();
    let log = run.commands().unwrap_or_else(|e| {
        notes.push(format!("the command log is unreadable: {e}"));
        vec![]
    });
    let (probes, unused) = (project.model.probes(), project.model.unused_probes());
    let at = |generation| SimSchema { unused: unused.clone(), ..schema_at(&run, probes, &sets, generation) };
    let (schema, later) = (at(0), (1..=run.manifest.borders().len()).map(at).collect());
    OpenedRun { run, trial: None, project, log, schema, later, notes }
}

/// Opens a run; of a series its first existing trial. Fails if the folder is no run, the series has no trial, or this trial is
/// unreadable.
fn shown_run(folder: &Path) -> std::io::Result<(RunFolder, Option<ShownTrial>)> {
    let run = RunFolder::open(folder)?;
    let n = run.manifest.trials;
    match (0..n).find(|k| trial_folder(folder, *k).join(MANIFEST).is_file()) {
        Some(first) => {
            let mut trial = RunFolder::open(&trial_folder(folder, first))?;
            trial.trial = Some(first);
            Ok((trial, Some(ShownTrial::new(folder.to_owned(), n, first))))
        }
        // Says why a series has no trial.
        None => run.trials().map(|_| (run, None)),
    }
}

/// Returns the schema of a generation of a run. `sets` are the sets of the first generation.
fn schema_at(run: &RunFolder, probes: &'static [ProbeSpec], sets: &[Arc<ElementSet>], generation: usize) -> SimSchema {
    let manifest = &run.manifest;
    let since_step = generation.checked_sub(1).and_then(|i| manifest.borders().get(i).copied()).unwrap_or(0);
    let streams = |p: &ProbeSpec| {
        let name = p.name;
        manifest.streams.iter().filter(move |s| s.probe == name)
    };
    let stream_of = |p: &ProbeSpec| streams(p).rfind(|s| s.from_step <= since_step);
    let lanes = probes.iter().map(|p| stream_of(p).map(|s| s.lanes.clone()).unwrap_or_default()).collect();
    let levels = probes.iter().map(|p| stream_of(p).map(|s| s.levels.clone()).unwrap_or_default()).collect();
    let recorded = probes.iter().map(|p| stream_of(p).map(|s| s.elements.clone()).unwrap_or_default()).collect();
    let args_of = |p: &ProbeSpec| {
        let mut args: Vec<TapArgs> = streams(p).filter_map(|s| TapArgs::parse(&s.args, p.args).ok()).collect();
        args.sort_unstable();
        args.dedup();
        args
    };
    // The last spike of each element can be derived from the spikes.
    let has_spikes = |set: &str| {
        let is_of = |p: &&ProbeSpec| matches!(p.shape, Shape::Spikes { over } if over == set);
        probes.iter().filter(is_of).any(|p| streams(p).next().is_some())
    };
    let is_derived =
        |p: &ProbeSpec| matches!(p.shape, Shape::Field { over, meaning: Meaning::TimeSince, .. } if has_spikes(over));
    let ids = (0..).zip(probes).filter(|(_, p)| streams(p).next().is_none() && !is_derived(p));
    let unrecorded = ids.map(|(id, _)| id).collect();
    let recorded_args: Vec<Vec<TapArgs>> = probes.iter().map(args_of).collect();
    let values = |(p, recorded): (&ProbeSpec, &Vec<TapArgs>)| {
        let of = |arg: &ArgSpec| recorded.iter().filter_map(|a| a.get(arg.name)).map(Cow::into_owned).collect();
        p.args.iter().map(of).collect()
    };
    let choices = probes.iter().zip(&recorded_args).map(values).collect();
    let set_at = |set: &Arc<ElementSet>| match manifest.set_at(set.name, since_step + 1) {
        Some(info) if info.from_step > 0 => {
            let ElementSet { motion, size, is_diagram, .. } = **set;
            Arc::new(ElementSet { motion, size, is_diagram, ..run.stored_set(set.name, info) })
        }
        _ => set.clone(),
    };
    let (sets, generation) = (sets.iter().map(set_at).collect(), generation as u64);
    SimSchema {
        generation,
        since_step,
        lanes,
        levels,
        recorded,
        recorded_args,
        unrecorded,
        n_parameters: manifest.n_parameters,
        choices,
        probes,
        sets,
        ..SimSchema::default()
    }
}

/// Reads the sets stored in the run folder, which have only sizes and ids.
fn stored_sets(run: &RunFolder, probes: &'static [ProbeSpec]) -> Vec<Arc<ElementSet>> {
    let name_of = |p: &'static ProbeSpec| match p.shape {
        Shape::Spikes { over }
        | Shape::Lineage { over, .. }
        | Shape::Field { over, .. }
        | Shape::Series { of: over } => over,
        _ => "",
    };
    let mut sets: Vec<Arc<ElementSet>> = vec![];
    for name in probes.iter().map(name_of).filter(|name| !name.is_empty()) {
        if let (Some(info), true) = (run.manifest.set(name), sets.iter().all(|s| s.name != name)) {
            sets.push(Arc::new(run.stored_set(name, info)));
        }
    }
    sets
}

/// Message of the reader thread: a frame with the fraction read, or an error.
#[expect(clippy::large_enum_variant, reason = "one message is in flight at a time")]
enum ReaderMessage {
    Frame(Frame, f32),
    Failed(String),
}

/// Finished run that is shown.
pub struct Playback {
    /// Folder of the run; of a series, that of the shown trial.
    pub folder: PathBuf,
    /// Shown trial of a series; `None` for a single run.
    pub trial: Option<ShownTrial>,
    /// [`Frame::epoch`] of the frames, which differs between the trials that are shown one after another.
    pub epoch: u64,
    /// First step of the run; `last` is its last step.
    pub first: u64,
    pub last: u64,
    /// Fraction read, 0 to 1.
    pub fraction: f32,
    pub error: Option<String>,
    slices: Receiver<ReaderMessage>,
    run: RunFolder,
    probes: &'static [ProbeSpec],
    /// Sets at the first step.
    sets: Vec<Arc<ElementSet>>,
    /// Panels that were opened late, and the slices of a second reading for them; `None` without a second reading.
    again: Option<(Vec<String>, Receiver<ReaderMessage>)>,
}

/// Starts a thread that reads a run. `wake` is called after every slice. Fails if the streams cannot be opened.
fn read(
    run: &RunFolder,
    probes: &'static [ProbeSpec],
    wake: impl Fn() + Send + 'static,
) -> Result<Receiver<ReaderMessage>, String> {
    let mut slices = PlaybackReader::open(run, probes).map_err(|e| e.to_string())?;
    let (sender, receiver) = bounded(AHEAD);
    let read = move || {
        loop {
            let message = match slices.next_frame() {
                Ok(Some(frame)) => ReaderMessage::Frame(frame, slices.fraction()),
                Ok(None) => break,
                Err(e) => ReaderMessage::Failed(e.to_string()),
            };
            let is_end = matches!(message, ReaderMessage::Failed(_));
            // The receiver is dropped when another document is opened.
            if sender.send(message).is_err() || is_end {
                break;
            }
            wake();
        }
    };
    std::thread::Builder::new().name("playback".into()).spawn(read).map_err(|e| format!("playback thread: {e}"))?;
    Ok(receiver)
}

impl Playback {
    /// Starts the reader thread. `wake` is called after every slice. Fails if the streams cannot be opened.
    pub fn read(opened: &OpenedRun, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let slices = read(&opened.run, opened.schema.probes, wake)?;
        let manifest = &opened.run.manifest;
        Ok(Self {
            folder: opened.run.path.clone(),
            trial: opened.trial.clone(),
            epoch: 0,
            first: manifest.first_step,
            last: manifest.last_step,
            fraction: 0.0,
            error: None,
            slices,
            run: opened.run.clone(),
            probes: opened.schema.probes,
            sets: opened.schema.sets.clone(),
            again: None,
        })
    }

    /// Returns the build context of the simulation, with the recorded kernel choices.
    pub fn build_context(&self, project: &Project) -> BuildContext {
        self.run.build_context(project)
    }

    /// Returns the reason why project and log of the run do not reproduce it; `None` if they reproduce it.
    pub fn why_not_rerun(&self) -> Option<&'static str> {
        let manifest = &self.run.manifest;
        match () {
            () if manifest.parent.is_some() => Some("A branch begins in a state of another run: use Replay"),
            () if manifest.seed != manifest.setup_seed => Some("A trial has a random seed of its own: use Replay"),
            () => None,
        }
    }

    /// Returns the step of the run's last checkpoint at or before a step; `None` if there is no such checkpoint.
    pub fn checkpoint_before(&self, step: f64) -> Option<u64> {
        self.run.manifest.checkpoints.iter().map(|c| c.step).filter(|at| *at as f64 <= step).max()
    }

    /// Returns the folder that was opened: the series of the shown trial, or the single run.
    pub fn open_folder(&self) -> &Path {
        self.trial.as_ref().map_or(&self.folder, |trial| &trial.series)
    }

    /// Begins the opening of the chosen trial, of a series with these parameters at step 0; `None` if no trial is to be opened now.
    pub fn begin_trial(&mut self, model: &Model) -> Option<TrialToOpen> {
        let trials = self.trial.as_mut()?;
        let trial = trials.begin_opening()?;
        let (series, n_trials) = (trials.series.clone(), trials.n_trials);
        Some(TrialToOpen { series, trial, n_trials, model: model.clone(), sets: self.sets.clone() })
    }

    /// Returns the name of the opened folder.
    pub fn name(&self) -> String {
        self.open_folder().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Starts to read the run again for panels that were opened late. Returns these panels, which must be emptied before
    /// they are filled again. Has no effect while the run is being read; `waiting` then keeps the panels.
    pub fn read_again(&mut self, waiting: &mut Vec<String>, wake: impl Fn() + Send + 'static) -> Vec<String> {
        if waiting.is_empty() || self.fraction < 1.0 || self.again.is_some() {
            return vec![];
        }
        let panes = std::mem::take(waiting);
        match read(&self.run, self.probes, wake) {
            Ok(slices) => self.again = Some((panes.clone(), slices)),
            Err(error) => self.error = Some(error),
        }
        panes
    }

    /// Takes the frames for panels that were opened late, and the names of the panels.
    pub fn take_again(&mut self) -> (Vec<String>, Vec<Frame>) {
        let Some((panes, slices)) = &self.again else { return (vec![], vec![]) };
        let (panes, since, mut frames) = (panes.clone(), Instant::now(), vec![]);
        let mut is_over = false;
        while since.elapsed() < TIME_PER_FRAME && frames.len() < AHEAD {
            match slices.try_recv() {
                Ok(ReaderMessage::Frame(frame, fraction)) => {
                    is_over = fraction >= 1.0;
                    frames.push(frame);
                }
                Ok(ReaderMessage::Failed(error)) => (self.error, is_over) = (Some(error), true),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    is_over = true;
                    break;
                }
            }
        }
        if is_over {
            self.again = None;
        }
        (panes, frames)
    }

    /// Takes the frames read since the last call, for at most `TIME_PER_FRAME`.
    pub fn take(&mut self) -> Vec<Frame> {
        let (since, mut frames) = (Instant::now(), vec![]);
        while since.elapsed() < TIME_PER_FRAME && frames.len() < AHEAD {
            match self.slices.try_recv() {
                Ok(ReaderMessage::Frame(frame, fraction)) => {
                    self.fraction = fraction;
                    frames.push(frame);
                }
                Ok(ReaderMessage::Failed(error)) => self.error = Some(error),
                Err(_) => break,
            }
        }
        frames
    }
}
