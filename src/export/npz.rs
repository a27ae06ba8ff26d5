//! NumPy archive. The archive contains `t_start`, `t_stop`, and `time_unit`, the unit of all times (`s`, or a counted unit
//! such as `generations`). Spikes of neurons are `spike_times`, `spike_ids` (indices), `spike_steps` and `n_lanes`, as most
//! analysis scripts expect; `ids` contains the public ids of the neurons, if they have any. Other events are `NAME_t`,
//! `NAME_steps` and `NAME_lanes` (indices). Every other probe is `NAME_t` and `NAME`; its columns are described by
//! `NAME_lanes` (names), `NAME_elements` (indices) and `NAME_ids` (public ids). A matrix adds `NAME_rows` and
//! `NAME_columns`, a histogram `NAME_edges`. Reference values of a series are `NAME_levels`, `NAME_level_names` and
//! `NAME_level_steps`: the step after which each holds (0: from the beginning) and the last step for which it holds (the
//! last step of the run if it does not end). In a series of trials, `NAME` includes the number of the trial (`NAME_1_t`),
//! and `spike_trials` is the trial of each spike.

use super::{
    output::Outputs,
    trial::{Trial, array_name, at, secs, time_unit},
};
use crate::{
    data::npz::NpzWriter,
    project::{RunFolder, Stream},
    sim::Level,
};
use npyz::{AutoSerialize, DType, TypeStr, WriterBuilder};
use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
};
use zip::write::SimpleFileOptions;

type Archive = NpzWriter<BufWriter<File>>;

pub(super) fn write(run: &RunFolder, trials: &[Trial], out: &Path, outputs: &mut Outputs) -> io::Result<()> {
    let file = outputs.create(out)?;
    let mut archive = NpzWriter::new(BufWriter::new(file));
    fill(&mut archive, run, trials).map_err(at(out))?;
    let mut file = archive.finish().map_err(at(out))?;
    file.flush().map_err(at(out))
}

fn fill(archive: &mut Archive, run: &RunFolder, trials: &[Trial]) -> io::Result<()> {
    let span = trials.first().map(|t| t.manifest());
    let [start, stop] = span.map_or([0.0; 2], |m| [m.first_step, m.last_step].map(|s| secs(s, m.secs_per_step)));
    strings(archive, "time_unit", &[time_unit(&run.manifest).to_owned()])?;
    array(archive, "t_start", &[], [Ok(start)])?;
    array(archive, "t_stop", &[], [Ok(stop)])?;
    if trials.iter().any(|t| t.spike_stream().is_some()) {
        all_spikes(archive, run, trials)?;
    }
    for trial in trials {
        let k = trial.number();
        let suffix = if run.manifest.trials > 0 { format!("_{k}") } else { String::new() };
        for stream in trial.event_streams() {
            let (name, n) = (format!("{}{suffix}", array_name(stream)), [trial.run.n_records(stream)]);
            let events = || trial.read_spikes(stream);
            array(archive, &format!("{name}_t"), &n, events()?.map(|e| e.map(|e| trial.secs(e))))?;
            array(archive, &format!("{name}_steps"), &n, events()?.map(|e| e.map(|e| e.step)))?;
            array(archive, &format!("{name}_lanes"), &n, events()?.map(|e| e.map(|e| i64::from(e.lane))))?;
        }
        for stream in trial.row_streams() {
            rows(archive, trial, stream, &format!("{}{suffix}", array_name(stream)))?;
        }
    }
    Ok(())
}

/// Writes the spikes of all trials. Fails if a stream cannot be read or the archive cannot be written.
fn all_spikes(archive: &mut Archive, run: &RunFolder, trials: &[Trial]) -> io::Result<()> {
    let n = [trials.iter().map(Trial::n_spikes).sum()];
    let spikes = || trials.iter().flat_map(|t| spikes_of(t.number(), t));
    array(archive, "spike_times", &n, spikes().map(|s| s.map(|(k, s)| trials[k].secs(s))))?;
    array(archive, "spike_ids", &n, spikes().map(|s| s.map(|(_, s)| i64::from(s.lane))))?;
    array(archive, "spike_steps", &n, spikes().map(|s| s.map(|(_, s)| s.step)))?;
    if run.manifest.trials > 0 {
        array(archive, "spike_trials", &n, spikes().map(|s| s.map(|(k, _)| k as i32)))?;
    }
    let n_lanes = trials.iter().map(|t| t.n_lanes(t.spike_stream())).collect::<io::Result<Vec<u32>>>()?;
    array(archive, "n_lanes", &[], [Ok(i64::from(n_lanes.into_iter().max().unwrap_or(0)))])?;
    match trials.first().map(|t| &t.ids).filter(|ids| !ids.is_empty()) {
        Some(ids) => array(archive, "ids", &[ids.len() as u64], ids.iter().copied().map(Ok)),
        None => Ok(()),
    }
}

fn spikes_of(k: usize, trial: &Trial) -> Box<dyn Iterator<Item = io::Result<(usize, crate::sim::Spike)>> + '_> {
    match trial.events(trial.spike_stream()) {
        Ok(reader) => Box::new(reader.map(move |s| s.map(|s| (k, s)))),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

fn rows(archive: &mut Archive, trial: &Trial, stream: &Stream, name: &str) -> io::Result<()> {
    let (n, width) = (trial.run.n_records(stream), stream.width as usize);
    let secs_per_step = trial.manifest().secs_per_step;
    let (mut reader, mut values) = (trial.read_rows(stream)?, vec![]);
    let times = std::iter::from_fn(|| {
        let step = reader.peek().transpose()?;
        Some(reader.skip_row().and(step).map(|step| secs(step, secs_per_step)))
    });
    array(archive, &format!("{name}_t"), &[n], times)?;
    let mut reader = trial.read_rows(stream)?;
    let builder = archive.array::<f32>(name, SimpleFileOptions::default().large_file(true))?;
    let (n_columns, width) = (u64::from(stream.n_columns), width as u64);
    let shape = match width.checked_div(n_columns) {
        Some(n_rows) => vec![n, n_rows, n_columns],
        None => vec![n, width],
    };
    let mut writer = builder.default_dtype().shape(&shape).begin_nd()?;
    while reader.next_row(&mut values)?.is_some() {
        writer.extend(values.iter().copied())?;
    }
    writer.finish()?;
    columns(archive, trial, stream, name)
}

/// Writes the arrays that describe the columns of a stream: names of rows and columns, edges, reference values, lanes,
/// elements and ids. Fails if a stream cannot be read or the archive cannot be written.
fn columns(archive: &mut Archive, trial: &Trial, stream: &Stream, name: &str) -> io::Result<()> {
    let width = stream.width as usize;
    for (names, what) in [(&stream.rows, "rows"), (&stream.columns, "columns")] {
        if !names.is_empty() {
            strings(archive, &format!("{name}_{what}"), names)?;
        }
    }
    if !stream.edges.is_empty() {
        let n = [stream.edges.len() as u64];
        array(archive, &format!("{name}_edges"), &n, stream.edges.iter().map(|edge| Ok(*edge)))?;
    }
    let levels = Level::lines(&stream.levels);
    if levels.clone().next().is_some() {
        let n = [levels.clone().count() as u64];
        strings(archive, &format!("{name}_level_names"), &levels.clone().map(|l| l.name.clone()).collect::<Vec<_>>())?;
        array(archive, &format!("{name}_levels"), &n, levels.clone().map(|l| Ok(l.value)))?;
        let last = trial.manifest().last_step;
        let spans = levels.flat_map(|l| [Ok(l.from_step), Ok(l.to_step.unwrap_or(last))]);
        array(archive, &format!("{name}_level_steps"), &[n[0], 2], spans)?;
    }
    if stream.lanes.len() == width {
        strings(archive, &format!("{name}_lanes"), &stream.lanes)?;
    }
    let n_elements = [stream.elements.len() as u64];
    if stream.elements.len() == width {
        array(archive, &format!("{name}_elements"), &n_elements, stream.elements.iter().map(|e| Ok(i64::from(*e))))?;
    }
    let ids = if stream.over.is_empty() { vec![] } else { trial.run.ids(&stream.over)? };
    if ids.is_empty() || stream.shape == "matrix" {
        return Ok(());
    }
    let id = |e: &u32| Ok(ids.get(*e as usize).copied().unwrap_or(u64::from(*e)));
    match stream.elements.len() == width {
        true => array(archive, &format!("{name}_ids"), &n_elements, stream.elements.iter().map(id)),
        false => array(archive, &format!("{name}_ids"), &[ids.len() as u64], ids.iter().copied().map(Ok)),
    }
}

fn array<T: AutoSerialize>(
    archive: &mut Archive,
    name: &str,
    shape: &[u64],
    values: impl IntoIterator<Item = io::Result<T>>,
) -> io::Result<()> {
    let builder = archive.array::<T>(name, SimpleFileOptions::default().large_file(true))?;
    let mut writer = builder.default_dtype().shape(shape).begin_nd()?;
    values.into_iter().try_for_each(|value| writer.push(&value?))?;
    writer.finish()
}

/// Writes a one-dimensional array of Unicode strings. Fails if the archive cannot be written.
fn strings(archive: &mut Archive, name: &str, texts: &[String]) -> io::Result<()> {
    let longest = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1);
    let dtype: TypeStr = format!("<U{longest}").parse().map_err(io::Error::other)?;
    let builder = archive.array::<str>(name, SimpleFileOptions::default())?;
    let mut writer = builder.dtype(DType::Plain(dtype)).shape(&[texts.len() as u64]).begin_nd()?;
    texts.iter().try_for_each(|text| writer.push(text))?;
    writer.finish()
}
