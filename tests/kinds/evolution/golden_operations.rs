//! The delta rule and the operations on 8-bit integers.

use super::golden_files::{near, same};
use neuropil::nn::{
    delta_rule::{
        EPSILON, Method,
        cpu::{Chunk, Functions, StateFormat, Step, coefficients, step},
    },
    quantized::cpu::{abs_mean_norm, add, gelu_of, q8},
};
use neuropil_test_support::golden::Golden;

/// A case of the layer: arrays `[T, B, H]`.
struct Case<'a> {
    golden: &'a Golden,
    name: &'a str,
    method: (&'a str, Method),
    sizes: [usize; 3],
}

/// Values of all steps of all sequences, `[T, B, …]`.
#[derive(Default)]
struct Values {
    query: Vec<f64>,
    key: Vec<f64>,
    steps: Vec<Step<f64>>,
    delta: Vec<f64>,
    output: Vec<f64>,
    first: Vec<f64>,
    last: Vec<f64>,
}

impl Case<'_> {
    fn array(&self, what: &str) -> String {
        format!("{}_{}_{what}", self.name, self.method.0)
    }

    fn input<R: Functions>(&self, what: &str, sequence: usize) -> Vec<R> {
        let [steps, sequences, width] = self.sizes;
        let all = self.golden.get(&format!("{}_{what}", self.name));
        let row = |t: usize| &all[(t * sequences + sequence) * width..][..width];
        (0..steps).flat_map(row).map(|x| R::of(*x)).collect()
    }

    fn gate<R: Functions>(&self, t: usize, sequence: usize) -> R {
        let bias = self.golden.one(&format!("{}_beta_bias", self.name));
        R::of(self.golden.get(&format!("{}_beta_raw", self.name))[t * self.sizes[1] + sequence] + bias)
    }

    /// Takes the steps of every sequence, and compares the chunk form with them.
    fn run<R: Functions>(&self, format: StateFormat, tolerance: f64) -> Values {
        let [steps, sequences, width] = self.sizes;
        let rows = steps * sequences * width;
        let mut all = Values { steps: vec![Step::default(); steps * sequences], ..Values::default() };
        for values in [&mut all.query, &mut all.key, &mut all.delta, &mut all.output] {
            *values = vec![0.0; rows];
        }
        for sequence in 0..sequences {
            let [mut q, mut k, v] = ["q", "k", "v"].map(|what| self.input::<R>(what, sequence));
            let (mut state, mut delta) = (vec![R::zero(); width * width], vec![R::zero(); width]);
            let (mut output, mut alphas) = (vec![R::zero(); steps * width], vec![]);
            for t in 0..steps {
                let row = t * width..(t + 1) * width;
                let of = coefficients(self.method.1, &mut q[row.clone()], &mut k[row.clone()], self.gate(t, sequence));
                let inputs = (&q[row.clone()], &k[row.clone()], &v[row.clone()]);
                step(&mut state, inputs, of.alpha, format, &mut delta, &mut output[row.clone()]);
                alphas.push(of.alpha);
                let at = (t * sequences + sequence) * width;
                let put = |to: &mut Vec<f64>, from: &[R]| {
                    to[at..at + width].iter_mut().zip(from).for_each(|(to, x)| *to = x.f64())
                };
                put(&mut all.query, &q[row.clone()]);
                put(&mut all.key, &k[row.clone()]);
                put(&mut all.delta, &delta);
                put(&mut all.output, &output[row]);
                all.steps[t * sequences + sequence] =
                    Step { beta: of.beta.f64(), lambda: of.lambda.f64(), alpha: of.alpha.f64() };
                if t == 0 {
                    all.first.extend(state.iter().map(|s| s.f64()));
                }
            }
            all.last.extend(state.iter().map(|s| s.f64()));
            if format == StateFormat::Full {
                let mut chunked = vec![R::zero(); steps * width];
                let mut chunk = Chunk::default();
                chunk.reset(width, steps);
                chunk.extend((&q, &k, &v), &alphas, &mut chunked);
                let size = output.iter().fold(0.0_f64, |size, x| size.max(x.f64().abs()));
                let off = output.iter().zip(&chunked).fold(0.0_f64, |off, (a, b)| off.max((a.f64() - b.f64()).abs()));
                assert!(off <= tolerance * size, "{} {:?}: chunk form {off:.1e}", self.name, self.method.1);
            }
        }
        all
    }

    fn check<R: Functions>(&self, tolerance: f64) {
        let (golden, run) = (self.golden, self.run::<R>(StateFormat::Full, tolerance));
        near(golden, &self.array("out"), run.output, tolerance);
        near(golden, &self.array("S_first"), run.first, tolerance);
        near(golden, &self.array("S_last"), run.last, tolerance);
        near(golden, &self.array("q_norm"), run.query, tolerance);
        near(golden, &self.array("k_usage"), run.key, tolerance);
        near(golden, &self.array("beta"), run.steps.iter().map(|s| s.beta), tolerance);
        near(golden, &self.array("lam"), run.steps.iter().map(|s| s.lambda), tolerance);
        near(golden, &self.array("alpha"), run.steps.iter().map(|s| s.alpha), tolerance);
        let values = golden.get(&format!("{}_v", self.name));
        near(golden, &self.array("kS"), values.iter().zip(&run.delta).map(|(v, d)| v - d), 2.0 * tolerance);
        near(golden, &self.array("diff"), run.delta, tolerance);
    }
}

pub fn check_delta_rule(golden: &Golden) {
    for name in golden.names().iter().filter_map(|name| name.strip_suffix("_beta_bias")) {
        for method in [("efla", Method::Efla), ("deltanet", Method::DeltaNet)] {
            let sizes: [usize; 3] = golden.shape(&format!("{name}_q")).try_into().expect("[T, B, H]");
            let case = Case { golden, name, method, sizes };
            case.check::<f64>(1e-12);
            case.check::<f32>(1e-5);
            if method.1 == Method::Efla {
                let rounded = case.run::<f32>(StateFormat::F16, 0.0).output;
                near(golden, &format!("{name}_efla_out_fp16state"), rounded, 2e-3);
            }
        }
    }
    let grid = golden.get("coef_lam").iter().zip(golden.get("coef_beta"));
    let alpha = |(lambda, beta): (&f64, &f64)| {
        let lambda = lambda.max(EPSILON);
        (beta * lambda).one_minus_exp() / (lambda + EPSILON)
    };
    near(golden, "coef_alpha", grid.map(alpha), 1e-12);
    check_ode(golden);
}

/// One step of the recurrence equals the solution of the differential equation over an interval β.
fn check_ode(golden: &Golden) {
    let (key, value, beta) = (golden.get("ode_k"), golden.get("ode_v"), golden.one("ode_beta"));
    let mut state = golden.get("ode_S0").to_vec();
    let lambda: f64 = key.iter().map(|k| k * k).sum();
    let alpha = (beta * lambda).one_minus_exp() / lambda;
    let (mut delta, mut output) = (vec![0.0; value.len()], vec![0.0; value.len()]);
    step(&mut state, (key, key, value), alpha, StateFormat::Full, &mut delta, &mut output);
    near(golden, "ode_S1", state, 1e-12);
}

pub fn check_quantized(golden: &Golden) {
    let columns = golden.shape("x")[1];
    let x: Vec<i8> = golden.whole("x").iter().map(|x| *x as i8).collect();
    for (name, scale) in [("norm_s1", 1.0), ("norm_s2", 2.0), ("norm_s16", 16.0), ("norm_s1_f32", 1.0)] {
        let mut y = vec![0; x.len()];
        for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
            abs_mean_norm(x, scale, y);
        }
        same(golden, name, y.into_iter().map(i64::from));
    }
    let addend: Vec<f32> = golden.get("add_y").iter().map(|y| *y as f32).collect();
    for (name, scale) in [("add_s1", 1.0), ("add_s16", 16.0)] {
        let mut sum = x.clone();
        add(&mut sum, &addend, scale);
        same(golden, name, sum.into_iter().map(i64::from));
    }
    let z: Vec<f32> = golden.get("gelu_in").iter().map(|z| *z as f32).collect();
    near(golden, "gelu_out", z.iter().map(|z| gelu_of(*z).into()), 1e-6);
    for (name, scale) in [("gelu_q_s08", 0.8), ("gelu_q_s4", 4.0)] {
        same(golden, name, z.iter().map(|z| q8(scale * gelu_of(*z)).into()));
    }
    same(golden, "rne_clip8", golden.get("rne_in").iter().map(|x| q8(*x as f32).into()));
}
