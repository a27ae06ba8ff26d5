//! Paths between two elements: from and to are chosen in the context menu, and the answer keeps their order.

use crate::support::{fake, window};
use egui_kittest::kittest::{NodeT, Queryable};
use neuropil::app::{Start, document::command::UiCommand, views::connectivity::element_name};
use std::sync::Arc;
use window::{Window, is_built, open, start, until};

const FROM: u32 = 3210;

fn select(w: &mut Window, element: u32) {
    w.state_mut().session_mut().selection.replace("neurons", vec![element]);
    w.run_steps(3);
}

/// Chooses an entry of the menu *Path* of a partner of the selection.
fn choose(w: &mut Window, element: u32, entry: &str) {
    let name = format!("Go to {}", element_name(&w.state().session().live.schema.sets[0], element));
    until(w, "it is a partner", |w| w.query_by_label(&name).is_some());
    w.get_by_label(&name).click_secondary();
    w.run_steps(4);
    w.query_all_by_label("Path").last().expect("the menu").click();
    w.run_steps(4);
    w.get_by_label(entry).click();
    w.run_steps(3);
}

#[test]
fn a_path_leads_from_here_to_there_and_back() {
    let builder = |_: &_, context: &neuropil::sim::BuildContext, _: &_| {
        let mut brain = fake::new(context.seed);
        brain.script.is_wired = true;
        Ok(Box::new(brain) as Box<dyn neuropil::sim::Simulation>)
    };
    let mut w = open(Start { builder: Some(Arc::new(builder)), ..start(true) });
    w.run();
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Rebuild);
    until(&mut w, "it is loaded", is_built);
    until(&mut w, "it has connections", |w| w.state().session().live.schema.connectivity.is_some());
    let wiring = w.state().session().live.schema.connectivity.clone().expect("wired");
    let mut out = vec![];
    wiring.connections.read(FROM, &mut out);
    let to = out.iter().max_by(|a, b| a.weight.abs().total_cmp(&b.weight.abs())).expect("a connection").to;
    assert!(to != FROM);
    w.state_mut().command(&ctx, UiCommand::ShowView("connectivity"));
    select(&mut w, to);
    w.get_by_label("Partners").click();
    choose(&mut w, FROM, "Path from here");
    assert!(w.state().session().selection.path.is_none(), "the other end is not known yet");
    select(&mut w, FROM);
    choose(&mut w, to, "Path to here");
    let ends = |w: &Window| w.state().session().selection.path.as_ref().map(|path| path.ends);
    until(&mut w, "the path is found", |w| ends(w) == Some((FROM, to)));
    let path = w.state().session().selection.path.clone().expect("a path");
    assert_eq!(path.elements().collect::<Vec<_>>(), [FROM, to]);
    let [from, last] = [FROM, to].map(|e| w.state().session().live.schema.sets[0].label(e));
    w.run_steps(2);
    assert!(w.query_by_label(&format!("{from} → {last}")).is_some(), "by name");
    let links = || w.get_all_by_role(egui::accesskit::Role::Link);
    links().find(|n| n.accesskit_node().label().as_deref() == Some(&*last)).expect("its name").click();
    w.run_steps(3);
    assert_eq!(*w.state().session().selection.elements, [to], "a click on a name selects the element");
    w.get_by_label("Reverse").click();
    until(&mut w, "the other direction is found", |w| ends(w) == Some((to, FROM)));
    let back = w.state().session().selection.path.clone().expect("a path");
    assert!(back.steps.first().is_none_or(|step| step.from == to && back.steps.len() > 1));
}
