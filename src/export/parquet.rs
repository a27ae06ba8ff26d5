//! Exports Apache Parquet, one row per spike: `t` in seconds, `trial`, `flywire_id` and `exp_name`, as the published
//! analysis scripts of Shiu et al. 2024 read them, then `idx` and `step`. Neurons without ids have their index as id.
//!
//! Every other probe is a separate file: events as `t, trial, idx, step`, rows as `t, trial, step, lane, name, value` (one row
//! per value), lineages as one row per individual.

use super::{
    file_names::FileNames,
    output::Outputs,
    trial::{Trial, at, attribute, lane_names, secs, time_column, time_unit},
};
use crate::{
    project::{Manifest, RunFolder, Stream},
    sim::AttributeValue,
};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type},
    errors::{ParquetError, Result},
    file::{
        metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter,
        writer::SerializedRowGroupWriter,
    },
    schema::parser::parse_message_type,
};
use std::{fs::File, io, path::Path, sync::Arc};

const SPIKES: &str = "message spikes {
    required double t;
    required int64 trial;
    required int64 flywire_id;
    required binary exp_name (UTF8);
    required int32 idx (INTEGER(32, false));
    required int32 step (INTEGER(32, false));
}";

const EVENTS: &str = "message events {
    required double t;
    required int64 trial;
    required int32 idx (INTEGER(32, false));
    required int32 step (INTEGER(32, false));
}";

const ROWS: &str = "message samples {
    required double t;
    required int64 trial;
    required int64 step;
    required int32 lane (INTEGER(32, false));
    required binary name (UTF8);
    required float value;
}";

const LINEAGE: &str = "message lineage {
    required int64 id;
    required binary name (UTF8);
    required int64 slot;
    required binary parents (UTF8);
    required int64 born_step;
    required int64 gone_step;
    required binary end (UTF8);
    required float health;
}";

/// Number of rows per group.
const GROUP: usize = 1 << 18;

type Writer = SerializedFileWriter<File>;

pub(super) fn write(run: &RunFolder, trials: &[Trial], names: &FileNames, outputs: &mut Outputs) -> io::Result<()> {
    let wrong = |path: &Path, e| at(path)(io::Error::other(e));
    if trials.iter().any(|t| t.spike_stream().is_some()) {
        let file = outputs.create(&names.main)?;
        spikes(file, run, trials).map_err(|e| wrong(&names.main, e))?;
    }
    for trial in trials {
        let k = trial.number();
        type Fill = fn(File, &Trial, usize, &Stream) -> Result<()>;
        let streams = trial.event_streams().map(|s| (s, events as Fill));
        let streams = streams.chain(trial.row_streams().map(|s| (s, rows as Fill)));
        for (stream, fill) in streams.chain(trial.lineages().map(|s| (s, lineage as Fill))) {
            let path = names.of_probe(trial, stream);
            let file = outputs.create(&path)?;
            fill(file, trial, k, stream).map_err(|e| wrong(&path, e))?;
        }
    }
    Ok(())
}

/// Creates a file with a schema. Times are in the column `t` in seconds; for a kind that counts, the column has a name such
/// as `t_generations`. The metadata of the file contains the unit (`time_unit`). Fails if the schema is invalid or the file
/// cannot be written.
fn open(file: File, schema: &str, manifest: &Manifest) -> Result<Writer> {
    let schema = if manifest.time_base().is_count() {
        schema.replace("double t;", &format!("double {};", time_column(manifest)))
    } else {
        schema.to_owned()
    };
    let schema = Arc::new(parse_message_type(&schema)?);
    let unit = KeyValue::new("time_unit".to_owned(), time_unit(manifest).to_owned());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let properties = properties.set_key_value_metadata(Some(vec![unit])).build();
    SerializedFileWriter::new(file, schema, Arc::new(properties))
}

fn from_io(error: io::Error) -> ParquetError {
    ParquetError::General(error.to_string())
}

/// Collects items into groups of [`GROUP`] rows and calls `write` with each group. Fails with the first error of an item or
/// of `write`.
fn in_groups<T>(items: impl Iterator<Item = io::Result<T>>, mut write: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
    let mut group = vec![];
    for item in items {
        group.push(item.map_err(from_io)?);
        if group.len() == GROUP {
            write(&group)?;
            group.clear();
        }
    }
    if group.is_empty() { Ok(()) } else { write(&group) }
}

fn spikes(file: File, run: &RunFolder, trials: &[Trial]) -> Result<()> {
    let mut writer = open(file, SPIKES, &run.manifest)?;
    let name = ByteArray::from(run.manifest.name.as_str());
    for trial in trials {
        let k = trial.number();
        in_groups(trial.events(trial.spike_stream()).map_err(from_io)?, |spikes| {
            let mut group = writer.next_row_group()?;
            column::<DoubleType>(&mut group, spikes.iter().map(|s| trial.secs(*s)).collect())?;
            column::<Int64Type>(&mut group, vec![k as i64; spikes.len()])?;
            column::<Int64Type>(&mut group, spikes.iter().map(|s| trial.id(*s).cast_signed()).collect())?;
            column::<ByteArrayType>(&mut group, vec![name.clone(); spikes.len()])?;
            column::<Int32Type>(&mut group, spikes.iter().map(|s| s.lane.cast_signed()).collect())?;
            column::<Int32Type>(&mut group, spikes.iter().map(|s| s.step.cast_signed()).collect())?;
            group.close().map(drop)
        })?;
    }
    writer.close().map(drop)
}

fn events(file: File, trial: &Trial, k: usize, stream: &Stream) -> Result<()> {
    let mut writer = open(file, EVENTS, trial.manifest())?;
    in_groups(trial.read_spikes(stream).map_err(from_io)?, |events| {
        let mut group = writer.next_row_group()?;
        column::<DoubleType>(&mut group, events.iter().map(|e| trial.secs(*e)).collect())?;
        column::<Int64Type>(&mut group, vec![k as i64; events.len()])?;
        column::<Int32Type>(&mut group, events.iter().map(|e| e.lane.cast_signed()).collect())?;
        column::<Int32Type>(&mut group, events.iter().map(|e| e.step.cast_signed()).collect())?;
        group.close().map(drop)
    })?;
    writer.close().map(drop)
}

/// Writes one row per value. Fails if the stream cannot be read or the file cannot be written.
fn rows(file: File, trial: &Trial, k: usize, stream: &Stream) -> Result<()> {
    let mut writer = open(file, ROWS, trial.manifest())?;
    let names: Vec<ByteArray> = lane_names(stream).iter().map(|n| ByteArray::from(n.as_str())).collect();
    let mut reader = trial.read_rows(stream).map_err(from_io)?;
    let secs_per_step = trial.manifest().secs_per_step;
    let (mut values, mut step, mut lane) = (vec![], 0, 0);
    let cells = std::iter::from_fn(|| {
        while lane == values.len() {
            lane = 0;
            match reader.next_row(&mut values) {
                Ok(Some(next)) => step = next,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        lane += 1;
        Some(Ok((step, lane - 1, values[lane - 1])))
    });
    in_groups(cells, |cells| {
        let mut group = writer.next_row_group()?;
        column::<DoubleType>(&mut group, cells.iter().map(|c| secs(c.0, secs_per_step)).collect())?;
        column::<Int64Type>(&mut group, vec![k as i64; cells.len()])?;
        column::<Int64Type>(&mut group, cells.iter().map(|c| c.0.cast_signed()).collect())?;
        column::<Int32Type>(&mut group, cells.iter().map(|c| c.1 as i32).collect())?;
        column::<ByteArrayType>(&mut group, cells.iter().map(|c| names[c.1].clone()).collect())?;
        column::<FloatType>(&mut group, cells.iter().map(|c| c.2).collect())?;
        group.close().map(drop)
    })?;
    writer.close().map(drop)
}

/// Returns the schema of individuals, followed by their attributes. Characters that a schema does not accept are replaced
/// by `_`.
fn lineage_schema(attributes: &[(String, bool)]) -> String {
    let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let field = |(name, is_number): &(String, bool)| match is_number {
        true => format!("    required float {};\n", plain(name)),
        false => format!("    required binary {} (UTF8);\n", plain(name)),
    };
    let fields: String = attributes.iter().map(field).collect();
    format!("{}{fields}}}", LINEAGE.trim_end_matches('}'))
}

/// Writes one row per individual. Unknown numbers are -1 or NaN, unknown texts are empty. Fails if the stream cannot be
/// read or the file cannot be written.
fn lineage(file: File, trial: &Trial, _: usize, stream: &Stream) -> Result<()> {
    let attributes = trial.attributes(stream).map_err(from_io)?;
    let mut writer = open(file, &lineage_schema(&attributes), trial.manifest())?;
    let mut individuals = vec![];
    trial
        .individuals(stream, |birth, death| {
            individuals.push((birth.clone(), death.cloned()));
            Ok(())
        })
        .map_err(from_io)?;
    let text = |text: &str| ByteArray::from(text);
    let parents = |ids: &[u64]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    for individuals in individuals.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        column::<Int64Type>(&mut group, individuals.iter().map(|(b, _)| b.child.cast_signed()).collect())?;
        column::<ByteArrayType>(&mut group, individuals.iter().map(|(b, _)| text(&b.name)).collect())?;
        column::<Int64Type>(&mut group, individuals.iter().map(|(b, _)| b.slot.map_or(-1, i64::from)).collect())?;
        column::<ByteArrayType>(&mut group, individuals.iter().map(|(b, _)| text(&parents(&b.parents))).collect())?;
        column::<Int64Type>(
            &mut group,
            individuals.iter().map(|(b, _)| b.born.unwrap_or(b.step).cast_signed()).collect(),
        )?;
        let gone = individuals.iter().map(|(_, d)| d.as_ref().map_or(-1, |d| d.step.cast_signed()));
        column::<Int64Type>(&mut group, gone.collect())?;
        let end = individuals.iter().map(|(_, d)| text(d.as_ref().map_or("", |d| d.end.word())));
        column::<ByteArrayType>(&mut group, end.collect())?;
        let health = individuals.iter().map(|(_, d)| d.as_ref().and_then(|d| d.health).unwrap_or(f32::NAN));
        column::<FloatType>(&mut group, health.collect())?;
        for (name, is_number) in &attributes {
            let values = individuals.iter().map(|(b, d)| attribute(b, d.as_ref(), name));
            if *is_number {
                let number =
                    |v: Option<&AttributeValue>| if let Some(AttributeValue::Number(v)) = v { *v } else { f32::NAN };
                column::<FloatType>(&mut group, values.map(number).collect())?;
            } else {
                let words = |v: Option<&AttributeValue>| match v {
                    Some(AttributeValue::Text(words)) => text(words),
                    Some(AttributeValue::Number(v)) => text(&v.to_string()),
                    None => text(""),
                };
                column::<ByteArrayType>(&mut group, values.map(words).collect())?;
            }
        }
        group.close()?;
    }
    writer.close().map(drop)
}

pub(super) fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, File>, values: Vec<T::T>) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()?;
    }
    Ok(())
}
