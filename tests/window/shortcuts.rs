//! Shortcuts, settings and window sizes: shortcuts of the focused panel, undo and autosave settings, low windows.

use crate::support::harness::can_draw;
use crate::support::window;
use egui::{Event, Key, Modifiers};
use egui_kittest::{Harness, kittest::Queryable};
use neuropil::{
    app::{Start, create, document::command::UiCommand, shell::App},
    project::{self, Project},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};
use window::{Window, assign, open, start, until, value};

/// A window whose simulation has run and is paused.
fn paused() -> Window {
    has_run(open(start(true)))
}

fn has_run(mut w: Window) -> Window {
    until(&mut w, "it is laid out", |w| w.query_by_label("Run").is_some());
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 200);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    w.run_steps(3);
    w
}

/// A window with an unsaved change.
fn edited() -> Window {
    let mut w = open(start(false));
    w.run();
    assign(&mut w, "lif.tau_m=11");
    w.run();
    w
}

fn press(w: &mut Window, key: Key) {
    w.key_press(key);
    w.run_steps(4);
}

#[test]
fn keys_with_more_modifiers_come_first() {
    let mut w = edited();
    let is_edited = |w: &Window| value(w, "lif.tau_m") == "11 ms";
    let mut press = |modifiers: Modifiers, key: Key| {
        w.key_press_modifiers(modifiers, key);
        w.run_steps(4);
        is_edited(&w)
    };
    assert!(!press(Modifiers::COMMAND, Key::Z), "the edit is undone");
    assert!(!press(Modifiers::COMMAND | Modifiers::ALT, Key::Y), "Ctrl+Alt+Y redoes changes of the layout");
    assert!(press(Modifiers::COMMAND, Key::Y), "Ctrl+Y redoes the edit");
}

#[test]
fn shortcuts_choose_colours_of_the_focused_panel() {
    let mut w = paused();
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView("brain"));
    w.run_steps(4);
    // A click into the panel: keys are for it from now on.
    let at = w.get_by_label("3D view").rect().center();
    w.hover_at(at);
    w.drag_at(at);
    w.drop_at(at);
    w.run_steps(4);
    assert!(w.query_by_label("Map").is_none(), "categories have no colour map");
    press(&mut w, Key::R);
    assert!(w.state().messages().iter().any(|m| m.contains("no colour range")), "{:?}", w.state().messages());
    press(&mut w, Key::C);
    assert!(w.query_all_by_label("Colour by Category (current)").next().is_some(), "C lists what there is");
    w.event(Event::Text("rate".into()));
    w.run_steps(4);
    press(&mut w, Key::Enter);
    assert!(w.query_by_label("Map").is_some(), "the field has a colour map");
    press(&mut w, Key::R);
    assert!(w.state().messages().contains(&"Colour range locked"));
    press(&mut w, Key::R);
    assert!(w.state().messages().contains(&"Colour range follows the data"));
}

/// On a screen of 2880 × 1800 pixels: nothing is cut off, and everywhere something is drawn. The picture is written when
/// `NEUROPIL_SCREENSHOTS` names a folder.
#[test]
fn the_window_is_drawn_at_300_percent() {
    if !can_draw() {
        return;
    }
    let builder = Harness::builder().with_size([960.0, 600.0]).with_pixels_per_point(3.0).with_max_steps(30);
    let mut w = has_run(builder.build_eframe(|cc| create(cc, start(true)).expect("threads")));
    let run = w.get_by_label("Run").rect();
    let all = w.ctx.content_rect();
    assert!(all.contains_rect(run) && run.height() > 14.0, "{run:?} in {all:?}");
    let picture = w.render().expect("a graphics device");
    assert_eq!(picture.dimensions(), (2880, 1800));
    if let Some(folder) = std::env::var_os("NEUROPIL_SCREENSHOTS").map(PathBuf::from) {
        picture.save(folder.join("300.png")).expect("a writable folder");
    }
    for (column, row) in (0..4).flat_map(|column| (0..3).map(move |row| (column, row))) {
        let part = image::imageops::crop_imm(&picture, column * 720, row * 600, 720, 600).to_image();
        let colors: std::collections::HashSet<_> = part.pixels().map(|p| p.0).collect();
        assert!(colors.len() > 20, "part {column}, {row} is blank: {} colours", colors.len());
    }
}

#[test]
fn comma_steps_back_and_full_stop_steps_forward() {
    let mut w = paused();
    let now = w.state().session().live.clock.step;
    assert_eq!(w.state().time().axis.cursor(), None);
    press(&mut w, Key::Comma);
    let back = w.state().time().axis.cursor().expect("a cursor");
    assert!(back < now as f64, "{back} of {now}");
    press(&mut w, Key::End);
    press(&mut w, Key::Period);
    until(&mut w, "it has stepped", |w| w.state().session().live.clock.step > now);
}

#[test]
fn a_new_project_is_of_the_same_kind_and_asks_first() {
    let mut w = edited();
    w.key_press_modifiers(Modifiers::COMMAND, Key::N);
    w.run();
    w.get_by_label("Discard changes").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), w.state().session().is_dirty()), ("20 ms".into(), false));
    assert_eq!(w.state().session().history.counts(), (0, 0));
    assert_eq!(w.state().session().project.model.name(), Project::default().model.name());
}

#[test]
fn quitting_by_shortcut_asks_about_unsaved_changes() {
    let mut w = edited();
    let key =
        Event::Key { key: Key::Q, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::COMMAND };
    w.event(key);
    w.step();
    let asked = &w.output().viewport_output[&egui::ViewportId::ROOT].commands;
    let is_close = |c: &egui::ViewportCommand| *c == egui::ViewportCommand::Close;
    assert!(asked.iter().any(is_close), "Ctrl+Q closes as the frame's button does, which is guarded: {asked:?}");
}

#[test]
fn initial_conditions_are_pending_until_a_rewind() {
    let model = neuropil::kinds::Model::by_name("nuclei").expect("a kind");
    let project = Project { model, ..Project::default() };
    let mut w = open(Start { project: Some(project), ..start(true) });
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    assert!(w.query_by_label("Rewind now").is_none());
    assign(&mut w, "population.n_start=77");
    until(&mut w, "it is said that it waits", |w| w.query_by_label("Rewind now").is_some());
    assert!(w.query_by_label("Rebuild now").is_none(), "nothing has to be built anew for it");
    w.get_by_label("Rewind now").click();
    until(&mut w, "it has begun with it", |w| w.query_by_label("Rewind now").is_none());
    assert_eq!(w.state().session().live.clock.step, 0);
    assert_eq!(value(&w, "population.n_start"), "77");
}

#[test]
fn selections_of_every_kind_are_named_and_probed() {
    let model = neuropil::kinds::Model::by_name("nuclei").expect("a kind");
    let project = Project { model, ..Project::default() };
    let mut w = open(Start { project: Some(project), builder: None, ..start(true) });
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it is built", |w| w.state().session().live.schema.set("nuclei").is_some());
    assert_eq!(UiCommand::Probe.why_not(&w.state().command_state()), Some("Nothing is selected"));
    w.state_mut().session_mut().selection.replace("nuclei", vec![3, 5]);
    assert_eq!(UiCommand::Probe.why_not(&w.state().command_state()), None);
    press(&mut w, Key::P);
    let record = &w.state().session().project.record;
    assert!(record.iter().any(|wish| wish == "phase_of[3, 5]"), "{record:?}");
    assert_eq!(value(&w, "selections.0.query"), "idx = 3, 5");
    assert_eq!(UiCommand::Silence.why_not(&w.state().command_state()), Some("This model has no such intervention"));
}

fn set(w: &mut Window, field: &str, text: &str) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Settings);
    w.run();
    w.get_by_label(field).click();
    w.run();
    w.event(Event::Text(text.into()));
    w.run();
    w.key_press(Key::Enter);
    w.run();
    w.get_by_label("Done").click();
    w.run();
}

#[test]
fn undo_steps_follow_the_setting() {
    let mut w = open(Start { config_dir: None, ..start(false) });
    w.run();
    set(&mut w, "work.undo_steps value", "12");
    for n in 1..=30 {
        assign(&mut w, &format!("lif.tau_m={n}"));
        w.run();
    }
    assert_eq!(w.state().session().history.counts().0, 12);
    set(&mut w, "work.undo_steps value", "5");
    assert_eq!(w.state().session().history.counts().0, 5, "fewer are kept at once");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Undo);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "29 ms", "the newest are kept");
}

#[test]
fn autosave_follows_the_setting() {
    let folder = TempFolder::new("autosave");
    let file: PathBuf = folder.join("kept.ron");
    project::save(&Project::default(), &file).expect("saved");
    let mut w = open(Start { path: Some(file.clone()), config_dir: None, ..start(false) });
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    assign(&mut w, "lif.tau_m=11");
    w.run();
    std::thread::sleep(std::time::Duration::from_millis(400));
    w.run_steps(3);
    assert!(w.state().session().is_dirty(), "autosave is off");
    set(&mut w, "work.autosave_s value", "0.3");
    until(&mut w, "it is saved", |w| !w.state().session().is_dirty());
    let kept = project::open(&file).expect("readable").0;
    assert_eq!(kept.model, w.state().session().project.model);
    drop(w);
}

#[test]
fn the_time_panel_is_hidden_in_a_low_window() {
    for (height, is_low) in [(900.0, false), (800.0, true)] {
        let start = start(true);
        let mut w: Window = egui_kittest::Harness::builder()
            .with_size([1280.0, height])
            .with_max_steps(30)
            .build_eframe(move |cc| create(cc, start).expect("threads"));
        w.run();
        w.get_by_label("Run").click();
        until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
        assert_eq!(w.query_by_label("Expand the timeline").is_some(), is_low, "{height} points");
        if is_low {
            w.get_by_label("Expand the timeline").click();
            w.run_steps(3);
            assert!(w.query_by_label("Range of time").is_some(), "it opens when it is asked for, and stays");
        }
    }
}

/// What a second window was opened with.
static SECOND: Mutex<Option<PathBuf>> = Mutex::new(None);

#[test]
fn recovery_opens_both_versions() {
    let folder = TempFolder::new("both");
    let (file, state) = (folder.join("kept.ron"), folder.join("state"));
    std::fs::create_dir_all(&state).expect("folder");
    project::save(&Project::default(), &file).expect("saved");
    let mut w = open(Start { path: Some(file.clone()), state_dir: Some(state.clone()), ..start(false) });
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    assign(&mut w, "lif.tau_m=17");
    let mine = state.join(format!("journal-{}.ron", std::process::id()));
    let read = || std::fs::read(&mine).unwrap_or_default();
    until(&mut w, "it is kept", |_| read().ends_with(b"\n"));
    let kept = read();
    std::mem::forget::<App>(w.into_state());
    std::fs::write(state.join("journal-4194998.ron"), kept).expect("a process that is gone");
    std::fs::remove_file(&mine).ok();
    let second_window = |path: &Path| {
        *SECOND.lock().expect("lock") = Some(path.to_owned());
        Ok(())
    };
    let mut w = open(Start { state_dir: Some(state), second_window, ..start(false) });
    until(&mut w, "it is offered", |w| w.query_by_label("Open both").is_some());
    w.get_by_label("Open both").click();
    w.run();
    let second = SECOND.lock().expect("lock").clone().expect("a second window");
    assert_eq!(second.canonicalize().expect("there"), file.canonicalize().expect("there"), "it shows the file");
    assert_eq!((value(&w, "lif.tau_m"), w.state().session().is_dirty()), ("17 ms".into(), true), "this one the work");
    assert!(w.query_by_label("Open both").is_none());
    drop(w);
}

/// A connection list with other column names and text ids becomes a network beside it.
#[test]
fn connectivity_is_imported_with_a_guessed_mapping() {
    let folder = TempFolder::new("import-window");
    let file = folder.join("connections.csv");
    std::fs::write(&file, "pre,post,syn_count,nt\nMN9,LC4,5,ACH\nLC4,MN9,3,GABA\nDNg1,MN9,1,ACH\n").expect("written");
    let mut w = open(Start { builder: None, ..start(true) });
    w.run();
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ImportData);
    w.run_steps(3);
    w.get_by_label("Import files").focus();
    w.run_steps(2);
    w.event(Event::Text(file.display().to_string()));
    until(&mut w, "it is read", |w| {
        w.query_by_label_contains("3 neurons, 3 connections, 9 synapses, 1 inhibitory").is_some()
    });
    assert!(w.query_by_label_contains("First 3 rows").is_some());
    assert!(w.query_by_label_contains("Signs: Drosophila convention").is_some());
    assert!(w.query_by_label_contains("ACH 2 (+), GABA 1 (−)").is_some());
    w.run_steps(4); // the dialog is centred again
    w.get_by_label("Build").click();
    until(&mut w, "it is built", |w| w.state().session().live.schema.set("neurons").is_some_and(|s| s.len == 3));
    let set = w.state().session().live.schema.set("neurons").cloned().expect("neurons");
    assert_eq!(set.names, ["DNg1", "LC4", "MN9"]);
    assert!(value(&w, "network.path").contains("connections-network"));
    drop(w);
}
