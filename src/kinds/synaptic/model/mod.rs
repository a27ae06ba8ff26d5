//! Sizes, names and first values of the parameters. All backends are built from these.

pub mod automaton;
mod config;
mod init;
mod layout;

pub use config::{Config, ConfigError, MAX_HEAD, VOCAB_ALIGN};
pub use init::init;
pub use layout::{Block, Layer, Layout, Norm, Role};
