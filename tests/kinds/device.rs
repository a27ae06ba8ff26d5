//! The GPU that tests run on. All tests of a process share it.

use neuropil::gpu::{Gpu, GpuError, Graph, OpenError, Pass};
use neuropil_test_support::{Need, shared_resource, skip};
use std::{sync::Arc, time::Instant};

/// The first GPU; without one the test is skipped. Waits for a test that has it alone.
#[track_caller]
pub fn gpu() -> Option<Arc<Gpu>> {
    shared_resource::share();
    open()
}

/// The first GPU, with no other test on it: for tests that fill its memory or read how much is free.
#[track_caller]
pub fn gpu_alone() -> Option<Arc<Gpu>> {
    shared_resource::have_alone();
    open()
}

#[track_caller]
fn open() -> Option<Arc<Gpu>> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(why @ (OpenError::NoDriver(_) | OpenError::NoDevice { .. })) => {
            skip(Need::Gpu, format!("nothing ran on a GPU: {why}"));
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Microseconds per recorded launch, replayed as a graph of twenty.
pub fn micros(gpu: &Arc<Gpu>, mut record: impl FnMut(&mut Pass) -> Result<(), GpuError>) -> f64 {
    const TIMES: u32 = 20;
    // SAFETY: `record` borrows the buffers of the launches and outlives the graph.
    let mut graph =
        unsafe { Graph::capture(gpu, |pass| (0..TIMES).try_for_each(|_| record(pass))) }.expect("it is captured");
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        gpu.synchronize().expect("it runs");
        let start = Instant::now();
        graph.launch().expect("it launches");
        gpu.synchronize().expect("it runs");
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e6 / f64::from(TIMES)
}
