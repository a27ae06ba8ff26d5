//! Geometry of the graph: circles, curves between them, and the marks of items that belong to a node.

use crate::app::document::graph::{
    Edge, Graph,
    places::{Place, Places},
};
use egui::{Pos2, Rect, Vec2, pos2};
use std::f32::consts::{FRAC_PI_2, TAU};

/// Range of the radius of the largest circle, points.
const LARGEST: (f32, f32) = (22.0, 58.0);
/// Smallest radius of a circle, points.
const SMALLEST: f32 = 15.0;
/// Widths of the rim, on which a drag connects, outside and inside of the border of a circle, points.
pub const RIM: (f32, f32) = (7.0, 6.0);
/// Length of the mark at the end of a line, points.
pub const END: f32 = 11.0;
/// Distance between lines that connect the same two circles, points.
const APART: f32 = 26.0;
/// Number of straight pieces of a curve.
const PIECES: usize = 24;
/// Heights of the line from a circle to itself, relative to its reach; the first that fits the canvas is drawn.
const LOOP_HEIGHTS: [f32; 3] = [1.25, 1.1, 0.95];
/// Largest distance of the pointer from a line that it hits, points.
const HIT: f32 = 6.0;

/// Circle of a node.
#[derive(Clone, Copy, Debug)]
pub struct Disc {
    pub centre: Pos2,
    pub radius: f32,
}

impl Disc {
    /// Returns the area of the circle with its rim.
    pub fn area(&self) -> Rect {
        Rect::from_center_size(self.centre, Vec2::splat(2.0 * (self.radius + RIM.0)))
    }

    /// Whether a point is in the circle or on its rim.
    pub fn contains(&self, at: Pos2) -> bool {
        at.distance(self.centre) <= self.radius + RIM.0
    }

    /// Whether a point is on the rim.
    pub fn has_on_rim(&self, at: Pos2) -> bool {
        let distance = at.distance(self.centre);
        distance <= self.radius + RIM.0 && distance >= self.radius - RIM.1
    }

    /// Returns the point at the border in a direction.
    pub fn border(&self, direction: Vec2) -> Pos2 {
        self.centre + direction.normalized() * self.radius
    }
}

/// Line of an edge as straight pieces, from its start to its end.
#[derive(Clone, Debug)]
pub struct Curve {
    pub points: Vec<Pos2>,
    /// Direction at the end of the line.
    pub towards: Vec2,
    /// Whether the node at the end is known; otherwise the end is open.
    pub is_complete: bool,
}

impl Curve {
    fn new([a, b, c, d]: [Pos2; 4], is_complete: bool) -> Self {
        let at = |t: f32| {
            let s = 1.0 - t;
            let [wa, wb, wc, wd] = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
            (a.to_vec2() * wa + b.to_vec2() * wb + c.to_vec2() * wc + d.to_vec2() * wd).to_pos2()
        };
        let points = (0..=PIECES).map(|i| at(i as f32 / PIECES as f32)).collect();
        Self { points, towards: (d - c).normalized(), is_complete }
    }

    /// Returns the middle of the line.
    pub fn middle(&self) -> Pos2 {
        self.points[PIECES / 2]
    }

    /// Returns the last point.
    pub fn end(&self) -> Pos2 {
        self.points[PIECES]
    }

    fn is_hit(&self, at: Pos2) -> bool {
        self.points.windows(2).any(|piece| distance_to(piece[0], piece[1], at) <= HIT)
    }
}

/// Returns the distance of a point from a straight piece.
fn distance_to(a: Pos2, b: Pos2, at: Pos2) -> f32 {
    let along = b - a;
    let t = ((at - a).dot(along) / along.length_sq().max(1e-6)).clamp(0.0, 1.0);
    at.distance(a + along * t)
}

/// The graph on the canvas.
pub struct Scene {
    pub discs: Vec<Disc>,
    /// Line per edge; `None` if both nodes are unknown.
    pub curves: Vec<Option<Curve>>,
    /// Centre of the mark per attachment.
    pub marks: Vec<Pos2>,
}

impl Scene {
    /// Lays out a graph on a canvas.
    pub fn new(graph: &Graph, places: &Places, canvas: Rect) -> Self {
        let discs = discs(graph, places, canvas);
        let mut scene = Self { discs, curves: vec![], marks: vec![] };
        scene.curves = (0..graph.edges.len()).map(|edge| scene.curve(graph, edge, canvas)).collect();
        scene.marks = (0..graph.attachments.len()).map(|i| scene.mark(graph, i, canvas)).collect();
        scene
    }

    /// Returns the node whose circle contains a point, the nearest of several; `None` if no circle does.
    pub fn node_at(&self, at: Pos2) -> Option<usize> {
        let hit = self.discs.iter().enumerate().filter(|(_, disc)| disc.contains(at));
        let distance = |disc: &Disc| disc.centre.distance(at);
        hit.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b))).map(|(node, _)| node)
    }

    /// Returns the first edge whose line is near a point; `None` if no line is.
    pub fn edge_at(&self, at: Pos2) -> Option<usize> {
        self.curves.iter().position(|curve| curve.as_ref().is_some_and(|curve| curve.is_hit(at)))
    }

    fn curve(&self, graph: &Graph, edge: usize, canvas: Rect) -> Option<Curve> {
        let Edge { from, to, .. } = graph.edges[edge];
        let earlier = graph.edges[..edge].iter().filter(|other| (other.from, other.to) == (from, to)).count();
        match (from, to) {
            (Some(from), Some(to)) if from == to => Some(self.loop_curve(from, earlier, canvas)),
            (Some(from), Some(to)) => {
                let is_both_ways = graph.edges.iter().any(|other| (other.from, other.to) == (Some(to), Some(from)));
                Some(self.between(from, to, bend(earlier, is_both_ways)))
            }
            (Some(node), None) => Some(self.open_curve(node, earlier, canvas, true)),
            (None, Some(node)) => Some(self.open_curve(node, earlier, canvas, false)),
            (None, None) => None,
        }
    }

    /// Returns the line between two circles, bent to its right.
    fn between(&self, from: usize, to: usize, bend: f32) -> Curve {
        let (a, b) = (self.discs[from], self.discs[to]);
        let along = b.centre - a.centre;
        let across = Vec2::new(-along.y, along.x).normalized();
        let control = a.centre + along * 0.5 + across * bend * 2.0;
        let start = a.border(control - a.centre);
        let end = b.border(control - b.centre) + (control - b.centre).normalized() * END;
        let near = |p: Pos2| p + (control - p) * (2.0 / 3.0);
        Curve::new([start, near(start), near(end), end], true)
    }

    /// Returns the line from a circle to itself, on the side away from the others; a flatter one at the edge of the canvas.
    fn loop_curve(&self, node: usize, earlier: usize, canvas: Rect) -> Curve {
        let disc = self.discs[node];
        let angle = self.outward(node, canvas) + 0.75 * earlier as f32;
        let half = 0.42;
        let reach = disc.radius + (disc.radius * 1.1).clamp(32.0, 46.0);
        let [out, back] = [angle - half, angle + half].map(Vec2::angled);
        let end = disc.border(back) + back * END;
        let curve = |height: f32| {
            let sides = [angle - 1.25 * half, angle + 1.25 * half];
            let wide = sides.map(|angle| disc.centre + Vec2::angled(angle) * reach * height);
            Curve::new([disc.border(out), wide[0], wide[1], end], true)
        };
        let fits = |curve: &Curve| curve.points.iter().all(|at| canvas.shrink(2.0).contains(*at));
        LOOP_HEIGHTS.into_iter().map(curve).find(fits).unwrap_or_else(|| curve(LOOP_HEIGHTS[0]))
    }

    /// Returns a short line at a circle whose other end is unknown.
    fn open_curve(&self, node: usize, earlier: usize, canvas: Rect, is_start: bool) -> Curve {
        let disc = self.discs[node];
        let along = Vec2::angled(self.outward(node, canvas) - 0.9 - 0.5 * earlier as f32);
        let (near, far) = (disc.border(along), disc.border(along) + along * 46.0);
        let [a, b] = if is_start { [near, far] } else { [far, near + along * END] };
        Curve::new([a, a + (b - a) / 3.0, b - (b - a) / 3.0, b], !is_start)
    }

    /// Returns the centre of the mark of an attachment, beside the loops of its node.
    fn mark(&self, graph: &Graph, attachment: usize, canvas: Rect) -> Pos2 {
        let node = graph.attachments[attachment].node;
        let earlier = graph.attachments[..attachment].iter().filter(|other| other.node == node).count();
        let disc = self.discs[node];
        let outward = self.outward(node, canvas);
        // The mark is at the upper side of the circle.
        let side = if Vec2::angled(outward + 1.3).y < Vec2::angled(outward - 1.3).y { 1.3 } else { -1.3 };
        let angle = outward + side + side.signum() * 0.55 * earlier as f32;
        disc.border(Vec2::angled(angle)) + Vec2::angled(angle) * (14.0 + disc.radius * 0.25)
    }

    /// Returns the direction from the mean of the other circles to a circle, radians; upwards for a single circle.
    fn outward(&self, node: usize, canvas: Rect) -> f32 {
        let others: Vec<Pos2> =
            self.discs.iter().enumerate().filter(|(i, _)| *i != node).map(|(_, disc)| disc.centre).collect();
        let sum = others.iter().fold(Vec2::ZERO, |sum, at| sum + at.to_vec2());
        let mean = if others.is_empty() { canvas.center_bottom() } else { (sum / others.len() as f32).to_pos2() };
        let away = self.discs[node].centre - mean;
        if away.length() < 1.0 { -FRAC_PI_2 } else { away.angle().rem_euclid(TAU) }
    }
}

/// Returns the sideways distance of the middle of a line from the straight one, points.
fn bend(earlier: usize, is_both_ways: bool) -> f32 {
    let sides = [1.0, -1.0][earlier % 2];
    match is_both_ways {
        true => APART * (0.5 + earlier as f32),
        false => APART * sides * earlier.div_ceil(2) as f32,
    }
}

fn discs(graph: &Graph, places: &Places, canvas: Rect) -> Vec<Disc> {
    let largest = graph.nodes.iter().map(|node| node.size).fold(1.0, f64::max);
    let many = (graph.nodes.len().max(4) as f32).sqrt() * 6.5;
    let most = (canvas.size().min_elem() / many * 2.0).clamp(LARGEST.0, LARGEST.1);
    let disc = |node: &crate::app::document::graph::Node| Disc {
        centre: position(canvas, places.of(&node.name)),
        radius: (most * (node.size / largest).sqrt() as f32).max(SMALLEST),
    };
    graph.nodes.iter().map(disc).collect()
}

/// Returns the point of a place on a canvas.
pub fn position(canvas: Rect, [x, y]: Place) -> Pos2 {
    pos2(canvas.left() + canvas.width() * x, canvas.top() + canvas.height() * y)
}

/// Returns the place of a point on a canvas.
pub fn place_at(canvas: Rect, at: Pos2) -> Place {
    [(at.x - canvas.left()) / canvas.width().max(1.0), (at.y - canvas.top()) / canvas.height().max(1.0)]
}
