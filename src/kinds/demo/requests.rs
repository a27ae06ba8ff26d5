//! Requests: a sample after a prompt, the score of a text.

use super::{cpu::State, source};
use crate::{
    params::Value,
    requests,
    sim::{Answer, Progress, Request, SimError, request::Cell},
};

const SCORE: &[&str] = &["symbol", "loss_nats", "expected", "p_expected"];

requests! {
    /// Requests to the experts.
    pub const REQUESTS;

    /// Writes a text that continues the prompt.
    fn sample(over "") -> Text => {
        /// The beginning of the text: letters and spaces.
        #[param(role = crate::params::Role::Passage)] prompt: String = "",
        /// Symbols to write.
        #[param(range = 1.0..=1000.0, hard = 1.0..=1e6)] length: u32 = 200_u32,
        /// Seed of the draws.
        #[param(range = 0.0..=1000.0, hard = 0.0..=4e9)] seed: u32 = 1_u32,
    }

    /// Scores a text symbol by symbol: the loss, and the symbol that was expected.
    #[total("loss_nats")]
    fn score(over "") -> Table(SCORE) => {
        /// Letters and spaces.
        #[param(role = crate::params::Role::Passage)] text: String = "",
    }
}

pub(super) fn answer(state: &State, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
    match (request.name.as_str(), &request.values[..]) {
        ("sample", [Value::Text(prompt), Value::Int(length), Value::Int(seed)]) => {
            let mut state = state.position();
            for symbol in symbols(prompt)? {
                state.symbol = symbol;
            }
            let mut text = prompt.clone();
            for i in 0..*length as u32 {
                progress.report("sampling", i as f32 / *length as f32)?;
                let (symbol, letter) = state.draw(i, *seed as u64);
                state.symbol = symbol;
                text.push(letter);
            }
            Ok(Answer::Text(text))
        }
        ("score", [Value::Text(text)]) => {
            let mut before = state.position();
            let mut rows = vec![];
            for symbol in symbols(text)? {
                progress.report("scoring", 0.0)?;
                let p = before.probabilities();
                let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap_or_default();
                rows.push(vec![
                    Cell::Text(source::text(symbol).to_string()),
                    Cell::Number(-f64::from(p[usize::from(symbol)].max(f32::MIN_POSITIVE)).ln()),
                    Cell::Text(source::text(best as u8).to_string()),
                    Cell::Number(p[best].into()),
                ]);
                before.symbol = symbol;
            }
            Ok(Answer::Table(SCORE, rows))
        }
        _ => Err(SimError::Input(format!("there is no request `{}`; there are sample and score", request.name))),
    }
}

fn symbols(text: &str) -> Result<Vec<u8>, SimError> {
    let wrong = |c| SimError::Input(format!("`{c}` is neither a letter nor a space"));
    let symbol = |c: char| source::symbol(c).ok_or_else(|| wrong(c));
    text.chars().map(symbol).collect()
}
