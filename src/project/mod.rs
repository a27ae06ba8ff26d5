//! The project and its files: project files, run folders, replay.
//!
//! A [`Project`] is a value: widgets edit it in place, undo keeps copies of it, the command line sets its parameters.
//! This is the only module that reads and writes the file format, and everything it writes is versioned.
//!
//! Selections and interventions are declared once for every kind ([`params::interventions`]) as two groups of each
//! kind's parameters, so that files, `--set`, links, the command log and undo address them as any parameter. The window
//! stores their colours in the [`ViewState`] of the project. No result depends on the colours.

#![warn(missing_docs)]

mod append_file;
mod atomic_file;
mod beginning;
mod branches;
pub mod check;
pub mod checkpoint_file;
mod checkpoint_settings;
mod checkpoints;
mod circuit;
pub mod clipboard;
pub mod command_log;
mod compare;
mod continuation;
pub mod delete;
mod diff;
mod durability;
mod edits;
mod encode;
pub mod experiment;
pub mod file;
pub mod folder;
mod input_data;
pub mod labels;
mod lock;
mod manifest;
mod migrate;
mod new;
pub mod outside;
pub mod param_history;
mod parent;
mod path_serde;
pub mod peak_performance;
mod plan;
pub mod playback;
pub mod provenance;
pub mod read_meter;
pub mod record;
mod recorded_files;
pub mod rename;
mod replace;
pub mod replay;
mod resume;
mod retired;
mod ron_error;
mod ron_tree;
pub mod run;
mod run_file;
pub mod run_table;
mod run_times;
mod safety;
mod schema;
mod segments;
pub mod series;
mod set_changes;
mod sets;
pub mod stream_reader;
mod unlisted;
mod view;
pub mod writer;

pub use atomic_file::write_atomic;
pub use beginning::move_run;
pub use branches::{Branch, branches_of};
pub use checkpoint_file::{CheckpointFile, CheckpointInfo};
pub use checkpoint_settings::CheckpointSettings;
pub use circuit::of_circuit;
pub use continuation::Continuation;
pub use diff::{Difference, diff, titled_diff};
pub use durability::DeferredSync;
pub use encode::LinksAt;
pub use experiment::Experiment;
pub use file::{ReadError, Warning, from_ron, open, read, read_bytes, save, to_line, to_ron, write};
pub use folder::RunFolder;
pub use input_data::{load_data, load_logged_data};
pub use manifest::{FileInfo, Manifest, Parent, Status, Stream};
pub use new::new_project;
pub use outside::{OutsidePath, outside_paths, outside_paths_of_run};
pub use param_history::ParamHistory;
pub use parent::overlap;
pub use plan::{DeviceChoice, FinalCheckpoint, MAX_TRIALS, PlanTree, RunPlan};
pub use record::{Elements, record_entry, record_selection, spike_taps};
pub use replace::{exports, list_exports};
pub use resume::{LockedRun, VerifiedRun};
pub use safety::{OwnedRunStart, SafetyWriter, safety_taps};
pub use series::SeriesWriter;
pub use sets::{SetInfo, save_shared_ids};
pub use view::ViewState;
pub use writer::{RunStart, RunWriter};

use crate::{
    engine::CheckpointPlan,
    kinds::Model,
    params,
    params::{Change, ParamId, PathText, Value, ValueType, link, link::Link, path::PathError},
    sim::{BuildContext, Tap, TimeBase},
};
use std::path::Path;

/// Version of the project file this program writes.
pub const VERSION: u32 = 2;

/// Project: kind, parameters, run settings, recorded probes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Project {
    /// Version of the project file format.
    pub version: u32,
    /// Name in the window title and in names of run folders.
    pub name: String,
    /// Free text of the user.
    pub notes: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Kind and parameters.
    pub model: Model,
    /// Settings of a run.
    pub run: RunPlan,
    /// Entries for the recorded probes, see [`record`].
    pub record: Vec<String>,
    /// Parameters computed from others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Conditions, seeds and measures; `None` for a project without an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Experiment>,
    /// View settings: colours of selections.
    #[serde(skip_serializing_if = "ViewState::is_empty")]
    pub view: ViewState,
    /// Layout of the window in the app's format; `None` for the default layout.
    pub workspace: Option<String>,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            version: VERSION,
            name: "Untitled".into(),
            notes: String::new(),
            seed: 1,
            model: Model::default(),
            run: RunPlan::default(),
            record: vec![],
            links: vec![],
            experiment: None,
            view: ViewState::default(),
            workspace: None,
        }
    }
}

/// Reads the embedded fly project, which opens by default; returns an empty project if the file is invalid.
pub fn default_project() -> Project {
    read(include_str!("../../projects/fly.ron")).map_or_else(|_| Project::default(), |(project, _)| project)
}

impl Project {
    /// Returns the build context of the model. Relative paths start from `base`, the folder of the project file.
    pub fn build_context(&self, base: &Path) -> BuildContext {
        let cache = peak_performance::cache_folder();
        BuildContext { base: base.to_owned(), seed: self.seed, cache, ..BuildContext::default() }
    }

    /// Returns the conditions on which recordings of the project take checkpoints.
    pub fn checkpoint_plan(&self) -> CheckpointPlan {
        self.run.checkpoints(self.model.keeps_final_state(), self.model.result_probe())
    }

    /// Describes when a recording takes checkpoints and how many it keeps, of about `n_bytes` each (0: unknown); `None` if it
    /// takes none.
    pub fn checkpoint_words(&self, n_bytes: u64) -> Option<String> {
        let plan = self.checkpoint_plan();
        CheckpointSettings::of(&plan, self.run.kept(&plan)).words(n_bytes)
    }

    /// Returns the file from which the shape of the model follows, as entered; `None` if the kind has no such parameter, or no
    /// file is chosen.
    pub fn shape_file(&self) -> Option<String> {
        let (id, _) = params::path::find(self.model.params(), self.model.shape_file()).ok()?;
        match self.model.params().get(id) {
            Value::Text(typed) if !typed.trim().is_empty() => Some(typed),
            _ => None,
        }
    }

    /// Returns the number of steps in the planned duration; `None` if the duration is unlimited.
    pub fn planned_steps(&self) -> Option<u64> {
        self.run.planned_steps(self.model.time_base())
    }

    /// Returns the number of steps after which *Run* in the window pauses; `None` if the run continues until paused.
    pub fn steps_per_run(&self) -> Option<u64> {
        self.run.steps_per_run(self.model.time_base())
    }

    /// Applies one `path=value` of the command line: a parameter of the kind, `run.…`, `seed` or `name`. Relative paths in the
    /// value start from `here`. Fails for a text without `=`, an unknown path, an invalid value, a linked parameter, and the
    /// duration that the kind's time base does not use.
    pub fn set(&mut self, text: &str, here: &Path) -> Result<(), PathError> {
        let (path, value) = text.split_once('=').ok_or_else(|| PathError::NoEquals(text.to_owned()))?;
        match path.trim() {
            "name" => self.name = value.trim().to_owned(),
            "seed" => {
                self.seed = value.trim().parse().map_err(|_| PathError::Value {
                    path: "seed".into(),
                    why: format!("`{}` is not a whole number from 0 to {}", value.trim(), u64::MAX),
                })?;
            }
            path if path == format!("run.{}", RunPlan::unused(self.model.time_base())) => {
                let base = self.model.time_base();
                let (how, used) = match base {
                    TimeBase::Count { plural, .. } => (format!("counted in {plural}"), "run.steps=400"),
                    TimeBase::Seconds { .. } => ("simulated time".to_owned(), "run.duration_ms=1 s"),
                };
                let why = format!("the length of this run is {how}; set e.g. {used}");
                return Err(PathError::Value { path: path.to_owned(), why });
            }
            path if path.starts_with("run.") => {
                let mut tree = PlanTree { run: self.run.clone() };
                let change = params::path::parse(&tree, text)?;
                params::Params::set(&mut tree, &change);
                self.run = tree.run;
            }
            _ => {
                let mut change = params::path::parse(self.model.params(), text)?;
                if let Some(link) = link::of(self.model.params(), &self.links, change.id) {
                    let why = format!("it is linked to `{}`; remove the link first", link.formula);
                    return Err(PathError::Value { path: path.to_owned(), why });
                }
                self.make_absolute(&mut change, here);
                self.model.params_mut().set(&change);
                self.follow_links();
            }
        }
        Ok(())
    }

    /// Replaces paths of parameters of the model and of the run settings in a message by their titles, for the window.
    pub fn titled(&self, text: &str) -> String {
        if !text.contains('.') {
            return text.to_owned();
        }
        let plan = PlanTree { run: self.run.clone() };
        params::titles::in_text(&plan, &params::titles::in_text(self.model.params(), text))
    }

    /// Sets every linked parameter. Returns a message for each link that could not be evaluated.
    pub fn follow_links(&mut self) -> Vec<String> {
        if self.links.is_empty() { vec![] } else { link::follow(self.model.params_mut(), &self.links) }
    }

    /// Resolves a relative path in the value of a path parameter against `here`, the working directory.
    fn make_absolute(&self, change: &mut Change, here: &Path) {
        let is_path = self.model.params().spec(change.id).is_some_and(|s| s.kind == ValueType::Path);
        if let (true, Value::Text(text)) = (is_path, &mut change.value)
            && !text.is_empty()
        {
            *text = here.join(&*text).to_string_lossy().into_owned();
        }
    }

    /// Returns the path parameters that are not empty, with their values.
    pub fn paths(&self) -> Vec<(ParamId, PathText)> {
        let params = self.model.params();
        let is_path = |id: &ParamId| params.spec(*id).is_some_and(|s| s.kind == ValueType::Path);
        params
            .ids()
            .into_iter()
            .filter(is_path)
            .filter_map(|id| match params.get(id) {
                Value::Text(text) if !text.is_empty() => Some((id, PathText(text))),
                _ => None,
            })
            .collect()
    }

    /// Returns the taps that a run records, and a message per invalid or repeated entry. A project without entries records spikes.
    pub fn taps(&self) -> (Vec<Tap>, Vec<String>) {
        self.taps_in(&Elements::default())
    }

    /// Returns the taps that a run records, and a message per invalid or repeated entry. Ids and selections are looked up in
    /// `elements`.
    pub fn taps_in(&self, elements: &Elements<'_>) -> (Vec<Tap>, Vec<String>) {
        let probes = self.model.probes();
        let (mut taps, mut problems) = (Vec::<Tap>::new(), vec![]);
        for entry in &self.record {
            match self.tap_of(entry, elements) {
                Ok(tap) if taps.iter().any(|t| t.has_key(&tap.key())) => {
                    problems.push(format!("`record` contains `{entry}` twice"));
                }
                Ok(tap) => taps.push(tap),
                Err(problem) => problems.push(problem),
            }
        }
        if self.record.is_empty() {
            taps.extend(spike_taps(probes));
        }
        (taps, problems)
    }
}
