//! The optimisers of the reference through `nn::optimizer`, and the initialiser by cellular automata.

use super::golden_files::{SEQUENCE, TOLERANCE, compare};
use crate::{device::gpu, nn::cuda_optimizer::OnDevice};
use neuropil::num::halves::bf16;
use neuropil::{
    gpu::Buf,
    kinds::synaptic::model::automaton,
    nn::{
        optimizer::{
            AdamW, Clip, LossScaler, Matrix, Method, Muon, NEWTON_SCHULZ, ParameterGroups, Rule, Update, cpu,
            muon_factor,
        },
        parameters::ParameterMap,
        real::Real,
    },
};
use neuropil_test_support::golden::{self, Golden};

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

/// `A B` of row-major matrices, each element rounded to bfloat16 once; `k` columns of A.
fn multiply_bf16(a: &[f32], b: &[f32], k: usize) -> Vec<f32> {
    let n = b.len() / k;
    let sum = |at: usize| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum::<f32>();
    (0..a.len() / k * n).map(|at| bf16(sum(at))).collect()
}

fn transpose(x: &[f32], columns: usize) -> Vec<f32> {
    let rows = x.len() / columns;
    (0..x.len()).map(|at| x[at % rows * columns + at / rows]).collect()
}

/// The orthogonalisation as the reference rounds it: every operation to bfloat16, and `c A A` as `(c A) A`.
fn orthogonal_bf16(matrix: &Matrix, x: &[f32]) -> Vec<f32> {
    let is_tall = matrix.rows > matrix.columns;
    let columns = matrix.rows.max(matrix.columns);
    let mut x: Vec<f32> = x.iter().map(|x| bf16(*x)).collect();
    if is_tall {
        x = transpose(&x, matrix.columns);
    }
    let norm = bf16(bf16(x.iter().map(|x| x * x).sum::<f32>().sqrt()) + 1e-7);
    x.iter_mut().for_each(|x| *x = bf16(*x / norm));
    let add = |x: &[f32], factor: f32, y: &[f32]| -> Vec<f32> {
        x.iter().zip(y).map(|(x, y)| bf16(bf16(factor * x) + y)).collect()
    };
    let [a, b, c] = NEWTON_SCHULZ.map(|factor| factor as f32);
    for _ in 0..Muon::default().iterations {
        let gram = multiply_bf16(&x, &transpose(&x, columns), columns);
        let side = matrix.side();
        let scaled: Vec<f32> = gram.iter().map(|g| bf16(c * g)).collect();
        let polynomial = add(&gram, b, &multiply_bf16(&scaled, &gram, side));
        x = add(&x, a, &multiply_bf16(&polynomial, &x, side));
    }
    if is_tall { transpose(&x, columns) } else { x }
}

/// Weights after each update of the reference's Muon.
fn muon_bf16(file: &Golden, matrix: &Matrix) -> Vec<f64> {
    let mut p: Vec<f32> = read(file.get("w0"));
    let (mut momentum, mut all) = (vec![0.0_f32; p.len()], vec![]);
    let (mu, rate) = (0.95_f32, 0.02 * muon_factor(matrix.rows, matrix.columns) as f32);
    for g in file.get("grads").chunks(p.len()) {
        let g: Vec<f32> = read(g);
        momentum.iter_mut().zip(&g).for_each(|(b, g)| *b += (1.0 - mu) * (g - *b));
        let ahead: Vec<f32> = momentum.iter().zip(&g).map(|(b, g)| g + mu * (b - g)).collect();
        p.iter_mut().zip(orthogonal_bf16(matrix, &ahead)).for_each(|(p, x)| *p -= rate * x);
        all.extend(wide(&p));
    }
    all
}

/// `28_`: five updates of AdamW and of Muon.
pub fn check_optimizers(file: &Golden) {
    let [rows, columns] = file.shape("w0")[..] else { panic!("a matrix") };
    let matrix = Matrix { start: 0, rows, columns };
    compare(file, "adamw_w", &adamw::<f64>(file), TOLERANCE);
    compare(file, "adamw_w", &adamw::<f32>(file), TOLERANCE);
    compare(file, "ns_out_f64", &orthogonal::<f64>(file, &matrix), TOLERANCE);
    compare(file, "ns_out_f64", &orthogonal::<f32>(file, &matrix), TOLERANCE);
    compare(file, "ns_out_bf16", &wide(&orthogonal_bf16(&matrix, &read(file.get("ns_in")))), TOLERANCE);
    compare(file, "muon_w_f32", &muon::<f64>(file, &matrix), TOLERANCE);
    compare(file, "muon_w_f32", &muon::<f32>(file, &matrix), TOLERANCE);
    compare(file, "muon_w", &muon_bf16(file, &matrix), TOLERANCE);
}

/// The same on a GPU: AdamW, and Muon in f32.
#[test]
fn cuda_golden_synaptic_optimizers() {
    let Some(gpu) = gpu() else { return };
    for file in golden::some("synaptic", "28_") {
        let mut map = ParameterMap::default();
        let view = map.add("w", &file.shape("w0")).expect("a new name");
        let range = map.view(view).range();
        let padded = |values: &[f64]| {
            let mut all = vec![0.0_f32; map.len()];
            all[range.clone()].copy_from_slice(&read::<f32>(values));
            all
        };
        let adamw = Rule { decay: 0.1, ..Rule::default() };
        // The learning rate is 0.01, and 0.02 of Muon.
        let muon = Rule { method: Method::Muon, lr_factor: 2.0, ..Rule::default() };
        for (array, rule) in [("adamw_w", adamw), ("muon_w_f32", muon)] {
            let groups = ParameterGroups::new(&map, |_| rule).expect("a matrix");
            let matrices = groups.matrices(&map, |_| vec![]);
            let op = cpu::Optimizer {
                adamw: AdamW { beta1: 0.8, beta2: 0.95, eps: 1e-10 },
                muon: Muon::default(),
                clip: Clip(0.0),
                groups,
                matrices,
            };
            let start = padded(file.get("w0"));
            let mut device = OnDevice::new(&gpu, &map, &op, &start, &LossScaler::fixed(1.0));
            let mut got = vec![];
            for g in file.get("grads").chunks(range.len()) {
                device.update(&Buf::from_slice(&gpu, "gradient", &padded(g)).expect("the device"));
                got.extend(wide(&device.params.read().expect("the device")[range.clone()]));
            }
            compare(&file, array, &got, SEQUENCE);
        }
    }
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
