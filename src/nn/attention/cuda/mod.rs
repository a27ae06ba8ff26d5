//! [`Attention`] on a GPU: in tiles on tensor cores, from a KV cache, and without tensor cores.
//!
//! All variants compute in f32; on tensor cores, probabilities and the gradients of logits are rounded to the storage type before
//! they are multiplied. Results have the same bits for the same variant, sizes and device: sums use no atomics, unless
//! [`CudaAttention::with_fast_nondeterministic`] allows them. No variant stores the matrix of probabilities; a backward pass
//! takes one f32 per query and head from its frame. The launch does not depend on lengths, which kernels read from device memory
//! (values out of range are clipped).
//!
//! | variant | heads | types | |
//! |---|---|---|---|
//! | [`Variant::Hopper`] | as below | as below | compute capability 9.0 |
//! | [`Variant::Flash`] | multiples of 8 up to 128 | f16, bf16 | 16-byte rows, no bias, compute capability 8.0 |
//! | [`Variant::Decode`] | multiples of 8 up to 256 | all | forward, up to 8 queries; splits of the keys use a frame |
//! | [`Variant::Naive`] | up to 256 | all | any layout; the reference |
//!
//! All variants but [`Variant::Decode`] support dropout, with kernels in separate modules, so that calls without dropout have no
//! overhead.

mod args;
mod hopper;
mod kernels;
mod modules;
mod tiles;

pub use hopper::sums_of_queries;
pub use kernels::{AttentionArgs, DecodeKernels, FlashKernels, HeadPlaces, HopperKernels, NaiveKernels};
pub use modules::{MODULES, expected};

use super::{Attention, AttentionError, Given, Gradients, Inputs};
use crate::{
    gpu::{Any, AnyMut, Arena, Frame, Gpu, GpuError, Grid, Pass, Slice},
    nn::{
        dropout::cuda::DropoutStep,
        storage::{Format, Storage},
    },
};
use args::Call;
use kernels::*;
use std::sync::{Arc, OnceLock};
use tiles::*;

/// Inputs in device memory: tensors of type `T`, lengths, bias and dropout.
pub type DeviceInputs<'a, T> = Inputs<'a, Slice<T>, Slice<i32>, Slice<f32>, Slice<DropoutStep>>;

/// Algorithm and instructions of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Tiles on the tensor cores of compute capability 9.0 (wgmma).
    Hopper,
    /// Tiles on tensor cores (mma.sync).
    Flash,
    /// Few queries, with keys split among blocks.
    Decode,
    /// Tiles without tensor cores; the reference.
    Naive,
}

/// Reason why an attention was not started.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaAttentionError {
    /// The buffers do not match the declaration.
    #[error(transparent)]
    Declared(#[from] AttentionError),
    /// The device reported an error.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The required variant cannot compute this call.
    #[error("attention as {variant:?}: {why}")]
    Unable {
        /// Variant that was required.
        variant: Variant,
        /// Reason why the variant cannot compute the call.
        why: &'static str,
    },
}

/// Variants for many queries, fastest first.
const TILED: &[Variant] = &[Variant::Hopper, Variant::Flash];
/// Maximum number of queries for which keys are split among blocks.
const DECODE_QUERIES: usize = 8;
/// Minimum number of keys per split, and maximum number of splits.
const SPLIT: (usize, usize) = (128, 64);

/// Launches attention on one device. Modules are loaded at their first use, or by [`CudaAttention::prepare`].
pub struct CudaAttention {
    gpu: Arc<Gpu>,
    /// Kernels without and with dropout.
    naive: [OnceLock<NaiveKernels>; 2],
    decode: OnceLock<DecodeKernels>,
    flash: [OnceLock<FlashKernels>; 4],
    hopper: [OnceLock<HopperKernels>; 4],
    fast_nondeterministic: bool,
}

impl CudaAttention {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self {
            gpu: gpu.clone(),
            naive: Default::default(),
            decode: OnceLock::new(),
            flash: Default::default(),
            hopper: Default::default(),
            fast_nondeterministic: false,
        }
    }

    /// Allows [`Variant::Hopper`] to add the gradients of queries by f32 atomics, in one kernel with the gradients of keys and
    /// values: 5 products instead of 7, with 4 more bytes per query and element during the call. The last bits of the gradients
    /// of queries then differ from run to run.
    pub const fn with_fast_nondeterministic(mut self, is_wanted: bool) -> Self {
        self.fast_nondeterministic = is_wanted;
        self
    }

    /// Whether gradients of queries may be added by atomics.
    pub const fn is_fast_nondeterministic(&self) -> bool {
        self.fast_nondeterministic
    }

    /// Whether the gradients of 16-bit tensors may differ between runs on this device if no variant is required.
    pub fn is_nondeterministic(&self) -> bool {
        self.fast_nondeterministic && self.gpu.capability == 90
    }

    /// Loads the modules for a type, because a graph cannot be captured while a module is loaded.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.naive(false)?;
        self.decode()?;
        match self.gpu.capability {
            _ if format == Format::F32 => Ok(()),
            90 => self.hopper(format, false).map(drop),
            80.. => self.flash(format, false).map(drop),
            _ => Ok(()),
        }
    }

    fn naive(&self, drops: bool) -> Result<&NaiveKernels, GpuError> {
        loaded(&self.naive[usize::from(drops)], || NaiveKernels::load_as(&self.gpu, &modules::naive(drops)))
    }

    fn decode(&self) -> Result<&DecodeKernels, GpuError> {
        loaded(&self.decode, || DecodeKernels::load(&self.gpu))
    }

    fn flash(&self, format: Format, drops: bool) -> Result<&FlashKernels, GpuError> {
        let place = modules::place(format, drops);
        loaded(&self.flash[place], || FlashKernels::load_as(&self.gpu, &modules::FLASH[place]))
    }

    fn hopper(&self, format: Format, drops: bool) -> Result<&HopperKernels, GpuError> {
        let place = modules::place(format, drops);
        loaded(&self.hopper[place], || HopperKernels::load_as(&self.gpu, &modules::HOPPER[place]))
    }

    /// Returns the number of splits over keys, which depends on sizes alone, so that a captured launch stays valid.
    fn splits(&self, op: &Attention) -> usize {
        let rows = op.lse_len().max(1);
        let wanted = (4 * self.gpu.multiprocessors as usize).div_ceil(rows);
        wanted.min(op.k_len.div_ceil(SPLIT.0)).clamp(1, SPLIT.1)
    }

    fn decode_scratch(&self, op: &Attention) -> usize {
        op.lse_len() * self.splits(op) * (op.head_dim + 2)
    }

    /// Returns the maximum number of bytes that a call takes from its frame.
    pub fn scratch_bytes(&self, op: &Attention) -> usize {
        let forward = if op.q_len <= DECODE_QUERIES { self.decode_scratch(op) } else { 0 };
        let sums = if self.fast_nondeterministic { sums_of(op) } else { 0 };
        let backward = Arena::bytes_of(&[(op.lse_len(), size_of::<f32>()), (sums, size_of::<f32>())]);
        Arena::bytes_of(&[(forward, size_of::<f32>())]).max(backward)
    }

    /// Computes `o` and `lse`, after all work issued before. Returns the variant used; a required variant is used or an error is
    /// returned.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Attention,
        inputs: &DeviceInputs<'_, T>,
        o: &mut Slice<T>,
        lse: &mut Slice<f32>,
        variant: Option<Variant>,
        frame: &Frame<'_>,
    ) -> Result<Variant, CudaAttentionError> {
        let call = Call::new(&self.gpu, op, inputs, (is_aligned(o), o.len()), lse.len())?;
        let is_short = op.q_len < op.k_len;
        let variant =
            call.choose(variant, if is_short { &[Variant::Decode, Variant::Hopper, Variant::Flash] } else { TILED })?;
        if op.lse_len() == 0 {
            return Ok(variant);
        }
        let Call { args: a, q, k, v, q_lengths, k_lengths, bias, drop, .. } = call;
        let drops = op.dropout.is_some();
        let (o, is_narrow) = (AnyMut::from(o), is_narrow(&self.gpu, op, variant));
        match variant {
            Variant::Naive if is_narrow => {
                let grid = call.grid(op.heads, op.q_len, NAIVE_FORWARD_64)?;
                Forward64 { a, q, k, v, q_lengths, k_lengths, bias, drop, o, lse }.launch(
                    self.naive(drops)?,
                    pass,
                    grid,
                )?;
            }
            Variant::Naive => {
                let grid = call.naive_grid(op.heads, op.q_len, 3, 1)?;
                Forward256 { a, q, k, v, q_lengths, k_lengths, bias, drop, o, lse }.launch(
                    self.naive(drops)?,
                    pass,
                    grid,
                )?;
            }
            Variant::Hopper => hopper::forward(&call, self.hopper(T::STORAGE, drops)?, pass, (o, lse))?,
            Variant::Flash if is_narrow => {
                let grid = call.grid(op.heads, op.q_len, FORWARD_64)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashForward64 { a, q, k, v, q_lengths, k_lengths, drop, o, lse }.launch(kernels, pass, grid)?;
            }
            Variant::Flash => {
                let grid = call.grid(op.heads, op.q_len, FORWARD_128)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashForward128 { a, q, k, v, q_lengths, k_lengths, drop, o, lse }.launch(kernels, pass, grid)?;
            }
            Variant::Decode => {
                let splits = self.splits(op);
                let a = AttentionArgs { splits: splits as u32, ..a };
                let kernels = self.decode()?;
                let mut partial = frame.take::<f32>("attention by parts", self.decode_scratch(op))?;
                let grid = call.blocks(op.lse_len() * splits, 128, 0)?;
                let (mut o, partial) = (o, &mut *partial);
                if op.head_dim <= 128 {
                    let o = o.again();
                    Decode128 { a, q, k, v, q_lengths, k_lengths, bias, partial: &mut *partial, o, lse: &mut *lse }
                        .launch(kernels, pass, grid)?;
                } else {
                    let o = o.again();
                    Decode256 { a, q, k, v, q_lengths, k_lengths, bias, partial: &mut *partial, o, lse: &mut *lse }
                        .launch(kernels, pass, grid)?;
                }
                if splits > 1 {
                    let grid = call.blocks(op.lse_len(), 128, 0)?;
                    Join { a, q_lengths, k_lengths, partial, o, lse }.launch(kernels, pass, grid)?;
                }
            }
        }
        Ok(variant)
    }

    /// Computes the gradients of queries, keys and values from `d_o`, the gradient of the result, in the layouts of their
    /// tensors, and adds to `dbias` for a bias with an element for every pair. `o` and `lse` are those of
    /// [`CudaAttention::forward`].
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Attention,
        inputs: &DeviceInputs<'_, T>,
        (o, lse): (&Slice<T>, &Slice<f32>),
        d_o: &Slice<T>,
        mut gradients: Gradients<'_, Slice<T>>,
        dbias: Option<&mut Slice<f32>>,
        variant: Option<Variant>,
        frame: &Frame<'_>,
    ) -> Result<Variant, CudaAttentionError> {
        let are_aligned = is_aligned(gradients.q()) && is_aligned(gradients.k()) && is_aligned(gradients.v());
        let are_aligned = are_aligned && is_aligned(o) && is_aligned(d_o);
        let call = Call::new(&self.gpu, op, inputs, (are_aligned, o.len().min(d_o.len())), lse.len())?;
        let [q_len, k_len, v_len] = [gradients.q().len(), gradients.k().len(), gradients.v().len()];
        op.check(&Given { q: q_len, k: k_len, v: v_len, ..call.given })?;
        let call = call.within(op, (q_len, k_len, v_len));
        if let Some(dbias) = &dbias {
            super::length("dbias", inputs.bias.map_or(usize::MAX, |bias| bias.len()), dbias.len())?;
            let dense = op.bias.is_some_and(|b| {
                let sizes = [(op.batch, b.batch), (op.heads, b.head), (op.q_len, b.query), (op.k_len, b.key)];
                sizes.iter().all(|(n, stride)| *n <= 1 || *stride > 0)
            });
            if !dense {
                let why = "the gradient of a bias that several logits share is not supported";
                return Err(CudaAttentionError::Unable { variant: Variant::Naive, why });
            }
        }
        let required = if dbias.is_some() { variant.or(Some(Variant::Naive)) } else { variant };
        if dbias.is_some() && required != Some(Variant::Naive) {
            let why = "only the naive variant has the gradient of a bias";
            return Err(CudaAttentionError::Unable { variant: Variant::Flash, why });
        }
        let variant = match call.choose(required, TILED)? {
            Variant::Decode => Variant::Naive,
            variant => variant,
        };
        if op.lse_len() == 0 {
            return Ok(variant);
        }
        let mut dots = frame.take::<f32>("products of results and their gradients", op.lse_len())?;
        let Call { args: a, q, k, v, q_lengths, k_lengths, bias, drop, .. } = call;
        // Each warp loops four times over four rows if heads have 64 elements of 16 bits.
        let grid = call.blocks(op.lse_len().div_ceil(8 * 16).min(1 << 20), 256, 0)?;
        let drops = op.dropout.is_some();
        let naive = self.naive(drops)?;
        Dots { a, o: o.into(), d_o: d_o.into(), q_lengths, k_lengths, dots: &mut dots }.launch(naive, pass, grid)?;
        let (d_o, dots) = (Any::from(d_o), &*dots);
        let given = hopper::Given { d_o, lse, dots };
        let (is_narrow, kv_heads) = (is_narrow(&self.gpu, op, variant), op.kv_heads);
        if variant == Variant::Hopper && self.fast_nondeterministic {
            let kernels = self.hopper(T::STORAGE, drops)?;
            let mut sums = frame.take::<f32>("sums of gradients of queries", sums_of(op))?;
            sums.clear()?;
            hopper::backward(&call, kernels, pass, given, &mut sums, keys_and_values(&mut gradients))?;
            hopper::finish_queries(&call, kernels, pass, &sums, gradients.q().into())?;
            return Ok(variant);
        }
        let dq = AnyMut::from(gradients.q());
        let dbias = dbias.map_or(AnyMut::NONE, AnyMut::from);
        match (variant, is_narrow) {
            (Variant::Hopper, _) => hopper::queries(&call, self.hopper(T::STORAGE, drops)?, pass, given, dq)?,
            (Variant::Flash, true) => {
                let grid = call.grid(op.heads, op.q_len, QUERIES_64)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashQueries64 { a, q, k, v, q_lengths, k_lengths, drop, d_o, lse, dots, dq }
                    .launch(kernels, pass, grid)?;
            }
            (Variant::Flash, false) => {
                let grid = call.grid(op.heads, op.q_len, QUERIES_128)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashQueries128 { a, q, k, v, q_lengths, k_lengths, drop, d_o, lse, dots, dq }
                    .launch(kernels, pass, grid)?;
            }
            (_, true) => {
                let grid = call.grid(op.heads, op.q_len, NAIVE_BACKWARD_64)?;
                QueriesBackward64 { a, q, k, v, q_lengths, k_lengths, bias, drop, d_o, lse, dots, dq, dbias }
                    .launch(naive, pass, grid)?;
            }
            (_, false) => {
                let grid = call.naive_grid(op.heads, op.q_len, 4, 1)?;
                QueriesBackward256 { a, q, k, v, q_lengths, k_lengths, bias, drop, d_o, lse, dots, dq, dbias }
                    .launch(naive, pass, grid)?;
            }
        }
        if op.k_len == 0 {
            return Ok(variant);
        }
        let (dk, dv) = keys_and_values(&mut gradients);
        match (variant, is_narrow) {
            (Variant::Hopper, _) => hopper::keys(&call, self.hopper(T::STORAGE, drops)?, pass, given, (dk, dv))?,
            (Variant::Flash, true) => {
                let grid = call.grid(kv_heads, op.k_len, KEYS_64)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashKeys64 { a, q, k, v, q_lengths, k_lengths, drop, d_o, lse, dots, dk, dv }
                    .launch(kernels, pass, grid)?;
            }
            (Variant::Flash, false) => {
                let grid = call.grid(kv_heads, op.k_len, KEYS_128)?;
                let kernels = self.flash(T::STORAGE, drops)?;
                FlashKeys128 { a, q, k, v, q_lengths, k_lengths, drop, d_o, lse, dots, dk, dv }
                    .launch(kernels, pass, grid)?;
            }
            (_, true) => {
                let grid = call.grid(kv_heads, op.k_len, NAIVE_BACKWARD_64)?;
                KeysBackward64 { a, q, k, v, q_lengths, k_lengths, bias, drop, d_o, lse, dots, dk, dv }
                    .launch(naive, pass, grid)?;
            }
            (_, false) => {
                let grid = call.naive_grid(kv_heads, op.k_len, 4, 2)?;
                KeysBackward256 { a, q, k, v, q_lengths, k_lengths, bias, drop, d_o, lse, dots, dk, dv }
                    .launch(naive, pass, grid)?;
            }
        }
        Ok(variant)
    }

    /// Computes the probabilities `[q_len, k_len]` of one sequence and query head, from the `lse` of
    /// [`CudaAttention::forward`]; 0 outside the sequence.
    pub fn map<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Attention,
        inputs: &DeviceInputs<'_, T>,
        (batch, head): (usize, usize),
        lse: &Slice<f32>,
        map: &mut Slice<f32>,
    ) -> Result<(), CudaAttentionError> {
        let call = Call::new(&self.gpu, op, inputs, (true, usize::MAX), lse.len())?;
        op.check_index(batch, head)?;
        super::length("map", op.q_len * op.k_len, map.len())?;
        if op.q_len == 0 || op.k_len == 0 {
            return Ok(());
        }
        if op.q_len > 65_535 {
            return Err(CudaAttentionError::Unable {
                variant: Variant::Naive,
                why: "a map has at most 65,535 queries",
            });
        }
        let Call { args: a, q, k, v, q_lengths, k_lengths, bias, .. } = call;
        let blocks = [op.k_len.div_ceil(128) as u32, op.q_len as u32, 1];
        let grid = Grid::Blocks { blocks, threads: [128, 1, 1], shared_bytes: 0 };
        let (b, head) = (batch as u32, head as u32);
        Map { a, q, k, v, q_lengths, k_lengths, bias, lse, b, head, map }.launch(self.naive(false)?, pass, grid)?;
        Ok(())
    }
}

fn loaded<K>(place: &OnceLock<K>, load: impl FnOnce() -> Result<K, GpuError>) -> Result<&K, GpuError> {
    if place.get().is_none() {
        let _ = place.set(load()?);
    }
    Ok(place.get_or_init(|| unreachable!("just set")))
}

fn sums_of(op: &Attention) -> usize {
    sums_of_queries(op.batch, op.heads, op.q_len, op.head_dim)
}

/// Returns the buffers of the gradients of keys and values; a packed buffer is the first, and the second is absent.
fn keys_and_values<'a, T: Storage>(gradients: &'a mut Gradients<'_, Slice<T>>) -> (AnyMut<'a>, AnyMut<'a>) {
    match gradients {
        Gradients::Packed(all) => (AnyMut::from(&mut **all), AnyMut::NONE),
        Gradients::Separate { k, v, .. } => (AnyMut::from(&mut **k), AnyMut::from(&mut **v)),
    }
}

fn is_aligned<T: Storage>(x: &Slice<T>) -> bool {
    Any::from(x).is_aligned_to(16)
}

/// Whether the kernels for heads of up to 64 elements are used.
fn is_narrow(gpu: &Gpu, op: &Attention, variant: Variant) -> bool {
    op.head_dim <= 64 && (variant != Variant::Naive || gpu.shared_per_block >= NAIVE_BACKWARD_64.2)
}
