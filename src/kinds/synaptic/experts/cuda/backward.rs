//! Gradients of experts and router, statistics of a step, and the router update.

use super::{
    CudaExperts, DeviceGradients, DeviceRouting, DeviceRows, DeviceState, DeviceStateMut, DeviceStatistics,
    DeviceWeights, STATISTICS, args,
    args::{
        AddGroupParts, AddStatistics, BatchWeights, DecodeGenomes, DifferentiateRouting, PARTS, RepelEmbeddings,
        RouterArgs, ScatterGradients, StepTokens, SumExperts, SumGroupParts, UpdateRouter,
    },
    embedding_floats,
    forward::is_aligned,
    rates, warps,
};
use crate::{
    gpu::{Any, Frame, GpuError, Grid, Pass, Slice},
    kinds::{
        language::cuda::{format::ModelFormat, layers::ModelOps},
        synaptic::experts::{FEATURES, GENES, Mixture, Router},
    },
    nn::{
        activation::Activation,
        gemm::{
            Epilogue, Gemm, Split,
            cuda::{CudaGemm, CudaGemmError, Options},
        },
        lengths,
        optimizer::cuda::OptimizerState,
    },
};

/// Storage of the gradients of expert matrices in a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixGradients {
    /// Gradients are overwritten. This applies to the first micro-batch of a step, before which they are not cleared.
    Written,
    /// Gradients are added to those of earlier micro-batches.
    Added,
}

impl CudaExperts {
    /// Writes the gradient of the experts' input to `dx` and the gradients of the gates to `dgates`. Adds the gradients
    /// of the biases, and stores those of the matrices as `of_matrices` states. Overwrites the rows. For formats other
    /// than f32, `room`, which has the size of the outputs, is workspace for rounding. Fails if the sizes do not match
    /// or the device fails.
    pub fn backward<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        ops: &ModelOps,
        (router, op): (&Router, &Mixture),
        weights: DeviceWeights<'_, T>,
        routing: &DeviceRouting<'_>,
        (rows, room): (&mut DeviceRows<'_, T>, &mut Slice<T>),
        dout: &Slice<f32>,
        dx: &mut Slice<f32>,
        dgates: &mut Slice<f32>,
        gradients: &mut DeviceGradients<'_>,
        of_matrices: MatrixGradients,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        let n = routing.order.len();
        lengths::check([
            ("the gradient of gates", &[n], dgates.len()),
            ("the outputs of experts", &[n, op.width], rows.outputs.len()),
            ("the gradient of a mixture", &[n / op.top_k, op.width], dout.len()),
            ("the gradient of the input of a mixture", &[n / op.top_k, op.width], dx.len()),
        ])
        .map_err(GpuError::from)?;
        let aligned = is_aligned(router, &[Any::from(dout), Any::from(&*rows.outputs)]);
        let a = args(router, n / op.top_k, 0.0, aligned);
        let n_bytes = 3 * rows.outputs.bytes();
        ScatterGradients { a, order: routing.order, gates: routing.gates, dout, rows: rows.outputs, dgates }.launch(
            &self.kernels,
            pass,
            warps(n),
        )?;
        pass.last_work(n as u64, n_bytes, 0);
        // From this point on, `outputs` contains the gradients of the outputs.
        let of_rows = (Split::Rows, &*routing.offsets);
        let of_depth = (Split::Depth, &*routing.offsets);
        let beta = match of_matrices {
            MatrixGradients::Written => 0.0,
            MatrixGradients::Added => 1.0,
        };
        let add = |outputs, inputs| {
            Gemm::new(outputs, inputs, n).transposed_a().scaled(1.0, beta).groups(Split::Depth, op.experts)
        };
        let (gemm, options) = (&ops.gemm, ops.options);
        let dy = T::rounded(rows.outputs, room, |x, to| ops.optimizer.round(pass, x, to))?;
        let (dy, hidden) = (&*dy, &*rows.hidden);
        let fc2 = add(op.width, op.hidden);
        gemm.run_groups(pass, &fc2, of_depth, (dy, hidden), &mut *gradients.fc2, Epilogue::None, options)?;
        self.add_columns(pass, op, op.width, routing, rows.outputs, gradients.fc2_bias, frame)?;
        let down = Gemm::new(n, op.hidden, op.width).groups(Split::Rows, op.experts);
        let slope = Epilogue::Gradient { f: Activation::ReluSquared, aux: &*rows.linear };
        gemm.run_groups(pass, &down, of_rows, (dy, weights.fc2), &mut *rows.hidden, slope, options)?;
        // From this point on, `hidden` contains the gradient of `linear`.
        let (dz, inputs) = (&*rows.hidden, &*rows.inputs);
        let fc1 = add(op.hidden, op.width);
        gemm.run_groups(pass, &fc1, of_depth, (dz, inputs), &mut *gradients.fc1, Epilogue::None, options)?;
        self.add_columns(pass, op, op.hidden, routing, rows.hidden, gradients.fc1_bias, frame)?;
        let up = Gemm::new(n, op.width, op.hidden).groups(Split::Rows, op.experts);
        let (dz, fc1) = (&*rows.hidden, weights.fc1);
        gemm.run_groups(pass, &up, of_rows, (dz, fc1), &mut *rows.outputs, Epilogue::None, options)?;
        self.combine(pass, router, (rows.outputs, None, None), routing, dx)
    }

    /// Computes `db += Σ dy` for each expert. Fails if the sizes do not match or a launch fails.
    fn add_columns<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        op: &Mixture,
        columns: usize,
        routing: &DeviceRouting<'_>,
        dy: &Slice<T>,
        to: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        lengths::check([("the bias of experts", &[op.experts, columns], to.len())]).map_err(GpuError::from)?;
        let inner = frame.frame();
        let mut partials = inner.take::<f32>("sums of groups", op.experts * PARTS as usize * columns)?;
        let blocks = [columns.div_ceil(32) as u32, PARTS, op.experts as u32];
        let grid = Grid::Blocks { blocks, threads: [32, 8, 1], shared_bytes: 0 };
        let (columns, n) = (columns as u32, to.len() as u32);
        let is_rounded = T::HAS_COPY.into();
        SumGroupParts { columns, is_rounded, offsets: routing.offsets, dy: dy.into(), partials: &mut partials }
            .launch(&self.kernels, pass, grid)?;
        pass.last_work(dy.len() as u64, dy.bytes(), 0);
        Ok(AddGroupParts { columns, n, partials: &partials, to }.launch(&self.kernels, pass, n)?)
    }

    /// Adds the gradients of the router: the gradient of the input to `dx`, and those of the weights to `gradients`. Only
    /// the decisions of the forward pass need f32 GEMMs, so `options` apply here. Fails if the sizes do not match or a
    /// launch fails.
    pub fn route_backward<T: ModelFormat>(
        &self,
        pass: &mut Pass,
        (gemm, options): (&CudaGemm, Options),
        (op, aux_weight): (&Router, f32),
        batch: &Slice<BatchWeights>,
        x: &Slice<f32>,
        weights: DeviceWeights<'_, T>,
        state: DeviceState<'_>,
        routing: &DeviceRouting<'_>,
        dgates: &Slice<f32>,
        dx: &mut Slice<f32>,
        gradients: &mut DeviceGradients<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaGemmError> {
        let (tokens, width) = (x.len() / op.width.max(1), op.width);
        let inner = frame.frame();
        let mut dlogits = inner.take::<f32>("gradients of the router's logits", tokens * op.experts)?;
        let mut dfeatures = inner.take::<f32>("gradients of probe features", tokens * FEATURES)?;
        DifferentiateRouting {
            a: args(op, tokens, aux_weight, false),
            weights: batch,
            indices: routing.indices,
            gates: routing.gates,
            cosines: routing.cosines,
            inverse_norms: routing.inverse_norms,
            features: routing.features,
            embeddings: state.embeddings,
            alive: state.alive,
            counts: routing.counts,
            dgates,
            dlogits: &mut dlogits,
            dfeatures: &mut dfeatures,
        }
        .launch(&self.kernels, pass, warps(tokens))?;
        pass.last_work(tokens as u64, dlogits.bytes() + 2 * dfeatures.bytes(), 0);
        let both = [(&*dlogits, weights.router, op.experts), (&*dfeatures, weights.probe, FEATURES)];
        for (d, weight, n) in both {
            let by_weight = Gemm::new(tokens, width, n).scaled(1.0, 1.0);
            gemm.run(pass, &by_weight, (d, weight), &mut *dx, Epilogue::None, options)?;
        }
        let both = [(&*dlogits, &mut *gradients.router, op.experts), (&*dfeatures, &mut *gradients.probe, FEATURES)];
        for (d, to, n) in both {
            let by_input = Gemm::new(n, width, tokens).transposed_a().scaled(1.0, 1.0);
            gemm.run(pass, &by_input, (d, x), to, Epilogue::None, options)?;
        }
        Ok(())
    }

    /// Adds load, served features, contribution and auxiliary loss of a micro-batch to the sums of the step. Fails if the
    /// sizes do not match or a launch fails.
    pub fn add_statistics(
        &self,
        pass: &mut Pass,
        op: &Router,
        batch: &Slice<BatchWeights>,
        state: DeviceState<'_>,
        routing: &DeviceRouting<'_>,
        dgates: &Slice<f32>,
        to: DeviceStatistics<'_>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        lengths::check([
            ("the statistics of experts", &[op.experts, STATISTICS], to.experts.len()),
            ("the auxiliary loss", &[1], to.aux.len()),
        ])?;
        let inner = frame.frame();
        let mut partials = inner.take::<f64>("sums of experts", op.experts * PARTS as usize * STATISTICS)?;
        let a = args(op, routing.inverse_norms.len(), 0.0, false);
        let blocks = [op.experts as u32, PARTS, 1];
        SumExperts {
            a,
            order: routing.order,
            offsets: routing.offsets,
            gates: routing.gates,
            dgates,
            features: routing.features,
            inverse_norms: routing.inverse_norms,
            partials: &mut partials,
        }
        .launch(&self.kernels, pass, Grid::Blocks { blocks, threads: [1024, 1, 1], shared_bytes: 0 })?;
        pass.last_work(routing.order.len() as u64, routing.features.bytes() * op.top_k as u64, 0);
        let (experts, aux) = (to.experts, to.aux);
        let of = AddStatistics {
            a,
            weights: batch,
            counts: routing.counts,
            alive: state.alive,
            partials: &partials,
            statistics: experts,
            aux,
        };
        of.launch(&self.kernels, pass, Grid::Blocks { blocks: [1, 1, 1], threads: [1024, 1, 1], shared_bytes: 0 })
    }

    /// Updates metabolism, balance and embeddings of all layers except frozen ones, if the optimiser applied its update.
    /// `genome` spans the genomes of the first to the last layer at a constant stride. Fails if the sizes do not match or a
    /// launch fails.
    pub fn update(
        &self,
        pass: &mut Pass,
        op: &Router,
        (step, optimizer): (&Slice<StepTokens>, &Slice<OptimizerState>),
        frozen: &Slice<u32>,
        statistics: &Slice<f64>,
        to: DeviceStateMut<'_>,
    ) -> Result<(), GpuError> {
        let DeviceStateMut { genome, alive, embeddings, next, fatigue, energy, balance } = to;
        let (layers, own) = (frozen.len(), op.experts * GENES);
        let Some(others) = layers.checked_sub(1) else { return Ok(()) };
        let stride = genome.len().saturating_sub(own).checked_div(others).unwrap_or(0);
        lengths::check([
            ("the statistics of experts", &[layers, op.experts, STATISTICS], statistics.len()),
            ("the embeddings of routers", &[layers, op.experts, FEATURES], embeddings.len()),
            ("the next embeddings of routers", &[layers, op.experts, FEATURES], next.len()),
            ("the genomes of routers", &[others * stride + own], genome.len()),
            ("the living experts", &[layers, op.experts], alive.len()),
            ("the fatigue of experts", &[layers, op.experts], fatigue.len()),
            ("the energy of experts", &[layers, op.experts], energy.len()),
            ("the balance of experts", &[layers, op.experts], balance.len()),
        ])?;
        let (shared_bytes, stride) = (4 * embedding_floats(op), stride as u64);
        let blocks = [layers as u32, op.experts.div_ceil(8) as u32, 1];
        let grid = Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes };
        let a = RouterArgs { is_reference: self.is_earlier.into(), ..args(op, 0, 0.0, false) };
        UpdateRouter {
            a,
            r: rates(op),
            stride,
            step,
            state: optimizer,
            frozen,
            statistics,
            genome,
            alive,
            embeddings: &*embeddings,
            fatigue,
            energy,
            balance,
            next: &mut *next,
        }
        .launch(&self.kernels, pass, grid)?;
        embeddings.copy_from(next)?;
        if !self.is_earlier {
            return Ok(());
        }
        let grid = Grid::Blocks { blocks: [layers as u32, 1, 1], threads: [256, 1, 1], shared_bytes };
        RepelEmbeddings { a, step, state: optimizer, frozen, statistics, embeddings }.launch(&self.kernels, pass, grid)
    }

    /// Decodes genomes `[E, 4]` to `[E, 4]` in the order of [`Phenotype::values`](super::super::Phenotype::values). Fails
    /// if the sizes do not match or a launch fails.
    pub fn decode_genomes(
        &self,
        pass: &mut Pass,
        genome: &Slice<f32>,
        phenotypes: &mut Slice<f64>,
    ) -> Result<(), GpuError> {
        let experts = genome.len() / GENES;
        lengths::check([
            ("the genomes of experts", &[experts, GENES], genome.len()),
            ("the phenotypes of experts", &[experts, GENES], phenotypes.len()),
        ])?;
        let experts = experts as u32;
        DecodeGenomes { experts, genome, phenotypes }.launch(&self.kernels, pass, experts)
    }
}
