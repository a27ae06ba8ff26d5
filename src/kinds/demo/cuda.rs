//! Weights on a GPU: a kernel reads tokens with the bits of [`cpu`](super::cpu). The other state is on the host, which counts the
//! outcomes of the tokens.

use super::{
    cpu::{Prediction, ROW, State, TABLE},
    params::Params,
    sampler::{BIN, N_BINS, is_due},
    simulation::DemoSim,
    source::{N_SYMBOLS, Source},
};
use crate::{
    buffers, device_constants, device_struct,
    gpu::{
        Buf, Cell, Gpu, GpuError, KernelFacts, Pass,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    num::{elements::Bf16, rng::Purpose},
    sim::{Buffers as _, Execution, SimError},
};
use std::sync::Arc;

/// Maximum number of tokens whose outcomes are stored on the device.
pub const MAX_TOKENS: usize = 4096;
/// Maximum number of histograms that are stored on the device.
const MAX_HISTOGRAMS: usize = 1024;

/// Symbol of a token that was not read, because the prediction was NaN.
const NON_FINITE: u32 = u32::MAX;

const STIMULUS: u32 = Purpose::Stimulus as u32;
const NOISE: u32 = Purpose::Noise as u32;

const SIZES: &[Constant] = device_constants![N_SYMBOLS, ROW, TABLE, N_BINS, BIN, NON_FINITE, STIMULUS, NOISE];

device_struct! {
    /// Parameters as read by the kernels.
    pub struct StreamParams {
        /// Seed of the project: part of the address of every draw
        seed: u64,
        /// Symbols of the text; 0: symbols are drawn
        n_text: u64,
        /// Step size of the weights
        learning_rate: f32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// Position in the stream.
    pub struct StreamPosition {
        /// Tokens read so far
        step: u64,
        /// The last symbol
        symbol: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// The outcome of a token.
    pub struct TokenRecord {
        /// The symbol that came
        symbol: u32,
        /// Negative logarithm of its probability
        loss: f32,
        /// The three likeliest symbols, eight bits each
        best: u32,
        /// Probability of the likeliest symbol
        best_p0: f32,
        /// Probability of the second likeliest symbol
        best_p1: f32,
        /// Probability of the third likeliest symbol
        best_p2: f32,
    }
}

kernels! {
    /// Experts on a stream of symbols.
    pub struct ExpertKernels in "demo/experts.cu" using [StreamParams, StreamPosition, TokenRecord] with [SIZES] {
        /// One warp: predicts and learns these tokens in order. Items: tokens.
        #[block(32)]
        fn read_tokens as ReadTokens(
            n_tokens: Size<u32>, first: Size<u32>, params: In<StreamParams>, source: In<u8>, owners: In<u32>,
            position: InOut<StreamPosition>, weights: InOut<Bf16>, records: InOut<TokenRecord>
        );

        /// One block per table: counts its weights in bins. Items: tables.
        #[block(256)]
        fn count_weights as CountWeights(slots: In<u32>, first: Size<u32>, weights: In<Bf16>, counts: InOut<u32>);
    }
}

impl TokenRecord {
    /// Outcome without its expert; `None` if the prediction was NaN.
    fn prediction(&self) -> Option<Prediction> {
        if self.symbol == NON_FINITE {
            return None;
        }
        let p = [self.best_p0, self.best_p1, self.best_p2];
        let best = std::array::from_fn(|rank| ((self.best >> (8 * rank)) as u8, p[rank]));
        Some(Prediction { expert: 0, symbol: self.symbol as u8, loss: self.loss, best })
    }
}

/// Sizes of the device buffers.
pub struct Sizes {
    /// Number of bfloat16 weights.
    pub n_weights: usize,
    /// Size of the source, bytes.
    pub n_source: usize,
}

/// Sizes for a model; with the default source until another one is read.
pub fn sizes(params: &Params, source: Option<&Source>) -> Sizes {
    let n_source = source.map_or(4 * N_SYMBOLS, |source| source.table().len());
    Sizes { n_weights: params.n_weights(), n_source }
}

buffers! {
    /// Weights, and the other buffers of the kernels.
    pub struct DeviceWeights(gpu: Arc<Gpu>, s: Sizes) {
        "weights" {
            /// Weight tables of all slots.
            weights: Buf<Bf16> = State "weights" s.n_weights;
        }
        "workspace" {
            /// The text, or four successors of each symbol.
            source: Buf<u8> = Derived "source" s.n_source;
            /// Index of the table of each symbol's owner.
            owners: Buf<u32> = Derived "owners" N_SYMBOLS;
            params: Cell<StreamParams> = Derived "parameters" 1;
            position: Buf<StreamPosition> = Derived "position" 1;
            records: Buf<TokenRecord> = Readback "outcomes of tokens" MAX_TOKENS;
            /// Tables for a histogram.
            slots: Buf<u32> = Workspace "tables to count" N_SYMBOLS;
            histograms: Buf<u32> = Readback "histograms" MAX_HISTOGRAMS * N_BINS;
        }
        plain {
            kernels: ExpertKernels = ExpertKernels::load(gpu)?;
            gpu: Arc<Gpu> = gpu.clone();
            /// Number of symbols in the text; 0 without a text.
            n_text: u64 = 0;
            /// Number of tokens and of histograms since they were last taken.
            n_tokens: usize = 0;
            n_histograms: usize = 0;
        }
    }
}

impl DeviceWeights {
    /// Allocates buffers of zeros and writes the source. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, params: &Params, source: &Source) -> Result<Self, GpuError> {
        let mut new = Self::allocate(gpu, &sizes(params, Some(source)))?;
        new.set_source(source)?;
        Ok(new)
    }

    /// Replaces the source. Fails if the device fails.
    pub fn set_source(&mut self, source: &Source) -> Result<(), GpuError> {
        if source.table().len() != self.source.len() {
            self.source = Buf::zeros(&self.gpu, "source", source.table().len())?;
        }
        self.n_text = if let Source::Text(symbols) = source { symbols.len() as u64 } else { 0 };
        self.source.write(source.table())
    }

    /// Sets the state after which the next tokens are read. Fails if the device fails.
    pub fn begin(&mut self, state: &State, seed: u64, learning_rate: f32) -> Result<(), GpuError> {
        let params = StreamParams { seed, n_text: self.n_text, learning_rate, pad: 0 };
        if self.params.value() != params {
            self.params.set(params)?;
        }
        let owners = state.owner.map(|expert| state.experts[usize::from(expert)].slot);
        self.owners.write(&owners)?;
        self.position.write(&[StreamPosition { step: state.step, symbol: state.symbol.into(), pad: 0 }])
    }

    /// Launches the reading of `n_tokens` tokens; the host does not wait. Fails if the device fails.
    pub fn read(&mut self, n_tokens: usize, pass: &mut Pass) -> Result<(), GpuError> {
        let first = self.n_tokens as u32;
        self.n_tokens += n_tokens;
        let Self { source, owners, position, weights, records, .. } = self;
        let params = self.params.buf();
        ReadTokens { n_tokens: n_tokens as u32, first, params, source, owners, position, weights, records }.launch(
            &self.kernels,
            pass,
            32,
        )?;
        pass.items_of(|name| if name == "read_tokens" { n_tokens as u64 } else { 0 });
        Ok(())
    }

    /// Launches a histogram of the weights in these tables after the tokens launched so far; the host does not wait.
    /// Fails if the device fails.
    pub fn count(&mut self, slots: &[u32], pass: &mut Pass) -> Result<(), GpuError> {
        let first = self.n_histograms * N_BINS;
        self.n_histograms += 1;
        self.histograms.clear_range(first..first + N_BINS)?;
        if slots.is_empty() {
            return Ok(());
        }
        self.slots.write_at(0, slots)?;
        let Self { slots: list, weights, histograms, .. } = self;
        let threads = 256 * slots.len() as u32;
        CountWeights { slots: list, first: first as u32, weights, counts: histograms }.launch(
            &self.kernels,
            pass,
            threads,
        )
    }

    /// Waits for the tokens. Takes their outcomes, and the histograms one after the other. Fails if the device fails.
    pub fn take(&mut self) -> Result<(Vec<TokenRecord>, Vec<u32>), GpuError> {
        let records = self.records.read_range(0..std::mem::take(&mut self.n_tokens))?;
        let counts = self.histograms.read_range(0..N_BINS * std::mem::take(&mut self.n_histograms))?;
        Ok((records, counts))
    }

    /// Copies the tables that experts can have to `to`. Fails if the device fails.
    pub fn tables(&self, to: &mut [u16]) -> Result<(), GpuError> {
        self.weights.read_into(0, bytemuck::cast_slice_mut(to))
    }

    /// Replaces the tables that experts can have. Fails if the device fails.
    pub fn put_tables(&mut self, tables: &[u16]) -> Result<(), GpuError> {
        self.weights.write_at(0, bytemuck::cast_slice(tables))
    }

    /// Sets all weights to zero. Fails if the device fails.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        self.weights.clear()
    }

    /// Device and driver, for the manifest.
    pub fn execution(&self) -> Execution {
        Execution::cuda(&self.gpu)
    }

    /// Registers, memory and occupancy of the kernels.
    pub fn kernels(&self) -> Vec<KernelFacts> {
        self.gpu.kernel_facts().into_iter().filter(|kernel| kernel.module() == ExpertKernels::SPEC.id()).collect()
    }
}

impl DemoSim {
    /// Reads tokens on the device, and counts their outcomes on the host. A batch ends where the host needs weights: at
    /// a split, and where a text is generated. Fails if the device fails.
    pub(super) fn advance_on_device(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let is_finite = self.state.loss.is_finite() && self.state.experts.iter().all(|e| e.load.is_finite());
        if steps > 0 && !is_finite {
            return Err(self.state.non_finite());
        }
        let (mut left, generation) = (steps as usize, self.generation);
        while left > 0 && !pass.is_stopping() && !(pass.ends_at_changes && self.generation != generation) {
            let tables = self.sampler.counted_tables(&self.state);
            let n = self.n_tokens(left, tables.len());
            let Some(device) = &mut self.device else { break };
            device.begin(&self.state, self.seed, self.params.rate_at(self.state.step))?;
            let (every, mut read) = (self.params.measure.every, 0);
            while read < n {
                let to_sample = steps_until(every, self.state.step + read as u64);
                let next = if tables.is_empty() { n } else { to_sample.min(n - read) };
                device.read(next, pass)?;
                read += next;
                if is_due(every, self.state.step + read as u64) {
                    tables.iter().try_for_each(|slots| device.count(slots, pass))?;
                }
            }
            let (outcomes, counts) = device.take()?;
            let mut counts = counts.chunks_exact((N_BINS * tables.len()).max(1));
            for record in outcomes {
                let outcome = record.prediction().ok_or_else(|| self.state.non_finite())?;
                let expert = self.state.count(outcome);
                if self.sampler.writes_text(&self.params, self.state.step) {
                    self.read_tables()?;
                }
                let counted = if is_due(every, self.state.step) { counts.next() } else { None };
                self.sampler.record(&self.params, &self.state, expert, self.seed, counted);
            }
            self.grow()?;
            left -= n;
        }
        Ok(pass.collect()?)
    }

    /// Number of tokens in the next batch.
    fn n_tokens(&self, left: usize, n_histograms: usize) -> usize {
        let (step, measure) = (self.state.step, &self.params.measure);
        let text = if self.sampler.writes_text(&self.params, 0) { measure.text_every } else { 0 };
        let ends = [self.params.growth.split_every, text].map(|every| steps_until(every, step));
        // The first sample may follow the first token.
        let samples = (MAX_HISTOGRAMS / n_histograms.max(1)).max(1);
        let fit = (samples - 1).saturating_mul(measure.every as usize) + 1;
        let halvings = self.params.experts.halve_at.iter().filter_map(|at| u64::from(*at).checked_sub(step));
        let to_halving = halvings.filter(|n| *n > 0).min().map_or(usize::MAX, |n| n as usize);
        ends.into_iter().chain([MAX_TOKENS, fit, to_halving]).fold(left, usize::min)
    }
}

/// Number of steps until the next multiple of `every`; unlimited if `every` is 0.
fn steps_until(every: u32, step: u64) -> usize {
    if every == 0 { usize::MAX } else { (u64::from(every) - step % u64::from(every)) as usize }
}
