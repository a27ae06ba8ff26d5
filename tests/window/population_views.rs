//! Views of populations on synthetic data: phases, scatter, lineage. They skip masked elements, select correctly,
//! and stay within the frame budget. Pictures are written when `NEUROPIL_SHOTS`
//! names a folder.

mod distribution;
use crate::support::{
    harness::{asserts_timings, measured},
    population, stage,
};
use egui::{Modifiers, pos2, vec2};
use neuropil::{
    actions,
    app::{
        document::{color_scales::ScaleChoice, features::KindFeatures},
        views::ViewRequest,
    },
    engine::SimSchema,
    sim::{Clock, Frame, Matrix, Reading, TimeBase},
};
use population::{CELLS as N, COUPLING, LINEAGE, PROBES, cells, coupling, fields, life};
use stage::{Stage, graphics};
use std::sync::Arc;

actions! {
    const ACTIONS;

    /// Pushes them.
    fn kick(over "cells") {}
}

fn schema(n: u32) -> SimSchema {
    let lanes = vec![vec![]; PROBES.len()];
    SimSchema { probes: PROBES, lanes, sets: vec![Arc::new(cells(n))], ..SimSchema::default() }
}

fn frame(n: u32, step: u64) -> Frame {
    let readings = fields(n, step).into_iter().enumerate().map(|(id, reading)| ((id as u16).into(), reading)).collect();
    Frame { clock: Clock { step, base: TimeBase::STEPS }, readings, ..Frame::default() }
}

fn born(n: u64, steps: u64) -> Frame {
    let readings = vec![(LINEAGE.into(), Reading::lineage(life(n, steps)))];
    Frame { clock: Clock { step: steps, base: TimeBase::STEPS }, readings, ..Frame::default() }
}

fn staged(view: &str, n: u32) -> Stage {
    let mut stage = Stage::new(view, schema(n), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(frame(n, 100));
    stage.settle();
    stage
}

#[test]
fn a_rectangle_on_the_circle_selects_unmasked_elements() {
    let mut stage = staged("circle", 2000);
    stage.drag(pos2(200.0, 40.0), vec2(320.0, 150.0), Modifiers::NONE);
    let upper = stage.selection();
    assert!(upper.len() > 800, "{} of those around a quarter turn", upper.len());
    assert!(upper.iter().all(|i| i % 10 != 9), "masked elements are neither drawn nor selected");
    stage.drag(pos2(200.0, 300.0), vec2(320.0, 140.0), Modifiers::COMMAND);
    assert!(stage.selection().len() >= upper.len());
    stage.drag(pos2(130.0, 40.0), vec2(460.0, 405.0), Modifiers::NONE);
    assert_eq!(stage.selection().len(), 1800);
}

#[test]
fn a_lasso_in_the_scatter_and_a_click_on_nothing() {
    let mut stage = staged("scatter", 2000);
    stage.drag(pos2(50.0, 58.0), vec2(662.0, 375.0), Modifiers::NONE);
    assert_eq!(stage.selection().len(), 1800, "all unmasked elements");
    stage.drag_path(&[(60.0, 428.0), (60.0, 240.0), (250.0, 428.0), (61.0, 429.0)], Modifiers::ALT);
    let low = stage.selection();
    assert!((10..900).contains(&low.len()), "{}", low.len());
    stage.click(pos2(70.0, 60.0), Modifiers::NONE);
    assert_eq!(stage.selection(), low, "a click on nothing changes nothing");
}

/// A cell is two groups: a click selects both, a rectangle all rows and columns between; the filter hides elements.
#[test]
fn a_click_in_the_phase_map_selects_two_groups() {
    let mut stage = staged("phases", 1920);
    assert!(stage.says("1,728 of 1,920 cells") && stage.says("ordered by Fitness, 96 groups"));
    stage.click(pos2(200.0, 300.0), Modifiers::NONE);
    assert_eq!(stage.selection().len(), 36, "two groups of eighteen");
    stage.click(pos2(300.0, 200.0), Modifiers::COMMAND);
    assert!((54..=72).contains(&stage.selection().len()));
    stage.drag(pos2(60.0, 90.0), vec2(560.0, 320.0), Modifiers::NONE);
    let most = stage.selection();
    assert!(most.len() > 1000 && most.iter().all(|i| i % 10 != 9), "{} unmasked elements", most.len());
    stage.filter("kind = right");
    assert!(stage.says("hidden by the filter"));
}

/// A fixed range belongs to the variable: all views coloured by it use it and count the values beyond.
#[test]
fn the_range_of_a_variable_is_the_same_in_all_views() {
    let mut stage = staged("scatter", 2000);
    stage.choose("Colour", "Fitness");
    stage.settle();
    assert!(!stage.says("beyond"));
    stage.press("Auto");
    stage.color_scales(|color_scales| {
        let (low, high) = color_scales.of("fitness").range.expect("a fixed range");
        assert!(low < 0.1 && high > 5.0, "{low} to {high}: the range of the data");
        color_scales.set("fitness", ScaleChoice { range: Some((0.1, 1.0)), colormap: None });
    });
    let kept = stage.color_scales(|color_scales| color_scales.clone());
    for (view, list) in [("circle", "Colour"), ("lineage", "Colour")] {
        let mut other = if view == "lineage" { with_lines() } else { staged(view, 2000) };
        other.color_scales(|color_scales| *color_scales = kept.clone());
        other.choose(list, "Fitness");
        other.absorb(frame(if view == "lineage" { 40 } else { 2000 }, 110));
        other.settle();
        let texts = other.painted_below(0.0);
        assert!(texts.iter().any(|t| t.ends_with(" beyond")), "{view}: {texts:?}");
        other.press("Auto");
        let texts = other.painted_below(0.0);
        assert!(!texts.iter().any(|t| t.ends_with(" beyond")), "{view} follows the data again");
    }
    let mut matrix = staged("matrix", 2000);
    matrix.absorb(Frame { readings: vec![(COUPLING.into(), coupling())], ..frame(2000, 120) });
    matrix.color_scales(|color_scales| {
        color_scales.set("coupling", ScaleChoice { range: Some((0.0, 0.5)), colormap: None })
    });
    matrix.settle();
    let texts = matrix.painted_below(0.0);
    let Reading::Matrix(Matrix { values, .. }) = coupling() else { panic!("a matrix") };
    let said = format!("{} beyond", values.iter().filter(|v| v.abs() > 0.5).count());
    assert!(texts.contains(&said), "{said}, on both sides of zero: {texts:?}");
}

/// Sixty steps of births and deaths in a population of twenty.
fn with_lines() -> Stage {
    let mut stage = Stage::new("lineage", schema(40), (720.0, 480.0)).headless();
    stage.run(2);
    stage.absorb(born(20, 60));
    stage.settle();
    stage
}

/// Elements selected by clicks along the right edge: only living lines reach it, each within reach of a click.
fn selected_along_the_right_edge(stage: &mut Stage) -> Vec<u32> {
    let mut found = vec![];
    for y in (40..430).step_by(6) {
        stage.click(pos2(690.0, y as f32), Modifiers::NONE);
        stage.run(30);
        found.extend(stage.selection());
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn a_living_line_is_selected_in_all_views() {
    let mut stage = with_lines();
    let found = selected_along_the_right_edge(&mut stage);
    assert!(found.len() >= 8 && found.iter().all(|place| *place < 20), "{found:?}");
}

/// Hidden elements are counted in the caption, not drawn, and not selected.
#[test]
fn the_filter_applies_to_population_views() {
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
        assert!(caught.iter().all(|i| i % 4 != 1 && i % 10 != 9), "{view}: no hidden and no masked elements");
        stage.filter("kind = left and kind = right");
        assert!(stage.says("All filtered out"), "{view} says why it is empty");
        stage.filter("");
        assert!(stage.says("1,800 of 2,000 cells"), "{view}: all are shown again");
    }
}

#[test]
fn the_filtered_lineage_keeps_ancestors() {
    let mut stage = with_lines();
    assert!(stage.says("140 of 140 lines"));
    stage.filter("kind = left"); // places 1, 5, 9, 13, 17
    stage.settle();
    assert!(stage.says("filtered, with ancestors") && !stage.says("140 of 140 lines"));
    let found = selected_along_the_right_edge(&mut stage);
    assert!(found.len() >= 2 && found.iter().all(|place| place % 4 == 1), "{found:?}");
}

/// The menu is the same in all views; actions apply to its elements.
#[test]
fn the_element_menu_opens_in_population_views() {
    for view in ["circle", "scatter"] {
        let mut stage = Stage::new(view, schema(40), (720.0, 480.0)).headless();
        stage.run(2);
        stage.absorb(frame(40, 100));
        stage.settle();
        stage.allow(KindFeatures { actions: ACTIONS, ..KindFeatures::default() });
        stage.select_of(N, &[3, 7]);
        stage.menu_at(pos2(300.0, 300.0));
        stage.press("Actions");
        stage.press("Kick once");
        let requests = stage.requests();
        let kicked = |r: &ViewRequest| matches!(r, ViewRequest::Act(a) if a.name == "kick" && a.elements == [3, 7]);
        assert!(requests.iter().any(kicked), "{view}: {} requests", requests.len());
    }
}

/// On a living line, the menu is about the element in its slot, and its relatives.
#[test]
fn the_menu_of_a_living_line_acts_on_its_slot() {
    let mut stage = with_lines();
    stage.allow(KindFeatures { actions: ACTIONS, ..KindFeatures::default() });
    let mut y = 40.0;
    let place = loop {
        stage.click(pos2(690.0, y), Modifiers::NONE);
        stage.run(30);
        if let [place] = stage.selection()[..] {
            break place;
        }
        y += 2.0;
        assert!(y < 430.0, "no living line");
    };
    stage.select_of(N, &[]);
    stage.menu_at(pos2(690.0, y));
    assert!(stage.says("Select living descendants") && stage.says("Actions"));
    stage.press("Actions");
    stage.press("Kick once");
    let requests = stage.requests();
    assert!(matches!(&requests[..], [ViewRequest::Act(a)] if a.elements == [place]), "{} requests", requests.len());
    assert_eq!(stage.selection(), [place], "the target is selected");
}

/// No view panics without data, with data, or in a small tile.
#[test]
fn every_state_draws_without_a_device() {
    for view in ["circle", "scatter", "phases", "lineage", "brain", "bands"] {
        for size in [(640.0, 400.0), (90.0, 60.0)] {
            let mut stage = Stage::new(view, schema(500), size).headless();
            stage.run(2);
            for step in [0, 50, 100] {
                stage.absorb(frame(500, step));
                stage.run(2);
            }
            stage.absorb(born(50, 40));
            stage.settle();
        }
        Stage::new(view, SimSchema::default(), (640.0, 400.0)).headless().run(2);
    }
}

#[test]
fn low_panels_keep_to_their_canvas() {
    for view in ["circle", "scatter", "phases", "lineage", "matrix", "brain", "table", "bands"] {
        Stage::lower(view, &schema(500), |stage| {
            let mut frame = frame(500, 100);
            frame.readings.extend([(LINEAGE.into(), Reading::lineage(life(40, 100))), (COUPLING.into(), coupling())]);
            stage.absorb(frame);
        });
    }
}

/// 2 ms a frame are meant; printed, and asserted on request.
#[test]
fn views_of_populations_stay_within_the_budget() {
    let few = ["circle", "scatter", "bands"].map(|view| (view, 9_000));
    let many = ["circle", "scatter", "phases", "bands", "brain"].map(|view| (view, 138_639));
    for (view, n) in few.into_iter().chain(many) {
        let mut stage = staged(view, n);
        let next = frame(n, 120);
        let costs = (0..measured(30, 3)).map(|i| {
            let (mut frame, started) = (next.clone(), std::time::Instant::now());
            frame.clock.step += i;
            stage.absorb(frame);
            let absorbed = started.elapsed().as_secs_f64() * 1e3;
            (absorbed, stage.timed_frame())
        });
        check(&format!("{view} of {n}"), costs.collect());
    }
    for steps in [5_000, 50_000] {
        let mut stage = Stage::new("lineage", schema(1000), (1000.0, 640.0)).headless();
        stage.absorb(born(1000, steps));
        stage.settle();
        stage.settle();
        let costs = (0..measured(30, 3)).map(|i| {
            let started = std::time::Instant::now();
            let clock = Clock { step: steps + i, base: TimeBase::STEPS };
            stage.absorb(Frame {
                clock,
                readings: vec![(LINEAGE.into(), Reading::lineage(vec![]))],
                ..Frame::default()
            });
            (started.elapsed().as_secs_f64() * 1e3, stage.timed_frame())
        });
        check(&format!("lineage of {}", 1000 + 2 * steps), costs.collect());
    }
}

/// Two thousand states, all in the picture.
#[test]
fn a_long_record_of_distributions_stays_within_the_budget() {
    for is_heat in [false, true] {
        let mut stage = staged("bands", 200);
        if is_heat {
            stage.choose("As", "heat map");
        }
        let readings = frame(200, 100).readings;
        let absorb = |stage: &mut Stage, step| {
            let started = std::time::Instant::now();
            let clock = Clock { step, base: TimeBase::STEPS };
            stage.absorb(Frame { clock, readings: readings.clone(), ..Frame::default() });
            started.elapsed().as_secs_f64() * 1e3
        };
        let timed = 2_100 - measured(100, 3);
        for step in 101..timed {
            absorb(&mut stage, step);
            if step % 50 == 0 {
                stage.run(1);
            }
        }
        let costs = (timed..2_100).map(|step| (absorb(&mut stage, step), stage.timed_frame())).collect();
        check(&format!("many states, as a heat map: {is_heat}"), costs);
    }
}

fn check(what: &str, mut costs: Vec<(f64, f64)>) {
    costs.sort_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    let (absorb, ui) = costs[costs.len() / 2];
    assert!(!asserts_timings() || absorb + ui < 20.0, "{what} takes {absorb:.1} + {ui:.1} ms");
}

#[test]
fn pictures() {
    let Some(graphics) = graphics() else { return };
    for dark in [true, false] {
        let theme = if dark { "dark" } else { "light" };
        for (view, n) in [
            ("circle", 3_000),
            ("circle", 40_000),
            ("phases", 3_000),
            ("scatter", 3_000),
            ("scatter", 40_000),
            ("brain", 3_000),
        ] {
            let mut stage = Stage::new(view, schema(n), (720.0, 480.0)).on(&graphics, dark);
            stage.run(2);
            stage.absorb(frame(n, 150));
            stage.settle();
            if view == "scatter" {
                stage.choose("Colour", "Phase");
                stage.absorb(frame(n, 150));
                stage.settle();
            }
            let colors = stage.shoot(&format!("{view}-{n}-{theme}"));
            assert!(colors > 20, "{view} of {n} is blank in {theme}");
        }
        bands_pictures(&graphics, dark, theme);
        for (n, steps) in [(12, 40), (60, 1000), (500, 20_000)] {
            let mut stage = Stage::new("lineage", schema(500), (1000.0, 600.0)).on(&graphics, dark);
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

fn bands_pictures(graphics: &(), dark: bool, theme: &str) {
    for (n, size) in [(3_000, (900.0, 420.0)), (3_000, (380.0, 240.0))] {
        let mut stage = Stage::new("bands", schema(n), size).on(graphics, dark);
        stage.run(2);
        let steps = (0..60u64).map(|i| i * 10).chain((75..100).map(|i| i * 10));
        for step in steps {
            let mut frame = frame(n, step);
            // A distribution that rises and widens.
            if let Some((_, Reading::Field(fitness))) = frame.readings.get_mut(1) {
                std::sync::Arc::make_mut(fitness)
                    .iter_mut()
                    .for_each(|f| *f = 1.0 + *f * (step as f32 / 300.0).sin().abs() + step as f32 / 2000.0);
            }
            stage.absorb(frame);
            stage.run(1);
        }
        stage.select_of(N, &[3, 7, 12]);
        stage.settle();
        let name = format!("bands-{}-{theme}", size.0);
        assert!(stage.shoot(&name) > 20, "{name} is blank");
        stage.press("Log");
        stage.choose("As", "heat map");
        stage.settle();
        assert!(stage.shoot(&format!("{name}-heat")) > 20, "{name} is blank as a heat map");
    }
}
