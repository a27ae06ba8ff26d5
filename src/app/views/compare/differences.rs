//! The parameters by which compared runs differ.

use crate::{
    params::{ParamId, path},
    project::Project,
};

/// A parameter and its value in each run; empty where a run has none of that name.
pub type Difference = (String, Vec<String>);

/// What differs among the projects of runs; an unreadable one is `None`.
pub fn differences(projects: &[Option<&Project>]) -> Vec<Difference> {
    let Some(first) = projects.iter().flatten().next() else { return vec![] };
    let mut out = vec![];
    let mut add = |name: String, text: &dyn Fn(&Project) -> String| {
        let of_first = text(first);
        if projects.iter().flatten().any(|p| text(p) != of_first) {
            out.push((name, projects.iter().map(|p| p.map(text).unwrap_or_default()).collect()));
        }
    };
    add("kind".into(), &|p| p.model.name().to_owned());
    add("seed".into(), &|p| p.seed.to_string());
    let same_kind = |p: &&&Project| p.model.name() == first.model.name();
    let changes = projects.iter().flatten().filter(same_kind);
    let mut ids: Vec<ParamId> =
        changes.flat_map(|p| p.model.params().changes_since(first.model.params())).map(|change| change.id).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        add(first.model.params().path(id), &|p| {
            if p.model.name() == first.model.name() { value(p, id) } else { String::new() }
        });
    }
    out
}

/// A parameter as it is shown; the number of items of a list.
fn value(project: &Project, id: ParamId) -> String {
    let params = project.model.params();
    match params.spec(id) {
        None => format!("{} items", params.len(id.group)),
        Some(_) if usize::from(id.item) >= params.len(id.group) || !params.has(id) => String::new(),
        Some(spec) => path::show(spec, &params.get(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn only_what_differs_is_listed_with_a_value_of_each_run() {
        let of = |texts: &[&str]| {
            let mut project = Project::default();
            texts.iter().for_each(|text| project.set(text, Path::new(".")).expect("a parameter"));
            project
        };
        let (a, b, c) = (of(&[]), of(&["lif.tau_m=30ms"]), of(&["lif.tau_m=30ms", "seed=7"]));
        let both = differences(&[Some(&b), None, Some(&c)]);
        let names: Vec<&str> = both.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, both[0].1[2].as_str()), (vec!["seed"], "7"), "equal values are left out");
        let all = differences(&[Some(&a), Some(&b), Some(&c)]);
        assert_eq!(all.last().map(|(_, values)| values.join(" | ")), Some("20 ms | 30 ms | 30 ms".to_owned()));
        let mut other = of(&[]);
        other.model = crate::kinds::Model::by_name("nuclei").expect("a kind");
        assert_eq!(differences(&[Some(&a), Some(&other)]).len(), 1, "the kind");
        assert!(differences(&[None, None]).is_empty() && differences(&[]).is_empty());
    }
}
