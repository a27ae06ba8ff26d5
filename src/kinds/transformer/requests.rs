//! Requests: a text after a prompt, the loss of a text.

use super::{
    simulation::TransformerSim,
    writing::{self, Writing},
};
use crate::{
    nn::sampling::Sampling,
    params::Value,
    requests,
    sim::{Answer, Progress, Request, SimError, request::Cell},
};

const SCORE: &[&str] = &["token", "loss_nats", "expected", "p_expected"];

requests! {
    /// Requests to a model.
    pub const REQUESTS;

    /// Writes a text that continues the prompt.
    fn sample(over "") -> Text => {
        /// The beginning of the text.
        #[param(title = "Prompt")] prompt: String = "",
        /// Tokens to write.
        #[param(title = "Length", range = 1.0..=1000.0, hard = 1.0..=1e6)] length: u32 = 200_u32,
        /// Logits are divided by it; 0: the likeliest token.
        #[param(title = "Temperature", range = 0.0..=2.0, hard = 0.0..=100.0)] temperature: f64 = 0.8,
        /// Samples among that many likeliest tokens; 0: all.
        #[param(title = "Top k", range = 0.0..=1000.0, hard = 0.0..=1e9)] top_k: u32 = 0_u32,
        /// Samples among the likeliest tokens with that total probability.
        #[param(title = "Top p", range = 0.0..=1.0)] top_p: f64 = 1.0,
        /// Seed of the draws.
        #[param(title = "Seed", range = 0.0..=1000.0, hard = 0.0..=4e9)] seed: u32 = 1_u32,
    }

    /// Scores a text token by token: the loss, and the token that was expected.
    fn score(over "") -> Table(SCORE) => {
        /// The text.
        #[param(title = "Text")] text: String = "",
    }
}

impl TransformerSim {
    pub(super) fn answer(&self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        match (request.name.as_str(), &request.values[..]) {
            (
                "sample",
                [
                    Value::Text(prompt),
                    Value::Int(length),
                    Value::Real(temperature),
                    Value::Int(top_k),
                    Value::Real(top_p),
                    Value::Int(seed),
                ],
            ) => {
                let sampling = Sampling {
                    temperature: *temperature as f32,
                    top_k: *top_k as usize,
                    top_p: *top_p as f32,
                    seed: *seed as u64,
                    sequence: 0,
                };
                let before = self.setup.prompt(prompt)?;
                let writing = Writing { prompt: before, length: *length as usize, sampling };
                let told = |i: usize| progress.report("sampling", i as f32 / *length as f32);
                let tokens = self.write(&writing, told)?;
                let text = self.setup.corpus.tokenizer.decode(&tokens[writing.prompt.len()..]);
                Ok(Answer::Text(format!("{prompt}{text}")))
            }
            ("score", [Value::Text(text)]) => {
                let tokenizer = &self.setup.corpus.tokenizer;
                let tokens = tokenizer.encode(text).map_err(|error| SimError::Input(error.to_string()))?;
                let told = |i: usize| progress.report("scoring", i as f32 / tokens.len() as f32);
                let scored = self.score(&tokens, told)?;
                let row = |(token, scored): (&u32, &writing::Scored)| {
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
            _ => Err(SimError::Input(format!("there is no request `{}`; there are sample and score", request.name))),
        }
    }
}
