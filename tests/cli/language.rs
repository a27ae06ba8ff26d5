//! A language model from outside: it trains, writes, is exported, and continues from its own weights.

use crate::program::{example, ok, run};
use neuropil::project::RunFolder;
use neuropil_test_support::temp::TempFolder;
use std::fs;

/// A model that trains in a moment.
pub const TINY: &[&str] = &[
    "--set",
    "model.layers=1",
    "--set",
    "model.heads=2",
    "--set",
    "model.width=16",
    "--set",
    "model.context=16",
    "--set",
    "training.batch=2",
    "--set",
    "measure.held_out_every=0",
    "--set",
    "measure.every=1",
    "--device",
    "cpu",
    "--threads",
    "1",
];

#[test]
fn a_trained_model_writes_and_its_exported_weights_continue() {
    let temp = TempFolder::new("language");
    let text = temp.join("text.txt");
    fs::write(&text, "a small text, of a few words.\n".repeat(60)).unwrap();
    let (project, out) = (example("nano.ron"), temp.join("run"));
    let (project, set) = (project.to_str().unwrap(), format!("data.text={}", text.display()));
    let words =
        [&["run", project, "--set", &set, "--duration", "4steps", "--out", out.to_str().unwrap()], TINY].concat();
    ok(&run(&words));
    let ask = |name: &str, more: &[&str]| {
        ok(&run(&[&["ask", out.to_str().unwrap(), name, "--device", "cpu", "--allow-outside"], more].concat()))
    };
    let written = ask("sample", &["--prompt", "a small", "--length", "12"]);
    assert!(written.starts_with("a small") && written.len() > 8, "{written:?}");
    assert_eq!(ask("sample", &["--prompt", "a small", "--length", "12"]), written, "the same seed, the same text");
    let scored = ask("score", &["--text", "a small"]);
    assert_eq!(scored.lines().count(), 1 + 7, "{scored}");
    // Options of `ask` are accepted after the name of the request too, and each row of a table is one line.
    let behind =
        |words: &[&str]| ok(&run(&[&["ask", out.to_str().unwrap(), "score", "--text", "a\ttab\nb"], words].concat()));
    let table = behind(&["--device", "cpu", "--allow-outside"]);
    assert!(table.lines().count() == 1 + 7 && table.lines().all(|line| line.split('\t').count() == 4), "{table}");
    assert!(table.contains("\n\\t\t") && table.contains("\n\\n\t"), "{table}");
    let rows: serde_json::Value =
        serde_json::from_str(&behind(&["--json", "--device=cpu", "--at", "4", "--allow-outside"])).unwrap();
    let tokens: Vec<_> = rows["answer"].as_array().unwrap().iter().map(|row| row["token"].as_str().unwrap()).collect();
    assert_eq!((tokens.concat().as_str(), &rows["step"]), ("a\ttab\nb", &4.into()));
    let requests: serde_json::Value =
        serde_json::from_str(&ok(&run(&["ask", out.to_str().unwrap(), "--json"]))).unwrap();
    assert!(requests.as_array().unwrap().iter().any(|request| request["name"] == "score"), "{requests}");
    let nothing = run(&["ask", out.to_str().unwrap(), "score", "--device", "cpu", "--allow-outside"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("No rows: Text is empty"), "{nothing:?}");
    let file = ok(&run(&["export", out.to_str().unwrap(), "--format", "safetensors"]));
    let weights = format!("data.weights={}", file.trim());
    let again = temp.join("again");
    let more =
        ["run", project, "--set", &set, "--set", &weights, "--duration", "1steps", "--out", again.to_str().unwrap()];
    ok(&run(&[&more[..], TINY].concat()));
    // The first loss after the weights is that of the fifth step with them, not that of new weights.
    let losses = |folder: &std::path::Path| {
        let bytes = fs::read(folder.join("loss.f32")).unwrap();
        bytes.chunks_exact(12).map(|row| f32::from_le_bytes([row[8], row[9], row[10], row[11]])).collect::<Vec<_>>()
    };
    let (before, after) = (losses(&out), losses(&again));
    assert_eq!((before.len(), after.len()), (4, 1));
    assert!(after[0] < before[0], "{before:?}, then {after:?}");
}

#[test]
fn trials_of_a_model_without_spikes_have_their_reference_values_and_no_rates() {
    let temp = TempFolder::new("language-trials");
    let (project, out) = (example("nano.ron"), temp.join("run"));
    let words = ["run", project.to_str().unwrap(), "--set", "data.grammar_bytes=20000", "--duration", "2steps"];
    let said = ok(&run(&[&words[..], &["--trials", "2", "--out", out.to_str().unwrap()], TINY].concat()));
    assert!(said.contains("2 trials") && !said.contains("rates"), "{said}");
    assert!(!out.join("rates.csv").exists());
    for trial in RunFolder::open(&out).unwrap().trials().unwrap() {
        let loss = trial.manifest.streams.iter().find(|s| s.probe == "loss").unwrap();
        let names = neuropil::sim::Level::names(&loss.levels);
        assert_eq!(names, ["uniform", "unigram", "bigram", "trigram", "entropy rate of the grammar"]);
        assert_eq!(neuropil::sim::SeriesUnit::names(&loss.levels), ["bits per byte", "perplexity"]);
    }
}

/// The size of the model and its speed are in the results of a run; a table has the loss in all units and the trained tokens.
#[test]
fn a_run_reports_parameters_and_tokens_and_exports_units() {
    let temp = TempFolder::new("language-facts");
    let (project, out) = (example("nano.ron"), temp.join("run"));
    let (project, folder) = (project.to_str().unwrap(), out.to_str().unwrap());
    let words =
        ["run", project, "--set", "data.grammar_bytes=20000", "--duration", "3steps", "--out", folder, "--json"];
    let said: serde_json::Value = serde_json::from_str(&ok(&run(&[&words[..], TINY].concat()))).unwrap();
    let n = said["n_parameters"].as_u64().unwrap();
    assert!(n > 1_000, "{said}");
    let tokens = said["rates"].as_array().unwrap().iter().find(|rate| rate["name"] == "tokens").unwrap();
    assert!(tokens["per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(RunFolder::open(&out).unwrap().manifest.n_parameters, n);
    let plan = ok(&run(&[&["run", project, "--dry-run", "--set", "data.grammar_bytes=20000"], TINY].concat()));
    assert!(plan.contains(" parameters\n"), "{plan}");
    ok(&run(&["export", folder, "--format", "csv"]));
    let table = fs::read_to_string(out.join("loss.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (head, last) = (lines.next().unwrap(), lines.next_back().unwrap());
    let cell = |name: &str| -> f64 {
        let at = head.iter().position(|column| column.contains(name)).unwrap_or_else(|| panic!("{name}: {head:?}"));
        last[at].parse().unwrap()
    };
    let loss: f64 = last[2].parse().unwrap();
    // The loss has the digits of an f32.
    assert!((cell("(bits per byte)") - loss * std::f64::consts::LOG2_E).abs() < 1e-6, "a token is a byte");
    assert!((cell("(perplexity)") / loss.exp() - 1.0).abs() < 1e-6);
    assert_eq!((cell("step"), cell("tokens")), (3.0, 3.0 * 2.0 * 16.0));
}

/// Reference values follow a text that changes: in the manifest as spans of steps, in tables as columns.
#[test]
fn reference_values_follow_the_text() {
    let temp = TempFolder::new("language-levels");
    let project = example("nano.ron");
    let texts = ["data.grammar_bytes=20000", "data.languages=2", "data.text_steps=3", "measure.sample_every=0"]
        .map(|s| ["--set", s]);
    let record = |out: &str, steps: &str| {
        let words = ["run", project.to_str().unwrap(), "--duration", steps, "--out", out];
        ok(&run(&[&words[..], &texts.concat(), TINY].concat()));
    };
    let (whole, half) = (temp.join("whole"), temp.join("half"));
    record(whole.to_str().unwrap(), "8steps");
    record(half.to_str().unwrap(), "4steps");
    let more = ["run", "--resume", half.to_str().unwrap(), "--duration", "8steps", "--device", "cpu", "--threads", "1"];
    ok(&run(&more));
    let levels = |out: &std::path::Path| {
        let run = RunFolder::open(out).unwrap();
        run.manifest.streams.iter().find(|s| s.probe == "loss").unwrap().levels.clone()
    };
    let all = levels(&whole);
    let unigrams: Vec<_> = all.iter().filter(|l| l.name == "unigram").map(|l| (l.from_step, l.to_step)).collect();
    assert_eq!(unigrams, [(0, Some(3)), (3, Some(6)), (6, None)], "{all:?}");
    assert_eq!(all.iter().filter(|level| level.name == "uniform").count(), 1, "the same for all texts");
    assert_eq!(levels(&half), all, "of a run that continues");
    ok(&run(&["export", whole.to_str().unwrap(), "--format", "csv"]));
    let table = fs::read_to_string(whole.join("loss.csv")).unwrap();
    let at = table.lines().next().unwrap().split(',').position(|name| name == "level unigram").unwrap();
    let column: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
    let [a, b] = [column[0], column[3]];
    assert_ne!(a, b);
    assert_eq!(column, [a, a, a, b, b, b, a, a]);
    ok(&run(&["export", whole.to_str().unwrap(), "--format", "npz"]));
}
