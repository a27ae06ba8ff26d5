//! Histogram of weights before and after INT8 quantisation, counted on the pool.

use crate::{
    num::quant::{Loss, scale_for},
    sim::{ConnectionSource, Progress},
};
use rayon::prelude::*;

/// Number of bins on each side of zero.
const BINS: usize = 60;

/// Granularity of the quantisation scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scales {
    /// One scale per presynaptic element.
    #[default]
    PerElement,
    /// One global scale.
    One,
}

/// Counts of weights in logarithmic bins on both sides of zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// Range of nonzero absolute weights that the bins divide; weights outside are in the outermost bins.
    pub ends: (f32, f32),
    /// Counts before quantisation: negative weights from the largest magnitude down, zero, positive weights.
    pub before: Vec<u64>,
    /// Counts after quantisation, in the same bins.
    pub after: Vec<u64>,
}

/// Result of a count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    pub bins: Bins,
    pub loss: Loss,
    /// Numbers of inhibitory, zero and excitatory connections.
    pub signs: [u64; 3],
    /// Sum of the absolute weights.
    pub total: f64,
    /// Number of elements with connections. With [`Scales::PerElement`] it is the number of scales.
    pub n_scales: u64,
}

impl Bins {
    fn new(ends: (f32, f32)) -> Self {
        Self { ends, before: vec![0; 2 * BINS + 1], after: vec![0; 2 * BINS + 1] }
    }

    /// Returns the index of a weight's bin.
    pub fn of(&self, weight: f32) -> usize {
        if weight == 0.0 {
            return BINS;
        }
        let (low, high) = self.ends;
        let span = (high / low).ln().max(1e-6);
        let place = ((weight.abs() / low).ln() / span * BINS as f32).clamp(0.0, BINS as f32 - 1.0) as usize;
        if weight < 0.0 { BINS - 1 - place } else { BINS + 1 + place }
    }

    /// Returns the range of weights of a bin.
    pub fn range(&self, bin: usize) -> (f32, f32) {
        let (low, high) = self.ends;
        let edge = |i: usize| low * (high / low).powf(i as f32 / BINS as f32);
        match bin.cmp(&BINS) {
            std::cmp::Ordering::Less => (-edge(BINS - bin), -edge(BINS - 1 - bin)),
            std::cmp::Ordering::Equal => (0.0, 0.0),
            std::cmp::Ordering::Greater => (edge(bin - BINS - 1), edge(bin - BINS)),
        }
    }
}

/// Counts the weights; `None` if the job was cancelled.
pub fn count(links: &dyn ConnectionSource, scales: Scales, progress: &Progress) -> Option<Counted> {
    let ends = ends(links, progress)?;
    let n = links.n();
    let empty = || Counted { bins: Bins::new(ends), ..Counted::default() };
    let pieces: Vec<u32> = (0..n).step_by(1024).collect();
    pieces
        .into_par_iter()
        .try_fold(
            || (empty(), Vec::new()),
            |(mut counted, mut row), from| {
                progress.report("counting weights", 0.5 + 0.5 * from as f32 / n.max(1) as f32).ok()?;
                for from in from..(from + 1024).min(n) {
                    links.read(from, &mut row);
                    let largest = row.iter().map(|l| l.weight.abs() as f32).fold(0.0, f32::max);
                    let scale = scale_for(if scales == Scales::One { ends.1 } else { largest });
                    counted.n_scales += u64::from(!row.is_empty());
                    row.iter().for_each(|link| counted.add(link.weight as f32, scale));
                }
                Some((counted, row))
            },
        )
        .map(|piece| piece.map(|(counted, _)| counted))
        .try_reduce(empty, |mut a, b| {
            a.join(&b);
            Some(a)
        })
}

/// Returns the smallest and the largest nonzero absolute weight, the largest raised to 1.001 times the smallest if it is
/// less; (1, 2) if all weights are zero. `None` if the job was cancelled.
fn ends(links: &dyn ConnectionSource, progress: &Progress) -> Option<(f32, f32)> {
    let n = links.n();
    let pieces: Vec<u32> = (0..n).step_by(1024).collect();
    let (low, high) = pieces
        .into_par_iter()
        .map(|from| {
            progress.report("finding the largest", 0.5 * from as f32 / n.max(1) as f32).ok()?;
            let (mut row, mut ends) = (Vec::new(), (f32::INFINITY, 0.0_f32));
            for from in from..(from + 1024).min(n) {
                links.read(from, &mut row);
                for w in row.iter().map(|l| l.weight.abs() as f32).filter(|w| *w > 0.0) {
                    ends = (ends.0.min(w), ends.1.max(w));
                }
            }
            Some(ends)
        })
        .try_reduce(|| (f32::INFINITY, 0.0), |a, b| Some((a.0.min(b.0), a.1.max(b.1))))?;
    Some(if low <= high { (low, high.max(low * 1.001)) } else { (1.0, 2.0) })
}

impl Counted {
    fn add(&mut self, weight: f32, scale: f32) {
        let after = self.loss.add(weight, scale);
        let (before, after) = (self.bins.of(weight), self.bins.of(after));
        self.bins.before[before] += 1;
        self.bins.after[after] += 1;
        let sign = if weight < 0.0 { 0 } else { 1 + usize::from(weight > 0.0) };
        self.signs[sign] += 1;
        self.total += f64::from(weight.abs());
    }

    fn join(&mut self, other: &Self) {
        self.loss.join(&other.loss);
        self.bins.before.iter_mut().zip(&other.bins.before).for_each(|(a, b)| *a += b);
        self.bins.after.iter_mut().zip(&other.bins.after).for_each(|(a, b)| *a += b);
        self.signs.iter_mut().zip(&other.signs).for_each(|(a, b)| *a += b);
        self.total += other.total;
        self.n_scales += other.n_scales;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Connection;

    struct Few(Vec<(u32, f32)>);

    impl ConnectionSource for Few {
        fn n(&self) -> u32 {
            3
        }
        fn n_connections(&self) -> u64 {
            self.0.len() as u64
        }
        fn degree(&self, from: u32) -> u32 {
            self.0.iter().filter(|l| l.0 == from).count() as u32
        }
        fn read(&self, from: u32, out: &mut Vec<Connection>) {
            out.clear();
            out.extend(self.0.iter().filter(|l| l.0 == from).map(|(_, weight)| Connection::new(0, *weight)));
        }
    }

    /// The level size is 2 for a row up to 254, and 0.1 for a row up to 12.7.
    #[test]
    fn rows_have_their_own_scales() {
        let few = Few(vec![(0, 254.0), (0, 3.0), (0, -0.5), (1, 12.7), (1, -0.5), (2, 0.0)]);
        let progress = Progress::default();
        let own = count(&few, Scales::PerElement, &progress).unwrap();
        assert_eq!((own.signs, own.n_scales, own.loss.n), ([2, 1, 3], 3, 6));
        assert_eq!(own.loss.zeros_made, 1, "-0.5 beside 254, but not beside 12.7");
        let one = count(&few, Scales::One, &progress).unwrap();
        assert_eq!(one.loss.zeros_made, 2);
        for counted in [own, one] {
            assert_eq!(counted.bins.before.iter().sum::<u64>(), 6);
            assert_eq!(counted.bins.after.iter().sum::<u64>(), 6);
        }
        progress.cancel();
        assert_eq!(count(&few, Scales::One, &progress), None);
    }

    #[test]
    fn every_weight_is_in_its_bin() {
        let bins = Bins::new((1.0, 1000.0));
        for w in [-1000.0, -3.0, -1.0, 0.0, 1.0, 2.5, 999.0, 1000.0_f32] {
            let (low, high) = bins.range(bins.of(w));
            assert!(w >= low - low.abs() * 1e-4 && w <= high + high.abs() * 1e-4, "{w}: {low} to {high}");
        }
    }
}
