//! The window as a newcomer sees it: the default project with the real engine, run, probed and photographed.
//! Pictures are written when `NEUROPIL_SCREENSHOTS` names a folder; they are looked at either way.

use egui_kittest::{Harness, kittest::Queryable};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use neuropil::app::{App, Start, commands::UiCommand, settings::Theme};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

type Window = Harness<'static, App>;
type Picture = image::RgbaImage;

/// Simulated seconds before the picture is taken.
const SIMULATED_SECS: f64 = 1.5;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn until(w: &mut Window, what: &str, mut holds: impl FnMut(&Window) -> bool) {
    let since = Instant::now();
    loop {
        w.step();
        if holds(w) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(120), "waited in vain until {what}: {:?}", w.state().messages());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn shoot(w: &mut Window, name: &str) -> Option<Picture> {
    w.run_steps(3);
    let picture = match w.render() {
        Ok(picture) => picture,
        Err(e) => {
            eprintln!("SKIPPED: pictures, because there is no graphics device: {e}");
            return None;
        }
    };
    if let Some(folder) = std::env::var_os("NEUROPIL_SCREENSHOTS") {
        let folder = root().join(PathBuf::from(folder));
        std::fs::create_dir_all(&folder).expect("folder");
        let file = std::fs::File::create(folder.join(format!("{name}.png"))).expect("file");
        // They are kept in the repository: opaque, and as small as PNG gets.
        let small = PngEncoder::new_with_quality(file, CompressionType::Best, FilterType::Adaptive);
        image::DynamicImage::from(picture.clone()).to_rgb8().write_with_encoder(small).expect("picture");
    }
    Some(picture)
}

/// Pixels inside a node whose channels differ by more than 40: neither ground nor text.
fn saturated(w: &Window, picture: &Picture, label: &str) -> usize {
    let rect = w.get_by_label(label).rect();
    let inside = |x: u32, y: u32| rect.contains(egui::pos2(x as f32, y as f32));
    let vivid = |p: &image::Rgba<u8>| p.0[..3].iter().max().zip(p.0[..3].iter().min()).is_some_and(|(a, b)| a - b > 40);
    picture.enumerate_pixels().filter(|(x, y, p)| inside(*x, *y) && vivid(p)).count()
}

#[test]
fn the_default_project_makes_a_picture() {
    let start = Start {
        path: Some(root().join("projects/fly.ron")),
        native_dialogs: false,
        state_dir: None,
        config_dir: None,
        ..Start::default()
    };
    let mut w: Window = Harness::builder()
        .with_size([1440.0, 900.0])
        .with_max_steps(30)
        .with_theme(egui::Theme::Dark)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| App::new(cc, start).expect("threads"));
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    w.get_by_label("Run").click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 100);
    select_some(&mut w);
    until(&mut w, "it has run", |w| w.state().session().live.clock.secs() > SIMULATED_SECS);
    w.get_by_label("Pause").click_accesskit();
    until(&mut w, "it pauses", |w| w.query_by_label("Run").is_some());
    for (theme, name) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, UiCommand::Theme(theme));
        let Some(picture) = shoot(&mut w, &format!("workbench-{name}")) else { return };
        let brain = saturated(&w, &picture, "3D view");
        assert!(brain > 1_000, "the 3D view is blank in {name}: {brain} coloured pixels");
        let raster = saturated(&w, &picture, "Spike raster");
        assert!(raster > 200, "the raster is blank in {name}: {raster} coloured pixels");
    }
}

/// Six of the driven neurons, so that their traces have something to tell.
fn select_some(w: &mut Window) {
    let session = w.state_mut().session_mut();
    let set = session.live.exhibit.set("neurons").expect("neurons").clone();
    let class = set.column("class").expect("classes");
    let driven = (0..set.len).filter(|e| class.label(*e) == "gustatory");
    session.selection.replace("neurons", driven.step_by(17).take(6).collect());
}
