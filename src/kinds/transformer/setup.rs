//! Inputs that are prepared on the host, and the parameters that the shared simulation reads.

use super::{
    Params,
    model::{Config, Layout},
    weights,
};
pub use crate::kinds::language::setup::Setup;

crate::kinds::language::model::model_params!(Params, Config, Layout, weights::load, |self, vocab| Config::new(
    self, vocab
)?);
