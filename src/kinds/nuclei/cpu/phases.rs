//! How phases move during the substeps of a generation, in which fitness and entropy stand still.

use super::{
    coupling::{Coupling, Kernel, Sums},
    crew::Crew,
    mixer::Mixer,
};
use crate::kinds::nuclei::{
    Integrator, Norm, Phases, Sent,
    draw::{Draw, Stream},
    real::{Real, wrapped},
    state::State,
};

/// Nuclei of one piece of work.
const PIECE: usize = 4096;

/// Phases of the living, side by side, and what integrators need beside them.
#[derive(Clone, Debug)]
pub struct Waves<T> {
    /// Fields, F; the following are `[F × n]`, field by field.
    pub fields: usize,
    /// φ.
    pub phi: Vec<T>,
    /// cos φ, of the last evaluation.
    pub cos: Vec<T>,
    /// sin φ.
    pub sin: Vec<T>,
    /// The sums of the last evaluation.
    pub sums: Sums<T>,
    start: Vec<T>,
    slope: Vec<T>,
    total: Vec<T>,
    noise: Vec<T>,
    mixer: Mixer<T>,
}

impl<T: Real> Waves<T> {
    /// Room for so many, with one field.
    pub fn with_capacity(n: usize) -> Self {
        Self::with_fields(1, n)
    }

    /// Room for so many fields of so many.
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

    /// Fields act on each other like this from now on.
    pub fn mix(&mut self, g: &[f64], sent: Sent) {
        self.mixer.take(g, sent);
    }

    /// The phases of the living.
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

    /// Hands the phases of the living back.
    pub fn scatter(&self, state: &mut State<T>) {
        let n = state.n();
        for field in 0..self.fields {
            for at in 0..n {
                *state.phase_mut(field, state.idx[at]) = self.phi[field * n + at];
            }
        }
    }

    /// Cosines and sines of one field.
    pub fn rotors(&self, field: usize) -> (&[T], &[T]) {
        let n = self.phi.len() / self.fields;
        (&self.cos[field * n..][..n], &self.sin[field * n..][..n])
    }

    /// Bytes of so many.
    pub const fn bytes_of(fields: usize, n: usize) -> u64 {
        (fields * n * 10 * T::BYTES) as u64 + Mixer::<T>::bytes_of(fields, n)
    }

    /// Cosines, sines, and the sums over all pairs.
    pub fn evaluate(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, crew: Crew) {
        let pieces = self.phi.chunks(PIECE).zip(self.cos.chunks_mut(PIECE).zip(self.sin.chunks_mut(PIECE)));
        crew.each(20 * self.fields * kernel.x.len(), pieces, |(phi, (cos, sin))| {
            phi.iter().zip(cos).zip(sin).for_each(|((phi, cos), sin)| (*sin, *cos) = phi.sin_cos());
        });
        if self.fields == 1 {
            coupling.sums(kernel, &self.cos, &self.sin, &mut self.sums);
        } else {
            self.mixer.sums(kernel, coupling, &self.cos, &self.sin, &mut self.sums);
        }
    }
}

/// What a substep of the Kuramoto model is given.
pub struct Drift<'a, T> {
    /// The parameters.
    pub phases: &'a Phases,
    /// Frequencies by slot, who stands still, and the slots of the living.
    pub state: &'a State<T>,
    /// f / T and H of the living.
    pub kernel: Kernel<'a, T>,
    /// Addresses the noise.
    pub draw: Draw,
    /// Threads.
    pub crew: Crew,
}

impl<T: Real> Drift<'_, T> {
    /// One substep; `block` addresses its noise.
    pub fn substep(&self, waves: &mut Waves<T>, coupling: &mut Coupling<T>, block: u32) {
        let is_noisy = self.phases.noise > 0.0;
        if is_noisy {
            self.shake(waves, block);
        }
        let dt = T::of(self.phases.dt);
        match (self.phases.integrator, is_noisy) {
            (Integrator::Euler, _) => {
                self.slope(waves, coupling);
                advance(&mut waves.phi, None, &waves.slope, dt);
            }
            (Integrator::Rk4, false) => self.rk4(waves, coupling, dt),
            (Integrator::Heun, _) | (Integrator::Rk4, true) => self.heun(waves, coupling, dt, is_noisy),
        }
        if is_noisy {
            waves.phi.iter_mut().zip(&waves.noise).for_each(|(phi, xi)| *phi += *xi);
        }
        waves.phi.iter_mut().for_each(|phi| *phi = wrapped(*phi));
    }

    /// √(2 D_n dt) ξ of every nucleus that moves.
    fn shake(&self, waves: &mut Waves<T>, block: u32) {
        let size = (2.0 * self.phases.noise * self.phases.dt).sqrt();
        let draw = Draw { stream: Stream::Noise, ..self.draw };
        for (field, noise) in waves.noise.chunks_mut(self.state.n().max(1)).enumerate() {
            let block = block | (field as u32) << 16;
            let pieces = noise.chunks_mut(PIECE).zip(self.state.idx.chunks(PIECE));
            self.crew.each(60 * self.state.n(), pieces, |(noise, slots)| {
                for (xi, slot) in noise.iter_mut().zip(slots) {
                    let moves = self.state.frozen[*slot as usize] == 0;
                    *xi = if moves { T::of(size * draw.normal(*slot, block)) } else { T::ZERO };
                }
            });
        }
    }

    /// dφ/dt, into `waves.slope`.
    fn slope(&self, waves: &mut Waves<T>, coupling: &mut Coupling<T>) {
        waves.evaluate(self.kernel, coupling, self.crew);
        let (k, scale) = (T::of(self.phases.coupling), T::of(self.phases.omega_scale));
        let n = T::of(self.state.n() as f64);
        let nuclei = self.state.idx.iter().zip(&waves.sums.d).cycle(); // once per field
        for ((slope, im), (slot, d)) in waves.slope.iter_mut().zip(&waves.sums.im).zip(nuclei) {
            let slot = *slot as usize;
            let over = if self.phases.norm == Norm::Row { *d } else { n };
            let moves = self.state.frozen[slot] == 0;
            // Nobody acts on a nucleus whose row of a given J is empty.
            let pull = if over > T::ZERO { k / over * *im } else { T::ZERO };
            *slope = if moves { scale * self.state.omega[slot] + pull } else { T::ZERO };
        }
    }

    fn rk4(&self, waves: &mut Waves<T>, coupling: &mut Coupling<T>, dt: T) {
        waves.start.copy_from_slice(&waves.phi);
        waves.total.fill(T::ZERO);
        let (half, two) = (T::of(0.5), T::of(2.0));
        for (weight, reach) in [(T::ONE, half), (two, half), (two, T::ONE), (T::ONE, T::ZERO)] {
            self.slope(waves, coupling);
            waves.total.iter_mut().zip(&waves.slope).for_each(|(t, s)| *t += weight * *s);
            advance(&mut waves.phi, Some(&waves.start), &waves.slope, reach * dt);
        }
        advance(&mut waves.phi, Some(&waves.start), &waves.total, dt / T::of(6.0));
    }

    /// The noise is the same in the prediction and in the correction.
    fn heun(&self, waves: &mut Waves<T>, coupling: &mut Coupling<T>, dt: T, is_noisy: bool) {
        waves.start.copy_from_slice(&waves.phi);
        self.slope(waves, coupling);
        waves.total.copy_from_slice(&waves.slope);
        advance(&mut waves.phi, None, &waves.slope, dt);
        if is_noisy {
            waves.phi.iter_mut().zip(&waves.noise).for_each(|(phi, xi)| *phi += *xi);
        }
        self.slope(waves, coupling);
        waves.total.iter_mut().zip(&waves.slope).for_each(|(t, s)| *t += *s);
        advance(&mut waves.phi, Some(&waves.start), &waves.total, T::of(0.5) * dt);
    }
}

/// phi = start + slope · dt; from where it is, without a start.
fn advance<T: Real>(phi: &mut [T], start: Option<&[T]>, slope: &[T], dt: T) {
    if let Some(start) = start {
        phi.copy_from_slice(start);
    }
    phi.iter_mut().zip(slope).for_each(|(phi, slope)| *phi += *slope * dt);
}
