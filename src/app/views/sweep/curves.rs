//! Runs that differ in one parameter only, as the points of a curve; runs of several seeds are one point.

use super::runs::SweptRun;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Differences named in the label of a curve.
const NAMED: usize = 2;

/// All runs with one value of the parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The value; the number of a choice.
    pub x: f64,
    /// The value with its unit.
    pub text: String,
    /// The runs, one of each seed, and their numbers; by seed.
    pub runs: Vec<(usize, f64)>,
}

impl Point {
    /// The mean over seeds.
    pub fn mean(&self) -> f64 {
        self.runs.iter().map(|(_, y)| y).sum::<f64>() / self.runs.len() as f64
    }

    /// The sample standard deviation over seeds; `None` with one.
    pub fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.runs.len(), self.mean());
        let squares: f64 = self.runs.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }
}

/// Runs that differ only in the parameter and the seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// By what it differs from the other curves; empty when it is the only one.
    pub label: String,
    /// By value.
    pub points: Vec<Point>,
}

/// The curves of a parameter, those with the most points first. `y`: the number of a run, which is left out without one.
pub fn curves(runs: &[SweptRun], path: &str, y: impl Fn(&SweptRun) -> Option<f64>) -> Vec<Curve> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        if run.settings.get(path).is_some_and(|s| s.number.is_some_and(f64::is_finite)) && y(run).is_some() {
            groups.entry(rest_of(run, path)).or_default().push(i);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    let newest = |group: &[usize]| group.iter().map(|i| &*runs[*i].started).max().unwrap_or_default();
    let n_values = |group: &[usize]| group.iter().map(|i| &runs[*i].settings[path].text).collect::<BTreeSet<_>>().len();
    let size = |group: &[usize]| (n_values(group), group.len(), newest(group));
    groups.sort_by(|a, b| size(b).cmp(&size(a)).then(a.cmp(b)));
    // Beside a curve, seeds with one value are runs of other sweeps.
    if groups.first().is_some_and(|group| n_values(group) > 1) {
        groups.retain(|group| n_values(group) > 1);
    }
    let firsts: Vec<&SweptRun> = groups.iter().map(|group| &runs[group[0]]).collect();
    let labels = labels(&firsts, path);
    let curve = |(group, label): (&Vec<usize>, String)| Curve { label, points: points(runs, group, path, &y) };
    groups.iter().zip(labels).map(curve).collect()
}

/// A hash of everything but one parameter and the seed.
fn rest_of(run: &SweptRun, path: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    (&run.kind, &run.duration).hash(&mut hash);
    for (name, setting) in run.settings.iter().filter(|(name, _)| *name != path) {
        (name, &setting.text).hash(&mut hash);
    }
    hash.finish()
}

/// The runs of a curve by value; of two runs with one seed the newest counts.
fn points(runs: &[SweptRun], group: &[usize], path: &str, y: &impl Fn(&SweptRun) -> Option<f64>) -> Vec<Point> {
    let mut values: BTreeMap<&str, BTreeMap<u64, usize>> = BTreeMap::new();
    for &i in group {
        let seeds = values.entry(&runs[i].settings[path].text).or_default();
        let newest = seeds.entry(runs[i].seed).or_insert(i);
        if runs[i].started > runs[*newest].started {
            *newest = i;
        }
    }
    let point = |(text, seeds): (&str, BTreeMap<u64, usize>)| {
        let runs_of: Vec<(usize, f64)> = seeds.into_values().filter_map(|i| Some((i, y(&runs[i])?))).collect();
        let x = runs_of.first().and_then(|(i, _)| runs[*i].settings[path].number).unwrap_or_default();
        Point { x, text: text.to_owned(), runs: runs_of }
    };
    let mut points: Vec<Point> = values.into_iter().map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// By what each of these runs differs from the others.
fn labels(firsts: &[&SweptRun], path: &str) -> Vec<String> {
    let differs = |name: &&String| {
        let text = |run: &SweptRun| run.settings.get(*name).map(|s| s.text.clone());
        firsts.iter().any(|run| text(run) != text(firsts[0]))
    };
    let names: BTreeSet<&String> = firsts.iter().flat_map(|run| run.settings.keys()).filter(|n| *n != path).collect();
    let names: Vec<&String> = names.into_iter().filter(differs).take(NAMED).collect();
    let has_durations = firsts.iter().any(|run| run.duration != firsts[0].duration);
    let label = |run: &&SweptRun| {
        let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let of = |name: &&String| Some(format!("{} {}", short(name), run.settings.get(*name)?.text));
        let mut parts: Vec<String> = names.iter().filter_map(of).collect();
        if has_durations {
            parts.push(run.duration.clone());
        }
        parts.join(", ")
    };
    firsts.iter().map(label).collect()
}

/// The parameters with several values among runs that are equal otherwise, and the number of these runs; most first.
pub fn swept(runs: &[SweptRun]) -> Vec<(String, usize)> {
    let mut texts: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
    for (path, setting) in runs.iter().flat_map(|run| &run.settings).filter(|(_, s)| s.number.is_some()) {
        texts.entry(path).or_default().insert(&setting.text);
    }
    let n_runs = |path: &String| {
        let all = curves(runs, path, |_| Some(0.0));
        let wide = all.iter().filter(|curve| curve.points.len() > 1);
        wide.flat_map(|curve| &curve.points).map(|point| point.runs.len()).sum::<usize>()
    };
    let varying = texts.into_iter().filter(|(_, texts)| texts.len() > 1).map(|(path, _)| path);
    let mut out: Vec<(String, usize)> =
        varying.map(|path| (path.clone(), n_runs(path))).filter(|(_, n)| *n > 1).collect();
    out.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    out
}

#[cfg(test)]
mod tests {
    use super::{super::runs::settings, *};
    use crate::project::Project;
    use std::path::Path;

    /// A run with these parameters, its number as its name, and a time of start.
    fn run(changes: &[&str], y: f64, started: &str) -> SweptRun {
        let mut project = Project::default();
        changes.iter().for_each(|text| project.set(text, Path::new(".")).expect("a parameter"));
        let (name, seed) = (y.to_string(), project.seed);
        SweptRun { name, seed, started: started.into(), settings: settings(&project), ..SweptRun::default() }
    }

    fn y(run: &SweptRun) -> Option<f64> {
        run.name.parse().ok()
    }

    #[test]
    fn runs_that_differ_in_one_parameter_are_a_curve_and_seeds_a_point() {
        let runs = [
            run(&["lif.tau_m=20ms", "seed=2"], 3.0, "b"),
            run(&["lif.tau_m=20ms", "seed=1"], 1.0, "b"),
            run(&["lif.tau_m=10ms", "seed=1"], 7.0, "b"),
            run(&["lif.tau_m=10ms", "seed=1"], 8.0, "a"),
            run(&["lif.tau_m=10ms", "lif.v_threshold=-40mV"], 9.0, "b"),
            run(&["lif.tau_m=15ms", "lif.v_threshold=-40mV"], f64::NAN, "b"),
            run(&["lif.tau_m=30ms", "lif.v_threshold=-40mV"], 5.0, "b"),
            run(&["lif.tau_m=30ms", "lif.v_reset=-70mV"], 5.0, "b"),
        ];
        let curves = curves(&runs, "lif.tau_m", |run| y(run).filter(|y| y.is_finite()));
        let shown = |curve: &Curve| -> Vec<(f64, f64, Option<f64>)> {
            curve.points.iter().map(|p| (p.x, p.mean(), p.deviation())).collect()
        };
        assert_eq!(curves.iter().map(|c| &*c.label).collect::<Vec<_>>(), ["v_threshold -45 mV", "v_threshold -40 mV"]);
        assert_eq!(shown(&curves[0]), [(10.0, 7.0, None), (20.0, 2.0, Some(2f64.sqrt()))], "the newest of a seed");
        assert_eq!(shown(&curves[1]), [(10.0, 9.0, None), (30.0, 5.0, None)], "a run without a number is left out");
        let swept = swept(&runs);
        assert_eq!(swept[0], ("lif.tau_m".to_owned(), 6));
        let mut runs = runs.to_vec();
        runs.extend(["seed=1", "seed=2"].map(|seed| run(&["lif.v_reset=-60mV", seed], 4.0, "c")));
        assert_eq!(
            super::curves(&runs, "lif.tau_m", y).len(),
            curves.len(),
            "seeds of one value are no curve beside others"
        );
    }

    #[test]
    fn other_durations_are_other_curves_and_seeds_alone_are_a_point() {
        let mut runs = vec![run(&[], 1.0, ""), run(&["seed=2"], 2.0, ""), run(&["lif.tau_m=10ms"], 3.0, "")];
        runs[2].duration = "2 s".into();
        let curves = curves(&runs, "lif.tau_m", y);
        assert_eq!((curves.len(), curves[0].points.len(), &*curves[0].label), (1, 1, ""));
        assert_eq!(curves[0].points[0].runs.len(), 2);
        assert!(swept(&runs).is_empty());
    }
}
