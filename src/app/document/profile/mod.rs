//! Profile data, shared by the Profile panels.

mod baseline;
mod comparison;
pub mod machine;
mod record;

pub use baseline::Baseline;
pub use comparison::Comparison;
pub use machine::{Machine, bytes_of, device_flag, ops_of};
pub use record::{Overhead, Profile};
