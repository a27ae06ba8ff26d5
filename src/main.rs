//! The program: a window when there is a screen, else the command line.

use neuropil::{app::Start, cli::Window};
use std::process::ExitCode;

fn main() -> ExitCode {
    neuropil::cli::main(Box::new(neuropil::app::log::capture::layer()), open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(window: Window) -> ExitCode {
    let Window { project, reset_layout, reset_settings, safe_mode, bench_secs, json } = window;
    if let Some(secs) = bench_secs {
        return bench_window(secs, json);
    }
    if neuropil::cli::has_display() {
        let start = Start { reset_layout, reset_settings, safe_mode, ..Start::of_user() };
        match neuropil::app::open(project.clone(), start) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why) => eprintln!("neuropil: {why}; running the project without one"),
        }
    } else {
        eprintln!(
            "neuropil: no display (neither DISPLAY nor WAYLAND_DISPLAY is set); running the project without a window"
        );
    }
    neuropil::cli::headless(project)
}

/// Prints the UI-thread time per frame.
fn bench_window(secs: f64, json: bool) -> ExitCode {
    match neuropil::app::bench::run(secs) {
        Ok(rows) => {
            neuropil::app::bench::report(&rows, json).iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("neuropil: {why}");
            ExitCode::FAILURE
        }
    }
}
