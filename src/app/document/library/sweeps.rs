//! Sweeps among the listed runs.

use crate::{app::document::varied, kinds::Model};
use std::sync::Arc;

/// Maximum number of runs of a sweep that are searched for its parameters.
const SEARCHED: usize = 64;
/// Maximum number of parameters of a sweep that are named.
const NAMED: usize = 2;

/// Sweep with recorded runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedSweep {
    /// Name with the time, as in manifests; empty for the runs of no sweep.
    pub id: String,
    /// Time of the start, UTC.
    pub started: String,
    pub n_runs: usize,
    /// Labels of the parameters in which the runs differ.
    pub parameters: Vec<String>,
}

impl ListedSweep {
    /// Returns the name that the user chose.
    pub fn name(&self) -> &str {
        split(&self.id).0
    }

    /// Returns day and minute of the start: `2026-03-01 12:00`.
    pub fn date(&self) -> String {
        self.started.replace('T', " ").chars().take(16).collect()
    }
}

/// Splits the name of a sweep, as manifests of runs contain it, `weights@2026-03-01T12:00:00Z`, into the name that the user chose and
/// the time, UTC; the time is empty if the name has none.
fn split(sweep: &str) -> (&str, &str) {
    sweep.rsplit_once('@').unwrap_or((sweep, ""))
}

/// Run as the list of sweeps reads it.
pub(super) struct SweptRun {
    /// Sweep to which the run belongs; empty for other runs.
    pub sweep: String,
    pub started: String,
    /// Parameters at step 0; `None` if they are unreadable.
    pub model: Option<Arc<Model>>,
}

/// Lists the sweeps of these runs, the newest first. Runs of no sweep are last, as one entry with an empty name.
pub(super) fn list(runs: &[SweptRun]) -> Vec<ListedSweep> {
    let mut out: Vec<ListedSweep> = vec![];
    for run in runs {
        match out.iter_mut().find(|sweep| sweep.id == run.sweep) {
            Some(sweep) => {
                sweep.n_runs += 1;
                sweep.started = sweep.started.clone().min(run.started.clone());
            }
            None => {
                let (id, started) = (run.sweep.clone(), run.started.clone());
                out.push(ListedSweep { id, started, n_runs: 1, parameters: vec![] });
            }
        }
    }
    // Two sweeps can start in the same second, so the times in their names come first.
    let age = |sweep: &ListedSweep| (split(&sweep.id).1.to_owned(), sweep.started.clone());
    out.sort_by(|a, b| a.id.is_empty().cmp(&b.id.is_empty()).then_with(|| age(b).cmp(&age(a))));
    for sweep in out.iter_mut().filter(|sweep| !sweep.id.is_empty()) {
        let models = runs.iter().filter(|run| run.sweep == sweep.id).filter_map(|run| run.model.as_deref());
        sweep.parameters = differing(models.take(SEARCHED));
    }
    out
}

/// Returns the labels of the first parameters in which models differ from the first one.
fn differing<'a>(mut models: impl Iterator<Item = &'a Model>) -> Vec<String> {
    let Some(first) = models.next() else { return vec![] };
    let (params, mut labels) = (first.params(), vec![]);
    for change in models.flat_map(|model| model.params().changes_since(params)) {
        let label = params.spec(change.id).map(|spec| varied::label(params, change.id, spec));
        if let Some(label) = label.filter(|label| labels.len() < NAMED && !labels.contains(label)) {
            labels.push(label);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::document::library::{Library, Run},
        project::Project,
    };
    use std::path::Path;

    #[test]
    fn sweeps_are_listed_with_date_and_parameters() {
        let run = |sweep: &str, started: &str, text: &str| {
            let mut project = Project::default();
            project.set(text, Path::new(".")).expect(text);
            let (model, sweep) = (Some(Arc::new(project.model)), sweep.to_owned());
            Run { sweep, started: started.into(), model, ..Run::default() }
        };
        let runs = vec![
            run("", "2026-01-01T10:00:00Z", "lif.tau_m=20ms"),
            run("a@1", "2026-01-02T10:00:00Z", "lif.tau_m=10ms"),
            run("a@1", "2026-01-02T10:00:09Z", "lif.tau_m=30ms"),
            run("b@2", "2026-01-03T11:30:00Z", "lif.v_reset=-60mV"),
        ];
        let mut library = Library::default();
        assert_eq!(library.newest_sweep(), "");
        library.set_runs(runs, 0);
        let seen: Vec<_> = library.sweeps.iter().map(|s| (s.name(), s.date(), s.n_runs)).collect();
        let expected = [
            ("b", "2026-01-03 11:30".to_owned(), 1),
            ("a", "2026-01-02 10:00".into(), 2),
            ("", "2026-01-01 10:00".into(), 1),
        ];
        assert_eq!(seen, expected);
        assert_eq!(library.sweeps[1].parameters, ["Membrane time constant"]);
        assert_eq!(library.newest_sweep(), "b@2");
        assert_eq!(split("by hand"), ("by hand", ""));
    }
}
