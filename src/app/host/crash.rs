//! Crash reports with version, device, panic message and the last log lines, written when the program panics. A report stays on
//! this machine; the next window shows it.

use std::{
    backtrace::Backtrace,
    collections::VecDeque,
    fmt::Write as _,
    panic::PanicHookInfo,
    path::{Path, PathBuf},
    sync::{Mutex, Once, PoisonError},
};

const PREFIX: &str = "crash-";
/// Number of log lines kept for a report.
const N_LINES: usize = 60;

static LAST_LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static ADAPTER: Mutex<String> = Mutex::new(String::new());

/// Keeps a log line for a later report.
pub fn remember(line: &str) {
    let mut lines = LAST_LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == N_LINES {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}

/// Keeps the name of the graphics adapter for a later report.
pub fn remember_adapter(name: String) {
    *ADAPTER.lock().unwrap_or_else(PoisonError::into_inner) = name;
}

/// Installs a panic hook that writes a report of a panic of any thread to this folder.
pub fn install(state_dir: PathBuf) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            earlier(info);
            let file = state_dir.join(format!("{PREFIX}{}.txt", std::process::id()));
            std::fs::create_dir_all(&state_dir).ok();
            if std::fs::write(&file, report(info)).is_ok() {
                eprintln!("neuropil: crash report: {}", file.display());
            }
        }));
    });
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let mut out = format!("Neuropil {} on {}\n", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    // The panicking thread may hold the lock.
    if let Ok(adapter) = ADAPTER.try_lock() {
        let _ = writeln!(out, "Graphics adapter: {}", if adapter.is_empty() { "unknown" } else { &adapter });
    }
    let thread = std::thread::current();
    let _ = writeln!(out, "Thread: {}\n{info}\n", thread.name().unwrap_or("unnamed"));
    if let Ok(lines) = LAST_LINES.try_lock() {
        let _ = writeln!(out, "Last log lines:");
        for line in lines.iter() {
            let _ = writeln!(out, "  {line}");
        }
    }
    let _ = writeln!(out, "\n{}", Backtrace::force_capture());
    out
}

/// Finds the newest crash report, and returns its path and text; `None` if there is none.
pub fn find(state_dir: &Path) -> Option<(PathBuf, String)> {
    let entries = std::fs::read_dir(state_dir).into_iter().flatten().flatten().map(|e| e.path());
    let is_report = |p: &PathBuf| p.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(PREFIX));
    let mut files: Vec<PathBuf> = entries.filter(is_report).collect();
    files.sort_by_key(|f| f.metadata().and_then(|m| m.modified()).ok());
    files.pop().and_then(|file| std::fs::read_to_string(&file).ok().map(|text| (file, text)))
}
