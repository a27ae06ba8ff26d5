//! Trials of a series in playback: the shown one, and the opening of another one.

use super::{OpenedRun, opened};
use crate::{
    kinds::Model,
    project::{OutsidePath, RunFolder, folder::trial_folder, outside_paths_of_run},
    sim::ElementSet,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Shown trial of a series, and the trial that was chosen in its place.
#[derive(Clone, Debug)]
pub struct ShownTrial {
    /// Folder of the series.
    pub series: PathBuf,
    /// Number of trials of the series, including missing ones.
    pub n_trials: u32,
    /// Shown trial, from 0.
    shown: u32,
    /// Chosen trial, from 0; the shown one unless another one is to be opened.
    chosen: u32,
    /// Trial that a thread opens; `None` if no trial is being opened.
    opening: Option<u32>,
}

impl ShownTrial {
    pub(super) fn new(series: PathBuf, n_trials: u32, shown: u32) -> Self {
        Self { series, n_trials, shown, chosen: shown, opening: None }
    }

    /// Returns the chosen trial, from 0.
    pub fn chosen(&self) -> u32 {
        self.chosen
    }

    /// Chooses a trial, from 0. Has no effect beyond the last trial.
    pub fn choose(&mut self, trial: u32) {
        if trial < self.n_trials {
            self.chosen = trial;
        }
    }

    /// Returns the chosen trial if it is to be opened now: it is not shown, and no other trial is being opened.
    pub fn begin_opening(&mut self) -> Option<u32> {
        if self.opening.is_none() && self.chosen != self.shown {
            self.opening = Some(self.chosen);
            return self.opening;
        }
        None
    }

    /// Ends the opening of a trial. Returns whether it is still the chosen one.
    pub fn end_opening(&mut self, trial: u32) -> bool {
        self.opening.take_if(|opening| *opening == trial).is_some() && self.chosen == trial
    }

    /// Chooses the shown trial again, because the chosen one cannot be shown.
    pub fn stay(&mut self) {
        self.chosen = self.shown;
    }
}

/// Trial of the shown series that is to be opened.
pub struct TrialToOpen {
    /// Folder of the series.
    pub series: PathBuf,
    /// Number of the trial, from 0.
    pub trial: u32,
    /// Number of trials of the series.
    pub(super) n_trials: u32,
    /// Parameters of the series at step 0.
    pub(super) model: Model,
    /// Sets of the series at its first step, which all trials share.
    pub(super) sets: Vec<Arc<ElementSet>>,
}

impl TrialToOpen {
    /// Opens the trial with the sets of the shown one, so that the network is not built again. Fails with the folder and the reason
    /// if the trial is missing, damaged, empty or of another network, or `allows` returns false for the files outside its folder.
    pub fn open(&self, allows: &dyn Fn(&[OutsidePath]) -> bool) -> Result<OpenedRun, String> {
        let folder = trial_folder(&self.series, self.trial);
        let named = |why: String| match why.contains(&*folder.to_string_lossy()) {
            true => why,
            false => format!("{}: {why}", folder.display()),
        };
        self.read(&folder, allows).map_err(named)
    }

    fn read(&self, folder: &Path, allows: &dyn Fn(&[OutsidePath]) -> bool) -> Result<OpenedRun, String> {
        let mut run = RunFolder::open(folder).map_err(|e| e.to_string())?;
        run.trial = Some(self.trial);
        let (project, notes) = run.displayed_project().map_err(|e| e.to_string())?;
        if let Some(damage) = run.manifest.streams.iter().find_map(|stream| run.damage(stream)) {
            return Err(damage);
        }
        if run.manifest.last_step <= run.manifest.first_step {
            return Err("no step was recorded".to_owned());
        }
        if project.model != self.model {
            return Err("the parameters are not those of the series".to_owned());
        }
        if !allows(&outside_paths_of_run(&run, &project)) {
            return Err("it reads files outside its folder, unlike the series: open it alone to allow that".to_owned());
        }
        let trial = ShownTrial::new(self.series.clone(), self.n_trials, self.trial);
        Ok(OpenedRun { trial: Some(trial), ..opened(run, project, notes, self.sets.clone()) })
    }
}
