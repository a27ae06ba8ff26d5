//! Recorded runs over each other: marked in the table of runs, drawn together, with what differs.

use crate::support::{harness, window};
use egui::{Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, commands::UiCommand},
    project::{self, Project},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use window::{Window, open, start, until};

/// A small project in a folder of its own.
fn project(name: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("neuropil-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project: Project = project::open(&source).expect("the example").0;
    for text in ["network.n_neurons=500", "run.device=Cpu", "run.threads=1", "run.duration_ms=60"] {
        project.set(text, &folder).expect(text);
    }
    project.record = vec!["rate".into()];
    let file = folder.join("balanced.ron");
    project::save(&project, &file).expect("saved");
    (folder, file)
}

/// The same with two recorded runs beside it.
fn recorded() -> (PathBuf, PathBuf) {
    let (folder, file) = project("compare");
    for (name, more) in [("slow", &["--set", "lif.tau_m=31ms"][..]), ("usual", &[])] {
        let run = Command::new(env!("CARGO_BIN_EXE_neuropil"))
            .args(["run", "--out"])
            .arg(folder.join("runs").join(name))
            .args(more)
            .arg(&file)
            .output()
            .expect("neuropil");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    (folder, file)
}

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

/// Clicks a run in the table, not in the project tree at its left.
fn click(w: &mut Window, run: &str, modifiers: Modifiers) {
    let right = |node: &egui_kittest::Node<'_>| node.rect().left();
    let node = w.query_all_by_label(run).max_by(|a, b| right(a).total_cmp(&right(b))).expect(run);
    node.click_modifiers(modifiers);
    w.run_steps(3);
}

#[test]
fn marked_runs_are_drawn_with_what_differs() {
    let (folder, file) = recorded();
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    until(&mut w, "the runs are listed", |w| says(w, "2 of 2 runs in"));
    assert!(says(&w, "No run selected") && says(&w, "0 of 0 runs"));

    click(&mut w, "usual", Modifiers::NONE);
    until(&mut w, "one run is drawn", |w| says(w, "1 of 1 run  |"));
    assert!(
        says(&w, "Curves of the compared runs") && w.query_by_label("31 ms").is_none(),
        "nothing differs from itself"
    );
    click(&mut w, "slow", Modifiers::COMMAND);
    until(&mut w, "both are drawn", |w| says(w, "2 of 2 runs  |"));
    for text in ["lif.tau_m", "31 ms", "20 ms"] {
        w.get_by_role_and_label(Role::Label, text);
    }
    w.get_by_label("Lowest");
    std::fs::remove_dir_all(folder).ok();
}

/// Right-click on a parameter, values, and the runs are compared as they end.
#[test]
fn a_sweep_records_a_run_per_value_and_compares_them() {
    let (folder, file) = project("sweep");
    let program = Some(PathBuf::from(env!("CARGO_BIN_EXE_neuropil")));
    let mut w = open(Start { path: Some(file), project: None, program, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", |w| w.state().session().live.is_loaded());
    let label = |w: &Window| w.query_all_by_label_contains("Membrane time const").next().map(|node| node.rect());
    until(&mut w, "the inspector is drawn", |w| label(w).is_some());
    w.query_all_by_label_contains("Membrane time const").next().expect("a row").click_secondary();
    w.run_steps(3);
    w.get_by_label("Sweep…").click();
    w.run_steps(3);
    w.get_by_label("Values").type_text("0.03 s, 25 mV");
    w.run_steps(3);
    assert!(w.query_by_label("Run 2").is_none(), "a wrong unit is refused");
    for _ in 0..", 25 mV".len() {
        w.key_press(egui::Key::Backspace);
    }
    w.run_steps(3);
    assert!(says(&w, "2 runs of 60 ms, one after another: 20 ms, 30 ms"));
    w.get_by_label("Run 2").click();
    harness::until_within(Duration::from_secs(60), &mut w, "both ended", |w| {
        w.state().messages().iter().any(|text| text.starts_with("Sweep"))
    });
    assert_eq!(w.state().messages(), ["Sweep finished: 2 runs"]);
    until(&mut w, "both are drawn", |w| says(w, "2 of 2 runs  |"));
    w.get_by_role_and_label(Role::Label, "lif.tau_m");
    let hidden = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
    let left = std::fs::read_dir(&folder).expect("folder").flatten().map(|entry| entry.file_name()).find(hidden);
    assert_eq!(left, None, "the file of the sweep is removed");
    std::fs::remove_dir_all(folder).ok();
}
