//! Windows planned, in flight, and read back.

use super::{
    kernels::{Segment, Window},
    memory::Memory,
    sizes::{COPIES, COUNTERS, FINGERPRINT, GRAPH, LANE_BITS, LONGEST, LOST, SORTED_BY_DEVICE, Sizes},
};
use crate::{
    gpu::{Gpu, GpuError, Mark, Pass, Pinned},
    kinds::spiking::measure::Meter,
    sim::NonFinite,
};
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// Graphs launched and not yet read.
const DEPTH: usize = 2;

/// A window that was launched: where its spikes lie.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    segment: u32,
    step: u64,
    steps: u32,
}

/// What a graph leaves, in page-locked memory.
struct Tray {
    segments: Pinned<Segment>,
    counters: Pinned<u32>,
    samples: Option<Pinned<f32>>,
    spikes: Pinned<u32>,
}

struct Flight {
    plan: Vec<Window>,
    mark: Mark,
    tray: usize,
    n_traced: usize,
    is_measured: bool,
    by: Deliverer,
}

/// Who delivers the spikes of a graph of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliverer {
    /// Resident blocks, in one launch.
    Resident,
    /// A launch per window, which does nothing else.
    Plain,
    /// A launch per window, which also draws kicks and obeys changed weights.
    Driven,
}

impl Tray {
    /// Starts copying what tells how much there is.
    fn fetch(&mut self, memory: &Memory, flight: &Flight, segment_mask: u32, gpu: &Gpu) -> Result<(), GpuError> {
        let (n, mark) = (flight.plan.len(), &flight.mark);
        let from = flight.plan[0].segment as usize;
        let before_end = (segment_mask as usize + 1 - from).min(n);
        memory.segments.download_beside(from..from + before_end, &mut self.segments, 0, mark)?;
        memory.segments.download_beside(0..n - before_end, &mut self.segments, before_end, mark)?;
        let from = flight.tray * GRAPH as usize;
        memory.counters.download_beside(from * COUNTERS..(from + n) * COUNTERS, &mut self.counters, 0, mark)?;
        if flight.n_traced > 0 {
            let per_window = LONGEST as usize * flight.n_traced * 2;
            if self.samples.as_ref().is_none_or(|s| s.len() < n * per_window) {
                self.samples = Some(Pinned::zeros(gpu, GRAPH as usize * per_window)?);
            }
            if let Some(samples) = &mut self.samples {
                memory.samples.download_beside(from * per_window..(from + n) * per_window, samples, 0, mark)?;
            }
        }
        Ok(())
    }

    /// Starts copying the spikes of the windows that were run. Returns how many there are.
    fn fetch_spikes(&mut self, memory: &Memory, mark: &Mark, run: &[Segment], gpu: &Gpu) -> Result<usize, GpuError> {
        let total: usize = run.iter().map(|s| s.n_spikes as usize).sum();
        if total > self.spikes.len() {
            self.spikes = Pinned::zeros(gpu, total.next_power_of_two())?;
        }
        let ring = memory.spikes.len();
        let from = run.first().map_or(0, |s| s.spike_start as usize & (ring - 1));
        let before_end = (ring - from).min(total);
        memory.spikes.download_beside(from..from + before_end, &mut self.spikes, 0, mark)?;
        memory.spikes.download_beside(0..total - before_end, &mut self.spikes, before_end, mark)?;
        Ok(total)
    }
}

/// How far a graph got.
pub struct Reading {
    /// Steps completed.
    pub step: u64,
    /// Whether all of its windows were run.
    pub whole: bool,
    /// The first neuron whose state was no number.
    pub lost: Option<NonFinite>,
}

/// The windows between the plan and the meter.
pub struct Queue {
    /// Windows whose spikes may still be on their way, oldest first.
    sent: VecDeque<Sent>,
    next_segment: u32,
    flights: VecDeque<Flight>,
    trays: Vec<Tray>,
    next_tray: usize,
    is_measured: bool,
    /// The last segment that was filled.
    last_run: u32,
    /// Place in the ring of the first spike that was not read.
    unread: u32,
    delay: u64,
    gpu: Arc<Gpu>,
    segment_mask: u32,
    sizes: Sizes,
    lanes: Vec<u32>,
}

impl Queue {
    /// Nothing in flight.
    pub fn new(gpu: &Arc<Gpu>, sizes: &Sizes, delay: u32) -> Result<Self, GpuError> {
        let tray = || -> Result<Tray, GpuError> {
            Ok(Tray {
                segments: Pinned::zeros(gpu, GRAPH as usize)?,
                counters: Pinned::zeros(gpu, GRAPH as usize * COUNTERS)?,
                samples: None,
                spikes: Pinned::zeros(gpu, 1 << 12)?,
            })
        };
        Ok(Self {
            sent: VecDeque::new(),
            next_segment: 1,
            flights: VecDeque::new(),
            trays: vec![tray()?, tray()?],
            next_tray: 0,
            is_measured: false,
            last_run: 0,
            unread: 0,
            delay: u64::from(delay),
            gpu: gpu.clone(),
            segment_mask: sizes.segment_ring - 1,
            sizes: *sizes,
            lanes: vec![],
        })
    }

    /// First step that is not launched yet, when `completed` steps are read.
    pub fn next_step(&self, completed: u64) -> u64 {
        let last = self.flights.back().and_then(|f| f.plan.last());
        last.map_or(completed, |w| w.step + u64::from(w.steps))
    }

    /// Whether another graph may be launched before one is read.
    pub fn has_room(&self) -> bool {
        self.flights.len() < DEPTH
    }

    /// Whether graphs were launched that are not read yet.
    pub fn is_flying(&self) -> bool {
        !self.flights.is_empty()
    }

    /// Whether a graph in flight is being measured.
    pub fn is_measured(&self) -> bool {
        self.is_measured || self.flights.iter().any(|f| f.is_measured)
    }

    /// The next graph is measured.
    pub fn measure(&mut self) {
        self.is_measured = true;
    }

    /// The half of the counters that the next graph uses.
    pub fn counters(&self) -> Range<usize> {
        let from = self.next_tray * GRAPH as usize * COUNTERS;
        from..from + GRAPH as usize * COUNTERS
    }

    /// Plans up to `n` windows from `step` to `end`. `kicks` are the steps of the listed kicks, ascending.
    pub fn plan(&self, step: u64, end: u64, n: u32, window: u32, kicks: &[u64]) -> Vec<Window> {
        let mut sent = self.sent.clone();
        let mut plan = vec![];
        let mut at = step;
        for i in 0..n {
            let steps = u64::from(window).min(end - at) as u32;
            let segment = self.next_segment.wrapping_add(i);
            let arrives = |s: &Sent| s.step as i64 + i64::from(s.steps) + self.delay as i64 > at as i64;
            while sent.front().is_some_and(|s| !arrives(s)) {
                sent.pop_front();
            }
            let first = sent.front().map_or(segment.wrapping_sub(1), |s| s.segment);
            let reach = at + u64::from(steps);
            let n_due = sent.iter().take_while(|s| s.step + self.delay < reach).count() as u32;
            let last = if sent.is_empty() { first.wrapping_sub(1) } else { first.wrapping_add(n_due).wrapping_sub(1) };
            let place = |step: u64| kicks.partition_point(|k| *k < step) as u32;
            plan.push(Window {
                segment: segment & self.segment_mask,
                previous: segment.wrapping_sub(1) & self.segment_mask,
                first,
                last,
                unread: self.unread,
                kick_from: place(at),
                kick_to: place(reach),
                slot: self.next_tray as u32 * GRAPH + i,
                ..self.sizes.window_from(at, steps)
            });
            sent.push_back(Sent { segment, step: at, steps });
            at = reach;
        }
        plan
    }

    /// A plan was launched.
    pub fn sent(&mut self, plan: Vec<Window>, n_traced: usize, by: Deliverer) -> Result<(), GpuError> {
        let mark = Mark::now(&self.gpu)?;
        for window in &plan {
            self.sent.push_back(Sent { segment: self.next_segment, step: window.step, steps: window.steps });
            self.next_segment = self.next_segment.wrapping_add(1);
        }
        let is_measured = std::mem::take(&mut self.is_measured);
        self.flights.push_back(Flight { plan, mark, tray: self.next_tray, n_traced, is_measured, by });
        self.next_tray = (self.next_tray + 1) % DEPTH;
        Ok(())
    }

    /// Waits for the oldest graph and hands what it did to the meter. `None` when there is none. The copies run beside
    /// the graph behind it.
    pub fn collect(
        &mut self,
        memory: &Memory,
        meter: &mut Meter,
        pass: &mut Pass,
    ) -> Result<Option<Reading>, GpuError> {
        let Some(flight) = self.flights.pop_front() else { return Ok(None) };
        let tray = &mut self.trays[flight.tray];
        tray.fetch(memory, &flight, self.segment_mask, &self.gpu)?;
        let segments = &tray.segments.get()?[..flight.plan.len()];
        let n_run = segments.iter().take_while(|s| s.halted == 0).count();
        let segments = segments[..n_run].to_vec();
        let n_spikes = tray.fetch_spikes(memory, &flight.mark, &segments, &self.gpu)?;
        self.unread = segments.last().map_or(self.unread, |s| s.spike_start.wrapping_add(s.n_spikes));
        let (counters, spikes) = (tray.counters.get()?, tray.spikes.get()?);
        let samples = match &tray.samples {
            Some(samples) if flight.n_traced > 0 => samples.get()?,
            _ => &[],
        };
        let (mut at, mut events, mut lost) = (0, 0_u64, None);
        for (i, (window, segment)) in flight.plan.iter().zip(&segments).enumerate() {
            self.lanes.clear();
            self.lanes.extend_from_slice(&spikes[at..at + segment.n_spikes as usize]);
            at += self.lanes.len();
            if self.lanes.len() > SORTED_BY_DEVICE {
                self.lanes.sort_unstable();
            }
            let counters = &counters[i * COUNTERS..(i + 1) * COUNTERS];
            lost = lost.or_else(|| lost_in(window, counters));
            let sum = &counters[FINGERPRINT..FINGERPRINT + 2];
            meter.hash.push_sum(u64::from(sum[1]) << 32 | u64::from(sum[0]));
            let samples = Samples { all: samples, window: i, n: flight.n_traced };
            events += meter_window(meter, window, &mut self.lanes, counters, &samples);
        }
        if flight.is_measured {
            let is_leaky = memory.units.is_some();
            match flight.by {
                // A word read for each.
                Deliverer::Resident => pass.work(if is_leaky { "board" } else { "reside" }, events, 4 * events),
                Deliverer::Plain => pass.work("deliver", events, 8 * events),
                Deliverer::Driven => pass.work("deliver_driven", events, 8 * events),
            }
            if flight.by != Deliverer::Resident {
                pass.work(if is_leaky { "leak" } else { "advance" }, n_spikes as u64, 0);
            }
        }
        let last = n_run.checked_sub(1).map(|i| flight.plan[i]);
        self.last_run = self.last_run.wrapping_add(n_run as u32);
        let step = last.map_or(flight.plan[0].step, |w| w.step + u64::from(w.steps));
        self.sent.retain(|s| s.step + u64::from(s.steps) + self.delay > step);
        Ok(Some(Reading { step, whole: n_run == flight.plan.len(), lost }))
    }

    /// Forgets the windows from `step` on: they were not run.
    pub fn abandon(&mut self, step: u64) -> Result<(), GpuError> {
        for flight in self.flights.drain(..) {
            flight.mark.wait()?;
        }
        self.sent.retain(|s| s.step < step);
        self.next_segment = self.last_run.wrapping_add(1);
        Ok(())
    }

    /// Nothing in flight but the spikes of one segment, 1, sent in `steps`; segment 0 is empty.
    pub fn restart(&mut self, sent: Option<Range<u64>>) {
        self.flights.clear();
        self.sent.clear();
        (self.last_run, self.unread) = (0, 0);
        if let Some(steps) = sent {
            self.sent.push_back(Sent { segment: 1, step: steps.start, steps: (steps.end - steps.start) as u32 });
            self.last_run = 1;
        }
        self.next_segment = self.last_run + 1;
    }

    /// The last window that was run, where its spikes are still on their way: its segment and first step.
    pub fn last(&self) -> Option<(u32, u64)> {
        self.sent.back().map(|s| (s.segment & self.segment_mask, s.step))
    }

    /// Segments whose spikes may still be on their way.
    pub fn in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        self.sent.iter().map(|s| s.segment)
    }
}

/// v and g of the traced neurons in the steps of one window.
struct Samples<'a> {
    all: &'a [f32],
    window: usize,
    n: usize,
}

/// The first neuron of a window whose state was no number.
fn lost_in(window: &Window, counters: &[u32]) -> Option<NonFinite> {
    let key = !counters[LOST];
    let lost = NonFinite { step: window.step + u64::from(key >> LANE_BITS), element: key & ((1 << LANE_BITS) - 1) };
    (counters[LOST] != 0).then_some(lost)
}

/// Feeds the meter with one window, step by step. Returns its synaptic events.
fn meter_window(meter: &mut Meter, window: &Window, keys: &mut [u32], counters: &[u32], samples: &Samples<'_>) -> u64 {
    let mut total: u64 = 0;
    let mut at = 0;
    let steps = LONGEST as usize;
    let mut active = u64::from(counters[COPIES * steps]);
    for i in 0..window.steps {
        let step = window.step + u64::from(i);
        let from = at;
        at += keys[at..].partition_point(|key| key >> LANE_BITS == i);
        keys[from..at].iter_mut().for_each(|key| *key &= (1 << LANE_BITS) - 1);
        meter.spikes(step, &keys[from..at]);
        if samples.n > 0 && (step + 1).is_multiple_of(meter.trace_every) {
            let from = (samples.window * LONGEST as usize + i as usize) * samples.n * 2;
            let values: Vec<[f32; 2]> =
                samples.all[from..from + samples.n * 2].chunks_exact(2).map(|c| [c[0], c[1]]).collect();
            meter.trace(&values);
        }
        let events = (0..COPIES).map(|copy| u64::from(counters[copy * steps + i as usize])).sum();
        total += events;
        meter.end_step(step, events, std::mem::take(&mut active));
    }
    total
}
