//! Sampling of text from a model, and scoring of given text.

use super::backend::Decoder;
use crate::{
    data::text::Tokenizer,
    nn::sampling::{Sampling, SamplingError},
    sim::{SimError, Tokens},
};

/// Number of tokens per call of the decoder when a text is read.
const CHUNK: usize = 64;
/// Number of likeliest tokens kept per scored token.
const N_CANDIDATES: usize = 5;

/// Text to sample: prompt, length and sampling parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Writing {
    /// Tokens before the first sampled token; at least one.
    pub prompt: Vec<u32>,
    /// Number of tokens to sample.
    pub length: usize,
    /// Temperature, top-k, top-p and seed.
    pub sampling: Sampling,
}

/// Samples a text. Returns the tokens of the prompt, followed by the sampled tokens. When the context is full, the cache is
/// refilled with the last half of the context. `goes_on` is called before each token with the number of tokens sampled so
/// far. Fails with its error, or if the decoder fails.
pub fn write(
    decoder: &mut dyn Decoder,
    context: usize,
    vocab: usize,
    writing: &Writing,
    mut goes_on: impl FnMut(usize) -> Result<(), SimError>,
) -> Result<Vec<u32>, SimError> {
    let mut text = writing.prompt.clone();
    let mut logits = read(decoder, context, &text, vocab)?;
    for i in 0..writing.length {
        goes_on(i)?;
        let drawn = writing.sampling.draw(&logits, i as u64).map_err(refused)?;
        text.push(drawn.token);
        if i + 1 < writing.length {
            if decoder.len() == context {
                logits = read(decoder, context, &text, vocab)?;
            } else {
                logits.copy_from_slice(&decoder.push(&[drawn.token])?[..vocab]);
            }
        }
    }
    Ok(text)
}

fn refused(error: SamplingError) -> SimError {
    match error {
        SamplingError::NonFinite(_) => SimError::Diverged(error.to_string()),
        _ => SimError::Input(error.to_string()),
    }
}

/// Clears the cache and fills it with `text`, or with its last `context / 2` tokens, rounded up, if the text does not fit.
/// Returns the logits after the last token. Fails if the decoder fails.
fn read(decoder: &mut dyn Decoder, context: usize, text: &[u32], vocab: usize) -> Result<Vec<f32>, SimError> {
    decoder.clear();
    let kept = if text.len() < context { text } else { &text[text.len() - context.div_ceil(2)..] };
    let mut last = vec![];
    for chunk in kept.chunks(CHUNK) {
        let logits = decoder.push(chunk)?;
        let row = logits.len() / chunk.len();
        last = logits[(chunk.len() - 1) * row..][..vocab].to_vec();
    }
    Ok(last)
}

/// Loss of a token given its predecessors, and the tokens that the model expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Loss in nats; NaN for the first token of a text.
    pub loss: f32,
    /// Likeliest tokens with their probabilities, in descending order.
    pub expected: Vec<(u32, f32)>,
}

/// Scores each token of a text. A text longer than the context is read in windows that overlap by half a context. `goes_on`
/// is called with the number of tokens read so far. Fails with its error, or if the decoder fails.
pub fn score(
    decoder: &mut dyn Decoder,
    context: usize,
    vocab: usize,
    text: &[u32],
    mut goes_on: impl FnMut(usize) -> Result<(), SimError>,
) -> Result<Vec<Scored>, SimError> {
    let mut scored = vec![Scored { loss: f32::NAN, expected: vec![] }];
    let mut at = 0; // number of tokens read
    while at + 1 < text.len() {
        goes_on(at)?;
        if decoder.len() == context {
            let kept = context / 2;
            decoder.clear();
            for chunk in text[at - kept..at].chunks(CHUNK) {
                decoder.push(chunk)?;
            }
        }
        let n = CHUNK.min(context - decoder.len()).min(text.len() - 1 - at);
        let logits = decoder.push(&text[at..at + n])?;
        let row = logits.len() / n;
        scored.extend((0..n).map(|i| of_token(&logits[i * row..][..vocab], text[at + i + 1])));
        at += n;
    }
    Ok(scored)
}

/// Scores `token` under the logits that precede it.
pub fn of_token(logits: &[f32], token: u32) -> Scored {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|z| f64::from(z - max).exp()).sum();
    let p = |z: f32| f64::from(z - max).exp() / sum;
    let mut best: Vec<(u32, f32)> = vec![];
    for (token, z) in (0..).zip(logits) {
        if best.len() < N_CANDIDATES || best.last().is_some_and(|(_, least)| z > least) {
            let place = best.iter().position(|(_, known)| known < z).unwrap_or(best.len());
            best.insert(place, (token, *z));
            best.truncate(N_CANDIDATES);
        }
    }
    let expected = best.into_iter().map(|(token, z)| (token, p(z) as f32)).collect();
    Scored { loss: -p(logits[token as usize]).ln() as f32, expected }
}

/// Converts scored tokens to the reading of a probe.
pub fn tokens(tokenizer: &Tokenizer, step: u64, text: &[u32], scored: &[Scored]) -> Tokens {
    let named = |s: &Scored| s.expected.iter().map(|(token, p)| (tokenizer.name(*token), *p)).collect();
    Tokens {
        step,
        texts: text.iter().map(|token| tokenizer.name(*token)).collect(),
        values: scored.iter().map(|s| s.loss).collect(),
        candidates: scored.iter().map(named).collect(),
        ..Tokens::default()
    }
}
