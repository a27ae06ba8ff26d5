//! Device memory, and kernels launched between windows.

use super::{
    kernels::{
        AdvanceAnchors, ApplyStimuli, Chunk, DeviceRate, Kernels, Kick, KickSource, Model, Overflow, ReadPotentials,
        ReanchorNeurons, RingLayout, Segment, WeightGain, Window,
    },
    leaky::LeakyDevice,
    sizes::{BufferSizes, COUNTERS, MAX_GRAPH_WINDOWS, MAX_WINDOW_STEPS, Tuning},
    stimuli::DeviceStimuli,
};
use crate::{
    data::Csr,
    gpu::{Buf, Cell, Gpu, GpuError, Pass, Pinned, layout::CudaType},
    kinds::spiking::{
        constants::TABLE,
        measure::{Measurements, RunningRate},
    },
};
use std::sync::Arc;

/// Device memory of one simulation.
pub struct DeviceBuffers {
    pub(super) gpu: Arc<Gpu>,
    pub(super) n: u32,
    pub(super) deliver_threads: u32,
    pub model: Cell<Model>,
    pub propagators: Buf<u32>,
    pub windows: Buf<Window>,
    pub segments: Buf<Segment>,
    /// The segment of each window of the running graph, from index 1 on.
    pub(super) live: Buf<Segment>,
    pub chunks: Buf<Chunk>,
    pub spikes: Buf<u32>,
    /// Two halves of `MAX_GRAPH_WINDOWS` windows each, `COUNTERS` per window.
    pub counters: Buf<u32>,
    pub(super) rows: Buf<u32>,
    pub(super) words: Buf<u32>,
    pub(super) overflow: Buf<Overflow>,
    pub(super) arrivals: Buf<i32>,
    pub(super) touched: Buf<u8>,
    /// Counter of the grid barrier.
    pub(super) barrier: Buf<u32>,
    /// The connectivity by block for persistent kernels, and their mailboxes; empty otherwise.
    pub(super) heads: Buf<u32>,
    pub(super) tails: Buf<u32>,
    pub(super) tail_starts: Buf<u32>,
    pub(super) mailboxes: Buf<u64>,
    /// The tag of the next window: not used since the mailboxes were cleared.
    pub(super) next_tag: u32,
    /// Running rates, and their decay tables: by single steps, then by 1024.
    pub rates: Buf<DeviceRate>,
    landing: Option<Pinned<DeviceRate>>,
    pub(super) fade: Buf<f32>,
    pub(super) gain_of: Buf<u16>,
    pub(super) gains: Buf<WeightGain>,
    pub(super) sources: Buf<KickSource>,
    pub(super) chances: Buf<u64>,
    pub(super) masks: Buf<u32>,
    pub(super) trains: Buf<u32>,
    pub(super) kicks: Buf<Kick>,
    pub(super) kick_bits: Buf<u32>,
    pub(super) new_marks: Buf<u32>,
    pub(super) new_currents: Buf<u32>,
    pub marks: Buf<u32>,
    pub currents: Buf<u32>,
    pub states: Buf<u32>,
    pub anchors: Buf<u32>,
    pub(super) checks: Buf<u32>,
    pub(super) wakes: Buf<u32>,
    pub(super) traced: Buf<u32>,
    pub(super) n_traced: u32,
    /// `[window][step][neuron][v, g]`.
    pub samples: Buf<f32>,
    pub(super) potentials: Option<Buf<f32>>,
    potentials_landing: Option<Pinned<f32>>,
    states_landing: Option<Pinned<u32>>,
    /// Set for networks of noisy leaky units.
    pub leaky: Option<LeakyDevice>,
}

impl DeviceBuffers {
    /// All neurons at rest, no spikes in transit, no stimuli.
    pub fn new(
        gpu: &Arc<Gpu>,
        sizes: &BufferSizes,
        tuning: &Tuning,
        connectivity: &Csr,
        seed: u64,
    ) -> Result<Self, GpuError> {
        let n = sizes.stride() as usize;
        let real = (sizes.real_bytes / 4) as usize;
        let padded = n / 32;
        let overflow: Vec<Overflow> =
            connectivity.overflow.iter().map(|(word, count)| Overflow { word: *word, count: *count }).collect();
        let model = Model {
            seed,
            n: sizes.n,
            n_warps: sizes.warps(),
            stride: sizes.stride(),
            n_overflow: overflow.len() as u32,
            layout: RingLayout {
                target_bits: connectivity.target_bits,
                window: sizes.window,
                spike_mask: sizes.spike_ring - 1,
                chunk_mask: sizes.chunk_ring - 1,
                segment_mask: sizes.segment_ring - 1,
                dense_chunks: tuning.dense_chunks,
            },
            ..Model::default()
        };
        Ok(Self {
            n: sizes.n,
            deliver_threads: gpu.multiprocessors * tuning.deliver_warps * 32,
            model: Cell::new(gpu, "model", model)?,
            propagators: Buf::zeros(gpu, "propagators", (TABLE as usize + 1) * 4 * real)?,
            windows: Buf::zeros(gpu, "plan of windows", MAX_GRAPH_WINDOWS as usize)?,
            segments: Buf::zeros(gpu, "segments", sizes.segment_ring as usize)?,
            live: Buf::zeros(gpu, "graph segments", MAX_GRAPH_WINDOWS as usize + 1)?,
            chunks: Buf::zeros(gpu, "pending chunks", sizes.chunk_ring as usize)?,
            spikes: Buf::zeros(gpu, "spikes", sizes.spike_ring as usize)?,
            counters: Buf::zeros(gpu, "counters", 2 * MAX_GRAPH_WINDOWS as usize * COUNTERS)?,
            rows: Buf::from_slice(gpu, "connectivity rows", &connectivity.rows)?,
            words: Buf::from_slice(gpu, "connectivity", &connectivity.words)?,
            overflow: Buf::from_slice(gpu, "overflow counts", &overflow)?,
            arrivals: Buf::zeros(gpu, "arrivals", sizes.arrivals())?,
            touched: Buf::zeros(gpu, "reached warps", 2 * padded)?,
            barrier: Buf::zeros(gpu, "barrier", 1)?,
            heads: Buf::zeros(gpu, "connectivity by block, heads", 1)?,
            tails: Buf::zeros(gpu, "connectivity by block, tails", 1)?,
            tail_starts: Buf::zeros(gpu, "connectivity by block, starts", 1)?,
            mailboxes: Buf::zeros(gpu, "mailboxes", 1)?,
            next_tag: 1,
            rates: Buf::zeros(gpu, "running rates", n)?,
            landing: None,
            fade: Buf::zeros(gpu, "decay tables", 1)?,
            gain_of: Buf::zeros(gpu, "gain of each neuron", 1)?,
            gains: Buf::zeros(gpu, "gains", 1)?,
            sources: Buf::zeros(gpu, "sources of kicks", 1)?,
            chances: Buf::zeros(gpu, "kick probabilities", 1)?,
            masks: Buf::zeros(gpu, "targets of trains", padded)?,
            trains: Buf::zeros(gpu, "warps with trains", padded)?,
            kicks: Buf::zeros(gpu, "listed kicks", 1)?,
            kick_bits: Buf::zeros(gpu, "kicks of a window", n)?,
            new_marks: Buf::zeros(gpu, "new flags", n)?,
            new_currents: Buf::zeros(gpu, "new currents", n * real)?,
            marks: Buf::zeros(gpu, "flags", n)?,
            currents: Buf::zeros(gpu, "currents", n * real)?,
            states: Buf::zeros(gpu, "u and g", 2 * n * real)?,
            anchors: Buf::zeros(gpu, "anchors", n)?,
            checks: Buf::zeros(gpu, "threshold bounds", n)?,
            wakes: Buf::zeros(gpu, "threshold bounds of warps", padded)?,
            traced: Buf::zeros(gpu, "traced neurons", 1)?,
            n_traced: 0,
            samples: Buf::zeros(gpu, "samples", 1)?,
            potentials: None,
            potentials_landing: None,
            states_landing: None,
            leaky: None,
            gpu: gpu.clone(),
        })
    }

    /// Uploads active stimuli. `true` if a buffer had to be replaced.
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
        self.new_marks.write_at(0, &image.marks)?;
        self.new_currents.write_at(0, &image.currents)?;
        Ok(replaced)
    }

    /// Puts the uploaded stimuli into force before step `completed`.
    pub fn apply_stimuli(&mut self, kernels: &Kernels, completed: u32) -> Result<(), GpuError> {
        if self.leaky.is_some() {
            self.marks.copy_from(&self.new_marks)?;
            return self.currents.copy_from(&self.new_currents);
        }
        ApplyStimuli {
            model: self.model.buf(),
            propagators: &self.propagators,
            completed,
            new_marks: &self.new_marks,
            new_currents: &self.new_currents,
            marks: &mut self.marks,
            currents: &mut self.currents,
            states: &mut self.states,
            anchors: &mut self.anchors,
            checks: &mut self.checks,
            wakes: &mut self.wakes,
        }
        .launch(kernels, &mut Pass::default(), self.n)
    }

    /// Re-anchors all neurons with the constants on the device, then shifts u.
    pub fn reanchor_neurons(&mut self, kernels: &Kernels, completed: u32, shift: f64) -> Result<(), GpuError> {
        let (model, states, anchors) = (self.model.buf(), &mut self.states, &mut self.anchors);
        let (marks, currents) = (&self.marks, &self.currents);
        let pass = &mut Pass::default();
        ReanchorNeurons { model, propagators: &self.propagators, completed, shift, marks, currents, states, anchors }
            .launch(kernels, pass, self.n)
    }

    /// Advances old anchors.
    pub fn advance_anchors(&mut self, kernels: &Kernels, completed: u32, pass: &mut Pass) -> Result<(), GpuError> {
        AdvanceAnchors {
            model: self.model.buf(),
            propagators: &self.propagators,
            completed,
            marks: &self.marks,
            currents: &self.currents,
            states: &mut self.states,
            anchors: &mut self.anchors,
            checks: &mut self.checks,
            wakes: &mut self.wakes,
        }
        .launch(kernels, pass, self.n)
    }

    /// Computes v of every neuron and starts copying it to page-locked memory.
    pub fn start_potentials(&mut self, kernels: &Kernels, completed: u32) -> Result<(), GpuError> {
        if self.potentials.is_none() {
            self.potentials = Some(Buf::zeros(&self.gpu, "potentials", self.n as usize)?);
        }
        let Some(v) = &mut self.potentials else { return Ok(()) };
        let (states, anchors) = (&self.states, &self.anchors);
        let (model, marks, currents) = (self.model.buf(), &self.marks, &self.currents);
        ReadPotentials { model, propagators: &self.propagators, completed, marks, currents, states, anchors, v }
            .launch(kernels, &mut Pass::default(), self.n)?;
        let landing = match &mut self.potentials_landing {
            Some(landing) => landing,
            none => none.insert(Pinned::zeros(&self.gpu, self.n as usize)?),
        };
        v.download(0..self.n as usize, landing)
    }

    /// The same for leaky units, whose states are v.
    pub fn start_states(&mut self) -> Result<(), GpuError> {
        let landing = match &mut self.states_landing {
            Some(landing) => landing,
            none => none.insert(Pinned::zeros(&self.gpu, self.n as usize)?),
        };
        self.states.download(0..self.n as usize, landing)
    }

    /// Waits for the copy of v.
    pub fn finish_potentials(&self) -> Result<Vec<f32>, GpuError> {
        match (&self.potentials_landing, &self.states_landing) {
            (Some(v), _) => Ok(v.get()?.to_vec()),
            (None, Some(words)) => Ok(words.get()?.iter().map(|word| f32::from_bits(*word)).collect()),
            (None, None) => Ok(vec![]),
        }
    }

    /// Neurons whose v and g are sampled. Buffers are replaced when there are more than before.
    pub fn set_traced(&mut self, traced: &[u32]) -> Result<(), GpuError> {
        let gpu = self.gpu.clone();
        fill(&gpu, &mut self.traced, traced)?;
        self.n_traced = traced.len() as u32;
        let samples = 2 * MAX_GRAPH_WINDOWS as usize * MAX_WINDOW_STEPS as usize * traced.len() * 2;
        if samples > self.samples.len() {
            self.samples = Buf::zeros(&gpu, "samples", samples)?;
        }
        Ok(())
    }

    /// Clears kicks that were drawn for windows that did not run: they are drawn again, perhaps for other windows.
    pub fn clear_kicks(&mut self) -> Result<(), GpuError> {
        self.kick_bits.clear()
    }

    /// No spikes in transit, all neurons at rest.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        self.segments.clear()?;
        self.arrivals.clear()?;
        self.touched.clear()?;
        self.kick_bits.clear()?;
        self.currents.clear()?;
        self.marks.clear()?;
        self.states.clear()?;
        self.rates.clear()?;
        self.anchors.clear()
    }

    /// Uploads decay tables and increment of running rates. `true` if a buffer had to be replaced.
    pub fn upload_decay(&mut self, measurements: &Measurements) -> Result<bool, GpuError> {
        let (fine, coarse) = measurements.fade_tables();
        let gpu = self.gpu.clone();
        let replaced = fill(&gpu, &mut self.fade, &[fine, coarse].concat())?;
        let mut model = self.model.value();
        (model.gain, model.n_coarse) = (measurements.gain(), coarse.len() as u32);
        self.model.set(model)?;
        Ok(replaced)
    }

    /// Starts copying the running rates to page-locked memory: views ask sixty times a second.
    pub fn start_rates(&mut self) -> Result<(), GpuError> {
        let landing = match &mut self.landing {
            Some(landing) => landing,
            none => none.insert(Pinned::zeros(&self.gpu, self.n as usize)?),
        };
        self.rates.download(0..self.n as usize, landing)
    }

    /// Waits for the copy of the running rates.
    pub fn finish_rates(&mut self, into: &mut Vec<RunningRate>) -> Result<(), GpuError> {
        let Some(landing) = &self.landing else { return Ok(()) };
        into.clear();
        into.extend(landing.get()?.iter().map(|r| RunningRate { hz: r.hz, step: r.step }));
        Ok(())
    }

    /// The inverse.
    pub fn upload_rates(&mut self, running: &[RunningRate]) -> Result<(), GpuError> {
        let rates: Vec<DeviceRate> = running.iter().map(|r| DeviceRate { hz: r.hz, step: r.step }).collect();
        self.rates.write_at(0, &rates)
    }

    /// Bytes held, by owner.
    pub fn bytes(&self) -> Vec<(&'static str, u64)> {
        let neurons = self.states.bytes()
            + self.anchors.bytes()
            + 2 * self.currents.bytes()
            + 2 * self.marks.bytes()
            + self.checks.bytes()
            + self.rates.bytes()
            + self.kick_bits.bytes()
            + 2 * self.wakes.bytes()
            + self.propagators.bytes();
        vec![
            ("connectivity", self.rows.bytes() + self.words.bytes() + self.overflow.bytes()),
            ("connectivity by block", self.heads.bytes() + self.tails.bytes() + self.tail_starts.bytes()),
            ("neurons", neurons),
            ("arrivals", self.arrivals.bytes() + self.touched.bytes()),
            (
                "spikes in launch",
                self.spikes.bytes() + self.chunks.bytes() + self.segments.bytes() + self.mailboxes.bytes(),
            ),
            ("drives", self.masks.bytes() + self.kicks.bytes() + self.gain_of.bytes()),
            ("samples", self.samples.bytes() + self.potentials.as_ref().map_or(0, |v| v.bytes())),
        ]
    }
}

/// Writes `values` to the start of a buffer, which is replaced by a longer one if they do not fit.
fn fill<T: CudaType>(gpu: &Arc<Gpu>, buffer: &mut Buf<T>, values: &[T]) -> Result<bool, GpuError> {
    let fits = values.len() <= buffer.len();
    if !fits {
        *buffer = Buf::zeros(gpu, buffer.what, values.len().next_power_of_two())?;
    }
    buffer.write_at(0, values)?;
    Ok(!fits)
}
