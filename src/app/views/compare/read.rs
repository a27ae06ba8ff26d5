//! Reading of one series of a run folder, on the pool, with the statistics of its lanes.

use super::group_rate::{self, CountedGroup};
use crate::{
    app::{
        document::{run_groups::RunGroups, time::StepCurve},
        views::plot::samples::Samples,
    },
    kinds::Model,
    project::{Manifest, ParamHistory, RunFolder, Stream},
    sim::{Level, TimeBase},
};
use std::{io, path::Path, sync::Arc};

pub use crate::project::run_table::Summary;

/// Number of rows that are appended together.
const CHUNK: usize = 4096;

/// Series that a run recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesName {
    /// Name of the probe, and the arguments of its tap.
    pub key: (String, String),
    /// Label with the arguments.
    pub label: String,
    /// Unit of the recorded values.
    pub unit: &'static str,
    /// Label with the arguments and the unit.
    pub title: String,
    /// Names of the lanes; empty for a series with one lane.
    pub lanes: Vec<String>,
}

/// Data of a run for the comparison.
#[derive(Clone, Debug, Default)]
pub struct RunSeries {
    /// Time base of a step.
    pub base: TimeBase,
    /// First and last step of the run.
    pub steps: (u64, u64),
    /// All series with fixed lanes that the run recorded.
    pub offered: Vec<SeriesName>,
    /// Samples of the wanted series; empty if it was not recorded.
    pub samples: Samples,
    /// Statistics of each lane.
    pub summaries: Vec<Summary>,
    /// Reference values and factors of the series.
    pub levels: Vec<Level>,
    /// Running time by step; empty if it was not recorded.
    pub wall_clock: Arc<StepCurve>,
    /// Group whose rate the series is; `None` for a recorded series.
    pub group: Option<CountedGroup>,
    /// Whether the values are angles.
    pub is_angle: bool,
    /// Parameters in effect during the run; `None` if they cannot be read.
    pub params: Option<ParamHistory>,
}

/// Statistics of one series over the last part of a run.
#[derive(Default)]
pub struct Summarised {
    /// All series with fixed lanes that the run recorded.
    pub offered: Vec<SeriesName>,
    /// The series that was read; `None` if the run recorded no series.
    pub key: Option<(String, String)>,
    /// Statistics of each lane; empty if the run did not record the series.
    pub lanes: Vec<Summary>,
    /// Group whose rate the series is; `None` for a recorded series.
    pub group: Option<CountedGroup>,
}

/// Summarises the wanted series of a run, or its first one, over the last fraction `share` of its steps. Fails if its data cannot
/// be read.
pub fn summarise(
    run: &RunFolder,
    wanted: Option<&(String, String)>,
    share: f64,
    groups: &RunGroups,
) -> io::Result<Summarised> {
    let manifest = &run.manifest;
    let (first, last) = (manifest.first_step as f64, manifest.last_step as f64);
    let from = last - (last - first) * share;
    let offered = offered(run, groups);
    let key = wanted.or(offered.first().map(|first| &first.key)).cloned();
    if let Some((_, group)) = key.as_ref().filter(|key| group_rate::is_group(key)) {
        let rate = group_rate::read(run, groups, group)?;
        let mut lane = Summary::default();
        let late = rate.steps.iter().zip(&rate.rates).filter(|(step, _)| **step as f64 > from);
        late.for_each(|(step, value)| lane.add(*step, *value));
        return Ok(Summarised { offered, key, lanes: vec![lane], group: Some(rate.group) });
    }
    let mut lanes = vec![];
    for stream in fixed_series(manifest).filter(|s| key.as_ref().is_some_and(|key| is_of(s, key))) {
        lanes = vec![Summary::default(); stream.width as usize];
        let (mut reader, mut row) = (run.read_rows(stream)?, vec![]);
        while let Some(step) = reader.next_row(&mut row)? {
            if step as f64 >= from {
                lanes.iter_mut().zip(&row).for_each(|(summary, value)| summary.add(step, *value));
            }
        }
    }
    Ok(Summarised { offered, key, lanes, group: None })
}

/// Returns the streams of series with fixed lanes.
fn fixed_series(manifest: &Manifest) -> impl Iterator<Item = &Stream> {
    manifest.streams.iter().filter(|s| s.shape == "series" && s.elements.is_empty())
}

fn is_of(stream: &Stream, (probe, args): &(String, String)) -> bool {
    stream.probe == *probe && stream.args == *args
}

/// Returns the streams of series that begin with the run: the result of the kind first, those without samples last.
fn ordered(manifest: &Manifest) -> Vec<&Stream> {
    let mut recorded: Vec<&Stream> = fixed_series(manifest).filter(|s| s.from_step == 0).collect();
    let result = Model::by_name(&manifest.kind).and_then(|model| model.result_probe());
    recorded.sort_by_key(|stream| (stream.n_bytes == 0, Some(stream.probe.as_str()) != result));
    recorded
}

/// Returns the recorded series in their order, then the rates of named groups.
pub fn offered(run: &RunFolder, groups: &RunGroups) -> Vec<SeriesName> {
    let manifest = &run.manifest;
    let mut all: Vec<SeriesName> = ordered(manifest).into_iter().map(|s| name_of(&manifest.kind, s)).collect();
    let rates = group_rate::offered(run, groups).into_iter();
    // The title has the unit, which depends on the set of elements.
    let named = |(key, title): (_, String)| SeriesName { key, label: title.clone(), unit: "", title, lanes: vec![] };
    all.extend(rates.map(named));
    all
}

/// Reads the wanted series of a run, or its first one if none is wanted. Fails if the run or its data cannot be read, or the
/// query of a wanted group cannot be evaluated.
pub fn read(folder: &Path, wanted: Option<&(String, String)>, groups: &RunGroups) -> io::Result<RunSeries> {
    let run = RunFolder::open(folder)?;
    let manifest = &run.manifest;
    let mut out = RunSeries {
        base: manifest.time_base(),
        steps: (manifest.first_step, manifest.last_step),
        params: ParamHistory::read(&run).ok(),
        offered: offered(&run, groups),
        // Without running times, the run can be drawn over its steps.
        wall_clock: Arc::new(
            run.run_times().unwrap_or_default().into_iter().map(|(step, secs)| (step as f64, secs)).collect(),
        ),
        ..RunSeries::default()
    };
    let Some(key) = wanted.or(out.offered.first().map(|first| &first.key)) else { return Ok(out) };
    if group_rate::is_group(key) {
        let rate = group_rate::read(&run, groups, &key.1)?;
        let mut summary = Summary::default();
        rate.steps.iter().zip(&rate.rates).for_each(|(step, value)| summary.add(*step, *value));
        out.samples.push(1, &rate.steps, &rate.rates);
        (out.summaries, out.group) = (vec![summary], Some(rate.group));
        return Ok(out);
    }
    let probe =
        Model::by_name(&manifest.kind).and_then(|model| model.probes().iter().find(|probe| probe.name == key.0));
    out.is_angle = probe.is_some_and(|probe| probe.is_angle());
    for stream in fixed_series(manifest).filter(|s| is_of(s, key)) {
        out.levels.clone_from(&stream.levels);
        append(&run, stream, &mut out.samples, &mut out.summaries)?;
    }
    Ok(out)
}

fn append(run: &RunFolder, stream: &Stream, samples: &mut Samples, summaries: &mut Vec<Summary>) -> io::Result<()> {
    let lanes = stream.width as usize;
    let mut reader = run.read_rows(stream)?;
    let (mut steps, mut values, mut row) = (vec![], vec![], vec![]);
    // A later segment has other lanes, so its statistics replace earlier ones.
    *summaries = vec![Summary::default(); lanes];
    loop {
        let next = reader.next_row(&mut row)?;
        if let Some(step) = next {
            steps.push(step);
            values.extend_from_slice(&row);
            summaries.iter_mut().zip(&row).for_each(|(summary, value)| summary.add(step, *value));
        }
        if next.is_none() || steps.len() == CHUNK {
            samples.push(lanes, &steps, &values);
            steps.clear();
            values.clear();
        }
        if next.is_none() {
            return Ok(());
        }
    }
}

fn name_of(kind: &str, stream: &Stream) -> SeriesName {
    let model = Model::by_name(kind);
    let probe = model.as_ref().and_then(|model| model.probes().iter().find(|probe| probe.name == stream.probe));
    let mut label = probe.map_or_else(|| stream.probe.clone(), |probe| probe.label().into_owned());
    if !stream.args.is_empty() {
        label += &format!(", {}", stream.args);
    }
    let title = if stream.unit.is_empty() { label.clone() } else { format!("{label} ({})", stream.unit) };
    let lanes = if stream.width > 1 { stream.lanes.clone() } else { vec![] };
    let unit = probe.map_or("", |probe| probe.unit);
    SeriesName { key: (stream.probe.clone(), stream.args.clone()), label, unit, title, lanes }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result is shown by default, unless it has no samples.
    #[test]
    fn a_series_without_samples_is_not_the_first() {
        let of = |n_bytes: u64| {
            let stream = |probe: &str, n_bytes| Stream {
                probe: probe.into(),
                shape: "series".into(),
                width: 1,
                n_bytes,
                ..Stream::default()
            };
            let streams = vec![stream("loss", 12), stream("held_out", n_bytes)];
            let manifest = Manifest { kind: "transformer".into(), streams, ..Manifest::default() };
            ordered(&manifest).iter().map(|stream| stream.probe.clone()).collect::<Vec<_>>()
        };
        assert_eq!((of(12), of(0)), (vec!["held_out".into(), "loss".into()], vec!["loss".into(), "held_out".into()]));
    }
}
