//! Experiments of the project: their folders, the results on display, the experiment in progress, and the plan of the edited one.

pub mod edit;
pub mod effects;
mod estimate;
mod factors;
pub mod plan;
pub mod results;
mod running;
mod variation;

pub use estimate::Estimate;
pub use factors::{Factor, FactorValue, Factors};
pub use plan::PlanSummary;
pub use results::{ConditionState, Results};
pub use running::Running;
pub use variation::{MAX_TRIALS, Variation, Varied, VariedAxis};

use crate::{
    app::kit::pool::PooledResult,
    experiment::{folder::Status, is_experiment},
    kinds::Model,
    project::experiment::Experiment,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Interval at which files are read again while an experiment runs, and otherwise.
const REFRESH: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(2));

/// Results of a folder, or the reason why it cannot be opened.
pub type Opened = Result<Arc<Results>, String>;

/// Experiments beside the project.
#[derive(Default)]
pub struct Experiments {
    /// Folder on display; `None`: the newest.
    pub shown: Option<PathBuf>,
    /// Name of the measure on display; another name: the first measure.
    pub measure: String,
    /// Condition that the user clicked last, by name.
    pub selected: Option<String>,
    /// Experiment that runs in this window; `None` if none does.
    pub running: Option<Running>,
    /// Size of the edited experiment.
    pub plan: PooledResult<plan::PlanKey, PlanSummary>,
    /// Recorded run from which the duration of a trial is estimated; `None` without one.
    estimate: Option<Estimate>,
    listed: PooledResult<(PathBuf, u64), Vec<PathBuf>>,
    opened: PooledResult<(PathBuf, u64), Opened>,
    generation: u64,
    refreshed: Option<Instant>,
}

impl Experiments {
    /// Lists the experiments in the folder of the project's runs, and reads the one on display, on the pool. Files are read again
    /// at intervals. Called while a view of experiments is visible.
    pub fn update(&mut self, ctx: &egui::Context, runs: &Path) {
        let is_running = self.running.is_some() || self.results().is_some_and(|r| r.status() == &Status::Running);
        let interval = if is_running { REFRESH.0 } else { REFRESH.1 };
        let is_due = self.refreshed.is_none_or(|at| at.elapsed() >= interval);
        if is_due && !self.listed.is_busy() && !self.opened.is_busy() {
            (self.generation, self.refreshed) = (self.generation + 1, Some(Instant::now()));
        }
        if self.running.is_some() {
            ctx.request_repaint_after(REFRESH.0);
        }
        let runs = runs.to_owned();
        self.listed.want(ctx, (runs.clone(), self.generation), move |_| Some(list(&runs)));
        let Some(folder) = self.folder() else { return self.opened.clear() };
        let before = self.opened().and_then(|opened| opened.as_ref().ok()).cloned();
        let key = (folder.clone(), self.generation);
        self.opened.want(ctx, key, move |_| Some(results::read(&folder, before)));
    }

    /// Reads all files again in the next frame.
    pub fn refresh(&mut self) {
        self.refreshed = None;
    }

    /// Returns the folders of experiments, sorted by name.
    pub fn listed(&self) -> &[PathBuf] {
        self.listed.get().map_or(&[], |listed| listed.as_slice())
    }

    /// Returns the folder on display: the chosen one, otherwise the newest. `None` without experiments.
    pub fn folder(&self) -> Option<PathBuf> {
        self.shown.clone().or_else(|| self.listed().last().cloned())
    }

    /// Returns the experiment on display; `None` while it is read and without experiments.
    pub fn opened(&self) -> Option<&Opened> {
        let folder = self.folder()?;
        self.opened.key().filter(|(read, _)| *read == folder).and_then(|_| self.opened.get()).map(|opened| &**opened)
    }

    /// Returns the results on display; `None` without readable ones.
    pub fn results(&self) -> Option<Arc<Results>> {
        self.opened()?.as_ref().ok().cloned()
    }

    /// Returns the index of the measure on display.
    pub fn measure_of(&self, results: &Results) -> usize {
        results.table.measures.iter().position(|name| *name == self.measure).unwrap_or(0)
    }

    /// Shows the folder of an experiment.
    pub fn show(&mut self, folder: PathBuf) {
        (self.shown, self.selected) = (Some(folder), None);
        self.refresh();
    }

    /// Cancels the experiment in progress and waits until its folder is closed.
    pub fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }
}

/// Lists the folders of experiments in a folder of runs.
fn list(runs: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_experiment(path)).collect();
    folders.sort();
    folders
}

/// Experiments as views see them.
pub struct ExperimentContext<'a> {
    /// Folders, results and the experiment in progress.
    pub state: &'a mut Experiments,
    /// Experiment of the document, which views edit in place.
    pub edited: &'a mut Option<Experiment>,
    /// Expected duration of the edited experiment; empty if unknown.
    pub duration: String,
    /// Model of the document.
    pub model: &'a Model,
    /// Whether the document is a finished run, which cannot be edited.
    pub is_read_only: bool,
}

/// Experiments of a view without a document: there are none, and none can be edited.
#[derive(Default)]
pub struct NoExperiments {
    state: Experiments,
    edited: Option<Experiment>,
    model: Model,
}

impl NoExperiments {
    /// Returns what the view sees.
    pub fn context(&mut self) -> ExperimentContext<'_> {
        let Self { state, edited, model } = self;
        ExperimentContext { state, edited, duration: String::new(), model, is_read_only: true }
    }
}
