//! Launches for perturbed activations.

use super::{
    kernels::{
        ActivationKernels, Draws, InputRowsArgs, MatrixArgs, PassArgs, PerturbSums, SUM_PAIRS, SUM_TILE, SumEmbeddings,
        SumInputs, SumOutputs, TensorArgs,
    },
    rows::Rows,
};
use crate::{
    gpu::{GpuError, Grid, Pass, Slice},
    kinds::evolution::model::{Role, Sizes, Vector},
};

/// Adds the perturbation of activations to the sums of a product, rows of which are `apart` elements apart; does nothing with
/// another form of perturbation. Fails if the device fails.
pub fn perturb(
    kernels: &ActivationKernels,
    pass: &mut Pass,
    (rows, p, w): (Rows, PassArgs, MatrixArgs),
    apart: usize,
    signs: &Slice<u64>,
    sums: &mut Slice<i32>,
) -> Result<(), GpuError> {
    if !rows.perturbs_activations() {
        return Ok(());
    }
    let n = rows.all() as u32;
    let grid = Grid::Threads(n * w.outputs);
    PerturbSums { p, w, rows: n, stride: apart as u32, signs, sums }.launch(kernels, pass, grid)
}

/// Weighted sums to which the inputs of the unperturbed model are added during its forward pass.
pub struct InputSums<'a> {
    /// Kernels of the sums.
    pub kernels: &'a ActivationKernels,
    /// Sizes of the model.
    pub sizes: Sizes,
    /// All tensors of the model.
    pub tensors: &'a [TensorArgs],
    /// Rows of the pass.
    pub rows: InputRowsArgs,
    /// Draws of the pairs.
    pub draws: &'a Slice<Draws>,
    /// Weights of the pairs, in units of 2^-20.
    pub pair_weights: &'a Slice<i64>,
    /// Sums of all tensors.
    pub z: &'a mut Slice<i64>,
}

impl InputSums<'_> {
    fn grid(&self, blocks: u32, pairs_per_block: u32) -> Grid {
        let blocks = [blocks, self.rows.pairs.div_ceil(pairs_per_block), 1];
        Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes: 0 }
    }

    /// Adds the inputs `x` of a matrix. Fails if the device fails.
    pub fn add(
        &mut self,
        pass: &mut Pass,
        (role, layer): (Role, usize),
        signs: &Slice<u64>,
        x: &Slice<i8>,
    ) -> Result<(), GpuError> {
        let t = self.tensors[self.sizes.index(role, layer)];
        let tiles = t.columns.div_ceil(SUM_TILE) * (t.len / t.columns).div_ceil(SUM_TILE);
        let (grid, r, draws) = (self.grid(tiles, SUM_PAIRS), self.rows, self.draws);
        SumInputs { r, draws, t, signs, pair_weights: self.pair_weights, x, z: self.z }.launch(
            self.kernels,
            pass,
            grid,
        )?;
        let Sizes { vocabulary, width, steps, .. } = self.sizes;
        let (vector, outputs, period, offset) = match role {
            Role::Input => (Vector::Positions, width, steps, 0),
            Role::Gate => (Vector::GateBias, 1, 1, layer),
            Role::Head => (Vector::HeadBias, vocabulary, 1, 0),
            _ => return Ok(()),
        };
        let of_vector = self.tensors[self.tensors.len() - Vector::ALL.len() + vector as usize];
        let (outputs, period, start) = (outputs as u32, period as u32, of_vector.start + offset as u32);
        let (grid, pair_weights) = (self.grid((period * outputs).div_ceil(256), SUM_PAIRS), self.pair_weights);
        SumOutputs { r, draws, t, outputs, period, start, signs, pair_weights, z: self.z }.launch(
            self.kernels,
            pass,
            grid,
        )
    }

    /// Adds the embeddings of tokens. Fails if the device fails.
    pub fn add_embeddings(&mut self, pass: &mut Pass, signs: &Slice<u64>, tokens: &Slice<u16>) -> Result<(), GpuError> {
        let (t, r) = (self.tensors[self.sizes.index(Role::Embedding, 0)], self.rows);
        let (grid, pair_weights, draws) =
            (self.grid((r.rows * t.columns).div_ceil(256), 1), self.pair_weights, self.draws);
        SumEmbeddings { r, draws, t, signs, pair_weights, tokens, z: self.z }.launch(self.kernels, pass, grid)
    }
}
