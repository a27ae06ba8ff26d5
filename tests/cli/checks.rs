//! Messages of the command line about wrong arguments and projects: `validate` finds what `run` refuses.

use neuropil_test_support::temp::TempFolder;
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn write(folder: &TempFolder, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn neuropil(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(words)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("RUST_LOG")
        .env_remove("NEUROPIL_LOG")
        .output()
        .expect("the program")
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A small balanced network with this text in the group `interventions` and these recorded probes.
fn project(interventions: &str, record: &str) -> String {
    format!(
        "(version: 1, name: \"checks\", seed: 1, model: Spiking((network: (source: Balanced, n_neurons: 400, \
         in_degree: 20), interventions: [{interventions}])), run: (duration_ms: 5.0, device: Cpu), record: [{record}])"
    )
}

#[test]
fn validate_finds_everything_that_run_refuses() {
    let temp = TempFolder::new("validate");
    let out = temp.join("out");
    let stimulus = |target: &str| format!("(name: \"s\", target: \"{target}\", enabled: true)");
    let cases = [
        (project(&stimulus("idx = 3"), "\"spikes\""), 0, "valid"),
        (project(&stimulus("and and ("), "\"spikes\""), 2, "and and ("),
        (project(&stimulus("no_such_column = 3"), "\"spikes\""), 2, "no_such_column"),
        (project("", "\"v[4000]\""), 2, "4000"),
        (project("", "\"no_such_probe\""), 2, "no_such_probe"),
    ];
    for (i, (text, code, part)) in cases.iter().enumerate() {
        let file = write(&temp, &format!("{i}.ron"), text);
        let file = file.to_str().expect("UTF-8");
        let checked = neuropil(&["validate", file]);
        assert_eq!(checked.status.code(), Some(*code), "{text}: {}", both(&checked));
        assert!(both(&checked).contains(part), "{}", both(&checked));
        let ran = neuropil(&["run", file, "--device", "cpu", "--out", out.to_str().expect("UTF-8")]);
        assert_eq!(ran.status.code(), Some(*code), "`run` agrees about {text}: {}", both(&ran));
        let json = neuropil(&["validate", file, "--json"]);
        let json: Json = serde_json::from_slice(&json.stdout).expect("JSON");
        assert_eq!(json["valid"], *code == 0, "{json}");
        assert_eq!(json["errors"].as_array().expect("a list").is_empty(), *code == 0, "{json}");
        fs::remove_dir_all(&out).ok();
    }
    let broken = write(&temp, "broken.ron", "(\n seed: 1\n name: 2)");
    let json = neuropil(&["validate", broken.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(json.status.code(), Some(2));
    let json: Json = serde_json::from_slice(&json.stdout).expect("JSON");
    assert!(json["errors"][0].as_str().expect("a text").contains("broken.ron:3"), "{json}");
}

/// Notices about input data: rows of a neuron table that match nothing, dropout of a tokenizer.
#[test]
fn notices_of_input_data_are_said() {
    let temp = TempFolder::new("notices");
    fs::create_dir(temp.join("network")).expect("a folder");
    write(&temp, "network/edges.csv", "pre,post,w\n0,1,5\n1,0,-3\n");
    write(&temp, "network/neurons.csv", "idx,root_id\n0,30\n1,10\n");
    write(&temp, "other.csv", "root_id,name\n10,b\n99,x\n30,a\n");
    let network =
        "(name: \"s\", model: Spiking((network: (source: Files, path: \"network\", neurons: \"other.csv\"))))";
    let network = write(&temp, "network.ron", network);
    write(&temp, "text.txt", &"ab ab\n".repeat(200));
    let tokenizer = r#"{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
        "decoder":null,"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0,"b":1," ":2,"\n":3,"ab":4},"merges":["a b"]}}"#;
    write(&temp, "tokenizer.json", tokenizer);
    let language = "(name: \"t\", model: Transformer((model: (context: 8), data: (text: \"text.txt\", tokenizer: Bpe, \
                    tokenizer_file: \"tokenizer.json\"))))";
    let language = write(&temp, "language.ron", language);
    for (file, notice) in [
        (&network, "other.csv, joined by root_id: 1 of the 3 rows are of no neuron of the network (99)"),
        (&language, "The dropout of merges of the tokenizer (0.1) is not used: runs would not repeat."),
    ] {
        let json = neuropil(&["validate", file.to_str().expect("UTF-8"), "--json"]);
        let found: Json = serde_json::from_slice(&json.stdout).expect("JSON");
        assert_eq!(found["valid"], true, "{}", both(&json));
        let warnings = found["warnings"].as_array().expect("a list");
        assert!(warnings.iter().any(|warning| warning["what"] == notice), "{found}");
    }
    let out = temp.join("out");
    let run = ["run", network.to_str().expect("UTF-8"), "--duration", "1ms", "--device", "cpu", "--out"];
    let ran = neuropil(&[&run[..], &[out.to_str().expect("UTF-8")]].concat());
    assert!(ran.status.success() && both(&ran).contains("neuropil: other.csv, joined by root_id: "), "{}", both(&ran));
}

#[test]
fn wrong_words_get_a_suggestion() {
    let temp = TempFolder::new("words");
    let file = write(&temp, "small.ron", &project("", "\"spikes\""));
    let file = file.to_str().expect("UTF-8");
    for (words, part) in [
        (&["valdate", file][..], "did you mean `validate`?"),
        (&["rnu", file], "did you mean `run`?"),
        (&["frobnicate", file, "--json"], "the commands are run, new, replay"),
        (&["run", file, "--device", "gpu"], "use `cuda` for an NVIDIA GPU, or `auto`"),
        (&["run", file, "--duration", "-1"], "-1 ms is not a simulated time"),
        (&["run", file, "--duration", "long"], "is not a number"),
    ] {
        let output = neuropil(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", both(&output));
        assert!(both(&output).contains(part), "{words:?}: {}", both(&output));
    }
    let out = temp.join("out");
    let out = out.to_str().expect("UTF-8");
    let bare = neuropil(&["run", file, "--duration", "10", "--device", "cpu", "--out", out]);
    assert!(
        both(&bare).contains("--duration 10 is read as 10 ms, 100 steps; write e.g. 10ms or 10s"),
        "{}",
        both(&bare)
    );
    fs::remove_dir_all(out).expect("a run");
    let with_unit = neuropil(&["run", file, "--duration", "10ms", "--device", "cpu", "--out", out]);
    assert!(!both(&with_unit).contains("is read as"), "{}", both(&with_unit));
}

/// A project from elsewhere reads files of its own folder only, unless the user consents.
#[test]
fn files_outside_a_received_project_need_consent() {
    let temp = TempFolder::new("outside");
    let secret = write(&temp, "secret.csv", "password123\nhunter2\n");
    fs::create_dir(temp.join("received")).expect("a folder");
    let text =
        |path: &str| format!("(version: 1, name: \"x\", model: Spiking((network: (source: Files, path: \"{path}\"))))");
    for path in [secret.to_str().expect("UTF-8"), "../secret.csv"] {
        let file = write(&temp, "received/project.ron", &text(path));
        let file = file.to_str().expect("UTF-8");
        for command in ["run", "validate"] {
            let refused = neuropil(&[command, file]);
            assert_eq!(refused.status.code(), Some(2));
            let said = both(&refused);
            assert!(said.contains("network.path is") && said.contains("--allow-outside accepts it"), "{said}");
            let allowed = both(&neuropil(&[command, file, "--allow-outside"]));
            assert!(!allowed.contains("--allow-outside") && allowed.contains("secret.csv"), "{allowed}");
            assert!(
                !allowed.contains("password123") && !allowed.contains("hunter2"),
                "the content is quoted: {allowed}"
            );
        }
        // The user's own project: in the working directory.
        let own = Command::new(env!("CARGO_BIN_EXE_neuropil"))
            .current_dir(temp.join("received"))
            .args(["validate", "project.ron"])
            .output()
            .expect("the program");
        assert!(!both(&own).contains("--allow-outside"), "{}", both(&own));
    }
}

/// A run from elsewhere reads files outside its folder only with consent.
#[test]
fn files_outside_a_received_run_need_consent() {
    let temp = TempFolder::new("outside-run");
    let edges = write(&temp, "edges.csv", "pre,post,w\n0,1,5\n1,2,5\n");
    fs::create_dir(temp.join("received")).expect("a folder");
    let text = format!(
        "(version: 1, name: \"x\", model: Spiking((network: (source: Files, path: {:?}))), record: [\"spikes\"])",
        edges.to_str().expect("UTF-8")
    );
    let project = write(&temp, "received/project.ron", &text);
    let (project, out) = (project.to_str().expect("UTF-8"), temp.join("received/run"));
    let run = out.to_str().expect("UTF-8");
    let made = neuropil(&["run", project, "--duration", "10ms", "--device", "cpu", "--allow-outside", "--out", run]);
    assert!(made.status.success(), "{}", both(&made));
    let info = both(&neuropil(&["info", project]));
    assert!(info.contains("outside the project's folder; `run` reads it with --allow-outside"), "{info}");
    let info = both(&neuropil(&["info", run]));
    assert!(info.contains("outside the run's folder; `replay` reads it with --allow-outside"), "{info}");
    let refused = neuropil(&["replay", run, "--device", "cpu"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(both(&refused).contains("which is outside the run's folder; --allow-outside accepts it"));
    let allowed = neuropil(&["replay", run, "--device", "cpu", "--allow-outside"]);
    assert!(allowed.status.success() && both(&allowed).contains("identical"), "{}", both(&allowed));
    let exported = neuropil(&["export", run, "--format", "csv"]);
    assert!(exported.status.success(), "an export reads the run folder only: {}", both(&exported));
    let own = Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .current_dir(&temp)
        .args(["replay", "received/run", "--device", "cpu"])
        .output()
        .expect("the program");
    assert!(own.status.success(), "{}", both(&own));
}

/// A series that was cut short: the trials that exist are exported and replayed under their numbers.
#[test]
fn a_series_with_gaps_is_exported_and_replayed() {
    let temp = TempFolder::new("gaps");
    let file = write(&temp, "small.ron", &project("", "\"spikes\", \"rate\""));
    let out = temp.join("series");
    let place = out.to_str().expect("UTF-8");
    let words = ["--trials", "4", "--device", "cpu", "--threads", "1", "--out", place];
    let ran = neuropil(&[&["run", file.to_str().expect("UTF-8")][..], &words].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    fs::remove_dir_all(out.join("trials/0001")).expect("trial 1");
    let exported = neuropil(&["export", place, "--format", "csv"]);
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    let names: Vec<bool> = (0..4).map(|k| Path::new(&out).join(format!("spikes.rate.{k}.csv")).exists()).collect();
    assert_eq!(names, [true, false, true, true], "{}", both(&exported));
    let replayed = neuropil(&["replay", place, "--device", "cpu"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", both(&replayed));
    let said = both(&replayed);
    assert!(said.contains("trial 3: identical") && !said.contains("trial 1:"), "{said}");
    assert!(said.contains("3 of 4 trials exist"), "{said}");
}

/// Rates of a kind that counts its steps are per step, which the header says.
#[test]
fn rates_of_trials_name_their_unit() {
    let temp = TempFolder::new("rates");
    let out = temp.join("series");
    let place = out.to_str().expect("UTF-8");
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/projects/nuclei.ron");
    let words = ["run", project, "--trials", "2", "--duration", "20", "--device", "cpu", "--threads", "1"];
    let ran = neuropil(&[&words[..], &["--probe", "births", "--out", place]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let rates = fs::read_to_string(out.join("rates.csv")).expect("rates.csv");
    assert!(rates.starts_with("idx,rate_per_generation,std_per_generation\n"), "{rates}");
    assert!(rates.lines().count() > 1, "births are counted: {}", both(&ran));
}
