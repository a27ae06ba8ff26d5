//! Lists of seeds and of parameter values, as users type them.

use crate::{
    num::digits::group_digits,
    params::{Distribution, ParamSpec, Scale, Value, ValueType, path},
};
use std::collections::HashSet;

/// Parses seeds: `1, 2, 5`, or `1..5` for all whole numbers from 1 to 5. Returns each seed once. Fails if there are no seeds or
/// more than `most`.
pub fn seeds(text: &str, most: usize) -> Result<Vec<u64>, String> {
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<u64>().map_err(|_| format!("seed `{text}` is not a whole number"))
    };
    let (mut out, mut known) = (vec![], HashSet::new());
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = match part.split_once("..") {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(part)?, number(part)?),
        };
        out.extend((from..=to).take(most + 1).filter(|seed| known.insert(*seed)));
        if out.len() > most {
            return Err(format!("these are more than {} seeds", group_digits(most as u64)));
        }
    }
    if out.is_empty() { Err("Type a seed, or several separated by commas".into()) } else { Ok(out) }
}

/// Parses values: `1, 2, 5`, or `1..10/4` for four values from 1 to 10, spaced evenly, or by equal ratios on a logarithmic
/// scale. A parameter with a distribution also takes distributions: `30, normal(30, 2)`. Returns each value once with its unit.
/// Fails if a value is not accepted, or there are no values or more than `most`.
pub fn values(spec: &ParamSpec, text: &str, scale: Scale, most: usize) -> Result<Vec<String>, String> {
    let mut out: Vec<String> = vec![];
    for part in path::split_values(text) {
        for value in part_values(spec, part, scale, most)? {
            if let Some(why) = spec.refusal(&value) {
                return Err(why);
            }
            let text = path::show(spec, &value);
            if !out.contains(&text) {
                out.push(text);
            }
        }
        if out.len() > most {
            return Err(format!("these are more than {} values", group_digits(most as u64)));
        }
    }
    if out.is_empty() { Err("Type at least two values, separated by commas".into()) } else { Ok(out) }
}

/// Parses one value or a range of values. Fails if a number is malformed or the range does not state the number of values.
fn part_values(spec: &ParamSpec, part: &str, scale: Scale, most: usize) -> Result<Vec<Value>, String> {
    // The bounds of a distribution, `normal(30, 2) in 5..40`, are not a range of values.
    let range = part.split_once("..").filter(|_| !part.contains('('));
    let Some((from, rest)) = range else { return Ok(vec![path::parse_value(spec, part)?]) };
    let Some((to, n)) = rest.rsplit_once('/') else {
        return Err(format!("{part}: type how many values, as in {from}..{rest}/5"));
    };
    let n: usize = n
        .trim()
        .parse()
        .ok()
        .filter(|n| (2..=most).contains(n))
        .ok_or_else(|| format!("a range has 2 to {} values", group_digits(most as u64)))?;
    // In `1..5 ms`, the unit of the end also applies to the start.
    let unit = to.trim().trim_start_matches(|c: char| !c.is_alphabetic() && c != '%');
    let has_unit = from.contains(|c: char| c.is_alphabetic());
    let from = if has_unit { from.trim().to_owned() } else { format!("{} {unit}", from.trim()) };
    let (a, b) = (number(spec, from.trim())?, number(spec, to.trim())?);
    if scale == Scale::Log && (a <= 0.0 || b <= 0.0) {
        return Err(format!("{part}: on a logarithmic scale both ends are above 0"));
    }
    let at = |i: usize| {
        let share = i as f64 / (n - 1) as f64;
        match (i, scale) {
            (0, _) => a,
            (i, _) if i + 1 == n => b,
            (_, Scale::Log) => rounded(a * (b / a).powf(share), 2),
            _ => rounded(a + (b - a) * share, 6),
        }
    };
    let value = |x: f64| match spec.kind {
        ValueType::Int => Value::Int(x.round() as i64),
        ValueType::Distribution => Value::Distribution(Distribution::constant(x)),
        _ => Value::Real(x),
    };
    Ok((0..n).map(at).map(value).collect())
}

fn number(spec: &ParamSpec, text: &str) -> Result<f64, String> {
    match path::parse_value(spec, text)? {
        Value::Real(x) => Ok(x),
        Value::Int(i) => Ok(i as f64),
        Value::Distribution(distribution) => distribution.as_constant().ok_or_else(|| not_a_number(text)),
        _ => Err(not_a_number(text)),
    }
}

fn not_a_number(text: &str) -> String {
    format!("{text} is no number: a range is of numbers")
}

/// Rounds to `decimals + 1` significant digits, to remove digits that only come from the division.
fn rounded(x: f64, decimals: usize) -> f64 {
    format!("{x:.decimals$e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    fn of(name: &str, text: &str, scale: Option<Scale>) -> Result<String, String> {
        let project = Project::default();
        let (_, spec) = path::find(project.model.params(), name).expect("a parameter");
        values(spec, text, scale.unwrap_or(spec.scale), 1000).map(|values| values.join(", "))
    }

    #[test]
    fn lists_and_ranges_give_values_with_units() {
        for (name, text, expected) in [
            ("lif.tau_m", "10, 20 ms, 0.03 s", "10 ms, 20 ms, 30 ms"),
            ("lif.tau_m", "10; 10; 20", "10 ms, 20 ms"),
            ("lif.tau_m", "10..40/3, 5", "10 ms, 20 ms, 40 ms, 5 ms"),
            ("lif.tau_m", "10..20 ms/2", "10 ms, 20 ms"),
            ("lif.v_threshold", "-50..-40/3", "-50 mV, -45 mV, -40 mV"),
            ("network.inhibitory_count", "24..36/3, 40", "24, 30, 36, 40"),
            ("network.inhibitory_count", "30, normal(30, 2) in 5..40", "30, normal(30, 2) in 5..40"),
        ] {
            assert_eq!(of(name, text, None).as_deref(), Ok(expected), "{text}");
        }
        let whole = of("network.n_neurons", "100..103/7", None).expect("values");
        assert_eq!(whole.split(", ").count(), 4, "whole numbers are not repeated: {whole}");
    }

    #[test]
    fn ranges_are_spaced_by_their_scale() {
        let of = |text, scale| of("lif.tau_m", text, Some(scale));
        assert_eq!(of("10..40/3", Scale::Linear).as_deref(), Ok("10 ms, 25 ms, 40 ms"));
        assert_eq!(of("10..40/3", Scale::Log).as_deref(), Ok("10 ms, 20 ms, 40 ms"));
        assert!(of("0..40/3", Scale::Log).is_err(), "no ratio to 0");
    }

    #[test]
    fn mistakes_in_values_and_seeds_are_refused() {
        for text in ["", "10..40", "10..40/1", "10, -1e30", "10, many", "10 mV, 20"] {
            assert!(of("lif.tau_m", text, None).is_err(), "{text}");
        }
        for text in ["", "one", "1..", "-1", "1..2000", "5..1"] {
            assert!(seeds(text, 1000).is_err(), "{text}");
        }
        assert_eq!(seeds("1..2, 2, 9", 3).as_deref(), Ok(&[1, 2, 9][..]));
    }
}
