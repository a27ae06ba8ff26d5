//! A population that costs nothing: what its views show is made up beforehand.

use super::population::{LINEAGE, PROBES, cells, fields, life, other};
use neuropil::{
    gpu::Pass,
    params::Change,
    sim::{
        Action, Clock, Digest, Effect, ElementSet, Frame, LifeEvent, MemoryReport, ProbeId, ProbeSpec, Reading,
        SimError, Simulation, Snapshot, Tap, TimeBase,
    },
};
use std::sync::Arc;

const N: u32 = 600;
/// Founders whose descendants are told, and for how long.
const LINES: (u64, u64) = (40, 400);

/// The simulation.
pub struct Fake {
    step: u64,
    taps: Vec<Tap>,
    sets: Vec<Arc<ElementSet>>,
    life: Vec<LifeEvent>,
    told: usize,
    diverges_at: u64,
}

impl Fake {
    /// As it begins; its numbers are none any more at a step.
    pub fn new(diverges_at: u64) -> Self {
        let (life, sets) = (life(LINES.0, LINES.1), vec![Arc::new(cells(N))]);
        Self { step: 0, taps: vec![], sets, life, told: 0, diverges_at }
    }
}

impl Simulation for Fake {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn lanes(&self, _: ProbeId) -> Vec<String> {
        vec![]
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn clock(&self) -> Clock {
        Clock { step: self.step, base: TimeBase::STEPS }
    }
    fn set(&mut self, _: &Change) -> Result<Effect, SimError> {
        Ok(Effect::Applied)
    }
    fn act(&mut self, _: &Action) -> Result<(), SimError> {
        Ok(())
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.taps = taps.to_vec();
        Ok(())
    }
    fn advance(&mut self, steps: u32, _: &mut Pass) -> Result<(), SimError> {
        let end = self.step + u64::from(steps);
        if end > self.diverges_at {
            return Err(SimError::Diverged(format!("the phase of cell 17 is not a number at step {}", self.step)));
        }
        self.step = end;
        std::thread::sleep(std::time::Duration::from_millis(1));
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let fields = fields(N, self.step);
        for tap in &self.taps {
            let reading = match fields.get(usize::from(tap.probe)) {
                Some(field) => field.clone(),
                None if tap.probe == LINEAGE => {
                    let end = self.life.partition_point(|event| event.step() <= self.step);
                    let from = std::mem::replace(&mut self.told, end);
                    Reading::Lineage(self.life[from..end].to_vec())
                }
                None => other(tap.probe, self.step),
            };
            frame.push(tap.key(), reading);
        }
        Ok(())
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        let mut state = Snapshot::new("fake");
        state.number("step", self.step);
        Ok(state)
    }
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        (self.step, self.told) = (state.read_number("step")?, 0);
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        (self.step, self.told) = (0, 0);
        Ok(())
    }
    fn digest(&self) -> Digest {
        Digest { hash: format!("{:016x}", self.step), totals: vec![] }
    }
    fn memory(&self) -> MemoryReport {
        [("phases", u64::from(N) * 8)].into()
    }
}
