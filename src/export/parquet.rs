//! Apache Parquet, one row per spike: `t` [s], `trial`, `flywire_id`, `exp_name` as the published analysis
//! scripts of Shiu et al. 2024 read them, then `idx` and `step`. Neurons without ids have their index as id.

use super::{Trial, at};
use crate::project::RunFolder;
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter, writer::SerializedRowGroupWriter},
    schema::parser::parse_message_type,
};
use std::{fs::File, io, path::Path, sync::Arc};

const SCHEMA: &str = "message spikes {
    required double t;
    required int64 trial;
    required int64 flywire_id;
    required binary exp_name (UTF8);
    required int32 idx (INTEGER(32, false));
    required int32 step (INTEGER(32, false));
}";

/// Rows per group.
const GROUP: usize = 1 << 20;

pub(super) fn write(run: &RunFolder, trials: &[Trial], out: &Path) -> io::Result<()> {
    let file = File::create(out).map_err(at(out))?;
    fill(file, run, trials).map_err(|e| at(out)(io::Error::other(e)))
}

fn fill(file: File, run: &RunFolder, trials: &[Trial]) -> parquet::errors::Result<()> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let name = ByteArray::from(run.manifest.name.as_str());
    for (k, trial) in trials.iter().enumerate() {
        for spikes in trial.spikes.chunks(GROUP) {
            let mut group = writer.next_row_group()?;
            column::<DoubleType>(&mut group, spikes.iter().map(|s| trial.secs(*s)).collect())?;
            column::<Int64Type>(&mut group, vec![k as i64; spikes.len()])?;
            column::<Int64Type>(&mut group, spikes.iter().map(|s| trial.id(*s).cast_signed()).collect())?;
            column::<ByteArrayType>(&mut group, vec![name.clone(); spikes.len()])?;
            column::<Int32Type>(&mut group, spikes.iter().map(|s| s.lane.cast_signed()).collect())?;
            column::<Int32Type>(&mut group, spikes.iter().map(|s| s.step.cast_signed()).collect())?;
            group.close()?;
        }
    }
    writer.close()?;
    Ok(())
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: Vec<T::T>,
) -> parquet::errors::Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()?;
    }
    Ok(())
}
