//! Routing, grouping and outputs of experts.

use super::{
    CudaExperts, DeviceRouting, DeviceRows, DeviceState, DeviceWeights, args, check_rows, embedding_floats, warps,
};
use super::{
    args as sizes,
    args::{
        CombineRows, CountAssignments, GatherTokens, OffsetGroups, PlaceAssignments, RouteTokens, RouterArgs, TILE,
    },
};
use crate::{
    gpu::{Any, Frame, Grid, Pass, Slice},
    kinds::{
        language::cuda::format::ModelFormat,
        synaptic::experts::{FEATURES, Mixture, Router},
    },
    nn::{
        activation::Activation,
        gemm::{
            Epilogue, Gemm, Split,
            cuda::{CudaGemm, CudaGemmError, Options},
        },
        lengths,
    },
};

impl CudaExperts {
    /// Routes the tokens x `[N, C]`, with f32 GEMMs. Fails if lengths or sizes do not fit, or the device fails.
    pub fn route<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        gemm: &CudaGemm,
        op: &Router,
        x: &Slice<f32>,
        weights: DeviceWeights<'_, T>,
        state: DeviceState<'_>,
        out: &mut DeviceRouting<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        let (tokens, e, k) = (x.len() / op.width.max(1), op.experts, op.top_k);
        let gpu_error = crate::gpu::GpuError::from;
        lengths::check([
            ("the input of a router", &[tokens, op.width], x.len()),
            ("the genomes of a router", &[e, 4], state.genome.len()),
            ("the embeddings of a router", &[e, FEATURES], state.embeddings.len()),
            ("the probe features of tokens", &[tokens, FEATURES], out.features.len()),
            ("the gates of tokens", &[tokens, k], out.gates.len()),
            ("the selected experts of tokens", &[tokens, k], out.indices.len()),
            ("the offsets of groups", &[e + 1], out.offsets.len()),
        ])
        .map_err(gpu_error)?;
        if tokens == 0 {
            return Ok(());
        }
        {
            let inner = frame.frame();
            let mut z = inner.take::<f32>("logits of the router", tokens * e)?;
            let multiply = |pass: &mut Pass, n: usize, w: &Slice<f32>, to: &mut Slice<f32>| {
                let op = Gemm::new(tokens, n, op.width).transposed_b();
                gemm.run(pass, &op, (x, w), to, Epilogue::None, Options::default()).map(drop)
            };
            multiply(pass, e, weights.router, &mut z)?;
            multiply(pass, FEATURES, weights.probe, out.features)?;
            let a = RouterArgs { is_reference: self.is_earlier.into(), ..args(op, tokens, 0.0, false) };
            let DeviceState { genome, embeddings, fatigue, energy, balance, alive } = state;
            // The grid has at most as many blocks as are resident, because each block first computes the terms that all
            // tokens share.
            let blocks = [tokens.div_ceil(8).min(4 * self.multiprocessors as usize) as u32, 1, 1];
            let shared_bytes = 4 * (embedding_floats(op) + 2 * e as u32);
            let grid = Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes };
            RouteTokens {
                a,
                z: &z,
                features: out.features,
                genome,
                embeddings,
                fatigue,
                energy,
                balance,
                alive,
                inverse_norms: out.inverse_norms,
                indices: out.indices,
                gates: out.gates,
                cosines: out.cosines,
            }
            .launch(&self.kernels, pass, grid)?;
            pass.last_work(tokens as u64, 4 * (tokens * (e + FEATURES + 3 * k)) as u64, 0);
        }
        self.sort(pass, op, tokens, out, frame)
    }

    /// Sorts assignments by expert, then by token. Fails if the sizes do not match or a launch fails.
    pub fn sort(
        &self,
        pass: &mut Pass,
        op: &Router,
        tokens: usize,
        out: &mut DeviceRouting<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        let inner = frame.frame();
        let a = args(op, tokens, 0.0, false);
        let n_tiles = op.rows(tokens).div_ceil(TILE as usize) as u32;
        let mut tiles = inner.take::<u32>("counts of tiles", n_tiles as usize * op.experts)?;
        let of_tiles = Grid::Blocks { blocks: [n_tiles, 1, 1], threads: [512, 1, 1], shared_bytes: 0 };
        CountAssignments { a, indices: out.indices, tiles: &mut tiles }.launch(&self.kernels, pass, of_tiles)?;
        let one = Grid::Blocks { blocks: [1, 1, 1], threads: [sizes::MAX_EXPERTS, 1, 1], shared_bytes: 0 };
        OffsetGroups { a, n_tiles, tiles: &mut tiles, counts: out.counts, offsets: out.offsets }.launch(
            &self.kernels,
            pass,
            one,
        )?;
        let shared = 4 * (512 / 32 + 1) * op.experts as u32;
        PlaceAssignments {
            a,
            indices: out.indices,
            offsets: out.offsets,
            tiles: &tiles,
            order: out.order,
            ranks: out.ranks,
        }
        .launch(&self.kernels, pass, of_tiles.with_shared(shared))?;
        pass.last_work(op.rows(tokens) as u64, 12 * op.rows(tokens) as u64, 0);
        Ok(())
    }

    /// Computes `out = base + Σ gate · expert(x)`; x, base and out are `[N, C]`. Fails if the sizes do not match or a
    /// launch fails.
    pub fn forward<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        (gemm, options): (&CudaGemm, Options),
        (router, op): (&Router, &Mixture),
        (x, base): (&Slice<f32>, &Slice<f32>),
        weights: DeviceWeights<'_, T>,
        routing: &DeviceRouting<'_>,
        rows: &mut DeviceRows<'_, T>,
        out: &mut Slice<f32>,
    ) -> Result<(), CudaGemmError> {
        let (tokens, n) = (x.len() / op.width.max(1), rows.inputs.len() / op.width.max(1));
        check_rows(op, tokens).map_err(|why| crate::gpu::GpuError::Driver {
            doing: "sending tokens to experts".to_owned(),
            why: why.to_string(),
        })?;
        self.gather(pass, router, x, routing, rows)?;
        let up = Gemm::new(n, op.hidden, op.width).transposed_b().groups(Split::Rows, op.experts);
        let squared = Epilogue::Activation {
            f: Activation::ReluSquared,
            bias: Some(weights.fc1_bias),
            aux: Some(&mut *rows.linear),
        };
        let groups = (Split::Rows, &*routing.offsets);
        gemm.run_groups(pass, &up, groups, (&*rows.inputs, weights.fc1), &mut *rows.hidden, squared, options)?;
        let down = Gemm::new(n, op.width, op.hidden).transposed_b().groups(Split::Rows, op.experts);
        let bias = Epilogue::Bias(weights.fc2_bias);
        gemm.run_groups(pass, &down, groups, (&*rows.hidden, weights.fc2), &mut *rows.outputs, bias, options)?;
        let gates = Some(&*routing.gates);
        self.combine(pass, router, (rows.outputs, gates, Some(base)), routing, out)
    }

    /// Gathers the tokens into the rows of their groups. Fails if the sizes do not match or a launch fails.
    fn gather<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        op: &Router,
        x: &Slice<f32>,
        routing: &DeviceRouting<'_>,
        rows: &mut DeviceRows<'_, T>,
    ) -> Result<(), CudaGemmError> {
        let n = routing.order.len();
        lengths::check([
            ("the inputs of experts", &[n, op.width], rows.inputs.len()),
            ("the input of a mixture", &[n / op.top_k, op.width], x.len()),
        ])
        .map_err(crate::gpu::GpuError::from)?;
        let is_aligned = is_aligned(op, &[Any::from(x), Any::from(&*rows.inputs)]);
        let a = args(op, n / op.top_k, 0.0, is_aligned);
        let n_bytes = 2 * rows.inputs.bytes();
        let is_rounded = T::HAS_COPY.into();
        GatherTokens { a, is_rounded, order: routing.order, x, rows: (&mut *rows.inputs).into() }.launch(
            &self.kernels,
            pass,
            warps(n),
        )?;
        pass.last_work(n as u64, n_bytes, 0);
        Ok(())
    }

    /// Computes `out = base + Σ gate · row`, or `out = base + Σ row` without gates. Fails if the sizes do not match or a
    /// launch fails.
    pub(super) fn combine(
        &self,
        pass: &mut Pass,
        op: &Router,
        (rows, gates, base): (&Slice<f32>, Option<&Slice<f32>>, Option<&Slice<f32>>),
        routing: &DeviceRouting<'_>,
        out: &mut Slice<f32>,
    ) -> Result<(), CudaGemmError> {
        let tokens = out.len() / op.width.max(1);
        lengths::check([
            ("the output of a mixture", &[tokens, op.width], base.map_or(out.len(), |base| base.len())),
            ("the outputs of experts", &[tokens, op.top_k, op.width], rows.len()),
        ])
        .map_err(crate::gpu::GpuError::from)?;
        let base = Any::or_none(base);
        let a = args(op, tokens, 0.0, is_aligned(op, &[Any::from(rows), base, Any::from(&*out)]));
        let n_bytes = rows.bytes() + 2 * out.bytes();
        CombineRows { a, ranks: routing.ranks, gates: Any::or_none(gates), rows, base, out }.launch(
            &self.kernels,
            pass,
            warps(tokens),
        )?;
        pass.last_work(tokens as u64, n_bytes, 0);
        Ok(())
    }
}

/// Whether rows of tokens can be accessed 16 bytes at a time.
pub(super) fn is_aligned(op: &Router, all: &[Any<'_>]) -> bool {
    op.width.is_multiple_of(4) && all.iter().all(|x| x.is_aligned_to(16))
}
