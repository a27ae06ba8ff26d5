//! Genomes, mixture of experts, scores and moves on a GPU against the reference data.
//!
//! | files | on the device | on the host |
//! | --- | --- | --- |
//! | 18 | genomes decoded by the functions of the router; rates as `update_router` applies them | |
//! | 19 | router, groups, experts and gradients, metabolism, embeddings, with the earlier router | see [`affine`] |
//! | 21 | counts, sums of gates, specialization, ring of records | averages of records; resilience, whose rule is not ours |
//! | 22, 23 | edits of ranges | which edits: those of the earlier model |
//! | 24 | fatigue, energy, embeddings | choices, from what is read |
//!
//! Gradients of genomes (`grad_Xi` of 19) have no kernel: genomes are not trained, on neither device.

use super::{
    earlier::{linear::SynapticLinear, mixture::ReferenceMixture},
    golden_experts::mixture,
    golden_files::{SEQUENCE, compare, compare_whole},
};
use crate::device::gpu;
use neuropil::kinds::language::cuda::layers::ModelOps;
use neuropil::{
    gpu::{Arena, Buf, Frame, Gpu, Pass, Slice},
    kinds::synaptic::experts::{
        FEATURES, GENES, Mixture, Router,
        cuda::{
            BatchWeights, CudaExperts, DeviceGradients, DeviceRouting, DeviceRows, DeviceState, DeviceStateMut,
            DeviceStatistics, DeviceWeights, MatrixGradients, STATISTICS, StepTokens,
        },
    },
    nn::{gemm::cuda::Options, optimizer::cuda::OptimizerState},
};
use neuropil_test_support::golden::{self, Golden};
use neuropil_test_support::{Need, skip};
use std::sync::Arc;

pub fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

pub fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// A buffer with these values.
pub fn buf(gpu: &Arc<Gpu>, values: &[f32]) -> Buf<f32> {
    Buf::from_slice(gpu, "values", values).expect("the device")
}

pub fn zeros(gpu: &Arc<Gpu>, len: usize) -> Buf<f32> {
    Buf::zeros(gpu, "zeros", len).expect("the device")
}

/// Checks every file that begins like that, and that every array of it was read but for those that begin with `unread`.
pub fn each(start: &str, unread: &[&str], check: impl Fn(&Golden)) {
    let files = golden::some("synaptic", start);
    if files.is_empty() {
        skip(Need::Golden, format!("no {start}*.npz in {}", golden::folder("synaptic").display()));
    }
    for file in files {
        check(&file);
        let mut left = file.unread();
        left.retain(|name| !unread.iter().any(|of| name.starts_with(of)));
        assert!(left.is_empty(), "{} has arrays that are not read: {left:?}", file.name);
    }
}

/// State of a router on the device.
pub struct StateOnDevice {
    pub genome: Buf<f32>,
    pub embeddings: Buf<f32>,
    pub fatigue: Buf<f32>,
    pub energy: Buf<f32>,
    pub balance: Buf<f32>,
    pub alive: Buf<u32>,
}

impl StateOnDevice {
    pub fn new(gpu: &Arc<Gpu>, genome: &[f32], embeddings: &[f32], fatigue: &[f32], energy: &[f32]) -> Self {
        Self {
            genome: buf(gpu, genome),
            embeddings: buf(gpu, embeddings),
            fatigue: buf(gpu, fatigue),
            energy: buf(gpu, energy),
            balance: zeros(gpu, energy.len()),
            alive: Buf::from_slice(gpu, "alive", &vec![1; energy.len()]).expect("the device"),
        }
    }

    pub fn refs(&self) -> DeviceState<'_> {
        let Self { genome, embeddings, fatigue, energy, balance, alive } = self;
        DeviceState { genome, embeddings, fatigue, energy, balance, alive }
    }

    /// Metabolism and embeddings after a step of that many tokens.
    pub fn update(&mut self, gpu: &Arc<Gpu>, experts: &CudaExperts, op: &Router, tokens: u64, statistics: &Buf<f64>) {
        let step = Buf::from_slice(gpu, "tokens", &[StepTokens { tokens }]).expect("the device");
        let state = OptimizerState { is_applied: 1, ..OptimizerState::default() };
        let state = Buf::from_slice(gpu, "state", &[state]).expect("the device");
        let frozen = Buf::zeros(gpu, "frozen", 1).expect("the device");
        let Self { genome, embeddings, fatigue, energy, balance, alive } = self;
        let next = &mut zeros(gpu, embeddings.len());
        let to = DeviceStateMut { genome, alive, embeddings, next, fatigue, energy, balance };
        experts.update(&mut Pass::default(), op, (&step, &state), &frozen, statistics, to).expect("the device");
    }
}

/// What a router decided on the device.
pub struct RoutingOnDevice {
    features: Buf<f32>,
    inverse_norms: Buf<f32>,
    pub indices: Buf<u32>,
    pub gates: Buf<f32>,
    pub cosines: Buf<f32>,
    counts: Buf<u32>,
    offsets: Buf<u32>,
    order: Buf<u32>,
    ranks: Buf<u32>,
}

impl RoutingOnDevice {
    pub fn new(gpu: &Arc<Gpu>, op: &Router, tokens: usize) -> Self {
        let words = |len: usize| Buf::<u32>::zeros(gpu, "routing", len).expect("the device");
        let rows = op.rows(tokens);
        Self {
            features: zeros(gpu, tokens * FEATURES),
            inverse_norms: zeros(gpu, tokens),
            indices: words(rows),
            gates: zeros(gpu, rows),
            cosines: zeros(gpu, rows),
            counts: words(op.experts),
            offsets: words(op.experts + 1),
            order: words(rows),
            ranks: words(rows),
        }
    }

    pub fn refs(&mut self) -> DeviceRouting<'_> {
        let Self { features, inverse_norms, indices, gates, cosines, counts, offsets, order, ranks } = self;
        DeviceRouting { features, inverse_norms, indices, gates, cosines, counts, offsets, order, ranks }
    }
}

/// `18_`: the genomes decoded, and the rates that a step of the router moves fatigue and energy by: with all tokens served by
/// every expert and no energy spent fatigue moves from 0 and energy from 0 to 1.
#[test]
fn cuda_golden_synaptic_phenotype() {
    let Some(gpu) = gpu() else { return };
    each("18_", &[], |file| {
        let (genome, experts) = (f32s(file.get("xi")), CudaExperts::load(&gpu).expect("the device"));
        let mut phenotypes = Buf::zeros(&gpu, "phenotypes", genome.len()).expect("the device");
        experts.decode_genomes(&mut Pass::default(), &buf(&gpu, &genome), &mut phenotypes).expect("the device");
        compare(file, "phenotype", &phenotypes.read().expect("the device"), 1e-6);
        let (n, tokens) = (genome.len() / GENES, 64);
        let op = Router { energy_cost: 0.0, pull: 0.0, push: 0.0, ..Router::new(n, 2, 8) };
        let mut sums = vec![0.0; n * STATISTICS];
        sums.iter_mut().for_each(|sum| *sum = tokens as f64);
        let sums = Buf::from_slice(&gpu, "statistics", &sums).expect("the device");
        let mut state = StateOnDevice::new(&gpu, &genome, &vec![1.0; n * FEATURES], &vec![0.0; n], &vec![0.0; n]);
        state.update(&gpu, &experts, &op, tokens, &sums);
        let got = [&state.fatigue, &state.energy].map(|rates| f64s(&rates.read().expect("the device")));
        for (of_gene, got) in got.iter().enumerate() {
            let want = file.get("phenotype").iter().skip(of_gene).step_by(GENES);
            let off = got.iter().zip(want).map(|(got, want)| (got / want - 1.0).abs()).fold(0.0, f64::max);
            assert!(got.len() == n && off <= 1e-5, "{off}");
        }
    });
}

/// A layer of the earlier model as one matrix and one bias, for one energy: `x (w_slow + g w_fast) M + bias M` with
/// `M = diag(1 + fast + slow) + U V`. Exact, in f64: the experts of the device have one matrix. [`unfold`] is its gradient.
pub struct Affine {
    inner: Vec<f64>,
    mixing: Vec<f64>,
    gate: f64,
}

fn multiply(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let k = b.len() / n;
    let sum = |at: usize| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum();
    (0..a.len() / k * n).map(sum).collect()
}

fn transpose(x: &[f64], columns: usize) -> Vec<f64> {
    let rows = x.len() / columns;
    (0..x.len()).map(|at| x[at % rows * columns + at / rows]).collect()
}

/// The layer folded, and its matrix `[O, I]` and bias `[O]`.
pub fn affine(layer: &SynapticLinear<f32>, energy: f32) -> (Affine, Vec<f32>, Vec<f32>) {
    let (unit, n) = (&layer.unit, layer.outputs);
    let gate = f64::from(energy).clamp(0.0, 1.0);
    let mut mixing = multiply(&f64s(&unit.u), &f64s(&unit.v), n);
    for o in 0..n {
        mixing[o * n + o] += 1.0 + f64::from(unit.fast[o]) + f64::from(unit.slow[o]);
    }
    let weights = layer.w_slow.iter().zip(&layer.w_fast);
    let inner: Vec<f64> = weights.map(|(slow, fast)| f64::from(*slow) + gate * f64::from(*fast)).collect();
    let weight = transpose(&multiply(&inner, &mixing, n), n);
    let bias = multiply(&f64s(&layer.bias), &mixing, n);
    (Affine { inner, mixing, gate }, f32s(&weight), f32s(&bias))
}

/// Gradients of the arrays of a layer, by their names, from those of its folded matrix `[O, I]` and bias.
pub fn unfold(layer: &SynapticLinear<f32>, of: &Affine, weight: &[f32], bias: &[f32]) -> Vec<(&'static str, Vec<f64>)> {
    let (n, unit) = (layer.outputs, &layer.unit);
    let (dweight, dbias) = (transpose(&f64s(weight), layer.inputs), f64s(bias));
    let back = transpose(&of.mixing, n);
    let inner = multiply(&dweight, &back, n);
    let mut mixing = multiply(&transpose(&of.inner, n), &dweight, n);
    for (at, d) in mixing.iter_mut().enumerate() {
        *d += f64::from(layer.bias[at / n]) * dbias[at % n];
    }
    let gain: Vec<f64> = (0..n).map(|o| mixing[o * n + o]).collect();
    vec![
        ("w_fast", inner.iter().map(|d| of.gate * d).collect()),
        ("w_slow", inner),
        ("bias", multiply(&dbias, &back, n)),
        ("post__fast", gain.clone()),
        ("post__slow", gain),
        ("post__U", multiply(&mixing, &transpose(&f64s(&unit.v), n), unit.rank)),
        ("post__V", multiply(&transpose(&f64s(&unit.u), unit.rank), &mixing, n)),
    ]
}

/// The experts of a mixture, folded, and their four buffers.
pub struct ExpertsOnDevice {
    pub folded: Vec<[Affine; 2]>,
    pub arrays: [Buf<f32>; 4],
}

impl ExpertsOnDevice {
    pub fn new(gpu: &Arc<Gpu>, layers: &[[SynapticLinear<f32>; 2]], energy: &[f32]) -> Self {
        let (mut folded, mut arrays) = (vec![], [vec![], vec![], vec![], vec![]]);
        for (layers, energy) in layers.iter().zip(energy) {
            let [(first, w1, b1), (second, w2, b2)] = layers.each_ref().map(|layer| affine(layer, *energy));
            folded.push([first, second]);
            arrays.iter_mut().zip([w1, b1, w2, b2]).for_each(|(all, of)| all.extend(of));
        }
        Self { folded, arrays: arrays.map(|values| buf(gpu, &values)) }
    }

    /// Gradients of the first expert, whose arrays begin like that in the file, from those of all experts.
    pub fn compare_first(
        &self,
        file: &Golden,
        start: &str,
        layers: &[[SynapticLinear<f32>; 2]],
        gradients: &[Buf<f32>; 4],
    ) {
        let all = gradients.each_ref().map(|values| values.read().expect("the device"));
        for fc in 0..2 {
            let layer = &layers[0][fc];
            let (n, of) = (layer.inputs * layer.outputs, &self.folded[0][fc]);
            for (name, got) in unfold(layer, of, &all[2 * fc][..n], &all[2 * fc + 1][..layer.outputs]) {
                compare(file, &format!("{start}experts__0__fc{}__{name}", fc + 1), &got, SEQUENCE);
            }
        }
    }
}

/// A mixture of the earlier model by the kernels of the kind, with the earlier router.
pub struct MixtureOnDevice<'a> {
    gpu: &'a Arc<Gpu>,
    reference: &'a ReferenceMixture<f32>,
    op: Mixture,
    kernels: CudaExperts,
    ops: ModelOps,
    batch: Buf<BatchWeights>,
    router: Buf<f32>,
    probe: Buf<f32>,
    pub state: StateOnDevice,
    experts: ExpertsOnDevice,
    pub routing: RoutingOnDevice,
    /// Inputs, linear, hidden, outputs.
    rows: [Buf<f32>; 4],
    dgates: Buf<f32>,
}

impl<'a> MixtureOnDevice<'a> {
    pub fn new(gpu: &'a Arc<Gpu>, reference: &'a ReferenceMixture<f32>, tokens: usize) -> Self {
        let Router { experts, top_k, width, .. } = reference.op;
        assert!(CudaExperts::refusal(&reference.op).is_none());
        let (s, hidden) = (&reference.state, reference.experts[0][0].outputs);
        let rows = reference.op.rows(tokens);
        Self {
            gpu,
            reference,
            op: Mixture { experts, top_k, width, hidden },
            kernels: CudaExperts::load(gpu).expect("the device").with_earlier_router(),
            ops: ModelOps::new(gpu, Options::default(), neuropil::gpu::BlockSize::default()).expect("the device"),
            batch: Buf::from_slice(gpu, "batch", &[BatchWeights { share: 1.0 }]).expect("the device"),
            router: buf(gpu, &reference.router),
            probe: buf(gpu, &reference.probe),
            state: StateOnDevice::new(gpu, &reference.genome, &s.embeddings, &s.fatigue, &s.energy),
            experts: ExpertsOnDevice::new(gpu, &reference.experts, &s.energy),
            routing: RoutingOnDevice::new(gpu, &reference.op, tokens),
            rows: [width, hidden, hidden, width].map(|columns| zeros(gpu, rows * columns)),
            dgates: zeros(gpu, rows),
        }
    }

    /// `out = base + mixture(x)` with the energy of now.
    pub fn forward(&mut self, x: &Slice<f32>, base: &Slice<f32>, out: &mut Slice<f32>, frame: &Frame<'_>) {
        let energy = self.state.energy.read().expect("the device");
        self.experts = ExpertsOnDevice::new(self.gpu, &self.reference.experts, &energy);
        let (pass, op) = (&mut Pass::default(), &self.reference.op);
        let [fc1, fc1_bias, fc2, fc2_bias] = &self.experts.arrays;
        let weights = DeviceWeights { router: &self.router, probe: &self.probe, fc1, fc1_bias, fc2, fc2_bias };
        let mut to = self.routing.refs();
        let state = self.state.refs();
        self.kernels.route(pass, &self.ops.gemm, op, x, weights, state, &mut to, frame).expect("the device");
        let [inputs, linear, hidden, outputs] = &mut self.rows;
        let mut rows = DeviceRows { inputs, linear, hidden, outputs };
        let (gemm, of) = ((&self.ops.gemm, self.ops.options), (op, &self.op));
        self.kernels.forward(pass, gemm, of, (x, base), weights, &to, &mut rows, out).expect("the device");
    }

    /// Writes the gradient of x, and compares those of the weights, whose arrays begin like that.
    pub fn backward(
        &mut self,
        file: &Golden,
        start: &str,
        (x, dout): (&Slice<f32>, &Slice<f32>),
        aux_weight: f32,
        dx: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) {
        let (pass, op) = (&mut Pass::default(), &self.reference.op);
        let mut of_experts = self.experts.arrays.each_ref().map(|values| zeros(self.gpu, values.len()));
        let [mut router, mut probe] = [&self.router, &self.probe].map(|values| zeros(self.gpu, values.len()));
        {
            let [fc1, fc1_bias, fc2, fc2_bias] = &self.experts.arrays;
            let weights = DeviceWeights { router: &self.router, probe: &self.probe, fc1, fc1_bias, fc2, fc2_bias };
            let [fc1, fc1_bias, fc2, fc2_bias] = &mut of_experts;
            let mut to = DeviceGradients { router: &mut router, probe: &mut probe, fc1, fc1_bias, fc2, fc2_bias };
            let [inputs, linear, hidden, outputs] = &mut self.rows;
            let mut rows = DeviceRows { inputs, linear, hidden, outputs };
            let (routing, dgates) = (self.routing.refs(), &mut self.dgates);
            let (of, mut room) = ((op, &self.op), zeros(self.gpu, 0));
            let rows = (&mut rows, &mut *room);
            let done = self.kernels.backward(
                pass,
                &self.ops,
                of,
                weights,
                &routing,
                rows,
                dout,
                dx,
                dgates,
                &mut to,
                MatrixGradients::Written,
                frame,
            );
            done.expect("the device");
            let (gemm, of, batch, state) =
                ((&self.ops.gemm, self.ops.options), (op, aux_weight), &self.batch, self.state.refs());
            let done = self
                .kernels
                .route_backward(pass, gemm, of, batch, x, weights, state, &routing, dgates, dx, &mut to, frame);
            done.expect("the device");
        }
        for (name, got) in [("router__weight", &router), ("router_probe__weight", &probe)] {
            compare(file, &format!("{start}{name}"), &f64s(&got.read().expect("the device")), SEQUENCE);
        }
        self.experts.compare_first(file, start, &self.reference.experts, &of_experts);
    }

    /// Statistics of the last tokens, and the auxiliary loss.
    pub fn statistics(&mut self, frame: &Frame<'_>) -> (Buf<f64>, f64) {
        let op = &self.reference.op;
        let mut sums = Buf::<f64>::zeros(self.gpu, "statistics", op.experts * STATISTICS).expect("the device");
        let mut aux = Buf::<f64>::zeros(self.gpu, "auxiliary loss", 1).expect("the device");
        let to = DeviceStatistics { experts: &mut sums, aux: &mut aux };
        let (routing, state) = (self.routing.refs(), self.state.refs());
        let (pass, batch, dgates) = (&mut Pass::default(), &self.batch, &self.dgates);
        self.kernels.add_statistics(pass, op, batch, state, &routing, dgates, to, frame).expect("the device");
        let aux = aux.read().expect("the device")[0];
        (sums, aux)
    }

    /// Metabolism and embeddings after the last tokens.
    fn update(&mut self, tokens: u64, sums: &Buf<f64>) {
        self.state.update(self.gpu, &self.kernels, &self.reference.op, tokens, sums);
    }
}

/// `19_`: three calls, the first with gradients.
#[test]
fn cuda_golden_synaptic_mixture() {
    let Some(gpu) = gpu() else { return };
    // Logits of experts that are not selected are in no buffer of the device; those of the selected ones are in the gates.
    let unread = ["s0_router", "s1_router", "s2_router", "grad_Xi", "init_experts"];
    each("19_", &unread, |file| check_mixture(&gpu, file));
}

fn check_mixture(gpu: &Arc<Gpu>, file: &Golden) {
    let top_k = file.shape("s0_indices")[2];
    let reference = mixture(file, "init_", top_k);
    let (all, width) = (f32s(file.get("x")), reference.op.width);
    let tokens = all.len() / 3 / width;
    let mut mixture = MixtureOnDevice::new(gpu, &reference, tokens);
    let mut arena = Arena::new(gpu, "temporaries", 1 << 22).expect("the device");
    for (step, x) in all.chunks_exact(all.len() / 3).enumerate() {
        let (x, base, mut out) = (buf(gpu, x), zeros(gpu, tokens * width), zeros(gpu, tokens * width));
        let frame = arena.frame();
        mixture.forward(&x, &base, &mut out, &frame);
        let name = |name: &str| format!("s{step}_{name}");
        let of_step = |array: &str, got: &Buf<f32>| {
            compare(file, &name(array), &f64s(&got.read().expect("the device")), SEQUENCE);
        };
        of_step("gates", &mixture.routing.gates);
        of_step("out", &out);
        let indices = mixture.routing.indices.read().expect("the device");
        compare_whole(file, &name("indices"), &indices.iter().map(|e| i64::from(*e)).collect::<Vec<i64>>());
        compare_logits(file, &name("router_logits"), &mixture.routing, top_k);
        if step == 0 {
            let (dout, mut dx) = (buf(gpu, &f32s(file.get("R"))), zeros(gpu, tokens * width));
            mixture.backward(file, "grad_", (&x, &dout), 1.0, &mut dx, &frame);
            compare(file, "grad_x", &f64s(&dx.read().expect("the device")), SEQUENCE);
        }
        let (sums, aux) = mixture.statistics(&frame);
        compare(file, &name("aux"), &[aux], SEQUENCE);
        mixture.update(tokens as u64, &sums);
        of_step("fatigue", &mixture.state.fatigue);
        of_step("energy", &mixture.state.energy);
        of_step("router_embeddings", &mixture.state.embeddings);
    }
}

/// Logarithms of ratios of gates are differences of logits.
fn compare_logits(file: &Golden, array: &str, routing: &RoutingOnDevice, top_k: usize) {
    let (logits, experts) = (file.get(array), *file.shape(array).last().expect("experts"));
    let (gates, indices) = (routing.gates.read().expect("the device"), routing.indices.read().expect("the device"));
    let tokens = gates.chunks_exact(top_k).zip(indices.chunks_exact(top_k)).zip(logits.chunks_exact(experts));
    let mut worst = 0.0_f64;
    for ((gates, indices), logits) in tokens {
        for slot in 1..top_k {
            let got = f64::from(gates[slot]).ln() - f64::from(gates[0]).ln();
            let want = logits[indices[slot] as usize] - logits[indices[0] as usize];
            worst = worst.max((got - want).abs());
        }
    }
    assert!(worst <= SEQUENCE);
}
