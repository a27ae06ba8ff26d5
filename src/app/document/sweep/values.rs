//! Parameters of a sweep with their values, and seeds, as the user types them.

use crate::{
    app::kit::text,
    params::{Distribution, ParamSpec, Scale, Value, ValueType, path},
};

/// Maximum number of runs of a sweep.
pub const MAX_RUNS: usize = 1000;

/// Value of a swept parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptValue {
    /// Value with its unit, in the form of `--set`.
    pub text: String,
    /// Value as the window names it.
    pub label: String,
}

/// Parameter of a sweep with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptAxis {
    pub path: String,
    /// Name in the folders of runs: the last part of the path.
    pub name: String,
    /// Short label in names of sweeps and of their runs, without the group.
    pub label: String,
    /// Title with the group.
    pub title: String,
    pub values: Vec<SweptValue>,
}

/// Parameters of a sweep, and the seeds of each combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptValues {
    /// Name of the sweep in the list of sweeps: the names of its parameters, unless the user chose another name.
    pub name: String,
    /// Swept parameters, one or two.
    pub axes: Vec<SweptAxis>,
    /// Seeds of random draws.
    pub seeds: Vec<u64>,
}

impl SweptValues {
    /// Checks the values. Fails if there are fewer than two runs, more than [`MAX_RUNS`], or two parameters of which one has a
    /// single value.
    pub fn new(axes: Vec<SweptAxis>, seeds: Vec<u64>) -> Result<Self, String> {
        let swept = Self { name: proposed_name(&axes), axes, seeds };
        let single = swept.axes.iter().find(|axis| axis.values.len() < 2);
        match (swept.n_runs(), single) {
            (_, Some(axis)) if swept.axes.len() > 1 => Err(format!("{}: choose at least two values", axis.title)),
            (0 | 1, _) => Err("A sweep has at least two runs: choose two values, or type two seeds".into()),
            (n, _) if n > MAX_RUNS => {
                let (n, most) = (text::count(n as u64), text::count(MAX_RUNS as u64));
                Err(format!("{n} runs ({}); at most {most}", swept.product()))
            }
            _ => Ok(swept),
        }
    }

    /// Returns the number of runs.
    pub fn n_runs(&self) -> usize {
        self.n_combinations() * self.seeds.len()
    }

    fn n_combinations(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Describes the number of runs as a product: `4 values of Network › Neurons × 3 of LIF neuron › Reset potential × 2
    /// seeds`.
    pub fn product(&self) -> String {
        let of = |(i, axis): (usize, &SweptAxis)| {
            let n = axis.values.len();
            let noun = if i > 0 {
                ""
            } else if n == 1 {
                " value"
            } else {
                " values"
            };
            format!("{n}{noun} of {}", axis.title)
        };
        let mut parts: Vec<String> = self.axes.iter().enumerate().map(of).collect();
        if self.seeds.len() > 1 {
            parts.push(format!("{} seeds", self.seeds.len()));
        }
        parts.join(" × ")
    }

    /// Iterates over every combination of values, one value per axis, with its seed. All combinations of a seed come first, so
    /// that the whole plot is visible early; the first parameter changes fastest.
    pub fn runs(&self) -> impl Iterator<Item = (Vec<&SweptValue>, u64)> {
        self.seeds.iter().flat_map(|seed| (0..self.n_combinations()).map(|i| (self.combination(i), *seed)))
    }

    fn combination(&self, mut i: usize) -> Vec<&SweptValue> {
        let value = |axis: &'_ SweptAxis| {
            let at = i % axis.values.len();
            i /= axis.values.len();
            at
        };
        let at: Vec<usize> = self.axes.iter().map(value).collect();
        self.axes.iter().zip(at).map(|(axis, at)| &axis.values[at]).collect()
    }
}

/// Returns the name of a sweep over these parameters: `Membrane time constant × Reset potential`.
pub fn proposed_name(axes: &[SweptAxis]) -> String {
    axes.iter().map(|axis| &*axis.label).collect::<Vec<_>>().join(" × ")
}

/// Parses seeds: `1, 2, 5`, or `1..5` for all whole numbers from 1 to 5. Fails if there are no seeds or more than
/// [`MAX_RUNS`].
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
            return Err(format!("A sweep has at most {} runs", text::count(MAX_RUNS as u64)));
        }
    }
    if out.is_empty() {
        Err("Type a seed, or several separated by commas, into the field Seeds".into())
    } else {
        Ok(out)
    }
}

/// Parses values: `1, 2, 5`, or `1..10/4` for four values from 1 to 10, spaced evenly, or by equal ratios on a logarithmic
/// scale. A parameter with a distribution also takes distributions: `30, normal(30, 2)`. Returns each value once with its unit.
/// Fails if a value is not accepted, or there are no values or more than [`MAX_RUNS`].
pub fn values(spec: &ParamSpec, text: &str, scale: Scale) -> Result<Vec<SweptValue>, String> {
    let mut out: Vec<SweptValue> = vec![];
    for part in path::split_values(text) {
        for value in part_values(spec, part, scale)? {
            if let Some(why) = spec.refusal(&value) {
                return Err(why);
            }
            let text = path::show(spec, &value);
            let value = SweptValue { label: text.clone(), text };
            if !out.contains(&value) {
                out.push(value);
            }
        }
        if out.len() > MAX_RUNS {
            return Err(format!("A sweep has at most {} runs", text::count(MAX_RUNS as u64)));
        }
    }
    if out.is_empty() { Err("Type at least two values, separated by commas".into()) } else { Ok(out) }
}

/// Parses one value or a range of values. Fails if a number is malformed or the range does not state the number of values.
fn part_values(spec: &ParamSpec, part: &str, scale: Scale) -> Result<Vec<Value>, String> {
    // The bounds of a distribution, `normal(30, 2) in 5..40`, are not a range of values.
    let range = part.split_once("..").filter(|_| !part.contains('('));
    let Some((from, rest)) = range else { return Ok(vec![path::parse_value(spec, part)?]) };
    let Some((to, n)) = rest.rsplit_once('/') else {
        return Err(format!("{part}: type how many values, as in {from}..{rest}/5"));
    };
    let n: usize =
        n.trim().parse().ok().filter(|n| (2..=MAX_RUNS).contains(n)).ok_or("a range has 2 to 1,000 values")?;
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

    fn of(name: &str, text: &str) -> Result<Vec<String>, String> {
        let project = Project::default();
        let (_, spec) = path::find(project.model.params(), name).expect("a parameter");
        Ok(values(spec, text, spec.scale)?.into_iter().map(|value| value.text).collect())
    }

    /// Creates a sweep over parameters with the values in `text`, separated by blanks, and seeds.
    fn swept(axes: &[&str], text: &str) -> Result<SweptValues, String> {
        let axis = |(i, values): (usize, &&str)| SweptAxis {
            path: format!("group.p{i}"),
            name: format!("p{i}"),
            label: format!("P{i}"),
            title: format!("Group › P{i}"),
            values: values.split(' ').map(|text| SweptValue { text: text.into(), label: text.into() }).collect(),
        };
        SweptValues::new(axes.iter().enumerate().map(axis).collect(), seeds(text).expect("seeds"))
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
            assert_eq!(of(name, text).map(|values| values.join(", ")).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(of("network.n_neurons", "100..103/7").map(|v| v.len()), Ok(4), "whole numbers are not repeated");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for text in ["", "10..40", "10..40/1", "10, -1e30", "10, many", "10 mV, 20"] {
            assert!(of("lif.tau_m", text).is_err(), "{text}");
        }
        let single = swept(&["1"], "3").expect_err("one run");
        assert_eq!(single, "A sweep has at least two runs: choose two values, or type two seeds");
        for text in ["", "one", "1..", "-1", "1..2000", "5..1"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        let many = "1 ".repeat(29) + "1";
        for (axes, seeds) in
            [(&["10"][..], "1"), (&[&many], "1..34"), (&[&many, &many], "1..2"), (&["1 2", "1"], "1..3")]
        {
            assert!(swept(axes, seeds).is_err(), "{axes:?} with seeds {seeds}");
        }
        assert!(swept(&[&many, &many], "1..1").is_ok(), "900 runs");
        let many = swept(&[&many, &many], "1..2").expect_err("1,800 runs");
        assert_eq!(many, "1,800 runs (30 values of Group › P0 × 30 of Group › P1 × 2 seeds); at most 1,000");
    }

    #[test]
    fn ranges_are_spaced_by_their_scale() {
        let project = Project::default();
        let (_, spec) = path::find(project.model.params(), "lif.tau_m").expect("a parameter");
        let joined = |values: Vec<SweptValue>| values.into_iter().map(|v| v.text).collect::<Vec<_>>().join(", ");
        let of = |text, scale| values(spec, text, scale).map(joined);
        assert_eq!(of("10..40/3", Scale::Linear).as_deref(), Ok("10 ms, 25 ms, 40 ms"));
        assert_eq!(of("10..40/3", Scale::Log).as_deref(), Ok("10 ms, 20 ms, 40 ms"));
        assert!(of("0..40/3", Scale::Log).is_err(), "no ratio to 0");
    }

    #[test]
    fn every_combination_runs_with_every_seed_and_a_plot_is_whole_early() {
        let order = |axes: &[&str], text: &str| {
            let swept = swept(axes, text).expect("runs");
            let joined = |values: Vec<&SweptValue>| values.iter().map(|value| &*value.text).collect::<String>();
            let runs: Vec<String> = swept.runs().map(|(values, seed)| format!("{}@{seed}", joined(values))).collect();
            assert_eq!(runs.len(), swept.n_runs());
            runs.join(" ")
        };
        assert_eq!(order(&["a b"], "7"), "a@7 b@7");
        assert_eq!(order(&["a b"], "1..2, 2, 9"), "a@1 b@1 a@2 b@2 a@9 b@9");
        assert_eq!(order(&["a"], "1..3"), "a@1 a@2 a@3", "seeds alone");
        assert_eq!(order(&["a b c", "x y"], "1"), "ax@1 bx@1 cx@1 ay@1 by@1 cy@1");
        assert_eq!(order(&["a b", "x y"], "1..2"), "ax@1 bx@1 ay@1 by@1 ax@2 bx@2 ay@2 by@2");
    }
}
