//! Escape, clicks beside dialogs, messages, the home page of a small window, the project tree and the filter of parameters.

use crate::support::{harness, window};
use egui::{Event, Key, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};
use neuropil::app::{create, document::command::UiCommand};
use window::{Window, is_built, start, until};

/// A window of a size with a simulation, which is paused.
fn window(size: [f32; 2]) -> Window {
    let builder = Harness::builder().with_size(size).with_max_steps(30);
    let mut w: Window = builder.build_eframe(move |cc| create(cc, start(true)).expect("threads"));
    w.run();
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it pauses", |w| is_built(w) && !w.state().session().live.running);
    w
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(3);
}

fn selected(w: &Window) -> usize {
    w.state().session().selection.elements.len()
}

fn escape(w: &mut Window) {
    w.key_press(Key::Escape);
    w.run_steps(3);
}

#[test]
fn escape_closes_a_menu_or_window_before_it_clears_the_selection() {
    let mut w = window([1440.0, 900.0]);
    w.state_mut().session_mut().selection.replace("neurons", vec![1, 2]);
    w.run_steps(3);
    w.query_all_by_label("network.source").next().expect("a list").click_accesskit();
    w.run_steps(3);
    assert!(egui::Popup::is_any_open(&w.ctx), "the list is open");
    escape(&mut w);
    assert!(!egui::Popup::is_any_open(&w.ctx) && selected(&w) == 2, "only the list is closed");
    command(&mut w, UiCommand::Requests);
    let is_open = |w: &Window| w.query_all_by_label("Ask the simulation").next().is_some();
    assert!(is_open(&w), "the window is open");
    w.ctx.memory_mut(|m| m.stop_text_input());
    escape(&mut w);
    assert!(!is_open(&w) && selected(&w) == 2, "only the window is closed");
    escape(&mut w);
    assert_eq!(selected(&w), 0);
}

#[test]
fn a_click_beside_a_dialog_keeps_what_was_typed() {
    let mut w = window([1440.0, 900.0]);
    command(&mut w, UiCommand::SaveLayout);
    w.get_by_label("Name of the layout").click();
    w.run_steps(2);
    w.event(Event::Text("for the talk".into()));
    w.run_steps(2);
    w.drag_at(egui::pos2(20.0, 880.0));
    w.run_steps(1);
    w.drop_at(egui::pos2(20.0, 880.0));
    w.run_steps(3);
    let name = w.get_by_label("Name of the layout").value();
    assert_eq!(name.as_deref(), Some("for the talk"));
    escape(&mut w);
    assert!(w.query_by_label("Name of the layout").is_none(), "Escape closes it");
}

#[test]
fn own_files_come_first_on_the_home_page_of_a_small_window() {
    let builder = Harness::builder().with_size([900.0, 600.0]).with_max_steps(30);
    let mut w: Window = builder.build_eframe(move |cc| create(cc, start(false)).expect("threads"));
    w.run();
    if w.query_all_by_label("Recent").next().is_none() {
        command(&mut w, UiCommand::Home);
    }
    let example = w
        .get_all_by_role(Role::Button)
        .find(|node| node.accesskit_node().label().is_some_and(|label| label.contains(" example ")));
    let cards = example.expect("an example").rect().top();
    for label in ["Open…", "Import connectivity…", "Recent"] {
        let nodes: Vec<_> = w.query_all_by_label(label).map(|node| node.rect()).collect();
        let is_first = |rect: &egui::Rect| rect.top() > 100.0 && rect.bottom() < 560.0 && rect.bottom() < cards;
        assert!(nodes.iter().any(is_first), "{label}: {nodes:?}, the examples begin at {cards}");
    }
}

/// Areas of the views.
fn views(w: &Window) -> Vec<egui::Rect> {
    let panes = w.get_all_by_role(Role::Pane);
    let is_view = |label: Option<String>| !matches!(label.as_deref(), Some("Project" | "Inspector") | None);
    panes.filter(|pane| is_view(pane.accesskit_node().label())).map(|pane| pane.rect()).collect()
}

#[test]
fn messages_cover_no_view_and_vanish_when_read() {
    let text = "Nothing is selected";
    for size in [[1440.0, 900.0], [1100.0, 700.0], [900.0, 600.0]] {
        let mut w = window(size);
        command(&mut w, UiCommand::Stimulate);
        let (message, views) = (w.get_by_label(text).rect(), views(&w));
        assert!(!views.is_empty());
        for view in views {
            assert!(!view.shrink(1.0).intersects(message), "{size:?}: {message:?} covers {view:?}");
        }
        w.get_by_label_contains("Messages, ").click_accesskit();
        w.run_steps(4);
        escape(&mut w);
        assert!(w.query_by_label(text).is_none(), "{size:?}: it was read");
    }
}

#[test]
fn items_of_the_project_tree_open_the_view_that_shows_them() {
    let mut w = harness::open(start(true));
    w.run();
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    command(&mut w, UiCommand::RunPause);
    w.run_steps(5);
    w.get_by_role_and_label(Role::Button, "Neurons").click_accesskit();
    until(&mut w, "the table is shown", |w| w.query_by_label("ID, name, category or query").is_some());
    w.get_by_role_and_label(Role::Button, "Memory").click_accesskit();
    until(&mut w, "the memory is shown", |w| w.query_by_label("Help on Memory").is_some());
}

#[test]
fn the_filter_finds_units_documentation_and_the_seed() {
    let mut w = harness::open(start(false));
    w.run();
    let filter = |w: &mut Window, text: &str| {
        w.get_by_label("Filter parameters").click();
        w.key_press_modifiers(egui::Modifiers::COMMAND, Key::A);
        w.event(Event::Text(text.into()));
        w.run();
    };
    let has = |w: &Window, name: &str| w.query_by_role_and_label(Role::Slider, name).is_some();
    filter(&mut w, "membrane ms");
    assert!(has(&w, "lif.tau_m") && !has(&w, "lif.v_threshold"));
    filter(&mut w, "random draw");
    assert!(w.query_by_label("Seed").is_some() && !has(&w, "lif.tau_m"));
    filter(&mut w, "volcano");
    w.get_by_label("Clear filter").click();
    w.run();
    assert!(has(&w, "lif.tau_m"));
}
