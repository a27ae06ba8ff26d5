//! Exports connections as edge lists in Parquet: one row per connection with `pre`, `post`, `w` and `delay_ms`, sorted by `pre`. A
//! network from rules gives one file per projection, whose indices are those of the neurons within the two populations;
//! other networks give one file.
//!
//! A run folder holds no connections, so they are made again from its project and seed. Weights of plastic projections are those of
//! the last checkpoint, or those at step 0 if the run has none. Rows are read one presynaptic neuron at a time, and no simulation is
//! started: the required memory is that of the input files and of a row group; for a fixed in-degree that of one projection; for
//! learned weights also that of the checkpoint; and for SONATA that of an index by target, as `sonata/edge_index.rs` describes.

use super::{checkpoint::last_snapshot, file_names::FileNames, output::Outputs, parquet::column, trial::at};
use crate::{
    data::edge_columns::{DELAY_MS, POST, PRE, WEIGHT, WEIGHT_EXPONENT, WEIGHT_UNIT},
    kinds::Prepared,
    project::{RunFolder, read_meter::ReadMeter},
    sim::{CellModel, Connectivity, EdgeList, ElementSet, Progress, SYNAPSES, SimError, Snapshot},
};
use parquet::{
    basic::Compression,
    data_type::{DoubleType, FloatType, Int32Type},
    errors::Result,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{collections::BTreeSet, fs::File, io, sync::Arc};

/// Number of rows per group.
const GROUP: usize = 1 << 18;
/// Number of rows between two reports of progress.
const REPORT_EVERY: usize = 1 << 14;
/// Largest number of characters of a projection's name in a file name.
const MAX_NAME: usize = 80;

/// Returns the reason why the connections of a run cannot be written; `None` if they can be.
pub(super) fn why_not(run: &RunFolder) -> Option<&'static str> {
    match run.project() {
        Ok(project) if project.model.edge_lists().is_empty() => Some("The network has no connections"),
        Ok(_) => None,
        Err(_) => Some("The project of the run is unreadable"),
    }
}

pub(super) fn write(
    run: &RunFolder,
    names: &FileNames,
    (progress, meter): (&Progress, &ReadMeter),
    outputs: &mut Outputs,
) -> io::Result<()> {
    let network = Network::make(run, (progress, meter))?;
    for (i, part) in network.file_parts().iter().enumerate() {
        let path = if part.is_empty() { names.main.clone() } else { names.of_part(part) };
        let list = network.list(i, progress)?;
        let file = outputs.create(&path)?;
        let failed = |error| at(&path)(io::Error::other(error));
        let mut writer = EdgeWriter::new(file, &list).map_err(failed)?;
        let report = |fraction| network.report(progress, i, fraction);
        each_connection(&list, &report, |from, to, weight, secs| writer.push(from, to, weight, secs).map_err(failed))?;
        writer.close().map_err(failed)?;
    }
    Ok(())
}

/// Network of a run, made again to write its connections.
pub(super) struct Network {
    prepared: Box<dyn Prepared>,
    elements: Option<Arc<ElementSet>>,
    /// Names of the edge lists.
    lists: Vec<String>,
    /// Neuron models of the elements.
    pub cell_models: Vec<CellModel>,
    /// State of the last checkpoint; `None` without checkpoints.
    state: Option<Snapshot>,
}

impl Network {
    /// Reads or generates the network of a run. Fails if its files or its checkpoint cannot be read, or the job is cancelled.
    pub fn make(run: &RunFolder, (progress, meter): (&Progress, &ReadMeter)) -> io::Result<Self> {
        let mut project = run.project().map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why.to_string()))?;
        project.seed = run.manifest.setup_seed;
        let prepared = project.model.prepare(&run.build_context(&project), progress).map_err(from_sim)?;
        let has_checkpoint = !run.manifest.checkpoints.is_empty();
        let state = has_checkpoint.then(|| last_snapshot(run, meter)).transpose()?.map(|(_, state)| state);
        let (lists, cell_models) = (project.model.edge_lists(), project.model.cell_models());
        Ok(Self { elements: prepared.elements(), lists, cell_models, prepared, state })
    }

    /// Returns the elements; `None` if the kind has no table of them.
    pub fn elements(&self) -> Option<&ElementSet> {
        self.elements.as_deref()
    }

    /// Whether a set is that of the elements of the network.
    pub fn has_elements(&self, set: &str) -> bool {
        self.elements().is_some_and(|elements| elements.name == set)
    }

    /// Makes edge list `i`. Fails if memory does not suffice or the job is cancelled.
    pub fn list(&self, i: usize, progress: &Progress) -> io::Result<EdgeList> {
        self.prepared.edge_list(i, self.state.as_ref(), progress).map_err(from_sim)
    }

    /// Returns the part of the file name of each edge list; empty for a single list.
    pub fn file_parts(&self) -> Vec<String> {
        if self.lists.len() == 1 {
            return vec![String::new()];
        }
        let is_plain = |c: &char| c.is_alphanumeric() || "-_+".contains(*c);
        let mut used = BTreeSet::new();
        let mut unique = |name: &String| {
            let plain: String = name.chars().map(|c| if is_plain(&c) { c } else { '_' }).take(MAX_NAME).collect();
            let numbered = (2..).map(|k| format!("{plain}.{k}"));
            let free = std::iter::once(plain.clone()).chain(numbered).find(|name| used.insert(name.to_lowercase()));
            free.unwrap_or(plain)
        };
        self.lists.iter().map(&mut unique).collect()
    }

    /// Reports the written fraction of edge list `i`. Fails if the job is cancelled.
    pub fn report(&self, progress: &Progress, i: usize, fraction: f32) -> io::Result<()> {
        let whole = (i as f32 + fraction) / self.lists.len() as f32;
        progress.report("Writing connections", whole).map_err(from_sim)
    }
}

/// Calls `found` with source, target, weight and delay in seconds of every connection of a list, by source. `report` receives the
/// completed fraction. Fails if one of them fails.
pub(super) fn each_connection(
    list: &EdgeList,
    report: &dyn Fn(f32) -> io::Result<()>,
    mut found: impl FnMut(u32, u32, f64, f64) -> io::Result<()>,
) -> io::Result<()> {
    let (links, mut row) = (&*list.connectivity.connections, vec![]);
    let mut unreported = REPORT_EVERY;
    for from in 0..links.n() {
        links.read(from, &mut row);
        unreported += row.len() + 1;
        if unreported >= REPORT_EVERY {
            report(from as f32 / links.n() as f32)?;
            unreported = 0;
        }
        for connection in &row {
            let secs = connection.delay_secs.or(list.connectivity.delay_secs).unwrap_or_default();
            found(from, connection.to, connection.weight, secs)?;
        }
    }
    Ok(())
}

/// Writer of an edge list, which keeps one row group in memory.
struct EdgeWriter {
    file: SerializedFileWriter<File>,
    /// Whether weights are whole numbers of synapses.
    counts_synapses: bool,
    pre: Vec<i32>,
    post: Vec<i32>,
    weights: Vec<f64>,
    delays_ms: Vec<f32>,
}

impl EdgeWriter {
    fn new(file: File, list: &EdgeList) -> Result<Self> {
        let Connectivity { unit, .. } = list.connectivity;
        let counts_synapses = unit == SYNAPSES;
        let (pre, post, w) = (PRE[0], POST[0], WEIGHT[0]);
        let schema = format!(
            "message edges {{
                required int32 {pre} (INTEGER(32, false));
                required int32 {post} (INTEGER(32, false));
                required {} {w};
                required float {DELAY_MS};
            }}",
            if counts_synapses { "int32" } else { "double" }
        );
        let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let mut about = vec![entry(WEIGHT_UNIT, unit.to_owned())];
        about.extend(list.weight_exponent.map(|exponent| entry(WEIGHT_EXPONENT, exponent.to_string())));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = properties.set_key_value_metadata(Some(about)).build();
        let file = SerializedFileWriter::new(file, Arc::new(parse_message_type(&schema)?), Arc::new(properties))?;
        Ok(Self { file, counts_synapses, pre: vec![], post: vec![], weights: vec![], delays_ms: vec![] })
    }

    fn push(&mut self, pre: u32, post: u32, weight: f64, delay_secs: f64) -> Result<()> {
        self.pre.push(pre.cast_signed());
        self.post.push(post.cast_signed());
        self.weights.push(weight);
        self.delays_ms.push((delay_secs * 1e3) as f32);
        if self.pre.len() == GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes the rows in memory as a row group.
    fn flush(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        let take = std::mem::take::<Vec<i32>>;
        column::<Int32Type>(&mut group, take(&mut self.pre))?;
        column::<Int32Type>(&mut group, take(&mut self.post))?;
        if self.counts_synapses {
            column::<Int32Type>(&mut group, self.weights.drain(..).map(|count| count as i32).collect())?;
        } else {
            column::<DoubleType>(&mut group, std::mem::take(&mut self.weights))?;
        }
        column::<FloatType>(&mut group, std::mem::take(&mut self.delays_ms))?;
        group.close().map(drop)
    }

    fn close(mut self) -> Result<()> {
        if !self.pre.is_empty() {
            self.flush()?;
        }
        self.file.close().map(drop)
    }
}

fn from_sim(error: SimError) -> io::Error {
    let kind =
        if matches!(error, SimError::Cancelled) { io::ErrorKind::Interrupted } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, error.to_string())
}
