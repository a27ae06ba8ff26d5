//! Benchmarks of kinds: options and results, which are the same for all kinds.

use super::{Device, Progress, SimError};
use serde_json::Value as Json;
use std::path::PathBuf;

/// Options of a benchmark. A kind ignores options that do not apply to its benchmark.
#[derive(Clone)]
pub struct BenchOptions {
    /// Device to measure on.
    pub device: Device,
    /// Displayed name of the device.
    pub device_name: String,
    /// Number of measurements per case; the median is reported.
    pub repeats: u32,
    /// Name of the case to measure, or prefix of the names of several cases; `None` for all cases.
    pub only: Option<String>,
    /// Simulated seconds to time.
    pub simulated_s: f64,
    /// Folder or file of a network; `None` for generated networks.
    pub network: Option<PathBuf>,
    /// Text to train on; `None` without training.
    pub text: Option<PathBuf>,
    /// Training steps of each variant.
    pub steps: u32,
}

/// Measurement of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchRow {
    /// All figures, as a JSON object.
    pub values: Json,
    /// The important values as a line of text.
    pub line: String,
    /// Equivalent work for PyTorch; `None` if the measurement is not compared.
    pub torch: Option<TorchCase>,
}

impl BenchRow {
    /// Creates a row without a PyTorch case.
    pub fn new(row: &impl serde::Serialize, line: String) -> Self {
        Self { values: serde_json::json!(row), line, torch: None }
    }
}

/// Work of a measurement as input of a PyTorch script.
#[derive(Clone, Debug, PartialEq)]
pub struct TorchCase {
    /// Name of the case.
    pub name: String,
    /// Text of a Python script that defines the model and measures it.
    pub script: &'static str,
    /// Sizes of the model and its steps, or the reason why the case is not measured with PyTorch.
    pub workload: Result<Json, String>,
    /// Items per second that this program has measured.
    pub rate: f64,
    /// Unit that `rate` counts: `tokens`.
    pub items: &'static str,
}

/// Concatenates a script of `assets/bench` that defines a model with the scripts that measure the model in several settings.
#[macro_export]
macro_rules! torch_script {
    ($file:literal) => {
        concat!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/bench/", $file)),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/bench/search.py")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/bench/measure.py"))
        )
    };
}

/// Function that runs the benchmark of a kind.
pub type Bench = fn(&BenchOptions, &Progress) -> Result<Vec<BenchRow>, SimError>;
