//! Reads a connectome from its files.

use super::{
    Connectome, Csr, DataError, NeuronTable, ProgressFn, annotations, build_csr, edge_columns,
    edges::{self, EdgeSource, RowValues},
    messages, neuron_join,
    neurons::{self, NeuronFile, RowOrder},
};
use std::path::{Path, PathBuf};

/// Reads a network.
///
/// `path` is an edge list (`.parquet`, `.csv`; columns `pre`, `post`, `w`: indices and signed synapse counts; or `.h5`: SONATA edges
/// with `nsyns`) or a folder. A folder contains `edges.parquet`, `edges.csv` or `edges.h5` and, optionally, `neurons.parquet`,
/// `neurons.csv`, `nodes.csv`, plain or as `.csv.gz`, or `nodes.h5`; or the pair of Shiu et al. (2024), `Completeness_*.csv` and
/// `Connectivity_*.parquet`. `tables.neurons` is the path of another neuron table, joined by its key column or by root id with the table of the folder; `tables.annotations` is
/// the path of FlyWire annotations, joined by root id.
///
/// The number of neurons is the number of rows of the folder's table, or else of the other table; without a table, the largest
/// index determines it. Rows of equal pairs are added up, and a pair whose sum is zero is dropped. Notices of the result list
/// rows that match no neuron and missing weights.
///
/// # Errors
/// Returns [`DataError::Format`] with the file and the line (text) or the column and row group (Parquet) for anything missing,
/// of the wrong type, out of range or damaged; [`DataError::Io`] if a file cannot be opened; [`DataError::Cancelled`] if the
/// progress function returns `false`.
pub fn read(path: &Path, tables: Tables<'_>, watch: &ProgressFn) -> Result<Connectome, DataError> {
    let found = Files::find(path)?;
    let (mut provenance, mut notices) = (Vec::new(), Vec::new());
    let table = read_neurons(&found, tables, (&mut provenance, &mut notices), &part_of(watch, 0.0, 0.1))?;
    let source = edges::open(&found.edges, RowValues::Counts)?;
    let packed =
        build_csr::build_csr(&found.edges, source.as_ref(), table.as_ref().map(|t| t.len), &part_of(watch, 0.1, 0.9))?;
    let n = packed.csr.n();
    if n == 0 {
        return Err(DataError::format(&found.edges, "no neurons: the edge list is empty and there is no neuron table"));
    }
    let mut table = table.unwrap_or_else(|| NeuronTable { len: n, ..NeuronTable::default() });
    provenance.insert(0, describe_file(&found.edges, packed.n_rows, &packed.csr));
    notices.extend(weight_notice(&found.edges, source.as_ref(), &packed.csr));
    notices.extend(delay_notice(&found.edges, source.as_ref()));
    if let Some(path) = tables.annotations {
        provenance.push(annotations::join(path, &mut table, &mut notices, &part_of(watch, 0.9, 0.98))?);
    }
    let mut connectome = Connectome { neurons: table, synapses: packed.csr, provenance, notices };
    connectome.provenance.push(format!("fingerprint {:016x}", connectome.fingerprint()));
    Ok(connectome)
}

/// Neuron tables in addition to those in the folder of a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tables<'a> {
    /// A neuron table.
    pub neurons: Option<&'a Path>,
    /// Column that identifies the neurons in the table `neurons`, or in the table of the folder; `None` means `root_id`.
    pub key: Option<&'a str>,
    pub annotations: Option<&'a Path>,
}

/// Reads the neurons of the folder's table, of the other table, or of both joined; `None` if there is no table. Fails if a
/// table is invalid or the tables do not match.
fn read_neurons(
    found: &Files,
    tables: Tables<'_>,
    (provenance, notices): (&mut Vec<String>, &mut Vec<String>),
    watch: &ProgressFn,
) -> Result<Option<NeuronTable>, DataError> {
    let mut read = |path: &Path, key: Option<&str>| {
        let file = neurons::read(path, key, watch)?;
        provenance.push(file.provenance.clone());
        Ok::<_, DataError>(file)
    };
    let other = tables.neurons.map(|path| read(path, tables.key)).transpose()?;
    let own = match &found.neurons {
        // Together with another table, the folder's table only determines which neurons exist.
        Some(path) if found.published => {
            let file = neurons::read_completeness(path, watch)?;
            provenance.push(file.provenance.clone());
            Some(file)
        }
        Some(path) => Some(read(path, tables.key.filter(|_| other.is_none()))?),
        None => None,
    };
    match (own, other) {
        (Some(own), Some(other)) => neuron_join::join(own, other, notices).map(Some),
        (Some(only), None) | (None, Some(only)) => {
            notices.extend(row_order_notice(&only, &found.edges));
            Ok(Some(only.table))
        }
        (None, None) => Ok(None),
    }
}

/// Returns the notice that a table with ids is joined by row order; `None` if it is not.
fn row_order_notice(only: &NeuronFile, edges: &Path) -> Option<String> {
    let has_ids = only.id_column.is_some() || only.text_key.is_some();
    let why = format!("{} has no ids and the table no column idx", file_name(edges));
    (has_ids && only.order == RowOrder::Rows).then(|| neuron_join::row_order_notice(only, &why))
}

/// Returns the notice that connections have no weights, or only positive weights in a column that is not known to be signed;
/// `None` otherwise.
fn weight_notice(path: &Path, source: &dyn EdgeSource, csr: &Csr) -> Option<String> {
    let name = file_name(path);
    match source.weight_column() {
        None => Some(format!("{name} has no weight column: each row counts as one excitatory synapse.")),
        Some(column) if !edge_columns::WEIGHT.contains(&column) && csr.synapse_counts().n_inhibitory == 0 => {
            Some(format!(
                "{name}: all counts of the column \"{}\" are positive, so no connection inhibits. Import the file to give \
             signs by transmitter.",
                messages::truncated(column)
            ))
        }
        Some(_) => None,
    }
}

/// Returns the notice that delays are not read; `None` if there are none.
fn delay_notice(path: &Path, source: &dyn EdgeSource) -> Option<String> {
    let delays = edge_columns::DELAY_MS;
    let has_delays = source.columns().iter().any(|name| name == delays);
    has_delays
        .then(|| format!("{}: the column \"{delays}\" is not used; all connections have one delay.", file_name(path)))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Maps the progress of a part to the progress of the whole.
fn part_of<'a>(watch: &'a ProgressFn<'a>, from: f32, to: f32) -> impl Fn(&str, f32) -> bool + Sync + 'a {
    move |what, part| watch(what, from + (to - from) * part)
}

/// Formats `edges.csv: 45,922 bytes, 4,715 rows, 95,215 synapses, 2,001 excitatory and 2,714 inhibitory connections`.
fn describe_file(path: &Path, n_rows: u64, csr: &Csr) -> String {
    let n_bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let name = file_name(path);
    format!(
        "{name}: {}, {}, {}",
        messages::counted(n_bytes, "byte", "bytes"),
        messages::counted(n_rows, "row", "rows"),
        describe_synapses(csr)
    )
}

/// Formats `95,215 synapses, 2,001 excitatory and 2,714 inhibitory connections`.
pub fn describe_synapses(csr: &Csr) -> String {
    let census = csr.synapse_counts();
    format!(
        "{}, {} excitatory and {} inhibitory connections",
        messages::counted(census.n_synapses, "synapse", "synapses"),
        messages::group_digits(census.n_excitatory),
        messages::group_digits(census.n_inhibitory)
    )
}

/// Paths of the files of a data set.
pub(super) struct Files {
    pub edges: PathBuf,
    neurons: Option<PathBuf>,
    /// Whether the files are the pair of Shiu et al.
    published: bool,
}

impl Files {
    /// Finds the files of a folder; a file is an edge list. Fails if the folder has no edge list.
    pub fn find(path: &Path) -> Result<Self, DataError> {
        let about = std::fs::metadata(path).map_err(|e| DataError::io(path, e))?;
        if !about.is_dir() {
            return Ok(Self { edges: path.to_owned(), neurons: None, published: false });
        }
        let there = |names: &[&str]| names.iter().map(|n| path.join(n)).find(|p| p.is_file());
        if let Some(edges) = there(&["edges.parquet", "edges.csv", "edges.h5"]) {
            let neurons =
                there(&["neurons.parquet", "neurons.csv", "neurons.csv.gz", "nodes.csv", "nodes.csv.gz", "nodes.h5"]);
            return Ok(Self { edges, neurons, published: false });
        }
        let mut names: Vec<String> = std::fs::read_dir(path)
            .map_err(|e| DataError::io(path, e))?
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        // The last release is chosen if there are several.
        let last = |start: &str, end: &str| names.iter().rfind(|n| n.starts_with(start) && n.ends_with(end));
        if let Some(edges) = last("Connectivity_", ".parquet") {
            let release = edges.trim_start_matches("Connectivity_").trim_end_matches(".parquet");
            let table = format!("Completeness_{release}.csv");
            if !names.contains(&table) {
                return Err(DataError::format(
                    path,
                    format!("{edges} needs {table} in the same folder, which lists the neurons"),
                ));
            }
            return Ok(Self { edges: path.join(edges), neurons: Some(path.join(table)), published: true });
        }
        Err(DataError::format(
            path,
            "no edges.parquet, edges.csv, edges.h5 or Connectivity_*.parquet in this folder; choose the folder they are in, or the \
             edge file itself",
        ))
    }
}
