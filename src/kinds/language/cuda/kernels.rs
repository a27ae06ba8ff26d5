//! Kernels under `kernels/language`: begin and record a step, norms of parameters, KV caches.

use crate::{
    device_constants, device_struct,
    gpu::{
        ModuleSpec,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::language::backend::MAX_WAITING_STEPS,
    nn::{cross_entropy::cuda::LossTotal, optimizer::cuda::OptimizerState},
};

const MAX_RECORDS: usize = MAX_WAITING_STEPS;
/// Number of partial sums per parameter.
pub const VIEW_PARTS: u32 = 32;

const CONSTANTS: &[Constant] = device_constants![MAX_RECORDS, VIEW_PARTS];

device_struct! {
    /// Inputs of a step from the host.
    pub struct StepParams {
        /// Index of its record
        record: u64,
        /// Targets of all micro-batches
        targets: u64,
    }
}

device_struct! {
    /// Results of a step for the host.
    pub struct StepRecord {
        /// Mean loss, nats
        loss: f32,
        /// Norm of the gradient
        norm: f32,
        /// Loss scale of this step
        scale: f32,
        /// Whether parameters changed
        is_applied: u32,
    }
}

device_struct! {
    /// Elements of a parameter.
    pub struct ViewRange {
        /// Index of its first element
        start: u64,
        /// Number of its elements
        len: u64,
    }
}

device_struct! {
    /// New tokens of a cache; sizes in units of 16 bits.
    pub struct CacheSizes {
        /// Tokens appended to the cache
        tokens: u32,
        /// Size of the keys of a token, and of its values
        kv: u32,
        /// Size of the queries of a token
        queries: u32,
        /// Distance from one token to the next
        row: u32,
    }
}

kernels! {
    /// Kernels of a training step.
    pub struct StepKernels in "language/step.cu"
        using [StepParams, StepRecord, ViewRange, CacheSizes, LossTotal, OptimizerState] with [CONSTANTS]
    {
        /// One thread: clears the loss, and sets the gradient of the loss of a target.
        #[block(1)]
        fn begin_step as BeginStep(
            params: In<StepParams>, state: In<OptimizerState>, total: InOut<LossTotal>, scale: InOut<f32>
        );

        /// One thread: writes the loss and the norm of a step for the host.
        #[block(1)]
        fn record_step as RecordStep(
            params: In<StepParams>, state: In<OptimizerState>, total: In<LossTotal>, scale: In<f32>,
            records: InOut<StepRecord>
        );

        /// One block per parameter and part: sums the squares of weights, gradients and changes.
        #[block(256)]
        fn sum_views as SumViews(
            views: In<ViewRange>, weights: In<f32>, before: In<f32>, gradient: In<f32>, partials: InOut<f64>
        );

        /// One thread per parameter: writes the norms of its weights, gradient and change to the row of the step.
        #[block(128)]
        fn finish_views as FinishViews(
            n_views: Size<u32>, params: In<StepParams>, scale: In<f32>, partials: In<f64>, norms: InOut<f32>
        );

        /// One thread per 16 bits of keys and values: appends new tokens to the cache of a block. `lengths` holds the
        /// number of tokens in the cache, including the new ones.
        #[block(256)]
        fn append_cache as AppendCache(s: Size<CacheSizes>, lengths: In<i32>, qkv: InAny, keys: InOutAny, values: InOutAny);
    }
}

/// Modules that all kinds share.
pub const MODULES: &[ModuleSpec] = &[StepKernels::SPEC];
