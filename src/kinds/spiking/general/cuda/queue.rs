//! Launches that are not yet read. Spikes are copied on a second stream while the next launch runs, and sorted by the
//! host.

use super::{
    buffers::{MAX_LAUNCH_STEPS, RulesBuffers},
    kernels::RulesList,
};
use crate::{
    buffers,
    gpu::{Buf, Gpu, GpuError, Mark, Pass, Pinned, layout::CudaType},
    kinds::spiking::{general::plan::TARGET_BITS, measure::Measurements},
    sim::{Buffers as _, MemoryReport, NonFinite},
};
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// Maximum number of launches that are not yet read.
const DEPTH: usize = 2;

buffers! {
    /// Page-locked buffers for the results of a launch.
    struct HostBuffers(gpu: Arc<Gpu>, _sizes: ()) {
        "spikes in flight" {
            lists: Pinned<RulesList> = Readback "copy of spikes by step" MAX_LAUNCH_STEPS as usize;
            non_finite: Pinned<u64> = Readback "copy of the first non-finite state" 1;
            spikes: Pinned<u32> = Readback "copy of spikes" 1 << 12;
        }
        "samples" {
            samples: Option<Pinned<f32>> = Readback "copy of samples" 0;
        }
    }
}

struct Launch {
    steps: Range<u64>,
    mark: Mark,
    buffers: usize,
    n_traced: usize,
    is_measured: bool,
}

/// Queue of launches.
pub struct Queue {
    launches: VecDeque<Launch>,
    host_buffers: [HostBuffers; DEPTH],
    next_buffers: usize,
    gpu: Arc<Gpu>,
    /// Spikes of one step, ascending.
    sorted: Vec<u32>,
}

/// Copies the entries `range` of a ring to the start of a buffer; `range` may run past the end of the ring.
fn copy_ring<T: CudaType>(
    ring: &Buf<T>,
    range: Range<u64>,
    into: &mut Pinned<T>,
    after: &Mark,
) -> Result<(), GpuError> {
    let (len, n) = (ring.len(), (range.end - range.start) as usize);
    let from = range.start as usize & (len - 1);
    let before_end = (len - from).min(n);
    ring.download_concurrent(from..from + before_end, into, 0, after)?;
    ring.download_concurrent(0..n - before_end, into, before_end, after)
}

impl Queue {
    /// Creates a queue without launches. Fails if page-locked memory is exhausted.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let host_buffers = [HostBuffers::allocate(gpu, &())?, HostBuffers::allocate(gpu, &())?];
        Ok(Self { launches: VecDeque::new(), host_buffers, next_buffers: 0, gpu: gpu.clone(), sorted: vec![] })
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
        self.launches.back().map_or(completed, |launch| launch.steps.end)
    }

    /// Whether another launch may follow before one is read.
    pub fn has_room(&self) -> bool {
        self.launches.len() < DEPTH
    }

    /// Whether launches remain to be read.
    pub fn has_launches(&self) -> bool {
        !self.launches.is_empty()
    }

    /// Whether a launch is profiled.
    pub fn is_measured(&self) -> bool {
        self.launches.iter().any(|launch| launch.is_measured)
    }

    /// Returns the row of the samples of the first step of the next launch.
    pub const fn slot(&self) -> u32 {
        self.next_buffers as u32 * MAX_LAUNCH_STEPS as u32
    }

    /// Records that the steps of one launch were issued. Fails if the device fails.
    pub fn sent(&mut self, steps: Range<u64>, n_traced: usize, is_measured: bool) -> Result<(), GpuError> {
        let mark = Mark::now(&self.gpu)?;
        self.launches.push_back(Launch { steps, mark, buffers: self.next_buffers, n_traced, is_measured });
        self.next_buffers = (self.next_buffers + 1) % DEPTH;
        Ok(())
    }

    /// Discards all launches, after waiting for them. Fails if the device fails.
    pub fn restart(&mut self) -> Result<(), GpuError> {
        self.launches.drain(..).try_for_each(|launch| launch.mark.wait())
    }

    /// Waits for the oldest launch and adds its results to the measurements; `count` gets the spikes of each step, and `step_kernel` is the name of the kernel
    /// that ran its steps. Returns the number of completed steps, and the first non-finite potential; `None` if there
    /// is no launch. Fails if the device fails.
    pub fn collect(
        &mut self,
        memory: &RulesBuffers,
        measurements: &mut Measurements,
        count: &mut dyn FnMut(u64, &[u32]),
        step_kernel: &'static str,
        pass: &mut Pass,
    ) -> Result<Option<(u64, Option<NonFinite>)>, GpuError> {
        let Some(launch) = self.launches.pop_front() else { return Ok(None) };
        let HostBuffers { lists, non_finite, spikes, samples } = &mut self.host_buffers[launch.buffers];
        let (mark, steps) = (&launch.mark, launch.steps.clone());
        let n_steps = (steps.end - steps.start) as usize;
        copy_ring(&memory.lists, steps.clone(), lists, mark)?;
        memory.non_finite.download_concurrent(0..1, non_finite, 0, mark)?;
        let row = 2 * launch.n_traced;
        if row > 0 {
            if samples.as_ref().is_none_or(|s| s.len() < n_steps * row) {
                *samples = Some(Pinned::zeros(&self.gpu, MAX_LAUNCH_STEPS as usize * row)?);
            }
            let from = launch.buffers * MAX_LAUNCH_STEPS as usize * row;
            if let Some(samples) = samples {
                memory.samples.download_concurrent(from..from + n_steps * row, samples, 0, mark)?;
            }
        }
        let lists = lists.get()?[..n_steps].to_vec();
        let total: u64 = lists.iter().map(|list| u64::from(list.count)).sum();
        if total as usize > spikes.len() {
            *spikes = Pinned::zeros(&self.gpu, (total as usize).next_power_of_two())?;
        }
        let first = u64::from(lists[0].start);
        copy_ring(&memory.spikes, first..first + total, spikes, mark)?;
        let (spikes, mut at, mut events) = (spikes.get()?, 0, 0);
        let samples = samples.as_ref().filter(|_| row > 0).map(Pinned::get).transpose()?.unwrap_or_default();
        for (i, (step, list)) in steps.clone().zip(&lists).enumerate() {
            self.sorted.clear();
            self.sorted.extend_from_slice(&spikes[at..at + list.count as usize]);
            self.sorted.sort_unstable();
            at += list.count as usize;
            measurements.spikes(step, &self.sorted);
            count(step, &self.sorted);
            if row > 0 && (step + 1).is_multiple_of(measurements.trace_every) {
                measurements.trace(samples[i * row..(i + 1) * row].as_chunks().0);
            }
            measurements.end_step(step, list.events, memory.model.value().n.into());
            events += list.events;
        }
        if launch.is_measured {
            pass.work(step_kernel, events, 8 * events);
        }
        let key = non_finite.get()?[0];
        let lost = NonFinite { step: key >> TARGET_BITS, element: key as u32 & ((1 << TARGET_BITS) - 1) };
        Ok(Some((steps.end, (key != u64::MAX).then_some(lost))))
    }
}
