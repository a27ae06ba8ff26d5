//! Requests: a text after a prompt, the loss of a text.

use super::simulation::TransformerSim;
use crate::{
    kinds::language::requests::{self as language, SCORE},
    nn::sampling::Sampling,
    params::Value,
    requests,
    sim::{Answer, Progress, Request, SimError},
};

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
                let mut decoder = self.backend.decoder()?;
                let (corpus, context) = (&self.setup.corpus, self.config.context);
                language::sample(corpus, (&mut *decoder, context), (prompt, *length as usize), sampling, progress)
            }
            ("score", [Value::Text(text)]) => {
                let mut decoder = self.backend.decoder()?;
                language::score(&self.setup.corpus, (&mut *decoder, self.config.context), text, progress)
            }
            _ => Err(SimError::Input(format!("there is no request `{}`; there are sample and score", request.name))),
        }
    }
}
