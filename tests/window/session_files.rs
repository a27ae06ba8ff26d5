//! Files and the session: opening, playback, consent, problems, visible times, what a model does not offer.

use crate::support::{fake, window};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::Project,
    sim::*,
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use window::{Window, assign, is_built, open, set, start, until, value};

/// A project file of the fake simulation in a folder of its own.
fn saved(name: &str) -> (TempFolder, PathBuf) {
    let folder = TempFolder::new(&format!("session-{name}"));
    let file = folder.join("kept.ron");
    let project = Project { name: "Kept".into(), record: vec!["spikes".into()], ..Project::default() };
    neuropil::project::save(&project, &file).expect("saved");
    (folder, file)
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.step();
}

/// Opens a project, runs and records 200 steps.
fn record(file: &Path) -> Window {
    record_probes(file, &["spikes"])
}

/// The same with other probes than those of the file.
fn record_probes(file: &Path, probes: &[&str]) -> Window {
    let mut w = open(Start { path: Some(file.to_owned()), project: None, ..start(true) });
    until(&mut w, "it is loaded", is_built);
    w.state_mut().session_mut().project.record = probes.iter().map(|p| (*p).to_owned()).collect();
    command(&mut w, UiCommand::Record);
    until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
    // One after the other: between two steps the simulation is paused, and a step during another one ends earlier.
    for end in [100, 200] {
        command(&mut w, UiCommand::Step);
        until(&mut w, "it has run", |w| {
            w.state().session().live.clock.step >= end && !w.state().session().live.running
        });
    }
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());
    w
}

#[test]
fn saving_before_a_run_is_opened_opens_the_run() {
    let (_folder, file) = saved("save-then-open");
    let mut w = record(&file);
    set(&mut w, "lif.tau_m=31");
    until(&mut w, "the run is listed", |w| UiCommand::all(&w.state().command_state()).contains(&UiCommand::OpenRun(0)));
    command(&mut w, UiCommand::OpenRun(0));
    w.run_steps(3);
    w.get_by_label("Save").click();
    until(&mut w, "the run is open", |w| w.state().session().live.playback.is_some());
    let kept = neuropil::project::open(&file).expect("readable").0;
    assert!(format!("{:?}", kept.model).contains("tau_m: 31"), "and the changes are saved");
}

#[test]
fn a_file_of_trees_opens_in_the_lineage_view() {
    let (folder, file) = saved("trees");
    let trees = folder.join("run.nwk");
    std::fs::write(&trees, "('a':20,(2:0,#H3:0):10):10;\n('b':0,'d'#H3:10):20;\n").expect("written");
    let mut w = open(Start { path: Some(trees), project: None, ..start(true) });
    until(&mut w, "the lineage is shown", |w| w.query_by_label("Lineage of run.nwk").is_some());
    until(&mut w, "it is counted", |w| {
        let all = "4 of 4 lines  |  2 alive  |  • 1 split  |  ◆ 1 merge  |  × 0 deaths";
        w.query_by_label_contains(all).is_some()
    });
    // A file that is no tree is refused, with the place.
    std::fs::write(folder.join("bad.nwk"), "(a,b;\n").expect("written");
    let mut w = open(Start { path: Some(folder.join("bad.nwk")), project: None, ..start(true) });
    until(&mut w, "it says why", |w| w.query_by_label_contains("line 1: `,` or `)` was expected").is_some());
    drop((w, file));
}

#[test]
fn a_playback_is_read_only_and_says_so() {
    let (_folder, file) = saved("playback");
    let mut w = record(&file);
    until(&mut w, "the run is listed", |w| UiCommand::all(&w.state().command_state()).contains(&UiCommand::OpenRun(0)));
    command(&mut w, UiCommand::OpenRun(0));
    until(&mut w, "the run is open", |w| w.state().session().live.playback.is_some());
    w.state_mut().session_mut().selection.replace("neurons", vec![1, 2]);
    w.run_steps(3);
    assert!(w.query_by_label("PLAYBACK").is_some() && w.query_by_label("RECORDING").is_none());
    let slider = w.get_by_role_and_label(egui::accesskit::Role::Slider, "lif.tau_m");
    assert!(slider.accesskit_node().is_disabled(), "sliders are disabled");
    assign(&mut w, "lif.tau_m=31");
    w.run_steps(3);
    assert_eq!(value(&w, "lif.tau_m"), "20 ms", "an edit from elsewhere is reverted");
    assert!(w.state().messages().iter().any(|m| m.contains("read-only")), "{:?}", w.state().messages());
    assert!(!w.state().session().is_dirty());
}

#[test]
fn what_a_run_did_not_record_is_called_so() {
    let (_folder, file) = saved("unrecorded");
    let mut w = record_probes(&file, &["spikes", "rate"]);
    until(&mut w, "the run is listed", |w| UiCommand::all(&w.state().command_state()).contains(&UiCommand::OpenRun(0)));
    command(&mut w, UiCommand::OpenRun(0));
    w.run_steps(3);
    w.get_by_label("Discard changes").click();
    until(&mut w, "the run is open", |w| w.state().session().live.playback.is_some());
    let schema = &w.state().session().live.schema;
    let unrecorded: Vec<&str> = schema.unrecorded.iter().map(|id| schema.probes[usize::from(*id)].name).collect();
    let recorded = &w.state().session().project.record;
    assert_eq!(recorded, &["spikes", "rate"], "the run's project names what was switched on after it was loaded");
    assert!(unrecorded.contains(&"class_rates") && unrecorded.contains(&"v") && !unrecorded.contains(&"spikes"));
    w.run_steps(3);
    let n_notices = w.query_all_by_label("Not recorded").count();
    assert!(n_notices >= 2, "the panels of rates and traces say so: {n_notices}");
    assert!(w.query_by_label("No samples").is_none() && w.query_by_label("No traces").is_none());
}

#[test]
fn a_value_that_the_engine_rejected_is_no_unsaved_change() {
    let (_folder, file) = saved("rejected");
    let mut w = open(Start { path: Some(file.clone()), project: None, ..start(true) });
    until(&mut w, "it is loaded", is_built);
    assert!(!w.state().session().is_dirty());
    set(&mut w, "measure.group_by=refused");
    until(&mut w, "it is rejected", |w| !w.state().session().live.acks.rejections().is_empty());
    assert!(!w.state().session().is_dirty(), "the engine's value is that of the file");
    set(&mut w, "lif.tau_m=31");
    assert!(w.state().session().is_dirty(), "another change counts");
}

#[test]
fn saving_writes_what_the_engine_accepted_and_says_what_it_left_out() {
    let (_folder, file) = saved("left-out");
    let mut w = open(Start { path: Some(file.clone()), project: None, ..start(true) });
    until(&mut w, "it is loaded", is_built);
    let before = value(&w, "measure.group_by");
    set(&mut w, "lif.tau_m=31");
    set(&mut w, "measure.group_by=refused");
    until(&mut w, "it is rejected", |w| !w.state().session().live.acks.rejections().is_empty());
    let save = |w: &mut Window| {
        let at = w.state().session().saved_at;
        command(w, UiCommand::Save);
        until(w, "it is saved", |w| w.state().session().saved_at != at);
    };
    let in_file = |name: &str| {
        let model = neuropil::project::open(&file).expect("readable").0.model;
        let (id, spec) = neuropil::params::path::find(model.params(), name).expect("a path");
        neuropil::params::path::show(spec, &model.params().get(id))
    };
    save(&mut w);
    assert_eq!((in_file("measure.group_by"), in_file("lif.tau_m")), (before.clone(), "31 ms".into()));
    let said =
        |w: &Window| w.state().messages().iter().filter(|m| m.contains("Recording › Group by was rejected")).count();
    assert_eq!(said(&w), 1, "{:?}", w.state().messages());
    assert_eq!(value(&w, "measure.group_by"), "refused", "the inspector still shows it, as not applied");
    assert!(!w.state().session().is_dirty());

    // Saved before the engine has answered: the file is behind, and the document is unsaved until it is saved again.
    set(&mut w, &format!("measure.group_by={before}"));
    until(&mut w, "taken back", |w| w.state().session().live.acks.rejections().is_empty());
    assign(&mut w, "measure.group_by=refused");
    save(&mut w);
    until(&mut w, "it is rejected", |w| !w.state().session().live.acks.rejections().is_empty());
    assert_eq!(in_file("measure.group_by"), "refused");
    assert!(w.state().session().is_dirty());
    save(&mut w);
    assert_eq!(in_file("measure.group_by"), before);
    assert!(!w.state().session().is_dirty());
}

/// What a kind prepares may fail in a rebuild: the simulation of before stays, with what is on screen and on disk.
#[test]
fn a_rebuild_that_fails_keeps_the_project_the_frame_and_the_recording() {
    let (_folder, file) = saved("failed-rebuild");
    let failing = Arc::new(Mutex::new(false));
    let fails = failing.clone();
    let builder = move |_: &Project, scene: &BuildContext, _: &Progress| match *fails.lock().expect("lock") {
        true => Err(SimError::Input("edges.csv:12: column w: `x` is not a whole number".into())),
        false => Ok(Box::new(fake::new(scene.seed)) as Box<dyn Simulation>),
    };
    let start = Start { path: Some(file), project: None, builder: Some(Arc::new(builder)), ..start(true) };
    let mut w = open(start);
    until(&mut w, "it is loaded", is_built);
    command(&mut w, UiCommand::Record);
    until(&mut w, "it records", |w| w.state().session().live.recording.is_some());
    command(&mut w, UiCommand::Step);
    until(&mut w, "it has run", |w| w.state().session().live.clock.step > 0 && !w.state().session().live.running);
    let (step, model) = (w.state().session().live.clock.step, w.state().session().project.model.clone());
    let history = |w: &Window| w.state().session().live.schema.probes.len();
    let probes = history(&w);

    *failing.lock().expect("lock") = true;
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it has failed", |w| w.state().messages().iter().any(|m| m.contains("edges.csv:12: column w")));
    let live = &w.state().session().live;
    assert!(
        live.is_loaded() && live.recording.is_some() && live.clock.step == step && live.schema.probes.len() == probes
    );
    assert_eq!(w.state().session().project.model, model);
    command(&mut w, UiCommand::Step);
    until(&mut w, "it continues", |w| w.state().session().live.clock.step > step && !w.state().session().live.running);
    let recorded = w.state().session().live.recording.as_ref().expect("it records").folder.clone();
    command(&mut w, UiCommand::Record);
    until(&mut w, "it is recorded", |w| w.state().session().live.recording.is_none());
    let run = neuropil::project::RunFolder::open(&recorded).expect("a run");
    assert_eq!(run.manifest.status, neuropil::project::Status::Complete);
    assert_eq!(run.manifest.last_step, w.state().session().live.clock.step);
}

#[test]
fn a_file_that_cannot_be_opened_at_start_opens_nothing_else() {
    let (folder, file) = saved("broken");
    for (text, name) in [(None, "missing.ron"), (Some("(version: 1, nothing"), "broken.ron")] {
        let path = folder.join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).expect("written");
        }
        let mut w = open(Start { path: Some(path.clone()), project: None, ..start(true) });
        until(&mut w, "the error is on the page", |w| w.query_by_label(&format!("Could not open {name}")).is_some());
        assert!(w.query_by_label_contains("Run this project").is_none(), "{name}: no other project is offered");
        assert!(w.query_by_label("lif.tau_m value").is_none(), "{name}: no inspector of another project");
        command(&mut w, UiCommand::RunPause);
        w.run_steps(3);
        assert!(w.state().session().live.progress().is_none() && !w.state().session().live.is_loaded());
        assert_eq!(w.state().problems().len(), 1, "{name}: {:?}", w.state().problems());
        assert!(w.query_by_label("Examples").is_some() && w.query_by_label("Open another…").is_some());
        std::fs::copy(&file, &path).expect("mended");
        w.get_by_label("Try again").click();
        until(&mut w, "it is open", |w| w.state().session().path.as_deref() == Some(&*path));
        assert_eq!(w.state().problems(), []);
    }
}

#[test]
fn problems_are_what_is_wrong_now() {
    let failing = Arc::new(Mutex::new(true));
    let fails = failing.clone();
    let builder = move |_: &Project, scene: &BuildContext, _: &Progress| match *fails.lock().expect("lock") {
        true => Err(SimError::Input("edges.csv is missing".into())),
        false => Ok(Box::new(fake::new(scene.seed)) as Box<dyn Simulation>),
    };
    let mut w = open(Start { builder: Some(Arc::new(builder)), ..start(true) });
    w.run();
    command(&mut w, UiCommand::Stimulate);
    assert!(w.state().messages().iter().any(|m| m.contains("Nothing is selected")));
    assert_eq!(w.state().problems(), [], "a command that is not possible is no problem");
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "the build has failed", |w| w.state().session().live.error.is_some());
    assert_eq!(w.state().problems().len(), 1, "{:?}", w.state().problems());
    *failing.lock().expect("lock") = false;
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it is loaded", is_built);
    w.run_steps(2);
    assert_eq!(w.state().problems(), [], "mended");
    assert!(!w.state().messages().iter().any(|m| m.contains("Could not build")), "{:?}", w.state().messages());
}

#[test]
fn a_warning_about_a_parameter_is_a_problem_until_it_is_mended() {
    let mut w = open(start(true));
    w.run();
    assert_eq!(w.state().problems(), []);
    assign(&mut w, "lif.v_threshold=-52");
    w.run_steps(2);
    let [problem] = &w.state().problems()[..] else { panic!("{:?}", w.state().problems()) };
    assert!(problem.text.contains("not above LIF neuron › Reset potential"), "{}", problem.text);
    assert_eq!(problem.parameter.as_deref(), Some("lif.v_threshold"));
    assert!(w.query_by_label_contains("is not above LIF neuron › Reset potential").is_some(), "beside the parameter");
    w.get_by_label("1 problem").click();
    w.run_steps(3);
    w.get_by_label("Show parameter").click();
    w.run_steps(3);
    assert!(w.query_by_label("lif.v_threshold").is_some() && w.query_by_label("lif.tau_m").is_none(), "it is found");
    assign(&mut w, "lif.v_threshold=-45");
    w.run_steps(2);
    assert_eq!(w.state().problems(), [], "mended");
    assert!(w.query_by_label_contains("is not above LIF neuron › Reset potential").is_none());
}

#[test]
fn the_visible_times_belong_to_their_project() {
    let mut w = open(start(true));
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it is loaded", is_built);
    let span = |w: &Window| w.state().time().axis.line.span;
    let usual = span(&w);
    w.state_mut().zoom_time(20.0);
    w.run_steps(3);
    assert_eq!(span(&w), 20.0);
    command(&mut w, UiCommand::Rebuild);
    until(&mut w, "it is rebuilt", |w| w.state().session().live.progress().is_none());
    w.run_steps(5);
    assert_eq!(span(&w), 20.0, "a rebuild keeps the visible times");
    let before = w.state().session().project.clone();
    command(&mut w, UiCommand::New("spiking"));
    assert_ne!(w.state().session().project, before, "the document is replaced at once");
    until(&mut w, "the next project is loaded", |w| {
        let live = &w.state().session().live;
        live.progress().is_none() && !live.schema.probes.is_empty()
    });
    w.run_steps(5);
    assert_eq!(span(&w), usual, "another project has its own");
}

#[test]
fn toasts_leave_the_inspector_and_the_timeline_free() {
    let mut w = open(start(true));
    w.run();
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    command(&mut w, UiCommand::RunPause);
    command(&mut w, UiCommand::Stimulate);
    w.run_steps(3);
    let toast = w.get_by_label("Close message").rect();
    for panel in ["Inspector", "Timeline"] {
        let area = w
            .get_all_by_role(egui::accesskit::Role::Pane)
            .find(|n| n.accesskit_node().label().as_deref() == Some(panel));
        if let Some(area) = area {
            assert!(!area.rect().intersects(toast), "{panel} is covered: {:?} by {toast:?}", area.rect());
        }
    }
}

#[test]
fn files_outside_the_folder_of_a_project_are_asked_for_once() {
    let (folder, file) = saved("outside");
    let mut project = neuropil::project::open(&file).expect("readable").0;
    project.set("network.path=/etc/hosts", &folder).expect("a path");
    neuropil::project::save(&project, &file).expect("saved");
    let state = folder.join("state");
    let start = || Start { path: Some(file.clone()), project: None, state_dir: Some(state.clone()), ..start(false) };
    let mut w = open(start());
    until(&mut w, "it asks", |w| w.query_by_label("Do not open").is_some());
    assert!(w.query_by_label_contains("/etc/hosts").is_some() && w.state().session().path.is_none());
    w.get_by_label("Do not open").click();
    until(&mut w, "it is not opened", |w| w.query_by_label("Could not open kept.ron").is_some());
    w.get_by_label("Try again").click();
    until(&mut w, "it asks again", |w| w.query_by_label("Allow and open").is_some());
    w.get_by_label("Allow and open").click();
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    until(&mut w, "the answer is saved", |_| state.join("consent.ron").exists());
    drop(w);
    let mut w = open(start());
    until(&mut w, "it is open without a question", |w| w.state().session().path.is_some());
}

#[test]
fn files_outside_the_folder_of_a_run_are_asked_for_once() {
    let folder = TempFolder::new("outside-run");
    let mut project = Project::default();
    project.set("network.path=/etc/hosts", &folder).expect("a path");
    neuropil::project::save(&project, &folder.join("project.ron")).expect("saved");
    let manifest = "(format: 1, kind: \"spiking\", status: Complete, base: \"/etc\")";
    std::fs::write(folder.join("run.ron"), manifest).expect("written");
    let mut w = open(start(true));
    w.run();
    command(&mut w, UiCommand::Replay(folder.to_path_buf()));
    w.run_steps(3);
    assert!(w.query_by_label_contains("/etc/hosts").is_some() && w.query_by_label("Do not replay").is_some());
    w.get_by_label("Allow and replay").click();
    w.run_steps(3);
    command(&mut w, UiCommand::Replay(folder.to_path_buf()));
    w.run_steps(3);
    assert!(w.query_by_label("Do not replay").is_none(), "asked once");
    drop(w);
    let mut w = open(Start { path: Some(folder.to_path_buf()), project: None, ..start(true) });
    until(&mut w, "it asks", |w| w.query_by_label("Do not open").is_some());
    assert!(w.query_by_label_contains("The run reads files outside its folder").is_some());
    w.get_by_label("Allow and open").click();
    until(&mut w, "it is open", |w| w.state().session().live.playback.is_some());
}

/// Values that other views tap already are sampled for a filter that is typed while the simulation is paused.
#[test]
fn a_filter_over_a_field_works_while_paused() {
    let mut w = open(start(true));
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 0);
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it is paused", |w| !w.state().session().live.running);
    for view in ["table", "filter"] {
        command(&mut w, UiCommand::ShowView(view));
        w.run_steps(6);
    }
    w.get_by_label("Filter query").focus();
    w.run_steps(2);
    w.event(egui::Event::Text("rate >= 0 Hz".into()));
    until(&mut w, "the filter is evaluated", |w| {
        w.query_by_label_contains("Sampling").is_none() && w.query_by_label_contains(" shown of ").is_some()
    });
    assert!(!w.state().session().live.running);
}

/// The first of the README's first steps.
#[test]
fn space_on_the_home_page_runs_and_shows_the_project() {
    let mut w = open(Start { project: None, ..start(true) });
    w.run();
    assert!(w.query_by_label_contains("Click an example").is_some(), "the home page");
    w.key_press(egui::Key::Space);
    until(&mut w, "it runs", |w| w.state().session().live.running);
    w.run_steps(2);
    assert!(w.query_by_label_contains("Click an example").is_none(), "the run is shown");
    assert!(w.query_by_label("lif.tau_m").is_some());
}

/// The Lineage view of a model without turnover, and the synaptic drive of leaky units, are not offered.
#[test]
fn what_a_model_does_not_use_is_not_offered() {
    let model = |changes: &[&str], kind: &str| {
        let mut project =
            Project { model: neuropil::kinds::Model::by_name(kind).expect("a kind"), ..Project::default() };
        changes.iter().for_each(|change| drop(project.set(change, std::path::Path::new("."))));
        project
    };
    let fixed = ["population.k_worst=0", "population.m_fuse=0", "population.death_rate=0", "population.n_start=16"];
    for (project, absent, present) in [
        (model(&fixed, "nuclei"), "Record Lineage", "Record Population"),
        (model(&["population.n_start=16"], "nuclei"), "", "Record Lineage"),
        (model(&["network.model=NoisyLeaky"], "spiking"), "Record Synaptic drive (traces)", "Record Spikes"),
        (model(&[], "spiking"), "", "Record Synaptic drive (traces)"),
    ] {
        let mut project = project;
        project.record.clear();
        let mut w = open(Start { project: Some(project), ..start(true) });
        w.run_steps(3);
        assert!(w.query_by_label(present).is_some(), "{present}");
        assert!(absent.is_empty() || w.query_by_label(absent).is_none(), "{absent}");
    }
}
