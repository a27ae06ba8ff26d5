//! Named groups of the project as readouts, and sweeps that were recorded with the command line.

use crate::support::{fake_fly, stage::Stage, window};
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{
        Start,
        document::{command::UiCommand, features::KindFeatures},
    },
    engine::SimSchema,
    project::{self, Project},
    query::Named,
    sim::{Clock, ElementSet, Frame, Meaning, ProbeSpec, Reading, Shape},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use window::{Window, open, start, until};

/// A small network with two groups, whose inhibition is a parameter that may hold a distribution.
fn project(name: &str) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let text = std::fs::read_to_string(&source).expect("the example");
    let groups = r#"selections: [(name: "inhibitory ones", query: "ei = inhibitory"), (name: "first", query: "idx < 7")],
        interventions: ["#;
    let file = folder.join("balanced.ron");
    std::fs::write(&file, text.replace("interventions: [", groups)).expect("written");
    let mut project: Project = project::open(&file).expect("a project").0;
    for text in ["network.n_neurons=500", "run.device=Cpu", "run.threads=1", "run.duration_ms=60"] {
        project.set(text, &folder).expect(text);
    }
    project.record = vec!["spikes".into()];
    project::save(&project, &file).expect("saved");
    (folder, file)
}

/// Records a run as part of a sweep.
fn record(folder: &Path, file: &Path, (name, sweep): (&str, &str), set: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuropil"));
    command.args(["run", "--sweep", sweep, "--set", set, "--out"]).arg(folder.join("runs").join(name)).arg(file);
    let run = command.output().expect("neuropil");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

fn shows(w: &mut Window, text: &str) {
    until(w, text, |w| says(w, text));
}

/// The window with the runs of a project.
fn runs_of(file: PathBuf) -> Window {
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    w
}

/// Chooses in a drop-down of a toolbar, which may be behind its button of further options.
fn choose(w: &mut Window, list: &str, option: &str) {
    if w.query_by_role_and_label(Role::ComboBox, list).is_none() {
        w.query_all_by_label("More options").last().expect("more options").click();
        w.run_steps(3);
    }
    w.get_by_role_and_label(Role::ComboBox, list).click();
    w.run_steps(3);
    w.query_all_by_label_contains(option).last().expect(option).click();
    w.run_steps(3);
}

/// Clicks a tab or a row of a table.
fn click(w: &mut Window, label: &str, modifiers: egui::Modifiers) {
    let left = |node: &egui_kittest::Node<'_>| node.rect().left();
    let node = w.query_all_by_label(label).max_by(|a, b| left(a).total_cmp(&left(b))).expect(label);
    node.click_modifiers(modifiers);
    w.run_steps(3);
}

fn in_rates() {
    let mut stage = Stage::new("rates", fake_fly::schema(), (1500.0, 500.0)).headless();
    let named = |name: &str, query: &str| Named { name: name.into(), query: query.into(), ..Named::default() };
    let named = [named("Sugar GRNs", "class = gustatory"), named("live", "rate > 5 Hz")];
    stage.allow(KindFeatures { named: named.into(), ..KindFeatures::default() });
    stage.run(2);
    stage.press("from spikes");
    stage.press("Options of counted rates");
    stage.choose("Of", "named groups");
    stage.feed(4_000);
    stage.settle();
    let texts = stage.painted_texts();
    assert!(texts.iter().any(|t| t.starts_with("rate from spikes (Hz per neuron)")), "{texts:?}");
    assert!(texts.iter().any(|t| t.starts_with("Sugar") && t.ends_with("(n = 408)")), "a lane says its n: {texts:?}");
    assert!(texts.iter().any(|t| t.starts_with("live: its")), "and why it has none: {texts:?}");
}

#[test]
fn a_named_group_as_a_lane_in_rates_compare_and_sweep() {
    in_rates();
    let (folder, file) = project("groups");
    for (name, count) in [("weak", 12), ("strong", 60)] {
        record(&folder, &file, (name, "g@1"), &format!("network.inhibitory_count={count}"));
    }
    let mut w = runs_of(file);
    until(&mut w, "the runs are listed", |w| says(w, "2 of 2 runs in"));
    click(&mut w, "weak", egui::Modifiers::NONE);
    click(&mut w, "strong", egui::Modifiers::COMMAND);
    until(&mut w, "the first group is drawn", |w| says(w, "2 of 2 runs  |"));
    choose(&mut w, "Series", "Rate of inhibitory ones (Hz per neuron)");
    until(&mut w, "both are drawn", |w| says(w, "weak (n = 100)") && says(w, "strong (n = 100)"));
    assert!(says(&w, "mean of the n neurons of the group in bins of 10 ms"));
    w.get_by_label("Sweep").click();
    w.run_steps(3);
    shows(&mut w, "against 2 values of Network › Synapses per inh. connection");
    choose(&mut w, "Series", "Rate of inhibitory ones (Hz per neuron)");
    shows(&mut w, "Mean of Rate of inhibitory ones (Hz per neuron), n = 100 against 2 values");
    choose(&mut w, "Number", "highest");
    shows(&mut w, "Highest of Rate of inhibitory ones (Hz per neuron), n = 100");
}

const PROBES: &[ProbeSpec] = &[
    ProbeSpec { name: "v", title: "", docs: "", unit: "mV", shape: Shape::Series { of: "neurons" }, args: &[] },
    ProbeSpec {
        name: "v_field",
        title: "",
        docs: "",
        unit: "mV",
        shape: Shape::Field { over: "neurons", range: (-60.0, -45.0), meaning: Meaning::Number },
        args: &[],
    },
];

#[test]
fn traces_of_a_named_group_are_its_mean_with_a_band() {
    let set = ElementSet { name: "neurons", len: 50, ..ElementSet::default() };
    let schema = SimSchema { probes: PROBES, sets: vec![Arc::new(set)], ..SimSchema::default() };
    let mut stage = Stage::new("traces", schema, (1100.0, 400.0)).headless();
    let named = [Named { name: "first".into(), query: "idx < 2".into(), ..Named::default() }];
    stage.allow(KindFeatures { named: named.into(), ..KindFeatures::default() });
    stage.run(2);
    stage.press("Groups");
    stage.settle();
    assert!(stage.says("1 group: mean ± standard deviation over the n neurons"));
    assert_eq!(stage.taps().iter().map(|tap| tap.probe).collect::<Vec<_>>(), [1], "the field, without a selection");
    for step in (100..2_000).step_by(100) {
        let values = (0..50).map(|i| -50.0 + 4.0 * i as f32).collect();
        let readings = vec![(1.into(), Reading::field(values))];
        stage.absorb(Frame { clock: Clock::seconds(step, 1e-4), readings, epoch: 1, ..Frame::default() });
        stage.run(1);
    }
    stage.settle();
    let texts = stage.painted_texts();
    assert!(texts.iter().any(|t| t == "first (n = 2)"), "{texts:?}");
    assert!(texts.iter().any(|t| t == "-48 ± 2.83 mV" || t == "−48 ± 2.83 mV"), "mean and deviation: {texts:?}");
}

#[test]
fn a_sweep_is_kept_apart_from_older_ones() {
    let (folder, file) = project("apart");
    for (name, sweep, tau) in [("a", "old@1", 10), ("b", "old@1", 20), ("c", "new@2", 20), ("d", "new@2", 30)] {
        record(&folder, &file, (name, sweep), &format!("lif.tau_m={tau}ms"));
    }
    let mut w = runs_of(file);
    until(&mut w, "the runs are listed", |w| says(w, "4 of 4 runs in"));
    w.get_by_label("Sweep").click();
    w.run_steps(3);
    shows(&mut w, "2 values of LIF neuron › Membrane time constant  |  2 runs");
    w.get_by_label("Sweeps").click();
    w.run_steps(3);
    assert!(says(&w, "new · ") && says(&w, "old · "), "sweeps are listed by name");
    w.get_by_label("All runs").click();
    w.run_steps(3);
    shows(&mut w, "3 values of LIF neuron › Membrane time constant  |  3 runs");
}
