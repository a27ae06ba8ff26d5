//! Selections and interventions of a kind that declares neither: they are added, edited and shown like those of any other.

use crate::support::window::{Window, assign, open, start, until, value};
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::Start,
    kinds::Model,
    params::{Schedule, interventions::Intervention},
    project::Project,
};

fn nuclei() -> Window {
    let project = Project { model: Model::by_name("nuclei").expect("a kind"), ..Project::default() };
    let mut w = open(Start { project: Some(project), builder: None, ..start(true) });
    w.run();
    w
}

fn click(w: &mut Window, label: &str) {
    w.query_all_by_label(label).next().unwrap_or_else(|| panic!("no {label}")).click();
    w.run_steps(4);
}

#[test]
fn a_parameter_is_set_over_a_span_by_mouse() {
    let mut w = nuclei();
    click(&mut w, "Add intervention");
    assert_eq!(value(&w, "interventions.0.enabled"), "false", "no parameter is chosen yet");
    click(&mut w, "interventions.0.parameter");
    // The name of a menu ends with its arrow, and is that of the group in the inspector too.
    w.query_all_by_label_contains("Phase dynamics").last().expect("the menu").click();
    w.run_steps(4);
    w.query_all_by_label("Coupling strength").last().expect("the entry").click();
    w.run_steps(4);
    let chosen = ["parameter", "value", "enabled"].map(|field| value(&w, &format!("interventions.0.{field}")));
    assert_eq!(chosen, ["phases.coupling", "1", "true"], "with the present value");
    assign(&mut w, "interventions.0.value=0");
    assign(&mut w, "interventions.0.start=20");
    assign(&mut w, "interventions.0.stop=60 generations");
    w.run_steps(3);
    click(&mut w, "Run");
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 80);
    click(&mut w, "Pause");
    let params = w.state().session().project.model.params();
    let times = Intervention::all(params).next().map(|v| v.schedule(1.0));
    assert_eq!(times, Some(Ok(Schedule { from: 20, to: 60, pulses: None })));
    assert!(w.query_all_by_label("Coupling strength = 0").next().is_some(), "it is named by what it sets");
    assert_eq!(value(&w, "phases.coupling"), "1", "the parameter keeps its own value");
}

#[test]
fn a_selection_keeps_its_colour_when_it_is_renamed() {
    let mut w = nuclei();
    click(&mut w, "Add selection");
    w.state_mut().session_mut().project.view.set_color("Selection 1", Some(3));
    w.run_steps(2);
    for (name, old) in [("a", "Selection 1"), ("b", "a")] {
        assign(&mut w, &format!("selections.0.name={name}"));
        w.run_steps(2);
        let colors = &w.state().session().project.view.colors;
        assert_eq!((colors.get(name), colors.get(old)), (Some(&3), None));
    }
}
