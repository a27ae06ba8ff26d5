//! Names beside the points of small sets, such as the layers of a model.

use super::{View3d, pixels};
use crate::{
    app::{kit, views::ViewCtx},
    sim::ElementSet,
    view3d::Projector,
};
use egui::{Align2, Pos2, Rect, Ui, vec2};

/// Centre and radius of a point on the screen.
type Disc = (Pos2, f32);

/// Maximum number of elements that are named.
const MAX_NAMED: u32 = 24;
/// Minimum size of an image with axes and names, points.
const ROOM: egui::Vec2 = vec2(340.0, 280.0);
/// Distance of a name from the edge of its point, points.
const GAP: f32 = 4.0;

impl View3d {
    /// Draws the names of a small set. Names cover neither each other nor other points.
    pub(super) fn names_ui(&self, ui: &Ui, canvas: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) {
        // Elements whose positions are fields have axes, whose texts need the room of a small image.
        let has_room = !self.is_in_motion() || canvas.height() >= ROOM.y && canvas.width() >= ROOM.x;
        if !has_room || set.len > MAX_NAMED || set.names.iter().all(String::is_empty) {
            return;
        }
        let (projector, scale) = (Projector::new(&self.camera, pixels(ui, canvas)), ui.pixels_per_point());
        let (places, mask) = (self.places(set), ctx.filter.shown().mask(set.name));
        let is_visible = |i: usize| mask.is_none_or(|m| m.get(i) == Some(&true)) && self.is_shown(set, i);
        let look = self.look(pixels(ui, canvas), scale, ctx);
        let point = |i: usize| {
            let (at, depth) = places.get(i).filter(|_| is_visible(i)).and_then(|place| projector.project(*place))?;
            let size = self.placement.sizes.get(i).copied().unwrap_or(1.0);
            Some((canvas.min + vec2(at.x, at.y) / scale, look.radius_px(depth) * size / scale))
        };
        let points: Vec<Option<Disc>> = (0..set.len as usize).map(point).collect();
        let (painter, font, t) = (ui.painter_at(canvas), kit::small(ui), ctx.tokens);
        let mut taken: Vec<Rect> = vec![];
        for (i, disc) in points.iter().enumerate() {
            let (Some(disc), name) = (disc, set.label(i as u32)) else { continue };
            let galley = painter.layout_no_wrap(name, font.clone(), t.text);
            let Some(area) = free_area(*disc, galley.size(), canvas, &taken, &points) else { continue };
            painter.galley(area.min, galley, t.text);
            taken.push(area);
        }
    }
}

/// Returns the area of a name at the right or at the left of its point; `None` if it would cover another name or point.
fn free_area(
    (at, radius): Disc,
    size: egui::Vec2,
    canvas: Rect,
    taken: &[Rect],
    points: &[Option<Disc>],
) -> Option<Rect> {
    let gap = radius + GAP;
    let sides = [(Align2::LEFT_CENTER, gap), (Align2::RIGHT_CENTER, -gap)];
    let mut areas = sides.map(|(align, gap)| align.anchor_size(at + vec2(gap, 0.0), size)).into_iter();
    areas.find(|area| {
        let is_free = !taken.iter().any(|other| other.intersects(*area));
        let covers = |(centre, radius): &Disc| area.distance_to_pos(*centre) < *radius;
        is_free && canvas.contains_rect(*area) && !points.iter().flatten().any(covers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn names_are_clear_of_each_other_and_of_points() {
        let canvas = Rect::from_min_size(Pos2::ZERO, vec2(200.0, 100.0));
        let discs = [(pos2(50.0, 50.0), 6.0), (pos2(75.0, 50.0), 6.0)];
        let points = [Some(discs[0]), None, Some(discs[1])];
        let size = vec2(30.0, 12.0);
        let first = free_area(discs[0], size, canvas, &[], &points).expect("room at the left");
        assert!(first.right() < 50.0, "the point at the right stays visible: {first:?}");
        let second = free_area(discs[1], size, canvas, &[first], &points).expect("room at the right");
        assert!(second.left() > 75.0 && !second.intersects(first));
        assert_eq!(free_area(discs[0], vec2(300.0, 12.0), canvas, &[], &points), None, "no room");
    }
}
