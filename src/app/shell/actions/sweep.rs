//! Start of a sweep, and collection of its runs.

use crate::{
    app::{
        document::{
            layout::Page,
            library::Library,
            open_document::Document,
            sweep::{
                Sweeping,
                estimate::Estimate,
                job::{self, Order},
                values::SweptValues,
            },
        },
        kit::{self, level::Level, text},
        shell::{
            actions::runs,
            dialogs::{Dialog, sweep::SweepForm, sweep_axis},
            host::Host,
            jobs::Done,
            messages::Messages,
            overlays::Overlays,
            workspace::Workspaces,
        },
        views::sweep::SweepPlot,
    },
    params::ParamId,
    project::Project,
    sim::Progress,
};
use std::{path::PathBuf, sync::Arc};

/// Returns the parameters that a sweep can vary: those in use that are not linked to another one.
fn sweepable(project: &Project) -> Vec<ParamId> {
    let params = project.model.params();
    let is_free = |id: &ParamId| {
        let follows = || project.links.iter().any(|link| link.path == params.path(*id));
        params.is_shown(*id) && params.spec(*id).is_some_and(sweep_axis::can_sweep) && !follows()
    };
    params.ids().into_iter().filter(is_free).collect()
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
    let form = SweepForm::new(project.model.params(), id, &sweepable(project), project.seed);
    overlays.dialog = form.map(|form| Dialog::Sweep(form.with_length(each, estimate)));
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
    let order = Order { program, project: session.accepted_document().0, base, runs, swept };
    let (outbox, shared) = (host.jobs.outbox(), progress.clone());
    let (ending, is_ended) = crossbeam_channel::bounded(1);
    let job = move || {
        let ended = |folder| {
            let done: Done = Box::new(|app| run_ended(&mut app.document, &mut app.host, &mut app.messages, folder));
            outbox.send(done).ok();
        };
        let result = job::run(&order, &shared, ended);
        drop(ending);
        result
    };
    if host
        .job(messages, "sweep", job, |app, result| ended(&mut app.document, &mut app.host, &mut app.messages, result))
    {
        workspace.show_page(Page::Runs);
        workspace.show_view(SweepPlot::DECLARATION.name, &document.session.live.schema);
        document.library.sweeping = Some(Sweeping::new(progress, n, is_ended));
        document.library.swept = paths;
        runs::list(document, host, messages);
    }
}

/// Ends the sweep when the window closes. The run in progress ends at its next batch, and its folder is closed.
pub fn end(library: &mut Library) {
    if let Some(sweeping) = library.sweeping.take() {
        sweeping.end();
    }
}

/// Handles the end of a run of the sweep: selects it for comparison with the earlier ones.
pub fn run_ended(document: &mut Document, host: &mut Host, messages: &mut Messages, folder: PathBuf) {
    if let Some(sweeping) = &mut document.library.sweeping {
        let is_first = sweeping.n_ended == 0;
        sweeping.run_ended();
        if is_first {
            document.library.select(&folder);
        } else {
            document.library.compared.add(&folder);
        }
    }
    runs::list(document, host, messages);
}

/// Shows the result of a sweep that has ended or was cancelled.
pub fn ended(document: &mut Document, host: &mut Host, messages: &mut Messages, result: Result<usize, String>) {
    let n = document.library.sweeping.take().map_or(0, |sweeping| sweeping.n);
    match result {
        Ok(done) if done == n => {
            messages.notify(Level::Info, format!("Sweep finished: {}", text::plural(n, "run", "runs")))
        }
        Ok(done) => {
            messages.notify(Level::Info, format!("Sweep cancelled after {done} of {}", text::plural(n, "run", "runs")))
        }
        Err(why) => messages.notify(Level::Error, format!("The sweep stopped: {why}")),
    }
    runs::list(document, host, messages);
}
