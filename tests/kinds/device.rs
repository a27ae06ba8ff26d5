//! The GPU that tests run on.

use neuropil::gpu::{Gpu, OpenError};
use neuropil_test_support::{Need, skip};
use std::sync::Arc;

/// The first GPU; without one the test is skipped.
#[track_caller]
pub fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(why @ (OpenError::NoDriver(_) | OpenError::NoDevice { .. })) => {
            skip(Need::Gpu, format!("nothing ran on a GPU: {why}"));
            None
        }
        Err(why) => panic!("{why}"),
    }
}
