//! State of a run at one of its checkpoints, from which it can be resumed, branched or queried.

use super::{
    CheckpointFile, CheckpointInfo, Project, RunFolder,
    checkpoint_file::Directory,
    diff, file, input_data,
    manifest::{FileInfo, Stream},
    recorded_files::{RecordedFiles, recorded_info},
    run::{COMMANDS, PROJECT},
    run_file,
};
use crate::{
    engine::{CommandHistory, LoggedCommand},
    sim::{ProbeSpec, Progress, SimError, Snapshot, Tap, TapArgs},
};
use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

/// State of a run at one of its checkpoints.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// Project at the beginning of the run.
    pub project: Project,
    /// Commands between the beginning and the checkpoint.
    pub history: CommandHistory,
    /// Project with the parameters in effect at the checkpoint.
    pub now: Project,
    /// Checkpoint with its directory.
    pub file: CheckpointFile,
    /// Entry of the checkpoint in the manifest.
    pub info: CheckpointInfo,
    /// State of the simulation.
    pub snapshot: Arc<Snapshot>,
    /// Difference between the project in the folder and the recorded project; `None` if both are equal.
    pub edited: Option<String>,
    /// Reasons for which newer checkpoints are not used.
    pub notes: Vec<String>,
}

impl Continuation {
    /// Returns messages about the checkpoint for commands that use its state with the recorded project.
    pub fn messages(&self) -> Vec<String> {
        let edited = self.edited.iter().map(|what| format!("{what}; the recorded project is used"));
        self.notes.iter().cloned().chain(edited).collect()
    }
}

/// Returns the tap of a stream; `None` if the kind has no such probe or the arguments are invalid.
pub(super) fn tap_of(stream: &Stream, probes: &[ProbeSpec]) -> Option<Tap> {
    let probe = probes.iter().position(|p| p.name == stream.probe)?;
    let args = TapArgs::parse(&stream.args, probes[probe].args).ok()?;
    Some(Tap { probe: probe as u16, elements: stream.elements.clone(), args, ..Tap::default() })
}

impl RunFolder {
    /// Returns the recorded taps. Their elements are numbered as at step `step`.
    pub fn taps(&self, probes: &[ProbeSpec], step: u64) -> Vec<Tap> {
        let mut taps: Vec<Tap> = vec![];
        for stream in self.manifest.streams.iter().filter(|stream| stream.from_step <= step) {
            let Some(tap) = tap_of(stream, probes) else { continue };
            match taps.iter_mut().find(|t| t.key() == tap.key()) {
                Some(known) => *known = tap,
                None => taps.push(tap),
            }
        }
        taps
    }

    /// Opens a checkpoint of the run and verifies its directory. Fails if the directory differs from that in the manifest.
    pub fn checkpoint(&self, info: &CheckpointInfo) -> io::Result<CheckpointFile> {
        let path = run_file::inside(&self.path, &info.file)?;
        let file = CheckpointFile::open(&path)?;
        if file.hash == info.hash {
            return Ok(file);
        }
        let what = format!("{} is not the checkpoint that the run wrote", path.display());
        Err(io::Error::new(ErrorKind::InvalidData, what))
    }

    /// Returns the step of the checkpoint with the lowest result; `None` if the run keeps no such checkpoint.
    pub fn best_step(&self) -> Option<u64> {
        let best = |info: &&CheckpointInfo| info.best_value().is_some();
        self.manifest.checkpoints.iter().rev().find(best).map(|info| info.step)
    }

    /// Reads the last checkpoint, or the last one at or before step `up_to`. All hashes are verified; damaged checkpoints are
    /// skipped with a note. Fails if no checkpoint is usable.
    pub fn continuation(&self, up_to: Option<u64>, progress: &Progress) -> Result<Continuation, SimError> {
        let all = &self.manifest.checkpoints;
        let mut damaged = vec![];
        for info in all.iter().rev().filter(|c| up_to.is_none_or(|step| c.step <= step)) {
            match self.read_state(info, progress) {
                Ok((file, snapshot)) => {
                    let note = |why: &String| format!("{why}; the checkpoint of step {} is used", info.step);
                    let notes = damaged.iter().map(note).collect();
                    return self.continue_at(info, file, snapshot, notes, progress);
                }
                Err(SimError::Input(why)) => damaged.push(format!("the checkpoint of step {}: {why}", info.step)),
                Err(other) => return Err(other),
            }
        }
        let why = match (all.first(), up_to) {
            _ if !damaged.is_empty() => damaged.join("; "),
            (Some(first), Some(step)) => format!("its first one is at step {}, after step {step}", first.step),
            _ => "it has none; record with `--checkpoint-every` or a final checkpoint".to_owned(),
        };
        Err(SimError::Input(format!("{} has no usable checkpoint: {why}", self.path.display())))
    }

    fn read_state(&self, info: &CheckpointInfo, progress: &Progress) -> Result<(CheckpointFile, Snapshot), SimError> {
        let file = self.checkpoint(info).map_err(|e| SimError::Input(e.to_string()))?;
        let snapshot = read(&file, info.n_bytes, progress)?;
        Ok((file, snapshot))
    }

    /// Returns the state of the run at a checkpoint whose snapshot was read. Fails if the project, the log or the input
    /// data are invalid or have changed.
    fn continue_at(
        &self,
        info: &CheckpointInfo,
        file: CheckpointFile,
        snapshot: Snapshot,
        notes: Vec<String>,
        progress: &Progress,
    ) -> Result<Continuation, SimError> {
        let directory = &file.directory;
        if directory.has_hashes() {
            let recorded = RecordedFiles::until(self, directory);
            recorded.verify(&self.path, COMMANDS, progress).map_err(input)?;
        }
        let (project, edited) = self.recorded_project(directory)?;
        let mut commands = self.commands().map_err(input)?;
        commands.truncate(directory.n_logged as usize);
        let mut now = project.clone();
        for (_, command) in &commands {
            if let Some(change) = command.change() {
                now.model.params_mut().set(change);
            }
        }
        self.verify_data(&commands, &now, progress)?;
        let history = CommandHistory { params: project.model.params().snapshot(), commands };
        let (info, snapshot) = (info.clone(), Arc::new(snapshot));
        Ok(Continuation { project, history, now, file, info, snapshot, edited, notes })
    }

    /// Returns the recorded project, and its difference from the project in the folder, in which comments and layout may
    /// differ. Checkpoints of older versions contain no project, so the project in the folder is used. Fails if no project
    /// can be read.
    fn recorded_project(&self, directory: &Directory) -> Result<(Project, Option<String>), SimError> {
        let (path, found) = (self.path.join(PROJECT), self.project());
        let mut project = match directory.project.as_str() {
            "" => found.clone(),
            text => file::read(text).map(|(project, _)| project),
        }
        .map_err(|e| SimError::Input(e.to_string()))?;
        let mut differences: Vec<String> = match &found {
            Ok(found) => diff(&project, found).iter().map(ToString::to_string).collect(),
            Err(why) => vec![why.what.clone()],
        };
        let has_changed = |closed: FileInfo| {
            run_file::hash_file(&path, &mut |_| true).map(|(_, hash)| hash != closed.hash).map_err(input)
        };
        if directory.project.is_empty() && recorded_info(self, PROJECT).map_or(Ok(false), has_changed)? {
            differences.push("it was changed after the run was closed".to_owned());
        }
        let seed = self.manifest.seed;
        if project.seed != seed {
            differences.push(format!("its seed is {}, that of the run {seed}", project.seed));
        }
        if directory.project.is_empty() {
            project.seed = seed;
        }
        let what = || format!("{} is not what was recorded: {}", path.display(), differences.join(", "));
        Ok((project, (!differences.is_empty()).then(what)))
    }

    /// Fails if the input data in effect have changed since the run read them.
    fn verify_data(
        &self,
        commands: &[(u64, LoggedCommand)],
        now: &Project,
        progress: &Progress,
    ) -> Result<(), SimError> {
        for (i, (_, command)) in commands.iter().enumerate() {
            let LoggedCommand::Data(change, hash) = command else { continue };
            let is_last = commands[i + 1..].iter().all(|(_, c)| c.change().is_none_or(|later| later.id != change.id));
            if is_last {
                input_data::verify(&now.model, &self.build_context(now), (change, hash), progress)?;
            }
        }
        Ok(())
    }
}

fn input(error: io::Error) -> SimError {
    match error.kind() {
        ErrorKind::Interrupted => SimError::Cancelled,
        _ => SimError::Input(error.to_string()),
    }
}

/// Reads the state of a checkpoint file of `n_bytes` bytes and reports progress. Fails if the file is damaged or `progress`
/// cancels.
pub(super) fn read(file: &CheckpointFile, n_bytes: u64, progress: &Progress) -> Result<Snapshot, SimError> {
    let mut n_read = 0;
    let mut report = |n: u64| {
        n_read += n;
        progress.report("reading the checkpoint", n_read as f32 / n_bytes.max(1) as f32).is_ok()
    };
    file.read(&mut report).map_err(input)
}
