//! Two measurement cursors that show the time between them and the difference of the values.

use super::samples::Samples;
use crate::{
    app::{
        document::time::{Timeline, paint},
        kit::{self, theme::Tokens},
    },
    sim::Clock,
};
use egui::{Align2, CursorIcon, FontId, Painter, Rect, Response, Ui, pos2};

/// Hit distance of a cursor, points.
const HIT_RADIUS: f32 = 6.0;

/// Steps of the two cursors, if they are shown, and the index of the dragged one.
#[derive(Clone, Debug, Default)]
pub struct MeasureCursors {
    at: Option<[f64; 2]>,
    held: Option<usize>,
}

impl MeasureCursors {
    /// Draws the toggle, which places the cursors at a third and two thirds of the visible times, or hides them.
    pub fn toggle_ui(&mut self, ui: &mut Ui, line: &Timeline) {
        let mut on = self.at.is_some();
        let hint = "Two cursors that measure Δt and the difference of the values";
        if ui.toggle_value(&mut on, egui::RichText::new("A|B").small()).on_hover_text(hint).changed() {
            self.at = on.then(|| [1.0, 2.0].map(|third| line.t0 + line.span * third / 3.0));
        }
    }

    /// Drags the cursor near the press position. Returns whether a cursor is dragged.
    pub fn drag(&mut self, response: &Response, plot: Rect, line: &Timeline) -> bool {
        let Some(at) = &mut self.at else { return false };
        let near = |x: f32| (0..2).find(|i| (line.x_of(plot, at[*i]) - x).abs() <= HIT_RADIUS);
        if response.hover_pos().and_then(|p| near(p.x)).is_some() {
            response.ctx.set_cursor_icon(CursorIcon::ResizeHorizontal);
        }
        if response.drag_started() {
            self.held = response.ctx.input(|i| i.pointer.press_origin()).and_then(|p| near(p.x));
        }
        if !response.dragged() {
            self.held = None;
        }
        if let (Some(held), Some(pointer)) = (self.held, response.interact_pointer_pos()) {
            at[held] = line.step_at(plot, pointer.x.clamp(plot.left(), plot.right())).max(0.0);
        }
        self.held.is_some()
    }

    /// Draws the cursors with their names, and the time between them.
    pub fn paint(
        &self,
        painter: &Painter,
        plot: Rect,
        line: &Timeline,
        (clock, font, tokens): (Clock, &FontId, &Tokens),
    ) {
        let Some([a, b]) = self.at else { return };
        for (step, name) in [(a, "A"), (b, "B")] {
            let x = line.x_of(plot, step);
            if plot.x_range().contains(x) {
                painter.vline(x, plot.y_range(), (1.0, tokens.text));
                painter.text(pos2(x + 3.0, plot.top()), Align2::LEFT_TOP, name, font.clone(), tokens.text_strong);
            }
        }
        let between = kit::steps(if clock.base.is_count() { (b - a).round() } else { b - a }, clock.base);
        let x = f32::midpoint(line.x_of(plot, a), line.x_of(plot, b));
        paint::chip(painter, plot, x, format!("Δt {between}"), font, tokens);
    }

    /// Draws the values of a lane at both cursors and their difference at the right end of the lane. Draws nothing if either
    /// cursor has no sample.
    pub fn values(&self, ui: &Ui, painter: &Painter, lane: Rect, samples: &Samples, unit: &str, tokens: &Tokens) {
        let Some([a, b]) = self.at else { return };
        let (Some(at_a), Some(at_b)) = (samples.at(0, a), samples.at(0, b)) else { return };
        let round = |v: f32| kit::value(f64::from((v * 1e3).round() / 1e3));
        let text = format!("A {}  B {}  Δ {} {unit}", round(at_a), round(at_b), round(at_b - at_a));
        let galley = painter.layout_no_wrap(text, kit::mono(ui), tokens.text_strong);
        let right = pos2(lane.right() - 4.0 - galley.size().x, lane.bottom() - galley.size().y - 1.0);
        let back = Rect::from_min_size(right, galley.size()).expand2(egui::vec2(4.0, 1.0));
        painter.rect_filled(back, 3.0, tokens.canvas.gamma_multiply(0.85));
        painter.galley(right, galley, tokens.text_strong);
    }
}
