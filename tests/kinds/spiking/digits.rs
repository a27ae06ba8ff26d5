//! Learning of digits by STDP: held-out accuracy beside controls, and equal bits for any threads, batches and backend.

use super::rules::{cpu, model};
use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    kinds::{Model, spiking::probes::ACCURACY},
    params::path,
    sim::{Action, BuildContext, Device, Effect, Frame, Progress, Reading, Simulation, Snapshot, Tap},
};
use neuropil_test_support::temp::TempFolder;

/// Steps of a presentation with its pause.
const EACH: u32 = 400;

fn build(model: &Model, device: &Device, seed: u64) -> Box<dyn Simulation> {
    let context = BuildContext { seed, ..BuildContext::default() };
    model.build(&context, device, &Progress::default()).expect("built")
}

fn set(sim: &mut dyn Simulation, edit: &str) {
    let change = path::parse(sim.params().expect("parameters"), edit).expect("a change");
    assert_eq!(sim.set(&change).expect("set"), Effect::Applied, "{edit}");
}

/// A shortened schedule: training, labelling and held-out presentations.
fn shortened([training, labelling, held_out]: [u32; 3], edits: &[&str]) -> Model {
    let numbers = [("training", training), ("labelling", labelling), ("held_out", held_out)];
    let numbers = numbers.map(|(name, n)| format!("external_inputs.0.source.{name}={n}"));
    let edits: Vec<&str> = numbers.iter().map(String::as_str).chain(edits.iter().copied()).collect();
    model("stdp-digits", &edits)
}

/// Control of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Control {
    None,
    /// Weights and their sums stay as they are at step 0.
    Frozen,
    /// The weights of each neuron are permuted after training.
    Shuffled,
}

/// Returns the accuracy after all held-out presentations.
fn accuracy(device: &Device, seed: u64, numbers: [u32; 3], control: Control) -> f32 {
    let mut sim = build(&shortened(numbers, &[]), device, seed);
    sim.tap(&[Tap::of(ACCURACY)]).expect("tapped");
    if control == Control::Frozen {
        set(&mut *sim, "projections.0.learning=false");
    }
    sim.advance(numbers[0] * EACH, &mut Pass::default()).expect("training");
    if control == Control::Shuffled {
        Action::on("shuffle_weights", vec![0], vec![]).perform(&mut *sim).expect("shuffled");
    }
    sim.advance((numbers[1] + numbers[2]) * EACH, &mut Pass::default()).expect("labelling and test");
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("sampled");
    let Some(Reading::Series(series)) = frame.reading(ACCURACY) else { panic!("a series") };
    assert_eq!(series.values.len(), numbers[2] as usize);
    *series.values.last().expect("an accuracy")
}

fn learns(device: &Device, seeds: std::ops::Range<u64>, numbers: [u32; 3]) {
    for seed in seeds {
        let [learned, frozen, shuffled] =
            [Control::None, Control::Frozen, Control::Shuffled].map(|control| accuracy(device, seed, numbers, control));
        assert!(learned >= 0.8, "seed {seed}: {learned}");
        assert!(learned >= frozen.max(shuffled) + 0.2, "seed {seed}: {learned}, {frozen} frozen, {shuffled} shuffled");
    }
}

#[test]
fn digits_are_learned_from_spikes() {
    learns(&cpu(), 1..2, [600, 150, 200]);
}

#[test]
fn digits_are_learned_from_spikes_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    learns(&Device::Cuda(gpu), 1..4, [600, 200, 300]);
}

/// Runs all phases of a short schedule with edits and an action on the way; returns digest, samples and states.
fn events(model: &Model, device: &Device, batch: u32) -> (String, Vec<Reading>, Vec<Snapshot>) {
    let mut sim = build(model, device, 5);
    sim.tap(&[Tap::of(ACCURACY)]).expect("tapped");
    let mut states = vec![];
    super::digest_of(&mut *sim, 3 * EACH + 130, batch);
    states.push(sim.save().expect("saved"));
    for edit in [
        "projections.0.scaling.sum=250",
        "populations.1.adaptation.increase=0.8",
        "external_inputs.0.source.rate=120",
        "projections.0.plasticity.w_max=9",
    ] {
        set(&mut *sim, edit);
    }
    super::digest_of(&mut *sim, 2 * EACH, batch);
    Action::on("shuffle_weights", vec![0], vec![]).perform(&mut *sim).expect("shuffled");
    states.push(sim.save().expect("saved"));
    let digest = super::digest_of(&mut *sim, 5 * EACH - 130, batch);
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("sampled");
    states.push(sim.save().expect("saved"));
    (digest, frame.readings.into_iter().map(|(_, reading)| reading).collect(), states)
}

/// Scaling to a target sum, or to a target rate.
const SCALINGS: [&[&str]; 2] =
    [&[], &["projections.0.scaling=Rate", "projections.0.scaling.beta=0.02", "projections.0.scaling.interval=70"]];

#[test]
fn homeostasis_and_patterns_have_equal_bits_for_any_threads_and_batches() {
    let mut model = shortened([4, 3, 3], &[]);
    let first = events(&model, &Device::Cpu { threads: 1 }, 4000);
    for (threads, batch) in [(2, 7), (3, 401)] {
        assert!(events(&model, &Device::Cpu { threads }, batch) == first, "{threads} threads, batches of {batch}");
    }
    model = shortened([4, 3, 3], SCALINGS[1]);
    let run = |threads: usize, batch: u32| {
        let mut sim = build(&model, &Device::Cpu { threads }, 5);
        (super::digest_of(&mut *sim, 2000, batch), sim.save().expect("saved"))
    };
    assert!(run(1, 2000) == run(3, 11));
}

#[test]
fn homeostasis_and_patterns_on_a_gpu_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let model = shortened([4, 3, 3], &[]);
    let first = events(&model, &Device::Cpu { threads: 1 }, 4000);
    for batch in [4000, 7] {
        assert!(events(&model, &Device::Cuda(gpu.clone()), batch) == first, "batches of {batch}");
    }
    let model = shortened([4, 3, 3], SCALINGS[1]);
    let run = |device: Device, batch: u32| {
        let mut sim = build(&model, &device, 5);
        (super::digest_of(&mut *sim, 2000, batch), sim.save().expect("saved"))
    };
    assert!(run(Device::Cpu { threads: 2 }, 2000) == run(Device::Cuda(gpu.clone()), 300));
}

/// A saved state holds thresholds, counts and the readout; a return to step 0 repeats the run.
#[test]
fn saved_networks_with_patterns_continue() {
    let model = shortened([4, 3, 3], &[]);
    let device = Device::Cpu { threads: 2 };
    let end = |sim: &mut dyn Simulation, steps: u32| (super::digest_of(sim, steps, 97), sim.save().expect("saved"));
    let whole = end(&mut *build(&model, &device, 5), 10 * EACH);
    let mut sim = build(&model, &device, 5);
    let state = end(&mut *sim, 8 * EACH + 210).1;
    let mut other = build(&model, &Device::Cpu { threads: 1 }, 5);
    other.load(&state).expect("loaded");
    assert!(end(&mut *other, 2 * EACH - 210) == whole);
    sim.rewind().expect("rewound");
    assert!(end(&mut *sim, 10 * EACH) == whole, "after a return to step 0");
    let list = |name: &str| state.read_list::<u32>(name).expect("a list");
    assert!(list("readout.counts").len() == 64 && list("readout.labelled").iter().sum::<u32>() == 3);
    let rises: Vec<f64> = state.read_list("homeostasis.thresholds").expect("thresholds");
    assert!(rises.len() == 64 && rises.iter().any(|rise| *rise > 0.0));
}

/// After a scaling, the weights of every neuron have the target sum.
#[test]
fn weights_of_a_neuron_are_scaled_to_their_target_sum() {
    let mut sim = build(&shortened([4, 3, 3], &[]), &Device::Cpu { threads: 1 }, 1);
    super::digest_of(&mut *sim, EACH + 1, 401);
    let weights: Vec<f32> = sim.save().expect("saved").read_list("plasticity.0.weights").expect("weights");
    for neuron in 0..64 {
        let sum: f64 = weights.iter().skip(neuron).step_by(64).map(|w| f64::from(*w)).sum();
        // A step after the scaling may have changed single weights.
        assert!((sum / 300.0 - 1.0).abs() < 0.01, "neuron {neuron}: {sum}");
    }
}

/// Neurons above the target rate lose weight, those below gain.
#[test]
fn weights_are_scaled_towards_a_target_rate() {
    let edits = [SCALINGS[1], &["projections.0.scaling.rate=1000", "projections.0.scaling.beta=0.001"]].concat();
    let sum = |edits: &[&str]| {
        let mut sim = build(&shortened([4, 3, 3], edits), &Device::Cpu { threads: 1 }, 1);
        super::digest_of(&mut *sim, 281, 281);
        let weights: Vec<f32> = sim.save().expect("saved").read_list("plasticity.0.weights").expect("weights");
        weights.iter().map(|w| f64::from(*w)).sum::<f64>()
    };
    let rising = sum(&edits);
    let falling = sum(&[SCALINGS[1], &["projections.0.scaling.rate=0"]].concat());
    let constant = sum(&[SCALINGS[1], &["projections.0.scaling.beta=0"]].concat());
    assert!(rising > 1.05 * constant && falling < constant, "{rising} {constant} {falling}");
}

/// Images of a file take the place of the drawn digits.
#[test]
fn images_of_a_file_are_presented() {
    let folder = TempFolder::new("digits");
    let path = folder.join("images.csv");
    let row = |i: usize| {
        let pixels = (0..144).map(|p| if p % 4 == i % 4 { ",255" } else { ",0" }).collect::<String>();
        format!("{}{pixels}\n", ["a", "b", "c", "d"][i % 4])
    };
    let header = (0..144).map(|p| format!(",p{p}")).collect::<String>();
    std::fs::write(&path, format!("label{header}\n{}", (0..60).map(row).collect::<String>())).expect("written");
    let file = format!("external_inputs.0.source.images.path={}", path.display());
    let numbers = [80, 20, 20];
    let mut sim = build(&shortened(numbers, &["external_inputs.0.source.images=File", &file]), &cpu(), 1);
    sim.tap(&[Tap::of(ACCURACY)]).expect("tapped");
    sim.advance(120 * EACH, &mut Pass::default()).expect("it runs");
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("sampled");
    let Some(Reading::Series(series)) = frame.reading(ACCURACY) else { panic!("a series") };
    assert!(series.values.last().is_some_and(|accuracy| *accuracy >= 0.8), "{:?}", series.values);
}
