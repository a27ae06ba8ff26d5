//! The window finds groups, fields and choices by their roles: names that a kind declares are no literals in `src/app`.

use neuropil::kinds::Model;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Literals that are names of something else: a view, an example project.
const OTHERS: &[(&str, &str)] = &[
    ("app/views/", "phases"),
    ("app/views/profile/detail.rs", "source"),
    ("app/document/live/edits.rs", "model"),
    ("app/shell/panels/status.rs", "model"),
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect()
}

/// The string literals of a source without its tests and comments, with their lines.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let text = text.find("#[cfg(test)]\nmod ").map_or(text, |at| &text[..at]);
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let code = text.lines().enumerate().filter(|(_, line)| !is_comment(line));
    code.flat_map(|(n, line)| line.split('"').skip(1).step_by(2).map(move |literal| (n + 1, literal))).collect()
}

#[test]
fn the_window_names_no_group_or_field_of_a_kind() {
    let (mut groups, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for model in Model::all() {
        for group in model.params().groups() {
            groups.insert(group.name);
            paths.extend(group.params.iter().map(|field| format!("{}.{}", group.name, field.name)));
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut offences = vec![];
    for path in files(&src.join("app")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(&path).unwrap();
        let inside = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        for (line, literal) in literals(&text) {
            let is_other = OTHERS.iter().any(|(file, word)| inside.starts_with(file) && literal == *word);
            let names_path = || {
                let words = literal.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
                words.into_iter().any(|word| paths.contains(word))
            };
            if (groups.contains(literal) && !is_other) || names_path() {
                offences.push(format!("src/{inside}:{line}: \"{literal}\": find it by its role"));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn a_simulation_around_another_forwards_every_call() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let methods = |text: &str, from: &str| -> BTreeSet<String> {
        let body = &text[text.find(from).expect("the trait or its implementation")..];
        let body = &body[..body.find("\n}\n").expect("its end")];
        let names = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.map(|line| line.split(['(', '<']).next().unwrap_or_default().to_owned()).collect()
    };
    let declared = methods(&read("src/sim/mod.rs"), "pub trait Simulation");
    assert!(declared.len() > 20, "{declared:?}");
    for path in ["src/kinds/shared/scheduled.rs", "src/experiment/reused_simulation.rs"] {
        let forwarded = methods(&read(path), " Simulation for ");
        let missing: Vec<_> = declared.difference(&forwarded).collect();
        assert!(missing.is_empty(), "{path} has the default of {missing:?}");
    }
}

/// The tests are compiled with the demonstration kind, the shipped program without it: nothing but its declaration names it.
#[test]
fn only_its_declaration_names_the_demonstration_kind() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (demo, declaration) = (src.join("kinds/demo"), src.join("kinds/mod.rs"));
    const FEATURE: &str = "#[cfg(feature = \"demo\")]";
    let mut n_declared = 0;
    for path in files(&src).into_iter().filter(|path| !path.starts_with(&demo)) {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("//")) {
            let names = ["mod demo", "demo::", "DemoKind", "Model::Demo"].iter().any(|name| line.contains(name));
            if names || line.contains("feature = \"demo\"") && *line != FEATURE {
                let is_gated = path == declaration && at > 0 && lines[at - 1] == FEATURE;
                assert!(is_gated, "{}:{}: {line}", path.display(), at + 1);
                n_declared += 1;
            }
        }
    }
    assert_eq!(n_declared, 2, "the module and its place in the list");
}
