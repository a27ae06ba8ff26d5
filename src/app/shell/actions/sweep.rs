//! Start of a sweep, and collection of its runs.

use crate::{
    app::{
        document::{
            layout::Page,
            library::Library,
            open_document::Document,
            sweep::{
                LastSweep, Sweeping,
                estimate::Estimate,
                job::{self, FailedRun, Order, RunEnd},
                name,
                parameter::SweptParameter,
                values::SweptValues,
            },
        },
        kit::{self, level::Level, text},
        shell::{
            actions::runs,
            dialogs::{Dialog, sweep::SweepForm},
            host::Host,
            jobs::Done,
            messages::Messages,
            overlays::Overlays,
            workspace::Workspaces,
        },
        views::sweep::SweepPlot,
    },
    params::ParamId,
    project::{Project, record},
    sim::Progress,
};
use std::sync::Arc;

/// Returns the parameters that a sweep can vary: those in use that are not linked to another one.
fn sweepable(project: &Project) -> Vec<SweptParameter> {
    let params = project.model.params();
    let is_free = |id: &ParamId| {
        let follows = || project.links.iter().any(|link| link.path == params.path(*id));
        params.is_shown(*id) && !follows()
    };
    params.ids().into_iter().filter(is_free).flat_map(|id| SweptParameter::all(params, id)).collect()
}

/// Opens the dialog for the values of a sweep over a parameter, unless a sweep is running.
pub fn ask(document: &Document, overlays: &mut Overlays, messages: &mut Messages, id: ParamId) {
    if document.library.sweeping.is_some() {
        // Runs of two sweeps would compete for a device and share the copy of the project.
        return messages.notify(Level::Warning, "A sweep is running: wait for its end, or cancel it on the page Runs.");
    }
    let base = document.session.live.clock.base;
    let project = &document.session.project;
    let steps = project.run.planned_steps(base);
    let each = steps.map(|steps| kit::steps(steps as f64, base));
    let estimate = steps.and_then(|steps| Estimate::of(&document.library.runs, &project.model, steps));
    let form = SweepForm::new(SweptParameter::all(project.model.params(), id), sweepable(project), project.seed);
    overlays.dialog = form.map(|form| Dialog::Sweep(form.with_length(each, estimate)));
}

/// Returns the project with its result ([`Model::result_probe`](crate::kinds::Model::result_probe)) among the recorded probes.
fn with_result(mut project: Project) -> Project {
    let Some(result) = project.model.result_probe() else { return project };
    if !project.record.iter().any(|entry| record::probe_of(entry) == result) {
        project.record.push(result.to_owned());
    }
    project
}

pub fn start(
    workspace: &mut Workspaces,
    document: &mut Document,
    host: &mut Host,
    messages: &mut Messages,
    swept: SweptValues,
) {
    let program = host.program.clone().map_or_else(std::env::current_exe, Ok);
    let (program, n) = match program {
        Ok(program) => (program, swept.n_runs()),
        Err(e) => return messages.notify(Level::Error, format!("Could not start the sweep: {e}")),
    };
    let (session, progress) = (&document.session, Arc::new(Progress::default()));
    let (base, runs) = (session.folder(), session.runs_folder());
    let paths = swept.axes.iter().map(|axis| axis.path.clone()).collect();
    let name = name::begun_now(&swept.name);
    let last = LastSweep { name: name.clone(), paths, failed: vec![] };
    let order = Order { program, project: with_result(session.accepted_document().0), base, runs, swept, name };
    let (outbox, shared) = (host.jobs.outbox(), progress.clone());
    let (ending, is_ended) = crossbeam_channel::bounded(1);
    let job = move || {
        let ended = |end| {
            let done: Done = Box::new(|parts| run_ended(parts.document, parts.host, parts.messages, end));
            outbox.send(done).ok();
        };
        let result = job::run(&order, &shared, ended);
        drop(ending);
        result
    };
    if host.job(messages, "sweep", job, |parts, result| ended(parts.document, parts.host, parts.messages, result)) {
        workspace.show_page(Page::Runs);
        workspace.show_view(SweepPlot::DECLARATION.name, &document.session.live.schema);
        document.library.sweeping = Some(Sweeping::new(progress, n, is_ended));
        document.library.swept = last;
        runs::list(document, host, messages);
    }
}

/// Ends the sweep when the window closes. The run in progress ends at its next batch, and its folder is closed.
pub fn end(library: &mut Library) {
    if let Some(sweeping) = library.sweeping.take() {
        sweeping.end();
    }
}

/// Handles the end of a run of the sweep: selects a recorded one for comparison with the earlier ones.
pub fn run_ended(document: &mut Document, host: &mut Host, messages: &mut Messages, end: RunEnd) {
    let library = &mut document.library;
    let Some(sweeping) = &mut library.sweeping else { return };
    let is_first = sweeping.n_ended == library.swept.failed.len();
    match end {
        RunEnd::Complete(folder) | RunEnd::Cancelled(folder) if is_first => library.select(&folder),
        RunEnd::Complete(folder) | RunEnd::Cancelled(folder) => drop(library.compared.add(&folder)),
        RunEnd::Failed(failed) => {
            tracing::warn!("a run of the sweep failed: {}: {}", failed.what, failed.why);
            library.swept.failed.push(failed);
        }
    }
    library.sweeping.iter_mut().for_each(Sweeping::run_ended);
    runs::list(document, host, messages);
}

/// Shows the result of a sweep that has ended or was cancelled.
pub fn ended(document: &mut Document, host: &mut Host, messages: &mut Messages, result: Result<(), String>) {
    let library = &mut document.library;
    let failed = &library.swept.failed;
    let (n, n_ended, is_cancelled) =
        library.sweeping.take().map_or((0, 0, false), |s| (s.n, s.n_ended, s.progress.is_cancelled()));
    let (all, n_recorded) = (text::plural(n, "run", "runs"), n_ended.saturating_sub(failed.len()));
    match (result, is_cancelled) {
        (Err(why), _) => messages.notify(Level::Error, format!("The sweep stopped: {why}")),
        (Ok(()), true) => messages.notify(Level::Info, format!("Sweep cancelled after {n_ended} of {all}")),
        (Ok(()), false) if failed.is_empty() => messages.notify(Level::Info, format!("Sweep finished: {all}")),
        (Ok(()), false) => {
            let text = format!("Sweep finished: {n_recorded} of {all}. {}", failed_text(failed));
            messages.notify(Level::Warning, text);
        }
    }
    runs::list(document, host, messages);
}

/// Maximum number of failed runs that a message names.
const NAMED: usize = 3;

/// Lists failed runs with their reasons: `Failed: Membrane time constant 0 ms (…), and 2 more`.
fn failed_text(failed: &[FailedRun]) -> String {
    let named: Vec<String> = failed.iter().take(NAMED).map(|run| format!("{} ({})", run.what, run.why)).collect();
    let more = failed.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(", and {more} more, see the log") } else { String::new() };
    format!("Failed: {}{rest}", named.join(", "))
}
