//! Reading of the data of each run, on the pool.

use crate::{
    app::{
        document::{run_groups::RunGroups, varied},
        views::compare::{
            group_rate::CountedGroup,
            read::{self, SeriesName, Summarised, Summary},
        },
    },
    params::{ParamId, ParamSpec, Params, Value, ValueType, distribution_argument::DistributionArgument, titles},
    project::{ParamHistory, Project, RunFolder},
    sim::TimeBase,
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
    pub spec: ParamSpec,
    /// Short label, without the group.
    pub label: String,
    /// Title with the group.
    pub title: String,
    /// The value with its unit, as it is displayed.
    pub text: String,
    /// The value of a number, or the index of a choice; `None` if it has neither. A distribution with a spread has a setting
    /// per argument.
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
    /// Time base of a step.
    pub base: TimeBase,
    /// Simulated time with its unit.
    pub duration: String,
    pub seed: u64,
    /// Sweep to which the run belongs; empty for other runs.
    pub sweep: String,
    /// Parameters by path, without those that are linked to others.
    pub settings: BTreeMap<String, Setting>,
    /// Series that the run recorded.
    pub offered: Vec<SeriesName>,
    /// Series that was read; `None` if there is none.
    pub key: Option<TappedProbe>,
    /// Summary of each lane of the series.
    pub lanes: Vec<Summary>,
    /// Group whose rate the series is; `None` for a recorded series.
    pub group: Option<CountedGroup>,
    /// Reason why the series was not read, if so.
    pub problem: Option<String>,
}

/// Reads the parameters of a run and the summaries of a series. Fails if the folder cannot be read.
pub fn read(folder: &Path, wanted: Option<&TappedProbe>, part: Part, groups: &RunGroups) -> io::Result<SweptRun> {
    let run = RunFolder::open(folder)?;
    let manifest = &run.manifest;
    let steps = manifest.last_step.saturating_sub(manifest.first_step);
    let history = ParamHistory::read(&run).map_err(io::Error::other)?;
    let (numbers, problem) = match read::summarise(&run, wanted, part.share(), groups) {
        Ok(numbers) => (numbers, None),
        Err(why) => {
            (Summarised { offered: read::offered(&run, groups), ..Summarised::default() }, Some(why.to_string()))
        }
    };
    Ok(SweptRun {
        folder: folder.to_owned(),
        name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        kind: manifest.kind.clone(),
        started: manifest.started.clone(),
        base: manifest.time_base(),
        duration: crate::app::kit::steps(steps as f64, manifest.time_base()),
        seed: history.first.seed,
        sweep: manifest.sweep.clone(),
        settings: settings_of(&history),
        offered: numbers.offered,
        key: numbers.key,
        lanes: numbers.lanes,
        group: numbers.group,
        problem,
    })
}

/// Returns the parameters of a run. A parameter that was edited during the run has no number, so that the run is not a
/// point of a sweep over it.
fn settings_of(history: &ParamHistory) -> BTreeMap<String, Setting> {
    let mut all = settings(&history.first);
    for id in history.edited_ids() {
        let params = history.first.model.params();
        let (path, is_law) =
            (params.path(id), params.spec(id).is_some_and(|spec| spec.kind == ValueType::Distribution));
        // The arguments of an edited distribution have no number either.
        let is_part = |at: &str| is_law && at.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.'));
        for (_, edited) in all.iter_mut().filter(|(at, _)| **at == path || is_part(at)) {
            (edited.text, edited.number) = (history.text(id), None);
        }
    }
    all
}

/// Returns the parameters of a project, without those that are linked to others.
pub fn settings(project: &Project) -> BTreeMap<String, Setting> {
    let params = project.model.params();
    let follows = |id: &ParamId| project.links.iter().any(|link| link.path == params.path(*id));
    params.ids().into_iter().filter(|id| !follows(id)).flat_map(|id| settings_at(params, id)).collect()
}

/// Returns the setting of a parameter, and those of the arguments of its distribution.
fn settings_at(params: &dyn Params, id: ParamId) -> Vec<(String, Setting)> {
    let Some(spec) = params.spec(id) else { return vec![] };
    let (path, value) = (params.path(id), params.get(id));
    let (label, title) = (varied::label(params, id, spec), titles::title(params, id));
    let index = |at: u16| (varied::choice_label(spec, at), Some(f64::from(at)));
    let plain = |number| (titles::shown(spec, &value), number);
    let (text, number) = match value {
        Value::Real(x) => plain(Some(x)),
        Value::Int(i) => plain(Some(i as f64)),
        Value::Bool(is_on) => plain(Some(f64::from(u8::from(is_on)))),
        Value::Choice(at) | Value::Variant(at, _) => index(at),
        Value::Distribution(law) if law.as_constant().is_some() => plain(law.as_constant()),
        Value::Distribution(law) => (law.law.spec().title.to_owned(), None),
        _ => plain(None),
    };
    let arguments = DistributionArgument::all(params, id).into_iter().map(|argument| {
        let (spec, x) = (argument.spec, argument.value);
        let of = |whole: &str| varied::of_argument(whole, &spec);
        let setting = Setting {
            spec,
            label: of(&label),
            title: of(&title),
            text: titles::shown(&spec, &Value::Real(x)),
            number: Some(x),
        };
        (format!("{path}.{}", spec.name), setting)
    });
    let arguments: Vec<_> = arguments.collect();
    let whole = (path, Setting { spec: *spec, label, title, text, number });
    [vec![whole], arguments].concat()
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
