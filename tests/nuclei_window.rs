//! A kind the window has never heard of: its views come from the shapes of its probes. A picture is written when
//! `NEUROPIL_SCREENSHOTS` names a folder.

use egui_kittest::{Harness, kittest::Queryable};
use neuropil::app::{App, Start, settings::Theme};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

type Window = Harness<'static, App>;

fn until(w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(120), "waited in vain until {what}: {:?}", w.state().messages());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn shoot(w: &mut Window, name: &str) {
    w.run_steps(3);
    let picture = match w.render() {
        Ok(picture) => picture,
        Err(e) => return eprintln!("SKIPPED: the picture, because there is no graphics device: {e}"),
    };
    if let Some(folder) = std::env::var_os("NEUROPIL_SCREENSHOTS") {
        let folder = PathBuf::from(folder);
        std::fs::create_dir_all(&folder).expect("folder");
        picture.save(folder.join(format!("{name}.png"))).expect("picture");
    }
}

fn window(project: &str, size: [f32; 2]) -> Window {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = Some(root.join("projects").join(project));
    let start = Start { path, native_dialogs: false, state_dir: None, config_dir: None, ..Start::default() };
    let mut w: Window = Harness::builder()
        .with_size(size)
        .with_max_steps(30)
        .with_theme(egui::Theme::Dark)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| App::new(cc, start).expect("threads"));
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    w
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
    run_to(&mut w, 400, &[]);
    shoot(&mut w, "nuclei");
    for view in ["Phase circle", "Scatter", "3D view"] {
        assert!(w.query_by_label(view).is_some(), "there is no {view}");
    }
    assert!(w.state().session().live.rescue.fault.is_none());
}

/// Every project of populations and oscillators in both themes and two sizes: for the eye.
#[test]
fn projects_of_nuclei_make_pictures() {
    if std::env::var_os("NEUROPIL_SCREENSHOTS").is_none() {
        return eprintln!("SKIPPED: NEUROPIL_SCREENSHOTS names no folder");
    }
    for (project, step) in [("nuclei", 400), ("soda", 300), ("kuramoto", 400), ("population", 400)] {
        for size in [[1440.0, 900.0], [1280.0, 800.0]] {
            let mut w = window(&format!("{project}.ron"), size);
            run_to(&mut w, step, if size[0] > 1400.0 { &[] } else { &[1, 5, 9, 33] });
            for (theme, name) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
                let ctx = w.ctx.clone();
                w.state_mut().command(&ctx, neuropil::app::commands::UiCommand::Theme(theme));
                shoot(&mut w, &format!("{project}-{}-{name}", size[0]));
            }
        }
    }
}
