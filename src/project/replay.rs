//! Replays a recorded run and compares every recorded stream with its file.

use super::{RunFolder, Status, compare::Comparison};
use crate::{
    data::{counted, group_digits},
    engine::replay::{Observer, Plan, drive},
    kinds::Model,
    params::title,
    sim::{Digest, Exactness, Frame, Progress, SimError, Simulation, Tap, TapArgs},
};
use std::ops::ControlFlow;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayResult {
    /// All compared data are equal bit for bit.
    Identical {
        /// Number of steps replayed.
        steps: u64,
        /// Streams that were compared with their files.
        compared: Vec<Compared>,
        /// Sentence per recorded stream that was not compared, which states the reason.
        not_compared: Vec<String>,
        /// Hash and totals of the replay.
        digest: Digest,
    },
    /// Data differ; contains a description of the first difference.
    Differs(String),
}

/// Stream that a replay compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Name of the probe.
    pub probe: String,
    /// Number of records, lines or bytes.
    pub n: u64,
    /// Unit of `n`: `spikes`, `samples`, `events`, `texts` or `bytes`.
    pub unit: &'static str,
}

impl ReplayResult {
    /// Returns the number of spikes compared.
    pub fn n_spikes(&self) -> u64 {
        match self {
            Self::Identical { compared, .. } => compared.iter().filter(|c| c.unit == "spikes").map(|c| c.n).sum(),
            Self::Differs(_) => 0,
        }
    }

    /// Describes the result in a sentence.
    pub fn text(&self) -> String {
        match self {
            Self::Differs(what) => format!("different: {what}"),
            Self::Identical { steps, compared, not_compared, digest } => {
                let (steps, parts): (_, Vec<String>) =
                    (counted(*steps, "step", "steps"), compared.iter().map(Compared::text).collect());
                let mut out = match parts.is_empty() {
                    false => format!("identical: {} in {steps}", parts.join(", ")),
                    true => format!("no recorded stream to compare; {steps} replayed"),
                };
                if !digest.hash.is_empty() {
                    out += &format!(", hash {}", digest.hash);
                }
                if !not_compared.is_empty() {
                    out += &format!("; {}", not_compared.join("; "));
                }
                out
            }
        }
    }
}

impl Compared {
    fn text(&self) -> String {
        let Self { probe, n, unit } = self;
        let unit = if *n == 1 { title::singular(unit) } else { (*unit).to_owned() };
        let n = group_digits(*n);
        if *probe == unit { format!("{n} {unit}") } else { format!("{n} {unit} of {probe}") }
    }
}

/// Replays a run with a simulation that was just built from the run's project on the recording's device. Fails as
/// [`replay_on`] does.
pub fn replay(run: &RunFolder, sim: &mut dyn Simulation, progress: &Progress) -> Result<ReplayResult, SimError> {
    replay_on(run, sim, &run.manifest.device, progress)
}

/// Replays a run with a simulation that was just built from the run's project on `device`. If `device` is not the device of the
/// recording, streams are compared as far as their declared [`Exactness`] allows. Fails if the run is being written or nothing
/// can be compared.
pub fn replay_on(
    run: &RunFolder,
    sim: &mut dyn Simulation,
    device: &str,
    progress: &Progress,
) -> Result<ReplayResult, SimError> {
    let input = |e: std::io::Error| SimError::Input(e.to_string());
    if run.manifest.status == Status::Running {
        return Err(SimError::Input(format!(
            "{} is still being written; replay it when it is closed",
            run.path.display()
        )));
    }
    if let Some(damage) = run.manifest.streams.iter().find_map(|stream| run.damage(stream)) {
        return Ok(ReplayResult::Differs(damage));
    }
    let difference = difference(run, device, &*sim);
    let is_same = difference.is_none();
    let why_not = |declared: Exactness| declared.why_not(difference.as_deref().unwrap_or_default());
    let exactness = |probe: Option<&str>| {
        Model::by_name(&run.manifest.kind).map_or(Exactness::AnyBackend, |model| model.exactness(probe))
    };
    let mut streams =
        Streams { compares_digest: exactness(None).tolerance(is_same) == Some(0.0), ..Streams::default() };
    if !streams.compares_digest {
        streams.skip("hash", &why_not(exactness(None)));
    }
    let mut taps: Vec<Tap> = vec![];
    for stream in &run.manifest.streams {
        let Some(probe) = sim.probes().iter().position(|p| p.name == stream.probe) else {
            streams.skip(&stream.probe, &format!("{} has no such probe", run.manifest.kind));
            continue;
        };
        if stream.shape == "lineage" && run.manifest.first_step > 0 && !stream.has_run_ids {
            streams.skip(&stream.probe, "its ids depend on when it was first tapped, in this older run");
            continue;
        }
        if stream.shape == "lineage" && stream.from_step > 0 {
            streams.skip(&stream.probe, "it was tapped after the run began");
            continue;
        }
        let declared = exactness(Some(&stream.probe));
        let Some(tolerance) = declared.tolerance(is_same) else {
            streams.skip(&stream.probe, &why_not(declared));
            continue;
        };
        let args = TapArgs::parse(&stream.args, sim.probes()[probe].args).map_err(SimError::Input)?;
        let tap = Tap { probe: probe as u16, elements: stream.elements.clone(), args, ..Tap::default() };
        let key = tap.key();
        if taps.iter().all(|t| !t.has_key(&key)) {
            taps.push(tap);
        }
        streams.list.push(Comparison::new(run, stream, key, tolerance).map_err(input)?);
    }
    if streams.list.is_empty() && !streams.compares_digest {
        return Err(SimError::Input(format!(
            "nothing of this run can be compared on {device}: {}. Replay it on {}",
            why_not(exactness(None)),
            run.manifest.device
        )));
    }
    let ids = |set: &str| sim.sets().iter().find(|s| s.name == set).map_or(vec![], |s| s.ids.clone());
    let log = run.commands_with(&ids).map_err(input)?;
    if let Some(state) = run.parent_state(progress)? {
        sim.load(&state)?;
    }
    let (first, end) = (run.manifest.first_step, run.manifest.last_step);
    let project = run.project().map_err(|e| SimError::Input(e.to_string()))?;
    let data = |now, change: &_, hash: &_| run.load_logged_data(&project, now, (change, hash), progress);
    let plan = Plan { log: &log, n_history: run.manifest.n_history as usize, first, end, taps: &taps, data: &data };
    drive(sim, &plan, progress, &mut streams)?;
    streams.result(run, sim).map_err(input)
}

#[derive(Default)]
struct Streams {
    list: Vec<Comparison>,
    not_compared: Vec<String>,
    difference: Option<String>,
    error: Option<std::io::Error>,
    /// Whether the digests must be equal.
    compares_digest: bool,
}

/// Returns the difference from the recording that may change bits: the device, or the kernel choices; `None` if there is no
/// difference.
fn difference(run: &RunFolder, device: &str, sim: &dyn Simulation) -> Option<String> {
    let recorded = &run.manifest.device;
    if !is_same_device(recorded, device) {
        return Some(format!("the recording is of {recorded}"));
    }
    sim.execution().kernels.difference_from(&run.manifest.execution.kernels)
}

/// Whether a simulation has equal bits on both devices regardless of its backends. This holds for GPUs of one model, and
/// for CPUs, whose results depend neither on the model nor on the number of threads.
fn is_same_device(recorded: &str, now: &str) -> bool {
    let model = |name: &str| name.split([',', '(']).next().unwrap_or_default().trim().to_owned();
    recorded.is_empty() || model(recorded) == model(now)
}

impl Observer for Streams {
    fn next_sample(&mut self, step: u64) -> Option<u64> {
        let mut next = None;
        for stream in &mut self.list {
            let state = match stream.next_state(step) {
                Ok(state) => state,
                Err(error) => {
                    self.error = Some(error);
                    None
                }
            };
            next = [next, state, stream.next_border(step)].into_iter().flatten().min();
        }
        next
    }

    fn sampled(&mut self, frame: &Frame) -> ControlFlow<()> {
        for stream in self.list.iter_mut().filter(|s| s.is_at(frame.clock.step)) {
            let Some(reading) = frame.reading(&stream.key) else { continue };
            match stream.compare(reading, frame.clock) {
                Ok(None) => {}
                Ok(difference) => self.difference = self.difference.take().or(difference),
                Err(error) => self.error = Some(error),
            }
        }
        if self.difference.is_some() || self.error.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Streams {
    /// Adds a stream that cannot be compared to the list, with the reason.
    fn skip(&mut self, what: &str, why: &str) {
        self.not_compared.push(format!("{what} is not compared: {why}"));
    }

    fn result(mut self, run: &RunFolder, sim: &dyn Simulation) -> std::io::Result<ReplayResult> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for stream in &mut self.list {
            self.difference = self.difference.take().or(stream.rest()?);
        }
        if let Some(difference) = self.difference {
            return Ok(ReplayResult::Differs(difference));
        }
        let (digest, recorded) = (sim.digest(0), &run.manifest.digest);
        if self.compares_digest && run.is_complete() && digest != *recorded {
            let what = if digest.hash == recorded.hash { "totals" } else { "hashes" };
            return Ok(ReplayResult::Differs(format!(
                "the {what} of the simulation differ, though the recorded data agree: recorded {}, replayed {}",
                digest_text(recorded),
                digest_text(&digest)
            )));
        }
        let compared: Vec<Compared> = self.list.iter().map(Comparison::compared).collect();
        let is_checked = self.compares_digest && run.is_complete() && !recorded.hash.is_empty();
        if compared.is_empty() && !is_checked {
            return Ok(ReplayResult::Differs(
                "nothing was compared: the run has no recorded stream and no hash".into(),
            ));
        }
        Ok(ReplayResult::Identical { steps: sim.clock().step, compared, not_compared: self.not_compared, digest })
    }
}

fn digest_text(digest: &Digest) -> String {
    format!("hash {} ({})", digest.hash, digest.totals_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_the_same_by_their_model() {
        let h100 = "NVIDIA H100 80GB HBM3 (compute capability 9.0, 132 multiprocessors, CUDA 13.0 driver)";
        for (recorded, now, same) in [
            ("CPU, 2 threads", "CPU", true),
            ("CPU, 1 thread", "CPU, 16 threads", true),
            ("", "CPU", true),
            (h100, "NVIDIA H100 80GB HBM3", true),
            (h100, "NVIDIA H200", false),
            (h100, "CPU, 2 threads", false),
        ] {
            assert_eq!(is_same_device(recorded, now), same, "{recorded}, {now}");
        }
    }
}
