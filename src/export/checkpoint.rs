//! Exports the state of the last checkpoint as a safetensors file: a tensor per section with its name, type and shape. The
//! export needs memory for one copy of the state.

use super::{output::Outputs, trial::at};
use crate::{
    data::tensors::{self, Dtype, TensorBytes},
    project::{CheckpointInfo, RunFolder, read_meter::ReadMeter},
    sim::{Snapshot, snapshot::ElementType},
};
use std::{
    io::{self, BufWriter, ErrorKind, Write as _},
    path::Path,
};

/// Reads the last checkpoint of a run. Fails if there is none or it is damaged.
pub(super) fn last_snapshot<'a>(run: &'a RunFolder, meter: &ReadMeter) -> io::Result<(&'a CheckpointInfo, Snapshot)> {
    let Some(last) = run.manifest.checkpoints.last() else {
        let what = "the run has no checkpoint; record with a checkpoint interval or a final checkpoint";
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{}: {what}", run.path.display())));
    };
    Ok((last, run.checkpoint(last)?.read(&mut |n_bytes| meter.add(n_bytes).is_ok())?))
}

pub(super) fn write(run: &RunFolder, out: &Path, meter: &ReadMeter, outputs: &mut Outputs) -> io::Result<()> {
    let (last, snapshot) = last_snapshot(run, meter)?;
    let tensors: Vec<TensorBytes> = snapshot
        .sections
        .iter()
        .map(|section| TensorBytes {
            name: &section.name,
            dtype: dtype(section.element),
            shape: section.shape.iter().map(|n| *n as usize).collect(),
            bytes: section.bytes(),
        })
        .collect();
    let about = [
        ("format", "neuropil".to_owned()),
        ("model", snapshot.model.clone()),
        ("step", last.step.to_string()),
        ("app", run.manifest.app.clone()),
    ];
    let mut file = BufWriter::new(outputs.create(out)?);
    tensors::write(&mut file, &tensors, &about).and_then(|()| file.flush()).map_err(at(out))
}

const fn dtype(element: ElementType) -> Dtype {
    match element {
        ElementType::U8 => Dtype::U8,
        ElementType::I8 => Dtype::I8,
        ElementType::U32 => Dtype::U32,
        ElementType::I32 => Dtype::I32,
        ElementType::U64 => Dtype::U64,
        ElementType::F16 => Dtype::F16,
        ElementType::Bf16 => Dtype::BF16,
        ElementType::F32 => Dtype::F32,
        ElementType::F64 => Dtype::F64,
    }
}
