//! Digits drawn by the program: strokes through fixed points, with random position, size and slant, and inverted pixels.

use super::DrawnDigits;
use crate::num::rng::{Draw, Purpose};

/// Number of classes.
pub const CLASSES: u32 = 10;
/// Half the width of a stroke, pixels.
const HALF_WIDTH: f64 = 0.9;
/// Width of the empty border of an average digit, pixels.
const BORDER: f64 = 1.75;
/// Largest relative variation of sizes, and slant, per unit of variation.
const RELATIVE: f64 = 0.12;
/// Lanes of the draws: of the geometry, and of the first group of four pixels.
const GEOMETRY: u32 = 1;
const NOISE: u32 = 16;

type Point = [f64; 2];

/// Points of the stroke of each digit in the unit square, y downwards.
const STROKES: [&[Point]; CLASSES as usize] = [
    &[[0.5, 0.05], [0.2, 0.25], [0.2, 0.75], [0.5, 0.95], [0.8, 0.75], [0.8, 0.25], [0.5, 0.05]],
    &[[0.3, 0.25], [0.55, 0.05], [0.55, 0.95]],
    &[[0.2, 0.25], [0.5, 0.05], [0.8, 0.25], [0.2, 0.95], [0.85, 0.95]],
    &[[0.2, 0.08], [0.8, 0.08], [0.5, 0.45], [0.8, 0.7], [0.5, 0.95], [0.2, 0.85]],
    &[[0.65, 0.95], [0.65, 0.05], [0.15, 0.65], [0.85, 0.65]],
    &[[0.8, 0.05], [0.25, 0.05], [0.22, 0.45], [0.65, 0.42], [0.8, 0.7], [0.55, 0.95], [0.2, 0.88]],
    &[[0.7, 0.05], [0.3, 0.4], [0.2, 0.75], [0.5, 0.95], [0.8, 0.75], [0.5, 0.52], [0.25, 0.65]],
    &[[0.15, 0.05], [0.85, 0.05], [0.4, 0.95]],
    &[[0.5, 0.48], [0.22, 0.25], [0.5, 0.05], [0.78, 0.25], [0.22, 0.75], [0.5, 0.95], [0.78, 0.75], [0.5, 0.48]],
    &[[0.75, 0.35], [0.5, 0.5], [0.22, 0.28], [0.5, 0.05], [0.75, 0.3], [0.7, 0.7], [0.4, 0.95]],
];

/// Returns numbers from 0 to 1 of the words at an address.
fn uniform(at: Draw) -> [f64; 4] {
    at.words().map(|word| (f64::from(word) + 0.5) / 4_294_967_296.0)
}

/// Returns the pixels of the drawing `number` of a class, row by row: values from 0 to 1.
pub fn draw(of: &DrawnDigits, seed: u64, class: u32, number: u64) -> Vec<f64> {
    let at = |lane: u32| Draw { seed, purpose: Purpose::Pattern, step: number, lane };
    let stroke = place(of, STROKES[(class % CLASSES) as usize], at);
    let side = of.side as u32;
    let mut noise = [0.0; 4];
    let pixel = |i: u32| {
        let point = [f64::from(i % side), f64::from(i / side)];
        let distance = stroke.windows(2).map(|ends| distance(point, ends)).fold(f64::INFINITY, f64::min);
        let value = (HALF_WIDTH + 0.5 - distance).clamp(0.0, 1.0);
        if i.is_multiple_of(4) {
            noise = uniform(at(NOISE + i / 4));
        }
        if noise[(i % 4) as usize] < of.noise { 1.0 - value } else { value }
    };
    (0..side * side).map(pixel).collect()
}

/// Returns the points of a stroke in pixels, with random position, size and slant.
fn place(of: &DrawnDigits, stroke: &[Point], at: impl Fn(u32) -> Draw) -> Vec<Point> {
    let symmetric = |lane: u32| uniform(at(lane)).map(|x| of.variation * (2.0 * x - 1.0));
    let ([dx, dy, wide, high], [slant, tilt, ..]) = (symmetric(GEOMETRY), symmetric(GEOMETRY + 1));
    let (length, centre) = (of.side as f64 - 2.0 * BORDER, (of.side as f64 - 1.0) / 2.0);
    let point = |[x, y]: &Point| {
        let (x, y) = ((x - 0.5) * (1.0 + RELATIVE * wide) * length, (y - 0.5) * (1.0 + RELATIVE * high) * length);
        [x - RELATIVE * slant * y + centre + dx, RELATIVE * tilt * x + y + centre + dy]
    };
    stroke.iter().map(point).collect()
}

/// Returns the distance of a point from a line segment.
fn distance(point: Point, ends: &[Point]) -> f64 {
    let (a, b) = (ends[0], ends[1]);
    let (along, to) = ([b[0] - a[0], b[1] - a[1]], [point[0] - a[0], point[1] - a[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let share = if length > 0.0 { ((to[0] * along[0] + to[1] * along[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    let (x, y) = (to[0] - share * along[0], to[1] - share * along[1]);
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_of_a_class_are_alike_and_differ() {
        let of = DrawnDigits::default();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let alike = |a: &[f64], b: &[f64]| product(a, b) / (product(a, a) * product(b, b)).sqrt();
        let (mut same, mut other) = (0.0, 0.0);
        for class in 0..CLASSES {
            let [a, b, c] =
                [(class, 1), (class, 2), ((class + 1) % CLASSES, 1)].map(|(class, n)| draw(&of, 7, class, n));
            assert!(a != b && a.len() == 144 && a.iter().all(|x| (0.0..=1.0).contains(x)));
            same += alike(&a, &b);
            other += alike(&a, &c);
        }
        assert!(same > 1.2 * other, "{same} {other}");
    }

    #[test]
    fn without_variation_and_noise_all_drawings_of_a_class_are_equal() {
        let of = DrawnDigits { variation: 0.0, noise: 0.0, ..DrawnDigits::default() };
        assert_eq!(draw(&of, 1, 3, 4), draw(&of, 2, 3, 9));
    }
}
