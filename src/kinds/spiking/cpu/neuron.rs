//! One neuron: its state at an anchor, and the closed form of later states.

use crate::kinds::spiking::constants::{Constants, Real, TABLE};
pub use crate::kinds::spiking::saved_state::mark::{CLOSED, CURRENT, DRIVEN, FIRED};

/// Flag: the calendar holds an entry for the neuron at `check`.
pub const SCHEDULED: u32 = 16;

/// State of a neuron: half a cache line in double precision, so that an arrival accesses one line.
///
/// `u` and `g` hold after `anchor` completed steps. Before `anchor` (the neuron is refractory) they are constant; later they
/// follow the propagators. Steps are counted modulo 2³².
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neuron<T> {
    /// Potential relative to rest, mV.
    pub u: T,
    /// Synaptic drive, mV.
    pub g: T,
    /// Number of completed steps at which `u` and `g` hold.
    pub anchor: u32,
    /// Step of the next threshold check; valid with [`SCHEDULED`].
    pub check: u32,
    /// Step of the last spike; valid with [`FIRED`].
    pub last_spike: u32,
    /// Flags of the neuron: [`mark`](crate::kinds::spiking::saved_state::mark) and [`SCHEDULED`].
    pub flags: u32,
}

impl<T: Real> Neuron<T> {
    /// Whether a flag is set.
    #[inline]
    pub const fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Sets or clears a flag.
    pub const fn put(&mut self, flag: u32, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    /// Whether input of this step is discarded.
    #[inline]
    pub const fn ignores_input(&self, step: u32) -> bool {
        self.anchor.wrapping_sub(step) as i32 > 0 || self.is(CLOSED)
    }

    /// Returns u and g after `completed` steps. If the anchor is more than one table behind, the anchor is first moved by whole
    /// tables.
    #[inline]
    pub fn state_at(&mut self, completed: u32, current: T, constants: &Constants<T>) -> (T, T) {
        let k = completed.wrapping_sub(self.anchor);
        if k <= TABLE {
            return self.propagate(k, current, constants);
        }
        if k as i32 <= 0 {
            return (self.u, self.g); // refractory
        }
        self.catch_up(completed, current, constants)
    }

    /// Evaluates the closed form. `k` is at most [`TABLE`].
    #[inline]
    fn propagate(&self, k: u32, current: T, constants: &Constants<T>) -> (T, T) {
        let p = &constants.propagators[k as usize];
        let u = p.a * self.u + p.b * self.g;
        let u = if self.is(CURRENT) { u + p.c * current } else { u };
        (u, p.d * self.g)
    }

    #[cold]
    fn catch_up(&mut self, completed: u32, current: T, constants: &Constants<T>) -> (T, T) {
        self.advance_anchor(completed, current, constants);
        self.propagate(completed.wrapping_sub(self.anchor), current, constants)
    }

    /// Re-anchors by whole tables until at most one table is left to `completed`.
    pub fn advance_anchor(&mut self, completed: u32, current: T, constants: &Constants<T>) {
        while {
            let k = completed.wrapping_sub(self.anchor);
            k as i32 > 0 && k > TABLE
        } {
            let (u, g) = self.propagate(TABLE, current, constants);
            if u == self.u && g == self.g {
                // At rest, any number of tables leads to the same state.
                let k = completed.wrapping_sub(self.anchor);
                self.anchor = self.anchor.wrapping_add((k - 1) / TABLE * TABLE);
                return;
            }
            self.u = u;
            self.g = g;
            self.anchor = self.anchor.wrapping_add(TABLE);
        }
    }

    /// Makes `completed` the anchor unless the neuron is refractory.
    pub fn anchor_at(&mut self, completed: u32, current: T, constants: &Constants<T>) {
        if completed.wrapping_sub(self.anchor) as i32 > 0 {
            let (u, g) = self.state_at(completed, current, constants);
            self.u = u;
            self.g = g;
            self.anchor = completed;
        }
    }
}

/// Lower bound on the steps from the state (u, g) until the threshold may be crossed, at least 1; `None` if it cannot be crossed
/// without new input.
///
/// The bound follows from `τ_m u' = I + g - u`: as long as `u ≥ u₀`, `u' ≤ (I⁺ + g⁺ - u₀)/τ_m`, and at all times
/// `u ≤ max(u₀, I, 0) + b_peak g⁺`. `slack` covers the rounding of the closed form.
#[inline]
pub fn steps_to_threshold<T: Real>(u: T, g: T, current: T, constants: &Constants<T>) -> Option<u32> {
    let g_up = g.larger(T::ZERO);
    let i_up = current.larger(T::ZERO);
    let slack = constants.slack * (u.abs() + g.abs() + current.abs());
    let room = constants.theta - slack;
    if u.larger(i_up) + constants.b_peak * g_up <= room {
        return None;
    }
    let pull = i_up + g_up - u;
    if pull <= T::ZERO && u <= room {
        return None;
    }
    let steps = (room - u) / (pull * constants.dt_per_tau_m);
    // Rounds down instead of up, which covers the rounding of the quotient; u above the threshold gives 1.
    Some(if u < room { steps.floor_steps().max(1) } else { 1 })
}

/// Whether the threshold cannot be crossed within `steps` steps: cheaper than [`steps_to_threshold`] and usually sufficient,
/// because most neurons will not cross before their next check.
#[inline(always)]
pub fn is_quiet_for<T: Real>(steps: u32, u: T, g: T, current: T, constants: &Constants<T>) -> bool {
    let g_up = g.larger(T::ZERO);
    let i_up = current.larger(T::ZERO);
    let slack = constants.slack * (u.abs() + g.abs() + current.abs());
    let room = constants.theta - slack;
    let pull = (i_up + g_up - u).larger(T::ZERO);
    let never = u.larger(i_up) + constants.b_peak * g_up <= room;
    let later = room - u >= T::of_count(steps as i32) * (pull * constants.dt_per_tau_m);
    never | later // both are computed: each alone is hard to predict, their disjunction is not
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::Lif,
        num::rng::{Draw, Purpose},
    };

    /// Tests for many states that no crossing precedes the bound.
    #[test]
    fn bound_is_a_bound() {
        bound_holds::<f64>();
        bound_holds::<f32>();
    }

    fn bound_holds<T: Real>() {
        for (case, (tau_m, tau_syn)) in [(20.0, 5.0), (20.0, 20.0), (5.0, 20.0), (10.0, 0.5)].into_iter().enumerate() {
            let constants = Lif { tau_m, tau_syn, ..Lif::default() }.derive::<T>();
            for lane in 0..20_000 {
                let w = Draw { seed: case as u64, purpose: Purpose::Start, step: 0, lane }.words();
                let x = |i: usize| f64::from(w[i]) / 4_294_967_296.0;
                let current = if w[3] & 7 == 0 { 16.0 * x(2) - 8.0 } else { 0.0 };
                let neuron = Neuron {
                    u: T::of(20.0 * x(0) - 13.0),
                    g: T::of(120.0 * x(1) - 60.0),
                    flags: if current == 0.0 { 0 } else { CURRENT },
                    ..Neuron::default()
                };
                let current = T::of(current);
                let first =
                    (1..=3 * TABLE).find(|k| neuron.clone().state_at(*k, current, &constants).0 > constants.theta);
                for steps in [1, 7, 63, 900] {
                    let quiet = is_quiet_for(steps, neuron.u, neuron.g, current, &constants);
                    assert!(!quiet || first.is_none_or(|k| k >= steps), "{neuron:?} {current:?}: {first:?}, {steps}");
                }
                match (first, steps_to_threshold(neuron.u, neuron.g, current, &constants)) {
                    (Some(k), Some(bound)) => assert!(bound <= k, "{neuron:?} {current:?}: {bound} > {k}"),
                    (Some(k), None) => panic!("{neuron:?} {current:?} crosses at {k}"),
                    (None, _) => {}
                }
            }
        }
    }

    #[test]
    fn settling_is_repeated_propagation() {
        let constants = Lif::default().derive::<f64>();
        let start = Neuron { u: 3.0, g: -40.0, ..Neuron::default() };
        let mut fast = start;
        let got = fast.state_at(500_000, 0.0, &constants);
        let mut slow = start;
        let mut left = 500_000;
        while left > TABLE {
            let (u, g) = slow.propagate(TABLE, 0.0, &constants);
            (slow.u, slow.g) = (u, g);
            left -= TABLE;
        }
        assert_eq!(got, slow.propagate(left, 0.0, &constants));
    }
}
