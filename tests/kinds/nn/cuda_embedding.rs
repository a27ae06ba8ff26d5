//! Embedding, rotary positions and cross-entropy on a GPU against their definitions in f64.

use super::cuda_every_operation::{Case, Number, by_format, wide};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Graph, Pass},
    nn::{
        cross_entropy::{
            self, CrossEntropy, IGNORE,
            cuda::{CudaCrossEntropy, LossTotal},
        },
        embedding::{
            self, Embedding,
            cuda::{CudaEmbedding, first_invalid},
        },
        rope::{
            self, Rope, RopeLayout, RopeTable,
            cuda::{CudaRope, CudaRopeTable},
        },
    },
    num::elements::{Bf16, F16},
};

/// Sum of two numbers rounded once: half a unit in the last place. Gradients of the tables are f32 sums.
pub fn compare_embedding<T: Number>(case: &mut Case) {
    let (vocab, features) =
        (case.one_of(&[1, 3, 65, 256, 257, 1000, 70_000]), case.one_of(&[1, 3, 8, 16, 24, 33, 48, 64]));
    let features = if vocab > 1000 { features.min(8) } else { features };
    let (tokens, seq_len) = (case.whole(1, 700), case.whole(1, 300));
    let (offset, has_ids) = (case.whole(0, 5), case.whole(0, 2) == 0);
    let context = seq_len + offset + case.whole(0, 3);
    let op = Embedding::new(tokens, vocab, features, seq_len).offset(offset);
    case.text += &format!(": {op:?}, ids {has_ids}");
    // Few different tokens half of the time, so that some are frequent.
    let most = if case.whole(0, 1) == 0 { vocab } else { vocab.min(5) };
    let list: Vec<u32> = (0..tokens).map(|_| (case.whole(0, most - 1) * (vocab / most)) as u32).collect();
    let ids: Option<Vec<u32>> = has_ids.then(|| (0..tokens).map(|_| case.whole(0, context - 1) as u32).collect());
    let (table, positions) = (case.numbers::<T>(vocab * features), case.numbers::<T>(context * features));
    let dy = case.numbers::<T>(tokens * features);

    let mut want = vec![0.0; tokens * features];
    embedding::forward(&op, &list, &wide(&table), Some(&wide(&positions)), ids.as_deref(), &mut want).expect("it fits");
    let (mut dtable, mut dpositions) = (vec![0.5; vocab * features], vec![-0.5; context * features]);
    let gradients = (&mut dtable[..], Some(&mut dpositions[..]));
    embedding::backward(&op, &list, &wide(&dy), gradients.0, gradients.1, ids.as_deref()).expect("it fits");

    let cuda = case.loaded(CudaEmbedding::new);
    let (tokens_there, ids_there) = (case.copy(&list), ids.map(|ids| case.copy(&ids)));
    let ids_there = ids_there.as_deref();
    let (table, positions) = (case.upload::<T>(&table), case.upload::<T>(&positions));
    let (mut y, dy) = (case.upload::<T>(&vec![f32::NAN; tokens * features]), case.upload::<T>(&dy));
    let mut flag = case.copy(&[0_u32]);
    let pass = &mut Pass::default();
    let (table, positions) = (table.view(), positions.view());
    cuda.forward(pass, &op, &tokens_there, &table, Some(&positions), ids_there, &mut y.view_mut(), &mut flag)
        .expect("it runs");
    case.agrees("y", &y.values().expect("a copy"), &want, by_format::<T>(1e-7, 5e-4, 4e-3));

    let mut arena = Arena::new(&case.gpu, "scratch", CudaEmbedding::scratch_bytes(&op)).expect("memory");
    let mut to = case.upload::<f32>(&vec![0.5; vocab * features]);
    let mut to_positions = case.upload::<f32>(&vec![-0.5; context * features]);
    {
        let (mut to, mut to_positions) = (to.view_mut(), to_positions.view_mut());
        let frame = arena.frame();
        cuda.backward(
            pass,
            &op,
            &tokens_there,
            &dy.view(),
            &mut to,
            Some(&mut to_positions),
            ids_there,
            &mut flag,
            &frame,
        )
        .expect("it runs");
    }
    case.agrees("dtable", &to.values().expect("a copy"), &dtable, 1e-6);
    case.agrees("dpositions", &to_positions.values().expect("a copy"), &dpositions, 1e-6);
    assert_eq!(flag.read().expect("a copy"), [0], "{}", case.text);
}

pub fn compare_rope<T: Number>(case: &mut Case) {
    let (head_dim, heads) = (case.one_of(&[2, 6, 8, 16, 32, 64, 80, 128]), case.whole(1, 7));
    let (tokens, seq_len) = (case.whole(1, 60), case.whole(1, 40));
    let layout = case.one_of(&[RopeLayout::Interleaved, RopeLayout::Half]);
    let stride = heads * head_dim + case.one_of(&[0, 0, 1, head_dim, 2 * head_dim]);
    let offset = case.one_of(&[0, 1, 1000]);
    let (len, is_inverse, has_ids) = (offset + seq_len, case.whole(0, 1) == 0, case.whole(0, 2) == 0);
    let op = Rope::new(tokens, heads, head_dim, seq_len, layout).stride(stride).offset(offset);
    case.text += &format!(": {op:?}, ids {has_ids}, inverse {is_inverse}");
    let ids: Option<Vec<u32>> = has_ids.then(|| (0..tokens).map(|_| case.whole(0, len - 1) as u32).collect());
    let x = case.numbers::<T>(tokens * stride);

    let mut want = wide(&x);
    let table = RopeTable::<f64>::new(len, head_dim, 1e4);
    rope::apply(&op, &table, ids.as_deref(), &mut want, is_inverse).expect("it fits");

    let cuda = case.loaded(CudaRope::new);
    let table = CudaRopeTable::new(&case.gpu, &RopeTable::new(len, head_dim, 1e4)).expect("memory");
    let (mut x, ids, mut flag) = (case.upload::<T>(&x), ids.map(|ids| case.copy(&ids)), case.copy(&[0_u32]));
    let pass = &mut Pass::default();
    cuda.apply(pass, &op, &table, ids.as_deref(), &mut x.view_mut(), is_inverse, &mut flag).expect("it runs");
    case.agrees("x", &x.values().expect("a copy"), &want, by_format::<T>(2e-7, 5e-4, 4e-3));
    assert_eq!(flag.read().expect("a copy"), [0], "{}", case.text);
}

/// Losses are f32 of given logits; gradients are rounded once, to 16 bits relative to each element.
pub fn compare_cross_entropy<T: Number>(case: &mut Case) {
    let vocab = case.one_of(&[1_usize, 2, 7, 65, 256, 257, 1000, 1024, 1500, 5000]);
    let padded = case.one_of(&[vocab, vocab + 1, vocab.next_multiple_of(64), vocab.next_multiple_of(64) + 64]);
    let (rows, factor) = (case.whole(1, 20), case.one_of(&[1.0_f32, 8.0, 30.0]));
    let op = CrossEntropy { rows, vocab, padded };
    case.text += &format!(": {op:?}, logits up to {factor}");
    let mut logits: Vec<f32> = case.numbers::<T>(rows * padded).iter().map(|z| T::round(z * factor).widen()).collect();
    // Padding is anything.
    logits.chunks_mut(padded).for_each(|row| row[vocab..].fill(10_000.0));
    let logits: Vec<f32> = logits.iter().map(|z| T::round(*z).widen()).collect();
    let token = |case: &mut Case| if case.whole(0, 5) == 0 { IGNORE } else { case.whole(0, vocab - 1) as i32 };
    let targets: Vec<i32> = (0..rows).map(|_| token(case)).collect();

    let (mut want, mut losses, mut lse) = (wide(&logits), vec![0.0; rows], vec![0.0; rows]);
    cross_entropy::backward(&op, &mut want, &targets, 0.5, &mut losses, &mut lse).expect("it fits");

    let cuda = case.loaded(CudaCrossEntropy::new);
    let (mut there, targets_there) = (case.upload::<T>(&logits), case.copy(&targets));
    let (scale, mut flag) = (case.copy(&[0.5_f32]), case.copy(&[0_u32]));
    let (mut losses_there, mut lse_there) = (case.copy(&vec![f32::NAN; rows]), case.copy(&vec![f32::NAN; rows]));
    let pass = &mut Pass::default();
    let out = (&mut losses_there, &mut lse_there);
    cuda.forward(pass, &op, &mut there.view_mut(), &targets_there, out.0, out.1, &mut flag).expect("it runs");
    assert_eq!(there.values().expect("a copy"), logits, "the forward pass changes no logit: {}", case.text);
    let first = losses_there.read().expect("a copy");
    case.agrees("losses", &first, &losses, 1e-6);
    case.agrees("lse", &lse_there.read().expect("a copy"), &lse, 1e-6);
    let out = (&mut losses_there, &mut lse_there);
    cuda.backward(pass, &op, &mut there.view_mut(), &targets_there, &scale, out.0, out.1, &mut flag).expect("it runs");
    assert_eq!(losses_there.read().expect("a copy"), first, "{}", case.text);
    let dlogits = there.values().expect("a copy");
    // f16 underflows below 6e-8, which is why there is a loss scale.
    case.agrees("dlogits", &dlogits, &want, by_format::<T>(2e-6, 5e-4, 4e-3));
    assert!(dlogits.chunks(padded).all(|row| row[vocab..].iter().all(|d| *d == 0.0)), "{}", case.text);

    let mut total = case.copy(&[LossTotal { sum: 1.0, count: 2 }]);
    cuda.add_losses(pass, &losses_there, &targets_there, &mut total).expect("it runs");
    let (sum, n) = cross_entropy::total(&losses_there.read().expect("a copy"), &targets);
    let got = total.read().expect("a copy")[0];
    assert_eq!(got.count, n as u64 + 2, "{}", case.text);
    assert!((got.sum - 1.0 - sum).abs() < 1e-12 * (1.0 + sum.abs()), "{got:?} {sum}: {}", case.text);
    let (loss_scale, mut made) = (case.copy(&[1024.0_f32]), case.copy(&[f32::NAN]));
    cuda.set_scale(pass, &targets_there, &loss_scale, &mut made).expect("it runs");
    let want = if n == 0 { 0.0 } else { 1024.0 / n as f32 };
    assert_eq!(made.read().expect("a copy"), [want], "{}", case.text);
}

fn equal_bits<T: Number>(gpu: &std::sync::Arc<neuropil::gpu::Gpu>) {
    let op = Embedding::new(5000, 300, 96, 1000);
    let tokens: Vec<u32> = (0..5000_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 16).map(|t| t * t % 300).collect();
    let dy: Vec<f32> =
        (0..5000_u32 * 96).map(|i| T::round((i.wrapping_mul(747_796_405) >> 9) as f32 * 1e-7 - 0.4).widen()).collect();
    let (mut dtable, mut dpositions) = (vec![0.1_f32; 300 * 96], vec![0.0_f32; 1000 * 96]);
    embedding::backward(&op, &tokens, &dy, &mut dtable, Some(&mut dpositions), None).expect("it fits");
    let cuda = CudaEmbedding::new(gpu);
    let dy: Vec<T> = dy.iter().map(|x| T::round(*x)).collect();
    let (tokens, dy) =
        (Buf::from_slice(gpu, "tokens", &tokens).expect("memory"), Buf::from_slice(gpu, "dy", &dy).expect("memory"));
    let mut arena = Arena::new(gpu, "scratch", CudaEmbedding::scratch_bytes(&op)).expect("memory");
    for _ in 0..3 {
        let mut to = Buf::from_slice(gpu, "dtable", &[0.1_f32; 300 * 96]).expect("memory");
        let mut to_positions = Buf::<f32>::zeros(gpu, "dpositions", 1000 * 96).expect("memory");
        let mut flag = Buf::<u32>::zeros(gpu, "flag", 1).expect("memory");
        let frame = arena.frame();
        cuda.backward(
            &mut Pass::default(),
            &op,
            &tokens,
            &dy,
            &mut to,
            Some(&mut to_positions),
            None,
            &mut flag,
            &frame,
        )
        .expect("it runs");
        assert!(to.read().expect("a copy") == dtable, "{}: bits of dtable", T::NAME);
        assert!(to_positions.read().expect("a copy") == dpositions, "{}: bits of dpositions", T::NAME);
    }
}

/// Sums run in the order of the definition, so that gradients are the bits of the CPU's, and of every run.
#[test]
fn embedding_gradients_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    equal_bits::<f32>(&gpu);
    equal_bits::<F16>(&gpu);
    equal_bits::<Bf16>(&gpu);
}

#[test]
fn what_is_out_of_range_raises_a_flag_and_reads_nothing() {
    let Some(gpu) = gpu() else { return };
    let pass = &mut Pass::default();
    let buffer = |x: &[f32]| Buf::from_slice(&gpu, "test", x).expect("memory");
    let mut flag = Buf::<u32>::zeros(&gpu, "flag", 1).expect("memory");
    let op = Embedding::new(4, 3, 8, 4);
    let tokens = Buf::from_slice(&gpu, "tokens", &[0_u32, 2, u32::MAX, 3]).expect("memory");
    let (table, mut y) = (buffer(&[1.0; 24]), buffer(&[f32::NAN; 32]));
    let cuda = CudaEmbedding::new(&gpu);
    cuda.forward(pass, &op, &tokens, &table, None, None, &mut y, &mut flag).expect("it runs");
    assert_eq!(first_invalid(flag.read().expect("a copy")[0]), Some(2));
    assert_eq!(y.read().expect("a copy"), [vec![1.0; 16], vec![0.0; 16]].concat());
    flag.clear().expect("a write");
    let (dy, mut dtable) = (buffer(&[1.0; 32]), buffer(&[0.0; 24]));
    let mut arena = Arena::new(&gpu, "scratch", CudaEmbedding::scratch_bytes(&op)).expect("memory");
    let frame = arena.frame();
    cuda.backward(pass, &op, &tokens, &dy, &mut dtable, None, None, &mut flag, &frame).expect("it runs");
    assert_eq!(first_invalid(flag.read().expect("a copy")[0]), Some(2));
    assert_eq!(dtable.read().expect("a copy"), [vec![1.0; 8], vec![0.0; 8], vec![1.0; 8]].concat());

    flag.clear().expect("a write");
    let table = CudaRopeTable::new(&gpu, &RopeTable::new(4, 8, 1e4)).expect("memory");
    let mut x = buffer(&[1.0; 32]);
    let rope = Rope::new(4, 1, 8, 4, RopeLayout::Half);
    let ids = Buf::from_slice(&gpu, "ids", &[0_u32, 4, 0, 9]).expect("memory");
    CudaRope::new(&gpu).apply(pass, &rope, &table, Some(&ids), &mut x, false, &mut flag).expect("it runs");
    assert_eq!(first_invalid(flag.read().expect("a copy")[0]), Some(1));

    flag.clear().expect("a write");
    let targets = Buf::from_slice(&gpu, "targets", &[0_i32, 1, 5, -7]).expect("memory");
    let (mut losses, mut lse) = (buffer(&[f32::NAN; 4]), buffer(&[f32::NAN; 4]));
    let loss = CrossEntropy { rows: 4, vocab: 5, padded: 8 };
    let (mut logits, scale) = (buffer(&[0.0; 32]), buffer(&[1.0]));
    let ce = CudaCrossEntropy::new(&gpu);
    ce.backward(pass, &loss, &mut logits, &targets, &scale, &mut losses, &mut lse, &mut flag).expect("it runs");
    assert_eq!(first_invalid(flag.read().expect("a copy")[0]), Some(2));
    let got = losses.read().expect("a copy");
    assert!((got[0] - 5.0_f32.ln()).abs() < 1e-6 && got[2..] == [0.0, 0.0], "{got:?}");
    assert!(logits.read().expect("a copy")[16..].iter().all(|d| *d == 0.0));
}

/// A step of a model is captured once: nothing here allocates, waits or depends on the host.
#[test]
fn embedding_rope_and_loss_are_captured_into_a_graph() {
    let Some(gpu) = gpu() else { return };
    let (op, loss) = (Embedding::new(64, 50, 64, 32), CrossEntropy { rows: 64, vocab: 50, padded: 64 });
    let rope = Rope::new(64, 2, 32, 32, RopeLayout::Half);
    let (embed, turn, ce) = (CudaEmbedding::new(&gpu), CudaRope::new(&gpu), CudaCrossEntropy::new(&gpu));
    let table = CudaRopeTable::new(&gpu, &RopeTable::new(32, 32, 1e4)).expect("memory");
    let list: Vec<u32> = (0..64).map(|i| i * i % 50).collect();
    let targets: Vec<i32> = (0..64).map(|i| i * 7 % 50).collect();
    let weights: Vec<f32> = (0..50 * 64).map(|i| (i as f32 * 0.37).sin()).collect();
    let floats = |n: usize| Buf::<f32>::zeros(&gpu, "test", n).expect("memory");
    let tokens = Buf::from_slice(&gpu, "tokens", &list).expect("memory");
    let targets = Buf::from_slice(&gpu, "targets", &targets).expect("memory");
    let weights = Buf::from_slice(&gpu, "weights", &weights).expect("memory");
    let (mut y, mut dtable, mut losses, mut lse, mut scale) =
        (floats(64 * 64), floats(50 * 64), floats(64), floats(64), floats(1));
    let loss_scale = Buf::from_slice(&gpu, "scale", &[1.0_f32]).expect("memory");
    let mut total = Buf::<LossTotal>::zeros(&gpu, "total", 1).expect("memory");
    let mut flag = Buf::<u32>::zeros(&gpu, "flag", 1).expect("memory");
    let mut arena = Arena::new(&gpu, "scratch", CudaEmbedding::scratch_bytes(&op)).expect("memory");
    let mut step = |pass: &mut Pass| {
        let frame = arena.frame();
        embed.forward(pass, &op, &tokens, &weights, None, None, &mut y, &mut flag).expect("it runs");
        turn.apply(pass, &rope, &table, None, &mut y, false, &mut flag).expect("it runs");
        ce.set_scale(pass, &targets, &loss_scale, &mut scale).expect("it runs");
        ce.backward(pass, &loss, &mut y, &targets, &scale, &mut losses, &mut lse, &mut flag).expect("it runs");
        ce.add_losses(pass, &losses, &targets, &mut total).expect("it runs");
        embed.backward(pass, &op, &tokens, &y, &mut dtable, None, None, &mut flag, &frame).expect("it runs");
    };
    step(&mut Pass::default());
    gpu.synchronize().expect("it ran");
    // SAFETY: every buffer lives until the end of the test, and none is replaced.
    let mut graph = unsafe {
        Graph::capture(&gpu, |pass| {
            step(pass);
            Ok(())
        })
    }
    .expect("it is captured");
    graph.launch().expect("it runs");
    graph.launch().expect("it runs");
    let (sum, one) = (total.read().expect("a copy")[0], losses.read().expect("a copy"));
    let want: f64 = 3.0 * one.iter().map(|x| f64::from(*x)).sum::<f64>();
    assert!(sum.count == 192 && (sum.sum - want).abs() < 1e-9 * want, "{sum:?} {want}");
    assert_eq!(flag.read().expect("a copy"), [0]);
    let got = dtable.read().expect("a copy");
    assert!(got.iter().any(|d| *d != 0.0) && got.iter().all(|d| d.is_finite()));
}
