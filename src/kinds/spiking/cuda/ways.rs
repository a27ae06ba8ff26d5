//! The delivery of the last window once more in other ways, timed side by side.

use super::{
    CudaSim,
    kernels::{Chunk, Kernels, Segment, WayKernels, Window},
    memory::Memory,
    sizes::{CHUNK, bytes},
};
use crate::{
    data::Csr,
    gpu::{Buf, Gpu, GpuError, Graph, Pass},
    kinds::spiking::{layout::Real, probes::VARIANTS},
    num::quant,
    sim::SimError,
};
use std::sync::Arc;

/// Launches of a way in a row: two events around a graph cost as much as a launch.
const REPEATS: u32 = 64;
/// Places of the window and of the one after it in the ways' own segments.
const LAST: u32 = 0;
const SCRATCH: u32 = 1;

/// Tables that the ways read, and what they add to.
pub struct Ways {
    kernels: WayKernels,
    windows: Buf<Window>,
    segments: Buf<Segment>,
    live: Buf<Segment>,
    touched: Buf<u8>,
    arrivals: Buf<i32>,
    /// Of push_rows: what a synapse counts as in eight bits, the scale of each neuron, sums.
    levels: Buf<u8>,
    scales: Buf<f32>,
    sums: Buf<f32>,
    /// Of pull: connections by target in pieces, who fired and when.
    pieces: Buf<Chunk>,
    sources: Buf<u32>,
    fired: Buf<u32>,
    when: Buf<u32>,
    pull_threads: u32,
    graphs: Vec<Graph>,
}

impl Ways {
    fn new(gpu: &Arc<Gpu>, memory: &Memory, wiring: &Csr) -> Result<Self, GpuError> {
        let (levels, scales) = in_eight_bits(wiring);
        let (pieces, sources) = by_target(wiring);
        let n = wiring.n() as usize;
        Ok(Self {
            kernels: WayKernels::load(gpu)?,
            windows: Buf::zeros(gpu, "windows of the ways", 2)?,
            segments: Buf::zeros(gpu, "segments of the ways", memory.segments.len())?,
            live: Buf::zeros(gpu, "segments at hand of the ways", 3)?,
            touched: Buf::zeros(gpu, "warps reached by the ways", memory.touched.len())?,
            arrivals: Buf::zeros(gpu, "arrivals of the ways", memory.arrivals.len())?,
            levels: Buf::from_slice(gpu, "wiring in eight bits", &levels)?,
            scales: Buf::from_slice(gpu, "scales of eight bits", &scales)?,
            sums: Buf::zeros(gpu, "sums of eight bits", memory.arrivals.len())?,
            pieces: Buf::from_slice(gpu, "pieces by target", &pieces)?,
            sources: Buf::from_slice(gpu, "wiring by target", &sources)?,
            fired: Buf::zeros(gpu, "who fired", n.div_ceil(32))?,
            when: Buf::zeros(gpu, "when they fired", n)?,
            pull_threads: gpu.multiprocessors * 2048,
            graphs: vec![],
        })
    }

    /// Bytes on the device beside the network: per connection a word by target and a level, tables of sums, four words a
    /// neuron.
    fn bytes(memory: &Memory, wiring: &Csr) -> u64 {
        let (n, connections) = (u64::from(wiring.n()), wiring.len() as u64);
        5 * connections + 8 * memory.arrivals.len() as u64 + 16 * n + 8 * (n + connections / u64::from(CHUNK))
    }

    /// Bytes held on the device.
    pub fn n_bytes(&self) -> u64 {
        let tables = self.levels.bytes() + self.scales.bytes() + self.pieces.bytes() + self.sources.bytes();
        tables + self.arrivals.bytes() + self.sums.bytes() + self.fired.bytes() + self.when.bytes()
    }

    /// One launch of a way.
    fn launch(&mut self, way: usize, kernels: &Kernels, memory: &Memory, pass: &mut Pass) -> Result<(), GpuError> {
        let (model, spikes, words) = (memory.model.buf(), &memory.spikes, &memory.words);
        match way {
            0 => kernels.deliver(
                pass,
                memory.deliver_threads,
                memory.model.value().layout,
                &self.windows,
                1, // as within a graph
                &mut self.segments,
                &mut self.live,
                &memory.chunks,
                words,
                &mut self.arrivals,
                &mut self.touched,
            ),
            1 => {
                let (segments, rows) = (&self.segments, &memory.rows);
                let (levels, scales, sums) = (&self.levels, &self.scales, &mut self.sums);
                let threads = memory.deliver_threads;
                self.kernels.push_rows(pass, threads, model, segments, spikes, rows, words, levels, scales, sums)
            }
            _ => {
                let (segments, fired, when) = (&self.segments, &mut self.fired, &mut self.when);
                self.kernels.note_fired(pass, 1 << 14, model, segments, spikes, fired, when)?;
                let (n, pieces, sources) = (self.pieces.len() as u32, &self.pieces, &self.sources);
                let arrivals = &mut self.arrivals;
                self.kernels.pull(pass, self.pull_threads, model, n, pieces, sources, fired, when, arrivals)
            }
        }
    }

    fn capture(&mut self, gpu: &Gpu, kernels: &Kernels, memory: &Memory) -> Result<(), GpuError> {
        for way in 0..VARIANTS.len() {
            let record = |pass: &mut Pass| (0..REPEATS).try_for_each(|_| self.launch(way, kernels, memory, pass));
            // SAFETY: the buffers live as long as the graphs; those of the network are replaced by none of its edits.
            let graph = unsafe { Graph::capture(gpu, record) }?;
            self.graphs.push(graph);
        }
        Ok(())
    }

    /// What arrived by a way, on average over its launches.
    fn read(&self, way: usize) -> Result<Vec<f64>, GpuError> {
        let mean = |sum: f64| sum / f64::from(REPEATS);
        Ok(match way {
            1 => self.sums.read()?.into_iter().map(|x| mean(x.into())).collect(),
            _ => self.arrivals.read()?.into_iter().map(|x| mean(x.into())).collect(),
        })
    }
}

impl<T: Real> CudaSim<T> {
    /// Times each way on the spikes of the last window, weights as they are, and says how far it is from the first. Rows
    /// are there when `measure.variants` asks for them, in measured batches.
    pub(super) fn time_ways(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        if !self.desk.params.measure.variants {
            self.ways = None;
            return Ok(());
        }
        let Some((segment, step)) = self.queue.last().filter(|_| pass.profiled) else { return Ok(()) };
        let Self { ways, memory, kernels, gpu, desk, sizes, .. } = self;
        let ways = match ways {
            Some(ways) => ways,
            none => none.insert({
                // A comparison ends no run.
                let needed = Ways::bytes(memory, &desk.setup.wiring);
                if needed > gpu.memory()?.free / 2 {
                    tracing::warn!("measure.variants: no {} are free on the GPU; nothing is compared", bytes(needed));
                    None
                } else {
                    let mut new = Ways::new(gpu, memory, &desk.setup.wiring)?;
                    new.capture(gpu, kernels, memory)?;
                    Some(new)
                }
            }),
        };
        let Some(ways) = ways else { return Ok(()) };
        let last = memory.segments.read_range(segment as usize..segment as usize + 1)?;
        let events = events(memory, &last[0], &desk.setup.wiring)?;
        ways.segments.write_at(LAST as usize, &last)?;
        ways.live.write_at(1, &last)?;
        let window = Window {
            unread: last[0].spike_start,
            segment: SCRATCH,
            last: LAST,
            ..sizes.window_from(step + u64::from(sizes.delay), sizes.window)
        };
        ways.windows.write_at(1, &[window])?;
        let mut reference: Option<Vec<f64>> = None;
        for (way, name) in VARIANTS.into_iter().enumerate() {
            ways.arrivals.clear()?;
            ways.sums.clear()?;
            ways.fired.clear()?;
            ways.when.clear()?;
            let graph = &mut ways.graphs[way];
            pass.device_span(gpu, name, || graph.launch())?;
            pass.last_repeats(REPEATS);
            pass.last_items(events * u64::from(REPEATS));
            let sums = ways.read(way)?;
            let reference = reference.get_or_insert_with(|| sums.clone());
            pass.off(name, off(&sums, reference));
        }
        Ok(())
    }
}

/// Synaptic events of the spikes of a segment.
fn events(memory: &Memory, segment: &Segment, wiring: &Csr) -> Result<u64, GpuError> {
    let ring = memory.spikes.len();
    let (from, n) = (segment.spike_start as usize & (ring - 1), segment.n_spikes as usize);
    let before_end = (ring - from).min(n);
    let mut keys = memory.spikes.read_range(from..from + before_end)?;
    keys.extend(memory.spikes.read_range(0..n - before_end)?);
    let lane = |key: u32| key & ((1 << super::sizes::LANE_BITS) - 1);
    Ok(keys.into_iter().map(|key| wiring.row(lane(key)).len() as u64).sum())
}

/// Largest difference, relative to the largest sum.
fn off(sums: &[f64], reference: &[f64]) -> f64 {
    let most = reference.iter().map(|x| x.abs()).fold(f64::MIN_POSITIVE, f64::max);
    sums.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / most
}

/// Counts as levels of eight bits, and what one level of each neuron is worth.
fn in_eight_bits(wiring: &Csr) -> (Vec<u8>, Vec<f32>) {
    let mut levels = Vec::with_capacity(wiring.len());
    let scales = (0..wiring.n()).map(|pre| {
        let largest = wiring.row(pre).iter().map(|w| wiring.count(*w).unsigned_abs()).max().unwrap_or(0);
        let scale = quant::scale_for(largest as f32);
        levels.extend(wiring.row(pre).iter().map(|w| quant::level(wiring.count(*w) as f32, scale) as u8));
        scale
    });
    let scales = scales.collect();
    (levels, scales)
}

/// Connections by target, each a source and a count as in the wiring; and rows of them in pieces of at most [`CHUNK`],
/// the target in place of the step.
fn by_target(wiring: &Csr) -> (Vec<Chunk>, Vec<u32>) {
    let mut starts = vec![0_u32; wiring.n() as usize + 1];
    for word in &wiring.words {
        starts[wiring.target(*word) as usize + 1] += 1;
    }
    for target in 0..wiring.n() as usize {
        starts[target + 1] += starts[target];
    }
    let (mut next, mut sources) = (starts.clone(), vec![0; wiring.len()]);
    for pre in 0..wiring.n() {
        for word in wiring.row(pre) {
            let place = &mut next[wiring.target(*word) as usize];
            sources[*place as usize] = Csr::pack(wiring.target_bits, pre, wiring.count(*word));
            *place += 1;
        }
    }
    let pieces = (0..wiring.n()).flat_map(|target| {
        let (start, end) = (starts[target as usize], starts[target as usize + 1]);
        let piece = move |word: u32| Chunk { word, meta: target << 7 | (CHUNK.min(end - word) - 1) };
        (start..end).step_by(CHUNK as usize).map(piece)
    });
    (pieces.collect(), sources)
}
