//! Kernel arguments of a checked call.

use super::{
    AttentionArgs, CudaAttentionError, DECODE_QUERIES, DeviceInputs, FORWARD_64, FORWARD_128, HOPPER_KEYS_128,
    HeadPlaces, Tile, Variant,
};
use crate::{
    gpu::{Any, Boxes, BoxesOf, Gpu, GpuError, Grid},
    nn::{
        attention::{Attention, AttentionError, Given, HeadLayout, Lengths},
        storage::{Format, Storage},
    },
};

/// Maximum of the sizes that kernels count in 32 bits.
const LONGEST: usize = 1 << 30;

/// Codes of [`Lengths`], as in kernels/nn/attention.cuh.
const LENGTHS_FULL: u32 = 0;
const LENGTHS_PADDED: u32 = 1;
const LENGTHS_PACKED: u32 = 2;

/// A call whose sizes and buffers were checked.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub args: AttentionArgs,
    pub q: Any<'a>,
    pub k: Any<'a>,
    pub v: Any<'a>,
    pub q_lengths: Any<'a>,
    pub k_lengths: Any<'a>,
    pub bias: Any<'a>,
    /// Buffer of one [`DropoutStep`](crate::nn::dropout::cuda::DropoutStep).
    pub drop: Any<'a>,
    pub given: Given,
    /// Reason why [`Variant::Flash`] is not possible.
    no_flash: Option<&'static str>,
    /// Reason why [`Variant::Hopper`] is not possible.
    no_hopper: Option<&'static str>,
    /// Reason why [`Variant::Decode`] is not possible.
    no_decode: Option<&'static str>,
    head_dim: usize,
    batch: usize,
    multiprocessors: usize,
    drops: bool,
}

/// Returns the number of tokens that a buffer of `given` elements can hold.
fn tokens(layout: &HeadLayout, heads: usize, head_dim: usize, given: usize) -> usize {
    let one = layout.offset + heads.saturating_sub(1) * layout.head + head_dim;
    given.checked_sub(one).map_or(0, |rest| rest / layout.token.max(1) + 1).min(LONGEST)
}

impl<'a> Call<'a> {
    /// Checks a call. `are_aligned`: `o` and the gradients begin at multiples of 16 bytes; `o_len`: elements of `o` and of its
    /// gradient. Fails if the declaration or a buffer is invalid, or if the sizes exceed those of the kernels.
    pub fn new<'i: 'a, T: Storage>(
        gpu: &Gpu,
        op: &Attention,
        inputs: &DeviceInputs<'i, T>,
        (are_aligned, o_len): (bool, usize),
        lse: usize,
    ) -> Result<Self, CudaAttentionError> {
        let given = Given {
            q: inputs.q.len(),
            k: inputs.k.len(),
            v: inputs.v.len(),
            o: o_len,
            lse,
            q_lengths: inputs.q_lengths.map(|x| x.len()),
            k_lengths: inputs.k_lengths.map(|x| x.len()),
            bias: inputs.bias.map(|x| x.len()),
        };
        op.check(&given)?;
        let what = "the step of dropout";
        match (op.dropout, inputs.dropout) {
            (Some(_), None) => return Err(AttentionError::Missing { what }.into()),
            (None, Some(_)) => return Err(AttentionError::Unused { what }.into()),
            (Some(_), Some(step)) => super::super::length(what, 1, step.len())?,
            (None, None) => {}
        }
        let unable = |why| Err(CudaAttentionError::Unable { variant: Variant::Naive, why });
        if op.head_dim > 256 {
            return unable("heads have at most 256 elements");
        }
        if [op.batch, op.heads, op.q_len, op.k_len].iter().any(|n| *n > LONGEST) || op.lse_len() > u32::MAX as usize / 2
        {
            return unable("more than 2³⁰ tokens, or 2³¹ rows");
        }
        let bias = op.bias.unwrap_or_default();
        let args = AttentionArgs {
            q: places(&op.q),
            k: places(&op.k),
            v: places(&op.v),
            o: places(&op.o),
            bias_batch: bias.batch as u64,
            bias_head: bias.head as u64,
            bias_query: bias.query as u64,
            bias_key: bias.key as u64,
            batch: op.batch as u32,
            heads: op.heads as u32,
            group: op.group() as u32,
            head_dim: op.head_dim as u32,
            q_len: op.q_len as u32,
            k_len: op.k_len as u32,
            q_tokens: 0,
            k_tokens: 0,
            format: match T::STORAGE {
                Format::F32 => 0,
                Format::F16 => 1,
                Format::Bf16 => 2,
            },
            causal: op.causal.into(),
            window: op.window.map_or(0, |w| w.min(LONGEST) as u32),
            lengths: match op.lengths {
                Lengths::Full => LENGTHS_FULL,
                Lengths::Padded => LENGTHS_PADDED,
                Lengths::Packed => LENGTHS_PACKED,
            },
            aligned: 0,
            splits: 1,
            scale: op.scale,
            drop_site: op.dropout.map_or(0, |dropout| dropout.drop.layer_site),
            drop_keys: op.dropout.map_or(0, |dropout| dropout.keys as u32),
            pad: 0,
        };
        let (q, k, v) = (inputs.q.into(), inputs.k.into(), inputs.v.into());
        let has_aligned_rows = |layout: &HeadLayout| {
            let batch = if args.lengths == LENGTHS_PACKED { 0 } else { layout.batch };
            let steps = [layout.offset, layout.token, layout.head, batch];
            steps.iter().all(|n| (n * size_of::<T>()).is_multiple_of(16))
        };
        let rows_are_aligned = [(q, &op.q), (k, &op.k), (v, &op.v)]
            .iter()
            .all(|(x, layout)| Any::is_aligned_to(x, 16) && has_aligned_rows(layout));
        let args = AttentionArgs { aligned: rows_are_aligned.into(), ..args };
        let no_flash = match () {
            () if T::STORAGE == Format::F32 => Some("tensor cores take f16 and bf16"),
            () if gpu.capability < 80 => Some("compute capability 8.0 is needed"),
            () if op.head_dim > 128 || !op.head_dim.is_multiple_of(8) => Some("heads are multiples of 8 up to 128"),
            () if !rows_are_aligned || !are_aligned || !has_aligned_rows(&op.o) => {
                Some("rows begin at multiples of 16 bytes")
            }
            () if op.bias.is_some() => Some("there is no bias"),
            () if op.scale.is_nan() || op.scale <= 0.0 => Some("the scale is positive"),
            () if gpu.shared_per_block < if op.head_dim > 64 { FORWARD_128.2 } else { FORWARD_64.2 } => {
                Some("too little shared memory")
            }
            () => None,
        };
        let no_hopper = match no_flash {
            None if gpu.capability != 90 => Some("compute capability 9.0 is needed"),
            None if gpu.shared_per_block < HOPPER_KEYS_128.2 => Some("too little shared memory"),
            None if [op.q_len, op.k_len, given.q, given.k, given.v].contains(&0) => Some("there are queries and keys"),
            None if shares_memory(op) => Some("every sequence and head has memory of its own"),
            other => other,
        };
        let no_decode = match () {
            () if op.dropout.is_some() => Some("it drops no probabilities"),
            () if op.q_len > DECODE_QUERIES => Some("at most 8 queries"),
            () if !op.head_dim.is_multiple_of(8) => Some("heads are multiples of 8"),
            () if !rows_are_aligned => Some("rows begin at multiples of 16 bytes"),
            () => None,
        };
        let call = Self {
            args,
            q,
            k,
            v,
            q_lengths: inputs.q_lengths.map_or(Any::NONE, Any::from),
            k_lengths: inputs.k_lengths.map_or(Any::NONE, Any::from),
            bias: inputs.bias.map_or(Any::NONE, Any::from),
            drop: inputs.dropout.map_or(Any::NONE, Any::from),
            given,
            no_flash,
            no_hopper,
            no_decode,
            head_dim: op.head_dim,
            batch: op.batch,
            multiprocessors: gpu.multiprocessors as usize,
            drops: op.dropout.is_some(),
        };
        Ok(call.within(op, (given.q, given.k, given.v)))
    }

    /// Limits packed sequences to the tokens that all buffers hold, including buffers of these lengths.
    pub fn within(mut self, op: &Attention, (q, k, v): (usize, usize, usize)) -> Self {
        let of = |layout: &HeadLayout, heads: usize, given: usize| tokens(layout, heads, op.head_dim, given);
        let queries = of(&op.q, op.heads, q.min(self.given.q)).min(of(&op.o, op.heads, self.given.o));
        let keys = of(&op.k, op.kv_heads, k.min(self.given.k)).min(of(&op.v, op.kv_heads, v.min(self.given.v)));
        (self.args.q_tokens, self.args.k_tokens) = (queries as u32, keys as u32);
        self
    }

    /// Returns the required variant, or an error if it is not possible. Without a requirement, returns the first possible
    /// variant of `preferred`, or else the naive variant.
    pub fn choose(&self, required: Option<Variant>, preferred: &[Variant]) -> Result<Variant, CudaAttentionError> {
        let obstacle = |variant| match variant {
            Variant::Hopper => self.no_hopper,
            Variant::Flash => self.no_flash,
            Variant::Decode => self.no_decode,
            Variant::Naive => None,
        };
        if let Some(variant) = required {
            return obstacle(variant).map_or(Ok(variant), |why| Err(CudaAttentionError::Unable { variant, why }));
        }
        Ok(preferred.iter().copied().find(|variant| obstacle(*variant).is_none()).unwrap_or(Variant::Naive))
    }

    /// Whether the kernels for heads of up to 64 elements are used.
    pub const fn is_narrow(&self) -> bool {
        self.head_dim <= 64
    }

    /// Returns the TMA descriptors of queries, keys and values, for boxes of `queries` and of `keys` tokens.
    pub fn copied(&self, (queries, keys): (usize, usize)) -> Result<[BoxesOf<'a>; 3], GpuError> {
        let a = &self.args;
        let of_keys = |tensor, at| self.boxes(tensor, at, a.heads / a.group, (a.k_len, a.k_tokens), keys);
        let queries = self.boxes(self.q, &a.q, a.heads, (a.q_len, a.q_tokens), queries)?;
        Ok([queries, of_keys(self.k, &a.k)?, of_keys(self.v, &a.v)?])
    }

    /// Returns the TMA descriptor of the gradients of results, for boxes of `queries` tokens.
    pub fn copied_gradients<'b>(&self, d_o: Any<'b>, queries: usize) -> Result<BoxesOf<'b>, GpuError> {
        let a = &self.args;
        self.boxes(d_o, &a.o, a.heads, (a.q_len, a.q_tokens), queries)
    }

    fn boxes<'b>(
        &self,
        tensor: Any<'b>,
        at: &HeadPlaces,
        heads: u32,
        (len, packed): (u32, u32),
        copied: usize,
    ) -> Result<BoxesOf<'b>, GpuError> {
        let (tokens, batch) =
            if self.args.lengths == LENGTHS_PACKED { (packed.max(1), 1) } else { (len, self.args.batch) };
        // The stride is irrelevant for a single head or sequence.
        let step = |n: u32, step: u64| if n == 1 { 0 } else { step as usize };
        let boxes = Boxes {
            is_bf16: self.args.format == 2,
            sizes: [self.head_dim, tokens as usize, heads as usize, batch as usize],
            strides: [at.token.max(8) as usize, step(heads, at.head), step(batch, at.batch)],
            copied: [64, copied as u32],
        };
        BoxesOf::new(tensor.from_byte(2 * at.offset), &boxes)
    }

    /// Returns a one-dimensional grid of `blocks` blocks. Fails if a grid cannot have so large a number of blocks.
    pub fn blocks(&self, blocks: usize, threads: u32, shared_bytes: u32) -> Result<Grid, CudaAttentionError> {
        let why = "more blocks than a grid has";
        let blocks = i32::try_from(blocks).map_err(|_| CudaAttentionError::Unable { variant: Variant::Naive, why })?;
        Ok(Grid::Blocks { blocks: [blocks.unsigned_abs(), 1, 1], threads: [threads, 1, 1], shared_bytes })
    }

    /// Returns a grid with one block per tile of tokens, head and sequence. Fails as [`Self::blocks`] does.
    pub fn grid(&self, heads: usize, len: usize, (tokens, threads, shared): Tile) -> Result<Grid, CudaAttentionError> {
        self.blocks(len.div_ceil(tokens) * heads * self.batch, threads, shared)
    }

    /// Returns a persistent grid: one block per SM loops over tiles of tokens. With dropout, each tile has its own block. With
    /// variable lengths, there are 16 blocks per SM, which balances unequal tiles better. Fails as [`Self::blocks`] does.
    pub fn turns(&self, heads: u32, len: u32, (tokens, threads, shared): Tile) -> Result<Grid, CudaAttentionError> {
        let most = match (self.drops, self.varies()) {
            (true, _) => usize::MAX,
            (false, true) => 16 * self.multiprocessors,
            (false, false) => self.multiprocessors,
        };
        let pieces = (len as usize).div_ceil(tokens) * heads as usize * self.batch;
        self.blocks(pieces.min(most), threads, shared)
    }

    /// Whether lengths may differ between sequences. Packed sequences that fill the maximum length are all equal.
    fn varies(&self) -> bool {
        let a = &self.args;
        let is_full = |tokens: u32, len: u32| u64::from(tokens) >= u64::from(a.batch) * u64::from(len);
        match a.lengths {
            LENGTHS_FULL => false,
            LENGTHS_PACKED => !is_full(a.q_tokens, a.q_len) || !is_full(a.k_tokens, a.k_len),
            _ => true,
        }
    }

    /// Returns the grid of the naive kernels for longer heads, with `tensors` tiles of tokens and `weights` tiles of weights in
    /// shared memory. Fails as [`Self::blocks`] does.
    pub fn naive_grid(
        &self,
        heads: usize,
        len: usize,
        tensors: usize,
        weights: usize,
    ) -> Result<Grid, CudaAttentionError> {
        let tile = 16;
        let shared = 4 * tile * (tensors * (self.head_dim + 1) + weights * (tile + 1));
        self.grid(heads, len, (tile, 8 * tile as u32, shared as u32))
    }
}

/// Whether several sequences or heads share memory.
fn shares_memory(op: &Attention) -> bool {
    let batch = if op.lengths == Lengths::Packed { 1 } else { op.batch };
    let tensors = [(&op.q, op.heads), (&op.k, op.kv_heads), (&op.v, op.kv_heads), (&op.o, op.heads)];
    tensors.iter().any(|(x, heads)| (*heads > 1 && x.head == 0) || (batch > 1 && x.batch == 0))
}

fn places(layout: &HeadLayout) -> HeadPlaces {
    let [offset, batch, token, head] = [layout.offset, layout.batch, layout.token, layout.head].map(|n| n as u64);
    HeadPlaces { offset, batch, token, head }
}
