//! Reads the edges of a SONATA file as an edge list: `source_node_id` and `target_node_id` of its one population, and weights and
//! delays of its edge group 0.

use super::{
    DataError,
    edge_columns::{DELAY_MS, WEIGHT, WEIGHT_EXPONENT},
    edges::{Batch, BatchFn, EdgeColumn, EdgeSource, Need, RowValues, out_of_range_message},
    hdf5_file::{Hdf5Column, Hdf5File, NumberType},
    messages,
};
use std::path::{Path, PathBuf};

/// Number of rows read at a time.
const BATCH: u64 = 1 << 16;
/// Number of rows of a part.
const PART_ROWS: u64 = 1 << 20;
/// Maximum number of values per byte of a file: deflate packs at most 1,032 bytes into one.
const MAX_PER_BYTE: u64 = 1032;

/// Accepted names of the number of synapses of an edge.
const COUNTS: [&str; 1] = ["nsyns"];
/// Accepted names of the weight of an edge.
const WEIGHTS: [&str; 3] = ["syn_weight", "weight", "conductance"];
/// Name of the delay in milliseconds.
const DELAY: &str = "delay";

/// Edge population of a SONATA file.
pub struct SonataEdges {
    path: PathBuf,
    /// Path of the population in the file.
    group: String,
    n: u64,
    /// Names of the columns, as edge lists name them.
    names: Vec<String>,
    /// Name and type of the column of weights or counts.
    weight: Option<(String, NumberType)>,
    has_delays: bool,
    weight_exponent: Option<i32>,
}

impl SonataEdges {
    /// Opens a file and finds its columns. Fails if it is damaged, or has not one population with one edge group.
    pub fn open(path: &Path, values: RowValues) -> Result<Self, DataError> {
        let file = Hdf5File::open(path)?;
        let group = population(path, &file)?;
        let column = |name: &str| file.column(&format!("{group}/{name}"));
        let (source, target) = (column("source_node_id")?, column("target_node_id")?);
        let n = source.n;
        let n_bytes = std::fs::metadata(path).map_or(0, |about| about.len());
        if n > n_bytes.saturating_mul(MAX_PER_BYTE) {
            return Err(
                source.error(None, &format!("{} rows are more than the file can hold", messages::group_digits(n)))
            );
        }
        same_length(&target, n)?;
        let has_group = file.groups(&group)?.iter().any(|name| name == "0");
        check_groups(&file, &group, n)?;
        let properties = if has_group { file.datasets(&format!("{group}/0"))? } else { vec![] };
        let has = |name: &str| properties.iter().any(|known| known == name);
        let preferred: Vec<&str> = match values {
            RowValues::Counts => COUNTS.iter().chain(&WEIGHTS).copied().collect(),
            RowValues::Weights => WEIGHTS.iter().chain(&COUNTS).copied().collect(),
        };
        let weight = preferred.into_iter().find(|name| has(name)).map(|name| {
            let found = column(&format!("0/{name}"))?;
            same_length(&found, n)?;
            let number_type = found.number_type()?;
            if values == RowValues::Counts && number_type == NumberType::Real {
                return Err(found.error(
                    None,
                    "whole numbers of synapses expected; projections of networks from rules take weights",
                ));
            }
            let exponent = found.attribute(WEIGHT_EXPONENT).and_then(|text| text.parse::<i32>().ok());
            Ok::<_, DataError>((name.to_owned(), number_type, exponent))
        });
        let weight = weight.transpose()?;
        let has_delays = values == RowValues::Weights && has(DELAY);
        if has_delays {
            let delays = column(&format!("0/{DELAY}"))?;
            same_length(&delays, n)?;
            delays.number_type()?;
        }
        let mut names = vec!["source_node_id".to_owned(), "target_node_id".to_owned()];
        names.extend(properties.iter().map(|name| if name == DELAY { DELAY_MS.to_owned() } else { name.clone() }));
        let weight_exponent = weight.as_ref().and_then(|(.., exponent)| *exponent);
        let weight = weight.map(|(name, number_type, _)| (name, number_type));
        Ok(Self { path: path.to_owned(), group, n, names, weight, has_delays, weight_exponent })
    }
}

/// Returns the path of the one edge population of a file. Fails if there are none or several.
fn population(path: &Path, file: &Hdf5File) -> Result<String, DataError> {
    let populations = file.groups("edges")?;
    match &populations[..] {
        [one] => Ok(format!("edges/{one}")),
        [] => Err(DataError::format(path, "edges: there is no population of edges")),
        several => {
            let names: Vec<String> = several.iter().take(24).map(|name| messages::truncated(name)).collect();
            Err(DataError::format(
                path,
                format!("edges: one population per file is read, this one has {}", names.join(", ")),
            ))
        }
    }
}

fn same_length(column: &Hdf5Column, n: u64) -> Result<(), DataError> {
    let [found, expected] = [column.n, n].map(messages::group_digits);
    if column.n == n {
        Ok(())
    } else {
        Err(column.error(None, &format!("{found} rows where other columns have {expected}")))
    }
}

/// Checks that all edges are rows of group 0 in order, which holds unless edges of one population have different properties.
fn check_groups(file: &Hdf5File, group: &str, n: u64) -> Result<(), DataError> {
    let there = file.datasets(group)?;
    for (name, is_index) in [("edge_group_id", false), ("edge_group_index", true)] {
        if !there.iter().any(|known| known == name) {
            continue;
        }
        let column = file.column(&format!("{group}/{name}"))?;
        same_length(&column, n)?;
        for first in (0..n).step_by(BATCH as usize) {
            let values = column.unsigned(first, BATCH.min(n - first))?;
            let expected = |row: usize| if is_index { first + row as u64 } else { 0 };
            if let Some(row) = (0..values.len()).find(|row| values[*row] != expected(*row)) {
                let what = format!("{}: edges of one group in order are read", values[row]);
                return Err(column.error(Some(first + row as u64), &what));
            }
        }
    }
    Ok(())
}

/// Columns that a pass reads.
struct Columns {
    source: Hdf5Column,
    target: Option<Hdf5Column>,
    weight: Option<Hdf5Column>,
    delay: Option<Hdf5Column>,
}

impl SonataEdges {
    fn columns(&self, need: Need) -> Result<Columns, DataError> {
        let file = Hdf5File::open(&self.path)?;
        let column = |name: &str| file.column(&format!("{}/{name}", self.group));
        let has_values = matches!(need, Need::Counts | Need::Weights);
        let weight = self.weight.as_ref().filter(|_| has_values);
        Ok(Columns {
            source: column("source_node_id")?,
            target: (need != Need::Pre).then(|| column("target_node_id")).transpose()?,
            weight: weight.map(|(name, _)| column(&format!("0/{name}"))).transpose()?,
            delay: (self.has_delays && need == Need::Weights).then(|| column(&format!("0/{DELAY}"))).transpose()?,
        })
    }
}

impl Columns {
    fn of(&self, column: EdgeColumn) -> &Hdf5Column {
        let of = match column {
            EdgeColumn::Pre => None,
            EdgeColumn::Post => self.target.as_ref(),
            EdgeColumn::Weight => self.weight.as_ref(),
            EdgeColumn::Delay => self.delay.as_ref(),
        };
        of.unwrap_or(&self.source)
    }

    /// Reads the values of some rows.
    fn values(
        &self,
        (need, number_type): (Need, NumberType),
        first: u64,
        n: u64,
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        match (&self.weight, need) {
            (_, Need::Pre | Need::Ends) => {}
            (None, Need::Counts) => batch.count.resize(n as usize, 1),
            (None, Need::Weights) => batch.weight.resize(n as usize, 1.0),
            (Some(column), Need::Counts) => {
                for (row, value) in (first..).zip(column.signed(first, n)?) {
                    let wrong = |_| column.error(Some(row), &format!("synapse count {value} does not fit 32 bits"));
                    batch.count.push(i32::try_from(value).map_err(wrong)?);
                }
            }
            (Some(column), Need::Weights) => {
                batch.weight = column.reals(first, n)?;
                batch.is_real = number_type == NumberType::Real;
            }
        }
        if let Some(column) = &self.delay {
            batch.delay_ms = column.reals(first, n)?;
        }
        Ok(())
    }
}

/// Reads some rows as indices of neurons. Fails if a value is not a valid index.
fn indices(column: &Hdf5Column, first: u64, n: u64) -> Result<Vec<u32>, DataError> {
    let index = |(row, value): (u64, i64)| match u32::try_from(value) {
        Ok(index) => Ok(index),
        Err(_) if value < 0 => Err(column.error(Some(row), &format!("negative index {value}"))),
        Err(_) => Err(column.error(Some(row), &out_of_range_message(value.unsigned_abs(), super::MAX_NEURONS.into()))),
    };
    (first..).zip(column.signed(first, n)?).map(index).collect()
}

impl EdgeSource for SonataEdges {
    fn n_parts(&self) -> usize {
        self.n.div_ceil(PART_ROWS) as usize
    }

    fn part_size(&self, part: usize) -> u64 {
        PART_ROWS.min(self.n - part as u64 * PART_ROWS)
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn weight_column(&self) -> Option<&str> {
        // The signs of SONATA weights are those of their effects, as in the first name of an edge list.
        self.weight.as_ref().map(|(name, _)| if name == COUNTS[0] { COUNTS[0] } else { WEIGHT[0] })
    }

    fn has_delays(&self) -> bool {
        self.has_delays
    }

    fn may_be_real(&self) -> bool {
        self.weight.as_ref().is_some_and(|(_, number_type)| *number_type == NumberType::Real)
    }

    fn weight_exponent(&self) -> Option<i32> {
        self.weight_exponent
    }

    fn read(
        &self,
        part: usize,
        need: Need,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError> {
        let columns = self.columns(need)?;
        let number_type = self.weight.as_ref().map_or(NumberType::Signed, |(_, number_type)| *number_type);
        let begin = part as u64 * PART_ROWS;
        let end = begin + self.part_size(part);
        let mut batch = Batch::default();
        for first in (begin..end).step_by(BATCH as usize) {
            let n = BATCH.min(end - first);
            batch.clear();
            batch.pre = indices(&columns.source, first, n)?;
            if let Some(target) = &columns.target {
                batch.post = indices(target, first, n)?;
            }
            columns.values((need, number_type), first, n, &mut batch)?;
            let place = |row: usize| Some(first + row as u64);
            take(&batch).map_err(|wrong| columns.of(wrong.column).error(place(wrong.row), &wrong.what))?;
            progress(n)?;
        }
        Ok(())
    }
}
