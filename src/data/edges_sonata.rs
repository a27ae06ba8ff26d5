//! Reads the edges of a SONATA file as an edge list: `source_node_id` and `target_node_id` of its one population, and weights and
//! delays of its edge group 0, or those of the edge types in a table beside the file.

use super::{
    DataError,
    edge_columns::{DELAY_MS, WEIGHT, WEIGHT_EXPONENT},
    edges::{Batch, BatchFn, EdgeColumn, EdgeSource, Need, RowValues, out_of_range_message},
    hdf5_file::{Hdf5Column, Hdf5File, NumberType},
    messages,
    sonata_types::{TypeOf, TypeTable},
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Number of rows read at a time.
const BATCH: u64 = 1 << 16;
/// Number of rows of a part.
const PART_ROWS: u64 = 1 << 20;
/// Maximum number of values per byte of a file: deflate packs at most 1,032 bytes into one.
const MAX_PER_BYTE: u64 = 1032;

/// Accepted names of the number of synapses of an edge.
pub const COUNTS: [&str; 1] = ["nsyns"];
/// Accepted names of the weight of an edge.
pub const WEIGHTS: [&str; 3] = ["syn_weight", "weight", "conductance"];
/// Name of the delay in milliseconds.
pub const DELAY: &str = "delay";

/// Weights, counts or delays of the edges.
struct Property {
    name: String,
    number_type: NumberType,
    /// Values by edge type; `None` for a column of the edges.
    of_types: Option<HashMap<u64, f64>>,
}

/// Edge population of a SONATA file.
pub struct SonataEdges {
    path: PathBuf,
    /// Path of the population in the file.
    group: String,
    n: u64,
    /// Names of the columns, as edge lists name them.
    names: Vec<String>,
    /// Weights or counts.
    weight: Option<Property>,
    delay: Option<Property>,
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
        let types = TypeOf::Edge.beside(path).map(|path| TypeTable::read(&path, TypeOf::Edge)).transpose()?;
        let places = Places { file: &file, group: &group, n, properties: &properties, types: types.as_ref() };
        let preferred: Vec<&str> = match values {
            RowValues::Counts => COUNTS.iter().chain(&WEIGHTS).copied().collect(),
            RowValues::Weights => WEIGHTS.iter().chain(&COUNTS).copied().collect(),
        };
        let weight = places.find(&preferred)?;
        match &weight {
            Some(of) if values == RowValues::Counts && of.number_type == NumberType::Real => {
                return Err(places.not_counts(of));
            }
            None if values == RowValues::Weights => return Err(no_weights(path, &group, types.as_ref())),
            _ => {}
        }
        let own = weight.as_ref().filter(|of| of.of_types.is_none());
        let own = own.map(|of| column(&format!("0/{}", of.name))).transpose()?;
        let weight_exponent =
            own.and_then(|of| of.attribute(WEIGHT_EXPONENT)).and_then(|text| text.parse::<i32>().ok());
        let delay = if values == RowValues::Weights { places.find(&[DELAY])? } else { None };
        let mut names = vec!["source_node_id".to_owned(), "target_node_id".to_owned()];
        names.extend(properties.iter().map(|name| if name == DELAY { DELAY_MS.to_owned() } else { name.clone() }));
        Ok(Self { path: path.to_owned(), group, n, names, weight, delay, weight_exponent })
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

/// Places where properties of edges are found.
struct Places<'a> {
    file: &'a Hdf5File,
    /// Path of the population in the file.
    group: &'a str,
    n: u64,
    /// Names of the columns of edge group 0.
    properties: &'a [String],
    types: Option<&'a TypeTable>,
}

impl Places<'_> {
    fn column(&self, name: &str) -> Result<Hdf5Column, DataError> {
        self.file.column(&format!("{}/{name}", self.group))
    }

    /// Finds the first of some properties that is a column of the edges, or else of the edge types; `None` if there is none. Fails if
    /// the column is damaged or holds no numbers.
    fn find(&self, names: &[&str]) -> Result<Option<Property>, DataError> {
        if let Some(name) = names.iter().find(|name| self.properties.iter().any(|known| known == *name)) {
            let found = self.column(&format!("0/{name}"))?;
            same_length(&found, self.n)?;
            return Ok(Some(Property { name: (*name).to_owned(), number_type: found.number_type()?, of_types: None }));
        }
        let Some(types) = self.types else { return Ok(None) };
        for name in names {
            if let Some(numbers) = types.numbers(name)? {
                same_length(&self.column(TypeOf::Edge.id())?, self.n)?;
                let (number_type, of_types) = (numbers.number_type, Some(numbers.by_id));
                return Ok(Some(Property { name: (*name).to_owned(), number_type, of_types }));
            }
        }
        Ok(None)
    }

    /// Returns the error about weights with fractions where synapse counts are read.
    fn not_counts(&self, of: &Property) -> DataError {
        let what = "whole numbers of synapses expected; projections of networks from rules take weights";
        match (&of.of_types, self.types) {
            (Some(_), Some(types)) => DataError::format(&types.path, format!("column \"{}\": {what}", of.name)),
            _ => self.column(&format!("0/{}", of.name)).map_or_else(|e| e, |column| column.error(None, what)),
        }
    }
}

/// Returns the error about edges without weights.
fn no_weights(path: &Path, group: &str, types: Option<&TypeTable>) -> DataError {
    let table = types.map_or("edge_types.csv".into(), |of| of.path.file_name().unwrap_or_default().to_string_lossy());
    let there = if types.is_some() { "has no such column" } else { "is not beside the file" };
    let what = format!(
        "{group}/0: there are no weights: the edges have no column \"{}\", and {table} {there}. Add the column to one of them; \
         in {table} it holds one weight per edge_type_id",
        WEIGHTS[0]
    );
    DataError::format(path, what)
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
struct Columns<'a> {
    source: Hdf5Column,
    target: Option<Hdf5Column>,
    weight: Option<Values<'a>>,
    delay: Option<Values<'a>>,
}

/// Values of a property in the order of the edges.
struct Values<'a> {
    /// Column of the property, or of the edge types.
    column: Hdf5Column,
    property: &'a Property,
}

impl SonataEdges {
    fn columns(&self, need: Need) -> Result<Columns<'_>, DataError> {
        let file = Hdf5File::open(&self.path)?;
        let column = |name: &str| file.column(&format!("{}/{name}", self.group));
        let values = |property: Option<&Property>| -> Result<Option<Hdf5Column>, DataError> {
            let Some(property) = property else { return Ok(None) };
            let own = format!("0/{}", property.name);
            column(if property.of_types.is_some() { TypeOf::Edge.id() } else { &own }).map(Some)
        };
        let has_values = matches!(need, Need::Counts | Need::Weights);
        let weight = self.weight.as_ref().filter(|_| has_values);
        let delay = self.delay.as_ref().filter(|_| need == Need::Weights);
        Ok(Columns {
            source: column("source_node_id")?,
            target: (need != Need::Pre).then(|| column("target_node_id")).transpose()?,
            weight: values(weight)?.zip(weight).map(|(column, property)| Values { column, property }),
            delay: values(delay)?.zip(delay).map(|(column, property)| Values { column, property }),
        })
    }
}

impl Values<'_> {
    /// Reads some rows as numbers. Fails if an edge type has no value.
    fn reals(&self, first: u64, n: u64) -> Result<Vec<f64>, DataError> {
        let Some(by_id) = &self.property.of_types else { return self.column.reals(first, n) };
        let value = |(row, id): (u64, u64)| {
            let missing = || format!("the table of edge types has no \"{}\" for the type {id}", self.property.name);
            by_id.get(&id).copied().ok_or_else(|| self.column.error(Some(row), &missing()))
        };
        (first..).zip(self.column.unsigned(first, n)?).map(value).collect()
    }

    /// Reads some rows as synapse counts. Fails if a value does not fit.
    fn counts(&self, first: u64, n: u64) -> Result<Vec<i32>, DataError> {
        let wrong = |row, value: &dyn std::fmt::Display| {
            self.column.error(Some(row), &format!("synapse count {value} does not fit 32 bits"))
        };
        if self.property.of_types.is_none() {
            let count = |(row, value): (u64, i64)| i32::try_from(value).map_err(|_| wrong(row, &value));
            return (first..).zip(self.column.signed(first, n)?).map(count).collect();
        }
        // Values of types are whole here, and those that fit are exact.
        let fits = |value: f64| value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
        let count = |(row, value)| if fits(value) { Ok(value as i32) } else { Err(wrong(row, &value)) };
        (first..).zip(self.reals(first, n)?).map(count).collect()
    }
}

impl Columns<'_> {
    fn of(&self, column: EdgeColumn) -> &Hdf5Column {
        let of = match column {
            EdgeColumn::Pre => None,
            EdgeColumn::Post => self.target.as_ref(),
            EdgeColumn::Weight => self.weight.as_ref().map(|values| &values.column),
            EdgeColumn::Delay => self.delay.as_ref().map(|values| &values.column),
        };
        of.unwrap_or(&self.source)
    }

    /// Reads the values of some rows.
    fn values(&self, need: Need, first: u64, n: u64, batch: &mut Batch) -> Result<(), DataError> {
        match (&self.weight, need) {
            (_, Need::Pre | Need::Ends) => {}
            (None, Need::Counts) => batch.count.resize(n as usize, 1),
            (None, Need::Weights) => batch.weight.resize(n as usize, 1.0),
            (Some(values), Need::Counts) => batch.count = values.counts(first, n)?,
            (Some(values), Need::Weights) => {
                batch.weight = values.reals(first, n)?;
                batch.is_real = values.property.number_type == NumberType::Real;
            }
        }
        if let Some(values) = &self.delay {
            batch.delay_ms = values.reals(first, n)?;
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
        self.weight.as_ref().map(|of| if of.name == COUNTS[0] { COUNTS[0] } else { WEIGHT[0] })
    }

    fn has_delays(&self) -> bool {
        self.delay.is_some()
    }

    fn may_be_real(&self) -> bool {
        self.weight.as_ref().is_some_and(|of| of.number_type == NumberType::Real)
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
            columns.values(need, first, n, &mut batch)?;
            let place = |row: usize| Some(first + row as u64);
            take(&batch).map_err(|wrong| columns.of(wrong.column).error(place(wrong.row), &wrong.what))?;
            progress(n)?;
        }
        Ok(())
    }
}
