//! Profiles of the engine's batches, and comparison of two backends.

use crate::fake;
use fake::LEN;
use neuropil::{
    engine::{Command, Engine, Event},
    gpu::{Batch, Pass},
    sim::Simulation as _,
};
use neuropil_test_support::PATIENCE;

/// Batches published during 40 batches of 5 steps.
fn batches(profile: Option<u32>) -> Vec<Batch> {
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(fake::boxed()));
    engine.send(Command::Batch(Some(5)));
    engine.send(Command::Profile(profile));
    engine.send(Command::Step(200));
    let is_over = |e: &Event| matches!(e, Event::Running(false, clock) if clock.step == 200);
    let next = || engine.events.recv_timeout(PATIENCE).expect("it ends");
    while !is_over(&next()) {}
    engine.take_frame().into_iter().flat_map(|f| f.batches).collect()
}

#[test]
fn another_simulation_begins_with_short_batches() {
    let engine = Engine::spawn(|| {}).unwrap();
    let step = |steps: u64| {
        engine.send(Command::Load(fake::boxed()));
        engine.send(Command::Step(steps));
        let is_over = |e: &Event| matches!(e, Event::Running(false, clock) if clock.step == steps);
        while !is_over(&engine.events.recv_timeout(PATIENCE).expect("it ends")) {}
        engine.take_frame().into_iter().flat_map(|f| f.batches).map(|b| b.steps).collect::<Vec<_>>()
    };
    step(100_000);
    engine.send(Command::Profile(Some(8)));
    let steps = step(20);
    assert_eq!((steps[0], steps.iter().sum::<u32>()), (1, 20), "those of the first were of many steps");
}

#[test]
fn no_batches_are_published_without_a_profile() {
    assert!(batches(None).is_empty());
}

#[test]
fn a_profile_has_every_batch_and_details_of_some() {
    let seen = batches(Some(8));
    assert_eq!(seen.iter().map(|b| (b.number, b.step, b.steps)).collect::<Vec<_>>(), {
        (0..40).map(|n| (n, 5 * n, 5)).collect::<Vec<_>>()
    });
    for batch in &seen {
        assert!(batch.nanos > 0);
        let Some(measured) = &batch.measured else {
            assert!(!batch.number.is_multiple_of(8));
            continue;
        };
        assert!(batch.number.is_multiple_of(8));
        assert_eq!(
            measured.timings.iter().map(|t| (t.name, t.launches, t.items)).collect::<Vec<_>>(),
            [("fake", 1, 5)]
        );
        let names: Vec<_> = measured.spans.iter().map(|s| s.name).collect();
        assert_eq!(names, ["fake", "sample"]);
        assert!(measured.spans.iter().all(|s| s.end() <= batch.nanos), "inside the batch");
    }
}

#[test]
fn the_engine_chooses_how_many_batches_are_measured() {
    let measured: Vec<u64> = batches(Some(0)).iter().filter(|b| b.measured.is_some()).map(|b| b.number).collect();
    assert_eq!(measured, [0, 32]);
}

#[test]
fn two_backends_are_compared_step_by_step() {
    use neuropil::{engine::parity::compare, sim::Progress};
    let progress = Progress::default();
    let parity = compare(&mut fake::new(), &mut fake::new(), (50, 10), &progress).unwrap();
    assert!(parity.is_exact() && parity.steps == 50 && parity.fields[0].ulps == [5 * u64::from(LEN), 0, 0, 0]);
    let mut other = fake::new();
    other.set(&fake::change(4)).unwrap();
    let parity = compare(&mut fake::new(), &mut other, (50, 10), &progress).unwrap();
    assert_eq!((parity.first, parity.fields[0].first), (Some(10), None), "different spikes, the same field");
    let mut ahead = fake::new();
    ahead.advance(1, &mut Pass::default()).unwrap();
    let parity = compare(&mut fake::new(), &mut ahead, (50, 10), &progress).unwrap();
    assert_eq!((parity.fields[0].first, parity.fields[0].max_abs, parity.fields[0].max_rel), (Some(10), 1.0, 0.1));
    progress.cancel();
    assert!(compare(&mut fake::new(), &mut fake::new(), (50, 10), &progress).is_err());
}
