//! Files kinds are made of. Knows formats, no simulation.
//!
//! [`read`] turns a folder, an edge list or the published file pair into a [`Connectome`];
//! [`generate`] makes one from a seed; [`table`] reads small lists of indices. Whatever is wrong with a
//! file is a [`DataError`] that names the file and the line, or the column and row group.

pub mod connectome;
pub mod csr;
pub mod fuzz_entry;
pub mod generate;
pub mod samples;
pub mod table;

mod annotations;
mod edges;
mod edges_csv;
mod edges_parquet;
mod fingerprint;
mod footer;
mod gunzip;
mod neurons;
mod pack;
mod pages;
mod parquet_file;
mod read;
mod sheet;
mod words;

pub use connectome::{Category, Connectome, NeuronTable};
pub use csr::Csr;
pub use read::read;

use std::path::Path;

/// Told how far a read or a generation is, 0 to 1; `false` means nobody wants it any more. Called at
/// least every 50 ms, from any thread.
pub type Watcher<'a> = dyn Fn(&str, f32) -> bool + Sync + 'a;

/// Most neurons a network may have. An index above it is a mistake (often a root id).
pub const MAX_NEURONS: u32 = 1 << 24;

/// Why data could not be read or made. Every message names the file, and the line or column where it can.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Nothing there, or not readable.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Readable, but not what it should be.
    #[error("{path}: {what}")]
    Format {
        /// The file, with `:line` for texts.
        path: String,
        /// What is wrong and what was expected.
        what: String,
    },
    /// The watcher said stop.
    #[error("cancelled")]
    Cancelled,
}

impl DataError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }

    fn format(path: &Path, what: impl Into<String>) -> Self {
        Self::Format { path: path.display().to_string(), what: what.into() }
    }

    fn at_line(path: &Path, line: u64, what: impl Into<String>) -> Self {
        Self::Format { path: format!("{}:{line}", path.display()), what: what.into() }
    }
}

/// Tells the watcher, and turns its "no" into an error.
fn tell(watch: &Watcher, what: &str, part: f32) -> Result<(), DataError> {
    if watch(what, part) { Ok(()) } else { Err(DataError::Cancelled) }
}
