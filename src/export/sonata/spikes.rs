//! Spikes by population, in the order of time.

use super::{Attribute, Links, Target, create, finish, hdf5::Dataset};
use crate::export::trial::{Trial, secs};
use std::io;

/// Orders of spikes that a file declares.
const SORTING: [&str; 3] = ["none", "by_id", "by_time"];

/// Writes the spikes of a trial. Fails if they cannot be read or the file cannot be written.
pub(super) fn write(target: &Target, trial: &Trial, name: &str) -> io::Result<()> {
    let mut file = create(&target.folder, name)?;
    let ms_per_step = trial.manifest().secs_per_step * 1e3;
    let new = |_| (Dataset::<f64>::new(&[]), Dataset::<u64>::new(&[]));
    let mut columns: Vec<_> = target.groups.iter().map(new).collect();
    for spike in trial.events(trial.spike_stream())? {
        let spike = spike?;
        let Some((group, index)) = target.place(spike.lane) else { continue };
        let (times, nodes) = &mut columns[group];
        file.push(times, &[secs(spike.step.into(), ms_per_step)])?;
        file.push(nodes, &[index.into()])?;
    }
    let mut populations = Links::new();
    for (group, (times, nodes)) in target.groups.iter().zip(columns) {
        let times = file.close(times, &[Attribute::text("units", "ms")])?;
        let nodes = file.close(nodes, &[])?;
        let links = [("timestamps".to_owned(), times), ("node_ids".to_owned(), nodes)];
        populations.push((group.name.clone(), file.group(&links, &[Attribute::choice("sorting", &SORTING, 2)])?));
    }
    let spikes = file.group(&populations, &[])?;
    finish(file, "spikes", spikes)
}
