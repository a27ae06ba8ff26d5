//! Series, fields, matrices, histograms and events as `TimeSeries`, or as tables of samples.

use super::{Session, objects::Nwb, tables};
use crate::{
    export::trial::{Trial, array_name},
    project::Stream,
    sim::Level,
};
use serde_json::json;
use std::io;

/// Text of a unit that a stream does not have.
const NO_UNIT: &str = "a.u.";

/// Times of samples.
enum Times {
    /// First step and number of steps between two samples.
    Regular(u64, u64),
    Irregular,
}

/// Writes the streams of trial `k` other than its spikes. Fails if a stream cannot be read or a file cannot be written.
pub(super) fn write(nwb: &mut Nwb, session: &Session<'_>, k: usize, trial: &Trial) -> io::Result<()> {
    for stream in trial.row_streams() {
        if trial.run.n_records(stream) > 0 {
            rows(nwb, session, (k, trial), stream)?;
        }
    }
    for stream in trial.event_streams() {
        if trial.run.n_records(stream) > 0 {
            events(nwb, session, (k, trial), stream)?;
        }
    }
    Ok(())
}

fn rows(nwb: &mut Nwb, session: &Session<'_>, of: (usize, &Trial), stream: &Stream) -> io::Result<()> {
    let (k, trial) = of;
    let name = session.name(k, array_name(stream));
    let lanes = tables::write_lanes(nwb, trial, stream, &name)?;
    let width = u64::from(stream.width);
    let shape = match width.checked_div(u64::from(stream.n_columns)) {
        Some(n_rows) => vec![n_rows, stream.n_columns.into()],
        None if width == 1 => vec![],
        None => vec![width],
    };
    let about = describe(stream) + &lanes;
    let longest = shape.iter().copied().max().unwrap_or(1);
    let n = trial.run.n_records(stream);
    if n < longest {
        return table_of_samples(nwb, session, of, stream, (&name, &about, &shape));
    }
    let path = nwb.path_in("acquisition", &name);
    begin_series(nwb, &path, &about)?;
    write_times(nwb, session, of, &path, times(trial, stream)?, &mut steps(trial, stream)?)?;
    write_data(nwb, trial, stream, &format!("{path}/data"), &shape)
}

/// Writes a group of the type `TimeSeries`.
fn begin_series(nwb: &mut Nwb, path: &str, description: &str) -> io::Result<()> {
    let mut about = nwb.typed(path, "TimeSeries");
    about.insert("description".to_owned(), description.into());
    about.insert("comments".to_owned(), "no comments".into());
    nwb.store.group(path, about)
}

/// Writes a stream with more values per sample than samples.
fn table_of_samples(
    nwb: &mut Nwb,
    session: &Session<'_>,
    (k, trial): (usize, &Trial),
    stream: &Stream,
    (name, about, shape): (&str, &str, &[u64]),
) -> io::Result<()> {
    let path = nwb.path_in_processing(name)?;
    let mut table = nwb.table(&path, "DynamicTable", about)?;
    let (column, of_column) = table.column("timestamp", "Time of the sample in seconds");
    let mut times = table.nwb.store.array::<f64>(&column, &[])?;
    let mut n = 0;
    for step in steps(trial, stream)? {
        times.push(&[session.secs(k, step?)])?;
        n += 1;
    }
    table.nwb.store.close_array(times, of_column)?;
    let unit = if stream.unit.is_empty() { NO_UNIT } else { &stream.unit };
    let (column, of_column) = table.column("value", &format!("Values of the sample, {unit}"));
    let mut reader = trial.read_rows(stream)?;
    let (mut values, mut data) = (vec![], table.nwb.store.array::<f32>(&column, shape)?);
    while reader.next_row(&mut values)?.is_some() {
        data.push(&values)?;
    }
    table.nwb.store.close_array(data, of_column)?;
    table.close(n)
}

fn write_data(nwb: &mut Nwb, trial: &Trial, stream: &Stream, path: &str, shape: &[u64]) -> io::Result<()> {
    let mut reader = trial.read_rows(stream)?;
    let (mut values, mut data) = (vec![], nwb.store.array::<f32>(path, shape)?);
    while reader.next_row(&mut values)?.is_some() {
        data.push(&values)?;
    }
    let unit = if stream.unit.is_empty() { NO_UNIT } else { &stream.unit };
    let about = json!({ "conversion": 1.0, "offset": 0.0, "resolution": -1.0, "unit": unit });
    nwb.store.close_array(data, super::objects::attributes(about))
}

/// Writes the times of a series: start and rate of regular samples, otherwise the time of each.
fn write_times(
    nwb: &mut Nwb,
    session: &Session<'_>,
    (k, _): (usize, &Trial),
    path: &str,
    times: Times,
    steps: &mut dyn Iterator<Item = io::Result<u64>>,
) -> io::Result<()> {
    match times {
        Times::Regular(first, every) => {
            let rate = 1.0 / (every as f64 * session.secs_per_step);
            let about = json!({ "rate": rate, "unit": "seconds" });
            let start = session.secs(k, first);
            nwb.store.scalar(&format!("{path}/starting_time"), start, super::objects::attributes(about))
        }
        Times::Irregular => {
            let path = format!("{path}/timestamps");
            let mut times = nwb.store.array::<f64>(&path, &[])?;
            for step in steps {
                times.push(&[session.secs(k, step?)])?;
            }
            let about = json!({ "interval": 1, "unit": "seconds" });
            nwb.store.close_array(times, super::objects::attributes(about))
        }
    }
}

/// Writes events other than spikes of neurons: the index of the element at each time.
fn events(nwb: &mut Nwb, session: &Session<'_>, of: (usize, &Trial), stream: &Stream) -> io::Result<()> {
    let (k, trial) = of;
    let path = nwb.path_in("acquisition", &session.name(k, array_name(stream)));
    begin_series(nwb, &path, &format!("Events of {}: the index of the element at each time", stream.probe))?;
    let mut steps = trial.read_spikes(stream)?.map(|event| event.map(|event| u64::from(event.step)));
    write_times(nwb, session, of, &path, Times::Irregular, &mut steps)?;
    let path = format!("{path}/data");
    let mut data = nwb.store.array::<i64>(&path, &[])?;
    for event in trial.read_spikes(stream)? {
        data.push(&[event?.lane.into()])?;
    }
    let about = json!({ "conversion": 1.0, "offset": 0.0, "resolution": -1.0, "unit": "index" });
    nwb.store.close_array(data, super::objects::attributes(about))
}

/// Iterates over the steps of the rows of a stream without reading their values.
fn steps(trial: &Trial, stream: &Stream) -> io::Result<impl Iterator<Item = io::Result<u64>> + use<>> {
    let mut reader = trial.run.read_rows(stream)?;
    Ok(std::iter::from_fn(move || {
        let step = reader.peek().transpose()?;
        Some(reader.skip_row().and(step))
    }))
}

/// Finds out whether the samples of a stream are at equal distances; at least two of them.
fn times(trial: &Trial, stream: &Stream) -> io::Result<Times> {
    let mut steps = steps(trial, stream)?;
    let (Some(first), Some(second)) = (steps.next().transpose()?, steps.next().transpose()?) else {
        return Ok(Times::Irregular);
    };
    let Some(every) = second.checked_sub(first).filter(|every| *every > 0) else { return Ok(Times::Irregular) };
    let mut last = second;
    for step in steps {
        let step = step?;
        if last.checked_add(every) != Some(step) {
            return Ok(Times::Irregular);
        }
        last = step;
    }
    Ok(Times::Regular(first, every))
}

/// Describes a stream: probe, arguments, bins, labels and reference values.
fn describe(stream: &Stream) -> String {
    let mut text = format!("Recorded {} of the probe {}", stream.shape, stream.probe);
    if !stream.args.is_empty() {
        text += &format!(" with {}", stream.args);
    }
    if !stream.over.is_empty() && stream.elements.is_empty() {
        text += &format!(", over the set {}", stream.over);
    }
    text.push('.');
    for level in Level::lines(&stream.levels) {
        text += &format!(" Reference value {}: {} from step {}.", level.name, level.value, level.from_step);
    }
    text
}
