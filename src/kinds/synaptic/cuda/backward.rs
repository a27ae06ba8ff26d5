//! CUDA implementation of the operations of the [backward pass](crate::kinds::synaptic::network::Backward).

use super::{
    kernels::{AddTemperatureGradient, MoveHeads, SplitHeadsBackward},
    network::{Run, optional, threads, warps},
    plan::{BackwardTensors, BlockTensors, HeadTensors, MixtureTensors, Shared},
};
use crate::{
    gpu::{AnyMut, Grid, Slice},
    kinds::{
        language::cuda::{error::OpError, format::ModelFormat},
        synaptic::{
            experts::cuda::{BatchWeights, DeviceGradients, DeviceStatistics, MatrixGradients, STATISTICS},
            model::Norm,
            network::Backward,
        },
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout},
        layers::{Backward as _, LossRows},
    },
};

/// Accumulated statistics of the experts of all blocks.
pub struct Sums<'a> {
    /// Weight of the micro-batch.
    pub batch: &'a Slice<BatchWeights>,
    /// Sums of the experts' statistics, `[L, E, 32]`.
    pub experts: &'a mut Slice<f64>,
    /// Sums of the auxiliary losses, `[L]`.
    pub aux: &'a mut Slice<f64>,
    /// Storage of the gradients of expert matrices.
    pub matrices: MatrixGradients,
}

impl<T: ModelFormat> Run<'_, T> {
    /// Backpropagates through a LayerNorm. Adds to `dx` and to the gradients of the parameters of the norm. Fails if the
    /// sizes do not match or a launch fails.
    fn layer_norm_backward(
        &mut self,
        of: Norm,
        known: (&Slice<f32>, &Slice<f32>, &Slice<f32>),
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let op = self.network.norm_op(known.1.len() / self.network.config.width);
        self.layers().norm_backward(&op, (of.weight, Some(of.bias)), known, dx, gradient)
    }

    /// Computes `dx = dpacked W` and `dW += dpackedᵀ x` for the packed projections. Fails if the sizes do not match or a
    /// launch fails.
    fn project_packed_backward(
        &mut self,
        b: usize,
        dpacked: &Slice<T>,
        x: &Slice<T>,
        dx: &mut Slice<f32>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, width) = (self.network, self.network.config.width);
        let (n, ops, columns) = (x.len() / width, &network.ops, network.packed_width());
        for (i, one) in network.projections(b).into_iter().enumerate() {
            let dy = dpacked.part(one.column..dpacked.len())?;
            let weight = self.matrices.part(one.weights.clone())?;
            let by_weight = Gemm { a: Layout::rows(columns), ..Gemm::new(n, width, one.outputs) };
            let by_weight = by_weight.scaled(1.0, if i == 0 { 0.0 } else { 1.0 });
            ops.model.gemm.run(self.pass, &by_weight, (&dy, &weight), &mut *dx, Epilogue::None, ops.model.options)?;
            let by_input = Gemm { a: Layout::rows(columns).transposed(), ..Gemm::new(one.outputs, width, n) };
            let by_input = by_input.scaled(1.0, 1.0);
            let mut to = gradient.part_mut(one.weights)?;
            ops.model.gemm.run(self.pass, &by_input, (&dy, x), &mut *to, Epilogue::None, ops.model.options)?;
        }
        Ok(())
    }
}

impl<T: ModelFormat> Backward for Run<'_, T> {
    type Gradient = Slice<f32>;
    type Gradients<'f> = BackwardTensors<'f>;

    fn head_backward(
        &mut self,
        head: &mut HeadTensors<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (of, loss) = (self.head(), self.loss.take());
        let (mut layers, to) = (self.rounded(), LossRows { losses: &mut *head.losses, lse: &mut *head.lse });
        layers.loss = loss;
        layers.head_backward_with(of, &head.norm_f, to, &mut *t.other, gradient)
    }

    fn last_norm_backward(
        &mut self,
        last: &Slice<f32>,
        head: &HeadTensors<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        t.d.clear()?;
        self.layer_norm_backward(self.network.layout.ln_f, (&t.other, last, &head.stats_f), &mut t.d, gradient)
    }

    fn mixture_backward(
        &mut self,
        b: usize,
        a: &mut BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, block) = (self.network, self.network.layout.blocks[b]);
        let (ops, router, mixture) = (&network.ops, &network.dynamics.router, network.mixture());
        let (weights, state) = (self.experts(b)?, self.router(b)?);
        let (weights, state) = (weights.refs(), state.refs());
        let Some(sums) = &mut self.sums else { return Err(OpError::Refused("this pass has no sums".to_owned())) };
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
        let with = (&mut rows, &mut *s.rounded);
        ops.experts.backward(
            self.pass,
            &ops.model,
            of,
            weights,
            &routing,
            with,
            d,
            dx,
            dgates,
            to,
            sums.matrices,
            frame,
        )?;
        let e = network.config.experts * STATISTICS;
        let mut experts = sums.experts.part_mut(b * e..(b + 1) * e)?;
        let mut aux = sums.aux.part_mut(b..b + 1)?;
        let statistics = DeviceStatistics { experts: &mut experts, aux: &mut aux };
        ops.experts.add_statistics(self.pass, router, sums.batch, state, &routing, dgates, statistics, frame)?;
        let of = (router, network.dynamics.aux_weight);
        let gemm = (&ops.model.gemm, ops.model.options);
        ops.experts
            .route_backward(self.pass, gemm, of, sums.batch, x, weights, state, &routing, dgates, dx, to, frame)?;
        Ok(())
    }

    fn second_norm_backward(
        &mut self,
        b: usize,
        a: &BlockTensors<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let norm = self.network.layout.blocks[b].ln_2;
        self.layer_norm_backward(norm, (&t.other, &a.mid, &a.stats_2), &mut t.d, gradient)
    }

    fn output_backward(
        &mut self,
        b: usize,
        a: &BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let weight = self.network.layout.blocks[b].o;
        let dy = self.operand(&t.d, s.rounded)?;
        let of = (&*dy, &*a.attention);
        self.rounded().linear_backward_with((weight, None), of, Epilogue::None, &mut *t.other, gradient)
    }

    fn attend_backward(
        &mut self,
        b: usize,
        a: &BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, block, shape) = (self.network, self.network.layout.blocks[b], self.batch.shape);
        let (ops, c) = (&network.ops, &network.config);
        let heads = network.head_args(&shape, (0, shape.seq_len));
        let moved = threads(s.by_head.len());
        MoveHeads { a: heads, to_tokens: 0, from: &t.other, to: s.by_head }.launch(&ops.heads, self.pass, moved)?;
        let (products, extent, scale) = (self.products(shape.seq_len), self.extent(b), network.scale());
        let multiply = |run: &mut Run<'_, T>, op: Gemm, x: (&Slice<f32>, &Slice<f32>), to: &mut Slice<f32>| {
            ops.model.gemm.run(run.pass, &op, x, to, Epilogue::None, ops.model.options).map(drop)
        };
        multiply(self, products.edges(1.0), (s.by_head, &a.v), s.edges)?;
        multiply(self, products.keys(1.0), (&a.probabilities, s.by_head), &mut t.dv)?;
        let factor = if a.factor.is_empty() { None } else { Some(&*a.factor) };
        ops.presynaptic.backward(self.pass, &self.release(), &extent, &a.probabilities, factor, s.edges)?;
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
        Ok(())
    }

    fn project_backward(
        &mut self,
        b: usize,
        a: &BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let dpacked = self.operand(s.packed, s.rounded)?;
        self.project_packed_backward(b, &dpacked, &a.norm_1, &mut t.other, gradient)
    }

    fn first_norm_backward(
        &mut self,
        b: usize,
        input: &Slice<f32>,
        a: &BlockTensors<'_, T>,
        t: &mut BackwardTensors<'_>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let norm = self.network.layout.blocks[b].ln_1;
        self.layer_norm_backward(norm, (&t.other, input, &a.stats_1), &mut t.d, gradient)
    }

    fn embedding_backward(&mut self, t: &mut BackwardTensors<'_>, gradient: &mut Slice<f32>) -> Result<(), OpError> {
        let table = (self.network.layout.wte, None);
        self.layers().embedding_backward(table, &t.d, gradient)
    }
}
