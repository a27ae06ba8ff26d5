//! Tests assert, print nothing and run by default. The bounds may only fall.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Ignored tests: those that need too much memory or time, or are slow without optimisation.
const MAX_IGNORED: usize = 4;
/// Printed lines in tests and their support: output that another process reads, or that the runner must show.
const MAX_PRINTED: usize = 10;
/// Characters of the subject of a commit.
const LONGEST_SUBJECT: usize = 72;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.file_name().is_some_and(|name| name != "target"))
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

/// Path and text of the tests of each file: all of it under `tests` and in files of tests, elsewhere from `mod tests {` on.
fn tests() -> Vec<(String, String)> {
    let files = ["src", "tests"].iter().flat_map(|folder| rust_files(&root().join(folder)));
    let of_file = |path: PathBuf| {
        let inside = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let is_whole = inside.starts_with("tests/") || inside.contains("/tests/") || inside.ends_with("tests.rs");
        let from = if is_whole { Some(0) } else { text.find("#[cfg(test)]\nmod tests {") };
        from.map(|from| (inside, text[from..].to_owned()))
    };
    files.filter_map(of_file).filter(|(inside, _)| inside != "tests/floors/habits.rs").collect()
}

/// Lines that contain a word in code, with their files.
fn lines_with(words: &[&str]) -> Vec<String> {
    let found = |(inside, text): &(String, String)| -> Vec<String> {
        let code = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        code.filter(|line| words.iter().any(|word| line.contains(word)))
            .map(|line| format!("{inside}: {line}"))
            .collect()
    };
    tests().iter().flat_map(found).collect()
}

#[test]
fn few_tests_are_ignored() {
    let found = lines_with(&["#[ignore"]);
    assert!(
        found.len() <= MAX_IGNORED,
        "{} tests are ignored, at most {MAX_IGNORED} may be. What measures belongs to `neuropil bench`:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn tests_print_nothing() {
    let found = lines_with(&["println!("]);
    assert!(
        found.len() <= MAX_PRINTED,
        "{} lines are printed, at most {MAX_PRINTED} may be. Put the figure into the message of an assertion:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn subjects_of_commits_are_short() {
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    assert!(
        contributing.contains(&format!("at most {LONGEST_SUBJECT} characters")),
        "CONTRIBUTING.md states the length"
    );
    let mut log = std::process::Command::new("git");
    let log = log.arg("-C").arg(root()).args(["log", "-20", "--no-merges", "--format=%s"]).output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else { return };
    let subjects = String::from_utf8_lossy(&log.stdout).into_owned();
    let long: Vec<&str> = subjects.lines().filter(|subject| subject.chars().count() > LONGEST_SUBJECT).collect();
    assert!(long.is_empty(), "subjects of commits have at most {LONGEST_SUBJECT} characters:\n{}", long.join("\n"));
}
