//! Courses over time: rates and series of recorded trials in bins around a time, and their means with intervals.

use super::statistics::Summary;
use crate::{
    project::{RunFolder, Stream},
    sim::TimeBase,
};
use std::io;

/// Maximum number of bins.
pub const MAX_BINS: u64 = 5_000;

/// Bins of equal width. A bin begins at the step to which they are aligned; all bins are within the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binning {
    /// Step to which the bins are aligned.
    pub align: u64,
    /// Width of a bin, steps, at least 1.
    pub width: u64,
    /// Index of the first bin; bin 0 begins at `align`.
    pub first: i64,
    /// Number of bins.
    pub n: usize,
}

impl Binning {
    /// Creates the whole bins of a trial from step `from` to step `to`.
    ///
    /// # Errors
    /// Fails with a sentence if no bin fits, or there are more than [`MAX_BINS`].
    pub fn new((from, to): (u64, u64), align: u64, width: u64) -> Result<Self, String> {
        let width = width.max(1);
        let relative = |step: u64| i128::from(step) - i128::from(align);
        let first = -(-relative(from)).div_euclid(width.into());
        let n = relative(to).div_euclid(width.into()) - first;
        match u64::try_from(n) {
            Ok(n) if (1..=MAX_BINS).contains(&n) => Ok(Self { align, width, first: first as i64, n: n as usize }),
            Ok(n) if n > MAX_BINS => Err(format!("{n} bins are too many; at most {MAX_BINS} are possible")),
            _ => Err("No whole bin is within the trial".to_owned()),
        }
    }

    /// Returns the index of the bin of a step; `None` for a step in no bin.
    pub fn index(&self, step: u64) -> Option<usize> {
        let bin = (i128::from(step) - i128::from(self.align)).div_euclid(self.width.into()) - i128::from(self.first);
        usize::try_from(bin).ok().filter(|bin| *bin < self.n)
    }

    /// Returns the start of a bin, steps after `align`; with the number of bins, the end of the last one.
    pub fn start(&self, bin: usize) -> f64 {
        (self.first + bin as i64) as f64 * self.width as f64
    }
}

/// Returns the rate of elements in each bin: events per element and second, or per step where steps have no duration. `is_in` says
/// which elements are counted.
///
/// # Errors
/// Fails if the events cannot be read.
pub fn rates(run: &RunFolder, stream: &Stream, is_in: &[bool], bins: &Binning) -> io::Result<Vec<f64>> {
    let first = run.manifest.first_step;
    let mut counts = vec![0_u64; bins.n];
    for event in run.read_spikes(stream)? {
        let event = event?;
        if is_in.get(event.lane as usize) == Some(&true) {
            // Steps are stored modulo 2³².
            let step = first + u64::from(event.step.wrapping_sub(first as u32));
            bins.index(step).into_iter().for_each(|bin| counts[bin] += 1);
        }
    }
    let n = is_in.iter().filter(|is_in| **is_in).count().max(1) as f64;
    let per = match run.manifest.time_base() {
        TimeBase::Seconds { per_step } => n * bins.width as f64 * per_step,
        TimeBase::Count { .. } => bins.width as f64,
    };
    Ok(counts.into_iter().map(|count| count as f64 / per).collect())
}

/// Returns the mean of the samples in each bin, over the lane `lane` or over all lanes; NaN in bins without samples.
///
/// # Errors
/// Fails if the samples cannot be read.
pub fn samples(run: &RunFolder, stream: &Stream, lane: Option<usize>, bins: &Binning) -> io::Result<Vec<f64>> {
    let mut sums = vec![(0.0, 0_u64); bins.n];
    let (mut reader, mut row) = (run.read_rows(stream)?, vec![]);
    while let Some(step) = reader.next_row(&mut row)? {
        let Some(bin) = bins.index(step) else { continue };
        let values = match lane {
            Some(lane) => row.get(lane..=lane).unwrap_or(&[]),
            None => &row[..],
        };
        sums[bin].0 += values.iter().map(|value| f64::from(*value)).sum::<f64>();
        sums[bin].1 += values.len() as u64;
    }
    Ok(sums.into_iter().map(|(sum, n)| if n == 0 { f64::NAN } else { sum / n as f64 }).collect())
}

/// Values of the trials of a condition by bin, with their statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeCourse {
    /// Values of each trial.
    pub trials: Vec<Vec<f64>>,
    /// Mean over the trials with its 95 % interval (Student's t), by bin. Values that are no numbers are left out.
    pub bins: Vec<Summary>,
}

impl TimeCourse {
    /// Summarises the values of trials in equal bins.
    pub fn of(trials: Vec<Vec<f64>>) -> Self {
        let n = trials.iter().map(Vec::len).min().unwrap_or(0);
        let at = |bin: usize| trials.iter().map(|trial| trial[bin]).filter(|x| x.is_finite()).collect::<Vec<_>>();
        Self { bins: (0..n).map(|bin| Summary::of(&at(bin))).collect(), trials }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_begin_at_the_step_of_alignment_and_end_within_the_trial() {
        let bins = Binning::new((0, 1000), 250, 100).expect("bins");
        assert_eq!((bins.first, bins.n), (-2, 9));
        assert_eq!((bins.start(0), bins.start(2), bins.start(bins.n)), (-200.0, 0.0, 700.0));
        let index = [49, 50, 149, 249, 250, 949, 950].map(|step| bins.index(step));
        assert_eq!(index, [None, Some(0), Some(0), Some(1), Some(2), Some(8), None]);
        assert_eq!(Binning::new((100, 200), 0, 40).map(|bins| (bins.first, bins.n)), Ok((3, 2)));
        assert!(Binning::new((0, 10), 5, 20).is_err() && Binning::new((0, 1 << 40), 0, 1).is_err());
    }

    #[test]
    fn courses_have_the_mean_and_interval_of_the_trials_with_a_value() {
        let course = TimeCourse::of(vec![vec![1.0, f64::NAN], vec![3.0, 5.0], vec![5.0, 5.0]]);
        assert_eq!((course.bins[0].mean, course.bins[0].n), (Some(3.0), 3));
        // t with 2 degrees of freedom is 4.3027 at 97.5 %.
        let (low, high) = course.bins[0].interval.expect("an interval");
        assert!((high - low - 2.0 * 4.302_65 * 2.0 / f64::sqrt(3.0)).abs() < 1e-3, "{low} {high}");
        assert_eq!((course.bins[1].mean, course.bins[1].n, course.bins[1].interval), (Some(5.0), 2, None));
        assert_eq!(TimeCourse::of(vec![]), TimeCourse::default());
    }
}
