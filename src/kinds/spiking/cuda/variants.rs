//! Repeats the delivery of the last window with other methods, to compare their times.

use super::{
    CudaSim,
    buffers::DeviceBuffers,
    kernels::{
        Chunk, DeliverPull, DeliverPushRows, DeliverSpikes, Kernels, MarkSpiked, Segment, VariantKernels, Window,
    },
    sizes::{BufferSizes, CHUNK, bytes},
};
use crate::{
    buffers,
    data::Csr,
    gpu::{Buf, Gpu, GpuError, Graph, Pass},
    kinds::spiking::{constants::Real, probes::VARIANTS},
    num::quant,
    sim::{Buffers as _, SimError},
};
use std::sync::Arc;

/// Number of launches per measurement, because two events around a graph cost as much as a launch.
const REPEATS: u32 = 64;
/// Indices of the window and its successor in the variants' own segments.
const LAST: u32 = 0;
const SCRATCH: u32 = 1;

/// Buffer lengths of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantSizes {
    neurons: usize,
    connections: usize,
    pieces: usize,
    network: BufferSizes,
}

impl VariantSizes {
    fn new(network: &BufferSizes, connectivity: &Csr) -> Self {
        let mut inputs = vec![0_u32; connectivity.n() as usize];
        connectivity.words.iter().for_each(|word| inputs[connectivity.target(*word) as usize] += 1);
        let pieces = inputs.iter().map(|n| n.div_ceil(CHUNK) as usize).sum();
        Self { neurons: inputs.len(), connections: connectivity.len(), pieces, network: *network }
    }
}

buffers! {
    /// Tables read by the variants, and their outputs.
    pub struct DeliveryVariants(gpu: Arc<Gpu>, s: VariantSizes) {
        "variants to deliver" {
            /// The last window and its successor.
            windows: Buf<Window> = Workspace "windows of the variants" 2;
            /// Segments of the two windows.
            segments: Buf<Segment> = Workspace "segments of the variants" s.network.segment_ring as usize;
            /// Segments of the two windows, indexed by window.
            live: Buf<Segment> = Workspace "graph segments of the variants" 3;
            /// Flags of the warps that spikes reached.
            touched: Buf<u8> = Workspace "warps reached by the variants" [2, s.network.lanes() / 32];
            /// Sums of synapse counts per target.
            arrivals: Buf<i32> = Workspace "arrivals of the variants" s.network.arrivals();
            /// 8-bit levels of the counts, for `deliver_push_rows`.
            levels: Buf<u8> = Derived "connectivity in eight bits" s.connections;
            /// Scale of the levels of each neuron.
            scales: Buf<f32> = Derived "scales of eight bits" s.neurons;
            /// Sums per target, for `deliver_push_rows`.
            sums: Buf<f32> = Workspace "sums of eight bits" s.network.arrivals();
            /// Connections by target in chunks, for `deliver_pull`.
            pieces: Buf<Chunk> = Derived "pieces by target" s.pieces;
            /// Sources and counts of the connections, by target.
            sources: Buf<u32> = Derived "connectivity by target" s.connections;
            /// Whether each neuron fired, one bit per neuron.
            fired: Buf<u32> = Workspace "neurons that fired" s.neurons.div_ceil(32);
            /// Step of each neuron's spike.
            when: Buf<u32> = Workspace "steps of their spikes" s.neurons;
        }
        plain {
            kernels: VariantKernels = VariantKernels::load(gpu)?;
            /// Number of threads of `deliver_pull`.
            pull_threads: u32 = gpu.multiprocessors * 2048;
            /// Captured launches, by variant.
            graphs: Vec<Graph> = vec![];
        }
    }
}

impl DeliveryVariants {
    fn new(gpu: &Arc<Gpu>, sizes: &VariantSizes, connectivity: &Csr) -> Result<Self, GpuError> {
        let (levels, scales) = quantised(connectivity);
        let (pieces, sources) = by_target(connectivity);
        let mut new = Self::allocate(gpu, sizes)?;
        new.levels.write(&levels)?;
        new.scales.write(&scales)?;
        new.pieces.write(&pieces)?;
        new.sources.write(&sources)?;
        Ok(new)
    }

    /// Launches one variant.
    fn launch(
        &mut self,
        variant: usize,
        kernels: &Kernels,
        memory: &DeviceBuffers,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let (model, spikes, words) = (memory.model.buf(), &memory.spikes, &memory.network.words);
        match variant {
            // The arguments are those of a launch within a graph.
            0 => DeliverSpikes {
                layout: memory.model.value().layout,
                windows: &self.windows,
                index: 1,
                segments: &mut self.segments,
                live: &mut self.live,
                chunks: &memory.chunks,
                words,
                arrivals: &mut self.arrivals,
                touched: &mut self.touched,
            }
            .launch(kernels, pass, memory.deliver_threads),
            1 => {
                let (segments, rows) = (&self.segments, &memory.network.rows);
                let (levels, scales, sums) = (&self.levels, &self.scales, &mut self.sums);
                let threads = memory.deliver_threads;
                DeliverPushRows { model, segments, spikes, rows, words, levels, scales, sums }.launch(
                    &self.kernels,
                    pass,
                    threads,
                )
            }
            _ => {
                let (segments, fired, when) = (&self.segments, &mut self.fired, &mut self.when);
                MarkSpiked { model, segments, spikes, fired, when }.launch(&self.kernels, pass, 1 << 14)?;
                let (n, pieces, sources) = (self.pieces.len() as u32, &self.pieces, &self.sources);
                let arrivals = &mut self.arrivals;
                DeliverPull { model, n_pieces: n, pieces, sources, fired, when, arrivals }.launch(
                    &self.kernels,
                    pass,
                    self.pull_threads,
                )
            }
        }
    }

    fn capture(&mut self, gpu: &Gpu, kernels: &Kernels, memory: &DeviceBuffers) -> Result<(), GpuError> {
        for variant in 0..VARIANTS.len() {
            let record = |pass: &mut Pass| (0..REPEATS).try_for_each(|_| self.launch(variant, kernels, memory, pass));
            // SAFETY: the buffers live as long as the graphs; no edit replaces those of the network.
            let graph = unsafe { Graph::capture(gpu, record) }?;
            self.graphs.push(graph);
        }
        Ok(())
    }

    /// Reads the arrivals computed by a variant, averaged over its launches.
    fn read(&self, variant: usize) -> Result<Vec<f64>, GpuError> {
        let mean = |sum: f64| sum / f64::from(REPEATS);
        Ok(match variant {
            1 => self.sums.read()?.into_iter().map(|x| mean(x.into())).collect(),
            _ => self.arrivals.read()?.into_iter().map(|x| mean(x.into())).collect(),
        })
    }
}

impl<T: Real> CudaSim<T> {
    /// Times each variant on the spikes of the last window, with packed weights, and reports its error relative to the first.
    /// Has no effect outside profiled batches or without `measure.variants`.
    pub(super) fn time_variants(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        if !self.host.params.measure.variants {
            self.variants = None;
            return Ok(());
        }
        self.refresh_graphs();
        let Some((segment, step)) = self.queue.last().filter(|_| pass.profiled) else { return Ok(()) };
        let Self { variants, memory, kernels, gpu, host, sizes, .. } = self;
        let variants = match variants {
            Some(variants) => variants,
            none => none.insert({
                // A failing comparison must not end the run.
                let variant_sizes = VariantSizes::new(sizes, &host.setup.connectivity);
                let needed = DeliveryVariants::predict(&variant_sizes).total();
                if needed > gpu.memory()?.free / 2 {
                    tracing::warn!("measure.variants: no {} are free on the GPU; nothing is compared", bytes(needed));
                    None
                } else {
                    let mut new = DeliveryVariants::new(gpu, &variant_sizes, &host.setup.connectivity)?;
                    new.capture(gpu, kernels, memory)?;
                    Some(new)
                }
            }),
        };
        let Some(variants) = variants else { return Ok(()) };
        let last = memory.segments.read_range(segment as usize..segment as usize + 1)?;
        let events = events(memory, &last[0], &host.setup.connectivity)?;
        variants.segments.write_at(LAST as usize, &last)?;
        variants.live.write_at(1, &last)?;
        let window = Window {
            unread: last[0].spike_start,
            segment: SCRATCH,
            last: LAST,
            step: step + u64::from(sizes.delay),
            steps: sizes.window,
            sent: step as u32,
            most_spikes: i32::MAX, // nothing is added
            most_chunks: i32::MAX,
            ..Window::default()
        };
        variants.windows.write_at(1, &[window])?;
        let mut reference: Option<Vec<f64>> = None;
        for (variant, name) in VARIANTS.into_iter().enumerate() {
            variants.arrivals.clear()?;
            variants.sums.clear()?;
            variants.fired.clear()?;
            variants.when.clear()?;
            let graph = &mut variants.graphs[variant];
            pass.device_span(gpu, name, || graph.launch())?;
            pass.last_repeats(REPEATS);
            pass.last_items(events * u64::from(REPEATS));
            let sums = variants.read(variant)?;
            let reference = reference.get_or_insert_with(|| sums.clone());
            pass.off(name, relative_error(&sums, reference));
        }
        Ok(())
    }
}

/// Returns the number of synaptic events of the spikes of a segment.
fn events(memory: &DeviceBuffers, segment: &Segment, connectivity: &Csr) -> Result<u64, GpuError> {
    let ring = memory.spikes.len();
    let (from, n) = (segment.spike_start as usize & (ring - 1), segment.n_spikes as usize);
    let before_end = (ring - from).min(n);
    let mut keys = memory.spikes.read_range(from..from + before_end)?;
    keys.extend(memory.spikes.read_range(0..n - before_end)?);
    let lane = |key: u32| key & ((1 << super::sizes::LANE_BITS) - 1);
    Ok(keys.into_iter().map(|key| connectivity.row(lane(key)).len() as u64).sum())
}

/// Returns the maximum difference between two lists of sums, relative to the maximum sum.
fn relative_error(sums: &[f64], reference: &[f64]) -> f64 {
    let most = reference.iter().map(|x| x.abs()).fold(f64::MIN_POSITIVE, f64::max);
    sums.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / most
}

/// Quantises counts to 8-bit levels with one scale per neuron.
fn quantised(connectivity: &Csr) -> (Vec<u8>, Vec<f32>) {
    let mut levels = Vec::with_capacity(connectivity.len());
    let scales = (0..connectivity.n()).map(|pre| {
        let largest = connectivity.row(pre).iter().map(|w| connectivity.count(*w).unsigned_abs()).max().unwrap_or(0);
        let scale = quant::scale_for(largest as f32);
        levels.extend(connectivity.row(pre).iter().map(|w| quant::level(connectivity.count(*w) as f32, scale) as u8));
        scale
    });
    let scales = scales.collect();
    (levels, scales)
}

/// Returns the connections by target, each a source and a packed count; and rows of the connections in chunks of at most
/// [`CHUNK`], with the target in place of the step.
fn by_target(connectivity: &Csr) -> (Vec<Chunk>, Vec<u32>) {
    let mut starts = vec![0_u32; connectivity.n() as usize + 1];
    for word in &connectivity.words {
        starts[connectivity.target(*word) as usize + 1] += 1;
    }
    for target in 0..connectivity.n() as usize {
        starts[target + 1] += starts[target];
    }
    let (mut next, mut sources) = (starts.clone(), vec![0; connectivity.len()]);
    for pre in 0..connectivity.n() {
        for word in connectivity.row(pre) {
            let place = &mut next[connectivity.target(*word) as usize];
            sources[*place as usize] = Csr::pack(connectivity.target_bits, pre, connectivity.count(*word));
            *place += 1;
        }
    }
    let pieces = (0..connectivity.n()).flat_map(|target| {
        let (start, end) = (starts[target as usize], starts[target as usize + 1]);
        let piece = move |word: u32| Chunk { word, meta: target << 7 | (CHUNK.min(end - word) - 1) };
        (start..end).step_by(CHUNK as usize).map(piece)
    });
    (pieces.collect(), sources)
}
