//! The quantum-Kuramoto maps: amplitudes and phases, in discrete time.

use super::phases::Oscillators;
use crate::kinds::nuclei::{
    choices::{CouplingNorm, Dynamics},
    params::Phases,
    random::{RandomAddress, RandomStream},
    real::Real,
    state::State,
};

/// Draws the next spike count of every nucleus: spike ← Poisson(max(0.5, 0.8 spike)) + 1.
pub fn draw_spikes<T: Real>(state: &mut State<T>, draw: RandomAddress) {
    let draw = RandomAddress { stream: RandomStream::Spike, ..draw };
    for slot in &state.idx {
        let spike = &mut state.spike[*slot as usize];
        let mean = (0.8 * spike.wide()).max(0.5);
        *spike = T::of(poisson(mean, draw.uniform(*slot)) + 1.0);
    }
}

/// Draws a Poisson sample by inversion: the smallest count whose cumulative probability exceeds `u`.
fn poisson(mean: f64, u: f64) -> f64 {
    let (mut count, mut p) = (0.0, (-mean).exp());
    let mut below = p;
    while u > below && p > 0.0 {
        count += 1.0;
        p *= mean / count;
        below += p;
    }
    count
}

/// Applies a map once, using the evaluated coupling sums.
pub fn apply<T: Real>(phases: &Phases, state: &mut State<T>, oscillators: &mut Oscillators<T>) {
    let n = oscillators.phi.len();
    let living = || state.idx.iter().map(|slot| *slot as usize);
    let most = living().map(|i| state.spike[i].wide()).fold(0.0, f64::max);
    let mean = living().map(|i| state.amp[i].wide()).sum::<f64>() / n.max(1) as f64;
    let (k, scale) = (phases.coupling, 1.0 / (1000.0 + most));
    let mut norm = 0.0;
    for at in 0..n {
        let i = state.idx[at] as usize;
        let (cos, sin) = (oscillators.cos[at].wide(), oscillators.sin[at].wide());
        let (re, im, d) =
            (oscillators.sums.re[at].wide(), oscillators.sums.im[at].wide(), oscillators.sums.d[at].wide());
        let (amp, delta) = (state.amp[i].wide(), state.spike[i].wide() * scale);
        let new = if phases.dynamics == Dynamics::QkmCompat {
            let own = amp * (1.0 + delta);
            [own * cos + k * re, own * sin + k * im]
        } else {
            let pull = k * mean / if phases.norm == CouplingNorm::Row { d } else { n as f64 };
            // Computed in the frame of the nucleus, then rotated by its phase and by its spike angle.
            let [a, b] = [amp + pull * re, pull * im];
            rotate(rotate([a, b], [cos, sin]), [delta.cos(), delta.sin()])
        };
        norm += new[0] * new[0] + new[1] * new[1];
        if state.frozen[i] == 0 {
            oscillators.phi[at] = T::of(new[1].atan2(new[0]));
        }
        state.amp[i] = T::of((new[0] * new[0] + new[1] * new[1]).sqrt());
    }
    let norm = norm.sqrt();
    if norm > 0.0 {
        for slot in &state.idx {
            let amp = &mut state.amp[*slot as usize];
            *amp = T::of(amp.wide() / norm);
        }
    }
}

fn rotate([a, b]: [f64; 2], [cos, sin]: [f64; 2]) -> [f64; 2] {
    [a * cos - b * sin, a * sin + b * cos]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_numbers_have_the_right_mean_and_variance() {
        let draw = RandomAddress { seed: 7, stream: RandomStream::Spike, generation: 3 };
        for mean in [0.5, 4.0] {
            let n = 20_000;
            let counts: Vec<f64> = (0..n).map(|slot| poisson(mean, draw.uniform(slot))).collect();
            let average = counts.iter().sum::<f64>() / f64::from(n);
            let variance = counts.iter().map(|c| (c - average).powi(2)).sum::<f64>() / f64::from(n);
            assert!((average - mean).abs() < 4.0 * (mean / f64::from(n)).sqrt(), "{average} for {mean}");
            assert!((variance / mean - 1.0).abs() < 0.06, "{variance} for {mean}");
        }
    }
}
