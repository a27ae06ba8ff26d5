//! CUDA implementation of the operations of the [forward pass](crate::kinds::synaptic::network::Forward).

use super::{
    decode::write_memory,
    kernels::{MoveHeads, SplitHeads},
    network::{Run, optional, threads, warps},
    plan::{BlockTensors, HeadTensors, MixtureTensors, Shared},
};
use crate::{
    gpu::{Any, Slice},
    kinds::{
        language::cuda::{error::OpError, format::ModelFormat},
        synaptic::{
            network::Forward,
            presynaptic::{
                Mode, Presynaptic, Release,
                cuda::{KeyMemory, ScanExtent},
            },
        },
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout},
        layers::{Forward as _, LossRows},
        softmax::{Mask, Softmax},
    },
};

/// Batched GEMMs of attention, one per key/value head: the query heads that share it are rows of one matrix.
pub struct Products {
    /// Number of rows of queries per key/value head: query heads that share the head, times tokens of a sequence.
    pub queries: usize,
    /// Number of keys per query.
    pub keys: usize,
    /// Number of rows allocated per key/value head.
    pub key_rows: usize,
    /// Number of key/value heads of all sequences: the batch.
    pub heads: usize,
    /// Features per head, D.
    pub head_dim: usize,
}

impl Products {
    const fn rows(&self, columns: usize, rows: usize) -> Layout {
        Layout::rows(columns).stride(rows * columns)
    }

    /// Returns the GEMM of `[queries, keys] = scale · queries keysᵀ`.
    pub const fn edges(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(d, self.queries), self.rows(d, self.key_rows).transposed());
        let c = self.rows(self.keys, self.queries);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.queries, self.keys, d) }
    }

    /// Returns the GEMM of `[queries, D] = scale · edges values`.
    pub const fn queries(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(self.keys, self.queries), self.rows(d, self.key_rows));
        let c = self.rows(d, self.queries);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.queries, d, self.keys) }
    }

    /// Returns the GEMM of `[keys, D] = scale · edgesᵀ queries`.
    pub const fn keys(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(self.keys, self.queries).transposed(), self.rows(d, self.queries));
        let c = self.rows(d, self.key_rows);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.keys, d, self.queries) }
    }
}

impl<T: ModelFormat> Run<'_, T> {
    /// Returns the heads and edges of a block for the release kernels.
    pub fn extent(&self, b: usize) -> ScanExtent {
        let (shape, heads) = (self.batch.shape, self.network.config.heads);
        ScanExtent { first_query: self.batch.offset, ..ScanExtent::sequences(shape.sequences, heads, shape.seq_len, b) }
    }

    /// Returns the GEMMs of attention with `key_rows` rows allocated per key/value head.
    pub fn products(&self, key_rows: usize) -> Products {
        let (c, shape) = (&self.network.config, self.batch.shape);
        Products {
            queries: c.group() * shape.seq_len,
            keys: self.batch.offset + shape.seq_len,
            key_rows,
            heads: shape.sequences * c.kv_heads,
            head_dim: c.head_dim(),
        }
    }

    /// Returns the release mechanism, which is deterministic in passes without random draws.
    pub fn release(&self) -> Presynaptic {
        let op = self.network.dynamics.presynaptic;
        if self.draws.is_some() { op } else { Presynaptic { release: Release::Deterministic, ..op } }
    }

    /// Projects tokens to packed queries, keys and values. Fails if the sizes do not match or a launch fails.
    fn project_packed(&mut self, b: usize, x: &Slice<T>, packed: &mut Slice<f32>) -> Result<(), OpError> {
        let (network, width) = (self.network, self.network.config.width);
        let (n, columns) = (x.len() / width, network.packed_width());
        for one in network.projections(b) {
            let op = Gemm { c: Layout::rows(columns), ..Gemm::new(n, one.outputs, width).transposed_b() };
            let weight = self.matrices.part(one.weights)?;
            let end = packed.len();
            let mut to = packed.part_mut(one.column..end)?;
            network.ops.model.gemm.run(
                self.pass,
                &op,
                (x, &weight),
                &mut *to,
                Epilogue::None,
                network.ops.model.options,
            )?;
        }
        Ok(())
    }

    /// Attends over all heads, from packed projections to `y`, `[tokens, C]`. Fails if the sizes do not match or a launch
    /// fails.
    fn attend_heads(
        &mut self,
        b: usize,
        (q, k, v, rstd): (&mut Slice<f32>, &mut Slice<f32>, &mut Slice<f32>, &mut Slice<f32>),
        (probabilities, factor): (&mut Slice<f32>, &mut Slice<f32>),
        s: &mut Shared<'_, T>,
        (key_rows, memory): (usize, Option<KeyMemory<'_>>),
        y: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let (network, batch) = (self.network, self.batch);
        let (ops, c) = (&network.ops, &network.config);
        let a = network.head_args(&batch.shape, (batch.offset, key_rows));
        let slots = batch.shape.n_tokens() * (c.heads + 2 * c.kv_heads);
        let place = memory.as_ref().and_then(|memory| memory.place);
        self.section("rope", |run| {
            let temperature = run.network.layout.blocks[b].temperature;
            let temperature = temperature.map(|id| run.weights.part(network.range(id))).transpose()?;
            let (cosines, sines, packed) = (&*network.cosines, &*network.sines, &*s.packed);
            let (q, k, v, rstd) = (&mut *q, &mut *k, &mut *v, &mut *rstd);
            let (place, temperature) = (Any::or_none(place), optional(&temperature));
            SplitHeads { a, place, packed, cosines, sines, temperature, q, k, v, rstd }.launch(
                &ops.heads,
                run.pass,
                warps(slots),
            )?;
            Ok(())
        })?;
        let (products, extent) = (self.products(key_rows), self.extent(b));
        self.section("scores", |run| {
            let op = products.edges(network.scale());
            ops.model.gemm.run(run.pass, &op, (&*q, &*k), &mut *s.edges, Epilogue::None, ops.model.options)?;
            Ok(())
        })?;
        // Derivatives are only needed for gradients.
        let is_needed = !factor.is_empty() && self.draws.is_some();
        let (op, factor) = (self.release(), is_needed.then_some(factor));
        self.section("release", |run| {
            if op.mode == Mode::Off && op.constants.bias.barrier == 0.0 {
                return Ok(());
            }
            let (draws, frame) = (run.draws, run.frame);
            ops.presynaptic.forward(run.pass, &op, &extent, s.edges, factor, memory, draws, frame)?;
            Ok(())
        })?;
        self.section("softmax", |run| {
            let op = Softmax {
                batch: batch.shape.sequences,
                heads: c.heads,
                q_len: batch.shape.seq_len,
                k_len: extent.n_keys(),
                scale: 1.0,
                causal: true,
            };
            let length = place.map(|place| place.part(1..2)).transpose()?;
            let mask = Mask { k_lens: length.as_deref(), ..Mask::default() };
            ops.softmax.forward(run.pass, &op, s.edges, mask, &mut *probabilities, s.lse)?;
            Ok(())
        })?;
        self.section("values", |run| {
            let op = products.queries(1.0);
            ops.model.gemm.run(
                run.pass,
                &op,
                (&*probabilities, &*v),
                &mut *s.by_head,
                Epilogue::None,
                ops.model.options,
            )?;
            let (n, to) = (y.len(), T::wide(y, s.wide));
            MoveHeads { a, to_tokens: 1, from: s.by_head, to }.launch(&ops.heads, run.pass, threads(n))?;
            run.keep(y, s.wide)
        })
    }
}

impl<T: ModelFormat> Forward for Run<'_, T> {
    type Error = OpError;
    type Stream = Slice<f32>;
    type Block<'f> = BlockTensors<'f, T>;
    type Shared<'f> = Shared<'f, T>;
    type Head<'f> = HeadTensors<'f, T>;
    type Logits = Slice<T>;

    /// Runs a part of the pass. While kernels are profiled, the part is timed as one row, between two events. Fails if
    /// `work` fails.
    fn section(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        if !self.pass.profiled {
            return work(self);
        }
        let (gpu, items, mut refused) = (&self.network.gpu, self.batch.shape.n_tokens() as u64, None);
        let mut pass = std::mem::take(self.pass);
        let measured = pass.device_span(gpu, name, || work(self).map_err(|why| why.into_gpu(name, &mut refused)));
        pass.last_items(items);
        *self.pass = pass;
        match (measured, refused) {
            (_, Some(why)) => Err(OpError::Refused(why)),
            (measured, None) => Ok(measured?),
        }
    }

    fn embed(&mut self, y: &mut Slice<f32>) -> Result<(), OpError> {
        let table = self.network.layout.wte;
        self.layers().embed(table, None, y)
    }

    fn first_norm(
        &mut self,
        b: usize,
        input: &Slice<f32>,
        a: &mut BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
    ) -> Result<(), OpError> {
        let norm = self.network.layout.blocks[b].ln_1;
        self.norm(norm, input, T::wide(&mut a.norm_1, s.wide), &mut a.stats_1)?;
        self.keep(&mut a.norm_1, s.wide)
    }

    fn project(&mut self, b: usize, a: &mut BlockTensors<'_, T>, s: &mut Shared<'_, T>) -> Result<(), OpError> {
        self.project_packed(b, &a.norm_1, s.packed)
    }

    fn attend(&mut self, b: usize, a: &mut BlockTensors<'_, T>, s: &mut Shared<'_, T>) -> Result<(), OpError> {
        let edges = (&mut *a.probabilities, &mut *a.factor);
        // The cache is taken out of the pass, because `attend_heads` borrows the whole pass.
        let Some(cache) = self.cache.take() else {
            let of_block = (&mut *a.q, &mut *a.k, &mut *a.v, &mut *a.rstd);
            let rows = self.batch.shape.seq_len;
            return self.attend_heads(b, of_block, edges, s, (rows, None), &mut a.attention);
        };
        let (c, op) = (&self.network.config, self.release());
        let kv = c.context * c.kv_width();
        let of_state = KeyMemory::len(&op, c.heads, c.context);
        let mut keys = cache.keys.part_mut(b * kv..(b + 1) * kv)?;
        let mut values = cache.values.part_mut(b * kv..(b + 1) * kv)?;
        let mut state = cache.synapses.part_mut(b * of_state..(b + 1) * of_state)?;
        let (known, place) = (self.batch.offset, cache.place);
        let memory = KeyMemory { state: &mut state, capacity: c.context, known, place };
        let of_block = (&mut *a.q, &mut *keys, &mut *values, &mut *a.rstd);
        let done = self.attend_heads(b, of_block, edges, s, (c.context, Some(memory)), &mut a.attention);
        drop((keys, values, state));
        self.cache = Some(cache);
        done
    }

    fn project_output(&mut self, b: usize, input: &Slice<f32>, a: &mut BlockTensors<'_, T>) -> Result<(), OpError> {
        let weight = self.network.layout.blocks[b].o;
        self.rounded().linear_with(weight, &a.attention, &mut a.mid, Epilogue::Residual(input))
    }

    fn second_norm(&mut self, b: usize, a: &mut BlockTensors<'_, T>) -> Result<(), OpError> {
        let norm = self.network.layout.blocks[b].ln_2;
        self.norm(norm, &a.mid, &mut a.norm_2, &mut a.stats_2)
    }

    fn route(&mut self, b: usize, a: &mut BlockTensors<'_, T>) -> Result<(), OpError> {
        let (network, weights, state) = (self.network, self.experts(b)?, self.router(b)?);
        let (ops, router, gemm) = (&network.ops.experts, &network.dynamics.router, &network.ops.model.gemm);
        let MixtureTensors { x, mut routing, .. } = a.mixture();
        ops.route(self.pass, gemm, router, x, weights.refs(), state.refs(), &mut routing, self.frame)?;
        Ok(())
    }

    fn mix(&mut self, b: usize, a: &mut BlockTensors<'_, T>, output: &mut Slice<f32>) -> Result<(), OpError> {
        let (network, weights) = (self.network, self.experts(b)?);
        let (ops, of) = (&network.ops, (&network.dynamics.router, &network.mixture()));
        let gemm = (&ops.model.gemm, ops.model.options);
        let MixtureTensors { x, mid, routing, mut rows } = a.mixture();
        ops.experts.forward(self.pass, gemm, of, (x, mid), weights.refs(), &routing, &mut rows, output)?;
        Ok(())
    }

    fn write_memory(&mut self, b: usize, a: &mut BlockTensors<'_, T>, output: &mut Slice<f32>) -> Result<(), OpError> {
        match &mut self.plastic {
            Some(plastic) => write_memory(plastic, b, a, output),
            None => Ok(()),
        }
    }

    fn last_norm(
        &mut self,
        x: &Slice<f32>,
        head: &mut HeadTensors<'_, T>,
        s: &mut Shared<'_, T>,
    ) -> Result<(), OpError> {
        let norm = self.network.layout.ln_f;
        self.norm(norm, x, T::wide(&mut head.norm_f, s.wide), &mut head.stats_f)?;
        self.keep(&mut head.norm_f, s.wide)
    }

    fn losses(&mut self, head: &mut HeadTensors<'_, T>) -> Result<(), OpError> {
        let (of, to) = (self.head(), LossRows { losses: &mut *head.losses, lse: &mut *head.lse });
        self.rounded().losses(of, &head.norm_f, to)
    }

    fn logits(&mut self, head: &HeadTensors<'_, T>, logits: &mut Slice<T>) -> Result<(), OpError> {
        let weight = self.network.layout.lm_head;
        self.rounded().linear((weight, None), &head.norm_f, logits, None)
    }
}
