//! AdamW and the loss scaler against the NumPy reference.

use super::golden_files::{self, expect};
use neuropil::nn::optimizer::{AdamW, Clip, LossScaler, Rule, Update, cpu};
use neuropil_test_support::golden::Golden;

/// Ten updates with clipping at norm 1, decay 0.1 and learning rate 3e-3; returns the largest error relative to the
/// largest value, of parameters, m, v and the norm.
fn adamw<R: neuropil::nn::real::Real>(golden: &Golden) -> [f64; 4] {
    let n = golden.shape("g")[1];
    let read = |name: &str, row: usize| -> Vec<R> {
        golden.get(name)[row * n..(row + 1) * n].iter().map(|x| R::of(*x)).collect()
    };
    let (mut p, mut m, mut v) = (read("p", 0), vec![R::zero(); n], vec![R::zero(); n]);
    let rule = Rule { decay: 0.1, ..Rule::default() };
    let mut worst = [0.0_f64; 4];
    for step in 0..golden.shape("g")[0] {
        let g = read("g", step);
        let norm = cpu::sum_of_squares(&g).sqrt();
        let update = Update { t: step as u64 + 1, learning_rate: 3e-3, grad_scale: Clip(1.0).factor(norm) };
        cpu::adamw(&AdamW::default(), &update, &rule, cpu::Buffers { p: &mut p, m: &mut m, v: &mut v }, &g);
        let error = |got: &[R], name: &str, row: usize| {
            let want = &golden.get(name)[row * n..(row + 1) * n];
            let largest = want.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            got.iter().zip(want).fold(0.0_f64, |most, (g, w)| most.max((g.f64() - w).abs())) / largest
        };
        let want = golden.get("norm")[step];
        let errors = [error(&p, "p", step + 1), error(&m, "m", step), error(&v, "v", step), (norm - want).abs() / want];
        worst = std::array::from_fn(|i| worst[i].max(errors[i]));
    }
    worst
}

/// One file.
pub fn check_adamw(golden: &Golden) {
    let errors = adamw::<f64>(golden).into_iter().zip(adamw::<f32>(golden));
    for ((wide, single), name) in errors.zip(["p", "m", "v", "norm"]) {
        expect(golden, &format!("{name} in f64"), wide, 1e-12);
        expect(golden, &format!("{name} in f32"), single, 1e-6);
    }
}

#[test]
fn golden_transformer_adamw() {
    golden_files::read("adamw");
}

/// One file: the scale after every update, and whether it was applied.
pub fn check_loss_scaler(golden: &Golden) {
    let mut scaler = LossScaler { interval: 4, ..LossScaler::default() };
    let (found, applied) = (golden.whole("found_inf"), golden.whole("applied"));
    for (i, want) in golden.get("scale_after").iter().enumerate() {
        let is_applied = scaler.update(found[i] != 0);
        expect(golden, &format!("applied, update {i}"), f64::from(is_applied != (applied[i] != 0)), 0.0);
        expect(golden, &format!("scale_after, update {i}"), (scaler.scale - want).abs(), 0.0);
    }
}

#[test]
fn golden_transformer_loss_scaler() {
    golden_files::read("loss_scaler");
}
