//! The simulation: resume, threads, life cycle, ids, requests, actions, readings.

use crate::settings;
use neuropil::{
    gpu::Pass,
    kinds::{Model, synaptic::probes},
    params::{Value, path},
    project::load_data,
    sim::{
        Action, Answer, BuildContext, Device, Effect, EndCause, Frame, LifeEvent, Progress, Reading, Request, SimError,
        Simulation, Snapshot, Tap, TapArgs,
    },
};
use std::collections::HashSet;

/// A model that trains in a moment, with a life cycle that acts.
const SMALL: &[&str] = &[
    "model.layers=2",
    "model.heads=2",
    "model.kv_heads=1",
    "model.width=16",
    "model.context=16",
    "experts.count=6",
    "experts.hidden=16",
    "experts.aux_weight=0",
    "experts.metabolic_bias=0.02",
    "life.warm_up=20",
    "life.interval=10",
    "life.merge_health=0.35",
    "life.merge_cosine=0.3",
    "training.batch=4",
    "training.learning_rate=0.01",
    "training.warm_up=5",
    "data.grammar_bytes=20000",
    "measure.every=2",
    "measure.held_out_every=0",
    "measure.sample_every=10",
    "measure.length=12",
];

pub fn model(set: &[&str]) -> Model {
    settings::model("synaptic", &[SMALL, set].concat())
}

fn start_with(model: &Model, threads: usize) -> Box<dyn Simulation> {
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    model.build(&context, &Device::Cpu { threads }, &Progress::default()).expect("it is built")
}

pub fn start(model: &Model) -> Box<dyn Simulation> {
    start_with(model, 2)
}

pub fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

pub fn frame(sim: &mut dyn Simulation) -> Frame {
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("it is sampled");
    frame
}

pub fn state(sim: &mut dyn Simulation) -> (String, Snapshot) {
    (format!("{:?}", sim.digest(0)), sim.save().expect("it saves"))
}

fn total(sim: &dyn Simulation, name: &str) -> u64 {
    sim.digest(0).totals.iter().find(|(known, _)| known == name).expect("a total").1
}

fn act(sim: &mut dyn Simulation, name: &str, elements: &[u32]) -> Result<(), SimError> {
    sim.act(&Action::on(name, elements.to_vec(), vec![]))
}

fn request(name: &str, set: &[(usize, Value)]) -> Request {
    let specs = Model::by_name("synaptic").expect("a kind").requests();
    let mut request = specs.iter().find(|spec| spec.name == name).expect("a request").request(vec![]);
    set.iter().for_each(|(i, value)| request.values[*i] = value.clone());
    request
}

#[test]
fn a_resumed_run_and_another_number_of_threads_have_the_same_bits() {
    let model = model(&["presynaptic.stochastic=0.3", "life.loss_limit=0.02"]);
    let mut whole = start(&model);
    advance(&mut *whole, 40);
    let saved = whole.save().expect("it saves");
    advance(&mut *whole, 40);
    let want = state(&mut *whole);
    assert!(total(&*whole, "splits") > 0, "{:?}", whole.digest(0));
    let mut single = start_with(&model, 1);
    advance(&mut *single, 80);
    assert!(state(&mut *single) == want, "one thread");
    let mut resumed = start(&model);
    advance(&mut *resumed, 7);
    resumed.load(&saved).expect("it loads");
    assert!(resumed.save().expect("it saves") == saved);
    advance(&mut *resumed, 40);
    assert!(state(&mut *resumed) == want, "resumed");
}

/// Events happen by the thresholds alone: a split at least every 200 steps on average after the warm-up.
#[test]
fn live_evolution_splits_by_its_thresholds() {
    let mut model = model(&[]);
    let preset = model.presets().iter().find(|preset| preset.name == "Live evolution").expect("a preset");
    let more = ["experts.count=16", "life.warm_up=200", "life.interval=100"];
    settings::set(model.params_mut(), &[preset.set, &more].concat());
    let mut sim = start(&model);
    advance(&mut *sim, 200);
    let before = total(&*sim, "splits");
    advance(&mut *sim, 1000);
    let splits = total(&*sim, "splits") - before;
    assert!(splits >= 5, "{splits} splits in 1000 steps: {:?}", sim.digest(0));
}

/// Measuring what the end of an expert costs changes nothing; the limit does.
#[test]
fn what_an_end_costs_is_measured_without_a_trace() {
    let run = |limit: &str| {
        let mut sim = start(&model(&[limit]));
        advance(&mut *sim, 60);
        (total(&*sim, "removals") + total(&*sim, "merges"), state(&mut *sim))
    };
    let (any, measured, none) = (run("life.loss_limit=0"), run("life.loss_limit=100"), run("life.loss_limit=1e-300"));
    assert!(any == measured && any.0 > none.0, "{} {} {}", any.0, measured.0, none.0);
}

#[test]
fn ids_are_never_used_again_and_parents_come_before_children() {
    let mut sim = start(&model(&[]));
    sim.tap(&[Tap::of(probes::LINEAGE), Tap::of(probes::LOG)]).expect("it is tapped");
    advance(&mut *sim, 150);
    for (name, elements) in [("merge_weak", &[][..]), ("split", &[7]), ("kill", &[1]), ("split", &[0])] {
        act(&mut *sim, name, elements).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let shown = frame(&mut *sim);
    let Some(Reading::Lineage(events)) = shown.reading(probes::LINEAGE) else { panic!("a lineage") };
    let (mut born, mut living) = (HashSet::new(), HashSet::new());
    let mut merges = 0;
    for event in events.iter() {
        match event {
            LifeEvent::Birth(birth) => {
                assert!(born.insert(birth.child), "{birth:?}");
                assert!(birth.parents.iter().all(|parent| born.contains(parent)), "{birth:?}");
                living.insert(birth.child);
            }
            LifeEvent::Death(death) => {
                assert!(living.remove(&death.gone), "{death:?}");
                merges += u32::from(death.end == EndCause::Merged);
            }
        }
    }
    assert!(born.len() > 12 && merges >= 2, "{} born, {merges} merged", born.len());
    let now = sim.individuals(probes::EXPERTS).expect("slots");
    let ids: HashSet<u64> = now.ids.iter().copied().filter(|id| *id != neuropil::sim::FREE_SLOT).collect();
    assert_eq!(ids, living, "one living individual per occupied slot");
    let Some(Reading::Text(log)) = shown.reading(probes::LOG) else { panic!("a log") };
    assert!(log.contains("splits into") && log.contains("merge"), "{log}");
    let saved = sim.save().expect("it saves");
    let mut other = start(&model(&[]));
    other.load(&saved).expect("it loads");
    assert_eq!(other.individuals(probes::EXPERTS), Some(now));
}

#[test]
fn validation_and_requests_change_nothing() {
    let model = model(&["measure.held_out_every=5", "plasticity.sampling=true"]);
    let mut watched = start(&model);
    let all: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| Tap { elements: if probe == probes::LOAD_OF { vec![0, 3] } else { vec![] }, ..Tap::of(probe) })
        .collect();
    watched.tap(&all).expect("it is tapped");
    let mut plain = start(&model);
    for _ in 0..3 {
        advance(&mut *watched, 10);
        advance(&mut *plain, 10);
        let shown = frame(&mut *watched);
        assert_eq!(shown.readings.len(), all.len());
        let text = Value::Text("the fox sleeps by the river".to_owned());
        for (name, plastic) in [("sample", 6), ("score", 1)] {
            let asked = request(name, &[(0, text.clone()), (plastic, Value::Bool(true))]);
            watched.ask(&asked, &Progress::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert!(state(&mut *watched) == state(&mut *plain));
}

/// Only the chosen slots are read for a series, in both layers, whether the slot holds a living expert or not.
#[test]
fn series_of_chosen_experts_are_their_fields() {
    let mut sim = start(&model(&[]));
    let chosen = [
        (probes::LOAD_OF, probes::LOAD, vec![3, 7]),
        (probes::ENERGY_OF, probes::ENERGY, vec![9]),
        (probes::HEALTH_OF, probes::HEALTH, vec![2, 4, 11]),
    ];
    let both = |(series, field, elements): &(u16, u16, Vec<u32>)| {
        [Tap { elements: elements.clone(), ..Tap::of(*series) }, Tap::of(*field)]
    };
    sim.tap(&chosen.iter().flat_map(both).collect::<Vec<_>>()).expect("it is tapped");
    let mut seen = HashSet::new();
    for i in 0..20 {
        if i == 9 {
            act(&mut *sim, "kill", &[2]).expect("it ends");
        }
        advance(&mut *sim, 2);
        let shown = frame(&mut *sim);
        for (series, field, elements) in &chosen {
            let Some(Reading::Series(rows)) = shown.reading(*series) else { panic!("a series") };
            let Some(Reading::Field(values)) = shown.reading(*field) else { panic!("a field") };
            let want: Vec<f32> = elements.iter().map(|slot| values[*slot as usize]).collect();
            assert_eq!(rows.values, want, "probe {series} after {} steps", sim.clock().step);
            seen.extend(want.iter().map(|value| value.to_bits()));
        }
    }
    assert!(seen.len() > 60 && seen.contains(&0), "{}", seen.len());
}

#[test]
fn a_checkpoint_with_another_number_of_experts_is_refused() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 3);
    let saved = sim.save().expect("it saves");
    let mut other = start(&model(&["experts.count=8"]));
    let before = state(&mut *other);
    let error = other.load(&saved).expect_err("another size").to_string();
    assert!(error.contains("[2, 6]") && error.contains("experts.count"), "{error}");
    assert!(state(&mut *other) == before, "an error changes nothing");
}

#[test]
fn readings_have_the_shapes_of_the_model() {
    let mut sim = start(&model(&[]));
    let with = |probe: u16, args: &str| Tap {
        args: TapArgs::parse(args, probes::PROBES[usize::from(probe)].args).expect("declared"),
        ..Tap::of(probe)
    };
    let taps = [
        with(probes::SYNAPSE, "layer=1,head=1,key=2"),
        with(probes::GATES, "layer=1"),
        with(probes::DECISION, "layer=0,token=3"),
        with(probes::PARITY, "layer=0,head=0"),
        Tap::of(probes::VESICLES),
        Tap::of(probes::ROUTES),
        Tap::of(probes::MAP_1),
        Tap::of(probes::HEALTH),
        Tap::of(probes::ROUTED),
    ];
    sim.tap(&taps).expect("it is tapped");
    advance(&mut *sim, 20);
    let shown = frame(&mut *sim);
    let matrix = |tap: &Tap| match shown.reading(tap.key()) {
        Some(Reading::Matrix(matrix)) => matrix.clone(),
        other => panic!("{other:?}"),
    };
    let synapse = matrix(&taps[0]);
    let row = synapse.rows.labels.iter().position(|name| name == "Total vesicles").expect("a row");
    let total = &synapse.values[row * synapse.columns.len as usize..][..synapse.columns.len as usize];
    assert!(total.iter().all(|n| (n - 24.0).abs() < 1e-4), "vesicles are conserved: {total:?}");
    let gates = matrix(&taps[1]);
    assert_eq!((gates.rows.len, gates.columns.len), (6, 64));
    let sum: f32 = gates.values.iter().sum();
    assert!((sum - 64.0).abs() < 1e-3, "gates of a token sum to 1: {sum}");
    assert_eq!(matrix(&taps[2]).rows.len, 6);
    let parity = matrix(&taps[3]);
    assert!(parity.values.chunks(3).all(|row| row[0] < 1e-3), "{parity:?}");
    let Some(Reading::Series(vesicles)) = shown.reading(probes::VESICLES) else { panic!("a series") };
    assert!(vesicles.lanes == 4 && vesicles.values.chunks(4).all(|row| (row[3] - 24.0).abs() < 1e-4));
    let Some(Reading::Links(routes)) = shown.reading(probes::ROUTES) else { panic!("links") };
    let Some(Reading::Field(map)) = shown.reading(probes::MAP_1) else { panic!("a field") };
    assert!(
        map.len() as u32 == sim.sets()[2].len
            && routes.iter().all(|link| (link.from.max(link.to) as usize) < map.len())
    );
    let Some(Reading::Field(health)) = shown.reading(probes::HEALTH) else { panic!("a field") };
    assert!(health.len() == 12 && health.iter().all(|health| (0.0..=1.0).contains(health)));
    let error = sim.tap(&[with(probes::SYNAPSE, "layer=2")]).expect_err("no such layer").to_string();
    assert_eq!(error, "there is no layer `2`: the model has 2, from 0");
}

#[test]
fn experts_are_split_merged_ended_and_frozen_on_request() {
    let mut sim = start(&model(&["life.enabled=false"]));
    advance(&mut *sim, 5);
    assert!(act(&mut *sim, "merge", &[0, 6]).unwrap_err().to_string().contains("two experts of one layer"));
    assert!(act(&mut *sim, "split", &[]).is_err() && act(&mut *sim, "kill", &[99]).is_err());
    act(&mut *sim, "merge", &[0, 1]).expect("it merges");
    act(&mut *sim, "kill", &[8]).expect("it ends");
    sim.tap(&[Tap::of(probes::ALIVE), Tap::of(probes::FROZEN)]).expect("it is tapped");
    let Some(Reading::Field(alive)) = frame(&mut *sim).reading(probes::ALIVE).cloned() else { panic!("a field") };
    assert_eq!((alive[..6].iter().sum::<f32>(), alive[6..].iter().sum::<f32>(), alive[8]), (5.0, 5.0, 0.0));
    act(&mut *sim, "split", &[7]).expect("it splits into the empty slot");
    act(&mut *sim, "freeze", &[7]).expect("it freezes");
    let of = |sim: &mut dyn Simulation| -> Vec<f32> {
        sim.save().expect("it saves").read("h.1.moe.fc1.weight", &[6, 16, 16]).expect("a section")
    };
    let before = of(&mut *sim);
    advance(&mut *sim, 3);
    let after = of(&mut *sim);
    assert!(before[256..512] == after[256..512] && before[512..768] != after[512..768]);
    assert!(act(&mut *sim, "kill", &[7]).unwrap_err().to_string().contains("frozen"));
    act(&mut *sim, "unfreeze", &[7]).expect("it thaws");
    assert_eq!((total(&*sim, "splits"), total(&*sim, "merges"), total(&*sim, "removals")), (1, 1, 1));
}

#[test]
fn mechanisms_change_while_it_trains() {
    let model = model(&[]);
    let mut sim = start(&model);
    let mut seen = HashSet::new();
    for text in [
        "presynaptic.mode=Scan",
        "presynaptic.mode=Static",
        "presynaptic.mode=Off",
        "presynaptic.mode=TsodyksMarkram",
        "presynaptic.endocytosis_delay=0",
        "experts.balancing=Bias",
        "life.split_rule=GradientUtility",
    ] {
        let change = path::parse(sim.params().expect("parameters"), text).expect("a parameter");
        assert_eq!(sim.set(&change).expect("it is applied"), Effect::Applied, "{text}");
        advance(&mut *sim, 3);
        assert!(seen.insert(sim.digest(0).hash));
    }
    let change = path::parse(model.params(), "presynaptic.mode=Temperature").expect("a parameter");
    assert_eq!(sim.set(&change).expect("it is accepted"), Effect::NeedsRebuild);
    advance(&mut *start(&self::model(&["presynaptic.mode=Temperature"])), 3);
}

#[test]
fn texts_are_written_with_and_without_plasticity() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 20);
    let mut text = |plastic: bool| {
        let asked =
            request("sample", &[(0, Value::Text("once a".into())), (1, Value::Int(30)), (6, Value::Bool(plastic))]);
        match sim.ask(&asked, &Progress::default()) {
            Ok(Answer::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    assert!(text(false).starts_with("once a") && text(false) == text(false) && text(true) == text(true));
}

#[test]
fn the_text_changes_while_it_trains() {
    let model = model(&[]);
    let mut sim = start(&model);
    advance(&mut *sim, 3);
    let floor = |sim: &dyn Simulation| sim.levels(probes::LOSS).iter().map(|level| level.value).fold(9.0, f64::min);
    let before = (floor(&*sim), sim.generation());
    let change = path::parse(model.params(), "data.grammar=Harbour").expect("a parameter");
    let data = load_data(&model, &BuildContext::default(), &change, &Progress::default()).expect("it is written");
    assert_eq!(sim.replace(&data).expect("it is taken"), Effect::Applied);
    assert_ne!((floor(&*sim), sim.generation()), before);
    advance(&mut *sim, 2);
    assert_eq!(sim.clock().step, 5);
}
