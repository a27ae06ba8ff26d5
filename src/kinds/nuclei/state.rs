//! The population: a table of fixed size, one array per quantity.

use super::real::Real;
use crate::{
    buffers,
    sim::{Buffers as _, SimError, buffers::Host},
};

/// No parent: a founder, or a free slot.
pub const FOUNDER: i32 = -1;

/// Table sizes of a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSizes {
    /// Number of slots, N_max.
    pub capacity: usize,
    /// Number of weights per nucleus, D.
    pub dim: usize,
    /// Number of phase fields, F.
    pub fields: usize,
}

/// Returns the row stride of `w`: D rounded up to a multiple of 16 bytes.
const fn stride_of<T: Real>(dim: usize) -> usize {
    dim.next_multiple_of(16 / T::BYTES)
}

buffers! {
    /// Structure of arrays over the slots of the table. Never reallocated after the start.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct State<T: Real>(memory: Host, s: StateSizes) {
        "weights" {
            /// `[N_max × stride]` weights; rows of free slots are 0.
            pub w: Vec<T> = Saved "w" [s.capacity, stride_of::<T>(s.dim)];
        }
        "nuclei" {
            /// `[N_max]` 1 if the slot is occupied.
            pub alive: Vec<u8> = Derived "alive" s.capacity;
            /// `[N_max]` 1 if the phase is held constant (action `freeze`).
            pub frozen: Vec<u8> = Saved "frozen" s.capacity;
            /// `[N_max]` phase in [-π, π]; in [0, 2π) before the first step.
            pub phi: Vec<T> = State "phi" s.capacity;
            /// `[N_max]` |ψ|; changed only by the quantum-Kuramoto maps.
            pub amp: Vec<T> = State "amp" s.capacity;
            /// `[N_max]` natural frequency of the slot.
            pub omega: Vec<T> = State "omega" s.capacity;
            /// `[N_max]` spike counts of the quantum-Kuramoto maps.
            pub spike: Vec<T> = State "spike" s.capacity;
            /// `[N_max]` mean squared error, lower is better. This and the next five arrays belong to the last generation.
            pub f: Vec<T> = State "f" s.capacity;
            /// `[N_max]` entropy of softmax(w).
            pub h: Vec<T> = State "h" s.capacity;
            /// `[N_max]` real part of the coupling sum S.
            pub s_re: Vec<T> = State "s_re" s.capacity;
            /// `[N_max]` imaginary part of S.
            pub s_im: Vec<T> = State "s_im" s.capacity;
            /// `[N_max]` row sum of J.
            pub d: Vec<T> = State "d" s.capacity;
            /// `[N_max]` local order |S| / d.
            pub r_local: Vec<T> = State "r_local" s.capacity;
            /// `[F - 1 × N_max]` phases of fields 2 to F.
            pub more: Vec<T> = State "phi_more" [s.fields - 1, s.capacity];
            /// `[N_max]` generation of birth; 0 for founders.
            pub birth: Vec<u32> = Saved "birth" s.capacity;
            /// `[N_max]` slot of the parent; [`FOUNDER`] for founders; the slot itself for the host of a fusion.
            pub parent: Vec<i32> = Saved "parent" s.capacity;
            /// Occupied slots, ascending.
            pub idx: Vec<u32> = Saved "slots" s.capacity;
            /// Free slots, ascending.
            pub free: Vec<u32> = Derived "free" s.capacity;
        }
        plain {
            /// Number of slots, N_max.
            pub capacity: usize = s.capacity;
            /// Number of weights per nucleus, D.
            pub dim: usize = s.dim;
            /// Elements from one row of `w` to the next: D rounded up to a multiple of 16 bytes.
            pub stride: usize = stride_of::<T>(s.dim);
            /// Number of phase fields, F.
            pub fields: usize = s.fields;
        }
    }
}

impl<T: Real> State<T> {
    /// Allocates an empty table with one phase field. Fails if memory is exhausted.
    pub fn empty(capacity: usize, dim: usize) -> Result<Self, SimError> {
        Self::with_fields(capacity, dim, 1)
    }

    /// Allocates an empty table with `fields` phase fields. Fails if memory is exhausted.
    pub fn with_fields(capacity: usize, dim: usize, fields: usize) -> Result<Self, SimError> {
        let mut state = Self::allocate(&Host, &StateSizes { capacity, dim, fields })?;
        state.parent.fill(FOUNDER);
        state.compact();
        Ok(state)
    }

    pub const fn sizes(&self) -> StateSizes {
        StateSizes { capacity: self.capacity, dim: self.dim, fields: self.fields }
    }

    /// Returns the number of nuclei.
    pub fn n(&self) -> usize {
        self.idx.len()
    }

    /// Returns the phase of a slot in a field, whose index starts at 0.
    pub fn phase(&self, field: usize, slot: u32) -> T {
        match field {
            0 => self.phi[slot as usize],
            more => self.more[(more - 1) * self.capacity + slot as usize],
        }
    }

    /// Returns the phase of a slot in a field, mutable.
    pub fn phase_mut(&mut self, field: usize, slot: u32) -> &mut T {
        match field {
            0 => &mut self.phi[slot as usize],
            more => &mut self.more[(more - 1) * self.capacity + slot as usize],
        }
    }

    /// Returns the weights of the nucleus in a slot.
    pub fn row(&self, slot: u32) -> &[T] {
        &self.w[slot as usize * self.stride..][..self.dim]
    }

    /// Returns the weights of the nucleus in a slot, mutable.
    pub fn row_mut(&mut self, slot: u32) -> &mut [T] {
        &mut self.w[slot as usize * self.stride..][..self.dim]
    }

    /// Rebuilds the lists of occupied and free slots.
    pub fn compact(&mut self) {
        self.idx.clear();
        let living = self.alive.iter().enumerate().filter(|(_, alive)| **alive != 0);
        self.idx.extend(living.map(|(slot, _)| slot as u32));
        self.list_free();
    }

    /// Rebuilds the list of free slots.
    pub fn list_free(&mut self) {
        self.free.clear();
        let dead = self.alive.iter().enumerate().filter(|(_, alive)| **alive == 0);
        self.free.extend(dead.map(|(slot, _)| slot as u32));
    }

    /// Frees a slot and zeroes its values, so that erroneous reads are visible.
    pub fn clear_slot(&mut self, slot: u32) {
        let i = slot as usize;
        self.row_mut(slot).fill(T::ZERO);
        (self.alive[i], self.frozen[i]) = (0, 0);
        (1..self.fields).for_each(|field| *self.phase_mut(field, slot) = T::ZERO);
        for array in [&mut self.phi, &mut self.amp, &mut self.spike, &mut self.f, &mut self.h] {
            array[i] = T::ZERO;
        }
        for array in [&mut self.s_re, &mut self.s_im, &mut self.d, &mut self.r_local] {
            array[i] = T::ZERO;
        }
        (self.birth[i], self.parent[i]) = (0, FOUNDER);
    }
}
