//! The times a plot shows: following the newest data, or moved by hand. The same grammar as the raster's.

use crate::{app::theme::Tokens, app::views::kit, sim::Clock};
use egui::{Key, Painter, PointerButton, Rect, Response, Ui};

/// Times in view, steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeline {
    /// Left edge.
    pub t0: f64,
    /// Right edge.
    pub t1: f64,
    /// Whether the right edge is the present.
    pub follow: bool,
    /// Steps across.
    pub span: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { t0: 0.0, t1: 10_000.0, follow: true, span: 10_000.0 }
    }
}

impl Timeline {
    /// Takes gestures, then follows the present.
    pub fn update(&mut self, ui: &Ui, response: &Response, plot: Rect, now: f64) {
        if response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle) {
            let steps = -f64::from(response.drag_delta().x) * self.span / f64::from(plot.width().max(1.0));
            if steps != 0.0 {
                self.follow = false;
                self.t0 += steps;
                self.t1 += steps;
            }
        }
        self.wheel(ui, response, plot);
        if response.double_clicked() || (response.hovered() && ui.input(|i| i.key_pressed(Key::End))) {
            self.follow = true;
        }
        if self.follow {
            self.t1 = now.max(self.span);
            self.t0 = self.t1 - self.span;
        }
    }

    fn wheel(&mut self, ui: &Ui, response: &Response, plot: Rect) {
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        let factor = 1.0 / (f64::from(pinch) * (f64::from(scroll) * 0.004).exp());
        if (factor - 1.0).abs() < 1e-6 {
            return;
        }
        let span = (self.span * factor).clamp(20.0, 1e9);
        let share = f64::from(((at.x - plot.left()) / plot.width().max(1.0)).clamp(0.0, 1.0));
        let fixed = self.t0 + share * self.span;
        self.span = span;
        (self.t0, self.t1) = (fixed - share * span, fixed + (1.0 - share) * span);
    }

    /// Screen x of a step.
    pub fn x_of(&self, plot: Rect, step: f64) -> f32 {
        plot.left() + ((step - self.t0) / (self.t1 - self.t0)) as f32 * plot.width()
    }

    /// The step at a screen x.
    pub fn step_at(&self, plot: Rect, x: f32) -> f64 {
        self.t0 + f64::from((x - plot.left()) / plot.width().max(1.0)) * (self.t1 - self.t0)
    }

    /// The axis under a plot.
    pub fn paint_axis(&self, painter: &Painter, plot: Rect, font: &egui::FontId, tokens: &Tokens, clock: Clock) {
        let secs = |step: f64| step * clock.secs_per_step;
        let unit = self.unit(clock);
        let title = if unit.name == "steps" { "steps".to_owned() } else { format!("time ({})", unit.name) };
        kit::x_axis(painter, plot, font, tokens, secs(self.t0) * unit.scale, secs(self.t1) * unit.scale, &title);
    }

    /// How times in view are written.
    pub fn unit(&self, clock: Clock) -> kit::TimeUnit {
        kit::TimeUnit::of(clock.secs_per_step, self.t1 * clock.secs_per_step, self.span * clock.secs_per_step)
    }
}
