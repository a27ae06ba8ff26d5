//! Edits of a running simulation reach a frame each. The latencies and frame times are printed, not asserted: they belong
//! to release builds on an idle machine. With `NEUROPIL_RENDER=1` every frame is also rendered; `NEUROPIL_PROJECT` names
//! another project.

use crate::support::harness::{Window, until};
use egui_kittest::{Harness, kittest::Queryable};
use neuropil::{
    app::{Start, create, document::run_stats::Samples},
    params::path,
};
use neuropil_test_support::PATIENCE;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

const EDITS: usize = 20;

/// One frame: its cost in milliseconds, drawing on the graphics device not counted.
fn frame(w: &mut Window, render: bool) -> f32 {
    let start = Instant::now();
    w.step();
    let ms = start.elapsed().as_secs_f32() * 1e3;
    if render {
        w.render().expect("a graphics device");
    }
    ms
}

#[test]
fn every_edit_reaches_a_frame() {
    let project = std::env::var_os("NEUROPIL_PROJECT")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/new/spiking.ron"), PathBuf::from);
    let render = std::env::var_os("NEUROPIL_RENDER").is_some();
    let start =
        Start { path: Some(project), native_dialogs: false, state_dir: None, config_dir: None, ..Start::default() };
    let builder = Harness::builder().with_size([1440.0, 900.0]).with_max_steps(4);
    let builder = if render { builder.wgpu() } else { builder };
    let mut w: Window = builder.build_eframe(move |cc| create(cc, start).expect("threads"));
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    w.state_mut().session_mut().project.run.continuous = true;
    // Views without data offer the same button as the run bar.
    w.get_all_by_label("Run").next().expect("a button").click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.secs() > 0.2);

    let mut frames = Samples::keeping(100_000);
    for edit in 0..EDITS {
        let params = w.state_mut().session_mut().project.model.params_mut();
        let change = path::parse(params, &format!("lif.w_syn={}mV", 0.2 + 0.001 * edit as f64)).expect("an edit");
        params.set(&change);
        let seen = w.state().session().live.latency.samples.count();
        let since = Instant::now();
        while w.state().session().live.latency.samples.count() == seen {
            assert!(since.elapsed() < PATIENCE, "edit {edit} was never seen");
            frames.push(frame(&mut w, render));
        }
    }
    assert_eq!(w.state().session().live.latency.samples.count(), EDITS, "every edit reaches a frame");
}
