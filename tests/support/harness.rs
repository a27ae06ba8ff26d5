//! A window without a screen, whatever it simulates: opening it, and waiting for something while its engine runs.
#![allow(dead_code)]

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

/// Steps until something holds; a live engine keeps repainting, so `run` would not end.
pub fn until_within(patience: Duration, w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        assert!(since.elapsed() < patience, "waited in vain until {what}: {:?}", w.state().messages());
        std::thread::sleep(Duration::from_millis(5));
    }
}
