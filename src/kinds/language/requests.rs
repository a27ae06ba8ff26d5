//! Answers to requests: a text after a prompt, the loss of a text.

use super::{
    backend::Decoder,
    text,
    writing::{self, Scored, Writing},
};
use crate::{
    data::text::Corpus,
    nn::sampling::Sampling,
    sim::{Answer, Progress, SimError, request::Cell},
};

/// Columns of a scored text.
pub const SCORE: &[&str] = &["token", "loss_nats", "expected", "p_expected"];

/// The prompt and the text that the model writes after it.
///
/// # Errors
/// Of the prompt, of the sampling; [`SimError::Cancelled`].
pub fn sample(
    corpus: &Corpus,
    (decoder, context): (&mut dyn Decoder, usize),
    (prompt, length): (&str, usize),
    sampling: Sampling,
    progress: &Progress,
) -> Result<Answer, SimError> {
    let writing = Writing { prompt: text::prompt(corpus, prompt)?, length, sampling };
    let told = |i: usize| progress.report("sampling", i as f32 / length as f32);
    let tokens = writing::write(decoder, context, corpus.n_vocab(), &writing, told)?;
    let text = corpus.tokenizer.decode(&tokens[writing.prompt.len()..]);
    Ok(Answer::Text(format!("{prompt}{text}")))
}

/// A row per token of a text, with the columns [`SCORE`].
///
/// # Errors
/// The text has characters without a token; [`SimError::Cancelled`].
pub fn score(
    corpus: &Corpus,
    (decoder, context): (&mut dyn Decoder, usize),
    text: &str,
    progress: &Progress,
) -> Result<Answer, SimError> {
    let tokenizer = &corpus.tokenizer;
    let tokens = tokenizer.encode(text).map_err(|error| SimError::Input(error.to_string()))?;
    let told = |i: usize| progress.report("scoring", i as f32 / tokens.len() as f32);
    let scored = writing::score(decoder, context, corpus.n_vocab(), &tokens, told)?;
    let row = |(token, scored): (&u32, &Scored)| {
        let (best, p) = scored.expected.first().copied().unwrap_or((0, f32::NAN));
        let expected = if scored.expected.is_empty() { String::new() } else { tokenizer.name(best) };
        vec![
            Cell::Text(tokenizer.name(*token)),
            Cell::Number(scored.loss.into()),
            Cell::Text(expected),
            Cell::Number(p.into()),
        ]
    };
    Ok(Answer::Table(SCORE, tokens.iter().zip(&scored).map(row).collect()))
}
