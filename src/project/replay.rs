//! Replays a recorded run and compares it with its files.

use super::RunFolder;
use crate::{
    engine::replay::drive,
    sim::{Digest, Progress, Reading, SimError, Simulation, Spike, Tap},
};
use std::ops::ControlFlow;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayResult {
    /// The same, bit for bit.
    Identical {
        /// Steps replayed.
        steps: u64,
        /// Spikes compared.
        spikes: u64,
        /// Hash and totals of the replay.
        digest: Digest,
    },
    /// Different; the first difference.
    Differs(String),
}

/// Replays a run on a simulation that was just built from the run's project.
pub fn replay(run: &RunFolder, sim: &mut dyn Simulation, progress: &Progress) -> Result<ReplayResult, SimError> {
    let input = |e: std::io::Error| SimError::Input(e.to_string());
    let mut compared = Compared { recorded: run.spikes().map_err(input)?, at: 0, first: run.manifest.first_step };
    let probe = run.manifest.spikes().and_then(|s| sim.probes().iter().position(|p| p.name == s.probe));
    let taps: Vec<Tap> = probe.map(|p| Tap { probe: p as u16, elements: vec![] }).into_iter().collect();
    sim.tap(&taps)?;
    let log = run.commands().map_err(input)?;
    let mut difference = None;
    drive(sim, &log, run.manifest.last_step, progress, |frame| {
        difference = frame.readings.iter().find_map(|(_, reading)| compared.look(reading));
        if difference.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(match difference {
        Some(difference) => ReplayResult::Differs(difference),
        None => compared.verdict(run, sim),
    })
}

struct Compared {
    recorded: Vec<Spike>,
    at: usize,
    first: u64,
}

impl Compared {
    fn look(&mut self, reading: &Reading) -> Option<String> {
        let Reading::Spikes(spikes) = reading else { return None };
        for spike in spikes.iter().filter(|s| u64::from(s.step) >= self.first) {
            match self.recorded.get(self.at) {
                Some(old) if old == spike => self.at += 1,
                Some(old) => {
                    let (n, a, b) = (self.at, old, spike);
                    return Some(format!(
                        "event {n}: recorded was {} at step {}, replayed {} at step {}",
                        a.lane, a.step, b.lane, b.step
                    ));
                }
                // A killed run lacks its last events; for a complete one the hash is compared.
                None => return None,
            }
        }
        None
    }

    fn verdict(&self, run: &RunFolder, sim: &dyn Simulation) -> ReplayResult {
        let (digest, recorded) = (sim.digest(), &run.manifest.digest);
        if let Some(missing) = self.recorded.get(self.at) {
            return ReplayResult::Differs(format!(
                "event {}: recorded was {} at step {}, replayed nothing",
                self.at, missing.lane, missing.step
            ));
        }
        if run.is_complete() && digest != *recorded {
            let what = if digest.hash == recorded.hash { "totals" } else { "hashes" };
            return ReplayResult::Differs(format!(
                "the {what} differ, though the recorded events agree: recorded {recorded:?}, replayed {digest:?}"
            ));
        }
        ReplayResult::Identical { steps: sim.clock().step, spikes: self.at as u64, digest }
    }
}
