//! Time per kernel, or on the CPU per loop that plays the kernel's part.

use super::{Gpu, GpuError, error::Doing as _};
use cudarc::driver::{CudaEvent, sys::CUevent_flags};
use std::time::Instant;

/// Time spent in one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Kernel name.
    pub name: &'static str,
    /// Launches measured.
    pub launches: u32,
    /// Total time.
    pub nanos: u64,
    /// Longest launch.
    pub max_nanos: u64,
    /// Bytes moved, when the launcher says so; 0 otherwise.
    pub bytes: u64,
    /// Work items (synaptic events, neurons…), when the launcher says so; 0 otherwise.
    pub items: u64,
}

impl Timing {
    /// Sums.
    pub fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.nanos += other.nanos;
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.bytes += other.bytes;
        self.items += other.items;
    }
}

/// What one call of `advance` is given: whether to measure, and where measurements go.
#[derive(Default)]
pub struct Pass {
    /// Whether this batch is measured; ordinary batches are not, so that measuring costs nothing.
    pub profiled: bool,
    /// Measurements since they were last taken.
    pub timings: Vec<Timing>,
    /// Launches of a measured batch the device has not finished, oldest first.
    pub pending: Vec<Pending>,
}

/// Work between two events on the compute stream.
pub struct Pending {
    name: &'static str,
    items: u64,
    start: CudaEvent,
    end: CudaEvent,
}

impl Pending {
    pub(super) fn new(name: &'static str, start: CudaEvent, end: CudaEvent) -> Self {
        Self { name, items: 0, start, end }
    }
}

impl Pass {
    /// Runs `work` under a kernel's name.
    pub fn span<T>(&mut self, name: &'static str, items: u64, work: impl FnOnce() -> T) -> T {
        if !self.profiled {
            return work();
        }
        let start = Instant::now();
        let out = work();
        let nanos = start.elapsed().as_nanos() as u64;
        self.note(name, 1, nanos, nanos, items);
        out
    }

    /// Adds a measurement made elsewhere.
    pub fn note(&mut self, name: &'static str, launches: u32, nanos: u64, max_nanos: u64, items: u64) {
        let timing = Timing { name, launches, nanos, max_nanos, bytes: 0, items };
        match self.timings.iter_mut().find(|t| t.name == name) {
            Some(old) => old.add(&timing),
            None => self.timings.push(timing),
        }
    }

    /// Says how many items the last launch worked on.
    pub fn last_items(&mut self, items: u64) {
        if let Some(launch) = self.pending.last_mut() {
            launch.items = items;
        }
    }

    /// Runs `work`, which asks the device for something that is no kernel of ours (a copy, a library
    /// call), between two events.
    pub fn device_span<T>(
        &mut self,
        gpu: &Gpu,
        name: &'static str,
        work: impl FnOnce() -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        if !self.profiled {
            return work();
        }
        let event =
            || gpu.compute.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).doing(|| format!("timing {name}"));
        let start = event()?;
        let out = work()?;
        self.pending.push(Pending::new(name, start, event()?));
        Ok(out)
    }

    /// Turns the launches the device has finished into timings; unfinished ones wait for the next call, so
    /// that nothing waits for the device. An event pair costs about 2 µs, which a measured launch contains.
    pub fn collect(&mut self) -> Result<(), GpuError> {
        let doing = || "reading kernel times".to_owned();
        let mut finished = 0;
        for launch in &self.pending {
            if !launch.end.try_is_complete().doing(doing)? {
                break;
            }
            finished += 1;
        }
        for done in self.pending.drain(..finished).collect::<Vec<_>>() {
            let nanos = (f64::from(done.start.elapsed_ms(&done.end).doing(doing)?) * 1e6) as u64;
            self.note(done.name, 1, nanos, nanos, done.items);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_batch_measures_nothing() {
        let mut pass = Pass::default();
        assert_eq!(pass.span("integrate", 10, || 7), 7);
        assert!(pass.timings.is_empty());
    }

    #[test]
    fn spans_of_one_name_add_up() {
        let mut pass = Pass { profiled: true, ..Default::default() };
        pass.span("integrate", 10, || ());
        pass.span("propagate", 3, || ());
        pass.note("integrate", 4, 100, 50, 5);
        let rows: Vec<_> = pass.timings.iter().map(|t| (t.name, t.launches, t.items)).collect();
        assert_eq!(rows, [("integrate", 5, 15), ("propagate", 1, 3)]);
        assert!(pass.timings[0].max_nanos >= 50);
        pass.collect().unwrap();
    }
}
