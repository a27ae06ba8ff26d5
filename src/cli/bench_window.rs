//! `neuropil bench window` and `neuropil bench drawing`: arguments of the measurements that need the window's code.

use super::{bench_args::BenchArgs, error::CliError, finish, run::base_of};
use crate::project::{self, Project};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Default duration of a measurement, seconds: at a given spike rate, and with a project.
const SECS: [f64; 2] = [10.0, 4.0];

/// Default duration of a measurement of drawing, seconds.
const DRAWING_SECS: f64 = 3.0;

/// A measurement that needs the window's code.
pub enum UiBench {
    /// UI-thread time, and the cost of the window for running projects.
    Window(Box<WindowBench>),
    /// Times and pictures of frames on the graphics processor.
    Drawing(DrawingBench),
}

impl UiBench {
    /// Names of these measurements on the command line.
    pub(super) const NAMES: [&'static str; 2] = ["window", "drawing"];

    pub(super) fn of(args: BenchArgs) -> Self {
        match args.kind == Self::NAMES[1] {
            true => Self::Drawing(DrawingBench {
                secs: args.duration.map_or(DRAWING_SECS, |ms| ms * 1e-3),
                pictures: args.pictures,
                json: args.json,
            }),
            false => Self::Window(Box::new(WindowBench::of(args))),
        }
    }
}

/// Settings of a measurement of drawing.
pub struct DrawingBench {
    /// Duration of each scene, seconds.
    pub secs: f64,
    /// Folder for the pictures that are compared; `None` writes none.
    pub pictures: Option<PathBuf>,
    /// Whether the result is printed as JSON.
    pub json: bool,
}

/// Settings of a measurement of the window.
pub struct WindowBench {
    /// Duration of a measurement, seconds.
    pub secs: f64,
    /// Number of measurements per project, whose median is reported.
    pub repeats: u32,
    /// Whether the result is printed as JSON.
    pub json: bool,
    args: BenchArgs,
}

/// A project with which the window is measured.
#[derive(Clone)]
pub struct WindowCase {
    /// Name of the case in the result.
    pub name: String,
    pub project: Project,
    /// Folder of the project's relative paths.
    pub folder: PathBuf,
}

impl WindowBench {
    fn of(args: BenchArgs) -> Self {
        let secs = SECS[usize::from(args.examples || !args.project.is_empty())];
        Self { secs: args.duration.map_or(secs, |ms| ms * 1e-3), repeats: args.repeats, json: args.json, args }
    }

    /// Returns the projects that the arguments select among the examples and files; empty if only the UI thread is
    /// measured.
    ///
    /// # Errors
    /// Fails with the exit code, after the message has been printed.
    pub fn cases(&self, examples: impl Iterator<Item = (&'static str, Project)>) -> Result<Vec<WindowCase>, ExitCode> {
        self.named(examples).map_err(|error| finish(Err(error)))
    }

    fn named(&self, examples: impl Iterator<Item = (&'static str, Project)>) -> Result<Vec<WindowCase>, CliError> {
        let (args, mut known) = (&self.args, vec![]);
        let is_wanted = |name: &str, kind: &str| args.only.as_deref().is_none_or(|only| only == name || only == kind);
        let mut cases = vec![];
        for (name, project) in examples.filter(|_| args.examples) {
            known.push(name);
            if is_wanted(name, project.model.name()) {
                cases.push(WindowCase { name: name.to_owned(), project, folder: PathBuf::from(".") });
            }
        }
        if let (true, true, Some(only)) = (args.examples, cases.is_empty(), &args.only) {
            return Err(CliError::Usage(format!(
                "no example or kind is named `{only}`; examples: {}",
                known.join(", ")
            )));
        }
        for path in &args.project {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.push(WindowCase { name, project: project::open(path)?.0, folder: base_of(path) });
        }
        cases.iter_mut().try_for_each(|case| self.adjust(&mut case.project))?;
        Ok(if args.trials > 1 {
            cases.into_iter().flat_map(|case| with_trials(case, args.trials)).collect()
        } else {
            cases
        })
    }

    /// Applies --set, --device and --threads. With --device auto, the project determines the device. Fails if a parameter
    /// is invalid.
    fn adjust(&self, project: &mut Project) -> Result<(), CliError> {
        for text in &self.args.set {
            project.set(text, Path::new("."))?;
        }
        let run = &mut project.run;
        run.gpu = self.args.device.gpu.unwrap_or(run.gpu);
        run.threads = self.args.threads.unwrap_or(run.threads);
        if self.args.device.choice != project::DeviceChoice::Auto {
            run.device = self.args.device.choice;
        }
        Ok(())
    }
}

/// Returns the case with one trial and the case with `n`.
fn with_trials(mut one: WindowCase, n: u32) -> [WindowCase; 2] {
    one.project.run.trials = 1;
    let mut several = WindowCase { name: format!("{}, {n} trials", one.name), ..one.clone() };
    several.project.run.trials = n;
    [one, several]
}
