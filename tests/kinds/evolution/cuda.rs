//! The GPU has the bits of the CPU: digests, saved states, held-out losses.

use crate::{device::gpu, settings};
use neuropil::{
    gpu::Pass,
    kinds::{Model, evolution::probes},
    params::path,
    sim::{BuildContext, Device, Effect, Frame, Progress, Reading, Snapshot, Tap},
};

const SMALL: &[&str] = &[
    "model.layers=2",
    "model.width=16",
    "model.context=24",
    "strategy.population=64",
    "strategy.generations=20",
    "data.grammar_bytes=20000",
    "data.tokenizer=Chars",
    "measure.every=1",
    "measure.held_out_every=4",
];

/// Sizes that do not divide each other, each kind of noise, of attention, of shaping and of update.
const CASES: &[&[&str]] = &[
    &[],
    &["model.width=20", "model.hidden_factor=3", "strategy.noise=LowRank(rank: 3)", "strategy.sequences=3"],
    &[
        "strategy.noise=FullRank(generator: SumOfFour)",
        "strategy.texts=Shared",
        "strategy.sequences=2",
        "model.layers=1",
    ],
    &["strategy.noise=FullRank(generator: Popcount)", "strategy.sigma_shift=2", "strategy.shaping=ZScore"],
    &["strategy.noise=FullRank(generator: Ternary)", "model.scales=SeedFaithful", "strategy.shaping=Sign"],
    &["model.attention=DeltaNet", "model.context=70", "strategy.update=Adam", "strategy.growing=true"],
    &["model.attention=Efla(form: State32)"],
    &["strategy.update=Momentum"],
    &["strategy.byte_residual=true"],
    &["strategy.noise=Activations"],
    &[
        "strategy.noise=Activations",
        "strategy.sequences=3",
        "model.width=22",
        "model.hidden_factor=3",
        "model.layers=1",
    ],
    &[
        "strategy.noise=Activations",
        "model.scales=SeedFaithful",
        "model.attention=DeltaNet(form: State32)",
        "strategy.texts=Shared",
    ],
    &[
        "model.attention=Efla(form: State16)",
        "model.scales=SeedFaithful(residual: 16)",
        "strategy.trained_positions=false",
    ],
    &["model.attention=Off", "strategy.threshold=0.1", "strategy.sigma_course=Linear", "strategy.final_sigma_shift=5"],
    &["model.width=130", "model.context=129", "strategy.population=8", "data.tokenizer=Bytes"],
];

fn run(model: &Model, on: &Device) -> (String, Snapshot, Vec<f32>) {
    let context = BuildContext { seed: 5, ..BuildContext::default() };
    let mut sim = model.build(&context, on, &Progress::default()).expect("it is built");
    sim.tap(&[Tap::of(probes::HELD_OUT)]).expect("it is tapped");
    sim.advance(8, &mut Pass::default()).expect("it runs");
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("it is sampled");
    let Some(Reading::Series(held_out)) = frame.reading(probes::HELD_OUT) else { panic!("a series") };
    (sim.digest(0).hash, sim.save().expect("a state"), held_out.values.clone())
}

#[test]
fn cuda_has_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut failed = vec![];
    for set in CASES {
        let model = settings::model("evolution", &[SMALL, set].concat());
        let [cpu, cuda] = [Device::Cpu { threads: 2 }, Device::Cuda(gpu.clone())].map(|on| run(&model, &on));
        let sections = cpu.1.sections.iter().zip(&cuda.1.sections).filter(|(want, got)| want != got);
        let different: Vec<&str> = sections.map(|(want, _)| want.name.as_str()).collect();
        if !different.is_empty() || (&cpu.0, &cpu.2) != (&cuda.0, &cuda.2) {
            failed.push(format!("{set:?}: {different:?}, held-out losses {:?} {:?}", cpu.2, cuda.2));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn cuda_continues_what_the_cpu_began() {
    let Some(gpu) = gpu() else { return };
    let model = settings::model("evolution", SMALL);
    let context = BuildContext { seed: 5, ..BuildContext::default() };
    let start = |on: &Device| model.build(&context, on, &Progress::default()).expect("it is built");
    let mut whole = start(&Device::Cpu { threads: 2 });
    whole.advance(10, &mut Pass::default()).expect("it runs");
    let mut first = start(&Device::Cpu { threads: 2 });
    first.advance(4, &mut Pass::default()).expect("it runs");
    let mut second = start(&Device::Cuda(gpu));
    second.load(&first.save().expect("a state")).expect("it is loaded");
    second.advance(6, &mut Pass::default()).expect("it runs");
    assert_eq!(second.digest(0), whole.digest(0));
}

/// Launches are captured from the second run on: edits must change them, or capture them again.
#[test]
fn edits_of_captured_generations_have_the_results_of_the_cpu() {
    const EDITS: [&str; 7] = [
        "strategy.learning_rate=0.3",
        "strategy.noise=LowRank(rank: 2)",
        "strategy.clip=1",
        "strategy.sigma_shift=2",
        "strategy.sequences=2",
        "strategy.noise=FullRank(generator: Popcount)",
        "strategy.noise=Activations",
    ];
    let Some(gpu) = gpu() else { return };
    let model = settings::model("evolution", SMALL);
    let context = BuildContext { seed: 7, ..BuildContext::default() };
    let [cpu, cuda] = [Device::Cpu { threads: 2 }, Device::Cuda(gpu)].map(|on| {
        let mut sim = model.build(&context, &on, &Progress::default()).expect("it is built");
        sim.advance(3, &mut Pass::default()).expect("it runs");
        EDITS.map(|edit| {
            let change = path::parse(sim.params().expect("parameters"), edit).expect("a parameter");
            assert_eq!(sim.set(&change).expect("it is set"), Effect::Applied, "{edit}");
            sim.advance(3, &mut Pass::default()).expect("it runs");
            sim.digest(0).hash
        })
    });
    let first = EDITS.iter().zip(cpu.iter().zip(&cuda)).find(|(_, (cpu, cuda))| cpu != cuda);
    assert_eq!(first, None);
}
