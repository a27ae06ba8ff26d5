//! Runs a recorded run again and compares, spike by spike.

use super::RunFolder;
use crate::{
    engine::Logged,
    gpu::Pass,
    sim::{Digest, Frame, Progress, Reading, SimError, Simulation, Spike, Tap},
};

/// What a replay found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The same, to the last bit that was recorded.
    Identical {
        /// Steps replayed.
        steps: u64,
        /// Spikes compared.
        spikes: u64,
        /// Fingerprint of the replay.
        digest: Digest,
    },
    /// Not the same; where it first differs, in words.
    Differs(String),
}

/// Steps between two looks.
const BATCH: u32 = 500;

/// Replays a run on a simulation that was just built from the run's project.
pub fn replay(run: &RunFolder, sim: &mut dyn Simulation, progress: &Progress) -> Result<Verdict, SimError> {
    let input = |e: std::io::Error| SimError::Input(e.to_string());
    let mut compared = Compared { recorded: run.spikes().map_err(input)?, at: 0, first: run.manifest.first_step, taps: vec![] };
    let probe = run.manifest.spikes().and_then(|s| sim.probes().iter().position(|p| p.name == s.probe));
    compared.taps.extend(probe.map(|p| Tap { probe: p as u16, elements: vec![] }));
    sim.tap(&compared.taps)?;
    let end = run.manifest.last_step;
    for (step, what) in run.commands().map_err(input)? {
        if step > end {
            break;
        }
        if let Some(difference) = compared.run_to(sim, step, end, progress)? {
            return Ok(Verdict::Differs(difference));
        }
        match &what {
            Logged::Set(change) => drop(sim.set(change)?),
            Logged::Act(action) => sim.act(action)?,
            Logged::Rewind => sim.rewind()?,
        }
    }
    if let Some(difference) = compared.run_to(sim, end, end, progress)? {
        return Ok(Verdict::Differs(difference));
    }
    Ok(compared.verdict(run, sim))
}

struct Compared {
    recorded: Vec<Spike>,
    at: usize,
    first: u64,
    taps: Vec<Tap>,
}

impl Compared {
    fn run_to(
        &mut self,
        sim: &mut dyn Simulation,
        step: u64,
        end: u64,
        progress: &Progress,
    ) -> Result<Option<String>, SimError> {
        let mut pass = Pass::default();
        while sim.clock().step < step {
            progress.report("replaying", sim.clock().step as f32 / end.max(1) as f32)?;
            let batch = u64::from(BATCH).min(step - sim.clock().step) as u32;
            sim.advance(batch, &mut pass)?;
            let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
            sim.sample(&mut frame)?;
            for (_, reading) in &frame.readings {
                if let Some(difference) = self.compare(reading) {
                    return Ok(Some(difference));
                }
            }
        }
        Ok(None)
    }

    fn compare(&mut self, reading: &Reading) -> Option<String> {
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
                // A run that was killed has not written its last spikes: they are not compared.
                None => return None,
            }
        }
        None
    }

    fn verdict(&self, run: &RunFolder, sim: &dyn Simulation) -> Verdict {
        let (digest, recorded) = (sim.digest(), &run.manifest.digest);
        if let Some(missing) = self.recorded.get(self.at) {
            return Verdict::Differs(format!(
                "event {}: recorded was {} at step {}, replayed nothing",
                self.at, missing.lane, missing.step
            ));
        }
        if run.is_complete() && digest != *recorded {
            let why = if digest.hash == recorded.hash { "totals" } else { "hashes" };
            return Verdict::Differs(format!(
                "the {why} differ though the recorded events agree: recorded {recorded:?}, replayed {digest:?}"
            ));
        }
        Verdict::Identical { steps: sim.clock().step, spikes: self.at as u64, digest }
    }
}
