//! Launches of linear attention.

use super::{
    forward::Forward,
    kernels::{
        AttentionOutputs, AttentionProducts, AttentionRows, AttentionStates, DeltaRuleArgs, MatrixArgs, PassArgs,
    },
};
use crate::{
    gpu::{GpuError, Grid, Pass, Slice},
    nn::delta_rule::{Method, cpu::StateFormat},
};

/// Columns of values per block.
const COLUMNS: u32 = 64;

/// Buffers that the attention of a layer writes.
pub struct StepBuffers<'a> {
    /// Products of rows with the second factors of perturbations, `[rows, 3, rank]`.
    pub along: &'a mut Slice<i32>,
    /// Strength α of the update at each step, `[rows]`.
    pub alphas: &'a mut Slice<f32>,
    /// Factors that normalise queries and keys, `[rows, 2]`.
    pub inverses: &'a mut Slice<f32>,
    /// Products of queries and keys with keys.
    pub products: &'a mut Slice<f32>,
    /// Outputs of all rows, before they are scaled.
    pub output: &'a mut Slice<f32>,
}

/// Weights of the gate of a layer.
pub struct Gate<'a> {
    /// Ternary weights, which begin with those of the gate.
    pub weights: &'a Slice<i8>,
    /// Elements from the weights of one member to those of the next; 0 if all members have the same weights.
    pub stride: u32,
    /// Biases of all layers.
    pub biases: &'a Slice<f32>,
    /// First element of the biases among all vectors.
    pub first_bias: u32,
    /// Index of the layer.
    pub layer: u32,
}

impl Forward {
    /// Launches the delta rule of all sequences, from the integer sums of queries, keys and values. Fails if the device
    /// fails.
    pub fn attend(
        &self,
        pass: &mut Pass,
        (p, rows): (PassArgs, u32),
        [of_query, of_key, of_value, of_gate]: [MatrixArgs; 4],
        (signs, noise, gate): (&Slice<u64>, &Slice<i8>, Gate<'_>),
        (y, [query_sums, key_sums, value_sums]): (&Slice<i8>, [&Slice<i32>; 3]),
        StepBuffers { along, alphas, inverses, products, output }: StepBuffers<'_>,
    ) -> Result<(), GpuError> {
        let (k, attention) = (&self.attention, self.network.attention);
        let a = DeltaRuleArgs {
            layer: gate.layer,
            first_bias: gate.first_bias,
            is_delta_net: (attention.method == Method::DeltaNet).into(),
            has_f16_state: (attention.state == Some(StateFormat::F16)).into(),
        };
        let blocks = Grid::Blocks { blocks: [rows.div_ceil(32), 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let launch = AttentionRows {
            p,
            a,
            of_query,
            of_key,
            of_value,
            of_gate,
            rows,
            stride: gate.stride,
            signs,
            noise,
            gate_bias: gate.biases,
            gate_weights: gate.weights,
            y,
            query_sums,
            key_sums,
            along,
            alphas,
            inverses,
        };
        launch.launch(k, pass, blocks)?;
        let (width, steps, sequences) = (p.width, p.steps, rows / p.steps);
        let blocks = |columns: u32, threads: u32, shared_bytes| Grid::Blocks {
            blocks: [width.div_ceil(columns), sequences, 1],
            threads: [threads, 1, 1],
            shared_bytes,
        };
        if attention.state.is_some() {
            let columns = COLUMNS.min(width.next_multiple_of(32));
            let grid = blocks(columns, columns, 4 * (width * columns + 2 * width));
            let launch = AttentionStates {
                p,
                a,
                of_query,
                of_key,
                of_value,
                signs,
                query_sums,
                key_sums,
                value_sums,
                along,
                alphas,
                inverses,
                output,
            };
            return launch.launch(k, pass, grid);
        }
        let tiles = steps.div_ceil(64);
        let grid = Grid::Blocks { blocks: [tiles, tiles, sequences], threads: [128, 1, 1], shared_bytes: 0 };
        AttentionProducts { p, of_query, of_key, signs, query_sums, key_sums, along, inverses, products }
            .launch(k, pass, grid)?;
        // Two columns per thread; the corrections of long sequences leave shared memory for one warp only.
        let threads = if steps > 256 || width <= 64 { 32 } else { COLUMNS };
        let grid = blocks(2 * threads, threads, 4 * (2 * steps * threads + 16 * steps));
        AttentionOutputs { p, of_value, signs, products, value_sums, along, alphas, output }.launch(k, pass, grid)
    }
}
