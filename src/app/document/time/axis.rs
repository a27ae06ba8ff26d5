//! The time axis shared by all linked views, with the time cursor and the selected range.

use super::{StepScale, Timeline};

/// Time axis shared by all linked views.
#[derive(Clone, Debug, Default)]
pub struct TimeAxis {
    /// Visible times of linked views.
    pub line: Timeline,
    /// Selected range, steps; `None` if no range is selected.
    pub range: Option<(f64, f64)>,
    /// Whether playback repeats the range.
    pub is_looping: bool,
    /// Whether a finished run is shown, which has an end but no live edge.
    pub is_recorded: bool,
    /// Time under the pointer in some view, and the egui pass in which it was set; `None` before the first pass with a
    /// time.
    hover: Option<(f64, u64)>,
    cursor: Option<f64>,
}

impl TimeAxis {
    /// Returns the time cursor, steps; `None` at the live edge.
    pub fn cursor(&self) -> Option<f64> {
        self.cursor
    }

    /// Moves the cursor to a step, or to the live edge if the step is not in the past. The visible times move so that they
    /// contain the cursor.
    pub fn scrub(&mut self, step: f64, oldest: f64, now: f64) {
        if step >= now && !self.is_recorded {
            return self.go_live();
        }
        self.set_cursor(step.clamp(oldest, now.max(oldest)));
    }

    /// Moves the cursor to a step, even if the step is the last one.
    pub fn set_cursor(&mut self, step: f64) {
        self.cursor = Some(step);
        self.line.stop_following();
        self.line.keep_in_view(step);
    }

    /// Returns to the live edge.
    pub fn go_live(&mut self) {
        if self.is_recorded {
            return;
        }
        self.cursor = None;
        self.line.follow = true;
    }

    /// Sets the time under the pointer, in egui pass `pass`.
    pub fn set_pointer(&mut self, step: f64, pass: u64) {
        self.hover = Some((step, pass));
    }

    /// Returns the time under the pointer in any view; `None` unless the time was set in this or the previous pass.
    pub fn pointer_step(&self, pass: u64) -> Option<f64> {
        self.hover.filter(|(_, at)| pass.saturating_sub(*at) <= 1).map(|(step, _)| step)
    }

    /// Zooms the views to the selected range.
    pub fn zoom_to_range(&mut self) {
        if let Some((from, to)) = self.range.filter(|(from, to)| to > from) {
            self.line.show(from, to);
        }
    }

    /// Shows the whole run after it has ended, unless the user has scrolled to an earlier part.
    pub fn fit_run(&mut self, from: f64, to: f64) {
        if self.cursor.is_none() && self.line.follow {
            self.line.follow_all(from, to);
        }
    }

    /// Resets the axis for a new simulation or a new epoch. The visible span is kept.
    pub fn reset(&mut self) {
        *self = Self { line: Timeline::across(self.line.span), is_looping: self.is_looping, ..Self::default() };
    }
}

/// Link of a view to the shared axis. An unlinked view has its own visible times.
#[derive(Clone, Debug, Default)]
pub struct TimeLink {
    own: Option<Timeline>,
    /// Quantity along which steps are drawn; `None` if steps are evenly spaced.
    pub scale: Option<StepScale>,
}

impl TimeLink {
    /// Whether the view shares the axis.
    pub fn is_linked(&self) -> bool {
        self.own.is_none()
    }

    /// Links the view to the axis, or unlinks it at its present times.
    pub fn toggle(&mut self, axis: &TimeAxis) {
        self.own = if self.is_linked() { Some(axis.line.clone()) } else { None };
    }

    /// Links the view to the axis.
    pub fn link(&mut self) {
        self.own = None;
    }

    /// Unlinks the view and shows all steps from `from` to `to`, of which the last one is the live edge.
    pub fn show_all(&mut self, from: f64, to: f64) {
        self.own.get_or_insert_default().follow_all(from, to);
    }

    /// Returns the visible span of an unlinked view, steps; 0 for a linked one.
    pub fn own_span(&self) -> f64 {
        self.own.as_ref().map_or(0.0, |line| line.span)
    }

    /// Returns the visible times of the view.
    pub fn line<'a>(&'a self, axis: &'a TimeAxis) -> &'a Timeline {
        self.own.as_ref().unwrap_or(&axis.line)
    }

    /// Handles gestures over a plot and returns the visible times.
    pub fn interact(
        &mut self,
        ui: &egui::Ui,
        response: &egui::Response,
        plot: egui::Rect,
        axis: &mut TimeAxis,
        now: f64,
    ) -> Timeline {
        let line = self.line(axis).with_scale(self.scale.clone());
        if !super::paint::choose_range(response, plot, &line, axis) {
            self.line_mut(axis).gestures(ui, response, plot);
        }
        self.update(ui, now);
        self.line(axis).with_scale(line.scale)
    }

    /// Follows the live edge and advances transitions of an unlinked view. The shared axis is updated once for all views.
    pub fn update(&mut self, ui: &egui::Ui, now: f64) {
        if let Some(line) = &mut self.own {
            line.update(ui, now);
        }
    }

    /// Returns the mutable visible times of the view.
    pub fn line_mut<'a>(&'a mut self, axis: &'a mut TimeAxis) -> &'a mut Timeline {
        self.own.as_mut().unwrap_or(&mut axis.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrubbing_leaves_the_present_and_comes_back() {
        let mut axis = TimeAxis::default();
        axis.scrub(4_000.0, 1_000.0, 9_000.0);
        assert!(axis.cursor() == Some(4_000.0) && !axis.line.follow);
        axis.scrub(10.0, 1_000.0, 9_000.0);
        assert_eq!(axis.cursor(), Some(1_000.0));
        axis.scrub(9_000.0, 1_000.0, 9_000.0);
        assert!(axis.cursor().is_none() && axis.line.follow);
    }

    #[test]
    fn a_run_that_ends_is_shown_whole_unless_an_earlier_part_is_looked_at() {
        let ended = |axis: &mut TimeAxis| {
            axis.fit_run(0.0, 30_000.0);
            (axis.line.t0, axis.line.t1, axis.line.follow)
        };
        assert_eq!(ended(&mut TimeAxis::default()), (0.0, 30_000.0, true));
        let mut panned = TimeAxis::default();
        panned.line.pan(100.0);
        assert_eq!(ended(&mut panned), (100.0, 10_100.0, false));
        let mut scrubbed = TimeAxis::default();
        scrubbed.set_cursor(50.0);
        assert_eq!(ended(&mut scrubbed).1, 10_000.0);
    }

    #[test]
    fn an_unlinked_view_keeps_its_times() {
        let (mut axis, mut link) = (TimeAxis::default(), TimeLink::default());
        link.toggle(&axis);
        axis.line.show(5.0, 10.0);
        axis.line.settle(1.0, true);
        assert_eq!((link.line(&axis).t0, axis.line.t0), (0.0, 5.0));
        link.toggle(&axis);
        assert_eq!(link.line(&axis).t0, 5.0);
    }
}
