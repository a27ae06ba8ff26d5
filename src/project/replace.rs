//! Prepares a folder for a new run. Only an older run in the folder is removed. A file is deleted only if the writer uses
//! names of its form, and if the lock file proves the run's origin or the kind of the run has such a probe.

use super::{
    Manifest, RunFolder, Stream, atomic_file,
    folder::trial_folder,
    lock::{self, RunLock},
    manifest::{FileInfo, file_name},
    parent::PARENT_STATE,
    run::{COMMANDS, EXPORTS, LOCK, MANIFEST, PROJECT, RATES, TIMINGS, TRIALS, at},
    run_file,
    sets::TABLE,
    unlisted::{remove, remove_unlisted},
};
use crate::kinds::Model;
use std::{
    ffi::OsString,
    fs,
    io::{self, ErrorKind},
    path::Path,
};

/// Locks a folder for a run: a new or empty folder, or one with an older run, which is removed. Fails for any other folder.
pub(super) fn prepare_folder(folder: &Path) -> io::Result<RunLock> {
    fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    if !is_usable(folder)? {
        let what = format!("{} is not empty and not a run; choose another folder", folder.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, what));
    }
    let lock = RunLock::acquire(folder)?;
    if run_file::size_of(&folder.join(MANIFEST)).is_some() {
        clear(&RunFolder::open(folder)?).map_err(|e| at(folder, &e))?;
    } else if let Some(name) = first_manifest(folder) {
        remove(folder, &name)?;
    }
    Ok(lock)
}

/// Whether a folder contains a run, or nothing except the remains of a run that was killed at its start. Fails if the
/// folder cannot be read.
fn is_usable(folder: &Path) -> io::Result<bool> {
    let first_manifest = first_manifest(folder);
    let mut names = fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten().map(|entry| entry.file_name());
    let is_ours = |name: OsString| name == LOCK || first_manifest.as_ref().is_some_and(|first| name == first.as_str());
    Ok(names.all(is_ours) || RunFolder::open(folder).is_ok())
}

/// Returns the name of the temporary file that becomes the first manifest of the run in the lock file; `None` without a valid
/// lock file.
fn first_manifest(folder: &Path) -> Option<String> {
    lock::read(folder).map(|lock| atomic_file::temporary_name(MANIFEST, lock.process))
}

/// Removes the files of a run, the manifest last. Fails if a file cannot be removed.
pub(super) fn clear(run: &RunFolder) -> io::Result<()> {
    let folder = &run.path;
    clear_trials(folder)?;
    clear_exports(folder)?;
    let is_signed = is_signed(folder, &run.manifest);
    let probes = Model::by_name(&run.manifest.kind).map_or(&[][..], |model| model.probes());
    for stream in &run.manifest.streams {
        let is_ours = is_signed || probes.iter().any(|p| p.name == stream.probe);
        if is_ours && is_stream_file(stream) {
            remove(folder, &stream.file)?;
        }
    }
    for set in &run.manifest.sets {
        let is_of_set = |stem: &str| is_segment_of(&format!("{}.u64", set.name), '-', &format!("{stem}.u64"));
        for (file, end) in [(&set.ids, ".u64"), (&set.table, TABLE)] {
            if file.strip_suffix(end).is_some_and(is_of_set) {
                remove(folder, file)?;
            }
        }
    }
    remove_unlisted(folder, &run.manifest, probes, |_| false)?; // this call also removes every checkpoint
    if run.manifest.parent.as_ref().is_some_and(|parent| parent.copy == PARENT_STATE) {
        remove(folder, PARENT_STATE)?;
    }
    // The manifest is removed last, because without it the folder is not a run.
    [COMMANDS, TIMINGS, PROJECT, RATES, MANIFEST].iter().try_for_each(|name| remove(folder, name))
}

/// Whether a stream's file has its regular name: `rate.f32`, or `rate-2.f32` for a later segment of the tap.
fn is_stream_file(stream: &Stream) -> bool {
    let mark = if stream.args.is_empty() { '-' } else { '@' };
    file_name(stream).is_some_and(|expected| is_segment_of(&expected, mark, &stream.file))
}

/// Whether a name is the expected one, or differs from it by a mark and a number before the extension.
fn is_segment_of(expected: &str, mark: char, name: &str) -> bool {
    let segment = || {
        let (stem, extension) = expected.rsplit_once('.')?;
        let number = name.strip_prefix(stem)?.strip_prefix(mark)?.strip_suffix(extension)?.strip_suffix('.')?;
        number.parse::<u32>().ok()
    };
    name == expected || segment().is_some()
}

/// Whether the lock file proves that this program wrote the manifest.
fn is_signed(folder: &Path, manifest: &Manifest) -> bool {
    !manifest.id.is_empty() && lock::read(folder).is_some_and(|lock| lock.id == manifest.id)
}

/// Removes the trials of a run. Only existing folders are listed, because a manifest may claim any number of trials. Fails
/// if a file cannot be removed.
fn clear_trials(folder: &Path) -> io::Result<()> {
    let trials = folder.join(TRIALS);
    if !fs::symlink_metadata(&trials).is_ok_and(|m| m.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(&trials)?.flatten() {
        let path = entry.path();
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let is_trial = number.is_some_and(|k| trial_folder(folder, k) == path);
        if !is_trial || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if let Ok(trial) = RunFolder::open(&path)
            && trial.manifest.trials == 0
        {
            let lock = RunLock::acquire(&path)?;
            clear(&trial)?;
            drop(lock);
            remove(&path, LOCK)?;
            fs::remove_dir(&path).ok();
        }
    }
    fs::remove_dir(&trials).ok();
    Ok(())
}

/// Removes unchanged exports of the old run, which would be mistaken for exports of the new data. Fails if a file cannot be
/// removed.
fn clear_exports(folder: &Path) -> io::Result<()> {
    for export in super::exports(folder) {
        let Ok(path) = run_file::inside(folder, &export.name) else { continue };
        if run_file::fingerprint(&path).is_ok_and(|found| found == (export.n_bytes, export.hash)) {
            if path.is_dir() {
                fs::remove_dir_all(&path).map_err(|e| at(&path, &e))?;
            }
            remove(folder, &export.name)?;
        }
    }
    remove(folder, EXPORTS)
}

/// Returns the exports listed in a run folder; empty if there is no valid list.
pub fn exports(folder: &Path) -> Vec<FileInfo> {
    let text = run_file::read_text(&folder.join(EXPORTS), 1 << 20).unwrap_or_default();
    super::from_ron(&text).unwrap_or_default()
}

/// Adds exports with their hashes to the list in a run folder. Files outside the folder are omitted. Fails if the list
/// cannot be written.
pub fn list_exports(folder: &Path, files: &[std::path::PathBuf]) -> io::Result<()> {
    let mut list = exports(folder);
    for path in files.iter().filter(|path| path.parent() == Some(folder)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let (n_bytes, hash) = run_file::fingerprint(path)?;
        list.retain(|known| known.name != name);
        list.push(FileInfo { name: name.to_owned(), n_bytes, hash });
    }
    let text = super::to_ron(&list).map_err(io::Error::other)?;
    super::atomic_file::replace(&folder.join(EXPORTS), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_writer_are_stream_files() {
        let stream = |probe: &str, args: &str, shape: &str, file: &str| Stream {
            probe: probe.into(),
            args: args.into(),
            shape: shape.into(),
            file: file.into(),
            ..Stream::default()
        };
        let is_rate = |file: &str| is_stream_file(&stream("rate", "", "series", file));
        assert!(is_rate("rate.f32") && is_rate("rate-12.f32"));
        for name in ["thesis.tex", "rate.u32", "rate-x.f32", "rate-.f32", "rate.f32-2", "rate-2f32", "../rate.f32"] {
            assert!(!is_rate(name), "{name}");
        }
        let is_map = |file: &str| is_stream_file(&stream("map", "head=3", "matrix", file));
        assert!(is_map("map@head=3.f32") && is_map("map@head=3@2.f32"));
        assert!(!is_map("map.f32") && !is_map("map@head=3-2.f32") && !is_map("map@head=4.f32"));
        assert!(!is_stream_file(&stream("../x", "", "", "../x")));
    }
}
