//! Continues the safety recording of the same simulation in a new recording, so that the run contains all steps since the first
//! step of the safety recording.

use super::{
    RunFolder, RunWriter, Status,
    append_file::AppendFile,
    continuation::tap_of,
    manifest::FileInfo,
    run::{PROJECT, at},
    run_file,
    unlisted::remove,
    writer::StreamFile,
};
use crate::{
    engine::RecordingStart,
    sim::{Level, Tap},
};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Size of copied blocks, bytes.
const COPY_BLOCK: usize = 1 << 20;

impl RunWriter {
    /// Continues the data in `folder` if they end at the start of the recording. The folder is then removed.
    #[must_use]
    pub fn with_beginning(mut self, folder: Option<PathBuf>) -> Self {
        self.beginning = folder;
        self
    }

    /// Adds the taps that are needed to continue the data of the beginning.
    pub fn join_taps(taps: &mut Vec<Tap>, beginning: &[Tap]) {
        taps.extend(
            beginning.iter().filter(|tap| !taps.iter().any(|t| t.has_key(&tap.key()))).cloned().collect::<Vec<_>>(),
        );
    }

    /// Returns the safety recording if its data end at step `step`; `None` otherwise.
    pub(super) fn take_beginning(&mut self, step: u64) -> Option<RunFolder> {
        let run = RunFolder::open(&self.beginning.take()?).ok()?;
        let m = &run.manifest;
        let fits = m.status == Status::Complete && m.kind == self.manifest.kind && m.last_step == step;
        fits.then_some(run)
    }

    /// Copies the data of the beginning and continues its streams. Taps that the beginning lacks start at the present step.
    /// Fails if a file cannot be copied.
    pub(super) fn begin_with(&mut self, beginning: &RunFolder, start: &RecordingStart) -> io::Result<()> {
        let m = &beginning.manifest;
        self.write_history(&start.history)?;
        self.manifest.n_history = m.n_history;
        (self.manifest.first_step, self.manifest.last_step) = (m.first_step, start.clock.step);
        (self.earlier_s, self.earlier_computed_s) = (m.wall_s, m.computed_s);
        self.manifest.started.clone_from(&m.started);
        self.copy_sets(beginning)?;
        let mut row = vec![];
        super::run_times::write(&mut row, start.clock.step, m.computed_s)?;
        self.timings.append(&row)?;
        let probes = self.probes;
        for stream in &m.streams {
            let Some(tap) = tap_of(stream, probes) else { continue };
            let file = self.copy(beginning, &stream.file)?;
            let next = StreamFile { tap, stream: self.manifest.streams.len(), file, last_step: None };
            self.manifest.streams.push(stream.clone());
            // Only the last segment of a tap grows.
            match self.files.iter_mut().find(|f| f.tap.key() == next.tap.key()) {
                Some(last) => self.segments.push(std::mem::replace(last, next)),
                None => self.files.push(next),
            }
        }
        let later = self.taps.clone();
        for tap in later.iter().filter(|tap| !self.files.iter().any(|f| f.tap.key() == tap.key())).collect::<Vec<_>>() {
            let names = start.lanes.iter().find(|(probe, _)| *probe == tap.probe).map_or(&[][..], |(_, names)| names);
            self.add_stream(tap, names, start.clock.step)?;
            let levels = start.levels.iter().find(|(probe, _)| *probe == tap.probe);
            if let Some(stream) = self.manifest.streams.last_mut() {
                stream.from_step = start.clock.step;
                stream.levels = levels.map_or_else(Vec::<Level>::new, |(_, levels)| levels.clone());
            }
        }
        self.list_files()?;
        self.write_progress(start.clock.step)?;
        fs::remove_dir_all(&beginning.path).ok(); // a remaining folder is offered for recovery at the next start
        Ok(())
    }

    /// Copies the original sets and their later versions. Fails if a file cannot be copied.
    fn copy_sets(&mut self, beginning: &RunFolder) -> io::Result<()> {
        let own: Vec<FileInfo> = self.written.extract_if(.., |file| file.name != PROJECT).collect();
        own.iter().try_for_each(|file| remove(&self.folder, &file.name))?;
        self.manifest.sets.clone_from(&beginning.manifest.sets);
        let names = self.manifest.sets.iter().flat_map(|set| [set.ids.clone(), set.table.clone()]);
        for name in names.filter(|name| !name.is_empty()).collect::<Vec<_>>() {
            let file = self.copy(beginning, &name)?.info();
            self.written.push(file);
        }
        Ok(())
    }

    /// Copies a file of the beginning. The recording may append to the copy. Fails if a file cannot be copied.
    fn copy(&mut self, beginning: &RunFolder, name: &str) -> io::Result<AppendFile> {
        let from = run_file::inside(&beginning.path, name)?;
        let (mut source, mut to) = (run_file::open_regular(&from)?, self.create_file(name, b"")?);
        let mut block = vec![0; COPY_BLOCK];
        loop {
            match source.read(&mut block).map_err(|e| at(&from, &e))? {
                0 => return Ok(to),
                n => to.append(&block[..n])?,
            }
        }
    }

    /// Returns the size of all files except checkpoints, bytes.
    pub(super) fn n_bytes(&self) -> u64 {
        let growing: u64 = self.growing().map(|file| file.n_bytes).sum();
        growing + self.written.iter().map(|file| file.n_bytes).sum::<u64>()
    }
}

/// Moves a safety recording to the runs of its project under the next number.
///
/// # Errors
/// Fails if the recording can be neither moved nor copied. A failed copy leaves the recording unchanged.
pub fn move_run(folder: &Path, runs: &Path, name: &str) -> io::Result<PathBuf> {
    let to = super::run::next_folder(runs, name)?;
    // A rename replaces an empty folder.
    if fs::rename(folder, &to).is_ok() {
        return Ok(to);
    }
    copy_folder(folder, &to)?;
    fs::remove_dir_all(folder).map_err(|e| at(folder, &e))?;
    Ok(to)
}

/// Copies the files and folders in `from` to the folder `to`. Fails if there is anything else, such as a link.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from).map_err(|e| at(from, &e))? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&copy).map_err(|e| at(&copy, &e))?;
            copy_folder(&path, &copy)?;
        } else if kind.is_file() {
            fs::copy(&path, &copy).map_err(|e| at(&path, &e))?;
        } else {
            return Err(at(&path, &io::Error::other("neither a file nor a folder")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn a_copied_run_has_its_subfolders() {
        let (from, to) = (TempFolder::new("copy-from"), TempFolder::new("copy-to"));
        fs::create_dir(from.join("a")).unwrap();
        fs::write(from.join("a/b.csv"), "1").unwrap();
        fs::write(from.join("c.ron"), "2").unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b.csv")).unwrap(), "1");
        assert_eq!(fs::read_to_string(to.join("c.ron")).unwrap(), "2");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("c.ron", from.join("link")).unwrap();
            copy_folder(&from, &TempFolder::new("copy-link")).unwrap_err();
        }
    }
}
