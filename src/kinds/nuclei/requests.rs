//! Requests about a population.

use super::{real::Real, state::State};
use crate::{
    params::Value,
    requests,
    sim::{Answer, Request, SimError, request::Cell},
};

const BEST: &[&str] = &["slot", "error", "born", "phase", "local_order"];

requests! {
    /// Requests to a population.
    pub const REQUESTS;

    /// Lists the nuclei with the lowest error in the last generation.
    fn best(over "") -> Table(BEST) => {
        /// Nuclei listed.
        #[param(range = 1.0..=100.0, hard = 1.0..=1e6)] most: u32 = 10_u32,
    }
}

/// Answers a request about a population. Fails if there is no such request.
pub fn answer<T: Real>(state: &State<T>, request: &Request) -> Result<Answer, SimError> {
    let ("best", [Value::Int(most)]) = (request.name.as_str(), &request.values[..]) else {
        return Err(SimError::Input(format!("there is no request `{}`; there is best", request.name)));
    };
    let mut slots = state.idx.clone();
    slots.sort_by(|a, b| state.f[*a as usize].wide().total_cmp(&state.f[*b as usize].wide()));
    slots.truncate(*most as usize);
    let row = |slot: u32| {
        let i = slot as usize;
        let values = [state.f[i].wide(), f64::from(state.birth[i]), state.phi[i].wide(), state.r_local[i].wide()];
        std::iter::once(f64::from(slot)).chain(values).map(Cell::Number).collect()
    };
    Ok(Answer::Table(BEST, slots.into_iter().map(row).collect()))
}
