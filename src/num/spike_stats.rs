//! Statistics of spike trains, defined as in Elephant (Denker et al. 2018, *elephant.statistics*,
//! *elephant.spike_train_correlation*): variances are divided by n, not by n − 1.

/// Returns mean and variance (divided by n); `None` without values.
pub fn mean_and_variance(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    // Welford's method needs one pass and has no cancellation if the mean is large.
    let (mut n, mut mean, mut sum) = (0.0, 0.0, 0.0);
    for v in values {
        n += 1.0;
        let d = v - mean;
        mean += d / n;
        sum += d * (v - mean);
    }
    (n > 0.0).then(|| (mean, sum / n))
}

/// Iterates over the intervals between the spikes of a sorted train, in the train's unit of time.
pub fn intervals(train: &[u32]) -> impl Iterator<Item = u32> + '_ {
    train.windows(2).map(|w| w[1] - w[0])
}

/// Returns the mean interval, `None` without intervals, and the coefficient of variation (standard deviation over mean), `None`
/// with fewer than two intervals or the mean 0.
pub fn interval_stats(train: &[u32]) -> (Option<f64>, Option<f64>) {
    let Some((mean, variance)) = mean_and_variance(intervals(train).map(f64::from)) else { return (None, None) };
    let cv = (train.len() >= 3 && mean > 0.0).then(|| variance.sqrt() / mean);
    (Some(mean), cv)
}

/// Counts spikes in consecutive windows of `window` steps from `from` to `to`; an incomplete last window is dropped.
pub fn counts(train: &[u32], from: u32, to: u32, window: u32) -> Vec<u32> {
    let window = window.max(1);
    let mut out = vec![0; (to.saturating_sub(from) / window) as usize];
    for step in train.iter().filter(|s| **s >= from) {
        if let Some(count) = out.get_mut(((step - from) / window) as usize) {
            *count += 1;
        }
    }
    out
}

/// Returns the Fano factor of counts: variance over mean. `None` with fewer than two windows or without spikes.
pub fn fano(counts: &[u32]) -> Option<f64> {
    let (mean, variance) = mean_and_variance(counts.iter().map(|c| f64::from(*c)))?;
    (counts.len() >= 2 && mean > 0.0).then(|| variance / mean)
}

/// Returns the Fano factor of a sorted train's counts in windows from `from`, equal to [`fano`] of [`counts`]. Its cost grows
/// with the number of spikes, not of windows. `None` under the conditions of [`fano`].
pub fn fano_of_train(train: &[u32], from: u32, to: u32, window: u32) -> Option<f64> {
    let window = window.max(1);
    let n_windows = u64::from(to.saturating_sub(from) / window);
    let first = train.partition_point(|step| *step < from);
    let window_of = |step: &u32| u64::from((step - from) / window);
    let (mut n, mut squares) = (0_u64, 0_u64);
    for group in train[first..].chunk_by(|a, b| window_of(a) == window_of(b)) {
        if window_of(&group[0]) < n_windows {
            n += group.len() as u64;
            squares += (group.len() as u64).pow(2);
        }
    }
    if n_windows < 2 || n == 0 {
        return None;
    }
    // Σ(c - m)² = Σc² - n²/k, exact in integers up to the division.
    let (n, k) = (n as f64, n_windows as f64);
    Some((squares as f64 - n * n / k) / n)
}

/// Returns Pearson's correlation of two rows of counts of equal length; `None` if a row is empty or constant.
pub fn correlation(a: &[u32], b: &[u32]) -> Option<f64> {
    let (mean_a, var_a) = mean_and_variance(a.iter().map(|x| f64::from(*x)))?;
    let (mean_b, var_b) = mean_and_variance(b.iter().map(|x| f64::from(*x)))?;
    let n = a.len().min(b.len()) as f64;
    let together: f64 = a.iter().zip(b).map(|(x, y)| (f64::from(*x) - mean_a) * (f64::from(*y) - mean_b)).sum();
    (var_a > 0.0 && var_b > 0.0).then(|| together / n / (var_a * var_b).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64) {
        assert!(a.is_some_and(|a| (a - b).abs() < 1e-12), "{a:?} is not {b}");
    }

    /// Computed manually: intervals 10, 20, 30 have mean 20 and variance 200/3.
    #[test]
    fn intervals_by_hand() {
        let train = [5, 15, 35, 65];
        assert_eq!(intervals(&train).collect::<Vec<_>>(), [10, 20, 30]);
        let (mean, cv) = interval_stats(&train);
        near(mean, 20.0);
        near(cv, (200.0_f64 / 3.0).sqrt() / 20.0);
        near(interval_stats(&[0, 7, 14, 21]).1, 0.0);
        assert_eq!(interval_stats(&[0, 7]), (Some(7.0), None));
        assert_eq!(interval_stats(&[3]), (None, None));
    }

    /// Computed manually: counts 0, 2, 1, 1 have mean 1 and variance 1/2.
    #[test]
    fn counts_by_hand() {
        let train = [10, 19, 20, 30, 40, 99];
        assert_eq!(counts(&train, 0, 45, 10), [0, 2, 1, 1]);
        near(fano(&[0, 2, 1, 1]), 0.5);
        near(fano(&[3, 3, 3]), 0.0);
        assert_eq!((fano(&[0, 0]), fano(&[5]), fano(&[])), (None, None, None));
        assert!(counts(&train, 50, 45, 10).is_empty());
    }

    /// Computed manually: the correlation of 0, 1, 2 with 0, 2, 1 is 0.5.
    #[test]
    fn correlations_by_hand() {
        near(correlation(&[0, 1, 2], &[0, 2, 1]), 0.5);
        near(correlation(&[0, 1, 2], &[5, 6, 7]), 1.0);
        near(correlation(&[0, 1, 2], &[2, 1, 0]), -1.0);
        assert_eq!(correlation(&[1, 1], &[0, 1]), None);
    }
}
