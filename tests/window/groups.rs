//! Named groups of the project as readouts, and sweeps over any parameter.

use crate::support::{fake_fly, stage::Stage, window};
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{
        Start,
        document::{command::UiCommand, features::KindFeatures},
    },
    engine::SimSchema,
    project::{self, Project, RunFolder},
    query::Named,
    sim::{Clock, ElementSet, Frame, Meaning, ProbeSpec, Reading, Shape},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use window::{Window, is_built, open, start, until};

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

/// Types into the filter of the inspector.
fn filter_parameters(w: &mut Window, text: &str) {
    w.get_by_label("Filter parameters").click();
    w.run_steps(3);
    w.event(egui::Event::Text(text.into()));
    w.run_steps(3);
}

/// Opens the dialog of a sweep over the parameter with this title.
fn ask_sweep(w: &mut Window, name: &str, title: &str) {
    filter_parameters(w, name);
    until(w, "the row is drawn", |w| says(w, title));
    w.query_all_by_label_contains(title).next().expect("a row").click_secondary();
    w.run_steps(3);
    w.get_by_label("Sweep…").click();
    w.run_steps(3);
}

fn ended(w: &mut Window) {
    until(w, "all ended", |w| w.state().messages().iter().any(|text| text.starts_with("Sweep")));
}

#[test]
fn a_swept_g() {
    let (folder, file) = project("g");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_neuropil"));
    let mut w = open(Start { path: Some(file), project: None, program: Some(program), ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    ask_sweep(&mut w, "inhibitory_count", "Synapses per inh. connection");
    w.get_by_label("Values").type_text("12..24/2");
    w.run_steps(3);
    shows(&mut w, "3 runs of 60 ms, one after another: 36, 12, 24");
    w.get_by_label("Name of the sweep").click();
    w.run_steps(3);
    w.get_by_label("Name of the sweep").type_text("inhibition");
    w.run_steps(3);
    w.get_by_label("Run 3").click();
    ended(&mut w);
    assert_eq!(w.state().messages(), ["Sweep finished: 3 runs"]);
    shows(&mut w, "against 3 values of Network › Synapses per inh. connection");
    shows(&mut w, "3 values of Network › Synapses per inh. connection  |  3 runs");
    let sweeps: Vec<String> = std::fs::read_dir(folder.join("runs"))
        .expect("runs")
        .map(|entry| RunFolder::open(&entry.expect("an entry").path()).expect("a run").manifest.sweep)
        .collect();
    assert!(sweeps.len() == 3 && sweeps.iter().all(|name| *name == sweeps[0] && name.starts_with("inhibition@")));
}

/// The ratio g of inhibition of Brunel's network is one swept value: the second inhibitory weight is linked to the first.
#[test]
fn g_of_the_brunel_network_is_one_swept_value() {
    let folder = TempFolder::new("brunel");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/brunel.ron");
    let file = folder.join("brunel.ron");
    let mut project: Project = project::open(&source).expect("a project").0;
    let small =
        ["populations.0.size=80", "populations.1.size=20", "run.device=Cpu", "run.threads=1", "run.duration_ms=20"];
    let degrees =
        ["projections.0.rule.n=10", "projections.1.rule.n=10", "projections.2.rule.n=5", "projections.3.rule.n=5"];
    small.iter().chain(&degrees).for_each(|text| project.set(text, &folder).expect(text));
    project::save(&project, &file).expect("saved");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_neuropil"));
    let mut w = open(Start { path: Some(file), project: None, program: Some(program), ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    filter_parameters(&mut w, "weight");
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
    w.get_by_label("Sweep…").click();
    w.run_steps(3);
    w.get_by_label("Values").type_text("-0.3, -0.8");
    w.run_steps(3);
    w.get_by_label("Run 3").click();
    ended(&mut w);
    let weights = |i: usize| {
        let of = |entry: std::io::Result<std::fs::DirEntry>| {
            let run = RunFolder::open(&entry.expect("an entry").path()).expect("a run");
            let project = run.project().expect("its project");
            let params = project.model.params();
            let (id, spec) =
                neuropil::params::path::find(params, &format!("projections.{i}.weight")).expect("a weight");
            neuropil::params::path::show(spec, &params.get(id))
        };
        let mut all: Vec<String> = std::fs::read_dir(folder.join("runs")).expect("runs").map(of).collect();
        all.sort();
        all
    };
    assert_eq!(weights(2), ["-0.3", "-0.5", "-0.8"]);
    assert_eq!(weights(3), weights(2), "the linked weight follows");
    assert_eq!(weights(0), ["0.1"; 3]);
}

#[test]
fn choices_and_switches_are_swept_by_their_values() {
    let (_folder, file) = project("choices");
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    ask_sweep(&mut w, "precision", "Precision");
    shows(&mut w, "A sweep has at least two runs: choose two values, or type two seeds");
    w.get_by_role_and_label(Role::CheckBox, "Single (f32)").click();
    w.run_steps(3);
    shows(&mut w, "2 runs of 60 ms, one after another: Double (f64), Single (f32)");
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

/// One of the runs fails: the program of the sweep ends with an error for one value.
#[cfg(unix)]
#[test]
fn a_failed_run_does_not_end_a_sweep() {
    let (folder, file) = project("failed");
    let (text, program) = (folder.join("script"), folder.join("program"));
    let binary = env!("CARGO_BIN_EXE_neuropil");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'tau_m=25 ms'*) echo 'no power' >&2; exit 3;; esac\nexec '{binary}' \"$@\"\n"
    );
    std::fs::write(&text, script).expect("a script");
    assert!(Command::new("install").args(["-m", "755"]).args([&text, &program]).status().expect("coreutils").success());
    let mut w = open(Start { path: Some(file), project: None, program: Some(program), ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    ask_sweep(&mut w, "tau_m", "Membrane time const");
    w.get_by_label("Values").type_text("25, 30");
    w.run_steps(3);
    w.get_by_label("Run 3").click();
    ended(&mut w);
    assert_eq!(w.state().messages(), ["Sweep finished: 2 of 3 runs. Failed: Membrane time constant 25 ms (no power)"]);
    shows(&mut w, "1 run failed: Membrane time constant 25 ms (no power)");
    assert_eq!(std::fs::read_dir(folder.join("runs")).expect("runs").count(), 2, "no empty folder is left");
}
