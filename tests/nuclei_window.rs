//! A kind the window has never heard of: its views come from the shapes of its probes. A picture is written when
//! `NEUROPIL_SCREENSHOTS` names a folder.

use egui_kittest::{Harness, kittest::Queryable};
use neuropil::app::{App, Start};
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

#[test]
fn nuclei_run_in_the_window() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = Some(root.join("projects/nuclei.ron"));
    let start = Start { path, native_dialogs: false, state_dir: None, config_dir: None, ..Start::default() };
    let mut w: Window = Harness::builder()
        .with_size([1440.0, 900.0])
        .with_max_steps(30)
        .with_theme(egui::Theme::Dark)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| App::new(cc, start).expect("threads"));
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    let run = w.query_all_by_label("Run").next().expect("a button; empty views have one, too");
    run.click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 20);
    w.state_mut().session_mut().selection.replace("nuclei", vec![1, 5, 9, 33]);
    until(&mut w, "it has run", |w| w.state().session().live.clock.step > 400);
    w.get_by_label("Pause").click_accesskit();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    shoot(&mut w, "nuclei");
    for view in ["Spike raster", "3D view"] {
        assert!(w.query_by_label(view).is_some(), "there is no {view}");
    }
    assert!(w.state().session().live.rescue.fault.is_none());
}
