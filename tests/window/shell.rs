//! The shell around the views: workspaces, keys, the project tree, and a name for every control.

use crate::support::window;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::Project,
};
use neuropil_test_support::temp::TempFolder;
use std::path::Path;
use window::{Window, open, set, start, until, value};

fn window(engine: bool) -> Window {
    open(start(engine))
}

/// Every node a user can operate has a name; the harness also checks this each step.
fn assert_named(w: &Window, place: &str) {
    let mut unnamed = vec![];
    let mut queue = vec![w.root()];
    let mut operable = 0;
    while let Some(node) = queue.pop() {
        let data = node.accesskit_node();
        let is_input = egui::accessibility::is_input(data.role());
        operable += usize::from(is_input);
        if is_input && data.label().is_none_or(|l| l.is_empty()) {
            unnamed.push(format!("{:?} at {:?}", data.role(), node.rect()));
        }
        queue.extend(node.children());
    }
    assert!(operable > 10, "{place}: only {operable} controls were found");
    assert!(unnamed.is_empty(), "{place}: {unnamed:#?}");
}

#[test]
fn everything_has_a_name() {
    let mut w = window(true);
    w.run();
    assert_named(&w, "before there is a simulation");
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
    w.state_mut().session_mut().selection.replace("neurons", vec![1, 2, 30]);
    let ctx = w.ctx.clone();
    let command = |w: &mut Window, command: UiCommand| {
        w.state_mut().command(&ctx, command);
        w.run_steps(4);
    };
    command(&mut w, UiCommand::ToggleLog);
    command(&mut w, UiCommand::ToggleDev);
    for at in 0..4 {
        command(&mut w, UiCommand::Workspace(at));
        assert_named(&w, &format!("workspace {at}"));
    }
    command(&mut w, UiCommand::Home);
    assert_named(&w, "home");
    command(&mut w, UiCommand::Workspace(0));
    let dialogs = [
        UiCommand::Settings,
        UiCommand::Keys,
        UiCommand::Help,
        UiCommand::PanelHelp,
        UiCommand::ModelHelp,
        UiCommand::Semantics,
        UiCommand::About,
        UiCommand::System,
        UiCommand::SaveLayout,
        UiCommand::SaveAs,
        UiCommand::Palette,
    ];
    for dialog in dialogs {
        command(&mut w, dialog.clone());
        assert_named(&w, &format!("{dialog:?}"));
        w.key_press(egui::Key::Escape);
        w.run_steps(3);
    }
}

#[test]
fn the_keyboard_goes_round_all_panels() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
    let mut seen = vec![];
    for _ in 0..12 {
        w.key_press(egui::Key::F6);
        w.run_steps(3);
        let focused = w.get_all_by_role(egui::accesskit::Role::Pane).find(|n| n.accesskit_node().is_focused());
        seen.extend(focused.and_then(|n| n.accesskit_node().label()));
    }
    for panel in ["Project", "Inspector", "Raster"] {
        assert!(seen.iter().any(|s| s == panel), "{panel} is not among {seen:?}");
    }
}

#[test]
fn workspaces_and_keys() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
    assert!(w.query_by_label("Help on Kernel times").is_none() && w.query_by_label("Help on Raster").is_some());
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num4);
    w.run_steps(3);
    assert!(w.query_by_label("Filter runs").is_some(), "Ctrl+4 shows the runs");
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num1);
    w.run_steps(3);
    w.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::F);
    w.run_steps(3);
    assert!(w.query_by_label_contains("Restore ").is_some(), "Shift+F maximises");
    w.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::F);
    w.run_steps(3);
    w.get_by_label("Filter parameters").click();
    w.run_steps(2);
    w.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::F);
    w.run_steps(3);
    assert!(w.query_by_label_contains("Restore ").is_none(), "no key acts while typing");
}

#[test]
fn items_are_renamed_and_deleted_with_undo() {
    let mut w = window(false);
    w.run();
    set(&mut w, "lif.tau_m=21");
    w.query_all_by_label("Add stimulus").next().expect("a row").click();
    w.run();
    let n = |w: &Window| {
        let params = w.state().session().project.model.params();
        let group = params.groups().iter().position(|g| g.name == "interventions").expect("interventions");
        params.len(group as u8)
    };
    let before = n(&w);
    let name = value(&w, "interventions.0.name");
    let name = if name.trim_matches('"').is_empty() { "Stimulus 1".to_owned() } else { name };
    let all: Vec<_> = w.get_all_by_label(&name).map(|n| n.rect().center()).collect();
    let leftmost = all.into_iter().min_by(|a, b| a.x.total_cmp(&b.x)).expect("the item is in the tree");
    w.hover_at(leftmost);
    w.drag_at(leftmost);
    w.drop_at(leftmost);
    w.run();
    w.key_press(egui::Key::F2);
    w.run();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    w.event(egui::Event::Text("taste".into()));
    w.run();
    w.key_press(egui::Key::Enter);
    w.run();
    assert!(value(&w, "interventions.0.name").contains("taste"));
    w.key_press(egui::Key::Delete);
    w.run();
    assert_eq!(n(&w), before - 1);
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    w.run();
    assert_eq!(n(&w), before);
}

/// At the smallest size of the window the numbers of a kind that counts its steps end before the Record button.
#[test]
fn the_record_button_covers_no_number() {
    let model = neuropil::kinds::Model::by_name("nuclei").expect("a kind");
    let project = Some(neuropil::project::Project { model, ..Default::default() });
    let mut w = open(neuropil::app::Start { project, ..start(true) });
    for width in [900.0, 1000.0, 1100.0, 1280.0, 1440.0] {
        w.set_size(egui::vec2(width, 600.0));
        w.run();
        let record = w.query_all_by_label("Record").map(|n| n.rect()).find(|r| r.top() < 120.0).expect("the button");
        let units = w.query_all_by_label("generations").chain(w.query_all_by_label("generations/s"));
        let ends: Vec<f32> = units.map(|n| n.rect()).filter(|r| r.top() < 120.0).map(|r| r.right()).collect();
        assert!(!ends.is_empty(), "{width}: the time is there");
        // The dot of the status follows.
        assert!(ends.iter().all(|end| end + 20.0 <= record.left()), "{width}: {ends:?} and {record:?}");
    }
}

/// Twenty runs made the menu cover the bar: a second click on *File* was one on *New project*.
#[test]
fn a_menu_never_covers_its_button() {
    let folder = TempFolder::new("menus");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/capsule_2026_11/runs/balanced-edits");
    for i in 1..=20 {
        let run = folder.join("runs").join(format!("{i:04}-a"));
        std::fs::create_dir_all(&run).expect("a folder");
        for file in ["run.ron", "project.ron"] {
            std::fs::copy(golden.join(file), run.join(file)).expect("copied");
        }
    }
    let file = folder.join("a.ron");
    neuropil::project::save(&Project::default(), &file).expect("saved");
    for size in [[1440.0, 900.0], [900.0, 600.0]] {
        let mut w = open(Start { path: Some(file.clone()), project: None, ..start(false) });
        w.set_size(size.into());
        until(&mut w, "the runs are listed", |w| {
            UiCommand::all(&w.state().command_state()).contains(&UiCommand::OpenRun(19))
        });
        w.run_steps(3);
        for (menu, entry) in [("File", "New project"), ("Runs", "Open run 0020-a"), ("View", "Dark theme")] {
            let button = w.get_by_role_and_label(Role::Button, menu).rect();
            let click = |w: &mut Window| {
                w.hover_at(button.center());
                w.drag_at(button.center());
                w.drop_at(button.center());
                w.run_steps(6);
            };
            click(&mut w);
            let shown = w.query_all_by_label(entry).next().expect("open").rect();
            assert!(shown.top() >= button.bottom(), "{menu} at {size:?}: {shown:?} covers {button:?}");
            click(&mut w);
            assert!(w.query_all_by_label(entry).next().is_none(), "{menu} at {size:?}: the second click closes it");
            assert_eq!(w.state().session().path.as_deref(), Some(&*file), "{menu}: the document is open");
        }
    }
}
