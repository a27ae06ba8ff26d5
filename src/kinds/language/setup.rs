//! What is prepared on the host: the text as tokens, initial weights of a file.

use super::{
    model::{ModelParams, Sizes as _},
    text::Texts,
};
use crate::{
    data::text::Corpus,
    nn::parameters::Parameters,
    sim::{BuildContext, Progress, SimError},
};
use std::sync::Arc;

/// The text as tokens, and initial weights. Shared by all simulations of a project.
pub struct Setup {
    /// Tokens, vocabulary, entropy floors.
    pub texts: Texts,
    /// Initial weights of a file.
    pub weights: Option<Parameters<f32>>,
}

impl Setup {
    /// Reads or writes the text, and reads the weights.
    pub fn prepare<P: ModelParams>(params: &P, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        let texts = Texts::read(params.data(), context, progress)?;
        let mut setup = Self { texts, weights: None };
        let typed = params.data().weights.0.trim();
        if !typed.is_empty() {
            let (config, layout) = setup.model(params)?;
            setup.weights = Some(P::read_weights(&context.resolve(typed), &config, &layout, progress)?);
        }
        Ok(setup)
    }

    /// Notices about the input, one sentence each.
    pub fn notices(&self) -> Vec<String> {
        self.texts.tokenizer().notices()
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| weights.values().len() as u64 * 4);
        self.texts.all().iter().map(Corpus::n_resident_bytes).sum::<u64>() + weights
    }

    /// The model of these parameters for this text, or why there is none.
    pub fn model<P: ModelParams>(&self, params: &P) -> Result<(P::Config, Arc<P::Layout>), SimError> {
        let (config, layout) = params.model(self.texts.tokenizer().n_vocab())?;
        self.check_length(config.context())?;
        Ok((config, layout))
    }

    /// An error unless sequences of this many tokens fit into every text.
    pub fn check_length(&self, length: usize) -> Result<(), SimError> {
        self.texts.all().iter().try_for_each(|text| text.check_length(length)).map_err(SimError::Input)
    }
}
