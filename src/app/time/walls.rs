//! How long a run had been going, on the clock of the wall, when it was at a step.

/// Points kept at most; every second one goes when they are more.
const MOST: usize = 1 << 13;

/// Steps, and the seconds the run had been going by then, pauses left out. Both only grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walls {
    points: Vec<(f64, f64)>,
}

impl Walls {
    /// The run is at a step after it has been going for so many seconds.
    pub fn push(&mut self, step: u64, secs: f64) {
        let step = step as f64;
        if self.points.last().is_some_and(|(last, known)| step <= *last || secs <= *known) {
            return;
        }
        self.points.push((step, secs));
        if self.points.len() > MOST {
            let mut is_odd = false;
            self.points.retain(|_| {
                is_odd = !is_odd;
                is_odd
            });
        }
    }

    /// Whether there is a course to go by.
    pub fn is_known(&self) -> bool {
        self.points.len() > 1
    }

    /// Seconds at a step; beyond what is known, as fast as at that end.
    pub fn secs_at(&self, step: f64) -> f64 {
        let at = self.points.partition_point(|(known, _)| *known <= step);
        let Some(((s0, w0), (s1, w1))) = self.around(at) else { return 0.0 };
        w0 + (step - s0) / (s1 - s0) * (w1 - w0)
    }

    /// The step after so many seconds.
    pub fn step_at(&self, secs: f64) -> f64 {
        let at = self.points.partition_point(|(_, known)| *known <= secs);
        let Some(((s0, w0), (s1, w1))) = self.around(at) else { return 0.0 };
        s0 + (secs - w0) / (w1 - w0) * (s1 - s0)
    }

    /// The two points on both sides of a place among them.
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
        let mut walls = Walls::default();
        assert!(!walls.is_known() && walls.secs_at(5.0) == 0.0);
        // Slow at first, then ten times as fast.
        for i in 1..=200_u64 {
            walls.push(if i <= 100 { i * 10 } else { 1000 + (i - 100) * 100 }, i as f64 * 0.016);
        }
        walls.push(3, 99.0); // what is not later changes nothing
        for step in [-50.0, 0.0, 10.0, 555.0, 1000.0, 1050.0, 9_999.0, 20_000.0] {
            assert!((walls.step_at(walls.secs_at(step)) - step).abs() < 1e-6, "{step}");
        }
        assert!((walls.secs_at(1000.0) - 1.6).abs() < 1e-9 && (walls.secs_at(6000.0) - 2.4).abs() < 1e-9);
    }

    #[test]
    fn a_long_run_is_kept_in_bounded_memory() {
        let mut walls = Walls::default();
        (1..100_000_u64).for_each(|i| walls.push(i, i as f64 * 0.016));
        assert!(walls.points.len() <= MOST);
        assert!((walls.secs_at(50_000.0) - 800.0).abs() < 0.1);
    }
}
