//! The population at step 0.

use super::{
    Frequencies, Params,
    draw::{Draw, Stream},
    mixing,
    real::Real,
    state::State,
};
use crate::num::quantile;
use std::f64::consts::{PI, TAU};

/// Founders, with weights, phases and frequencies from the seed.
pub fn state<T: Real>(params: &Params, seed: u64, dim: usize) -> State<T> {
    let population = &params.population;
    let capacity = population.capacity as usize;
    let founders = population.n_start.min(population.capacity);
    let mut state = State::with_fields(capacity, dim, mixing::fields(params));
    let draw = |stream| Draw { seed, stream, generation: 0 };
    for slot in 0..founders {
        let i = slot as usize;
        let row = state.row_mut(slot);
        draw(Stream::InitW).each_normal(slot, dim, |d, x| row[d] = T::of(population.weight_scale * x));
        state.alive[i] = 1;
        (state.f[i], state.h[i]) = (T::of(f64::NAN), T::of(f64::NAN)); // nobody has measured it yet
        for field in 0..state.fields {
            *state.phase_mut(field, slot) = T::of(TAU * draw(Stream::InitPhase).uniform_of(slot, field as u32));
        }
        state.amp[i] = T::of((1.0 / f64::from(founders)).sqrt());
    }
    state.omega = frequencies(params.phases.frequencies, seed, capacity);
    state.compact();
    state
}

/// Natural frequencies of all places.
pub fn frequencies<T: Real>(source: Frequencies, seed: u64, places: usize) -> Vec<T> {
    (0..places as u32).map(|slot| T::of(frequency(source, seed, slot, places))).collect()
}

/// Natural frequency of a place in a table of `places`.
fn frequency(source: Frequencies, seed: u64, slot: u32, places: usize) -> f64 {
    let share = (f64::from(slot) + 0.5) / places as f64;
    match source {
        Frequencies::Normal => Draw { seed, stream: Stream::InitOmega, generation: 0 }.normal(slot, 0),
        Frequencies::LorentzQuantiles => (PI * (share - 0.5)).tan(),
        Frequencies::NormalQuantiles => quantile::normal(share),
    }
}
