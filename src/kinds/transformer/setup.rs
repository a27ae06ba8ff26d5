//! What is prepared on the host: the text as tokens, initial weights of a file.

use super::{
    Params,
    choices::{GrammarStyle, TokenizerChoice},
    model::{Config, Layout},
    weights,
};
use crate::{
    data::{
        DataError,
        text::{self, Corpus, Source, Style, TokenUnit},
    },
    nn::parameters::Parameters,
    sim::{BuildContext, Progress, SimError},
};
use std::sync::Arc;

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
        progress.report("text", 0.0)?;
        let data = &params.data;
        let source = match data.text.0.trim() {
            "" => Source::Grammar {
                style: match data.grammar {
                    GrammarStyle::Animals => Style::Animals,
                    GrammarStyle::Harbour => Style::Harbour,
                },
                n_bytes: data.grammar_bytes.into(),
                seed: context.seed,
            },
            typed => Source::File(context.resolve(typed)),
        };
        let unit = match data.tokenizer {
            TokenizerChoice::Bytes => TokenUnit::Byte,
            TokenizerChoice::Chars => TokenUnit::Character,
            TokenizerChoice::Bpe => match data.tokenizer_file.0.trim() {
                "" => {
                    return Err(SimError::Input(
                        "data.tokenizer_file is empty: byte-pair encoding needs a tokenizer.json file".to_owned(),
                    ));
                }
                typed => TokenUnit::Bpe(context.resolve(typed)),
            },
        };
        let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
        let corpus = text::prepare(&source, &unit, &watch).map_err(|error| match error {
            DataError::Cancelled => SimError::Cancelled,
            other => SimError::Input(other.to_string()),
        })?;
        let mut setup = Self { corpus, weights: None };
        let typed = data.weights.0.trim();
        if !typed.is_empty() {
            let (config, layout) = setup.model(params)?;
            setup.weights = Some(weights::load(&context.resolve(typed), &config, &layout, progress)?);
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
        let config = Config::new(params, self.corpus.n_vocab())?;
        self.corpus.check_length(config.context).map_err(SimError::Input)?;
        let layout = Arc::new(Layout::new(&config)?);
        Ok((config, layout))
    }

    /// The tokens that texts begin with: those of the prompt, of none the end of a document or a line.
    pub fn prompt(&self, text: &str) -> Result<Vec<u32>, SimError> {
        let tokenizer = &self.corpus.tokenizer;
        if !text.is_empty() {
            return tokenizer.encode(text).map_err(|error| SimError::Input(format!("the prompt: {error}")));
        }
        let line = || tokenizer.encode("\n").ok().filter(|tokens| !tokens.is_empty());
        Ok(tokenizer.end_of_text().map(|token| vec![token]).or_else(line).unwrap_or_else(|| vec![0]))
    }
}
