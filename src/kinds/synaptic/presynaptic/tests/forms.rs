//! Tests that all forms of computation give equal values.

use super::*;
use crate::kinds::synaptic::presynaptic::{Draws, Release};

fn bits<R: Real>(x: &[R]) -> Vec<u64> {
    x.iter().map(|x| x.f64().to_bits()).collect()
}

/// Property 4: the logits of a query do not depend on later queries.
#[test]
fn later_tokens_have_no_effect() {
    let n = 21;
    for op in variants(n) {
        let mut x: Vec<f64> = dots(1, n, n, 3.0);
        let (before, factor, _) = whole(&op, n, &x);
        let from = 13;
        x[from * n..].iter_mut().for_each(|x| *x = 7.0 - *x);
        // Keys that a query does not see have no effect.
        (0..n).for_each(|t| x[t * n + t + 1..(t + 1) * n].fill(f64::NAN));
        let (after, factor_after, _) = whole(&op, n, &x);
        assert_eq!(bits(&before[..from * n]), bits(&after[..from * n]), "{op:?}");
        assert_eq!(bits(&factor[..from * n]), bits(&factor_after[..from * n]));
    }
}

/// Properties 5 and 6: a whole sequence, single tokens and chunks give the same bits, also with drawn release.
#[test]
fn chunks_of_any_size_give_the_same_bits() {
    let n = 45;
    let mut all = variants(n);
    all.push(Presynaptic { release: Release::Binomial { fraction: 0.5 }, ..op(n) });
    let draws = Draws { seed: 5, step: 9, head: 3 };
    for op in all {
        let x: Vec<f32> = dots(2, n, n, 3.0);
        let run = |chunk: usize, capacity: usize| {
            let mut state = KeyState::fresh(&op, capacity);
            let (mut logits, mut factor) = (vec![], vec![]);
            for first in (0..n).step_by(chunk) {
                let rows = chunk.min(n - first);
                let keys = first + rows;
                let part: Vec<f32> = (first..keys).flat_map(|t| x[t * n..t * n + keys].iter().copied()).collect();
                let (mut y, mut f) = (vec![f32::NAN; part.len()], vec![f32::NAN; part.len()]);
                forward(&op, first, rows, &part, &mut y, Some(&mut f), &mut state, Some(&draws));
                for row in 0..rows {
                    logits.extend_from_slice(&y[row * keys..row * keys + first + row + 1]);
                    factor.extend_from_slice(&f[row * keys..row * keys + first + row + 1]);
                }
            }
            (bits(&logits), bits(&factor), state.calcium, state.rrp, state.reserve, state.energy, state.tm_x)
        };
        let once = run(n, n);
        for chunk in [1, 4, 16, 17] {
            assert!(run(chunk, 0) == once, "{op:?} in chunks of {chunk}");
        }
    }
}

/// A state after `reset` gives the results of a new state.
#[test]
fn a_state_that_is_reset_is_fresh() {
    let n = 20;
    let x: Vec<f32> = dots(8, n, n, 3.0);
    let (want, _, mut state) = whole(&op(n), n, &x);
    state.reset(&op(n));
    assert_eq!(state.n_keys(), 0);
    let mut logits = vec![0.0; n * n];
    forward(&op(n), 0, n, &x, &mut logits, None, &mut state, None);
    assert_eq!(bits(&logits), bits(&want));
}

/// Property 12: without bias and barrier, the logits equal the dots.
#[test]
fn without_bias_and_barrier_logits_are_dots() {
    let n = 19;
    for op in variants(n) {
        let constants = op.constants.with(|c| {
            c.bias.lambda = 0.0;
            c.bias.barrier = 0.0;
        });
        let x: Vec<f32> = dots(6, n, n, 5.0);
        let (logits, factor, _) = whole(&Presynaptic { constants, ..op }, n, &x);
        for (i, (logit, dot)) in logits.iter().zip(&x).enumerate() {
            let want = if i % n <= i / n { *dot } else { f32::NEG_INFINITY };
            assert_eq!(logit.to_bits(), want.to_bits());
        }
        assert!(factor.iter().all(|f| *f == 0.0));
    }
}

#[test]
fn edges_that_are_not_selected_have_the_bias_of_the_last_selected() {
    let n = 12;
    let constants = Constants::default().with(|c| c.bias.barrier = 0.0);
    for mode in [Mode::Static, Mode::Scan, Mode::TsodyksMarkram] {
        let op = Presynaptic { mode, edges: Edges::TopK(4), constants, ..op(n) };
        let mut x: Vec<f64> = dots(7, n, n, 3.0);
        // Among equal logits, earlier keys are selected first.
        x[(n - 1) * n..].copy_from_slice(&[1.0, 0.0, 0.5, 0.5, 0.5, 0.5, -1.0, 0.5, 2.0, 0.0, 0.0, 0.0]);
        let (logits, factor, _) = whole(&op, n, &x);
        let bias: Vec<f64> = (0..n).map(|j| logits[(n - 1) * n + j] - x[(n - 1) * n + j]).collect();
        let selected = [0, 2, 3, 8];
        for j in 0..n {
            assert_eq!(factor[(n - 1) * n + j] > 0.0, selected.contains(&j), "{mode:?} key {j}");
            assert!(selected.contains(&j) || (bias[j] - bias[3]).abs() < 1e-12, "{mode:?}: {bias:?}");
        }
        // Rows with at most `k` keys select all of them.
        assert!((0..3).all(|t| (0..=t).all(|j| factor[t * n + j] > 0.0)));
    }
}
