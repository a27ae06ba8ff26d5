//! The window without a screen, for tests that drive it by the names of things.
#![allow(dead_code)]

use super::fake;
use egui_kittest::Harness;
use neuropil::{
    app::{App, Start},
    params::path,
    project::Project,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub type Window = Harness<'static, App>;

/// The default project with a simulation that costs nothing, or none.
pub fn start(engine: bool) -> Start {
    Start {
        engine,
        project: Some(Project::default()),
        native_dialogs: false,
        state_dir: None,
        builder: Some(Arc::new(|_, scene, progress| {
            progress.report("Wiring neurons", 0.5)?;
            Ok(Box::new(fake::Fake::new(scene.seed)))
        })),
        ..Start::default()
    }
}

/// Opens it.
pub fn open(start: Start) -> Window {
    Harness::builder()
        .with_size([1440.0, 900.0])
        .with_max_steps(30)
        .build_eframe(move |cc| App::new(cc, start).expect("threads"))
}

/// Steps until something holds; a live engine keeps repainting, so `run` would not end.
pub fn until(w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        let said = w.state().messages();
        assert!(since.elapsed() < Duration::from_secs(20), "waited in vain until {what}: {said:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A parameter as it is shown.
pub fn value(w: &Window, name: &str) -> String {
    let params = w.state().session().project.model.params();
    let (id, spec) = path::find(params, name).expect("path");
    path::show(spec, &params.get(id))
}

/// Sets a parameter as a widget would.
pub fn assign(w: &mut Window, text: &str) {
    let params = w.state_mut().session_mut().project.model.params_mut();
    let change = path::parse(params, text).expect("assignment");
    assert!(params.set(&change));
}
