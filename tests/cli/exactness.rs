//! What a run says about how it was computed, and its hashes.

use crate::program::{json, neuropil, ok};
use neuropil::project::RunFolder;
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path};

const OSCILLATORS: &str = r#"(
    name: "Phases", seed: 5,
    model: Nuclei((population: (capacity: 64, n_start: 64), task: (source: Nothing))),
    run: (steps: 300),
    record: ["order", "lineage", "log", "phase"],
)"#;

#[test]
fn histories_have_the_same_hash_for_any_batch_and_number_of_threads() {
    let temp = TempFolder::new("data-hash");
    let path = temp.join("phases.ron");
    fs::write(&path, OSCILLATORS).unwrap();
    let record = |name: &str, words: &[&str]| {
        let out = temp.join(name);
        let common = ["--device", "cpu", "--json", "--out"];
        (json(&neuropil().arg("run").arg(&path).args(common).arg(&out).args(words).output().unwrap()), out)
    };
    let (one, folder) = record("one", &["--batch", "1", "--threads", "1"]);
    let (other, _) = record("other", &["--batch", "77", "--threads", "2"]);
    let (seed, _) = record("seed", &["--seed", "6"]);
    let hash = |run: &serde_json::Value| run["data_hash"].as_str().expect("a hash").to_owned();
    assert_eq!(hash(&one), hash(&other));
    assert_ne!(hash(&one), hash(&seed));
    assert_eq!(one["execution"]["backend"], "cpu");
    assert_eq!(RunFolder::open(&folder).unwrap().manifest.execution.kernels.get("coupling"), Some("mean_field"));
    for words in [&["info"][..], &["check"], &["info", "--json"], &["check", "--json"]] {
        let said = ok(&neuropil().args(words).arg(&folder).output().unwrap());
        assert!(said.contains(&hash(&one)), "{words:?}: {said}");
    }
    assert!(ok(&neuropil().arg("info").arg(&folder).output().unwrap()).contains("coupling mean_field"));
    replays_with_other_kernels(&folder);
}

/// A recording whose kernels this program does not choose.
fn replays_with_other_kernels(folder: &Path) {
    let replay = || neuropil().args(["replay", "--device", "cpu"]).arg(folder).output().unwrap();
    assert!(ok(&replay()).starts_with("identical"));
    let path = folder.join("run.ron");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, manifest.replace("\"mean_field\"", "\"by_hand\"")).unwrap();
    let output = replay();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("coupling is mean_field here and was by_hand"), "{said}");
}
