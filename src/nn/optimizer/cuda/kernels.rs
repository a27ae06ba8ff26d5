//! Declarations of the kernels in `kernels/nn/optimizer.cu`, with their constants and device structs.

use crate::{
    device_constants, device_struct,
    gpu::{
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    nn::optimizer::{MUON_EPS, Mode},
    num::rng::Purpose,
};

/// Number of elements per partial sum.
pub(super) const RUN: usize = 1 << 14;

const FROZEN: u32 = Mode::Frozen as u32;
const ADAMW: u32 = Mode::AdamW as u32;
const MUON: u32 = Mode::Muon as u32;
pub(super) const COPY_NONE: u32 = 0;
pub(super) const COPY_F16: u32 = 1;
pub(super) const COPY_BF16: u32 = 2;
pub(super) const EDIT_COPY: u32 = 0;
pub(super) const EDIT_MASK: u32 = 1;
pub(super) const EDIT_RESET: u32 = 2;
const ROUNDING: u32 = Purpose::Rounding as u32;

const CONSTANTS: &[Constant] = device_constants![
    RUN, FROZEN, ADAMW, MUON, COPY_NONE, COPY_F16, COPY_BF16, EDIT_COPY, EDIT_MASK, EDIT_RESET, ROUNDING, MUON_EPS
];

device_struct! {
    /// Settings from the host: constants of the optimisers, and the learning rate of the step.
    pub struct OptimizerSettings {
        /// Learning rate, before the factors of groups
        learning_rate: f64,
        /// Decay of the mean of gradients
        beta1: f64,
        /// Decay of the mean of the squares of gradients
        beta2: f64,
        /// Seed of stochastic rounding
        seed: u64,
        /// Constant added to the denominator
        eps: f32,
        /// Largest norm of the gradient; 0: any
        clip: f32,
        /// Momentum of Muon
        momentum: f32,
        /// Factor of a growing scale of the loss
        growth: f32,
        /// Factor of a shrinking scale of the loss
        backoff: f32,
        /// Updates without overflow before the scale grows
        interval: u32,
        /// Whether Muon applies the momentum once ahead
        is_nesterov: u32,
        /// Whether the copy in bf16 is rounded stochastically, by draws of seed, number of updates and element
        is_stochastic: u32,
    }
}

device_struct! {
    /// State of the updates on the device.
    pub struct OptimizerState {
        /// Updates applied so far
        t: u64,
        /// Updates skipped because a gradient was not finite
        skipped: u64,
        /// Scale of the next loss
        scale: f32,
        /// Updates without overflow since the scale changed
        good: u32,
        /// Norm of the last gradient, before clipping
        norm: f32,
        /// Whether the last update was applied
        is_applied: u32,
        /// Factor of the last gradient: of the clipping, and 1 / scale of the loss
        grad_scale: f32,
        /// 1 / (1 - beta1^t)
        c1: f32,
        /// 1 / (1 - beta2^t)
        c2: f32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// The rule of a group.
    pub struct OptimizerRule {
        /// Factor of the learning rate
        lr_factor: f64,
        /// Decoupled weight decay, multiplied by the learning rate
        decay: f32,
        /// Kind of update, a value of `Mode`
        mode: u32,
    }
}

kernels! {
    /// Optimiser steps, and the kernels around them.
    pub struct OptimizerKernels in "nn/optimizer.cu"
        using [OptimizerSettings, OptimizerState, OptimizerRule] with [CONSTANTS]
    {
        /// One block per run of elements: the sum of the squares of their gradients, without frozen groups.
        #[block(256)]
        fn sum_squares as SumSquares(
            n: Size<u64>, groups: In<u16>, rules: In<OptimizerRule>, g: In<f32>, partials: InOut<f32>
        );

        /// One block: the norm of the gradient, whether the update is applied, and the scale of the next loss.
        #[block(256)]
        fn begin_update as BeginUpdate(
            n_partials: Size<u32>, partials: In<f32>, settings: In<OptimizerSettings>, state: InOut<OptimizerState>
        );

        /// Four parameters per thread: AdamW, with a rounded copy of the new weights.
        #[block(256)]
        fn update_adamw as UpdateAdamW(
            n: Size<u64>, settings: In<OptimizerSettings>, state: In<OptimizerState>, groups: In<u16>,
            rules: In<OptimizerRule>, gradients: In<f32>, params: InOut<f32>, means: InOut<f32>, squares: InOut<f32>,
            copy: InOutAny, format: Size<u32>
        );

        /// One block per run of elements of each matrix: Muon's momentum, and the matrix to orthogonalise.
        #[block(256)]
        fn update_momentum as UpdateMomentum(
            n: Size<u64>, used: InAny, used_stride: Size<u32>, settings: In<OptimizerSettings>,
            state: In<OptimizerState>, g: In<f32>, momentum: InOut<f32>, x: InOut<f32>, partials: InOut<f32>
        );

        /// One block per run of elements of each matrix: divides it by its norm.
        #[block(256)]
        fn divide_by_norm as DivideByNorm(n: Size<u64>, n_partials: Size<u32>, partials: In<f32>, x: InOut<f32>);

        /// An element of each matrix per thread: Muon's update by the orthogonal matrix, with a rounded copy.
        #[block(256)]
        fn update_muon as UpdateMuon(
            first: Size<u64>, n: Size<u64>, factor: Size<f32>, used: InAny, used_stride: Size<u32>,
            settings: In<OptimizerSettings>, state: In<OptimizerState>, groups: In<u16>, rules: In<OptimizerRule>, x: In<f32>, params: InOut<f32>,
            copy: InOutAny, format: Size<u32>
        );

        /// Four weights per thread: the copy in the format of the model.
        #[block(256)]
        fn round_weights as RoundWeights(n: Size<u64>, params: In<f32>, copy: InOutAny, format: Size<u32>);

        /// Four weights per thread: the copy that is rounded stochastically, as the last update leaves it.
        #[block(256)]
        fn draw_weights as DrawWeights(
            n: Size<u64>, settings: In<OptimizerSettings>, state: In<OptimizerState>, params: In<f32>, copy: InOutAny,
            format: Size<u32>
        );

        /// An element per thread: copies a range of parameters with its state, or sets it or its state to zero.
        #[block(256)]
        fn edit_range as EditRange(
            edit: Size<u32>, from: Size<u64>, to: Size<u64>, n: Size<u64>, params: InOut<f32>, means: InOut<f32>,
            squares: InOut<f32>, copy: InOutAny, format: Size<u32>
        );
    }
}
