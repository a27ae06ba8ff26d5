//! Continues a run that ended: lock, read, verify, write the manifest as running, cut the files. Until the files are
//! cut, a failure leaves the run unchanged; if the process is killed later, the run can be resumed again.

use super::{
    Manifest, RunFolder, RunStart, RunWriter, Status, Stream,
    append_file::AppendFile,
    checkpoint_file::Directory,
    checkpoints::Checkpoints,
    continuation::{Continuation, tap_of},
    lock::{self, RunLock},
    manifest::{FileInfo, record_bytes},
    provenance,
    recorded_files::verify_until,
    run::{self, COMMANDS, PROJECT, TIMINGS, at},
    run_file::{self, Hash},
    sets::SetInfo,
    unlisted::{remove, remove_unlisted},
    writer::{StreamFile, save_manifest},
};
use crate::{
    engine::LoggedCommand,
    sim::{Clock, ProbeSpec, Progress, SimError, Tap},
};
use std::{
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom},
    path::Path,
    time::{Duration, Instant},
};

/// Run that this process has locked, so that no other process writes it.
pub struct LockedRun {
    /// Contents of the run folder.
    pub run: RunFolder,
    lock: RunLock,
}

impl LockedRun {
    /// Locks a run, then reads it.
    ///
    /// # Errors
    /// Fails if the folder contains no readable run, or if a process is writing the run.
    pub fn open(folder: &Path) -> io::Result<Self> {
        RunFolder::open(folder)?; // This call fails without a run, before `acquire` creates a lock file.
        let lock = RunLock::acquire(folder).map_err(|e| match e.kind() {
            ErrorKind::ResourceBusy => {
                let process = lock::read(folder).map_or_else(String::new, |p| format!(" by process {}", p.process));
                io::Error::new(e.kind(), format!("{} is still being written{process}", folder.display()))
            }
            _ => e,
        })?;
        Ok(Self { run: RunFolder::open_locked(folder)?, lock })
    }

    /// Reads the last usable checkpoint and verifies every file up to the checkpoint.
    ///
    /// # Errors
    /// Fails if no checkpoint is usable, with the first difference in manifest, recorded files, project or input files, and with
    /// [`SimError::Cancelled`].
    pub fn verify(self, progress: &Progress) -> Result<VerifiedRun, SimError> {
        let Self { run, lock } = self;
        if run.manifest_matches == Some(false) {
            let path = run.path.join(run::MANIFEST);
            let way = "restore it; if the change is meant, remove the line with its hash";
            return Err(SimError::Input(format!(
                "{} is not what was written: its hash differs; {way}",
                path.display()
            )));
        }
        let from = run.continuation(None, progress)?;
        if let Some(what) = &from.edited {
            let way = "restore it to continue the run; `--branch` begins a run with other parameters at a checkpoint";
            return Err(SimError::Input(format!("{what}; {way}")));
        }
        let is_in_effect = |parameter: &str| {
            let params = from.now.model.params();
            let replaces = |c: &LoggedCommand| matches!(c, LoggedCommand::Data(d, _) if params.path(d.id) == parameter);
            !from.history.commands.iter().any(|(_, command)| replaces(command))
        };
        let mut inputs = run.manifest.data.iter().filter(|file| is_in_effect(&file.parameter));
        if let Some(what) = inputs.find_map(provenance::difference) {
            let way = "restore the file to continue the run, or begin another one";
            return Err(SimError::Input(format!("{what} since the run read it; {way}")));
        }
        let files = verify_until(&run, &from.file.directory, progress).map_err(|e| match e.kind() {
            ErrorKind::Interrupted => SimError::Cancelled,
            _ => SimError::Input(format!(
                "{e}; restore the file to continue the run; `--branch` begins another one at a checkpoint"
            )),
        })?;
        Ok(VerifiedRun { run, from, lock, files })
    }
}

/// Locked run whose files were verified up to its last usable checkpoint.
pub struct VerifiedRun {
    /// Contents of the run folder.
    pub run: RunFolder,
    /// State at the checkpoint.
    pub from: Continuation,
    lock: RunLock,
    /// Length and hash of each file at the checkpoint.
    files: Vec<(FileInfo, Hash)>,
}

impl VerifiedRun {
    /// Opens a file for appending at its length at the checkpoint. Fails if the checkpoint does not list the
    /// file or the file cannot be opened.
    fn reopen(&self, name: &str) -> io::Result<AppendFile> {
        let Some((info, hash)) = self.files.iter().find(|(info, _)| info.name == name) else {
            let what = format!("the checkpoint of step {} does not know {name}", self.from.info.step);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        };
        AppendFile::reopen(&self.run.path, name, info.n_bytes, hash.clone())
    }
}

impl RunWriter {
    /// Continues a run from its checkpoint by cutting its files to their lengths at the checkpoint. `start` provides sets,
    /// device, number of threads and checkpoint plan; project, probes and command are those of the run. Fails if a file cannot
    /// be written; the run can then be resumed again.
    pub fn resume(verified: VerifiedRun, start: &RunStart<'_>) -> io::Result<Self> {
        let (run, directory) = (&verified.run, &verified.from.file.directory);
        let folder = run.path.clone();
        let project = run.project().map_err(io::Error::other)?;
        let probes = project.model.probes();
        let mut manifest = running_manifest(run, directory, start);
        let (files, segments) = reopen_streams(&verified, &mut manifest, probes)?;
        let (commands, timings) = (verified.reopen(COMMANDS)?, verified.reopen(TIMINGS)?);
        let written = unchanging_files(&folder, &manifest)?;
        manifest.files.clone_from(&written);
        let is_known = |name: &str| directory.length(name).is_some() || lists(&run.manifest, name);
        remove_unlisted(&folder, &run.manifest, probes, is_known)?;
        let later = later_files(&run.manifest, &manifest);
        let (earlier_s, taps) = (manifest.wall_s, run.taps(probes, directory.step));
        // Runs of older versions contain only the wall time.
        let earlier_computed_s = if manifest.computed_s > 0.0 { manifest.computed_s } else { earlier_s };
        let (step, sets) = (directory.step, start.sets.to_vec());
        let checkpoints = Checkpoints::of(start.project, run.trial.is_some()).resumed_at(step, verified.from.info.best);
        let mut writer = Self {
            folder,
            lock: verified.lock,
            manifest,
            project,
            probes,
            sets,
            taps,
            files,
            segments,
            written,
            commands,
            timings,
            started: Instant::now(),
            earlier_s,
            earlier_computed_s,
            computed_at_start: Duration::ZERO,
            ran_secs: None,
            beginning: None,
            buffer: vec![],
            checkpoints,
        };
        writer.begin_to_continue(step, &later)?;
        Ok(writer)
    }

    /// Writes the manifest as running, removes files that began after the checkpoint, and cuts the others. Fails if a file
    /// cannot be written.
    fn begin_to_continue(&mut self, step: u64, later: &[String]) -> io::Result<()> {
        let before = self.lock.content()?;
        match self.manifest.id.is_empty() {
            true => self.manifest.id.clone_from(&self.lock.id), // the run is of an older version
            false => self.lock.id.clone_from(&self.manifest.id),
        }
        let streams = self.files.iter().chain(&self.segments);
        let names: Vec<_> = streams.map(|f| (f.file.name(), f.file.n_bytes)).collect();
        let begun = self
            .lock
            .begin_again(step, &names, later)
            .and_then(|()| save_manifest(&self.folder, &self.manifest))
            .inspect_err(|_| self.lock.restore(&before));
        begun?;
        later.iter().try_for_each(|name| remove(&self.folder, name))?;
        let streams = self.files.iter().chain(&self.segments).map(|stream| &stream.file);
        streams.chain([&self.commands, &self.timings]).try_for_each(AppendFile::cut_rest)?;
        self.lock.all_are_listed();
        self.write_progress(step)
    }

    /// Begins the recording of a run that continues. Fails if the simulation is not at the checkpoint or the lock file cannot
    /// be written.
    pub(super) fn begin_again(&mut self, clock: Clock) -> io::Result<()> {
        if self.checkpoints.resumed_at != Some(clock.step) {
            return Err(io::Error::other(format!("the simulation is at step {}, not at the checkpoint", clock.step)));
        }
        self.started = Instant::now();
        self.write_progress(clock.step)
    }
}

/// Returns the manifest of a run that continues at a checkpoint, without later data.
fn running_manifest(run: &RunFolder, directory: &Directory, start: &RunStart<'_>) -> Manifest {
    let mut manifest = run.manifest.clone();
    manifest.streams.retain(|stream| directory.length(&stream.file).is_some());
    // Removes sets that changed after the checkpoint. Checkpoints of older versions do not list the files of sets.
    let lists_sets = directory.length(PROJECT).is_some();
    manifest.sets.retain(|set| match lists_sets && !set.ids.is_empty() {
        true => directory.length(&set.ids).is_some(),
        false => set.from_step <= directory.step,
    });
    manifest.checkpoints.retain(|info| info.step <= directory.step);
    manifest.digest = crate::sim::Digest::default();
    (manifest.status, manifest.stopped, manifest.last_step) = (Status::Running, String::new(), directory.step);
    (manifest.app, manifest.device, manifest.threads) = (run::app_version(), start.device.clone(), start.threads);
    manifest.resumed.push((directory.step, run::now_utc()));
    manifest.not_verified_before = match directory.has_hashes() {
        true => manifest.not_verified_before.min(directory.step),
        false => directory.step,
    };
    manifest
}

/// Opens the streams of a manifest at the checkpoint. Returns the growing files and the complete segments. Fails if a file
/// cannot be opened.
fn reopen_streams(
    verified: &VerifiedRun,
    manifest: &mut Manifest,
    probes: &[ProbeSpec],
) -> io::Result<(Vec<StreamFile>, Vec<StreamFile>)> {
    let (mut files, mut segments) = (vec![], vec![]);
    for (i, stream) in manifest.streams.iter_mut().enumerate() {
        let tap = tap_of(stream, probes).unwrap_or_else(|| Tap::of(u16::MAX));
        let file = verified.reopen(&stream.file)?;
        let last_step = last_step(stream, &file)?;
        (stream.n_bytes, stream.hash) = (0, String::new());
        let next = StreamFile { tap: tap.clone(), stream: i, file, last_step };
        // Only the last segment of a tap grows.
        match files.iter_mut().find(|f: &&mut StreamFile| f.tap.key() == tap.key()) {
            Some(last) => segments.push(std::mem::replace(last, next)),
            None => files.push(next),
        }
    }
    Ok((files, segments))
}

/// Returns the hashes of the files that no longer change: project and sets. Fails if a file cannot be read.
fn unchanging_files(folder: &Path, manifest: &Manifest) -> io::Result<Vec<FileInfo>> {
    let of_sets = manifest.sets.iter().flat_map(set_files).cloned();
    let hashed = |name: String| {
        let (n_bytes, hash) = run_file::hash_file(&run_file::inside(folder, &name)?, &mut |_| true)?;
        Ok(FileInfo { name, n_bytes, hash })
    };
    std::iter::once(PROJECT.to_owned()).chain(of_sets).map(hashed).collect()
}

fn set_files(set: &SetInfo) -> impl Iterator<Item = &String> {
    [&set.ids, &set.table].into_iter().filter(|name| !name.is_empty())
}

/// Iterates over the file names of streams, sets and checkpoints.
fn names(manifest: &Manifest) -> impl Iterator<Item = &String> {
    let streams = manifest.streams.iter().map(|stream| &stream.file);
    let checkpoints = manifest.checkpoints.iter().map(|info| &info.file);
    streams.chain(manifest.sets.iter().flat_map(set_files)).chain(checkpoints)
}

fn lists(manifest: &Manifest, name: &str) -> bool {
    names(manifest).any(|known| known == name)
}

/// Returns the files that the earlier manifest lists and the continuing manifest does not.
fn later_files(before: &Manifest, now: &Manifest) -> Vec<String> {
    names(before).filter(|name| !lists(now, name)).cloned().collect()
}

/// Reads the step of the last record in a stream of fields or matrices; `None` for other shapes and an empty file. Fails if
/// a file cannot be read.
fn last_step(stream: &Stream, file: &AppendFile) -> io::Result<Option<u64>> {
    let is_state = matches!(stream.shape.as_str(), "field" | "matrix");
    let record = record_bytes(stream).filter(|n| is_state && file.n_bytes >= *n);
    let Some(record) = record else { return Ok(None) };
    let mut step = [0; 8];
    let mut source = run_file::open_regular(&file.path)?;
    let read = source.seek(SeekFrom::Start(file.n_bytes - record)).and_then(|_| source.read_exact(&mut step));
    read.map_err(|e| at(&file.path, &e))?;
    Ok(Some(u64::from_le_bytes(step)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{Checkpoint, RecordingEnd, Sink as _},
        project::{
            append_file::stop,
            atomic_file,
            check::{Finding, check},
            run::MANIFEST,
            unlisted::tests::{create, first_part, resume, second_part},
        },
        sim::Snapshot,
    };
    use neuropil_test_support::temp::TempFolder;
    use std::{collections::BTreeMap, fs, sync::Arc};

    /// Writes a complete run whose last checkpoint is followed by a command and a further file.
    fn complete(folder: &Path) {
        let mut writer = create(folder).unwrap();
        writer.log(3, &LoggedCommand::Rewind).unwrap();
        first_part(&mut writer).unwrap();
        writer.log(12, &LoggedCommand::Rewind).unwrap();
        second_part(writer).unwrap();
    }

    fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        files.map(|f| (f.file_name().into_string().unwrap(), fs::read(f.path()).unwrap())).collect()
    }

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        contents(from).iter().for_each(|(name, bytes)| fs::write(to.join(name), bytes).unwrap());
    }

    fn is_sound(folder: &Path) -> bool {
        let run = RunFolder::open(folder).unwrap();
        check(&run, &Progress::default()).unwrap().iter().all(|file| !file.is_damaged())
    }

    #[test]
    fn a_run_that_cannot_be_continued_stays_as_it_is() {
        let folder = TempFolder::new("stays");
        complete(&folder);
        let before = contents(&folder);
        // A folder in place of the temporary file prevents writing the manifest, as a full disk would.
        let part = folder.join(atomic_file::temporary_name(MANIFEST, std::process::id()));
        fs::create_dir(&part).unwrap();
        assert!(resume(&folder).is_err());
        fs::remove_dir(&part).unwrap();
        assert_eq!(contents(&folder), before);
        second_part(resume(&folder).unwrap()).unwrap();
        assert!(is_sound(&folder));
    }

    /// A run whose process is killed at any point of continuing is consistent and can be continued.
    #[test]
    fn a_run_killed_while_it_is_cut_is_continued() {
        let temp = TempFolder::new("cut");
        let whole = temp.join("whole");
        complete(&whole);
        let expected: Vec<String> = contents(&whole).into_keys().collect();
        let mut n_kills = 0;
        for n_files in 0.. {
            let killed = temp.join(format!("killed-{n_files}"));
            copy(&whole, &killed);
            stop::after(Some(n_files));
            let begun = resume(&killed);
            stop::after(None);
            assert!(is_sound(&killed), "after {n_files} files");
            if begun.is_ok() {
                break;
            }
            n_kills += 1;
            second_part(resume(&killed).unwrap()).unwrap();
            assert_eq!(contents(&killed).into_keys().collect::<Vec<_>>(), expected, "after {n_files} files");
            assert!(is_sound(&killed) && RunFolder::open(&killed).unwrap().is_complete());
        }
        assert!(n_kills > 4, "{n_kills}");
    }

    /// If a process is killed before its last manifest, every checkpoint in the previous manifest exists.
    #[test]
    fn a_checkpoint_is_removed_when_no_manifest_lists_it() {
        let folder = TempFolder::new("rotated");
        let mut writer = create(&folder).unwrap();
        for step in 1..=4 {
            let snapshot = Arc::new(Snapshot { model: "nuclei".into(), sections: vec![] });
            let clock = Clock { step, ..Clock::default() };
            writer.checkpoint(Checkpoint { snapshot, clock, ..Checkpoint::default() }).unwrap();
        }
        let part = folder.join(atomic_file::temporary_name(MANIFEST, std::process::id()));
        fs::create_dir(&part).unwrap();
        let end = RecordingEnd { clock: Clock { step: 20, ..Clock::default() }, ..RecordingEnd::default() };
        assert!(Box::new(writer).finish(&end).is_err());
        let run = RunFolder::open(&folder).unwrap();
        assert_eq!(run.manifest.checkpoints.len(), 3);
        assert!(is_sound(&folder));
    }

    /// Lengths and hashes of growing files differ from those when the run was closed before.
    #[test]
    fn a_run_killed_after_it_was_continued_is_not_called_damaged() {
        let folder = TempFolder::new("killed-again");
        complete(&folder);
        let mut writer = resume(&folder).unwrap();
        writer.log(11, &LoggedCommand::Rewind).unwrap();
        drop(writer);
        let run = RunFolder::open(&folder).unwrap();
        assert_eq!(run.manifest.status, Status::Unclosed);
        let files = check(&run, &Progress::default()).unwrap();
        let of = |name: &str| files.iter().find(|file| file.name == name).map(|file| &file.finding).unwrap();
        assert!(matches!(of(COMMANDS), Finding::IntactUntil { step: 10, .. }), "{files:?}");
        assert_eq!(of(PROJECT), &Finding::Intact);
        assert!(is_sound(&folder), "{files:?}");
        let mut text = fs::read(folder.join(COMMANDS)).unwrap();
        text[5] ^= 1;
        fs::write(folder.join(COMMANDS), text).unwrap();
        assert!(!is_sound(&folder), "before the checkpoint");
    }
}
