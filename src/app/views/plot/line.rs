//! Drawing of a line over the extents of samples in pixel columns, and the range of its axis.

use super::samples::Extent;
use egui::{Color32, Painter, Pos2, Stroke, pos2};

/// Radius of a sample without neighbours, points.
const LONE: f32 = 2.0;

/// Returns the bounds of an axis for values from `low` to `high`, with a margin. The axis begins at zero if `low` is not negative
/// and less than 60 % of `high`. Without values (`low > high`) it is 0 to 1.
pub fn range(low: f32, high: f32) -> (f64, f64) {
    if low > high {
        return (0.0, 1.0);
    }
    let (mut low, mut high) = (f64::from(low), f64::from(high));
    if low >= 0.0 && low < high * 0.6 {
        low = 0.0;
    }
    if high - low < 1e-9 * high.abs().max(1e-9) {
        high = low + 1.0;
    }
    let air = (high - low) * 0.06;
    (if low == 0.0 { 0.0 } else { low - air }, high + air)
}

/// Returns the lowest and the highest value; on a logarithmic axis, the lowest positive value. Without values, the first number
/// is larger than the second.
pub fn limits<'a>(extents: impl Iterator<Item = &'a Extent>, is_log: bool) -> (f32, f32) {
    let lowest = |e: &Extent| match is_log {
        true if e.min <= 0.0 => {
            if e.max > 0.0 {
                e.max
            } else {
                f32::INFINITY
            }
        }
        _ => e.min,
    };
    extents.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), e| (a.min(lowest(e)), b.max(e.max)))
}

/// Draws extents as points.
pub fn paint_points(
    painter: &Painter,
    extents: &[Extent],
    x: impl Fn(f32) -> f32,
    y: impl Fn(f32) -> f32,
    color: Color32,
) {
    for e in extents {
        painter.circle_filled(pos2(x(e.column), y(e.max)), LONE, color);
    }
}

/// Draws extents as a line with the range of each column, interrupted at gaps.
pub fn paint_line(
    painter: &Painter,
    extents: &[Extent],
    x: impl Fn(f32) -> f32,
    y: impl Fn(f32) -> f32,
    stroke: Stroke,
) {
    let mut points: Vec<Pos2> = Vec::with_capacity(extents.len() * 2);
    let flush = |points: &mut Vec<Pos2>| match points.len() {
        0 => {}
        1 => {
            painter.circle_filled(points[0], stroke.width.max(LONE), stroke.color);
            points.clear();
        }
        _ => drop(painter.line(std::mem::take(points), stroke)),
    };
    for e in extents {
        if e.gap {
            flush(&mut points);
        }
        let (x, low, high) = (x(e.column), y(e.min), y(e.max));
        let (first, second) = match points.last() {
            Some(last) if (last.y - low).abs() > (last.y - high).abs() => (high, low),
            _ => (low, high),
        };
        points.push(pos2(x, first));
        if (first - second).abs() > 0.25 {
            points.push(pos2(x, second));
        }
    }
    flush(&mut points);
}
