//! Inputs that are prepared on the host: tokenised text and initial weights from a file.

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

/// Tokenised text and initial weights, shared by all simulations of a project.
pub struct Setup {
    /// Training and held-out tokens, vocabulary and entropy floors.
    pub texts: Texts,
    /// Initial weights from a file; `None` for random weights.
    pub weights: Option<Parameters<f32>>,
}

impl Setup {
    /// Reads or generates the text, and reads the weights if the project names a file. Fails if an input is invalid.
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

    /// Returns notices about the tokenizer, one sentence each.
    pub fn notices(&self) -> Vec<String> {
        self.texts.tokenizer().notices()
    }

    /// Returns the host memory in use, bytes.
    pub fn n_bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| weights.values().len() as u64 * 4);
        self.texts.all().iter().map(Corpus::n_resident_bytes).sum::<u64>() + weights
    }

    /// Returns the sizes and parameter layout for the vocabulary of the text. Fails if the model cannot be built or the
    /// text is too short.
    pub fn model<P: ModelParams>(&self, params: &P) -> Result<(P::Config, Arc<P::Layout>), SimError> {
        let (config, layout) = params.model(self.texts.tokenizer().n_vocab())?;
        self.check_length(config.context())?;
        Ok((config, layout))
    }

    /// Fails if sequences of `length` tokens do not fit into every text. The error contains the lengths.
    pub fn check_length(&self, length: usize) -> Result<(), SimError> {
        self.texts.all().iter().try_for_each(|text| text.check_length(length)).map_err(SimError::Input)
    }
}
