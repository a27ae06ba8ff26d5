//! Work of a step in numbers. Kinds read no clock; rates are computed from the measured steps per second.

use crate::gpu::ceilings::{Ceilings, Limit};

/// Quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Named items: tokens, neuron updates.
    Items,
    /// Arithmetic operations; a fused multiply-add counts as two.
    Ops,
    /// Bytes read and written.
    Bytes,
}

impl Counted {
    /// Returns the identifier in machine-readable results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Ops => "operations",
            Self::Bytes => "bytes",
        }
    }
}

/// Declared amount per step, computed from the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCount {
    /// Plural name of items, such as `tokens`; a qualifier for operations and bytes, such as `of the model`.
    pub name: &'static str,
    /// Quantity that is counted.
    pub counted: Counted,
    /// Amount per step.
    pub per_step: f64,
}

impl StepCount {
    /// Creates a count of items per step.
    pub const fn items(name: &'static str, per_step: f64) -> Self {
        Self { name, counted: Counted::Items, per_step }
    }

    /// Creates a count of arithmetic operations per step.
    pub const fn ops(name: &'static str, per_step: f64) -> Self {
        Self { name, counted: Counted::Ops, per_step }
    }

    /// Creates a count of bytes per step.
    pub const fn bytes(name: &'static str, per_step: f64) -> Self {
        Self { name, counted: Counted::Bytes, per_step }
    }

    /// Returns the amount per second.
    pub fn rate(&self, steps_per_s: f64) -> f64 {
        self.per_step * steps_per_s
    }

    /// Formats the rate: `1.2 M tokens/s`, `4.5 GFLOP/s of the model (12 % of the measured peak)`. `peak` is the
    /// highest measured rate of the device.
    pub fn rate_text(&self, steps_per_s: f64, peak: Option<f64>) -> String {
        let rate = self.rate(steps_per_s);
        let (number, prefix) = scaled(rate);
        let name = self.name;
        let text = match self.counted {
            Counted::Items if prefix.is_empty() => format!("{number} {name}/s"),
            Counted::Items => format!("{number} {prefix} {name}/s"),
            Counted::Ops => format!("{number} {prefix}FLOP/s {name}"),
            Counted::Bytes => format!("{number} {prefix}B/s {name}"),
        };
        match peak.filter(|peak| *peak > 0.0 && self.counted != Counted::Items) {
            Some(peak) => format!("{text} ({:.1} % of the measured peak)", 100.0 * rate / peak),
            None => text,
        }
    }
}

/// Formats the rates of all counts. `peaks` is the measured peak performance of the device.
pub fn rate_texts(counts: &[StepCount], steps_per_s: f64, peaks: Option<&Ceilings>) -> Vec<String> {
    let peak = |counted| {
        let limit = if counted == Counted::Bytes { Limit::Bytes } else { Limit::Ops };
        peaks.and_then(|p| p.best(limit)).map(|best| best.value)
    };
    counts.iter().map(|c| c.rate_text(steps_per_s, peak(c.counted))).collect()
}

/// Formats a number of items with three significant digits and an SI prefix: `364 k parameters`, `1 parameter`.
pub fn amount_text(n: u64, singular: &str, plural: &str) -> String {
    let (number, prefix) = scaled(n as f64);
    match (n, prefix) {
        (1, _) => format!("1 {singular}"),
        (_, "") => format!("{n} {plural}"),
        _ => format!("{number} {prefix} {plural}"),
    }
}

/// Returns the arithmetic per second as a share of the measured peak performance of the device; `None` if the peak was not
/// measured or no operations are counted.
pub fn share_of_peak(counts: &[StepCount], steps_per_s: f64, peaks: Option<&Ceilings>) -> Option<f64> {
    let ops = counts.iter().find(|count| count.counted == Counted::Ops)?;
    let peak = peaks?.best(Limit::Ops).filter(|peak| peak.value > 0.0)?;
    Some(ops.rate(steps_per_s) / peak.value)
}

/// Formats three significant digits with an SI prefix.
fn scaled(x: f64) -> (String, &'static str) {
    let (x, prefix) = match x.abs() {
        a if a >= 1e12 => (x * 1e-12, "T"),
        a if a >= 1e9 => (x * 1e-9, "G"),
        a if a >= 1e6 => (x * 1e-6, "M"),
        a if a >= 1e3 => (x * 1e-3, "k"),
        _ => (x, ""),
    };
    let digits = if x.abs() >= 100.0 { 0 } else { usize::from(x.abs() < 10.0) + 1 };
    (format!("{x:.digits$}"), prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_derived_from_steps_per_second() {
        let text = |count: StepCount, peak| count.rate_text(2000.0, peak);
        assert_eq!(text(StepCount::items("tokens", 600.0), None), "1.20 M tokens/s");
        assert_eq!(text(StepCount::items("tokens", 0.05), Some(1.0)), "100 tokens/s");
        assert_eq!(
            text(StepCount::ops("of the model", 2.25e6), Some(9e9)),
            "4.50 GFLOP/s of the model (50.0 % of the measured peak)"
        );
        assert_eq!(text(StepCount::bytes("of weights", 1e3), None), "2.00 MB/s of weights");
        let amounts = [1, 12, 363_648, 1_500_000_000].map(|n| amount_text(n, "parameter", "parameters"));
        assert_eq!(amounts, ["1 parameter", "12 parameters", "364 k parameters", "1.50 G parameters"]);
        assert_eq!(share_of_peak(&[StepCount::ops("of the model", 2e6)], 10.0, None), None, "not measured");
    }
}
