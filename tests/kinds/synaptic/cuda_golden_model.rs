//! File 27, the tiny model of the earlier reference, by the kernels of the product: logits, loss and gradients.
//!
//! The order of the layers is the earlier model's: there is no norm behind the last block. What of release differs from ours:
//!
//! * In a call of a whole sequence all queries see fresh synapses: [`Mode::Static`].
//! * Edges outside the top 8 have no bias: the host takes off what the device gave them.
//! * Effects are divided by their running mean over all edges of the call. No kernel computes that mean: it is taken on the host
//!   from the logits that the device computed, and divides the first quantal amplitude.
//! * Rotary angles are rounded to bfloat16: a table.
//! * Experts have slow and fast weights, gains and a mixing matrix: one matrix, see [`affine`](super::cuda_golden::affine).
//!
//! Gradients of genomes (`grad_…Xi`) have no kernel.

use super::{
    cuda_golden::{MixtureOnDevice, buf, each, f64s, zeros},
    earlier::{
        network::{Block, ReferenceNetwork},
        release::State,
    },
    golden_files::{SEQUENCE, compare},
    golden_model,
};
use crate::device::gpu;
use neuropil::{
    gpu::{Any, AnyMut, Arena, Buf, Frame, Gpu, Grid, Pass, Slice},
    kinds::synaptic::{
        cuda::kernels::{HeadArgs, HeadKernels, MoveHeads, SplitHeads, SplitHeadsBackward},
        presynaptic::{
            Edges, Mode, Presynaptic,
            cuda::{CudaPresynaptic, ScanExtent},
        },
    },
    nn::{
        cross_entropy::{CrossEntropy, cuda::CudaCrossEntropy},
        embedding::{Embedding, cuda::CudaEmbedding},
        gemm::{
            Epilogue, Gemm, Layout,
            cuda::{CudaGemm, Options},
        },
        norm::{Norm, NormKind, cuda::CudaNorm},
        softmax::{Mask, Softmax, cuda::CudaSoftmax},
    },
};
use neuropil_test_support::golden::Golden;
use std::sync::Arc;

/// Logits, loss, gradients.
#[test]
fn cuda_golden_synaptic_tiny_model() {
    let Some(gpu) = gpu() else { return };
    each("27_", &["grad_h__0__mlp__Xi", "grad_h__1__mlp__Xi"], |file| check(&gpu, file));
}

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

/// Sizes of the batch, and the operations.
struct Ops<'a> {
    gpu: &'a Arc<Gpu>,
    sequences: usize,
    seq_len: usize,
    width: usize,
    heads: usize,
    head_dim: usize,
    gemm: CudaGemm,
    norm: CudaNorm,
    softmax: CudaSoftmax,
    presynaptic: CudaPresynaptic,
    kernels: HeadKernels,
    cosines: Buf<f32>,
    sines: Buf<f32>,
}

/// Attention of a block, and what its backward pass reads.
struct Attention<'a> {
    block: &'a Block,
    input: Buf<f32>,
    weights: [Buf<f32>; 2],
    norms: [[Buf<f32>; 2]; 2],
    stats: [Buf<f32>; 2],
    norm_1: Buf<f32>,
    norm_2: Buf<f32>,
    q: Buf<f32>,
    k: Buf<f32>,
    v: Buf<f32>,
    rstd: Buf<f32>,
    probabilities: Buf<f32>,
    factor: Buf<f32>,
    attention: Buf<f32>,
    mid: Buf<f32>,
}

impl<'a> Ops<'a> {
    fn new(gpu: &'a Arc<Gpu>, network: &ReferenceNetwork, sequences: usize, tokens: usize) -> Self {
        let (width, heads) = (network.width, network.blocks[0].attention.heads);
        assert!(network.blocks.iter().all(|block| block.attention.kv_heads == 1), "one head of keys");
        Self {
            gpu,
            sequences,
            seq_len: tokens / sequences,
            width,
            heads,
            head_dim: width / heads,
            gemm: CudaGemm::new(gpu),
            norm: CudaNorm::new(gpu),
            softmax: CudaSoftmax::new(gpu),
            presynaptic: CudaPresynaptic::load(gpu).expect("the device"),
            kernels: HeadKernels::load(gpu).expect("the device"),
            cosines: buf(gpu, &f32s(&network.rope.cos)),
            sines: buf(gpu, &f32s(&network.rope.sin)),
        }
    }

    const fn tokens(&self) -> usize {
        self.sequences * self.seq_len
    }

    fn multiply(&self, op: Gemm, a: &Slice<f32>, b: &Slice<f32>, to: &mut Slice<f32>) {
        let done = self.gemm.run(&mut Pass::default(), &op, (a, b), to, Epilogue::None, Options::default());
        done.map(drop).unwrap_or_else(|why| panic!("{why}"));
    }

    fn zeros(&self, columns: usize) -> Buf<f32> {
        zeros(self.gpu, self.tokens() * columns)
    }

    fn head_args(&self) -> HeadArgs {
        HeadArgs {
            tokens: self.tokens() as u32,
            seq_len: self.seq_len as u32,
            heads: self.heads as u32,
            kv_heads: 1,
            head_dim: self.head_dim as u32,
            key_rows: self.seq_len as u32,
            key_offset: 0,
            eps: 1e-6,
        }
    }

    /// Products of all query heads of a sequence, which share its keys: `[H T, columns]` each.
    const fn of_heads(&self, rows: usize, columns: usize, depth: usize) -> Gemm {
        Gemm { batch: self.sequences, ..Gemm::new(rows, columns, depth) }
    }

    const fn rows(columns: usize, rows: usize) -> Layout {
        Layout::rows(columns).stride(rows * columns)
    }

    /// `[H T, T] = factor a bᵀ`, of queries and keys, or of gradients and values.
    fn edges(&self, factor: f32, a: &Slice<f32>, b: &Slice<f32>, to: &mut Slice<f32>) {
        let (n, t, d) = (self.heads * self.seq_len, self.seq_len, self.head_dim);
        let layouts = (Self::rows(d, n), Self::rows(d, t).transposed(), Self::rows(t, n));
        let op = Gemm { a: layouts.0, b: layouts.1, c: layouts.2, alpha: factor, ..self.of_heads(n, t, d) };
        self.multiply(op, a, b, to);
    }

    /// `[H T, D] = factor edges keys`.
    fn queries(&self, factor: f32, edges: &Slice<f32>, keys: &Slice<f32>, to: &mut Slice<f32>) {
        let (n, t, d) = (self.heads * self.seq_len, self.seq_len, self.head_dim);
        let layouts = (Self::rows(t, n), Self::rows(d, t), Self::rows(d, n));
        let op = Gemm { a: layouts.0, b: layouts.1, c: layouts.2, alpha: factor, ..self.of_heads(n, d, t) };
        self.multiply(op, edges, keys, to);
    }

    /// `[T, D] = factor edgesᵀ queries`.
    fn keys(&self, factor: f32, edges: &Slice<f32>, queries: &Slice<f32>, to: &mut Slice<f32>) {
        let (n, t, d) = (self.heads * self.seq_len, self.seq_len, self.head_dim);
        let layouts = (Self::rows(t, n).transposed(), Self::rows(d, n), Self::rows(d, t));
        let op = Gemm { a: layouts.0, b: layouts.1, c: layouts.2, alpha: factor, ..self.of_heads(t, d, n) };
        self.multiply(op, edges, queries, to);
    }

    /// `y = x Wᵀ`, W `[outputs, inputs]`.
    fn linear(&self, x: &Slice<f32>, w: &Slice<f32>, inputs: usize) -> Buf<f32> {
        let (n, outputs) = (x.len() / inputs, w.len() / inputs);
        let mut y = zeros(self.gpu, n * outputs);
        self.multiply(Gemm::new(n, outputs, inputs).transposed_b(), x, w, &mut y);
        y
    }

    /// Gradients of the input and of the weight.
    fn linear_backward(&self, dy: &Slice<f32>, x: &Slice<f32>, w: &Slice<f32>, inputs: usize) -> [Buf<f32>; 2] {
        let (n, outputs) = (x.len() / inputs, w.len() / inputs);
        let (mut dx, mut dw) = (zeros(self.gpu, x.len()), zeros(self.gpu, w.len()));
        self.multiply(Gemm::new(n, inputs, outputs), dy, w, &mut dx);
        self.multiply(Gemm::new(outputs, inputs, n).transposed_a(), dy, x, &mut dw);
        [dx, dw]
    }

    fn norm_op(&self) -> Norm {
        Norm { rows: self.tokens(), columns: self.width, eps: 1e-5, kind: NormKind::Layer }
    }

    fn norm(&self, x: &Slice<f32>, [weight, bias]: &[Buf<f32>; 2], stats: &mut Slice<f32>) -> Buf<f32> {
        let mut y = self.zeros(self.width);
        let pass = &mut Pass::default();
        self.norm.forward(pass, &self.norm_op(), x, weight, Some(bias), &mut y, stats).expect("the device");
        y
    }

    /// Adds to `dx`, and compares the gradients of weight and bias.
    fn norm_backward(
        &self,
        (file, name): (&Golden, &str),
        (dy, x): (&Slice<f32>, &Slice<f32>),
        [weight, _]: &[Buf<f32>; 2],
        stats: &Slice<f32>,
        dx: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) {
        let [mut dweight, mut dbias] = [0, 1].map(|_| zeros(self.gpu, self.width));
        let (pass, op) = (&mut Pass::default(), self.norm_op());
        let to = (&mut dweight, Some(&mut *dbias));
        self.norm.backward(pass, &op, dy, x, weight, stats, dx, to.0, to.1, frame).expect("the device");
        same(file, &format!("{name}__weight"), &dweight);
        same(file, &format!("{name}__bias"), &dbias);
    }

    /// Release of a block whose logits are `edges`: the constants with the running mean of this call.
    fn release(&self, block: &Block, edges: &Slice<f32>) -> Presynaptic {
        let (bias, heads) = (&block.attention.bias, self.sequences * self.heads);
        let dots = f64s(&edges.read().expect("the device"));
        let mut state = State::fresh(&bias.constants, heads, self.seq_len);
        let mut ema = block.ema;
        bias.forward(self.seq_len, &dots, &mut state, &mut ema);
        let amplitude = 1.0 / (ema + bias.epsilon);
        let constants = bias.constants.with(|c| {
            c.first.amplitude = amplitude;
            c.amplitude.max = 1e9;
            c.bias.floor = bias.epsilon;
        });
        let (mode, edges) = (Mode::Static, Edges::TopK(bias.top_k));
        Presynaptic { mode, constants, edges, ..Presynaptic::recommended(self.seq_len) }
    }

    /// Takes the bias off the logits of edges that their query does not select.
    fn clear_unselected(&self, op: &Presynaptic, dots: &[f32], edges: &mut Slice<f32>) {
        let (n, most) = (self.seq_len, op.edges.most().expect("selected edges"));
        let slope = op.constants.bias.barrier / op.context as f64;
        let mut logits = edges.read().expect("the device");
        for (row, (logits, dots)) in logits.chunks_exact_mut(n).zip(dots.chunks_exact(n)).enumerate() {
            let query = row % n;
            let mut order: Vec<usize> = (0..=query).collect();
            order.sort_by(|a, b| dots[*b].total_cmp(&dots[*a]));
            for j in order.into_iter().skip(most) {
                logits[j] = (f64::from(dots[j]) - slope * (query - j) as f64) as f32;
            }
        }
        edges.write(&logits).expect("the device");
    }

    /// Attention and second norm of a block.
    fn attend<'b>(&self, block: &'b Block, input: Buf<f32>, frame: &Frame<'_>) -> Attention<'b> {
        let (gpu, pass, w) = (self.gpu, &mut Pass::default(), &block.projections);
        let packed: Vec<f64> = [&w.q, &w.k, &w.v].into_iter().flatten().copied().collect();
        let weights = [buf(gpu, &f32s(&packed)), buf(gpu, &f32s(&w.o))];
        let norms = [&block.norm_1, &block.norm_2].map(|of| of.each_ref().map(|values| buf(gpu, &f32s(values))));
        let mut stats = [self.zeros(2), self.zeros(2)];
        let norm_1 = self.norm(&input, &norms[0], &mut stats[0]);
        let packed = self.linear(&norm_1, &weights[0], self.width);
        let (d, n_edges) = (self.head_dim, self.heads * self.seq_len);
        let (mut q, mut k, mut v) = (self.zeros(self.width), self.zeros(d), self.zeros(d));
        let mut rstd = self.zeros(self.heads + 1);
        let grid = Grid::Blocks { blocks: [16, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        SplitHeads {
            a: self.head_args(),
            place: Any::NONE,
            packed: &packed,
            cosines: &self.cosines,
            sines: &self.sines,
            temperature: Any::NONE,
            q: &mut q,
            k: &mut k,
            v: &mut v,
            rstd: &mut rstd,
        }
        .launch(&self.kernels, pass, grid)
        .expect("the device");
        let (mut edges, mut factor, mut probabilities) =
            (self.zeros(n_edges), self.zeros(n_edges), self.zeros(n_edges));
        self.edges((1.0 / (d as f64).sqrt()) as f32, &q, &k, &mut edges);
        let op = self.release(block, &edges);
        let dots = edges.read().expect("the device");
        let extent = ScanExtent::sequences(self.sequences, self.heads, self.seq_len, 0);
        let done = self.presynaptic.forward(pass, &op, &extent, &mut edges, Some(&mut *factor), None, None, frame);
        done.expect("the device");
        self.clear_unselected(&op, &dots, &mut edges);
        let softmax = Softmax {
            batch: self.sequences,
            heads: self.heads,
            q_len: self.seq_len,
            k_len: self.seq_len,
            scale: 1.0,
            causal: true,
        };
        let mut lse = self.zeros(self.heads);
        self.softmax
            .forward(pass, &softmax, &edges, Mask::default(), &mut probabilities, &mut lse)
            .expect("the device");
        let (mut by_head, mut attention) = (self.zeros(self.width), self.zeros(self.width));
        self.queries(1.0, &probabilities, &v, &mut by_head);
        MoveHeads { a: self.head_args(), to_tokens: 1, from: &by_head, to: &mut attention }
            .launch(&self.kernels, pass, grid)
            .expect("the device");
        let mut mid = self.zeros(self.width);
        let op = Gemm::new(self.tokens(), self.width, self.width).transposed_b();
        let epilogue = Epilogue::Residual(&*input);
        let of = (&*attention, &*weights[1]);
        self.gemm.run(pass, &op, of, &mut mid, epilogue, Options::default()).map(drop).expect("the device");
        let norm_2 = self.norm(&mid, &norms[1], &mut stats[1]);
        Attention {
            block,
            input,
            weights,
            norms,
            stats,
            norm_1,
            norm_2,
            q,
            k,
            v,
            rstd,
            probabilities,
            factor,
            attention,
            mid,
        }
    }

    /// Adds to the gradient `d` of `mid` that of the input, and compares those of the weights.
    fn attend_backward(&self, file: &Golden, i: usize, a: &Attention<'_>, d: &mut Slice<f32>, frame: &Frame<'_>) {
        let (pass, n_edges) = (&mut Pass::default(), self.heads * self.seq_len);
        let name = |name: &str| format!("grad_h__{i}__attn__attn__{name}_proj__weight");
        let [dx, dw] = self.linear_backward(d, &a.attention, &a.weights[1], self.width);
        same(file, &name("o"), &dw);
        let mut by_head = self.zeros(self.width);
        let grid = Grid::Blocks { blocks: [16, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        MoveHeads { a: self.head_args(), to_tokens: 0, from: &dx, to: &mut by_head }
            .launch(&self.kernels, pass, grid)
            .expect("the device");
        let (mut edges, scale) = (self.zeros(n_edges), (1.0 / (self.head_dim as f64).sqrt()) as f32);
        self.edges(1.0, &by_head, &a.v, &mut edges);
        let (mut dq, mut dk, mut dv) = (self.zeros(self.width), self.zeros(self.head_dim), self.zeros(self.head_dim));
        self.keys(1.0, &a.probabilities, &by_head, &mut dv);
        let extent = ScanExtent::sequences(self.sequences, self.heads, self.seq_len, 0);
        let factor = Some(&*a.factor);
        let op = Presynaptic::recommended(self.seq_len); // derivatives are in f32
        self.presynaptic.backward(pass, &op, &extent, &a.probabilities, factor, &mut edges).expect("the device");
        self.queries(scale, &edges, &a.k, &mut dq);
        self.keys(scale, &edges, &a.q, &mut dk);
        let mut dpacked = self.zeros(self.width + 2 * self.head_dim);
        SplitHeadsBackward {
            a: self.head_args(),
            cosines: &self.cosines,
            sines: &self.sines,
            temperature: Any::NONE,
            q: &a.q,
            k: &a.k,
            rstd: &a.rstd,
            dq: &dq,
            dk: &dk,
            dv: &dv,
            dpacked: &mut dpacked,
            products: AnyMut::none(),
        }
        .launch(&self.kernels, pass, grid)
        .expect("the device");
        let [dnorm, dw] = self.linear_backward(&dpacked, &a.norm_1, &a.weights[0], self.width);
        let (dw, of_key) = (f64s(&dw.read().expect("the device")), self.head_dim * self.width);
        let (q, kv) = dw.split_at(self.width * self.width);
        for (of, got) in [("q", q), ("k", &kv[..of_key]), ("v", &kv[of_key..])] {
            compare(file, &name(of), got, SEQUENCE);
        }
        let of = (file, &*format!("grad_h__{i}__norm1"));
        self.norm_backward(of, (&dnorm, &a.input), &a.norms[0], &a.stats[0], d, frame);
    }
}

fn same(file: &Golden, array: &str, got: &Buf<f32>) {
    compare(file, array, &f64s(&got.read().expect("the device")), SEQUENCE);
}

fn check(gpu: &Arc<Gpu>, file: &Golden) {
    let network = golden_model::network(file);
    let ids: Vec<u32> = file.whole("idx").into_iter().map(|token| token as u32).collect();
    let targets: Vec<i32> = file.whole("targets").into_iter().map(|token| token as i32).collect();
    let counted = targets.iter().filter(|target| **target >= 0).count();
    let (n, width, sequences) = (ids.len(), network.width, file.shape("idx")[0]);
    let vocab = network.wte.len() / width;
    let ops = Ops::new(gpu, &network, sequences, n);
    let pass = &mut Pass::default();
    let mut arena = Arena::new(gpu, "temporaries", 1 << 22).expect("the device");
    let frame = arena.frame();
    let [wte, head] = [&network.wte, &network.lm_head].map(|values| buf(gpu, &f32s(values)));
    let ids = Buf::from_slice(gpu, "tokens", &ids).expect("the device");
    let targets = Buf::from_slice(gpu, "targets", &targets).expect("the device");
    let mut flag = Buf::<u32>::zeros(gpu, "flag", 1).expect("the device");
    let (embedding, of_tokens) = (CudaEmbedding::new(gpu), Embedding::new(n, vocab, width, ops.seq_len));
    let mut x = ops.zeros(width);
    embedding.forward(pass, &of_tokens, &ids, &wte, None, None, &mut x, &mut flag).expect("the device");
    let (mut blocks, mut aux) = (vec![], 0.0);
    for block in &network.blocks {
        let a = ops.attend(block, x, &frame);
        let mut mixture = MixtureOnDevice::new(gpu, &block.mixture, n);
        let mut out = ops.zeros(width);
        mixture.forward(&a.norm_2, &a.mid, &mut out, &frame);
        aux += mixture.statistics(&frame).1;
        blocks.push((a, mixture));
        x = out;
    }
    let mut logits = ops.linear(&x, &head, width);
    same(file, "logits", &logits);
    let (op, mut losses, mut lse) = (CrossEntropy { rows: n, vocab, padded: vocab }, ops.zeros(1), ops.zeros(1));
    let scale = buf(gpu, &[1.0 / counted as f32]);
    let entropy = CudaCrossEntropy::new(gpu);
    entropy.backward(pass, &op, &mut logits, &targets, &scale, &mut losses, &mut lse, &mut flag).expect("the device");
    let sum = f64s(&losses.read().expect("the device")).iter().sum::<f64>();
    compare(file, "loss", &[sum / counted as f64 + network.aux_weight * aux], SEQUENCE);
    let [mut d, dhead] = ops.linear_backward(&logits, &x, &head, width);
    same(file, "grad_lm_head__weight", &dhead);
    for (i, (a, mixture)) in blocks.iter_mut().enumerate().rev() {
        let start = format!("grad_h__{i}__");
        let mut dx = ops.zeros(width);
        let of = (&*a.norm_2, &*d);
        mixture.backward(file, &format!("{start}mlp__"), of, network.aux_weight as f32, &mut dx, &frame);
        let name = format!("{start}norm2");
        ops.norm_backward((file, &name), (&dx, &a.mid), &a.norms[1], &a.stats[1], &mut d, &frame);
        ops.attend_backward(file, i, a, &mut d, &frame);
    }
    let mut dwte = zeros(gpu, wte.len());
    embedding.backward(pass, &of_tokens, &ids, &d, &mut dwte, None, None, &mut flag, &frame).expect("the device");
    same(file, "grad_wte__weight", &dwte);
    assert_eq!(flag.read().expect("the device"), [0]);
    // Of the constants of the earlier model, a block reads its own.
    assert!(blocks.iter().all(|(a, _)| a.block.attention.heads == ops.heads));
}
