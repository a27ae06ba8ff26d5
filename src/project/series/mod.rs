//! Writer of a series: the recording of a simulation with several trials as one run folder per trial.
//!
//! The folder has the form that `neuropil run --trials` writes: `trials/000k/` is a run of trial k, which replays alone, and the
//! series itself has the manifest, the project, the ids of the elements and `rates.csv`.

mod open_files;
mod rates;

pub use rates::{rates, with_spikes};

use super::{
    DeferredSync, RunStart, RunWriter,
    folder::trial_folder,
    run::{RATES, at},
    write_atomic,
};
use crate::{
    engine::{EndStatus, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    sim::{Clock, ElementSet, Frame, Level, ProbeId, ProbeSpec, Reading, Tap, TapKey, TrialChoice},
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Files that a trial keeps open, besides one per stream: lock file, command log, timings.
const FILES_PER_TRIAL: u64 = 3;

/// Series that is being written. Its frames contain the readings of all trials.
pub struct SeriesWriter {
    folder: PathBuf,
    /// Writer of the series itself, which has no streams.
    series: RunWriter,
    /// Writers of the trials, in their order.
    trials: Vec<RunWriter>,
    /// First recorded step.
    first: Clock,
}

impl SeriesWriter {
    /// Prepares the folders of a series of `start.trials` trials. Trial k has the seed of the project + k. Replaces an older run in
    /// the folder; fails if the folder contains anything else, or a file cannot be created.
    pub fn create(folder: &Path, start: &RunStart<'_>, probes: &'static [ProbeSpec]) -> io::Result<Self> {
        let synced = DeferredSync::new(folder);
        let n_files = (FILES_PER_TRIAL + start.taps.len() as u64) * u64::from(start.trials);
        open_files::allow(n_files);
        let series = RunWriter::create(folder, RunStart { taps: vec![], trial: None, ..start.clone() })?;
        let create = |k: u32| {
            let seed = start.project.seed.wrapping_add(u64::from(k));
            let start = RunStart { trial: Some((seed, "../../")), trials: 0, ..start.clone() };
            RunWriter::create(&trial_folder(folder, k), start).map(|writer| writer.with_probes(probes))
        };
        let trials = (0..start.trials).map(create).collect::<io::Result<Vec<_>>>();
        let trials = match trials.map_err(|error| open_files::explain(error, start.trials)) {
            Ok(trials) => trials,
            Err(error) => {
                series.fail(&error.to_string())?;
                return Err(error);
            }
        };
        synced.finish()?;
        Ok(Self { folder: folder.to_owned(), series, trials, first: Clock::default() })
    }

    /// Calls a function with the writer of the series and those of the trials, up to the first failure.
    fn all(&mut self, mut of: impl FnMut(&mut RunWriter) -> io::Result<()>) -> io::Result<()> {
        self.trials.iter_mut().chain([&mut self.series]).try_for_each(&mut of)
    }

    /// Returns the readings of each trial, with the keys of a run of one trial.
    fn readings_of_trials(&self, block: &Frame) -> Vec<Vec<(TapKey, Reading)>> {
        let mut all = vec![vec![]; self.trials.len()];
        for (key, reading) in &block.readings {
            if let TrialChoice::One(trial) = key.trial
                && let Some(own) = all.get_mut(trial as usize)
            {
                own.push((TapKey { trial: TrialChoice::default(), ..key.clone() }, reading.clone()));
            }
        }
        all
    }

    /// Writes `rates.csv` if the trials contain spikes. Fails if a trial cannot be read or the file not be written.
    fn write_rates(&self, n: u32, end: Clock) -> io::Result<()> {
        let steps = Clock { step: end.step - self.first.step.min(end.step), ..end };
        match rates(&self.folder, n, steps)? {
            Some(text) => write_atomic(&self.folder.join(RATES), text.as_bytes(), false),
            None => Ok(()),
        }
    }
}

impl Sink for SeriesWriter {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        let _synced = DeferredSync::new(&self.folder);
        self.first = start.clock;
        let n = self.trials.len() as u32;
        self.all(|writer| writer.begin(start)).map_err(|error| open_files::explain(error, n))
    }

    fn write(&mut self, block: &Frame) -> io::Result<()> {
        let before: Vec<_> = self.trials.iter().map(RunWriter::ends).collect();
        let readings = self.readings_of_trials(block);
        let of_trial = |readings| Frame { readings, timings: vec![], ..block.only(&[] as &[Tap]) };
        let mut trials = self.trials.iter_mut().zip(readings);
        let written = trials.try_for_each(|(trial, readings)| trial.write(&of_trial(readings)));
        if written.is_err() {
            // A block is written to all trials or to none.
            self.trials.iter_mut().zip(&before).for_each(|(trial, ends)| trial.cut_to(ends));
            return written;
        }
        self.series.write(&block.only(&[]))
    }

    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        self.all(|writer| writer.log(step, what))
    }

    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()> {
        self.all(|writer| writer.lanes_changed(step, probe, lanes))
    }

    fn levels_changed(&mut self, step: u64, probe: ProbeId, levels: &[Level]) -> io::Result<()> {
        self.all(|writer| writer.levels_changed(step, probe, levels))
    }

    fn sets_changed(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        self.all(|writer| writer.sets_changed(step, sets))
    }

    fn finish(mut self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        let synced = DeferredSync::new(&self.folder);
        let (n, mut closed) = (self.trials.len() as u32, Ok(()));
        for (k, trial) in (0..).zip(std::mem::take(&mut self.trials)) {
            let digest = end.digest.trials.get(k).cloned().unwrap_or_default();
            closed = closed.and(Box::new(trial).finish(&RecordingEnd { digest, ..end.clone() }));
        }
        let closed = closed.and_then(|()| self.write_rates(n, end.clock));
        let status = match &closed {
            Ok(()) => end.status.clone(),
            Err(error) => EndStatus::Failed(error.to_string()),
        };
        let Self { folder, series, .. } = *self;
        closed.and(Box::new(series).finish(&RecordingEnd { status, ..end.clone() }))?;
        synced.finish().map_err(|e| at(&folder, &e))
    }
}
