//! The simulation: requests, actions, data that change, curves with their levels.

use super::small;
use neuropil::{
    gpu::Pass,
    kinds::{
        Model,
        transformer::{GemmException, GemmMethod, LayerProduct, LinearLayer, Params, probes},
    },
    params::{Change, ParamId, Params as _, Value, path},
    project::{self, load_data},
    sim::{
        Action, Answer, BuildContext, Device, Effect, Frame, Progress, Reading, Request, SimError, Simulation, Tap,
        TapArgs,
    },
};
use neuropil_test_support::temp::TempFolder;

const SMALL: &[&str] = &[
    "model.layers=2",
    "model.heads=2",
    "model.width=32",
    "model.context=32",
    "training.batch=8",
    "training.learning_rate=0.01",
    "training.warm_up=5",
    "data.grammar_bytes=20000",
    "measure.every=2",
    "measure.held_out_every=10",
    "measure.sample_every=10",
    "measure.length=24",
];

fn model(set: &[&str]) -> Model {
    let params: Params = small::params(&[SMALL, set].concat());
    Model::Transformer(Box::new(params))
}

fn start(model: &Model) -> Box<dyn Simulation> {
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    model.build(&context, &Device::Cpu { threads: 2 }, &Progress::default()).expect("it is built")
}

fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

fn frame(sim: &mut dyn Simulation) -> Frame {
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("it is sampled");
    frame
}

fn request(name: &str, set: &[(usize, Value)]) -> Request {
    let specs = Model::by_name("transformer").expect("a kind").requests();
    let mut request = specs.iter().find(|spec| spec.name == name).expect("a request").request(vec![]);
    set.iter().for_each(|(i, value)| request.values[*i] = value.clone());
    request
}

fn series(frame: &Frame, probe: u16) -> (Vec<u64>, Vec<f32>) {
    let Some(Reading::Series(series)) = frame.reading(probe) else { panic!("a series") };
    (series.steps.clone(), series.values.clone())
}

/// Implementations by call site: none in older files; a running simulation is rebuilt for each change of the list.
#[test]
fn exceptions_of_multiplications_are_read_and_edited() {
    let text = include_str!("../../../projects/chars.ron");
    let parsed = |text: &str| -> Box<Params> {
        let (project, warnings) = project::read(text).expect("a project");
        assert!(warnings.is_empty(), "{warnings:?}");
        match project.model {
            Model::Transformer(params) => params,
            _ => panic!("a transformer"),
        }
    };
    assert!(parsed(text).gemm_exceptions.is_empty());
    let list = "gemm_exceptions: [(layer: Head, product: Forward, gemm: Simt), (layer: MlpUp)],\n        compute: (";
    let with = parsed(&text.replace("compute: (", list));
    let item = |layer, product, gemm| GemmException { layer, product, gemm };
    let head = item(LinearLayer::Head, LayerProduct::Forward, GemmMethod::Simt);
    let up = item(LinearLayer::MlpUp, LayerProduct::All, GemmMethod::Auto);
    assert_eq!(with.gemm_exceptions, [head.clone(), up.clone()]);

    let Model::Transformer(mut params) = model(&[]) else { panic!("a transformer") };
    params.gemm_exceptions = vec![GemmException::default()];
    let mut sim = start(&Model::Transformer(params.clone()));
    let group = params.groups().iter().position(|g| g.name == "gemm_exceptions").expect("a list");
    let mut set = |items: &[&GemmException]| {
        params.gemm_exceptions = items.iter().map(|item| (*item).clone()).collect();
        let id = ParamId::list(group);
        sim.set(&Change { id, value: params.get(id) }).expect("it fits")
    };
    let default = GemmException::default();
    assert_eq!(set(&[&default]), Effect::Applied, "the same");
    for items in [&[][..], &[&default, &default], &[&head], &[&head, &up]] {
        assert_eq!(set(items), Effect::NeedsRebuild, "{items:?}");
    }
}

#[test]
fn it_learns_a_grammar_and_shows_it() {
    let mut sim = start(&model(&[]));
    let all: Vec<Tap> = (0..sim.probes().len() as u16).map(Tap::of).collect();
    sim.tap(&all).expect("it is tapped");
    advance(&mut *sim, 60);
    let shown = frame(&mut *sim);
    let (steps, losses) = series(&shown, probes::LOSS);
    assert_eq!(steps, (1..=30).map(|i| 2 * i).collect::<Vec<u64>>());
    let levels = sim.levels(probes::LOSS);
    let level = |name: &str| levels.iter().find(|level| level.name.contains(name)).expect("a level").value as f32;
    assert!((losses[0] - level("uniform")).abs() < 0.3 && losses[29] < level("unigram"), "{losses:?} {levels:?}");
    let (steps, held_out) = series(&shown, probes::HELD_OUT);
    assert!(steps == [10, 20, 30, 40, 50, 60] && held_out[5] < held_out[0] && held_out[5] > level("entropy"));
    let Some(Reading::Samples(texts)) = shown.reading(probes::SAMPLES) else { panic!("texts") };
    assert_eq!((texts.len(), texts[5].step), (6, 60));
    assert!(texts[0].title.starts_with("step 10, temperature 0.8"), "{:?}", texts[0]);
    let Some(Reading::Tokens(tokens)) = shown.reading(probes::TOKENS) else { panic!("tokens") };
    assert_eq!((tokens.texts.len(), tokens.values.len(), tokens.candidates.len()), (25, 25, 25));
    assert!(tokens.values[0].is_nan() && tokens.values[1..].iter().all(|loss| *loss >= 0.0));
    let Some(Reading::Matrix(map)) = shown.reading(probes::ATTENTION) else { panic!("a matrix") };
    assert_eq!((map.rows.len, map.values.len()), (25, 625));
    for (i, row) in map.values.chunks(25).enumerate() {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5 && row[i + 1..].iter().all(|p| *p == 0.0), "row {i}");
    }
    let Some(Reading::Histogram(weights)) = shown.reading(probes::WEIGHTS) else { panic!("a histogram") };
    assert_eq!((weights.steps.len(), weights.counts[..weights.n_bins()].iter().sum::<f32>()), (6, 256.0 * 32.0));
    let Some(Reading::Field(updates)) = shown.reading(probes::LAYER_UPDATE) else { panic!("a field") };
    assert!(updates.len() == 4 && updates.iter().all(|u| *u > 0.0 && *u < 1.0), "{updates:?}");
    let Some(Reading::Field(tensors)) = shown.reading(probes::TENSOR_RMS) else { panic!("a field") };
    assert_eq!(tensors.len() as u32, sim.sets()[1].len);
}

#[test]
fn arguments_of_probes_are_checked() {
    let mut sim = start(&model(&[]));
    let specs = sim.probes();
    let mut tap = |probe: u16, args: &str| {
        let args = TapArgs::parse(args, specs[usize::from(probe)].args).expect("declared");
        sim.tap(&[Tap { args, ..Tap::of(probe) }]).map_err(|error| error.to_string())
    };
    assert_eq!(tap(probes::ATTENTION, "layer=1,head=1"), Ok(()));
    assert_eq!(tap(probes::ATTENTION, "layer=2").unwrap_err(), "there is no layer `2`: the model has 2, from 0");
    assert!(tap(probes::WEIGHTS, "tensor=h.1.mlp.fc.weight").is_ok() && tap(probes::WEIGHTS, "tensor=x").is_err());
    assert!(tap(probes::ACTIVATIONS, "layer=1,site=hidden layer").is_ok());
    assert!(tap(probes::ACTIVATIONS, "site=nowhere").unwrap_err().contains("hidden layer"));
}

#[test]
fn texts_are_written_and_scored_on_request() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 30);
    let before = sim.digest(0);
    let ask = |sim: &mut dyn Simulation, request: &Request| sim.ask(request, &Progress::default());
    let prompt = |length: i64, seed: i64| {
        request("sample", &[(0, Value::Text("once a".into())), (1, Value::Int(length)), (5, Value::Int(seed))])
    };
    let mut text = |request: &Request| match ask(&mut *sim, request) {
        Ok(Answer::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    // Longer than the context, and the same each time.
    let long = text(&prompt(80, 1));
    assert!(long.starts_with("once a") && long == text(&prompt(80, 1)) && long != text(&prompt(80, 2)), "{long}");
    assert!(long.starts_with(&text(&prompt(20, 1))), "a longer text continues a shorter one");
    let scored = "the fox sleeps by the river and waits for the hare in the garden. ";
    let Ok(Answer::Table(columns, rows)) = ask(&mut *sim, &request("score", &[(0, Value::Text(scored.into()))])) else {
        panic!("a table")
    };
    assert_eq!((columns[0], rows.len(), rows[1][0].text()), ("token", scored.len(), "h".to_owned()));
    assert!(matches!(ask(&mut *sim, &request("score", &[])), Ok(Answer::Table(_, rows)) if rows.is_empty()));
    let cancelled = Progress::default();
    cancelled.cancel();
    assert!(matches!(sim.ask(&prompt(80, 1), &cancelled), Err(SimError::Cancelled)));
    assert_eq!(sim.digest(0), before, "a request changes nothing");
}

#[test]
fn frozen_layers_keep_their_weights() {
    let mut sim = start(&model(&[]));
    advance(&mut *sim, 2);
    let act = |sim: &mut dyn Simulation, name: &str, elements: &[u32]| {
        sim.act(&Action { name: name.into(), elements: elements.to_vec(), ..Action::default() })
    };
    act(&mut *sim, "freeze", &[0, 2]).expect("it acts");
    assert!(act(&mut *sim, "freeze", &[4]).is_err() && act(&mut *sim, "freeze", &[]).is_err());
    let weights = |sim: &mut dyn Simulation, name: &str| -> Vec<f32> {
        sim.save().expect("it saves").read_list(name).or_else(|_| sim.save()?.read(name, &[96, 32])).expect("a section")
    };
    let names = ["h.0.attn.qkv.weight", "h.1.attn.qkv.weight", "first_moment/h.1.attn.qkv.weight"];
    let before = names.map(|name| weights(&mut *sim, name));
    advance(&mut *sim, 2);
    let after = names.map(|name| weights(&mut *sim, name));
    assert!(before[0] != after[0] && before[1] == after[1] && before[2] == after[2]);
    act(&mut *sim, "unfreeze", &[2]).expect("it acts");
    advance(&mut *sim, 1);
    assert_ne!(weights(&mut *sim, names[1]), before[1]);
    sim.tap(&[Tap::of(probes::FROZEN), Tap::of(probes::SAMPLES)]).expect("it is tapped");
    assert_eq!(frame(&mut *sim).reading(probes::FROZEN), Some(&Reading::field(vec![1.0, 0.0, 0.0, 0.0])));
    act(&mut *sim, "sample_now", &[]).expect("it acts");
    let shown = frame(&mut *sim);
    let Some(Reading::Samples(texts)) = shown.reading(probes::SAMPLES) else { panic!("texts") };
    assert_eq!((texts.len(), texts[0].step), (1, 5));
}

#[test]
fn the_text_changes_while_it_trains() {
    let model = model(&[]);
    let mut sim = start(&model);
    advance(&mut *sim, 3);
    let floor = |sim: &dyn Simulation| sim.levels(probes::LOSS).iter().map(|level| level.value).fold(9.0, f64::min);
    let (before, generation) = (floor(&*sim), sim.generation());
    let temp = TempFolder::new("text");
    let file = temp.join("text.txt");
    std::fs::write(&file, "Other words in another text, again and again. ".repeat(400) + "\n").expect("a file");
    let change = |text: &str| path::parse(model.params(), text).expect("a parameter");
    let mut replace = |change: Change| -> Result<Effect, SimError> {
        let data = load_data(&model, &BuildContext::default(), &change, &Progress::default())?;
        sim.replace(&data)
    };
    assert_eq!(replace(change("data.grammar=Harbour")).expect("it is read"), Effect::Applied);
    assert_eq!(replace(change(&format!("data.text={}", file.display()))).expect("it is read"), Effect::Applied);
    assert!(replace(change("data.text=nowhere.txt")).unwrap_err().to_string().contains("nowhere.txt"));
    assert_ne!((floor(&*sim), sim.generation()), (before, generation));
    advance(&mut *sim, 2);
    assert_eq!(sim.clock().step, 5);
}

/// Texts that follow one another are a function of the step: a run that is interrupted, saved or shown reads the same ones.
#[test]
fn languages_change_on_schedule() {
    let model = model(&["data.languages=3", "data.text_steps=20", "measure.sample_every=0"]);
    let mut whole = start(&model);
    advance(&mut *whole, 50);
    let mut shown = start(&model);
    let floors = |sim: &dyn Simulation| sim.levels(probes::HELD_OUT);
    let (first, generation) = (floors(&*shown), shown.generation());
    let mut pass = Pass::default();
    pass.ends_at_changes = true;
    shown.advance(50, &mut pass).expect("it runs");
    assert_eq!(shown.clock().step, 20, "before the first step with the next text");
    assert!(shown.generation() > generation && floors(&*shown) != first);
    let saved = shown.save().expect("a state");
    let mut resumed = start(&model);
    resumed.load(&saved).expect("it is loaded");
    advance(&mut *resumed, 30);
    assert_eq!(resumed.digest(0), whole.digest(0));
    assert_eq!(floors(&*resumed), floors(&*whole));
    let mut one = start(&self::model(&["measure.sample_every=0"]));
    advance(&mut *one, 20);
    let mut three = start(&model);
    advance(&mut *three, 20);
    assert_eq!(one.digest(0), three.digest(0), "the first text is that of one language");
}

#[test]
fn models_and_texts_that_do_not_fit_are_named() {
    let build = |set: &[&str]| {
        let context = BuildContext { seed: 1, ..BuildContext::default() };
        model(set)
            .build(&context, &Device::Cpu { threads: 1 }, &Progress::default())
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    for (set, why) in [
        (&["model.width=33"][..], "model.width (33) must be a multiple of model.heads (2)"),
        (&["model.context=40000"], "sequences of 40000 need at least"),
        (&["data.tokenizer=Chars", "measure.prompt=§"], "the prompt: the character `§` is not in the vocabulary"),
        (&["data.tokenizer=Bpe"], "data.tokenizer_file is empty"),
        (&["data.text=nowhere.txt"], "nowhere.txt"),
        (&["data.weights=nowhere.safetensors"], "nowhere.safetensors"),
    ] {
        let error = build(set);
        assert!(error.contains(why), "{set:?}: {error}");
    }
    let mut sim = start(&model(&["data.tokenizer=Chars"]));
    let params = sim.params().expect("parameters");
    let change = path::parse(params, "measure.prompt=§").expect("a parameter");
    assert!(sim.set(&change).unwrap_err().to_string().contains("the prompt"));
}

#[test]
fn a_learning_rate_that_is_too_high_is_reported() {
    let mut sim = start(&model(&["training.learning_rate=100", "training.clip=0", "training.warm_up=0"]));
    let error = (0..50).find_map(|_| sim.advance(1, &mut Pass::default()).err()).expect("it diverges");
    assert!(matches!(error, SimError::Diverged(_)) && error.to_string().contains("training.learning_rate"), "{error}");
    sim.rewind().expect("it rewinds");
    advance(&mut *sim, 1);
}

/// Checkpoint modes keep every bit, on the CPU because it keeps everything.
#[test]
fn checkpointing_changes_no_bit() {
    let run = |mode: &str| {
        let mut sim = start(&model(&[&format!("compute.checkpointing={mode}")]));
        advance(&mut *sim, 3);
        sim.digest(0)
    };
    let want = run("Nothing");
    for mode in ["Activation", "Norms", "Blocks"] {
        assert_eq!(run(mode), want);
    }
}
