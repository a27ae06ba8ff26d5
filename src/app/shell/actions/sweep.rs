//! Starts a sweep and collects its runs.

use crate::{
    app::{
        document::{
            layout::Page,
            sweep::{
                Sweeping,
                estimate::Estimate,
                job::{self, Order},
                values::SweptValues,
            },
        },
        kit::{self, level::Level, text},
        shell::{
            App,
            dialogs::{Dialog, sweep::SweepForm, sweep_axis},
            jobs::Done,
        },
    },
    params::ParamId,
    project::Project,
    sim::Progress,
};
use std::{path::PathBuf, sync::Arc};

/// The parameters that a sweep can have: those in use that follow no other.
fn sweepable(project: &Project) -> Vec<ParamId> {
    let params = project.model.params();
    let is_free = |id: &ParamId| {
        let follows = || project.links.iter().any(|link| link.path == params.path(*id));
        params.is_shown(*id) && params.spec(*id).is_some_and(sweep_axis::can_sweep) && !follows()
    };
    params.ids().into_iter().filter(is_free).collect()
}

impl App {
    /// Asks for the values of a parameter.
    pub(crate) fn ask_sweep(&mut self, id: ParamId) {
        if self.document.library.sweeping.is_some() {
            // Runs of two sweeps would take turns on one device, and share the copy of the project.
            return self
                .messages
                .notify(Level::Warning, "A sweep is running: wait for its end, or cancel it on the page Runs.");
        }
        let base = self.document.session.live.clock.base;
        let project = &self.document.session.project;
        let steps = project.run.planned_steps(base);
        let each = steps.map(|steps| kit::steps(steps as f64, base));
        let estimate = steps.and_then(|steps| Estimate::of(&self.document.library.runs, &project.model, steps));
        let form = SweepForm::new(project.model.params(), id, &sweepable(project), project.seed);
        self.overlays.dialog = form.map(|form| Dialog::Sweep(form.with_length(each, estimate)));
    }

    pub(crate) fn start_sweep(&mut self, swept: SweptValues) {
        let program = self.host.program.clone().map_or_else(std::env::current_exe, Ok);
        let (program, n) = match program {
            Ok(program) => (program, swept.n_runs()),
            Err(e) => return self.messages.notify(Level::Error, format!("Could not start the sweep: {e}")),
        };
        let (session, progress) = (&self.document.session, Arc::new(Progress::default()));
        let (base, runs) = (session.folder(), session.runs_folder());
        let paths = swept.axes.iter().map(|axis| axis.path.clone()).collect();
        let order = Order { program, project: session.accepted_document().0, base, runs, swept };
        let (outbox, shared) = (self.host.jobs.outbox(), progress.clone());
        let (ending, is_ended) = crossbeam_channel::bounded(1);
        let job = move || {
            let ended = |folder| drop(outbox.send(Box::new(|app: &mut Self| app.sweep_run(folder)) as Done));
            let result = job::run(&order, &shared, ended);
            drop(ending);
            result
        };
        if self.job("sweep", job, Self::sweep_ended) {
            self.workspace.show_page(Page::Runs);
            self.workspace.show_view("sweep", &self.document.session.live.schema);
            self.document.library.sweeping = Some(Sweeping::new(progress, n, is_ended));
            self.document.library.swept = paths;
            self.list_runs();
        }
    }

    /// The window closes: the run in progress ends at its next batch, and its folder is closed.
    pub(crate) fn end_sweep(&mut self) {
        if let Some(sweeping) = self.document.library.sweeping.take() {
            sweeping.end();
        }
    }

    /// A run of the sweep ended: it is marked with those before it.
    pub(crate) fn sweep_run(&mut self, folder: PathBuf) {
        if let Some(sweeping) = &mut self.document.library.sweeping {
            let is_first = sweeping.n_ended == 0;
            sweeping.run_ended();
            if is_first {
                self.document.library.select(&folder);
            } else {
                self.document.library.compared.add(&folder);
            }
        }
        self.list_runs();
    }

    /// All runs ended, or the sweep was cancelled.
    pub(crate) fn sweep_ended(&mut self, result: Result<usize, String>) {
        let n = self.document.library.sweeping.take().map_or(0, |sweeping| sweeping.n);
        match result {
            Ok(done) if done == n => {
                self.messages.notify(Level::Info, format!("Sweep finished: {}", text::plural(n, "run", "runs")))
            }
            Ok(done) => self.messages.notify(Level::Info, format!("Sweep cancelled after {done} of {n} runs")),
            Err(why) => self.messages.notify(Level::Error, format!("The sweep stopped: {why}")),
        }
        self.list_runs();
    }
}
