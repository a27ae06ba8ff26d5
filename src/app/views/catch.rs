//! An area drawn with the pointer to select what lies in it: a rectangle with Shift, a free line with Alt.

use crate::{
    app::theme::Tokens,
    view3d::{Vec2, inside_polygon},
};
use egui::{Painter, PointerButton, Pos2, Rect, Response, Stroke, StrokeKind, Ui, pos2};

/// The free line has a corner every so many points.
const EVERY: f32 = 2.0;

/// The area while it is drawn.
#[derive(Default)]
pub struct Catch {
    outline: Vec<Pos2>,
    is_rectangle: bool,
}

/// An area that was drawn.
pub struct Caught {
    /// What encloses it.
    pub bounds: Rect,
    /// Its corners.
    pub outline: Vec<Vec2>,
    is_rectangle: bool,
}

impl Caught {
    /// Whether it is all that its bounds enclose.
    pub const fn is_box(&self) -> bool {
        self.is_rectangle
    }

    /// Whether a place lies in it.
    pub fn holds(&self, at: Pos2) -> bool {
        self.bounds.contains(at) && (self.is_rectangle || inside_polygon(&self.outline, Vec2::new(at.x, at.y)))
    }
}

impl Catch {
    /// Whether an area is being drawn, so that a drag means nothing else.
    pub fn is_drawing(&self) -> bool {
        !self.outline.is_empty()
    }

    /// Follows the pointer inside `plot`. What was drawn, when the button is let go.
    pub fn update(&mut self, ui: &Ui, response: &Response, plot: Rect) -> Option<Caught> {
        let (modifiers, origin, here) =
            ui.input(|i| (i.modifiers, i.pointer.press_origin(), i.pointer.latest_pos().map(|at| plot.clamp(at))));
        if response.drag_started_by(PointerButton::Primary) && (modifiers.shift || modifiers.alt) {
            self.outline = origin.filter(|at| plot.contains(*at)).into_iter().collect();
            self.is_rectangle = modifiers.shift;
        }
        let (first, here) = (*self.outline.first()?, here?);
        if self.is_rectangle {
            self.outline = vec![first, pos2(here.x, first.y), here, pos2(first.x, here.y)];
        } else if self.outline.last().is_none_or(|last| last.distance(here) > EVERY) {
            self.outline.push(here);
        }
        let is_done = response.drag_stopped() || !ui.input(|i| i.pointer.primary_down());
        is_done.then(|| {
            let outline = std::mem::take(&mut self.outline);
            Caught {
                bounds: Rect::from_points(&outline),
                outline: outline.iter().map(|p| Vec2::new(p.x, p.y)).collect(),
                is_rectangle: self.is_rectangle,
            }
        })
    }

    /// Its outline.
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
    fn a_line_holds_less_than_what_encloses_it() {
        let outline = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)].map(|(x, y)| Vec2::new(x, y)).to_vec();
        let bounds = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        let line = Caught { bounds, outline, is_rectangle: false };
        assert!(line.holds(pos2(2.0, 2.0)) && !line.holds(pos2(9.0, 9.0)));
        assert!(Caught { is_rectangle: true, ..line }.holds(pos2(9.0, 9.0)));
    }
}
