//! Properties of the release model: conservation of vesicles, bounds, limits and equal forms.

mod dynamics;
mod forms;
mod gradient;
mod stochastic;

use super::{Constants, Edges, KeyState, Mode, Presynaptic, forward, trace::trace};
use crate::nn::real::Real;

/// Returns a pseudo-random number in [-1, 1), equal on every run.
fn noise(seed: u64, i: usize) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 29;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Returns pseudo-random dots `[rows, columns]` in ±scale.
fn dots<R: Real>(seed: u64, rows: usize, columns: usize, scale: f64) -> Vec<R> {
    (0..rows * columns).map(|i| R::of(scale * noise(seed, i))).collect()
}

fn op(n: usize) -> Presynaptic {
    Presynaptic::recommended(n)
}

/// Returns all combinations of mode and choice of edges.
fn variants(n: usize) -> Vec<Presynaptic> {
    let modes = [Mode::Off, Mode::Static, Mode::Scan, Mode::TsodyksMarkram];
    let edges = [Edges::All, Edges::TopK(5), Edges::TopK(1)];
    modes.into_iter().flat_map(|mode| edges.map(|edges| Presynaptic { mode, edges, ..op(n) })).collect()
}

/// Returns the logits, factors and state of a whole sequence.
fn whole<R: Real>(op: &Presynaptic, n: usize, dots: &[R]) -> (Vec<R>, Vec<R>, KeyState<R>) {
    let (mut logits, mut factor) = (vec![R::nan(); n * n], vec![R::nan(); n * n]);
    let mut state = KeyState::fresh(op, n);
    forward(op, 0, n, dots, &mut logits, Some(&mut factor), &mut state, None);
    (logits, factor, state)
}

/// Advances one key by a sequence of drives. Returns all steps.
fn driven(op: &Presynaptic, drives: &[f64]) -> Vec<super::trace::TraceStep> {
    let mut tracer = super::trace::Tracer::<f64>::fresh(op);
    drives.iter().map(|drive| tracer.step(op, *drive, true, None)).collect()
}

#[test]
fn a_trace_is_what_the_scan_does() {
    let n = 37;
    for op in variants(n) {
        let dots: Vec<f32> = dots(3, n, n, 3.0);
        let (logits, _, state) = whole(&op, n, &dots);
        for key in [0, 5, 17, n - 1] {
            let steps = trace(&op, n, &dots, key, None);
            let last = steps[steps.len() - 1];
            let got = state.key(key);
            let pairs = [
                (got.calcium, last.calcium),
                (got.rrp, last.rrp),
                (got.reserve, last.reserve),
                (got.primed, last.primed),
                (got.clamp, last.clamp),
                (got.amplitude, last.amplitude),
                (got.energy, last.energy),
                (f64::from(state.tm_x[key]), last.tm_x),
                (f64::from(state.tm_u[key]), last.tm_u),
            ];
            assert!(pairs.iter().all(|(a, b)| a == b), "{op:?} {key}: {pairs:?}");
            assert!((state.vesicles(key) - last.vesicles()).abs() < 1e-12);
            if op.edges == Edges::All {
                let slope = op.constants.bias.barrier / n as f64;
                let logit = last.drive + last.bias - slope * (n - 1 - key) as f64;
                assert_eq!(logits[(n - 1) * n + key], logit as f32, "{op:?} {key}");
            }
        }
    }
}

#[test]
fn parity_finds_the_first_difference() {
    let n = 48;
    for op in variants(n) {
        let parity = super::parity::compare::<f32>(&op, n, &dots(5, n, n, 4.0), None, 1e-4);
        assert!(parity.is_equal(), "{op:?}: {:?}", parity.rows);
    }
    let mut parity = super::parity::Parity::new(1e-3);
    [1.0, 1.0, 1.1, f64::NAN].iter().enumerate().for_each(|(step, a)| parity.add("x", step, *a, 1.0));
    parity.add("y", 7, f64::NEG_INFINITY, f64::NEG_INFINITY);
    assert_eq!((parity.rows[0].first_divergent, parity.rows[0].max_abs, parity.rows[0].n), (Some(2), f64::INFINITY, 4));
    assert_eq!((parity.rows[1].first_divergent, parity.rows[1].max_abs), (None, 0.0));
}
