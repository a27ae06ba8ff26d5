//! Preparation on the host: initial weights from a file.

use super::{
    Params,
    model::{Config, Layout, VOCAB_ALIGN},
};
pub use crate::kinds::language::setup::Setup;
use crate::{
    data::{DataError, tensors::TensorFile},
    kinds::shared::weights::{self, TensorSource},
    nn::parameters::{Parameters, View},
    sim::{Progress, SimError},
};
use std::path::Path;

crate::kinds::language::model::model_params!(Params, Config, Layout, load, |self, vocab| self.config(vocab)?);

/// Loads weights from a file of this program. Rows after the vocabulary are zero. Fails if the file is unreadable or does
/// not fit the model.
fn load(path: &Path, config: &Config, layout: &Layout, progress: &Progress) -> Result<Parameters<f32>, SimError> {
    let watch = |what: &str, part: f32| progress.report(what, part).is_ok();
    let source = |view: &View| {
        let is_padded = matches!(&view.name[..], "wte.weight" | "lm_head.weight");
        TensorSource { rows: is_padded.then_some((config.vocab, VOCAB_ALIGN - 1)), ..TensorSource::same(view) }
    };
    // Other tensors of the file are moments and values that are not weights.
    let is_other = |name: &str| name.contains('/') || !name.contains('.');
    let file = TensorFile::open(path);
    let read = file.and_then(|file| weights::read(&file, &layout.map, source, is_other, &watch));
    read.map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })
}
