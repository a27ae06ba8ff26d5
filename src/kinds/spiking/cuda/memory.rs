//! What lies on the device, and the launches over it.

use super::{
    drive::Image,
    kernels::{Average, Chunk, Gain, Kernels, Kick, Layout, Model, Overflow, Segment, Source, Window},
    sizes::{COUNTERS, GRAPH, LONGEST, Sizes, Tuning},
    units::UnitStep,
};
use crate::{
    data::Csr,
    gpu::{Buf, Cell, Gpu, GpuError, Pass, Pinned, layout::CudaType},
    kinds::spiking::{
        layout::TABLE,
        measure::{Meter, Running},
    },
};
use std::sync::Arc;

/// Device memory of one simulation.
pub struct Memory {
    pub(super) gpu: Arc<Gpu>,
    pub(super) n: u32,
    pub(super) deliver_threads: u32,
    pub model: Cell<Model>,
    pub propagators: Buf<u32>,
    pub windows: Buf<Window>,
    pub segments: Buf<Segment>,
    /// The segment of each window of the graph that is running, from place 1 on.
    pub(super) live: Buf<Segment>,
    pub chunks: Buf<Chunk>,
    pub spikes: Buf<u32>,
    /// Two halves of `GRAPH` windows each, `COUNTERS` per window.
    pub counters: Buf<u32>,
    pub(super) rows: Buf<u32>,
    pub(super) words: Buf<u32>,
    pub(super) overflow: Buf<Overflow>,
    pub(super) arrivals: Buf<i32>,
    pub(super) touched: Buf<u8>,
    /// Where blocks that meet count themselves.
    pub(super) gate: Buf<u32>,
    /// The wiring dealt to resident blocks, and where these tell each other who fired; empty without them.
    pub(super) heads: Buf<u32>,
    pub(super) tails: Buf<u32>,
    pub(super) tail_starts: Buf<u32>,
    pub(super) posts: Buf<u64>,
    /// The tag of the next window: none was used since the posts were cleared.
    pub(super) next_tag: u32,
    /// Running rates, and how they fade: by single steps, then by 1024.
    pub rates: Buf<Average>,
    landing: Option<Pinned<Average>>,
    pub(super) fade: Buf<f32>,
    pub(super) gain_of: Buf<u16>,
    pub(super) gains: Buf<Gain>,
    pub(super) sources: Buf<Source>,
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
    /// Set for networks of noisy leaky units.
    pub units: Option<UnitStep>,
}

impl Memory {
    /// All neurons at rest, nothing on its way, no drive.
    pub fn new(gpu: &Arc<Gpu>, sizes: &Sizes, tuning: &Tuning, wiring: &Csr, seed: u64) -> Result<Self, GpuError> {
        let n = sizes.stride() as usize;
        let real = (sizes.real_bytes / 4) as usize;
        let padded = n / 32;
        let overflow: Vec<Overflow> =
            wiring.overflow.iter().map(|(word, count)| Overflow { word: *word, count: *count }).collect();
        let model = Model {
            seed,
            n: sizes.n,
            n_warps: sizes.warps(),
            stride: sizes.stride(),
            n_overflow: overflow.len() as u32,
            layout: Layout {
                target_bits: wiring.target_bits,
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
            windows: Buf::zeros(gpu, "plan of windows", GRAPH as usize)?,
            segments: Buf::zeros(gpu, "segments", sizes.segment_ring as usize)?,
            live: Buf::zeros(gpu, "segments at hand", GRAPH as usize + 1)?,
            chunks: Buf::zeros(gpu, "chunks on their way", sizes.chunk_ring as usize)?,
            spikes: Buf::zeros(gpu, "spikes", sizes.spike_ring as usize)?,
            counters: Buf::zeros(gpu, "counters", 2 * GRAPH as usize * COUNTERS)?,
            rows: Buf::from_slice(gpu, "rows of the wiring", &wiring.rows)?,
            words: Buf::from_slice(gpu, "wiring", &wiring.words)?,
            overflow: Buf::from_slice(gpu, "large counts", &overflow)?,
            arrivals: Buf::zeros(gpu, "arrivals", sizes.arrivals())?,
            touched: Buf::zeros(gpu, "warps reached", 2 * padded)?,
            gate: Buf::zeros(gpu, "gate", 1)?,
            heads: Buf::zeros(gpu, "heads of the wiring by block", 1)?,
            tails: Buf::zeros(gpu, "tails of the wiring by block", 1)?,
            tail_starts: Buf::zeros(gpu, "places of the tails", 1)?,
            posts: Buf::zeros(gpu, "posts of blocks", 1)?,
            next_tag: 1,
            rates: Buf::zeros(gpu, "running rates", n)?,
            landing: None,
            fade: Buf::zeros(gpu, "fading of rates", 1)?,
            gain_of: Buf::zeros(gpu, "gain of each neuron", 1)?,
            gains: Buf::zeros(gpu, "gains", 1)?,
            sources: Buf::zeros(gpu, "sources of kicks", 1)?,
            chances: Buf::zeros(gpu, "chances of kicks", 1)?,
            masks: Buf::zeros(gpu, "targets of trains", padded)?,
            trains: Buf::zeros(gpu, "warps with trains", padded)?,
            kicks: Buf::zeros(gpu, "listed kicks", 1)?,
            kick_bits: Buf::zeros(gpu, "kicks of a window", n)?,
            new_marks: Buf::zeros(gpu, "marks to come", n)?,
            new_currents: Buf::zeros(gpu, "currents to come", n * real)?,
            marks: Buf::zeros(gpu, "marks", n)?,
            currents: Buf::zeros(gpu, "currents", n * real)?,
            states: Buf::zeros(gpu, "u and g", 2 * n * real)?,
            anchors: Buf::zeros(gpu, "anchors", n)?,
            checks: Buf::zeros(gpu, "crossing bounds", n)?,
            wakes: Buf::zeros(gpu, "crossing bounds of warps", padded)?,
            traced: Buf::zeros(gpu, "traced neurons", 1)?,
            n_traced: 0,
            samples: Buf::zeros(gpu, "samples", 1)?,
            potentials: None,
            units: None,
            gpu: gpu.clone(),
        })
    }

    /// Copies a situation to where kernels find it. `true` when a buffer had to be replaced.
    pub fn take_up(&mut self, image: &Image) -> Result<bool, GpuError> {
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

    /// Makes what was taken up the present, before step `completed`.
    pub fn enter(&mut self, kernels: &Kernels, completed: u32) -> Result<(), GpuError> {
        if self.units.is_some() {
            self.marks.copy_from(&self.new_marks)?;
            return self.currents.copy_from(&self.new_currents);
        }
        kernels.enter(
            &mut Pass::default(),
            self.n,
            self.model.buf(),
            &self.propagators,
            completed,
            &self.new_marks,
            &self.new_currents,
            &mut self.marks,
            &mut self.currents,
            &mut self.states,
            &mut self.anchors,
            &mut self.checks,
            &mut self.wakes,
        )
    }

    /// Re-anchors all neurons with the constants that are on the device, then moves u.
    pub fn rebase(&mut self, kernels: &Kernels, completed: u32, shift: f64) -> Result<(), GpuError> {
        let (model, states, anchors) = (self.model.buf(), &mut self.states, &mut self.anchors);
        let (marks, currents) = (&self.marks, &self.currents);
        let pass = &mut Pass::default();
        kernels.rebase(pass, self.n, model, &self.propagators, completed, shift, marks, currents, states, anchors)
    }

    /// Brings old anchors forward.
    pub fn settle(&mut self, kernels: &Kernels, completed: u32, pass: &mut Pass) -> Result<(), GpuError> {
        kernels.settle(
            pass,
            self.n,
            self.model.buf(),
            &self.propagators,
            completed,
            &self.marks,
            &self.currents,
            &mut self.states,
            &mut self.anchors,
            &mut self.checks,
            &mut self.wakes,
        )
    }

    /// v of every neuron, mV.
    pub fn potentials(&mut self, kernels: &Kernels, completed: u32, pass: &mut Pass) -> Result<Vec<f32>, GpuError> {
        if self.potentials.is_none() {
            self.potentials = Some(Buf::zeros(&self.gpu, "potentials", self.n as usize)?);
        }
        let Some(v) = &mut self.potentials else { return Ok(vec![]) };
        let (states, anchors) = (&self.states, &self.anchors);
        let (model, marks, currents) = (self.model.buf(), &self.marks, &self.currents);
        kernels.potentials(pass, self.n, model, &self.propagators, completed, marks, currents, states, anchors, v)?;
        v.read_range(0..self.n as usize)
    }

    /// Neurons whose v and g are sampled. Buffers are replaced when there are more than before.
    pub fn follow(&mut self, traced: &[u32]) -> Result<(), GpuError> {
        let gpu = self.gpu.clone();
        fill(&gpu, &mut self.traced, traced)?;
        self.n_traced = traced.len() as u32;
        let samples = 2 * GRAPH as usize * LONGEST as usize * traced.len() * 2;
        if samples > self.samples.len() {
            self.samples = Buf::zeros(&gpu, "samples", samples)?;
        }
        Ok(())
    }

    /// Forgets kicks that were drawn for windows that did not run: they are drawn again, perhaps for others.
    pub fn forget_kicks(&mut self) -> Result<(), GpuError> {
        self.kick_bits.clear()
    }

    /// Nothing on its way, all neurons at rest.
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

    /// How running rates fade, and what a spike adds. `true` when a buffer had to be replaced.
    pub fn fade(&mut self, meter: &Meter) -> Result<bool, GpuError> {
        let (fine, coarse) = meter.fade_tables();
        let gpu = self.gpu.clone();
        let replaced = fill(&gpu, &mut self.fade, &[fine, coarse].concat())?;
        let mut model = self.model.value();
        (model.gain, model.n_coarse) = (meter.gain(), coarse.len() as u32);
        self.model.set(model)?;
        Ok(replaced)
    }

    /// The running rates as they are now, over page-locked memory: views ask sixty times a second.
    pub fn running(&mut self, into: &mut Vec<Running>) -> Result<(), GpuError> {
        let landing = match &mut self.landing {
            Some(landing) => landing,
            none => none.insert(Pinned::zeros(&self.gpu, self.n as usize)?),
        };
        self.rates.download(0..self.n as usize, landing)?;
        into.clear();
        into.extend(landing.get()?.iter().map(|r| Running { hz: r.hz, step: r.step }));
        Ok(())
    }

    /// The reverse.
    pub fn set_running(&mut self, running: &[Running]) -> Result<(), GpuError> {
        let rates: Vec<Average> = running.iter().map(|r| Average { hz: r.hz, step: r.step }).collect();
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
            ("wiring", self.rows.bytes() + self.words.bytes() + self.overflow.bytes()),
            ("wiring by block", self.heads.bytes() + self.tails.bytes() + self.tail_starts.bytes()),
            ("neurons", neurons),
            ("arrivals", self.arrivals.bytes() + self.touched.bytes()),
            (
                "spikes in flight",
                self.spikes.bytes() + self.chunks.bytes() + self.segments.bytes() + self.posts.bytes(),
            ),
            ("drives", self.masks.bytes() + self.kicks.bytes() + self.gain_of.bytes()),
            ("samples", self.samples.bytes() + self.potentials.as_ref().map_or(0, Buf::bytes)),
        ]
    }
}

/// Writes `values` to the start of a buffer, which is replaced by a longer one when they do not fit.
fn fill<T: CudaType>(gpu: &Arc<Gpu>, buffer: &mut Buf<T>, values: &[T]) -> Result<bool, GpuError> {
    let fits = values.len() <= buffer.len();
    if !fits {
        *buffer = Buf::zeros(gpu, buffer.what, values.len().next_power_of_two())?;
    }
    buffer.write_at(0, values)?;
    Ok(!fits)
}
