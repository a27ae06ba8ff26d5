//! The values and the seeds of a sweep, as they are typed.

use crate::params::{ParamSpec, Scale, Value, ValueType, path};

/// Runs of a sweep at most.
pub const MAX_RUNS: usize = 1000;

/// The values of a sweep, and the seeds of each.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptValues {
    /// With their units.
    pub values: Vec<String>,
    /// Of random draws.
    pub seeds: Vec<u64>,
}

impl SweptValues {
    /// Two runs at least: of two values, or of two seeds.
    pub fn new(values: Vec<String>, seeds: Vec<u64>) -> Result<Self, String> {
        let swept = Self { values, seeds };
        match swept.n_runs() {
            0 | 1 => Err("type two values at least, or two seeds".into()),
            n if n > MAX_RUNS => Err(format!("{n} runs; at most {MAX_RUNS}")),
            _ => Ok(swept),
        }
    }

    /// Number of runs.
    pub fn n_runs(&self) -> usize {
        self.values.len() * self.seeds.len()
    }

    /// Every value with its seed; all values of a seed come first, so that the whole curve is seen early.
    pub fn runs(&self) -> impl Iterator<Item = (&str, u64)> {
        self.seeds.iter().flat_map(|seed| self.values.iter().map(move |value| (value.as_str(), *seed)))
    }
}

/// The seeds of a text: `1, 2, 5`, or `1..5` for all whole numbers from 1 to 5.
pub fn seeds(text: &str) -> Result<Vec<u64>, String> {
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<u64>().map_err(|_| format!("seed `{text}` is not a whole number"))
    };
    let mut out = vec![];
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = match part.split_once("..") {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(part)?, number(part)?),
        };
        let new = (from..=to).take(MAX_RUNS + 1).filter(|seed| !out.contains(seed));
        out.extend(new.collect::<Vec<_>>());
        if out.len() > MAX_RUNS {
            return Err(format!("at most {MAX_RUNS} runs"));
        }
    }
    if out.is_empty() { Err("type a seed".into()) } else { Ok(out) }
}

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
    if out.is_empty() { Err("type two values at least".into()) } else { Ok(out) }
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
        for text in ["", "10..40", "10..40/1", "10, -1e30", "10, many", "10 mV, 20"] {
            assert!(of("lif.tau_m", text).is_err(), "{text}");
        }
        for text in ["", "one", "1..", "-1", "1..2000", "5..1"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        let swept = |values: &[&str], text: &str| {
            SweptValues::new(values.iter().map(ToString::to_string).collect(), seeds(text).expect("seeds"))
        };
        assert!(swept(&["10 ms"], "1").is_err(), "one run is no sweep");
        assert!(swept(&["1"; 30], "1..34").is_err(), "1,020 runs");
    }

    #[test]
    fn every_value_runs_with_every_seed_and_a_curve_is_whole_early() {
        let swept = |values: &[&str], text: &str| {
            let values = values.iter().map(ToString::to_string).collect();
            let swept = SweptValues::new(values, seeds(text).expect("seeds")).expect("runs");
            swept.runs().map(|(value, seed)| format!("{value}@{seed}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(swept(&["a", "b"], "7"), "a@7 b@7");
        assert_eq!(swept(&["a", "b"], "1..2, 2, 9"), "a@1 b@1 a@2 b@2 a@9 b@9");
        assert_eq!(swept(&["a"], "1..3"), "a@1 a@2 a@3", "seeds alone");
    }
}
