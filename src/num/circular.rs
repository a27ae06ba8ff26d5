//! Statistics of angles in radians: mean direction, resultant length, quantiles and differences on the circle
//! (Mardia & Jupp, *Directional Statistics*, 2000).

use std::f64::consts::TAU;

/// Wraps an angle to [-π, π).
pub fn wrap(angle: f64) -> f64 {
    let turns = angle / TAU + 0.5;
    (turns - turns.floor() - 0.5) * TAU
}

/// Returns the signed shortest rotation from `b` to `a`, in [-π, π).
pub fn difference(a: f64, b: f64) -> f64 {
    wrap(a - b)
}

/// Sum of e^{iφ} over angles φ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CircularSum {
    /// Sum of cos φ.
    pub cos: f64,
    /// Sum of sin φ.
    pub sin: f64,
    /// Number of angles.
    pub n: u64,
}

impl CircularSum {
    pub fn add(&mut self, angle: f64) {
        let (sin, cos) = angle.sin_cos();
        (self.cos, self.sin, self.n) = (self.cos + cos, self.sin + sin, self.n + 1);
    }

    /// Returns the mean direction; 0 without angles.
    pub fn mean(&self) -> f64 {
        self.sin.atan2(self.cos)
    }

    /// Returns the resultant length R: 1 if all angles are equal, near 0 if they are spread; 0 without angles.
    pub fn resultant(&self) -> f64 {
        self.cos.hypot(self.sin) / self.n.max(1) as f64
    }
}

impl FromIterator<f64> for CircularSum {
    fn from_iter<I: IntoIterator<Item = f64>>(angles: I) -> Self {
        let mut sum = Self::default();
        angles.into_iter().for_each(|angle| sum.add(angle));
        sum
    }
}

/// Returns quantiles of the deviations from the mean direction, as angles; `None` without angles. The quantile 0.5 is the
/// circular median.
pub fn quantiles<const N: usize>(angles: &[f32], at: [f64; N]) -> Option<[f64; N]> {
    let mean = angles.iter().map(|a| f64::from(*a)).collect::<CircularSum>().mean();
    let mut sorted: Vec<f64> = angles.iter().map(|a| difference(f64::from(*a), mean)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(at.map(|q| {
        let at = q.clamp(0.0, 1.0) * last as f64;
        let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        wrap(mean + below + (above - below) * at.fract())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn is_near(a: f64, b: f64) -> bool {
        difference(a, b).abs() < 1e-6
    }

    #[test]
    fn angles_wrap_to_half_a_turn_either_way() {
        for (angle, wrapped) in [(0.0, 0.0), (3.0 * PI, -PI), (-0.25, -0.25), (7.0 * PI / 4.0, -PI / 4.0)] {
            assert!((wrap(angle) - wrapped).abs() < 1e-12, "{angle}: {}", wrap(angle));
        }
        assert!(
            (difference(-3.1, 3.1) - (TAU - 6.2)).abs() < 1e-12 && (difference(3.1, -3.1) + TAU - 6.2).abs() < 1e-12
        );
    }

    #[test]
    fn the_mean_of_angles_around_half_a_turn_is_half_a_turn() {
        let angles = [PI - 0.2, -PI + 0.2, PI - 0.1, -PI + 0.1];
        let sum: CircularSum = angles.into_iter().collect();
        assert!(is_near(sum.mean(), PI), "{}: the linear mean is 0", sum.mean());
        assert!((sum.resultant() - (0.2f64.cos() + 0.1f64.cos()) / 2.0).abs() < 1e-12);
        let spread: CircularSum = (0..8).map(|i| f64::from(i) * TAU / 8.0).collect();
        assert!(spread.resultant() < 1e-12 && CircularSum::default().resultant() == 0.0);
    }

    #[test]
    fn quantiles_follow_the_circle() {
        let angles: Vec<f32> = [-0.4, -0.2, 0.0, 0.2, 0.4].map(|d| wrap(PI + d) as f32).to_vec();
        let [low, median, high] = quantiles(&angles, [0.0, 0.5, 1.0]).expect("angles");
        assert!(
            is_near(median, PI)
                && (difference(low, PI) + 0.4).abs() < 1e-5
                && (difference(high, PI) - 0.4).abs() < 1e-5
        );
        let turned: Vec<f32> = angles.iter().map(|a| wrap(f64::from(*a) + 1.0) as f32).collect();
        let [median] = quantiles(&turned, [0.5]).expect("angles");
        assert!((difference(median, PI + 1.0)).abs() < 1e-5, "turning all angles turns the median");
        assert_eq!(quantiles(&[], [0.5]), None);
    }
}
