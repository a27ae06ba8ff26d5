//! Event density over the whole run: a fixed number of bins that double in width when they are used up.

use crate::sim::Spike;

/// Maximum number of bins.
const BINS: usize = 4096;

/// Events per bin, including events that are no longer in memory.
#[derive(Clone, Debug, Default)]
pub struct EventDensity {
    first: u64,
    width: u64,
    bins: Vec<u32>,
}

impl EventDensity {
    /// Counts events; steps are relative to `origin` and ascending.
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

    /// Events per step in each of `n` buckets of steps `from..to`, slightly smoothed.
    pub fn buckets(&self, from: f64, to: f64, n: usize) -> Vec<f32> {
        let (width, first) = (self.width.max(1) as f64, self.first as f64);
        let per_bucket = (to - from) / n.max(1) as f64;
        let mean = |i: usize| {
            let a = (from + i as f64 * per_bucket - first) / width;
            let b = a + per_bucket / width;
            let bins = a.floor().max(0.0) as usize..(b.ceil().max(0.0) as usize).min(self.bins.len());
            let part = |bin: usize| (b.min(bin as f64 + 1.0) - a.max(bin as f64)).max(0.0) * f64::from(self.bins[bin]);
            (bins.map(part).sum::<f64>() / per_bucket) as f32
        };
        let sharp: Vec<f32> = (0..n).map(mean).collect();
        let at = |i: usize| sharp.get(i).copied().unwrap_or(0.0);
        (0..n).map(|i| 0.25 * at(i.wrapping_sub(1)) + 0.5 * at(i) + 0.25 * at(i + 1)).collect()
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
        let buckets = band.buckets(7_000.0, 1_007_000.0, 100);
        assert!((buckets[20] - 1.0).abs() < 0.05 && (buckets[80] - 0.25).abs() < 0.05, "{buckets:?}");
    }
}
