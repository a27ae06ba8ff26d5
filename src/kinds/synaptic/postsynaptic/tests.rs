//! Tests of properties of the fast memory and its gates.

use super::*;
use crate::nn::testing::numbers;

const C: usize = 8;
const NEUTRAL: Option<Gains> = Some(Gains { camkii: 1.0, pp1: 1.0 });

fn unit(seed: u64) -> Vec<f64> {
    let x: Vec<f64> = numbers(C, seed);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.into_iter().map(|x| x / norm).collect()
}

/// Computes the read-out along a key without changing the memory.
fn read(op: &FastMemory, state: &MemoryState<f64>, key: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; C];
    op.step(&mut state.clone(), key, &mut y, None).expect("the lengths fit");
    y
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn it_forgets_by_its_decay_when_writes_stop() {
    let op = FastMemory { gate: Gate::Open, ..FastMemory::new(C) };
    let mut state = MemoryState::new(&op);
    for seed in 0..30 {
        op.step(&mut state, &unit(seed), &mut numbers(C, seed + 100), NEUTRAL).expect("it fits");
    }
    let before = state.f.clone();
    assert!(state.norm() > 0.1);
    for seed in 0..40 {
        op.step(&mut state, &unit(seed), &mut numbers(C, seed), None).expect("it fits");
    }
    let factor = 0.95_f64.powi(40);
    assert!(state.f.iter().zip(&before).all(|(after, f)| (after - factor * f).abs() < 1e-12));
}

#[test]
fn a_hundred_thousand_writes_stay_bounded() {
    for gate in [Gate::Open, Gate::default(), Gate::Latch(Latch::default())] {
        let op = FastMemory { gate, ..FastMemory::new(C) };
        let mut state = MemoryState::<f32>::new(&op);
        let (mut largest, mut largest_read) = (0.0_f64, 0.0_f64);
        for seed in 0..100_000_u64 {
            // Keys have a few directions, and targets exceed the maximum length.
            let x: Vec<f32> = numbers(C, seed % 7 + seed / 1000 * 50);
            let mut y: Vec<f32> = numbers::<f32>(C, seed).into_iter().map(|y| 40.0 * y).collect();
            let before = y.clone();
            op.step(&mut state, &x, &mut y, NEUTRAL).expect("it fits");
            let read = y.iter().zip(&before).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
            largest_read = largest_read.max(read);
            if seed % 500 == 0 {
                largest = largest.max(state.norm());
            }
        }
        assert!(largest <= 10.0 && largest_read <= 10.0 && largest.is_finite());
    }
}

#[test]
fn a_write_is_a_convex_step_of_the_read_out() {
    let op = FastMemory { gate: Gate::Open, decay: 1.0, ..FastMemory::new(C) };
    let mut state = MemoryState::new(&op);
    let (key, target) = (unit(1), unit(2));
    for n in 1..=20 {
        op.step(&mut state, &key, &mut target.clone(), NEUTRAL).expect("it fits");
        let error: Vec<f64> = read(&op, &state, &key).iter().zip(&target).map(|(r, v)| v - r).collect();
        assert!((norm(&error) - 0.5_f64.powi(n)).abs() < 1e-12);
    }
    // The read-out along an orthogonal key is zero.
    let mut other = unit(3);
    let along: f64 = other.iter().zip(&key).map(|(a, b)| a * b).sum();
    other.iter_mut().zip(&key).for_each(|(o, k)| *o -= along * k);
    assert!(norm(&read(&op, &state, &other)) < 1e-12);
}

#[test]
fn the_empty_memory_changes_no_output_and_nothing_without_writes_fills_it() {
    let op = FastMemory::new(C);
    let mut state = MemoryState::new(&op);
    for seed in 0..20 {
        let mut y: Vec<f64> = numbers(C, seed);
        op.step(&mut state, &unit(seed), &mut y, None).expect("it fits");
        assert_eq!(y, numbers::<f64>(C, seed));
    }
    assert_eq!(state.f, vec![0.0; C * C]);
    // An input of zeros has no direction and must not cause NaN.
    op.step(&mut state, &[0.0; C], &mut [0.0; C], NEUTRAL).expect("it fits");
    assert!(state.f.iter().chain(&state.gate.camkii).chain(&state.gate.pp1).all(|x| x.is_finite()));
    assert!(op.step(&mut state, &[0.0; 3], &mut [0.0; C], NEUTRAL).is_err());
}

/// Returns the opening of the gate after `tokens` tokens of constant calcium.
fn after(gate: &Gate, state: &mut GateState<f64>, tokens: u32, calcium: f64) -> f64 {
    for _ in 0..tokens {
        gate.update(state, 0, calcium, Gains { camkii: 1.0, pp1: 1.0 });
    }
    gate.opening(state, 0)
}

#[test]
fn camkii_opens_the_gate_and_pp1_closes_it() {
    let gate = Gate::default();
    let mut state = GateState::rest(1);
    assert!((gate.opening(&state, 0) - 0.018).abs() < 1e-3, "closed at rest");
    assert!(after(&gate, &mut state, 60, 2.0) > 0.98, "open after activity");
    let held = after(&gate, &mut state.clone(), 60, 0.85);
    assert!(held > 0.98, "between the thresholds it holds: {held}");
    assert!(after(&gate, &mut state, 300, 0.1) < 0.02, "closed after silence");
    assert!((0.0..=1.0).contains(&state.camkii[0]) && (0.0..=1.0).contains(&state.pp1[0]));
    // A larger CaMKII gain speeds up the rise of CaMKII.
    let (mut fast, mut slow) = (GateState::<f64>::rest(1), GateState::<f64>::rest(1));
    gate.update(&mut fast, 0, 2.0, Gains { camkii: 2.0, pp1: 1.0 });
    gate.update(&mut slow, 0, 2.0, Gains { camkii: 1.0, pp1: 1.0 });
    assert!((fast.camkii[0] - 2.0 * slow.camkii[0]).abs() < 1e-12);
}

#[test]
fn the_latch_has_two_states_and_hysteresis() {
    let gate = Gate::Latch(Latch::default());
    let begin = |rho| GateState { camkii: vec![rho], pp1: vec![0.5] };
    let settle = |rho: f64| {
        let mut state = begin(rho);
        after(&gate, &mut state, 600_000, 0.0);
        state.camkii[0]
    };
    assert!(settle(0.4) < 0.01 && settle(0.6) > 0.99, "two stable states");
    // High calcium potentiates, calcium between both thresholds depresses, and low calcium leaves either state.
    let mut state = begin(0.0);
    assert!(after(&gate, &mut state, 60, 2.0) > 0.9, "potentiated by high calcium");
    let high = state.camkii[0];
    assert!(after(&gate, &mut state, 2000, 0.5) > 0.9, "and it stays without calcium");
    assert!((state.camkii[0] - high).abs() < 0.1);
    assert!(after(&gate, &mut state, 200, 1.1) < 0.1, "depressed by intermediate calcium");
    assert!(after(&gate, &mut state, 2000, 0.5) < 0.1, "and it stays");
    // The drift rho(1 - rho)(rho - rho*) / tau from 0.6 agrees with the closed form.
    let mut state = begin(0.6);
    after(&gate, &mut state, 14_000, 0.0);
    let want = implicit_drift(0.6, 1.0);
    assert!((state.camkii[0] - want).abs() < 1e-3, "{} {want}", state.camkii[0]);
}

/// Solves `drho/dt = rho (1 - rho) (rho - 1/2)` in closed form: with `s = (2 rho - 1)²`, `s / (1 - s)` grows as `e^(t /
/// 2)`.
fn implicit_drift(rho: f64, time: f64) -> f64 {
    let s = (2.0 * rho - 1.0).powi(2);
    let ratio = s / (1.0 - s) * (time / 2.0).exp();
    0.5 + 0.5 * (ratio / (1.0 + ratio)).sqrt()
}
