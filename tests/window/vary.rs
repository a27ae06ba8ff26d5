//! Parameters varied from their menus: the dialog, and the experiment that it starts.

use crate::support::window;
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{Start, document::command::UiCommand},
    experiment::{ExperimentFolder, folder::Status},
    params::path,
    project::{
        self, Project, RunFolder,
        experiment::{Condition, ConditionRule, Experiment, Measure, ParameterValues, Reduction, TrialRecording},
    },
};
use neuropil_test_support::temp::TempFolder;
use std::path::{Path, PathBuf};
use window::{Window, is_built, open, start, until};

/// An example project with changes, in a folder of its own.
fn example(name: &str, changes: &[&str], experiment: Option<Experiment>) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new("vary");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(name);
    let mut project: Project = project::open(&source).expect("the example").0;
    changes.iter().for_each(|text| project.set(text, &folder).expect(text));
    project.record = vec!["spikes".into(), "rate".into()];
    project.experiment = experiment;
    let file = folder.join(name);
    project::save(&project, &file).expect("saved");
    (folder, file)
}

const SMALL: [&str; 4] = ["network.n_neurons=500", "run.device=Cpu", "run.threads=1", "run.duration_ms=60"];

fn opened(file: &Path) -> Window {
    let mut w = open(Start { path: Some(file.to_owned()), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    w
}

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

fn shows(w: &mut Window, text: &str) {
    until(w, text, |w| says(w, text));
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(3);
}

/// Chooses *Vary…* in the menu of the parameter with this path and title, on the page that opens first.
fn ask(w: &mut Window, path: &str, title: &str) {
    command(w, UiCommand::Workspace(0));
    w.get_by_label("Filter parameters").focus();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    w.run_steps(2);
    w.event(egui::Event::Text(path.into()));
    w.run_steps(3);
    until(w, "the row is drawn", |w| says(w, title));
    w.query_all_by_label_contains(title).next().expect("a row").click_secondary();
    w.run_steps(3);
    w.get_by_label("Vary…").click();
    w.run_steps(3);
}

/// Types behind the present values.
fn type_values(w: &mut Window, text: &str) {
    w.get_by_label("Values of the parameter").type_text(text);
    w.run_steps(3);
}

/// Types behind the text of a field.
fn type_into(w: &mut Window, field: &str, text: &str) {
    w.get_by_role_and_label(Role::TextInput, field).click();
    w.run_steps(3);
    w.get_by_role_and_label(Role::TextInput, field).type_text(text);
    w.run_steps(3);
}

fn ended(w: &mut Window) {
    until(w, "it ended", |w| w.state().messages().iter().any(|text| text.starts_with("Experiment finished")));
}

fn experiment(w: &Window) -> Experiment {
    w.state().session().project.experiment.clone().expect("an experiment")
}

fn values(path: &str, values: &str) -> ConditionRule {
    ConditionRule::Values(ParameterValues { path: path.into(), values: values.into() })
}

fn experiment_folder(folder: &Path) -> PathBuf {
    let runs = std::fs::read_dir(folder.join("runs")).expect("runs").flatten().map(|entry| entry.path());
    runs.filter(|path| path.join("experiment.ron").is_file()).max().expect("an experiment")
}

/// The recorded trials of the newest experiment.
fn trials(folder: &Path) -> Vec<RunFolder> {
    let entries = std::fs::read_dir(experiment_folder(folder).join("trials")).expect("trials").flatten();
    entries.map(|entry| RunFolder::open(&entry.path()).expect("a run")).collect()
}

#[test]
fn values_run_as_an_experiment_with_recorded_trials() {
    let (folder, file) = example("balanced.ron", &SMALL, None);
    let mut w = opened(&file);
    ask(&mut w, "lif.tau_m", "Membrane time const");
    type_values(&mut w, "0.03 s, 25 mV");
    assert!(w.query_by_label("Run 2").is_none(), "a wrong unit is refused");
    (0..", 25 mV".len()).for_each(|_| w.key_press(egui::Key::Backspace));
    w.run_steps(3);
    shows(&mut w, "2 trials of 60 ms: 20 ms, 30 ms");
    w.get_by_label("Run 2").click();
    ended(&mut w);
    assert_eq!(w.state().messages(), ["Experiment finished: 2 trials"]);
    let new = experiment(&w);
    assert_eq!(new.conditions, [values("lif.tau_m", "20 ms, 0.03 s")]);
    assert_eq!(
        (new.control.as_str(), new.seeds.as_str(), new.record),
        ("tau_m 20 ms", "1", TrialRecording::EveryTrial)
    );
    assert_eq!(w.state().session().history.labels().0, Some("set up the experiment"));
    shows(&mut w, "2 trials of 2 conditions  |  mean spikes (Hz)");
    shows(&mut w, "1 of 1");
    assert_eq!(trials(&folder).len(), 2);
    assert!(experiment_folder(&folder).to_string_lossy().contains("membrane-time-constant"), "named by the parameter");
    // A click on a condition lists the trials among the runs, where other series are drawn against the parameter.
    let row = w.query_all_by_label("tau_m 30 ms").max_by(|a, b| a.rect().left().total_cmp(&b.rect().left()));
    row.expect("the row").click();
    shows(&mut w, "2 of 2 runs in");
    w.get_by_label("Sweep").click();
    shows(&mut w, "against 2 values of LIF neuron › Membrane time constant");
    command(&mut w, UiCommand::Undo);
    assert_eq!(w.state().session().project.experiment, None, "undone");
}

/// Conditions that the experiment has are kept by *Add*, and replaced by *Run* with a message; undo restores them.
#[test]
fn conditions_of_the_experiment_are_not_lost() {
    let by_hand = ConditionRule::Condition(Condition { name: "unchanged".into(), ..Condition::default() });
    let measure = Measure { name: "n".into(), read: "spikes".into(), reduce: Reduction::Count, ..Measure::default() };
    let old =
        Experiment { conditions: vec![by_hand.clone()], measures: vec![measure.clone()], ..Experiment::default() };
    let (_folder, file) = example("balanced.ron", &SMALL, Some(old.clone()));
    let mut w = opened(&file);
    let fill = |w: &mut Window| {
        ask(w, "lif.tau_m", "Membrane time const");
        type_values(w, "25");
        type_into(w, "Seeds", "..2");
        shows(w, "4 trials of 60 ms: 20 ms, 25 ms, each with 2 seeds");
        shows(w, "The experiment has conditions: Run replaces them (undo restores them), Add keeps them");
    };
    fill(&mut w);
    w.get_by_label("Add to the experiment").click();
    w.run_steps(3);
    let rule = values("lif.tau_m", "20 ms, 25");
    let added = Experiment { conditions: vec![by_hand, rule.clone()], ..old.clone() };
    assert_eq!(experiment(&w), added);
    command(&mut w, UiCommand::Undo);
    assert_eq!(experiment(&w), old);
    fill(&mut w);
    w.get_by_label("Run 4").click();
    let replaced = "Replaced the conditions of the experiment. Undo restores them";
    until(&mut w, "a message says so", |w| w.state().messages().contains(&replaced));
    ended(&mut w);
    let new = experiment(&w);
    assert_eq!((new.conditions, new.measures, new.seeds.as_str()), (vec![rule], vec![measure], "1..2"));
    shows(&mut w, "4 trials of 2 conditions  |  n");
    shows(&mut w, "2 of 2");
    command(&mut w, UiCommand::Undo);
    assert_eq!(experiment(&w), old);
}

#[test]
fn two_parameters_are_a_heat_map() {
    let (_folder, file) = example("balanced.ron", &SMALL, None);
    let mut w = opened(&file);
    ask(&mut w, "lif.tau_m", "Membrane time const");
    type_values(&mut w, "25");
    w.get_by_role_and_label(Role::ComboBox, "Second parameter").click();
    w.run_steps(3);
    w.get_by_label("Filter parameters to vary").type_text("spike thre");
    w.run_steps(3);
    w.get_by_role_and_label(Role::Button, "LIF neuron › Spike threshold").click();
    w.run_steps(3);
    shows(&mut w, "LIF neuron › Spike threshold: choose at least two values");
    shows(&mut w, "1 value: -45 mV");
    w.get_by_label("Values of the second parameter").type_text("-48..-46/500");
    w.run_steps(3);
    let tau = "2 values of LIF neuron › Membrane time constant";
    shows(&mut w, &format!("1,002 trials ({tau} × 501 of LIF neuron › Spike threshold); at most 1,000"));
    (0..3).for_each(|_| w.key_press(egui::Key::Backspace));
    w.get_by_label("Values of the second parameter").type_text("2");
    w.run_steps(3);
    shows(&mut w, &format!("6 trials of 60 ms: {tau} × 3 of LIF neuron › Spike threshold"));
    shows(&mut w, "Duration unknown: no run of this length is recorded yet");
    w.get_by_label("Run 6").click();
    ended(&mut w);
    let axis = |path: &str, values: &str| ParameterValues { path: path.into(), values: values.into() };
    let grid = vec![axis("lif.tau_m", "20 ms, 25"), axis("lif.v_threshold", "-45 mV, -48..-46/2")];
    let new = experiment(&w);
    assert_eq!(
        (new.conditions, new.control.as_str()),
        (vec![ConditionRule::Grid(grid)], "tau_m 20 ms, v_threshold -45 mV")
    );
    shows(&mut w, "6 trials of 6 conditions");
    shows(&mut w, "mean spikes (Hz) by Membrane time constant (ms) and Spike threshold (mV)");
}

/// A parameter with a distribution is varied as a constant, and by the arguments of its distribution.
#[test]
fn a_parameter_with_a_distribution_is_varied() {
    let g = "network.inhibitory_count";
    let (folder, file) = example("balanced.ron", &SMALL, None);
    let mut w = opened(&file);
    ask(&mut w, g, "Synapses per inh. connection");
    type_values(&mut w, "12..24/2");
    shows(&mut w, "3 trials of 60 ms: 36, 12, 24");
    type_into(&mut w, "Name of the new experiment", "inhibition");
    w.get_by_label("Run 3").click();
    ended(&mut w);
    shows(&mut w, "3 trials of 3 conditions");
    assert_eq!(
        (experiment(&w).conditions, experiment(&w).name.as_str()),
        (vec![values(g, "36, 12..24/2")], "inhibition")
    );
    assert!(experiment_folder(&folder).ends_with("runs/0001-inhibition"));
    drop(w);

    let (folder, file) =
        example("balanced.ron", &[&SMALL[..], &["network.inhibitory_count=normal(30, 2)"]].concat(), None);
    let mut w = opened(&file);
    ask(&mut w, g, "Synapses per inh. connection");
    type_values(&mut w, "40");
    shows(&mut w, "2 trials of 60 ms: 30, 40");
    w.get_by_label("Run 2").click();
    ended(&mut w);
    let mean = format!("{g}.mean");
    assert_eq!(
        (experiment(&w).conditions, experiment(&w).control.as_str()),
        (vec![values(&mean, "30, 40")], "inhibitory_count mean 30")
    );
    let of = |run: RunFolder| {
        let project = run.project().expect("its project");
        let (id, spec) = path::find(project.model.params(), g).expect("a parameter");
        path::show(spec, &project.model.params().get(id))
    };
    let mut all: Vec<String> = trials(&folder).into_iter().map(of).collect();
    all.sort();
    assert_eq!(all, ["normal(30, 2)", "normal(40, 2)"]);
}

/// The ratio g of inhibition of Brunel's network is one varied value: the second inhibitory weight is linked to the first.
#[test]
fn g_of_the_brunel_network_is_one_varied_value() {
    let small =
        ["populations.0.size=80", "populations.1.size=20", "run.device=Cpu", "run.threads=1", "run.duration_ms=20"];
    let degrees =
        ["projections.0.rule.n=10", "projections.1.rule.n=10", "projections.2.rule.n=5", "projections.3.rule.n=5"];
    let (folder, file) = example("brunel.ron", &[&small[..], &degrees].concat(), None);
    let mut w = opened(&file);
    w.get_by_label("Filter parameters").click();
    w.run_steps(3);
    w.event(egui::Event::Text("weight".into()));
    w.run_steps(3);
    // Rows from the top: the weight interval, then the weights of E → E, E → I, I → E and I → I.
    let names = |w: &Window| w.query_all_by_label_contains("Weight").map(|n| n.rect().top()).collect::<Vec<_>>();
    let rows = |w: &Window| {
        let mut tops = names(w);
        tops.sort_by(f32::total_cmp);
        tops.dedup_by(|b, a| *b - *a < 10.0);
        tops
    };
    until(&mut w, "the rows are drawn", |w| rows(w).len() >= 5);
    let row = rows(&w)[3];
    let index = names(&w).iter().position(|top| (top - row).abs() < 10.0).expect("the weight of I → E");
    w.query_all_by_label_contains("Weight").nth(index).expect("the weight of I → E").click_secondary();
    w.run_steps(3);
    w.get_by_label("Vary…").click();
    w.run_steps(3);
    type_values(&mut w, "-0.3, -0.8");
    shows(&mut w, "3 trials of 20 ms: -0.5, -0.3, -0.8");
    w.get_by_label("Run 3").click();
    ended(&mut w);
    assert_eq!(w.state().messages(), ["Experiment finished: 3 trials"]);
    let weights = |i: usize| {
        let of = |run: RunFolder| {
            let project = run.project().expect("its project");
            let params = project.model.params();
            let (id, spec) = path::find(params, &format!("projections.{i}.weight")).expect("a weight");
            path::show(spec, &params.get(id))
        };
        let mut all: Vec<String> = trials(&folder).into_iter().map(of).collect();
        all.sort();
        all
    };
    assert_eq!(weights(2), ["-0.3", "-0.5", "-0.8"]);
    assert_eq!(weights(3), weights(2), "the linked weight follows");
    assert_eq!(weights(0), ["0.1"; 3]);
}

#[test]
fn choices_are_varied_by_their_values_and_a_failed_one_does_not_end_the_others() {
    let (_folder, file) = example("balanced.ron", &SMALL, None);
    let mut w = opened(&file);
    ask(&mut w, "lif.precision", "Precision");
    shows(&mut w, "This is a single trial: choose two values, or type two seeds");
    w.get_by_role_and_label(Role::CheckBox, "Single (f32)").click();
    shows(&mut w, "2 trials of 60 ms: Double (f64), Single (f32)");
    w.get_by_label("Cancel").click();
    w.run_steps(3);
    ask(&mut w, "network.source", "Source");
    w.get_by_role_and_label(Role::CheckBox, "Files").click();
    shows(&mut w, "2 trials of 60 ms: Files, Balanced random network");
    w.get_by_label("Run 2").click();
    ended(&mut w);
    let said = w.state().messages().join("\n");
    assert!(said.starts_with("Experiment finished: 2 trials, 1 failed: source Files ("), "{said}");
    shows(&mut w, "2 trials of 2 conditions  |  mean spikes (Hz)");
    shows(&mut w, "1 failed");
    shows(&mut w, "1 of 1");
}

/// Trials that take far longer than the test: one experiment at a time, which can be cancelled, and ends with the window.
#[test]
fn one_experiment_at_a_time_and_it_ends_with_the_window() {
    let (folder, file) = example("balanced.ron", &[&SMALL[..], &["run.duration_ms=100000000"]].concat(), None);
    let mut w = opened(&file);
    let begin = |w: &mut Window| {
        ask(w, "lif.tau_m", "Membrane time const");
        type_values(w, "25");
        w.get_by_label("Run 2").click();
    };
    begin(&mut w);
    shows(&mut w, "0 of 2 trials");
    ask(&mut w, "lif.tau_m", "Membrane time const");
    assert!(w.query_by_label("Values of the parameter").is_none(), "no second dialog");
    assert_eq!(w.state().messages(), ["An experiment is running: wait for its end, or cancel it"]);
    command(&mut w, UiCommand::CancelExperiment);
    until(&mut w, "it is cancelled", |w| {
        w.state().messages().iter().any(|text| text.starts_with("Experiment cancelled"))
    });
    let status = |folder: &Path| ExperimentFolder::open(folder).expect("a folder").manifest.status;
    let first = experiment_folder(&folder);
    assert_eq!(status(&first), Status::Interrupted);
    begin(&mut w);
    until(&mut w, "the second has begun", |_| experiment_folder(&folder) != first);
    let second = experiment_folder(&folder);
    eframe::App::on_exit(w.state_mut());
    assert_eq!(status(&second), Status::Interrupted, "the window waited for its end");
}
