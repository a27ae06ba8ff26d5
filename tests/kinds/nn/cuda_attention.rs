//! Attention on a GPU against the CPU's definition in f64, in every variant that can: reference data and random shapes.
//! Tolerances are those of the specification for inputs that are rounded to the storage type.

use super::{
    attention::{Case, relative_rms},
    cuda_every_operation::{Case as EveryCase, Number},
    golden_files::{self, expect},
};
use crate::device::{gpu, gpu_alone};
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass, Place},
    nn::{
        attention::{
            Attention, AttentionDropout, BiasLayout, Gradients, Inputs, Lengths, cpu,
            cuda::{CudaAttention, CudaAttentionError, Variant},
        },
        dropout::{Dropout, cuda::DropoutStep},
        storage::{Format, Storage},
    },
};
use neuropil_test_support::golden;
use std::sync::Arc;

const VARIANTS: [Variant; 4] = [Variant::Hopper, Variant::Flash, Variant::Decode, Variant::Naive];

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<X: Copy>(&mut self, from: &[X]) -> X {
        from[self.below(from.len())]
    }

    /// About normally distributed, representable in `T`.
    fn numbers<T: Storage>(&mut self, len: usize) -> Vec<T> {
        let mut one = || (0..4).map(|_| (self.next() & 0xffff) as f32 / 65536.0 - 0.5).sum::<f32>() * 1.7;
        (0..len).map(|_| T::round(one())).collect()
    }
}

/// One call's data.
struct Data<T> {
    op: Attention,
    q: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
    /// All three in `q`.
    is_packed: bool,
    d_o: Vec<T>,
    bias: Option<Vec<f32>>,
    q_lengths: Option<Vec<i32>>,
    k_lengths: Option<Vec<i32>>,
}

/// o, lse, dq, dk, dv, dbias, map of the last sequence and head.
type Results = [Vec<f64>; 7];

impl<T: Storage> Data<T> {
    fn wide(x: &[T]) -> Vec<f64> {
        x.iter().map(|x| x.widen().into()).collect()
    }

    fn on_cpu(&self) -> Results {
        let op = &self.op;
        let [q, k, v, d_o] = [&self.q, &self.k, &self.v, &self.d_o].map(|x| Self::wide(x));
        let bias: Option<Vec<f64>> = self.bias.as_ref().map(|x| x.iter().map(|x| (*x).into()).collect());
        let inputs = if self.is_packed { Inputs::packed(&q[..]) } else { Inputs::new(&q[..], &k[..], &v[..]) };
        let inputs =
            Inputs { bias: bias.as_deref(), ..inputs }.lengths(self.q_lengths.as_deref(), self.k_lengths.as_deref());
        let (mut o, mut lse) = (vec![0.0; d_o.len()], vec![0.0; op.lse_len()]);
        cpu::forward(op, &inputs, &mut o, &mut lse).expect("it fits");
        let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]);
        let mut dbias = vec![0.0; bias.as_ref().map_or(0, Vec::len)];
        let gradients = if self.is_packed {
            Gradients::Packed(&mut dq[..])
        } else {
            Gradients::Separate { q: &mut dq[..], k: &mut dk[..], v: &mut dv[..] }
        };
        let with_bias = self.bias.as_ref().map(|_| &mut dbias[..]);
        cpu::backward(op, &inputs, (&o, &lse), &d_o, gradients, with_bias).expect("it fits");
        let mut map = vec![0.0; op.q_len * op.k_len];
        cpu::map(op, &inputs, (op.batch - 1, op.heads - 1), &lse, &mut map).expect("it fits");
        [o, lse, dq, dk, dv, dbias, map]
    }

    /// `None` where the variant cannot.
    fn on_gpu(&self, gpu: &Arc<Gpu>, cuda: &CudaAttention, variant: Variant) -> Option<Results> {
        fn buffer<X: neuropil::gpu::layout::CudaType>(gpu: &Arc<Gpu>, x: &[X]) -> Buf<X> {
            Buf::from_slice(gpu, "attention", x).expect("memory")
        }
        let (op, nan) = (&self.op, T::round(f32::NAN));
        let [q, k, v, d_o] = [&self.q, &self.k, &self.v, &self.d_o].map(|x| buffer(gpu, x));
        let bias = self.bias.as_ref().map(|x| buffer(gpu, x));
        let [q_lengths, k_lengths] = [&self.q_lengths, &self.k_lengths].map(|x| x.as_ref().map(|x| buffer(gpu, x)));
        let inputs = if self.is_packed { Inputs::packed(&*q) } else { Inputs::new(&*q, &*k, &*v) };
        let inputs = Inputs { bias: bias.as_deref(), ..inputs }.lengths(q_lengths.as_deref(), k_lengths.as_deref());
        let step = op.dropout.map(|dropout| buffer(gpu, &[DropoutStep::of_attention(&dropout)]));
        let inputs = inputs.dropout(step.as_deref());
        // What is not written stays NaN, except between packed sequences and heads, where 0 is expected to stay.
        let fill = if op.lengths == Lengths::Packed { T::round(0.0) } else { nan };
        let (mut o, mut lse) = (buffer(gpu, &vec![fill; self.d_o.len()]), buffer(gpu, &vec![f32::NAN; op.lse_len()]));
        let mut arena = Arena::new(gpu, "attention", cuda.scratch_bytes(op).max(256)).expect("memory");
        let frame = arena.frame();
        let mut pass = Pass::default();
        match cuda.forward(&mut pass, op, &inputs, &mut o, &mut lse, Some(variant), &frame) {
            Ok(used) => assert_eq!(used, variant),
            Err(CudaAttentionError::Unable { .. }) => return None,
            Err(why) => panic!("{op:?}: {why}"),
        }
        drop(frame);
        let frame = arena.frame();
        let [mut dq, mut dk, mut dv] = [&self.q, &self.k, &self.v].map(|x| buffer(gpu, &vec![fill; x.len()]));
        let mut dbias = buffer(gpu, &vec![0.0_f32; self.bias.as_ref().map_or(1, Vec::len)]);
        let gradients = if self.is_packed {
            Gradients::Packed(&mut *dq)
        } else {
            Gradients::Separate { q: &mut *dq, k: &mut *dk, v: &mut *dv }
        };
        let with_bias = self.bias.as_ref().map(|_| &mut *dbias);
        let wanted = if variant == Variant::Decode { None } else { Some(variant) };
        cuda.backward(&mut pass, op, &inputs, (&o, &lse), &d_o, gradients, with_bias, wanted, &frame)
            .unwrap_or_else(|why| panic!("{op:?}: {why}"));
        let mut map = buffer(gpu, &vec![f32::NAN; op.q_len * op.k_len]);
        cuda.map(&mut pass, op, &inputs, (op.batch - 1, op.heads - 1), &lse, &mut map).expect("a map");
        let tensor = |x: &Buf<T>| Self::wide(&x.read().expect("a copy"));
        let single = |x: &Buf<f32>| -> Vec<f64> { x.read().expect("a copy").into_iter().map(f64::from).collect() };
        let dbias = if self.bias.is_some() { single(&dbias) } else { vec![] };
        let empty = |x: Vec<f64>| if self.is_packed { vec![0.0; x.len()] } else { x };
        Some([tensor(&o), single(&lse), tensor(&dq), empty(tensor(&dk)), empty(tensor(&dv)), dbias, single(&map)])
    }
}

/// Relative errors that are allowed: o, lse, dq, dk, dv, dbias, map.
fn limits<T: Storage>() -> [f64; 7] {
    match T::STORAGE {
        Format::F32 => [1e-6, 1e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6],
        Format::F16 => [6e-4, 1e-6, 1e-3, 1e-3, 1e-3, 1e-3, 1e-5],
        Format::Bf16 => [5e-3, 1e-6, 6e-3, 6e-3, 6e-3, 6e-3, 1e-5],
    }
}

const NAMES: [&str; 7] = ["o", "lse", "dq", "dk", "dv", "dbias", "map"];

/// Compares all variants; adds the worst errors to `worst`, one row per variant.
fn compare<T: Storage>(gpu: &Arc<Gpu>, cuda: &CudaAttention, data: &Data<T>, worst: &mut [[f64; 8]; 4]) {
    let (want, op) = (data.on_cpu(), &data.op);
    for (variant, worst) in VARIANTS.into_iter().zip(worst) {
        let Some(got) = data.on_gpu(gpu, cuda, variant) else { continue };
        worst[7] += 1.0;
        for (which, (got, want)) in got.iter().zip(&want).enumerate() {
            let e = match NAMES[which] {
                "lse" => lse_error(got, want),
                "map" => relative_rms(got, want),
                // A sum of head_dim products, of which one bias has a single one.
                "dbias" => error(got, want, 0.5),
                // A key sums over more queries where there are fewer keys.
                "dk" => error(got, want, 0.05 * (op.q_len * op.group() / op.k_len).max(1) as f64),
                // What is left of a scaled probability and the rounded result, where a query sees one key.
                "dq" if op.dropout.is_some() => error(got, want, 0.5),
                _ => error(got, want, 0.05),
            };
            worst[which] = worst[which].max(e);
            let limit = limits::<T>()[which];
            assert!(e < limit, "{} of {variant:?}, {:?}: {e:.1e}\n{:?}", NAMES[which], T::STORAGE, data.op);
        }
    }
}

/// Relative to elements of `least` at least: where a query sees one key, its gradients cancel.
fn error(got: &[f64], want: &[f64], least: f64) -> f64 {
    assert_eq!(got.len(), want.len());
    let square = |x: &mut dyn Iterator<Item = f64>| -> f64 { x.map(|x| x * x).sum() };
    let least = least * least * want.len().max(1) as f64;
    (square(&mut got.iter().zip(want).map(|(g, w)| g - w)) / square(&mut want.iter().copied()).max(least)).sqrt()
}

/// Relative to 1 at least; infinities must be the same.
fn lse_error(got: &[f64], want: &[f64]) -> f64 {
    let pairs = got.iter().zip(want).filter(|(g, w)| g != w || g.is_nan());
    pairs.map(|(g, w)| (g - w).abs() / w.abs().max(1.0)).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
}

fn golden_files_agree<T: Storage>(gpu: &Arc<Gpu>, cuda: &CudaAttention) {
    for golden in golden::all("transformer", "attention_") {
        let case = Case::of(&golden);
        let tensor = |name: &str| -> Vec<T> { golden.get(name).iter().map(|x| T::round(*x as f32)).collect() };
        let data = Data {
            op: case.op,
            q: tensor("q"),
            k: tensor("k"),
            v: tensor("v"),
            is_packed: false,
            d_o: tensor("dout"),
            bias: None,
            q_lengths: Some(case.q_lengths.clone()),
            k_lengths: Some(case.k_lengths.clone()),
        };
        let mut worst = [[0.0; 8]; 4];
        compare(gpu, cuda, &data, &mut worst);
        if T::STORAGE == Format::F32 {
            let got = data.on_gpu(gpu, cuda, Variant::Naive).expect("it computes all");
            for (name, got) in ["o", "lse", "dq", "dk", "dv"].iter().zip(&got) {
                let most = if name.starts_with('d') { 2e-6 } else { 1e-6 };
                expect(&golden, &format!("{name} with CUDA"), relative_rms(got, golden.get(name)), most);
            }
        }
    }
}

#[test]
fn golden_transformer_attention_cuda() {
    let Some(gpu) = gpu() else { return };
    let cuda = CudaAttention::new(&gpu);
    let _ = golden_files::read; // the CPU's test reads every array
    golden_files_agree::<f32>(&gpu, &cuda);
    golden_files_agree::<neuropil::num::elements::F16>(&gpu, &cuda);
    golden_files_agree::<neuropil::num::elements::Bf16>(&gpu, &cuda);
}

/// Gradients of queries that are added in memory, with every mask and layout. Without Hopper's tensor cores the same as ever.
#[test]
fn cuda_gradients_by_atomics_agree() {
    let Some(gpu) = gpu() else { return };
    let cuda = CudaAttention::new(&gpu).with_fast_nondeterministic(true);
    golden_files_agree::<neuropil::num::elements::Bf16>(&gpu, &cuda);
    let mut worst = [[0.0; 8]; 4];
    for seed in 0..40 {
        let random = &mut Random(seed);
        compare(&gpu, &cuda, &random_case::<neuropil::num::elements::F16>(random), &mut worst);
        compare(&gpu, &cuda, &random_case::<neuropil::num::elements::Bf16>(random), &mut worst);
    }
}

/// A random call of up to some hundred tokens.
fn random_case<T: Storage>(random: &mut Random) -> Data<T> {
    let (kv_heads, group) = (1 + random.below(3), 1 + random.below(3));
    let (heads, batch) = (kv_heads * group, 1 + random.below(3));
    let dim = random.of(&[4, 8, 16, 24, 32, 48, 64, 72, 80, 96, 128, 160]);
    let lens = [1, 2, 7, 16, 33, 64, 65, 100, 130, 200];
    let (q_len, k_len) = (random.of(&lens), random.of(&lens));
    let (is_packed, how) = (random.below(2) == 0, random.below(3));
    let k_len = if is_packed { q_len } else { k_len };
    let mut op = if is_packed {
        Attention::packed_qkv(batch, q_len, heads, kv_heads, dim)
    } else {
        Attention::heads_first(batch, (q_len, k_len), heads, kv_heads, dim)
    };
    op.causal = random.below(3) > 0;
    op.window = (random.below(4) == 0).then(|| 1 + random.below(40));
    let mut lengths = |len: usize| -> Vec<i32> { (0..batch).map(|_| random.below(len + 1) as i32).collect() };
    let (q, k) = (lengths(q_len), lengths(k_len));
    let (q_lengths, k_lengths) = match how {
        0 => (None, None),
        1 => (Some(q.clone()), Some(if is_packed { q } else { k })),
        _ if is_packed => {
            let starts = std::iter::once(0).chain(q.iter().scan(0, |sum, len| {
                *sum += len;
                Some(*sum)
            }));
            (Some(starts.collect()), None)
        }
        _ => (None, Some(k)),
    };
    op.lengths = match how {
        0 => Lengths::Full,
        2 if is_packed => Lengths::Packed,
        _ => Lengths::Padded,
    };
    if random.below(5) == 0 {
        op.bias = Some(BiasLayout::dense(heads, q_len, k_len));
    }
    let bias = op.bias.map(|_| random.numbers::<f32>(batch * heads * q_len * k_len));
    let of = |heads: usize, len: usize| batch * heads * len * dim;
    let q = random.numbers(if is_packed { of(heads + 2 * kv_heads, q_len) } else { of(heads, q_len) });
    let kv = if is_packed { 1 } else { of(kv_heads, k_len) };
    let (k, v) = (random.numbers(kv), random.numbers(kv));
    // In a heads-first layout the batch strides of k and v are theirs.
    let d_o = random.numbers(of(heads, q_len));
    if random.below(3) == 0 {
        let (p, seed) = (random.of(&[0.1, 0.3, 0.6]), random.next());
        let drop = Dropout { p, seed, layer_site: random.below(1 << 16) as u32, offset: 0 };
        let (step, first_token) = (random.next() << 20, random.of(&[0, 77, 1 << 33]));
        op.dropout = Some(AttentionDropout { drop, step, first_token, keys: k_len + random.below(9) });
    }
    Data { op, q, k, v, is_packed, d_o, bias, q_lengths, k_lengths }
}

/// One case of `cuda_every_operation_agrees`.
pub fn compare_random<T: Number>(case: &mut EveryCase) {
    let data = random_case::<T>(&mut Random(case.seed()));
    case.text += &format!(": {:?}", data.op);
    let (cuda, mut worst) = (case.loaded(CudaAttention::new), [[0.0; 8]; 4]);
    compare(&case.gpu, &cuda, &data, &mut worst);
    for (variant, worst) in VARIANTS.into_iter().zip(&worst).filter(|(_, worst)| worst[7] > 0.0) {
        for ((name, error), limit) in NAMES.iter().zip(worst).zip(limits::<T>()) {
            case.note(&format!("{variant:?} {name}"), *error, limit);
        }
    }
}

/// With small weights and large lengths a mask that is wrong in one place is seen: every variant drops what the CPU drops.
#[test]
fn dropped_probabilities_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let cuda = CudaAttention::new(&gpu);
    let mut random = Random(9);
    for (dim, len, window) in
        [(64, 400, None), (64, 130, Some(37)), (128, 200, None), (32, 65, None), (48, 77, Some(20))]
    {
        for lengths in [Lengths::Full, Lengths::Padded, Lengths::Packed] {
            let mut op = Attention::packed_qkv(2, len, 4, 2, dim).causal().lengths(lengths);
            op.window = window;
            let drop = Dropout { p: 0.2, seed: 0x1234_5678_9abc_def0, layer_site: 0x8003, offset: 0 };
            op.dropout = Some(AttentionDropout { drop, step: 5, first_token: 1 << 20, keys: len });
            // Padded keys of the second sequence are seen by no query.
            let n = len as i32;
            let (q_lengths, k_lengths) = match lengths {
                Lengths::Full => (None, None),
                Lengths::Padded => (Some(vec![n, 0]), Some(vec![n, n])),
                Lengths::Packed => (Some(vec![0, n - 9, 2 * n - 20]), None),
            };
            // Values are 1 for one key in 32 and 0 else, so that a result is a sum of few probabilities.
            let mut q: Vec<f32> = random.numbers(2 * op.q.batch);
            for (t, row) in q.chunks_mut(op.q.token).enumerate() {
                row[..op.v.offset].iter_mut().for_each(|x| *x *= 0.1);
                (0..2 * dim).for_each(|d| row[op.v.offset + d] = if t % 32 == d % 32 { 1.0 } else { 0.0 });
            }
            let d_o = random.numbers(2 * op.o.batch);
            let mut data = Data { op, q, k: vec![], v: vec![], is_packed: true, d_o, bias: None, q_lengths, k_lengths };
            let mut worst = [[0.0; 8]; 4];
            compare(&gpu, &cuda, &data, &mut worst);
            let want = data.on_cpu();
            data.op.dropout = None;
            assert!(error(&data.on_cpu()[0], &want[0], 0.0) > 0.3, "something is dropped");
            data.op.dropout = op.dropout;
            let round = |x: &[f32]| x.iter().map(|x| neuropil::num::elements::Bf16::round(*x)).collect::<Vec<_>>();
            let (q, d_o) = (round(&data.q), round(&data.d_o));
            let Data { q_lengths, k_lengths, .. } = data;
            let data = Data { op, q, k: vec![], v: vec![], is_packed: true, d_o, bias: None, q_lengths, k_lengths };
            let mut worst = [[0.0; 8]; 4];
            compare(&gpu, &cuda, &data, &mut worst);
            assert_eq!(worst[0][7] > 0.0, gpu.capability == 90, "wgmma drops, too");
        }
    }
}

/// Causal attention with tokens beyond a length that are NaN: the bits are those of clean ones, and of a second run.
#[test]
fn results_are_the_same_bits_whatever_is_beyond_a_length() {
    use neuropil::num::elements::Bf16;
    let Some(gpu) = gpu() else { return };
    let cuda = CudaAttention::new(&gpu);
    let op = Attention::packed_qkv(2, 200, 4, 2, 64).causal().lengths(Lengths::Padded);
    let mut random = Random(3);
    let mut data = Data::<Bf16> {
        op,
        q: random.numbers(2 * op.q.batch),
        k: vec![],
        v: vec![],
        is_packed: true,
        d_o: random.numbers(2 * op.o.batch),
        bias: None,
        q_lengths: Some(vec![200, 131]),
        k_lengths: Some(vec![200, 131]),
    };
    for variant in [Variant::Hopper, Variant::Flash, Variant::Naive] {
        let clean = data.on_gpu(&gpu, &cuda, variant);
        let (q, d_o) = (data.q.clone(), data.d_o.clone());
        data.q[op.q.batch + 131 * op.q.token..].fill(Bf16::round(f32::NAN));
        data.d_o[op.o.batch + 131 * op.o.token..].fill(Bf16::round(f32::NAN));
        let dirty = data.on_gpu(&gpu, &cuda, variant);
        (data.q, data.d_o) = (q, d_o);
        assert_eq!(clean.is_some(), dirty.is_some());
        if let (Some(clean), Some(dirty)) = (clean, dirty) {
            assert!(clean[..5] == dirty[..5], "{variant:?}");
            assert!(clean.iter().flatten().all(|x| !x.is_nan()), "{variant:?}");
        }
    }
}

/// At 16,384 tokens a forward and a backward pass need four bytes per sequence, head and token beside operands and `lse`.
#[test]
fn cuda_long_sequences_need_memory_in_proportion_to_their_length() {
    use neuropil::num::elements::Bf16;
    let Some(gpu) = gpu_alone() else { return };
    let cuda = CudaAttention::new(&gpu);
    let op = Attention::packed_qkv(1, 16_384, 2, 2, 128).causal();
    let row = Random(4).numbers::<Bf16>(op.q.token);
    let qkv = Buf::from_slice(&gpu, "qkv", &row.repeat(16_384)).expect("memory");
    let d_o = Buf::from_slice(&gpu, "do", &row[..256].repeat(16_384)).expect("memory");
    let [mut o, mut dqkv] = [d_o.len(), qkv.len()].map(|n| Buf::<Bf16>::zeros(&gpu, "o", n).expect("memory"));
    let mut lse = Buf::<f32>::zeros(&gpu, "lse", op.lse_len()).expect("memory");
    let now = || (gpu.held(Place::Device), gpu.memory().expect("the driver").free);
    let mut worst = (0, 0);
    for _ in 0..2 {
        // Kernels are loaded in the first round.
        let before = now();
        let mut arena = Arena::new(&gpu, "attention", cuda.scratch_bytes(&op)).expect("memory");
        let (inputs, pass) = (Inputs::packed(&*qkv), &mut Pass::default());
        cuda.forward(pass, &op, &inputs, &mut o, &mut lse, None, &arena.frame()).expect("it fits");
        let gradients = Gradients::Packed(&mut *dqkv);
        cuda.backward(pass, &op, &inputs, (&o, &lse), &d_o, gradients, None, None, &arena.frame()).expect("it fits");
        gpu.synchronize().expect("it runs");
        let after = now();
        worst = (after.0 - before.0, before.1.saturating_sub(after.1));
    }
    let most = 4 * op.lse_len() as u64 + 65_536;
    assert!(worst.0 <= most && worst.1 <= most + (2 << 20), "{worst:?}");
    assert!(dqkv.read().expect("it reads").iter().all(|x| x.widen().is_finite()));
}
