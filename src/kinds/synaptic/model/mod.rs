//! Sizes, names and initial values of the parameters, from which all backends are built.

pub mod automaton;
mod config;
mod init;
mod layout;

pub use crate::kinds::language::model::{Layer, MAX_HEAD, VOCAB_ALIGN};
pub use config::{Config, ConfigError};
pub use init::init;
pub use layout::{Block, Layout, Norm, Role};
