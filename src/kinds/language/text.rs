//! Tokenised text, prompts and reference levels of loss curves.

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
    sim::{BuildContext, Level, LevelUse, Progress, SimError},
};

/// Owners in memory reports whose memory all trials of a language model share.
pub const SHARED_MEMORY: &[&str] = &["text"];

/// Texts of a project, each of which is read for `steps` steps. After the last text, the first one follows.
pub struct Texts {
    /// Texts in the order of training, at least one, with a common tokenizer.
    all: Vec<Corpus>,
    /// Number of steps for which each text is read.
    steps: u64,
}

impl Texts {
    /// Reads the text from a file, or generates one per group of languages.
    ///
    /// # Errors
    /// Fails if the file is invalid, with the line, or the tokenizer cannot be built.
    pub fn read(data: &Data, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        Ok(Self { all: read(data, context, progress)?, steps: data.text_steps.max(1).into() })
    }

    /// Returns the text that step `step`, counted from 0, reads.
    pub fn of_step(&self, step: u64) -> &Corpus {
        &self.all[self.index(step)]
    }

    /// Returns the text that the last of `steps` completed steps read. Measurements refer to this text.
    pub fn after(&self, steps: u64) -> &Corpus {
        self.of_step(steps.saturating_sub(1))
    }

    /// Whether step `step`, counted from 0, reads another text than the step before.
    pub fn is_new_at(&self, step: u64) -> bool {
        step > 0 && self.index(step) != self.index(step - 1)
    }

    /// Returns all texts, in the order of training.
    pub fn all(&self) -> &[Corpus] {
        &self.all
    }

    /// Returns the tokenizer that all texts share.
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
            let (n, at_once) = (data.languages.max(1), data.languages_at_once.max(1));
            let languages = |text: u32| text * at_once..n.min((text + 1).saturating_mul(at_once));
            let source = |text| Source::Grammar { style, n_bytes, seed, languages: languages(text) };
            (0..data.n_texts()).map(source).collect()
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

/// Returns the tokens of the prompt. An empty prompt gives the end-of-text token, a line break if there is no such
/// token, or token 0 if there is neither.
///
/// # Errors
/// Fails with [`SimError::Input`] if the tokenizer has no token for a character.
pub fn prompt(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, SimError> {
    if !text.is_empty() {
        return tokenizer.encode(text).map_err(|error| SimError::Input(format!("the prompt: {error}")));
    }
    let line = || tokenizer.encode("\n").ok().filter(|tokens| !tokens.is_empty());
    Ok(tokenizer.end_of_text().map(|token| vec![token]).or_else(line).unwrap_or_else(|| vec![0]))
}

/// Checks that the prompt and the scored text can be tokenised.
///
/// # Errors
/// Fails with [`SimError::Input`] for a character that has no token.
pub fn check(tokenizer: &Tokenizer, measure: &Measure) -> Result<(), SimError> {
    prompt(tokenizer, &measure.prompt)?;
    let scored = tokenizer.encode(&measure.scored);
    scored.map_err(|error| SimError::Input(format!("measure.scored: {error}")))?;
    Ok(())
}

/// Returns the losses of n-gram models with 0, 1 and 2 preceding tokens, and the entropy rate of a grammar, as lines of a
/// loss curve, and the factors that convert a loss.
pub fn levels(corpus: &Corpus) -> Vec<Level> {
    corpus.levels().into_iter().map(|(name, value)| Level::new(name, value)).chain(units(corpus)).collect()
}

/// Returns the factors that convert a loss in nats per token to bits per byte of the text, and to the perplexity per token.
fn units(corpus: &Corpus) -> [Level; 2] {
    let tokens_per_byte = corpus.len() as f64 / corpus.n_bytes.max(1) as f64;
    let bits_per_byte = tokens_per_byte * std::f64::consts::LOG2_E;
    [
        Level::factor(LevelUse::Factor, "bits per byte", bits_per_byte),
        Level::factor(LevelUse::Exponent, "perplexity", 1.0),
    ]
}

/// Returns the prompt, length and sampling parameters of the periodic text of a step.
pub fn periodic(tokenizer: &Tokenizer, measure: &Measure, seed: u64, step: u64) -> Writing {
    let sampling = Sampling {
        temperature: measure.temperature as f32,
        top_k: measure.top_k as usize,
        top_p: measure.top_p.max(f64::from(f32::MIN_POSITIVE)) as f32,
        seed,
        sequence: step as u32,
    };
    // The prompt was checked when it was set.
    let prompt = prompt(tokenizer, &measure.prompt).unwrap_or_else(|_| vec![0]);
    Writing { prompt, length: measure.length as usize, sampling }
}

/// Returns the last `context` tokens of the newest sampled text, or the first held-out tokens, at most 64, if no text
/// was sampled yet.
pub fn shown(corpus: &Corpus, newest: &[u32], context: usize) -> Vec<u32> {
    if !newest.is_empty() {
        return newest[newest.len().saturating_sub(context)..].to_vec();
    }
    let mut tokens = vec![0; corpus.held_out().len().min(context).min(64)];
    corpus.copy(corpus.held_out().start, &mut tokens);
    tokens
}

/// Returns the tokens whose losses are shown: the scored text if it is not empty, otherwise `shown`.
pub fn scored(tokenizer: &Tokenizer, measure: &Measure, shown: Vec<u32>) -> Vec<u32> {
    match measure.scored.is_empty() {
        true => shown,
        false => tokenizer.encode(&measure.scored).unwrap_or(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(data: Data) -> Texts {
        let context = BuildContext { seed: 4, ..BuildContext::default() };
        Texts::read(&Data { grammar_bytes: 20_000, ..data }, &context, &Progress::default()).expect("texts")
    }

    #[test]
    fn texts_follow_one_another_and_return() {
        let tokenizer = TokenizerChoice::Chars;
        let all = texts(Data { languages: 5, languages_at_once: 2, text_steps: 3, tokenizer, ..Data::default() });
        let hashes: Vec<u64> = all.all().iter().map(|text| text.hash).collect();
        let read: Vec<u64> = (0..10).map(|step| all.of_step(step).hash).collect();
        let [a, b, c] = hashes[..] else { panic!("{} texts", hashes.len()) };
        assert_eq!(read, [a, a, a, b, b, b, c, c, c, a]);
        assert!(a != b && b != c && a != c);
        assert_eq!([0, 1, 3, 4].map(|steps| all.after(steps).hash), [a, a, a, b], "that of the last step");
        let new: Vec<u64> = (0..=10).filter(|step| all.is_new_at(*step)).collect();
        assert_eq!(new, [3, 6, 9]);
        // All texts share a vocabulary. A mixture of two languages has a higher entropy than one language.
        assert!(all.all().iter().all(|text| text.tokenizer.is_same(all.tokenizer())));
        let floors: Vec<f64> = all.all().iter().filter_map(|text| text.floor).collect();
        assert!(floors[0] == floors[1] && floors[0] > floors[2], "{floors:?}");
    }

    /// A project without languages reads the plain grammar.
    #[test]
    fn one_language_is_the_grammar() {
        let one = texts(Data::default());
        let grammar = Corpus::small(Style::Animals, 20_000, 4).expect("a text");
        assert_eq!((one.all().len(), one.of_step(5_000).hash), (1, grammar.hash));
        assert_eq!(one.of_step(0).floor, grammar.floor);
        assert!(!(0..5_000).any(|step| one.is_new_at(step)));
    }
}
