//! Leaky units: the fast backend equals the definition, and neither batches, threads, saving, loading nor rewinding
//! change a bit.

use crate::damaged;
use crate::spiking::{digest_of, non_finite, small_network as net};

use net::{N, setup};
use neuropil::{
    gpu::Pass,
    kinds::spiking::{
        Effect, Intervention, NeuronModel, Params, Sign, SpikingKind,
        cpu::leaky::{LeakySim, reference::Reference},
        leaky::mean_count,
        probes,
        setup::Setup,
        stimuli::StimulusPlan,
    },
    params::{Change, Params as _, Value, path},
    sim::{
        Action, BuildContext, Device, Effect as Taken, Frame, Kind, Progress, Reading, Simulation, StartRequest, Tap,
    },
};
use std::sync::Arc;

const SEED: u64 = 3;

fn scene() -> BuildContext {
    BuildContext { seed: SEED, ..BuildContext::default() }
}

fn intervention(effect: Effect, target: &str, start: f64, stop: f64) -> Intervention {
    Intervention { effect, target: target.into(), start, stop, ..Intervention::default() }
}

fn quiet() -> Params {
    let mut params = Params::default();
    params.network.model = NeuronModel::NoisyLeaky;
    params
}

/// Everything at once: trains, noise, currents, silencing, with odd start and stop times.
pub fn busy() -> Params {
    let mut params = quiet();
    params.interventions = vec![
        Intervention { rate_hz: 120.0, ..intervention(Effect::Poisson, "random 9 of all", 0.0, 613.0) },
        Intervention { rate_hz: 200.0, weight_mv: 0.3, ..intervention(Effect::Noise, "all", 0.0, 0.0) },
        Intervention { rate_hz: 90.0, weight_mv: -0.7, ..intervention(Effect::Noise, "idx = 10..90", 77.0, 1500.0) },
        Intervention { current_mv: 0.2, ..intervention(Effect::Current, "idx = 3, 5, 77", 200.0, 900.0) },
        Intervention { current_mv: -0.1, ..intervention(Effect::Current, "idx = 5..20", 0.0, 333.0) },
        intervention(Effect::SilenceOutgoing, "idx = 1, 2, 40", 400.0, 800.0),
        intervention(Effect::SilenceBoth, "idx = 60..63, 118", 251.0, 700.0),
        Intervention { factor: 1.7, ..intervention(Effect::ScaleWeights, "idx = 0..30", 100.0, 1200.0) },
        Intervention { sign: Sign::Inhibitory, ..intervention(Effect::SignOverride, "idx = 20..35", 500.0, 0.0) },
    ];
    params
}

fn leaky(params: &Params, setup: &Arc<Setup>, threads: usize) -> LeakySim {
    LeakySim::new(params, &scene(), setup.clone(), threads).expect("it starts")
}

fn bits(v: &[f32]) -> Vec<u32> {
    v.iter().map(|v| v.to_bits()).collect()
}

/// Bit for bit, in every state and every spike.
fn equals_reference(params: &Params, seed: u64, threads: usize, batch: u32) {
    let setup = setup(seed);
    let mut sim = leaky(params, &setup, threads);
    let plan = StimulusPlan::new(params, &setup, &scene()).expect("a plan");
    let constants = params.leaky.derive(mean_count(&setup.connectivity));
    let mut reference = Reference::new(&setup.connectivity, &plan, constants, SEED);
    sim.tap(&[Tap::of(probes::SPIKES)]).expect("tapped");
    assert_eq!(bits(&sim.states()), bits(reference.states()), "before step 0");
    let (mut step, mut total) = (0, 0);
    while step < 2000 {
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
        assert_eq!(bits(&sim.states()), bits(reference.states()), "after step {step}");
        total += got.len();
    }
    assert!(total > 500, "only {total} spikes");
}

#[test]
fn bit_equal_to_the_definition() {
    for (seed, threads, batch) in [(1, 1, 1), (2, 2, 7), (3, 3, 1000), (4, 1, 18)] {
        equals_reference(&busy(), seed, threads, batch);
        equals_reference(&quiet(), seed, threads, batch);
    }
}

#[test]
fn bit_equal_for_other_units_too() {
    for (decay, noise_amplitude, mean_weight) in [(0.5, 1.3, 0.0), (1.0, 0.2, 0.1), (0.0, 1.1, 0.3), (0.97, 0.0, 0.05)]
    {
        let mut params = busy();
        (params.leaky.decay, params.leaky.noise_amplitude, params.leaky.mean_weight) =
            (decay, noise_amplitude, mean_weight);
        equals_reference(&params, 5, 2, 40);
    }
}

/// The first steps of one unit, computed from the published form: decay 0.9, threshold 1 inclusive.
#[test]
fn first_steps_of_a_unit_match_the_published_form() {
    let mut params = quiet();
    (params.leaky.decay, params.leaky.noise_amplitude, params.leaky.mean_weight) = (0.0, 0.0, 0.0);
    params.interventions = vec![Intervention { current_mv: 1.0, ..intervention(Effect::Current, "idx = 7", 3.0, 0.0) }];
    let mut sim = leaky(&params, &setup(1), 1);
    sim.tap(&[Tap::of(probes::SPIKES)]).expect("tapped");
    let start = sim.states();
    assert!(start.iter().all(|v| (0.0..0.9).contains(v)), "{start:?}");
    let mean = start.iter().sum::<f32>() / start.len() as f32;
    assert!((mean - 0.45).abs() < 0.08, "uniform starts have a mean of 0.45, not {mean}");
    sim.advance(5, &mut Pass::default()).expect("runs");
    let mut frame = Frame::default();
    sim.sample(&mut frame).expect("reads");
    let Some(Reading::Spikes(spikes)) = frame.reading(probes::SPIKES) else { panic!("spikes") };
    let spikes: Vec<(u32, u32)> = spikes.iter().map(|s| (s.step, s.lane)).collect();
    assert_eq!(spikes, [(3, 7), (4, 7)], "exactly the threshold is a spike, and nothing is refractory");
}

/// As many threads as asked for work at once when there is enough to do, and change no bit.
#[test]
#[cfg(target_os = "linux")]
fn threads_at_work() {
    if !neuropil_test_support::alone("spiking::leaky::threads_at_work") {
        return;
    }
    let net = neuropil::data::generate::balanced(20_000, 60, 0.8, 6, 12, 1, &|_, _| true).expect("generates");
    let setup = Arc::new(Setup::new(net).expect("a network"));
    let runs = [1, 2, 3].map(|threads| {
        let mut sim = leaky(&quiet(), &setup, threads);
        super::thread_count::most_during(|| digest_of(&mut sim, 400, 150))
    });
    assert!(runs.iter().all(|(digest, _)| *digest == runs[0].0), "{runs:?}");
    // A thread that has ended may still be listed beside its successor.
    let [none, one, two] = runs.map(|(_, helpers)| helpers);
    assert!(none == 0 && one >= 1 && two >= 2, "{none} {one} {two}");
}

#[test]
fn broken_states_are_refused() {
    let setup = setup(7);
    let mut sim = leaky(&busy(), &setup, 2);
    digest_of(&mut sim, 500, 500);
    let state = sim.save().expect("saves");
    for damaged in damaged::incomplete(&state) {
        assert!(sim.load(&damaged).is_err(), "{damaged:?}");
    }
    for bent in damaged::bent(&state, 13) {
        if sim.load(&bent).is_ok() {
            digest_of(&mut sim, 3, 3); // whatever it says, it must not panic, now or later
        }
    }
    sim.load(&state).expect("the whole state loads");
    let mut params = busy();
    params.leaky.dt = 0.5;
    let error = leaky(&params, &setup, 1).load(&state).expect_err("another step").to_string();
    assert!(error.contains("another time step"), "{error}");
    let mut lif = SpikingKind::start(StartRequest::new(
        &Params::default(),
        &scene(),
        setup.clone(),
        &Device::Cpu { threads: 1 },
        &Progress::default(),
    ))
    .expect("starts");
    assert!(lif.load(&state).is_err() && sim.load(&lif.save().expect("saves")).is_err(), "states of other models");
}

#[test]
fn rebuild_parameters_and_invalid_values_are_refused_live() {
    let mut sim = leaky(&busy(), &setup(9), 1);
    let params = busy();
    for (edit, rebuild) in [("leaky.dt=0.5", true), ("leaky.dt=1", false), ("network.model=ExponentialLif", true)] {
        let change = path::parse(&params, edit).expect("an edit");
        assert_eq!(sim.set(&change).expect("an answer") == Taken::NeedsRebuild, rebuild, "{edit}");
    }
    let bad = Change { value: Value::Real(1.5), ..path::parse(&params, "leaky.decay=1").expect("an edit") };
    assert!(sim.set(&bad).expect_err("growth").to_string().contains("leaky.decay takes 0 to 1"));
    assert!(sim.act(&Action::on("kick", vec![N], vec![Value::Real(1.0)])).is_err());
}

#[test]
fn only_the_chosen_model_is_shown() {
    for (params, shown) in [(Params::default(), "lif"), (quiet(), "leaky")] {
        for id in params.ids() {
            let group = params.groups()[usize::from(id.group)].name;
            if ["lif", "leaky"].contains(&group) {
                assert_eq!(params.is_shown(id), group == shown, "{}", params.path(id));
            }
        }
    }
    assert_eq!(
        [Params::default(), quiet()].map(|p| SpikingKind::time_base(&p)),
        [1e-4, 1e-3].map(neuropil::sim::TimeBase::seconds)
    );
}

/// Probes agree with the spikes and the states, for any batches.
#[test]
fn probes_agree_with_the_run() {
    let setup = setup(10);
    let mut params = busy();
    params.measure.group_by = "ei".to_owned();
    let taps: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| Tap::elements(probe, if matches!(probe, probes::V | probes::G) { vec![90, 4] } else { vec![] }))
        .collect();
    let run = |threads, batch: u32| {
        let mut sim = leaky(&params, &setup, threads);
        sim.tap(&taps).expect("all tapped");
        let mut all = Frame::default();
        for at in (0..1000).step_by(batch as usize) {
            sim.advance(batch.min(1000 - at), &mut Pass::default()).expect("runs");
            let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
            sim.sample(&mut frame).expect("reads");
            all.absorb(frame);
        }
        (all, sim)
    };
    let (all, sim) = run(1, 1000);
    for (threads, batch) in [(2, 13), (3, 500), (1, 1)] {
        assert_eq!(run(threads, batch).0.readings, all.readings, "{threads} threads, batches of {batch}");
    }
    assert_eq!(all.clock.secs(), 1.0);
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
    assert_eq!((rate.steps.len(), rate.steps[0], rate.lanes), (200, 5, 1));
    let counted: f64 = rate.values.iter().map(|r| f64::from(*r) * f64::from(N) * 5e-3).sum();
    assert!((counted - spikes.len() as f64).abs() < 0.1 && spikes.len() > 500, "{counted} {}", spikes.len());
    let v = series(probes::V);
    assert_eq!((v.elements.as_slice(), v.lanes, v.steps.len(), v.steps[0]), (&[90, 4][..], 2, 1000, 1));
    assert_eq!(*v.values.last().expect("values"), field(probes::V_FIELD)[4]);
    assert_eq!(*field(probes::V_FIELD), sim.states());
    assert!(v.values.iter().all(|v| *v < 1.0) && series(probes::G).values.iter().all(|g| *g == 0.0));
    let last = spikes.iter().rev().find(|s| s.lane == spikes[0].lane).expect("it fired");
    assert_eq!(field(probes::LAST_SPIKE)[last.lane as usize], (999 - last.step) as f32);
    let events: f64 = series(probes::SYNAPTIC_EVENTS).values.iter().map(|e| f64::from(*e) * 5e-3).sum();
    assert!((events / sim.digest(0).totals[1].1 as f64 - 1.0).abs() < 1e-5, "{events}");
    assert!(series(probes::ACTIVE).values.iter().all(|a| *a == N as f32));
    assert!(sim.memory().by_owner().iter().all(|(_, bytes)| *bytes > 0));
}

/// The example project is the published model; and unconnected units fire as often as an independent simulation in
/// double precision with other random numbers says.
#[test]
fn the_project_and_its_noise() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/fastfly.ron");
    let (project, warnings) = neuropil::project::open(&file).expect("it opens");
    assert_eq!(warnings, []);
    let neuropil::kinds::Model::Spiking(params) = project.model else { panic!("a spiking project") };
    assert_eq!((params.network.model, &params.leaky), (NeuronModel::NoisyLeaky, &quiet().leaky));
    let mut params = *params;
    params.leaky.mean_weight = 0.0;
    let net = neuropil::data::generate::balanced(3000, 1, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let mut sim = leaky(&params, &Arc::new(Setup::new(net).expect("a network")), 1);
    sim.advance(100, &mut Pass::default()).expect("runs");
    let before = sim.digest(0).totals[0].1;
    sim.advance(500, &mut Pass::default()).expect("runs");
    let got = (sim.digest(0).totals[0].1 - before) as f64 / (3000.0 * 500.0);

    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut v, mut spikes) = (0.0_f64, 0_u32);
    for _ in 0..1_500_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        v = 0.9 * v + 0.4 * ((random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
        if v >= 1.0 {
            (v, spikes) = (0.0, spikes + 1);
        }
    }
    let want = f64::from(spikes) / 1.5e6;
    assert!((got / want - 1.0).abs() < 0.03, "{got} spikes per unit and step; {want} expected");
}

/// As for LIF neurons: reported with the step, for any batches and threads.
#[test]
fn non_finite_states_are_reported_with_neuron_and_step() {
    for (threads, batch) in [(1, 1), (2, 7), (3, 400)] {
        let mut params = busy();
        let lost = Intervention { current_mv: f64::NAN, ..intervention(Effect::Current, "idx = 91, 17", 200.0, 0.0) };
        params.interventions.push(lost);
        let mut sim = leaky(&params, &setup(1), threads);
        non_finite::is_reported(&mut sim, batch);
    }
}
