//! The plot of a loss: train and held-out together, logarithmic axis, units, tokens, the whole run, values on hover.

use crate::support::{stage::Stage, window};
use egui::{Modifiers, pos2};
use egui_kittest::kittest::Queryable as _;
use neuropil::{
    app::{
        Start,
        document::command::UiCommand,
        views::{ViewRequest, by_name},
    },
    engine::SimSchema,
    project::{self, Project},
    sim::{Clock, Frame, Level, LevelUse, ProbeSpec, Reading, Series, Shape, TimeBase},
};
use neuropil_test_support::temp::TempFolder;
use std::path::Path;
use window::{Window, is_built, open, start, until};

const fn probe(name: &'static str, title: &'static str, unit: &'static str) -> ProbeSpec {
    ProbeSpec { name, title, docs: "Made up for this test.", unit, shape: Shape::Series { of: "" }, args: &[] }
}

const PROBES: &[ProbeSpec] = &[
    probe("loss", "Training loss", "nat"),
    probe("held_out", "Held-out loss", "nat"),
    probe("learning_rate", "Learning rate", ""),
];

/// Steps after which the loss is half.
const HALF: f64 = 500.0;
const STEPS: u64 = 2_000;
const TOKENS: f64 = 512.0;

fn schema() -> SimSchema {
    let tokens = Level::factor(LevelUse::ItemsPerStep, "tokens", TOKENS);
    let loss = vec![
        Level::new("uniform", 5.5),
        Level::new("unigram", 2.0),
        Level::factor(LevelUse::Factor, "bits per byte", 2.0),
        Level::factor(LevelUse::Exponent, "perplexity", 1.0),
        tokens.clone(),
    ];
    SimSchema {
        probes: PROBES,
        lanes: vec![vec![]; 3],
        levels: vec![loss.clone(), loss, vec![tokens]],
        ..SimSchema::default()
    }
}

fn loss(step: u64) -> f32 {
    (4.0 * 0.5_f64.powf(step as f64 / HALF)) as f32
}

/// A run of 2,000 steps: the loss halves every 500 steps, and the held-out loss is 10 % higher.
fn stage() -> Stage {
    let mut stage = Stage::new("rates", schema(), (1500.0, 480.0)).headless();
    stage.run(2);
    // As the engine does before the first step.
    stage.absorb(Frame { clock: Clock { step: 0, base: TimeBase::STEPS }, epoch: 1, ..Frame::default() });
    for from in (0..STEPS).step_by(100) {
        let steps: Vec<u64> = (from + 5..=from + 100).step_by(5).collect();
        let series = |steps: Vec<u64>, factor: f32| {
            let values = steps.iter().map(|step| factor * loss(*step)).collect();
            Reading::Series(Series { elements: vec![], lanes: 1, steps, values })
        };
        let readings = vec![(0.into(), series(steps, 1.0)), (1.into(), series(vec![from + 100], 1.1))];
        let clock = Clock { step: from + 100, base: TimeBase::STEPS };
        stage.absorb(Frame { clock, readings, epoch: 1, ran_secs: from as f64 * 0.01 + 1.0, ..Frame::default() });
        stage.run(1);
    }
    stage.pause();
    stage.settle();
    stage
}

fn has(stage: &mut Stage, text: &str) -> bool {
    stage.painted_texts().iter().any(|painted| painted == text)
}

/// Both losses have one unit and the same reference values, so they share a chart and an axis; the whole run is shown.
#[test]
fn train_and_held_out_share_a_chart_of_the_whole_run() {
    let mut stage = stage();
    assert!(has(&mut stage, "Loss (nat)"), "{:?}", stage.painted_texts());
    for name in ["Training loss", "Held-out loss"] {
        assert!(stage.painted_texts().iter().filter(|text| *text == name).count() >= 1, "{name}");
    }
    let uniform = stage.painted_texts().iter().filter(|text| *text == "uniform").count();
    assert_eq!(uniform, 1, "one chart has one line of each name");
    assert!(stage.says("window 2,000 steps"), "the whole run: {}", stage.caption());
    assert_eq!(stage.times(), (1_000.0, 2_000.0), "the shared axis shows its own times");
    stage.wheel(pos2(770.0, 200.0), 200.0, Modifiers::NONE);
    assert!(!stage.says("window 2,000 steps"), "zoomed");
    stage.double_click(pos2(770.0, 200.0));
    stage.settle();
    assert!(stage.says("window 2,000 steps"), "a double-click shows the whole run again");
    stage.press("Whole run");
    stage.settle();
    assert!(stage.says("window 1,000 steps"), "as the other views");
}

#[test]
fn the_vertical_axis_is_logarithmic() {
    let mut stage = stage();
    assert!(has(&mut stage, "0") && !has(&mut stage, "0.5"), "linear from 0: {:?}", stage.painted_texts());
    stage.press("Log");
    stage.settle();
    for tick in ["0.5", "1", "2", "5"] {
        assert!(has(&mut stage, tick), "{tick} in {:?}", stage.painted_texts());
    }
    assert!(stage.says("logarithmic"));
}

#[test]
fn the_horizontal_axis_counts_tokens_or_time() {
    let mut stage = stage();
    assert!(has(&mut stage, "steps"));
    stage.choose("Axis", "tokens");
    stage.settle();
    assert!(has(&mut stage, "M tokens") && has(&mut stage, "0.4"), "{:?}", stage.painted_texts());
    stage.choose("Axis", "wall time");
    stage.settle();
    assert!(has(&mut stage, "wall time (s)"), "{:?}", stage.painted_texts());
}

/// Halfway, at step 1,000, the loss is 1 nat: e perplexity and two bits per byte.
#[test]
fn units_apply_to_curves_levels_and_saved_tables() {
    let mut stage = stage();
    for (unit, title, unigram, at_1000) in [
        ("perplexity", "Loss (perplexity)", "7.389", 1.0_f64.exp()),
        ("bits per byte", "Loss (bits per byte)", "4", 2.0),
    ] {
        stage.choose("Unit", unit);
        stage.settle();
        assert!(has(&mut stage, title), "{:?}", stage.painted_texts());
        hover(&mut stage);
        let texts = stage.painted_texts();
        assert!(texts.iter().any(|text| text == unigram), "the level in {unit}: {texts:?}");
        stage.press("Save CSV…");
        let saved = stage.requests().into_iter().find_map(|request| match request {
            ViewRequest::SaveText { text, .. } => Some(text),
            _ => None,
        });
        let saved = saved.expect("a table");
        let head: Vec<&str> = saved.lines().next().expect("a head").split(',').collect();
        let column = format!("Training loss ({unit})");
        assert_eq!(head[..4], ["step", "tokens", "wall_time_s", column.as_str()], "{head:?}");
        let row = saved.lines().find(|line| line.starts_with("1000,")).expect("step 1,000");
        let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(cells[1], 1_000.0 * TOKENS);
        assert!((cells[3] - at_1000).abs() < 1e-6, "{row}");
    }
}

/// Moves the pointer to the middle of the chart, until the tooltip is shown.
fn hover(stage: &mut Stage) {
    stage.wheel_once(pos2(770.0, 200.0), 0.0, Modifiers::NONE);
    stage.run(60);
}

#[test]
fn values_of_series_and_levels_are_shown_on_hover() {
    let mut stage = stage();
    assert!(!has(&mut stage, "5.5"), "not before");
    hover(&mut stage);
    let texts = stage.painted_texts();
    for name in ["Training loss", "Held-out loss", "uniform", "unigram", "5.5", "2"] {
        assert!(texts.iter().any(|text| text == name), "{name} in {texts:?}");
    }
    assert!(texts.iter().any(|text| text.ends_with(" steps") && text.len() < 14), "the step: {texts:?}");
}

#[test]
fn the_choice_survives_in_the_layout() {
    let mut view = by_name("rates").expect("a view");
    assert_eq!(view.choice(), None);
    let text = "x=items;unit=bits per byte;log=1;whole=0;smooth=30;shown=held_out,loss";
    view.choose(&schema(), text);
    assert_eq!(view.choice().as_deref(), Some(text));
    view.choose(&schema(), "of=another version");
    assert_eq!(view.choice(), None);
    let mut compare = by_name("compare").expect("a view");
    compare.choose(&schema(), "x=wall;unit=perplexity;log=1");
    assert_eq!(compare.choice().as_deref(), Some("x=wall;unit=perplexity;log=1"));
}

/// The run bar shows the size of a model in training and, while it runs, its speed.
#[test]
fn the_run_bar_shows_parameters_and_tokens_per_second() {
    let folder = TempFolder::new("training-facts");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/nano.ron");
    let mut project: Project = project::open(&source).expect("the example").0;
    for text in ["data.grammar_bytes=20000", "model.layers=1", "run.device=Cpu", "run.threads=1", "run.steps=100000"] {
        project.set(text, &folder).expect(text);
    }
    let file = folder.join("nano.ron");
    project::save(&project, &file).expect("saved");
    let mut w = open(Start { path: Some(file), project: None, builder: None, ..start(true) });
    until(&mut w, "it is built", is_built);
    let says = |w: &Window, text: &str| w.query_all_by_label_contains(text).next().is_some();
    until(&mut w, "its size is shown", |w| says(w, "k parameters"));
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "its speed is shown", |w| says(w, "tokens/s"));
    until(&mut w, "the remaining time is shown", |w| says(w, " left"));
}
