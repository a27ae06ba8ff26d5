//! Positions for the names of reference values. A name is next to its line and covers no other name and no other line; it covers
//! curves only if it has no other position.

use super::drawn::DrawnCurves;
use egui::{Align2, Pos2, Rangef, Rect, Vec2};

/// Distance between the positions that are tried, points.
const STEP: f32 = 16.0;
/// Distance of a name from the ends of its line, points.
const MARGIN: f32 = 4.0;

/// The line of a reference value in a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelLine {
    /// Range of x from the left to the right end.
    pub x: Rangef,
    pub y: f32,
}

/// Contents of a chart around a name.
pub struct Surroundings<'a> {
    /// The area of the chart.
    pub plot: Rect,
    /// All lines of reference values.
    pub lines: &'a [LevelLine],
    pub curves: &'a DrawnCurves,
}

impl Surroundings<'_> {
    /// Returns a position of a name next to one of its lines: the first free one, from the left, above or below the first line
    /// that has a free one. If curves run along all lines, returns the position that covers the smallest height of curves; `None`
    /// if other lines and the names at `taken` leave no room.
    pub fn place_of(&self, lines: &[LevelLine], size: Vec2, taken: &[Rect]) -> Option<Rect> {
        let mut best: Option<(f32, Rect)> = None;
        for line in lines {
            for area in places(*line, size).filter(|area| self.has_room(*area, line.y, taken)) {
                let covered = self.curves.covered(area.expand(1.0));
                if covered == 0.0 {
                    return Some(area);
                }
                if best.is_none_or(|(least, _)| covered < least) {
                    best = Some((covered, area));
                }
            }
        }
        best.map(|(_, area)| area)
    }

    fn has_room(&self, area: Rect, y: f32, taken: &[Rect]) -> bool {
        let plot = self.plot.y_range();
        let is_inside = area.top() >= plot.min - 1.0 && area.bottom() <= plot.max + 1.0;
        let crosses = |line: &LevelLine| {
            line.y != y && area.shrink(2.0).y_range().contains(line.y) && area.x_range().intersects(line.x)
        };
        is_inside && !self.lines.iter().any(crosses) && !taken.iter().any(|name| name.intersects(area))
    }
}

/// Returns candidate positions along a line, from the left, above and below the line.
fn places(line: LevelLine, size: Vec2) -> impl Iterator<Item = Rect> {
    let room = line.x.span() - 2.0 * MARGIN - size.x;
    let n = if room < 0.0 { 0 } else { (room / STEP) as usize + 1 };
    (0..n).flat_map(move |i| {
        let x = line.x.min + MARGIN + i as f32 * STEP;
        let beside = [(Align2::LEFT_BOTTOM, line.y - 1.0), (Align2::LEFT_TOP, line.y + 1.0)];
        beside.map(|(align, y)| align.anchor_size(Pos2::new(x, y), size))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::plot::samples::Extent;

    const SIZE: Vec2 = Vec2::new(40.0, 11.0);

    fn plot() -> Rect {
        Rect::from_min_max(Pos2::ZERO, Pos2::new(400.0, 120.0))
    }

    fn line(y: f32) -> LevelLine {
        LevelLine { x: plot().x_range(), y }
    }

    fn curve(y: impl Fn(f32) -> (f32, f32)) -> DrawnCurves {
        let extent = |i: usize| {
            let (top, bottom) = y(i as f32);
            Extent { column: i as f32, min: top, max: bottom, gap: i == 0 }
        };
        let mut curves = DrawnCurves::default();
        curves.add(&(0..=400).map(extent).collect::<Vec<_>>(), |column| column, |y| y);
        curves
    }

    #[test]
    fn names_cover_neither_each_other_nor_other_lines() {
        let lines = [4.0, 60.0, 66.0, 73.0, 95.0, 119.0].map(line);
        let (curves, mut taken) = (DrawnCurves::default(), vec![]);
        let around = Surroundings { plot: plot(), lines: &lines, curves: &curves };
        let named: Vec<bool> = lines
            .iter()
            .map(|line| {
                let area = around.place_of(&[*line], SIZE, &taken);
                taken.extend(area);
                area.is_some()
            })
            .collect();
        assert_eq!(named, [true, true, false, true, true, true], "between near lines there is no room");
        assert_eq!(
            (taken[0].top(), taken[2].top()),
            (5.0, 74.0),
            "below a line at the top, and below the last of a group"
        );
        let others = |area: &Rect| lines.iter().filter(|line| area.shrink(2.0).y_range().contains(line.y)).count();
        assert!(taken.iter().all(|area| others(area) == 0), "{taken:?}");
    }

    #[test]
    fn many_levels_of_one_height_are_named_beside_each_other() {
        let lines = [60.0; 12].map(line);
        let (curves, mut taken) = (DrawnCurves::default(), vec![]);
        let around = Surroundings { plot: plot(), lines: &lines, curves: &curves };
        lines.iter().for_each(|line| taken.extend(around.place_of(&[*line], SIZE, &taken)));
        assert_eq!(taken.len(), 12);
        let overlaps = |i: usize| taken[..i].iter().any(|other| other.intersects(taken[i]));
        assert!((0..12).all(|i| !overlaps(i)), "{taken:?}");
    }

    /// A loss curve falls from the left and settles near a level at the right. The name does not cover its newest part.
    #[test]
    fn a_name_covers_no_curve() {
        let falling = curve(|x| {
            let y = 90.0 * (1.0 - (-x / 60.0).exp());
            (y - 3.0, y + 3.0)
        });
        for y in [0.5, 40.0, 88.0, 115.0] {
            let lines = [line(y)];
            let around = Surroundings { plot: plot(), lines: &lines, curves: &falling };
            let area = around.place_of(&lines, SIZE, &[]).expect("a place");
            assert_eq!(falling.covered(area), 0.0, "the name at {y} lies over the curve: {area:?}");
        }
        // If the curve covers the whole line, the name is at the left end of the line, over the oldest samples.
        let around_line = curve(|_| (50.0, 70.0));
        let lines = [line(60.0)];
        let around = Surroundings { plot: plot(), lines: &lines, curves: &around_line };
        assert_eq!(around.place_of(&lines, SIZE, &[]).map(|area| area.left()), Some(MARGIN));
    }

    #[test]
    fn a_name_stays_beside_the_part_of_the_line_that_is_drawn() {
        let (late, former) =
            (LevelLine { x: Rangef::new(300.0, 400.0), y: 40.0 }, LevelLine { x: Rangef::new(0.0, 298.0), y: 48.0 });
        let (lines, curves) = ([late, former], DrawnCurves::default());
        let around = Surroundings { plot: plot(), lines: &lines, curves: &curves };
        let area = around.place_of(&[late], SIZE, &[]).expect("a place");
        assert!(area.left() >= 300.0 && area.right() <= 400.0, "{area:?}");
        let short = LevelLine { x: Rangef::new(300.0, 330.0), y: 40.0 };
        assert_eq!(around.place_of(&[short], SIZE, &[]), None, "no room for it");
    }

    /// The curve runs along the newest line, as after a change of the text, so that the name is next to an earlier line.
    #[test]
    fn a_name_without_room_beside_the_newest_line_is_beside_a_former_one() {
        let newest = LevelLine { x: Rangef::new(300.0, 400.0), y: 60.0 };
        let former = LevelLine { x: Rangef::new(150.0, 298.0), y: 58.0 };
        let curves = curve(|x| if x < 280.0 { (100.0, 104.0) } else { (50.0, 70.0) });
        let drawn = [newest, former];
        let around = Surroundings { plot: plot(), lines: &drawn, curves: &curves };
        let area = around.place_of(&drawn, SIZE, &[]).expect("a place");
        assert!(curves.covered(area) == 0.0 && area.right() < 298.0, "{area:?}");
        let only = around.place_of(&drawn[..1], SIZE, &[]).expect("a place");
        assert!(curves.covered(only) > 0.0, "beside it there is none");
    }
}
