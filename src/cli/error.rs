//! Errors and their exit codes.

use crate::{data::io_reason, params::path::PathError, project::ReadError, sim::SimError};
use std::io;

/// An error of a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    Failed(String),
    /// An invalid argument, path, value, query or file.
    #[error("{0}")]
    Usage(String),
    #[error("cancelled{0}")]
    Cancelled(String),
    /// A requested GPU is not available or has failed.
    #[error("{0}")]
    NoGpu(String),
}

impl CliError {
    pub const fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Cancelled(_) => 3,
            Self::NoGpu(_) => 4,
        }
    }
}

impl From<SimError> for CliError {
    fn from(error: SimError) -> Self {
        match error {
            SimError::Input(what) => Self::Usage(what),
            SimError::NoDevice(what) | SimError::Device(what) => Self::NoGpu(what),
            SimError::Cancelled => Self::Cancelled(String::new()),
            SimError::Diverged(_) => Self::Failed(error.to_string()),
        }
    }
}

impl From<PathError> for CliError {
    fn from(error: PathError) -> Self {
        Self::Usage(format!("--set {error}"))
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The run is missing, or a folder must not be overwritten; both are errors of usage.
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Self::Usage(io_reason(&error)),
            _ => Self::Failed(io_reason(&error)),
        }
    }
}
