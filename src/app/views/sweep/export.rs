//! Export of the numbers of a sweep as a table.

use super::{Shown, groups::Coordinate};
use crate::params::ValueType;
use std::fmt::Write as _;

/// Formats a CSV table with a header and one row per run. The names of columns contain their units.
pub(super) fn csv(shown: &Shown, lane: usize) -> String {
    let named = |(path, spec): (&String, &crate::params::ParamSpec)| match spec.unit.suffix() {
        "" => quoted(path),
        unit => quoted(&format!("{path} ({unit})")),
    };
    let parameters: Vec<String> = shown.paths.iter().zip(&shown.specs).map(named).collect();
    let series = shown.series.as_ref().map_or("", |series| &series.title);
    let head = ["mean", "last", "lowest", "highest"].map(|number| quoted(&format!("{number} of {series}")));
    let group = if shown.paths.len() == 1 { "curve" } else { "map" };
    let mut out = format!("{group},{},seed,run,samples,{}\n", parameters.join(","), head.join(","));
    for group in &shown.groups {
        for (point, (at, _)) in group.points.iter().flat_map(|point| point.runs.iter().map(move |run| (point, run))) {
            let run = &shown.runs[*at];
            let Some(s) = run.lanes.get(lane) else { continue };
            let value = |(i, at): (usize, &Coordinate)| match shown.is_numeric(i) {
                true => at.x.to_string(),
                false => quoted(&name(shown.specs[i].kind, at.x)),
            };
            let values: Vec<String> = point.at.iter().enumerate().map(value).collect();
            let (label, values, name) = (quoted(&group.label), values.join(","), quoted(&run.name));
            let (mean, last, min, max) = (s.mean(), s.last, s.min, s.max);
            writeln!(out, "{label},{values},{},{name},{},{mean},{last},{min},{max}", run.seed, s.n).ok();
        }
    }
    out
}

/// Returns the value of a switch or a choice as project files name it.
fn name(kind: ValueType, x: f64) -> String {
    let at = x as usize;
    let choice = match kind {
        ValueType::Bool => return (x != 0.0).to_string(),
        ValueType::Choice(choices) => choices.get(at),
        kind => kind.variants().get(at).map(|variant| &variant.choice),
    };
    choice.map_or_else(String::new, |choice| choice.name.to_owned())
}

/// Formats a CSV cell, in quotes if it needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
