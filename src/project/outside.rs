//! Lists files outside a project's folder that the project names. A received project must not read them without consent.

use super::{Project, RunFolder};
use crate::{
    kinds::shared::query_files::files_of_query,
    params::{Value, ValueType, titles},
};
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Maximum number of folder entries that are searched for links.
const MAX_ENTRIES: usize = 100_000;
/// Maximum nesting of folders that are searched.
const MAX_DEPTH: usize = 16;

/// File outside the folder of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsidePath {
    /// Path of the parameter that names the file, as for `--set`.
    pub parameter: String,
    /// Title of the parameter.
    pub title: String,
    /// File as named in the project; for a symbolic link, the file that is read.
    pub path: String,
}

/// Returns the files outside `base`, the folder of the project file, that the project reads: files named in parameters and in
/// queries (`file = …`), and targets of links in named folders.
pub fn outside_paths(project: &Project, base: &Path) -> Vec<OutsidePath> {
    outside_of(named_files(project), base)
}

/// Returns the files outside a folder to which the given paths lead, without duplicates.
fn outside_of(named: Vec<OutsidePath>, inside: &Path) -> Vec<OutsidePath> {
    let mut all: Vec<OutsidePath> = vec![];
    for OutsidePath { parameter, title, path } in named.into_iter().filter(|file| !file.path.is_empty()) {
        let mut read = vec![];
        if is_outside(&path, inside) {
            read.push(behind_links(&path, inside));
        }
        read.extend(links_of_folder(&inside.join(&path), inside).into_iter().map(|file| file.display().to_string()));
        for path in read {
            let found = OutsidePath { parameter: parameter.clone(), title: title.clone(), path };
            if !all.contains(&found) {
                all.push(found);
            }
        }
    }
    all
}

/// Returns a path as typed or, for a link, the target, because consent is given for a file and a link may change.
fn behind_links(typed: &str, base: &Path) -> String {
    let (Ok(real), Ok(base)) = (base.join(typed).canonicalize(), base.canonicalize()) else { return typed.to_owned() };
    let mut plain = PathBuf::new();
    for part in base.join(typed).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    if plain == real { typed.to_owned() } else { real.display().to_string() }
}

/// Returns the files outside `folder` and `inside` to which links in `folder` lead, or the folder itself if it has too many
/// entries to search. Links to folders are omitted, because no reader follows them.
fn links_of_folder(folder: &Path, inside: &Path) -> Vec<PathBuf> {
    let (Ok(real), Ok(inside)) = (folder.canonicalize(), inside.canonicalize()) else { return vec![] };
    if !real.is_dir() {
        return vec![];
    }
    match links(&real) {
        Ok(Some(links)) => {
            let files = links.into_iter().filter(|file| !file.starts_with(&real) && !file.starts_with(&inside));
            files.filter(|file| !file.is_dir()).collect()
        }
        Ok(None) | Err(_) => vec![real],
    }
}

/// Returns the targets of the links in a folder and its subfolders; `None` if there are too many entries. Fails if a folder
/// cannot be read.
fn links(folder: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let (mut open, mut n, mut found) = (vec![(folder.to_owned(), 0)], 0, vec![]);
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            n += 1;
            if n > MAX_ENTRIES {
                return Ok(None);
            }
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((entry.path(), depth + 1));
            } else if kind.is_symlink() {
                // Dangling links are omitted.
                found.extend(entry.path().canonicalize());
            }
        }
    }
    found.sort();
    Ok(Some(found))
}

/// Returns the paths outside a run that rebuilding its project reads: outside the run folder and, for a run in the default
/// place, outside the folder of its project.
pub fn outside_paths_of_run(run: &RunFolder, project: &Project) -> Vec<OutsidePath> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (base, folder) = (absolute(&run.base()), absolute(&run.path));
    // A manifest may name any folder as its project's; only the folder that contains the run or its runs folder is
    // accepted.
    let is_at_default_place = folder.parent().is_some_and(|runs| runs == base || runs == base.join("runs"));
    let inside = if is_at_default_place { &base } else { &folder };
    let read = |file: OutsidePath| OutsidePath { path: base.join(&file.path).display().to_string(), ..file };
    let mut named = named_files(project);
    // The files that the command log sets are also read.
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
    // An empty path names no file, but after joining it would name the folder.
    let named = named.into_iter().filter(|file| !file.path.is_empty());
    outside_of(named.map(read).collect(), inside)
}

/// Returns all files that a project names, with their parameters.
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
        let (parameter, title) = (params.path(id), titles::title(params, id));
        let of = |path| OutsidePath { parameter: parameter.clone(), title: title.clone(), path };
        out.extend(files.into_iter().map(of));
    }
    for query in project.record.iter().filter_map(|entry| super::record::query_of(entry)) {
        let files = files_of_query(query).into_iter();
        let title = || "Recorded probes".to_owned();
        out.extend(files.map(|path| OutsidePath { parameter: "record".to_owned(), title: title(), path }));
    }
    out
}

/// Whether an entered path leads out of the folder, by `..`, as an absolute path, or through a symbolic link.
fn is_outside(typed: &str, base: &Path) -> bool {
    if typed.is_empty() {
        return false;
    }
    let path = base.join(typed);
    if let (Ok(real), Ok(base)) = (path.canonicalize(), base.canonicalize()) {
        return !real.starts_with(base);
    }
    // The path components give the location of a file that does not exist.
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
        let expected = OutsidePath {
            parameter: "interventions.0.target".into(),
            title: "Stimuli & silencing › 1 › Target".into(),
            path: "/etc/passwd".into(),
        };
        assert_eq!(found, [expected]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_resolved_also_inside_named_folders() {
        use std::os::unix::fs::symlink;
        let temp = TempFolder::new("outside-links");
        let (base, other) =
            (temp.join("project"), temp.join("other").canonicalize().unwrap_or_else(|_| temp.join("other")));
        fs::create_dir_all(base.join("texts/inner")).unwrap();
        fs::create_dir_all(base.join("network")).unwrap();
        fs::create_dir_all(&other).unwrap();
        let other = other.canonicalize().unwrap();
        for name in ["secret.txt", "keys.csv", "later.txt"] {
            fs::write(other.join(name), "pre,post,w\n").unwrap();
        }
        fs::write(base.join("texts/own.txt"), "own").unwrap();
        symlink("own.txt", base.join("texts/also.txt")).unwrap();
        symlink(base.join("nothing"), base.join("texts/broken.txt")).unwrap();
        symlink(other.join("secret.txt"), base.join("texts/inner/a.txt")).unwrap();
        symlink(&other, base.join("texts/folder")).unwrap();
        symlink(other.join("keys.csv"), base.join("network/edges.csv")).unwrap();
        symlink(other.join("later.txt"), base.join("link.csv")).unwrap();
        let outside = |text: &str| {
            let (project, warnings) = super::super::read(text).unwrap();
            assert!(warnings.is_empty(), "{warnings:?}");
            let found = outside_paths(&project, &base).into_iter();
            found.map(|file| (file.parameter, file.path)).collect::<Vec<_>>()
        };
        let one = |parameter: &str, name: &str| vec![(parameter.to_owned(), other.join(name).display().to_string())];
        let text = r#"(version: 1, model: Transformer((data: (text: "texts"))))"#;
        assert_eq!(outside(text), one("data.text", "secret.txt"));
        let network =
            |path: &str| format!(r#"(version: 1, model: Spiking((network: (source: Files, path: "{path}"))))"#);
        assert_eq!(outside(&network("network")), one("network.path", "keys.csv"));
        assert_eq!(outside(&network("link.csv")), one("network.path", "later.txt"));
        assert_eq!(outside(&network("../other")), [("network.path".to_owned(), "../other".to_owned())]);
        // The folder outside contains a link that leads out of it.
        symlink("/etc/passwd", other.join("passwd.csv")).unwrap();
        let twice =
            [("network.path".to_owned(), "../other".to_owned()), ("network.path".to_owned(), "/etc/passwd".to_owned())];
        assert_eq!(outside(&network("../other")), twice);
    }
}
