//! The program: a window when there is a screen, else the command line.

use neuropil::{app::Start, cli::Window};
use std::process::ExitCode;

fn main() -> ExitCode {
    neuropil::cli::main(Box::new(neuropil::app::log::capture::layer()), open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(window: Window) -> ExitCode {
    let Window { project, reset_layout, reset_settings, safe_mode } = window;
    if neuropil::cli::has_display() {
        let start = Start { reset_layout, reset_settings, safe_mode, ..Start::default() };
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
