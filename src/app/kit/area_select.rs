//! Area selection with the pointer: a rectangle with Shift, a lasso with Alt.

use super::theme::Tokens;
use crate::view3d::{Vec2, inside_polygon};
use egui::{Painter, PointerButton, Pos2, Rect, Response, Stroke, StrokeKind, Ui, pos2};

/// Minimum distance between the corners of a lasso, points.
const LASSO_STEP: f32 = 2.0;

/// Area that the user is drawing, in screen points.
#[derive(Default)]
pub struct AreaSelect {
    outline: Vec<Pos2>,
    is_rectangle: bool,
}

/// A completed area selection.
pub struct SelectedArea {
    pub bounds: Rect,
    pub outline: Vec<Vec2>,
    is_rectangle: bool,
}

impl SelectedArea {
    /// Whether the area is a rectangle, not a lasso.
    pub const fn is_box(&self) -> bool {
        self.is_rectangle
    }

    /// Whether the area contains a point of the canvas.
    pub fn holds(&self, at: Pos2) -> bool {
        self.bounds.contains(at) && (self.is_rectangle || inside_polygon(&self.outline, Vec2::new(at.x, at.y)))
    }
}

impl AreaSelect {
    /// Whether an area is being drawn.
    pub fn is_drawing(&self) -> bool {
        !self.outline.is_empty()
    }

    /// Updates the area from the pointer inside `plot`. Returns the area when the button is released; `None` otherwise.
    pub fn update(&mut self, ui: &Ui, response: &Response, plot: Rect) -> Option<SelectedArea> {
        let (modifiers, origin, here) =
            ui.input(|i| (i.modifiers, i.pointer.press_origin(), i.pointer.latest_pos().map(|at| plot.clamp(at))));
        if response.drag_started_by(PointerButton::Primary) && (modifiers.shift || modifiers.alt) {
            self.outline = origin.filter(|at| plot.contains(*at)).into_iter().collect();
            self.is_rectangle = modifiers.shift;
        }
        let (first, here) = (*self.outline.first()?, here?);
        if self.is_rectangle {
            self.outline = vec![first, pos2(here.x, first.y), here, pos2(first.x, here.y)];
        } else if self.outline.last().is_none_or(|last| last.distance(here) > LASSO_STEP) {
            self.outline.push(here);
        }
        let is_done = response.drag_stopped() || !ui.input(|i| i.pointer.primary_down());
        is_done.then(|| {
            let outline = std::mem::take(&mut self.outline);
            SelectedArea {
                bounds: Rect::from_points(&outline),
                outline: outline.iter().map(|p| Vec2::new(p.x, p.y)).collect(),
                is_rectangle: self.is_rectangle,
            }
        })
    }

    /// Paints the outline of the area being drawn.
    pub fn paint(&self, painter: &Painter, tokens: &Tokens) {
        if self.outline.len() < 2 {
            return;
        }
        if self.is_rectangle {
            let area = Rect::from_points(&self.outline);
            painter.rect(area, 0, tokens.accent.gamma_multiply(0.12), (1.25, tokens.accent), StrokeKind::Inside);
            return;
        }
        let closed = self.outline.iter().chain(self.outline.first()).copied().collect();
        painter.line(closed, Stroke::new(1.25, tokens.accent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasso_contains_less_than_its_bounds() {
        let outline = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)].map(|(x, y)| Vec2::new(x, y)).to_vec();
        let bounds = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        let line = SelectedArea { bounds, outline, is_rectangle: false };
        assert!(line.holds(pos2(2.0, 2.0)) && !line.holds(pos2(9.0, 9.0)));
        assert!(SelectedArea { is_rectangle: true, ..line }.holds(pos2(9.0, 9.0)));
    }
}
