//! Files that a project names outside its own folder. A received project must not read them without consent.

use super::{Project, RunFolder};
use crate::{
    kinds::query_files::files_of_query,
    params::{Value, ValueType},
};
use std::path::{Component, Path};

/// A file outside the folder of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsidePath {
    /// Path of the parameter that names it, as for `--set`.
    pub parameter: String,
    /// The file as it is written in the project.
    pub path: String,
}

/// The files outside `base`, the folder of the project file, that the project names: in parameters and in queries
/// (`file = …`).
pub fn outside_paths(project: &Project, base: &Path) -> Vec<OutsidePath> {
    named_files(project).into_iter().filter(|file| is_outside(&file.path, base)).collect()
}

/// The files outside a run that building its project again reads: outside the run folder and, for a run at its default
/// place, outside the folder of its project. Their paths are those that are read.
pub fn outside_paths_of_run(run: &RunFolder, project: &Project) -> Vec<OutsidePath> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (base, folder) = (absolute(&run.base()), absolute(&run.path));
    // A manifest may name any folder as its project's; only the one that holds the run, or its runs, is accepted.
    let is_at_default_place = folder.parent().is_some_and(|runs| runs == base || runs == base.join("runs"));
    let inside = if is_at_default_place { &base } else { &folder };
    let read = |file: OutsidePath| OutsidePath { path: base.join(&file.path).display().to_string(), ..file };
    let mut named = named_files(project);
    // What the command log sets is read too.
    let mut then = project.clone();
    for (_, command) in run.commands().unwrap_or_default() {
        let Some(change) =
            command.change().filter(|c| !matches!(c.value, Value::Bool(_) | Value::Int(_) | Value::Real(_)))
        else {
            continue;
        };
        then.model.params_mut().set(change);
        named.extend(named_files(&then).into_iter().filter(|file| !named.contains(file)).collect::<Vec<_>>());
    }
    let named = named.into_iter().filter(|file| !file.path.is_empty());
    named.map(read).filter(|file| is_outside(&file.path, inside)).collect()
}

/// All files that a project names.
fn named_files(project: &Project) -> Vec<OutsidePath> {
    let params = project.model.params();
    let mut out = vec![];
    for id in params.ids() {
        let (Some(spec), Value::Text(text)) = (params.spec(id), params.get(id)) else { continue };
        let files = match spec.kind {
            ValueType::Path => vec![text.trim().to_owned()],
            ValueType::Query => files_of_query(&text),
            _ => continue,
        };
        out.extend(files.into_iter().map(|path| OutsidePath { parameter: params.path(id), path }));
    }
    for query in project.record.iter().filter_map(|entry| super::record::query_of(entry)) {
        let files = files_of_query(query).into_iter();
        out.extend(files.map(|path| OutsidePath { parameter: "record".to_owned(), path }));
    }
    out
}

/// Whether a path as typed leaves the folder, by `..`, as an absolute path, or through a symbolic link.
fn is_outside(typed: &str, base: &Path) -> bool {
    if typed.is_empty() {
        return false;
    }
    let path = base.join(typed);
    if let (Ok(real), Ok(base)) = (path.canonicalize(), base.canonicalize()) {
        return !real.starts_with(base);
    }
    // A file that does not exist: by its components.
    let inside = path.strip_prefix(base).unwrap_or(Path::new(".."));
    let mut depth = 0_i32;
    inside.components().any(|part| {
        depth += match part {
            Component::ParentDir => -1,
            Component::Normal(_) => 1,
            _ => 0,
        };
        depth < 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn files_outside_the_folder_are_listed() {
        let base = TempFolder::new("outside");
        std::fs::create_dir_all(base.join("data")).unwrap();
        std::fs::write(base.join("data/edges.csv"), "pre,post,w\n").unwrap();
        for (typed, outside) in [
            ("", false),
            ("data/edges.csv", false),
            ("data/../data/edges.csv", false),
            ("missing/../other.csv", false),
            ("../secret.csv", true),
            ("data/../../secret.csv", true),
            ("/etc/passwd", true),
        ] {
            assert_eq!(is_outside(typed, &base), outside, "{typed}");
        }
        let text = r#"(version: 1, model: Spiking((
            network: (source: Files, path: "data/edges.csv"),
            interventions: [(target: "all and (file = '/etc/passwd' or idx = 3)")],
        )))"#;
        let (project, warnings) = super::super::read(text).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let found = outside_paths(&project, &base);
        let expected = OutsidePath { parameter: "interventions.0.target".into(), path: "/etc/passwd".into() };
        assert_eq!(found, [expected]);
    }
}
