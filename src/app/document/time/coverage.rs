//! Steps at which a probe was subscribed. At other steps the probe was not recorded.

/// Maximum number of intervals. If it is exceeded, the closest intervals are merged.
const MAX_INTERVALS: usize = 512;

/// Intervals of steps with data, ascending and disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    intervals: Vec<(u64, u64)>,
    /// Whether the probe was in the newest frame, so that the last interval still grows.
    is_open: bool,
}

impl Coverage {
    /// Extends the open interval to a step at which the probe was in a frame, or starts an interval there.
    pub fn extend(&mut self, step: u64) {
        match self.intervals.last_mut().filter(|_| self.is_open) {
            Some((_, end)) => *end = step.max(*end),
            None => self.start(step),
        }
    }

    /// Continues at `from`, because data between the last step and `from` were lost, up to `step`.
    pub fn skip_to(&mut self, from: u64, step: u64) {
        self.is_open = false;
        self.start(from);
        self.extend(step);
    }

    /// Closes the interval, because the probe was not in a frame. The next data start a new interval.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    fn start(&mut self, step: u64) {
        self.is_open = true;
        if self.end().is_some_and(|end| step <= end) {
            return; // No steps are missing between the intervals.
        }
        self.intervals.push((step, step));
        if self.intervals.len() > MAX_INTERVALS {
            let gap = |i: &usize| self.intervals[*i + 1].0 - self.intervals[*i].1;
            if let Some(i) = (0..self.intervals.len() - 1).min_by_key(gap) {
                self.intervals[i].1 = self.intervals[i + 1].1;
                self.intervals.remove(i + 1);
            }
        }
    }

    /// Whether the probe was in the newest frame.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the last step with data; `None` without data.
    pub fn end(&self) -> Option<u64> {
        self.intervals.last().map(|(_, end)| *end)
    }

    /// Returns the intervals between `from` and `to` without data.
    pub fn gaps(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let mut gaps = vec![];
        let mut at = from;
        for (start, end) in self.intervals.iter().map(|(a, b)| (*a as f64, *b as f64)).filter(|(_, end)| *end >= from) {
            if start >= to {
                break;
            }
            if start > at {
                gaps.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_steps_without_a_subscription() {
        let mut coverage = Coverage::default();
        assert_eq!(coverage.gaps(0.0, 50.0), [(0.0, 50.0)]);
        [100, 150, 200].into_iter().for_each(|step| coverage.extend(step));
        coverage.close();
        coverage.close();
        [500, 600].into_iter().for_each(|step| coverage.extend(step));
        assert_eq!(coverage.gaps(0.0, 600.0), [(0.0, 100.0), (200.0, 500.0)]);
        assert_eq!(coverage.gaps(250.0, 300.0), [(250.0, 300.0)]);
        assert_eq!(coverage.gaps(120.0, 180.0), []);
        coverage.skip_to(700, 800);
        assert_eq!(coverage.gaps(550.0, 900.0), [(600.0, 700.0), (800.0, 900.0)]);
    }

    #[test]
    fn many_intervals_are_merged_at_the_smallest_gap() {
        let mut coverage = Coverage::default();
        for i in 0..2_000_u64 {
            coverage.extend(i * 100);
            coverage.extend(i * 100 + 50 + i % 7);
            coverage.close();
        }
        assert!(coverage.intervals.len() <= MAX_INTERVALS);
        assert!(coverage.intervals.is_sorted() && coverage.end() == Some(199_950 + 1_999 % 7));
    }
}
