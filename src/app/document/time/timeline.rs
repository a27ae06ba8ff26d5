//! Visible times of a view, which follow the newest data, were set by the user, or are in a transition.

use super::StepScale;
use crate::{
    app::kit::{self, theme::Tokens},
    sim::{Clock, TimeBase},
};
use egui::{Key, Painter, PointerButton, Rect, Response, Ui};

/// Duration of a transition, seconds. With reduced motion there are no transitions.
const EASE_SECS: f64 = 0.12;
/// Minimum and maximum visible span, steps.
const SPANS: std::ops::RangeInclusive<f64> = 20.0..=4e9;

/// Default visible span, steps.
const SPAN: f64 = 10_000.0;
/// Default visible span if steps have no duration, steps.
const SPAN_STEPS: f64 = 1_000.0;

/// Visible times of a view, absolute steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub t0: f64,
    pub t1: f64,
    /// Whether the right edge is the live edge.
    pub follow: bool,
    pub span: f64,
    /// Quantity along which steps are drawn; `None` if steps are evenly spaced.
    pub scale: Option<StepScale>,
    ease: Option<Ease>,
}

/// Transition from one range to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ease {
    from: (f64, f64),
    to: (f64, f64),
    /// Progress, 0 to 1.
    done: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { t0: 0.0, t1: SPAN, follow: true, span: SPAN, scale: None, ease: None }
    }
}

impl Timeline {
    /// Creates a timeline from step 0 that follows the live edge.
    pub fn across(span: f64) -> Self {
        Self { t1: span, span, ..Self::default() }
    }

    /// Creates a timeline with fixed limits.
    pub fn between(t0: f64, t1: f64) -> Self {
        Self { t0, t1, follow: false, span: t1 - t0, ..Self::default() }
    }

    /// Returns a copy whose steps are drawn along a quantity.
    pub fn with_scale(&self, scale: Option<StepScale>) -> Self {
        Self { scale, ..self.clone() }
    }

    /// Handles gestures over a plot. The caller must call [`Timeline::update`] afterwards.
    pub fn gestures(&mut self, ui: &Ui, response: &Response, plot: Rect) {
        if response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle) {
            let steps = -f64::from(response.drag_delta().x) * self.span / f64::from(plot.width().max(1.0));
            if steps != 0.0 {
                self.pan(steps);
            }
        }
        self.wheel(ui, response, plot);
        if response.double_clicked() || (response.hovered() && ui.input(|i| i.key_pressed(Key::End))) {
            self.follow = true;
        }
    }

    /// Advances a transition and follows the live edge.
    pub fn update(&mut self, ui: &Ui, now: f64) {
        if self.settle(f64::from(ui.input(|i| i.stable_dt.min(0.05))), is_motion_reduced(ui)) {
            ui.ctx().request_repaint();
        }
        if self.follow {
            self.t1 = now.max(self.span);
            self.t0 = self.t1 - self.span;
        }
    }

    /// Advances a transition. Returns whether the transition continues.
    pub fn settle(&mut self, dt_secs: f64, at_once: bool) -> bool {
        let Some(Ease { from, to, done }) = self.ease else { return false };
        let done = if at_once { 1.0 } else { (done + dt_secs / EASE_SECS).min(1.0) };
        let eased = 1.0 - (1.0 - done).powi(3);
        self.t0 = from.0 + (to.0 - from.0) * eased;
        self.t1 = from.1 + (to.1 - from.1) * eased;
        self.span = self.t1 - self.t0;
        self.ease = (done < 1.0).then_some(Ease { from, to, done });
        self.ease.is_some()
    }

    /// Starts a transition to a range.
    pub fn show(&mut self, from: f64, to: f64) {
        self.follow = false;
        let span = (to - from).clamp(*SPANS.start(), *SPANS.end());
        self.ease = Some(Ease { from: (self.t0, self.t1), to: (from, from + span), done: 0.0 });
    }

    /// Shows all steps of a run, and follows the live edge.
    pub fn follow_all(&mut self, from: f64, to: f64) {
        self.ease = None;
        self.follow = true;
        self.span = (to - from).clamp(*SPANS.start(), *SPANS.end());
        (self.t0, self.t1) = (to - self.span, to);
    }

    /// Shows the newest 10,000 steps, or the newest 1,000 if steps have no duration, and follows the live edge.
    pub fn fit(&mut self, base: TimeBase) {
        self.ease = None;
        self.span = if base.is_count() { SPAN_STEPS } else { SPAN };
        self.follow = true;
    }

    /// Moves the visible times by a number of steps, and stops following the live edge.
    pub fn pan(&mut self, steps: f64) {
        self.stop_following();
        self.t0 += steps;
        self.t1 += steps;
    }

    /// Stops following the live edge, and stops any transition.
    pub fn stop_following(&mut self) {
        self.follow = false;
        self.ease = None;
    }

    /// Moves the visible times as little as necessary to make a step visible.
    pub fn keep_in_view(&mut self, step: f64) {
        let margin = self.span * 0.05;
        let shift = if step < self.t0 {
            step - self.t0 - margin
        } else if step > self.t1 {
            step - self.t1 + margin
        } else {
            return;
        };
        self.t0 += shift;
        self.t1 += shift;
    }

    fn wheel(&mut self, ui: &Ui, response: &Response, plot: Rect) {
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        let factor = 1.0 / (f64::from(pinch) * (f64::from(scroll) * 0.004).exp());
        if (factor - 1.0).abs() >= 1e-6 {
            self.zoom(factor, f64::from((at.x - plot.left()) / plot.width().max(1.0)));
        }
    }

    /// Zooms around the position `at`, a fraction of the width, or around the live edge while following it.
    pub fn zoom(&mut self, factor: f64, at: f64) {
        self.ease = None;
        let span = (self.span * factor).clamp(*SPANS.start(), *SPANS.end());
        let share = if self.follow { 1.0 } else { at.clamp(0.0, 1.0) };
        let fixed = self.t0 + share * (self.t1 - self.t0);
        self.span = span;
        (self.t0, self.t1) = (fixed - share * span, fixed + (1.0 - share) * span);
    }

    /// Returns the screen x-coordinate of a step.
    pub fn x_of(&self, plot: Rect, step: f64) -> f32 {
        plot.left() + self.share_at(step) as f32 * plot.width()
    }

    /// Returns the step at a screen x-coordinate.
    pub fn step_at(&self, plot: Rect, x: f32) -> f64 {
        self.step_of(f64::from((x - plot.left()) / plot.width().max(1.0)))
    }

    /// Returns the position of a step as a fraction of the width.
    pub fn share_at(&self, step: f64) -> f64 {
        match &self.scale {
            None => (step - self.t0) / (self.t1 - self.t0),
            Some(scale) => {
                let [at, from, to] = [step, self.t0, self.t1].map(|s| scale.curve.amount_at(s));
                (at - from) / (to - from)
            }
        }
    }

    /// Returns the step at a fraction of the width.
    pub fn step_of(&self, share: f64) -> f64 {
        match &self.scale {
            None => self.t0 + share * (self.t1 - self.t0),
            Some(scale) => {
                let [from, to] = [self.t0, self.t1].map(|s| scale.curve.amount_at(s));
                scale.curve.step_at(from + share * (to - from))
            }
        }
    }

    /// Draws the axis under a plot.
    pub fn paint_axis(&self, painter: &Painter, plot: Rect, font: &egui::FontId, tokens: &Tokens, clock: Clock) {
        if let Some(scale) = &self.scale {
            let [from, to] = [self.t0, self.t1].map(|s| scale.curve.amount_at(s));
            let (title, factor) = scale.title(from, to);
            return kit::x_axis(painter, plot, font, tokens, from * factor, to * factor, &title);
        }
        let secs = |step: f64| step * clock.base.per_step();
        let unit = self.unit(clock);
        let title = unit.title(clock.base);
        kit::x_axis(painter, plot, font, tokens, secs(self.t0) * unit.scale, secs(self.t1) * unit.scale, &title);
    }

    /// Returns the unit of the visible times.
    pub fn unit(&self, clock: Clock) -> kit::TimeUnit {
        kit::TimeUnit::of(clock.base, self.t1 * clock.base.per_step(), self.span * clock.base.per_step())
    }
}

/// Whether the user prefers reduced motion.
fn is_motion_reduced(ui: &Ui) -> bool {
    ui.style().animation_time <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_end_in_time_or_immediately() {
        let mut line = Timeline::default();
        line.show(100.0, 300.0);
        assert!(line.settle(EASE_SECS * 0.5, false) && line.t0 > 0.0 && line.t0 < 100.0);
        assert!(!line.settle(EASE_SECS, false));
        assert_eq!((line.t0, line.t1, line.span), (100.0, 300.0, 200.0));
        line.show(0.0, 50.0);
        assert!(!line.settle(1e-3, true));
        assert_eq!((line.t0, line.t1), (0.0, 50.0));
    }

    #[test]
    fn the_cursor_is_kept_in_view_with_little_motion() {
        let mut line = Timeline { t0: 100.0, t1: 200.0, span: 100.0, follow: false, ..Timeline::default() };
        line.keep_in_view(150.0);
        assert_eq!(line.t0, 100.0);
        line.keep_in_view(90.0);
        assert!(line.t0 < 90.0 && line.t0 > 80.0);
    }
}
