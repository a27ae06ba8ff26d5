//! The loss and the backward pass; formulas are those of the CPU model. Gradients of parameters are added to.

use super::{
    error::OpError,
    forward::chunks,
    kernels::{AddTemperatureGradient, MoveHeads, SplitHeadsBackward},
    network::{Run, optional, threads, warps},
    plan::{BackwardTensors, BlockTensors, HeadTensors, MixtureTensors, Plan, Shared},
};
use crate::{
    gpu::{AnyMut, Grid, Slice, ViewMut, nvtx},
    kinds::synaptic::{
        experts::cuda::{BatchWeights, DeviceGradients, DeviceStatistics, STATISTICS},
        model::Norm,
    },
    nn::{
        cross_entropy::cuda::LossTotal,
        embedding::Embedding,
        gemm::{Epilogue, Gemm, Layout},
        parameters::ViewId,
    },
};

/// What the loss needs besides activations.
pub struct Loss<'a> {
    /// Gradient of the loss of a target, one element.
    pub scale: &'a Slice<f32>,
    /// Sum of the losses.
    pub total: &'a mut Slice<LossTotal>,
}

/// What the experts of all blocks did, which is added to.
pub struct Sums<'a> {
    /// The micro-batch.
    pub batch: &'a Slice<BatchWeights>,
    /// Statistics, `[L, E, 32]`.
    pub experts: &'a mut Slice<f64>,
    /// Auxiliary losses, `[L]`.
    pub aux: &'a mut Slice<f64>,
}

impl Run<'_> {
    /// Losses, and the gradient of the residual stream behind the last block in `t.d`.
    pub fn loss_backward(
        &mut self,
        plan: &Plan,
        last: &Slice<f32>,
        head: &mut HeadTensors<'_>,
        loss: &mut Loss<'_>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        self.section("head and loss", |run| {
            run.head_backward(plan, head, loss, &mut t.other, gradient)?;
            t.d.clear()?;
            let norm = run.network.layout.ln_f;
            run.norm_backward(norm, &t.other, last, &head.stats_f, &mut t.d, gradient)
        })
    }

    /// Losses, gradients of the matrix of logits, and in `dx` those of its input.
    fn head_backward(
        &mut self,
        plan: &Plan,
        head: &mut HeadTensors<'_>,
        loss: &mut Loss<'_>,
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, width, vocab) = (self.network, self.network.config.width, plan.vocab);
        let (id, ops) = (network.layout.lm_head, &network.ops);
        for rows in chunks(self.batch.tokens.len(), plan.logit_rows) {
            let (frame, n) = (self.frame.frame(), rows.len());
            let mut logits = frame.take::<f32>("logits", n * vocab)?;
            let x = head.norm_f.part(rows.start * width..rows.end * width)?;
            self.logits(&x, &mut logits)?;
            let (op, targets) = (self.loss_op(n), self.batch.targets.part(rows.clone())?);
            let (mut losses, mut lse) = (head.losses.part_mut(rows.clone())?, head.lse.part_mut(rows.clone())?);
            let (losses, lse) = (&mut losses, &mut lse);
            ops.cross_entropy.backward(self.pass, &op, &mut logits, &targets, loss.scale, losses, lse, self.flag)?;
            let mut dx = dx.part_mut(rows.start * width..rows.end * width)?;
            self.linear_backward(id, &logits, &x, &mut dx, gradient)?;
        }
        ops.cross_entropy.add_losses(self.pass, &head.losses, self.batch.targets, loss.total)?;
        Ok(())
    }

    /// `dx = dy W`, `dW += dyᵀ x`.
    fn linear_backward(
        &mut self,
        weight: ViewId,
        dy: &Slice<f32>,
        x: &Slice<f32>,
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, ops) = (self.network, &self.network.ops);
        let [outputs, inputs] = network.layout.map.view(weight).shape[..] else { return Err(OpError::no_matrix()) };
        let (n, range) = (dy.len() / outputs, network.range(weight));
        let weight = self.weights.part(range.clone())?;
        let by_weight = Gemm::new(n, inputs, outputs);
        ops.gemm.run(self.pass, &by_weight, (dy, &weight), dx, Epilogue::None, ops.options)?;
        let by_input = Gemm::new(outputs, inputs, n).transposed_a().scaled(1.0, 1.0);
        let mut to = gradient.part_mut(range)?;
        ops.gemm.run(self.pass, &by_input, (dy, x), &mut *to, Epilogue::None, ops.options)?;
        Ok(())
    }

    /// Adds the gradients of a LayerNorm.
    fn norm_backward(
        &mut self,
        of: Norm,
        dy: &Slice<f32>,
        x: &Slice<f32>,
        stats: &Slice<f32>,
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let network = self.network;
        let op = network.norm_op(x.len() / network.config.width);
        let weight = self.weights.part(network.range(of.weight))?;
        let [mut dweight, mut dbias] = gradient.parts_mut([of.weight, of.bias].map(|id| network.range(id)))?;
        let (dweight, dbias) = (&mut *dweight, Some(&mut *dbias));
        network.ops.norm.backward(self.pass, &op, dy, x, &weight, stats, dx, dweight, dbias, self.frame)?;
        Ok(())
    }

    /// Gradients of all blocks and of the embedding.
    pub fn blocks_backward(
        &mut self,
        streams: &[ViewMut<'_, f32>],
        blocks: &mut [BlockTensors<'_>],
        s: &mut Shared<'_>,
        t: &mut BackwardTensors<'_>,
        sums: &mut Sums<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        for (b, a) in blocks.iter_mut().enumerate().rev() {
            let _range = nvtx::range_of(|| format!("block {b}, backward"));
            self.section("experts backward", |run| run.mixture_backward(b, a, t, sums, gradient))?;
            self.section("attention backward", |run| run.attention_backward(b, &streams[b], a, s, t, gradient))?;
        }
        self.section("embed backward", |run| run.embedding_backward(&t.d, gradient))
    }

    /// Adds to the gradient `d` of a block's output, which is that of `mid` through the residual, that through the experts.
    fn mixture_backward(
        &mut self,
        b: usize,
        a: &mut BlockTensors<'_>,
        t: &mut BackwardTensors<'_>,
        sums: &mut Sums<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, block) = (self.network, self.network.layout.blocks[b]);
        let (ops, router, mixture) = (&network.ops, &network.dynamics.router, network.mixture());
        let gemm = (&ops.gemm, ops.options);
        let (weights, state) = (self.experts(b)?, self.router(b)?);
        let (weights, state) = (weights.refs(), state.refs());
        {
            let MixtureTensors { x, routing, mut rows, .. } = a.mixture();
            let views = [block.router, block.probe, block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
            let [mut router_w, mut probe, mut fc1, mut fc1_bias, mut fc2, mut fc2_bias] =
                gradient.parts_mut(views.map(|id| network.range(id)))?;
            let mut gradients = DeviceGradients {
                router: &mut router_w,
                probe: &mut probe,
                fc1: &mut fc1,
                fc1_bias: &mut fc1_bias,
                fc2: &mut fc2,
                fc2_bias: &mut fc2_bias,
            };
            let (d, dx, dgates, frame) = (&*t.d, &mut *t.other, &mut *t.dgates, self.frame);
            let of = (router, &mixture);
            let to = &mut gradients;
            ops.experts.backward(self.pass, gemm, of, weights, &routing, &mut rows, d, dx, dgates, to, frame)?;
            let e = network.config.experts * STATISTICS;
            let mut experts = sums.experts.part_mut(b * e..(b + 1) * e)?;
            let mut aux = sums.aux.part_mut(b..b + 1)?;
            let statistics = DeviceStatistics { experts: &mut experts, aux: &mut aux };
            ops.experts.add_statistics(self.pass, router, sums.batch, state, &routing, dgates, statistics, frame)?;
            let of = (router, network.dynamics.aux_weight);
            let gemm = &ops.gemm;
            ops.experts
                .route_backward(self.pass, gemm, of, sums.batch, x, weights, state, &routing, dgates, dx, to, frame)?;
        }
        self.norm_backward(block.ln_2, &t.other, &a.mid, &a.stats_2, &mut t.d, gradient)
    }

    /// Adds to the gradient `d` of `mid`, which is that of the block's input through the residual, that through attention.
    fn attention_backward(
        &mut self,
        b: usize,
        input: &Slice<f32>,
        a: &mut BlockTensors<'_>,
        s: &mut Shared<'_>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, block, shape) = (self.network, self.network.layout.blocks[b], self.batch.shape);
        let (ops, c) = (&network.ops, &network.config);
        let heads = network.head_args(&shape, (0, shape.seq_len));
        self.linear_backward(block.o, &t.d, &a.attention, &mut t.other, gradient)?;
        let moved = threads(s.by_head.len());
        MoveHeads { a: heads, to_tokens: 0, from: &t.other, to: s.by_head }.launch(&ops.heads, self.pass, moved)?;
        let (products, extent, scale) = (self.products(shape.seq_len), self.extent(b), network.scale());
        let multiply = |run: &mut Run<'_>, op: Gemm, x: (&Slice<f32>, &Slice<f32>), to: &mut Slice<f32>| {
            ops.gemm.run(run.pass, &op, x, to, Epilogue::None, ops.options).map(drop)
        };
        multiply(self, products.edges(1.0), (s.by_head, &a.v), s.edges)?;
        multiply(self, products.keys(1.0), (&a.probabilities, s.by_head), &mut t.dv)?;
        let factor = if a.factor.is_empty() { None } else { Some(&*a.factor) };
        ops.presynaptic.backward(self.pass, &extent, &a.probabilities, factor, s.edges)?;
        multiply(self, products.queries(scale), (s.edges, &a.k), &mut t.dq)?;
        multiply(self, products.keys(scale), (s.edges, &a.q), &mut t.dk)?;
        let temperature = self.temperature(b)?;
        let products = if temperature.is_some() { AnyMut::from(&mut *t.products) } else { AnyMut::none() };
        let slots = shape.n_tokens() * (c.heads + 2 * c.kv_heads);
        SplitHeadsBackward {
            a: heads,
            cosines: &network.cosines,
            sines: &network.sines,
            temperature: optional(&temperature),
            q: &a.q,
            k: &a.k,
            rstd: &a.rstd,
            dq: &t.dq,
            dk: &t.dk,
            dv: &t.dv,
            dpacked: s.packed,
            products,
        }
        .launch(&ops.heads, self.pass, warps(slots))?;
        if let (Some(temperature), Some(id)) = (&temperature, block.temperature) {
            let mut to = gradient.part_mut(network.range(id))?;
            let grid = Grid::Blocks { blocks: [c.heads as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
            AddTemperatureGradient { a: heads, products: &t.products, temperature, gradient: &mut to }
                .launch(&ops.heads, self.pass, grid)?;
        }
        self.project_backward(b, s.packed, &a.norm_1, &mut t.other, gradient)?;
        self.norm_backward(block.ln_1, &t.other, input, &a.stats_1, &mut t.d, gradient)
    }

    /// `dx = dpacked W`, `dW += dpackedᵀ x`.
    fn project_backward(
        &mut self,
        b: usize,
        dpacked: &Slice<f32>,
        x: &Slice<f32>,
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, width) = (self.network, self.network.config.width);
        let (n, ops, columns) = (x.len() / width, &network.ops, network.packed_width());
        for (i, one) in network.projections(b).into_iter().enumerate() {
            let dy = dpacked.part(one.column..dpacked.len())?;
            let weight = self.weights.part(one.weights.clone())?;
            let by_weight = Gemm { a: Layout::rows(columns), ..Gemm::new(n, width, one.outputs) };
            let by_weight = by_weight.scaled(1.0, if i == 0 { 0.0 } else { 1.0 });
            ops.gemm.run(self.pass, &by_weight, (&dy, &weight), &mut *dx, Epilogue::None, ops.options)?;
            let by_input = Gemm { a: Layout::rows(columns).transposed(), ..Gemm::new(one.outputs, width, n) };
            let by_input = by_input.scaled(1.0, 1.0);
            let mut to = gradient.part_mut(one.weights)?;
            ops.gemm.run(self.pass, &by_input, (&dy, x), &mut *to, Epilogue::None, ops.options)?;
        }
        Ok(())
    }

    fn embedding_backward(&mut self, d: &Slice<f32>, gradient: &mut Slice<f32>) -> Result<(), OpError> {
        let (network, batch) = (self.network, self.batch);
        let c = &network.config;
        let op = Embedding::new(batch.tokens.len(), c.padded_vocab(), c.width, batch.shape.seq_len.max(1));
        let mut table = gradient.part_mut(network.range(network.layout.wte))?;
        let ops = &network.ops.embedding;
        ops.backward(self.pass, &op, batch.tokens, d, &mut table, None, None, self.flag, self.frame)?;
        Ok(())
    }
}
