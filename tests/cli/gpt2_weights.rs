//! Weights in the names of Hugging Face: exported, taken up with their shape, and refused with a way out.

use crate::{
    language::TINY,
    program::{example, json, ok, run},
};
use neuropil::project::RunFolder;
use neuropil_test_support::temp::TempFolder;
use std::fs;

/// What GPT-2 has and the small model of the example has not.
const GPT2: &[&str] =
    &["--set", "model.positions=Learned", "--set", "model.bias=true", "--set", "data.grammar_bytes=20000"];

#[test]
fn weights_for_transformers_are_exported_and_taken_up_with_their_shape() {
    let temp = TempFolder::new("gpt2-weights");
    let (nano, out, hub) = (example("nano.ron"), temp.join("run"), temp.join("hub"));
    let [nano, run_folder] = [&nano, &out].map(|path| path.to_str().unwrap());
    ok(&run(&[&["run", nano, "--duration", "2steps", "--out", run_folder], TINY, GPT2].concat()));
    let words = ["export", run_folder, "--format", "huggingface", "--out", hub.to_str().unwrap()];
    let files = ok(&run(&words));
    let weights = hub.join("model.safetensors");
    let weights = weights.to_str().unwrap();
    assert_eq!(files.lines().collect::<Vec<_>>(), [weights, hub.join("config.json").to_str().unwrap()]);
    // The defaults are another model: one refusal names all of them, and the way out.
    let set = format!("data.weights={weights}");
    let refused = run(&["run", nano, "--set", &set, "--device", "cpu", "--out", temp.join("none").to_str().unwrap()]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    for part in
        ["model.layers=1", "model.width=16", "model.positions=Learned", "model.heads=2", "`neuropil new PROJECT"]
    {
        assert!(why.contains(part), "{part}: {why}");
    }
    let project = temp.join("taken.ron");
    let project = project.to_str().unwrap();
    let new = ["new", nano, "--weights", weights, "--set", "data.grammar_bytes=20000", "--out", project];
    let taken = json(&run(&[&new[..], &["--json"]].concat()));
    let changed: Vec<&str> = taken["changed"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    assert!(changed.contains(&"model.layers: 3 → 1") && changed.contains(&"model.heads: 3 → 2"), "{changed:?}");
    let again = run(&new);
    assert!(String::from_utf8_lossy(&again.stderr).contains("--replace overwrites it"), "{again:?}");
    let valid = json(&run(&["validate", project, "--json"]));
    assert_eq!((&valid["valid"], &valid["trainable_parameters"]), (&true.into(), &7_664.into()), "{valid}");
    let info = json(&run(&["info", project, "--json"]));
    assert_eq!(info["trainable_parameters"], 7_664, "a vocabulary of bytes");
    // The model continues from the weights: its state at step 0 is the exported one.
    let continued = temp.join("continued");
    let continued = continued.to_str().unwrap();
    let words = ["run", project, "--duration", "1steps", "--device", "cpu", "--threads", "1", "--out", continued];
    ok(&run(&[&words[..], &["--set", "training.learning_rate=0", "--set", "training.weight_decay=0"]].concat()));
    let exported = |folder: &str| {
        let files = ok(&run(&["export", folder, "--format", "huggingface"]));
        fs::read(files.lines().next().unwrap()).unwrap()
    };
    assert!(exported(continued) == fs::read(weights).unwrap(), "equal weights");
    let run = RunFolder::open(continued.as_ref()).unwrap();
    let settings = &run.manifest.checkpoint_settings;
    assert_eq!((settings.every_s, settings.kept, settings.is_automatic), (600.0, 3, true));
}

#[test]
fn kinds_and_shapes_without_a_model_in_transformers_are_refused() {
    let temp = TempFolder::new("gpt2-refused");
    let (nano, out) = (example("nano.ron"), temp.join("run"));
    let [nano, out] = [&nano, &out].map(|path| path.to_str().unwrap());
    let words = ["run", nano, "--duration", "1steps", "--set", "data.grammar_bytes=20000", "--out", out];
    ok(&run(&[&words[..], TINY].concat()));
    let refused = run(&["export", out, "--format", "huggingface"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("it needs model.positions=Learned"), "{why}");
    let other = run(&["new", "nuclei", "--weights", "x.safetensors", "--out", temp.join("n.ron").to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("take no shape from weights"), "{other:?}");
}

#[test]
fn a_new_project_is_written_by_name() {
    let temp = TempFolder::new("new-project");
    let file = temp.join("mine.ron");
    let file = file.to_str().unwrap();
    for name in ["transformer", "kuramoto", "gpt2"] {
        ok(&run(&["new", name, "--set", "seed=7", "--out", file, "--replace"]));
        assert_eq!(json(&run(&["info", file, "--json"]))["seed"], 7, "{name}");
    }
    let unknown = run(&["new", "gpt7", "--out", file, "--replace"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there are spiking"), "{unknown:?}");
}

#[test]
fn a_dry_run_says_the_checkpoints_their_number_and_their_size() {
    let nano = example("nano.ron");
    let words = ["run", nano.to_str().unwrap(), "--dry-run", "--set", "data.grammar_bytes=20000"];
    let said = ok(&run(&[&words[..], TINY].concat()));
    let line = said.lines().find(|line| line.starts_with("// checkpoints")).unwrap_or_default();
    assert!(
        line.starts_with("// checkpoints every 10 min (automatic) and at the end, the newest 3 kept; about "),
        "{said}"
    );
    let none = ok(&run(&[&words[..], TINY, &["--set", "run.final_checkpoint=No"]].concat()));
    assert!(!none.contains("// checkpoints"), "{none}");
}
