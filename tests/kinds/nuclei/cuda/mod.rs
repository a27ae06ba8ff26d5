//! Nuclei kernels on the GPU against plain loops and the reference files. Needs an NVIDIA GPU, and reports when there is
//! none. `--ignored timing --nocapture --test-threads=1` prints the time of each kernel.

mod coupling;
mod device;
mod fields;
mod lives;
mod measure;
mod readings;
pub mod runs;

use neuropil_test_support::golden;
