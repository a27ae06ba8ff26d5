//! What every kind promises, checked on every backend that is present. A new kind adds one line, and a [`Case`]: a small
//! model with much going on.

mod cases;
mod memory;
#[cfg(target_os = "linux")]
mod priorities;
mod scheduled;
mod timings;
mod trials;

use crate::device::gpu;
use cases::*;
use neuropil::{
    gpu::Pass,
    kinds::{Model, Prepared},
    params::{Value, path},
    sim::{
        Action, BuildContext, Device, Effect, Frame, Progress, Shape, SimError, Simulation, Snapshot, Tap,
        snapshot::{ElementType, Section},
    },
};
use neuropil_test_support::alone;

macro_rules! conformance {
    ($name:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn batches_and_threads_change_no_bit() {
                super::batches_and_threads_change_no_bit(&super::$name());
            }

            #[test]
            fn a_rewound_or_restarted_simulation_is_as_new() {
                super::a_rewound_or_restarted_simulation_is_as_new(&super::$name());
            }

            #[test]
            fn saved_states_continue_and_branch() {
                super::saved_states_continue_and_branch(&super::$name());
            }

            #[test]
            fn taps_change_no_bit() {
                super::taps_change_no_bit(&super::$name());
            }

            #[test]
            fn trials_are_runs_of_their_own() {
                super::trials::trials_are_runs_of_their_own(&super::$name());
            }

            #[test]
            fn trials_are_saved_together_and_refuse_what_is_unknown() {
                super::trials::trials_are_saved_together_and_refuse_what_is_unknown(&super::$name());
            }

            #[test]
            fn live_edits_replay() {
                super::live_edits_replay(&super::$name());
            }

            #[test]
            fn interventions_set_parameters() {
                super::scheduled::interventions_set_parameters(&super::$name());
            }

            #[test]
            fn edits_meanwhile_act_on_the_value_afterwards() {
                super::scheduled::edits_meanwhile_act_on_the_value_afterwards(&super::$name());
            }

            #[test]
            fn what_cannot_be_set_is_refused() {
                super::scheduled::what_cannot_be_set_is_refused(&super::$name());
            }

            #[test]
            fn non_finite_states_are_refused_or_reported() {
                super::non_finite_states_are_refused_or_reported(&super::$name());
            }

            #[test]
            fn timing_rows_are_described() {
                super::timings::timing_rows_are_described(&super::$name());
            }

            #[test]
            fn a_cancelled_build_stops() {
                super::a_cancelled_build_stops(&super::$name());
            }

            #[test]
            fn any_allocation_may_fail() {
                if alone(concat!("conformance::", stringify!($name), "::any_allocation_may_fail")) {
                    super::memory::any_allocation_may_fail(&super::$name());
                }
            }

            #[test]
            #[cfg(target_os = "linux")]
            fn computing_threads_have_the_priority_of_the_engine() {
                if alone(concat!(
                    "conformance::",
                    stringify!($name),
                    "::computing_threads_have_the_priority_of_the_engine"
                )) {
                    super::priorities::computing_threads_have_the_priority_of_the_engine(&super::$name());
                }
            }

            #[test]
            fn reported_memory_is_allocated_memory() {
                if alone(concat!("conformance::", stringify!($name), "::reported_memory_is_allocated_memory")) {
                    super::memory::reported_memory_is_allocated_memory(&super::$name());
                }
            }
        }
    };
}

conformance!(lif);
conformance!(lif_f32);
conformance!(leaky);
conformance!(rules);
conformance!(plastic);
conformance!(nuclei_population);
conformance!(transformer);
conformance!(synaptic);
conformance!(evolution);
#[cfg(feature = "demo")]
conformance!(experts);

const SEED: u64 = 3;

fn context(seed: u64) -> BuildContext {
    BuildContext { seed, ..BuildContext::default() }
}

fn prepared(model: &Model) -> Box<dyn Prepared> {
    model.prepare(&context(SEED), &Progress::default()).expect("it is prepared")
}

/// The backends of a model here: the CPU, and a GPU where there is one and the model uses it.
fn backends(case: &Case) -> Vec<Device> {
    let cuda = (!case.model.modules().is_empty()).then(gpu).flatten().map(Device::Cuda);
    [Device::Cpu { threads: 2 }].into_iter().chain(cuda).collect()
}

/// Steps in batches of so many; what was done, and the state.
fn run(sim: &mut dyn Simulation, steps: u32, batch: u32) -> (String, Snapshot) {
    let mut left = steps;
    while left > 0 {
        let mut pass = if left.is_multiple_of(3) { Pass::measuring() } else { Pass::default() };
        sim.advance(batch.min(left), &mut pass).expect("it runs");
        left -= batch.min(left);
    }
    (format!("{:?}", sim.digest(0)), sim.save().expect("it saves"))
}

fn check(got: &(String, Snapshot), want: &(String, Snapshot), what: &str) {
    assert_eq!(got.0, want.0, "{what}");
    let name = |(a, b): (&Section, &Section)| (a != b).then(|| a.name.clone());
    let differing: Vec<String> = got.1.sections.iter().zip(&want.1.sections).filter_map(name).collect();
    assert!(got.1 == want.1, "{what}: the states differ in {differing:?}");
}

fn batches_and_threads_change_no_bit(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let fresh = |device: &Device| prepared.start(SEED, device).expect("it starts");
        let want = run(&mut *fresh(&device), case.steps, case.steps);
        for batch in [1, 7, case.steps / 2 + 1] {
            check(&run(&mut *fresh(&device), case.steps, batch), &want, &format!("batches of {batch}"));
        }
        if matches!(device, Device::Cpu { .. }) {
            for threads in [1, 3, 5] {
                check(
                    &run(&mut *fresh(&Device::Cpu { threads }), case.steps, 13),
                    &want,
                    &format!("{threads} threads"),
                );
            }
        }
    }
}

fn a_rewound_or_restarted_simulation_is_as_new(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let mut sim = prepared.start(SEED, &device).expect("it starts");
        let want = run(&mut *sim, case.steps, 31);
        sim.rewind().expect("it rewinds");
        assert_eq!(sim.clock().step, 0);
        check(&run(&mut *sim, case.steps, 17), &want, "rewound");
        for seed in [SEED + 1, SEED] {
            if sim.restart(seed).expect("it restarts, or says that it cannot") {
                let fresh = run(&mut *prepared.start(seed, &device).expect("it starts"), case.steps, case.steps);
                check(&run(&mut *sim, case.steps, 17), &fresh, &format!("restarted with seed {seed}"));
            }
        }
    }
}

fn edit(sim: &mut dyn Simulation, model: &mut Model, text: &str) {
    let change = path::parse(model.params(), text).expect("an edit");
    assert_eq!(sim.set(&change).expect("it is applied"), Effect::Applied, "{text}");
    assert!(model.params_mut().set(&change), "{text}");
}

/// A saved state continues as the run did, in a simulation that did something else before; and with an edit it becomes
/// what the run becomes with the same edit.
fn saved_states_continue_and_branch(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let fresh = || prepared.start(SEED, &device).expect("it starts");
        for cut in [1, case.steps / 3, case.steps - 1] {
            let mut first = fresh();
            let (_, state) = run(&mut *first, cut, 11);
            assert_eq!(state.read_number::<u64>("step").expect("it names its step"), u64::from(cut));
            let want = run(&mut *first, case.steps - cut, 50);
            let mut second = fresh();
            run(&mut *second, case.steps / 4, 9);
            second.load(&state).expect("it loads");
            assert_eq!(second.clock().step, u64::from(cut));
            assert!(second.save().expect("it saves") == state, "a loaded state saves as the same bytes");
            check(&run(&mut *second, case.steps - cut, 8), &want, &format!("loaded at {cut}"));

            let [mut here, mut branch] = [fresh(), fresh()];
            run(&mut *here, cut, cut);
            branch.load(&state).expect("it loads");
            for sim in [&mut here, &mut branch] {
                edit(&mut **sim, &mut case.model.clone(), case.edits[0]);
            }
            let (here, branch) = (run(&mut *here, case.steps - cut, 30), run(&mut *branch, case.steps - cut, 30));
            check(&branch, &here, &format!("branched at {cut}"));
        }
    }
}

/// All probes, and of series over elements the first three.
fn all_taps(case: &Case) -> Vec<Tap> {
    let unused = case.model.unused_probes();
    let probes = (0..).zip(case.model.probes()).filter(|(id, _)| !unused.contains(id));
    let elements = |shape: Shape| match shape {
        Shape::Series { of } if !of.is_empty() => vec![0, 1, 2],
        _ => vec![],
    };
    probes.map(|(probe, spec)| Tap::elements(probe, elements(spec.shape))).collect()
}

fn taps_change_no_bit(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let (want, _) = run(&mut *prepared.start(SEED, &device).expect("it starts"), case.steps, 10);
        let mut sim = prepared.start(SEED, &device).expect("it starts");
        let taps = all_taps(case);
        for part in 0..4 {
            // On, off, each other one, on.
            let now = taps.iter().enumerate().filter(|(i, _)| part % 3 == 0 || (part == 2 && i % 2 == 0));
            let now: Vec<Tap> = now.map(|(_, tap)| tap.clone()).collect();
            sim.tap(&now).expect("it is tapped");
            for _ in 0..case.steps / 20 {
                sim.advance(5, &mut Pass::default()).expect("it runs");
                let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
                sim.sample(&mut frame).expect("it is sampled");
                for tap in &now {
                    assert!(
                        frame.reading(tap.probe).is_some(),
                        "{} has a reading",
                        case.model.probes()[usize::from(tap.probe)].name
                    );
                }
            }
        }
        let left = u64::from(case.steps) - sim.clock().step;
        assert_eq!(run(&mut *sim, left as u32, 10).0, want);
    }
}

/// The same edits and the same action at the same steps give the same run, however it is cut; and each of them matters.
fn live_edits_replay(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let edited = |device: &Device, batch, n_edits: usize, acts: bool| {
            let mut model = case.model.clone();
            let mut sim = prepared.start(SEED, device).expect("it starts");
            let part = case.steps / (case.edits.len() as u32 + 1);
            for (i, text) in case.edits.iter().enumerate() {
                run(&mut *sim, part, batch);
                if i < n_edits {
                    edit(&mut *sim, &mut model, text);
                }
            }
            if acts {
                let (name, elements, values) = case.action;
                let values = values.iter().map(|x| Value::Real(*x)).collect();
                let action = Action::on(name, elements.to_vec(), values);
                sim.act(&action).expect("it acts");
            }
            run(&mut *sim, part, batch)
        };
        let n = case.edits.len();
        let want = edited(&device, 1000, n, true);
        check(&edited(&device, 1, n, true), &want, "one step at a time");
        assert!(edited(&device, 1000, n, false) != want, "the action changes nothing");
        if matches!(device, Device::Cpu { .. }) {
            check(&edited(&Device::Cpu { threads: 3 }, 13, n, true), &want, "3 threads");
        }
        // Runs of the first 0 to n edits differ in pairs.
        let mut before = edited(&device, 1000, 0, true);
        for (i, text) in case.edits.iter().enumerate() {
            let after = if i + 1 == n { want.clone() } else { edited(&device, 1000, i + 1, true) };
            assert!(after != before, "{text} is no edit");
            before = after;
        }
    }
}

/// Every floating-point number of a state becomes NaN: loading fails and changes nothing, or the run reports it.
fn non_finite_states_are_refused_or_reported(case: &Case) {
    let prepared = prepared(&case.model);
    for device in backends(case) {
        let mut sim = prepared.start(SEED, &device).expect("it starts");
        let (_, state) = run(&mut *sim, case.steps / 2, 50);
        let mut broken = state.clone();
        for section in &mut broken.sections {
            let nan: Vec<u8> = match section.element {
                ElementType::F16 | ElementType::Bf16 => 0x7fff_u16.to_le_bytes().to_vec(),
                ElementType::F32 => f32::NAN.to_le_bytes().to_vec(),
                ElementType::F64 => f64::NAN.to_le_bytes().to_vec(),
                _ => continue,
            };
            let bytes = nan.repeat(section.bytes().len() / nan.len());
            *section = Section::from_bytes(section.name.clone(), section.element, section.shape.clone(), bytes)
                .expect("as long");
        }
        match sim.load(&broken) {
            Err(_) => assert!(sim.save().expect("it saves") == state, "a refused state changes nothing"),
            Ok(()) => {
                let run = (0..20).try_for_each(|_| sim.advance(case.steps / 20, &mut Pass::default()));
                let Err(error) = run else { panic!("nothing was reported") };
                assert!(matches!(error, SimError::Diverged(_)), "{error}");
                sim.rewind().expect("it rewinds");
                sim.advance(case.steps / 4, &mut Pass::default()).expect("it runs again");
            }
        }
    }
}

/// A build stops where it is cancelled, at any of its reports; and is built afterwards.
fn a_cancelled_build_stops(case: &Case) {
    let mut n = 1;
    loop {
        let progress = Progress::cancelled_at(n);
        match case.model.prepare(&context(SEED), &progress) {
            Err(SimError::Cancelled) => assert_eq!(progress.reports(), n, "it went on after it was cancelled"),
            Ok(_) => break assert!(n > 1 && progress.reports() < n, "it was built although it was cancelled"),
            Err(why) => panic!("{why}"),
        }
        n += 1;
    }
}
