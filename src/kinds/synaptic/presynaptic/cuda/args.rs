//! Kernels of `kernels/synaptic/scan.cu`, with the constants and structs that they share with the host.

use super::constants::{Bias, ComplexinGate, Cycle, FirstState, Influx, ScanConstants, Sensor, TsodyksMarkram};
use crate::{
    device_constants, device_struct,
    gpu::{
        BlockSize, GpuError, Grid, Target,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::synaptic::presynaptic::release::MAX_TRIALS,
    num::rng::Purpose,
};

pub(super) const OFF: u32 = 0;
pub(super) const STATIC: u32 = 1;
pub(super) const SCAN: u32 = 2;
pub(super) const TSODYKS_MARKRAM: u32 = 3;
const RELEASE: u32 = Purpose::Release as u32;
/// Number of values of a key, without the queue.
pub(super) const QUANTITIES: u32 = 9;
/// Maximum delay of a queue that is kept in registers.
pub(super) const FAST_DELAY: u32 = 3;
/// Number of groups of four rows per warp that are in shared memory.
pub(super) const RING: u32 = 6;
/// Number of entries in the table of the sensors.
pub(super) const TABLE: u32 = 512;
const CONSTANTS: &[Constant] =
    device_constants![OFF, STATIC, SCAN, TSODYKS_MARKRAM, RELEASE, QUANTITIES, MAX_TRIALS, FAST_DELAY, RING, TABLE];
/// Asynchronous copies need compute capability 8.0.
const TARGETS: &[Target] = &[Target::portable(75), Target::portable(80)];

device_struct! {
    /// Sizes of a pass.
    pub struct ScanArgs {
        /// Queries that draw counts: those whose random word is less; 0: none
        drawn_below: u64,
        /// Position of the first query
        first_query: u32,
        /// Queries of a head
        n_queries: u32,
        /// Keys of a head
        n_keys: u32,
        /// Heads of all sequences
        n_heads: u32,
        /// Heads of a sequence
        heads_of_sequence: u32,
        /// Number of the block of the model
        layer: u32,
        /// Keys from a head to the next in the state
        capacity: u32,
        /// Source of the bias
        mode: u32,
        /// Steps of the queue
        delay: u32,
        /// Keys whose state is in memory
        known: u32,
    }
}

device_struct! {
    /// Addresses of the random draws of a batch: see `Draws`.
    pub struct ReleaseStep {
        /// Seed of the model
        seed: u64,
        /// Number of the step
        step: u64,
        /// Sequences of the step before these
        first: u32,
        /// Sequences of the step
        sequences: u32,
    }
}

kernels! {
    /// Release of vesicles as a bias of attention logits.
    pub struct ScanKernels in "synaptic/scan.cu"
        compiled (Compile::FUSED.on(TARGETS)) using [
            ScanArgs, Influx, Sensor, ComplexinGate, Cycle, FirstState, Bias, TsodyksMarkram, ScanConstants, ReleaseStep
        ]
        with [CONSTANTS]
    {
        /// One thread per key: walks the queries and adds the bias to each logit. Items: edges.
        #[block(128, 3)]
        fn scan_release as ScanRelease(
            a: Size<ScanArgs>, c: Size<ScanConstants>, first: InAny, step: InAny, selected: InAny, last: InAny,
            edges: InOut<f32>, factor: InOutAny, row_bias: InOutAny, state: InOutAny
        );

        /// One thread per key of all edges, with the default delay. Items: edges.
        #[block(128, 6)]
        fn scan_all_edges as ScanAllEdges(
            a: Size<ScanArgs>, c: Size<ScanConstants>, first: InAny, edges: InOut<f32>, factor: InOutAny,
            state: InOutAny
        );

        /// One warp per 32 keys of whole sequences, with the default delay; sensors from a table. Items: edges.
        #[block(128, 6)]
        fn scan_sequences as ScanSequences(
            a: Size<ScanArgs>, c: Size<ScanConstants>, is_packed: Size<u32>, edges: InOut<f32>, factor: InOutAny
        );

        /// One block per query: the edges with the largest logits. Items: rows.
        #[block(256)]
        fn select_edges as SelectEdges(
            a: Size<ScanArgs>, first: InAny, k: Size<u32>, edges: In<f32>, selected: InOut<u32>, last: InOut<u32>
        );

        /// One block per query: the bias of the edges that are not selected. Items: rows.
        #[block(256)]
        fn fill_unselected as FillUnselected(
            a: Size<ScanArgs>, first: InAny, selected: In<u32>, last: In<u32>, row_bias: In<f32>, edges: InOut<f32>
        );

        /// A warp or a block per query: backward pass of softmax and release. Items: rows.
        #[block(512)]
        fn release_backward as ReleaseBackward(
            a: Size<ScanArgs>, is_aligned: Size<u32>, is_packed: Size<u32>, p: In<f32>, factor: InAny, d: InOut<f32>
        );
    }
}

impl ScanKernels {
    /// Returns the grid of the backward pass for rows of `packs` packs of 16 bytes. Fails if the driver reports an error.
    pub(super) fn backward_grid(&self, rows: u64, packs: u64) -> Result<Grid, GpuError> {
        // A thread keeps 2 packs in registers, as in kernels/nn/rows.cuh.
        self.release_backward.grid_of_rows(rows, packs, 2, BlockSize::Automatic)
    }
}
