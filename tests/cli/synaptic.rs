//! A model with a life cycle of experts from outside: it trains, records its lineage, continues exactly from a checkpoint,
//! writes and scores, and its weights start another one.

use crate::program::{example, neuropil, ok, run};
use neuropil::{
    app::document::{
        live::Builder,
        playback::{self, Opening},
    },
    engine::LoggedCommand,
    project::RunFolder,
    sim::SimError,
};
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path, sync::Arc};

/// A model that trains in a moment, whose experts split.
const TINY: &[&str] = &[
    "model.layers=1",
    "model.heads=2",
    "model.width=16",
    "model.context=16",
    "experts.count=6",
    "experts.hidden=8",
    "life.warm_up=10",
    "life.interval=5",
    "life.weak_health=0.4",
    "training.batch=2",
    "training.learning_rate=0.01",
    "data.grammar_bytes=20000",
    "measure.held_out_every=0",
    "measure.every=1",
];

fn record(out: &Path, words: &[&str]) {
    let mut command = neuropil();
    command.args(["run", example("synaptic-nano16.ron").to_str().unwrap(), "--device", "cpu", "--threads", "1"]);
    for text in TINY {
        command.args(["--set", text]);
    }
    ok(&command.arg("--out").arg(out).args(words).output().unwrap());
}

#[test]
fn a_lineage_is_recorded_and_a_run_continues_exactly() {
    let temp = TempFolder::new("synaptic");
    let (whole, half) = (temp.join("whole"), temp.join("half"));
    record(&whole, &["--duration", "60steps"]);
    record(&half, &["--duration", "30steps"]);
    let events = fs::read_to_string(whole.join("lineage.jsonl")).unwrap();
    let n_births = events.lines().filter(|line| line.contains("\"child\"")).count();
    assert!(n_births > 6 && events.contains("\"origin\":\"split\""), "{events}");
    ok(&run(&["export", whole.to_str().unwrap(), "--format", "nwk"]));
    let trees = fs::read_to_string(whole.join("lineage.nwk")).unwrap();
    // Each individual is one leaf; founders begin a tree each.
    assert_eq!((trees.matches('\'').count() / 2, trees.lines().count()), (n_births, 6), "{trees}");
    for tree in trees.lines() {
        assert!(tree.ends_with(';') && tree.matches('(').count() == tree.matches(')').count(), "{tree}");
    }
    // Reopened: the same individuals.
    let n_merges = events.lines().filter(|line| line.contains("\"origin\":\"merge\"")).count();
    let n_ended = events.lines().filter(|line| line.contains("\"gone\"")).count();
    let told = ok(&run(&["info", whole.join("lineage.nwk").to_str().unwrap(), "--json"]));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let number = |name: &str| told[name].as_u64().unwrap() as usize;
    assert_eq!((number("individuals"), number("founders"), number("merges")), (n_births, 6, n_merges));
    assert_eq!((number("alive"), number("last")), (n_births - n_ended, 60));
    ok(&run(&[
        "run",
        "--resume",
        half.to_str().unwrap(),
        "--duration",
        "60steps",
        "--device",
        "cpu",
        "--threads",
        "2",
    ]));
    let digest = |out: &Path| RunFolder::open(out).unwrap().manifest.digest.clone();
    assert_eq!(digest(&half), digest(&whole));
    let ask = |name: &str, more: &[&str]| {
        ok(&run(&[&["ask", whole.to_str().unwrap(), name, "--device", "cpu", "--allow-outside"], more].concat()))
    };
    for plastic in ["false", "true"] {
        let written = ask("sample", &["--prompt", "the fox", "--length", "12", "--plasticity", plastic]);
        assert!(written.starts_with("the fox"), "{written:?}");
        assert_eq!(ask("score", &["--text", "the fox", "--plasticity", plastic]).lines().count(), 1 + 7);
    }
    let file = ok(&run(&["export", whole.to_str().unwrap(), "--format", "safetensors"]));
    record(&temp.join("again"), &["--duration", "2steps", "--set", &format!("data.weights={}", file.trim())]);
}

#[test]
fn a_gpu_is_refused_with_a_way_out() {
    let temp = TempFolder::new("synaptic-gpu");
    let out = temp.join("out");
    let words = ["run", "--device", "cuda", "--duration", "1steps", "--out", out.to_str().unwrap()];
    let refused = neuropil().args(words).arg(example("synaptic-nano.ron")).output().unwrap();
    assert!(!refused.status.success());
}

/// Runs of versions that offered the Hebbian write rule: playback, export and command log need no rule; a replay says what it
/// lacks, and so does a project.
#[test]
fn runs_with_the_retired_write_rule_are_displayed_and_exported() {
    let temp = TempFolder::new("retired-rule");
    let out = temp.join("run");
    record(&out, &["--duration", "10steps"]);
    let (path, log) = (out.join("project.ron"), out.join("commands.ron"));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("rule: Delta").count(), 1, "{text}");
    fs::write(&path, text.replace("rule: Delta", "rule: Hebbian")).unwrap();
    let logged = fs::read_to_string(&log).unwrap() + "(5,Set(\"plasticity.rule\",Choice(\"Hebbian\")))\n";
    fs::write(&log, logged).unwrap();

    let builder: Builder = Arc::new(|_, _, _| Err(SimError::Input("not built".into())));
    let opened = match playback::open(&out, &builder, &|_| true) {
        Ok(Opening::Opened(opened)) => opened,
        Ok(Opening::NeedsConsent(paths)) => panic!("{paths:?}"),
        Err(why) => panic!("{why}"),
    };
    let notice = "plasticity.rule: `Hebbian` is no longer offered; the run is displayed with `Delta`";
    assert!(opened.notes.iter().any(|note| note.contains(notice)), "{:?}", opened.notes);
    assert!(matches!(&opened.log[..], [.., (5, LoggedCommand::Former(path, _))] if path == "plasticity.rule"));
    let loss = opened.run.manifest.streams.iter().find(|stream| stream.probe == "loss").expect("a recorded loss");
    assert_eq!(opened.run.rows(loss).unwrap().steps.len(), 10);

    ok(&run(&["export", out.to_str().unwrap(), "--format", "csv"]));
    assert!(ok(&run(&["info", out.to_str().unwrap()])).contains(notice));
    for words in [["replay", out.to_str().unwrap()], ["validate", path.to_str().unwrap()]] {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{words:?}");
        assert!(said.contains("project.ron:") && said.contains("Write `Delta` instead"), "{words:?}: {said}");
    }
    let set = run(&["run", example("synaptic-nano16.ron").to_str().unwrap(), "--set", "plasticity.rule=Hebbian"]);
    assert!(String::from_utf8_lossy(&set.stderr).contains("Write `Delta` instead"), "{set:?}");
}
