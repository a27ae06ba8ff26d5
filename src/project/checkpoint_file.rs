//! The file of a checkpoint: the sections of a snapshot, followed by their directory.
//!
//! ```text
//! NEUROPIL CHECKPOINT 1      64 bytes, padded with spaces
//! sections                   little-endian, each aligned to 64 bytes
//! directory                  RON: step, log entries, and name, type, shape, offset and XXH64 of every section
//! trailer                    offset, length and XXH64 of the directory, 8 bytes each, and `NPCKPEND`
//! ```
//!
//! A checkpoint is written in one pass from the memory of the snapshot. A file that was cut off has no trailer and is refused.

use super::{
    file,
    manifest::FileInfo,
    run::{app_version, at},
    run_file::{self, Hash},
};
use crate::{
    engine::{BestState, Checkpoint},
    sim::{
        Clock, Digest, Snapshot,
        snapshot::{ElementType, Section, n_bytes},
    },
};
use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

const HEAD: &[u8] = b"NEUROPIL CHECKPOINT 1\n";
const END: &[u8; 8] = b"NPCKPEND";
const ALIGN: u64 = 64;
const TRAILER: u64 = 32;
const FORMAT: u32 = 1;
/// Maximum size of a directory, bytes.
const MAX_DIRECTORY: u64 = 1 << 28;

/// Entry of a section in the directory.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SectionInfo {
    /// Name of the section.
    pub name: String,
    /// Type of the elements.
    pub element: ElementType,
    /// Extents, slowest dimension first.
    pub shape: Vec<u64>,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// XXH64 of the bytes.
    pub hash: String,
}

/// Directory of a checkpoint file.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Directory {
    /// Version of this format.
    pub format: u32,
    /// Program and version that wrote the checkpoint.
    pub app: String,
    /// Model of the state.
    pub model: String,
    /// Step of the state.
    pub step: u64,
    /// Simulated seconds per step.
    pub secs_per_step: f64,
    /// Hash and totals up to the state.
    pub digest: Digest,
    /// Number of entries of the run's command log before the state.
    pub n_logged: u64,
    /// Length of each file of the run at the state, bytes.
    pub files: Vec<(String, u64)>,
    /// XXH64 of each of `files` up to its length, in the order of `files`; empty in checkpoints of older versions.
    pub hashes: Vec<String>,
    /// Recorded project of the run with its parameters at step 0; empty in checkpoints of older versions.
    pub project: String,
    /// Sections of the state.
    pub sections: Vec<SectionInfo>,
}

impl Directory {
    /// Returns the length of a file of the run at the state; `None` if the file did not exist yet.
    pub fn length(&self, name: &str) -> Option<u64> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, n)| *n)
    }

    /// Whether the directory contains hashes of the run's files.
    pub const fn has_hashes(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Returns the XXH64 of a file of the run up to its length at the state; `None` if the hash is unknown.
    pub fn hash(&self, name: &str) -> Option<&str> {
        let at = self.files.iter().position(|(known, _)| known == name)?;
        self.hashes.get(at).map(String::as_str)
    }
}

/// Data that a run had written at the state of a checkpoint.
pub(super) struct RecordedUntil {
    /// Files with lengths and hashes.
    pub files: Vec<FileInfo>,
    /// Text of the project.
    pub project: String,
}

/// Entry of a checkpoint in the manifest of its run.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CheckpointInfo {
    /// Name of the file.
    pub file: String,
    /// Step of the state.
    pub step: u64,
    /// Size of the file, bytes.
    pub n_bytes: u64,
    /// XXH64 of the file's directory, which holds the hashes of the sections.
    pub hash: String,
    /// Best state of the run up to this one; `None` if the run follows no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<BestState>,
    /// Whether the checkpoint was only taken because its state was the best one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_only_best: bool,
}

impl CheckpointInfo {
    /// Returns the value of the followed result if the state was the best one when the checkpoint was taken.
    pub fn best_value(&self) -> Option<f32> {
        self.best.filter(|best| best.step == self.step).map(|best| best.value)
    }
}

/// Returns the file name of the checkpoint at a step.
pub(super) fn file_name(step: u64) -> String {
    format!("checkpoint-{step:09}.state")
}

/// Whether a name has the form of a checkpoint's file name.
pub(super) fn is_file_name(name: &str) -> bool {
    let step = name.strip_prefix("checkpoint-").and_then(|rest| rest.strip_suffix(".state"));
    step.and_then(|step| step.parse().ok()).is_some_and(|step| file_name(step) == name)
}

/// Writes a checkpoint to a temporary file and renames the file. Fails if the file cannot be written; the temporary file is
/// then removed.
pub(super) fn write(folder: &Path, checkpoint: &Checkpoint, run: &RecordedUntil) -> io::Result<CheckpointInfo> {
    let name = file_name(checkpoint.clock.step);
    let path = folder.join(&name);
    let partial = folder.join(format!("{name}.part"));
    std::fs::remove_file(&partial).ok();
    let written = File::create_new(&partial).and_then(|file| {
        let done = fill(&file, checkpoint, run)?;
        super::durability::sync(&file)?;
        Ok(done)
    });
    let renamed = written.and_then(|done| std::fs::rename(&partial, &path).map(|()| done));
    match renamed {
        Ok((n_bytes, hash)) => {
            let (best, is_only_best) = (checkpoint.best, checkpoint.is_only_best);
            Ok(CheckpointInfo { file: name, step: checkpoint.clock.step, n_bytes, hash, best, is_only_best })
        }
        Err(error) => {
            std::fs::remove_file(&partial).ok();
            Err(at(&path, &error))
        }
    }
}

/// Writes the contents of a checkpoint. Returns their length in bytes and the hash of the directory. Fails if the file
/// cannot be written.
fn fill(file: &File, checkpoint: &Checkpoint, run: &RecordedUntil) -> io::Result<(u64, String)> {
    let Checkpoint { snapshot, clock, digest, n_logged, .. } = checkpoint;
    let mut out = BufWriter::new(file);
    let mut place = 0;
    let mut put = |out: &mut BufWriter<&File>, bytes: &[u8]| -> io::Result<u64> {
        let start = place;
        out.write_all(bytes)?;
        let end = start + bytes.len() as u64;
        place = end.next_multiple_of(ALIGN);
        out.write_all(&[b' '; ALIGN as usize][..(place - end) as usize])?;
        Ok(start)
    };
    put(&mut out, HEAD)?;
    let mut directory = Directory {
        format: FORMAT,
        app: app_version(),
        model: snapshot.model.clone(),
        step: clock.step,
        secs_per_step: clock.base.per_step(),
        digest: digest.clone(),
        n_logged: *n_logged,
        files: run.files.iter().map(|file| (file.name.clone(), file.n_bytes)).collect(),
        hashes: run.files.iter().map(|file| file.hash.clone()).collect(),
        project: run.project.clone(),
        sections: vec![],
    };
    for section in &snapshot.sections {
        let offset = put(&mut out, section.bytes())?;
        let hash = hash_of(section.bytes());
        let (name, shape) = (section.name.clone(), section.shape.clone());
        directory.sections.push(SectionInfo { name, element: section.element, shape, offset, hash });
    }
    let text = file::to_ron(&directory).map_err(io::Error::other)?;
    let start = put(&mut out, text.as_bytes())?;
    let hash = Hash::of(text.as_bytes());
    for word in [start, text.len() as u64, hash.value()] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(END)?;
    out.flush()?;
    Ok((place + TRAILER, hash.hex()))
}

fn hash_of(bytes: &[u8]) -> String {
    Hash::of(bytes).hex()
}

/// Checkpoint on disk with a verified directory.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    /// Directory of the file.
    pub directory: Directory,
    /// XXH64 of the directory.
    pub hash: String,
    /// Offsets of the start and end of the directory, bytes.
    directory_range: (u64, u64),
}

impl CheckpointFile {
    /// Opens a checkpoint, and reads and verifies its directory. Fails if the file is incomplete, damaged or of a newer
    /// version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let broken = |what: &str| invalid(path, what);
        let mut file = run_file::open_regular(path)?;
        let len = file.metadata().map_err(|e| at(path, &e))?.len();
        let mut head = [0; HEAD.len()];
        let mut trailer = [0; TRAILER as usize];
        let read = file.read_exact(&mut head).and_then(|()| {
            file.seek(SeekFrom::End(-(TRAILER as i64)))?;
            file.read_exact(&mut trailer)
        });
        if read.is_err() || !trailer.ends_with(END) {
            return Err(broken("it is not complete"));
        }
        if head != HEAD {
            return Err(broken("it is not a checkpoint of this program, or of a newer version"));
        }
        let word = |i: usize| trailer[i * 8..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let (start, n) = (word(0), word(1));
        let fits = n <= MAX_DIRECTORY && start.checked_add(n).is_some_and(|end| end <= len - TRAILER);
        if !fits {
            return Err(broken("its directory is damaged"));
        }
        let mut text = vec![0; n as usize];
        file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut text)).map_err(|e| at(path, &e))?;
        let hash = Hash::of(&text);
        if hash.value() != word(2) {
            return Err(broken("its directory is damaged"));
        }
        let text = String::from_utf8(text).map_err(|_| broken("its directory is damaged"))?;
        let directory: Directory = file::from_ron(&text).map_err(|e| broken(&e.what))?;
        if directory.format > FORMAT {
            return Err(broken("it was written by a newer version"));
        }
        let is_inside = |s: &SectionInfo| {
            n_bytes(s.element, &s.shape).and_then(|n| n.checked_add(s.offset)).is_some_and(|end| end <= start)
        };
        match directory.sections.iter().find(|s| !is_inside(s)) {
            Some(section) => Err(broken(&format!("section `{}` is outside the file", section.name))),
            None => {
                let directory_range = (start, start + n);
                Ok(Self { path: path.to_owned(), directory, hash: hash.hex(), directory_range })
            }
        }
    }

    /// Returns step and time base of the state. The time base is seconds even if the run counts steps.
    pub const fn clock(&self) -> Clock {
        Clock::seconds(self.directory.step, self.directory.secs_per_step)
    }

    /// Reads all sections into one copy in memory and verifies their hashes. `report` receives the number of bytes read
    /// since its last call and returns `false` to cancel. Fails if a section is damaged or the reading is cancelled.
    pub fn read(&self, report: &mut dyn FnMut(u64) -> bool) -> io::Result<Snapshot> {
        let mut file = run_file::open_regular(&self.path)?;
        let mut snapshot = Snapshot::new(&self.directory.model);
        for info in &self.directory.sections {
            let broken = || invalid(&self.path, &format!("section `{}` is damaged", info.name));
            let n = n_bytes(info.element, &info.shape).ok_or_else(broken)?;
            let mut bytes = vec![0; n as usize];
            file.seek(SeekFrom::Start(info.offset)).map_err(|e| at(&self.path, &e))?;
            let mut hash = Hash::default();
            for part in bytes.chunks_mut(1 << 20) {
                file.read_exact(part).map_err(|e| at(&self.path, &e))?;
                hash.add(part);
                if !report(part.len() as u64) {
                    return Err(io::Error::new(ErrorKind::Interrupted, "cancelled"));
                }
            }
            if hash.hex() != info.hash {
                return Err(broken());
            }
            let section = Section::from_bytes(info.name.clone(), info.element, info.shape.clone(), bytes);
            snapshot.sections.push(section.ok_or_else(broken)?);
        }
        Ok(snapshot)
    }

    /// Verifies all sections and the padding between them without keeping them in memory. Fails if a section or the padding
    /// is damaged, or if `report` returns `false`.
    pub fn verify(&self, report: &mut dyn FnMut(u64) -> bool) -> io::Result<()> {
        let mut file = run_file::open_regular(&self.path)?;
        let mut buffer = vec![0; 1 << 20];
        let mut end = HEAD.len() as u64;
        for info in &self.directory.sections {
            self.verify_space(&mut file, end, info.offset)?;
            let (mut hash, mut rest) = (Hash::default(), n_bytes(info.element, &info.shape).unwrap_or(0));
            end = info.offset + rest;
            while rest > 0 {
                let part = &mut buffer[..rest.min(1 << 20) as usize];
                file.read_exact(part).map_err(|e| at(&self.path, &e))?;
                hash.add(part);
                rest -= part.len() as u64;
                if !report(part.len() as u64) {
                    return Err(io::Error::new(ErrorKind::Interrupted, "cancelled"));
                }
            }
            if hash.hex() != info.hash {
                return Err(invalid(&self.path, &format!("section `{}` is damaged", info.name)));
            }
        }
        self.verify_space(&mut file, end, self.directory_range.0)?;
        let len = file.metadata().map_err(|e| at(&self.path, &e))?.len();
        self.verify_space(&mut file, self.directory_range.1, len - TRAILER)
    }

    /// Fails if one of the last 64 bytes of the range `from..to`, or of a shorter range as a whole, is not a space. Leaves
    /// the file position at `to`.
    fn verify_space(&self, file: &mut File, from: u64, to: u64) -> io::Result<()> {
        let mut space = vec![0; to.saturating_sub(from).min(ALIGN) as usize];
        let read = file.seek(SeekFrom::Start(to - space.len() as u64)).and_then(|_| file.read_exact(&mut space));
        read.map_err(|e| at(&self.path, &e))?;
        match space.iter().all(|byte| *byte == b' ') {
            true => Ok(()),
            false => Err(invalid(&self.path, &format!("the space before byte {to} is damaged"))),
        }
    }
}

fn invalid(path: &Path, what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("cannot use the checkpoint {}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;
    use std::sync::Arc;

    fn checkpoint() -> Checkpoint {
        let mut snapshot = Snapshot::new("test");
        snapshot.array("w", &[3, 5], (0..15).map(|i| i as f32).collect());
        snapshot.list("empty", Vec::<u64>::new());
        snapshot.number("step", 12_u64);
        Checkpoint {
            snapshot: Arc::new(snapshot),
            clock: Clock { step: 12, base: crate::sim::TimeBase::STEPS },
            n_logged: 3,
            ..Checkpoint::default()
        }
    }

    /// Every flipped bit and every truncation is refused before data are used.
    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let folder = TempFolder::new("checkpoint");
        let spikes = FileInfo { name: "spikes.u32".into(), n_bytes: 80, hash: "0123456789abcdef".into() };
        let run = RecordedUntil { files: vec![spikes], project: "(seed: 3)".into() };
        let info = write(&folder, &checkpoint(), &run).unwrap();
        let path = folder.join(&info.file);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, info.n_bytes);
        let read = |path: &Path| CheckpointFile::open(path)?.read(&mut |_| true);
        let file = CheckpointFile::open(&path).unwrap();
        let directory = &file.directory;
        assert_eq!(
            (directory.length("spikes.u32"), directory.hash("spikes.u32")),
            (Some(80), Some("0123456789abcdef"))
        );
        assert_eq!((&*directory.project, directory.n_logged, &file.hash), ("(seed: 3)", 3, &info.hash));
        assert_eq!(read(&path).unwrap(), *checkpoint().snapshot);
        file.verify(&mut |_| true).unwrap();
        let is_padding = |at: usize| {
            let sections = file.directory.sections.iter();
            let data = sections.map(|s| s.offset..s.offset + n_bytes(s.element, &s.shape).unwrap());
            let end = whole.len() as u64 - TRAILER;
            let start = u64::from_le_bytes(*whole[end as usize..].first_chunk().unwrap());
            let n = u64::from_le_bytes(*whole[end as usize + 8..].first_chunk().unwrap());
            let used = data.chain([0..HEAD.len() as u64, start..start + n, end..whole.len() as u64]);
            !used.into_iter().any(|range| range.contains(&(at as u64)))
        };
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert!(is_padding(at) || read(&path).is_err(), "byte {at}");
            let verify = || CheckpointFile::open(&path)?.verify(&mut |_| true);
            assert!(verify().is_err(), "byte {at}");
        }
        for len in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..len]).unwrap();
            assert!(read(&path).is_err(), "{len} bytes");
        }
    }
}
