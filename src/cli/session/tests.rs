//! Tests of failing runs, and of the times of runs.

use super::*;
use crate::{
    project::{RunFolder, Status},
    sim::{
        ElementSet, Frame, ProbeSpec, Reading, Spike, TimeBase,
        scripted::{Script, Scripted},
    },
};
use neuropil_test_support::temp::TempFolder;
use std::sync::Arc;

/// Simulation that emits one spike per step.
struct Ticking {
    read: u64,
    sets: Vec<Arc<ElementSet>>,
}

impl Script for Ticking {
    fn probes(&self) -> &'static [ProbeSpec] {
        crate::kinds::Model::default().probes()
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn base(&self) -> TimeBase {
        TimeBase::Seconds { per_step: 1e-4 }
    }
    fn span(&self) -> Option<&'static str> {
        Some("deliver")
    }
    fn sample(&mut self, step: u64, _: &[Tap], frame: &mut Frame) {
        let new = (self.read..step).map(|step| Spike { step: step as u32, lane: 3 }).collect();
        self.read = step;
        frame.push(0, Reading::Spikes(new));
    }
    fn digest(&self, _: u64) -> Digest {
        Digest::new("d1".into(), vec![("spikes".into(), self.read)])
    }
}

fn failing(folder: &Path, until: u64) -> Result<Outcome, CliError> {
    let set = ElementSet { name: "neurons", len: 10, ..ElementSet::default() };
    let mut sim = Box::new(Scripted::new(Ticking { read: 0, sets: vec![Arc::new(set)] }));
    sim.loses_device_at = 300;
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
    let temp = TempFolder::new("failing");
    let folder = temp.join("run");
    let Err(error) = failing(&folder, 1000) else { panic!("it did not fail") };
    assert_eq!(error.code(), 4);
    let text = error.to_string();
    assert!(text.contains("the GPU is lost") && text.contains("up to step 300; --device cpu"), "{text}");
    let run = RunFolder::open(&folder).unwrap();
    assert!(matches!(&run.manifest.status, Status::Failed(why) if why.contains("the GPU is lost")));
    assert_eq!((run.manifest.last_step, run.manifest.digest.hash.as_str()), (300, "d1"));
    assert_eq!(run.spikes().unwrap().len(), 300);
}

#[test]
fn a_result_says_where_the_time_went() {
    let temp = TempFolder::new("timed");
    let outcome = failing(&temp.join("run"), 300).map_err(|e| e.to_string()).unwrap();
    assert_eq!(
        outcome.timings.iter().map(|r| (r.name, r.launches, r.share)).collect::<Vec<_>>(),
        [("deliver", 1, 1.0)]
    );
    assert_eq!(outcome.clock.step, 300);
}
