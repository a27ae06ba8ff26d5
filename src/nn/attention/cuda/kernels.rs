//! Declarations of the kernels under `kernels/nn/attention*`.

use crate::{
    device_struct,
    gpu::{
        Compile, InBoxes, Target, TensorMap,
        kernel::{In, InAny, InOut, InOutAny, Size},
    },
    kernels,
    nn::dropout::cuda::{CONSTANTS as DROPOUT_CONSTANTS, DropoutStep},
};

device_struct! {
    /// Places of the heads of tokens, in elements.
    pub struct HeadPlaces {
        /// Index of the first element
        offset: u64,
        /// Elements from a sequence to the next
        batch: u64,
        /// Elements from a token to the next
        token: u64,
        /// Elements from a head to the next
        head: u64,
    }
}

device_struct! {
    /// Sizes and strides of one attention.
    pub struct AttentionArgs {
        /// Queries and their gradients
        q: HeadPlaces,
        /// Keys and their gradients
        k: HeadPlaces,
        /// Values and their gradients
        v: HeadPlaces,
        /// The result and its gradient
        o: HeadPlaces,
        /// Elements of the bias from a sequence to the next
        bias_batch: u64,
        /// Elements of the bias from a head to the next
        bias_head: u64,
        /// Elements of the bias from a query to the next
        bias_query: u64,
        /// Elements of the bias from a key to the next
        bias_key: u64,
        /// Sequences in the batch
        batch: u32,
        /// Query heads of a sequence
        heads: u32,
        /// Query heads of a key and value head
        group: u32,
        /// Elements of a head
        head_dim: u32,
        /// Queries of a sequence, at most
        q_len: u32,
        /// Keys of a sequence, at most
        k_len: u32,
        /// Number of queries in the buffers, for packed sequences
        q_tokens: u32,
        /// Number of keys in the buffers, for packed sequences
        k_tokens: u32,
        /// Format of the tensors, for kernels without a format of their own
        format: u32,
        /// Whether later keys are hidden
        causal: u32,
        /// Window, 0 for none
        window: u32,
        /// Rule for the tokens that exist
        lengths: u32,
        /// Whether rows of keys, values and queries begin at multiples of 16 bytes
        aligned: u32,
        /// Parts of the keys, each of a block of its own
        splits: u32,
        /// Factor of the products of queries and keys
        scale: f32,
        /// Place of dropout
        drop_site: u32,
        /// Keys of a row of the addresses of dropout
        drop_keys: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// Without tensor cores: any head, layout and format.
    pub struct NaiveKernels in "nn/attention_naive.cu", also "dropping" ["-DDROPS=true"] as DROPPING
        compiled (Compile::FUSED) using [HeadPlaces, AttentionArgs, DropoutStep] with [DROPOUT_CONSTANTS]
    {
        /// Attention with heads of up to 64 elements, 64 queries per block.
        #[block(256, 2)]
        fn attention_forward_64 as Forward64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Attention with heads of up to 256 elements, 16 queries per block.
        #[block(128)]
        fn attention_forward_256 as Forward256(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Products of results and their gradients, one warp per row.
        #[block(256)]
        fn attention_dots as Dots(a: Size<AttentionArgs>, o: InAny, d_o: InAny, q_lengths: InAny, k_lengths: InAny, dots: InOut<f32>);

        /// Gradients of queries, heads of up to 64 elements, 64 queries per block.
        #[block(256, 2)]
        fn attention_queries_backward_64 as QueriesBackward64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny, dbias: InOutAny);

        /// Gradients of queries, heads of up to 256 elements, 16 queries per block.
        #[block(128)]
        fn attention_queries_backward_256 as QueriesBackward256(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny, dbias: InOutAny);

        /// Gradients of keys and values, heads of up to 64 elements, 64 keys per block. Without `dv` both are in `dk`.
        #[block(256, 2)]
        fn attention_keys_backward_64 as KeysBackward64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);

        /// Gradients of keys and values, heads of up to 256 elements, 16 keys per block. Without `dv` both are in `dk`.
        #[block(128)]
        fn attention_keys_backward_256 as KeysBackward256(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);

        /// Probabilities of one sequence and head, one thread per query and key.
        #[block(128)]
        fn attention_map as Map(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, lse: In<f32>, b: Size<u32>, head: Size<u32>, map: InOut<f32>);
    }
}

kernels! {
    /// Few queries and many keys.
    pub struct DecodeKernels in "nn/attention_decode.cu" compiled (Compile::FUSED) using [HeadPlaces, AttentionArgs] {
        /// Attention of one query to a part of its keys, heads of up to 128 elements.
        #[block(128)]
        fn attention_decode_128 as Decode128(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, partial: InOut<f32>, o: InOutAny, lse: InOut<f32>);

        /// Attention of one query to a part of its keys, heads of up to 256 elements.
        #[block(128)]
        fn attention_decode_256 as Decode256(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, bias: InAny, partial: InOut<f32>, o: InOutAny, lse: InOut<f32>);

        /// Joins the parts of a query, one block each.
        #[block(128)]
        fn attention_join as Join(a: Size<AttentionArgs>, q_lengths: InAny, k_lengths: InAny, partial: In<f32>, o: InOutAny, lse: InOut<f32>);
    }
}

/// mma.sync and cp.async need compute capability 8.0; for Turing the kernels are empty and not launched.
const TARGETS: &[Target] = &[Target::portable(75), Target::portable(80)];

kernels! {
    /// On tensor cores, in tiles.
    pub struct FlashKernels in "nn/attention_flash.cu"
        for "bf16" ["-DELEMENTS=Bf16Pairs"], also "f16" ["-DELEMENTS=F16Pairs"] as F16,
        also "dropping_bf16" ["-DELEMENTS=Bf16Pairs", "-DDROPS=true"] as DROPPING,
        also "dropping_f16" ["-DELEMENTS=F16Pairs", "-DDROPS=true"] as F16_DROPPING
        compiled (Compile::FUSED.on(TARGETS)) using [HeadPlaces, AttentionArgs, DropoutStep] with [DROPOUT_CONSTANTS]
    {
        /// Attention with heads of up to 64 elements.
        #[block(128, 2)]
        fn flash_forward_64 as FlashForward64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Attention with heads of up to 128 elements.
        #[block(256)]
        fn flash_forward_128 as FlashForward128(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Gradients of queries, heads of up to 64 elements.
        #[block(128, 2)]
        fn flash_queries_backward_64 as FlashQueries64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny);

        /// Gradients of queries, heads of up to 128 elements.
        #[block(128, 2)]
        fn flash_queries_backward_128 as FlashQueries128(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny);

        /// Gradients of keys and values, heads of up to 64 elements. Without `dv` both are in `dk`.
        #[block(128, 2)]
        fn flash_keys_backward_64 as FlashKeys64(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);

        /// Gradients of keys and values, heads of up to 128 elements. Without `dv` both are in `dk`.
        #[block(128, 2)]
        fn flash_keys_backward_128 as FlashKeys128(a: Size<AttentionArgs>, q: InAny, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, d_o: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);
    }
}

/// wgmma exists only on compute capability 9.0; for others the kernels are empty and not launched.
const HOPPER: &[Target] = &[Target::portable(75), Target::specific(90)];

kernels! {
    /// On Hopper's tensor cores, in tiles.
    pub struct HopperKernels in "nn/attention_hopper.cu"
        for "bf16" ["-DELEMENTS=Bf16Pairs"], also "f16" ["-DELEMENTS=F16Pairs"] as F16,
        also "dropping_bf16" ["-DELEMENTS=Bf16Pairs", "-DDROPS=true"] as DROPPING,
        also "dropping_f16" ["-DELEMENTS=F16Pairs", "-DDROPS=true"] as F16_DROPPING
        compiled (Compile::FUSED.on(HOPPER)) using [HeadPlaces, AttentionArgs, DropoutStep, TensorMap] with [DROPOUT_CONSTANTS]
    {
        /// Attention with heads of up to 64 elements.
        #[block(384)]
        fn hopper_forward_64 as HopperForward64(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Attention with heads of up to 128 elements.
        #[block(384)]
        fn hopper_forward_128 as HopperForward128(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, o: InOutAny, lse: InOut<f32>);

        /// Gradients of queries, heads of up to 64 elements.
        #[block(384)]
        fn hopper_queries_backward_64 as HopperQueries64(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny);

        /// Gradients of queries, heads of up to 128 elements.
        #[block(384)]
        fn hopper_queries_backward_128 as HopperQueries128(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, k: InAny, v: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, dq: InOutAny);

        /// Gradients of keys and values, heads of up to 64 elements. Without `dv` both are in `dk`.
        #[block(384)]
        fn hopper_keys_backward_64 as HopperKeys64(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, q: InAny, d_o: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);

        /// Gradients of keys and values, heads of up to 128 elements. Without `dv` both are in `dk`.
        #[block(384)]
        fn hopper_keys_backward_128 as HopperKeys128(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, q: InAny, d_o: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, dk: InOutAny, dv: InOutAny);

        /// All gradients, heads of up to 64 elements: those of queries are added to `sums` by atomic additions.
        #[block(384)]
        fn hopper_backward_64 as HopperBackward64(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, q: InAny, k: InAny, v: InAny, d_o: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, sums: InOut<f32>, dk: InOutAny, dv: InOutAny);

        /// All gradients, heads of up to 128 elements: those of queries are added to `sums` by atomic additions.
        #[block(384)]
        fn hopper_backward_128 as HopperBackward128(a: Size<AttentionArgs>, queries: InBoxes, keys: InBoxes, values: InBoxes, gradients: InBoxes, q: InAny, k: InAny, v: InAny, d_o: InAny, q_lengths: InAny, k_lengths: InAny, drop: InAny, lse: In<f32>, dots: In<f32>, sums: InOut<f32>, dk: InOutAny, dv: InOutAny);

        /// Gradients of queries from these sums, a block per 64 queries, heads of up to 64 elements.
        #[block(256)]
        fn hopper_finish_queries_64 as HopperFinish64(a: Size<AttentionArgs>, q_lengths: InAny, k_lengths: InAny, sums: In<f32>, dq: InOutAny);

        /// Gradients of queries from these sums, a block per 64 queries, heads of up to 128 elements.
        #[block(256)]
        fn hopper_finish_queries_128 as HopperFinish128(a: Size<AttentionArgs>, q_lengths: InAny, k_lengths: InAny, sums: In<f32>, dq: InOutAny);
    }
}
