//! The first steps of a new user: open an example, run, stimulate a class, silence a neuron, see the effect, undo, save,
//! reopen. The window's recordings equal those of `neuropil run`.

use crate::support::window;
use egui::Key;
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{self, Project, RunFolder},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use window::{Window, is_built, open, start, until};

/// An example of its own folder, small enough for a test.
fn example() -> (TempFolder, PathBuf) {
    let folder = TempFolder::new("newcomer");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project = project::open(&source).expect("the example").0;
    for text in ["network.n_neurons=1000", "run.device=Cpu", "run.threads=1", "seed=5"] {
        project.set(text, &folder).expect(text);
    }
    project.record = vec!["spikes".into()];
    let file = folder.join("balanced.ron");
    project::save(&project, &file).expect("saved");
    (folder, file)
}

fn headless(file: &Path, out: &Path) -> serde_json::Value {
    let run = Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--json", "--device", "cpu", "--threads", "1", "--duration", "100ms", "--out"])
        .args([out, file])
        .output()
        .expect("neuropil");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).expect("json")
}

/// From step 0, recorded, a thousand steps: the run folder's manifest.
fn record_a_thousand(w: &mut Window) -> RunFolder {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Rebuild);
    until(w, "it is built anew", |w| w.state().session().live.progress().is_none());
    until(w, "at step 0", |w| w.state().session().live.clock.step == 0);
    w.get_by_label("Record").click();
    until(w, "it records", |w| w.state().session().live.recording.is_some());
    w.state_mut().command(&ctx, UiCommand::StepMore);
    until(w, "a thousand steps are done", |w| {
        w.state().session().live.clock.step == 1000 && !w.state().session().live.running
    });
    w.state_mut().command(&ctx, UiCommand::Record);
    until(w, "it is on disk", |w| w.state().session().live.recording.is_none());
    let runs = w.state().session().runs_folder();
    let mut folders: Vec<PathBuf> = std::fs::read_dir(runs).expect("runs").flatten().map(|e| e.path()).collect();
    folders.sort();
    RunFolder::open(folders.last().expect("a run")).expect("readable")
}

fn spikes(run: &RunFolder) -> u64 {
    let totals = &run.manifest.digest.totals;
    totals.iter().find(|(name, _)| name == "spikes").map_or(0, |(_, n)| *n)
}

#[test]
fn the_first_ten_minutes() {
    let (folder, file) = example();
    let mut w = open(Start { path: Some(file.clone()), builder: None, ..start(true) });
    until(&mut w, "the example is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    // The run bar's; panels that are empty offer one as well.
    w.query_all_by_label("Run").next().expect("a button").click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);

    let before = record_a_thousand(&mut w);
    let said = headless(&file, &folder.join("headless-1"));
    assert_eq!(said["hash"], before.manifest.digest.hash, "the window records what the command line records");

    // Stimulate a class: the excitatory neurons come first.
    w.state_mut().session_mut().selection.replace("neurons", (0..200).collect());
    w.run_steps(5); // the card has its height
    w.get_by_label("Stimulate").click();
    until(&mut w, "there is a stimulus", |w| w.query_by_label("Remove Stimulate 200 neurons").is_some());
    let driven = record_a_thousand(&mut w);
    assert!(spikes(&driven) > spikes(&before) * 3 / 2, "{} after {}", spikes(&driven), spikes(&before));

    // Silence one of them.
    w.state_mut().session_mut().selection.replace("neurons", vec![7]);
    w.run_steps(5);
    w.get_by_label("Silence").click();
    w.step();
    let silenced = record_a_thousand(&mut w);
    assert_ne!(spikes(&silenced), spikes(&driven), "one neuron less is seen in the count");

    // Take the silencing back, and it is as before.
    w.get_by_label("Undo").click();
    w.step();
    w.run_steps(5);
    let refused: Vec<String> =
        w.state().messages().iter().filter(|m| m.contains("Could not apply")).map(|m| (*m).to_owned()).collect();
    assert_eq!(refused, [""; 0], "the stimulus lets go of its target before the target goes");
    let undone = record_a_thousand(&mut w);
    assert_eq!(undone.manifest.digest, driven.manifest.digest, "undone is as if it had never been");

    w.key_press_modifiers(egui::Modifiers::COMMAND, Key::S);
    until(&mut w, "it is saved", |w| !w.state().session().is_dirty());
    let said = headless(&file, &folder.join("headless-2"));
    assert_eq!(said["hash"], undone.manifest.digest.hash, "what was saved is what was seen");
    let kept = Project { workspace: None, ..w.state().session().project.clone() };

    // Anybody can have it again from its folder alone.
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Replay(undone.path.clone()));
    until(&mut w, "it was run again", |w| w.state().messages().iter().any(|m| m.contains(": identical")));
    drop(w);

    let mut w = open(Start { path: Some(file), ..start(false) });
    until(&mut w, "it is open again", |w| w.state().session().path.is_some());
    assert_eq!(w.state().session().project, kept);
    drop(w);
}
