//! The values of a sweep, as they are typed.

use crate::params::{ParamSpec, Scale, Value, ValueType, path};

/// Runs of a sweep at most.
pub const MAX_RUNS: usize = 1000;

/// The values of a text: `1, 2, 5`, or `1..10/4` for four from 1 to 10, at equal distances; on a logarithmic parameter at
/// equal ratios. With their units, as they are set on the command line.
pub fn values(spec: &ParamSpec, text: &str) -> Result<Vec<String>, String> {
    let mut out: Vec<String> = vec![];
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        for value in part_values(spec, part)? {
            if let Some(why) = spec.refusal(&value) {
                return Err(why);
            }
            let shown = path::show(spec, &value);
            if !out.contains(&shown) {
                out.push(shown);
            }
        }
        if out.len() > MAX_RUNS {
            return Err(format!("at most {MAX_RUNS} runs"));
        }
    }
    if out.len() < 2 { Err("type two values at least".into()) } else { Ok(out) }
}

/// One value, or those of a range.
fn part_values(spec: &ParamSpec, part: &str) -> Result<Vec<Value>, String> {
    let Some((from, rest)) = part.split_once("..") else { return Ok(vec![path::parse_value(spec, part)?]) };
    let Some((to, n)) = rest.rsplit_once('/') else {
        return Err(format!("{part}: type how many values, as in {from}..{rest}/5"));
    };
    let n: usize =
        n.trim().parse().ok().filter(|n| (2..=MAX_RUNS).contains(n)).ok_or("a range has 2 to 1000 values")?;
    // `1..5 ms`: the unit of the end is that of the start, too.
    let unit = to.trim().trim_start_matches(|c: char| !c.is_alphabetic() && c != '%');
    let has_unit = from.contains(|c: char| c.is_alphabetic());
    let from = if has_unit { from.trim().to_owned() } else { format!("{} {unit}", from.trim()) };
    let (a, b) = (number(spec, from.trim())?, number(spec, to.trim())?);
    let at = |i: usize| {
        let share = i as f64 / (n - 1) as f64;
        match (i, spec.scale) {
            (0, _) => a,
            (i, _) if i + 1 == n => b,
            (_, Scale::Log) if a > 0.0 && b > 0.0 => rounded(a * (b / a).powf(share), 2),
            _ => rounded(a + (b - a) * share, 6),
        }
    };
    let whole = spec.kind == ValueType::Int;
    Ok((0..n).map(at).map(|x| if whole { Value::Int(x.round() as i64) } else { Value::Real(x) }).collect())
}

fn number(spec: &ParamSpec, text: &str) -> Result<f64, String> {
    match path::parse_value(spec, text)? {
        Value::Real(x) => Ok(x),
        Value::Int(i) => Ok(i as f64),
        _ => Err(format!("{text} is no number: a range is of numbers")),
    }
}

/// A number without digits that only come from the division.
fn rounded(x: f64, decimals: usize) -> f64 {
    format!("{x:.decimals$e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    fn of(name: &str, text: &str) -> Result<Vec<String>, String> {
        let project = Project::default();
        let (_, spec) = path::find(project.model.params(), name).expect("a parameter");
        values(spec, text)
    }

    #[test]
    fn lists_and_ranges_give_values_with_units() {
        for (name, text, expected) in [
            ("lif.tau_m", "10, 20 ms, 0.03 s", "10 ms, 20 ms, 30 ms"),
            ("lif.tau_m", "10; 10; 20", "10 ms, 20 ms"),
            ("lif.tau_m", "10..40/3, 5", "10 ms, 20 ms, 40 ms, 5 ms"),
            ("lif.tau_m", "10..20 ms/2", "10 ms, 20 ms"),
            ("lif.v_threshold", "-50..-40/3", "-50 mV, -45 mV, -40 mV"),
        ] {
            assert_eq!(of(name, text).map(|values| values.join(", ")).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(of("network.n_neurons", "100..103/7").map(|v| v.len()), Ok(4), "whole numbers are not repeated");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for text in ["", "10", "10, 10", "10..40", "10..40/1", "10, -1e30", "10, many", "10 mV, 20"] {
            assert!(of("lif.tau_m", text).is_err(), "{text}");
        }
    }
}
