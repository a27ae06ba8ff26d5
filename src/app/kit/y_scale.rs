//! Vertical scales of charts, linear or logarithmic.

use super::{
    axes::{tick_labels, ticks},
    numbers::value,
};
use egui::Rect;

/// Range of a vertical axis, and whether it is logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YScale {
    pub low: f64,
    pub high: f64,
    /// Whether the axis is logarithmic; the range is then positive.
    pub is_log: bool,
}

/// Multiples of powers of ten that are labelled on a logarithmic axis, from few to many ticks.
const MULTIPLES: [&[f64]; 4] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]];

impl YScale {
    pub const fn linear(low: f64, high: f64) -> Self {
        Self { low, high, is_log: false }
    }

    /// Creates a logarithmic scale with a margin. Without positive values, it is 0.1 to 10.
    pub fn log(low: f64, high: f64) -> Self {
        let is_positive = low > 0.0 && high >= low && high.is_finite();
        let (low, high) = if is_positive { (low, high) } else { (0.1, 10.0) };
        // A constant gets a range of ten percent.
        let margin = (high / low).powf(0.06).max(1.05);
        Self { low: low / margin, high: high * margin, is_log: true }
    }

    /// Returns the height of a value as a fraction of the axis. A value without a logarithm is below the axis.
    pub fn share(&self, v: f64) -> f64 {
        match self.is_log {
            false => (v - self.low) / (self.high - self.low),
            true if v > 0.0 => (v / self.low).ln() / (self.high / self.low).ln(),
            true => -1.0,
        }
    }

    /// Returns the y-coordinate of a value in a plot.
    pub fn y_of(&self, plot: Rect, v: f64) -> f32 {
        plot.bottom() - self.share(v) as f32 * plot.height()
    }

    /// Returns at most about `most` round values with their labels.
    pub fn marks(&self, most: usize) -> Vec<(f64, String)> {
        if self.is_log {
            let marks = self.log_marks(most);
            if marks.len() > 1 {
                return marks;
            }
        }
        let marks = ticks(self.low, self.high, most);
        let labels = tick_labels(&marks);
        marks.into_iter().zip(labels).collect()
    }

    /// Returns the largest set of multiples of powers of ten with at most `most` values; powers of ten at equal distances if
    /// there are more.
    fn log_marks(&self, most: usize) -> Vec<(f64, String)> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let inside = |v: &f64| (self.low..=self.high).contains(v);
        let with = |multiples: &[f64]| -> Vec<f64> {
            decades.clone().flat_map(|e| multiples.iter().map(move |m| m * 10f64.powi(e))).filter(inside).collect()
        };
        let sets = MULTIPLES.map(with);
        let fitting = sets.iter().rev().find(|set| set.len() <= most.max(1));
        let every = sets[0].len().div_ceil(most.max(1)).max(1);
        let marks = fitting.cloned().unwrap_or_else(|| sets[0].iter().step_by(every).copied().collect());
        marks.into_iter().map(|v| (v, value(v))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    fn labels(scale: YScale, most: usize) -> String {
        scale.marks(most).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_logarithmic_axis_has_equal_distances_for_equal_ratios() {
        let scale = YScale { low: 0.1, high: 10.0, is_log: true };
        let shares = [0.1, 1.0, 10.0].map(|v| (scale.share(v) * 1e9).round() / 1e9);
        assert_eq!(shares, [0.0, 0.5, 1.0]);
        assert!(scale.share(0.0) < 0.0 && scale.share(-3.0) < 0.0, "outside, not NaN");
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 100.0));
        assert_eq!((scale.y_of(plot, 1.0), YScale::linear(0.0, 4.0).y_of(plot, 1.0)), (50.0, 75.0));
        let lone = YScale::log(2.0, 2.0);
        assert!(lone.low < 2.0 && lone.high > 2.0);
        assert!(YScale::log(f64::INFINITY, f64::NEG_INFINITY).low > 0.0, "without values");
    }

    #[test]
    fn ticks_of_a_logarithmic_axis_are_round() {
        assert_eq!(labels(YScale { low: 0.2, high: 6.0, is_log: true }, 6), "0.2 0.5 1 2 5");
        assert_eq!(labels(YScale { low: 0.9, high: 1200.0, is_log: true }, 4), "1 10 100 1000");
        assert_eq!(labels(YScale { low: 1e-12, high: 1.0, is_log: true }, 5), "1e-12 1e-9 1e-6 0.001 1");
        assert_eq!(
            labels(YScale { low: 1.02, high: 1.08, is_log: true }, 4),
            "1.02 1.04 1.06 1.08",
            "less than a decade"
        );
        assert_eq!(labels(YScale::linear(0.0, 1.0), 5), "0.0 0.2 0.4 0.6 0.8 1.0");
    }
}
