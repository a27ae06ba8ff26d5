//! Device memory of a simulation.

use super::{
    kernels::{Chunk, DeviceRate, Kick, KickSource, Model, RingLayout, Segment, WeightGain, Window},
    network::SharedNetwork,
    sizes::{
        BufferSizes, COUNTERS, MAX_GRAPH_WINDOWS, MAX_REACHED_BLOCKS, MAX_TRACED, MAX_WINDOW_STEPS, TRACE_WORDS, Tuning,
    },
    stimuli::DeviceStimuli,
    words::words,
};
use crate::{
    buffers,
    gpu::{Buf, Cell, Gpu, GpuError, Mark, Pinned, layout::CudaType},
    kinds::spiking::{
        constants::{Constants, Real, TABLE},
        measure::{Measurements, RunningRate},
    },
    sim::Buffers as _,
};
use std::sync::Arc;

buffers! {
    /// Device memory of one simulation. Buffers with one element are replaced by longer ones on demand.
    pub struct DeviceBuffers(gpu: Arc<Gpu>, s: BufferSizes) {
        "neurons" {
            /// Model constants and sizes.
            pub model: Cell<Model> = Derived "model" 1;
            /// Propagators over 0 to `TABLE` steps.
            pub propagators: Buf<u32> = Derived "propagators" [TABLE as usize + 1, 4 * s.real_words()];
            /// u and g at the anchor; for leaky units v.
            pub states: Buf<u32> = Saved "u and g" [s.lanes(), 2 * s.real_words()];
            /// Number of completed steps at which u and g hold.
            pub anchors: Buf<u32> = Saved "anchors" s.lanes();
            /// Flags of each neuron, see [`mark`](crate::kinds::spiking::saved_state::mark).
            pub marks: Buf<u32> = Saved "flags" s.lanes();
            /// Constant current into each neuron, mV; one element until there is one.
            pub currents: Buf<u32> = Saved "currents" 1;
            /// Uploaded currents that are not applied yet, of the length of `currents`.
            pub(super) new_currents: Buf<u32> = Derived "new currents" 1;
            /// First step at which each neuron can cross the threshold without input.
            pub(super) checks: Buf<u32> = Derived "threshold bounds" s.lanes();
            /// First step at which any neuron of each warp can cross the threshold without input.
            pub(super) wakes: Buf<u32> = Derived "threshold bounds of warps" s.lanes() / 32;
            /// Running rate of each neuron.
            pub rates: Buf<DeviceRate> = Saved "running rates" s.lanes();
            /// Decay tables of running rates: by single steps, then by 1024.
            pub(super) fade: Buf<f32> = Derived "decay tables" 1;
        }
        "arrivals" {
            /// Sums of synapse counts: `[step of the window][neuron]`.
            pub(super) arrivals: Buf<i32> = Saved "arrivals" s.arrivals();
            /// Flags of the warps that a spike reached, in two halves.
            pub(super) touched: Buf<u8> = Workspace "reached warps" [2, s.lanes() / 32];
            /// Steps of a window with input or a check, one bit each, of every neuron that is reached.
            pub(super) summed: Buf<u32> = Workspace "steps with arrivals" s.lanes();
            /// Neurons reached in a window, then by block groups of 32 neurons with trains; between launches, uploaded flags of the
            /// neurons that are not applied yet.
            pub(super) reached: Buf<u32> = Workspace "reached neurons" s.lanes() + s.lanes() / 32 + MAX_REACHED_BLOCKS as usize;
            /// Number of neurons reached in each window of a launch.
            pub(super) n_reached: Buf<u32> = Workspace "numbers of reached neurons" MAX_GRAPH_WINDOWS as usize;
        }
        "spikes in launch" {
            /// Windows of the running graph.
            pub windows: Buf<Window> = Workspace "plan of windows" MAX_GRAPH_WINDOWS as usize;
            /// Number of spikes and of chunks in each window.
            pub segments: Buf<Segment> = Saved "segments" s.segment_ring as usize;
            /// The segment of each window of the running graph, from index 1 on.
            pub(super) live: Buf<Segment> = Workspace "graph segments" MAX_GRAPH_WINDOWS as usize + 1;
            /// Rows in transit, divided into chunks.
            pub chunks: Buf<Chunk> = Saved "pending chunks" s.chunk_ring as usize;
            /// Ring of spikes.
            pub spikes: Buf<u32> = Readback "spikes" s.spike_ring as usize;
            /// Counters of two halves of `MAX_GRAPH_WINDOWS` windows each, with `COUNTERS` per window.
            pub counters: Buf<u32> = Readback "counters" [2, MAX_GRAPH_WINDOWS as usize, COUNTERS];
            /// Arrival counter of the grid barrier.
            pub(super) barrier: Buf<u32> = Workspace "barrier" 1;
            /// Spikes exchanged by persistent blocks.
            pub(super) mailboxes: Buf<u64> = Workspace "mailboxes" 1;
        }
        "drives" {
            /// Index of each neuron's gain.
            pub(super) gain_of: Buf<u16> = Derived "gain of each neuron" 1;
            /// Distinct weight gains.
            pub(super) gains: Buf<WeightGain> = Derived "gains" 1;
            /// Sources of kicks.
            pub(super) sources: Buf<KickSource> = Derived "sources of kicks" 1;
            /// Probabilities of kicks.
            pub(super) chances: Buf<u64> = Derived "kick probabilities" 1;
            /// Targets of trains, one bit per neuron.
            pub(super) masks: Buf<u32> = Derived "targets of trains" s.lanes() / 32;
            /// Whether each warp has trains.
            pub(super) trains: Buf<u32> = Derived "warps with trains" s.lanes() / 32;
            /// Listed kicks, sorted.
            pub(super) kicks: Buf<Kick> = Derived "listed kicks" 1;
            /// Kicks of a window, one bit per step.
            pub(super) kick_bits: Buf<u32> = Workspace "kicks of a window" s.lanes();
        }
        "samples" {
            /// Indices of the neurons whose v and g are sampled.
            pub(super) traced: Buf<u32> = Derived "traced neurons" 1;
            /// Inputs that persistent blocks record for traced neurons: `[window][neuron][TRACE_WORDS]`.
            pub(super) trace_inputs: Buf<u32> = Workspace "inputs of traced neurons" 1;
            /// Sampled v and g: `[window][step][neuron][v, g]`.
            pub samples: Buf<f32> = Readback "samples" 1;
            /// Potential v of every neuron.
            pub(super) potentials: Option<Buf<f32>> = Readback "potentials" 0;
            /// Running rates at one step during their transfer.
            rates_read: Option<Buf<DeviceRate>> = Readback "running rates read" 0;
            /// Host copy of the running rates.
            landing: Option<Pinned<DeviceRate>> = Readback "copy of running rates" 0;
            /// Host copy of v.
            pub(super) potentials_landing: Option<Pinned<f32>> = Readback "copy of potentials" 0;
            /// Potential v of leaky units at one step during its transfer.
            states_read: Option<Buf<u32>> = Readback "states read" 0;
            /// Host copy of v of leaky units.
            states_landing: Option<Pinned<u32>> = Readback "copy of states" 0;
        }
        plain {
            pub(super) gpu: Arc<Gpu> = gpu.clone();
            /// Connections, which other simulations may use as well.
            pub(super) network: SharedNetwork = SharedNetwork::default();
            /// Number of neurons.
            pub(super) n: u32 = s.n;
            /// Number of words of the currents into all neurons.
            current_words: usize = s.lanes() * s.real_words();
            /// Number of threads of `deliver_spikes`.
            pub(super) deliver_threads: u32 = gpu.multiprocessors * s.deliver_warps * 32;
            /// Tag of the next window, which was not used since the mailboxes were cleared.
            pub(super) next_tag: u32 = 1;
            /// Number of traced neurons.
            pub(super) n_traced: u32 = 0;
            /// Whether a buffer was replaced that captured graphs may use.
            pub(super) was_replaced: bool = false;
        }
    }
}

impl DeviceBuffers {
    /// Allocates buffers with all neurons at rest, no spikes in transit and no stimuli. Fails if device memory is full
    /// or the device fails.
    pub fn new(
        gpu: &Arc<Gpu>,
        sizes: &BufferSizes,
        tuning: &Tuning,
        network: SharedNetwork,
        target_bits: u32,
        seed: u64,
    ) -> Result<Self, GpuError> {
        let mut new = Self { network, ..Self::allocate(gpu, sizes)? };
        new.model.set(Model {
            seed,
            n: sizes.n,
            n_warps: sizes.warps(),
            stride: sizes.stride(),
            n_overflow: sizes.overflow as u32,
            layout: RingLayout {
                target_bits,
                window: sizes.window,
                spike_mask: sizes.spike_ring - 1,
                chunk_mask: sizes.chunk_ring - 1,
                segment_mask: sizes.segment_ring - 1,
                dense_chunks: tuning.dense_chunks,
            },
            ..Model::default()
        })?;
        Ok(new)
    }

    /// Uploads active stimuli. Returns true if a buffer was replaced. Fails if device memory is full or the device
    /// fails.
    pub fn upload_stimuli(&mut self, image: &DeviceStimuli) -> Result<bool, GpuError> {
        let gpu = self.gpu.clone();
        let mut replaced = false;
        replaced |= fill(&gpu, &mut self.sources, &image.sources)?;
        replaced |= fill(&gpu, &mut self.chances, &image.chances)?;
        replaced |= fill(&gpu, &mut self.masks, &image.masks)?;
        replaced |= fill(&gpu, &mut self.kicks, &image.kicks)?;
        replaced |= fill(&gpu, &mut self.gain_of, &image.gain_of)?;
        replaced |= fill(&gpu, &mut self.gains, &image.gains)?;
        self.trains.write_at(0, &image.trains)?;
        self.reached.write_at(0, &image.marks)?;
        if !image.currents.is_empty() {
            self.reserve_currents()?;
            self.new_currents.write_at(0, &image.currents)?;
        } else if self.has_currents() {
            self.new_currents.clear()?;
        }
        Ok(replaced)
    }

    /// Whether there is memory for currents into the neurons.
    pub fn has_currents(&self) -> bool {
        self.currents.len() == self.current_words
    }

    /// Allocates the currents into all neurons, 0 mV, unless they are allocated. Fails if device memory is full.
    pub fn reserve_currents(&mut self) -> Result<(), GpuError> {
        if self.has_currents() {
            return Ok(());
        }
        let new = Buf::zeros(&self.gpu, self.new_currents.what, self.current_words)?;
        self.currents = Buf::zeros(&self.gpu, self.currents.what, self.current_words)?;
        self.new_currents = new;
        self.was_replaced = true;
        Ok(())
    }

    /// Uploads the constants derived from the parameters. Fails if the device fails.
    pub fn upload_constants<T: Real>(&mut self, constants: &Constants<T>) -> Result<(), GpuError> {
        let table: Vec<u32> = constants.propagators.iter().flat_map(|p| words([p.a, p.b, p.d, p.c])).collect();
        self.propagators.write(&table)?;
        let mut model = self.model.value();
        model.lif = constants.on_device();
        model.theta_f = model.lif.theta as f32;
        model.refractory = constants.refractory;
        self.model.set(model)
    }

    /// Starts copying the first `n` words of the states, which are v of leaky units, to page-locked memory. Fails if
    /// the device fails.
    pub fn start_states(&mut self) -> Result<(), GpuError> {
        start_copy(
            &self.gpu,
            &self.states,
            self.n as usize,
            "states read",
            &mut self.states_read,
            &mut self.states_landing,
        )
    }

    /// Waits for the copy of the states that was started last. Returns the words; empty if no copy was started. Fails
    /// if the device fails.
    pub fn finish_states(&self) -> Result<Vec<u32>, GpuError> {
        self.states_landing.as_ref().map_or(Ok(vec![]), |words| Ok(words.get()?.to_vec()))
    }

    /// Sets the neurons whose v and g are sampled. Enlarges the buffers if necessary. Fails if device memory is full or
    /// the device fails.
    pub fn set_traced(&mut self, traced: &[u32]) -> Result<(), GpuError> {
        let gpu = self.gpu.clone();
        fill(&gpu, &mut self.traced, traced)?;
        self.n_traced = traced.len() as u32;
        let windows = 2 * MAX_GRAPH_WINDOWS as usize;
        let inputs = if self.n_traced <= MAX_TRACED { windows * traced.len() * TRACE_WORDS } else { 0 };
        if inputs > self.trace_inputs.len() {
            self.trace_inputs = Buf::zeros(&gpu, "inputs of traced neurons", inputs)?;
        }
        let samples = windows * MAX_WINDOW_STEPS as usize * traced.len() * 2;
        if samples > self.samples.len() {
            self.samples = Buf::zeros(&gpu, "samples", samples)?;
        }
        Ok(())
    }

    /// Clears kicks drawn for windows that did not run, because they are drawn again, possibly for other windows. Fails
    /// if the device fails.
    pub fn clear_kicks(&mut self) -> Result<(), GpuError> {
        self.kick_bits.clear()
    }

    /// Removes all spikes in transit and returns all neurons to rest. Fails if the device fails.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        self.segments.clear()?;
        self.arrivals.clear()?;
        self.touched.clear()?;
        self.summed.clear()?;
        self.kick_bits.clear()?;
        self.currents.clear()?;
        self.marks.clear()?;
        self.states.clear()?;
        self.rates.clear()?;
        self.anchors.clear()
    }

    /// Uploads decay tables and increment of running rates. Returns true if a buffer was replaced. Fails if device
    /// memory is full or the device fails.
    pub fn upload_decay(&mut self, measurements: &Measurements) -> Result<bool, GpuError> {
        let (fine, coarse) = measurements.fade_tables();
        let gpu = self.gpu.clone();
        let replaced = fill(&gpu, &mut self.fade, &[fine, coarse].concat())?;
        let mut model = self.model.value();
        (model.gain, model.n_coarse) = (measurements.gain(), coarse.len() as u32);
        self.model.set(model)?;
        Ok(replaced)
    }

    /// Starts copying the running rates to page-locked memory, because views request them sixty times per second. Fails
    /// if the device fails.
    pub fn start_rates(&mut self) -> Result<(), GpuError> {
        start_copy(
            &self.gpu,
            &self.rates,
            self.n as usize,
            "running rates read",
            &mut self.rates_read,
            &mut self.landing,
        )
    }

    /// Waits for the copy of the running rates, and writes them to `into`. Fails if the device fails.
    pub fn finish_rates(&mut self, into: &mut Vec<RunningRate>) -> Result<(), GpuError> {
        let Some(landing) = &self.landing else { return Ok(()) };
        into.clear();
        into.extend(landing.get()?.iter().map(|r| RunningRate { hz: r.hz, step: r.step }));
        Ok(())
    }

    /// Uploads the running rates to the device. Fails if the device fails.
    pub fn upload_rates(&mut self, running: &[RunningRate]) -> Result<(), GpuError> {
        let rates: Vec<DeviceRate> = running.iter().map(|r| DeviceRate { hz: r.hz, step: r.step }).collect();
        self.rates.write_at(0, &rates)
    }
}

/// Starts copying the first `n` elements to page-locked memory through the device buffer `read`: later kernels wait
/// only for the copy on the device, not for the transfer. Fails if the device fails.
pub(in crate::kinds::spiking) fn start_copy<T: CudaType>(
    gpu: &Arc<Gpu>,
    from: &Buf<T>,
    n: usize,
    name: &'static str,
    read: &mut Option<Buf<T>>,
    landing: &mut Option<Pinned<T>>,
) -> Result<(), GpuError> {
    if read.is_none() {
        *read = Some(Buf::zeros(gpu, name, n)?);
    }
    if landing.is_none() {
        *landing = Some(Pinned::zeros(gpu, n)?);
    }
    let (Some(read), Some(landing)) = (read, landing) else { return Ok(()) };
    landing.hold_kernels(gpu)?; // the transfer before this one ended long ago
    let flat = from.reshaped(from.len())?;
    let first = flat.part(0..n)?;
    read.copy_from(&first)?;
    read.download_concurrent(0..n, landing, 0, &Mark::now(gpu)?)
}

/// Writes `values` to the start of a buffer, which is replaced by a longer one if they do not fit. Returns whether the
/// buffer was replaced. Fails if device memory is full or the device fails.
pub(in crate::kinds::spiking) fn fill<T: CudaType>(
    gpu: &Arc<Gpu>,
    buffer: &mut Buf<T>,
    values: &[T],
) -> Result<bool, GpuError> {
    let fits = values.len() <= buffer.len();
    if !fits {
        *buffer = Buf::zeros(gpu, buffer.what, values.len().next_power_of_two())?;
    }
    buffer.write_at(0, values)?;
    Ok(!fits)
}
