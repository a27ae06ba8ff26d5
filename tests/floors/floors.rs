//! The modules that each module may name. The tables are the architecture; a new line is an architectural decision.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Module, and what it may name. Lower floors first.
const FLOORS: &[(&str, &[&str])] = &[
    ("num", &[]),
    // Values that are distributions are drawn from.
    ("params", &["num"]),
    // The self-test compares the device with `num`, which is the definition.
    ("gpu", &["num"]),
    ("nn", &["num", "gpu"]),
    ("view3d", &[]),
    ("data", &["num"]),
    ("sim", &["num", "params", "gpu"]),
    // One language for targets, named sets and filters.
    ("query", &["num", "params", "sim"]),
    ("kinds", &["num", "params", "gpu", "nn", "data", "query", "sim"]),
    ("engine", &["params", "gpu", "sim"]),
    // A run folder is one of the sinks of the engine, and a replay drives a simulation itself.
    ("project", &["num", "params", "gpu", "data", "query", "sim", "kinds", "engine"]),
    ("export", &["num", "params", "gpu", "data", "sim", "kinds", "project"]),
    // Trials are simulations, recorded through the engine; the finished table is written by the exports.
    ("experiment", &["num", "params", "gpu", "data", "query", "sim", "kinds", "engine", "project", "export"]),
    (
        "app",
        &[
            "num",
            "params",
            "gpu",
            "view3d",
            "data",
            "query",
            "sim",
            "kinds",
            "engine",
            "project",
            "export",
            "experiment",
        ],
    ),
    ("cli", &["num", "params", "gpu", "nn", "data", "sim", "kinds", "engine", "project", "export", "experiment"]),
    ("main", &["num", "params", "gpu", "view3d", "data", "sim", "kinds", "engine", "project", "export", "app", "cli"]),
];

/// Outside crate, and the only modules that name it. What is not listed may be named anywhere.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("cudarc", &["gpu"]),
    ("libloading", &["gpu"]),
    ("half", &["num"]),
    // The 3D view's paint callback is handed over by the app.
    ("wgpu", &["view3d", "app"]),
    ("glam", &["view3d", "app"]),
    ("egui_wgpu", &["view3d", "app"]),
    ("parquet", &["data", "export"]),
    ("npyz", &["data", "export"]),
    ("safetensors", &["data"]),
    ("tokenizers", &["data"]),
    ("flate2", &["data"]),
    // What build scripts compressed is unpacked in one place.
    ("zstd", &["num", "export"]),
    ("hdf5_pure", &["data"]),
    ("csv", &["data", "project", "export", "experiment", "cli"]),
    // Dialogs and exports run on threads of the app.
    ("crossbeam_channel", &["engine", "app"]),
    ("ron", &["project"]),
    ("image", &["export", "app"]),
    ("eframe", &["app", "main"]),
    ("egui", &["app"]),
    ("egui_extras", &["app"]),
    ("egui_plot", &["app"]),
    ("egui_tiles", &["app"]),
    ("rfd", &["app"]),
    ("colorous", &["app", "export"]),
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli", "main"]),
    ("ctrlc", &["cli", "main"]),
];

/// Files below `src` that are no part of the program.
const BUILD_SCRIPTS: &[&str] = &["build.rs", "pack.rs"];

/// Folder, words it leaves to others, the parts of it that are excused, and why.
const ABSENT: &[(&str, &[&str], &[&str], &str)] = &[
    // A CPU backend is given a number of threads; they end before the call that started them.
    ("kinds", &["std::thread"], &["/cpu/", "/cpu.rs"], "a kind spawns no thread"),
    ("kinds", &["Instant::now", "SystemTime"], &["/bench.rs"], "a kind's time is its step count"),
    ("num", &["std::fs", "std::thread"], &[], "numbers know no file and no thread"),
    ("params", &["std::fs", "std::thread"], &[], "declarations know no file and no thread"),
    ("app/views", &["crate::kinds"], &[], "a view knows shapes, not kinds"),
];

/// Text, the only files that may contain it, and why.
const KEPT_IN: &[(&str, &[&str], &str)] = &[
    (
        "Color32::from_",
        &["app/kit/theme.rs", "app/kit/style.rs", "app/kit/colors.rs", "app/kit/colormap.rs"],
        "colours are declared in the theme",
    ),
    ("thread::spawn(", &[], "name the thread with std::thread::Builder"),
];

/// Lines a file may have.
const LONGEST: usize = 450;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    let wanted = |p: &PathBuf| p.extension().is_some_and(|x| extensions.iter().any(|e| x == *e));
    // The fuzzers build into a folder of their own.
    paths.retain(|p| p.file_name().is_none_or(|name| name != "target"));
    paths.into_iter().flat_map(|p| if p.is_dir() { files(&p, extensions) } else { vec![p] }).filter(wanted).collect()
}

/// A source file under `src/`: where it is, its module, and its code without comments, strings and tests.
struct Source {
    path: String,
    module: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        let module = inside.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        let text = fs::read_to_string(&path).unwrap();
        Source { path: inside, module, code: code_only(&text) }
    };
    // The build script is no module.
    files(&src, &["rs"]).into_iter().map(read).filter(|source| !BUILD_SCRIPTS.contains(&source.path.as_str())).collect()
}

/// Blanks comments, string contents and everything behind `#[cfg(test)] mod`, keeping line numbers.
fn code_only(text: &str) -> String {
    let text = text.find("#[cfg(test)]\nmod ").map_or(text, |at| &text[..at]);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            string_length(rest)
        } else if let Some(hashes) = raw_string(rest) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = hashes + 2;
            rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len())
        } else if rest.starts_with("'\"'") {
            3
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[length..];
    }
    out
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Hashes of a raw string that starts here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let hashes = rest.bytes().take_while(|b| *b == b'#').count();
    rest[hashes..].starts_with('"').then_some(hashes)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Places where `code` goes through `path` (`crate::`), and what is named there, groups opened.
fn named_behind(code: &str, path: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices(path) {
        if code[..at].ends_with(|c: char| is_word(c) || c == '$') {
            continue;
        }
        let start = at + path.len();
        let mut depth = 0;
        let mut expects_name = true;
        for (offset, c) in code[start..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expects_name = true,
                _ if is_word(c) && expects_name && depth <= 1 => {
                    let name = code[start + offset..].split(|c: char| !is_word(c)).next().unwrap_or_default();
                    out.push((line_of(code, start + offset), name.to_owned()));
                    expects_name = false;
                }
                _ => {}
            }
            if depth == 0 && (c == '}' || !expects_name) {
                break;
            }
        }
    }
    out
}

/// Lines that name an outside crate: the word, followed by `::` or alone behind `use`.
fn lines_naming(code: &str, krate: &str) -> Vec<usize> {
    let starts = |at: usize| !code[..at].ends_with(|c: char| is_word(c) || c == ':' || c == '.' || c == '$');
    let goes_on = |at: usize| {
        let rest = &code[at + krate.len()..];
        rest.starts_with("::") || (rest.starts_with(';') && code[..at].ends_with("use "))
    };
    let hits = code.match_indices(krate).map(|(at, _)| at).filter(|at| starts(*at) && goes_on(*at));
    hits.map(|at| line_of(code, at)).collect()
}

fn check(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn every_floor_stands_on_the_ones_below() {
    let mut offences = Vec::new();
    for Source { path, module, code } in sources() {
        if ["core", "lib"].contains(&module.as_str()) {
            continue;
        }
        let Some((_, allowed)) = FLOORS.iter().find(|(name, _)| *name == module) else {
            offences.push(format!("src/{path}: `{module}` has no floor in tests/floors/floors.rs"));
            continue;
        };
        let named = named_behind(&code, "crate::").into_iter().chain(named_behind(&code, "neuropil::"));
        for (line, name) in named {
            let is_module = FLOORS.iter().any(|(floor, _)| *floor == name);
            if is_module && name != module && !allowed.contains(&name.as_str()) {
                offences.push(format!("src/{path}:{line}: {module} may not name {name}"));
            }
        }
    }
    check(&offences);
}

#[test]
fn outside_crates_live_in_their_module() {
    let mut offences = Vec::new();
    for Source { path, module, code } in sources() {
        for (krate, owners) in OUTSIDE.iter().filter(|(_, owners)| !owners.contains(&module.as_str())) {
            for line in lines_naming(&code, krate) {
                offences.push(format!(
                    "src/{path}:{line}: {module} may not name {krate}, only {} may",
                    owners.join(" and ")
                ));
            }
        }
    }
    check(&offences);
}

#[test]
fn what_is_absent_stays_absent() {
    let mut offences = Vec::new();
    for Source { path, code, .. } in sources() {
        let is_held = |folder: &str, excused: &[&str]| {
            path.starts_with(&format!("{folder}/")) && !excused.iter().any(|part| path.contains(part))
        };
        for (folder, words, _, why) in ABSENT.iter().filter(|(folder, _, excused, _)| is_held(folder, excused)) {
            for (word, at) in words.iter().flat_map(|w| code.match_indices(w).map(move |(at, _)| (w, at))) {
                offences.push(format!("src/{path}:{}: {folder} may not name {word}: {why}", line_of(&code, at)));
            }
        }
    }
    for Source { path, code, .. } in sources() {
        for (word, _, why) in KEPT_IN.iter().filter(|(_, files, _)| !files.contains(&path.as_str())) {
            for (at, _) in code.match_indices(word) {
                offences.push(format!("src/{path}:{}: {word}…: {why}", line_of(&code, at)));
            }
        }
    }
    check(&offences);
}

#[test]
fn files_are_short_and_finished() {
    let mut offences = Vec::new();
    let folders = ["src", "kernels", "tests"].map(|f| root().join(f));
    for path in folders.iter().flat_map(|f| files(f, &["rs", "cu", "cuh", "wgsl", "py"])) {
        let inside = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        let is_generated = inside.starts_with("kernels/gen/");
        if lines > LONGEST && !is_generated {
            offences.push(format!(
                "{inside}: {lines} lines; {LONGEST} is the cap, give its second subject a file of its own"
            ));
        }
        if inside == "tests/floors/floors.rs" {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            if let Some(word) =
                ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "XXX"].iter().find(|w| line.contains(**w))
            {
                offences.push(format!("{inside}:{}: {word} is unfinished work", n + 1));
            }
        }
    }
    check(&offences);
}

/// Two tests of one process that make a folder of the same name by hand delete each other's files.
#[test]
fn tests_make_their_folders_in_one_place() {
    // The fuzzers prefer a folder in memory, and have no crate for tests.
    let makes = ["tests/support/src/temp.rs", "src/data/fuzz_entry.rs", "tests/floors/floors.rs"];
    let mut offences = Vec::new();
    for path in ["src", "tests"].map(|f| root().join(f)).iter().flat_map(|f| files(f, &["rs"])) {
        let inside = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("temp_dir").filter(|_| !makes.contains(&inside.as_str())) {
            offences.push(format!("{inside}:{}: use neuropil_test_support::temp::TempFolder", line_of(&text, at)));
        }
    }
    check(&offences);
}

#[test]
fn nothing_points_at_one_machine() {
    let prefixes = ["/work/", "/home/", "/root/", "/Users/", "C:\\Users"];
    let extensions = ["rs", "cu", "cuh", "wgsl", "py", "toml", "ron", "md", "ptx"];
    let mut offences = Vec::new();
    let folders = ["src", "kernels", "tests", "assets", "projects"].map(|f| root().join(f));
    let top = ["README.md", "Cargo.toml", "build.rs", "deny.toml", "clippy.toml"].map(|f| root().join(f));
    for path in folders.iter().flat_map(|f| files(f, &extensions)).chain(top).filter(|p| p.exists()) {
        let inside = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if inside == "tests/floors/floors.rs" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (n, line) in text.lines().enumerate() {
            if let Some(prefix) = prefixes.iter().find(|p| line.contains(**p)) {
                offences.push(format!("{inside}:{}: a path of one machine ({prefix})", n + 1));
            }
        }
    }
    check(&offences);
}

#[test]
fn there_is_one_egui_and_one_wgpu() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for krate in ["egui", "eframe", "egui-wgpu", "wgpu", "naga", "winit", "cudarc"] {
        let entry = format!("name = \"{krate}\"\nversion = ");
        let versions: Vec<&str> =
            lock.split(&entry).skip(1).map(|rest| rest.lines().next().unwrap_or_default()).collect();
        assert_eq!(versions.len(), 1, "{krate} is locked in versions {versions:?}");
    }
}

#[test]
fn the_library_depends_on_no_crate_of_the_window() {
    let manifest = fs::read_to_string(root().join("src/Cargo.toml")).unwrap();
    let of_window = |owners: &[&str]| owners.iter().all(|owner| ["app", "view3d", "main"].contains(owner));
    let mut crates = OUTSIDE.iter().filter(|(_, owners)| of_window(owners)).map(|(krate, _)| krate.replace('_', "-"));
    assert!(manifest.contains("\nrayon.workspace = true\n"), "the manifest lists crates line by line");
    let named =
        crates.find(|krate| manifest.contains(&format!("\n{krate}.")) || manifest.contains(&format!("\n{krate} ")));
    assert_eq!(named, None, "src/Cargo.toml names a crate that only the window uses");
}

#[test]
fn the_reader_of_sources_reads() {
    let code = code_only(
        "use crate::{\n    gpu::{Buf, sim},\n    params,\n}; // crate::engine\nlet s = \"crate::app\";\nron::to(x); a.ron; my_ron::x;",
    );
    let named: Vec<(usize, String)> = named_behind(&code, "crate::");
    assert_eq!(named, [(2, "gpu".to_owned()), (3, "params".to_owned())]);
    assert_eq!(lines_naming(&code, "ron"), [6]);
}
