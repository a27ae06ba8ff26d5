//! Matrix multiplications of a forward pass.

use super::{forward::Forward, kernels::MatrixArgs, rows::Rows};
use crate::{
    gpu::{Pass, Slice},
    kinds::{evolution::model::Role, language::cuda::error::OpError},
    nn::{
        gemm::{Epilogue, Gemm, Quantise, cuda::Options},
        parameters::ALIGN,
    },
};

impl Forward {
    /// Returns the weights of a matrix and of all tensors after it.
    pub(super) fn weights_of<'a>(
        &self,
        weights: &'a Slice<i8>,
        role: Role,
        layer: usize,
    ) -> Result<crate::gpu::View<'a, i8>, OpError> {
        let view = self.map.views().nth(self.network.sizes.index(role, layer)).ok_or_else(OpError::no_matrix)?;
        Ok(weights.part(view.start..weights.len())?)
    }

    /// Multiplies rows of activations by a matrix of shared or merged weights.
    pub(super) fn multiply(
        &self,
        pass: &mut Pass,
        rows: Rows,
        matrix: (Role, usize),
        operands: (&Slice<i8>, &Slice<i8>),
        sums: &mut Slice<i32>,
    ) -> Result<(), OpError> {
        let n = self.network.sizes.matrix(self.network.sizes.index(matrix.0, matrix.1)).rows;
        self.multiply_into(pass, rows, matrix, operands, (sums, n, n))
    }

    /// Multiplies rows by the query, key and value matrices of a layer; writes `sums [rows, 3, H]`. Rows are read once
    /// if the three matrices follow each other without a gap.
    pub(super) fn project(
        &self,
        pass: &mut Pass,
        rows: Rows,
        layer: usize,
        operands: (&Slice<i8>, &Slice<i8>),
        sums: &mut Slice<i32>,
    ) -> Result<(), OpError> {
        let width = self.network.sizes.width;
        if (width * width).is_multiple_of(ALIGN) {
            return self.multiply_into(pass, rows, (Role::Query, layer), operands, (sums, 3 * width, 3 * width));
        }
        for (at, role) in [Role::Query, Role::Key, Role::Value].into_iter().enumerate() {
            let end = sums.len();
            let to = &mut sums.part_mut(at * width..end)?;
            self.multiply_into(pass, rows, (role, layer), operands, (to, width, 3 * width))?;
        }
        Ok(())
    }

    /// Multiplies rows by `n` rows of weights, beginning with those of a matrix; rows of sums are `apart` elements
    /// apart.
    fn multiply_into(
        &self,
        pass: &mut Pass,
        rows: Rows,
        (role, layer): (Role, usize),
        (x, weights): (&Slice<i8>, &Slice<i8>),
        (sums, n, apart): (&mut Slice<i32>, usize, usize),
    ) -> Result<(), OpError> {
        let (gemm, weights) = (self.product(rows, (role, layer), n, apart), self.weights_of(weights, role, layer)?);
        self.gemm.run(pass, &gemm, (x, &weights), sums, Epilogue::None, Options::default())?;
        Ok(())
    }

    /// Declares the product of rows with `n` rows of weights, beginning with those of a matrix; rows of the result are `apart` elements
    /// apart.
    fn product(&self, rows: Rows, (role, layer): (Role, usize), n: usize, apart: usize) -> Gemm<i32> {
        let sizes = &self.network.sizes;
        let k = sizes.matrix(sizes.index(role, layer)).columns;
        let mut gemm = if rows.is_merged() {
            let mut gemm = Gemm::<i32>::new(rows.per_member, n, k).transposed_b().batch(rows.members);
            (gemm.b.stride, gemm.c.stride) = (self.map.len(), rows.per_member * apart);
            gemm
        } else {
            Gemm::<i32>::new(rows.all(), n, k).transposed_b()
        };
        gemm.c.ld = apart;
        gemm
    }

    /// Computes the hidden layer of the MLP from normalised rows, if no perturbation is added to its sums.
    pub(super) fn hidden(
        &self,
        pass: &mut Pass,
        (rows, w): (Rows, MatrixArgs),
        layer: usize,
        (y, weights): (&Slice<i8>, &Slice<i8>),
        hidden: &mut Slice<i8>,
    ) -> Result<(), OpError> {
        let n = w.outputs as usize;
        let (gemm, weights) = (self.product(rows, (Role::Up, layer), n, n), self.weights_of(weights, Role::Up, layer)?);
        let of = Quantise { before: w.scale, has_gelu: true, after: self.network.scales.mlp_activation };
        self.gemm.run_quantised(pass, &gemm, of, (y, &weights), hidden, Options::default())?;
        Ok(())
    }
}
