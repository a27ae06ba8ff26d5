//! The table of runs: columns of recorded series, order, tags, filter, renaming and deletion.

use crate::support::window;
use egui::Modifiers;
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::{Start, document::command::UiCommand},
    kinds::Model,
    project::{self, Project, labels::Labels},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    fs,
    path::{Path, PathBuf},
};
use window::{Window, open, start, until};

/// Writes a closed run of a language model with these held-out losses at steps 0, 100, 200, …
fn run(runs: &Path, name: &str, rate: &str, losses: &[f32]) {
    let folder = runs.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let rows =
        (0_u64..).zip(losses).flat_map(|(i, loss)| [(i * 100).to_le_bytes().to_vec(), loss.to_le_bytes().to_vec()]);
    let bytes: Vec<u8> = rows.flatten().collect();
    fs::write(folder.join("held_out.f32"), &bytes).expect("written");
    fs::write(folder.join("commands.ron"), "").expect("written");
    let mut project = Project { model: Model::by_name("transformer").expect("a kind"), ..Project::default() };
    project.set(&format!("training.learning_rate={rate}"), &folder).expect("a parameter");
    project::save(&project, &folder.join("project.ron")).expect("saved");
    let stream = "probe: \"held_out\", file: \"held_out.f32\", shape: \"series\", unit: \"nat\", width: 1";
    let manifest = format!(
        "(format: 2, kind: \"transformer\", status: Complete, secs_per_step: 1.0, last_step: 200, computed_s: 4.0, \
         started: \"2026-11-27T10:00:00Z\", streams: [({stream}, n_bytes: {})])",
        bytes.len()
    );
    fs::write(folder.join("run.ron"), manifest).expect("written");
}

/// Opens a project with three runs beside it, on the page of runs.
fn listed(name: &str) -> (TempFolder, Window) {
    let folder = TempFolder::new(name);
    let runs = folder.join("runs");
    run(&runs, "a-usual", "0.01", &[5.5, 1.25, 2.5]);
    run(&runs, "b-fast", "0.02", &[5.5, 1.75, 1.5]);
    run(&runs, "c-with-a-long-name-that-is-shown", "0.01", &[5.5, 3.5, 2.0]);
    let file = folder.join("open.ron");
    project::save(&Project::default(), &file).expect("saved");
    let mut w = open(Start { path: Some(file), project: None, ..start(true) });
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let ctx = w.ctx.clone();
    // The table has the whole width, so that the headers of its results can be clicked.
    for command in [UiCommand::Workspace(3), UiCommand::ToggleTree, UiCommand::ToggleInspector] {
        w.state_mut().command(&ctx, command);
    }
    until(&mut w, "the runs are listed", |w| says(w, "3 of 3 runs in"));
    until(&mut w, "the losses are read", |w| says(w, "1.25") && !says(w, "reading"));
    (folder, w)
}

fn says(w: &Window, text: &str) -> bool {
    w.query_all_by_label_contains(text).next().is_some()
}

/// Returns the runs in the order of the table, between its headers and its caption. Compared runs are also named below it.
fn order(w: &Window) -> String {
    let top = w.query_all_by_label("Sort by Name").next().expect("a header").rect().bottom();
    let bottom = w.query_all_by_label_contains("3 runs in").next().expect("the caption").rect().top();
    let rows = ["a-usual", "b-fast", "c-with-a-long-name-that-is-shown"].into_iter().filter_map(|name| {
        let places = w.query_all_by_label(name).map(|node| node.rect().center().y);
        Some((places.into_iter().find(|y| (top..bottom).contains(y))?, &name[..1]))
    });
    let mut rows: Vec<(f32, &str)> = rows.collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, name)| name).collect()
}

fn click(w: &mut Window, label: &str, modifiers: Modifiers) {
    let right = |node: &egui_kittest::Node<'_>| node.rect().left();
    let node = w.query_all_by_label(label).max_by(|a, b| right(a).total_cmp(&right(b))).expect(label);
    node.click_modifiers(modifiers);
    w.run_steps(3);
}

fn filter(w: &mut Window, text: &str) {
    w.get_by_label("Filter runs").focus();
    w.key_press_modifiers(Modifiers::COMMAND, egui::Key::A);
    w.run_steps(2);
    w.event(egui::Event::Text(text.into()));
    w.run_steps(4);
}

#[test]
fn runs_are_sorted_by_their_last_held_out_loss_and_two_are_tagged() {
    let (folder, mut w) = listed("run-table");
    click(&mut w, "Sort by Last held-out loss", Modifiers::NONE);
    assert_eq!(order(&w), "bca", "1.5, 2.0, 2.5");
    click(&mut w, "Sort by Last held-out loss", Modifiers::NONE);
    assert_eq!(order(&w), "acb");
    click(&mut w, "Sort by Best held-out loss", Modifiers::NONE);
    assert_eq!(order(&w), "abc", "1.25, 1.5, 2.0");

    click(&mut w, "a-usual", Modifiers::NONE);
    click(&mut w, "b-fast", Modifiers::COMMAND);
    w.get_by_label("Tags of b-fast").click();
    w.run_steps(3);
    assert!(says(&w, "Tags of 2 marked runs"));
    w.get_by_label("New tag").type_text("kept draft");
    w.run_steps(2);
    w.key_press(egui::Key::Enter);
    w.run_steps(3);
    let tags = |name: &str| Labels::read(&folder.join("runs").join(name)).0.tags;
    until(&mut w, "both are tagged on disk", |_| {
        tags("a-usual") == ["kept", "draft"] && tags("b-fast") == ["kept", "draft"]
    });
    assert_eq!(tags("c-with-a-long-name-that-is-shown"), [""; 0]);
    w.key_press(egui::Key::Escape);
    w.run_steps(3);

    for (text, expected) in
        [("tag:kept", "ab"), ("tag:kept held_out<2", "b"), ("!tag:kept", "c"), ("learning_rate=0.01", "ac")]
    {
        filter(&mut w, text);
        assert_eq!(order(&w), expected, "{text}");
    }
    filter(&mut w, "sed=1");
    assert!(says(&w, "Filter not applied: There is no column `sed`; did you mean `seed`?"));
    assert_eq!(order(&w), "abc", "an unreadable filter hides nothing");
}

#[test]
fn a_sweep_of_models_that_train_shows_the_last_held_out_loss() {
    let (_folder, mut w) = listed("run-sweep");
    w.get_by_label("Sweep").click();
    until(&mut w, "it is drawn", |w| says(w, "against 2 values of Training › Learning rate"));
    assert!(says(&w, "Last of Held-out loss (nat)"));
}

#[test]
fn a_column_per_parameter_that_differs_can_be_shown() {
    let (_folder, mut w) = listed("run-columns");
    assert!(w.query_by_label("Sort by Learning rate").is_none());
    w.get_by_label("Columns").click();
    w.run_steps(3);
    w.get_by_label("Find column").type_text("learning rate");
    w.run_steps(3);
    w.query_all_by_label("Learning rate").last().expect("a box").click();
    w.run_steps(3);
    w.key_press(egui::Key::Escape);
    w.run_steps(3);
    assert!(w.query_by_label("Sort by Learning rate").is_some() && w.query_by_label("0.02").is_some());
}

#[test]
fn runs_are_renamed_and_deleted_after_a_question() {
    let (folder, mut w) = listed("run-folders");
    let runs = folder.join("runs");
    let command = |w: &mut Window, command: UiCommand| {
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, command);
        w.run_steps(3);
    };
    command(&mut w, UiCommand::RenameRun(runs.join("a-usual")));
    let name = |w: &mut Window, name: &str| {
        w.get_by_label("Name of the run").focus();
        w.key_press_modifiers(Modifiers::COMMAND, egui::Key::A);
        w.run_steps(2);
        w.event(egui::Event::Text(name.into()));
        w.run_steps(3);
    };
    name(&mut w, "b-fast");
    assert!(says(&w, "A file or folder with this name exists"));
    name(&mut w, "baseline");
    w.get_by_label("Rename").click();
    until(&mut w, "it is renamed", |w| runs.join("baseline/run.ron").exists() && says(w, "baseline"));
    assert!(!runs.join("a-usual").exists());

    let both: Vec<PathBuf> = ["b-fast", "c-with-a-long-name-that-is-shown"].map(|name| runs.join(name)).into();
    command(&mut w, UiCommand::DeleteRuns(both.clone()));
    until(&mut w, "it asks", |w| says(w, "Delete 2 runs?") && says(w, "cannot be restored"));
    w.get_by_label("Cancel").click();
    w.run_steps(3);
    assert!(both.iter().all(|run| run.exists()));
    command(&mut w, UiCommand::DeleteRuns(both.clone()));
    until(&mut w, "it asks", |w| says(w, "Delete 2 runs?"));
    w.get_by_label("Delete runs").click();
    until(&mut w, "the list is read again", |w| says(w, "1 of 1 run in"));
    assert!(both.iter().all(|run| !run.exists()) && runs.join("baseline").exists());
}
