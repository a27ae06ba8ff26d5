//! The lineage view on a real population: a tap that begins in mid-run, ends and begins again, and a recording.

use crate::support::stage;
use neuropil::{
    engine::{Command, Engine, Event, LoggedCommand, RecordingEnd, RecordingStart, SimSchema, Sink},
    gpu::Pass,
    kinds::nuclei::{Params, cpu::CpuSim, probes, task},
    sim::{BuildContext, Frame, LifeEvent, ProbeId, Progress, Reading, Simulation, Tap},
};
use stage::Stage;
use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

/// A population on the CPU.
fn cpu(params: &Params, seed: u64, threads: usize) -> CpuSim<f32> {
    let scene = BuildContext { seed, ..BuildContext::default() };
    let setup = task::prepare(params, &scene, &Progress::default()).expect("a task");
    CpuSim::new(params, &scene, Arc::new(setup), threads).expect("it starts")
}

fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

const LINEAGE: Tap = Tap::of(probes::LINEAGE);

fn alive(sim: &dyn Simulation) -> u64 {
    let digest = sim.digest(0);
    digest.totals.iter().find(|(name, _)| name == "alive").expect("a count").1
}

fn frame(sim: &mut dyn Simulation) -> Frame {
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("sampled");
    frame
}

/// The caption of a lineage view opened in mid-run agrees with the population, also after the tap paused.
#[test]
fn a_lineage_opened_in_mid_run_counts_the_living() {
    let mut sim = cpu(&Params::population(0.02), 1, 1);
    advance(&mut sim, 300);
    let lanes = vec![vec![]; sim.probes().len()];
    let schema = SimSchema { probes: sim.probes(), lanes, sets: sim.sets().to_vec(), ..SimSchema::default() };
    let mut stage = Stage::new("lineage", schema, (900.0, 600.0)).headless();
    for steps in [200, 300, 50] {
        sim.tap(&[LINEAGE]).expect("tapped");
        advance(&mut sim, 40);
        stage.absorb(frame(&mut sim));
        stage.settle();
        let n = alive(&sim);
        let texts = stage.painted_below(0.0);
        let caption = format!("  |  {n} alive");
        assert!(stage.says(&caption) && stage.says("from generation 300"), "{n} alive: {texts:?}");
        sim.tap(&[]).expect("untapped");
        advance(&mut sim, steps);
    }
}

struct Kept(Arc<Mutex<Vec<LifeEvent>>>);

impl Sink for Kept {
    fn begin(&mut self, _: &RecordingStart) -> io::Result<()> {
        Ok(())
    }
    fn write(&mut self, block: &Frame) -> io::Result<()> {
        for (_, reading) in &block.readings {
            if let Reading::Lineage(events) = reading {
                self.0.lock().expect("kept").extend(events.iter().cloned());
            }
        }
        Ok(())
    }
    fn log(&mut self, _: u64, _: &LoggedCommand) -> io::Result<()> {
        Ok(())
    }
    fn lanes_changed(&mut self, _: u64, _: ProbeId, _: &[String]) -> io::Result<()> {
        Ok(())
    }
    fn finish(self: Box<Self>, _: &RecordingEnd) -> io::Result<()> {
        Ok(())
    }
}

fn wait(engine: &Engine, is_it: impl Fn(&Event) -> bool) {
    while !is_it(&engine.events.recv_timeout(Duration::from_secs(60)).expect("an answer")) {}
}

/// A recording that starts in mid-run holds the living first, although the window has tapped the lineage before.
#[test]
fn a_recording_started_in_mid_run_begins_with_the_living() {
    let engine = Engine::spawn(|| {}).expect("an engine");
    engine.send(Command::Load(Box::new(cpu(&Params::population(0.02), 1, 1))));
    engine.send(Command::Subscribe(vec![LINEAGE]));
    engine.send(Command::RunTo(200));
    wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 200));
    let events: Arc<Mutex<Vec<LifeEvent>>> = Arc::default();
    engine.send(Command::Record(vec![LINEAGE], Box::new(Kept(events.clone()))));
    engine.send(Command::RunTo(400));
    wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 400));
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(..)));
    let events = events.lock().expect("kept");
    let LifeEvent::Birth(first) = &events[0] else { panic!("a death first") };
    assert!(first.step == 200 && first.born.is_some(), "{first:?}");

    // A second simulation, tapped from step 200 on only, gives as many events; its ids begin at the tap.
    let mut sim = cpu(&Params::population(0.02), 1, 1);
    advance(&mut sim, 200);
    sim.tap(&[LINEAGE]).expect("tapped");
    advance(&mut sim, 200);
    let again = frame(&mut sim);
    let Some(Reading::Lineage(again)) = again.reading(probes::LINEAGE) else { panic!("a lineage") };
    assert_eq!(events.len(), again.len());
}
