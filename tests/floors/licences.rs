//! Every crate that is linked into the program may be given away under MIT or Apache-2.0, and comes from the
//! registry. `deny.toml` says the same to `cargo deny`.

use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    process::Command,
};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crate, its licence, and why it is tolerated.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Crates that would need a library of the system to build.
const BANNED: &[&str] = &["openssl-sys", "gtk-sys", "libdbus-sys"];

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be met.
fn is_allowed(expression: &str) -> bool {
    let spaced =
        expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "\u{1}WITH\u{1}");
    let tokens: Vec<String> = spaced.split(' ').filter(|t| !t.is_empty()).map(|t| t.replace('\u{1}', " ")).collect();
    let mut at = 0;
    any(&tokens, &mut at) && at == tokens.len()
}

fn any(tokens: &[String], at: &mut usize) -> bool {
    let mut met = all(tokens, at);
    while tokens.get(*at).is_some_and(|t| t == "OR") {
        *at += 1;
        met |= all(tokens, at);
    }
    met
}

fn all(tokens: &[String], at: &mut usize) -> bool {
    let mut met = one(tokens, at);
    while tokens.get(*at).is_some_and(|t| t == "AND") {
        *at += 1;
        met &= one(tokens, at);
    }
    met
}

fn one(tokens: &[String], at: &mut usize) -> bool {
    let token = tokens.get(*at).map(String::as_str);
    *at += 1;
    if token == Some("(") {
        let met = any(tokens, at);
        *at += 1;
        return met;
    }
    token.is_some_and(|t| ALLOWED.contains(&t))
}

/// What cargo knows about the locked tree for this target, without asking the network.
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let run = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(run.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Ids of what ends up in the binary: reached from the root without build and test dependencies.
fn linked(metadata: &Value) -> HashSet<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let by_id: HashMap<&str, &Value> = nodes.iter().map(|n| (text(n, "id"), n)).collect();
    let mut seen = HashSet::new();
    let mut waiting = vec![text(&metadata["resolve"], "root")];
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        for dep in by_id[id]["deps"].as_array().unwrap() {
            if dep["dep_kinds"].as_array().unwrap().iter().any(|k| k["kind"].is_null()) {
                waiting.push(text(dep, "pkg"));
            }
        }
    }
    seen
}

#[test]
#[cfg(target_os = "linux")]
fn every_linked_crate_may_be_given_away() {
    let metadata = metadata();
    let linked = linked(&metadata);
    let mut offences = Vec::new();
    let mut excused = HashSet::new();
    for package in metadata["packages"].as_array().unwrap().iter().filter(|p| linked.contains(text(p, "id"))) {
        let (name, version, licence) = (text(package, "name"), text(package, "version"), text(package, "license"));
        if EXCEPTIONS.iter().any(|(krate, known, _)| *krate == name && *known == licence) {
            excused.insert(name);
        } else if !is_allowed(licence) {
            offences.push(format!("{name} {version}: `{licence}` is not on the list"));
        }
        if BANNED.contains(&name) {
            offences.push(format!("{name} {version} needs a library of the system to build"));
        }
        let source = package["source"].as_str();
        if source.is_some_and(|s| !s.contains("crates.io-index")) {
            offences.push(format!("{name} {version} comes from {}", source.unwrap_or_default()));
        }
    }
    for (krate, ..) in EXCEPTIONS.iter().filter(|(krate, ..)| !excused.contains(krate)) {
        offences.push(format!("{krate} is gone: delete its exception here and in deny.toml"));
    }
    assert!(linked.len() > 100, "only {} crates were looked at", linked.len());
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn both_lists_are_one() {
    let deny = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml")).unwrap();
    let list = deny.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let listed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed, ALLOWED);
}

#[test]
fn expressions_are_read() {
    for fine in ["MIT", "MIT/Apache-2.0", "Apache-2.0 OR GPL-2.0-only", "(MIT OR Apache-2.0) AND Unicode-3.0 AND Zlib"]
    {
        assert!(is_allowed(fine), "{fine}");
    }
    for refused in ["", "MPL-2.0", "GPL-3.0-only", "MIT AND GPL-2.0-only", "(MIT OR MPL-2.0) AND AGPL-3.0"] {
        assert!(!is_allowed(refused), "{refused}");
    }
    assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only"));
    assert!(!is_allowed("GPL-2.0 WITH Classpath-exception-2.0"));
}
