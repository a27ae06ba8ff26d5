//! Exports the weights of the last checkpoint for the library `transformers` of Hugging Face: `model.safetensors`, and
//! `config.json` beside it. The export needs memory for two copies of the weights.

use super::{checkpoint::last_snapshot, output::Outputs, trial::at};
use crate::{
    data::tensors::{self, Dtype, TensorBytes},
    project::{RunFolder, read_meter::ReadMeter},
};
use std::{
    io::{self, BufWriter, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

/// File of the weights in the folder of a model.
const WEIGHTS: &str = "model.safetensors";
/// File of the settings in the folder of a model.
const CONFIG: &str = "config.json";

/// Returns the file of the weights for the argument of an export, which is a folder, or a file with the extension of the
/// format.
pub(super) fn weights_file(run: &RunFolder, out: Option<&Path>) -> PathBuf {
    match out {
        None => run.path.join(WEIGHTS),
        Some(out) if out.extension().is_some_and(|e| e == "safetensors") => out.to_owned(),
        Some(out) => out.join(WEIGHTS),
    }
}

pub(super) fn write(run: &RunFolder, out: &Path, meter: &ReadMeter, outputs: &mut Outputs) -> io::Result<()> {
    let invalid = |what: String| io::Error::new(ErrorKind::InvalidInput, format!("{}: {what}", run.path.display()));
    let (_, snapshot) = last_snapshot(run, meter)?;
    let project = run.project().map_err(|why| invalid(why.to_string()))?;
    let model = project.model.hugging_face(&snapshot).map_err(|why| invalid(why.to_string()))?;
    drop(snapshot);
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let bytes: Vec<Vec<u8>> = model.tensors.iter().map(|tensor| bytes(&tensor.values)).collect();
    let tensors: Vec<TensorBytes> = model
        .tensors
        .iter()
        .zip(&bytes)
        .map(|(tensor, bytes)| TensorBytes {
            name: &tensor.name,
            dtype: Dtype::F32,
            shape: tensor.shape.clone(),
            bytes,
        })
        .collect();
    let mut file = BufWriter::new(outputs.create(out)?);
    // `transformers` accepts only files whose format is that of a library that it knows.
    tensors::write(&mut file, &tensors, &[("format", "pt".to_owned())]).and_then(|()| file.flush()).map_err(at(out))?;
    let beside = out.with_file_name(CONFIG);
    outputs.create(&beside)?.write_all(model.config.as_bytes()).map_err(at(&beside))
}
