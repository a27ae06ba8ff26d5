//! Mean weights between categories, single recorded synapses, and weights shuffled at a time: equal bits for any threads, batches and
//! backend, and nothing that a run does depends on the readings.

use super::{
    plasticity::network,
    plasticity_live::{Way, compare, on_cpu, on_gpu, readings, synapses},
};
use crate::settings;
use neuropil::{
    kinds::{
        Model,
        spiking::{probes::WEIGHT_MATRIX, synapse_readings::SYNAPSE_PROBES},
    },
    params::path,
    sim::{
        Action, Answer, BuildContext, Device, Frame, Matrix, Progress, Reading, SimError, Simulation, Tap, TapArgs,
        TapKey, request::Cell,
    },
};

/// Steps between samples of weights.
const EVERY: u32 = 300;

/// Adds items to a list of the parameters and sets them.
fn add(model: &mut Model, list: &str, n: usize, edits: &[&str]) {
    let params = model.params_mut();
    let group = params.groups().iter().position(|group| group.name == list).expect("a list") as u8;
    (0..n).for_each(|_| assert!(params.push(group)));
    settings::set(params, edits);
}

/// Returns a pair of neurons with a synapse of the pair rule and one with a third factor.
fn pair_with_two_synapses(model: &Model) -> (u32, u32) {
    let mut sim = on_cpu()[0].build(model);
    let mut pairs = (0..77).flat_map(|from| (77..130).map(move |to| (from, to)));
    let names = |of: &(u32, u32), sim: &mut dyn Simulation| -> Vec<String> {
        synapses(model, sim, of.0, of.1).into_iter().map(|(name, _)| name).collect()
    };
    pairs.find(|of| names(of, &mut *sim) == ["a → b", "a → b (2)"]).expect("a pair")
}

/// The samples of recorded synapses are the answers of requests at their steps.
fn single_synapses_are_recorded(ways: &[Way]) {
    let mut model = network(&["rules.weight_interval_ms=30"]);
    let (from, to) = pair_with_two_synapses(&model);
    let edits = [
        format!("recorded_synapses.1.from={from}"),
        format!("recorded_synapses.1.to={to}"),
        format!("recorded_synapses.2.from=#{from}"),
        format!("recorded_synapses.2.to=#{to}"),
        "recorded_synapses.2.number=1".to_owned(),
        "recorded_synapses.3.from=100".to_owned(),
    ];
    add(&mut model, "recorded_synapses", 4, &edits.each_ref().map(String::as_str));
    assert!(SYNAPSE_PROBES.iter().all(|probe| !model.unused_probes().contains(probe)));
    compare(ways, |way| {
        let (mut sim, mut other) = (way.build(&model), way.build(&model));
        let names = sim.lanes(SYNAPSE_PROBES[0]);
        assert_eq!(names[1..3], [format!("#{from} → #{to}"), format!("#{from} → #{to} (1)")]);
        assert!(names[0].starts_with("#0 → #") && names[3].starts_with("#100 → #"), "{names:?}");
        sim.tap(&SYNAPSE_PROBES.map(Tap::of)).expect("tapped");
        let all = readings(way, &mut *sim, 3 * EVERY + 100);
        let series = SYNAPSE_PROBES.map(|probe| match all.reading(probe) {
            Some(Reading::Series(series)) => series.clone(),
            _ => panic!("a series"),
        });
        let mut eligibilities = vec![];
        for row in 0..3 {
            way.run(&mut *other, EVERY);
            for (lane, name) in names.iter().enumerate() {
                let mut parts = name.split([' ', '→', '#', '(', ')']).filter_map(|part| part.parse::<u32>().ok());
                let [from, to] = [(); 2].map(|()| parts.next().expect("an index"));
                let expected = synapses(&model, &mut *other, from, to)[parts.next().unwrap_or(0) as usize].1;
                let found = series.each_ref().map(|of| f64::from(of.values[4 * row + lane]));
                let shown = expected.map(|value| if value.is_nan() { 0.0 } else { value });
                assert_eq!(found, shown, "{name}, sample {row}");
                eligibilities.push(found[3]);
            }
        }
        assert!(eligibilities.iter().any(|c| *c != 0.0), "no eligibility");
        assert!(series.iter().all(|of| of.lanes == 4 && of.steps == [300, 600, 900]));
        assert!(way.end(&mut *sim, 0) == way.end(&mut *other, 100), "taps change nothing");

        // Other synapses take effect while the network runs, and a synapse that does not exist does not.
        let mut set = |edit: &str| sim.set(&path::parse(sim.params().expect("parameters"), edit).expect("a change"));
        for (edit, why) in [
            ("recorded_synapses.0.from=900", "recorded_synapses.0: from: no neuron has the id or the index 900"),
            ("recorded_synapses.2.number=2", "recorded_synapses.2: number: 2 is too large"),
            ("recorded_synapses.0.to=x", "recorded_synapses.0: to: no neuron is named `x`"),
        ] {
            let refused = set(edit).expect_err(edit).to_string();
            assert!(refused.contains(why), "{edit}: {refused}");
        }
        set("recorded_synapses.0.to=80").expect("another synapse");
        assert!(sim.lanes(SYNAPSE_PROBES[0])[0].ends_with(" → #80"));
        series
    });
}

#[test]
fn single_synapses_are_recorded_on_the_cpu() {
    single_synapses_are_recorded(&on_cpu());
}

#[test]
fn single_synapses_are_recorded_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        single_synapses_are_recorded(&ways);
    }
}

fn matrix<'a>(frame: &'a Frame, args: &TapArgs) -> &'a Matrix {
    let key = TapKey { probe: WEIGHT_MATRIX, args: args.clone(), ..TapKey::default() };
    match frame.reading(key) {
        Some(Reading::Matrix(matrix)) => matrix,
        other => panic!("{args:?}: {other:?}"),
    }
}

/// Returns the mean present weight from the first neurons to the second ones over all projections of the network.
fn mean_of_answer(
    model: &Model,
    sim: &mut dyn Simulation,
    from: std::ops::Range<u32>,
    to: std::ops::Range<u32>,
) -> f64 {
    let spec = model.requests().iter().find(|spec| spec.name == "connections").expect("a request");
    let mut request = spec.request(from.collect());
    request.values[1] = neuropil::params::Value::Int(1_000_000);
    let Answer::Table(_, rows) = sim.ask(&request, &Progress::default()).expect("an answer") else { panic!("a table") };
    let weight = |row: &Vec<Cell>| match &row[..] {
        [_, post, Cell::Number(weight)] => to.contains(&post.text().parse().expect("an index")).then_some(*weight),
        other => panic!("{other:?}"),
    };
    let weights: Vec<f64> = rows.iter().filter_map(weight).collect();
    weights.iter().sum::<f64>() / weights.len() as f64
}

/// A matrix has the mean of the present weights between two populations or neuron groups.
fn matrices_have_the_mean_weights(ways: &[Way]) {
    let mut model = network(&[]);
    add(
        &mut model,
        "selections",
        2,
        &[
            "selections.0.name=first",
            "selections.0.query=idx < 10",
            "selections.1.name=b",
            "selections.1.query=idx >= 77",
        ],
    );
    let args =
        [&[][..], &[("projection", "a → a")], &[("projection", "a → b (2)"), ("by", "ei")], &[("by", "neuron groups")]]
            .map(|pairs| TapArgs::new(pairs.iter().copied()));
    compare(ways, |way| {
        let (mut sim, mut other) = (way.build(&model), way.build(&model));
        let choices = sim.choices(WEIGHT_MATRIX);
        assert_eq!(choices[0], ["all", "a → b", "a → a", "b → a", "b → a (2)", "a → b (2)"]);
        assert_eq!(choices[1], ["population", "ei", "neuron groups"]);
        sim.tap(&args.each_ref().map(|args| Tap::with(WEIGHT_MATRIX, args.clone()))).expect("tapped");
        let frame = readings(way, &mut *sim, 811);
        way.run(&mut *other, 811);
        let [all, one, by_sign, groups] = args.each_ref().map(|args| matrix(&frame, args));
        assert_eq!((all.rows.labels.as_slice(), all.columns.labels.len()), (&["a", "b"].map(str::to_owned)[..], 2));
        assert_eq!(groups.rows.labels.as_slice(), ["first", "b"]);
        let expected = |of: [std::ops::Range<u32>; 2]| {
            let [from, to] = of;
            mean_of_answer(&model, &mut *on_cpu_at(&model, 811), from, to)
        };
        let close =
            |found: f32, expected: f64| assert!((f64::from(found) / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        close(all.values[0], expected([0..77, 0..77]));
        close(all.values[1], expected([0..77, 77..130]));
        close(all.values[2], expected([77..130, 0..77]));
        close(groups.values[0], expected([0..10, 0..10]));
        close(groups.values[1], expected([0..10, 77..130]));
        assert!(one.values[0] == all.values[0] && one.values[1..].iter().all(|mean| mean.is_nan()));
        assert_eq!(by_sign.rows.labels.as_slice(), ["unknown", "excitatory", "inhibitory"]);
        assert!(way.end(&mut *sim, 100) == way.end(&mut *other, 100), "taps change nothing");
        for (args, why) in [
            (TapArgs::new([("projection", "b → b")]), "there is no projection `b → b`; there are: all, a → b, a → a"),
            (TapArgs::new([("by", "side")]), "there is no category `side`; there are: population, ei, neuron groups"),
        ] {
            let refused = sim.tap(&[Tap::with(WEIGHT_MATRIX, args)]).expect_err("no such choice").to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let bits = |of: &Matrix| of.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        [all, one, by_sign, groups].map(bits)
    });
}

/// A network on the CPU after steps.
fn on_cpu_at(model: &Model, steps: u32) -> Box<dyn Simulation> {
    let mut sim =
        model.build(&BuildContext::default(), &Device::Cpu { threads: 1 }, &Progress::default()).expect("built");
    super::digest_of(&mut *sim, steps, steps);
    sim
}

#[test]
fn matrices_have_the_mean_weights_on_the_cpu() {
    matrices_have_the_mean_weights(&on_cpu());
}

#[test]
fn matrices_have_the_mean_weights_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        matrices_have_the_mean_weights(&ways);
    }
}

/// An intervention permutes the weights as the action does before the same step.
fn weights_are_shuffled_at_a_time(ways: &[Way]) {
    let plain = network(&[]);
    let with = |edits: &[&str]| {
        let mut model = network(&[]);
        add(&mut model, "interventions", 1, &[&["interventions.0.effect=ShuffleWeights"], edits].concat());
        model
    };
    let shuffled = with(&["interventions.0.start=41.1", "interventions.0.projections=a → a, 5"]);
    compare(ways, |way| {
        let (mut sim, mut other) = (way.build(&shuffled), way.build(&plain));
        let before = (way.end(&mut *sim, 411), way.end(&mut *other, 411));
        assert!(before.0 == before.1, "the weights are not yet shuffled");
        Action::on("shuffle_weights", vec![1, 4], vec![]).perform(&mut *other).expect("shuffled");
        let ends = [&mut sim, &mut other].map(|sim| way.end(&mut **sim, 500));
        assert!(ends[0] == ends[1]);
        sim.load(&before.0.1).expect("the state before");
        assert!(way.end(&mut *sim, 500) == ends[0], "the state of the step before continues");
        sim.rewind().expect("rewound");
        assert!(way.end(&mut *sim, 911) == ends[0], "after a return to step 0");
        ends
    });
    for (model, why) in [
        (
            with(&["interventions.0.projections=b → b"]),
            "there is no projection `b → b` with changing weights; there are: a → b, a",
        ),
        (with(&["interventions.0.projections=3"]), "there is no projection `3` with changing weights"),
    ] {
        let built = model.build(&BuildContext::default(), &ways[0].device, &Progress::default());
        let Err(SimError::Input(refused)) = built else { panic!("it was built") };
        assert!(refused.contains("stimulus 1 (Shuffle plastic weights)") && refused.contains(why), "{refused}");
    }
}

#[test]
fn weights_are_shuffled_at_a_time_on_the_cpu() {
    weights_are_shuffled_at_a_time(&on_cpu());
}

#[test]
fn weights_are_shuffled_at_a_time_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        weights_are_shuffled_at_a_time(&ways);
    }
}
