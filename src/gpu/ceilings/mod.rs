//! Measured peak performance of a device: the lines of the roofline.

mod cpu;
mod cuda;

pub use cpu::{measure as measure_cpu, multiply_adds, name as cpu_name};
pub use cuda::{Kernels, measure as measure_gpu};

/// Quantity that a device limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Limit {
    /// Memory traffic, in bytes per second.
    #[default]
    Bytes,
    /// Arithmetic operations per second; a fused multiply-add is two.
    Ops,
    /// Additions to scattered addresses, per second.
    Updates,
    /// Duration of one launch, in seconds.
    Launch,
}

/// One measured limit.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Ceiling {
    /// Display name: `copy`, `f32 multiply-add`.
    pub name: String,
    /// Short description of the measurement.
    pub how: String,
    /// Quantity that is limited.
    pub limit: Limit,
    /// Measured rate per second (of one thread on a CPU); for launches, the duration in seconds.
    pub value: f64,
}

impl Ceiling {
    fn new(name: &str, how: &str, limit: Limit, value: f64) -> Self {
        Self { name: name.into(), how: how.into(), limit, value }
    }
}

/// All measured limits of a device.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Ceilings {
    /// Name of the device: the key of the stored measurements.
    pub device: String,
    /// Time of measurement, UTC.
    pub measured: String,
    /// Whether the program was built without optimisation, which makes the figures of a CPU too low.
    pub debug_build: bool,
    /// Limits in the order they were measured.
    pub list: Vec<Ceiling>,
}

impl Ceilings {
    fn of(device: String, list: Vec<Ceiling>) -> Self {
        Self { device, measured: String::new(), debug_build: cfg!(debug_assertions), list }
    }

    /// Returns the highest measured limit of a quantity; `None` if it was not measured.
    pub fn best(&self, limit: Limit) -> Option<&Ceiling> {
        self.all(limit).max_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// Iterates over all limits of a quantity, in the order they were measured.
    pub fn all(&self, limit: Limit) -> impl Iterator<Item = &Ceiling> {
        self.list.iter().filter(move |c| c.limit == limit)
    }
}

/// Returns the median of measurements; NaN for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
