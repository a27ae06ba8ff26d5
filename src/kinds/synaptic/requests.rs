//! Requests: a text after a prompt, the loss of a text; both also with fast memory.

use super::simulation::SynapticSim;
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
        /// Whether fast memory is written after each token. It is empty before and forgotten afterwards.
        #[param(title = "Plasticity")] plasticity: bool = false,
    }

    /// Scores a text token by token: the loss, and the token that was expected.
    fn score(over "") -> Table(SCORE) => {
        /// The text.
        #[param(title = "Text")] text: String = "",
        /// Whether fast memory is written after each token. It is empty before and forgotten afterwards.
        #[param(title = "Plasticity")] plasticity: bool = false,
    }
}

impl SynapticSim {
    pub(super) fn answer(&self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        let (corpus, context) = (&self.setup.corpus, self.config.context);
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
                    Value::Bool(is_plastic),
                ],
            ) => {
                let sampling = Sampling {
                    temperature: *temperature as f32,
                    top_k: *top_k as usize,
                    top_p: *top_p as f32,
                    seed: *seed as u64,
                    sequence: 0,
                };
                let mut decoder = self.decoder(*is_plastic)?;
                language::sample(corpus, (&mut *decoder, context), (prompt, *length as usize), sampling, progress)
            }
            ("score", [Value::Text(text), Value::Bool(is_plastic)]) => {
                let mut decoder = self.decoder(*is_plastic)?;
                language::score(corpus, (&mut *decoder, context), text, progress)
            }
            _ => Err(SimError::Input(format!("there is no request `{}`; there are sample and score", request.name))),
        }
    }
}
