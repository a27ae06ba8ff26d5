//! Screenshots of the window with bundled projects and the real engine. Pictures are written when
//! `NEUROPIL_SCREENSHOTS` names a folder.

use crate::support::harness;
use egui_kittest::{Harness, kittest::Queryable};
use harness::{Window, is_built, until};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use neuropil::app::{
    Start, create,
    document::{command::UiCommand, settings::Theme},
};
use neuropil_test_support::{Need, skip, temp::TempFolder};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

type Picture = image::RgbaImage;

/// Simulated seconds before the picture is taken: enough for every view to show something, more where pictures are kept.
fn simulated_secs() -> f64 {
    if keeps_pictures() { 1.5 } else { 0.3 }
}

/// Whether `NEUROPIL_SCREENSHOTS` names a folder.
fn keeps_pictures() -> bool {
    std::env::var_os("NEUROPIL_SCREENSHOTS").is_some()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shoot(w: &mut Window, name: &str) -> Option<Picture> {
    w.run_steps(3);
    let picture = match w.render() {
        Ok(picture) => picture,
        Err(e) => {
            skip(Need::Graphics, format!("pictures, because there is no graphics device: {e}"));
            return None;
        }
    };
    if let Some(folder) = std::env::var_os("NEUROPIL_SCREENSHOTS") {
        let folder = root().join(PathBuf::from(folder));
        std::fs::create_dir_all(&folder).expect("folder");
        let file = std::fs::File::create(folder.join(format!("{name}.png"))).expect("file");
        // Stored in the repository: opaque and compressed.
        let small = PngEncoder::new_with_quality(file, CompressionType::Best, FilterType::Adaptive);
        image::DynamicImage::from(picture.clone()).to_rgb8().write_with_encoder(small).expect("picture");
    }
    Some(picture)
}

/// Number of saturated pixels inside a node: neither background nor text.
fn saturated(w: &Window, picture: &Picture, label: &str) -> usize {
    let rect = w.get_by_label(label).rect();
    let inside = |x: u32, y: u32| rect.contains(egui::pos2(x as f32, y as f32));
    let vivid = |p: &image::Rgba<u8>| p.0[..3].iter().max().zip(p.0[..3].iter().min()).is_some_and(|(a, b)| a - b > 40);
    picture.enumerate_pixels().filter(|(x, y, p)| inside(*x, *y) && vivid(p)).count()
}

/// The window with a project, loaded.
fn window(project: &str, size: [f32; 2]) -> Window {
    let start = Start {
        path: Some(root().join("projects").join(project)),
        native_dialogs: false,
        state_dir: None,
        config_dir: None,
        ..Start::default()
    };
    let mut w: Window = Harness::builder()
        .with_size(size)
        .with_max_steps(30)
        .with_theme(egui::Theme::Dark)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| create(cc, start).expect("threads"));
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    w
}

/// Window sizes: a small laptop and a large screen.
const SIZES: [[f32; 2]; 2] = [[1280.0, 800.0], [1920.0, 1200.0]];

/// The question about a run that is not recorded, and a playback that can be continued, in both themes.
#[test]
fn unrecorded_runs_and_playbacks() {
    if !keeps_pictures() {
        return;
    }
    let folder = TempFolder::new("screens-unrecorded");
    let mut w = window("nuclei.ron", [1440.0, 900.0]);
    let ctx = w.ctx.clone();
    until(&mut w, "it is loaded", is_built);
    let live = &mut w.state_mut().session_mut().live;
    (live.safety.folder, live.safety.limit_bytes, live.safety.recomputable) =
        (Some(folder.join("state")), 256_000_000, Duration::ZERO);
    w.state_mut().command(&ctx, UiCommand::Rewind);
    w.step();
    w.state_mut().command(&ctx, UiCommand::StepMore);
    until(&mut w, "it has run", |w| {
        w.state().session().live.unrecorded().is_some() && !w.state().session().live.running
    });
    w.state_mut().command(&ctx, UiCommand::New("spiking"));
    for (theme, name) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        w.state_mut().command(&ctx, UiCommand::Theme(theme));
        w.run_steps(3);
        if shoot(&mut w, &format!("unrecorded-{name}")).is_none() {
            return;
        }
    }
}

/// All workspaces of every kind in both sizes and themes, for manual review:
/// `NEUROPIL_SCREENSHOTS=… cargo test --test window workspaces`.
#[test]
fn workspaces_of_every_kind() {
    if !keeps_pictures() {
        return;
    }
    for (project, set, n) in [("fly", "neurons", 4), ("balanced", "neurons", 4), ("nuclei", "nuclei", 12)] {
        let mut w = window(&format!("{project}.ron"), SIZES[1]);
        let ctx = w.ctx.clone();
        w.query_all_by_label("Run").next().expect("a button; empty views have one, too").click_accesskit();
        // Hidden views are not sampled: each page is shown for a while.
        for page in [2, 1, 0] {
            w.state_mut().command(&ctx, UiCommand::Workspace(page));
            let secs = w.state().session().live.clock.secs();
            let more = if project == "nuclei" { 130.0 } else { 0.5 };
            until(&mut w, "it runs", |w| w.state().session().live.clock.secs() > secs + more);
            if page == 2 && project == "fly" {
                select_some(&mut w);
            } else if page == 2 {
                w.state_mut().session_mut().selection.replace(set, (0..n).collect());
            }
        }
        w.query_all_by_label("Pause").next().expect("it runs").click_accesskit();
        until(&mut w, "it pauses", |w| !w.state().session().live.running);
        for page in 0..4 {
            w.state_mut().command(&ctx, UiCommand::Workspace(page));
            for (size, (theme, name)) in SIZES.iter().flat_map(|s| THEMES.map(|t| (s, t))) {
                w.set_size(egui::Vec2::from(*size));
                w.state_mut().command(&ctx, UiCommand::Theme(theme));
                let since = Instant::now();
                // Pool jobs finish.
                until(&mut w, "it is drawn", |_| since.elapsed() > Duration::from_millis(900));
                if shoot(&mut w, &format!("{project}-{page}-{}-{name}", size[0])).is_none() {
                    return;
                }
            }
        }
    }
}

/// Pictures of the example cards: project, view, label of its image, and simulated time.
const CARDS: [(&str, &str, &str, f64); 17] = [
    ("fly", "brain", "3D view", 0.3),
    ("fastfly", "brain", "3D view", 0.02),
    ("balanced", "raster", "Spike raster", 1.0),
    ("cuba", "graph_editor", "Network", 0.2),
    ("hpc-stdp", "raster", "Spike raster", 0.4),
    ("stdp-digits", "raster", "Spike raster", 3.0),
    ("taste", "raster", "Spike raster", 0.2),
    ("silence-each", "brain", "3D view", 0.1),
    ("nuclei", "circle", "Phase circle", 60.0),
    ("nuclei-large", "scatter", "Scatter", 3.0),
    ("population", "lineage", "Lineage", 120.0),
    ("soda", "brain", "3D view", 100.0),
    ("kuramoto", "circle", "Phase circle", 150.0),
    ("fields", "scatter", "Scatter", 100.0),
    ("nano", "rates", "Time series", 300.0),
    ("evolution-nano", "brain", "3D view", 20.0),
    ("chars", "matrix", "Attention map", 1.0),
];

/// Draws the example cards of the welcome page:
/// `NEUROPIL_SCREENSHOTS=assets/examples cargo test --test window cards`.
#[test]
fn cards() {
    if !keeps_pictures() {
        return;
    }
    for (project, view, picture, secs) in CARDS {
        let mut w = window(&format!("{project}.ron"), [700.0, 690.0]);
        let ctx = w.ctx.clone();
        // A window of this size hides its side panels.
        w.state_mut().command(&ctx, UiCommand::RunPause);
        until(&mut w, "it runs", |w| w.state().session().live.clock.step > 0);
        for command in [UiCommand::ShowView(view), UiCommand::Maximise] {
            w.state_mut().command(&ctx, command);
        }
        // A lineage starts when its view is first shown.
        let end = w.state().session().live.clock.secs() + secs;
        until(&mut w, "it has run", |w| w.state().session().live.clock.secs() >= end);
        w.state_mut().command(&ctx, UiCommand::RunPause);
        until(&mut w, "it pauses", |w| !w.state().session().live.running);
        let since = Instant::now();
        // Pool jobs finish.
        until(&mut w, "it is drawn", |_| since.elapsed() > Duration::from_millis(1500));
        let (Ok(all), Some(folder)) = (w.render(), std::env::var_os("NEUROPIL_SCREENSHOTS")) else { return };
        let area = w.query_all_by_label(picture).map(|n| n.rect()).max_by(|a, b| a.area().total_cmp(&b.area()));
        let area = area.expect("the picture of the view");
        let size = egui::vec2(area.width(), area.width() * 243.0 / 432.0).min(egui::vec2(f32::INFINITY, area.height()));
        let size = egui::vec2(size.y * 432.0 / 243.0, size.y);
        let part = egui::Rect::from_center_size(area.center(), size);
        let part = image::imageops::crop_imm(&all, part.left() as u32, part.top() as u32, size.x as u32, size.y as u32);
        let card = image::imageops::resize(&part.to_image(), 432, 243, image::imageops::FilterType::Lanczos3);
        let file = root().join(PathBuf::from(folder)).join(format!("{project}.png"));
        image::DynamicImage::from(card).to_rgb8().save(file).expect("picture");
    }
}

const THEMES: [(Theme, &str); 2] = [(Theme::Dark, "dark"), (Theme::Light, "light")];

#[test]
fn the_default_project_makes_a_picture() {
    let mut w = window("fly.ron", [1440.0, 900.0]);
    w.get_by_label("Run").click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    select_some(&mut w);
    until(&mut w, "it has run", |w| w.state().session().live.clock.secs() > simulated_secs());
    w.get_by_label("Pause").click_accesskit();
    until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
    for (theme, name) in THEMES {
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, UiCommand::Theme(theme));
        let Some(picture) = shoot(&mut w, &format!("workbench-{name}")) else { return };
        let brain = saturated(&w, &picture, "3D view");
        assert!(brain > 1_000, "the 3D view is blank in {name}: {brain} coloured pixels");
        let raster = saturated(&w, &picture, "Spike raster");
        assert!(raster > 200, "the raster is blank in {name}: {raster} coloured pixels");
    }
}

/// Selects six of the driven neurons.
fn select_some(w: &mut Window) {
    let session = w.state_mut().session_mut();
    let set = session.live.schema.set("neurons").expect("neurons").clone();
    let class = set.column("class").expect("classes");
    let driven = (0..set.len).filter(|e| class.label(*e) == "gustatory");
    session.selection.replace("neurons", driven.step_by(17).take(6).collect());
}
