//! Trials that share a build.

use super::{
    build::Build,
    output::Output,
    recorded::Recording,
    setting::Setting,
    silent::{self, ActiveBySeed},
    trial::{FinishedTrial, Trial, Worker},
};
use crate::{
    experiment::{
        Plan, changes,
        folder::ExperimentFolder,
        table::{TrialResult, TrialState},
    },
    gpu::StopFlag,
    project::{
        Project,
        experiment::{Experiment, TrialRecording},
    },
    sim::{Progress, SimError, Simulation},
};
use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Interval between checks for cancellation.
const POLL: Duration = Duration::from_millis(2);

/// Trials of the conditions that share a build.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Condition of which the model is prepared; unused for the first build, which is that of the unchanged project.
    pub representative: usize,
    /// Whether the build is that of the unchanged project.
    pub is_first_build: bool,
    /// Conditions of the group with their trials that have no result.
    pub trials: Vec<(usize, u64)>,
}

impl Group {
    /// Returns the results of the trials of a build that failed.
    pub fn failed(&self, experiment: &Experiment, error: &SimError) -> Vec<((usize, u64), TrialResult)> {
        let failed = |key: &(usize, u64)| (*key, failed_trial(experiment.measures.len(), error));
        self.trials.iter().map(failed).collect()
    }
}

fn failed_trial(n_measures: usize, error: &SimError) -> TrialResult {
    let state = TrialState::Failed(error.to_string());
    // The text in the table has no line breaks, and is the same after it is read back.
    let state = match state.to_string().strip_prefix("failed: ") {
        Some(why) => TrialState::Failed(why.to_owned()),
        None => state,
    };
    TrialResult { values: vec![None; n_measures], hash: String::new(), state }
}

/// Groups trials by build; the first group is that of the unchanged project. Fails if a condition cannot be applied.
pub(super) fn by_build(
    project: &Project,
    plan: &Plan,
    open: &[(usize, u64)],
    base: &Path,
) -> Result<Vec<Group>, SimError> {
    let mut groups = vec![Group { is_first_build: true, ..Group::default() }];
    let mut projects: Vec<Project> = vec![project.clone()];
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    // Conditions that silence one element each differ in the element alone.
    let mut of_elements = None;
    for (condition, seed) in open {
        let is_of_element = plan.conditions[*condition].element.is_some();
        let known = group_of.get(condition).copied().or(of_elements.filter(|_| is_of_element));
        let at = match known {
            Some(at) => at,
            None => {
                let changed =
                    changes::changed(project, &plan.conditions[*condition].changes, base).map_err(SimError::Input)?;
                let shares = |known: &Project| {
                    let differences = changes::differences(known, &changed);
                    known.model.shares_build(&differences).unwrap_or(false)
                };
                projects.iter().position(shares).unwrap_or_else(|| {
                    projects.push(changed.clone());
                    groups.push(Group { representative: *condition, ..Group::default() });
                    groups.len() - 1
                })
            }
        };
        if is_of_element {
            of_elements = Some(at);
        }
        group_of.insert(*condition, at);
        groups[at].trials.push((*condition, *seed));
    }
    Ok(groups)
}

/// Inputs of all groups.
pub(super) struct Context<'a> {
    pub folder: &'a ExperimentFolder,
    pub base: &'a Path,
    pub setting: &'a Setting,
    pub progress: &'a Progress,
}

impl Context<'_> {
    /// Runs the trials of a group. `first` is a simulation of the build. Fails as [`super::Started::run`] does.
    pub fn run(
        &self,
        group: &Group,
        build: &Build,
        first: Option<Box<dyn Simulation>>,
        output: &mut Output<'_>,
    ) -> Result<(), SimError> {
        let control = self.folder.plan.control;
        let (mut of_control, mut others): (Vec<_>, Vec<_>) =
            group.trials.iter().copied().partition(|(condition, _)| *condition == control);
        let candidates = self.candidates(group, build, &others);
        let needed: BTreeSet<u64> = candidates.iter().map(|(_, seed)| *seed).collect();
        let open: BTreeSet<(usize, u64)> = of_control.iter().copied().collect();
        let again = needed.iter().map(|seed| (control, *seed)).filter(|key| !open.contains(key));
        of_control.extend(again);
        let pool = Pool { first: Mutex::new(first), ..self.pool(build, &needed) };
        pool.run(&of_control, output, &|output, key, done| {
            match open.contains(&key) {
                true => output.add([(key, done.result.clone())])?,
                false => self.compare_again(output, key, &done.result)?,
            }
            pool.remember(key.1, done);
            Ok(())
        })?;
        let same = self.infer(&candidates, &pool, output)?;
        let same: BTreeSet<(usize, u64)> = same.into_iter().collect();
        others.retain(|key| !same.contains(key));
        others.sort_by_key(|(condition, seed)| (*seed, *condition));
        pool.run(&others, output, &|output, key, done| output.add([(key, done.result)]))
    }

    /// Returns the trials of a group that silence one element, if the rule about silent elements applies.
    fn candidates(&self, group: &Group, build: &Build, others: &[(usize, u64)]) -> Vec<(usize, u64)> {
        let plan = &self.folder.plan;
        let set = build.schema.sets.first().map_or("", |set| set.name);
        if !group.is_first_build || build.events.is_none() || !silent::applies(&self.folder.project, plan) {
            return vec![];
        }
        let seeds = &plan.conditions[plan.control].seeds;
        let has_control = |seed: &u64| seeds.contains(seed);
        let is_one = |(condition, seed): &&(usize, u64)| {
            silent::silenced_element(plan, *condition, set).is_some() && has_control(seed)
        };
        others.iter().filter(is_one).copied().collect()
    }

    /// Gives the trials of silent elements the result of the control, and runs some of them as a check. Returns these trials.
    /// Fails if a check differs.
    fn infer(
        &self,
        candidates: &[(usize, u64)],
        pool: &Pool<'_>,
        output: &mut Output<'_>,
    ) -> Result<Vec<(usize, u64)>, SimError> {
        let active = pool.active.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let plan = &self.folder.plan;
        let set = pool.build.schema.sets.first().map_or("", |set| set.name);
        let is_silent = |(condition, seed): &&(usize, u64)| {
            let element = silent::silenced_element(plan, *condition, set);
            let active = active.by_seed.get(seed);
            matches!((element, active), (Some(e), Some(active)) if !active.get(e as usize).copied().unwrap_or(true))
        };
        let same: Vec<(usize, u64)> = candidates.iter().filter(is_silent).copied().collect();
        let result = |key: &(usize, u64)| {
            let control = active.results.get(&key.1)?;
            Some((*key, TrialResult { state: TrialState::SameAsControl, ..control.clone() }))
        };
        let checked = silent::choose(&same, self.setting.check_silent, self.folder.project.seed);
        output
            .counters()
            .n_planned_steps
            .fetch_sub(pool.build.until * (same.len() - checked.len().min(same.len())) as u64, Ordering::Relaxed);
        pool.run(&checked, output, &|output, key, done| {
            let control = active.results.get(&key.1);
            if control.is_none_or(|control| (&control.values, &control.hash) != (&done.result.values, &done.result.hash)) {
                let name = &plan.conditions[key.0].name;
                return Err(SimError::Diverged(format!(
                    "the trial of `{name}` with seed {} differs from the control, though its element has no events there; \
                     set infer_silent to false and report this",
                    key.1
                )));
            }
            output.counters().n_checked.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        output.add(same.iter().filter_map(result))?;
        Ok(same)
    }

    /// Compares a control that was run again with its row in the table. Fails if they differ.
    fn compare_again(&self, output: &Output<'_>, key: (usize, u64), now: &TrialResult) -> Result<(), SimError> {
        match output.table.trials.get(&key) {
            Some(known) if known != now => Err(SimError::Diverged(format!(
                "the control with seed {} gives another result than in the table: hash {} in place of {}",
                key.1, now.hash, known.hash
            ))),
            _ => Ok(()),
        }
    }

    fn pool<'a>(&'a self, build: &'a Build, needed: &'a BTreeSet<u64>) -> Pool<'a> {
        Pool { context: self, build, needed, first: Mutex::default(), active: Mutex::default() }
    }
}

/// Controls that were run: results and elements with events.
#[derive(Clone, Default)]
struct Controls {
    by_seed: ActiveBySeed,
    results: HashMap<u64, TrialResult>,
}

/// Workers of a group.
struct Pool<'a> {
    context: &'a Context<'a>,
    build: &'a Build,
    /// Seeds of which the elements with events in the control are needed.
    needed: &'a BTreeSet<u64>,
    /// Simulation with the parameters of the build, for the first worker.
    first: Mutex<Option<Box<dyn Simulation>>>,
    active: Mutex<Controls>,
}

/// Receiver of finished trials.
type Take<'a> = dyn Fn(&mut Output<'_>, (usize, u64), FinishedTrial) -> Result<(), SimError> + Sync + 'a;

impl Pool<'_> {
    fn remember(&self, seed: u64, done: FinishedTrial) {
        let mut controls = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(active) = done.active {
            controls.by_seed.insert(seed, active);
        }
        controls.results.insert(seed, done.result);
    }

    /// Runs trials on as many workers as the device allows, and gives each result to `take`. A trial that fails is added to the
    /// table. Fails with the first error of the device or of `take`, and with [`SimError::Cancelled`].
    fn run(&self, trials: &[(usize, u64)], output: &mut Output<'_>, take: &Take<'_>) -> Result<(), SimError> {
        if trials.is_empty() {
            return Ok(());
        }
        let (n_workers, device) = self.build.workers(trials.len(), &self.context.setting.device)?;
        let (next, n_ended, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), StopFlag::default());
        let counters = output.counters();
        let (output, failed) = (Mutex::new(output), Mutex::new(None));
        std::thread::scope(|scope| {
            for _ in 0..n_workers {
                scope.spawn(|| {
                    let work = || -> Result<(), SimError> {
                        let device = device.with_own_streams(n_workers)?;
                        let recording = self.recording();
                        let progress = self.context.progress;
                        let mut worker = Worker::new(self.build, device, counters, progress, stop.clone(), recording);
                        // The first simulation has all threads, and is reused only by a single worker.
                        if n_workers == 1
                            && let Some(sim) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
                        {
                            worker.keep(sim);
                        }
                        while let Some(key) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                            let done = self.trial(&mut worker, *key);
                            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                            match done {
                                Ok(done) => take(&mut output, *key, done)?,
                                Err(error @ (SimError::Cancelled | SimError::Device(_) | SimError::NoDevice(_))) => {
                                    return Err(error);
                                }
                                Err(error) => {
                                    let n = self.build.measures.len();
                                    output.add([(*key, failed_trial(n, &error))])?;
                                }
                            }
                        }
                        Ok(())
                    };
                    if let Err(error) = work() {
                        stop.raise();
                        next.store(trials.len(), Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        // The others are cancelled because of the first error.
                        if failed.as_ref().is_none_or(|known| matches!(known, SimError::Cancelled)) {
                            *failed = Some(error);
                        }
                    }
                    n_ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            while n_ended.load(Ordering::SeqCst) < n_workers {
                if self.context.progress.is_cancelled() && !stop.is_raised() {
                    stop.raise();
                    next.store(trials.len(), Ordering::Relaxed);
                }
                std::thread::sleep(POLL);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None if self.context.progress.is_cancelled() => Err(SimError::Cancelled),
            None => Ok(()),
        }
    }

    fn trial(&self, worker: &mut Worker<'_>, (condition, seed): (usize, u64)) -> Result<FinishedTrial, SimError> {
        let folder = self.context.folder;
        let changes = &folder.plan.conditions[condition].changes;
        let project = changes::changed(&folder.project, changes, self.context.base).map_err(SimError::Input)?;
        let is_recorded = folder.project.experiment.as_ref().is_some_and(|e| e.record == TrialRecording::EveryTrial);
        worker.run(&Trial {
            project: &project,
            seed,
            finds_active: condition == folder.plan.control && self.needed.contains(&seed),
            folder: is_recorded.then(|| folder.trial_folder(condition, seed)),
        })
    }

    fn recording(&self) -> Recording<'_> {
        let setting = self.context.setting;
        Recording {
            base: self.context.base,
            device: &setting.device_name,
            threads: setting.threads,
            command: &setting.command,
        }
    }
}
