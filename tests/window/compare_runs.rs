//! Recorded runs over each other: marked in the table of runs, drawn together, with what differs.

use crate::support::window;
use egui::{Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable};
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{self, Project},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use window::{Window, open, start, until};

/// A small project in a folder of its own.
fn project(name: &str) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new(name);
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
pub fn recorded() -> (TempFolder, PathBuf) {
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
    // An edit while it ran: the table names the values that were in force.
    let log = folder.join("runs/slow/commands.ron");
    let before = std::fs::read_to_string(&log).unwrap_or_default();
    std::fs::write(&log, before + "(300,Set(\"lif.tau_m\",Real(25.0)))\n").expect("written");
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    until(&mut w, "the runs are listed", |w| says(w, "2 of 2 runs in"));
    assert!(says(&w, "No run selected") && says(&w, "0 of 0 runs"));

    click(&mut w, "usual", Modifiers::NONE);
    until(&mut w, "one run is drawn", |w| says(w, "1 of 1 run  |"));
    assert!(
        says(&w, "Curves of the compared runs") && w.query_by_label(EDITED).is_none(),
        "nothing differs from itself"
    );
    click(&mut w, "slow", Modifiers::COMMAND);
    until(&mut w, "both are drawn", |w| says(w, "2 of 2 runs  |"));
    for text in ["LIF neuron › Membrane time constant", EDITED, "20 ms"] {
        w.get_by_role_and_label(Role::Label, text);
    }
    w.get_by_label("Lowest");
    assert!(says(&w, &format!("LIF neuron › Membrane time constant {EDITED}")), "the list of runs says the same");
}

/// Waits for a text: what was typed is checked on a thread.
fn shows(w: &mut Window, text: &str) {
    until(w, text, |w| says(w, text));
}

/// The values of an edited parameter in a run, with the time of the edit.
const EDITED: &str = "31 ms → 25 ms (30 ms)";

/// Records a run per entry as one sweep, and opens the project on the page of runs.
fn swept(folder: &Path, file: &Path, runs: &[&[&str]]) -> Window {
    for (i, sets) in runs.iter().enumerate() {
        let out = folder.join(format!("runs/{i:04}-{}", sets.join("-").replace(['=', '.', '_'], "-")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_neuropil"));
        command.args(["run", "--sweep", "taus@1"]).args(sets.iter().flat_map(|set| ["--set", set]));
        let run = command.arg("--out").arg(out).arg(file).output().expect("neuropil");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let mut w = open(Start { path: Some(file.to_owned()), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    until(&mut w, "the tab is drawn", |w| w.query_by_label("Sweep").is_some());
    w.get_by_label("Sweep").click();
    w.run_steps(3);
    w
}

/// Every value with every seed: a point with a spread each, and a row of the exported table per run.
#[test]
fn a_sweep_over_seeds_has_a_spread() {
    let (folder, file) = project("seeds");
    let runs = [
        ["lif.tau_m=20", "seed=1"],
        ["lif.tau_m=20", "seed=2"],
        ["lif.tau_m=25", "seed=1"],
        ["lif.tau_m=25", "seed=2"],
    ];
    let mut w = swept(&folder, &file, &runs.each_ref().map(|sets| &sets[..]));
    until(&mut w, "all are points", |w| says(w, "4 runs  |  mean ± standard deviation over seeds"));
    let export = w.query_all_by_label("Export").max_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    export.expect("the menu of the plot").click();
    w.run_steps(3);
    w.get_by_label("Copy as CSV").click();
    w.step();
    let commands = w.output().platform_output.commands.clone();
    let copied = commands.iter().find_map(|c| if let egui::OutputCommand::CopyText(t) = c { Some(t) } else { None });
    let rows: Vec<Vec<&str>> = copied.expect("a table").lines().map(|line| line.split(',').collect()).collect();
    let cells: Vec<&[&str]> = rows.iter().map(|row| &row[1..3]).collect();
    assert_eq!(cells, [["lif.tau_m (ms)", "seed"], ["20", "1"], ["20", "2"], ["25", "1"], ["25", "2"]]);
    assert!(rows[1][5] != rows[2][5], "seeds give other means: {rows:?}");
}

/// The plot, by the name of its picture.
fn plot(w: &Window) -> egui::Rect {
    let plots = w.query_all_by_role(Role::Image);
    let plot = plots.filter(|node| node.accesskit_node().label().is_some_and(|label| label.contains(" against ")));
    plot.map(|node| node.rect()).next().expect("the plot")
}

/// Chooses in a drop-down.
fn choose(w: &mut Window, list: &str, option: &str) {
    w.get_by_role_and_label(Role::ComboBox, list).click();
    w.run_steps(3);
    w.query_all_by_label_contains(option).last().expect(option).click();
    w.run_steps(3);
}

/// Each combination of two values is a cell; a combination without a run is missing. Choices are kept with the project.
#[test]
fn a_sweep_over_two_parameters_is_a_heat_map() {
    let (folder, file) = project("grid");
    let thresholds = ["lif.v_threshold=-45", "lif.v_threshold=-48", "lif.v_threshold=-46"];
    let runs: Vec<[&str; 2]> = thresholds.iter().flat_map(|v| [["lif.tau_m=20", v], ["lif.tau_m=25", v]]).collect();
    let mut w = swept(&folder, &file, &runs.iter().map(|sets| &sets[..]).collect::<Vec<_>>());
    until(&mut w, "all are cells", |w| says(w, "6 of 6 combinations  |  6 runs"));

    let at = plot(&w).shrink(12.0).left_top();
    w.hover_at(at);
    w.run_steps(40);
    assert!(says(&w, "Membrane time constant 20 ms, Spike threshold -45 mV"), "the upper left cell");
    w.drag_at(at);
    w.drop_at(at);
    w.run_steps(3);
    w.get_by_label("Compare runs").click();
    until(&mut w, "its run is compared", |w| says(w, "1 of 1 run  |"));
    w.get_by_label("Sweep").click();
    w.run_steps(3);
    choose(&mut w, "Number", "highest");
    until(&mut w, "the number is drawn", |w| says(w, "Highest of Population rate"));
    let (ctx, at) = (w.ctx.clone(), w.state().session().saved_at);
    w.state_mut().command(&ctx, UiCommand::Save);
    until(&mut w, "it is saved", |w| w.state().session().saved_at != at);
    drop(w);

    let runs = std::fs::read_dir(folder.join("runs")).expect("runs").flatten().map(|entry| entry.path());
    let gone = runs.filter(|path| path.to_string_lossy().contains("tau-m-25-lif-v-threshold--48")).collect::<Vec<_>>();
    assert_eq!(gone.len(), 1);
    std::fs::remove_dir_all(&gone[0]).expect("removed");
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the map is read from the runs", |w| says(w, "5 of 6 combinations  |  5 runs"));
    until(&mut w, "the choice is kept", |w| says(w, "Highest of Population rate"));
    let at = plot(&w).shrink(12.0).right_bottom();
    w.hover_at(at);
    w.run_steps(40);
    shows(&mut w, "Membrane time constant 25 ms, Spike threshold -48 mV: no run");
    choose(&mut w, "Second", "none");
    assert!(
        says(&w, "2 values of LIF neuron › Membrane time constant  |  4 runs") && !says(&w, "combinations"),
        "curves of one parameter"
    );
}

/// The menu of a run offers the formats that the run can be written in, and the message names the files with their sizes.
#[test]
fn exports_of_a_run_are_those_that_it_can_give() {
    let (folder, file) = recorded();
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    until(&mut w, "the runs are listed", |w| says(w, "2 of 2 runs in"));
    click(&mut w, "usual", Modifiers::NONE);
    let export = w.query_all_by_label("Export").min_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    export.expect("the menu of the run").click();
    w.run_steps(4);
    let is_disabled = |w: &Window, name: &str| w.get_by_label(name).accesskit_node().is_disabled();
    assert!(is_disabled(&w, "Lineage trees (.nwk)") && is_disabled(&w, "Weights (.safetensors)"));
    assert!(!is_disabled(&w, "CSV"));
    w.get_by_label("NumPy (.npz)").click();
    let exported = |w: &Window| w.state().messages().iter().any(|m| m.starts_with("Exported "));
    until(&mut w, "it is exported", exported);
    let message = w.state().messages().join("\n");
    assert!(message.contains(".npz (") && message.contains("B) to "), "{message}");
    assert!(message.contains(&folder.join("runs/usual").display().to_string()), "{message}");
    until(&mut w, "the message is drawn", |w| w.query_by_label("Show in folder").is_some());
    let refused = UiCommand::CancelExport;
    w.state_mut().command(&ctx, refused);
    assert!(w.state().messages().contains(&"No export is running"));
}
