//! `app/time` and `app/time_panel` with a fake simulation of 138,639 elements: scrubbing, subscriptions, playback.

use crate::support::{harness, many, window};
use egui_kittest::kittest::Queryable;
use harness::{Window, until};
use many::{Copies, LEN, Many};
use neuropil::app::{Start, document::command::UiCommand};
use neuropil_test_support::temp::TempFolder;
use std::{path::Path, sync::Arc};

fn open(start: Start) -> Window {
    harness::open(Start { native_dialogs: false, state_dir: None, config_dir: None, ..start })
}

fn window() -> (Window, Arc<Copies>) {
    let copies = Arc::new(Copies::default());
    let counted = copies.clone();
    let builder: neuropil::app::document::live::Builder =
        Arc::new(move |_, _, _| Ok(Box::new(Many::new(counted.clone())) as Box<dyn neuropil::sim::Simulation>));
    let project = Some(window::continuous());
    let mut w = open(Start { project, builder: Some(builder), run: true, ..Start::default() });
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    (w, copies)
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(2);
}

/// Copies the engine makes over a number of steps.
fn copies_over(w: &mut Window, copies: &Copies, steps: u64) -> [u64; 3] {
    // Skip frames that were sent before the panels were hidden.
    let from = w.state().session().live.clock.step + 200;
    until(w, "the panels are hidden", |w| w.state().session().live.clock.step > from);
    let (before, from) = (copies.all(), w.state().session().live.clock.step);
    until(w, "it ran on", |w| w.state().session().live.clock.step > from + steps);
    let after = copies.all();
    std::array::from_fn(|i| after[i] - before[i])
}

#[test]
fn what_is_switched_on_is_recorded_while_hidden() {
    let (mut w, copies) = window();
    let shown = copies_over(&mut w, &copies, 1_000);
    assert!(shown[many::SPIKES] > 0 && shown[many::SINCE] > 0, "raster and 3D view are on screen: {shown:?}");
    w.get_by_label("Collapse the timeline").click_accesskit();
    for away in [UiCommand::Workspace(1), UiCommand::Home] {
        command(&mut w, away);
        assert!(copies_over(&mut w, &copies, 1_000)[many::SPIKES] > 0, "recorded while hidden");
    }
    command(&mut w, UiCommand::Workspace(0));
    let gaps = |w: &Window| {
        let past = &w.state().time().past;
        past.gaps(many::SPIKES as u16, past.first() as f64, past.newest() as f64)
    };
    // The display started before the first subscription.
    let began = gaps(&w);
    assert!(began.len() <= 1 && began.iter().all(|(_, to)| *to < 1_000.0), "{began:?}");
    command(&mut w, UiCommand::PauseDisplay);
    assert_eq!(copies_over(&mut w, &copies, 1_000), [0; 3], "the display is paused");
    command(&mut w, UiCommand::PauseDisplay);
    until(&mut w, "it is recorded again", |w| w.state().time().past.is_indexed() && gaps(w).len() > began.len());
    let pause = *gaps(&w).last().expect("a gap");
    assert!(pause.1 - pause.0 >= 1_000.0, "{pause:?}");
    // Frames may be so far apart that the pause is no longer in view.
    let all = w.state().session().live.clock.step as f64;
    w.state_mut().zoom_time(2.0 * all);
    until(&mut w, "the raster's caption says so", |w| w.query_all_by_label_contains("not recorded").count() > 0);
}

#[test]
fn the_cursor_goes_back_and_returns() {
    let (mut w, _) = window();
    until(&mut w, "it has run", |w| w.state().session().live.clock.step > 4_000);
    command(&mut w, UiCommand::RunPause);
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    let now = w.state().time().past.newest() as f64;
    command(&mut w, UiCommand::MoveCursor(-10));
    assert_eq!(w.state().time().axis.cursor(), Some(now - 1_000.0));
    let banner = |w: &Window| w.query_all_by_label_contains("Viewing ").count();
    assert_eq!(banner(&w), 1);
    command(&mut w, UiCommand::MoveCursor(1));
    assert_eq!(w.state().time().axis.cursor(), Some(now - 900.0));
    command(&mut w, UiCommand::GoStart);
    assert_eq!(w.state().time().axis.cursor(), Some(w.state().time().past.oldest() as f64));
    let from = w.state().time().axis.cursor().expect("scrubbed");
    command(&mut w, UiCommand::PlayPast);
    // The history is short: playback may already have reached the live edge.
    until(&mut w, "it plays", |w| w.state().time().axis.cursor().is_none_or(|at| at > from));
    command(&mut w, UiCommand::GoLive);
    assert!(w.state().time().axis.cursor().is_none() && banner(&w) == 0);
    let train = w.state().time().past.trains().next().expect("spikes").1;
    assert_eq!(train.counts.len(), LEN as usize);
}

/// Records a short run of the balanced network from the command line.
fn run_folder() -> TempFolder {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = TempFolder::new("time");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--device", "cpu", "--duration", "300ms", "--out"])
        .arg(&*out)
        .arg(root.join("projects/balanced.ron"))
        .output()
        .expect("the program");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    out
}

/// `v` and `g` of three neurons, as the command line records them.
#[test]
fn recorded_traces_appear_when_a_run_is_opened() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temp = TempFolder::new("traces");
    let mut project = neuropil::project::open(&root.join("projects/balanced.ron")).expect("an example").0;
    project.record = vec!["spikes".into(), "v[3, 1, 20]".into(), "g[7, 8]".into()];
    project.set("network.n_neurons=400", &temp).expect("a parameter");
    neuropil::project::save(&project, &temp.join("a.ron")).expect("saved");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--device", "cpu", "--duration", "100ms", "--out"])
        .arg(temp.join("run"))
        .arg(temp.join("a.ron"))
        .output()
        .expect("the program");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let run = neuropil::project::RunFolder::open(&temp.join("run")).expect("a run");
    let n = 3 * run.n_records(&run.manifest.streams[1]);
    assert!(n > 300);
    let mut w = open(Start { path: Some(temp.join("run")), ..Start::default() });
    let read = |w: &Window| w.state().session().live.playback.as_ref().is_some_and(|r| r.fraction >= 1.0);
    until(&mut w, "the run is read", read);
    // Nothing is selected, and the panel is opened after the run was read.
    command(&mut w, UiCommand::ShowView("traces"));
    let thousands = |n: u64| if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) };
    let caption = format!("3 traces  |  {} samples", thousands(n));
    until(&mut w, "the traces are read", |w| w.query_all_by_label_contains(&caption).count() > 0);
}

/// A short run of a small network with an edit at step 900.
fn edited_run() -> TempFolder {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temp = TempFolder::new("edited");
    let mut project = neuropil::project::open(&root.join("projects/balanced.ron")).expect("an example").0;
    project.set("network.n_neurons=400", &temp).expect("a parameter");
    neuropil::project::save(&project, &temp.join("a.ron")).expect("saved");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .args(["run", "--device", "cpu", "--duration", "150ms", "--out"])
        .arg(temp.join("run"))
        .arg(temp.join("a.ron"))
        .output()
        .expect("the program");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    std::fs::write(temp.join("run/commands.ron"), "(900,Set(\"lif.v_reset\",Real(0.5)))\n").expect("a writable folder");
    temp
}

#[test]
fn parameters_of_a_finished_run_are_those_at_the_cursor() {
    let temp = edited_run();
    let mut w = open(Start { path: Some(temp.join("run")), ..Start::default() });
    let read = |w: &Window| w.state().session().live.playback.as_ref().is_some_and(|r| r.fraction >= 1.0);
    until(&mut w, "the run is read", read);
    let began = window::value(&w, "lif.v_reset");
    assert_ne!(began, "0.5 mV");
    command(&mut w, UiCommand::MoveCursor(9));
    assert_eq!((w.state().time().axis.cursor(), window::value(&w, "lif.v_reset").as_str()), (Some(900.0), "0.5 mV"));
    assert_eq!(w.query_all_by_label_contains("1 of 1 edit applied").count(), 1);
    command(&mut w, UiCommand::GoLive);
    assert_eq!(w.state().time().axis.cursor(), Some(1500.0), "the end of the run");
    command(&mut w, UiCommand::GoStart);
    assert_eq!(window::value(&w, "lif.v_reset"), began);
    let says_read_only = |w: &Window| w.state().messages().iter().any(|text| text.contains("finished run"));
    assert!(!says_read_only(&w), "the cursor is no edit");

    command(&mut w, UiCommand::RerunRecorded);
    until(&mut w, "it runs again", |w| w.state().session().live.clock.step > 901);
    until(&mut w, "the edit is repeated", |w| window::value(w, "lif.v_reset") == "0.5 mV");
    let steps = |w: &Window| w.state().session().live.run_log().map(|r| r.log.iter().map(|l| l.0).collect::<Vec<_>>());
    until(&mut w, "the edit is logged at its step", |w| steps(w) == Some(vec![900]));
    assert!(w.state().session().history.labels().0.is_some_and(|label| label.ends_with("(as recorded)")));
}

/// The cursor at a place near the end of a step of 0.1 ms, by clicks into the time panel.
fn both_clocks_show_the_step_before(w: &mut Window) {
    let ruler = w.get_by_label("Time cursor").rect();
    let at = |w: &mut Window, x: f32| {
        let to = egui::pos2(x, ruler.center().y);
        w.hover_at(to);
        w.drag_at(to);
        w.drop_at(to);
        w.run_steps(2);
        w.state().time().axis.cursor().expect("scrubbed")
    };
    let places = (1..40).map(|i| ruler.left() + ruler.width() * i as f32 / 50.0);
    let mut cursors = places.map(|x| at(w, x));
    let cursor = cursors.find(|at| at.fract() > 0.55).expect("a place between two steps");
    let time = format!("{:.1}", cursor.floor() * 0.1);
    assert!(w.query_by_label(&time).is_some(), "the run bar at {cursor}");
    assert_eq!(w.query_all_by_label_contains(&format!(": {time} ms of 300.0 ms")).count(), 1, "the banner at {cursor}");
}

#[test]
fn a_finished_run_is_scrubbed_in_the_same_views() {
    let folder = run_folder();
    let recorded = neuropil::project::RunFolder::open(&folder).expect("a run");
    let n_spikes = recorded.spikes().expect("spikes").len();
    assert!(n_spikes > 100);
    let mut w = open(Start { path: Some(folder.to_path_buf()), ..Start::default() });
    let read = |w: &Window| w.state().session().live.playback.as_ref().is_some_and(|r| r.fraction >= 1.0);
    until(&mut w, "the run is read", read);
    until(&mut w, "its spikes are indexed", |w| w.state().time().past.is_indexed());
    w.run_steps(4);
    assert!(w.query_by_label("PLAYBACK").is_some());
    assert_eq!(w.query_all_by_label_contains("Playback of neuropil-time").count(), 1);
    let time = w.state().time();
    assert_eq!(time.past.trains().map(|(_, t)| t.history.len()).sum::<usize>(), n_spikes);
    assert_eq!(time.axis.cursor(), Some(recorded.manifest.first_step as f64));
    assert!(!w.state().session().live.schema.sets[0].columns.is_empty(), "categories come from the project");
    let schema = &w.state().session().live.schema;
    let is_unrecorded = |name: &str| schema.unrecorded.contains(&schema.probe(name).expect("a probe"));
    assert!(!is_unrecorded("last_spike"), "it follows from the spikes");
    assert!(is_unrecorded("v_field"));
    both_clocks_show_the_step_before(&mut w);
    w.get_by_label("Play").click_accesskit();
    until(&mut w, "it plays", |w| w.state().time().axis.cursor().is_some_and(|at| at > 50.0));
    command(&mut w, UiCommand::GoLive);
    assert!(w.state().time().axis.cursor().is_some(), "a recording has no present");
    assert!(UiCommand::Record.why_not(&w.state().command_state()).is_some());
}
