//! The numbers of a sweep as a table.

use super::Shown;
use std::fmt::Write as _;

/// One row per run, with a header: units are in the names of the columns.
pub(super) fn csv(shown: &Shown, lane: usize) -> String {
    let unit = shown.spec.map_or("", |spec| spec.unit.suffix());
    let parameter = if unit.is_empty() { shown.path.clone() } else { format!("{} ({unit})", shown.path) };
    let series = shown.series.as_ref().map_or("", |series| &series.title);
    let head = ["mean", "last", "lowest", "highest"].map(|number| quoted(&format!("{number} of {series}")));
    let mut out = format!("curve,{},seed,run,samples,{}\n", quoted(&parameter), head.join(","));
    for curve in &shown.curves {
        for (point, (at, _)) in curve.points.iter().flat_map(|point| point.runs.iter().map(move |run| (point, run))) {
            let run = &shown.runs[*at];
            let Some(s) = run.lanes.get(lane) else { continue };
            // The names of choices, the numbers of numbers.
            let value = if super::chart::is_numeric(shown.spec) { point.x.to_string() } else { point.text.clone() };
            let (curve, value, name) = (quoted(&curve.label), quoted(&value), quoted(&run.name));
            let (mean, last, min, max) = (s.mean(), s.last, s.min, s.max);
            writeln!(out, "{curve},{value},{},{name},{},{mean},{last},{min},{max}", run.seed, s.n).ok();
        }
    }
    out
}

/// A cell; in quotes where it needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
