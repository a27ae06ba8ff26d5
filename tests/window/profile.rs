//! Profile panels with the profile of a fake GPU: choices in one apply to all, in both themes and in small tiles.
//! Pictures are written when `NEUROPIL_SHOTS` names a folder.

use crate::support::{device_profile, fake_fly, harness, stage};
use device_profile::{PREDICTED, WORK, batches, ceilings, on_device};
use egui::{Modifiers, pos2, vec2};
use egui_kittest::Harness;
use fake_fly::schema;
use harness::{Window, is_built, until};
use neuropil::{
    app::{
        Start, create,
        document::{
            command::UiCommand,
            profile::{Machine, Profile},
        },
    },
    engine::parity::{FieldParity, Parity},
    sim::{Clock, Digest, Frame},
};
use stage::{Stage, graphics};

const PANELS: [&str; 6] = ["steps", "timeline", "timing", "roofline", "memory", "numerics"];

fn machine() -> Machine {
    Machine {
        device: "NVIDIA H200".into(),
        is_gpu: true,
        threads: 16,
        project: Some("projects/fly.ron".into()),
        predicted: PREDICTED.into(),
        total: 150_000_000_000,
        work: WORK,
        ceilings: Some(ceilings()),
        ..Machine::default()
    }
}

/// A panel with 200 batches of a GPU, 25 of them measured.
fn panel(name: &str, size: (f32, f32)) -> Stage {
    Stage::new(name, on_device(schema()), size).with_profile(|p| p.machine = machine())
}

fn fed(mut stage: Stage) -> Stage {
    let clock = Clock::seconds(4_000, 1e-4);
    stage.absorb(Frame { clock, batches: batches(200), ..Frame::default() });
    stage.run(3);
    stage
}

/// One field equal, one off by rounding; the same spikes.
fn parity() -> Parity {
    let field =
        |name, unit, max_abs, first, ulps| FieldParity { name, unit, max_abs, first, ulps, ..Default::default() };
    let digest = Digest::new("a".into(), vec![("spikes".into(), 4_211), ("synaptic_events".into(), 450_120)]);
    Parity {
        names: ("CPU, 1 thread".into(), "NVIDIA H200".into()),
        steps: 200,
        every: 1,
        first: None,
        digests: (digest.clone(), digest),
        fields: vec![
            field("rate_field", "Hz", 0.0, None, [27_727_800, 0, 0, 0]),
            FieldParity { max_rel: 2e-4, ..field("v", "mV", 3.1e-5, Some(42), [27_000_000, 700_000, 27_000, 800]) },
        ],
    }
}

#[test]
fn every_panel_draws_in_any_size() {
    for name in PANELS {
        for size in [(60.0, 40.0), (200.0, 120.0), (640.0, 260.0), (1600.0, 900.0)] {
            panel(name, size).headless().run(3);
            let mut stage = fed(panel(name, size).headless());
            stage.profile(|p| (p.kernel, p.comparison.done) = (Some("deliver"), Some(Ok(parity()))));
            stage.run(3);
        }
    }
}

#[test]
fn dragging_over_the_steps_chooses_the_range_of_all_panels() {
    let mut stage = fed(panel("steps", (900.0, 200.0)).headless());
    let launches = |p: &mut Profile| p.sums().iter().map(|t| t.launches).sum::<u32>();
    assert_eq!(stage.profile(launches), 25 * 30);
    // 200 bars share 824 points from x = 46 on.
    stage.drag(pos2(46.0 + 4.12 * 40.5, 120.0), vec2(4.12 * 39.0, 0.0), Modifiers::NONE);
    assert_eq!(stage.profile(|p| p.range), Some((40, 79)));
    assert_eq!(stage.profile(launches), 5 * 30);
    stage.double_click(pos2(500.0, 120.0));
    stage.run(2);
    assert_eq!(stage.profile(|p| p.range), None);
}

#[test]
fn a_click_on_a_launch_chooses_its_kernel() {
    let mut stage = fed(panel("timeline", (1000.0, 260.0)).headless());
    assert_eq!(stage.profile(|p| p.kernel), None);
    // The captured graph is the longest span of the third lane (engine, calls, waits, kernels, copies).
    stage.click(pos2(600.0, 28.0 + 4.0 + 3.5 * 26.0), Modifiers::NONE);
    assert_eq!(stage.profile(|p| p.kernel), Some("graph"));
    assert_eq!(stage.profile(|p| p.batch), Some(192), "the clicked batch stays");
}

#[test]
fn overhead_compares_measured_batches_with_their_neighbours() {
    let mut stage = fed(panel("timing", (1000.0, 300.0)).headless());
    let overhead = stage.profile(|p| p.overhead()).expect("enough batches");
    assert!((overhead.measured - 0.06).abs() < 0.02, "{overhead:?}");
}

#[test]
fn pictures() {
    let Some(graphics) = graphics() else { return };
    for dark in [true, false] {
        let theme = if dark { "dark" } else { "light" };
        for name in PANELS {
            let size = if matches!(name, "steps" | "timeline") { (1000.0, 230.0) } else { (760.0, 420.0) };
            let mut stage = panel(name, size).on(&graphics, dark);
            stage.run(3);
            stage.shoot(&format!("profile-{name}-empty-{theme}"));
            let mut stage = fed(stage);
            assert!(stage.shoot(&format!("profile-{name}-{theme}")) > 12, "{name} is blank");
            stage.profile(|p| {
                p.choose(Some((64, 127)));
                p.kernel = Some("deliver");
                let before = p.sums().to_vec();
                p.baseline = Some(neuropil::app::document::profile::Baseline::of("now at 12 ms".into(), &before));
            });
            stage.profile(|p| p.comparison.done = Some(Ok(parity())));
            stage.run(3);
            stage.shoot(&format!("profile-{name}-chosen-{theme}"));
        }
    }
}

fn window(project: &str, size: [f32; 2]) -> Window {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let start = Start {
        path: Some(root.join("projects").join(project)),
        native_dialogs: false,
        state_dir: None,
        config_dir: None,
        ..Start::default()
    };
    let builder = Harness::builder().with_size(size).with_max_steps(30).with_theme(egui::Theme::Dark);
    builder.with_render_cursor(false).wgpu().build_eframe(move |cc| create(cc, start).expect("threads"))
}

/// Brings a workspace to the front, by title.
fn workspace(w: &mut Window, title: &str) {
    let at = w.state().workspaces().position(|t| t == title).expect("a workspace of this name");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Workspace(at));
    w.run_steps(3);
}

fn run_and_shoot(project: &str, size: [f32; 2], picture: &str) {
    let Some(()) = graphics() else { return };
    let mut w = window(project, size);
    until(&mut w, "the project is open", |w| w.state().session().path.is_some());
    until(&mut w, "it is built", is_built);
    workspace(&mut w, "Simulate");
    w.state_mut().session_mut().live.play();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 20);
    assert!(w.state().profile().batches().is_empty(), "no profile panel is visible");
    workspace(&mut w, "Profile");
    let measured = |w: &Window| w.state().profile().measured().count();
    until(&mut w, "batches are measured", |w| measured(w) >= 3);
    w.state_mut().session_mut().live.pause();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    w.run_steps(5);
    if let (Ok(folder), Ok(image)) = (std::env::var("NEUROPIL_SHOTS"), w.render()) {
        image.save(std::path::PathBuf::from(folder).join(format!("{picture}.png"))).expect("a writable folder");
    }
    // Hidden again: pending batches arrive, then no more.
    workspace(&mut w, "Simulate");
    w.state_mut().session_mut().live.play();
    let step = w.state().session().live.clock.step;
    until(&mut w, "it runs on", |w| w.state().session().live.clock.step > step);
    let seen = w.state().profile().batches().back().map(|b| b.number);
    let step = w.state().session().live.clock.step;
    until(&mut w, "it runs on", |w| w.state().session().live.clock.step > step + 10);
    assert_eq!(w.state().profile().batches().back().map(|b| b.number), seen, "hidden panels cost nothing");
}

#[test]
fn a_hidden_profile_costs_nothing_and_a_visible_one_fills() {
    run_and_shoot("nuclei.ron", [1280.0, 800.0], "workspace-profile-nuclei-1280");
}

/// Pictures of the workspace in two sizes, when `NEUROPIL_SHOTS` is set.
#[test]
fn pictures_of_the_workspace() {
    if std::env::var_os("NEUROPIL_SHOTS").is_none() {
        return;
    }
    run_and_shoot("fly.ron", [1280.0, 800.0], "workspace-profile-fly-1280");
    run_and_shoot("fly.ron", [1920.0, 1200.0], "workspace-profile-fly-1920");
    run_and_shoot("nuclei.ron", [1920.0, 1200.0], "workspace-profile-nuclei-1920");
}

/// Batches on the CPU are measured in sums or span by span. Where durations are asserted, measuring is cheap.
#[test]
fn batches_on_the_cpu_are_measured_at_little_cost() {
    use neuropil::{
        gpu::Pass,
        sim::{Device, Progress},
    };
    for name in ["fly.ron", "nuclei.ron"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(name);
        let (project, _) = neuropil::project::open(&path).expect("it opens");
        let scene = project.build_context(path.parent().expect("a folder"));
        let mut sim =
            project.model.build(&scene, &Device::Cpu { threads: 1 }, &Progress::default()).expect("it starts");
        let steps = if name == "fly.ron" { 100 } else { 3 };
        let (mut pass, mut costs) = (Pass::default(), [vec![], vec![], vec![]]);
        for number in 0..harness::measured(900_u64, 9) {
            // Not measured, in sums, span by span.
            let how = (number % 3) as usize;
            let start = std::time::Instant::now();
            pass.begin(number, sim.clock().step, how > 0, how == 2);
            sim.advance(steps, &mut pass).expect("it runs");
            pass.end(steps, 1).expect("it measures");
            costs[how].push(start.elapsed().as_secs_f64() * 1e6 / f64::from(steps));
            assert_eq!(pass.timings.is_empty(), how == 0, "{name}, batch {number}");
            let has_spans = pass.batches.iter().any(|b| b.measured.as_ref().is_some_and(|m| !m.spans.is_empty()));
            assert_eq!(has_spans, how == 2, "{name}, batch {number}");
            pass.timings.clear();
            pass.batches.clear();
        }
        let [plain, sums, spans] = costs.map(|mut micros| {
            micros.sort_by(f64::total_cmp);
            micros[micros.len() / 4]
        });
        let is_cheap = spans < 1.5 * plain;
        assert!(
            !harness::asserts_timings() || is_cheap,
            "{name}: {plain:.2} us per step, {sums:.2} in sums, {spans:.2} span by span (lower quartiles)"
        );
    }
}
