//! The times a view shows: following the newest data, or moved by hand, or on their way somewhere.

use super::Walls;
use crate::{
    app::{theme::Tokens, views::kit},
    sim::Clock,
};
use egui::{Key, Painter, PointerButton, Rect, Response, Ui};
use std::sync::Arc;

/// A change of range takes this long, seconds; none where motion is reduced.
const EASE_SECS: f64 = 0.12;
/// Shortest and longest window, steps.
const SPANS: std::ops::RangeInclusive<f64> = 20.0..=4e9;

/// Steps in view at first.
const SPAN: f64 = 10_000.0;
/// The same where steps have no length.
const SPAN_STEPS: f64 = 1_000.0;

/// Times in view, absolute steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Left edge.
    pub t0: f64,
    /// Right edge.
    pub t1: f64,
    /// Whether the right edge is the present.
    pub follow: bool,
    /// Steps across.
    pub span: f64,
    /// Steps are not drawn evenly, but when they were taken on the clock of the wall.
    pub along: Option<Arc<Walls>>,
    ease: Option<Ease>,
}

/// On the way from one range to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ease {
    from: (f64, f64),
    to: (f64, f64),
    /// The share of the way, 0 to 1.
    done: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { t0: 0.0, t1: SPAN, follow: true, span: SPAN, along: None, ease: None }
    }
}

impl Timeline {
    /// From step 0, following the present.
    pub fn across(span: f64) -> Self {
        Self { t1: span, span, ..Self::default() }
    }

    /// These steps, wherever the present is.
    pub fn between(t0: f64, t1: f64) -> Self {
        Self { t0, t1, follow: false, span: t1 - t0, ..Self::default() }
    }

    /// The same steps, drawn evenly in something else.
    pub fn drawn_along(&self, along: Option<Arc<Walls>>) -> Self {
        Self { along, ..self.clone() }
    }

    /// Takes gestures over a plot; the caller follows the present afterwards.
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

    /// Goes on with the way it is on, and follows the present.
    pub fn update(&mut self, ui: &Ui, now: f64) {
        if self.settle(f64::from(ui.input(|i| i.stable_dt.min(0.05))), is_motion_reduced(ui)) {
            ui.ctx().request_repaint();
        }
        if self.follow {
            self.t1 = now.max(self.span);
            self.t0 = self.t1 - self.span;
        }
    }

    /// Takes the next bit of the way to a new range; whether there is more to come.
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

    /// Goes to a range.
    pub fn show(&mut self, from: f64, to: f64) {
        self.follow = false;
        let span = (to - from).clamp(*SPANS.start(), *SPANS.end());
        self.ease = Some(Ease { from: (self.t0, self.t1), to: (from, from + span), done: 0.0 });
    }

    /// The newest second, or the newest thousand steps where steps have no length.
    pub fn fit(&mut self, secs_per_step: f64) {
        self.ease = None;
        self.span = if secs_per_step >= 1.0 { SPAN_STEPS } else { SPAN };
        self.follow = true;
    }

    /// Moves by steps; it no longer follows.
    pub fn pan(&mut self, steps: f64) {
        self.stop_following();
        self.t0 += steps;
        self.t1 += steps;
    }

    /// Stays where it is.
    pub fn stop_following(&mut self) {
        self.follow = false;
        self.ease = None;
    }

    /// Moves no further than needed for a step to be in view.
    pub fn keep_in_view(&mut self, step: f64) {
        let air = self.span * 0.05;
        let shift = if step < self.t0 {
            step - self.t0 - air
        } else if step > self.t1 {
            step - self.t1 + air
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

    /// Shrinks (factor < 1) or grows around a share of the width; around the present while it follows.
    pub fn zoom(&mut self, factor: f64, at: f64) {
        self.ease = None;
        let span = (self.span * factor).clamp(*SPANS.start(), *SPANS.end());
        let share = if self.follow { 1.0 } else { at.clamp(0.0, 1.0) };
        let fixed = self.t0 + share * (self.t1 - self.t0);
        self.span = span;
        (self.t0, self.t1) = (fixed - share * span, fixed + (1.0 - share) * span);
    }

    /// Screen x of a step.
    pub fn x_of(&self, plot: Rect, step: f64) -> f32 {
        plot.left() + self.share_at(step) as f32 * plot.width()
    }

    /// The step at a screen x.
    pub fn step_at(&self, plot: Rect, x: f32) -> f64 {
        self.step_of(f64::from((x - plot.left()) / plot.width().max(1.0)))
    }

    /// How far a step is from the left edge to the right.
    pub fn share_at(&self, step: f64) -> f64 {
        match &self.along {
            None => (step - self.t0) / (self.t1 - self.t0),
            Some(walls) => {
                let [at, from, to] = [step, self.t0, self.t1].map(|s| walls.secs_at(s));
                (at - from) / (to - from)
            }
        }
    }

    /// The step so far from the left edge.
    pub fn step_of(&self, share: f64) -> f64 {
        match &self.along {
            None => self.t0 + share * (self.t1 - self.t0),
            Some(walls) => {
                let [from, to] = [self.t0, self.t1].map(|s| walls.secs_at(s));
                walls.step_at(from + share * (to - from))
            }
        }
    }

    /// The axis under a plot.
    pub fn paint_axis(&self, painter: &Painter, plot: Rect, font: &egui::FontId, tokens: &Tokens, clock: Clock) {
        if let Some(walls) = &self.along {
            let [from, to] = [self.t0, self.t1].map(|s| walls.secs_at(s));
            let unit = kit::TimeUnit::of(0.0, to, to - from);
            let title = format!("wall time ({})", unit.name);
            return kit::x_axis(painter, plot, font, tokens, from * unit.scale, to * unit.scale, &title);
        }
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

/// Whether the user wants things to jump rather than to glide.
fn is_motion_reduced(ui: &Ui) -> bool {
    ui.style().animation_time <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_range_is_reached_in_time_or_at_once() {
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
