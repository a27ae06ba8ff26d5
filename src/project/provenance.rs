//! Input files of a run with sizes and hashes, so that a replay can report changed files.

use super::Project;
use crate::{data::input_file, num::hash::StreamHash};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// An input file of a run.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct DataFile {
    /// Parameter that contains the path of the file or of its folder.
    pub parameter: String,
    /// Path of the file.
    #[serde(with = "super::path_serde")]
    pub path: PathBuf,
    /// Size of the file, bytes.
    pub n_bytes: u64,
    /// 64-bit hash of the content (the variant of FNV-1a in [`StreamHash`], over little-endian words); empty for a file
    /// above the size limit.
    pub hash: String,
}

/// Size above which files are identified by their size alone, bytes.
const MAX_HASHED: u64 = 1 << 30;
/// Maximum number of files listed per folder.
const MAX_LISTED: usize = 64;

/// Returns the files that the path parameters of a project name; for a folder, the first `MAX_LISTED` files directly in it.
pub fn data_files(project: &Project, base: &Path) -> Vec<DataFile> {
    let context = project.build_context(base);
    let mut out = vec![];
    for (id, typed) in project.paths() {
        let parameter = project.model.params().path(id);
        let path = context.resolve(&typed.0);
        if path.is_dir() {
            let mut inside: Vec<PathBuf> =
                fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()).collect();
            inside.sort();
            out.extend(inside.into_iter().take(MAX_LISTED).filter_map(|p| describe(&parameter, p)));
        } else {
            out.extend(describe(&parameter, path));
        }
    }
    out
}

fn describe(parameter: &str, path: PathBuf) -> Option<DataFile> {
    let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let hash = if meta.len() <= MAX_HASHED { hash_file(&path).unwrap_or_default() } else { String::new() };
    let path = fs::canonicalize(&path).unwrap_or(path);
    Some(DataFile { parameter: parameter.to_owned(), path, n_bytes: meta.len(), hash })
}

fn hash_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (input_file::open(path)?, StreamHash::default());
    let mut buffer = vec![0; 1 << 20];
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        for word in buffer[..filled].chunks(4) {
            let mut bytes = [0; 4];
            bytes[..word.len()].copy_from_slice(word);
            hash.push(u32::from_le_bytes(bytes));
        }
        if filled < buffer.len() {
            return Ok(hash.hex());
        }
    }
}

/// Returns a message for each file that has changed or is missing.
pub fn changed(files: &[DataFile]) -> Vec<String> {
    let message = |file: &DataFile| match file.path.is_file() {
        true => difference(file),
        false => Some(format!("{} ({}) is missing", file.path.display(), file.parameter)),
    };
    files.iter().filter_map(message).collect()
}

/// Describes how a file differs from the file that the run read; `None` if both are equal or the file is missing.
pub(super) fn difference(file: &DataFile) -> Option<String> {
    let place = file.path.display();
    let now = describe(&file.parameter, file.path.clone())?;
    if now.n_bytes != file.n_bytes {
        return Some(format!("{place} ({}) had {} bytes, now has {}", file.parameter, file.n_bytes, now.n_bytes));
    }
    (now.hash != file.hash).then(|| format!("{place} ({}) has changed", file.parameter))
}
