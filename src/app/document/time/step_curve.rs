//! Amount by step: wall-clock time or processed items, along which a time view can draw steps.

/// Maximum number of points. If it is exceeded, every second point is removed.
const MAX_POINTS: usize = 1 << 13;

/// Points of step and amount, such as elapsed wall-clock time in seconds without pauses. Both ascend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepCurve {
    points: Vec<(f64, f64)>,
}

impl FromIterator<(f64, f64)> for StepCurve {
    /// Creates a curve from ascending points.
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(points: I) -> Self {
        Self { points: points.into_iter().collect() }
    }
}

impl StepCurve {
    /// Adds the amount at a step. Points that do not ascend are ignored.
    pub fn push(&mut self, step: u64, amount: f64) {
        let step = step as f64;
        if self.points.last().is_some_and(|(last, known)| step <= *last || amount <= *known) {
            return;
        }
        self.points.push((step, amount));
        if self.points.len() > MAX_POINTS {
            let mut is_odd = false;
            self.points.retain(|_| {
                is_odd = !is_odd;
                is_odd
            });
        }
    }

    /// Whether there are enough points to interpolate.
    pub fn is_known(&self) -> bool {
        self.points.len() > 1
    }

    /// Returns the amount at a step, extrapolated beyond the ends; 0 with fewer than two points.
    pub fn amount_at(&self, step: f64) -> f64 {
        let at = self.points.partition_point(|(known, _)| *known <= step);
        let Some(((s0, w0), (s1, w1))) = self.around(at) else { return 0.0 };
        w0 + (step - s0) / (s1 - s0) * (w1 - w0)
    }

    /// Returns the step at an amount, extrapolated beyond the ends; 0 with fewer than two points.
    pub fn step_at(&self, amount: f64) -> f64 {
        let at = self.points.partition_point(|(_, known)| *known <= amount);
        let Some(((s0, w0), (s1, w1))) = self.around(at) else { return 0.0 };
        s0 + (amount - w0) / (w1 - w0) * (s1 - s0)
    }

    /// Returns the two points around an index; `None` with fewer than two points.
    fn around(&self, at: usize) -> Option<((f64, f64), (f64, f64))> {
        let after = at.clamp(1, self.points.len().max(2) - 1);
        Some((*self.points.get(after - 1)?, *self.points.get(after)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same_step() {
        let mut wall_clock = StepCurve::default();
        assert!(!wall_clock.is_known() && wall_clock.amount_at(5.0) == 0.0);
        // The second half of the steps is ten times as fast as the first.
        for i in 1..=200_u64 {
            wall_clock.push(if i <= 100 { i * 10 } else { 1000 + (i - 100) * 100 }, i as f64 * 0.016);
        }
        wall_clock.push(3, 99.0); // an earlier step is ignored
        for step in [-50.0, 0.0, 10.0, 555.0, 1000.0, 1050.0, 9_999.0, 20_000.0] {
            assert!((wall_clock.step_at(wall_clock.amount_at(step)) - step).abs() < 1e-6, "{step}");
        }
        assert!((wall_clock.amount_at(1000.0) - 1.6).abs() < 1e-9 && (wall_clock.amount_at(6000.0) - 2.4).abs() < 1e-9);
    }

    #[test]
    fn a_long_run_is_kept_in_bounded_memory() {
        let mut wall_clock = StepCurve::default();
        (1..100_000_u64).for_each(|i| wall_clock.push(i, i as f64 * 0.016));
        assert!(wall_clock.points.len() <= MAX_POINTS);
        assert!((wall_clock.amount_at(50_000.0) - 800.0).abs() < 0.1);
    }
}
