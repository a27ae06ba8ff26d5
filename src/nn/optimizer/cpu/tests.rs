use super::*;
use crate::nn::optimizer::{GroupError, LossScaler, Method};

fn map() -> ParameterMap {
    let mut map = ParameterMap::default();
    for (name, shape) in [("wte", vec![7, 4]), ("h.0.qkv", vec![12, 4]), ("h.0.fc", vec![16, 4]), ("ln", vec![4])] {
        map.add(name, &shape).expect("a new name");
    }
    map
}

/// Values in (-1, 1).
fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1 << 23) as f64 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

fn optimizer(map: &ParameterMap) -> Optimizer {
    let rule = |view: &crate::nn::parameters::View| match view.name.as_str() {
        "wte" => Rule { is_frozen: true, ..Rule::default() },
        name if name.starts_with("h.") => Rule { method: Method::Muon, ..Rule::adamw(view, 0.1) },
        _ => Rule::adamw(view, 0.1),
    };
    let groups = ParameterGroups::new(map, rule).expect("matrices");
    let matrices = groups.matrices(map, |view| if view.name == "h.0.qkv" { vec![4; 3] } else { vec![] });
    Optimizer { adamw: AdamW::default(), muon: Muon::default(), clip: Clip(1.0), groups, matrices }
}

fn update(t: u64) -> Update {
    Update { t, learning_rate: 0.01, grad_scale: 1.0 }
}

#[test]
fn groups_share_rules_and_cover_the_buffer() {
    let map = map();
    let op = optimizer(&map);
    assert_eq!(op.groups.groups().len(), 3);
    assert_eq!(op.groups.table(&map), [0, 1, 1, 2]);
    let shapes: Vec<_> = op.matrices.iter().map(|(m, _)| (m.start, m.rows, m.columns)).collect();
    assert_eq!(shapes, [(64, 4, 4), (80, 4, 4), (96, 4, 4), (128, 16, 4)]);
    let all = ParameterGroups::new(&map, |_| Rule { method: Method::Muon, ..Rule::default() });
    assert_eq!(all, Err(GroupError::NoMatrix("ln".into())));
}

/// The singular values after the iteration are within 0.68 to 1.13 (Jordan et al., 2024), for both shapes of a matrix.
#[test]
fn newton_schulz_orthogonalises() {
    for (rows, columns) in [(8, 24), (24, 8), (12, 12)] {
        let matrix = Matrix { start: 0, rows, columns };
        let given = numbers(matrix.len(), 3);
        let mut x = given.clone();
        orthogonalise(&matrix, &mut x, 5).expect("shapes fit");
        let mut transposed: Vec<f64> = (0..x.len()).map(|i| given[i % rows * columns + i / rows]).collect();
        orthogonalise(&Matrix { start: 0, rows: columns, columns: rows }, &mut transposed, 5).expect("shapes fit");
        let same = (0..x.len()).all(|i| (transposed[i] - x[i % rows * columns + i / rows]).abs() < 1e-12);
        assert!(same, "a transposed matrix gives the transposed result");
        // The trace of the Gram matrix is the sum of the squared singular values.
        let mean = sum_of_squares(&x) / matrix.side() as f64;
        assert!((0.68 * 0.68..1.13 * 1.13).contains(&mean), "{rows} × {columns}: {mean}");
    }
}

#[test]
fn frozen_parameters_stay_and_the_others_move_by_their_optimiser() {
    let map = map();
    let op = optimizer(&map);
    let (start, mut g) = (numbers(map.len(), 1), numbers(map.len(), 2));
    g[0] = 1e30; // frozen: does not count in the norm
    let (mut p, mut m, mut v) = (start.clone(), vec![0.0; map.len()], vec![0.0; map.len()]);
    let outcome = op.update(&map, &update(1), Buffers { p: &mut p, m: &mut m, v: &mut v }, &g).expect("shapes fit");
    assert!(outcome.is_applied && outcome.norm < 20.0, "{outcome:?}");
    assert_eq!(p[..64], start[..64]);
    // The first AdamW update is ± the learning rate; vectors have no decay.
    assert!((192..196).all(|i| ((start[i] - p[i]).abs() - 0.01).abs() < 1e-6), "{:?}", &p[192..196]);
    assert!(m[64..112].iter().all(|m| *m != 0.0) && v[64..192].iter().all(|v| *v == 0.0), "Muon has one moment");
    assert_ne!(p[64..112], start[64..112]);
    let before = (p.clone(), m.clone(), v.clone());
    g[200 - 8] = f64::NAN;
    let outcome = op.update(&map, &update(2), Buffers { p: &mut p, m: &mut m, v: &mut v }, &g).expect("shapes fit");
    assert!(!outcome.is_applied);
    assert_eq!((p, m, v), before, "a gradient that is not finite changes nothing");
}

/// `p - update` to first order in the learning rate reduces a quadratic loss.
#[test]
fn both_optimisers_reduce_a_loss() {
    let map = map();
    let op = optimizer(&map);
    let mut p = numbers(map.len(), 5);
    let (mut m, mut v) = (vec![0.0; map.len()], vec![0.0; map.len()]);
    let loss = |p: &[f64]| (sum_of_squares(&p[64..112]), sum_of_squares(&p[192..196]));
    let before = loss(&p);
    for t in 1..=100 {
        let g = p.clone();
        op.update(&map, &update(t), Buffers { p: &mut p, m: &mut m, v: &mut v }, &g).expect("shapes fit");
    }
    let after = loss(&p);
    assert!(after.0 < 0.3 * before.0 && after.1 < 0.3 * before.1, "{before:?} → {after:?}");
}

#[test]
fn ranges_move_with_their_state() {
    let (mut p, mut m, mut v) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]);
    let mut all = Buffers { p: &mut p, m: &mut m, v: &mut v };
    all.copy_range(0..2, 2);
    all.reset_range(0..1);
    all.mask_range(3..4);
    assert_eq!((p, m, v), ([1.0, 2.0, 1.0, 0.0], [0.0, 6.0, 5.0, 0.0], [0.0, 10.0, 9.0, 0.0]));
}

#[test]
fn the_scale_stays_within_its_limits() {
    let mut scaler = LossScaler { scale: 1.5, ..LossScaler::default() };
    assert!(!scaler.update(true) && scaler.scale == 1.0);
    let mut scaler = LossScaler { scale: 12e6, good: 1999, ..LossScaler::default() };
    assert!(scaler.update(false) && scaler.scale == LossScaler::LIMITS.1 && scaler.good == 0);
    let mut fixed = LossScaler::fixed(3e7);
    assert!(!fixed.update(true) && fixed.scale == 3e7);
}
