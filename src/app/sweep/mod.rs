//! A sweep: the project is run and recorded once for every value of a parameter, or of two, and every seed, beside the
//! window. The runs are marked for comparison as they end.

pub mod axis;
pub mod dialog;
pub mod estimate;
mod job;
pub mod values;

use super::{App, dialogs::Dialog, jobs::JobResult, log::Level, text, workspace::Page};
use crate::{params::ParamId, project::Project, sim::Progress};
use dialog::SweepForm;
use estimate::Estimate;
use job::Order;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use values::SweptValues;

/// How long a closing window waits for the run in progress to close its folder.
const CLOSING: Duration = Duration::from_secs(5);

/// A sweep in progress.
pub struct Sweeping {
    /// The run in progress, and the part of runs that ended.
    pub progress: Arc<Progress>,
    /// Number of runs.
    pub n: usize,
    /// Those that ended.
    pub n_ended: usize,
    since: Instant,
    /// From the start to the end of the last run.
    ended_after: Duration,
}

impl Sweeping {
    fn new(progress: Arc<Progress>, n: usize) -> Self {
        Self { progress, n, n_ended: 0, since: Instant::now(), ended_after: Duration::ZERO }
    }

    fn run_ended(&mut self) {
        self.n_ended += 1;
        self.ended_after = self.since.elapsed();
    }

    /// `, about 4 min left`, by the runs that ended; empty before the first one.
    pub fn time_left(&self) -> String {
        if self.n_ended == 0 {
            return String::new();
        }
        let each = self.ended_after.as_secs_f64() / self.n_ended as f64;
        let of_this = (self.since.elapsed() - self.ended_after).as_secs_f64();
        let left = each * self.n.saturating_sub(self.n_ended) as f64 - of_this;
        format!(", about {} left", text::rough_time(left.max(0.0)))
    }
}

/// The parameters that a sweep can have: those in use that follow no other.
fn sweepable(project: &Project) -> Vec<ParamId> {
    let params = project.model.params();
    let is_free = |id: &ParamId| {
        let follows = || project.links.iter().any(|link| link.path == params.path(*id));
        params.is_shown(*id) && params.spec(*id).is_some_and(axis::can_sweep) && !follows()
    };
    params.ids().into_iter().filter(is_free).collect()
}

impl App {
    /// Asks for the values of a parameter.
    pub(super) fn ask_sweep(&mut self, id: ParamId) {
        if self.library.sweeping.is_some() {
            // Runs of two sweeps would take turns on one device, and share the copy of the project.
            return self.notify(Level::Warning, "A sweep is running: wait for its end, or cancel it on the page Runs.");
        }
        let base = self.session.live.clock.base;
        let project = &self.session.project;
        let steps = project.run.planned_steps(base);
        let each = steps.map(|steps| super::views::kit::steps(steps as f64, base));
        let estimate = steps.and_then(|steps| Estimate::of(&self.library.runs, &project.model, steps));
        let form = SweepForm::new(project.model.params(), id, &sweepable(project), project.seed);
        self.dialog = form.map(|form| Dialog::Sweep(form.with_length(each, estimate)));
    }

    /// Starts it.
    pub(super) fn start_sweep(&mut self, swept: SweptValues) {
        let program = self.program.clone().map_or_else(std::env::current_exe, Ok);
        let (program, n) = match program {
            Ok(program) => (program, swept.n_runs()),
            Err(e) => return self.notify(Level::Error, format!("Could not start the sweep: {e}")),
        };
        let (session, progress) = (&self.session, Arc::new(Progress::default()));
        let (base, runs) = (session.folder(), session.runs_folder());
        let paths = swept.axes.iter().map(|axis| axis.path.clone()).collect();
        let order = Order { program, project: session.accepted_document().0, base, runs, swept };
        let (outbox, shared) = (self.jobs.outbox(), progress.clone());
        let job = move || {
            let ended = |folder| drop(outbox.send(JobResult::SweepRun(folder)));
            JobResult::SweepEnded(job::run(&order, &shared, ended))
        };
        match self.jobs.spawn("sweep", job) {
            Err(why) => self.notify(Level::Error, why),
            Ok(()) => {
                self.workspace.show_page(Page::Runs);
                self.workspace.show_view("sweep", &self.session.live.schema);
                self.library.sweeping = Some(Sweeping::new(progress, n));
                self.library.swept = paths;
                self.list_runs();
            }
        }
    }

    /// The window closes: the run in progress ends at its next batch, and its folder is closed.
    pub(super) fn end_sweep(&mut self) {
        let Some(sweeping) = self.library.sweeping.take() else { return };
        sweeping.progress.cancel();
        self.jobs.wait_for(CLOSING, |done| matches!(done, JobResult::SweepEnded(_)));
    }

    /// A run of the sweep ended: it is marked with those before it.
    pub(super) fn sweep_run(&mut self, folder: PathBuf) {
        if let Some(sweeping) = &mut self.library.sweeping {
            let is_first = sweeping.n_ended == 0;
            sweeping.run_ended();
            if is_first {
                self.library.select(&folder);
            } else {
                self.library.compared.add(&folder);
            }
        }
        self.list_runs();
    }

    /// All runs ended, or the sweep was cancelled.
    pub(super) fn sweep_ended(&mut self, result: Result<usize, String>) {
        let n = self.library.sweeping.take().map_or(0, |sweeping| sweeping.n);
        match result {
            Ok(done) if done == n => {
                self.notify(Level::Info, format!("Sweep finished: {}", text::plural(n, "run", "runs")))
            }
            Ok(done) => self.notify(Level::Info, format!("Sweep cancelled after {done} of {n} runs")),
            Err(why) => self.notify(Level::Error, format!("The sweep stopped: {why}")),
        }
        self.list_runs();
    }
}
