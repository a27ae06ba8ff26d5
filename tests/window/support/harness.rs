//! A headless window: opens it, and waits for conditions while its engine runs.

use egui_kittest::Harness;
use neuropil::app::{App, Start};
use std::time::{Duration, Instant};

pub type Window = Harness<'static, App>;

/// Opens it.
pub fn open(start: Start) -> Window {
    Harness::builder()
        .with_size([1440.0, 900.0])
        .with_max_steps(30)
        .build_eframe(move |cc| App::new(cc, start).expect("threads"))
}

/// Steps until a condition holds; a running engine keeps repainting, so `run` would not end.
pub fn until_within(patience: Duration, w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        assert!(since.elapsed() < patience, "timeout waiting until {what}: {:?}", w.state().messages());
        std::thread::sleep(Duration::from_millis(5));
    }
}
