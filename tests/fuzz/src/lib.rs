//! The modules under test.

pub use neuropil_core::*;
