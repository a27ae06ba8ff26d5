//! The command line: runs, exports and checks without a window.
//!
//! Results go to stdout, progress and notices to stderr. Exit codes: 0 ok, 1 error, 2 usage (an invalid path, value, query or
//! file), 3 cancelled, 4 no usable GPU.

mod args;
mod ask;
mod ask_args;
mod bench;
mod bench_args;
mod bench_project;
mod bench_taps;
mod bench_window;
mod branched;
mod check;
mod checkpoint_args;
mod device;
mod diff;
mod error;
mod experiment;
mod experiment_args;
mod experiment_info;
mod export;
mod info;
mod new;
mod progress;
mod replay;
mod resumed;
mod run;
mod runs;
mod runs_args;
mod session;
mod signal;
mod speed;
mod stdout;
mod suggest;
mod tag;
mod torch;
mod trials;
mod validate;

use crate::data::io_reason;
use args::{Args, Task, WindowArgs};
pub use bench_window::{DrawingBench, UiBench, WindowBench, WindowCase};
use clap::{CommandFactory, Parser};
use error::CliError;
use std::{path::PathBuf, process::ExitCode};
use tracing_subscriber::{Layer, Registry};

/// Command line options of the window.
pub struct Window {
    /// File or run folder to open; `None` for the default project.
    pub project: Option<PathBuf>,
    /// Whether to ignore the saved layout.
    pub reset_layout: bool,
    /// Whether to ignore the saved settings.
    pub reset_settings: bool,
    /// Whether to ignore everything saved and render in software.
    pub safe_mode: bool,
    /// Measurement of the window or of its drawing, in place of the window itself; `None` opens the window.
    pub bench: Option<UiBench>,
}

/// Log layer of the window.
pub type Listener = Box<dyn Layer<Registry> + Send + Sync>;

/// Parses the command line and runs the command; without a command, calls `open_window`.
pub fn main(listener: Listener, open_window: impl FnOnce(Window) -> ExitCode) -> ExitCode {
    signal::report_file_size_limit();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(what) = suggest::unknown_command(&words) {
        return finish(Err(CliError::Usage(what)));
    }
    let args = Args::parse();
    listen(args.task.is_none().then_some(listener));
    match args.task {
        None => {
            let WindowArgs { reset_layout, reset_settings, safe_mode } = args.window;
            let project = args.project;
            open_window(Window { project, reset_layout, reset_settings, safe_mode, bench: None })
        }
        Some(Task::Bench(args)) if UiBench::NAMES.contains(&args.kind.as_str()) => {
            let (reset_layout, reset_settings, safe_mode) = (false, false, false);
            let bench = Some(UiBench::of(args));
            open_window(Window { project: None, reset_layout, reset_settings, safe_mode, bench })
        }
        Some(task) => finish(perform(task)),
    }
}

/// Runs a project, or the default project, for its planned duration. Used if there is no display.
pub fn headless(project: Option<PathBuf>) -> ExitCode {
    finish(run::headless(project))
}

/// Whether a display is available. Systems other than Linux are assumed to have one.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn perform(task: Task) -> Result<(), CliError> {
    match task {
        Task::Run(args) => run::run(&args),
        Task::New(args) => new::new(&args),
        Task::Replay(args) => replay::replay(&args),
        Task::Merge(args) => experiment::merge(&args),
        Task::Export(args) => export::export(&args),
        Task::Check { run, json } => check::check(&run, json),
        Task::Info { path, json } => info::info(&path, json),
        Task::Runs(args) => runs::runs(&args),
        Task::Tag(args) => tag::tag(&args),
        Task::Validate(args) => validate::validate(&args),
        Task::Diff { a, b } => diff::diff(&a, &b),
        Task::Ask(args) => ask::ask(args),
        Task::Params { kind, json } => info::params(&kind, json),
        Task::Bench(args) => bench::bench(&args),
        Task::Completions { shell } => {
            let mut script = vec![];
            clap_complete::generate(shell, &mut Args::command(), "neuropil", &mut script);
            stdout::line(String::from_utf8_lossy(&script).trim_end());
            Ok(())
        }
        Task::Man { folder } => clap_mangen::generate_to(Args::command().name("neuropil"), &folder)
            .map_err(|e| CliError::Failed(format!("{}: {}", folder.display(), io_reason(&e)))),
    }
}

fn finish(result: Result<(), CliError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("neuropil: {error}");
            ExitCode::from(error.code())
        }
    }
}

/// Default filter of the log on stderr: warnings, and the notice of a missing matrix library.
const LOGGED: &str = "warn,neuropil_core::nn::gemm=info";

/// Sets up the log. `NEUROPIL_LOG` or `RUST_LOG` selects the messages on stderr.
fn listen(window: Option<Listener>) {
    use tracing_subscriber::{EnvFilter, prelude::*};
    let filter = std::env::var("NEUROPIL_LOG").or_else(|_| std::env::var("RUST_LOG")).unwrap_or_else(|_| LOGGED.into());
    let filter = EnvFilter::try_new(&filter).unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(filter);
    tracing_subscriber::registry().with(window).with(stderr).try_init().ok();
}
