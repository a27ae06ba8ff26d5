//! Loads input data for a running simulation, and again for a replay.

use super::run_file::Hash;
use crate::{
    kinds::Model,
    params::{Change, Value},
    sim::{BuildContext, InputData, Progress, SimError},
};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Reads the file that a change of a parameter names. `model` has the parameters in effect. Runs on the loader thread.
///
/// # Errors
/// The message of the kind, with file and place.
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
    let hash = hash_file(&path, progress).map_err(failed)?;
    let after = fs::metadata(&path).map_err(failed)?;
    if (before.len(), before.modified().ok()) != (after.len(), after.modified().ok()) {
        return Err(SimError::Input(format!("{} changed while it was read; try again", path.display())));
    }
    Ok(InputData { change: change.clone(), hash, setup })
}

/// The same for a logged change.
///
/// # Errors
/// Also when the file has another content than the recording read.
pub fn load_logged_data(
    model: &Model,
    context: &BuildContext,
    (change, hash): (&Change, &str),
    progress: &Progress,
) -> Result<InputData, SimError> {
    verify(model, context, (change, hash), progress)?;
    load_data(model, context, change, progress)
}

/// Checks that the file of a logged change has the content that the recording read.
pub(super) fn verify(
    model: &Model,
    context: &BuildContext,
    (change, hash): (&Change, &str),
    progress: &Progress,
) -> Result<(), SimError> {
    let Some(path) = path_of(context, change) else { return Ok(()) };
    let name = model.params().path(change.id);
    let now = hash_file(&path, progress).map_err(|e| match e.kind() {
        io::ErrorKind::Interrupted => SimError::Cancelled,
        _ => SimError::Input(format!("{name}: the run read {}, which cannot be read now: {e}", path.display())),
    })?;
    if now == hash {
        return Ok(());
    }
    let place = path.display();
    Err(SimError::Input(format!("{name}: {place} has changed since the run read it: its hash was {hash} and is {now}")))
}

/// The file of a change; none when the change removes it.
fn path_of(context: &BuildContext, change: &Change) -> Option<std::path::PathBuf> {
    match &change.value {
        Value::Text(text) if !text.trim().is_empty() => Some(context.resolve(text.trim())),
        _ => None,
    }
}

fn hash_file(path: &Path, progress: &Progress) -> io::Result<String> {
    let (mut file, mut hash, mut n_read) = (File::open(path)?, Hash::default(), 0);
    let n_bytes = file.metadata()?.len().max(1);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(hash.hex());
        }
        hash.add(&buffer[..n]);
        n_read += n as u64;
        let is_going = progress.report("hashing", n_read as f32 / n_bytes as f32).is_ok();
        if !is_going {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        }
    }
}
