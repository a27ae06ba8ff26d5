//! The program: a window when there is a screen, else the command line.

use std::{path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
    neuropil::cli::main(open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(project: Option<PathBuf>) -> ExitCode {
    if neuropil::cli::has_display() {
        match neuropil::app::open(project.clone(), neuropil::app::Start::default()) {
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
