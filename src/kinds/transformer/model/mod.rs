//! The model: sizes, parameters and their initial values, from which both backends are built.

mod config;
mod init;
mod layout;

pub use crate::kinds::language::model::{ConfigError, Layer, VOCAB_ALIGN};
pub use config::{Config, Position};
pub use init::{STD, init};
pub use layout::{Block, Layout, Linear, Norm, Role};
