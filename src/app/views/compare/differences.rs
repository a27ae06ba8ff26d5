//! Parameters by which compared runs differ.

use crate::{
    params::{ParamId, titles},
    project::{ParamHistory, Project},
};

/// Title of a parameter and its value in each run; the text of a run without this parameter is empty.
pub type Difference = (String, Vec<String>);

/// Returns the parameters in effect that differ between runs. An unreadable run is `None` and has empty texts.
pub fn differences(runs: &[Option<&ParamHistory>]) -> Vec<Difference> {
    let Some(first) = runs.iter().flatten().next().map(|run| &run.first) else { return vec![] };
    let mut out = vec![];
    let mut add = |name: String, text: &dyn Fn(&ParamHistory) -> String| {
        let texts: Vec<String> = runs.iter().map(|run| run.map(text).unwrap_or_default()).collect();
        let mut of_runs = runs.iter().zip(&texts).filter(|(run, _)| run.is_some()).map(|(_, text)| text);
        let of_first = of_runs.next();
        if of_runs.any(|text| Some(text) != of_first) {
            out.push((name, texts));
        }
    };
    let kind = |project: &Project| project.model.name();
    add("Kind".into(), &|run| run.first.model.title().to_owned());
    add("Seed".into(), &|run| run.first.seed.to_string());
    let same_kind = runs.iter().flatten().filter(|run| kind(&run.first) == kind(first));
    let mut ids: Vec<ParamId> = same_kind.flat_map(|run| run.ids_that_differ(first)).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let text = |run: &ParamHistory| if kind(&run.first) == kind(first) { run.text(id) } else { String::new() };
        add(titles::title(first.model.params(), id), &text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::LoggedCommand, sim::TimeBase};
    use std::path::Path;

    fn run(project: &Project, log: &[(u64, LoggedCommand)]) -> ParamHistory {
        ParamHistory::new(project.clone(), log, 0, TimeBase::seconds(1e-4))
    }

    #[test]
    fn only_what_differs_is_listed_with_a_value_of_each_run() {
        let of = |texts: &[&str]| {
            let mut project = Project::default();
            texts.iter().for_each(|text| project.set(text, Path::new(".")).expect("a parameter"));
            project
        };
        let projects = [of(&[]), of(&["lif.tau_m=30ms"]), of(&["lif.tau_m=30ms", "seed=7"])];
        let [a, b, c] = projects.each_ref().map(|project| run(project, &[]));
        let both = differences(&[Some(&b), None, Some(&c)]);
        let names: Vec<&str> = both.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, both[0].1[2].as_str()), (vec!["Seed"], "7"), "equal values are left out");
        let all = differences(&[Some(&a), Some(&b), Some(&c)]);
        assert_eq!(all.last().map(|(_, values)| values.join(" | ")), Some("20 ms | 30 ms | 30 ms".to_owned()));
        assert_eq!(all.last().map(|(name, _)| name.as_str()), Some("LIF neuron › Membrane time constant"));
        let mut other = of(&[]);
        other.model = crate::kinds::Model::by_name("nuclei").expect("a kind");
        assert_eq!(differences(&[Some(&a), Some(&run(&other, &[]))]).len(), 1, "the kind");
        // An edit during a run appears with its time.
        let edit = projects[0].model.params().changes_since(projects[1].model.params()).remove(0);
        let edited = run(&projects[1], &[(500, LoggedCommand::Set(edit))]);
        let all = differences(&[Some(&a), Some(&edited)]);
        assert_eq!(all[0].1.join(" | "), "20 ms | 30 ms → 20 ms (50 ms)");
        assert!(differences(&[Some(&edited), Some(&edited)]).is_empty());
        assert!(differences(&[None, None]).is_empty() && differences(&[]).is_empty());
    }
}
