//! Columns of the kernel table.

use crate::{
    app::{document::profile::Baseline, kit},
    gpu::{KernelFacts, Timing},
};
use std::borrow::Cow;

/// Row of the kernel table.
pub(super) struct Row<'a> {
    pub timing: &'a Timing,
    pub facts: Option<&'a KernelFacts>,
    pub baseline: Option<&'a Baseline>,
    /// Bytes moved, counted by the launcher or declared per item.
    pub bytes: u64,
    /// Operations, counted or declared; 0 if unknown.
    pub ops: u64,
    /// Fraction of the measured peak performance; `None` if unknown.
    pub of_peak: Option<f64>,
    /// Fraction of all measured time.
    pub share: f64,
    /// Number of measured batches in the range.
    pub batches: f64,
}

/// Column of figures, right of name and share.
pub(super) struct Figure {
    pub head: &'static str,
    pub hint: &'static str,
    pub width: f32,
    /// Order in which columns are left out of narrow panels: the highest rank first.
    pub rank: u8,
    /// Condition under which the column has data.
    pub when: When,
    /// Value and sort key of a row; `None` if unknown.
    pub value: fn(&Row<'_>) -> Option<f64>,
    pub format: Format,
}

/// Format of the values of a column.
#[derive(Clone, Copy)]
pub(super) enum Format {
    /// A number; all values of a column have the same number of decimals.
    Number,
    /// Nanoseconds, shown in the time unit of the table.
    Time,
    Text(fn(f64) -> String),
}

/// Unit of all times of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeUnit {
    name: &'static str,
    /// Factor from nanoseconds to the display unit.
    scale: f64,
}

/// Unit of exported tables and of the heads of [`FIGURES`].
const MICROS: TimeUnit = TimeUnit { name: "µs", scale: 1e-3 };

impl TimeUnit {
    /// Selects the smallest unit in which the longest mean is below 10,000, up to seconds.
    pub fn of(rows: &[Row<'_>]) -> Self {
        match rows.iter().map(|row| row.timing.mean_nanos()).fold(0.0, f64::max) {
            most if most < 1e7 => MICROS,
            most if most < 1e10 => Self { name: "ms", scale: 1e-6 },
            _ => Self { name: "s", scale: 1e-9 },
        }
    }
}

impl Figure {
    /// Returns the head of the column in a unit of time.
    pub fn head_in(&self, unit: TimeUnit) -> Cow<'static, str> {
        match self.format {
            Format::Time if unit != MICROS => self.head.replace(MICROS.name, unit.name).into(),
            _ => self.head.into(),
        }
    }

    /// Returns the factor of the values; `None` if they are formatted as texts.
    fn scale(&self, unit: TimeUnit) -> Option<f64> {
        match self.format {
            Format::Number => Some(1.0),
            Format::Time => Some(unit.scale),
            Format::Text(_) => None,
        }
    }

    /// Returns the number of decimals of the column: up to 2, as many as its largest value needs for three significant digits.
    pub fn decimals(&self, rows: &[Row<'_>], unit: TimeUnit) -> usize {
        let Some(scale) = self.scale(unit) else { return 0 };
        let values: Vec<f64> = rows.iter().filter_map(self.value).map(|v| v * scale).collect();
        let most = values.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        match most {
            _ if values.iter().all(|v| v.fract() == 0.0) => 0,
            m if m < 100.0 => 2,
            m if m < 10_000.0 => 1,
            _ => 0,
        }
    }

    /// Formats a value of the column for the table.
    pub fn text(&self, value: f64, decimals: usize, unit: TimeUnit) -> String {
        match self.format {
            Format::Text(text) => text(value),
            _ => separated(value * self.scale(unit).unwrap_or(1.0), decimals),
        }
    }

    /// Formats a value for an exported table.
    pub fn plain(&self, value: f64) -> String {
        match self.format {
            Format::Text(text) => text(value),
            _ => format!("{:.3}", value * self.scale(MICROS).unwrap_or(1.0)),
        }
    }
}

/// Formats a number with fixed decimals and separated thousands: `1,234.5`.
fn separated(v: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", v.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), kit::thousands);
    format!("{}{whole}{rest}", if v < 0.0 { "−" } else { "" })
}

/// Condition under which a column has data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Only on a GPU.
    OnDevice,
    /// Only with a baseline for comparison.
    Compared,
    /// Only if rows were compared with a reference row.
    Checked,
}

type Value = fn(&Row<'_>) -> Option<f64>;

const fn figure(
    head: &'static str,
    hint: &'static str,
    (width, rank, when): (f32, u8, When),
    value: Value,
    format: Format,
) -> Figure {
    Figure { head, hint, width, rank, when, value, format }
}

/// All columns, in display order.
pub(super) const FIGURES: [Figure; 16] = [
    figure(
        "µs / launch",
        "Mean duration of a launch; on a GPU without what the events around it add, as measured when the device was opened",
        (72.0, 0, When::Always),
        |r| Some(r.timing.mean_nanos()),
        Format::Time,
    ),
    figure(
        "Δ",
        "Mean launch compared with the baseline: −20 % is a fifth less time",
        (64.0, 1, When::Compared),
        |r| r.baseline?.change(r.timing),
        Format::Text(percent_signed),
    ),
    figure("p50 µs", "Median duration, within 6 %", (60.0, 9, When::Always), p50, Format::Time),
    figure("p95 µs", "95th percentile of the duration, within 6 %", (60.0, 4, When::Always), p95, Format::Time),
    figure(
        "max µs",
        "Longest launch in the range",
        (60.0, 8, When::Always),
        |r| Some(r.timing.max_nanos as f64),
        Format::Time,
    ),
    figure("launches", "Launches per measured batch", (62.0, 5, When::Always), launches, Format::Number),
    figure("µs / batch", "Time per measured batch", (68.0, 10, When::Always), per_batch, Format::Time),
    figure(
        "items / s",
        "Work items (neurons, synaptic events) per second of kernel time",
        (68.0, 3, When::Always),
        |r| r.timing.per_sec(r.timing.items),
        Format::Text(super::rate),
    ),
    figure(
        "error",
        "Largest difference from the reference row, relative to its largest value",
        (60.0, 2, When::Checked),
        |r| r.timing.off,
        Format::Text(|v| if v == 0.0 { "0".to_owned() } else { format!("{v:.0e}") }),
    ),
    figure(
        "bytes / s",
        "Bytes moved per second of kernel time, counted by the launcher or declared by the model",
        (68.0, 6, When::Always),
        |r| r.timing.per_sec(r.bytes),
        Format::Text(super::rate),
    ),
    figure(
        "ops / s",
        "Floating-point operations per second of kernel time, counted by the launcher or declared by the model",
        (60.0, 15, When::Always),
        |r| r.timing.per_sec(r.ops),
        Format::Text(super::rate),
    ),
    figure(
        "of peak",
        "Share of the measured peak performance of the device: of its arithmetic or its memory, whichever is higher. Known \
         for rows whose work is counted or declared, after *Measure peak performance*",
        (60.0, 14, When::Always),
        |r| r.of_peak,
        Format::Text(|v| format!("{:.1} %", v * 100.0)),
    ),
    figure(
        "occupancy",
        "Share of a multiprocessor's threads that can be resident",
        (68.0, 7, When::OnDevice),
        |r| Some(f64::from(r.facts?.occupancy)),
        Format::Text(|v| format!("{:.0} %", v * 100.0)),
    ),
    figure(
        "registers",
        "Registers per thread",
        (62.0, 11, When::OnDevice),
        |r| Some(f64::from(r.facts?.registers)),
        Format::Number,
    ),
    figure(
        "spilled",
        "Register bytes per thread spilled to memory",
        (52.0, 13, When::OnDevice),
        |r| Some(f64::from(r.facts?.local_bytes)),
        Format::Number,
    ),
    figure(
        "shared",
        "Shared memory per block, bytes",
        (58.0, 12, When::OnDevice),
        |r| Some(f64::from(r.facts?.shared_bytes)),
        Format::Number,
    ),
];

fn p50(r: &Row<'_>) -> Option<f64> {
    Some(r.timing.p50_nanos() as f64)
}

fn p95(r: &Row<'_>) -> Option<f64> {
    Some(r.timing.p95_nanos() as f64)
}

fn launches(r: &Row<'_>) -> Option<f64> {
    Some(f64::from(r.timing.launches) / r.batches)
}

fn per_batch(r: &Row<'_>) -> Option<f64> {
    Some(r.timing.nanos as f64 / r.batches)
}

/// Formats a change as a percentage with a sign: `+12 %`, `−3.4 %`.
pub(super) fn percent_signed(v: f64) -> String {
    let digits = usize::from(v.abs() < 0.0995);
    format!("{:+.digits$} %", v * 100.0).replace('-', "−")
}

/// Returns the columns with data that fit into a table of this width, points.
pub(super) fn fitting(width: f32, spacing: f32, has_data: impl Fn(When) -> bool) -> Vec<&'static Figure> {
    let mut order: Vec<&Figure> = FIGURES.iter().filter(|f| has_data(f.when)).collect();
    order.sort_by_key(|f| f.rank);
    let mut left = width;
    let fits = |f: &&&Figure| {
        left -= f.width + spacing;
        left >= 0.0
    };
    let shown: Vec<u8> = order.iter().take_while(fits).map(|f| f.rank).collect();
    FIGURES.iter().filter(|f| has_data(f.when) && shown.contains(&f.rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(nanos: u64) -> Timing {
        let mut timing = Timing::of("deliver");
        timing.launch(nanos);
        timing
    }

    fn row(timing: &Timing) -> Row<'_> {
        Row { timing, facts: None, baseline: None, bytes: 0, ops: 0, of_peak: None, share: 0.5, batches: 1.0 }
    }

    #[test]
    fn a_narrow_table_keeps_the_most_important_columns() {
        let heads = |width: f32, has_data: fn(When) -> bool| {
            fitting(width, 8.0, has_data).iter().map(|f| f.head).collect::<Vec<_>>()
        };
        assert_eq!(heads(10_000.0, |_| true).len(), FIGURES.len());
        assert_eq!(heads(80.0, |w| w == When::Always), ["µs / launch"]);
        assert_eq!(heads(156.0, |w| w == When::Always), ["µs / launch", "items / s"]);
        assert!(!heads(10_000.0, |w| w == When::Always).contains(&"registers"));
        let mut ranks: Vec<u8> = FIGURES.iter().map(|f| f.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..FIGURES.len() as u8).collect::<Vec<_>>(), "each rank once");
    }

    #[test]
    fn changes_have_signs_and_digits() {
        assert_eq!(percent_signed(-0.2), "−20 %");
        assert_eq!(percent_signed(0.034), "+3.4 %");
    }

    #[test]
    fn numbers_of_a_column_have_separators_and_equal_decimals() {
        assert_eq!(separated(1_234_567.25, 1), "1,234,567.2");
        assert_eq!((separated(0.5, 2), separated(-12.0, 0)), ("0.50".to_owned(), "−12".to_owned()));
        let timings = [500, 1_250_000].map(timing);
        let rows: Vec<Row<'_>> = timings.iter().map(row).collect();
        let texts = |head: &str| {
            let figure = FIGURES.iter().find(|f| f.head == head).expect("a column");
            let decimals = figure.decimals(&rows, MICROS);
            rows.iter().filter_map(figure.value).map(|v| figure.text(v, decimals, MICROS)).collect::<Vec<_>>()
        };
        assert_eq!(texts("µs / launch"), ["0.5", "1,250.0"]);
        assert_eq!(texts("launches"), ["1", "1"]);
    }

    #[test]
    fn times_have_the_unit_of_the_longest_one() {
        let shown = |nanos: &[u64]| {
            let timings: Vec<Timing> = nanos.iter().map(|nanos| timing(*nanos)).collect();
            let rows: Vec<Row<'_>> = timings.iter().map(row).collect();
            let (figure, unit) = (&FIGURES[0], TimeUnit::of(&rows));
            let decimals = figure.decimals(&rows, unit);
            let texts = rows.iter().filter_map(figure.value).map(|v| figure.text(v, decimals, unit));
            (figure.head_in(unit).into_owned(), texts.collect::<Vec<_>>())
        };
        for (nanos, head, texts) in [
            (&[500, 9_000_000][..], "µs / launch", ["0.5", "9,000.0"]),
            (&[400_000, 1_559_750_000], "ms / launch", ["0.4", "1,559.8"]),
            (&[2_000_000_000, 60_000_000_000], "s / launch", ["2.00", "60.00"]),
        ] {
            let (shown_head, shown_texts) = shown(nanos);
            assert_eq!(
                (shown_head.as_str(), shown_texts.iter().map(String::as_str).collect::<Vec<_>>()),
                (head, texts.to_vec())
            );
        }
        let launches = FIGURES.iter().find(|f| f.head == "launches").expect("a column");
        assert_eq!(launches.head_in(TimeUnit { name: "s", scale: 1e-9 }), "launches");
    }
}
