//! Experiments: conditions added from elsewhere, start and end, and recorded trials among the runs.

use crate::{
    app::{
        document::{
            experiment::{Running, edit, results::n_failed_text},
            layout::Page,
            open_document::Document,
        },
        host::device::Devices,
        kit::{level::Level, text},
        shell::{
            actions::{documents, runs, trees::open_failed},
            host::Host,
            jobs::Done,
            messages::Messages,
            parts::ActionParts,
            workspace::Workspaces,
        },
        views::{
            experiment::{EffectTable, ExperimentEditor},
            view_3d::{BY_EFFECT, View3d},
        },
    },
    engine::lower_priority,
    experiment::{
        ExperimentFolder, Table, run,
        run::{Counters, Setting, Started},
        shard::Shard,
    },
    project::{DeviceChoice, Project, RunPlan, experiment::ConditionRule, outside_paths, run::next_folder},
    sim::{Progress, SimError},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reason why no second experiment starts.
pub const RUNNING: &str = "An experiment is running: wait for its end, or cancel it";
/// Reason why the experiment of a finished run is not edited.
pub const READ_ONLY: &str = "A finished run is read-only: rerun it first";

/// Adds a rule of conditions to the experiment of the document, and shows the editor.
pub fn add_conditions(parts: &mut ActionParts<'_>, rule: ConditionRule) {
    let session = &mut parts.document.session;
    if session.live.playback.is_some() {
        return parts.messages.notify(Level::Warning, READ_ONLY);
    }
    edit::add(edit::of_document(&mut session.project.experiment, &session.project.model), rule);
    added(parts);
}

/// Makes an edit that added conditions a step, and shows the editor.
pub fn added(parts: &mut ActionParts<'_>) {
    let ActionParts { document, workspace, messages, .. } = parts;
    let session = &mut document.session;
    session.history.commit_as(&session.project, "add conditions to the experiment");
    show(workspace, document, ExperimentEditor::DECLARATION.name);
    messages.notify(Level::Info, "Added to the experiment. Undo removes it");
}

/// Shows a view of the page Experiment.
pub fn show(workspace: &mut Workspaces, document: &Document, view: &str) {
    workspace.show_page(Page::Experiment);
    workspace.show_view(view, &document.session.live.schema);
}

/// Work of the thread that runs an experiment.
struct Order {
    devices: Arc<Devices>,
    plan: RunPlan,
    counters: Arc<Counters>,
    progress: Arc<Progress>,
}

/// Starts the experiment of the document in a new folder.
pub fn start(parts: &mut ActionParts<'_>) {
    let session = &parts.document.session;
    let project = session.accepted_document().0;
    let (base, runs) = (session.folder(), session.runs_folder());
    let plan = project.run.clone();
    launch(parts, plan, move |order, shown| order.begin(&project, &base, &runs, shown));
}

/// Runs the trials of an experiment that are missing or have failed. Fails if the experiment reads files outside its folder that
/// neither the open document reads nor the user has allowed.
pub fn resume(parts: &mut ActionParts<'_>, folder: PathBuf) {
    let session = &parts.document.session;
    let plan = session.project.run.clone();
    let (known, consent) = (outside_paths(&session.project, &session.folder()), parts.host.consent.clone());
    launch(parts, plan, move |order, _| {
        let opened = ExperimentFolder::open(&folder).map_err(SimError::Input)?;
        let outside = outside_paths(&opened.project, Path::new(&opened.manifest.base));
        if !outside.iter().all(|path| known.contains(path)) && !consent.allows_run(&folder, &outside) {
            return Err(SimError::Input(
                "it reads files outside its folder; continue it with neuropil run --resume".into(),
            ));
        }
        order.resume(&folder)
    });
}

/// Opens the folder of an experiment: its project is the document, and its results are on display. Its simulation is not built if
/// the project reads files outside its folder that the user has not allowed.
pub fn open(parts: &mut ActionParts<'_>, folder: PathBuf) {
    let read = move || (folder.clone(), ExperimentFolder::open(&folder));
    parts.host.job(parts.messages, "open experiment", read, |parts, (folder, read)| match read {
        Ok(opened) => {
            let base = PathBuf::from(&opened.manifest.base);
            let outside = outside_paths(&opened.project, &base);
            let is_allowed = parts.host.consent.allows_run(&folder, &outside);
            documents::set_of_experiment(parts, opened.project, base, is_allowed);
            if !is_allowed {
                let why = "The model was not built: it reads files outside its folder. Open its project to allow this";
                parts.messages.notify(Level::Warning, why);
            }
            parts.document.experiments.show(folder);
            show(parts.workspace, parts.document, EffectTable::DECLARATION.name);
        }
        Err(why) => open_failed(parts.flow, parts.messages, format!("Could not open the experiment: {why}")),
    });
}

/// Finished trials of an experiment, with its folder.
type Ended = Result<(ExperimentFolder, Table), SimError>;

/// Runs an experiment on a thread, unless one is running. `work` receives a function that shows the folder.
fn launch(
    parts: &mut ActionParts<'_>,
    plan: RunPlan,
    work: impl FnOnce(&Order, &dyn Fn(PathBuf)) -> Ended + Send + 'static,
) {
    let ActionParts { document, workspace, messages, host, .. } = parts;
    if document.experiments.running.is_some() {
        return messages.notify(Level::Warning, RUNNING);
    }
    let (progress, counters) = (Arc::new(Progress::default()), Arc::new(Counters::default()));
    let order = Order { devices: host.devices.clone(), plan, counters: counters.clone(), progress: progress.clone() };
    let (ending, is_ended) = crossbeam_channel::bounded::<()>(1);
    let outbox = host.jobs.outbox();
    let job = move || {
        let shown = |folder: PathBuf| {
            let done: Done = Box::new(|parts| parts.document.experiments.show(folder));
            outbox.send(done).ok();
        };
        let ended = work(&order, &shown);
        drop(ending);
        ended
    };
    let is_started = host
        .job(messages, "experiment", job, |parts, result| ended(parts.document, parts.host, parts.messages, result));
    if is_started {
        document.experiments.running = Some(Running::new(progress, counters, is_ended));
        show(workspace, document, EffectTable::DECLARATION.name);
    }
}

impl Order {
    /// Creates the folder and runs all trials.
    fn begin(&self, project: &Project, base: &Path, runs: &Path, shown: &dyn Fn(PathBuf)) -> Ended {
        let path = next_folder(runs, project.experiment_name()).map_err(|e| SimError::Input(e.to_string()))?;
        let begin = |setting: &Setting| run::begin(project, base, &path, Shard::default(), setting, &self.progress);
        let ended = self.run(begin, &|| shown(path.clone()));
        // An experiment that fails before its first trial leaves its folder empty.
        std::fs::remove_dir(&path).ok();
        ended
    }

    fn resume(&self, folder: &Path) -> Ended {
        self.run(|setting| run::resume(folder, setting, &self.progress), &|| {})
    }

    /// Starts an experiment on the device of the run settings, and runs its trials. With automatic choice, the CPU replaces a GPU
    /// that the kind does not use.
    fn run(&self, begin: impl Fn(&Setting) -> Result<Started, SimError>, begun: &dyn Fn()) -> Ended {
        // Threads of trials inherit the low priority of this thread, so that the window stays responsive.
        lower_priority(10);
        let mut setting = self.setting(&self.plan)?;
        let mut started = begin(&setting);
        if let (Err(SimError::NoDevice(why)), DeviceChoice::Auto) = (&started, self.plan.device) {
            tracing::info!("the experiment runs on the CPU: {why}");
            setting = self.setting(&RunPlan { device: DeviceChoice::Cpu, ..self.plan.clone() })?;
            started = begin(&setting);
        }
        let started = started?;
        begun();
        started.run(&setting, &self.counters, &self.progress)
    }

    fn setting(&self, plan: &RunPlan) -> Result<Setting, SimError> {
        let (device, name, threads) = self.devices.for_trials(plan)?;
        Ok(Setting {
            device,
            device_name: name,
            threads,
            ignores_memory: false,
            check_silent: 0,
            command: String::new(),
        })
    }
}

/// Cancels the experiment in progress; its thread reports the end.
pub fn cancel(document: &Document) {
    if let Some(running) = &document.experiments.running {
        running.progress.cancel();
    }
}

/// Shows the end of an experiment.
fn ended(document: &mut Document, host: &mut Host, messages: &mut Messages, result: Ended) {
    document.experiments.running = None;
    document.experiments.refresh();
    match result {
        Ok((_, table)) => {
            let trials = text::plural(table.trials.len(), "trial", "trials");
            match n_failed_text(&table) {
                None => messages.notify(Level::Info, format!("Experiment finished: {trials}")),
                Some(failed) => {
                    let failed = document.session.project.titled(&failed);
                    messages.notify(Level::Warning, format!("Experiment finished: {trials}, {failed}"));
                }
            }
        }
        Err(SimError::Cancelled) => {
            messages.notify(Level::Info, "Experiment cancelled; finished trials are kept, and Continue runs the rest");
        }
        Err(why) => messages.notify(Level::Error, format!("The experiment stopped: {why}")),
    }
    runs::list(document, host, messages);
}

/// Lists the recorded trials of an experiment in place of the project's runs, with those of a condition marked.
pub fn show_trials(parts: &mut ActionParts<'_>, experiment: PathBuf, trials: &[PathBuf]) {
    let ActionParts { document, workspace, messages, host, .. } = parts;
    document.library.trials_of = Some(experiment);
    runs::list(document, host, messages);
    for (n, trial) in trials.iter().enumerate() {
        if n == 0 {
            document.library.select(trial);
        } else {
            document.library.compared.add(trial);
        }
    }
    workspace.show_page(Page::Runs);
}

/// Colours the 3D view by the effects of the experiment on display.
pub fn color_by_effect(parts: &mut ActionParts<'_>) {
    let ActionParts { document, workspace, messages, .. } = parts;
    if !document.session.live.is_loaded() {
        return messages.notify(Level::Warning, "No simulation: build the model first");
    }
    let schema = &document.session.live.schema;
    workspace.show_in(View3d::DECLARATION.name, schema, |view| view.choose(schema, BY_EFFECT));
}
