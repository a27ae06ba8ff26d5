//! The simulation: probes, requests, actions, and the same result however a run is cut.

use crate::settings;
use neuropil::{
    gpu::{Pass, StopFlag},
    kinds::{
        Model,
        evolution::{Params, network::Network, presets, probes, schedule::Schedule},
    },
    params::{Value, path},
    sim::{Action, Answer, BuildContext, Device, Effect, Frame, Progress, Reading, Request, SimError, Simulation, Tap},
};
use std::time::Duration;

const SMALL: &[&str] = &[
    "model.layers=2",
    "model.width=16",
    "model.context=16",
    "strategy.population=128",
    "strategy.generations=60",
    "data.grammar_bytes=20000",
    "data.tokenizer=Chars",
    "measure.every=2",
    "measure.held_out_every=10",
    "measure.sample_every=10",
    "measure.length=24",
];

fn model(set: &[&str]) -> Model {
    settings::model("evolution", &[SMALL, set].concat())
}

fn start_on(model: &Model, threads: usize) -> Result<Box<dyn Simulation>, SimError> {
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    model.build(&context, &Device::Cpu { threads }, &Progress::default())
}

fn start(model: &Model) -> Box<dyn Simulation> {
    start_on(model, 2).expect("it is built")
}

fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

fn frame(sim: &mut dyn Simulation) -> Frame {
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("it is sampled");
    frame
}

fn series(frame: &Frame, probe: u16) -> Vec<f32> {
    let Some(Reading::Series(series)) = frame.reading(probe) else { panic!("a series") };
    series.values.clone()
}

fn field(frame: &Frame, probe: u16) -> Vec<f32> {
    let Some(Reading::Field(values)) = frame.reading(probe) else { panic!("a field") };
    values.to_vec()
}

#[test]
fn a_population_learns_a_grammar_and_shows_it() {
    let mut sim = start(&model(&["strategy.population=512"]));
    let all: Vec<Tap> = (0..sim.probes().len() as u16).map(Tap::of).collect();
    sim.tap(&all).expect("it is tapped");
    advance(&mut *sim, 60);
    let shown = frame(&mut *sim);
    let losses = series(&shown, probes::LOSS);
    let level = |name: &str| {
        let levels = sim.levels(probes::LOSS);
        levels.iter().find(|level| level.name.contains(name)).expect("a level").value as f32
    };
    assert_eq!(losses.len(), 30);
    assert!(losses[0] > level("uniform") && losses[29] < losses[0] - 0.5, "{losses:?}");
    let held_out = series(&shown, probes::HELD_OUT);
    assert!(held_out.len() == 6 && held_out[5] < losses[29], "without perturbation: {held_out:?} {losses:?}");
    let biases = series(&shown, probes::BIAS_LOSS);
    assert!((biases[0] - level("uniform")).abs() < 0.2 && held_out[5] < biases[29] - 0.1, "{biases:?}");
    let quantiles = series(&shown, probes::FITNESS_QUANTILES);
    assert!(quantiles.chunks(5).all(|row| row.is_sorted()), "{quantiles:?}");
    assert!(series(&shown, probes::CORRELATION).iter().all(|r| r.abs() <= 1.0));
    for probe in [probes::CHANGED, probes::SATURATION, probes::LIVE_ATTENTION, probes::OVERWRITTEN] {
        let values = series(&shown, probe);
        assert!(
            values.iter().all(|x| (0.0..=100.0).contains(x)) && values.iter().any(|x| *x > 0.0),
            "{probe}: {values:?}"
        );
    }
    assert_eq!((series(&shown, probes::SIGMA)[0], series(&shown, probes::THRESHOLD)[0]), (0.125, 0.0));
    let rates = series(&shown, probes::LEARNING_RATE);
    assert!(rates[0] > 0.09 && rates[29] < 0.003 && rates.is_sorted_by(|a, b| a > b), "{rates:?}");
    assert_eq!(field(&shown, probes::FITNESS).len(), 256);
    assert_eq!(field(&shown, probes::TENSOR_CHANGED).len() as u32, sim.sets()[2].len);
    let Some(Reading::Matrix(map)) = shown.reading(probes::ATTENTION) else { panic!("a matrix") };
    assert_eq!((map.rows.len, map.columns.len), (16, 16), "the last tokens that fit into the context");
    let Some(Reading::Matrix(weights)) = shown.reading(probes::WEIGHTS) else { panic!("a matrix") };
    assert!(weights.columns.len == 16 && weights.values.iter().all(|w| [-1.0, 0.0, 1.0].contains(w)));
    let Some(Reading::Samples(texts)) = shown.reading(probes::SAMPLES) else { panic!("texts") };
    assert_eq!((texts.len(), texts[5].step), (6, 60));
    assert!(texts[5].title.starts_with("generation 60, temperature 0.8"), "{:?}", texts[5].title);
}

#[test]
fn threads_stops_and_saved_states_change_no_bit() {
    for set in [
        &[][..],
        &["strategy.noise=FullRank(generator: SumOfFour)", "strategy.update=Adam"],
        &["strategy.growing=true", "strategy.update=Momentum"],
    ] {
        let model = model(&[&["strategy.population=32", "strategy.generations=20"], set].concat());
        let mut whole = start(&model);
        advance(&mut *whole, 20);
        let weights = |sim: &mut dyn Simulation| sim.save().expect("a state");
        // One thread, stopped all the time, saved and loaded in the middle.
        let mut parts = start_on(&model, 1).expect("it is built");
        let mut patience = Duration::from_micros(200);
        while parts.clock().step < 11 {
            // A stop during an update repeats it, so that stops must leave it more and more time.
            patience = patience * 11 / 10;
            let stop = StopFlag::default();
            let mut pass = Pass::default();
            pass.stop = stop.clone();
            let raise = std::thread::Builder::new().name("stopper".into()).spawn(move || {
                std::thread::sleep(patience);
                stop.raise();
            });
            parts.advance(11, &mut pass).expect("it runs");
            raise.expect("a thread").join().expect("it ends");
        }
        let saved = parts.save().expect("a state");
        let mut resumed = start(&model);
        resumed.load(&saved).expect("it is loaded");
        let left = 20 - resumed.clock().step as u32;
        advance(&mut *resumed, left);
        assert_eq!(resumed.digest(0), whole.digest(0), "{set:?}");
        assert_eq!(weights(&mut *resumed), weights(&mut *whole), "{set:?}");
    }
}

#[test]
fn texts_are_written_and_scored_with_the_bits_of_the_held_out_loss() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 10);
    let before = sim.digest(0);
    let specs = Model::by_name("evolution").expect("a kind").requests();
    let request = |name: &str, set: &[(usize, Value)]| -> Request {
        let mut request = specs.iter().find(|spec| spec.name == name).expect("a request").request(vec![]);
        set.iter().for_each(|(i, value)| request.values[*i] = value.clone());
        request
    };
    let prompt =
        |seed| request("sample", &[(0, Value::Text("the ".into())), (1, Value::Int(60)), (5, Value::Int(seed))]);
    let mut text = |request: &Request| match sim.ask(request, &Progress::default()) {
        Ok(Answer::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let long = text(&prompt(1));
    assert!(long.starts_with("the ") && long == text(&prompt(1)) && long != text(&prompt(2)), "{long}");
    let Ok(Answer::Table(_, rows)) =
        sim.ask(&request("score", &[(0, Value::Text("the fox sleeps. ".into()))]), &Progress::default())
    else {
        panic!("a table")
    };
    assert_eq!(rows.len(), 16);
    assert_eq!(sim.digest(0), before, "a request changes nothing");
}

#[test]
fn frozen_layers_keep_their_weights_and_edits_take_effect() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 2);
    let act = |sim: &mut dyn Simulation, name: &str, elements: &[u32]| {
        sim.act(&Action { name: name.into(), elements: elements.to_vec(), ..Action::default() })
    };
    act(&mut *sim, "freeze", &[1, 3]).expect("it acts");
    assert!(act(&mut *sim, "freeze", &[4]).is_err() && act(&mut *sim, "split", &[0]).is_err());
    let weights = |sim: &mut dyn Simulation, name: &str| -> Vec<f32> {
        sim.save().expect("it saves").read(name, &[16, 16]).expect("a section")
    };
    let names = ["wq0", "wq1"];
    let before = names.map(|name| weights(&mut *sim, name));
    advance(&mut *sim, 2);
    let after = names.map(|name| weights(&mut *sim, name));
    assert!(before[0] == after[0] && before[1] != after[1]);
    sim.tap(&[Tap::of(probes::FROZEN)]).expect("it is tapped");
    assert_eq!(field(&frame(&mut *sim), probes::FROZEN), [0.0, 1.0, 0.0, 1.0]);
    let set = |sim: &mut dyn Simulation, text: &str| {
        let change = path::parse(sim.params().expect("parameters"), text).expect("a parameter");
        sim.set(&change).expect("it is set")
    };
    assert_eq!(set(&mut *sim, "strategy.learning_rate=0.5"), Effect::Applied);
    for rebuilt in ["strategy.population=64", "strategy.update=Adam", "model.width=32"] {
        assert_eq!(set(&mut *sim, rebuilt), Effect::NeedsRebuild, "{rebuilt}");
    }
}

#[test]
fn damaged_states_are_refused_and_change_nothing() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 3);
    let (saved, digest) = (sim.save().expect("a state"), sim.digest(0));
    let mut other = start(&model(&["model.width=32"]));
    assert!(other.load(&saved).unwrap_err().to_string().contains("emb"), "another shape");
    let mut without = start(&model(&["strategy.update=Adam"]));
    assert!(without.load(&saved).unwrap_err().to_string().contains("first_moment"), "no moments");
    let mut broken = saved.clone();
    broken.sections.retain(|section| section.name != "mean_squares");
    assert!(sim.load(&broken).unwrap_err().to_string().contains("mean_squares"));
    assert_eq!(sim.digest(0), digest);
    sim.load(&saved).expect("it is loaded");
}

#[test]
fn presets_are_models_of_their_published_sizes() {
    let sizes: Vec<usize> = presets::PRESETS
        .iter()
        .map(|preset| {
            let mut params = Params::default();
            settings::set(&mut params, preset.set);
            Network::new(&params, 256).expect("a model").sizes.parameters()
        })
        .collect();
    assert_eq!(sizes[3..], [7_932_164, 7_932_164], "P1 and P2");
    let course = |name: &str, generation| {
        let preset = presets::PRESETS.iter().find(|preset| preset.name.contains(name)).expect("a preset");
        let mut params = Params::default();
        settings::set(&mut params, preset.set);
        params.strategy.course(generation)
    };
    assert_eq!([0, 8, 18].map(|generation| course("P2", generation).pairs), [512, 768, 1024]);
    let exponential = |first: f64, last, at| {
        Schedule { form: neuropil::kinds::evolution::choices::Form::Exponential, first, last }.at(at, 50) as f32
    };
    let p1 = course("(P1)", 20);
    assert_eq!((p1.rate, p1.threshold, p1.shift), (exponential(0.3, 0.05, 20), exponential(0.05, 0.01, 20), 3));
}

#[test]
fn models_that_do_not_fit_are_named() {
    for (set, why) in [
        ("data.weights=nowhere.safetensors", "nowhere.safetensors"),
        ("data.tokenizer=Bpe", "data.tokenizer_file is empty"),
        ("measure.prompt=§", "the prompt: the character `§` is not in the vocabulary"),
    ] {
        let error = start_on(&model(&[set]), 1).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{set}: {error}");
    }
}
