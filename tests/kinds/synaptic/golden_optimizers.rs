//! The optimisers of the reference through `nn::optimizer`, and the initialiser by cellular automata.

use super::golden_files::{TOLERANCE, compare};
use neuropil::{
    kinds::synaptic::model::automaton,
    nn::{
        optimizer::{AdamW, Matrix, Muon, Rule, Update, cpu},
        real::Real,
    },
};
use neuropil_test_support::golden::Golden;

/// Largest difference that rounding to bfloat16 in each product of the orthogonalisation makes: of a matrix near 1 …
const BF16_MATRIX: f64 = 2e-2;
/// … and of weights after five updates; the README measured 1.7e-3.
const BF16_WEIGHTS: f64 = 2e-3;

fn wide<R: Real>(values: &[R]) -> Vec<f64> {
    values.iter().map(|x| x.f64()).collect()
}

fn read<R: Real>(values: &[f64]) -> Vec<R> {
    values.iter().map(|x| R::of(*x)).collect()
}

fn update(step: usize, learning_rate: f64) -> Update {
    Update { t: step as u64 + 1, learning_rate, grad_scale: 1.0 }
}

/// Weights after each update of AdamW.
fn adamw<R: Real>(file: &Golden) -> Vec<f64> {
    let op = AdamW { beta1: 0.8, beta2: 0.95, eps: 1e-10 };
    let rule = Rule { decay: 0.1, ..Rule::default() };
    let mut p: Vec<R> = read(file.get("w0"));
    let (mut m, mut v, mut all) = (vec![R::zero(); p.len()], vec![R::zero(); p.len()], vec![]);
    for (step, g) in file.get("grads").chunks(p.len()).enumerate() {
        let to = cpu::Buffers { p: &mut p, m: &mut m, v: &mut v };
        cpu::adamw(&op, &update(step, 0.01), &rule, to, &read(g));
        all.extend(wide(&p));
    }
    all
}

/// Weights after each update of Muon. The momentum of the reference is `1 - mu` times ours, and is normalised.
fn muon<R: Real>(file: &Golden, matrix: &Matrix) -> Vec<f64> {
    let mut p: Vec<R> = read(file.get("w0"));
    let (mut momentum, mut all) = (vec![R::zero(); p.len()], vec![]);
    for (step, g) in file.get("grads").chunks(p.len()).enumerate() {
        let g: Vec<R> = read(g);
        cpu::muon(&Muon::default(), &update(step, 0.02), &Rule::default(), matrix, &mut p, &mut momentum, &g)
            .expect("the lengths fit");
        all.extend(wide(&p));
    }
    all
}

fn orthogonal<R: Real>(file: &Golden, matrix: &Matrix) -> Vec<f64> {
    let mut x: Vec<R> = read(file.get("ns_in"));
    cpu::orthogonalise(matrix, &mut x, Muon::default().iterations).expect("the lengths fit");
    wide(&x)
}

/// `28_`: five updates of AdamW and of Muon.
pub fn check_optimizers(file: &Golden) {
    let [rows, columns] = file.shape("w0")[..] else { panic!("a matrix") };
    let matrix = Matrix { start: 0, rows, columns };
    compare(file, "adamw_w", &adamw::<f64>(file), TOLERANCE);
    compare(file, "adamw_w", &adamw::<f32>(file), TOLERANCE);
    compare(file, "ns_out_f64", &orthogonal::<f64>(file, &matrix), TOLERANCE);
    compare(file, "ns_out_f64", &orthogonal::<f32>(file, &matrix), TOLERANCE);
    compare(file, "ns_out_bf16", &orthogonal::<f32>(file, &matrix), BF16_MATRIX);
    compare(file, "muon_w_f32", &muon::<f64>(file, &matrix), TOLERANCE);
    compare(file, "muon_w_f32", &muon::<f32>(file, &matrix), TOLERANCE);
    compare(file, "muon_w", &muon::<f32>(file, &matrix), BF16_WEIGHTS);
}

/// `29_`: cells of two rules from the first row of the file, and the weights that they stand for.
pub fn check_automaton(file: &Golden) {
    for rule in [30, 116] {
        let (bits, weights) = (format!("bits{rule}"), format!("w{rule}"));
        let [rows, columns] = file.shape(&bits)[..] else { panic!("a grid") };
        let first: Vec<bool> = file.get(&bits)[..columns].iter().map(|bit| *bit != 0.0).collect();
        let cells = automaton::cells(rule, &first, rows);
        let got: Vec<f64> = cells.iter().map(|cell| if *cell { 1.0 } else { 0.0 }).collect();
        compare(file, &bits, &got, 0.0);
        compare(file, &weights, &automaton::weights(&cells, rows, columns), TOLERANCE);
    }
}
