//! Runs the combinations of a sweep one after another, each in its own process, as headless runs of the command line.

use super::values::SweptValues;
use crate::{
    engine::lower_priority,
    project::{self, Project, run::next_folder},
    sim::Progress,
};
use std::{
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Interval of polling a process.
const POLL: Duration = Duration::from_millis(50);

/// Sweep to run.
pub struct Order {
    pub program: PathBuf,
    /// Document at the start of the sweep.
    pub project: Project,
    /// Base folder of relative paths in the document.
    pub base: PathBuf,
    /// Folder of the project's runs.
    pub runs: PathBuf,
    /// Parameters with their values, and seeds.
    pub swept: SweptValues,
    /// Name of the sweep with its time ([`super::name`]), which the manifests of its runs contain.
    pub name: String,
}

/// Run that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRun {
    /// Values of the swept parameters: `Membrane time constant 10 ms, seed 2`.
    pub what: String,
    /// Last message of the run.
    pub why: String,
}

/// End of a run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// The run is complete; contains its folder.
    Complete(PathBuf),
    /// The sweep was cancelled during the run; contains its folder.
    Cancelled(PathBuf),
    Failed(FailedRun),
}

/// Runs all combinations, also after a run that fails, until the sweep is cancelled. `ended` is called after each run. Fails
/// if the project cannot be written or a process cannot be started.
pub fn run(order: &Order, progress: &Progress, ended: impl Fn(RunEnd)) -> Result<(), String> {
    // The paths of the project are relative to its folder, so the file is stored in this folder and removed below.
    let file = order.base.join(format!(".sweep-{}.ron", std::process::id()));
    project::save(&order.project, &file).map_err(|e| format!("{}: {e}", file.display()))?;
    let result = run_all(order, &file, progress, ended);
    std::fs::remove_file(&file).ok();
    result
}

fn run_all(order: &Order, file: &Path, progress: &Progress, ended: impl Fn(RunEnd)) -> Result<(), String> {
    let n = order.swept.n_runs();
    for (i, (values, seed)) in order.swept.runs().enumerate() {
        let of_axes = || order.swept.axes.iter().zip(&values);
        let seed_text = Some(format!("seed {seed}")).filter(|_| order.swept.seeds.len() > 1);
        let named = of_axes().map(|(axis, value)| format!("{} {}", axis.name, value.text));
        let labelled = of_axes().map(|(axis, value)| format!("{} {}", axis.label, value.label));
        let name = named.chain(seed_text.clone()).collect::<Vec<_>>().join(" ");
        let what = labelled.chain(seed_text).collect::<Vec<_>>().join(", ");
        if progress.report(&what, i as f32 / n as f32).is_err() {
            break;
        }
        let folder = next_folder(&order.runs, &name).map_err(|e| e.to_string())?;
        let sets = of_axes().map(|(axis, value)| format!("{}={}", axis.path, value.text));
        let sets: Vec<String> = sets.chain([format!("seed={seed}")]).collect();
        let end = run_one(order, file, (&what, &folder), &sets, progress)?;
        if matches!(end, RunEnd::Failed(_)) {
            // A run that fails before its first step leaves its folder empty.
            std::fs::remove_dir(&folder).ok();
        }
        ended(end);
    }
    Ok(())
}

/// Runs one combination in a folder. Fails if the process cannot be started.
fn run_one(
    order: &Order,
    file: &Path,
    (what, folder): (&str, &Path),
    sets: &[String],
    progress: &Progress,
) -> Result<RunEnd, String> {
    let mut command = Command::new(&order.program);
    command.arg("run").arg("--out").arg(folder).arg("--sweep").arg(&order.name);
    command.args(sets.iter().flat_map(|set| ["--set", set.as_str()])).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    accept_interrupts(&mut command);
    end_with_parent(&mut command);
    // The child inherits the low priority of this thread, so that the window stays responsive.
    lower_priority(10);
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let reader = std::thread::Builder::new().name("sweep messages".to_owned());
    let said = child.stderr.take().and_then(|out| reader.spawn(move || last_line(out)).ok());
    let mut is_cancelled = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if progress.is_cancelled() && !std::mem::replace(&mut is_cancelled, true) {
            interrupt(&mut child);
        }
        std::thread::sleep(POLL);
    };
    let said = said.and_then(|thread| thread.join().ok()).unwrap_or_default();
    Ok(match status.success() || is_cancelled {
        true if is_cancelled => RunEnd::Cancelled(folder.to_owned()),
        true => RunEnd::Complete(folder.to_owned()),
        false => {
            let why = if said.is_empty() { status.to_string() } else { said };
            RunEnd::Failed(FailedRun { what: what.to_owned(), why })
        }
    })
}

/// Restores the default action of SIGINT in the child. A process that a script starts in the background ignores SIGINT, and its
/// children would inherit this.
fn accept_interrupts(command: &mut Command) {
    #[cfg(unix)]
    // SAFETY: the closure only calls `signal`, which is safe between `fork` and `exec`.
    unsafe {
        use std::os::unix::process::CommandExt as _;
        command.pre_exec(|| match libc::signal(libc::SIGINT, libc::SIG_DFL) {
            libc::SIG_ERR => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    #[cfg(not(unix))]
    let _ = command;
}

/// Makes the system end the run if the window is killed, because then the window cannot cancel the sweep.
fn end_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: the closure only calls `prctl`, which is safe between `fork` and `exec`. The signal is sent when the spawning
    // thread ends; this thread waits for the child.
    unsafe {
        use std::os::unix::process::CommandExt as _;
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGINT) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Ends a run at its next batch, so that its folder is closed and readable.
fn interrupt(child: &mut Child) {
    #[cfg(unix)]
    // SAFETY: a system call with the id of a child that has not been waited for.
    unsafe {
        libc::kill(child.id() as libc::pid_t, libc::SIGINT);
    }
    #[cfg(not(unix))]
    child.kill().ok();
}

/// Returns the last line of a stream that is not empty; empty if there is no such line.
fn last_line(stream: impl Read) -> String {
    let lines = BufReader::new(stream).split(b'\n').map_while(Result::ok);
    let texts = lines.map(|line| String::from_utf8_lossy(&line).trim().to_owned());
    texts.filter(|line| !line.is_empty()).last().unwrap_or_default()
}
