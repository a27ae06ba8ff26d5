//! The table of units: spike times by neuron.

use super::{Session, objects::Nwb, tables};
use crate::{export::trial::Trial, sim::ElementSet};
use std::io;

/// Maximum number of spikes in memory, unless a single neuron has more.
pub const PER_PASS: u64 = 1 << 24;

/// Returns how often an export reads the spikes of some trials: once to count them, then once per pass.
pub fn n_passes(trials: &[Trial]) -> u64 {
    1 + trials.iter().map(Trial::n_spikes).sum::<u64>().div_ceil(PER_PASS)
}

/// Writes the units, if spikes of neurons were recorded. Fails if spikes cannot be read or a file cannot be written.
pub(super) fn write(nwb: &mut Nwb, session: &Session<'_>, elements: Option<&ElementSet>) -> io::Result<()> {
    let Some(first) = session.trials.iter().find(|trial| trial.spike_stream().is_some()) else { return Ok(()) };
    let n = session.trials.iter().map(|t| t.n_lanes(t.spike_stream())).collect::<io::Result<Vec<u32>>>()?;
    let counts = counts(session, n.into_iter().max().unwrap_or(0) as usize)?;
    let mut table = nwb.table("units", "Units", "Simulated neurons and their spikes")?;
    let over = first.spike_stream().map_or("", |stream| stream.over.as_str());
    let elements = tables::elements_of(first, over, elements)?;
    tables::write_columns(&mut table, &elements, counts.len())?;
    let (path, mut about) = table.raw_column("spike_times", "Spike times of each neuron in seconds");
    about.insert("resolution".to_owned(), session.secs_per_step.into());
    let mut times = table.nwb.store.array::<f64>(&path, &[])?;
    let mut next = 0;
    while next < counts.len() {
        let end = pass_end(&counts, next);
        each_of_neurons(session, &counts[next..end], next, |time| times.push(&[time]))?;
        next = end;
    }
    table.nwb.store.close_array(times, about)?;
    let ends = counts.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    table.index("spike_times", ends)?;
    table.close(counts.len() as u64)
}

/// Returns the number of spikes of each neuron in all trials.
fn counts(session: &Session<'_>, n: usize) -> io::Result<Vec<u64>> {
    let mut counts = vec![0; n];
    for trial in session.trials {
        for spike in trial.events(trial.spike_stream())? {
            if let Some(count) = counts.get_mut(spike?.lane as usize) {
                *count += 1;
            }
        }
    }
    Ok(counts)
}

/// Returns the end of the neurons from `first` on that a pass covers, at least one: a pass holds all their spikes.
fn pass_end(counts: &[u64], first: usize) -> usize {
    let mut n = 0;
    let mut fits = |count: &u64| {
        n += count;
        n <= PER_PASS
    };
    first + counts[first..].iter().take_while(|count| fits(count)).count().max(1)
}

/// Calls `found` with the spike times of the neurons from `first` on, neuron by neuron. `counts` are their numbers of spikes.
fn each_of_neurons(
    session: &Session<'_>,
    counts: &[u64],
    first: usize,
    mut found: impl FnMut(f64) -> io::Result<()>,
) -> io::Result<()> {
    let mut places: Vec<usize> = Vec::with_capacity(counts.len());
    let mut n = 0;
    for count in counts {
        places.push(n);
        n += *count as usize;
    }
    // Trial and step of each spike; trials are read in order, so the times of a neuron ascend.
    let mut steps = vec![(0_u32, 0_u32); n];
    for (k, trial) in session.trials.iter().enumerate() {
        for spike in trial.events(trial.spike_stream())? {
            let spike = spike?;
            let place = (spike.lane as usize).checked_sub(first).and_then(|i| places.get_mut(i));
            let Some(place) = place else { continue };
            if let Some(slot) = steps.get_mut(*place) {
                *slot = (k as u32, spike.step);
                *place += 1;
            }
        }
    }
    steps.into_iter().try_for_each(|(k, step)| found(session.secs(k as usize, step.into())))
}
