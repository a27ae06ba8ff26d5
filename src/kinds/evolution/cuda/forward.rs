//! Launches of a forward pass.

use super::{
    kernels::{
        AttentionKernels, AttentionOutputs, AttentionProducts, AttentionRows, AttentionRowsOut, AttentionStates,
        AttentionSteps, DeltaRuleArgs, DrawSigns, DrawText, DrawVectors, Draws, EmbedRows, GeluRows, InputRows,
        LossRows, MatrixArgs, MergeFullRank, MlpRows, PassArgs, PopulationKernels, TensorArgs,
    },
    memory::{Work, first_elements, first_words},
};
use crate::{
    gpu::{Gpu, GpuError, Grid, Pass, Slice},
    kinds::{
        evolution::{
            model::{Matrix, Role, Sizes, Vector},
            network::Network,
            noise::LowRank,
            strategy::{NoiseForm, Settings},
        },
        language::cuda::error::OpError,
    },
    nn::{
        delta_rule::{Method, cpu::StateFormat},
        gemm::{
            Epilogue, Gemm,
            cuda::{CudaGemm, Options},
        },
        parameters::ParameterMap,
    },
};
use std::sync::Arc;

/// Columns of values per block in the kernels of attention.
const COLUMNS: u32 = 64;

/// Kernels and sizes of a forward pass.
pub struct Forward {
    network: Network,
    map: Arc<ParameterMap>,
    population: PopulationKernels,
    attention: AttentionKernels,
    gemm: CudaGemm,
}

/// Rows of a pass, and their perturbation.
#[derive(Clone, Copy)]
pub struct Rows {
    /// Number of members.
    pub members: usize,
    /// Rows of each member.
    pub per_member: usize,
    /// Scale of the perturbation; `None` for the unperturbed model.
    pub perturbed: Option<(NoiseForm, u32)>,
}

impl Rows {
    const fn all(&self) -> usize {
        self.members * self.per_member
    }

    const fn shift(&self) -> u32 {
        match self.perturbed {
            Some((_, shift)) => shift,
            None => 0,
        }
    }

    const fn rank(&self) -> usize {
        match self.perturbed {
            Some((NoiseForm::LowRank(rank), _)) => rank,
            _ => 0,
        }
    }

    /// Whether each member has its own weights.
    const fn is_merged(&self) -> bool {
        matches!(self.perturbed, Some((NoiseForm::FullRank(_), _)))
    }
}

/// Where the losses of rows go.
pub enum Losses<'a> {
    /// Sums of members, to which they are added.
    Members(&'a mut Slice<u64>),
    /// The workspace, one per row.
    Rows,
}

impl Forward {
    /// Loads the kernels. Fails if the device fails.
    pub fn new(gpu: &Arc<Gpu>, network: Network, map: &Arc<ParameterMap>) -> Result<Self, GpuError> {
        Ok(Self {
            network,
            map: map.clone(),
            population: PopulationKernels::load(gpu)?,
            attention: AttentionKernels::load(gpu)?,
            gemm: CudaGemm::new(gpu),
        })
    }

    /// Returns the kernels of draws and rows.
    pub const fn population(&self) -> &PopulationKernels {
        &self.population
    }

    /// Returns the matrix multiplications.
    pub const fn gemm(&self) -> &CudaGemm {
        &self.gemm
    }

    /// Returns all tensors in the layout of the parameters, with the layer by which each is frozen.
    pub fn tensors(&self, settings: &Settings) -> Vec<TensorArgs> {
        let sizes = &self.network.sizes;
        let rank = if let NoiseForm::LowRank(rank) = settings.noise { rank } else { 0 };
        let (matrices, (first, _)) = (sizes.matrices(), first_words(sizes, rank.max(1)));
        let tensor = |(index, view): (usize, &crate::nn::parameters::View)| {
            let matrix = matrices.get(index);
            let vector = (index >= matrices.len()).then(|| Vector::ALL[index - matrices.len()]);
            TensorArgs {
                salt: matrix.map_or_else(|| vector.map_or(0, Vector::salt), Matrix::salt),
                start: view.start as u32,
                len: view.len() as u32,
                columns: view.shape.last().copied().unwrap_or(1) as u32,
                index: index as u32,
                first_word: first.get(index).copied().unwrap_or(0) as u32,
                words: matrix.map_or(0, |m| (rank * (m.rows + m.columns)).div_ceil(64)) as u32,
                factor: if rank > 0 { LowRank::factor(rank) } else { 1 },
                layer: sizes.layer(index).map_or(super::kernels::GATE_BIASES, |layer| layer.index(sizes.layers) as u32),
                is_vector: vector.is_some().into(),
                is_fixed: (vector == Some(Vector::Positions) && !settings.trains_positions).into(),
            }
        };
        self.map.views().enumerate().map(tensor).collect()
    }

    /// Draws the perturbations of pairs. Fails if the device fails.
    pub fn draw_noise(
        &self,
        pass: &mut Pass,
        (draws, pairs): (Draws, usize),
        tensors: &[TensorArgs],
        shifted: &Slice<i8>,
        work: &mut Work,
    ) -> Result<(), GpuError> {
        let sizes = &self.network.sizes;
        let ((first, n_vectors), words_per_pair) = (first_elements(sizes), work.sizes.words as u32);
        let (k, n) = (&self.population, pairs as u32);
        let grid =
            |items: u32| Grid::Blocks { blocks: [items.div_ceil(256), n, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let mut vector = 0;
        for t in tensors.iter().copied() {
            if t.is_vector != 0 {
                let launch = DrawVectors {
                    d: draws,
                    t,
                    pairs: n,
                    n: n_vectors as u32,
                    first: first[vector] as u32,
                    noise: &mut work.noise,
                };
                launch.launch(k, pass, grid(t.len))?;
                vector += 1;
            } else if draws.is_low_rank != 0 {
                let words = &mut work.signs;
                DrawSigns { d: draws, t, pairs: n, words_per_pair, words }.launch(k, pass, grid(t.words))?;
            } else {
                let (n_all, merged) = (self.map.len() as u32, &mut work.merged);
                MergeFullRank { d: draws, t, pairs: n, n: n_all, shifted, merged }.launch(k, pass, grid(t.len))?;
            }
        }
        Ok(())
    }

    /// Draws sequences `first..first + sequences` of pairs. Fails if the device fails.
    pub fn draw_text(
        &self,
        pass: &mut Pass,
        (draws, pairs): (Draws, usize),
        (first, sequences): (usize, usize),
        text: &Slice<u16>,
        work: &mut Work,
    ) -> Result<(), GpuError> {
        let steps = self.network.sizes.steps;
        let starts = text.len().saturating_sub(steps + 1).max(1) as u64;
        let items = (sequences * steps) as u32;
        let grid =
            Grid::Blocks { blocks: [items.div_ceil(256), pairs as u32, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let launch = DrawText {
            d: draws,
            pairs: pairs as u32,
            first: first as u32,
            sequences: sequences as u32,
            steps: steps as u32,
            starts,
            text,
            tokens: &mut work.tokens,
            targets: &mut work.targets,
        };
        launch.launch(&self.population, pass, grid)
    }

    fn args(&self, rows: Rows, words: u32) -> PassArgs {
        let (sizes, scales) = (&self.network.sizes, &self.network.scales);
        PassArgs {
            rows: rows.per_member as u32,
            steps: sizes.steps as u32,
            width: sizes.width as u32,
            is_perturbed: rows.perturbed.is_some().into(),
            shift: rows.shift(),
            rank: rows.rank() as u32,
            factor: if rows.rank() > 0 { LowRank::factor(rows.rank()) } else { 1 },
            words,
            vectors: first_elements(sizes).1 as u32,
            is_live: scales.is_live.into(),
            activation: scales.activation,
            mlp_activation: scales.mlp_activation,
            norm: scales.norm,
            residual: scales.residual,
            mlp_residual: scales.mlp_residual,
        }
    }

    fn matrix(&self, rows: Rows, role: Role, layer: usize, input_shift: u32) -> MatrixArgs {
        let sizes = &self.network.sizes;
        let at = sizes.index(role, layer);
        let matrix = sizes.matrix(at);
        let unit = 1.0 / (1_u64 << (rows.shift() + input_shift)) as f32;
        MatrixArgs {
            outputs: matrix.rows as u32,
            inputs: matrix.columns as u32,
            first_word: first_words(sizes, rows.rank().max(1)).0[at] as u32,
            scale: unit / (matrix.columns as f32).sqrt(),
        }
    }

    /// Multiplies rows of activations by a matrix of shared or merged weights.
    fn multiply(
        &self,
        pass: &mut Pass,
        rows: Rows,
        (role, layer): (Role, usize),
        (x, weights): (&Slice<i8>, &Slice<i8>),
        sums: &mut Slice<i32>,
    ) -> Result<(), OpError> {
        let sizes = &self.network.sizes;
        let at = sizes.index(role, layer);
        let matrix = sizes.matrix(at);
        let Some(view) = self.map.views().nth(at) else { return Err(OpError::no_matrix()) };
        let (n, k) = (matrix.rows, matrix.columns);
        let gemm = if rows.is_merged() {
            let mut gemm = Gemm::<i32>::new(rows.per_member, n, k).transposed_b().batch(rows.members);
            gemm.b.stride = self.map.len();
            gemm
        } else {
            Gemm::<i32>::new(rows.all(), n, k).transposed_b()
        };
        let weights = weights.part(view.start..weights.len())?;
        self.gemm.run(pass, &gemm, (x, &weights), sums, Epilogue::None, Options::default())?;
        Ok(())
    }

    /// Computes the losses of rows, whose tokens, targets and noise are in the workspace. `weights` are the shared weights, or
    /// those of the first member; `shadows` holds the vectors. Fails if the device fails.
    pub fn losses(
        &self,
        pass: &mut Pass,
        rows: Rows,
        (shared, shadows): (&Slice<i8>, &Slice<f32>),
        work: &mut Work,
        losses: Losses<'_>,
    ) -> Result<(), OpError> {
        let sizes = self.network.sizes;
        let Sizes { width, layers, .. } = sizes;
        let (n, p) = (rows.all(), self.args(rows, work.sizes.words as u32));
        let Work {
            signs,
            merged,
            noise,
            tokens,
            targets,
            x,
            y,
            hidden,
            sums,
            query,
            key,
            value,
            gate,
            output,
            products,
            divisors,
            row_losses,
            ..
        } = work;
        let weights: &Slice<i8> = if rows.is_merged() { merged } else { shared };
        let (k, n32) = (&self.population, n as u32);
        let grid = Grid::Threads(n32 * 32);
        let vector = |vector: Vector| -> Result<crate::gpu::View<'_, f32>, GpuError> {
            let view = self.map.views().nth(self.map.views().len() - Vector::ALL.len() + vector as usize);
            let range = view.map_or(0..0, crate::nn::parameters::View::range);
            shadows.part(range)
        };
        let (first, _) = first_elements(&sizes);
        let (of_embedding, stride) =
            (self.matrix(rows, Role::Embedding, 0, 0), if rows.is_merged() { self.map.len() as u32 } else { 0 });
        EmbedRows { p, w: of_embedding, rows: n32, stride, signs, weights, tokens, y }.launch(k, pass, grid)?;
        let input_shift = if self.network.scales.is_live { rows.shift() } else { 0 };
        self.multiply(pass, rows, (Role::Input, 0), (&*y.part(0..n * width)?, weights), &mut *sums)?;
        let w = self.matrix(rows, Role::Input, 0, input_shift);
        let positions = vector(Vector::Positions)?;
        // The embedded rows are read while normalised rows are written: they need a place of their own.
        let of_positions = noise.part(first[2]..noise.len())?;
        hidden.part_mut(0..n * width)?.copy_from(&*y.part(0..n * width)?)?;
        let embedded = hidden.part(0..n * width)?;
        InputRows {
            p,
            w,
            rows: n32,
            signs,
            noise: &of_positions,
            positions: &positions,
            embedded: &embedded,
            sums,
            x,
            y,
        }
        .launch(k, pass, grid)?;
        for layer in 0..layers {
            let of = [Role::Query, Role::Key, Role::Value, Role::Gate];
            {
                let [mut q, mut k_sums, mut v, mut g] = sums.parts_mut([
                    0..n * width,
                    n * width..2 * n * width,
                    2 * n * width..3 * n * width,
                    3 * n * width..3 * n * width + n,
                ])?;
                let normalised = y.part(0..n * width)?;
                for (role, to) in of.into_iter().zip([&mut q, &mut k_sums, &mut v, &mut g]) {
                    self.multiply(pass, rows, (role, layer), (&normalised, weights), to)?;
                }
            }
            let [of_query, of_key, of_value, of_gate] = of.map(|role| self.matrix(rows, role, layer, 0));
            let attention = self.network.attention;
            let a = DeltaRuleArgs {
                layer: layer as u32,
                first_bias: first[1] as u32,
                is_delta_net: (attention.method == Method::DeltaNet).into(),
                has_f16_state: (attention.state == Some(StateFormat::F16)).into(),
            };
            let part = |at: usize, len: usize| sums.part(at * n * width..at * n * width + len);
            let launch = AttentionRows {
                p,
                a,
                of_query,
                of_key,
                of_value,
                of_gate,
                rows: n32,
                signs,
                noise,
                gate_bias: &*vector(Vector::GateBias)?,
                y,
                query_sums: &*part(0, n * width)?,
                key_sums: &*part(1, n * width)?,
                value_sums: &*part(2, n * width)?,
                gate_sums: &*part(3, n)?,
                query,
                key,
                value,
                gate,
            };
            launch.launch(&self.attention, pass, grid)?;
            let blocks = Grid::Blocks { blocks: [n32.div_ceil(32), 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
            AttentionSteps { p, a, rows: n32, query, key, gate, roots: divisors }.launch(
                &self.attention,
                pass,
                blocks,
            )?;
            self.attend(pass, (p, a), n, [query, key, value, gate, divisors], products, output)?;
            AttentionRowsOut { p, rows: n32, output, x, y }.launch(k, pass, grid)?;
            self.multiply(pass, rows, (Role::Up, layer), (&*y.part(0..n * width)?, weights), &mut *sums)?;
            let w = self.matrix(rows, Role::Up, layer, 0);
            GeluRows { p, w, rows: n32, signs, y, sums, hidden }.launch(k, pass, grid)?;
            let columns = sizes.mlp_multiple * width;
            self.multiply(pass, rows, (Role::Down, layer), (&*hidden.part(0..n * columns)?, weights), &mut *sums)?;
            let w = self.matrix(rows, Role::Down, layer, 0);
            MlpRows { p, w, rows: n32, signs, hidden, sums, x, y }.launch(k, pass, grid)?;
        }
        self.multiply(pass, rows, (Role::Head, 0), (&*y.part(0..n * width)?, weights), &mut *sums)?;
        let w = self.matrix(rows, Role::Head, 0, 0);
        let (adds, losses) = match losses {
            Losses::Members(of_members) => (1, of_members),
            Losses::Rows => (0, &mut **row_losses),
        };
        let biases = vector(Vector::HeadBias)?;
        let launch = LossRows {
            p,
            w,
            rows: n32,
            adds,
            first_bias: first[0] as u32,
            signs,
            noise,
            biases: &biases,
            y,
            sums,
            targets,
            losses,
        };
        launch.launch(k, pass, grid)?;
        Ok(())
    }

    /// Launches the delta rule of all sequences.
    fn attend(
        &self,
        pass: &mut Pass,
        (p, a): (PassArgs, DeltaRuleArgs),
        rows: usize,
        [query, key, value, alphas, roots]: [&Slice<f32>; 5],
        products: &mut Slice<f32>,
        output: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        let (width, steps) = (p.width, p.steps);
        let sequences = rows as u32 / steps;
        let blocks = |columns: u32, threads: u32, shared_bytes| Grid::Blocks {
            blocks: [width.div_ceil(columns), sequences, 1],
            threads: [threads, 1, 1],
            shared_bytes,
        };
        if self.network.attention.state.is_some() {
            let columns = COLUMNS.min(width.next_multiple_of(32));
            let grid = blocks(columns, columns, 4 * (width * columns + 2 * width));
            let launch = AttentionStates { p, a, query, key, value, alphas, roots, output };
            return launch.launch(&self.attention, pass, grid);
        }
        let tiles = steps.div_ceil(64);
        let grid = Grid::Blocks { blocks: [tiles, tiles, sequences], threads: [256, 1, 1], shared_bytes: 0 };
        AttentionProducts { p, query, key, roots, products }.launch(&self.attention, pass, grid)?;
        // Two columns per thread; corrections of long sequences leave room for one warp only.
        let threads = if steps > 256 || width <= 64 { 32 } else { COLUMNS };
        let grid = blocks(2 * threads, threads, 4 * (2 * steps * threads + 16 * steps));
        AttentionOutputs { p, products, value, alphas, output }.launch(&self.attention, pass, grid)
    }
}
