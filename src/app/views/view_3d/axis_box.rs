//! Box of three axes that are fields, with its edges and the names and ranges of the axes.

use crate::app::kit::theme::Tokens;
use egui::{Painter, Pos2, Rect, Stroke, TextStyle, Vec2};

/// Distance of texts from edges, points.
const GAP: f32 = 4.0;
/// Maximum distance of a text from its edge, in units of [`GAP`].
const FARTHEST: usize = 24;

/// Texts of an axis.
pub(super) struct AxisTexts {
    pub name: String,
    /// Lowest and highest value, formatted.
    pub ends: [String; 2],
}

/// Draws the box from -1 to 1, projected by `at`. Texts cover neither edges nor each other. A range without room is left out; a
/// name without room is replaced by its letter.
pub(super) fn paint(
    painter: &Painter,
    canvas: Rect,
    at: &dyn Fn([f32; 3]) -> Option<Pos2>,
    axes: &[Option<AxisTexts>],
    tokens: &Tokens,
) {
    let corner = |bits: usize| std::array::from_fn(|axis| if bits >> axis & 1 == 1 { 1.0 } else { -1.0 });
    let edges_along = |axis: usize| -> Vec<[Pos2; 2]> {
        let starts = (0..8).filter(|bits| bits >> axis & 1 == 0);
        starts.filter_map(|bits| Some([at(corner(bits))?, at(corner(bits | 1 << axis))?])).collect()
    };
    let edges: Vec<[Pos2; 2]> = (0..3).flat_map(edges_along).collect();
    for edge in &edges {
        painter.line_segment(*edge, Stroke::new(1.0, tokens.line));
    }
    let Some(centre) = at([0.0; 3]) else { return };
    let font = TextStyle::Small.resolve(&painter.ctx().global_style());
    let mut taken: Vec<Rect> = vec![];
    for (axis, texts) in axes.iter().enumerate() {
        let Some(AxisTexts { name, ends: [low, high] }) = texts else { continue };
        // Texts are next to the outermost of the four edges along the axis.
        let distance = |[a, b]: &[Pos2; 2]| a.lerp(*b, 0.5).distance(centre);
        let outermost = edges_along(axis).into_iter().max_by(|a, b| distance(a).total_cmp(&distance(b)));
        let Some([a, b]) = outermost else { continue };
        let out = (a.lerp(b, 0.5) - centre).normalized();
        for (t, texts) in
            [(0.5, &[name.as_str(), ["x", "y", "z"][axis]][..]), (0.08, &[low.as_str()]), (0.92, &[high.as_str()])]
        {
            let place = |text: &&str| {
                let galley = painter.layout_no_wrap((*text).to_owned(), font.clone(), tokens.text_sub);
                let area = beside(a.lerp(b, t), out, galley.size(), &edges, &taken)?;
                canvas.contains_rect(area).then_some((area, galley))
            };
            if let Some((area, galley)) = texts.iter().find_map(place) {
                painter.galley(area.min, galley, tokens.text_sub);
                taken.push(area.expand(GAP / 2.0));
            }
        }
    }
}

/// Returns the area of a text as near as possible to a point in a direction, where it covers neither lines nor other areas.
/// `None` if there is none within [`FARTHEST`] steps.
fn beside(at: Pos2, out: Vec2, size: Vec2, lines: &[[Pos2; 2]], taken: &[Rect]) -> Option<Rect> {
    let mut areas = (1..=FARTHEST).map(|i| Rect::from_center_size(at + out * (i as f32 * GAP), size));
    areas.find(|area| {
        let around = area.expand(GAP);
        !lines.iter().any(|line| crosses(*line, around)) && !taken.iter().any(|other| other.intersects(*area))
    })
}

/// Whether part of a line is in an area (Liang-Barsky algorithm).
fn crosses([a, b]: [Pos2; 2], area: Rect) -> bool {
    let (mut from, mut to) = (0.0_f32, 1.0_f32);
    for (start, along, low, high) in
        [(a.x, b.x - a.x, area.left(), area.right()), (a.y, b.y - a.y, area.top(), area.bottom())]
    {
        if along.abs() < 1e-6 {
            if start < low || start > high {
                return false;
            }
            continue;
        }
        let (one, other) = ((low - start) / along, (high - start) / along);
        (from, to) = (from.max(one.min(other)), to.min(one.max(other)));
    }
    from <= to
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn texts_are_clear_of_lines_and_of_each_other() {
        let (line, size) = ([pos2(100.0, 50.0), pos2(160.0, 110.0)], egui::vec2(80.0, 12.0));
        let mut taken = vec![];
        for i in 0..36 {
            let out = Vec2::angled(i as f32 * std::f32::consts::TAU / 36.0);
            let Some(area) = beside(pos2(130.0, 80.0), out, size, &[line], &taken) else { continue };
            assert!(!crosses(line, area.expand(GAP - 0.1)), "{out:?}");
            assert!(!taken.iter().any(|other: &Rect| other.intersects(area)), "{out:?}");
            taken.push(area);
        }
        assert!(taken.len() >= 4, "{taken:?}");
    }

    #[test]
    fn lines_cross_areas_or_not() {
        let area = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        let cases = [
            ([pos2(-5.0, 5.0), pos2(15.0, 5.0)], true),
            ([pos2(5.0, 5.0), pos2(6.0, 6.0)], true),
            ([pos2(-5.0, 5.0), pos2(5.0, 20.0)], false),
            ([pos2(12.0, 0.0), pos2(12.0, 9.0)], false),
        ];
        cases.into_iter().for_each(|(line, expected)| assert_eq!(crosses(line, area), expected, "{line:?}"));
    }
}
