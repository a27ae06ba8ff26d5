//! The program: a window when there is a screen, else the command line.

use neuropil::{
    app::Start,
    cli::{DrawingBench, UiBench, Window, WindowBench, WindowCase},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // SAFETY: this is the only thread.
    unsafe { neuropil::gpu::use_all_queues() };
    neuropil::project::run::set_commit(env!("NEUROPIL_GIT"));
    neuropil::cli::main(Box::new(neuropil::app::shell::log::capture::layer()), open_window)
}

/// Opens the workbench. Without a screen the project runs headless for its planned duration.
fn open_window(window: Window) -> ExitCode {
    let Window { project, reset_layout, reset_settings, safe_mode, bench } = window;
    match bench {
        Some(UiBench::Window(bench)) => return bench_window(&bench),
        Some(UiBench::Drawing(bench)) => return bench_drawing(&bench),
        None => {}
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

/// Prints the measured cost of the window.
fn bench_window(bench: &WindowBench) -> ExitCode {
    use neuropil::app::shell::{bench as window, pages::examples};
    let examples = examples::ALL.iter().filter(|example| !example.needs_files);
    let cases = match bench.cases(examples.filter_map(|example| Some((example.name, examples::project_of(example)?)))) {
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
    print(lines, true)
}

/// Prints the times of frames. Fails if two graphics processors draw different pictures.
fn bench_drawing(bench: &DrawingBench) -> ExitCode {
    use neuropil::app::shell::bench::drawing;
    let rows = drawing::run(bench.secs, bench.pictures.as_deref());
    let are_equal = rows.as_ref().is_ok_and(|rows| drawing::are_equal(rows));
    print(rows.map(|rows| drawing::report(&rows, bench.json)), are_equal)
}

/// Prints lines, or the reason of a failure. `is_good` is whether the lines report a success.
fn print(lines: Result<Vec<String>, String>, is_good: bool) -> ExitCode {
    match lines {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("neuropil: {why}");
            ExitCode::FAILURE
        }
    }
}
