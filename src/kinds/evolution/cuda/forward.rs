//! Launches of a forward pass.

use super::{
    activations::{InputSums, perturb},
    attention::{Gate, StepBuffers},
    kernels::{
        ActivationKernels, AttentionKernels, AttentionRowsOut, DrawSigns, DrawText, DrawVectors, Draws, EmbedRows,
        GeluRows, InputRows, LossRows, MatrixArgs, MergeFullRank, MlpRows, PassArgs, PopulationKernels, TensorArgs,
    },
    memory::{SignWords, Work, first_elements},
    rows::Rows,
};
use crate::{
    gpu::{Gpu, GpuError, Grid, Pass, Slice},
    kinds::{
        evolution::{
            activation_noise::ActivationSigns,
            model::{Matrix, Role, Sizes, Vector},
            network::Network,
            noise::LowRank,
            strategy::{NoiseForm, Settings},
        },
        language::cuda::error::OpError,
    },
    nn::{gemm::cuda::CudaGemm, parameters::ParameterMap},
};
use std::sync::Arc;

/// Kernels and sizes of a forward pass.
pub struct Forward {
    pub(super) network: Network,
    pub(super) map: Arc<ParameterMap>,
    population: PopulationKernels,
    pub(super) attention: AttentionKernels,
    activations: ActivationKernels,
    pub(super) gemm: CudaGemm,
}

/// Destination of the losses of rows.
pub enum Losses<'a> {
    /// Sums of all members, to which the losses of their rows are added.
    Members(&'a mut Slice<u64>),
    /// The workspace, which receives one loss per row.
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
            activations: ActivationKernels::load(gpu)?,
            gemm: CudaGemm::new(gpu),
        })
    }

    /// Returns the kernels of draws and rows.
    pub const fn population(&self) -> &PopulationKernels {
        &self.population
    }

    /// Returns the kernels of perturbed activations.
    pub const fn activations(&self) -> &ActivationKernels {
        &self.activations
    }

    /// Returns the matrix multiplications.
    pub const fn gemm(&self) -> &CudaGemm {
        &self.gemm
    }

    /// Returns all tensors in the layout of the parameters, with the layer by which each is frozen.
    pub fn tensors(&self, settings: &Settings) -> Vec<TensorArgs> {
        let sizes = &self.network.sizes;
        let rank = if let NoiseForm::LowRank(rank) = settings.noise { rank } else { 0 };
        let (matrices, signs) = (sizes.matrices(), SignWords::new(sizes, settings));
        let tensor = |(index, view): (usize, &crate::nn::parameters::View)| {
            let matrix = matrices.get(index);
            let vector = (index >= matrices.len()).then(|| Vector::ALL[index - matrices.len()]);
            TensorArgs {
                salt: matrix.map_or_else(|| vector.map_or(0, Vector::salt), Matrix::salt),
                start: view.start as u32,
                len: view.len() as u32,
                columns: view.shape.last().copied().unwrap_or(1) as u32,
                index: index as u32,
                first_word: signs.first.get(index).copied().unwrap_or(0) as u32,
                words: signs.words.get(index).copied().unwrap_or(0) as u32,
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
        (draws, pairs): (&Slice<Draws>, usize),
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
            if t.is_vector != 0 && work.sizes.perturbs_activations {
                continue;
            }
            if t.is_vector != 0 {
                let launch = DrawVectors {
                    draws,
                    t,
                    pairs: n,
                    n: n_vectors as u32,
                    first: first[vector] as u32,
                    noise: &mut work.noise,
                };
                launch.launch(k, pass, grid(t.len))?;
                vector += 1;
            } else if t.words > 0 {
                let words = &mut work.signs;
                DrawSigns { draws, t, pairs: n, words_per_pair, words }.launch(k, pass, grid(t.words))?;
            } else {
                let (n_all, merged) = (self.map.len() as u32, &mut work.merged);
                MergeFullRank { draws, t, pairs: n, n: n_all, shifted, merged }.launch(k, pass, grid(t.len))?;
            }
        }
        Ok(())
    }

    /// Draws sequences `first..first + sequences` of pairs. Fails if the device fails.
    pub fn draw_text(
        &self,
        pass: &mut Pass,
        (draws, pairs): (&Slice<Draws>, usize),
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
            draws,
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
            factor: match rows.perturbed {
                Some((NoiseForm::LowRank(rank), _)) => LowRank::factor(rank),
                Some((NoiseForm::Activations, _)) => ActivationSigns::magnitude(&sizes.matrix(0)),
                _ => 1,
            },
            words,
            vectors: first_elements(sizes).1 as u32,
            perturbs_activations: rows.perturbs_activations().into(),
            first_row: rows.first_row as u32,
            members_per_pair: rows.per_pair,
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
        let first_word = rows.perturbed.map_or(0, |(noise, _)| SignWords::of(sizes, noise, rows.of_pair).first[at]);
        MatrixArgs {
            outputs: matrix.rows as u32,
            inputs: matrix.columns as u32,
            first_word: first_word as u32,
            scale: unit / (matrix.columns as f32).sqrt(),
            magnitude: ActivationSigns::magnitude(&matrix),
        }
    }

    /// Computes the losses of rows, whose tokens, targets and noise are in the workspace. `shared` holds the weights of
    /// all members, unless each has merged weights in the workspace; `shadows` holds the vectors. `inputs` receives the
    /// inputs of all matrices. `draws` holds the first pair of the members. Fails if the device fails.
    pub fn losses(
        &self,
        pass: &mut Pass,
        rows: Rows,
        (shared, shadows, draws): (&Slice<i8>, &Slice<f32>, &Slice<Draws>),
        work: &mut Work,
        (losses, mut inputs): (Losses<'_>, Option<&mut InputSums<'_>>),
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
            along,
            alphas,
            inverses,
            output,
            products,
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
        // The embedded rows use the buffer `hidden`: the kernel that reads them writes `y`.
        let mut embedded = hidden.part_mut(0..n * width)?;
        EmbedRows { p, w: of_embedding, rows: n32, stride, signs, weights, tokens, y: &mut embedded }
            .launch(k, pass, grid)?;
        if let Some(inputs) = &mut inputs {
            inputs.add_embeddings(pass, signs, tokens)?;
            inputs.add(pass, (Role::Input, 0), signs, &embedded)?;
        }
        let input_shift = if self.network.scales.is_live { rows.shift() } else { 0 };
        self.multiply(pass, rows, (Role::Input, 0), (&embedded, weights), &mut *sums)?;
        let w = self.matrix(rows, Role::Input, 0, input_shift);
        perturb(&self.activations, pass, (rows, p, w), width, signs, sums)?;
        let positions = vector(Vector::Positions)?;
        let of_positions = noise.part(first[2]..noise.len())?;
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
            let normalised = y.part(0..n * width)?;
            self.project(pass, rows, layer, (&normalised, weights), &mut *sums)?;
            let roles = [Role::Query, Role::Key, Role::Value, Role::Gate];
            let matrices = roles.map(|role| self.matrix(rows, role, layer, 0));
            for (at, w) in matrices.iter().take(3).enumerate() {
                let end = sums.len();
                let to = &mut sums.part_mut(at * width..end)?;
                perturb(&self.activations, pass, (rows, p, *w), 3 * width, signs, to)?;
            }
            for role in roles {
                inputs.as_mut().map_or(Ok(()), |inputs| inputs.add(pass, (role, layer), signs, &normalised))?;
            }
            let part = |at: usize| sums.part(at * width..sums.len());
            let projections = [&*part(0)?, &*part(1)?, &*part(2)?];
            let gate = Gate {
                weights: &*self.weights_of(weights, Role::Gate, layer)?,
                stride,
                biases: &*vector(Vector::GateBias)?,
                first_bias: first[1] as u32,
                layer: layer as u32,
            };
            let steps = StepBuffers { along, alphas, inverses, products, output };
            self.attend(pass, (p, n32), matrices, (signs, noise, gate), (y, projections), steps)?;
            AttentionRowsOut { p, rows: n32, output, x, y }.launch(k, pass, grid)?;
            let w = self.matrix(rows, Role::Up, layer, 0);
            let down = self.matrix(rows, Role::Down, layer, 0);
            if let Some(inputs) = &mut inputs {
                inputs.add(pass, (Role::Up, layer), signs, y)?;
            }
            let input = y.part(0..n * width)?;
            if rows.rank() == 0 && !rows.perturbs_activations() {
                self.hidden(pass, (rows, w), layer, (&*input, weights), hidden)?;
            } else {
                self.multiply(pass, rows, (Role::Up, layer), (&*input, weights), &mut *sums)?;
                perturb(&self.activations, pass, (rows, p, w), sizes.mlp_multiple * width, signs, sums)?;
                GeluRows { p, w, down, rows: n32, signs, y, sums, hidden, along }.launch(k, pass, grid)?;
            }
            let columns = sizes.mlp_multiple * width;
            self.multiply(pass, rows, (Role::Down, layer), (&*hidden.part(0..n * columns)?, weights), &mut *sums)?;
            perturb(&self.activations, pass, (rows, p, down), width, signs, sums)?;
            inputs.as_mut().map_or(Ok(()), |inputs| inputs.add(pass, (Role::Down, layer), signs, hidden))?;
            MlpRows { p, w: down, rows: n32, signs, along, sums, x, y }.launch(k, pass, grid)?;
        }
        self.multiply(pass, rows, (Role::Head, 0), (&*y.part(0..n * width)?, weights), &mut *sums)?;
        let w = self.matrix(rows, Role::Head, 0, 0);
        perturb(&self.activations, pass, (rows, p, w), sizes.vocabulary, signs, sums)?;
        inputs.as_mut().map_or(Ok(()), |inputs| inputs.add(pass, (Role::Head, 0), signs, y))?;
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
            draws,
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
}
