//! Exports with a form, and SONATA circuits as input.

use crate::{
    compare_runs::recorded,
    support::window::{Window, open, start, until},
};
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable};
use neuropil::{
    app::{Start, document::command::UiCommand},
    export::Format,
    kinds::Model,
};
use std::path::Path;

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

/// Opens the form of the last run of the project.
fn open_form(w: &mut Window) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(3));
    until(w, "the runs are listed", |w| says(w, "2 of 2 runs in"));
    w.state_mut().command(&ctx, UiCommand::Export(Format::Nwb));
    until(w, "the form is open", |w| w.query_by_label("Export as NWB").is_some());
}

/// The form refuses an age in words, and the accepted one is in the attributes of the subject.
#[test]
fn nwb_asks_for_the_subject_and_writes_it() {
    let (folder, file) = recorded();
    let mut w = open(Start { path: Some(file), project: None, config_dir: Some(folder.join("config")), ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    open_form(&mut w);
    assert!(says(&w, "nwbinspector reports a file without Subject, Species, Sex, Age"));
    w.get_by_label("Age").focus();
    w.run_steps(2);
    w.get_by_label("Age").type_text("90 days");
    w.run_steps(3);
    assert!(says(&w, "an ISO 8601 duration expected, e.g. P5D"));
    let export = |w: &Window| w.get_by_label("Export NWB").accesskit_node().is_disabled();
    assert!(export(&w), "an entry has another form");
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.get_by_label("Age").type_text("P90D");
    w.run_steps(3);
    assert!(!export(&w) && says(&w, "a file without Subject, Species, Sex;"));
    w.key_press(Key::F1);
    w.run_steps(3);
    assert!(says(&w, "PyNWB with hdmf-zarr"), "F1 describes the format");
    w.get_by_label("Back to the fields").click();
    w.run_steps(3);
    w.get_by_label("Export NWB").click();
    until(&mut w, "it is exported", |w| w.state().messages().iter().any(|m| m.starts_with("Exported ")));
    let exported = std::fs::read_dir(folder.join("runs")).expect("runs").flatten().map(|run| run.path());
    let exported: Vec<_> = exported.map(|run| run.join("recording.nwb.zarr")).filter(|path| path.is_dir()).collect();
    let subject = exported.first().expect("an export").join("general/subject");
    let age = std::fs::read(subject.join("age/0")).expect("a chunk");
    assert!(age.windows(4).any(|part| part == b"P90D"), "{age:?}");
    let attributes = std::fs::read_to_string(subject.join("age/.zattrs")).expect("attributes");
    assert!(attributes.contains("\"birth\""), "{attributes}");
    open_form(&mut w);
    assert!(says(&w, "a file without Subject, Species, Sex;"), "the age of the last export is proposed");
}

/// A configuration opens as a new project, with a message about what it does not hold; a damaged one is refused.
#[test]
fn a_circuit_opens_as_a_new_project() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sonata/circuit/simulation_config.json");
    let mut w = open(Start { path: Some(config), project: None, ..start(true) });
    let is_open = |w: &Window| {
        let Model::Spiking(params) = &w.state().session().project.model else { return false };
        params.populations.first().is_some_and(|population| population.name == "v1")
    };
    until(&mut w, "the circuit is open", is_open);
    assert!(w.state().session().path.is_none(), "the project has no file");
    assert!(w.state().messages().contains(&"4 parts of the circuit differ in the project: see the log"));
    until(&mut w, "it is built", |w| w.state().session().live.is_loaded());
}
