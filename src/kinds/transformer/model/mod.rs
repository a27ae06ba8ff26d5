//! The model: its sizes, its parameters and their first values. Both backends are built from these.

mod config;
mod init;
mod layout;

pub use config::{Config, ConfigError, Position, VOCAB_ALIGN};
pub use init::{STD, init};
pub use layout::{Block, Layer, Layout, Linear, Norm, Role};
