//! Trials that are stepped together: each has the readings and the hash of a run of its own.

use super::{SEED, all_taps, backends, cases::Case, edit, prepared};
use neuropil::{
    gpu::Pass,
    kinds::Model,
    params::{Change, path},
    sim::{Action, Device, Frame, Progress, Reading, Simulation, Tap, TapKey, TrialChoice, TrialStatistic},
};

const N: u64 = 3;

/// The model of a trial: the second trial has other parameters.
fn model_of(case: &Case, trial: u64) -> Model {
    let mut model = case.model.clone();
    if trial == 1 {
        let change = path::parse(model.params(), case.edits[0]).expect("an edit");
        assert!(model.params_mut().set(&change));
    }
    model
}

/// Three trials with other seeds, of which the second has other parameters.
fn start(case: &Case, device: &Device) -> Box<dyn Simulation> {
    let changes = [path::parse(case.model.params(), case.edits[0]).expect("an edit")];
    let of = |k: u64| (SEED + k, if k == 1 { &changes[..] } else { &[] as &[Change] });
    let trials: Vec<(u64, &[Change])> = (0..N).map(of).collect();
    prepared(&case.model).start_trials(&trials, device, &Progress::default()).expect("they start")
}

/// Steps in batches and samples after each; edits and acts halfway. Returns the frames.
fn run(sim: &mut dyn Simulation, case: &Case) -> Vec<Frame> {
    let mut frames = vec![];
    let batch = case.steps / 4;
    for part in 0..4 {
        if part == 2 {
            edit(sim, &mut case.model.clone(), case.edits[case.edits.len() - 1]);
            let (name, elements, values) = case.action;
            let values = values.iter().map(|x| neuropil::params::Value::Real(*x)).collect();
            sim.act(&Action::on(name, elements.to_vec(), values)).expect("it acts");
        }
        sim.advance(batch, &mut Pass::default()).expect("it runs");
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame).expect("it is sampled");
        frames.push(frame);
    }
    frames
}

/// Whether readings are equal; NaN equals NaN.
fn equal(a: Option<&Reading>, b: Option<&Reading>) -> bool {
    a == b || format!("{a:?}") == format!("{b:?}")
}

pub fn trials_are_runs_of_their_own(case: &Case) {
    let taps = all_taps(case);
    for device in backends(case) {
        let mut together = start(case, &device);
        assert_eq!(u64::from(together.trials()), N);
        let all = taps.iter().map(|tap| Tap { trial: TrialChoice::All, ..tap.clone() });
        let fields = |tap: &&Tap| case.model.probes()[usize::from(tap.probe)].shape.is_state();
        let mean = |tap: &Tap| Tap { trial: TrialChoice::Statistic(TrialStatistic::Mean), ..tap.clone() };
        let means: Vec<Tap> = taps
            .iter()
            .filter(fields)
            .map(mean)
            .filter(|tap| together.tap(std::slice::from_ref(tap)).is_ok())
            .collect();
        together.tap(&all.chain(means.iter().cloned()).collect::<Vec<_>>()).expect("they are tapped");
        let frames = run(&mut *together, case);
        let mut own = vec![];
        for k in 0..N {
            let mut alone = prepared(&model_of(case, k)).start(SEED + k, &device).expect("it starts");
            alone.tap(&taps).expect("it is tapped");
            let want = run(&mut *alone, case);
            assert_eq!(together.digest(k as u32), alone.digest(0), "trial {k}");
            for (frame, want) in frames.iter().zip(&want) {
                for tap in &taps {
                    let key = TapKey { trial: TrialChoice::One(k as u32), ..tap.key() };
                    let name = case.model.probes()[usize::from(tap.probe)].name;
                    assert!(equal(frame.reading(key), want.reading(tap.key())), "{name} of trial {k}");
                }
            }
            own.push(want);
        }
        for tap in &means {
            for (i, frame) in frames.iter().enumerate() {
                let key = TapKey { trial: TrialChoice::default(), ..tap.key() };
                let trials: Vec<&Reading> = own.iter().filter_map(|frames| frames[i].reading(key.clone())).collect();
                let name = case.model.probes()[usize::from(tap.probe)].name;
                let want = TrialStatistic::Mean.of_readings(&trials);
                assert!(equal(frame.reading(tap.key()), want.as_ref()), "mean of {name}");
            }
        }
        if matches!(device, Device::Cpu { .. }) {
            let mut alone = start(case, &Device::Cpu { threads: 1 });
            run(&mut *alone, case);
            for k in 0..N as u32 {
                assert_eq!(alone.digest(k), together.digest(k), "one thread, trial {k}");
            }
        }
    }
}

pub fn trials_are_saved_together_and_refuse_what_is_unknown(case: &Case) {
    for device in backends(case) {
        let mut first = start(case, &device);
        first.advance(case.steps / 3, &mut Pass::default()).expect("it runs");
        let state = first.save().expect("it saves");
        assert_eq!(state.read_number::<u64>("step").expect("it names its step"), u64::from(case.steps / 3));
        let mut second = start(case, &device);
        second.advance(7, &mut Pass::default()).expect("it runs");
        second.load(&state).expect("it loads");
        assert!(second.save().expect("it saves") == state, "a loaded state saves as the same bytes");
        for sim in [&mut first, &mut second] {
            sim.advance(case.steps / 3, &mut Pass::default()).expect("it runs");
        }
        let digests = |sim: &dyn Simulation| (0..N as u32).map(|k| sim.digest(k)).collect::<Vec<_>>();
        assert_eq!(digests(&*first), digests(&*second));
        assert!(first.digest(0) != first.digest(2), "seeds matter");

        let before = second.save().expect("it saves");
        let missing = Tap { trial: TrialChoice::One(N as u32), ..all_taps(case)[0].clone() };
        let why = second.tap(&[missing]).expect_err("there are three").to_string();
        assert!(why.contains("trial 3") && why.contains("last one is 2"), "{why}");
        let mut fewer = state.clone();
        fewer.sections.retain(|section| !section.name.starts_with("2."));
        assert!(second.load(&fewer).is_err(), "a trial is missing");
        assert!(
            second
                .load(&prepared(&case.model).start(SEED, &device).expect("it starts").save().expect("it saves"))
                .is_err()
        );
        assert!(second.save().expect("it saves") == before, "refused states change nothing");
        let mut pass = Pass::default();
        pass.stop.raise();
        second.advance(3, &mut pass).expect("it returns");
        assert!(second.save().expect("it saves") == before, "a stop is between whole steps of all trials");
        second.rewind().expect("it rewinds");
        second.advance(case.steps / 3 * 2, &mut Pass::default()).expect("it runs");
        assert_eq!(digests(&*first), digests(&*second), "rewound");
    }
    let none = prepared(&case.model).start_trials(&[], &Device::Cpu { threads: 1 }, &Progress::default());
    assert!(none.is_err());
}
