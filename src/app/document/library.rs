//! The list of runs next to the project, which a thread reads.

mod compared;
mod labels;
mod sweeps;

pub use compared::{Compared, MAX_COMPARED};
pub use sweeps::ListedSweep;
use sweeps::SweptRun;

use super::run_groups::RunGroups;
use crate::{
    app::kit::{self, text},
    export::{self, Format},
    kinds::Model,
    params::titles,
    project::{
        ParamHistory, Project, RunFolder, Status,
        labels::Labels,
        run_table::{Row, run_folders},
    },
    sim::{Progress, TimeBase},
};
pub use labels::LabelWriter;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Summary of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub folder: PathBuf,
    /// Name of the run's folder.
    pub name: String,
    /// Kind of the simulation.
    pub kind: String,
    /// Parameters at step 0; `None` if the project is unreadable.
    pub model: Option<Arc<Model>>,
    pub status: Status,
    /// Start time, UTC.
    pub started: String,
    pub steps: u64,
    /// Time base of a step.
    pub base: TimeBase,
    /// Wall time with pauses, seconds.
    pub wall_secs: f64,
    /// Computing time, seconds; 0 if unknown.
    pub computed_secs: f64,
    pub seed: u64,
    /// The first characters of the digest's hash.
    pub digest: String,
    /// The first characters of the hash of the recorded histories.
    pub data_hash: String,
    pub device: String,
    /// Changes compared with the open project.
    pub changes: Vec<String>,
    /// Note and tags of the user.
    pub labels: Labels,
    /// Messages about labels that cannot be read.
    pub notices: Vec<String>,
    /// Cells of the table of runs.
    pub row: Row,
    /// Sweep to which the run belongs, as its manifest names it; empty for other runs.
    pub sweep: String,
    /// Run of which this run is a branch; `None` if the run started at step 0.
    pub parent: Option<PathBuf>,
    /// Number of ancestors of the run in the list.
    pub depth: usize,
    /// Steps of the run's checkpoints.
    pub checkpoints: Vec<u64>,
    /// Formats to which the run cannot be exported, with the reasons.
    pub not_exported: Vec<(Format, &'static str)>,
    /// Reason why the run is unreadable; `None` if it is readable.
    pub problem: Option<String>,
}

/// Export in progress.
pub struct Exporting {
    /// Name of the run.
    pub name: String,
    pub format: Format,
    pub progress: Arc<Progress>,
}

/// Replay in progress.
pub struct Replaying {
    /// Name of the run.
    pub name: String,
    pub progress: Arc<Progress>,
}

/// All runs of the project.
#[derive(Default)]
pub struct Library {
    /// The runs, sorted by name of the folder.
    pub runs: Vec<Run>,
    /// Folder of the run selected last; `None` before the first selection.
    pub selected: Option<PathBuf>,
    /// The runs that are compared.
    pub compared: Compared,
    /// Whether the folder is read for the first time.
    pub is_reading: bool,
    /// Replay in progress; `None` if no run is being replayed.
    pub replaying: Option<Replaying>,
    /// Export in progress; `None` if no run is being exported.
    pub exporting: Option<Exporting>,
    /// Sweeps of the listed runs, the newest first, then the runs of no sweep.
    pub sweeps: Vec<ListedSweep>,
    /// Elements of recorded runs, for the rates of named groups.
    pub groups: RunGroups,
    /// Folder of the open project's recordings.
    pub folder: PathBuf,
    /// Experiment that contains the listed runs, as recorded trials; `None`: the runs of the project.
    pub trials_of: Option<PathBuf>,
    /// Number that increases with every change of the list or of a label.
    pub version: u64,
    /// Thread that saves labels.
    pub writer: LabelWriter,
}

impl Library {
    /// Replaces the list of runs by one that was read when the list had a version. Labels that were edited since are kept.
    pub fn set_runs(&mut self, mut runs: Vec<Run>, version: u64) {
        if version != self.version {
            for run in &mut runs {
                if let Some(known) = self.runs.iter().find(|known| known.folder == run.folder) {
                    run.labels.clone_from(&known.labels);
                    run.row.set_labels(&run.labels);
                }
            }
        }
        let readable = runs.iter().filter(|run| run.problem.is_none());
        let swept =
            |run: &Run| SweptRun { sweep: run.sweep.clone(), started: run.started.clone(), model: run.model.clone() };
        self.sweeps = sweeps::list(&readable.map(swept).collect::<Vec<_>>());
        self.runs = runs;
        self.is_reading = false;
        self.version += 1;
    }

    /// Returns the newest recorded sweep; empty without sweeps.
    pub fn newest_sweep(&self) -> &str {
        self.sweeps.first().map_or("", |sweep| &sweep.id)
    }

    /// Selects a run and marks only this run.
    pub fn select(&mut self, folder: &Path) {
        self.compared.only(folder);
        self.selected = Some(folder.to_owned());
    }

    /// Selects a row of a table of runs. With Ctrl, toggles the mark of the row; with Shift, marks all rows from the
    /// selected one to the clicked one. Returns `false` if too many runs are marked. `rows` are indices of runs in the
    /// order of the table.
    pub fn click(&mut self, row: usize, rows: &[usize], keys: egui::Modifiers) -> bool {
        let folder_of = |row: usize| rows.get(row).and_then(|at| self.runs.get(*at)).map(|run| run.folder.clone());
        let Some(folder) = folder_of(row) else { return true };
        if keys.command {
            self.selected = Some(folder.clone());
            return self.compared.toggle(&folder);
        }
        if !keys.shift {
            self.select(&folder);
            return true;
        }
        let from = (0..rows.len()).find(|i| folder_of(*i) == self.selected).unwrap_or(row);
        let folders: Vec<PathBuf> = (from.min(row)..=from.max(row)).filter_map(folder_of).collect();
        folders.iter().all(|folder| self.compared.add(folder))
    }

    /// Lists the marked runs that are in the list, with the numbers of their colours.
    pub fn compared_runs(&self) -> Vec<(&Run, usize)> {
        let run = |folder: &Path| self.runs.iter().find(|run| run.folder == folder);
        self.compared.iter().filter_map(|(folder, color)| Some((run(folder)?, color))).collect()
    }

    /// Returns the reason why the last run cannot be exported to a format; `None` if the export is possible.
    pub fn why_not_export(&self, format: Format) -> Option<&'static str> {
        let Some(last) = self.runs.last() else { return Some("No run: record one first") };
        last.not_exported.iter().find(|(known, _)| *known == format).map(|(_, why)| *why)
    }
}

/// Reads the summaries of all runs in a folder.
pub fn read(folder: &Path, open: &Arc<Project>) -> Vec<Run> {
    let mut runs: Vec<Run> = run_folders(folder).into_iter().map(|folder| read_one(folder, open)).collect();
    for i in 0..runs.len() {
        runs[i].depth = ancestors(&runs, i);
    }
    runs
}

/// Returns the number of ancestors of a run in the list.
fn ancestors(runs: &[Run], run: usize) -> usize {
    let parent = |i: usize| runs[i].parent.as_ref().and_then(|p| runs.iter().position(|r| r.folder == *p));
    // Parents in damaged manifests may form a cycle.
    std::iter::successors(parent(run), |i| parent(*i)).take(runs.len()).count()
}

/// Orders the rows of a table as a tree: branches follow their run, in the order of the rows.
pub fn as_tree(runs: &[Run], rows: Vec<usize>) -> Vec<usize> {
    let parent = |i: usize| rows.iter().copied().find(|p| runs[i].parent.as_ref() == Some(&runs[*p].folder));
    let mut tree = vec![];
    let mut waiting: Vec<usize> = rows.iter().rev().copied().filter(|i| parent(*i).is_none()).collect();
    while let Some(next) = waiting.pop() {
        tree.push(next);
        waiting.extend(rows.iter().rev().copied().filter(|i| parent(*i) == Some(next)));
    }
    // Runs whose parents form a cycle have no root.
    tree.extend(rows.iter().copied().filter(|i| !tree.contains(i)).collect::<Vec<_>>());
    tree
}

fn read_one(folder: PathBuf, open: &Project) -> Run {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let (labels, notices) = Labels::read(&folder);
    match RunFolder::open(&folder) {
        Ok(run) => {
            let history = ParamHistory::read(&run);
            let (model, changes) = match &history {
                Ok(history) => (Some(Arc::new(history.first.model.clone())), differences(history, open)),
                Err(why) => (None, vec![why.clone()]),
            };
            let row = Row::of(&run, &labels, history.as_ref().ok(), &changes);
            let not_exported = not_exported(&run);
            let m = run.manifest;
            let short = |hash: &str| hash.chars().take(8).collect();
            Run {
                data_hash: short(&m.data_hash().unwrap_or_default()),
                name,
                base: m.time_base(),
                kind: m.kind,
                model,
                status: m.status,
                started: m.started,
                steps: m.last_step.saturating_sub(m.first_step),
                wall_secs: m.wall_s,
                computed_secs: m.computed_s,
                seed: m.seed,
                sweep: m.sweep,
                digest: short(&m.digest.hash),
                device: m.device,
                changes,
                labels,
                notices,
                row,
                parent: m.parent.map(|parent| beside(&folder, &parent.run)),
                depth: 0,
                checkpoints: m.checkpoints.iter().map(|c| c.step).collect(),
                not_exported,
                problem: None,
                folder,
            }
        }
        Err(e) => {
            let row = Row::unreadable(&folder, &labels);
            let not_exported = Format::ALL.map(|format| (format, "The run is unreadable")).to_vec();
            Run { name, labels, notices, row, problem: Some(e.to_string()), not_exported, folder, ..Run::default() }
        }
    }
}

/// Returns the formats in which a run cannot be written, with the reasons.
fn not_exported(run: &RunFolder) -> Vec<(Format, &'static str)> {
    match export::offered(run) {
        Ok(offered) => offered.into_iter().filter_map(|(format, why)| Some((format, why?))).collect(),
        Err(_) => Format::ALL.map(|format| (format, "A trial is unreadable")).to_vec(),
    }
}

/// Returns the folder of another run. A folder in the folder of the list has the form of the paths of the list.
fn beside(folder: &Path, other: &Path) -> PathBuf {
    let full = |path: &Path| std::fs::canonicalize(path).ok();
    match (full(&folder.join(other)), folder.parent()) {
        (Some(path), Some(runs)) if path.parent().map(Path::to_owned) == full(runs) => {
            runs.join(path.file_name().unwrap_or_default())
        }
        (Some(path), _) => path,
        _ => folder.join(other),
    }
}

/// Lists the differences between the parameters that were in force during a run and the open project, with the values of the run.
fn differences(run: &ParamHistory, open: &Project) -> Vec<String> {
    let then = &run.first;
    if then.model.name() != open.model.name() {
        return vec![format!("Kind {}", then.model.title())];
    }
    let text = |id| format!("{} {}", titles::title(then.model.params(), id), run.text(id));
    let mut out: Vec<String> = run.ids_that_differ(open).into_iter().map(text).collect();
    if then.seed != open.seed {
        out.push(format!("Seed {}", then.seed));
    }
    out
}

impl Run {
    /// Returns the status in a word.
    pub fn status_text(&self) -> &'static str {
        match (&self.problem, &self.status) {
            (Some(_), _) => "unreadable",
            (None, status) => status.word(),
        }
    }

    /// Returns the simulated seconds, or the number of steps if they are counted.
    pub fn secs(&self) -> f64 {
        self.steps as f64 * self.base.per_step()
    }
}

/// Unit of all simulated times of a list, which makes them comparable.
#[derive(Debug, PartialEq)]
pub enum DurationUnit {
    /// Unit if all runs are short.
    Milliseconds,
    Seconds,
    /// Unit if all runs count steps with the same name.
    Steps(TimeBase),
    /// Unit if the list contains times and steps, or different steps. Each cell shows its own unit; times are in seconds.
    Mixed,
}

/// Simulated seconds below which a list of runs is in milliseconds.
const SHORT_SECS: f64 = 10.0;

impl DurationUnit {
    /// Chooses the unit for the runs of a list.
    pub fn of(runs: &[Run]) -> Self {
        let readable = || runs.iter().filter(|r| r.problem.is_none());
        let counted = readable().find(|r| r.base.is_count()).map(|r| r.base);
        let is_other = |base: TimeBase| readable().any(|r| !r.base.is_count() || r.base.plural() != base.plural());
        match counted {
            Some(base) if is_other(base) => Self::Mixed,
            Some(base) => Self::Steps(base),
            None if readable().all(|r| r.secs() < SHORT_SECS) => Self::Milliseconds,
            None => Self::Seconds,
        }
    }

    /// Returns the header of the column.
    pub fn head(&self, name: &str) -> String {
        match self {
            Self::Milliseconds => format!("{name} (ms)"),
            Self::Seconds => format!("{name} (s)"),
            Self::Steps(base) => text::title(base.plural()),
            Self::Mixed => name.to_owned(),
        }
    }

    /// Formats the simulated time of a run; empty for an unreadable run.
    pub fn text(&self, run: &Run) -> String {
        match self {
            _ if run.problem.is_some() => String::new(),
            Self::Milliseconds => kit::fixed(run.secs() * 1e3, 1),
            Self::Seconds => kit::fixed(run.secs(), 3),
            Self::Steps(_) => text::count(run.steps),
            Self::Mixed if run.base.is_count() => {
                text::plural(run.steps as usize, run.base.singular(), run.base.plural())
            }
            Self::Mixed => format!("{} s", kit::fixed(run.secs(), 3)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::LoggedCommand;

    #[test]
    fn branches_follow_their_run() {
        let run = |name: &str, parent: Option<&str>| Run {
            folder: name.into(),
            parent: parent.map(PathBuf::from),
            ..Run::default()
        };
        let runs = [run("a", None), run("b", Some("a")), run("c", None), run("d", Some("b")), run("e", Some("e"))];
        assert_eq!(as_tree(&runs, vec![4, 3, 2, 1, 0]), [2, 0, 1, 3, 4]);
        assert_eq!(as_tree(&runs, vec![3, 2]), [3, 2], "a branch whose run is not shown");
        assert_eq!([0, 1, 3].map(|i| ancestors(&runs, i)), [0, 1, 2]);
    }

    #[test]
    fn simulated_times_of_a_list_have_one_unit() {
        let run = |steps, base| Run { steps, base, ..Run::default() };
        let seconds = TimeBase::Seconds { per_step: 1e-4 };
        let texts = |runs: &[Run]| {
            let unit = DurationUnit::of(runs);
            (unit.head("Simulated"), runs.iter().map(|r| unit.text(r)).collect::<Vec<_>>())
        };
        let (short, long) = (run(4_186, seconds), run(123_456, seconds));
        assert_eq!(texts(std::slice::from_ref(&short)), ("Simulated (ms)".into(), vec!["418.6".into()]));
        assert_eq!(texts(&[run(50_000, seconds)]), ("Simulated (ms)".into(), vec!["5,000.0".into()]));
        assert_eq!(texts(&[short, long.clone()]), ("Simulated (s)".into(), vec!["0.419".into(), "12.346".into()]));
        let counted = run(1_500, TimeBase::STEPS);
        assert_eq!(texts(std::slice::from_ref(&counted)), ("Steps".into(), vec!["1,500".into()]));
        assert_eq!(texts(&[counted, long]), ("Simulated".into(), vec!["1,500 steps".into(), "12.346 s".into()]));
    }

    #[test]
    fn differences_show_the_values_of_the_run() {
        let open = Project::default();
        let base = TimeBase::seconds(1e-4);
        let of = |then: &Project, log: &[_]| differences(&ParamHistory::new(then.clone(), log, 0, base), &open);
        let mut then = open.clone();
        assert!(of(&then, &[]).is_empty());
        then.set("lif.tau_m=30ms", Path::new(".")).unwrap();
        then.seed = 7;
        assert_eq!(of(&then, &[]), ["LIF neuron › Membrane time constant 30 ms", "Seed 7"]);
        // The parameter was edited during the run, from 30 ms to the 20 ms of the open project.
        let edit = open.model.params().changes_since(then.model.params()).remove(0);
        let log = [(4_000, LoggedCommand::Set(edit))];
        assert_eq!(of(&then, &log), ["LIF neuron › Membrane time constant 30 ms → 20 ms (400 ms)", "Seed 7"]);
        then.model = crate::kinds::Model::by_name("nuclei").unwrap();
        assert_eq!(of(&then, &[]).len(), 1);
    }
}
