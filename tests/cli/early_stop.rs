//! The state with the lowest held-out loss is kept, and a run ends when the loss no longer improves.

use crate::program::{example, ok, run};
use neuropil::project::RunFolder;
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path};

/// A model that does not learn, so that its first held-out loss, at step 2, remains the lowest.
const CONSTANT: &[&str] = &[
    "--set=model.layers=1",
    "--set=model.heads=2",
    "--set=model.width=16",
    "--set=model.context=16",
    "--set=training.batch=2",
    "--set=training.learning_rate=0",
    "--set=measure.held_out_every=2",
    "--set=run.final_checkpoint=No",
    "--device=cpu",
    "--threads=1",
];

fn train(out: &Path, text: &Path, words: &[&str]) -> RunFolder {
    let (project, set) = (example("nano.ron"), format!("--set=data.text={}", text.display()));
    let fixed = ["run", project.to_str().unwrap(), &set, "--out", out.to_str().unwrap()];
    ok(&run(&[&fixed[..], CONSTANT, words].concat()));
    RunFolder::open(out).expect("a run")
}

fn steps(run: &RunFolder) -> Vec<u64> {
    run.manifest.checkpoints.iter().map(|info| info.step).collect()
}

#[test]
fn a_run_ends_without_improvement_and_continues_at_its_best_state() {
    let temp = TempFolder::new("early");
    let text = temp.join("text.txt");
    fs::write(&text, "a small text, of a few words.\n".repeat(60)).unwrap();
    let early = train(&temp.join("early"), &text, &["--duration=100steps", "--stop-early=3"]);
    assert!(early.is_complete());
    assert_eq!((early.manifest.last_step, steps(&early), early.best_step()), (8, vec![2], Some(2)));
    let path = early.path.to_str().unwrap();
    let info: serde_json::Value = serde_json::from_str(&ok(&run(&["info", path, "--json"]))).unwrap();
    assert_eq!((&info["best_step"], &info["checkpoints"][0]["best"]["step"]), (&2.into(), &2.into()), "{info}");
    let said = ok(&run(&["info", path]));
    assert!(said.contains(", the best: held_out ") && said.contains("ends the run after 3 values"), "{said}");
    // A run that was interrupted after one value that is not lower ends at the same step.
    let out = temp.join("resumed");
    let first = train(&out, &text, &["--duration=4steps", "--stop-early=3", "--checkpoint-every=4steps"]);
    assert_eq!(steps(&first), [2, 4]);
    let resume = ["run", "--resume", out.to_str().unwrap(), "--duration=100steps", "--device=cpu", "--allow-outside"];
    ok(&run(&resume));
    let resumed = RunFolder::open(&out).expect("a run");
    assert_eq!((resumed.manifest.last_step, resumed.best_step()), (8, Some(2)));
    assert_eq!(resumed.manifest.digest, early.manifest.digest);
    // A new run begins at the best state.
    let branch = temp.join("branch");
    let words = ["run", "--branch", path, "--at", "best", "--duration=10steps", "--set=run.stop_early=0"];
    ok(&run(&[&words[..], &["--device=cpu", "--allow-outside", "--out", branch.to_str().unwrap()]].concat()));
    let branch = RunFolder::open(&branch).expect("a run");
    assert_eq!((branch.manifest.first_step, branch.manifest.last_step), (2, 10));
    assert_eq!(branch.best_step(), None, "it keeps no best state");
}

#[test]
fn kinds_without_a_held_out_loss_refuse_to_stop_early() {
    let temp = TempFolder::new("early-spiking");
    let project = example("balanced.ron");
    let out = temp.join("run");
    let done = run(&["run", project.to_str().unwrap(), "--stop-early=3", "--out", out.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && said.contains("no held-out loss by which --stop-early"), "{said}");
}
