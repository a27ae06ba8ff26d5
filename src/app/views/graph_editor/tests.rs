//! Tests of the geometry.

use super::{scene::*, *};
use crate::{
    app::document::graph::{GraphLists, places::Places},
    kinds::Model,
    project::new_project,
};
use egui::{pos2, vec2};

/// A graph of two nodes with these edges.
fn scene(edges: &[(usize, usize)], canvas: Rect) -> Scene {
    let templates = Model::all().into_iter().flat_map(|model| model.templates());
    let mut project = templates
        .filter_map(|template| new_project(template.name))
        .find(|project| GraphLists::of(project.model.params()).is_some())
        .expect("a kind with a graph");
    let params = project.model.params_mut();
    (0..2).for_each(|_| drop(GraphEdit::AddNode(None).apply(params)));
    for (from, to) in edges.iter().copied() {
        GraphEdit::Connect { from, to, inhibits: false }.apply(params);
    }
    let graph = Graph::of(&project.model).expect("a graph");
    let mut places = Places::default();
    places.arrange(graph.nodes.iter().map(|node| node.name.as_str()));
    Scene::new(&graph, &places, canvas)
}

#[test]
fn lines_between_the_same_circles_lie_apart() {
    let canvas = Rect::from_min_size(pos2(10.0, 20.0), vec2(700.0, 500.0));
    let edges = [(0, 1), (1, 0), (0, 1), (0, 0), (0, 0), (1, 1)];
    let scene = scene(&edges, canvas);
    let middles: Vec<_> = scene.curves.iter().map(|curve| curve.as_ref().expect("a line").middle()).collect();
    for (i, a) in middles.iter().enumerate() {
        assert!(canvas.contains(*a), "line {i} at {a:?}");
        let nearest = middles[..i].iter().map(|b| a.distance(*b)).fold(f32::INFINITY, f32::min);
        assert!(nearest > 14.0, "line {i} is {nearest} points from another");
        assert_eq!(scene.edge_at(*a), Some(i), "the pointer finds line {i}");
    }
}

#[test]
fn loops_stay_on_the_canvas() {
    for width in [180.0, 240.0, 280.0, 420.0] {
        let canvas = Rect::from_min_size(pos2(0.0, 0.0), vec2(width, 300.0));
        let scene = scene(&[(0, 0), (1, 1)], canvas);
        let mut points = scene.curves.iter().flatten().flat_map(|curve| &curve.points);
        assert!(points.all(|at| canvas.contains(*at)), "{width} points wide");
    }
}

#[test]
fn a_rim_is_beside_the_inside_of_its_circle() {
    let scene = scene(&[], Rect::from_min_size(pos2(0.0, 0.0), vec2(700.0, 500.0)));
    let disc = scene.discs[0];
    let at = |distance: f32| disc.centre + vec2(distance, 0.0);
    let on_rim =
        [0.0, disc.radius - 10.0, disc.radius, disc.radius + 5.0, disc.radius + 12.0].map(|d| disc.has_on_rim(at(d)));
    assert_eq!(on_rim, [false, false, true, true, false]);
    assert_eq!((scene.node_at(at(disc.radius + 5.0)), scene.node_at(at(disc.radius + 12.0))), (Some(0), None));
    let canvas = Rect::from_min_size(pos2(5.0, 7.0), vec2(200.0, 100.0));
    let there = pos2(55.0, 87.0);
    assert!(position(canvas, place_at(canvas, there)).distance(there) < 1e-3);
}
