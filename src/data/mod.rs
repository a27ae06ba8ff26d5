//! Files kinds are made of. Knows formats, no simulation.

pub mod connectome;
pub mod csr;

pub use connectome::{Category, Connectome, NeuronTable};
pub use csr::Csr;

/// Told how far a read or a generation is, 0 to 1; `false` means nobody wants it any more.
pub type Watcher<'a> = dyn Fn(&str, f32) -> bool + Sync + 'a;

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
