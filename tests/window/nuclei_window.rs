//! Nuclei projects in the window: their views follow from the shapes of their probes. Pictures are written when
//! `NEUROPIL_SCREENSHOTS` names a folder.

use crate::support::harness;
use egui_kittest::{Harness, kittest::Queryable};
use harness::{Window, until};
use neuropil::{
    app::{
        Start, create,
        document::{command::UiCommand, settings::Theme},
    },
    params::path,
};
use neuropil_test_support::temp::TempFolder;
use neuropil_test_support::{Need, skip};
use std::path::{Path, PathBuf};

fn shoot(w: &mut Window, name: &str) {
    w.run_steps(3);
    let picture = match w.render() {
        Ok(picture) => picture,
        Err(e) => return skip(Need::Graphics, format!("the picture, because there is no graphics device: {e}")),
    };
    if let Some(folder) = std::env::var_os("NEUROPIL_SCREENSHOTS") {
        let folder = PathBuf::from(folder);
        std::fs::create_dir_all(&folder).expect("folder");
        picture.save(folder.join(format!("{name}.png"))).expect("picture");
    }
}

fn window(project: &str, size: [f32; 2]) -> Window {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut w = opened(&root.join("projects").join(project), size);
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    w
}

/// The window with a project or a run folder.
fn opened(path: &Path, size: [f32; 2]) -> Window {
    let path = Some(path.to_owned());
    let start = Start { path, native_dialogs: false, state_dir: None, config_dir: None, ..Start::default() };
    Harness::builder()
        .with_size(size)
        .with_max_steps(30)
        .with_theme(egui::Theme::Dark)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| create(cc, start).expect("threads"))
}

/// Runs up to a step, with these nuclei selected.
fn run_to(w: &mut Window, step: u64, selected: &[u32]) {
    let run = w.query_all_by_label("Run").next().expect("a button; empty views have one, too");
    run.click_accesskit();
    until(w, "it runs", |w| w.state().session().live.clock.step > 2);
    w.state_mut().session_mut().selection.replace("nuclei", selected.to_vec());
    until(w, "it has run", |w| w.state().session().live.clock.step > step);
    w.get_by_label("Pause").click_accesskit();
    until(w, "it pauses", |w| !w.state().session().live.running);
}

#[test]
fn nuclei_run_in_the_window() {
    let mut w = window("nuclei.ron", [1440.0, 900.0]);
    let step = if std::env::var_os("NEUROPIL_SCREENSHOTS").is_some() { 400 } else { 80 };
    run_to(&mut w, step, &[]);
    shoot(&mut w, "nuclei");
    for view in ["Phase circle", "Scatter", "3D view"] {
        assert!(w.query_by_label(view).is_some(), "there is no {view}");
    }
    assert!(w.state().session().live.checkpoints.failure.is_none());
}

/// The lineage of a finished run is complete.
#[test]
fn a_finished_run_shows_its_lineage() {
    let temp = TempFolder::new("lineage");
    let out = temp.join("run");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/nuclei.ron");
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_neuropil"))
        .arg("run")
        .arg(project)
        .args(["--device", "cpu", "--duration", "120generations", "--out"])
        .arg(&out)
        .output()
        .expect("the program");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = std::fs::read_to_string(out.join("lineage.jsonl")).expect("a lineage");
    let born = lines.lines().filter(|line| line.contains("\"child\":")).count();
    let mut w = opened(&out, [1440.0, 900.0]);
    until(&mut w, "the run is open", |w| w.state().session().live.playback.is_some());
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView("lineage"));
    let all = format!("of {} lines", text(born));
    until(&mut w, &all, |w| w.query_by_label_contains(&all).is_some());
    w.run_steps(20);
    shoot(&mut w, "nuclei-finished");
    drop(w);
}

/// A number below a million as captions write it.
fn text(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}

/// The timing view lists the coupling algorithms with pairs per second and errors.
#[test]
fn coupling_algorithms_are_compared_in_the_timing_view() {
    let mut w = window("nuclei.ron", [1920.0, 1200.0]);
    let params = w.state_mut().session_mut().project.model.params_mut();
    let change = path::parse(&*params, "measure.variants=true").expect("a parameter");
    params.set(&change);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(2));
    w.query_all_by_label("Run").next().expect("a button; empty views have one, too").click_accesskit();
    // Not every batch is profiled: wait for one.
    until(&mut w, "the algorithms are timed", |w| w.query_by_label("variant naive").is_some());
    w.get_by_label("Pause").click_accesskit();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    for (theme, name) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        w.state_mut().command(&ctx, UiCommand::Theme(theme));
        shoot(&mut w, &format!("variants-{name}"));
    }
    for what in
        ["variant naive", "variant tiled", "variant fast", "variant meanfield", "Sort by error", "Sort by items / s"]
    {
        assert!(w.query_by_label(what).is_some(), "the timing view does not say {what}");
    }
}

/// Pictures of every nuclei project in both themes and two sizes.
#[test]
fn projects_of_nuclei_make_pictures() {
    if std::env::var_os("NEUROPIL_SCREENSHOTS").is_none() {
        return println!("no pictures: NEUROPIL_SCREENSHOTS names no folder");
    }
    let only = std::env::var("NEUROPIL_ONLY").unwrap_or_default();
    let projects = [("nuclei", 400), ("fields", 250), ("soda", 300), ("kuramoto", 400), ("population", 400)];
    for (project, step) in projects.into_iter().filter(|(name, _)| name.contains(&only)) {
        for size in [[1920.0, 1200.0], [1280.0, 800.0]] {
            let mut w = window(&format!("{project}.ron"), size);
            run_to(&mut w, step, if size[0] > 1400.0 { &[] } else { &[1, 5, 9, 33] });
            for (theme, name) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
                let ctx = w.ctx.clone();
                w.state_mut().command(&ctx, UiCommand::Theme(theme));
                shoot(&mut w, &format!("{project}-{}-{name}", size[0]));
                if project == "nuclei" || project == "fields" {
                    w.state_mut().command(&ctx, UiCommand::Workspace(1));
                    shoot(&mut w, &format!("{project}-explore-{}-{name}", size[0]));
                    w.state_mut().command(&ctx, UiCommand::Workspace(0));
                }
            }
        }
    }
}
