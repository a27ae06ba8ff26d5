//! The axis all views of time share until one of them is unlinked, with its cursor and its chosen range.

use super::{Timeline, Walls};
use std::sync::Arc;

/// What all linked views show.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Times in view.
    pub line: Timeline,
    /// A range someone chose, steps.
    pub range: Option<(f64, f64)>,
    /// Whether playing starts over at the end of the range.
    pub is_looping: bool,
    /// Whether a finished run is on show: there is no present to go back to, only an end.
    pub is_recorded: bool,
    /// The time under the pointer in some view, and the pass in which it was.
    hover: Option<(f64, u64)>,
    cursor: Option<f64>,
}

impl Axis {
    /// Where the user has gone back to; `None` at the live edge.
    pub fn cursor(&self) -> Option<f64> {
        self.cursor
    }

    /// Goes back to a step, or to the live edge when it is not in the past. The cursor stays in view.
    pub fn scrub(&mut self, step: f64, oldest: f64, now: f64) {
        if step >= now && !self.is_recorded {
            return self.go_live();
        }
        self.place(step.clamp(oldest, now.max(oldest)));
    }

    /// The same without a live edge: recordings end where they end.
    pub fn place(&mut self, step: f64) {
        self.cursor = Some(step);
        self.line.stop_following();
        self.line.keep_in_view(step);
    }

    /// Back to the present.
    pub fn go_live(&mut self) {
        if self.is_recorded {
            return;
        }
        self.cursor = None;
        self.line.follow = true;
    }

    /// The pointer is at this time, in pass `pass` of the window.
    pub fn point_at(&mut self, step: f64, pass: u64) {
        self.hover = Some((step, pass));
    }

    /// The time under the pointer in any view, if it was there in this pass or the one before.
    pub fn pointed(&self, pass: u64) -> Option<f64> {
        self.hover.filter(|(_, at)| pass.saturating_sub(*at) <= 1).map(|(step, _)| step)
    }

    /// Views show the chosen range.
    pub fn zoom_to_range(&mut self) {
        if let Some((from, to)) = self.range.filter(|(from, to)| to > from) {
            self.line.show(from, to);
        }
    }

    /// A new simulation or a new epoch.
    pub fn reset(&mut self) {
        *self = Self { line: Timeline::across(self.line.span), is_looping: self.is_looping, ..Self::default() };
    }
}

/// Whether a view shares the axis, or has times of its own.
#[derive(Clone, Debug, Default)]
pub struct Link {
    own: Option<Timeline>,
    /// The view draws steps when they were taken on the clock of the wall.
    pub along: Option<Arc<Walls>>,
}

impl Link {
    /// Whether it shares the axis.
    pub fn is_linked(&self) -> bool {
        self.own.is_none()
    }

    /// Shares it, or starts from what it shows at the moment.
    pub fn toggle(&mut self, axis: &Axis) {
        self.own = if self.is_linked() { Some(axis.line.clone()) } else { None };
    }

    /// The times the view shows.
    pub fn line<'a>(&'a self, axis: &'a Axis) -> &'a Timeline {
        self.own.as_ref().unwrap_or(&axis.line)
    }

    /// Takes the gestures over a plot, and says what it shows.
    pub fn interact(
        &mut self,
        ui: &egui::Ui,
        response: &egui::Response,
        plot: egui::Rect,
        axis: &mut Axis,
        now: f64,
    ) -> Timeline {
        let line = self.line(axis).drawn_along(self.along.clone());
        if !super::paint::choose_range(response, plot, &line, axis) {
            self.line_mut(axis).gestures(ui, response, plot);
        }
        self.update(ui, now);
        self.line(axis).drawn_along(line.along)
    }

    /// Follows the present and ends its own moves; the shared axis does so once for all views.
    pub fn update(&mut self, ui: &egui::Ui, now: f64) {
        if let Some(line) = &mut self.own {
            line.update(ui, now);
        }
    }

    /// To move them.
    pub fn line_mut<'a>(&'a mut self, axis: &'a mut Axis) -> &'a mut Timeline {
        self.own.as_mut().unwrap_or(&mut axis.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrubbing_leaves_the_present_and_comes_back() {
        let mut axis = Axis::default();
        axis.scrub(4_000.0, 1_000.0, 9_000.0);
        assert!(axis.cursor() == Some(4_000.0) && !axis.line.follow);
        axis.scrub(10.0, 1_000.0, 9_000.0);
        assert_eq!(axis.cursor(), Some(1_000.0));
        axis.scrub(9_000.0, 1_000.0, 9_000.0);
        assert!(axis.cursor().is_none() && axis.line.follow);
    }

    #[test]
    fn an_unlinked_view_keeps_its_times() {
        let (mut axis, mut link) = (Axis::default(), Link::default());
        link.toggle(&axis);
        axis.line.show(5.0, 10.0);
        axis.line.settle(1.0, true);
        assert_eq!((link.line(&axis).t0, axis.line.t0), (0.0, 5.0));
        link.toggle(&axis);
        assert_eq!(link.line(&axis).t0, 5.0);
    }
}
