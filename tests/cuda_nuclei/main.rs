//! Every kernel of the nuclei on the GPU against plain loops and against the reference files. Needs an NVIDIA GPU,
//! and says so when there is none. `--ignored timing --nocapture --test-threads=1` prints what each kernel costs.

mod coupling;
mod device;
mod fields;
#[path = "../support/golden.rs"]
#[allow(dead_code, reason = "each test binary takes what it needs")]
mod golden;
mod measure;
mod runs;
mod timing;
