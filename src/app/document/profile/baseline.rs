//! Baseline of the kernel table: recent sums, or the sums of a recorded run.

use crate::{
    data::{input_file, io_reason},
    gpu::Timing,
    project::run::TIMINGS,
};
use crossbeam_channel::{Receiver, bounded};
use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

/// Mean launch times to compare with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// Source: `now at 1.2 s`, `0007-sugar`.
    pub name: String,
    /// Rows of kernel, number of launches, and total time in nanoseconds.
    rows: Vec<(String, u64, u64)>,
}

impl Baseline {
    /// Creates a baseline from current measurements.
    pub fn of(name: String, rows: &[Timing]) -> Self {
        let rows = rows.iter().map(|t| (t.name.to_owned(), u64::from(t.launches), t.nanos)).collect();
        Self { name, rows }
    }

    /// Reads the kernel times of a run folder. Fails if the file is unreadable or contains no times.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(TIMINGS);
        let file = input_file::open(&path).map_err(|e| format!("{}: {}", path.display(), io_reason(&e)))?;
        let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let mut baseline = Self { name, rows: vec![] };
        for line in BufReader::new(file).lines().skip(1) {
            let line = line.map_err(|e| format!("{}: {}", path.display(), io_reason(&e)))?;
            // The last line may have been cut off by a crash; such a line is skipped.
            if let Some((kernel, launches, nanos)) = row(&line) {
                baseline.add(kernel, launches, nanos);
            }
        }
        if baseline.rows.is_empty() { Err(format!("{} has no kernel times", baseline.name)) } else { Ok(baseline) }
    }

    fn add(&mut self, kernel: &str, launches: u64, nanos: u64) {
        match self.rows.iter_mut().find(|r| r.0 == kernel) {
            Some(row) => (row.1, row.2) = (row.1 + launches, row.2 + nanos),
            None => self.rows.push((kernel.to_owned(), launches, nanos)),
        }
    }

    /// Returns the mean duration of a launch, nanoseconds; `None` if the baseline contains no launch of the kernel.
    pub fn mean_of(&self, kernel: &str) -> Option<f64> {
        let (_, launches, nanos) = self.rows.iter().find(|r| r.0 == kernel)?;
        (*launches > 0).then(|| *nanos as f64 / *launches as f64)
    }

    /// Returns the relative change of the mean launch time, where 0.1 is 10 % longer; `None` if the baseline contains
    /// no launch of the kernel.
    pub fn change(&self, timing: &Timing) -> Option<f64> {
        let before = self.mean_of(timing.name).filter(|mean| *mean > 0.0)?;
        Some(timing.mean_nanos() / before - 1.0)
    }

    /// Reads a baseline on a new thread; `None` if no thread could be started.
    pub fn fetch(folder: PathBuf, wake: egui::Context) -> Option<Receiver<Result<Self, String>>> {
        let (sender, receiver) = bounded(1);
        let job = move || {
            sender.send(Self::read(&folder)).ok();
            wake.request_repaint();
        };
        std::thread::Builder::new().name("baseline".into()).spawn(job).ok().map(|_| receiver)
    }
}

/// Parses a line `step,kernel,launches,nanos,max_nanos,bytes,items`; `None` if it is malformed or incomplete.
fn row(line: &str) -> Option<(&str, u64, u64)> {
    let mut fields = line.split(',');
    let kernel = fields.nth(1)?;
    let launches = fields.next()?.parse().ok()?;
    let nanos = fields.next()?.parse().ok()?;
    fields.nth(2).is_some().then_some((kernel, launches, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn a_recorded_run_is_a_baseline() {
        let folder = TempFolder::new("baseline");
        let text = "step,kernel,launches,nanos,max_nanos,bytes,items\n10,deliver,4,4000,1500,0,0\n\
                    20,deliver,6,8000,1500,0,0\n20,integrate,1,300,300,0,5\n30,deli";
        std::fs::write(folder.join(TIMINGS), text).unwrap();
        let baseline = Baseline::read(&folder).unwrap();
        assert_eq!(baseline.mean_of("deliver"), Some(1200.0));
        let mut now = Timing::of("deliver");
        now.launch(600);
        assert_eq!(baseline.change(&now), Some(-0.5));
        assert_eq!(baseline.change(&Timing::of("order")), None);
        std::fs::write(folder.join(TIMINGS), "step\n").unwrap();
        assert!(Baseline::read(&folder).is_err_and(|e| e.contains("no kernel times")));
        std::fs::remove_dir_all(&folder).ok();
        assert!(Baseline::read(&folder).is_err());
    }
}
