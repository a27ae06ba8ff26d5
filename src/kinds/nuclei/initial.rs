//! The initial population.

use super::{
    choices::Frequencies,
    mixing,
    params::Params,
    random::{RandomAddress, RandomStream},
    real::Real,
    state::State,
};
use crate::{num::quantile, sim::SimError};
use std::f64::consts::{PI, TAU};

/// Creates the founders, with weights, phases and frequencies drawn from the seed. Fails if memory is exhausted.
pub fn state<T: Real>(params: &Params, seed: u64, dim: usize) -> Result<State<T>, SimError> {
    let population = &params.population;
    let capacity = population.capacity as usize;
    let founders = population.n_start.min(population.capacity);
    let mut state = State::with_fields(capacity, dim, mixing::fields(params))?;
    let draw = |stream| RandomAddress { seed, stream, generation: 0 };
    for slot in 0..founders {
        let i = slot as usize;
        let row = state.row_mut(slot);
        draw(RandomStream::InitW).each_normal(slot, dim, |d, x| row[d] = T::of(population.weight_scale * x));
        state.alive[i] = 1;
        (state.f[i], state.h[i]) = (T::of(f64::NAN), T::of(f64::NAN)); // not evaluated yet
        for field in 0..state.fields {
            *state.phase_mut(field, slot) = T::of(TAU * draw(RandomStream::InitPhase).uniform_of(slot, field as u32));
        }
        state.amp[i] = T::of((1.0 / f64::from(founders)).sqrt());
    }
    state.omega = frequencies(params.phases.frequencies, seed, capacity);
    state.compact();
    Ok(state)
}

/// Computes the natural frequencies of all slots.
pub fn frequencies<T: Real>(source: Frequencies, seed: u64, n_slots: usize) -> Vec<T> {
    (0..n_slots as u32).map(|slot| T::of(frequency(source, seed, slot, n_slots))).collect()
}

/// Computes the natural frequency of a slot in a table of `n_slots`.
fn frequency(source: Frequencies, seed: u64, slot: u32, n_slots: usize) -> f64 {
    let share = (f64::from(slot) + 0.5) / n_slots as f64;
    match source {
        Frequencies::Normal => RandomAddress { seed, stream: RandomStream::InitOmega, generation: 0 }.normal(slot, 0),
        Frequencies::LorentzQuantiles => (PI * (share - 0.5)).tan(),
        Frequencies::NormalQuantiles => quantile::normal(share),
    }
}
