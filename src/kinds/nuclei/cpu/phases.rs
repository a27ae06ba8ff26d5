//! Moves the phases during the substeps of a generation, at constant fitness and entropy.

use super::{
    coupling::{Coupling, Kernel, Sums},
    mixer::Mixer,
};
use crate::kinds::{
    nuclei::{
        choices::{CouplingNorm, Integrator, SentPhase},
        params::Phases,
        random::{RandomAddress, RandomStream},
        real::{Real, wrapped},
        state::State,
    },
    shared::threads::Threads,
};

/// Number of nuclei per chunk.
const CHUNK: usize = 4096;

/// Phases of all nuclei in order of slots, and the workspace of the integrators.
#[derive(Clone, Debug)]
pub struct Oscillators<T> {
    /// Number of phase fields, F; the following arrays are `[F × n]`, field by field.
    pub fields: usize,
    /// Phases φ of all nuclei.
    pub phi: Vec<T>,
    /// cos φ at the last evaluation.
    pub cos: Vec<T>,
    /// sin φ at the last evaluation.
    pub sin: Vec<T>,
    /// Coupling sums of the last evaluation.
    pub sums: Sums<T>,
    start: Vec<T>,
    slope: Vec<T>,
    total: Vec<T>,
    noise: Vec<T>,
    mixer: Mixer<T>,
}

impl<T: Real> Oscillators<T> {
    /// Allocates capacity for `n` nuclei and one field.
    pub fn with_capacity(n: usize) -> Self {
        Self::with_fields(1, n)
    }

    /// Allocates capacity for `n` nuclei and `fields` fields.
    pub fn with_fields(fields: usize, n: usize) -> Self {
        let room = || Vec::with_capacity(fields * n);
        Self {
            fields,
            mixer: Mixer::new(fields, n),
            phi: room(),
            cos: room(),
            sin: room(),
            sums: Sums::with_capacity(fields * n),
            start: room(),
            slope: room(),
            total: room(),
            noise: room(),
        }
    }

    /// Sets the coupling between fields.
    pub fn set_mixing(&mut self, g: &[f64], sent: SentPhase) {
        self.mixer.set(g, sent);
    }

    /// Copies the phases from the table.
    pub fn gather(&mut self, state: &State<T>) {
        self.phi.clear();
        for field in 0..self.fields {
            self.phi.extend(state.idx.iter().map(|slot| state.phase(field, *slot)));
        }
        let n = self.phi.len();
        for array in [&mut self.cos, &mut self.sin, &mut self.start, &mut self.slope, &mut self.total, &mut self.noise]
        {
            array.resize(n, T::ZERO);
        }
    }

    /// Copies the phases back to the table.
    pub fn scatter(&self, state: &mut State<T>) {
        let n = state.n();
        for field in 0..self.fields {
            for at in 0..n {
                *state.phase_mut(field, state.idx[at]) = self.phi[field * n + at];
            }
        }
    }

    /// Returns the cosines and sines of one field.
    pub fn phasors(&self, field: usize) -> (&[T], &[T]) {
        let n = self.phi.len() / self.fields;
        (&self.cos[field * n..][..n], &self.sin[field * n..][..n])
    }

    /// Returns the memory for `n` nuclei, bytes.
    pub const fn bytes_of(fields: usize, n: usize) -> u64 {
        (fields * n * 10 * T::BYTES) as u64 + Mixer::<T>::bytes_of(fields, n)
    }

    /// Computes cosines, sines, and coupling sums.
    pub fn evaluate(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, threads: &Threads) {
        let pieces = self.phi.chunks(CHUNK).zip(self.cos.chunks_mut(CHUNK).zip(self.sin.chunks_mut(CHUNK)));
        threads.for_each(20 * self.fields * kernel.x.len(), pieces, |(phi, (cos, sin))| {
            phi.iter().zip(cos).zip(sin).for_each(|((phi, cos), sin)| (*sin, *cos) = phi.sin_cos());
        });
        if self.fields == 1 {
            coupling.sums(kernel, &self.cos, &self.sin, &mut self.sums);
        } else {
            self.mixer.sums(kernel, coupling, &self.cos, &self.sin, &mut self.sums);
        }
    }
}

/// Inputs of a substep of the Kuramoto model.
pub struct Drift<'a, T> {
    /// Parameters of the phase dynamics.
    pub phases: &'a Phases,
    /// Frequencies, frozen flags, and occupied slots.
    pub state: &'a State<T>,
    /// Coupling kernel: f / T and H of all nuclei.
    pub kernel: Kernel<'a, T>,
    /// Address of the noise.
    pub draw: RandomAddress,
    pub threads: &'a Threads,
}

impl<T: Real> Drift<'_, T> {
    /// Advances by one substep; `block` is the block of its random numbers.
    pub fn substep(&self, oscillators: &mut Oscillators<T>, coupling: &mut Coupling<T>, block: u32) {
        let is_noisy = self.phases.noise > 0.0;
        if is_noisy {
            self.draw_noise(oscillators, block);
        }
        let dt = T::of(self.phases.dt);
        match (self.phases.integrator, is_noisy) {
            (Integrator::Euler, _) => {
                self.slope(oscillators, coupling);
                advance(&mut oscillators.phi, None, &oscillators.slope, dt);
            }
            (Integrator::Rk4, false) => self.rk4(oscillators, coupling, dt),
            (Integrator::Heun, _) | (Integrator::Rk4, true) => self.heun(oscillators, coupling, dt, is_noisy),
        }
        if is_noisy {
            oscillators.phi.iter_mut().zip(&oscillators.noise).for_each(|(phi, xi)| *phi += *xi);
        }
        oscillators.phi.iter_mut().for_each(|phi| *phi = wrapped(*phi));
    }

    /// Draws √(2 D_n dt) ξ for every nucleus that is not frozen.
    fn draw_noise(&self, oscillators: &mut Oscillators<T>, block: u32) {
        let size = (2.0 * self.phases.noise * self.phases.dt).sqrt();
        let draw = RandomAddress { stream: RandomStream::Noise, ..self.draw };
        for (field, noise) in oscillators.noise.chunks_mut(self.state.n().max(1)).enumerate() {
            let block = block | (field as u32) << 16;
            let pieces = noise.chunks_mut(CHUNK).zip(self.state.idx.chunks(CHUNK));
            self.threads.for_each(60 * self.state.n(), pieces, |(noise, slots)| {
                for (xi, slot) in noise.iter_mut().zip(slots) {
                    let moves = self.state.frozen[*slot as usize] == 0;
                    *xi = if moves { T::of(size * draw.normal(*slot, block)) } else { T::ZERO };
                }
            });
        }
    }

    /// Computes dφ/dt into `oscillators.slope`.
    fn slope(&self, oscillators: &mut Oscillators<T>, coupling: &mut Coupling<T>) {
        oscillators.evaluate(self.kernel, coupling, self.threads);
        let (k, scale) = (T::of(self.phases.coupling), T::of(self.phases.omega_scale));
        let n = T::of(self.state.n() as f64);
        let nuclei = self.state.idx.iter().zip(&oscillators.sums.d).cycle(); // once per field
        for ((slope, im), (slot, d)) in oscillators.slope.iter_mut().zip(&oscillators.sums.im).zip(nuclei) {
            let slot = *slot as usize;
            let over = if self.phases.norm == CouplingNorm::Row { *d } else { n };
            let moves = self.state.frozen[slot] == 0;
            // A row of a coupling matrix may be empty.
            let pull = if over > T::ZERO { k / over * *im } else { T::ZERO };
            *slope = if moves { scale * self.state.omega[slot] + pull } else { T::ZERO };
        }
    }

    fn rk4(&self, oscillators: &mut Oscillators<T>, coupling: &mut Coupling<T>, dt: T) {
        oscillators.start.copy_from_slice(&oscillators.phi);
        oscillators.total.fill(T::ZERO);
        let (half, two) = (T::of(0.5), T::of(2.0));
        for (weight, reach) in [(T::ONE, half), (two, half), (two, T::ONE), (T::ONE, T::ZERO)] {
            self.slope(oscillators, coupling);
            oscillators.total.iter_mut().zip(&oscillators.slope).for_each(|(t, s)| *t += weight * *s);
            advance(&mut oscillators.phi, Some(&oscillators.start), &oscillators.slope, reach * dt);
        }
        advance(&mut oscillators.phi, Some(&oscillators.start), &oscillators.total, dt / T::of(6.0));
    }

    /// Takes a stochastic Heun step, with the same noise in the prediction and in the correction.
    fn heun(&self, oscillators: &mut Oscillators<T>, coupling: &mut Coupling<T>, dt: T, is_noisy: bool) {
        oscillators.start.copy_from_slice(&oscillators.phi);
        self.slope(oscillators, coupling);
        oscillators.total.copy_from_slice(&oscillators.slope);
        advance(&mut oscillators.phi, None, &oscillators.slope, dt);
        if is_noisy {
            oscillators.phi.iter_mut().zip(&oscillators.noise).for_each(|(phi, xi)| *phi += *xi);
        }
        self.slope(oscillators, coupling);
        oscillators.total.iter_mut().zip(&oscillators.slope).for_each(|(t, s)| *t += *s);
        advance(&mut oscillators.phi, Some(&oscillators.start), &oscillators.total, T::of(0.5) * dt);
    }
}

/// Computes `phi = start + slope · dt`; without a start, `phi += slope · dt`.
fn advance<T: Real>(phi: &mut [T], start: Option<&[T]>, slope: &[T], dt: T) {
    if let Some(start) = start {
        phi.copy_from_slice(start);
    }
    phi.iter_mut().zip(slope).for_each(|(phi, slope)| *phi += *slope * dt);
}
