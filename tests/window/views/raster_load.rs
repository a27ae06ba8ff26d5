//! A raster of 20 million spikes of 138,639 elements: cost of panning, zooming and rearranging on the window's thread.
//! Slow without optimisation, so it is ignored by default:
//! `cargo test --release --test window twenty_million -- --ignored`.

use crate::support::{
    fake_fly::schema,
    harness::asserts_timings,
    stage::{Stage, graphics},
};
use egui::{Modifiers, Pos2, Vec2, pos2, vec2};
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use egui_wgpu::RendererOptions;
use neuropil::{
    sim::{Clock, Frame, Reading, Spike},
    view3d::{self, Camera, Look, Scene, Vec3},
};
use std::time::{Duration, Instant};

const SPIKES: u64 = 20_000_000;
/// Spikes per step of a network firing at 2.4 Hz.
const PER_STEP: u64 = 33;

/// Fills the history with one minute of activity of all elements.
fn fill(stage: &mut Stage) -> f64 {
    let mut seed = 7_u64;
    let (mut step, mut slowest) = (0, 0.0_f64);
    while step * PER_STEP < SPIKES {
        let mut spikes = Vec::with_capacity(100_000);
        for at in step..step + 3_000 {
            for _ in 0..PER_STEP {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                spikes.push(Spike { step: at as u32, lane: ((seed >> 33) % 138_639) as u32 });
            }
        }
        step += 3_000;
        let clock = Clock::seconds(step, 1e-4);
        let start = Instant::now();
        stage.absorb(Frame {
            clock,
            readings: vec![(0.into(), Reading::Spikes(spikes))],
            epoch: 1,
            ..Frame::default()
        });
        slowest = slowest.max(start.elapsed().as_secs_f64() * 1e3);
    }
    slowest
}

/// A [`gesture`] over data: spikes must stay in view, since empty views are cheap.
fn gesture_over_data(stage: &mut Stage, what: &str, n: usize, mut bit: impl FnMut(&mut Stage, usize)) -> f64 {
    gesture(stage, n, |stage, i| {
        let (caption, times) = (stage.caption(), stage.times());
        assert!(!caption.contains("|  0 spikes in view"), "{what}, before frame {i}, steps {times:?}: {caption}");
        bit(stage, i);
    })
}

/// Draws frames during a gesture; returns the p99 in milliseconds.
fn gesture(stage: &mut Stage, n: usize, mut bit: impl FnMut(&mut Stage, usize)) -> f64 {
    let mut ms = vec![];
    for i in 0..n {
        bit(stage, i);
        // As at 60 pictures per second: jobs have the rest of the time.
        std::thread::sleep(Duration::from_millis(8));
        ms.push(stage.slowest_frame().0);
    }
    ms.sort_by(f64::total_cmp);
    ms[(ms.len() * 99 / 100).min(ms.len() - 1)]
}

/// Alternates the direction after this many frames.
fn there_and_back(i: usize, frames_each_way: usize) -> f32 {
    if (i / frames_each_way).is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Small steps over the whole range; the p99 of every gesture.
fn gentle_gestures(stage: &mut Stage, at: Pos2) -> Vec<f64> {
    let drag = |s: &mut Stage, i: usize, by: Vec2| s.drag_once(at, by * there_and_back(i, 30));
    vec![
        gesture_over_data(stage, "zoom out over all", 60, |s, _| s.wheel_once(at, -17.0, Modifiers::COMMAND)),
        gesture_over_data(stage, "pan with all in view", 120, |s, i| drag(s, i, vec2(23.0, 3.0))),
        gesture_over_data(stage, "zoom in both ways", 120, |s, _| s.wheel_once(at, 8.0, Modifiers::NONE)),
        gesture_over_data(stage, "pan close up", 120, |s, i| drag(s, i, vec2(31.0, 11.0))),
        gesture_over_data(stage, "zoom out both ways", 120, |s, _| s.wheel_once(at, -8.0, Modifiers::NONE)),
    ]
}

/// Large steps, so that no frame can reuse the last one; the p99 of every gesture.
fn rough_gestures(stage: &mut Stage, at: Pos2) -> Vec<f64> {
    let wheel = |s: &mut Stage, i: usize, turn: usize, points: f32, modifiers: Modifiers| {
        s.wheel_once(at, points * there_and_back(i, turn), modifiers);
    };
    let drag = |s: &mut Stage, i: usize, by: Vec2| s.drag_once(at, by * there_and_back(i, 10));
    vec![
        gesture_over_data(stage, "out and in again", 120, |s, i| wheel(s, i, 9, -60.0, Modifiers::COMMAND)),
        gesture_over_data(stage, "out to all", 9, |s, _| s.wheel_once(at, -60.0, Modifiers::COMMAND)),
        gesture_over_data(stage, "throw all about", 120, |s, i| drag(s, i, vec2(70.0, 30.0))),
        gesture_over_data(stage, "in and out both ways", 160, |s, i| wheel(s, i, 40, 40.0, Modifiers::NONE)),
        gesture_over_data(stage, "in both ways", 36, |s, _| s.wheel_once(at, 40.0, Modifiers::NONE)),
        gesture_over_data(stage, "throw it about close up", 120, |s, i| drag(s, i, vec2(90.0, 40.0))),
        gesture_over_data(stage, "out both ways", 36, |s, _| s.wheel_once(at, -40.0, Modifiers::NONE)),
    ]
}

#[test]
#[ignore = "slow without optimisation: run with --release"]
fn a_raster_of_twenty_million_spikes_pans_and_zooms() {
    let mut stage = Stage::new("raster", schema(), (1200.0, 760.0)).headless();
    stage.run(2);
    fill(&mut stage);
    stage.with_mut(Stage::pause);
    // A point over the data.
    let middle = pos2(350.0, 300.0);
    let mut worst = vec![];
    // Before caches are filled.
    worst.push(gesture(&mut stage, 60, |_, _| {}));
    worst.push(gesture(&mut stage, 36, |s, i| {
        s.wheel_once(middle, -60.0 * there_and_back(i, 9), Modifiers::COMMAND);
    }));
    for _ in 0..60 {
        stage.settle();
    }
    worst.extend(gentle_gestures(&mut stage, middle));
    for (list, option) in [("Group by", "Class"), ("Sort", "rate")] {
        stage.choose(list, option);
        worst.push(gesture(&mut stage, 40, |_, _| {}));
    }
    // Back to the newest second.
    stage.double_click(middle);
    stage.settle();
    worst.extend(rough_gestures(&mut stage, middle));
    for (list, option) in [("Group by", "Super class"), ("Sort", "index")] {
        stage.choose(list, option);
        worst.push(gesture(&mut stage, 40, |_, _| {}));
    }
    for ms in worst {
        assert!(!asserts_timings() || ms <= 8.0, "a p99 of {ms:.2} ms");
    }
}

/// Time to upload 138,639 points with new values and a new camera.
#[test]
fn points_are_encoded_in_a_millisecond() {
    if graphics().is_none() {
        return;
    }
    let state = create_render_state(default_wgpu_setup(), RendererOptions::PREDICTABLE);
    let (device, queue) = (&state.device, &state.queue);
    let schema = schema();
    let positions = &schema.sets[0].positions;
    let mut scene = Scene::new(device, state.target_format);
    scene.set_points(device, positions);
    scene.set_codes(queue, &vec![0; positions.len()]);
    scene.set_palette(device, queue, &[[200, 200, 200, 255]]);
    let mut camera = Camera::default();
    camera.fit(Vec3::ZERO, Vec3::splat(700.0), 1.5);
    let size = view3d::Vec2::new(900.0, 600.0);
    let mut values = vec![0.0f32; positions.len()];
    let mut ms: Vec<f64> = (0..60)
        .map(|i| {
            values.iter_mut().enumerate().for_each(|(k, v)| *v = ((k * 7 + i * 31) % 400) as f32);
            scene.set_values(&values);
            camera.orbit(view3d::Vec2::new(3.0, 1.0), 600.0);
            let mut look = Look::new(&camera, size, 2.0, 0.75);
            look.range = [0.0, 400.0, 60.0, 0.4];
            look.flags = [2, 0, 0, 1];
            let mut encoder = device.create_command_encoder(&Default::default());
            let start = Instant::now();
            scene.draw(device, queue, &mut encoder, &look);
            let took = start.elapsed().as_secs_f64() * 1e3;
            queue.submit([encoder.finish()]);
            device.poll(egui_wgpu::wgpu::PollType::wait_indefinitely()).expect("a device");
            took
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    assert!(!asserts_timings() || ms[30] < 10.0, "{:.2} ms", ms[30]);
}
