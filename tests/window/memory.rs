//! What the window remembers has an end: once the rings are full, hours of running take no more memory.

use crate::support::{fake_fly, stage};
use fake_fly::schema;
use neuropil::{
    app::{document::time::spikes::set_memory, views},
    sim::{Clock, Frame, Reading, Spike},
};
use neuropil_test_support::{allocator::held, alone};
use stage::{Stage, graphics};
/// Size of a view, points: small, because the software renderer draws 330 frames of each.
const SIZE: (f32, f32) = (480.0, 300.0);
/// Memory of single spikes, bytes: a tenth of what the settings allow at first, so that it is full sooner.
const SPIKE_MEMORY: usize = 16_000_000;
/// More spikes than that holds.
const SPIKES: u64 = 2_100_000;
/// Frames until everything else is full as well: two seconds each.
const UNTIL_FULL: usize = 270;
/// Frames after that, over which nothing may grow.
const MORE: usize = 60;

/// Fills the history of spikes at a stroke; the first step after it.
fn fill(stage: &mut Stage) -> u64 {
    let (per_step, at_a_time) = (30, 3_000);
    let mut step = 0;
    while step * per_step < SPIKES {
        let lane = |k: u64| (k.wrapping_mul(2_654_435_761) % 138_639) as u32;
        let of = |s: u64| (0..per_step).map(move |k| Spike { step: s as u32, lane: lane(s * per_step + k) });
        let spikes = (step..step + at_a_time).flat_map(of).collect();
        step += at_a_time;
        let clock = Clock::seconds(step, 1e-4);
        stage.absorb(Frame {
            clock,
            readings: vec![(0.into(), Reading::Spikes(spikes))],
            epoch: 1,
            ..Frame::default()
        });
    }
    step
}

/// What is held after so many more frames, in megabytes, when all jobs are done.
fn held_after(stage: &mut Stage, frames: usize) -> f64 {
    for _ in 0..frames {
        let frame = stage.activity.frame(20_000, 5);
        stage.absorb(frame);
        stage.run(1);
    }
    stage.settle();
    held() as f64 * 1e-6
}

/// Parts of the views, each of which is a test.
const PARTS: usize = 4;

#[test]
fn part_1_of_what_is_remembered_is_bounded() {
    check_part(0, "memory::part_1_of_what_is_remembered_is_bounded");
}

#[test]
fn part_2_of_what_is_remembered_is_bounded() {
    check_part(1, "memory::part_2_of_what_is_remembered_is_bounded");
}

#[test]
fn part_3_of_what_is_remembered_is_bounded() {
    check_part(2, "memory::part_3_of_what_is_remembered_is_bounded");
}

#[test]
fn part_4_of_what_is_remembered_is_bounded() {
    check_part(3, "memory::part_4_of_what_is_remembered_is_bounded");
}

/// All views that take data while the simulation runs, with what all of them share: the history of spikes, of fields and of
/// curves. In a process of its own, so that nothing else allocates meanwhile.
fn check_part(part: usize, test: &str) {
    if !alone(test) {
        return;
    }
    // Without a device the textures are never taken, and the memory of the test itself would grow.
    let Some(graphics) = graphics() else { return };
    set_memory(SPIKE_MEMORY);
    let schema = schema();
    let selected: Vec<u32> = (0..40).map(|i| i * 3_001).collect();
    let mut selection = neuropil::app::document::selection::Selection::default();
    selection.replace("neurons", selected.clone());
    let takes_data = |name: &&str| views::by_name(name).is_some_and(|v| !v.taps(&schema, &selection).is_empty());
    for name in views::suggest(&schema).into_iter().filter(takes_data).skip(part).step_by(PARTS) {
        let mut stage = Stage::new(name, schema.clone(), SIZE).on(&graphics, true);
        stage.select(&selected);
        let from = fill(&mut stage);
        stage.activity.skip_to(from);
        let (full, later) = (held_after(&mut stage, UNTIL_FULL), held_after(&mut stage, MORE));
        // A tile of counts may be a little larger than the one it replaces.
        assert!(later < full + 4.0, "{name} grows from {full:.1} to {later:.1} MB");
    }
}
