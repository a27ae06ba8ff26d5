//! The demonstration kind in the window: growing sets, tokens, texts, histograms and matrices, without a word about it in
//! the program. Pictures are written when `NEUROPIL_SHOTS` names a folder.

use crate::support::{
    harness::{Window, can_draw},
    window::{is_built, until},
};
use egui_kittest::{Harness, kittest::Queryable as _};
use neuropil::{
    app::{
        Start, create,
        document::{command::UiCommand, settings::Theme},
        views,
    },
    kinds::Model,
    params::path,
    project::Project,
    sim::{Device, Reading},
};
use neuropil_test_support::temp::TempFolder;
use std::{path::PathBuf, sync::Arc};

fn project() -> Project {
    let mut model = Model::by_name("demo").expect("compiled with the feature");
    let params = model.params_mut();
    for text in ["experts.weights_mib=1", "growth.split_every=2000", "measure.text_every=1000"] {
        let change = path::parse(params, text).expect("an assignment");
        assert!(params.set(&change));
    }
    Project { name: "Experts".into(), model, ..Project::default() }
}

fn open(theme: egui::Theme) -> Window {
    let start = Start {
        engine: true,
        project: Some(project()),
        native_dialogs: false,
        state_dir: None,
        builder: Some(Arc::new(|project: &Project, context, progress| {
            project.model.build(context, &Device::Cpu { threads: 1 }, progress)
        })),
        ..Start::default()
    };
    let builder = Harness::builder().with_size([1440.0, 900.0]).with_max_steps(30).with_theme(theme);
    builder.with_render_cursor(false).wgpu().build_eframe(move |cc| create(cc, start).expect("threads"))
}

#[test]
fn a_wrong_argument_of_a_probe_is_refused_before_there_is_a_run_folder() {
    let folder = TempFolder::new("wrong-probe");
    let file = folder.join("demo.ron");
    neuropil::project::save(&Project { record: vec!["weights:expert=99".into()], ..project() }, &file).expect("saved");
    let build = |project: &Project, context: &_, progress: &_| {
        project.model.build(context, &Device::Cpu { threads: 1 }, progress)
    };
    let mut w = crate::support::harness::open(Start {
        engine: true,
        path: Some(file),
        native_dialogs: false,
        state_dir: None,
        builder: Some(Arc::new(build)),
        ..Start::default()
    });
    until(&mut w, "it is loaded", is_built);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Record);
    until(&mut w, "it is refused", |w| w.state().messages().iter().any(|m| m.starts_with("Could not record")));
    let messages = w.state().messages().join(", ");
    assert!(messages.contains("there is no expert `99`"), "{messages}");
    assert!(!folder.join("runs").exists() && w.state().session().live.recording.is_none());
}

fn shot(w: &mut Window, name: &str) {
    let picture = w.render().expect("a picture");
    if let Some(folder) = std::env::var_os("NEUROPIL_SHOTS") {
        picture.save(PathBuf::from(folder).join(name)).expect("a writable folder");
    }
}

#[test]
fn the_window_follows_a_kind_that_grows() {
    if !can_draw() {
        return;
    }
    let mut w = open(egui::Theme::Dark);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "the simulation is ready", is_built);
    let offered = views::suggest(&w.state().session().live.schema);
    for view in ["matrix", "distribution", "tokens", "texts", "lineage", "raster", "rates", "table", "links", "brain"] {
        assert!(offered.contains(&view), "{view} is not offered: {offered:?}");
    }
    let ids = |w: &Window| w.state().session().live.schema.set("experts").expect("a set").ids.clone();
    let chosen = ids(&w)[0];
    w.state_mut().session_mut().selection.replace("experts", vec![0]);
    until(&mut w, "the set has grown", |w| w.state().session().live.clock.step >= 9_000 && ids(w).len() >= 6);
    w.run_steps(2);
    let now = ids(&w);
    let selected = w.state().session().selection.of("experts").iter().map(|e| now[*e as usize]);
    assert!(selected.clone().all(|id| id == chosen), "the selection follows ids: {:?}", selected.collect::<Vec<_>>());
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    draw_views(&mut w, "dark");
    w.state_mut().command(&ctx, UiCommand::Theme(Theme::Light));
    w.run_steps(2);
    draw_views(&mut w, "light");
}

/// Every view with data, in each way to draw it.
fn draw_views(w: &mut Window, name: &str) {
    let ctx = w.ctx.clone();
    for view in [
        "matrix",
        "distribution",
        "tokens",
        "texts",
        "lineage",
        "raster",
        "rates",
        "table",
        "bands",
        "lanes",
        "links",
        "brain",
    ] {
        if views::by_name(view).is_some() {
            w.state_mut().command(&ctx, UiCommand::ShowView(view));
            w.run_steps(8);
            shot(w, &format!("demo-{view}-{name}.png"));
        }
        // The other way to draw it.
        let other = match view {
            "matrix" => "Lines",
            "distribution" => "Ridges",
            "links" => "List",
            "lineage" => "List",
            _ => continue,
        };
        w.get_by_label(other).click_accesskit();
        w.run_steps(8);
        shot(w, &format!("demo-{view}-{}-{name}.png", other.to_lowercase()));
    }
}

#[test]
fn readings_of_two_arguments_stand_side_by_side() {
    let Project { model, .. } = project();
    let (context, progress) = (Default::default(), Default::default());
    let mut sim = model.build(&context, &Device::Cpu { threads: 1 }, &progress).expect("it is built");
    let probe = sim.probes().iter().position(|p| p.name == "predicted").expect("a matrix");
    let args = |text: &str| neuropil::sim::TapArgs::parse(text, sim.probes()[probe].args).expect("declared");
    let taps = ["expert=0", "expert=1", ""].map(|text| neuropil::sim::Tap::with(probe as u16, args(text)));
    sim.tap(&taps).expect("tapped");
    sim.advance(1_500, &mut Default::default()).expect("it runs");
    let mut frame = neuropil::sim::Frame::default();
    sim.sample(&mut frame).expect("sampled");
    let values = |tap: &neuropil::sim::Tap| match frame.reading(tap.key()) {
        Some(Reading::Matrix(matrix)) => matrix.values.clone(),
        other => panic!("{other:?}"),
    };
    let [a, b, all] = taps.each_ref().map(values);
    assert!(a != b && a != all && a.len() == 27 * 27, "each expert has learnt other rows");
}

/// The loader reads a file while the old one is in use; the engine replaces the data between two steps.
#[test]
fn a_text_is_replaced_while_it_is_read() {
    if !can_draw() {
        return;
    }
    let folder = TempFolder::new("window-text");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("written");
        folder.join(name).display().to_string()
    };
    let (good, bad) = (file("good.txt", "abc abd"), file("bad.txt", "a\nb1"));
    let mut w = open(egui::Theme::Dark);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 0);
    let set = |w: &mut Window, text: &str| {
        let params = w.state_mut().session_mut().project.model.params_mut();
        let change = path::parse(params, &format!("source.text={text}")).expect("a path");
        assert!(params.set(&change));
        change.id
    };
    let id = set(&mut w, &bad);
    until(&mut w, "the file is refused", |w| w.state().session().live.rejection(id).is_some());
    let why = w.state().session().live.rejection(id).expect("refused").why.clone();
    assert!(why.contains("line 2, column 2: `1` is neither a letter nor a space"), "{why}");
    assert!(w.state().session().live.running, "the old data stay in use");
    set(&mut w, &good);
    until(&mut w, "the file is in use", |w| {
        let live = &w.state().session().live;
        live.accepted_model().is_some_and(|model| {
            path::parse(model.params(), &format!("source.text={good}"))
                .is_ok_and(|change| model.params().get(change.id) == change.value)
        })
    });
    assert!(w.state().session().live.rejection(id).is_none() && w.state().session().live.data_progress().is_none());
}

#[test]
fn requests_are_opened_from_the_palette_and_asked() {
    if !can_draw() {
        return;
    }
    let mut w = open(egui::Theme::Dark);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Rebuild);
    until(&mut w, "the simulation is ready", is_built);
    // Asked for twice, the window stays open; the keyboard is at the request.
    for (query, field) in [("sample…", "sample.prompt"), ("score…", "score.text"), ("score…", "score.text")] {
        w.state_mut().command(&ctx, UiCommand::Palette);
        w.run_steps(3);
        w.get_by_label("Palette").type_text(query);
        w.run_steps(3);
        w.key_press(egui::Key::Enter);
        w.run_steps(4);
        assert!(w.get_by_label(field).is_focused(), "{query}");
    }
    w.get_by_label("Score").click();
    until(&mut w, "it is answered", |w| w.query_by_label("No rows: Text is empty. Enter it and ask again").is_some());
    w.get_by_label("score.text").focus();
    w.run_steps(2);
    w.get_by_label("score.text").type_text("abc");
    w.run_steps(2);
    w.get_by_label("Score").click();
    until(&mut w, "a table is answered", |w| w.query_all_by_label_contains("mean").next().is_some());
    assert!(w.query_by_label_contains("per symbol (3 symbols)").is_some(), "the sum has a mean");
    // Enter begins another line of the text.
    w.get_by_label("score.text").focus();
    w.run_steps(2);
    w.key_press(egui::Key::Enter);
    w.get_by_label("score.text").type_text("de");
    w.run_steps(2);
    assert_eq!(w.get_by_label("score.text").value().as_deref(), Some("abc\nde"));
}
