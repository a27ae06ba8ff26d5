//! Exports Neurodata Without Borders (NWB) as a folder of Zarr, which PyNWB reads through `hdmf_zarr.NWBZarrIO`.
//!
//! | data | place |
//! | --- | --- |
//! | spikes of neurons | `units`: spike times by neuron, with ids, names, positions and categories as columns |
//! | series, fields, matrices, histograms | `acquisition`; samples with more values than there are samples: tables in `processing/neuropil`, because a `TimeSeries` is longer than wide |
//! | lanes of series, elements of other sets | tables in `processing/neuropil` |
//! | births and other events | `acquisition`: the index of the element at each time |
//! | stimuli and other interventions | `intervals/NAME`, one table each |
//! | edits while the run was recorded | `intervals/edits`: each row lists changes and ends at the next ones |
//! | trials | `intervals/trials`, with seeds and conditions; the times of a trial begin at the end of the one before |
//! | project | `general/source_script` |
//! | hashes, versions, seeds, device | `general/notes` |
//! | subject, session | the fields of [`About`] |
//!
//! One step of a kind that counts steps is 1 s, because NWB has no other unit of time.
//!
//! The version of Zarr is 2, which is the newest that hdmf-zarr 0.13 reads (it requires zarr below 3). Groups, arrays and chunks
//! of this version are few files each, so `export/zarr.rs` writes them without a library; the crate `zarrs` writes version 3 and
//! adds 28 crates without its default features, one of which builds a C library.
//!
//! Spikes are sorted by neuron in several passes over the recorded spikes, each with at most [`spikes::PER_PASS`] spikes in
//! memory. Rows of series and fields are read one at a time.

mod intervals;
mod objects;
mod series;
mod session;
mod spikes;
mod tables;

use super::{
    About,
    output::Outputs,
    trial::{Trial, secs},
};
use crate::{
    project::RunFolder,
    sim::{ElementSet, Progress},
};
use objects::Nwb;
pub(super) use spikes::n_passes;
use std::{io, path::Path, sync::Arc};

/// Trials of an export with their times in the file.
struct Session<'a> {
    trials: &'a [Trial],
    /// Step of the file at which step 0 of each trial is.
    offsets: Vec<u64>,
    secs_per_step: f64,
    /// Whether the run is a series of trials.
    is_series: bool,
}

impl<'a> Session<'a> {
    fn new(trials: &'a [Trial]) -> Self {
        let mut end = 0;
        let offset = |trial: &Trial| {
            let begin = end;
            end += trial.manifest().last_step;
            begin
        };
        let offsets = trials.iter().map(offset).collect();
        let secs_per_step = trials.first().map_or(1.0, |trial| trial.manifest().secs_per_step);
        Self { trials, offsets, secs_per_step, is_series: trials.iter().any(|trial| trial.run.trial.is_some()) }
    }

    /// Returns the time of a step of a trial in the file, seconds.
    fn secs(&self, trial: usize, step: u64) -> f64 {
        secs(step + self.offsets[trial], self.secs_per_step)
    }

    /// Returns the name of a stream or table of a trial: that of the stream, with the number in a series of trials.
    fn name(&self, trial: usize, name: &str) -> String {
        if self.is_series { format!("{name}_trial_{}", self.trials[trial].number()) } else { name.to_owned() }
    }
}

/// Writes the folder `out`. Fails if a stream cannot be read, a file cannot be written, or the job is cancelled.
pub(super) fn write(
    run: &RunFolder,
    trials: &[Trial],
    about: &About,
    out: &Path,
    progress: &Progress,
    outputs: &mut Outputs,
) -> io::Result<()> {
    let folder = outputs.create_folder(out)?;
    let session = Session::new(trials);
    let mut nwb = Nwb::create(folder, &format!("{}/{}", run.manifest.id, run.manifest.digest.hash))?;
    let elements = elements(run, progress);
    if progress.is_cancelled() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
    }
    session::write(&mut nwb, run, about, elements.as_ref().err().map(String::as_str))?;
    let elements = elements.ok().flatten();
    spikes::write(&mut nwb, &session, elements.as_deref())?;
    tables::write_sets(&mut nwb, &session, elements.as_deref())?;
    for (k, trial) in trials.iter().enumerate() {
        series::write(&mut nwb, &session, k, trial)?;
    }
    intervals::write(&mut nwb, &session)?;
    nwb.store.close()
}

/// Returns the elements of a network with their names, positions and categories, which follow from the project; `None` for kinds
/// with elements that have only ids and names. Fails with the reason if the network cannot be made again.
fn elements(run: &RunFolder, progress: &Progress) -> Result<Option<Arc<ElementSet>>, String> {
    let mut project = run.project().map_err(|why| why.to_string())?;
    project.seed = run.manifest.setup_seed;
    if project.model.edge_lists().is_empty() {
        return Ok(None);
    }
    let prepared = project.model.prepare(&run.build_context(&project), progress).map_err(|why| why.to_string())?;
    Ok(prepared.elements())
}
