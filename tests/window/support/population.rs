//! A synthetic population: synchronising phases, correlated fields, a coupling matrix, and a lineage.

use neuropil::sim::{
    Axis, Birth, Column, Death, ElementSet, EndCause, Histogram, LifeEvent, Link, Matrix, Meaning, MotionFields,
    ProbeId, ProbeSpec, Reading, Shape, TextSample, Tokens,
};
use std::f32::consts::PI;

/// The set.
pub const CELLS: &str = "cells";

const fn probe(name: &'static str, shape: Shape) -> ProbeSpec {
    ProbeSpec { name, title: "", docs: "", unit: "", shape, args: &[] }
}

const fn field(name: &'static str, range: (f32, f32), meaning: Meaning) -> ProbeSpec {
    probe(name, Shape::Field { over: CELLS, range, meaning })
}

/// Its probes: first those of [`fields`].
pub const PROBES: &[ProbeSpec] = &[
    field("phase", (-PI, PI), Meaning::Angle),
    field("fitness", (0.0, 1.0), Meaning::Number),
    field("entropy", (0.0, 3.0), Meaning::Number),
    field("alive", (0.0, 1.0), Meaning::Mask),
    field("order", (0.0, 1.0), Meaning::Number),
    probe("lineage", Shape::Lineage { over: CELLS, attributes: &[] }),
    probe("coupling", Shape::Matrix { rows: CELLS, columns: CELLS }),
    probe("weights", Shape::Histogram { of: "weight" }),
    probe("notes", Shape::Samples),
    probe("words", Shape::Tokens { values: "surprise", categories: "speaker" }),
    probe("friends", Shape::Links { from: CELLS, to: CELLS }),
];
/// Lineage.
pub const LINEAGE: ProbeId = 5;
/// Coupling matrix.
pub const COUPLING: ProbeId = 6;
/// Rows and columns of the coupling matrix.
const TILE: u32 = 24;

/// The cells, of two types.
pub fn cells(n: u32) -> ElementSet {
    let kinds: Vec<&str> = (0..n).map(|i| if i % 4 == 1 { "left" } else { "right" }).collect();
    ElementSet {
        name: CELLS,
        len: n,
        positions: (0..n).map(|i| [i as f32, 0.0, 0.0]).collect(),
        motion: Some(MotionFields::Cylinder { angle: "phase", height: "order" }),
        is_diagram: true,
        columns: vec![Column::from_texts("kind", &kinds)],
        ..ElementSet::default()
    }
}

fn unit(i: u32, salt: u32) -> f32 {
    let x = i.wrapping_mul(0x9E37_79B9).wrapping_add(salt.wrapping_mul(0x85EB_CA6B));
    let x = (x ^ x >> 15).wrapping_mul(0x2C1B_3C6D);
    (x ^ x >> 13) as f32 / u32::MAX as f32
}

/// Every tenth slot is free; the phases concentrate around π/2 with time.
pub fn fields(n: u32, step: u64) -> [Reading; 5] {
    let spread = 2.0 * PI / (1.0 + step as f32 / 50.0);
    let wrap = |phi: f32| (phi + PI).rem_euclid(2.0 * PI) - PI;
    let all = |f: &dyn Fn(u32) -> f32| Reading::field((0..n).map(f).collect());
    [
        all(&|i| wrap(PI / 2.0 + (unit(i, 1) + unit(i, 2) - 1.0) * spread)),
        all(&|i| (unit(i, 3) * 6.0 - 4.0).exp()),
        all(&|i| 2.0 + unit(i, 3) * 0.6 + unit(i, 4) * 0.3),
        all(&|i| f32::from(i % 10 != 9)),
        all(&|i| 0.3 + 0.5 * unit(i, 5)),
    ]
}

/// Near cells are coupled strongly, distant ones weakly and with negative sign.
pub fn coupling() -> Reading {
    let near = |i: u32, j: u32| (-(f64::from(i.abs_diff(j)) / 5.0).powi(2)).exp() as f32 - 0.2 * unit(i * TILE + j, 6);
    let values = (0..TILE * TILE).map(|at| near(at / TILE, at % TILE)).collect();
    let axis = || Axis::numbered(TILE);
    Reading::Matrix(Matrix { rows: axis(), columns: axis(), values: std::sync::Arc::new(values) })
}

/// What a probe without a history of its own gives at a step.
pub fn other(probe: ProbeId, step: u64) -> Reading {
    let words = ["The", " phases", " agree", " more", " with", " time", "."];
    match probe - COUPLING {
        1 => {
            let count = |bin: i32| (1000.0 * (-f64::from(bin - 8).powi(2) / (4.0 + step as f64 / 50.0)).exp()) as f32;
            let edges = std::sync::Arc::new((0..=16).map(|i| i as f32 * 0.25 - 2.0).collect());
            Reading::Histogram(Histogram { edges, steps: vec![step], counts: (0..16).map(count).collect() })
        }
        2 => Reading::Samples(vec![TextSample {
            step,
            title: format!("temperature {:.1}", step % 10),
            text: words.concat(),
        }]),
        3 => Reading::Tokens(std::sync::Arc::new(Tokens {
            step,
            texts: words.iter().cycle().take(60).map(|word| (*word).to_owned()).collect(),
            values: (0..60).map(|i| unit(i, 9) * 4.0).collect(),
            names: vec!["left".into(), "right".into()],
            categories: (0..60).map(|i| i % 2).collect(),
            candidates: vec![vec![("the".into(), 0.5), ("a".into(), 0.25)]; 60],
        })),
        4 => {
            let link = |i: u32| Link { from: i, to: i * 7 % TILE, weight: unit(i, 12) - 0.3 };
            Reading::Links(std::sync::Arc::new((0..TILE).map(link).collect()))
        }
        _ => coupling(),
    }
}

/// A population of fixed size: in every step one cell dies and one splits into both slots, and at every fifth step two
/// merge.
pub fn life(n: u64, steps: u64) -> Vec<LifeEvent> {
    let birth = |step, child, parents: Vec<u64>, place: usize| {
        LifeEvent::Birth(Birth {
            step,
            born: None,
            child,
            parents,
            slot: Some(place as u32),
            name: String::new(),
            ..Birth::default()
        })
    };
    let death =
        |step, gone, end| LifeEvent::Death(Death { step, gone, end, health: None, attributes: Default::default() });
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
            events.extend([death(step, old, EndCause::Merged), death(step, parent, EndCause::Merged)]);
            events.push(birth(step, next, vec![parent, old], splits));
            events.push(birth(step, next + 1, vec![], dies));
        } else {
            events.extend([death(step, old, EndCause::Died), death(step, parent, EndCause::Split)]);
            events.extend([birth(step, next, vec![parent], splits), birth(step, next + 1, vec![parent], dies)]);
        }
        (living[splits], living[dies]) = (next, next + 1);
        next += 2;
    }
    events
}
