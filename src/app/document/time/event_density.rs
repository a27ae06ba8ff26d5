//! Event density over the whole run in a fixed number of bins. When the bins are used up, their width doubles.

use crate::sim::Spike;

/// Maximum number of bins.
const BINS: usize = 4096;

/// Number of events per bin, including events that are no longer in memory.
#[derive(Clone, Debug, Default)]
pub struct EventDensity {
    first: u64,
    width: u64,
    bins: Vec<u32>,
}

impl EventDensity {
    /// Counts events, whose steps are relative to `origin` and ascending.
    pub fn push(&mut self, spikes: &[Spike], origin: u64) {
        let Some(first) = spikes.first() else { return };
        if self.width == 0 {
            (self.first, self.width) = (origin + u64::from(first.step), 1);
        }
        let mut rest = spikes;
        while let Some(spike) = rest.first() {
            let mut bin = self.bin(origin + u64::from(spike.step));
            while bin >= BINS {
                self.fold();
                bin = self.bin(origin + u64::from(spike.step));
            }
            if bin >= self.bins.len() {
                self.bins.resize(bin + 1, 0);
            }
            // Spikes of one bin are consecutive.
            let n = rest.partition_point(|s| self.bin(origin + u64::from(s.step)) <= bin).max(1);
            self.bins[bin] = self.bins[bin].saturating_add(n as u32);
            rest = &rest[n..];
        }
    }

    fn bin(&self, step: u64) -> usize {
        (step.saturating_sub(self.first) / self.width) as usize
    }

    fn fold(&mut self) {
        self.width *= 2;
        self.bins = self.bins.chunks(2).map(|pair| pair.iter().fold(0, |a: u32, b| a.saturating_add(*b))).collect();
    }

    /// Returns the events per step in `n` buckets of steps `from..to`, smoothed over three buckets. Events are counted up to step
    /// `end`; buckets that reach beyond it are omitted.
    pub fn buckets(&self, from: f64, to: f64, n: usize, end: f64) -> Vec<f32> {
        let (width, first) = (self.width.max(1) as f64, self.first as f64);
        let per_bucket = (to - from) / n.max(1) as f64;
        let n_complete = (((end - from) / per_bucket + 1e-6).max(0.0) as usize).min(n);
        let mean = |i: usize| {
            let (a, b) = (from + i as f64 * per_bucket, from + (i + 1) as f64 * per_bucket);
            let bin = |step: f64| (step - first) / width;
            let bins = bin(a).floor().max(0.0) as usize..(bin(b).ceil().max(0.0) as usize).min(self.bins.len());
            let part = |i: usize| {
                let low = first + i as f64 * width;
                // The last bin covers only the steps up to the end.
                let high = (low + width).min(end.max(low + 1.0));
                (b.min(high) - a.max(low)).max(0.0) / (high - low) * f64::from(self.bins[i])
            };
            (bins.map(part).sum::<f64>() / per_bucket) as f32
        };
        let sharp: Vec<f32> = (0..n_complete).map(mean).collect();
        let smooth = |i: usize| {
            let near = [(i.wrapping_sub(1), 0.25), (i, 0.5), (i + 1, 0.25)];
            let near = near.iter().filter_map(|(i, weight)| Some((sharp.get(*i)? * weight, *weight)));
            let (sum, weights) = near.fold((0.0, 0.0), |(a, b), (v, weight)| (a + v, b + weight));
            sum / weights
        };
        (0..n_complete).map(smooth).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_its_sum_and_its_shape() {
        let mut band = EventDensity::default();
        let burst = |s: &u32| *s < 500_000 || s.is_multiple_of(4);
        let spikes: Vec<Spike> = (0..1_000_000).filter(burst).map(|step| Spike { step, lane: 0 }).collect();
        for part in spikes.chunks(10_000) {
            band.push(part, 7_000);
        }
        assert!(band.bins.len() <= BINS);
        assert_eq!(band.bins.iter().sum::<u32>(), 625_000);
        let buckets = band.buckets(7_000.0, 1_007_000.0, 100, 1_007_000.0);
        assert!((buckets[20] - 1.0).abs() < 0.05 && (buckets[80] - 0.25).abs() < 0.05, "{buckets:?}");
    }

    #[test]
    fn a_steady_run_does_not_fall_at_the_live_edge() {
        let mut band = EventDensity::default();
        for end in [10_u32, 999, 5_003, 70_001] {
            let start = band.bins.iter().sum::<u32>();
            band.push(&(start..end).map(|step| Spike { step, lane: 0 }).collect::<Vec<_>>(), 0);
            for (to, n) in [(100_000.0, 1_200), (f64::from(end), 777), (f64::from(end) * 1.3, 50)] {
                let buckets = band.buckets(0.0, to, n, f64::from(end));
                assert_eq!(buckets.len(), (f64::from(end) / to * n as f64 + 1e-6) as usize, "{end} of {to} in {n}");
                assert!(buckets.iter().all(|v| (v - 1.0).abs() < 1e-3), "{end} of {to} in {n}: {buckets:?}");
            }
        }
    }
}
