//! Reading of the data of each run, on the pool.

use crate::{
    app::views::compare::read::{self, SeriesName, Summary},
    params::{ParamSpec, Value, titles},
    project::{ParamHistory, Project, RunFolder},
};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// Name of a probe, and the arguments of its tap.
pub type TappedProbe = (String, String);

/// Part of a run that a summary covers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Part {
    #[default]
    All,
    /// Last half of the steps, without the transient at the start.
    Half,
    /// The last tenth of the steps.
    Tenth,
}

impl Part {
    /// All parts, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::All, "all steps"), (Self::Half, "last half"), (Self::Tenth, "last tenth")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(part, _)| *part == self).map_or("", |(_, name)| name)
    }

    fn share(self) -> f64 {
        match self {
            Self::All => 1.0,
            Self::Half => 0.5,
            Self::Tenth => 0.1,
        }
    }
}

/// Value of a parameter in a run.
#[derive(Clone, Debug)]
pub struct Setting {
    pub spec: &'static ParamSpec,
    /// Title with the group.
    pub title: String,
    /// The value with its unit, as it is displayed.
    pub text: String,
    /// The value of a number, or the index of a choice; `None` if it has neither.
    pub number: Option<f64>,
}

/// A run that may be a point of the plot.
#[derive(Clone, Debug, Default)]
pub struct SweptRun {
    pub folder: PathBuf,
    /// Name of the folder.
    pub name: String,
    /// Kind of the simulation.
    pub kind: String,
    pub started: String,
    /// Simulated time with its unit.
    pub duration: String,
    pub seed: u64,
    /// Parameters by path, without those that are linked to others.
    pub settings: BTreeMap<String, Setting>,
    /// Series that the run recorded.
    pub offered: Vec<SeriesName>,
    /// Series that was read; `None` if there is none.
    pub key: Option<TappedProbe>,
    /// Summary of each lane of the series.
    pub lanes: Vec<Summary>,
}

/// Reads the parameters of a run and the summaries of a series. Fails if the folder or its data cannot be read.
pub fn read(folder: &Path, wanted: Option<&TappedProbe>, part: Part) -> io::Result<SweptRun> {
    let run = RunFolder::open(folder)?;
    let manifest = &run.manifest;
    let steps = manifest.last_step.saturating_sub(manifest.first_step);
    let history = ParamHistory::read(&run).map_err(io::Error::other)?;
    let numbers = read::summarise(&run, wanted, part.share())?;
    Ok(SweptRun {
        folder: folder.to_owned(),
        name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        kind: manifest.kind.clone(),
        started: manifest.started.clone(),
        duration: crate::app::kit::steps(steps as f64, manifest.time_base()),
        seed: history.first.seed,
        settings: settings_of(&history),
        offered: numbers.offered,
        key: numbers.key,
        lanes: numbers.lanes,
    })
}

/// Returns the parameters of a run. One that was edited during the run has no number, so that the run is no point of a sweep over
/// it.
fn settings_of(history: &ParamHistory) -> BTreeMap<String, Setting> {
    let mut all = settings(&history.first);
    for id in history.edited_ids() {
        if let Some(edited) = all.get_mut(&history.first.model.params().path(id)) {
            (edited.text, edited.number) = (history.text(id), None);
        }
    }
    all
}

/// Returns the parameters of a project, without those that are linked to others.
pub fn settings(project: &Project) -> BTreeMap<String, Setting> {
    let params = project.model.params();
    let all = params.ids().into_iter().filter_map(|id| {
        let (spec, value) = (params.spec(id)?, params.get(id));
        let number = match value {
            Value::Real(x) => Some(x),
            Value::Int(i) => Some(i as f64),
            Value::Bool(b) => Some(f64::from(u8::from(b))),
            Value::Choice(i) => Some(f64::from(i)),
            _ => None,
        };
        let (title, text) = (titles::title(params, id), titles::shown(spec, &value));
        Some((params.path(id), Setting { spec, title, text, number }))
    });
    let follows = |path: &String| project.links.iter().any(|link| link.path == *path);
    all.filter(|(path, _)| !follows(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::LoggedCommand, sim::TimeBase};

    #[test]
    fn an_edited_parameter_is_no_point_of_a_sweep() {
        let (mut began, ended) = (Project::default(), Project::default());
        began.set("lif.tau_m=30ms", Path::new(".")).expect("a parameter");
        let edit = ended.model.params().changes_since(began.model.params()).remove(0);
        let run = |step| {
            let log = [(step, LoggedCommand::Set(edit.clone()))];
            settings_of(&ParamHistory::new(began.clone(), &log, 0, TimeBase::STEPS)).remove("lif.tau_m")
        };
        let (edited, before) = (run(70).expect("a setting"), run(0).expect("a setting"));
        assert_eq!((edited.text.as_str(), edited.number), ("30 ms → 20 ms (step 70)", None));
        assert_eq!((before.text.as_str(), before.number), ("20 ms", Some(20.0)), "before the first step");
    }
}
