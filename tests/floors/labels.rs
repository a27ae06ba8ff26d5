//! Texts that the window shows contain titles: no paths of parameters, no names of types. Sources only; the test of the
//! window `labels` reads what is drawn.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Files that format values with `{:?}` for other readers than the user, with the reader.
const DEBUG_FORMATS: &[(&str, &str)] = &[
    ("shell/keymap.rs", "the file of shortcuts"),
    ("shell/log/capture.rs", "messages, which `tracing` passes as debug values"),
];

/// Files that use the path of a parameter as an address, with the number of uses. Texts use `titles::title`.
const ADDRESSES: &[(&str, usize)] = &[
    ("document/activity/nodes.rs", 1),
    ("document/live/input_data.rs", 1),
    ("document/run_groups.rs", 1),
    ("document/varied.rs", 1),
    ("shell/actions/documents.rs", 1),
    ("shell/actions/vary.rs", 1),
    ("shell/log/links.rs", 1),
    ("shell/palette/entries.rs", 1),
    ("shell/panels/inspector/choice.rs", 1),
    ("shell/panels/inspector/linked.rs", 1),
    ("shell/panels/inspector/list.rs", 1),
    ("shell/panels/inspector/parameter.rs", 1),
    ("shell/panels/inspector/row.rs", 1),
    ("shell/panels/inspector/rows.rs", 1),
    ("shell/panels/inspector/table.rs", 1),
    ("shell/panels/tree/mod.rs", 1),
    ("views/sweep/runs.rs", 3),
];

/// Words in camel case that are fields of files of the system.
const NAMES: &[&str] = &["MemTotal", "VmRSS"];

/// Files below `src/app` with the code before their tests.
fn sources() -> Vec<(String, String)> {
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app");
    let of = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.find("#[cfg(test)]\nmod ").map_or(text.as_str(), |at| &text[..at]).to_owned();
        (path.strip_prefix(&app).unwrap().to_string_lossy().replace('\\', "/"), code)
    };
    let is_source = |path: &PathBuf| path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs");
    files(&app).into_iter().filter(is_source).map(of).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect()
}

/// Lines of code with their numbers; comments are left out.
fn lines(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// String literals of a line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Whether a literal is the name of a type or of a variant: one word with an inner capital after a small letter.
fn is_type_name(literal: &str) -> bool {
    let is_word = literal.chars().all(char::is_alphanumeric) && literal.starts_with(char::is_uppercase);
    let bytes = literal.as_bytes();
    is_word && bytes.windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
}

/// Whether a literal contains the path of an item's parameter: `interventions.0.rate_hz`.
fn has_item_path(literal: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_item = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    literal.split(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c))).any(|word| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.windows(3).any(|three| is_name(three[0]) && is_item(three[1]) && is_name(three[2]))
    })
}

#[test]
fn no_text_of_the_window_is_a_debug_format_or_a_type_name() {
    let mut offences = vec![];
    for (file, code) in sources() {
        let is_for_others = DEBUG_FORMATS.iter().any(|(other, _)| *other == file);
        // Ids of commands are their names in the source.
        let names_commands = file.starts_with("shell/commands/");
        for (line, text) in lines(&code) {
            for literal in literals(text) {
                let is_debug = literal.contains(":?}") || literal.contains(":#?}");
                if is_debug && !is_for_others && !names_commands {
                    offences.push(format!("src/app/{file}:{line}: \"{literal}\": show the label instead"));
                }
                if is_type_name(literal) && !NAMES.contains(&literal) {
                    offences.push(format!("src/app/{file}:{line}: \"{literal}\": write the title"));
                }
                if has_item_path(literal) {
                    offences.push(format!("src/app/{file}:{line}: \"{literal}\": write the title"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn paths_of_parameters_are_addresses_and_no_texts() {
    let mut offences = vec![];
    for (file, code) in sources() {
        let takes_id = |line: &str| {
            let of = |at: usize| ["params", "params()", "settings"].iter().any(|of| line[..at].ends_with(of));
            line.match_indices(".path(").filter(|(at, _)| of(*at)).count()
        };
        let found: usize = lines(&code).map(|(_, line)| takes_id(line)).sum();
        let known = ADDRESSES.iter().find(|(known, _)| *known == file).map_or(0, |(_, n)| *n);
        if found > known {
            offences.push(format!("src/app/{file}: {found} paths of parameters, {known} are known: use titles::title"));
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn type_names_and_paths_of_items_are_found() {
    let found = ["ExponentialLif", "ActiveElements", "AdamW"].map(is_type_name);
    assert_eq!((found, ["Rate", "Of all", "F64", "kind"].map(is_type_name)), ([true; 3], [false; 4]));
    assert_eq!(
        ["set interventions.0.rate_hz to", "run.ron", "0.5.1", "a.0.B"].map(has_item_path),
        [true, false, false, false]
    );
}
