//! Properties of the dynamics of one key.

use super::*;
use crate::kinds::synaptic::presynaptic::{
    step::probability,
    tsodyks_markram::{Resources, decay, relax, spike},
};

/// Property 1: the vesicles of every key are conserved.
#[test]
fn vesicles_are_conserved() {
    let n = 1024;
    let mut worst = 0.0_f64;
    for (seed, scale) in [(1, 1.0), (2, 3.0), (3, 10.0)] {
        // The state has 16 keys and receives 1,024 queries.
        let op = op(n);
        let total = op.constants.first.rrp + op.constants.first.reserve;
        let mut state = KeyState::<f32>::fresh(&op, 16);
        for t in 0..n {
            let row: Vec<f32> = dots(seed * 10_000 + t as u64, 1, 16, scale);
            forward(&op, 15, 1, &row, &mut [0.0; 16], None, &mut state, None);
            worst = (0..16).map(|j| (state.vesicles(j) - total).abs()).fold(worst, f64::max);
        }
    }
    assert_eq!(worst, 0.0, "flows are multiples of a quantum");
}

/// Property 1: vesicles are conserved at the ends of the ranges of the parameters.
#[test]
fn vesicles_are_conserved_with_extreme_constants() {
    let c = Constants::default();
    let cases = [
        c.with(|c| {
            c.vesicles.k_prime = 30.0;
            c.energy.half = 0.0;
        }),
        c.with(|c| {
            c.vesicles.k_prime = 1.0;
            c.energy.half = 0.0;
            c.vesicles.rrp_max = 2.0;
            c.first.rrp = 1.0;
        }),
        c.with(|c| {
            c.snare.unprime = 1.0;
            c.vesicles.endo_delay = 64;
        }),
        c.with(|c| {
            c.first.rrp = 0.1;
            c.first.reserve = 0.7;
        }),
        c.with(|c| {
            c.calcium.alpha = 100.0;
            c.syt1.k = 1000.0;
            c.energy.per_vesicle = 1.0;
        }),
    ];
    for constants in cases {
        let op = Presynaptic { constants, ..op(1) };
        let mut state = KeyState::<f32>::fresh(&op, 16);
        let mut total = None;
        for t in 0..600 {
            let row: Vec<f32> = dots(77_000 + t, 1, 16, 4.0);
            forward(&op, 15, 1, &row, &mut [0.0; 16], None, &mut state, None);
            let now = state.vesicles(3);
            assert_eq!(*total.get_or_insert(now), now, "{constants:?} step {t}");
            assert!((0..16).all(|j| state.key(j).reserve >= 0.0 && state.key(j).rrp >= 0.0));
        }
    }
}

/// Property 1: without full recovery, the share of the vesicles that is not recovered is lost.
#[test]
fn vesicles_that_endocytosis_does_not_recover_are_lost() {
    let op = Presynaptic { constants: Constants::default().with(|c| c.vesicles.recycled = 0.4), ..op(1) };
    let drives: Vec<f64> = (0..500).map(|i| 3.0 * noise(4, i)).collect();
    let mut total = 24.0;
    for step in driven(&op, &drives) {
        total -= 0.6 * step.released;
        assert!((step.vesicles() - total).abs() < 1e-10);
    }
}

/// Properties 2 and 3: at most the pool is released, and all quantities stay within their bounds.
#[test]
fn states_stay_within_bounds() {
    let op = op(1);
    let constants = op.constants;
    let drives: Vec<f64> = (0..10_000).map(|i| 30.0 * noise(1, i)).collect();
    let extreme = [1e4, -1e4, 1e4, 1e4, -1e4, 0.0];
    let mut rrp = constants.first.rrp;
    for step in driven(&op, &[&drives, &extreme[..]].concat()) {
        assert!(step.released <= constants.vesicles.p_max * rrp && step.released >= 0.0);
        rrp = step.rrp;
        let within = |x: f64, most: f64| (0.0..=most).contains(&x);
        assert!(
            within(step.calcium, 1e5) && within(step.rrp, constants.vesicles.rrp_max) && within(step.reserve, 24.1)
        );
        assert!(within(step.under_endocytosis, 24.0) && within(step.primed, 1.0) && within(step.clamp, 1.0));
        assert!(within(step.amplitude, 2.0) && within(step.energy, 1.0) && within(step.p, 0.999), "{step:?}");
        assert!(step.bias.is_finite());
    }
}

/// Property 7: release probability rises with calcium and primed SNAREs, and falls with the clamp.
#[test]
fn release_probability_is_monotone() {
    let c = Constants::default();
    let grid = |n: i32, most: f64| (0..=n).map(move |i| most * f64::from(i) / f64::from(n));
    let p = |calcium: f64, clamp: f64, primed: f64| probability::<f32>(&c, calcium, clamp, primed).0;
    for (calcium, clamp) in grid(60, 3.0).flat_map(|x| grid(10, 1.0).map(move |y| (x, y))) {
        for primed in grid(10, 1.0) {
            let here = p(calcium, clamp, primed);
            assert!((0.0..=c.vesicles.p_max).contains(&here));
            assert!(p(calcium + 0.05, clamp, primed) >= here && p(calcium, clamp, primed + 0.1) >= here);
            assert!(p(calcium, clamp + 0.1, primed) <= here);
        }
    }
}

/// Property 8: under constant drive, release falls to the rate at which priming supplies vesicles.
#[test]
fn constant_drive_depresses_release_to_the_rate_of_priming() {
    let op = op(1);
    let constants = op.constants;
    let steps = driven(&op, &[2.0; 5000]);
    let until = steps.windows(2).position(|s| s[1].released >= s[0].released).unwrap_or(steps.len());
    assert!(until >= 5, "release falls for {until} steps");
    let last = steps[steps.len() - 1];
    let priming =
        constants.vesicles.k_prime * last.reserve.min(1.0) * last.energy / (last.energy + constants.energy.half);
    assert!((last.released - priming).abs() < 1e-9, "{} {priming}", last.released);
}

/// Property 8: an empty pool is refilled at the rate of priming.
#[test]
fn recovery_is_linear() {
    let op = Presynaptic { constants: Constants::default().with(|c| c.energy.half = 0.0), ..op(1) };
    // Residual calcium causes release for about 25 steps.
    let drives = [vec![4.0; 8], vec![-1e4; 40]].concat();
    let steps = driven(&op, &drives);
    for pair in steps[38..].windows(2) {
        let gain = pair[1].rrp - pair[0].rrp + pair[1].released;
        assert!((gain - op.constants.vesicles.k_prime).abs() < 1e-12 && pair[1].released < 0.05, "{pair:?}");
    }
}

/// Property 9: residual calcium facilitates weak synapses, and depletion depresses strong ones.
#[test]
fn paired_pulses_facilitate_or_depress() {
    let of = |ca_retain: f64| -> Vec<f64> {
        let op = Presynaptic { constants: Constants::default().with(|c| c.calcium.kappa = ca_retain), ..op(1) };
        let ratio = |drive: f64| {
            let steps = driven(&op, &[drive; 2]);
            steps[1].released / steps[0].released
        };
        (-6..=6).map(|i| ratio(0.5 * f64::from(i))).collect()
    };
    let (ratios, without) = (of(Constants::default().calcium.kappa), of(0.0));
    assert!(ratios.iter().zip(&without).take(6).all(|(with, without)| *with > 1.05 * without), "calcium facilitates");
    assert!(ratios[0] > 1.0 && ratios[4] > 1.0 && ratios[10] < 1.0 && ratios[12] < 1.0);
    assert_eq!(ratios.windows(2).filter(|r| (r[0] > 1.0) != (r[1] > 1.0)).count(), 1, "one crossing");
}

/// Property 10: released vesicles are in reserve `endo_delay` steps later, and can be primed in that step.
#[test]
fn released_vesicles_return_after_the_delay() {
    for endo_delay in [1, 3, 7] {
        let constants = Constants::default().with(|c| {
            c.vesicles.endo_delay = endo_delay;
            c.first.reserve = 0.0;
            c.energy.half = 0.0;
        });
        let op = Presynaptic { constants, ..op(1) };
        let drives: Vec<f64> = (0..40).map(|i| 2.0 * noise(9, i)).collect();
        let steps = driven(&op, &drives);
        let (mut rrp, mut reserve) = (constants.first.rrp, 0.0);
        for (s, step) in steps.iter().enumerate() {
            let primed = step.rrp - (rrp - step.released);
            let returned = step.reserve + primed - reserve;
            let want = if s < endo_delay { 0.0 } else { steps[s - endo_delay].released };
            assert!((returned - want).abs() < 1e-12, "step {s}: {returned} {want}");
            assert_eq!(primed > 1e-12, s >= endo_delay, "step {s}");
            (rrp, reserve) = (step.rrp, step.reserve);
        }
    }
}

/// Release and energy stay lower if energy limits priming.
#[test]
fn energy_has_an_effect() {
    let with = driven(&op(1), &[3.0; 200]);
    let constants = Constants::default().with(|c| c.energy.half = 0.0);
    let without = driven(&Presynaptic { constants, ..op(1) }, &[3.0; 200]);
    assert!(with[199].released < 0.9 * without[199].released);
    assert!(with[199].energy < constants.first.energy);
}

/// A train of spikes of weight 1 with given intervals agrees with the closed form of the intervals.
#[test]
fn tsodyks_markram_is_the_analytic_solution() {
    let c = Constants::default().with(|c| {
        c.resources.u = 0.3;
        c.resources.tau_rec = 12.0;
        c.resources.tau_facil = 30.0;
        c.resources.scale = 1.0;
    });
    let mut by_steps = Resources { x: 1.0, u: c.resources.u };
    let mut exact = by_steps;
    for interval in [1, 4, 2, 9, 40, 1, 1, 3] {
        for _ in 0..interval {
            by_steps = relax(&c.resources, decay(&c.resources), by_steps);
        }
        let interval = f64::from(interval);
        exact.x = 1.0 - (1.0 - exact.x) * (-interval / c.resources.tau_rec).exp();
        exact.u = c.resources.u + (exact.u - c.resources.u) * (-interval / c.resources.tau_facil).exp();
        let want = exact.u * exact.x;
        (exact.x, exact.u) = (exact.x - want, exact.u + c.resources.u * (1.0 - exact.u));
        let (effect, after) = spike(&c.resources, by_steps, 1.0);
        by_steps = after;
        assert!(
            (effect - want).abs() < 1e-14 && (after.x - exact.x).abs() < 1e-14 && (after.u - exact.u).abs() < 1e-14
        );
    }
    // For regular spikes of weight 1 without facilitation, x before a spike tends to (1 - E)/(1 - E (1 - U)), E =
    // e^(-1/tau).
    let constants = c.with(|c| c.resources.tau_facil = 0.0);
    let op = Presynaptic { mode: Mode::TsodyksMarkram, constants, ..op(1) };
    let last = driven(&op, &[1e3; 500])[499];
    let e = (-1.0 / c.resources.tau_rec).exp();
    let before = (1.0 - e) / (1.0 - e * (1.0 - c.resources.u));
    assert!((last.effect - c.resources.u * before).abs() < 1e-9, "{} {}", last.effect, c.resources.u * before);
    assert!(driven(&op, &[0.7; 300]).iter().all(|s| (0.0..=1.0).contains(&s.tm_x) && (0.0..=1.0).contains(&s.tm_u)));
}
