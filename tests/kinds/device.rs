//! The GPU that tests run on. All tests of a process share it.

use neuropil::gpu::{Gpu, OpenError};
use neuropil_test_support::{Need, shared_resource, skip};
use std::sync::Arc;

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
