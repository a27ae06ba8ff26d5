//! A simulation with several trials shows one of them.

use neuropil::{
    engine::{Command, Engine, Event},
    project::read,
    sim::{BuildContext, Device, Progress, Reading, Spike, Tap},
};
use std::{sync::mpsc, time::Duration};

const PROJECT: &str = r#"(model: Spiking((network: (source: Balanced, n_neurons: 60, in_degree: 6),
    interventions: [(name: "drive", effect: Poisson, target: "idx < 12", rate_hz: 300.0)])))"#;
const HALF: u64 = 300;

/// Runs to a step and returns the spikes that the screen received.
fn spikes(engine: &Engine, wake: &mpsc::Receiver<()>, to: u64) -> Vec<Spike> {
    engine.send(Command::RunTo(to));
    let mut all = vec![];
    let mut is_paused = false;
    while !is_paused {
        wake.recv_timeout(Duration::from_secs(20)).expect("the engine is alive");
        while let Ok(event) = engine.events.try_recv() {
            is_paused |= matches!(event, Event::Running(false, clock) if clock.step == to);
        }
        if let Some(frame) = engine.take_frame() {
            assert!(frame.readings.iter().all(|(key, _)| *key == Tap::of(0).key()), "{:?}", frame.readings);
            for (_, reading) in frame.readings {
                let Reading::Spikes(spikes) = reading else { panic!("spikes") };
                all.extend(spikes);
            }
        }
    }
    all
}

#[test]
fn views_receive_the_spikes_of_the_chosen_trial() {
    let (project, _) = read(PROJECT).expect("a project");
    let device = Device::Cpu { threads: 1 };
    let prepared = project.model.prepare(&BuildContext::default(), &Progress::default()).expect("a network");
    let start = |seeds: &[u64]| {
        let trials: Vec<_> = seeds.iter().map(|seed| (*seed, &[][..])).collect();
        prepared.start_trials(&trials, &device, &Progress::default()).expect("a simulation")
    };
    let run = |sim, other: Option<u32>| {
        let (sender, wake) = mpsc::channel();
        let engine = Engine::spawn(move || {
            let _ = sender.send(());
        })
        .expect("an engine");
        engine.send(Command::Load(sim));
        engine.send(Command::Subscribe(vec![Tap::of(0)]));
        let first = spikes(&engine, &wake, HALF);
        if let Some(trial) = other {
            engine.send(Command::ShowTrial(trial));
        }
        (first, spikes(&engine, &wake, 2 * HALF))
    };
    let alone = [1, 2, 3].map(|seed| run(start(&[seed]), None));
    assert!(alone[0] != alone[2] && !alone[0].0.is_empty() && !alone[2].1.is_empty());
    let (first, second) = run(start(&[1, 2, 3]), Some(2));
    assert_eq!((first, second), (alone[0].0.clone(), alone[2].1.clone()));
    let (_, unchanged) = run(start(&[1, 2, 3]), Some(7));
    assert_eq!(unchanged, alone[0].1, "there is no such trial");
}
