//! [`Embedding`] on a GPU: f32 results are bitwise equal to [`cpu`](super::cpu); in 16 bits the sum of two rows is rounded once.
//! Gradients are summed in f32, in the order of the definition.
//!
//! A token or position out of range is recorded in a flag in device memory, see [`first_invalid`]: its row of `y` is 0, and its
//! gradient is discarded. Nothing outside the tables is read.

use super::{Embedding, EmbeddingError, cpu::CHUNK};
use crate::{
    device_constants, device_struct,
    gpu::{
        Any, AnyMut, Arena, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
        kernel::{In, InAny, InOut, InOutAny, Size},
    },
    kernels,
    nn::{
        by_format::ByFormat,
        storage::{Format, Storage},
    },
};
use std::sync::Arc;

device_struct! {
    /// Sizes of an embedding.
    pub struct EmbeddingArgs {
        /// Tokens of all sequences
        tokens: u64,
        /// Tokens of a sequence
        seq_len: u64,
        /// Position of the first token of every sequence
        offset: u64,
        /// Rows of the position embeddings
        context: u64,
        /// Rows of the table
        vocab: u32,
        /// Elements of a row
        features: u32,
        /// Whether every row begins at a multiple of 16 bytes and ends at one
        aligned: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// One pass of a radix sort of places by their keys.
    pub struct SortArgs {
        /// Places that are sorted
        n: u64,
        /// Places of a segment, which one block sorts
        length: u64,
        /// Keys are less than this
        keys: u32,
        /// Segments into which the places are divided
        segments: u32,
        /// First bit of the digit
        shift: u32,
        /// Number of this pass
        pass: u32,
        /// Passes of the whole sort
        passes: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// Embedding and its gradient.
    pub struct EmbeddingKernels in "nn/embedding.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        using [EmbeddingArgs, SortArgs] with [device_constants![CHUNK]]
    {
        /// Embedding of tokens and positions: one warp per token, 16 bytes per access. Bound by memory bandwidth.
        #[block(256)]
        fn embed_tokens as EmbedTokens(g: Size<EmbeddingArgs>, tokens: In<u32>, table: InAny, positions: InAny, position_ids: InAny, y: InOutAny, flag: InOut<u32>);

        /// Sorting tokens for the gradient of the embedding: occurrences of the first digit, one block per segment; in the other
        /// blocks a share of the gradients of position embeddings, one thread per position and 16 bytes of columns.
        #[block(256)]
        fn count_digits as CountDigits(s: Size<SortArgs>, keys: In<u32>, counts: InOut<u32>, flag: InOut<u32>, g: Size<EmbeddingArgs>, dy: InAny, dpositions: InOutAny);

        /// Sorting tokens for the gradient of the embedding: places in the order of a digit, in blocks as above.
        #[block(256)]
        fn sort_places as SortPlaces(s: Size<SortArgs>, keys: In<u32>, places: InAny, counts: InOut<u32>, sorted_keys: InOut<u32>, sorted_places: InOut<u32>, g: Size<EmbeddingArgs>, dy: InAny, dpositions: InOutAny);

        /// Gradient of the embedding: sums of chunks of equal tokens, one block per 64 sorted places. Bound by memory bandwidth.
        #[block(256, 4)]
        fn add_gradients as AddGradients(g: Size<EmbeddingArgs>, keys: In<u32>, places: In<u32>, dy: InAny, partial: InOut<f32>, dtable: InOut<f32>);

        /// Gradient of the embedding: partial sums of frequent tokens.
        #[block(256)]
        fn add_partial_sums as AddPartialSums(g: Size<EmbeddingArgs>, keys: In<u32>, partial: In<f32>, dtable: InOut<f32>);
    }
}

/// Kernel modules of this operation, for the kernel tests.
pub const MODULES: &[ModuleSpec] = &[EmbeddingKernels::SPEC, EmbeddingKernels::F16, EmbeddingKernels::BF16];

/// Reason why nothing was embedded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaEmbeddingError {
    /// The buffers do not match the declaration.
    #[error(transparent)]
    Declared(#[from] EmbeddingError),
    /// The device reported an error.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Returns the index of the first token, position or target that is out of range, from a flag read from the device; `None` if
/// there is none. Writing 0 clears the flag; kernels only raise it.
pub const fn first_invalid(flag: u32) -> Option<u32> {
    if flag == 0 { None } else { Some(u32::MAX - flag) }
}

/// Launches embeddings on one device.
pub struct CudaEmbedding {
    kernels: ByFormat<EmbeddingKernels>,
}

/// Number of bits per digit of the radix sort.
const DIGIT: u32 = 8;

impl CudaEmbedding {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self {
            kernels: ByFormat::new(
                gpu,
                [EmbeddingKernels::SPEC, EmbeddingKernels::F16, EmbeddingKernels::BF16],
                EmbeddingKernels::load_as,
            ),
        }
    }

    /// Loads the module of `format` in advance.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.kernels.get(format).map(drop)
    }

    /// Returns the number of bytes that [`CudaEmbedding::backward`] takes from its frame.
    pub fn scratch_bytes(op: &Embedding) -> usize {
        let n = op.tokens;
        let list = (n, size_of::<u32>());
        let partial = (2 * n.div_ceil(CHUNK) * op.features, size_of::<f32>());
        Arena::bytes_of(&[list, list, list, list, ((3 * segments(n).1 as usize) << DIGIT, size_of::<u32>()), partial])
    }

    /// Computes `y = table[tokens] + positions`.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Embedding,
        tokens: &Slice<u32>,
        table: &Slice<T>,
        positions: Option<&Slice<T>>,
        position_ids: Option<&Slice<u32>>,
        y: &mut Slice<T>,
        flag: &mut Slice<u32>,
    ) -> Result<(), CudaEmbeddingError> {
        let lens = (positions.map(Slice::len), position_ids.map(Slice::len));
        op.check((table.len(), tokens.len(), y.len()), lens.0, lens.1)?;
        check_flag(flag)?;
        if op.tokens == 0 || op.features == 0 {
            return Ok(());
        }
        let (table, positions) = (Any::from(table), positions.map_or(Any::NONE, Any::from));
        let aligned = [table, positions, Any::from(&*y)].iter().all(|x| x.is_aligned_to(16));
        let g = args::<T>(op, lens.0, aligned);
        let position_ids = position_ids.map_or(Any::NONE, Any::from);
        let grid = blocks(self.most_blocks(op.tokens.div_ceil(8) as u64), 256);
        EmbedTokens { g, tokens, table, positions, position_ids, y: y.into(), flag }.launch(
            self.kernels.of::<T>()?,
            pass,
            grid,
        )?;
        Ok(())
    }

    /// Computes `dtable += scattered dy`, `dpositions += dy summed over sequences`, in f32.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Embedding,
        tokens: &Slice<u32>,
        dy: &Slice<T>,
        dtable: &mut Slice<f32>,
        dpositions: Option<&mut Slice<f32>>,
        position_ids: Option<&Slice<u32>>,
        flag: &mut Slice<u32>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaEmbeddingError> {
        let n_positions = dpositions.as_ref().map(|p| p.len());
        op.check((dtable.len(), tokens.len(), dy.len()), n_positions, position_ids.map(Slice::len))?;
        check_flag(flag)?;
        if op.tokens == 0 || op.features == 0 {
            return Ok(());
        }
        if op.tokens >= u32::MAX as usize {
            let (needed, given) = (u32::MAX as usize - 1, op.tokens);
            return Err(EmbeddingError::Length { what: "tokens of one call at most", needed, given }.into());
        }
        // Without position ids no sort is needed: the kernels of the tokens compute the gradients of the positions too.
        let (beside, sorted) = match (dpositions, position_ids) {
            (Some(to), Some(ids)) => (None, Some((to, ids))),
            (to, _) => (to, None),
        };
        self.scatter_add(pass, op, op.vocab, tokens, dy, dtable, beside, flag, frame)?;
        let Some((to, ids)) = sorted else { return Ok(()) };
        self.scatter_add(pass, op, to.len() / op.features, ids, dy, to, None, flag, frame)
    }

    /// Computes `to[keys[i]] += rows[i]`, and `beside += rows summed over sequences`.
    fn scatter_add<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Embedding,
        n_keys: usize,
        keys: &Slice<u32>,
        rows: &Slice<T>,
        to: &mut Slice<f32>,
        beside: Option<&mut Slice<f32>>,
        flag: &mut Slice<u32>,
        frame: &Frame<'_>,
    ) -> Result<(), CudaEmbeddingError> {
        let (frame, kernels, n) = (frame.frame(), self.kernels.of::<T>()?, op.tokens);
        let n_keys = u32::try_from(n_keys).unwrap_or(u32::MAX).max(1);
        let (length, segments) = segments(n);
        let mut counts = frame.take::<u32>("counts of tokens", (3 * segments as usize) << DIGIT)?;
        let take = |what| frame.take::<u32>(what, n);
        let mut sorted = (take("sorted tokens")?, take("places of sorted tokens")?);
        let mut other = (take("tokens being sorted")?, take("places being sorted")?);
        let passes = (u32::BITS - (n_keys - 1).leading_zeros()).max(1).div_ceil(DIGIT);
        let pass_of =
            |i| SortArgs { n: n as u64, length, keys: n_keys, segments, shift: DIGIT * i, pass: i, passes, pad: 0 };
        let (dy, n_positions) = (Any::from(rows), beside.as_ref().map(|p| p.len()));
        let mut beside = beside.map_or(AnyMut::none(), AnyMut::from);
        let of_positions = args::<T>(op, n_positions, dy.is_aligned_to(16) && beside.is_aligned_to(16));
        let items = op.tokens.min(op.seq_len) * op.features.div_ceil(16 / size_of::<T>());
        let others = n_positions.map_or(0, |_| self.most_blocks(items.div_ceil(256 * (passes as usize + 1)) as u64));
        let grid = blocks(segments + others, 256);
        CountDigits { s: pass_of(0), keys, counts: &mut counts, flag, g: of_positions, dy, dpositions: beside.again() }
            .launch(kernels, pass, grid)?;
        for i in 0..passes {
            std::mem::swap(&mut sorted, &mut other);
            let (keys, places) = if i == 0 { (keys, Any::NONE) } else { (&*other.0, Any::from(&*other.1)) };
            let (sorted_keys, sorted_places) = (&mut *sorted.0, &mut *sorted.1);
            let (s, counts, g, dpositions) = (pass_of(i), &mut *counts, of_positions, beside.again());
            SortPlaces { s, keys, places, counts, sorted_keys, sorted_places, g, dy, dpositions }
                .launch(kernels, pass, grid)?;
        }
        let mut partial = frame.take::<f32>("partial sums of gradients", 2 * n.div_ceil(CHUNK) * op.features)?;
        let g = args::<T>(op, None, dy.is_aligned_to(16) && Any::from(&*to).is_aligned_to(16));
        let windows = blocks(n.div_ceil(CHUNK) as u32, 256);
        let (keys, places) = (&*sorted.0, &*sorted.1);
        AddGradients { g, keys, places, dy, partial: &mut partial, dtable: &mut *to }.launch(kernels, pass, windows)?;
        AddPartialSums { g, keys, partial: &partial, dtable: to }.launch(kernels, pass, windows)?;
        Ok(())
    }

    /// Limits a number of blocks of 256 threads to 32 per SM; the kernels loop.
    fn most_blocks(&self, wanted: u64) -> u32 {
        let most = u64::from(self.kernels.gpu().multiprocessors) * 32;
        wanted.clamp(1, most.max(1)) as u32
    }
}

/// Returns length and number of the segments of the sort. The number is small enough for each sorting block to read the digit
/// counts of all segments.
fn segments(n: usize) -> (u64, u32) {
    let length = n.div_ceil(128).next_multiple_of(32).max(512);
    (length as u64, n.div_ceil(length) as u32)
}

fn blocks(blocks: u32, threads: u32) -> Grid {
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared_bytes: 0 }
}

/// Returns an error if the flag has no element.
pub(in crate::nn) fn check_flag(flag: &Slice<u32>) -> Result<(), GpuError> {
    if flag.is_empty() { Err(GpuError::Length { what: flag.what, device: 0, host: 1 }) } else { Ok(()) }
}

fn args<T: Storage>(op: &Embedding, positions: Option<usize>, is_aligned: bool) -> EmbeddingArgs {
    EmbeddingArgs {
        tokens: op.tokens as u64,
        seq_len: op.seq_len.max(1) as u64,
        offset: op.offset as u64,
        context: (positions.unwrap_or(0) / op.features) as u64,
        vocab: u32::try_from(op.vocab).unwrap_or(u32::MAX),
        features: op.features as u32,
        aligned: (is_aligned && op.features.is_multiple_of(16 / size_of::<T>())).into(),
        pad: 0,
    }
}
