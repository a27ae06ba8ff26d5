//! Formatting of numbers, times and durations.

use super::text;
use crate::sim::TimeBase;

/// Magnitude from which values are written with an exponent.
const LARGE: f64 = 1e6;

/// Formats a value with four significant digits, without trailing zeros.
pub fn value(v: f64) -> String {
    if v.is_finite() { text::significant(v, 4, LARGE) } else { "—".into() }
}

/// Formats a changing value with three significant digits; large values have no decimals and grouped digits.
pub fn reading(v: f32) -> String {
    let v = f64::from(v);
    match v.is_finite() {
        true if (1e3..LARGE).contains(&v.abs()) => fixed(v, 0),
        true if v.abs() < LARGE => text::significant(v, 3, LARGE),
        true => value(v.round()),
        false => "—".into(),
    }
}

/// Formats a value with `decimals` decimals and grouped digits, for columns of numbers. A nonzero value that would round to
/// 0 gets two significant digits.
pub fn fixed(v: f64, decimals: usize) -> String {
    if !v.is_finite() {
        return "—".into();
    }
    let sign = if v < 0.0 { "−" } else { "" };
    let digits = format!("{:.decimals$}", v.abs());
    if v != 0.0 && !digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        return format!("{sign}{}", text::significant(v.abs(), 2, LARGE));
    }
    let (whole, rest) = digits.split_once('.').map_or((digits.as_str(), ""), |(whole, rest)| (whole, rest));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), text::count);
    match rest {
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}{}{rest}", text::localised(".".to_owned())),
    }
}

/// Returns the number of decimals for a column with values from `low` to `high`: three significant digits of the largest
/// magnitude.
pub fn column_decimals(low: f64, high: f64) -> usize {
    let largest = low.abs().max(high.abs()).max(1e-9);
    if largest.is_finite() { (2 - largest.log10().floor() as i32).clamp(0, 6) as usize } else { 2 }
}

/// Formats a value with its unit.
pub fn with_unit(v: f64, unit: &str) -> String {
    if unit.is_empty() { value(v) } else { format!("{} {unit}", value(v)) }
}

/// Returns the factor for labels of an axis with values up to `largest`, and the SI prefix of their unit.
pub fn prefix(largest: f64) -> (f64, &'static str) {
    match largest {
        a if a < 1e5 => (1.0, ""),
        a if a < 1e6 => (1e-3, "k"),
        a if a < 1e9 => (1e-6, "M"),
        a if a < 1e12 => (1e-9, "G"),
        _ => (1e-12, "T"),
    }
}

/// Formats an angle in radians, the unit of all angles in the window.
pub fn angle(radians: f64) -> String {
    format!("{radians:.2} rad")
}

/// Unit of a time axis: simulated time, or the counted unit of the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// Factor from seconds, or from counted steps, to the unit.
    pub scale: f64,
    /// `ms`, `s` or the plural of the counted unit: `generations`.
    pub name: &'static str,
}

impl TimeUnit {
    /// Returns the unit of a time window of length `span_secs` that ends at `end_secs`: milliseconds if it ends before 10 s
    /// or is shorter than 50 ms.
    pub fn of(base: TimeBase, end_secs: f64, span_secs: f64) -> Self {
        if base.is_count() {
            Self { scale: 1.0, name: base.plural() }
        } else if end_secs < 10.0 || span_secs < 0.05 {
            Self { scale: 1e3, name: "ms" }
        } else {
            Self { scale: 1.0, name: "s" }
        }
    }

    /// Returns the title of an axis: `time (ms)`, `generations`.
    pub fn title(self, base: TimeBase) -> String {
        if base.is_count() { self.name.to_owned() } else { format!("time ({})", self.name) }
    }

    /// Formats a time in this unit with enough decimals to distinguish steps of `resolution_secs`, and grouped digits.
    pub fn text(self, secs: f64, resolution_secs: f64) -> String {
        let digits = (-(resolution_secs * self.scale).max(1e-9).log10()).ceil().clamp(0.0, 6.0) as usize;
        format!("{} {}", fixed(secs * self.scale, digits), self.name)
    }
}

/// Formats a number of steps as a duration or as a count: `1.6 ms`, `400 generations`.
pub fn steps(steps: f64, base: TimeBase) -> String {
    match base {
        TimeBase::Seconds { per_step } => duration(steps * per_step),
        TimeBase::Count { .. } if steps == 1.0 => format!("1 {}", base.singular()),
        TimeBase::Count { .. } if steps.fract() == 0.0 => format!("{} {}", fixed(steps, 0), base.plural()),
        TimeBase::Count { .. } => format!("{} {}", value(steps), base.plural()),
    }
}

/// Formats a duration in its natural unit: `1.6 ms`.
pub fn duration(secs: f64) -> String {
    match secs.abs() {
        0.0 => "0 s".to_owned(),
        a if a < 1e-3 => format!("{} µs", value(round3(secs * 1e6))),
        a if a < 1.0 => format!("{} ms", value(round3(secs * 1e3))),
        _ => format!("{} s", value(round3(secs))),
    }
}

/// Returns the factor from seconds to the natural unit of a duration, and the unit.
pub fn duration_unit(secs: f64) -> (f64, &'static str) {
    match secs.abs() {
        a if a < 1e-6 => (1e9, "ns"),
        a if a < 1e-3 => (1e6, "µs"),
        a if a < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    }
}

fn round3(v: f64) -> f64 {
    let scale = 10f64.powi(2 - v.abs().max(1e-9).log10().floor() as i32);
    (v * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(value(0.0125), "0.0125");
        assert_eq!(value(-52.0), "-52");
        assert_eq!(value(1234.5), "1234");
        assert_eq!([0.003_123, 26.784, 255_006.4, 0.0].map(reading), ["0.00312", "26.8", "255,006", "0"]);
        assert_eq!([1234.56, -0.04, 7.0, 0.0].map(|v| fixed(v, 1)), ["1,234.6", "−0.04", "7.0", "0.0"]);
        assert_eq!([0.000_2, 0.000_02, 3e-30].map(|v| fixed(v, 4)), ["0.0002", "2e-5", "3e-30"]);
        assert_eq!([0.000_2, 0.000_02, 1e6, f64::NAN].map(value), ["0.0002", "2e-5", "1e6", "—"]);
        assert_eq!(
            [(0.0, 80.0), (-80.0, 20.0), (0.0, 1.0), (0.0, 5000.0), (0.0, 0.001)].map(|(a, b)| column_decimals(a, b)),
            [1, 1, 2, 0, 5]
        );
        assert_eq!([9e4, 2e5, 2e7, 3e9, 5e13].map(|v| prefix(v).1), ["", "k", "M", "G", "T"]);
        assert_eq!([0.0016, 0.0].map(duration), ["1.6 ms", "0 s"]);
        let (time, count) = (TimeBase::seconds(1e-4), TimeBase::count("generation", "generations"));
        assert_eq!(TimeUnit::of(time, 2.0, 1.0).text(1.2341, 1e-4), "1,234.1 ms");
        let unit = TimeUnit::of(count, 2.0, 1.0);
        assert_eq!((unit.text(7.0, 1.0), unit.title(count)), ("7 generations".to_owned(), "generations".to_owned()));
        assert_eq!(TimeUnit::of(time, 2.0, 1.0).title(time), "time (ms)");
        assert_eq!(
            [1.0, 0.5, 12_000.0].map(|n| steps(n, count)),
            ["1 generation", "0.5 generations", "12,000 generations"]
        );
        assert_eq!(steps(16.0, time), "1.6 ms");
    }
}
