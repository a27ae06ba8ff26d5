//! Tests of drawn numbers of vesicles.

use super::*;
use crate::kinds::synaptic::presynaptic::{
    Draws, Release,
    release::{MAX_TRIALS, trials},
};

/// Property 11: binomial counts have the expected mean, variance and range.
#[test]
fn counts_are_binomial() {
    let n_draws = 100_000;
    for (n, p) in [(1, 0.02), (3, 0.5), (5, 0.3), (8, 0.05), (8, 0.97)] {
        let draws = Draws { seed: 12, step: u64::from(n), head: 7 };
        let counts: Vec<f64> = (0..n_draws)
            .map(|i| {
                let count = draws.count(i / 317, i % 317, n, p);
                assert!(count <= n);
                f64::from(count)
            })
            .collect();
        let size = n_draws as f64;
        let (mean, variance) = (f64::from(n) * p, f64::from(n) * p * (1.0 - p));
        let got = counts.iter().sum::<f64>() / size;
        let got_variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / size;
        let z = (got - mean) / (variance / size).sqrt();
        // `fourth` is the fourth central moment of the binomial distribution.
        let fourth = variance * (1.0 + 3.0 * (f64::from(n) - 2.0) * p * (1.0 - p));
        let z_variance = (got_variance - variance) / ((fourth - variance * variance) / size).sqrt();
        assert!(z.abs() < 4.0 && z_variance.abs() < 4.0);
    }
}

#[test]
fn a_drawn_release_is_unbiased_and_never_exceeds_the_pool() {
    let draws = Draws { seed: 3, step: 0, head: 0 };
    for (pool, p) in [(6.0, 0.4), (0.3, 0.2), (2.6, 0.7), (11.0, 0.1)] {
        let n = 100_000;
        let released: Vec<f64> = (0..n).map(|i| draws.released(i / 1000, i % 1000, pool, p)).collect();
        assert!(released.iter().all(|r| (0.0..=pool).contains(r)));
        let (mean, k) = (released.iter().sum::<f64>() / n as f64, f64::from(trials(pool)));
        let z = (mean - p * pool) / (pool * (p * (1.0 - p) / k / n as f64).sqrt());
        assert!(z.abs() < 4.0);
    }
    assert_eq!([0.0, 0.4, 0.5, 1.5, 2.5, 7.5, 40.0, f64::NAN].map(trials), [1, 1, 1, 2, 2, 8, MAX_TRIALS, 1]);
}

/// Property 11: nothing is drawn at fraction 0 or without an address, and draws depend only on their address.
#[test]
fn draws_are_functions_of_their_address() {
    let n = 24;
    let x: Vec<f32> = dots(4, n, n, 2.0);
    let run = |fraction: f64, draws: Option<Draws>| {
        let op = Presynaptic { release: Release::Binomial { fraction }, ..op(n) };
        let (mut logits, mut factor, mut state) = (vec![0.0; n * n], vec![0.0; n * n], KeyState::fresh(&op, n));
        forward(&op, 0, n, &x, &mut logits, Some(&mut factor), &mut state, draws.as_ref());
        assert!((0..n).all(|j| (state.vesicles(j) - 24.0).abs() < 1e-4));
        logits
    };
    let draws = Draws { seed: 1, step: 2, head: 3 };
    let deterministic = whole(&op(n), n, &x).0;
    assert!(run(0.0, Some(draws)) == deterministic && run(1.0, None) == deterministic);
    let drawn = run(1.0, Some(draws));
    assert!(drawn == run(1.0, Some(draws)) && drawn != deterministic);
    for other in [Draws { seed: 2, ..draws }, Draws { step: 3, ..draws }, Draws { head: 4, ..draws }] {
        assert!(drawn != run(1.0, Some(other)), "{other:?}");
    }
    let rows = (0..10_000).filter(|t| draws.is_drawn(0.12, *t)).count();
    assert!((1070..1330).contains(&rows), "{rows} of 10,000 queries at 12 %");
}
