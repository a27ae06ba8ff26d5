//! Rate of a named group in a recorded run, counted from the recorded spikes.

use crate::{
    app::{document::run_groups::RunGroups, views::rate},
    kinds::Model,
    project::{Manifest, RunFolder, Stream},
    sim::{Shape, TimeBase},
};
use std::io;

/// Stands for the name of a probe in the key of a group's rate; the arguments are then the name of the group.
pub const GROUP_RATE: &str = "group rate";
/// Width of a bin if steps have a duration, seconds.
const BIN_SECS: f64 = 0.01;
/// Maximum number of bins of a run.
const MAX_BINS: f64 = 2_000.0;
/// Number of bins of a run whose steps are counted.
const COUNTED_BINS: f64 = 200.0;

/// Group whose rate was counted in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountedGroup {
    /// Number of elements, including silent ones.
    pub n: u32,
    /// Name of the set of the elements.
    pub set: &'static str,
    /// Width of a bin, steps.
    pub bin_steps: f64,
}

/// Rate of a group over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRate {
    pub group: CountedGroup,
    /// Last step of each bin.
    pub steps: Vec<u64>,
    /// Rate in each bin, in the unit of [`rate::rate`].
    pub rates: Vec<f32>,
}

/// Whether a key names the rate of a group.
pub fn is_group(key: &(String, String)) -> bool {
    key.0 == GROUP_RATE
}

/// Returns the first recorded stream of spikes, with the name of its set as the model declares it.
fn spikes_of(manifest: &Manifest) -> Option<(&Stream, &'static str)> {
    let model = Model::by_name(&manifest.kind)?;
    let over = |stream: &Stream| {
        let probe = model.probes().iter().find(|probe| probe.name == stream.probe)?;
        if let Shape::Spikes { over } = probe.shape { Some(over) } else { None }
    };
    manifest.streams.iter().find_map(|stream| Some((stream, over(stream)?)))
}

/// Returns keys and titles of the rates of named groups that can be counted in a run; empty without recorded spikes.
pub fn offered(run: &RunFolder, groups: &RunGroups) -> Vec<((String, String), String)> {
    let Some((_, set)) = spikes_of(&run.manifest) else { return vec![] };
    let unit = rate::unit_over(set, run.manifest.time_base());
    let title = |group: &str| format!("Rate of {group} ({unit})");
    let names = groups.names_over(run, set).into_iter();
    names.map(|group| ((GROUP_RATE.to_owned(), group.clone()), title(&group))).collect()
}

/// Returns the number of bins of equal width in `steps` steps.
fn n_bins(steps: f64, base: TimeBase) -> f64 {
    let n = match base {
        TimeBase::Seconds { per_step } => (steps * per_step / BIN_SECS).round().min(MAX_BINS),
        TimeBase::Count { .. } => COUNTED_BINS,
    };
    n.clamp(1.0, steps.max(1.0))
}

/// Counts the rate of a group in a run. Fails if the run recorded no spikes, its data cannot be read or the query of the
/// group cannot be evaluated.
pub fn read(run: &RunFolder, groups: &RunGroups, group: &str) -> io::Result<GroupRate> {
    let manifest = &run.manifest;
    let (stream, set) = spikes_of(manifest).ok_or_else(|| io::Error::other("the run recorded no spikes"))?;
    let members = groups.members(run, set, group).map_err(io::Error::other)?;
    let (first, steps) = (manifest.first_step, manifest.last_step.saturating_sub(manifest.first_step));
    let n = n_bins(steps as f64, manifest.time_base()) as usize;
    let group = CountedGroup { n: members.n, set, bin_steps: steps as f64 / n as f64 };
    if steps == 0 {
        return Ok(GroupRate { group, ..GroupRate::default() });
    }
    let mut counts = vec![0_u32; n];
    for spike in run.read_spikes(stream)? {
        let spike = spike?;
        // Steps are stored modulo 2³².
        let step = u64::from(spike.step.wrapping_sub(first as u32));
        if members.is_in.get(spike.lane as usize) == Some(&true) && step < steps {
            counts[(u128::from(step) * n as u128 / u128::from(steps)) as usize] += 1;
        }
    }
    let end = |bin: usize| first + ((bin as u128 + 1) * u128::from(steps)).div_ceil(n as u128) as u64;
    let rate = |count: &u32| rate::rate(f64::from(*count), members.n, group.bin_steps, manifest.time_base()) as f32;
    Ok(GroupRate { group, steps: (0..n).map(end).collect(), rates: counts.iter().map(rate).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_ten_milliseconds_and_at_most_two_thousand() {
        let seconds = TimeBase::seconds(1e-4);
        assert_eq!(n_bins(600.0, seconds), 6.0, "60 ms");
        assert_eq!(n_bins(1e9, seconds), MAX_BINS);
        assert_eq!(n_bins(3.0, seconds), 1.0, "shorter than a bin");
        assert_eq!(n_bins(50.0, TimeBase::STEPS), 50.0, "a bin per step");
    }
}
