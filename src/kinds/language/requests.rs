//! Requests of every language kind: sampling after a prompt, and scoring of a text.

use super::{
    backend::Decoder,
    text,
    writing::{self, Scored, Writing},
};
use crate::{
    data::text::Tokenizer,
    nn::sampling::Sampling,
    params::Value,
    sim::{Answer, Progress, Request, SimError, request::Cell},
};

/// Columns of the table of token scores.
pub const SCORE: &[&str] = &["token", "loss_nats", "expected", "p_expected"];

/// Declares the requests of a language kind. The kind's own options follow those of all kinds.
macro_rules! language_requests {
    ($($own:tt)*) => { $crate::requests! {
        /// Requests to a model.
        pub const REQUESTS;

        /// Writes a text that continues the prompt.
        fn sample(over "") -> Text => {
            /// Beginning of the text.
            #[param(title = "Prompt", role = $crate::params::Role::Passage)] prompt: String = "",
            /// Number of tokens to write.
            #[param(title = "Length", range = 1.0..=1000.0, hard = 1.0..=1e6)] length: u32 = 200_u32,
            /// Divisor of the logits; 0: the likeliest token is chosen.
            #[param(title = "Temperature", range = 0.0..=2.0, hard = 0.0..=100.0, zero = "Greedy")] temperature: f64 = 0.8,
            /// Number of likeliest tokens among which the next token is drawn; 0: all.
            #[param(title = "Top k", range = 0.0..=1000.0, hard = 0.0..=1e9, zero = "All")] top_k: u32 = 0_u32,
            /// Total probability of the likeliest tokens among which the next token is drawn.
            #[param(title = "Top p", range = 0.0..=1.0)] top_p: f64 = 1.0,
            /// Seed of the draws.
            #[param(title = "Seed", range = 0.0..=1000.0, hard = 0.0..=4e9)] seed: u32 = 1_u32,
            $($own)*
        }

        /// Scores a text token by token: the loss, and the token that was expected.
        #[total("loss_nats")]
        fn score(over "") -> Table($crate::kinds::language::requests::SCORE) => {
            /// Text to be scored.
            #[param(title = "Text", role = $crate::params::Role::Passage)] text: String = "",
            $($own)*
        }
    } };
}
pub(crate) use language_requests;

/// Answers a request with the decoder that the kind's own options select.
///
/// # Errors
/// Fails for an invalid prompt, text or sampling parameter, and with [`SimError::Cancelled`].
pub fn answer<'a>(
    request: &Request,
    (tokenizer, context): (&Tokenizer, usize),
    decoder: impl FnOnce(&[Value]) -> Result<Box<dyn Decoder + 'a>, SimError>,
    progress: &Progress,
) -> Result<Answer, SimError> {
    use Value::{Int, Real, Text};
    match (request.name.as_str(), &request.values[..]) {
        ("sample", [Text(prompt), Int(length), Real(temperature), Int(top_k), Real(top_p), Int(seed), own @ ..]) => {
            let (temperature, top_k, top_p) = (*temperature as f32, *top_k as usize, *top_p as f32);
            let sampling = Sampling { temperature, top_k, top_p, seed: *seed as u64, sequence: 0 };
            sample(tokenizer, (&mut *decoder(own)?, context), (prompt, *length as usize), sampling, progress)
        }
        ("score", [Text(text), own @ ..]) => score(tokenizer, (&mut *decoder(own)?, context), text, progress),
        _ => Err(SimError::Input(format!("there is no request `{}`; there are sample and score", request.name))),
    }
}

/// Samples a continuation of a prompt. Returns the prompt followed by the continuation. Fails for an invalid prompt or
/// sampling parameter, and if cancelled.
fn sample(
    tokenizer: &Tokenizer,
    (decoder, context): (&mut dyn Decoder, usize),
    (prompt, length): (&str, usize),
    sampling: Sampling,
    progress: &Progress,
) -> Result<Answer, SimError> {
    let writing = Writing { prompt: text::prompt(tokenizer, prompt)?, length, sampling };
    let told = |i: usize| progress.report("sampling", i as f32 / length as f32);
    let tokens = writing::write(decoder, context, tokenizer.n_vocab(), &writing, told)?;
    let text = tokenizer.decode(&tokens[writing.prompt.len()..]);
    Ok(Answer::Text(format!("{prompt}{text}")))
}

/// Scores a text. Returns a table with a row per token and the columns [`SCORE`]. Fails for an invalid text, and if
/// cancelled.
fn score(
    tokenizer: &Tokenizer,
    (decoder, context): (&mut dyn Decoder, usize),
    text: &str,
    progress: &Progress,
) -> Result<Answer, SimError> {
    let tokens = tokenizer.encode(text).map_err(|error| SimError::Input(error.to_string()))?;
    let told = |i: usize| progress.report("scoring", i as f32 / tokens.len() as f32);
    let scored = writing::score(decoder, context, tokenizer.n_vocab(), &tokens, told)?;
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
