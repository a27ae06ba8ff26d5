//! Runs that fail, and their times.

use super::*;
use crate::{
    gpu::Pass,
    params::Change,
    project::{RunFolder, Status},
    sim::{Action, Effect, ElementSet, Frame, ProbeId, ProbeSpec, Reading, Snapshot, Spike},
};
use std::sync::Arc;

/// One spike per step, until the device fails.
struct Failing {
    step: u64,
    read: u64,
    sets: Vec<Arc<ElementSet>>,
}

impl Simulation for Failing {
    fn probes(&self) -> &'static [ProbeSpec] {
        crate::kinds::Model::default().probes()
    }
    fn lanes(&self, _: ProbeId) -> Vec<String> {
        vec![]
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn clock(&self) -> Clock {
        Clock::seconds(self.step, 1e-4)
    }
    fn set(&mut self, _: &Change) -> Result<Effect, SimError> {
        Ok(Effect::Applied)
    }
    fn act(&mut self, _: &Action) -> Result<(), SimError> {
        Ok(())
    }
    fn tap(&mut self, _: &[Tap]) -> Result<(), SimError> {
        Ok(())
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        if self.step >= 300 {
            return Err(SimError::Device("kernel deliver: the GPU is lost to this program".into()));
        }
        pass.span("deliver", u64::from(steps), || self.step += u64::from(steps));
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let new = (self.read..self.step).map(|step| Spike { step: step as u32, lane: 3 }).collect();
        self.read = self.step;
        frame.push(0, Reading::Spikes(new));
        Ok(())
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        Ok(Snapshot::default())
    }
    fn load(&mut self, _: &Snapshot) -> Result<(), SimError> {
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        Ok(())
    }
    fn digest(&self) -> Digest {
        Digest { hash: "d1".into(), totals: vec![("spikes".into(), self.read)] }
    }
    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }
}

fn failing(folder: &Path, until: u64) -> Result<Outcome, CliError> {
    let set = ElementSet { name: "neurons", len: 10, ..ElementSet::default() };
    let sim = Box::new(Failing { step: 0, read: 0, sets: vec![Arc::new(set)] });
    let project = Project::default();
    let start = RunStart {
        project: &project,
        base: Path::new("."),
        taps: vec![],
        sets: &[],
        device: "a GPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 0,
    };
    let taps = vec![Tap::of(0)];
    record(sim, folder, start, taps, &Pacing { until: Some(until), batch: Some(50), speed: None }, &|_| {})
}

#[test]
fn a_device_that_fails_in_the_middle_leaves_a_run_that_can_be_read() {
    let folder = std::env::temp_dir().join(format!("neuropil-failing-{}", std::process::id()));
    let Err(error) = failing(&folder, 1000) else { panic!("it did not fail") };
    assert_eq!(error.code(), 4);
    let text = error.to_string();
    assert!(text.contains("the GPU is lost") && text.contains("up to step 300; --device cpu"), "{text}");
    let run = RunFolder::open(&folder).unwrap();
    assert!(matches!(&run.manifest.status, Status::Failed(why) if why.contains("the GPU is lost")));
    assert_eq!((run.manifest.last_step, run.manifest.digest.hash.as_str()), (300, "d1"));
    assert_eq!(run.spikes().unwrap().len(), 300);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_result_says_where_the_time_went() {
    let folder = std::env::temp_dir().join(format!("neuropil-timed-{}", std::process::id()));
    let outcome = failing(&folder, 300).map_err(|e| e.to_string()).unwrap();
    assert_eq!(
        outcome.timings.iter().map(|r| (r.name, r.launches, r.share)).collect::<Vec<_>>(),
        [("deliver", 1, 1.0)]
    );
    assert_eq!(outcome.clock.step, 300);
    std::fs::remove_dir_all(&folder).unwrap();
}
