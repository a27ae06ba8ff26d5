//! The event-driven step against the naive reference, states that are refused, edits and probes. What every kind promises is in
//! [`conformance`](crate::conformance).

use crate::damaged;
use crate::spiking::{digest_of, non_finite, small_network as network};

use network::{N, busy, intervention, setup};
use neuropil::{
    gpu::Pass,
    kinds::spiking::{
        Effect, Intervention, Lif, Params,
        constants::Real,
        cpu::{CpuSim, reference::Reference},
        probes,
        setup::Setup,
        stimuli::StimulusPlan,
    },
    params::{Change, ParamId, Params as _, Value, path},
    sim::{Action, BuildContext, Frame, Reading, Simulation, Tap},
};
use std::sync::Arc;

fn cpu<T: Real>(params: &Params, setup: &Arc<Setup>, threads: usize) -> CpuSim<T> {
    CpuSim::new(params, &BuildContext { seed: 3, ..BuildContext::default() }, setup.clone(), threads)
        .expect("it starts")
}

/// The event-driven backend is the naive reference, bit for bit, in every state and every spike.
fn equals_reference<T: Real>(params: &Params, seed: u64, threads: usize, batch: u32) {
    let setup = setup(seed);
    let mut sim = cpu::<T>(params, &setup, threads);
    let plan = StimulusPlan::new(params, &setup, &BuildContext { seed: 3, ..BuildContext::default() }).expect("a plan");
    let mut reference = Reference::<T>::new(&setup.connectivity, &plan, params.lif.derive(), 1024);
    sim.tap(&[Tap::of(probes::SPIKES)]).expect("tapped");
    let (mut step, mut total) = (0, 0);
    while step < 4000 {
        sim.advance(batch, &mut Pass::default()).expect("it runs");
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("it reads");
        let Some(Reading::Spikes(got)) = frame.reading(probes::SPIKES) else { panic!("spikes") };
        let mut want = vec![];
        for _ in 0..batch {
            want.extend(reference.step().iter().map(|lane| (step, *lane)));
            step += 1;
        }
        let got: Vec<(u32, u32)> = got.iter().map(|s| (s.step, s.lane)).collect();
        assert_eq!(got, want, "before step {step}");
        assert_eq!(sim.states(), reference.states(), "after step {step}");
        total += got.len();
    }
    assert!(total > 50, "only {total} spikes");
}

#[test]
fn bit_equal_to_the_naive_reference() {
    for (seed, threads, batch) in [(1, 1, 1), (2, 2, 7), (3, 3, 1000), (4, 1, 18)] {
        equals_reference::<f64>(&busy(), seed, threads, batch);
        equals_reference::<f32>(&busy(), seed, threads, batch);
    }
}

#[test]
fn bit_equal_for_other_neurons_too() {
    let lifs = [
        Lif { tau_syn: 20.0, ..Lif::default() },
        Lif { tau_m: 4.0, tau_syn: 30.0, t_delay: 0.1, w_syn: 0.1, ..Lif::default() },
        Lif { v_reset: -60.0, t_refractory: 0.0, t_delay: 9.0, ..Lif::default() },
        Lif { v_reset: -46.0, v_threshold: -47.0, t_refractory: 1.0, dt: 0.25, ..Lif::default() },
        Lif { v_threshold: -53.0, t_refractory: 5.0, w_syn: -0.2, ..Lif::default() },
    ];
    for (seed, lif) in lifs.into_iter().enumerate() {
        let params = Params { lif, ..busy() };
        equals_reference::<f64>(&params, seed as u64, 2, 40);
        equals_reference::<f32>(&params, seed as u64, 1, 40);
    }
}

/// The closed form is the iterated propagator, up to rounding, as long as no threshold decision flips.
#[test]
fn close_to_plain_iteration() {
    let (setup, params) = (setup(5), busy());
    let plan =
        StimulusPlan::new(&params, &setup, &BuildContext { seed: 3, ..BuildContext::default() }).expect("a plan");
    let mut closed = Reference::<f64>::new(&setup.connectivity, &plan, params.lif.derive(), 1024);
    let mut iterated = Reference::<f64>::new(&setup.connectivity, &plan, params.lif.derive(), 1);
    for _ in 0..3000 {
        assert_eq!(closed.step(), iterated.step());
        for ((u, g), (v, h)) in closed.states().into_iter().zip(iterated.states()) {
            assert!((u - v).abs() < 1e-9 && (g - h).abs() < 1e-9, "{u} {v} {g} {h}");
        }
    }
}

/// As many threads as asked for work at once when there is enough to do, and change no bit.
#[test]
#[cfg(target_os = "linux")]
fn threads_at_work() {
    if !neuropil_test_support::alone("spiking::steps::threads_at_work") {
        return;
    }
    let (n, in_degree) = (20_000, 40);
    let net = neuropil::data::generate::balanced(n, in_degree, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let setup = Arc::new(Setup::new(net).expect("a network"));
    let mut params = Params::default();
    let noise = intervention(Effect::Noise, "all", 0.0, 0.0);
    params.interventions.push(Intervention { rate_hz: 400.0, weight_mv: 1.5, ..noise });
    let runs = [1, 2, 3].map(|threads| {
        let mut sim = cpu::<f64>(&params, &setup, threads);
        super::thread_count::most_during(|| digest_of(&mut sim, 1500, 500))
    });
    assert!(runs.iter().all(|(digest, _)| *digest == runs[0].0), "{runs:?}");
    // A thread that has ended may still be listed beside its successor.
    let [none, one, two] = runs.map(|(_, helpers)| helpers);
    assert!(none == 0 && one >= 1 && two >= 2, "{none} {one} {two}");
}

#[test]
fn broken_states_are_refused() {
    let setup = setup(7);
    let mut sim = cpu::<f64>(&busy(), &setup, 2);
    digest_of(&mut sim, 500, 500);
    let state = sim.save().expect("saves");
    for damaged in damaged::incomplete(&state) {
        assert!(sim.load(&damaged).is_err(), "{damaged:?}");
    }
    for bent in damaged::bent(&state, 13) {
        sim.load(&bent).ok(); // whatever it says, it must not panic, now or later
    }
    sim.load(&state).expect("the whole state loads");
    let mut other = cpu::<f32>(&busy(), &setup, 1);
    other.load(&state).expect("another precision is rounded");
    let apart = sim.states().into_iter().zip(other.states()).map(|(a, b)| (a.0 - b.0).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-4);
}

/// All stimuli are removed at once while it runs, and a state is loaded into itself.
#[test]
fn an_emptied_list_of_stimuli_replays() {
    let setup = setup(8);
    let run = |threads, batch| {
        let mut sim = cpu::<f64>(&busy(), &setup, threads);
        let with = digest_of(&mut sim, 311, batch);
        let rows = Change { id: ParamId::list(4), value: Value::Rows(vec![]) };
        assert_eq!(sim.set(&rows).expect("no interventions"), neuropil::sim::Effect::Applied);
        let state = sim.save().expect("saves");
        sim.load(&state).expect("loads");
        with + &digest_of(&mut sim, 500, batch)
    };
    let want = run(1, 1000);
    assert_eq!((run(2, 13), run(1, 1)), (want.clone(), want));
}

#[test]
fn invalid_and_incomplete_edits_are_refused_whole() {
    let setup = setup(9);
    let mut sim = cpu::<f64>(&busy(), &setup, 1);
    let params = busy();
    for (edit, rebuild) in [("lif.dt=0.2", true), ("lif.dt=0.1", false), ("network.n_neurons=500", true)] {
        let change = path::parse(&params, edit).expect("an edit");
        let effect = sim.set(&change).expect("an answer");
        assert_eq!(effect == neuropil::sim::Effect::NeedsRebuild, rebuild, "{edit}");
    }
    for (edit, want) in [
        (
            "interventions.0.target=clas = x",
            "stimulus 1 (Poisson input), target: `clas = x`, at `clas`: there is no column `clas`",
        ),
        ("interventions.0.target=", "stimulus 1 (Poisson input), target: it is empty"),
        ("interventions.0.target=idx = 500", "indices run from 0 to 119"),
        ("stimulus.kicks=nowhere.csv", "nowhere.csv"),
        ("measure.group_by=glass", "there is no column `glass`; there is ei"),
    ] {
        let change = path::parse(&params, edit).expect("an edit");
        let before = sim.save().expect("saves");
        let error = sim.set(&change).expect_err(edit).to_string();
        assert!(error.contains(want), "{edit}: {error}");
        assert!(!error.contains("something is missing"), "{error}");
        assert_eq!(sim.save().expect("saves"), before, "{edit} is refused whole");
    }
    // A disabled stimulus may be incomplete.
    for edit in ["interventions.0.enabled=false", "interventions.0.target="] {
        let change = path::parse(&params, edit).expect("an edit");
        assert_eq!(sim.set(&change).expect(edit), neuropil::sim::Effect::Applied);
    }
    let enable = path::parse(&params, "interventions.0.enabled=true").expect("an edit");
    assert!(sim.set(&enable).expect_err("incomplete").to_string().contains("target: it is empty"));
    assert!(params.groups().iter().any(|g| g.name == "interventions"));
    assert!(sim.act(&Action::on("kick", vec![N], vec![Value::Real(1.0)])).is_err());
    assert!(sim.act(&Action::on("kcik", vec![0], vec![Value::Real(1.0)])).is_err());
    digest_of(&mut sim, 100, 100);
}

/// What the probes say agrees with the spikes and the states, however the run is cut.
#[test]
fn probes_agree_with_the_run() {
    let setup = setup(10);
    let mut params = busy();
    params.measure.group_by = "ei".to_owned();
    let taps: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| Tap::elements(probe, if matches!(probe, probes::V | probes::G) { vec![90, 4] } else { vec![] }))
        .collect();
    let run = |threads, batch: u32| {
        let mut sim = cpu::<f64>(&params, &setup, threads);
        sim.tap(&taps).expect("all tapped");
        let mut all = Frame::default();
        for at in (0..2000).step_by(batch as usize) {
            sim.advance(batch.min(2000 - at), &mut Pass::default()).expect("runs");
            let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
            sim.sample(&mut frame).expect("reads");
            all.absorb(frame);
        }
        (all, sim)
    };
    let (all, sim) = run(1, 2000);
    for (threads, batch) in [(2, 13), (3, 500), (1, 1)] {
        assert_eq!(run(threads, batch).0.readings, all.readings, "{threads} threads, batches of {batch}");
    }
    let series = |probe| match all.reading(probe) {
        Some(Reading::Series(s)) => s.clone(),
        other => panic!("a series, not {other:?}"),
    };
    let field = |probe| match all.reading(probe) {
        Some(Reading::Field(f)) => f.clone(),
        other => panic!("a field, not {other:?}"),
    };
    let Some(Reading::Spikes(spikes)) = all.reading(probes::SPIKES) else { panic!("spikes") };
    let rate = series(probes::RATE);
    assert_eq!((rate.steps.len(), rate.steps[0], rate.lanes), (40, 50, 1));
    let counted: f64 = rate.values.iter().map(|r| f64::from(*r) * f64::from(N) * 5e-3).sum();
    assert!((counted - spikes.len() as f64).abs() < 1e-2 && spikes.len() > 50, "{counted} {}", spikes.len());
    let classes = series(probes::CLASS_RATES);
    assert_eq!(sim.lanes(probes::CLASS_RATES), ["unknown", "excitatory", "inhibitory"]);
    assert_eq!((classes.lanes, classes.values.len()), (3, 120));
    let v = series(probes::V);
    assert_eq!((v.elements.as_slice(), v.lanes, v.steps.len(), v.steps[0]), (&[90, 4][..], 2, 400, 5));
    assert_eq!(*v.values.last().expect("values"), field(probes::V_FIELD)[4]);
    assert_eq!(f64::from(*series(probes::G).values.last().expect("values")) as f32, sim.states()[4].1 as f32);
    let last = spikes.iter().rev().find(|s| s.lane == spikes[0].lane).expect("it fired");
    assert_eq!(field(probes::LAST_SPIKE)[last.lane as usize], (f64::from(1999 - last.step) * 0.1) as f32);
    let running = field(probes::RATE_FIELD);
    assert!(running.iter().sum::<f32>() > 0.0 && running.iter().all(|r| r.is_finite()));
    // Who begins to look late sees what was there before.
    let mut late = cpu::<f64>(&params, &setup, 1);
    late.advance(2000, &mut Pass::default()).expect("runs");
    late.tap(&[Tap::of(probes::RATE_FIELD)]).expect("tapped");
    let mut frame = Frame::default();
    late.sample(&mut frame).expect("reads");
    assert_eq!(frame.reading(probes::RATE_FIELD), Some(&Reading::Field(running)));
    let events: f64 = series(probes::SYNAPTIC_EVENTS).values.iter().map(|e| f64::from(*e) * 5e-3).sum();
    assert!((events - sim.digest(0).totals[1].1 as f64).abs() < 0.5, "{events}");
    assert!(series(probes::ACTIVE).values.iter().all(|a| *a <= 3.0 * N as f32));
    assert!(sim.memory().by_owner().iter().all(|(_, bytes)| *bytes > 0));
}

/// A NaN current into two neurons: the error names the first of them and the step, for any batches and threads.
fn becomes_non_finite<T: Real>(threads: usize, batch: u32) {
    let nan = Intervention { current_mv: f64::NAN, ..intervention(Effect::Current, "idx = 91, 17", 20.0, 0.0) };
    let mut params = busy();
    params.interventions.push(nan);
    let mut sim = cpu::<T>(&params, &setup(1), threads);
    non_finite::is_reported(&mut sim, batch);
}

#[test]
fn non_finite_states_are_reported_with_neuron_and_step() {
    for (threads, batch) in [(1, 1), (2, 7), (3, 400)] {
        becomes_non_finite::<f64>(threads, batch);
        becomes_non_finite::<f32>(threads, batch);
    }
    let too_much = Lif { w_syn: 1e39, ..Lif::default() };
    let mut sim = cpu::<f32>(&Params { lif: too_much, ..busy() }, &setup(1), 2);
    let said = sim.advance(1000, &mut Pass::default()).expect_err("synapses without bounds").to_string();
    assert!(
        said.contains("became NaN or infinite at step ") && said.contains("lower the weights of synapses"),
        "{said}"
    );
}
