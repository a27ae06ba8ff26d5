//! Experiments in the window: edited, run, compared, drawn and exported.

use crate::support::window;
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{
        self, Project,
        experiment::{Condition, ConditionChange, ConditionRule, Experiment, Measure, ParameterValues, TrialRecording},
    },
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use window::{Window, is_built, open, start, until};

/// A network of 200 neurons with a named group and a short run.
fn project(name: &str, experiment: Option<Experiment>) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project: Project = project::open(&source).expect("the example").0;
    for text in ["network.n_neurons=200", "run.device=Cpu", "run.threads=1", "run.duration_ms=30"] {
        project.set(text, &folder).expect(text);
    }
    let params = project.model.params_mut();
    neuropil::app::document::interventions::add_set(params, "idx < 100", "half", "").expect("a group");
    project.experiment = experiment;
    let file = folder.join("balanced.ron");
    project::save(&project, &file).expect("saved");
    (folder, file)
}

fn rate() -> Measure {
    Measure { name: "rate".into(), read: "spikes".into(), ..Measure::default() }
}

fn opened(file: &Path) -> Window {
    let mut w = open(Start { path: Some(file.to_owned()), project: None, builder: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(4));
    w.run_steps(3);
    w
}

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

fn shows(w: &mut Window, text: &str) {
    until(w, text, |w| says(w, text));
}

/// Clicks the lowest node with a label, and counts the click.
fn click(w: &mut Window, label: &str, n_clicks: &mut u32) {
    let node = w.query_all_by_label(label).max_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    node.unwrap_or_else(|| panic!("`{label}`")).click();
    *n_clicks += 1;
    w.run_steps(4);
}

fn ended(w: &mut Window) {
    until(w, "it ended", |w| w.state().messages().iter().any(|text| text.starts_with("Experiment finished")));
}

fn experiment_folder(folder: &Path) -> PathBuf {
    let runs = std::fs::read_dir(folder.join("runs")).expect("runs").flatten().map(|entry| entry.path());
    runs.filter(|path| path.join("experiment.ron").is_file()).max().expect("an experiment")
}

/// Trials with and without silencing, with mean, error and figure, in at most 12 clicks. Seeds and measure have useful defaults.
#[test]
fn ten_trials_with_and_without_silencing_take_few_clicks() {
    let (folder, file) = project("silencing", None);
    let mut w = open(Start { path: Some(file), project: None, builder: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    let mut n_clicks = 0;
    click(&mut w, "Workspace Experiment", &mut n_clicks);
    w.get_by_role_and_label(Role::Button, "Silence").click();
    w.run_steps(4);
    // The project tree at its left and the inspector at its right also list the group.
    let is_in_editor = |x: f32| (240.0..500.0).contains(&x);
    let entry = w.query_all_by_label("half").find(|node| is_in_editor(node.rect().left()));
    entry.expect("the group in the menu").click();
    w.run_steps(4);
    shows(&mut w, "20 trials of 2 conditions");
    w.get_by_role_and_label(Role::Button, "Start").click();
    n_clicks += 3;
    ended(&mut w);
    shows(&mut w, "20 trials of 2 conditions  |  mean spikes (Hz)");
    for text in ["silence half", "10 of 10", "paired t", "control"] {
        shows(&mut w, text);
    }
    shows(&mut w, "mean and 95 % interval (Student’s t)");
    click(&mut w, "Figure…", &mut n_clicks);
    assert!(w.query_all_by_label("Width (mm)").next().is_some(), "the dialog of the figure");
    assert!(n_clicks <= 12, "{n_clicks} clicks");
    let results = experiment_folder(&folder).join("results.csv");
    assert_eq!(std::fs::read_to_string(results).expect("the table").lines().count(), 21);
}

/// Values of a parameter, sorted by the size of the difference; the control is first.
#[test]
fn the_table_is_sorted_by_effect_and_edits_are_undone() {
    let values = ParameterValues { path: "lif.tau_m".into(), values: "21, 40, 25 ms".into() };
    let experiment = Experiment {
        conditions: vec![ConditionRule::Values(values)],
        measures: vec![rate()],
        seeds: "1..3".into(),
        ..Experiment::default()
    };
    let (_folder, file) = project("order", Some(experiment.clone()));
    let mut w = opened(&file);
    shows(&mut w, "12 trials of 4 conditions");
    w.get_by_label("Seeds of the experiment").click();
    w.run_steps(3);
    w.get_by_label("Seeds of the experiment").type_text("0");
    until(&mut w, "it is a step", |w| w.state().session().history.labels().0 == Some("edit the experiment"));
    let seeds = |w: &Window| w.state().session().project.experiment.as_ref().map(|e| e.seeds.clone());
    assert_eq!(seeds(&w).as_deref(), Some("1..30"));
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Undo);
    w.run_steps(3);
    assert_eq!(w.state().session().project.experiment.as_ref(), Some(&experiment), "undone");
    shows(&mut w, "12 trials of 4 conditions");
    w.get_by_role_and_label(Role::Button, "Start").click();
    ended(&mut w);
    shows(&mut w, "12 trials of 4 conditions  |  rate (Hz)");
    // Names that also stand in the editor are at the left of the table.
    let top = |w: &Window, name: &str| {
        let rects = w.query_all_by_label(name).map(|node| node.rect()).filter(|rect| rect.left() > 500.0);
        rects.map(|rect| rect.top()).min_by(f32::total_cmp)
    };
    until(&mut w, "the rows are drawn", |w| top(w, "tau_m 40 ms").is_some());
    let order: Vec<Option<f32>> =
        ["control", "tau_m 40 ms", "tau_m 25 ms", "tau_m 21 ms"].iter().map(|name| top(&w, name)).collect();
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "by the size of the difference: {order:?}");
}

/// A table with a damaged row names the row, and the other rows are shown. A missing trial can be run.
#[test]
fn a_damaged_table_is_shown_with_its_error() {
    let silenced = ConditionRule::Condition(Condition {
        name: "silenced".into(),
        changes: vec![ConditionChange::Silence("half".into())],
        ..Condition::default()
    });
    let experiment = Experiment {
        conditions: vec![silenced],
        measures: vec![rate()],
        seeds: "1..3".into(),
        ..Experiment::default()
    };
    let (folder, file) = project("damaged", Some(experiment));
    let run = Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--experiment", "--out"])
        .arg(folder.join("runs/0001-a"))
        .arg(&file)
        .output()
        .expect("neuropil");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let results = folder.join("runs/0001-a/results.csv");
    let text = std::fs::read_to_string(&results).expect("the table");
    let mut lines: Vec<&str> = text.lines().collect();
    assert!(lines[6].starts_with("silenced,3,rate,"), "{text}");
    lines[6] = "silenced,3,rate,4x,0a,run";
    std::fs::write(&results, lines.join("\n") + "\n").expect("written");
    let mut w = opened(&file);
    shows(&mut w, "results.csv line 7: value `4x` is not a number");
    shows(&mut w, "1 damaged row left out");
    shows(&mut w, "3 of 3");
    shows(&mut w, "2 of 3");
    std::fs::write(folder.join("runs/0001-a/experiment.ron"), "(").expect("written");
    shows(&mut w, "Experiment unreadable");
}

/// Conditions are added where parameters and groups are listed.
#[test]
fn a_parameter_is_varied_from_its_menu() {
    let (_folder, file) = project("vary", None);
    let mut w = opened(&file);
    until(&mut w, "the inspector is drawn", |w| says(w, "Membrane time const"));
    w.query_all_by_label_contains("Membrane time const").next().expect("a row").click_secondary();
    w.run_steps(3);
    w.get_by_label("Vary…").click();
    w.run_steps(3);
    w.get_by_label("Values of the parameter").type_text("30");
    shows(&mut w, "2 trials of 30 ms: 20 ms, 30 ms");
    w.get_by_label("Add to the experiment").click();
    w.run_steps(3);
    let experiment = w.state().session().project.experiment.clone().expect("an experiment");
    let rule = ConditionRule::Values(ParameterValues { path: "lif.tau_m".into(), values: "20 ms, 30".into() });
    assert_eq!((experiment.conditions, experiment.measures.len()), (vec![rule], 1));
    assert_eq!(w.state().messages(), ["Added to the experiment. Undo removes it"]);
    shows(&mut w, "Values of a parameter");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Undo);
    w.run_steps(3);
    assert_eq!(w.state().session().project.experiment, None, "undone");
}

fn choose(w: &mut Window, list: &str, entry: &str) {
    // The results are read in the background, and the toolbar is empty until they are there.
    until(w, list, |w| w.query_by_role_and_label(Role::ComboBox, list).is_some());
    w.get_by_role_and_label(Role::ComboBox, list).click();
    w.run_steps(3);
    until(w, entry, |w| says(w, entry));
    w.query_all_by_label_contains(entry).last().expect(entry).click();
    w.run_steps(4);
}

/// Recorded trials are drawn over time, with a band over the trials of each condition.
#[test]
fn recorded_trials_have_time_courses() {
    let experiment = Experiment {
        conditions: vec![ConditionRule::Values(ParameterValues {
            path: "lif.tau_m".into(),
            values: "21, 40 ms".into(),
        })],
        measures: vec![rate()],
        seeds: "1..3".into(),
        record: TrialRecording::EveryTrial,
        ..Experiment::default()
    };
    let (folder, file) = project("courses", Some(experiment));
    let run = Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--experiment", "--out"])
        .arg(folder.join("runs/0001-a"))
        .arg(&file)
        .output()
        .expect("neuropil");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut w = opened(&file);
    shows(&mut w, "9 trials of 3 conditions");
    choose(&mut w, "Plot", "Time course");
    shows(&mut w, "3 of 3 conditions with 3 trials each");
    shows(&mut w, "mean and 95 % interval (Student’s t) in bins of 10 ms");
    shows(&mut w, "Rate of all neurons (Hz per neuron) of 3 conditions over time");
    choose(&mut w, "Of", "half");
    shows(&mut w, "Rate of half (Hz per neuron) of 3 conditions over time");
    choose(&mut w, "Of", "selection");
    shows(&mut w, "Select neurons to see their rate");
    for name in ["Trials", "Figure…"] {
        shows(&mut w, name);
    }
}
