//! Loads input data for a running simulation, and again for a replay.

use super::run_file::Hash;
use crate::{
    data::input_file,
    kinds::Model,
    params::{Change, Value},
    sim::{BuildContext, InputData, Progress, SimError},
};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Reads the file that a parameter change names, on the loader's thread. `model` has the parameters in effect.
///
/// # Errors
/// Fails with the message of the kind, which contains file and position, or if the file changed while it was read.
pub fn load_data(
    model: &Model,
    context: &BuildContext,
    change: &Change,
    progress: &Progress,
) -> Result<InputData, SimError> {
    let mut model = model.clone();
    if !model.params_mut().set(change) {
        return Err(SimError::Input("the parameters have no such input file".to_owned()));
    }
    let Some(path) = path_of(context, change) else {
        let setup = model.prepare(context, progress)?.setup();
        return Ok(InputData { change: change.clone(), hash: String::new(), setup });
    };
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::Interrupted => SimError::Cancelled,
        _ => SimError::Input(format!("{}: {e}", path.display())),
    };
    let before = fs::metadata(&path).map_err(failed)?;
    let setup = model.prepare(context, progress)?.setup();
    let hash = hash_path(&path, progress).map_err(failed)?;
    let after = fs::metadata(&path).map_err(failed)?;
    if (before.len(), before.modified().ok()) != (after.len(), after.modified().ok()) {
        return Err(SimError::Input(format!("{} changed while it was read; try again", path.display())));
    }
    Ok(InputData { change: change.clone(), hash, setup })
}

/// Reads the file of a logged change.
///
/// # Errors
/// Fails as [`load_data`] does, and if the content of the file differs from what the recording read.
pub fn load_logged_data(
    model: &Model,
    context: &BuildContext,
    (change, hash): (&Change, &str),
    progress: &Progress,
) -> Result<InputData, SimError> {
    verify(model, context, (change, hash), progress)?;
    load_data(model, context, change, progress)
}

/// Fails if the file of a logged change differs from what the recording read.
pub(super) fn verify(
    model: &Model,
    context: &BuildContext,
    (change, hash): (&Change, &str),
    progress: &Progress,
) -> Result<(), SimError> {
    let Some(path) = path_of(context, change) else { return Ok(()) };
    let name = model.params().path(change.id);
    let now = hash_path(&path, progress).map_err(|e| match e.kind() {
        io::ErrorKind::Interrupted => SimError::Cancelled,
        _ => SimError::Input(format!("{name}: the run read {}, which cannot be read now: {e}", path.display())),
    })?;
    if now == hash {
        return Ok(());
    }
    let place = path.display();
    Err(SimError::Input(format!("{name}: {place} has changed since the run read it: its hash was {hash} and is {now}")))
}

/// Returns the file of a change; `None` if the change removes the file.
fn path_of(context: &BuildContext, change: &Change) -> Option<PathBuf> {
    match &change.value {
        Value::Text(text) if !text.trim().is_empty() => Some(context.resolve(text.trim())),
        _ => None,
    }
}

/// Maximum nesting of folders.
const MAX_DEPTH: usize = 16;

/// Returns the hash of a file's content, or of the names and contents of all files in a folder. Fails if a file cannot be
/// read.
fn hash_path(path: &Path, progress: &Progress) -> io::Result<String> {
    let mut hash = Hash::default();
    if !path.is_dir() {
        add_file(path, &mut hash, progress)?;
        return Ok(hash.hex());
    }
    let mut files = vec![];
    list(path, MAX_DEPTH, &mut files)?;
    for file in files {
        hash.add(file.strip_prefix(path).unwrap_or(&file).as_os_str().as_encoded_bytes());
        add_file(&file, &mut hash, progress)?;
    }
    Ok(hash.hex())
}

/// Lists the files of a folder and its subfolders, sorted. Fails if a file cannot be read.
fn list(folder: &Path, depth: usize, to: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        let about = fs::symlink_metadata(&path)?;
        if about.is_dir() && depth > 0 {
            list(&path, depth - 1, to)?;
        } else if path.is_file() {
            to.push(path);
        }
    }
    Ok(())
}

fn add_file(path: &Path, hash: &mut Hash, progress: &Progress) -> io::Result<()> {
    let (mut file, mut n_read) = (input_file::open(path)?, 0);
    let n_bytes = file.metadata()?.len().max(1);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        hash.add(&buffer[..n]);
        n_read += n as u64;
        let is_going = progress.report("hashing", n_read as f32 / n_bytes as f32).is_ok();
        if !is_going {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn a_folder_is_hashed_with_names_and_contents() {
        let folder = TempFolder::new("hash");
        fs::create_dir_all(folder.join("b")).unwrap();
        fs::write(folder.join("a.txt"), "one").unwrap();
        fs::write(folder.join("b/c.txt"), "two").unwrap();
        let hash = || hash_path(&folder, &Progress::default()).unwrap();
        let first = hash();
        assert_eq!(hash_path(&folder.join("a.txt"), &Progress::default()).unwrap(), Hash::of(b"one").hex());
        fs::write(folder.join("b/c.txt"), "too").unwrap();
        let second = hash();
        fs::write(folder.join("b/c.txt"), "two").unwrap();
        assert_eq!(hash(), first);
        fs::rename(folder.join("a.txt"), folder.join("d.txt")).unwrap();
        let third = hash();
        assert!(first != second && first != third);
    }
}
