//! Columns of recorded series, whose cells are statistics of their samples. A series is read when a column, the order or the
//! filter needs it.

use super::{
    cell::Cell,
    column::{Column, Quantity, find},
    row::Row,
};
use crate::{
    kinds::Model,
    project::{RunFolder, Stream},
};
use std::{collections::BTreeSet, io, path::Path};

/// Number that represents a lane of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The last finite sample.
    Last,
    /// The lowest sample: of a loss the best one.
    Lowest,
    /// Step of the lowest sample.
    StepOfLowest,
    /// The highest sample.
    Highest,
    /// Mean of all finite samples.
    Mean,
}

impl Statistic {
    /// All statistics in the order of their columns.
    const ALL: [Declared; 5] = [
        (Self::Lowest, "lowest", "lowest", "The lowest recorded sample"),
        (Self::StepOfLowest, "step_of_lowest", "step of lowest", "Step of the lowest recorded sample"),
        (Self::Last, "last", "last", "The last recorded sample"),
        (Self::Highest, "highest", "highest", "The highest recorded sample"),
        (Self::Mean, "mean", "mean", "Mean of all recorded samples"),
    ];
}

/// Statistic with its names in keys and in titles, and its description.
type Declared = (Statistic, &'static str, &'static str, &'static str);

/// Statistics of the finite samples of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of finite samples.
    pub n: u64,
    /// The last finite sample; NaN without samples.
    pub last: f32,
    /// The lowest sample.
    pub min: f32,
    /// Step of the first lowest sample.
    pub min_step: u64,
    /// The highest sample.
    pub max: f32,
    sum: f64,
}

impl Default for Summary {
    fn default() -> Self {
        Self { n: 0, last: f32::NAN, min: f32::INFINITY, min_step: 0, max: f32::NEG_INFINITY, sum: 0.0 }
    }
}

impl Summary {
    /// Adds a sample; ignores samples that are not finite.
    pub fn add(&mut self, step: u64, value: f32) {
        if !value.is_finite() {
            return;
        }
        if value < self.min {
            (self.min, self.min_step) = (value, step);
        }
        (self.n, self.last, self.max) = (self.n + 1, value, self.max.max(value));
        self.sum += f64::from(value);
    }

    /// Returns the mean; NaN without samples.
    pub fn mean(&self) -> f32 {
        (self.sum / self.n as f64) as f32
    }

    fn cell(&self, statistic: Statistic) -> Cell {
        let number = match statistic {
            _ if self.n == 0 => return Cell::Empty,
            Statistic::Last => self.last,
            Statistic::Lowest => self.min,
            Statistic::StepOfLowest => return Cell::Number(self.min_step as f64),
            Statistic::Highest => self.max,
            Statistic::Mean => self.mean(),
        };
        // The shortest decimal form of a sample, and not that of its conversion.
        Cell::number_of(number.to_string().parse().unwrap_or(f64::NAN))
    }
}

/// Content of a series on disk. A series is read again if it differs.
pub type Version = Vec<(String, String, u64)>;

/// Series with fixed lanes that a run recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSeries {
    /// Probe with the arguments of its tap: `held_out`, `attention:layer=2`.
    pub name: String,
    /// Label of the probe with the arguments.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Names of the lanes; empty for a series with one lane.
    pub lanes: Vec<String>,
    /// Whether training minimises the series.
    pub is_objective: bool,
    /// Names, hashes and lengths of its files.
    pub version: Version,
}

/// Statistic of a series that a column shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesColumn {
    /// Name of the series, see [`RecordedSeries::name`].
    pub name: String,
    /// Name of the lane; empty for a series with one lane.
    pub lane: String,
    /// Number that represents the lane.
    pub statistic: Statistic,
}

/// Returns the streams of a run's series with fixed lanes.
fn streams(run: &RunFolder) -> impl Iterator<Item = &Stream> {
    run.manifest.streams.iter().filter(|s| s.shape == "series" && s.elements.is_empty())
}

fn name_of(stream: &Stream) -> String {
    if stream.args.is_empty() { stream.probe.clone() } else { format!("{}:{}", stream.probe, stream.args) }
}

/// Returns the names of a stream's lanes; empty for one lane.
fn lanes_of(stream: &Stream) -> Vec<String> {
    let name = |i: usize| stream.lanes.get(i).cloned().unwrap_or_else(|| i.to_string());
    if stream.width > 1 { (0..stream.width as usize).map(name).collect() } else { vec![] }
}

/// Lists the series with fixed lanes of a run.
pub(super) fn recorded(run: &RunFolder) -> Vec<RecordedSeries> {
    let model = Model::by_name(&run.manifest.kind);
    let mut all: Vec<RecordedSeries> = vec![];
    for stream in streams(run) {
        let (name, lanes) = (name_of(stream), lanes_of(stream));
        let version = (stream.file.clone(), stream.hash.clone(), run.n_bytes(stream));
        if let Some(known) = all.iter_mut().find(|known| known.name == name) {
            known.lanes.extend(lanes.into_iter().filter(|lane| !known.lanes.contains(lane)).collect::<Vec<_>>());
            known.version.push(version);
            continue;
        }
        let probe = model.as_ref().and_then(|model| model.probes().iter().find(|probe| probe.name == stream.probe));
        let label = probe.map_or_else(|| stream.probe.clone(), |probe| probe.label().into_owned());
        let title = if stream.args.is_empty() { label } else { format!("{label}, {}", stream.args) };
        let is_objective = model.as_ref().and_then(|model| model.result_probe()) == Some(name.as_str());
        all.push(RecordedSeries {
            name,
            title,
            unit: stream.unit.clone(),
            lanes,
            is_objective,
            version: vec![version],
        });
    }
    all
}

/// Returns the columns of all series of the rows.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let mut all: Vec<RecordedSeries> = vec![];
    for series in rows.iter().flat_map(|row| row.series.iter()) {
        match all.iter_mut().find(|known| known.name == series.name) {
            Some(known) => {
                let new: Vec<String> = series.lanes.iter().filter(|l| !known.lanes.contains(l)).cloned().collect();
                known.lanes.extend(new);
            }
            None => all.push(series.clone()),
        }
    }
    all.iter().flat_map(RecordedSeries::columns).collect()
}

impl RecordedSeries {
    fn columns(&self) -> impl Iterator<Item = Column> {
        let lanes = if self.lanes.is_empty() { vec![""] } else { self.lanes.iter().map(String::as_str).collect() };
        lanes.into_iter().flat_map(|lane| Statistic::ALL.map(|declared| self.column(lane, declared)))
    }

    fn column(&self, lane: &str, (statistic, key, title, docs): Declared) -> Column {
        let statistic_title = if self.is_objective { title.replace("lowest", "best") } else { title.to_owned() };
        let of_lane = if lane.is_empty() { String::new() } else { format!(", {lane}") };
        let is_step = statistic == Statistic::StepOfLowest;
        let is_result = matches!(statistic, Statistic::Last | Statistic::Lowest | Statistic::StepOfLowest);
        Column {
            key: key_of(key, &self.name, lane),
            title: format!("{} {}{of_lane}", capitalised(&statistic_title), uncapitalised(&self.title)),
            docs: docs.to_owned(),
            unit: if is_step { String::new() } else { self.unit.clone() },
            quantity: if is_step { Quantity::Count } else { Quantity::Value },
            group: self.title.clone(),
            is_default: self.is_objective && is_result,
            series: Some(SeriesColumn { name: self.name.clone(), lane: lane.to_owned(), statistic }),
        }
    }
}

fn key_of(statistic: &str, name: &str, lane: &str) -> String {
    if lane.is_empty() { format!("{statistic}({name})") } else { format!("{statistic}({name}[{lane}])") }
}

/// Returns a title in lower case, unless it begins with an abbreviation.
fn uncapitalised(title: &str) -> String {
    let mut chars = title.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(title.chars().skip(1)).collect()
        }
        _ => title.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns the names of the series that the columns with these keys show.
pub fn needed_series<'a>(columns: &[Column], keys: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let series = |key: &str| find(columns, key).ok()?.series.as_ref().map(|series| series.name.clone());
    keys.into_iter().filter_map(series).collect()
}

/// Statistics of a recorded series, by lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesSummary {
    name: String,
    lanes: Vec<(String, Summary)>,
}

impl SeriesSummary {
    /// Reads the samples of a series. Fails if the run or the file of the series cannot be read.
    pub fn read(folder: &Path, name: &str) -> io::Result<Self> {
        let run = RunFolder::open(folder)?;
        let mut lanes: Vec<(String, Summary)> = vec![];
        for stream in streams(&run).filter(|stream| name_of(stream) == name) {
            let names = if stream.width > 1 { lanes_of(stream) } else { vec![String::new()] };
            let mut place = |lane: String| match lanes.iter().position(|(known, _)| *known == lane) {
                Some(at) => at,
                None => {
                    lanes.push((lane, Summary::default()));
                    lanes.len() - 1
                }
            };
            // A later segment may have other lanes, or the same ones in another order.
            let places: Vec<usize> = names.into_iter().map(&mut place).collect();
            let (mut reader, mut row) = (run.read_rows(stream)?, vec![]);
            while let Some(step) = reader.next_row(&mut row)? {
                places.iter().zip(&row).for_each(|(at, value)| lanes[*at].1.add(step, *value));
            }
        }
        Ok(Self { name: name.to_owned(), lanes })
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (String, Cell)> {
        let of_lane = |(lane, summary): &(String, Summary)| {
            Statistic::ALL.map(|(statistic, key, ..)| (key_of(key, &self.name, lane), summary.cell(statistic)))
        };
        self.lanes.iter().flat_map(of_lane)
    }
}
