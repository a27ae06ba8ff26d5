//! Values of all slots, for views and recordings.

use super::{Params, probes, real::Real, state::State};
use crate::sim::ProbeId;

/// What fields are computed from: a state, or columns of one.
pub trait Slots {
    /// Number of slots.
    fn capacity(&self) -> usize;
    /// Whether a slot is occupied.
    fn is_alive(&self, slot: usize) -> bool;
    /// Generation of birth.
    fn birth(&self, slot: usize) -> u32;
    /// Natural frequency.
    fn omega(&self, slot: usize) -> f64;
    /// Phase in the field that is numbered from 1; beyond the last it is the last.
    fn phase(&self, field: usize, slot: usize) -> f64;
    /// Mean squared error.
    fn f(&self, slot: usize) -> f64;
    /// Entropy.
    fn h(&self, slot: usize) -> f64;
    /// Local order.
    fn r_local(&self, slot: usize) -> f64;
}

impl<T: Real> Slots for State<T> {
    fn capacity(&self) -> usize {
        self.capacity
    }
    fn is_alive(&self, slot: usize) -> bool {
        self.alive[slot] != 0
    }
    fn birth(&self, slot: usize) -> u32 {
        self.birth[slot]
    }
    fn omega(&self, slot: usize) -> f64 {
        self.omega[slot].wide()
    }
    fn phase(&self, field: usize, slot: usize) -> f64 {
        State::phase(self, field.clamp(1, self.fields) - 1, slot as u32).wide()
    }
    fn f(&self, slot: usize) -> f64 {
        self.f[slot].wide()
    }
    fn h(&self, slot: usize) -> f64 {
        self.h[slot].wide()
    }
    fn r_local(&self, slot: usize) -> f64 {
        self.r_local[slot].wide()
    }
}

/// Current values of a field after `step` generations. NaN in free slots, except for properties of the slots.
pub fn field(probe: ProbeId, slots: &impl Slots, params: &Params, step: u64) -> Vec<f32> {
    (0..slots.capacity() as u32).map(|slot| value(probe, slot, slots, params, step)).collect()
}

/// The value in one slot.
pub fn value(probe: ProbeId, slot: u32, slots: &impl Slots, params: &Params, step: u64) -> f32 {
    let i = slot as usize;
    match probe {
        probes::OMEGA => return slots.omega(i) as f32,
        probes::ALIVE_FIELD => return f32::from(u8::from(slots.is_alive(i))),
        _ if !slots.is_alive(i) => return f32::NAN,
        _ => {}
    }
    let value = match probe {
        probes::PHASE | probes::PHASE_OF => slots.phase(params.measure.field as usize, i),
        probes::FITNESS_FIELD | probes::FITNESS_OF => slots.f(i),
        probes::ENTROPY_FIELD => slots.h(i),
        probes::AGE => f64::from((step as u32).wrapping_sub(slots.birth(i))),
        probes::LOCAL_ORDER => slots.r_local(i),
        probes::P_FIELD => params.tunnelling.probability(slots.r_local(i)),
        _ => f64::NAN,
    };
    value as f32
}
