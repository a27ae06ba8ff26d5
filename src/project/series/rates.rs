//! `rates.csv` of a series: the rate of every element over the trials.

use crate::{
    project::{RunFolder, folder::trial_folder, spike_taps},
    sim::{Clock, ProbeSpec, Tap},
};
use std::{collections::BTreeMap, fmt::Write as _, io, path::Path};

/// Adds a tap of spikes if there is none, because rates are computed from spikes.
pub fn with_spikes(taps: &mut Vec<Tap>, probes: &[ProbeSpec]) {
    if !spike_taps(probes).any(|s| taps.iter().any(|t| t.probe == s.probe)) {
        taps.extend(spike_taps(probes).take(1));
    }
}

/// Formats a line `idx,rate_hz,std_hz` for every neuron that spiked in any trial: the mean over trials and the population
/// standard deviation (ddof 0), Hz; for a kind that counts its steps, rates per step (`rate_per_generation`). A trial without
/// spikes counts as 0. `recorded` is the recorded duration. Returns `None` if no trial has a stream of spikes. Fails if a trial
/// cannot be read.
pub fn rates(folder: &Path, n: u32, recorded: Clock) -> io::Result<Option<String>> {
    let mut sums = BTreeMap::<u32, (u64, u64)>::new();
    let mut has_spikes = false;
    for k in 0..n {
        let mut counts = BTreeMap::<u32, u64>::new();
        let trial = RunFolder::open(&trial_folder(folder, k))?;
        if let Some(stream) = trial.manifest.spikes() {
            has_spikes = true;
            for spike in trial.read_spikes(stream)? {
                *counts.entry(spike?.lane).or_default() += 1;
            }
        }
        for (lane, count) in counts {
            let (sum, squares) = sums.entry(lane).or_default();
            *sum += count;
            *squares += count * count;
        }
    }
    let base = recorded.base;
    let unit = if base.is_count() { format!("per_{}", base.singular()) } else { "hz".to_owned() };
    let mut out = format!("idx,rate_{unit},std_{unit}\n");
    let (trials, secs) = (f64::from(n), recorded.secs());
    for (lane, (sum, squares)) in sums {
        let mean = sum as f64 / trials;
        // Integers are exact up to the final division.
        let variance = (squares * u64::from(n) - sum * sum) as f64 / (trials * trials);
        writeln!(out, "{lane},{},{}", mean / secs, variance.sqrt() / secs).ok();
    }
    Ok(has_spikes.then_some(out))
}
