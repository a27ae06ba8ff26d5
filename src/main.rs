//! The program: a window when there is a screen, else the command line.

use std::{path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
    neuropil::cli::main(open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(project: Option<PathBuf>) -> ExitCode {
    if neuropil::cli::has_display() {
        // Coordinator: `neuropil::app::open(project)` goes here; on an error it falls through to headless.
        eprintln!("neuropil: this build has no window; running the project without one");
    } else {
        eprintln!(
            "neuropil: no display (neither DISPLAY nor WAYLAND_DISPLAY is set); running the project without a window"
        );
    }
    neuropil::cli::headless(project)
}
