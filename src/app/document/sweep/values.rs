//! Parameters of a sweep with their values, and seeds, as the user types them.

use crate::{
    app::kit::text,
    experiment::values,
    params::{ParamSpec, Scale},
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

/// Parses seeds ([`values::seeds`]). Fails if there are no seeds or more than [`MAX_RUNS`].
pub fn seeds(text: &str) -> Result<Vec<u64>, String> {
    values::seeds(text, MAX_RUNS)
}

/// Parses values ([`values::values`]). Returns each value once with its unit. Fails if a value is not accepted, or there are no
/// values or more than [`MAX_RUNS`].
pub fn values(spec: &ParamSpec, text: &str, scale: Scale) -> Result<Vec<SweptValue>, String> {
    let texts = values::values(spec, text, scale, MAX_RUNS)?;
    Ok(texts.into_iter().map(|text| SweptValue { label: text.clone(), text }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{params::path, project::Project};

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
