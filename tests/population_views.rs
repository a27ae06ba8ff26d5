//! The views of a population with a synthetic one: phases, fields that go together, and who came out of whom. They hide
//! who takes no part, select what they promise, and stay within the budget. Pictures are written when `NEUROPIL_SHOTS`
//! names a folder.

#[path = "support/brain.rs"]
#[allow(dead_code)]
mod brain;
#[path = "support/stage.rs"]
mod stage;

use egui::{Modifiers, pos2, vec2};
use neuropil::{
    actions,
    app::views::{Abilities, ViewRequest},
    engine::Exhibit,
    sim::{Birth, Clock, Column, Course, Death, ElementSet, End, Frame, LifeEvent, Meaning, ProbeSpec, Reading, Shape},
};
use stage::{Stage, graphics};
use std::{f32::consts::PI, sync::Arc};

const N: &str = "cells";

const fn field(name: &'static str, range: (f32, f32), meaning: Meaning) -> ProbeSpec {
    ProbeSpec { name, docs: "", unit: "", shape: Shape::Field { over: N, range, meaning } }
}

const PROBES: &[ProbeSpec] = &[
    field("phase", (-PI, PI), Meaning::Angle),
    field("fitness", (0.0, 1.0), Meaning::Number),
    field("entropy", (0.0, 3.0), Meaning::Number),
    field("alive", (0.0, 1.0), Meaning::Mask),
    field("order", (0.0, 1.0), Meaning::Number),
    ProbeSpec { name: "lineage", docs: "", unit: "", shape: Shape::Lineage { over: N } },
];

actions! {
    const ACTIONS;

    /// Pushes them.
    fn kick(over "cells") {}
}

fn exhibit(n: u32) -> Exhibit {
    let kinds: Vec<&str> = (0..n).map(|i| if i % 4 == 1 { "left" } else { "right" }).collect();
    let set = ElementSet {
        name: N,
        len: n,
        positions: (0..n).map(|i| [i as f32, 0.0, 0.0]).collect(),
        course: Some(Course { angle: "phase", height: "order" }),
        is_diagram: true,
        columns: vec![Column::from_texts("kind", &kinds)],
        ..ElementSet::default()
    };
    let lanes = vec![vec![]; PROBES.len()];
    Exhibit { probes: PROBES, lanes, sets: vec![Arc::new(set)], ..Exhibit::default() }
}

/// Every tenth is dead; the phases gather around a quarter turn as steps go by.
fn frame(n: u32, step: u64) -> Frame {
    let unit = |i: u32, salt: u32| {
        let x = i.wrapping_mul(0x9E37_79B9).wrapping_add(salt.wrapping_mul(0x85EB_CA6B));
        let x = (x ^ x >> 15).wrapping_mul(0x2C1B_3C6D);
        (x ^ x >> 13) as f32 / u32::MAX as f32
    };
    let spread = 2.0 * PI / (1.0 + step as f32 / 50.0);
    let wrap = |phi: f32| (phi + PI).rem_euclid(2.0 * PI) - PI;
    let all = |f: &dyn Fn(u32) -> f32| Reading::Field((0..n).map(f).collect());
    let readings = vec![
        (0, all(&|i| wrap(PI / 2.0 + (unit(i, 1) + unit(i, 2) - 1.0) * spread))),
        (1, all(&|i| (unit(i, 3) * 6.0 - 4.0).exp())),
        (2, all(&|i| 2.0 + unit(i, 3) * 0.6 + unit(i, 4) * 0.3)),
        (3, all(&|i| f32::from(i % 10 != 9))),
        (4, all(&|i| 0.3 + 0.5 * unit(i, 5))),
    ];
    Frame { clock: Clock { step, secs_per_step: 1.0 }, readings, ..Frame::default() }
}

/// A population of fixed size: in every step one dies, one splits into its place and the free one, and now and then two
/// merge.
fn life(n: u64, steps: u64) -> Vec<LifeEvent> {
    let birth = |step, child, parents: Vec<u64>, place: usize| {
        LifeEvent::Birth(Birth { step, child, parents, place: Some(place as u32), name: String::new() })
    };
    let death = |step, gone, end| LifeEvent::Death(Death { step, gone, end, health: None });
    let mut events: Vec<LifeEvent> = (0..n).map(|i| birth(0, i, vec![], i as usize)).collect();
    let (mut living, mut next): (Vec<u64>, u64) = ((0..n).collect(), n);
    let mut seed = 1u64;
    let mut pick = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for step in 1..=steps {
        let dies = pick(living.len());
        let splits = (dies + 1 + pick(living.len() - 1)) % living.len();
        let (old, parent) = (living[dies], living[splits]);
        if step % 5 == 0 {
            events.extend([death(step, old, End::Merged), death(step, parent, End::Merged)]);
            events.push(birth(step, next, vec![parent, old], splits));
            events.push(birth(step, next + 1, vec![], dies));
        } else {
            events.extend([death(step, old, End::Died), death(step, parent, End::Split)]);
            events.extend([birth(step, next, vec![parent], splits), birth(step, next + 1, vec![parent], dies)]);
        }
        (living[splits], living[dies]) = (next, next + 1);
        next += 2;
    }
    events
}

fn born(n: u64, steps: u64) -> Frame {
    let readings = vec![(5, Reading::Lineage(life(n, steps)))];
    Frame { clock: Clock { step: steps, secs_per_step: 1.0 }, readings, ..Frame::default() }
}

fn staged(view: &str, n: u32) -> Stage {
    let mut stage = Stage::new(view, exhibit(n), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(frame(n, 100));
    stage.settle();
    stage
}

#[test]
fn a_rectangle_on_the_circle_catches_those_who_take_part() {
    let mut stage = staged("circle", 2000);
    stage.drag(pos2(200.0, 40.0), vec2(320.0, 150.0), Modifiers::NONE);
    let upper = stage.selection();
    assert!(upper.len() > 800, "{} of those around a quarter turn", upper.len());
    assert!(upper.iter().all(|i| i % 10 != 9), "the dead are hidden, and not selected");
    stage.drag(pos2(200.0, 300.0), vec2(320.0, 140.0), Modifiers::COMMAND);
    assert!(stage.selection().len() >= upper.len());
    stage.drag(pos2(130.0, 40.0), vec2(460.0, 405.0), Modifiers::NONE);
    assert_eq!(stage.selection().len(), 1800);
}

#[test]
fn a_lasso_in_the_scatter_and_a_click_on_nothing() {
    let mut stage = staged("scatter", 2000);
    stage.drag(pos2(50.0, 58.0), vec2(662.0, 388.0), Modifiers::NONE);
    assert_eq!(stage.selection().len(), 1800, "everyone who takes part");
    stage.drag_path(&[(60.0, 440.0), (60.0, 250.0), (250.0, 440.0), (61.0, 441.0)], Modifiers::ALT);
    let low = stage.selection();
    assert!((10..900).contains(&low.len()), "{}", low.len());
    stage.click(pos2(70.0, 60.0), Modifiers::NONE);
    assert_eq!(stage.selection(), low, "a click on nothing changes nothing");
}

#[test]
fn a_line_that_lives_is_selected_everywhere() {
    let mut stage = Stage::new("lineage", exhibit(40), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(born(20, 60));
    stage.settle();
    // Near the right edge only the living are met; somebody lies within reach of one of these places.
    let mut found = vec![];
    for y in (40..430).step_by(6) {
        stage.click(pos2(690.0, y as f32), Modifiers::NONE);
        stage.run(30);
        found.extend(stage.selection());
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.len() >= 8 && found.iter().all(|place| *place < 20), "{found:?}");
}

/// As every other view: the filter hides, and says how many; who is hidden is not drawn, not counted and not caught.
#[test]
fn the_filter_of_the_window_holds_in_views_of_populations() {
    for (view, said) in [("circle", "1,400 of 2,000 cells"), ("scatter", "1,400 of 2,000 cells")] {
        let mut stage = staged(view, 2000);
        assert!(stage.says("1,800 of 2,000 cells") && !stage.says("hidden"), "{view}: the living");
        stage.filter("kind = right");
        assert!(stage.says(said) && stage.says("500 hidden by the filter"), "{view}");
        let everything = if view == "circle" { (130.0, 40.0, 460.0, 405.0) } else { (50.0, 58.0, 662.0, 388.0) };
        let (x, y, width, height) = everything;
        stage.drag(pos2(x, y), vec2(width, height), Modifiers::NONE);
        let caught = stage.selection();
        assert_eq!(caught.len(), 1400, "{view}");
        assert!(caught.iter().all(|i| i % 4 != 1 && i % 10 != 9), "{view}: nobody who is hidden, nobody who is dead");
        stage.filter("kind = left and kind = right");
        assert!(stage.says("Nobody is shown"), "{view} says why it is empty");
        stage.filter("");
        assert!(stage.says("1,800 of 2,000 cells"), "{view}: all are back");
    }
}

#[test]
fn the_lineage_keeps_those_shown_and_what_they_came_out_of() {
    let mut stage = Stage::new("lineage", exhibit(40), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(born(20, 60));
    stage.settle();
    assert!(stage.says("140 of 140 lines"));
    stage.filter("kind = left"); // places 1, 5, 9, 13, 17
    stage.settle();
    assert!(stage.says("those the filter shows, and what they came out of") && !stage.says("140 of 140 lines"));
    let mut found = vec![];
    for y in (40..430).step_by(6) {
        stage.click(pos2(690.0, y as f32), Modifiers::NONE);
        stage.run(30);
        found.extend(stage.selection());
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.len() >= 2 && found.iter().all(|place| place % 4 == 1), "{found:?}");
}

/// The menu is that of all views: what it does is done to those it is about, and they are selected.
#[test]
fn the_one_menu_opens_in_views_of_populations() {
    for view in ["circle", "scatter"] {
        let mut stage = Stage::new(view, exhibit(40), (720.0, 480.0)).headless();
        stage.run(2);
        stage.absorb(frame(40, 100));
        stage.settle();
        stage.allow(Abilities { actions: ACTIONS, ..Abilities::default() });
        stage.select_of(N, &[3, 7]);
        stage.menu_at(pos2(300.0, 300.0));
        stage.press("Actions");
        stage.press("Kick once");
        let requests = stage.requests();
        let kicked = |r: &ViewRequest| matches!(r, ViewRequest::Act(a) if a.name == "kick" && a.elements == [3, 7]);
        assert!(requests.iter().any(kicked), "{view}: {} requests", requests.len());
    }
}

/// On a line that lives, the menu is about the place where it lives, and about its kin.
#[test]
fn the_menu_of_a_line_is_about_who_lives_there() {
    let mut stage = Stage::new("lineage", exhibit(40), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(born(20, 60));
    stage.settle();
    stage.allow(Abilities { actions: ACTIONS, ..Abilities::default() });
    let mut y = 40.0;
    let place = loop {
        stage.click(pos2(690.0, y), Modifiers::NONE);
        stage.run(30);
        if let [place] = stage.selection()[..] {
            break place;
        }
        y += 2.0;
        assert!(y < 430.0, "nobody lives");
    };
    stage.select_of(N, &[]);
    stage.menu_at(pos2(690.0, y));
    assert!(stage.says("Select its living descendants") && stage.says("Actions"));
    stage.press("Actions");
    stage.press("Kick once");
    let requests = stage.requests();
    assert!(matches!(&requests[..], [ViewRequest::Act(a)] if a.elements == [place]), "{} requests", requests.len());
    assert_eq!(stage.selection(), [place], "those it is done to are selected");
}

/// Before data, with data, too small: none may panic.
#[test]
fn every_state_draws_without_a_device() {
    for view in ["circle", "scatter", "lineage", "brain"] {
        for size in [(640.0, 400.0), (90.0, 60.0)] {
            let mut stage = Stage::new(view, exhibit(500), size).headless();
            stage.run(2);
            for step in [0, 50, 100] {
                stage.absorb(frame(500, step));
                stage.run(2);
            }
            stage.absorb(born(50, 40));
            stage.settle();
        }
        Stage::new(view, Exhibit::default(), (640.0, 400.0)).headless().run(2);
    }
}

/// 2 ms a frame are meant, 20 asserted: tests are not optimised, and machines are shared.
#[test]
fn views_of_populations_stay_within_the_budget() {
    for (view, n) in
        [("circle", 9_000), ("circle", 138_639), ("scatter", 9_000), ("scatter", 138_639), ("brain", 138_639)]
    {
        let mut stage = staged(view, n);
        let next = frame(n, 120);
        let costs = (0..30).map(|i| {
            let (mut frame, started) = (next.clone(), std::time::Instant::now());
            frame.clock.step += i;
            stage.absorb(frame);
            let absorbed = started.elapsed().as_secs_f64() * 1e3;
            (absorbed, stage.timed_frame())
        });
        check(&format!("{view} of {n}"), costs.collect());
    }
    for steps in [5_000, 50_000] {
        let mut stage = Stage::new("lineage", exhibit(1000), (1000.0, 640.0)).headless();
        stage.absorb(born(1000, steps));
        stage.settle();
        stage.settle();
        let costs = (0..30).map(|i| {
            let started = std::time::Instant::now();
            let clock = Clock { step: steps + i, secs_per_step: 1.0 };
            stage.absorb(Frame { clock, readings: vec![(5, Reading::Lineage(vec![]))], ..Frame::default() });
            (started.elapsed().as_secs_f64() * 1e3, stage.timed_frame())
        });
        check(&format!("lineage of {}", 1000 + 2 * steps), costs.collect());
    }
}

fn check(what: &str, mut costs: Vec<(f64, f64)>) {
    costs.sort_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    let (absorb, ui) = costs[costs.len() / 2];
    println!("{what}: absorb {absorb:.2} ms, ui {ui:.2} ms (median of {})", costs.len());
    assert!(absorb + ui < 20.0, "{what} takes {absorb:.1} + {ui:.1} ms");
}

#[test]
fn pictures() {
    let Some(graphics) = graphics() else { return };
    for dark in [true, false] {
        let theme = if dark { "dark" } else { "light" };
        for (view, n) in
            [("circle", 3_000), ("circle", 40_000), ("scatter", 3_000), ("scatter", 40_000), ("brain", 3_000)]
        {
            let mut stage = Stage::new(view, exhibit(n), (720.0, 480.0)).on(&graphics, dark);
            stage.run(2);
            stage.absorb(frame(n, 150));
            stage.settle();
            if view == "scatter" {
                stage.choose("colour", "phase");
                stage.absorb(frame(n, 150));
                stage.settle();
            }
            let colors = stage.shoot(&format!("{view}-{n}-{theme}"));
            assert!(colors > 20, "{view} of {n} is blank in {theme}");
        }
        for (n, steps) in [(12, 40), (60, 1000), (500, 20_000)] {
            let mut stage = Stage::new("lineage", exhibit(500), (1000.0, 600.0)).on(&graphics, dark);
            stage.absorb(born(n, steps));
            stage.settle();
            if steps > 10_000 {
                stage.choose("Show", "all");
                stage.settle();
            }
            if steps == 1000 {
                stage.click(pos2(985.0, 300.0), Modifiers::NONE);
                stage.settle();
            }
            let colors = stage.shoot(&format!("lineage-{steps}-{theme}"));
            assert!(colors > 20, "the lineage is blank in {theme}");
        }
    }
}
