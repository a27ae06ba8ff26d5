//! Arithmetic that gives equal results on both backends: addressed random draws, exact functions, order-free sums. Also the
//! compressed files in the program, which both the device and the window unpack.

pub mod bundle;
pub mod circular;
pub mod digits;
pub mod elements;
pub mod exact;
pub mod fixed;
pub mod halves;
pub mod hash;
pub mod isa;
pub mod normal;
pub mod permutation;
pub mod poisson;
pub mod prefetch;
pub mod quant;
pub mod quantile;
pub mod rng;
pub mod spike_stats;
pub mod student;
pub mod trains;
pub mod uniform;
pub mod welch;
