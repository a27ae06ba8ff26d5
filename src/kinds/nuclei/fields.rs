//! Field values of all slots, for views and recordings.

use super::{params::Params, probes, real::Real, state::State};
use crate::sim::ProbeId;

/// Returns the values of a field in all slots after `step` generations. NaN in free slots, except for properties of the slots.
pub fn field<T: Real>(probe: ProbeId, state: &State<T>, params: &Params, step: u64) -> Vec<f32> {
    (0..state.capacity as u32).map(|slot| value(probe, slot, state, params, step)).collect()
}

/// Returns the value of a field in one slot after `step` generations; NaN as in [`field`].
pub fn value<T: Real>(probe: ProbeId, slot: u32, state: &State<T>, params: &Params, step: u64) -> f32 {
    let i = slot as usize;
    match probe {
        probes::OMEGA => return state.omega[i].wide() as f32,
        probes::ALIVE_FIELD => return f32::from(state.alive[i] != 0),
        _ if state.alive[i] == 0 => return f32::NAN,
        _ => {}
    }
    let value = match probe {
        probes::PHASE | probes::PHASE_OF => {
            state.phase((params.measure.field as usize).clamp(1, state.fields) - 1, slot).wide()
        }
        probes::FITNESS_FIELD | probes::FITNESS_OF => state.f[i].wide(),
        probes::ENTROPY_FIELD => state.h[i].wide(),
        probes::AGE => f64::from((step as u32).wrapping_sub(state.birth[i])),
        probes::LOCAL_ORDER => state.r_local[i].wide(),
        probes::P_FIELD => params.tunnelling.probability(state.r_local[i].wide()),
        _ => f64::NAN,
    };
    value as f32
}
