//! Time per kernel, or on the CPU per loop that plays the kernel's part.

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
}
