//! Texts of the caption below a raster.

use super::{Raster, Train};
use crate::app::{document::time::Time, kit};

/// Minimum lag in the caption, as a fraction of the visible times.
const MIN_LAG: f64 = 0.1;

impl Raster {
    /// Returns the caption. That of a figure has no state of the view.
    pub(super) fn caption(&self, train: Option<&Train>, time: &Time, is_figure: bool) -> String {
        let rows = self.rows_text(train.map_or(0, |t| t.active.count()));
        if self.plot_px.x < 1.0 {
            return rows;
        }
        let steps_per_px = self.window.span() / f64::from(self.plot_px.x);
        let rows_per_px = kit::value((self.window.rows() / f64::from(self.plot_px.y.max(1.0)) * 10.0).round() / 10.0);
        let mode = if self.ticks.are_shown() { "ticks".into() } else { format!("density, {}", self.scale.label()) };
        let per_px = kit::steps(steps_per_px, self.clock.base);
        let noun = &self.noun;
        let is_recorded = |gaps: &[(f64, f64)]| gaps.iter().map(|(a, b)| b - a).sum::<f64>() < self.window.span() - 1.0;
        let spikes = match (self.spikes_in_view(), is_recorded(&self.gaps(time))) {
            (0, false) => format!("{noun} not recorded"),
            (n, _) => format!("{} in view", kit::counted(n, noun)),
        };
        let mut text = spikes;
        let lag = self.lag.as_ref().filter(|_| !is_figure);
        text += &lag.map_or_else(String::new, |lag| format!("  |  {lag}"));
        let steps: f64 = self.gaps(time).iter().map(|(from, to)| to - from).sum();
        // A gap narrower than a pixel is left out, as it is not drawn either.
        if steps >= steps_per_px {
            text += &format!("  |  {} not recorded", self.duration(steps as u64));
        }
        text += &format!("  |  {rows}  |  {mode}");
        if self.arrange.is_busy() && !is_figure {
            text += "  |  arranging…";
        } else if self.density.is_busy() && !is_figure {
            text += "  |  counting…";
        }
        if let Some(oldest) = train.and_then(Train::oldest_single) {
            let (since, last) = (self.duration(time.past.first()), self.clock.step.saturating_sub(oldest));
            text += &format!("  |  density since {since}, single {noun} for the last {}", self.duration(last));
            text += &self.resolution(train, oldest);
        }
        if let Some(skipped) = train.map(|t| t.skipped).filter(|n| *n > 0) {
            text += &format!("  |  {} dropped", kit::counted(skipped, noun));
        }
        if !is_figure {
            text +=
                &format!("  |  1 px = {per_px} × {rows_per_px} {}", if rows_per_px == "1" { "row" } else { "rows" });
        }
        text
    }

    /// Describes the lag of a followed window relative to the simulation: `16 ms behind (3.5 s simulated)`. `None` if the view
    /// does not follow the newest data or lags by less than [`MIN_LAG`].
    pub(super) fn lag_text(&self, time: &Time) -> Option<String> {
        let shown_to = (self.window.t1.min(self.edge()) + self.origin as f64).min(self.clock.step as f64);
        let steps = self.clock.step as f64 - shown_to;
        if !self.link.line(&time.axis).follow || steps < MIN_LAG * self.window.span() {
            return None;
        }
        let simulated = kit::steps(steps.round(), self.clock.base);
        let wall_clock = time.past.wall_clock();
        if !wall_clock.is_known() {
            return Some(format!("{simulated} simulated behind"));
        }
        let secs = wall_clock.amount_at(self.clock.step as f64) - wall_clock.amount_at(shown_to);
        Some(format!("{} behind ({simulated} simulated)", kit::duration(secs)))
    }

    /// Describes the widths of the visible bins that replace single spikes no longer in memory; empty without such bins.
    pub(super) fn resolution(&self, train: Option<&Train>, oldest: u64) -> String {
        let step = |relative: f64| (self.origin as f64 + relative).max(0.0) as u64;
        let (from, to) = (step(self.window.t0), step(self.window.t1).min(oldest));
        match train.filter(|_| from < to).and_then(|t| t.bins.widths(from, to)) {
            Some((narrow, wide)) if narrow == wide => format!(", before in bins of {}", self.duration(wide)),
            Some((narrow, wide)) => format!(", before in bins of {} to {}", self.duration(narrow), self.duration(wide)),
            None => String::new(),
        }
    }

    /// Formats a number of steps as a duration.
    pub(super) fn duration(&self, steps: u64) -> String {
        kit::steps(steps as f64, self.clock.base)
    }
}
