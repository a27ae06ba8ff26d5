//! `neuropil runs` and `neuropil tag`: the table of runs from outside.

use crate::program::{example, ok, run};
use neuropil_test_support::temp::TempFolder;
use serde_json::Value as Json;
use std::fs;

/// Records a run of a small network beside a copy of the example.
fn record(folder: &TempFolder, name: &str, seed: &str) {
    let out = folder.join("runs").join(name);
    let (project, out) = (example("balanced.ron"), out.to_str().expect("UTF-8").to_owned());
    let sets = ["--set", "network.n_neurons=300", "--set", "lif.tau_m=15ms", "--duration", "5ms", "--device", "cpu"];
    let words = [&["run", project.to_str().expect("UTF-8"), "--seed", seed, "--out", &out], &sets[..]].concat();
    ok(&run(&words));
}

#[test]
fn runs_are_listed_filtered_sorted_and_tagged() {
    let folder = TempFolder::new("cli-runs");
    record(&folder, "one", "3");
    record(&folder, "two", "11");
    let path = folder.to_str().expect("UTF-8");
    let two = folder.join("runs/two");
    let two = two.to_str().expect("UTF-8");
    assert_eq!(ok(&run(&["tag", two, "best", "kept"])), "best\nkept\n");
    assert_eq!(ok(&run(&["tag", two, "--remove", "kept"])), "best\n");
    let tags: Json = serde_json::from_str(&ok(&run(&["tag", two, "--json"]))).expect("JSON");
    assert_eq!(tags["tags"], serde_json::json!(["best"]));

    let names = |more: &[&str]| -> String {
        let text = ok(&run(&[&["runs", path, "--json"], more].concat()));
        let table: Json = serde_json::from_str(&text).expect("JSON");
        let names = table["runs"].as_array().expect("runs").iter().map(|run| run["name"].as_str().expect("a name"));
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&["--sort", "seed"]), "one two");
    assert_eq!(names(&["--sort", "-seed"]), "two one");
    assert_eq!(names(&["--filter", "tag:best"]), "two");
    assert_eq!(names(&["--filter", "seed<4 tau_m=15ms"]), "one");
    let csv = ok(&run(&["runs", path, "--csv", "--sort", "name", "--columns", "name,seed,tags,tau_m"]));
    assert_eq!(csv, "name,seed,tags,lif.tau_m\none,3,,15\ntwo,11,best,15\n");
    let table = ok(&run(&["runs", path, "--sort", "name"]));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("Name") && lines[2].starts_with("two"), "{table}");
    assert!(ok(&run(&["runs", path, "--columns", "all"])).contains("lif.tau_m"));
}

#[test]
fn wrong_filters_and_damaged_tags_are_messages() {
    let folder = TempFolder::new("cli-runs-wrong");
    record(&folder, "one", "3");
    let path = folder.to_str().expect("UTF-8");
    let refused = |words: &[&str], part: &str| {
        let output = run(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(part), "{words:?}: {said}");
    };
    refused(&["runs", path, "--filter", "sed=3"], "There is no column `sed`; did you mean `seed`?");
    refused(&["runs", path, "--sort", "nothing_like_it"], "There is no column `nothing_like_it`");
    refused(&["runs", folder.join("missing").to_str().expect("UTF-8")], "missing");
    refused(&["tag", path, "x"], "is not a run");
    let one = folder.join("runs/one");
    refused(&["tag", one.to_str().expect("UTF-8"), "a\"b"], "contains a quote");
    fs::write(one.join("tags.txt"), [0xff, 0xfe]).expect("written");
    let output = run(&["runs", path]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("tags.txt was not read"));
}
