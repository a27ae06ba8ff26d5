//! The demonstration kind has the same bits on the CPU and on a GPU: states, readings, actions, saved states.

use crate::{device::gpu, settings};
use neuropil::{
    gpu::{Pass, Place},
    kinds::{Model, demo::probes},
    params::path,
    sim::{Action, BuildContext, Device, Frame, Progress, Simulation, Tap, TapArgs},
};

fn model(texts: &[&str]) -> Model {
    settings::model("demo", texts)
}

fn all_taps() -> Vec<Tap> {
    let mut taps: Vec<Tap> = (0..probes::PROBES.len() as u16).map(Tap::of).collect();
    taps[usize::from(probes::LOAD_OF)].elements = vec![1, 0];
    for probe in [probes::WEIGHTS, probes::PREDICTED] {
        taps.push(Tap::with(probe, TapArgs::new([("expert", "0")])));
    }
    taps
}

/// Readings after each of a few batches with splits, texts, an action and an edit between them; and the state at the end.
fn story(sim: &mut dyn Simulation, model: &Model, taps: &[Tap]) -> (String, neuropil::sim::Snapshot) {
    let mut told = String::new();
    sim.tap(taps).expect("tapped");
    for (round, steps) in [1, 700, 33, 1500, 4999].into_iter().enumerate() {
        sim.advance(steps, &mut Pass::default()).expect("it runs");
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("it is read");
        told += &format!("{:?}\n{:?}\n", frame.clock, frame.readings);
        match round {
            1 => sim.act(&Action::on("merge", vec![0, 1], vec![])).expect("merged"),
            2 => drop(sim.set(&path::parse(model.params(), "experts.learning_rate=0.4").expect("a rate"))),
            _ => {}
        }
    }
    (told + &format!("{:?}", sim.digest(0)), sim.save().expect("saved"))
}

#[test]
fn cuda_has_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let context = BuildContext { seed: 5, ..BuildContext::default() };
    for settings in [
        &["experts.weights_mib=1", "growth.split_every=300", "measure.every=10", "measure.text_every=250"][..],
        &["experts.weights_mib=3", "growth.split_every=999", "measure.every=1", "growth.rule=Age(minimum: 50)"],
    ] {
        let model = model(settings);
        let prepared = model.prepare(&context, &Progress::default()).expect("prepared");
        for taps in [all_taps(), vec![]] {
            let start = |device: &Device| prepared.start(5, device).expect("it starts");
            let mut cpu = start(&Device::Cpu { threads: 1 });
            let mut cuda = start(&Device::Cuda(gpu.clone()));
            let (want, got) = (story(&mut *cpu, &model, &taps), story(&mut *cuda, &model, &taps));
            let differs = want.0.bytes().zip(got.0.bytes()).position(|(a, b)| a != b);
            let about = |text: &str, at: usize| text[at.saturating_sub(200)..(at + 100).min(text.len())].to_owned();
            assert!(want.0 == got.0, "{:?}", differs.map(|at| (about(&want.0, at), about(&got.0, at))));
            assert!(want.1 == got.1, "saved states");
            // Each continues the state of the other.
            cpu.load(&got.1).expect("loaded");
            cuda.load(&want.1).expect("loaded");
            for sim in [&mut cpu, &mut cuda] {
                sim.advance(2_345, &mut Pass::default()).expect("it runs");
            }
            assert_eq!(cpu.digest(0), cuda.digest(0));
            assert!(cpu.save().expect("saved") == cuda.save().expect("saved"), "after loading");
        }
    }
}

/// A gigabyte of weights in bfloat16: predicted, held, saved in sections without a second copy, loaded and continued.
#[test]
#[ignore = "holds 1 GiB on the device and 2 GiB on the host"]
fn cuda_a_gigabyte_of_weights_is_saved_and_continued() {
    const BYTES: u64 = 1 << 30;
    let Some(gpu) = gpu() else { return };
    let context = BuildContext { seed: 5, ..BuildContext::default() };
    let model = model(&["experts.weights_mib=1024", "experts.initial_weight=normal(0, 0.1)", "growth.split_every=500"]);
    let prepared = model.prepare(&context, &Progress::default()).expect("prepared");
    let start = || prepared.start(5, &Device::Cuda(gpu.clone())).expect("it starts");
    let mut sim = start();
    sim.advance(1_200, &mut Pass::default()).expect("it runs");
    assert!(sim.memory().on(Place::Device) >= BYTES, "{:?}", sim.memory());
    assert!(sim.snapshot_bytes() >= BYTES, "{}", sim.snapshot_bytes());
    let state = sim.save().expect("saved");
    let finish = |mut sim: Box<dyn Simulation>| {
        sim.advance(1_300, &mut Pass::default()).expect("it runs");
        (sim.digest(0), sim.sets().iter().map(|set| set.len).collect::<Vec<_>>())
    };
    let want = finish(sim);
    let mut other = start();
    other.load(&state).expect("loaded");
    assert_eq!(finish(other), want);
}
