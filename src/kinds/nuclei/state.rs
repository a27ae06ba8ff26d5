//! The population: a table of fixed size, one array per quantity.

use super::real::Real;

/// No parent: a founder, or a free slot.
pub const FOUNDER: i32 = -1;

/// Structure of arrays over the slots of the table. Never reallocated after the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State<T> {
    /// Slots, N_max.
    pub capacity: usize,
    /// Weights of a nucleus, D.
    pub dim: usize,
    /// Numbers from one row of `w` to the next: D rounded up to 16 bytes.
    pub stride: usize,
    /// `[N_max × stride]` weights; rows of free slots are 0.
    pub w: Vec<T>,
    /// `[N_max]` 1: alive.
    pub alive: Vec<u8>,
    /// `[N_max]` 1: the phase is held constant (action `freeze`).
    pub frozen: Vec<u8>,
    /// `[N_max]` phase in [-π, π]; in [0, 2π) before the first step.
    pub phi: Vec<T>,
    /// Phase fields, F.
    pub fields: usize,
    /// `[F - 1 × N_max]` phases of fields 2 to F.
    pub more: Vec<T>,
    /// `[N_max]` |ψ|; changed by the quantum-Kuramoto maps only.
    pub amp: Vec<T>,
    /// `[N_max]` natural frequency of the slot.
    pub omega: Vec<T>,
    /// `[N_max]` spikes of the quantum-Kuramoto maps.
    pub spike: Vec<T>,
    /// `[N_max]` mean squared error, lower is better. This and the next five arrays are of the last generation.
    pub f: Vec<T>,
    /// `[N_max]` entropy of softmax(w).
    pub h: Vec<T>,
    /// `[N_max]` real part of the coupling sum S.
    pub s_re: Vec<T>,
    /// `[N_max]` imaginary part of S.
    pub s_im: Vec<T>,
    /// `[N_max]` row sum of J.
    pub d: Vec<T>,
    /// `[N_max]` local order |S| / d.
    pub r_local: Vec<T>,
    /// `[N_max]` generation of birth; 0 for founders.
    pub birth: Vec<u32>,
    /// `[N_max]` slot of the parent; [`FOUNDER`] for founders; the own slot for the host of a fusion.
    pub parent: Vec<i32>,
    /// Occupied slots, ascending.
    pub idx: Vec<u32>,
    /// Free slots, ascending.
    pub free: Vec<u32>,
}

impl<T: Real> State<T> {
    /// An empty table with one phase field.
    pub fn empty(capacity: usize, dim: usize) -> Self {
        Self::with_fields(capacity, dim, 1)
    }

    /// An empty table with `fields` phase fields.
    pub fn with_fields(capacity: usize, dim: usize, fields: usize) -> Self {
        let stride = dim.next_multiple_of(16 / T::BYTES);
        let zeros = || vec![T::ZERO; capacity];
        let mut state = Self {
            capacity,
            dim,
            stride,
            w: vec![T::ZERO; capacity * stride],
            alive: vec![0; capacity],
            frozen: vec![0; capacity],
            phi: zeros(),
            fields,
            more: vec![T::ZERO; (fields - 1) * capacity],
            amp: zeros(),
            omega: zeros(),
            spike: zeros(),
            f: zeros(),
            h: zeros(),
            s_re: zeros(),
            s_im: zeros(),
            d: zeros(),
            r_local: zeros(),
            birth: vec![0; capacity],
            parent: vec![FOUNDER; capacity],
            idx: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
        };
        state.compact();
        state
    }

    /// Number of nuclei.
    pub fn n(&self) -> usize {
        self.idx.len()
    }

    /// Phase of a slot in a field, counted from 0.
    pub fn phase(&self, field: usize, slot: u32) -> T {
        match field {
            0 => self.phi[slot as usize],
            more => self.more[(more - 1) * self.capacity + slot as usize],
        }
    }

    /// Mutable phase of a slot in a field.
    pub fn phase_mut(&mut self, field: usize, slot: u32) -> &mut T {
        match field {
            0 => &mut self.phi[slot as usize],
            more => &mut self.more[(more - 1) * self.capacity + slot as usize],
        }
    }

    /// Weights of a slot.
    pub fn row(&self, slot: u32) -> &[T] {
        &self.w[slot as usize * self.stride..][..self.dim]
    }

    /// Mutable weights of a slot.
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

    /// Frees a slot and zeroes its values, so that a read by mistake is visible.
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

    /// Bytes of the weights, and of all other arrays.
    pub fn n_bytes(&self) -> (u64, u64) {
        Self::bytes_of(self.capacity, self.dim, self.fields)
    }

    /// [`State::n_bytes`] of a table of this size.
    pub fn bytes_of(capacity: usize, dim: usize, fields: usize) -> (u64, u64) {
        let stride = dim.next_multiple_of(16 / T::BYTES);
        (
            (capacity * stride * T::BYTES) as u64,
            (capacity * ((9 + fields) * T::BYTES + 2 + 4 * size_of::<u32>())) as u64,
        )
    }
}
