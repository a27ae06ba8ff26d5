//! The forward pass; formulas are those of the CPU model.

use super::{
    kernels::{MoveHeads, SplitHeads},
    network::{Run, optional, threads, warps},
    plan::{BlockTensors, MixtureTensors, Shared},
};
use crate::{
    gpu::{Any, Slice, ViewMut, nvtx},
    kinds::{
        language::cuda::{error::OpError, format::ModelFormat, plan::HeadTensors},
        synaptic::presynaptic::{
            Mode, Presynaptic, Release,
            cuda::{KeyMemory, ScanExtent},
        },
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout},
        softmax::{Mask, Softmax},
    },
};

/// Multiplications of attention, by head of keys: the query heads that share it are rows of one matrix.
pub struct Products {
    /// Queries of a head of keys, `group T`.
    pub queries: usize,
    /// Keys of a query.
    pub keys: usize,
    /// Rows of a head of keys.
    pub key_rows: usize,
    /// Heads of keys of all sequences.
    pub heads: usize,
    /// Features.
    pub head_dim: usize,
}

impl Products {
    const fn rows(&self, columns: usize, rows: usize) -> Layout {
        Layout::rows(columns).stride(rows * columns)
    }

    /// `[queries, keys] = queries keysᵀ`
    pub const fn edges(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(d, self.queries), self.rows(d, self.key_rows).transposed());
        let c = self.rows(self.keys, self.queries);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.queries, self.keys, d) }
    }

    /// `[queries, D] = edges values`
    pub const fn queries(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(self.keys, self.queries), self.rows(d, self.key_rows));
        let c = self.rows(d, self.queries);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.queries, d, self.keys) }
    }

    /// `[keys, D] = edgesᵀ queries`
    pub const fn keys(&self, scale: f32) -> Gemm {
        let d = self.head_dim;
        let (a, b) = (self.rows(self.keys, self.queries).transposed(), self.rows(d, self.queries));
        let c = self.rows(d, self.key_rows);
        Gemm { batch: self.heads, a, b, c, alpha: scale, ..Gemm::new(self.keys, d, self.queries) }
    }
}

impl<T: ModelFormat> Run<'_, T> {
    /// Vectors of tokens.
    pub fn embed(&mut self, y: &mut Slice<f32>) -> Result<(), OpError> {
        let table = self.network.layout.wte;
        self.section("embed", |run| run.layers().embed(table, None, y))
    }

    /// Heads and edges of a block.
    pub fn extent(&self, b: usize) -> ScanExtent {
        let (shape, heads) = (self.batch.shape, self.network.config.heads);
        ScanExtent { first_query: self.batch.offset, ..ScanExtent::sequences(shape.sequences, heads, shape.seq_len, b) }
    }

    /// Multiplications of attention with keys in this many rows of a head.
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

    /// Release, without random draws where there are none.
    pub fn release(&self) -> Presynaptic {
        let op = self.network.dynamics.presynaptic;
        if self.draws.is_some() { op } else { Presynaptic { release: Release::Deterministic, ..op } }
    }

    /// One block: from the residual stream `input` to `output`.
    pub fn block(
        &mut self,
        b: usize,
        input: &Slice<f32>,
        a: &mut BlockTensors<'_, T>,
        s: &mut Shared<'_, T>,
        output: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let _range = nvtx::range_of(|| format!("block {b}"));
        let block = self.network.layout.blocks[b];
        self.section("norm", |run| {
            run.norm(block.ln_1, input, T::wide(&mut a.norm_1, s.wide), &mut a.stats_1)?;
            run.keep(&mut a.norm_1, s.wide)
        })?;
        self.section("qkv", |run| run.project(b, &a.norm_1, s.packed))?;
        // A cache is taken out of the pass, whose layers it is not for.
        match self.cache.take() {
            Some(cache) => {
                let (c, op) = (&self.network.config, self.release());
                let kv = c.context * c.kv_width();
                let of_state = KeyMemory::len(&op, c.heads, c.context);
                let mut keys = cache.keys.part_mut(b * kv..(b + 1) * kv)?;
                let mut values = cache.values.part_mut(b * kv..(b + 1) * kv)?;
                let mut state = cache.synapses.part_mut(b * of_state..(b + 1) * of_state)?;
                let (known, place) = (self.batch.offset, cache.place);
                let memory = KeyMemory { state: &mut state, capacity: c.context, known, place };
                let of_block = (&mut *a.q, &mut *keys, &mut *values, &mut *a.rstd);
                let edges = (&mut *a.probabilities, &mut *a.factor);
                let done = self.attend(b, of_block, edges, s, (c.context, Some(memory)), &mut a.attention);
                drop((keys, values, state));
                self.cache = Some(cache);
                done?;
            }
            None => {
                let of_block = (&mut *a.q, &mut *a.k, &mut *a.v, &mut *a.rstd);
                let (edges, rows) = ((&mut *a.probabilities, &mut *a.factor), self.batch.shape.seq_len);
                self.attend(b, of_block, edges, s, (rows, None), &mut a.attention)?;
            }
        }
        self.section("projection", |run| {
            run.rounded().linear_with(block.o, &a.attention, &mut a.mid, Epilogue::Residual(input))
        })?;
        self.section("norm", |run| run.norm(block.ln_2, &a.mid, &mut a.norm_2, &mut a.stats_2))?;
        self.mix(b, a, output)
    }

    /// Queries, keys and values side by side.
    fn project(&mut self, b: usize, x: &Slice<T>, packed: &mut Slice<f32>) -> Result<(), OpError> {
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

    /// Attention of all heads, from packed projections to `y`, `[tokens, C]`.
    fn attend(
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
        // Only gradients need derivatives.
        let is_needed = !factor.is_empty() && self.draws.is_some();
        let (op, factor) = (self.release(), is_needed.then_some(factor));
        self.section("release", |run| {
            if op.mode == Mode::Off && op.constants.barrier_strength == 0.0 {
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

    /// `output = mid + mixture(LN2 mid)`
    fn mix(&mut self, b: usize, a: &mut BlockTensors<'_, T>, output: &mut Slice<f32>) -> Result<(), OpError> {
        let network = self.network;
        let (ops, router, mixture) = (&network.ops, &network.dynamics.router, network.mixture());
        let gemm = (&ops.model.gemm, ops.model.options);
        let (weights, state) = (self.experts(b)?, self.router(b)?);
        let (weights, state) = (weights.refs(), state.refs());
        let MixtureTensors { x, mid, mut routing, mut rows } = a.mixture();
        self.section("router", |run| {
            ops.experts.route(run.pass, &ops.model.gemm, router, x, weights, state, &mut routing, run.frame)?;
            Ok(())
        })?;
        self.section("experts", |run| {
            let of = (router, &mixture);
            ops.experts.forward(run.pass, gemm, of, (x, mid), weights, &routing, &mut rows, output)?;
            Ok(())
        })
    }

    /// The embedding and all blocks.
    pub fn forward(
        &mut self,
        streams: &mut [ViewMut<'_, f32>],
        blocks: &mut [BlockTensors<'_, T>],
        s: &mut Shared<'_, T>,
    ) -> Result<(), OpError> {
        self.embed(&mut streams[0])?;
        for (b, a) in blocks.iter_mut().enumerate() {
            let (before, after) = streams.split_at_mut(b + 1);
            self.block(b, &before[b], a, s, &mut after[0])?;
        }
        Ok(())
    }

    /// The last norm, with room for it in f32.
    pub fn last_norm(
        &mut self,
        x: &Slice<f32>,
        head: &mut HeadTensors<'_, T>,
        room: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let norm = self.network.layout.ln_f;
        self.norm(norm, x, T::wide(&mut head.norm_f, room), &mut head.stats_f)?;
        self.keep(&mut head.norm_f, room)
    }

    /// Logits of normalised tokens, `[tokens, padded vocabulary]`.
    pub fn logits(&mut self, x: &Slice<T>, logits: &mut Slice<T>) -> Result<(), OpError> {
        let head = self.network.layout.lm_head;
        self.rounded().linear((head, None), x, logits, None)
    }
}
