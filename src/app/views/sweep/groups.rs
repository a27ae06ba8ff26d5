//! Groups of runs that differ only in the seed and in one or two swept parameters. Runs with equal values and different seeds are
//! one point.

use super::runs::SweptRun;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Maximum number of differences named in the label of a group.
const NAMED: usize = 2;

/// Value of a swept parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// The value; for a choice, its index.
    pub x: f64,
    /// The value with its unit, as text.
    pub text: String,
}

/// All runs with the same values of the swept parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub at: Vec<Coordinate>,
    /// Indices of the runs, one per seed and sorted by seed, with their statistics.
    pub runs: Vec<(usize, f64)>,
}

impl Point {
    /// Returns the mean over seeds.
    pub fn mean(&self) -> f64 {
        self.runs.iter().map(|(_, y)| y).sum::<f64>() / self.runs.len() as f64
    }

    /// Returns the sample standard deviation over seeds; `None` for one seed.
    pub fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.runs.len(), self.mean());
        let squares: f64 = self.runs.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }
}

/// Runs that differ only in the swept parameters and the seed. They are drawn as a curve or as a heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunGroup {
    /// Differences from the other groups; empty if there is only one group.
    pub label: String,
    /// Numeric values of the parameters in the label.
    order: Vec<f64>,
    /// Points sorted by the value of the first parameter, then of the second.
    pub points: Vec<Point>,
}

/// Groups runs by the parameters `paths`; groups with the most points are first. `y` returns the statistic of a run; runs without
/// one are left out.
pub fn groups(runs: &[SweptRun], paths: &[String], y: impl Fn(&SweptRun) -> Option<f64>) -> Vec<RunGroup> {
    let differences = Differences::of(runs);
    let mut groups = differences.groups(paths);
    groups.iter_mut().for_each(|group| group.retain(|i| y(&runs[*i]).is_some()));
    groups.retain(|group| group.len() > 1);
    let newest = |group: &[usize]| group.iter().map(|i| &*runs[*i].started).max().unwrap_or_default();
    let n_points = |group: &[usize]| group.iter().map(|i| texts(&runs[*i], paths)).collect::<BTreeSet<_>>().len();
    let size = |group: &[usize]| (n_points(group), group.len(), newest(group));
    groups.sort_by(|a, b| size(b).cmp(&size(a)).then(a.cmp(b)));
    // Groups with several seeds of one value belong to other sweeps, and are left out if there is a curve.
    if groups.first().is_some_and(|group| n_points(group) > 1) {
        groups.retain(|group| n_points(group) > 1);
    }
    let firsts: Vec<&SweptRun> = groups.iter().map(|group| &runs[group[0]]).collect();
    let labels = labels(&firsts, paths);
    let group = |(group, (label, order)): (&Vec<usize>, (String, Vec<f64>))| RunGroup {
        label,
        order,
        points: points(runs, group, paths, &y),
    };
    groups.iter().zip(labels).map(group).collect()
}

/// Returns a run's values of these parameters as text.
fn texts<'a>(run: &'a SweptRun, paths: &[String]) -> Vec<&'a str> {
    paths.iter().map(|path| &*run.settings[path].text).collect()
}

/// Differences between runs.
struct Differences<'a> {
    runs: &'a [SweptRun],
    /// Parameters that have different values among the runs.
    paths: Vec<&'a String>,
    /// Hashes of each run's values of these parameters.
    hashes: Vec<Vec<u64>>,
}

impl<'a> Differences<'a> {
    fn of(runs: &'a [SweptRun]) -> Self {
        let all: BTreeSet<&String> = runs.iter().flat_map(|run| run.settings.keys()).collect();
        let text = |run: &'a SweptRun, path: &String| run.settings.get(path).map(|s| &*s.text);
        let differs = |path: &&String| runs.iter().any(|run| text(run, path) != text(&runs[0], path));
        let paths: Vec<&String> = all.into_iter().filter(differs).collect();
        let hashes = runs.iter().map(|run| paths.iter().map(|path| hash(&text(run, path))).collect()).collect();
        Self { runs, paths, hashes }
    }

    /// Groups runs that are equal except for these parameters and the seed. Runs without finite values of these parameters are
    /// left out.
    fn groups(&self, paths: &[String]) -> Vec<Vec<usize>> {
        let kept: Vec<usize> = (0..self.paths.len()).filter(|k| !paths.contains(self.paths[*k])).collect();
        let is_finite =
            |run: &SweptRun, path| run.settings.get(path).and_then(|s| s.number).is_some_and(f64::is_finite);
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (i, run) in self.runs.iter().enumerate().filter(|(_, run)| paths.iter().all(|path| is_finite(run, path))) {
            let rest: Vec<u64> = kept.iter().map(|k| self.hashes[i][*k]).collect();
            groups.entry(hash(&(&run.kind, &run.duration, rest))).or_default().push(i);
        }
        groups.into_values().collect()
    }

    /// Returns the groups in which each of these parameters has several values.
    fn wide(&self, paths: &[String]) -> Vec<Vec<usize>> {
        let n_values = |group: &[usize], path: &String| {
            group.iter().map(|i| &self.runs[*i].settings[path].text).collect::<BTreeSet<_>>().len()
        };
        let mut groups = self.groups(paths);
        groups.retain(|group| paths.iter().all(|path| n_values(group, path) > 1));
        groups
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    value.hash(&mut hash);
    hash.finish()
}

/// Returns the points of a group by value. If several runs have the same seed, the newest is used.
fn points(runs: &[SweptRun], group: &[usize], paths: &[String], y: &impl Fn(&SweptRun) -> Option<f64>) -> Vec<Point> {
    let mut values: BTreeMap<Vec<&str>, BTreeMap<u64, usize>> = BTreeMap::new();
    for &i in group {
        let seeds = values.entry(texts(&runs[i], paths)).or_default();
        let newest = seeds.entry(runs[i].seed).or_insert(i);
        if runs[i].started > runs[*newest].started {
            *newest = i;
        }
    }
    let coordinate = |run: &SweptRun, path: &String| {
        let setting = &run.settings[path];
        Coordinate { x: setting.number.unwrap_or_default(), text: setting.text.clone() }
    };
    let point = |seeds: BTreeMap<u64, usize>| {
        let runs_of: Vec<(usize, f64)> = seeds.into_values().filter_map(|i| Some((i, y(&runs[i])?))).collect();
        let (first, _) = runs_of.first()?;
        Some(Point { at: paths.iter().map(|path| coordinate(&runs[*first], path)).collect(), runs: runs_of })
    };
    let mut points: Vec<Point> = values.into_values().filter_map(point).collect();
    let order = |a: &Point, b: &Point| a.at.iter().zip(&b.at).map(|(a, b)| a.x.total_cmp(&b.x)).find(|o| o.is_ne());
    points.sort_by(|a, b| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
    points
}

/// Sorts groups by their labels: by value if the parameters are numbers.
pub fn sort_by_label(groups: &mut [RunGroup]) {
    let first =
        |a: &RunGroup, b: &RunGroup| a.order.iter().zip(&b.order).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
    groups.sort_by(|a, b| first(a, b).unwrap_or_else(|| a.label.cmp(&b.label)));
}

/// Returns the differences of each of these runs from the others, as text and as numbers.
fn labels(firsts: &[&SweptRun], paths: &[String]) -> Vec<(String, Vec<f64>)> {
    let differs = |name: &&String| {
        let text = |run: &SweptRun| run.settings.get(*name).map(|s| s.text.clone());
        firsts.iter().any(|run| text(run) != text(firsts[0]))
    };
    let names: BTreeSet<&String> = firsts.iter().flat_map(|run| run.settings.keys()).collect();
    let names: Vec<&String> =
        names.into_iter().filter(|name| !paths.contains(name)).filter(differs).take(NAMED).collect();
    let has_durations = firsts.iter().any(|run| run.duration != firsts[0].duration);
    let label = |run: &&SweptRun| {
        let of = |name: &&String| {
            let setting = run.settings.get(*name)?;
            Some(format!("{} {}", setting.spec.label(), setting.text))
        };
        let mut parts: Vec<String> = names.iter().filter_map(of).collect();
        if has_durations {
            parts.push(run.duration.clone());
        }
        let number = |name: &&String| run.settings.get(*name).and_then(|s| s.number).unwrap_or(f64::INFINITY);
        (parts.join(", "), names.iter().map(number).collect())
    };
    firsts.iter().map(label).collect()
}

/// One or two parameters in which runs differ that are otherwise equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweptPaths {
    pub paths: Vec<String>,
    /// Number of these runs with different values or seeds.
    pub n_runs: usize,
    /// Whether a group has more points than two crossing sweeps over one parameter each.
    pub is_grid: bool,
}

/// Returns all parameters and pairs of parameters that have several values among otherwise equal runs, in descending order of the
/// number of runs.
pub fn swept(runs: &[SweptRun]) -> Vec<SweptPaths> {
    let differences = Differences::of(runs);
    let is_number = |path: &String| runs.iter().any(|run| run.settings.get(path).is_some_and(|s| s.number.is_some()));
    let names: Vec<&String> = differences.paths.iter().copied().filter(|path| is_number(path)).collect();
    let singles = names.iter().map(|path| vec![(*path).clone()]);
    let pairs = names
        .iter()
        .enumerate()
        .flat_map(|(i, a)| names[i + 1..].iter().map(move |b| vec![(*a).clone(), (*b).clone()]));
    let mut all: Vec<SweptPaths> = singles.chain(pairs).map(|paths| count(&differences, paths)).collect();
    all.retain(|swept| swept.n_runs > 1);
    all.sort_by_key(|swept| std::cmp::Reverse(swept.n_runs));
    all
}

fn count(differences: &Differences<'_>, paths: Vec<String>) -> SweptPaths {
    let groups = differences.wide(&paths);
    let runs = differences.runs;
    let distinct = |group: &Vec<usize>| group.iter().map(|i| (texts(&runs[*i], &paths), runs[*i].seed)).collect();
    let n_runs = groups.iter().map(|group| BTreeSet::len(&distinct(group))).sum();
    let is_grid = groups.iter().any(|group| {
        let n = |k: &[String]| group.iter().map(|i| texts(&runs[*i], k)).collect::<BTreeSet<_>>().len();
        paths.len() == 2 && n(&paths) + 1 > n(&paths[..1]) + n(&paths[1..])
    });
    SweptPaths { paths, n_runs, is_grid }
}

/// Returns the default parameters of the plot: two if at least as many runs differ in both as in any single one, otherwise one.
/// `None` without swept parameters.
pub fn proposed(all: &[SweptPaths]) -> Option<&SweptPaths> {
    let single = all.iter().find(|swept| swept.paths.len() == 1);
    let n_single = single.map_or(0, |swept| swept.n_runs);
    let grid = all.iter().find(|swept| swept.is_grid && swept.n_runs >= n_single);
    grid.or(single).or(all.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::sweep::runs::settings;
    use crate::project::Project;
    use std::path::Path;

    /// Creates a run with these parameters. Its statistic is its name.
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
        let curves = groups(&runs, &["lif.tau_m".into()], |run| y(run).filter(|y| y.is_finite()));
        let shown = |curve: &RunGroup| -> Vec<(f64, f64, Option<f64>)> {
            curve.points.iter().map(|p| (p.at[0].x, p.mean(), p.deviation())).collect()
        };
        assert_eq!(
            curves.iter().map(|c| &*c.label).collect::<Vec<_>>(),
            ["Spike threshold -45 mV", "Spike threshold -40 mV"]
        );
        assert_eq!(shown(&curves[0]), [(10.0, 7.0, None), (20.0, 2.0, Some(2f64.sqrt()))], "the newest of a seed");
        assert_eq!(shown(&curves[1]), [(10.0, 9.0, None), (30.0, 5.0, None)], "a run without a number is left out");
        let swept = swept(&runs);
        let single = swept.iter().find(|swept| swept.paths.len() == 1).expect("a parameter");
        assert_eq!((&*single.paths, single.n_runs), (&["lif.tau_m".to_owned()][..], 6));
        let mut runs = runs.to_vec();
        runs.extend(["seed=1", "seed=2"].map(|seed| run(&["lif.v_reset=-60mV", seed], 4.0, "c")));
        assert_eq!(
            groups(&runs, &["lif.tau_m".into()], y).len(),
            curves.len(),
            "seeds of one value are no curve beside others"
        );
    }

    #[test]
    fn other_durations_are_other_curves_and_seeds_alone_are_a_point() {
        let mut runs = vec![run(&[], 1.0, ""), run(&["seed=2"], 2.0, ""), run(&["lif.tau_m=10ms"], 3.0, "")];
        runs[2].duration = "2 s".into();
        let curves = groups(&runs, &["lif.tau_m".into()], y);
        assert_eq!((curves.len(), curves[0].points.len(), &*curves[0].label), (1, 1, ""));
        assert_eq!(curves[0].points[0].runs.len(), 2);
        assert!(swept(&runs).is_empty());
    }

    /// Creates the runs of a grid over two parameters and two seeds, in which one combination is missing.
    fn grid() -> Vec<SweptRun> {
        let mut runs = vec![];
        for (i, (tau, v)) in [(10, -45), (20, -45), (30, -45), (10, -40), (20, -40)].into_iter().enumerate() {
            for seed in [1, 2] {
                let changes = [format!("lif.tau_m={tau}ms"), format!("lif.v_threshold={v}mV"), format!("seed={seed}")];
                runs.push(run(&changes.each_ref().map(|text| &**text), (10 * i + seed) as f64, "a"));
            }
        }
        runs
    }

    #[test]
    fn runs_that_differ_in_two_parameters_are_one_group() {
        let mut runs = grid();
        runs.push(run(&["lif.tau_m=10ms", "lif.v_threshold=-40mV", "lif.v_reset=-70mV"], 9.0, "z"));
        let paths = ["lif.v_threshold".to_owned(), "lif.tau_m".to_owned()];
        let groups = groups(&runs, &paths, y);
        assert_eq!(groups.len(), 1, "the run with another reset is no map");
        let shown: Vec<_> = groups[0].points.iter().map(|p| (p.at[0].x, p.at[1].x, p.mean(), p.runs.len())).collect();
        let expected = [
            (-45.0, 10.0, 1.5, 2),
            (-45.0, 20.0, 11.5, 2),
            (-45.0, 30.0, 21.5, 2),
            (-40.0, 10.0, 31.5, 2),
            (-40.0, 20.0, 41.5, 2),
        ];
        assert_eq!(shown, expected, "by the first parameter, then the second");
    }

    #[test]
    fn curves_are_ordered_by_the_values_in_their_labels() {
        let values = [10.0, 2.0, 100.0];
        let texts: Vec<[String; 2]> = values
            .iter()
            .flat_map(|v| [10, 20].map(|tau| [format!("lif.tau_m={tau}ms"), format!("lif.tau_syn={v}ms")]))
            .collect();
        let runs: Vec<SweptRun> =
            texts.iter().map(|texts| run(&texts.each_ref().map(|text| &**text), 1.0, "")).collect();
        let mut curves = groups(&runs, &["lif.tau_m".into()], y);
        sort_by_label(&mut curves);
        assert_eq!(
            curves.iter().map(|c| &*c.label).collect::<Vec<_>>(),
            ["Synaptic time constant 2 ms", "Synaptic time constant 10 ms", "Synaptic time constant 100 ms"]
        );
    }

    #[test]
    fn grids_are_drawn_as_two_parameters_and_crossing_sweeps_as_one() {
        let paths = |runs: &[SweptRun]| proposed(&swept(runs)).map(|s| s.paths.join(" ")).unwrap_or_default();
        let cross = ["lif.tau_m=10ms", "lif.tau_m=30ms", "lif.v_threshold=-40mV", "lif.v_threshold=-35mV"];
        let cross: Vec<SweptRun> = cross.iter().map(|text| run(&[text], 1.0, "")).collect();
        assert_eq!(paths(&grid()), "lif.tau_m lif.v_threshold");
        assert!(!paths(&cross).contains(' '), "{}", paths(&cross));
        let both = [run(&["lif.tau_m=10ms"], 1.0, ""), run(&["lif.v_threshold=-40mV"], 1.0, "")];
        assert_eq!(paths(&both), "lif.tau_m lif.v_threshold", "runs that differ in two parameters only");
        let more: Vec<SweptRun> =
            (2..30).map(|i| run(&[&format!("lif.tau_m={i}ms"), "lif.v_reset=-70mV"], 1.0, "")).collect();
        assert_eq!(paths(&[grid(), more].concat()), "lif.tau_m", "the larger sweep");
        assert_eq!(paths(&grid()[..2]), "", "seeds alone");
    }
}
