//! Texts of the statistics of a condition.

use crate::{
    app::{
        document::experiment::Results,
        kit::{self, text},
    },
    experiment::statistics::{Comparison, Line},
};

/// Formats a number of the statistics; a dash without one.
pub fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "—".to_owned(), |x| text::significant(x, 4, 1e6))
}

/// Formats p and q values: three digits, or an upper bound for very small ones.
pub fn probability(x: Option<f64>) -> String {
    match x {
        None => "—".to_owned(),
        Some(x) if x < 1e-16 => "< 1e-16".to_owned(),
        Some(x) if x < 1e-3 => format!("{x:.1e}"),
        Some(x) => format!("{x:.3}"),
    }
}

/// Formats an interval: `[1.2, 3.4]`; a dash without one.
pub fn interval(bounds: Option<(f64, f64)>) -> String {
    bounds.map_or_else(|| "—".to_owned(), |(low, high)| format!("[{}, {}]", number(Some(low)), number(Some(high))))
}

/// Formats a difference with its interval: `−3.2 [−4, −2.4]`; a dash without a difference.
pub fn difference(comparison: Option<&Comparison>) -> String {
    let Some(comparison) = comparison else { return "—".to_owned() };
    let value = number(Some(comparison.difference));
    match comparison.interval {
        Some(bounds) => format!("{value} {}", interval(Some(bounds))),
        None => value,
    }
}

/// Formats the effect size with the name of its definition: `−2.1 d_z`; a dash without one.
pub fn effect(comparison: Option<&Comparison>) -> String {
    match comparison.and_then(|comparison| comparison.effect) {
        Some(effect) => format!("{} {}", number(Some(effect.value())), effect.name()),
        None => "—".to_owned(),
    }
}

/// Returns the number of values and of planned trials of a condition: `9 of 10`.
pub fn count(results: &Results, line: Option<&Line>, condition: usize) -> String {
    let planned = results.states.get(condition).map_or(0, |state| state.n_planned);
    format!("{} of {planned}", line.map_or(0, |line| line.summary.n))
}

/// Describes a condition in lines, for tooltips.
pub fn about(results: &Results, measure: usize, condition: usize) -> String {
    let name = results.table.conditions.get(condition).map_or("", String::as_str);
    let Some(line) = results.line(measure, condition) else { return name.to_owned() };
    let summary = &line.summary;
    let mut lines = vec![
        name.to_owned(),
        format!("{}: {}, SD {}", results.title(measure), number(summary.mean), number(summary.sd)),
        format!("95 % interval {}, n = {}", interval(summary.interval), count(results, Some(line), condition)),
    ];
    if let Some(comparison) = &line.comparison {
        lines.push(format!("Difference from {}: {}", control(results), difference(Some(comparison))));
        if comparison.p.is_some() {
            let (effect, p, q) = (effect(Some(comparison)), probability(comparison.p), probability(line.q));
            lines.push(format!("Effect {effect}, {} test, p = {p}, q = {q}", comparison.test.name()));
        }
    }
    let state = results.states.get(condition).map(|state| state.text()).filter(|text| !text.is_empty());
    lines.extend(state);
    lines.join("\n")
}

/// Returns the name of the control.
pub fn control(results: &Results) -> &str {
    results.table.conditions.get(results.control()).map_or("", String::as_str)
}

/// Describes the experiment on display: name, numbers of trials and failures, state, and damaged rows.
pub fn caption(results: &Results, measure: usize) -> String {
    let (n, planned) = results.n_trials();
    let n_conditions = results.table.conditions.len();
    let trials = if n == planned { kit::plural(n, "trial", "trials") } else { format!("{n} of {planned} trials") };
    let mut caption = format!("{trials} of {}", kit::plural(n_conditions, "condition", "conditions"));
    caption += &format!("  |  {}: mean and 95 % interval (Student’s t)", results.title(measure));
    caption += &format!("  |  differences from {}", control(results));
    let tests = results.report.lines.iter().filter(|line| line.measure == measure);
    let mut names: Vec<&str> = tests.filter_map(|line| Some(line.comparison?.test.name())).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        caption += &format!(", {} test, q by Benjamini and Hochberg", names.join(" or "));
    }
    match results.table.n_failed() {
        0 => {}
        failed => caption += &format!("  |  {failed} failed"),
    }
    if let Some(first) = results.damaged.first() {
        let rows = kit::plural(results.damaged.len(), "damaged row", "damaged rows");
        caption += &format!("  |  {rows} left out: {first}");
    }
    caption
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::statistics::{Effect, Test};

    #[test]
    fn statistics_are_named_and_missing_ones_are_dashes() {
        let only =
            Comparison { test: Test::PairedT, n: 1, difference: -3.25, interval: None, effect: None, t: None, p: None };
        assert_eq!((difference(Some(&only)).as_str(), effect(Some(&only)).as_str()), ("-3.25", "—"));
        let all = Comparison { interval: Some((-4.0, -2.5)), effect: Some(Effect::Dz(-2.0)), ..only };
        assert_eq!(difference(Some(&all)), "-3.25 [-4, -2.5]");
        assert_eq!(effect(Some(&all)), "-2 d_z");
        let p = [None, Some(0.25), Some(0.000_12), Some(0.0)].map(probability);
        assert_eq!(p, ["—", "0.250", "1.2e-4", "< 1e-16"]);
    }
}
