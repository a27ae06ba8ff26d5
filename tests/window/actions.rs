//! Actions on a running simulation: undo, redo, and the states that they set.

use crate::support::{
    harness,
    window::{Window, is_built, until},
};
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{Start, document::command::UiCommand},
    engine::LoggedCommand,
    project::Project,
    sim::Device,
};
use std::{path::Path, sync::Arc};

/// A window with a small synaptic language model, which is not running.
fn window() -> Window {
    let mut w = harness::open(Start {
        engine: true,
        path: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/synaptic-nano.ron")),
        native_dialogs: false,
        state_dir: None,
        builder: Some(Arc::new(|project: &Project, context, progress| {
            project.model.build(context, &Device::Cpu { threads: 1 }, progress)
        })),
        ..Start::default()
    });
    until(&mut w, "it is loaded", is_built);
    w
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
}

fn select(w: &mut Window, experts: &[u32]) {
    w.state_mut().session_mut().selection.replace("experts", experts.to_vec());
}

/// Elements in the state that an action sets.
fn in_state(w: &Window, action: &str) -> Vec<u32> {
    let states = &w.state().session().live.schema.states;
    states.iter().find(|state| state.action == action).map(|state| state.elements.clone()).unwrap_or_default()
}

fn press(w: &mut Window, label: &str) {
    until(w, label, |w| w.query_by_label(label).is_some());
    w.run_steps(5); // the card has its height
    w.get_by_label(label).click_accesskit();
}

/// Names of the logged actions.
fn logged(w: &Window) -> Vec<String> {
    let log = w.state().session().live.run_log().map(|run| run.log.clone()).unwrap_or_default();
    log.into_iter()
        .filter_map(|(_, c)| if let LoggedCommand::Act(action) = c { Some(action.name) } else { None })
        .collect()
}

#[test]
fn undo_of_a_freeze() {
    let mut w = window();
    select(&mut w, &[0, 3]);
    press(&mut w, "Freeze experts");
    until(&mut w, "the experts are frozen", |w| in_state(w, "freeze") == [0, 3]);
    until(&mut w, "the button toggles", |w| {
        w.query_by_label("Unfreeze experts").is_some() && w.query_by_label("Freeze experts").is_none()
    });
    assert!(w.query_by_label("frozen").is_some(), "the card says so");
    assert_eq!(w.state().session().history.labels().0, Some("freeze experts"));
    // Undo releases only the experts that the last action froze.
    select(&mut w, &[0, 5]);
    press(&mut w, "Freeze experts");
    until(&mut w, "another is frozen", |w| in_state(w, "freeze") == [0, 3, 5]);
    command(&mut w, UiCommand::Undo);
    until(&mut w, "it is released", |w| in_state(w, "freeze") == [0, 3]);
    command(&mut w, UiCommand::Undo);
    until(&mut w, "all are released", |w| in_state(w, "freeze").is_empty());
    command(&mut w, UiCommand::Redo);
    until(&mut w, "two are frozen again", |w| in_state(w, "freeze") == [0, 3]);
    assert_eq!(w.state().session().history.counts(), (1, 1), "undo and redo add no steps");
    assert_eq!(logged(&w), ["freeze", "freeze", "unfreeze", "unfreeze", "freeze"], "a replay repeats them");
    command(&mut w, UiCommand::Rewind);
    until(&mut w, "the rewind forgets actions", |w| w.state().session().history.counts() == (0, 0));
    until(&mut w, "none is frozen", |w| in_state(w, "freeze").is_empty());
}

#[test]
fn an_action_that_cannot_be_undone_says_so() {
    let mut w = window();
    command(&mut w, UiCommand::ToggleLog);
    select(&mut w, &[2]);
    press(&mut w, "End experts");
    until(&mut w, "the log says so", |w| {
        w.query_by_label_contains("End experts at step 0. Cannot be undone").is_some()
    });
    assert_eq!(w.state().session().history.counts(), (0, 0));
}

/// Ids of the experts by slot; empty before they are known.
fn experts(w: &Window) -> Vec<u64> {
    let all = &w.state().session().live.individuals;
    all.iter().find(|(set, _)| *set == "experts").map(|(_, now)| now.ids.to_vec()).unwrap_or_default()
}

/// Slots that have another expert, or none, since `before`.
fn changed(w: &Window, before: &[u64]) -> Vec<usize> {
    let now = experts(w);
    (0..now.len()).filter(|slot| before.get(*slot) != now.get(*slot)).collect()
}

#[test]
fn splits_and_merges_of_experts_hold() {
    let mut w = window();
    command(&mut w, UiCommand::ToggleLog);
    select(&mut w, &[2]);
    until(&mut w, "the experts are known", |w| !experts(w).is_empty());
    let before = experts(&w);
    let newest = before.iter().copied().max().expect("experts");
    press(&mut w, "Split expert");
    until(&mut w, "the log says so", |w| {
        w.query_by_label_contains("Split expert at step 0. Cannot be undone").is_some()
    });
    select(&mut w, &[0, 9]);
    press(&mut w, "Merge experts");
    until(&mut w, "the action is refused", |w| {
        w.query_all_by_label_contains("select two experts of one layer").next().is_some()
    });
    select(&mut w, &[8, 11]);
    press(&mut w, "Merge experts");
    until(&mut w, "the log says so", |w| {
        w.query_by_label_contains("Merge experts at step 0. Cannot be undone").is_some()
    });
    assert_eq!(w.state().session().history.counts(), (0, 0), "undo has nothing to reverse");
    assert_eq!(logged(&w), ["split", "merge"], "a replay repeats them");

    command(&mut w, UiCommand::RunPause);
    until(&mut w, "the slots have other experts", |w| changed(w, &before).len() == 3);
    let slots = changed(&w, &before);
    assert!(
        slots[0] < 8 && slots[0] != 2 && slots[1..] == [8, 11],
        "the new expert is in a slot of its layer: {slots:?}"
    );
    assert!(experts(&w)[slots[0]] > newest, "it is new");
    let (after, step) = (experts(&w), w.state().session().live.clock.step);
    until(&mut w, "training continues", |w| w.state().session().live.clock.step > step + 1);
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    assert_eq!(changed(&w, &after), [0_usize; 0], "the experts stay");
}
