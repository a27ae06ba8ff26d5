//! Formatting of numbers, times and names for display.

use crate::choices;
pub use crate::params::title::{from_name as title, singular, spaced};
use crate::sim::ProbeSpec;
use std::{
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    time::Duration,
};

/// Returns the title of a category column: `super_class` → `Super class`. Abbreviations of file formats are written out.
pub fn column(name: &str) -> String {
    match name {
        "ei" => "E/I".to_owned(),
        "nt" => "Neurotransmitter".to_owned(),
        name => title(name),
    }
}

choices! {
    /// Thousands separator.
    pub enum Grouping {
        /// 138,639.
        Comma,
        /// 138 639.
        Space,
        /// 138.639.
        Point,
        /// 138639.
        Nothing,
    }
}

choices! {
    /// Decimal separator.
    pub enum Decimal {
        /// 0.5.
        Point,
        /// 0,5.
        Comma,
    }
}

// The settings write these values, and all formatting of numbers reads them.
static GROUPING: AtomicU8 = AtomicU8::new(Grouping::Comma as u8);
static DECIMAL: AtomicU8 = AtomicU8::new(Decimal::Point as u8);

/// Sets the separators of numbers.
pub fn set_writing(grouping: Grouping, decimal: Decimal) {
    GROUPING.store(grouping as u8, Relaxed);
    DECIMAL.store(decimal as u8, Relaxed);
}

/// Replaces the decimal point by the user's decimal separator.
pub fn localised(number: String) -> String {
    if DECIMAL.load(Relaxed) == Decimal::Comma as u8 { number.replacen('.', ",", 1) } else { number }
}

/// Groups the digits of a count: `138639` → `138,639`.
pub fn count(n: u64) -> String {
    let separator = match GROUPING.load(Relaxed) {
        x if x == Grouping::Comma as u8 => ',',
        x if x == Grouping::Space as u8 => '\u{202f}',
        x if x == Grouping::Point as u8 => '.',
        _ => return n.to_string(),
    };
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

/// Formats a size in decimal units: `15.6 GB`.
pub fn bytes(n: u64) -> String {
    let (value, unit) = match n {
        0..1_000 => return format!("{n} B"),
        1_000..1_000_000 => (n as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (n as f64 / 1e6, "MB"),
        _ => (n as f64 / 1e9, "GB"),
    };
    localised(format!("{value:.1} {unit}"))
}

/// Formats simulated time: `812.4 ms`, `12.400 s`, `3:07.2 min`.
pub fn sim_time(secs: f64) -> String {
    localised(match secs {
        s if s < 10.0 => format!("{:.1} ms", s * 1e3),
        s if s < 600.0 => format!("{s:.3} s"),
        s => format!("{}:{:04.1} min", (s / 60.0) as u64, s % 60.0),
    })
}

/// Formats elapsed wall time: `20 ms`, `1.4 s`, `12 s`, `1:04`, `2:00:09`.
pub fn wall_time(d: Duration) -> String {
    match d.as_secs_f64() {
        s if s < 0.9995 => localised(format!("{} ms", significant(s * 1e3, if s < 0.01 { 1 } else { 3 }, 1e6))),
        s if s < 9.95 => localised(format!("{s:.1} s")),
        s if s < 59.5 => format!("{s:.0} s"),
        _ => stopwatch(d),
    }
}

/// Formats running wall time in whole seconds: `0:08`, `1:04`, `2:00:09`.
pub fn stopwatch(d: Duration) -> String {
    let (secs, mins) = (d.as_secs() % 60, d.as_secs() / 60);
    match mins / 60 {
        0 => format!("{mins}:{secs:02}"),
        hours => format!("{hours}:{:02}:{secs:02}", mins % 60),
    }
}

/// Formats the elapsed time of a job, and the estimated time left once it can be estimated.
pub fn eta(fraction: f32, since: Duration) -> String {
    let fraction = fraction.min(1.0);
    // The first percents include one-time work, so that an estimate from them is far too long.
    let is_early = since.as_secs_f32() < 0.5 || (fraction < 0.1 && since < Duration::from_secs(10));
    if is_early || fraction < 0.03 {
        return stopwatch(since);
    }
    let left = since.mul_f32((1.0 - fraction) / fraction);
    format!("{} · about {} s left", stopwatch(since), left.as_secs() + 1)
}

/// Formats an estimated duration: `40 s`, `12 min`, `4.2 h`.
pub fn rough_time(secs: f64) -> String {
    match secs {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s if s < 36_000.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.0} h", s / 3_600.0),
    }
}

/// Smallest magnitude that is written without an exponent.
const SMALL: f64 = 1e-4;

/// Formats a value with at most `digits` significant digits, without trailing zeros: `0.0002`, `26.8`, `2e-5`. Values below
/// 0.0001 and from `large` on have an exponent. A nonzero value is never written as 0.
pub fn significant(x: f64, digits: i32, large: f64) -> String {
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if x == 0.0 {
        return "0".to_owned();
    }
    // Rounding may carry to the next power of ten.
    let scientific = format!("{x:.*e}", (digits - 1).max(0) as usize);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    localised(match exponent.parse::<i32>() {
        Ok(power) if (SMALL..large).contains(&x.abs()) => {
            trimmed(&format!("{x:.*}", (digits - 1 - power).max(0) as usize))
        }
        _ => format!("{}e{exponent}", trimmed(mantissa)),
    })
}

/// Formats a parameter: four significant digits for small values, two to four decimals for others, an exponent only for
/// very large or small ones.
pub fn number(x: f64) -> String {
    let text = match x.abs() {
        0.0 => return "0".to_owned(),
        m if !(SMALL..1e9).contains(&m) => return significant(x, 4, 1e9),
        m if m < 1.0 => return significant(x, 4, 1e9).replace('-', "−"),
        m if m < 10.0 => format!("{x:.4}"),
        m if m < 1000.0 => format!("{x:.3}"),
        _ => format!("{x:.2}"),
    };
    localised(text.trim_end_matches('0').trim_end_matches('.').replace('-', "−"))
}

/// Formats a factor with two significant digits: `0.034`, `7.8`, `120`.
pub fn short(x: f64) -> String {
    match x.abs() {
        m if m < 1.0 => significant(x, 2, 1e9),
        m if m < 100.0 => localised(format!("{x:.1}")),
        _ => localised(format!("{x:.0}")),
    }
}

/// Splits a name in camel case: `ScaleWeights` → `scale weights`.
pub fn words(camel: &str) -> String {
    let mut out = String::new();
    for c in camel.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Formats a count with its noun: `1 step`, `3 steps`, with grouped digits.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n as u64), if n == 1 { one } else { many })
}

/// Formats a count with a plural noun, such as the name of an element set or of events: `1 nucleus`, `12,000 spikes`.
pub fn counted(n: u64, noun: &str) -> String {
    let noun = spaced(noun);
    if n == 1 { format!("1 {}", singular(&noun)) } else { format!("{} {noun}", count(n)) }
}

/// Returns the first line of a text, truncated to 60 characters.
pub fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns the first sentence of a doc comment as one line without the full stop.
pub fn first_sentence(docs: &str) -> String {
    let joined = unwrap(docs);
    let end = joined.find(". ").unwrap_or(joined.len());
    joined[..end].trim_end_matches('.').to_owned()
}

/// Joins the lines of a doc comment to one paragraph.
pub fn unwrap(docs: &str) -> String {
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the label of a probe with its unit, for axes: `Membrane potential (mV)`. A label that ends with parentheses receives
/// the unit in them: `Rate (per neuron, Hz)`.
pub fn probe_title(probe: &ProbeSpec) -> String {
    let (label, unit) = (probe.label(), probe.unit);
    match label.strip_suffix(')') {
        _ if unit.is_empty() => label.into_owned(),
        Some(open) => format!("{open}, {unit})"),
        None => format!("{label} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_its_unit_in_one_pair_of_parentheses() {
        let title = |title, unit| {
            let shape = crate::sim::Shape::Series { of: "" };
            probe_title(&ProbeSpec { name: "x", title, docs: "", unit, shape, args: &[] })
        };
        assert_eq!(title("Rate (per neuron)", "Hz"), "Rate (per neuron, Hz)");
        assert_eq!((title("Rate", "Hz"), title("Rate (all)", "")), ("Rate (Hz)".to_owned(), "Rate (all)".to_owned()));
    }

    #[test]
    fn numbers_read_well() {
        for (x, want) in [
            (0.0, "0"),
            (20.0, "20"),
            (0.275, "0.275"),
            (-52.0, "−52"),
            (1e-6, "1e-6"),
            (1.25e-6, "1.25e-6"),
            (0.05, "0.05"),
            (0.000_125, "0.000125"),
            (0.012_345, "0.01235"),
        ] {
            assert_eq!(number(x), want);
        }
        assert_eq!([0.0002, 0.034, 0.5, 7.84, 120.4, 0.0].map(short), ["0.0002", "0.034", "0.5", "7.8", "120", "0"]);
        assert_eq!(count(15_091_983), "15,091,983");
        assert_eq!(count(7), "7");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(sim_time(0.8124), "812.4 ms");
        for (secs, want) in [
            (0.0, "0 ms"),
            (0.0204, "20.4 ms"),
            (0.42, "420 ms"),
            (1.44, "1.4 s"),
            (8.0, "8.0 s"),
            (59.4, "59 s"),
            (64.0, "1:04"),
            (7_209.0, "2:00:09"),
        ] {
            assert_eq!(wall_time(Duration::from_secs_f64(secs)), want);
        }
        assert_eq!([8, 64].map(|secs| stopwatch(Duration::from_secs(secs))), ["0:08", "1:04"]);
    }

    #[test]
    fn no_value_but_zero_is_written_as_zero() {
        for (x, want) in [
            (0.000_2, "0.0002"),
            (0.000_123_456, "0.000123"),
            (-0.000_2, "-0.0002"),
            (0.000_019_99, "2e-5"),
            (9.999e-5, "1e-4"),
            (0.999_9, "1"),
            (26.784, "26.8"),
            (255_006.4, "255006"),
            (1.5e6, "1.5e6"),
            (f64::MIN_POSITIVE, "2.23e-308"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(x, 3, 1e6), want);
        }
    }

    #[test]
    fn names_read_well() {
        assert_eq!([1, 2].map(|n| counted(n, "nuclei")), ["1 nucleus", "2 nuclei"]);
        assert_eq!([1, 12_000].map(|n| counted(n, "spikes")), ["1 spike", "12,000 spikes"]);
        assert_eq!(words("ScaleWeights"), "scale weights");
        assert_eq!(first_line(&"ä".repeat(80)), format!("{}…", "ä".repeat(60)));
        assert_eq!(first_sentence(" Time step.\n"), "Time step");
        assert_eq!(first_sentence(" Ends at this time; 0 means\n never. More."), "Ends at this time; 0 means never");
    }
}
