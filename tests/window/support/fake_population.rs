//! A population that costs nothing: what its views show is made up beforehand.

use super::population::{LINEAGE, PROBES, cells, fields, life, other};
use neuropil::sim::{
    ElementSet, Frame, LifeEvent, MemoryReport, ProbeSpec, Reading, SimError, Snapshot, Tap, TimeBase,
    scripted::{Script, Scripted},
};
use std::sync::Arc;

const N: u32 = 600;
/// Founders whose descendants are told, and for how long.
const LINES: (u64, u64) = (40, 400);

/// What it makes up.
pub struct Population {
    sets: Vec<Arc<ElementSet>>,
    life: Vec<LifeEvent>,
    told: usize,
}

/// As it begins.
pub fn new() -> Scripted<Population> {
    let (life, sets) = (life(LINES.0, LINES.1), vec![Arc::new(cells(N))]);
    Scripted::new(Population { sets, life, told: 0 })
}

impl Script for Population {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn base(&self) -> TimeBase {
        TimeBase::STEPS
    }
    fn end_batch(&mut self, _: u64) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame) {
        let fields = fields(N, step);
        for tap in taps {
            let reading = match fields.get(usize::from(tap.probe)) {
                Some(field) => field.clone(),
                None if tap.probe == LINEAGE => {
                    let end = self.life.partition_point(|event| event.step() <= step);
                    let from = std::mem::replace(&mut self.told, end);
                    Reading::lineage(self.life[from..end].to_vec())
                }
                None => other(tap.probe, step),
            };
            frame.push(tap.key(), reading);
        }
    }
    fn load(&mut self, _: u64, _: &Snapshot) -> Result<(), SimError> {
        self.told = 0;
        Ok(())
    }
    fn rewind(&mut self) {
        self.told = 0;
    }
    fn memory(&self) -> MemoryReport {
        [("phases", u64::from(N) * 8)].into()
    }
    fn diverged(&self, step: u64) -> String {
        format!("the phase of cell 17 is not a number at step {step}")
    }
}
