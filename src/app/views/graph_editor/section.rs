//! Section of the graph that the editor shows: the whole graph, or an enlarged part of it.

use crate::app::document::graph::places::Place;
use egui::{Pos2, Rect, Response, Ui, Vec2};

/// Largest enlargement of the graph.
const MOST: f32 = 8.0;
/// Enlargement by an entry of the menu.
const ENTRY: f32 = 1.5;

/// Section that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// Enlargement, at least 1.
    zoom: f32,
    /// Place at the upper left corner of the canvas.
    from: Place,
}

impl Default for Section {
    fn default() -> Self {
        Self { zoom: 1.0, from: [0.0; 2] }
    }
}

impl Section {
    /// Whether the whole graph is shown.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the area of the whole graph, of which the canvas shows a part.
    pub fn area(&self, canvas: Rect) -> Rect {
        let size = canvas.size() * self.zoom;
        Rect::from_min_size(canvas.min - size * Vec2::from(self.from), size)
    }

    /// Enlarges by a factor around a point of the canvas, which keeps its place.
    fn enlarge(&mut self, canvas: Rect, at: Pos2, factor: f32) {
        let of_canvas = (at - canvas.min) / canvas.size().max(Vec2::splat(1.0));
        let place = Vec2::from(self.from) + of_canvas / self.zoom;
        self.zoom = (self.zoom * factor).clamp(1.0, MOST);
        self.show_from(place - of_canvas / self.zoom);
    }

    /// Enlarges around the middle of the canvas, or shows more if `shows_more`.
    pub fn step(&mut self, canvas: Rect, shows_more: bool) {
        self.enlarge(canvas, canvas.center(), if shows_more { 1.0 / ENTRY } else { ENTRY });
    }

    /// Sets the place at the upper left corner; the section never leaves the graph.
    fn show_from(&mut self, place: Vec2) {
        let most = Vec2::splat(1.0 - 1.0 / self.zoom);
        self.from = place.clamp(Vec2::ZERO, most).into();
    }

    /// Enlarges by the wheel or by two fingers, and moves by a drag of the background.
    pub fn gestures(&mut self, ui: &Ui, canvas: Rect, background: &Response) {
        if background.dragged() {
            let by = background.drag_delta() / (canvas.size().max(Vec2::splat(1.0)) * self.zoom);
            self.show_from(Vec2::from(self.from) - by);
        }
        let Some(at) =
            ui.ctx().pointer_latest_pos().filter(|at| canvas.contains(*at) && ui.rect_contains_pointer(canvas))
        else {
            return;
        };
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        let factor = (scroll * 0.004).exp() * pinch;
        if (factor - 1.0).abs() > 1e-6 {
            self.enlarge(canvas, at, factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{pos2, vec2};

    #[test]
    fn the_point_under_the_pointer_keeps_its_place() {
        let canvas = Rect::from_min_size(pos2(40.0, 20.0), vec2(600.0, 400.0));
        let (mut section, at) = (Section::default(), pos2(400.0, 120.0));
        assert_eq!(section.area(canvas), canvas);
        let place = |section: &Section| (at - section.area(canvas).min) / section.area(canvas).size();
        let before = place(&section);
        section.enlarge(canvas, at, 3.0);
        assert!((place(&section) - before).length() < 1e-4, "{:?} after {before:?}", place(&section));
        assert!(section.area(canvas).contains_rect(canvas), "the canvas is full");
        section.show_from(vec2(9.0, -9.0));
        assert!(section.area(canvas).contains_rect(canvas.shrink(1e-2)), "a drag stops at the border");
        section.enlarge(canvas, at, 1e-3);
        assert!(section.is_whole());
        section.enlarge(canvas, at, 1e6);
        assert!((section.area(canvas).width() - MOST * canvas.width()).abs() < 1.0);
    }
}
