//! State of the keys of one head of one sequence.

use super::{Constants, Presynaptic, step::whole_quanta};
use crate::nn::real::Real;

/// Arrays are padded to multiples of this number of elements, the widest vector of f64.
pub const LANES: usize = 8;

/// State of the keys: one array per quantity, indexed by key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyState<R> {
    /// Concentration of calcium, C.
    pub calcium: Vec<R>,
    /// Readily releasable vesicles, RRP.
    pub rrp: Vec<R>,
    /// Reserve vesicles, RES.
    pub reserve: Vec<R>,
    /// Share of primed SNAREs, PR.
    pub primed: Vec<R>,
    /// Complexin clamp, CL.
    pub clamp: Vec<R>,
    /// Quantal amplitude, AMP.
    pub amplitude: Vec<R>,
    /// Energy E, from 0 to `energy.max`.
    pub energy: Vec<R>,
    /// Vesicles under endocytosis: `endo_delay` arrays, at least one, of one value per key. The vesicles in array
    /// [`cursor`](Self::cursor) return next.
    pub queue: Vec<Vec<R>>,
    /// Index in `queue` of the array that the next step reads and replaces.
    pub cursor: usize,
    /// Available resources x of Tsodyks and Markram.
    pub tm_x: Vec<R>,
    /// Use of resources u of Tsodyks and Markram.
    pub tm_u: Vec<R>,
    n_keys: usize,
}

/// State of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Key {
    /// Concentration of calcium, C.
    pub calcium: f64,
    /// Readily releasable vesicles, RRP.
    pub rrp: f64,
    /// Reserve vesicles, RES.
    pub reserve: f64,
    /// Vesicles that return from endocytosis in this step.
    pub returning: f64,
    /// Share of primed SNAREs, PR.
    pub primed: f64,
    /// Complexin clamp, CL.
    pub clamp: f64,
    /// Quantal amplitude, AMP.
    pub amplitude: f64,
    /// Energy E, from 0 to `energy.max`.
    pub energy: f64,
}

impl Key {
    /// Creates the first state, whose pools are multiples of the quantum of `R`.
    #[inline(always)]
    pub fn fresh<R: Real>(c: &Constants) -> Self {
        let key = Self {
            calcium: 0.0,
            rrp: whole_quanta::<R>(c.first.rrp),
            reserve: whole_quanta::<R>(c.first.reserve),
            returning: 0.0,
            primed: c.first.snare,
            clamp: c.first.clamp,
            amplitude: c.first.amplitude,
            energy: c.first.energy,
        };
        key.rounded::<R>()
    }

    /// Rounds all values to `R`.
    #[inline(always)]
    pub fn rounded<R: Real>(self) -> Self {
        let r = |x: f64| R::of(x).f64();
        Self {
            calcium: r(self.calcium),
            rrp: r(self.rrp),
            reserve: r(self.reserve),
            returning: r(self.returning),
            primed: r(self.primed),
            clamp: r(self.clamp),
            amplitude: r(self.amplitude),
            energy: r(self.energy),
        }
    }
}

impl<R: Real> KeyState<R> {
    /// Creates a state without keys. Up to `capacity` keys are added without an allocation.
    pub fn fresh(op: &Presynaptic, capacity: usize) -> Self {
        let none = || Vec::with_capacity(capacity.next_multiple_of(LANES));
        Self {
            calcium: none(),
            rrp: none(),
            reserve: none(),
            primed: none(),
            clamp: none(),
            amplitude: none(),
            energy: none(),
            queue: (0..op.constants.vesicles.endo_delay.max(1)).map(|_| none()).collect(),
            cursor: 0,
            tm_x: none(),
            tm_u: none(),
            n_keys: 0,
        }
    }

    /// Returns the number of keys with a state.
    pub const fn n_keys(&self) -> usize {
        self.n_keys
    }

    /// Removes all keys and keeps the memory.
    pub fn reset(&mut self, op: &Presynaptic) {
        self.queue.resize_with(op.constants.vesicles.endo_delay.max(1), Vec::new);
        self.arrays().into_iter().for_each(Vec::clear);
        (self.cursor, self.n_keys) = (0, 0);
    }

    fn arrays(&mut self) -> Vec<&mut Vec<R>> {
        let Self { calcium, rrp, reserve, primed, clamp, amplitude, energy, queue, tm_x, tm_u, .. } = self;
        let mut all = vec![calcium, rrp, reserve, primed, clamp, amplitude, energy, tm_x, tm_u];
        all.extend(queue);
        all
    }

    /// Adds keys in their first state until there are `n_keys`.
    pub fn grow(&mut self, op: &Presynaptic, n_keys: usize) {
        if n_keys <= self.n_keys {
            return;
        }
        let key = Key::fresh::<R>(&op.constants);
        let (from, len) = (self.n_keys, n_keys.next_multiple_of(LANES));
        let fill = |x: &mut Vec<R>, value: f64| {
            if x.len() < len {
                x.resize(len, R::zero());
            }
            // The padding after the last key takes part in computations, but its results are not used.
            x[from..].iter_mut().for_each(|x| *x = R::of(value));
        };
        fill(&mut self.calcium, key.calcium);
        fill(&mut self.rrp, key.rrp);
        fill(&mut self.reserve, key.reserve);
        fill(&mut self.primed, key.primed);
        fill(&mut self.clamp, key.clamp);
        fill(&mut self.amplitude, key.amplitude);
        fill(&mut self.energy, key.energy);
        fill(&mut self.tm_x, 1.0);
        fill(&mut self.tm_u, op.constants.resources.u);
        self.queue.iter_mut().for_each(|ring| fill(ring, 0.0));
        self.n_keys = n_keys;
    }

    /// Returns the state of key `j`.
    pub fn key(&self, j: usize) -> Key {
        Key {
            calcium: self.calcium[j].f64(),
            rrp: self.rrp[j].f64(),
            reserve: self.reserve[j].f64(),
            returning: self.queue[self.cursor][j].f64(),
            primed: self.primed[j].f64(),
            clamp: self.clamp[j].f64(),
            amplitude: self.amplitude[j].f64(),
            energy: self.energy[j].f64(),
        }
    }

    /// Returns the number of vesicles of key `j` that are under endocytosis.
    pub fn under_endocytosis(&self, j: usize) -> f64 {
        self.queue.iter().map(|ring| ring[j].f64()).sum()
    }

    /// Returns the total number of vesicles of key `j`: `RRP + RES + queue`.
    pub fn vesicles(&self, j: usize) -> f64 {
        self.rrp[j].f64() + self.reserve[j].f64() + self.under_endocytosis(j)
    }
}
