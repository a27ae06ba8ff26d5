//! The text as tokens, and what begins a sampled text.

use super::{
    choices::{GrammarStyle, TokenizerChoice},
    params::{Data, Measure},
    writing::Writing,
};
use crate::{
    data::{
        DataError,
        text::{self, Corpus, Source, Style, TokenUnit, Tokenizer},
    },
    nn::sampling::Sampling,
    sim::{BuildContext, Level, Progress, SimError},
};

/// The texts of a project, each for so many steps, one after the other and then again.
pub struct Texts {
    /// At least one; all have the same tokens.
    all: Vec<Corpus>,
    /// Steps of each.
    steps: u64,
}

impl Texts {
    /// Reads the text, or writes that of each language.
    ///
    /// # Errors
    /// Of the file, with its line; of the tokenizer.
    pub fn read(data: &Data, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        Ok(Self { all: read(data, context, progress)?, steps: data.language_steps.max(1).into() })
    }

    /// The text of a step, which is counted from 0.
    pub fn of_step(&self, step: u64) -> &Corpus {
        &self.all[self.index(step)]
    }

    /// The text of the last step after so many: the one that measurements are about.
    pub fn after(&self, steps: u64) -> &Corpus {
        self.of_step(steps.saturating_sub(1))
    }

    /// Whether the last of so many steps was the first one with its text.
    pub fn is_new_after(&self, steps: u64) -> bool {
        steps > 1 && self.index(steps - 1) != self.index(steps - 2)
    }

    /// All texts.
    pub fn all(&self) -> &[Corpus] {
        &self.all
    }

    /// What a token is, in all of them.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.all[0].tokenizer
    }

    fn index(&self, step: u64) -> usize {
        (step / self.steps % self.all.len() as u64) as usize
    }
}

fn read(data: &Data, context: &BuildContext, progress: &Progress) -> Result<Vec<Corpus>, SimError> {
    progress.report("text", 0.0)?;
    let sources: Vec<Source> = match data.text.0.trim() {
        "" => {
            let style = match data.grammar {
                GrammarStyle::Animals => Style::Animals,
                GrammarStyle::Harbour => Style::Harbour,
            };
            let (n_bytes, seed) = (data.grammar_bytes.into(), context.seed);
            (0..data.languages.max(1)).map(|language| Source::Grammar { style, n_bytes, seed, language }).collect()
        }
        typed => vec![Source::File(context.resolve(typed))],
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
    text::prepare_all(&sources, &unit, &watch).map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })
}

/// The tokens that texts begin with: those of the prompt, of none the end of a document or a line.
///
/// # Errors
/// The tokenizer has no token for a character.
pub fn prompt(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, SimError> {
    if !text.is_empty() {
        return tokenizer.encode(text).map_err(|error| SimError::Input(format!("the prompt: {error}")));
    }
    let line = || tokenizer.encode("\n").ok().filter(|tokens| !tokens.is_empty());
    Ok(tokenizer.end_of_text().map(|token| vec![token]).or_else(line).unwrap_or_else(|| vec![0]))
}

/// Checks that prompt and scored text have tokens.
///
/// # Errors
/// The character without one.
pub fn check(tokenizer: &Tokenizer, measure: &Measure) -> Result<(), SimError> {
    prompt(tokenizer, &measure.prompt)?;
    let scored = tokenizer.encode(&measure.scored);
    scored.map_err(|error| SimError::Input(format!("measure.scored: {error}")))?;
    Ok(())
}

/// Losses of models that know no, one or two preceding tokens, and the entropy of a grammar: lines of a loss curve.
pub fn levels(corpus: &Corpus) -> Vec<Level> {
    corpus.levels().into_iter().map(|(name, value)| Level { name: name.to_owned(), value }).collect()
}

/// The text that is written every so many steps.
pub fn periodic(tokenizer: &Tokenizer, measure: &Measure, seed: u64, step: u64) -> Writing {
    let sampling = Sampling {
        temperature: measure.temperature as f32,
        top_k: measure.top_k as usize,
        top_p: measure.top_p.max(f64::from(f32::MIN_POSITIVE)) as f32,
        seed,
        sequence: step as u32,
    };
    // It was checked when it was set.
    let prompt = prompt(tokenizer, &measure.prompt).unwrap_or_else(|_| vec![0]);
    Writing { prompt, length: measure.length as usize, sampling }
}

/// Tokens of the newest written text that fit into the context; before there is one, the first held-out tokens.
pub fn shown(corpus: &Corpus, newest: &[u32], context: usize) -> Vec<u32> {
    if !newest.is_empty() {
        return newest[newest.len().saturating_sub(context)..].to_vec();
    }
    let mut tokens = vec![0; corpus.held_out().len().min(context).min(64)];
    corpus.copy(corpus.held_out().start, &mut tokens);
    tokens
}

/// Tokens whose losses are shown: of the scored text if there is one, else those [`shown`].
pub fn scored(tokenizer: &Tokenizer, measure: &Measure, shown: Vec<u32>) -> Vec<u32> {
    match measure.scored.is_empty() {
        true => shown,
        false => tokenizer.encode(&measure.scored).unwrap_or(shown),
    }
}
