//! Queue of windows that are planned, launched and read back.

use super::{
    buffers::DeviceBuffers,
    kernels::{Segment, Window},
    rings::{FullRing, Rings},
    sizes::{
        BufferSizes, COPIES, COUNTERS, HASH, LANE_BITS, MAX_GRAPH_WINDOWS, MAX_WINDOW_STEPS, NON_FINITE,
        SORTED_BY_DEVICE,
    },
};
use crate::{
    buffers,
    gpu::{Gpu, GpuError, Mark, Pass, Pinned},
    kinds::spiking::measure::Measurements,
    sim::{Buffers as _, MemoryReport, NonFinite},
};
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// Maximum number of graphs that are launched but not yet read.
const DEPTH: usize = 2;

/// A launched window with the segment of its spikes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LaunchedWindow {
    segment: u32,
    step: u64,
    steps: u32,
}

buffers! {
    /// Page-locked buffers for the results of a graph.
    struct HostBuffers(gpu: Arc<Gpu>, _sizes: ()) {
        "spikes in launch" {
            segments: Pinned<Segment> = Readback "copy of segments" MAX_GRAPH_WINDOWS as usize;
            counters: Pinned<u32> = Readback "copy of counters" MAX_GRAPH_WINDOWS as usize * COUNTERS;
            spikes: Pinned<u32> = Readback "copy of spikes" 1 << 12;
        }
        "samples" {
            samples: Option<Pinned<f32>> = Readback "copy of samples" 0;
        }
    }
}

struct Launch {
    plan: Vec<Window>,
    mark: Mark,
    buffers: usize,
    n_traced: usize,
    is_measured: bool,
    by: StepMode,
}

/// Kernels of a graph of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMode {
    /// One launch of a persistent kernel.
    Persistent,
    /// One launch of the kernel that steps reached neurons.
    Reached,
    /// `deliver_spikes` and a step kernel per window.
    Plain,
    /// `deliver_spikes_driven` and a step kernel per window.
    Driven,
}

/// Rows of the step kernels of a neuron model in the timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRows {
    /// Kernel that steps one window.
    pub window: &'static str,
    /// Kernel that steps many windows per launch.
    pub persistent: &'static str,
    /// Kernel that steps the reached neurons of many windows per launch; `None` if the model has none.
    pub reached: Option<&'static str>,
}

impl HostBuffers {
    /// Starts copying segments, counters and samples.
    fn fetch(&mut self, memory: &DeviceBuffers, launch: &Launch, segment_mask: u32, gpu: &Gpu) -> Result<(), GpuError> {
        let (n, mark) = (launch.plan.len(), &launch.mark);
        let from = launch.plan[0].segment as usize;
        let before_end = (segment_mask as usize + 1 - from).min(n);
        memory.segments.download_concurrent(from..from + before_end, &mut self.segments, 0, mark)?;
        memory.segments.download_concurrent(0..n - before_end, &mut self.segments, before_end, mark)?;
        let from = launch.buffers * MAX_GRAPH_WINDOWS as usize;
        memory.counters.download_concurrent(from * COUNTERS..(from + n) * COUNTERS, &mut self.counters, 0, mark)?;
        if launch.n_traced > 0 {
            let per_window = MAX_WINDOW_STEPS as usize * launch.n_traced * 2;
            if self.samples.as_ref().is_none_or(|s| s.len() < n * per_window) {
                self.samples = Some(Pinned::zeros(gpu, MAX_GRAPH_WINDOWS as usize * per_window)?);
            }
            if let Some(samples) = &mut self.samples {
                memory.samples.download_concurrent(from * per_window..(from + n) * per_window, samples, 0, mark)?;
            }
        }
        Ok(())
    }

    /// Starts copying the spikes of the windows that ran. Returns the number of spikes.
    fn fetch_spikes(
        &mut self,
        memory: &DeviceBuffers,
        mark: &Mark,
        run: &[Segment],
        gpu: &Gpu,
    ) -> Result<usize, GpuError> {
        let total: usize = run.iter().map(|s| s.n_spikes as usize).sum();
        if total > self.spikes.len() {
            self.spikes = Pinned::zeros(gpu, total.next_power_of_two())?;
        }
        let ring = memory.spikes.len();
        let from = run.first().map_or(0, |s| s.spike_start as usize & (ring - 1));
        let before_end = (ring - from).min(total);
        memory.spikes.download_concurrent(from..from + before_end, &mut self.spikes, 0, mark)?;
        memory.spikes.download_concurrent(0..total - before_end, &mut self.spikes, before_end, mark)?;
        Ok(total)
    }
}

/// Result of a graph.
pub struct Reading {
    /// Number of completed steps.
    pub step: u64,
    /// Ring that had no room for the first window that did not run; `None` if all windows of the graph ran.
    pub full: Option<FullRing>,
    /// First neuron with a non-finite state; `None` if all states are finite.
    pub non_finite: Option<NonFinite>,
    /// Mean number of synaptic events per window.
    pub events_per_window: u64,
}

/// Windows between planning and measurement.
pub struct LaunchQueue {
    /// Windows whose spikes may still be in transit, oldest first.
    sent: VecDeque<LaunchedWindow>,
    next_segment: u32,
    launches: VecDeque<Launch>,
    host_buffers: [HostBuffers; DEPTH],
    next_buffers: usize,
    is_measured: bool,
    /// Last segment that was filled.
    last_run: u32,
    /// Ring offset of the first spike not yet read.
    unread: u32,
    delay: u64,
    gpu: Arc<Gpu>,
    segment_mask: u32,
    /// Keys of a window that the host sorts.
    sorted: Vec<u32>,
    /// Lanes of the spikes of one step of a window.
    lanes: Vec<u32>,
}

impl LaunchQueue {
    /// Creates a queue without launches. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, sizes: &BufferSizes, delay: u32) -> Result<Self, GpuError> {
        Ok(Self {
            sent: VecDeque::new(),
            next_segment: 1,
            launches: VecDeque::new(),
            host_buffers: [HostBuffers::allocate(gpu, &())?, HostBuffers::allocate(gpu, &())?],
            next_buffers: 0,
            is_measured: false,
            last_run: 0,
            unread: 0,
            delay: u64::from(delay),
            gpu: gpu.clone(),
            segment_mask: sizes.segment_ring - 1,
            sorted: vec![],
            lanes: vec![],
        })
    }

    /// Adds the page-locked memory to a report.
    pub fn report(&self, to: &mut MemoryReport) {
        self.host_buffers.iter().for_each(|buffers| buffers.report(to));
    }

    /// Returns the page-locked memory of a new queue.
    pub fn predict() -> MemoryReport {
        let mut report = MemoryReport::default();
        (0..DEPTH).for_each(|_| report += HostBuffers::predict(&()));
        report
    }

    /// Returns the first step that is not launched yet, given that `completed` steps were read.
    pub fn next_step(&self, completed: u64) -> u64 {
        let last = self.launches.back().and_then(|f| f.plan.last());
        last.map_or(completed, |w| w.step + u64::from(w.steps))
    }

    /// Whether another graph may be launched before one is read.
    pub fn has_room(&self) -> bool {
        self.launches.len() < DEPTH
    }

    /// Whether launched graphs remain to be read.
    pub fn has_launches(&self) -> bool {
        !self.launches.is_empty()
    }

    /// Whether a launched graph is profiled, or the next one will be.
    pub fn is_measured(&self) -> bool {
        self.is_measured || self.launches.iter().any(|f| f.is_measured)
    }

    /// Requests profiling of the next graph.
    pub fn measure(&mut self) {
        self.is_measured = true;
    }

    /// Returns the range of counters that the next launch of `windows` windows uses, in one half of the buffer.
    pub fn counters(&self, windows: u32) -> Range<usize> {
        let from = self.next_buffers * MAX_GRAPH_WINDOWS as usize * COUNTERS;
        from..from + windows as usize * COUNTERS
    }

    /// Plans `n` windows of at most `window` steps from `step`; windows after `end` have 0 steps. `kicks` are the steps of the
    /// listed kicks, ascending; `rings` have room for the windows.
    pub fn plan(&self, step: u64, end: u64, n: u32, window: u32, kicks: &[u64], rings: &Rings) -> Vec<Window> {
        let mut sent = self.sent.clone();
        let mut plan = vec![];
        let mut at = step;
        for i in 0..n {
            let steps = u64::from(window).min(end - at) as u32;
            let segment = self.next_segment.wrapping_add(i);
            let arrives = |s: &LaunchedWindow| s.step as i64 + i64::from(s.steps) + self.delay as i64 > at as i64;
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
                slot: self.next_buffers as u32 * MAX_GRAPH_WINDOWS + i,
                ..rings.window_from(at, steps)
            });
            sent.push_back(LaunchedWindow { segment, step: at, steps });
            at = reach;
        }
        plan
    }

    /// Records that a plan was launched. Fails if the device fails.
    pub fn sent(&mut self, plan: Vec<Window>, n_traced: usize, by: StepMode) -> Result<(), GpuError> {
        let mark = Mark::now(&self.gpu)?;
        for window in &plan {
            self.sent.push_back(LaunchedWindow { segment: self.next_segment, step: window.step, steps: window.steps });
            self.next_segment = self.next_segment.wrapping_add(1);
        }
        let is_measured = std::mem::take(&mut self.is_measured);
        self.launches.push_back(Launch { plan, mark, buffers: self.next_buffers, n_traced, is_measured, by });
        self.next_buffers = (self.next_buffers + 1) % DEPTH;
        Ok(())
    }

    /// Waits for the oldest graph and adds its results to the measurements. Returns `None` if no graph is launched. The
    /// copies overlap with the next graph. Fails if the device fails.
    pub fn collect(
        &mut self,
        memory: &DeviceBuffers,
        rows: StepRows,
        measurements: &mut Measurements,
        pass: &mut Pass,
    ) -> Result<Option<Reading>, GpuError> {
        let Some(launch) = self.launches.pop_front() else { return Ok(None) };
        let buffers = &mut self.host_buffers[launch.buffers];
        buffers.fetch(memory, &launch, self.segment_mask, &self.gpu)?;
        let segments = &buffers.segments.get()?[..launch.plan.len()];
        let n_run = segments.iter().take_while(|s| s.halted == 0).count();
        let segments = segments[..n_run].to_vec();
        let n_spikes = buffers.fetch_spikes(memory, &launch.mark, &segments, &self.gpu)?;
        self.unread = segments.last().map_or(self.unread, |s| s.spike_start.wrapping_add(s.n_spikes));
        let (counters, spikes) = (buffers.counters.get()?, buffers.spikes.get()?);
        let samples = match &buffers.samples {
            Some(samples) if launch.n_traced > 0 => samples.get()?,
            _ => &[],
        };
        let (mut at, mut events, mut non_finite) = (0, 0_u64, None);
        for (i, (window, segment)) in launch.plan.iter().zip(&segments).enumerate() {
            let mut keys = &spikes[at..at + segment.n_spikes as usize];
            at += keys.len();
            if keys.len() > SORTED_BY_DEVICE {
                self.sorted.clear();
                self.sorted.extend_from_slice(keys);
                self.sorted.sort_unstable();
                keys = &self.sorted;
            }
            let counters = &counters[i * COUNTERS..(i + 1) * COUNTERS];
            non_finite = non_finite.or_else(|| first_non_finite(window, counters));
            let sum = &counters[HASH..HASH + 2];
            measurements.hash.push_sum(u64::from(sum[1]) << 32 | u64::from(sum[0]));
            let samples = Samples { all: samples, window: i, n: launch.n_traced };
            events += record_window(measurements, window, keys, &mut self.lanes, counters, &samples);
        }
        if launch.is_measured {
            match launch.by {
                // The kernel reads one word per event.
                StepMode::Persistent => pass.work(rows.persistent, events, 4 * events),
                StepMode::Reached => pass.work(rows.reached.unwrap_or_default(), events, 8 * events),
                StepMode::Plain => pass.work("deliver_spikes", events, 8 * events),
                StepMode::Driven => pass.work("deliver_spikes_driven", events, 8 * events),
            }
            if matches!(launch.by, StepMode::Plain | StepMode::Driven) {
                pass.work(rows.window, n_spikes as u64, 0);
            }
        }
        let last = n_run.checked_sub(1).map(|i| launch.plan[i]);
        self.last_run = self.last_run.wrapping_add(n_run as u32);
        let step = last.map_or(launch.plan[0].step, |w| w.step + u64::from(w.steps));
        self.sent.retain(|s| s.step + u64::from(s.steps) + self.delay > step);
        let events_per_window = events / n_run.max(1) as u64;
        let full = launch.plan.get(n_run).map(|halted| self.full_ring(halted));
        Ok(Some(Reading { step, full, non_finite, events_per_window }))
    }

    /// Returns the ring that had no room for a halted window. All spikes before it were read.
    fn full_ring(&self, halted: &Window) -> FullRing {
        let spikes = self.unread.wrapping_sub(halted.unread);
        if i64::from(spikes) > i64::from(halted.most_spikes) { FullRing::Spikes } else { FullRing::Chunks }
    }

    /// Discards the windows from `step` on, which did not run. Fails if the device fails.
    pub fn discard_from(&mut self, step: u64) -> Result<(), GpuError> {
        for launch in self.launches.drain(..) {
            launch.mark.wait()?;
        }
        self.sent.retain(|s| s.step < step);
        self.next_segment = self.last_run.wrapping_add(1);
        Ok(())
    }

    /// Clears all launches. The only spikes in transit are those of segment 1, fired in the steps `sent`, if any; segment 0 is
    /// empty.
    pub fn restart(&mut self, sent: Option<Range<u64>>) {
        self.launches.clear();
        self.sent.clear();
        (self.last_run, self.unread) = (0, 0);
        if let Some(steps) = sent {
            self.sent.push_back(LaunchedWindow {
                segment: 1,
                step: steps.start,
                steps: (steps.end - steps.start) as u32,
            });
            self.last_run = 1;
        }
        self.next_segment = self.last_run + 1;
    }

    /// Returns segment and first step of the last window; `None` if no spikes may still be in transit.
    pub fn last(&self) -> Option<(u32, u64)> {
        self.sent.back().map(|s| (s.segment & self.segment_mask, s.step))
    }

    /// Iterates over the segments whose spikes may still be in transit.
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

/// Returns the first neuron whose state became non-finite in a window; `None` if all are finite.
fn first_non_finite(window: &Window, counters: &[u32]) -> Option<NonFinite> {
    let key = !counters[NON_FINITE];
    let non_finite =
        NonFinite { step: window.step + u64::from(key >> LANE_BITS), element: key & ((1 << LANE_BITS) - 1) };
    (counters[NON_FINITE] != 0).then_some(non_finite)
}

/// Adds one window to the measurements, step by step; `lanes` is workspace. Returns the number of synaptic events of the
/// window.
fn record_window(
    measurements: &mut Measurements,
    window: &Window,
    keys: &[u32],
    lanes: &mut Vec<u32>,
    counters: &[u32],
    samples: &Samples<'_>,
) -> u64 {
    let mut total: u64 = 0;
    let mut at = 0;
    let steps = MAX_WINDOW_STEPS as usize;
    let mut active = u64::from(counters[COPIES * steps]);
    for i in 0..window.steps {
        let step = window.step + u64::from(i);
        if window.steps == 1 {
            measurements.spikes(step, keys); // A key equals its lane, because its step bits are 0.
        } else {
            let n = keys[at..].partition_point(|key| key >> LANE_BITS == i);
            lanes.clear();
            lanes.extend(keys[at..at + n].iter().map(|key| key & ((1 << LANE_BITS) - 1)));
            at += n;
            measurements.spikes(step, lanes);
        }
        if samples.n > 0 && (step + 1).is_multiple_of(measurements.trace_every) {
            let from = (samples.window * MAX_WINDOW_STEPS as usize + i as usize) * samples.n * 2;
            measurements.trace(samples.all[from..from + samples.n * 2].as_chunks().0);
        }
        let events = (0..COPIES).map(|copy| u64::from(counters[copy * steps + i as usize])).sum();
        total += events;
        measurements.end_step(step, events, std::mem::take(&mut active));
    }
    total
}
