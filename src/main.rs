//! The program: a window when there is a screen, else the command line.

use neuropil::{
    app::Start,
    cli::{Window, WindowBench, WindowCase},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    neuropil::cli::main(Box::new(neuropil::app::shell::log::capture::layer()), open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(window: Window) -> ExitCode {
    let Window { project, reset_layout, reset_settings, safe_mode, bench } = window;
    if let Some(bench) = bench {
        return bench_window(&bench);
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

/// Prints what the window costs.
fn bench_window(bench: &WindowBench) -> ExitCode {
    use neuropil::app::shell::{bench as window, pages::examples};
    let examples = examples::ALL.iter().filter(|example| !example.needs_files);
    let cases = match bench.cases(examples.filter_map(|example| Some((example.name, example.project()?)))) {
        Ok(cases) => cases,
        Err(code) => return code,
    };
    let of_case =
        |case: WindowCase| window::projects::Case { name: case.name, project: case.project, folder: case.folder };
    let lines = match cases.is_empty() {
        true => window::run(bench.secs).map(|rows| window::report(&rows, bench.json)),
        false => window::projects::run(cases.into_iter().map(of_case).collect(), bench.secs, bench.repeats)
            .map(|rows| window::projects::report(&rows, bench.json)),
    };
    match lines {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("neuropil: {why}");
            ExitCode::FAILURE
        }
    }
}
