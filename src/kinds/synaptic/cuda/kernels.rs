//! Kernels of `kernels/synaptic/heads.cu`, and a list of all modules of the kind.

use crate::{
    device_constants, device_struct,
    gpu::{
        ModuleSpec,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::synaptic::{
        experts::cuda::RouterKernels, life::cuda::LifeKernels, model::MAX_HEAD, presynaptic::cuda::ScanKernels,
    },
};

const CONSTANTS: &[Constant] = device_constants![MAX_HEAD];

device_struct! {
    /// Heads of some tokens.
    pub struct HeadArgs {
        /// Tokens of all sequences
        tokens: u32,
        /// Tokens of a sequence
        seq_len: u32,
        /// Query heads of a token
        heads: u32,
        /// Heads of keys and values
        kv_heads: u32,
        /// Features of a head
        head_dim: u32,
        /// Rows from a head of keys to the next
        key_rows: u32,
        /// Row of the first key, which is also its position
        key_offset: u32,
        /// Constant added to the mean square
        eps: f32,
    }
}

kernels! {
    /// Heads of attention.
    pub struct HeadKernels in "synaptic/heads.cu"
        compiled (Compile::FUSED) using [HeadArgs] with [CONSTANTS]
    {
        /// One warp per head of a token: rotary positions and norm of queries and keys, by head. Items: tokens.
        #[block(256)]
        fn split_heads as SplitHeads(
            a: Size<HeadArgs>, place: InAny, packed: In<f32>, cosines: In<f32>, sines: In<f32>, temperature: InAny,
            q: InOut<f32>, k: InOut<f32>, v: InOut<f32>, rstd: InOut<f32>
        );

        /// One warp per head of a token: the backward pass of `split_heads`. Items: tokens.
        #[block(256)]
        fn split_heads_backward as SplitHeadsBackward(
            a: Size<HeadArgs>, cosines: In<f32>, sines: In<f32>, temperature: InAny, q: In<f32>, k: In<f32>,
            rstd: In<f32>, dq: In<f32>, dk: In<f32>, dv: In<f32>, dpacked: InOut<f32>, products: InOutAny
        );

        /// One block per head: gradient of the factor of its logits.
        #[block(256)]
        fn add_temperature_gradient as AddTemperatureGradient(
            a: Size<HeadArgs>, products: In<f32>, temperature: In<f32>, gradient: InOut<f32>
        );

        /// One thread per element: rows by head as rows by token, or the reverse.
        #[block(256)]
        fn move_heads as MoveHeads(a: Size<HeadArgs>, to_tokens: Size<u32>, from: In<f32>, to: InOut<f32>);

        /// One thread per slot: the experts and gates that the last tokens of a batch selected.
        #[block(256)]
        fn keep_selection as KeepSelection(
            first: Size<u32>, n: Size<u32>, indices: In<u32>, gates: In<f32>, experts: InOut<u32>, kept: InOut<f32>
        );
    }
}

/// All modules of the kind.
pub const MODULES: &[ModuleSpec] = &[ScanKernels::SPEC, RouterKernels::SPEC, LifeKernels::SPEC, HeadKernels::SPEC];
