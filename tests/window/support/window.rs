//! The window without a screen, for tests that drive it by the names of things.

use super::fake;
pub use super::harness::{Window, is_built, open, until};
use neuropil::{
    app::Start,
    params::path,
    project::{Project, RunPlan},
};
use std::sync::Arc;

/// The default project; *Run* continues until paused.
pub fn continuous() -> Project {
    Project { run: RunPlan { continuous: true, ..RunPlan::default() }, ..Project::default() }
}

/// The default project with a simulation that costs nothing, or none.
pub fn start(engine: bool) -> Start {
    Start {
        engine,
        project: Some(continuous()),
        native_dialogs: false,
        state_dir: None,
        builder: Some(Arc::new(|_, scene, progress| {
            progress.report("Wiring neurons", 0.5)?;
            Ok(Box::new(fake::new(scene.seed)))
        })),
        ..Start::default()
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

/// The same, taken up by the session.
pub fn set(w: &mut Window, text: &str) {
    assign(w, text);
    w.run();
}
