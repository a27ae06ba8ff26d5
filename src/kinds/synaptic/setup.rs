//! What is prepared on the host: the text as tokens, initial weights of a file.

use super::{
    Params,
    model::{Config, Layout, VOCAB_ALIGN},
};
use crate::{
    data::{DataError, tensors::TensorFile, text::Corpus},
    kinds::{
        language::text,
        weights::{self, TensorSource},
    },
    nn::parameters::{Parameters, View},
    sim::{BuildContext, Progress, SimError},
};
use std::{path::Path, sync::Arc};

/// The text as tokens, and initial weights. Shared by all simulations of a project.
pub struct Setup {
    /// Tokens, vocabulary, entropy floor.
    pub corpus: Corpus,
    /// Initial weights of a file.
    pub weights: Option<Parameters<f32>>,
}

impl Setup {
    /// Reads or writes the text.
    pub fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        let corpus = text::read(&params.data, context, progress)?;
        let mut setup = Self { corpus, weights: None };
        let typed = params.data.weights.0.trim();
        if !typed.is_empty() {
            let (config, layout) = setup.model(params)?;
            setup.weights = Some(load(&context.resolve(typed), &config, &layout, progress)?);
        }
        Ok(setup)
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| weights.values().len() as u64 * 4);
        self.corpus.n_resident_bytes() + weights
    }

    /// The model of these parameters for this text, or why there is none.
    pub fn model(&self, params: &Params) -> Result<(Config, Arc<Layout>), SimError> {
        let config = params.config(self.corpus.n_vocab())?;
        self.corpus.check_length(config.context).map_err(SimError::Input)?;
        let layout = Arc::new(Layout::new(&config)?);
        Ok((config, layout))
    }
}

/// Weights of a file of this program; rows behind the vocabulary are zero.
fn load(path: &Path, config: &Config, layout: &Layout, progress: &Progress) -> Result<Parameters<f32>, SimError> {
    let watch = |what: &str, part: f32| progress.report(what, part).is_ok();
    let source = |view: &View| {
        let is_padded = matches!(&view.name[..], "wte.weight" | "lm_head.weight");
        TensorSource { rows: is_padded.then_some((config.vocab, VOCAB_ALIGN - 1)), ..TensorSource::same(view) }
    };
    // Moments, and everything that is no weight.
    let is_other = |name: &str| name.contains('/') || !name.contains('.');
    let file = TensorFile::open(path);
    let read = file.and_then(|file| weights::read(&file, &layout.map, source, is_other, &watch));
    read.map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })
}
