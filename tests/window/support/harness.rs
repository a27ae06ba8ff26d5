//! A headless window: opens it, and waits for conditions while its engine runs.

use egui_kittest::Harness;
use neuropil::app::{Start, create, shell::App};
use neuropil_test_support::{Need, PATIENCE, skip};
use std::{
    path::Path,
    time::{Duration, Instant},
};

pub type Window = Harness<'static, App>;

/// Opens it.
pub fn open(start: Start) -> Window {
    Harness::builder()
        .with_size([1440.0, 900.0])
        .with_max_steps(30)
        .build_eframe(move |cc| create(cc, start).expect("threads"))
}

/// Steps until a condition holds; a running engine keeps repainting, so `run` would not end.
pub fn until(w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "timeout waiting until {what}: {:?}", w.state().messages());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the simulation of the document is loaded, and no other one is being built to replace it.
pub fn is_built(w: &Window) -> bool {
    let live = &w.state().session().live;
    live.is_loaded() && !live.is_load_pending() && live.progress().is_none()
}

/// Whether there is a Vulkan driver; without one, tests that draw are skipped.
#[track_caller]
pub fn can_draw() -> bool {
    let can = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].iter().any(|p| Path::new(p).exists());
    if !can {
        skip(Need::Graphics, "no Vulkan driver; install mesa-vulkan-drivers to draw pictures");
    }
    can
}

pub use neuropil_test_support::asserts_timings;

/// How much of a measured load to draw: all of it where durations are asserted, else a part that passes through the same code.
pub fn measured<T>(all: T, part: T) -> T {
    if asserts_timings() { all } else { part }
}
