//! Readers of input files. The readers depend on file formats, not on simulations.
//!
//! [`read`] turns a folder, an edge list or the published file pair into a [`Connectome`]; [`generate`] makes a connectome from
//! a seed; [`rewire`] makes a random network that keeps properties of another one; [`columns`] reads small lists of indices;
//! [`circuit`] finds the files of a SONATA circuit; [`text`] makes tokens of texts; [`tensors`] reads and writes weights.
//! Every error is a [`DataError`] that names the file and the line, or the column and row group.

pub mod circuit;
pub mod columns;
pub mod connectome;
pub mod csr;
pub mod edge_columns;
pub mod fuzz_entry;
pub mod generate;
pub mod images;
pub mod import;
pub mod input_file;
pub mod npz;
pub mod rewire;
pub mod samples;
pub mod tensors;
pub mod text;
pub mod weighted_edges;

mod annotations;
mod build_csr;
mod column_names;
mod csv_fields;
mod csv_text;
mod data_table;
mod edges;
mod edges_csv;
mod edges_parquet;
mod edges_sonata;
mod fingerprint;
mod gzip;
mod hdf5_file;
mod import_rows;
mod limited;
mod memory;
mod messages;
mod neuron_join;
mod neurons;
mod nodes_sonata;
mod parquet_file;
mod parquet_footer;
mod parquet_pages;
mod read;
mod row_check;
mod sonata_types;

pub use connectome::{Category, Connectome, NeuronTable};
pub use csr::Csr;
pub use csv_text::csv_text;
pub use limited::{read_at_most, read_text_at_most};
pub use memory::{Budget, text_bytes};
pub use messages::{counted, group_digits, truncated_to};
pub use messages::{io_reason, list_columns};
pub use read::{Tables, read};

use std::path::Path;

/// Receives the stage and the progress of a read or a generation, 0 to 1; returns `false` to cancel. The function is called at
/// least every 50 ms, from any thread.
pub type ProgressFn<'a> = dyn Fn(&str, f32) -> bool + Sync + 'a;

/// Maximum number of neurons in a network. A larger index is a mistake, often a root id.
pub const MAX_NEURONS: u32 = 1 << 24;

/// Reason why data could not be read or generated. Every message names the file and, if possible, the line or column.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file is missing or not readable.
    #[error("{path}: {}", io_reason(source))]
    Io { path: String, source: std::io::Error },
    /// The content is not in the expected format.
    #[error("{path}: {what}")]
    Format {
        /// Path of the file, with `:line` for text files.
        path: String,
        /// Mistake, and the expected form.
        what: String,
    },
    /// The progress function cancelled the operation.
    #[error("cancelled")]
    Cancelled,
}

impl DataError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }

    pub(crate) fn format(path: &Path, what: impl Into<String>) -> Self {
        Self::Format { path: path.display().to_string(), what: what.into() }
    }

    fn at_line(path: &Path, line: u64, what: impl Into<String>) -> Self {
        Self::Format { path: format!("{}:{line}", path.display()), what: what.into() }
    }
}

/// Reports progress. Returns an error if `watch` cancels.
fn report(watch: &ProgressFn, what: &str, part: f32) -> Result<(), DataError> {
    if watch(what, part) { Ok(()) } else { Err(DataError::Cancelled) }
}
