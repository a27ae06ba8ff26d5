//! Power spectra by Welch's method (1967), with the defaults of *scipy.signal.welch* and *elephant.spectral.welch_psd*:
//! Hann windows with 50 % overlap, the mean of each segment removed, one-sided density.

use std::f64::consts::TAU;

/// Real and imaginary part of a complex number.
type Complex = (f64, f64);

/// A power spectral density.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Frequencies from 0 to half the sampling rate, Hz.
    pub frequencies: Vec<f64>,
    /// Power per Hz.
    pub density: Vec<f64>,
    /// Number of averaged segments.
    pub n_segments: usize,
    /// Samples per segment: a power of two.
    pub segment: usize,
}

/// Estimates the spectrum of a sampled signal from segments of `segment` samples. `None` if `segment` is less than 4,
/// longer than the signal or not a power of two.
pub fn welch(signal: &[f64], rate_hz: f64, segment: usize) -> Option<Spectrum> {
    if segment < 4 || !segment.is_power_of_two() || signal.len() < segment {
        return None;
    }
    let mut density = vec![0.0; segment / 2 + 1];
    let mut n_segments = 0;
    periodograms(signal, rate_hz, segment, |one| {
        density.iter_mut().zip(one).for_each(|(sum, d)| *sum += d);
        n_segments += 1;
    });
    density.iter_mut().for_each(|d| *d /= n_segments as f64);
    Some(Spectrum { frequencies: frequencies(rate_hz, segment), density, n_segments, segment })
}

/// Power over time: the spectra of consecutive segments, which [`welch`] averages into one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrogram {
    /// Frequencies from 0 to half the sampling rate, Hz.
    pub frequencies: Vec<f64>,
    /// Power per Hz: one spectrum per column, column after column.
    pub density: Vec<f64>,
    /// Time between the centres of consecutive columns, seconds.
    pub column_secs: f64,
    /// Time from the first sample to the centre of the first column, seconds.
    pub first_secs: f64,
    /// Number of segments averaged into a column.
    pub per_column: usize,
    /// Samples per segment: a power of two.
    pub segment: usize,
}

/// Computes the spectra of overlapping segments and averages adjacent ones, so that there are at most `most` columns. `None`
/// under the same conditions as [`welch`].
pub fn spectrogram(signal: &[f64], rate_hz: f64, segment: usize, most: usize) -> Option<Spectrogram> {
    if segment < 4 || !segment.is_power_of_two() || signal.len() < segment {
        return None;
    }
    let n_segments = (signal.len() - segment) / (segment / 2) + 1;
    let per_column = n_segments.div_ceil(most.max(1));
    let height = segment / 2 + 1;
    let mut density = vec![0.0; n_segments.div_ceil(per_column) * height];
    let mut at = 0;
    periodograms(signal, rate_hz, segment, |one| {
        let column = at / per_column;
        let share = 1.0 / per_column.min(n_segments - column * per_column) as f64;
        density[column * height..][..height].iter_mut().zip(one).for_each(|(sum, d)| *sum += d * share);
        at += 1;
    });
    let column_secs = (per_column * segment / 2) as f64 / rate_hz;
    // A column covers `per_column` segments, each half a segment after the one before.
    let first_secs = ((per_column + 1) * segment) as f64 / 4.0 / rate_hz;
    Some(Spectrogram {
        frequencies: frequencies(rate_hz, segment),
        density,
        column_secs,
        first_secs,
        per_column,
        segment,
    })
}

fn frequencies(rate_hz: f64, segment: usize) -> Vec<f64> {
    (0..=segment / 2).map(|i| i as f64 * rate_hz / segment as f64).collect()
}

/// Calls `take` with the one-sided density of every segment.
fn periodograms(signal: &[f64], rate_hz: f64, segment: usize, mut take: impl FnMut(&[f64])) {
    let window: Vec<f64> = (0..segment).map(|i| 0.5 - 0.5 * (TAU * i as f64 / segment as f64).cos()).collect();
    let scale = 1.0 / (rate_hz * window.iter().map(|w| w * w).sum::<f64>());
    let last = segment / 2;
    let mut density = vec![0.0; last + 1];
    for part in signal.windows(segment).step_by(segment / 2) {
        let mean = part.iter().sum::<f64>() / segment as f64;
        let mut bins: Vec<Complex> = part.iter().zip(&window).map(|(x, w)| ((x - mean) * w, 0.0)).collect();
        transform(&mut bins);
        for (i, (d, (re, im))) in density.iter_mut().zip(&bins).enumerate() {
            // A one-sided density is doubled except at 0 and at half the sampling rate.
            *d = (re * re + im * im) * scale * if i == 0 || i == last { 1.0 } else { 2.0 };
        }
        take(&density);
    }
}

/// Computes the discrete Fourier transform in place; the length is a power of two, at least 2.
fn transform(x: &mut [Complex]) {
    let n = x.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            x.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        for k in 0..half {
            let angle = -TAU * k as f64 / (2 * half) as f64;
            let (c, s) = (angle.cos(), angle.sin());
            for i in (k..n).step_by(2 * half) {
                let (a, b) = (x[i], x[i + half]);
                let turned = (b.0 * c - b.1 * s, b.0 * s + b.1 * c);
                x[i] = (a.0 + turned.0, a.1 + turned.1);
                x[i + half] = (a.0 - turned.0, a.1 - turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transform equals its definition as a sum.
    #[test]
    fn the_transform_is_the_sum_it_stands_for() {
        let x: Vec<Complex> = (0..16).map(|i| ((i * i % 7) as f64, (i % 3) as f64)).collect();
        let mut fast = x.clone();
        transform(&mut fast);
        for (k, got) in fast.iter().enumerate() {
            let mut want = (0.0, 0.0);
            for (i, (re, im)) in x.iter().enumerate() {
                let (c, s) = ((TAU * (i * k) as f64 / 16.0).cos(), -(TAU * (i * k) as f64 / 16.0).sin());
                want = (want.0 + re * c - im * s, want.1 + re * s + im * c);
            }
            assert!((got.0 - want.0).abs() < 1e-9 && (got.1 - want.1).abs() < 1e-9, "{k}: {got:?} {want:?}");
        }
    }

    /// Computed manually: a sine of amplitude 2 has power 2, and its spectrum has its peak within a bin of its frequency.
    #[test]
    fn a_sine_has_half_its_squared_amplitude() {
        let signal: Vec<f64> = (0..4096).map(|i| 5.0 + 2.0 * (TAU * 40.0 * f64::from(i) / 1000.0).sin()).collect();
        let spectrum = welch(&signal, 1000.0, 512).unwrap();
        let step = spectrum.frequencies[1];
        let power: f64 = spectrum.density.iter().sum::<f64>() * step;
        assert!((power - 2.0).abs() < 0.01, "{power}");
        let peak = spectrum.density.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
        assert!((spectrum.frequencies[peak] - 40.0).abs() <= step);
        assert_eq!((spectrum.n_segments, spectrum.density.len()), (15, 257));
        assert!(spectrum.density[0] < 1e-3, "the mean is taken off");
    }

    /// The frequency of the largest density follows a tone that jumps from 40 to 120 Hz. The mean over columns equals
    /// Welch's spectrum.
    #[test]
    fn a_tone_is_found_where_it_sounds() {
        let tone = |i: i32| if i < 4096 { 40.0 } else { 120.0 };
        let signal: Vec<f64> = (0..8192).map(|i| (TAU * tone(i) * f64::from(i) / 1000.0).sin()).collect();
        let all = spectrogram(&signal, 1000.0, 256, 1000).unwrap();
        let (height, n) = (all.frequencies.len(), all.density.len() / all.frequencies.len());
        assert_eq!((height, n, all.per_column), (129, 63, 1));
        let loudest = |column: usize| {
            let one = &all.density[column * height..][..height];
            all.frequencies[one.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0]
        };
        assert!((0..30).all(|c| (loudest(c) - 40.0).abs() < 4.0) && (33..63).all(|c| (loudest(c) - 120.0).abs() < 4.0));
        let welch = welch(&signal, 1000.0, 256).unwrap();
        for (i, mean) in welch.density.iter().enumerate() {
            let sum: f64 = (0..n).map(|c| all.density[c * height + i]).sum();
            assert!((sum / n as f64 - mean).abs() < 1e-12);
        }
        let few = spectrogram(&signal, 1000.0, 256, 10).unwrap();
        assert_eq!((few.density.len() / height, few.per_column), (9, 7));
        assert!((few.column_secs - 7.0 * 0.128).abs() < 1e-12);
        assert_eq!((all.first_secs, few.first_secs), (0.128, 0.512), "centres of samples 0 to 256, and 0 to 1024");
    }

    /// Computed manually: independent samples of variance 1 at 1 kHz have a one-sided density of 2/1000 per Hz.
    #[test]
    fn white_noise_is_flat() {
        let mut state = 1_u64;
        let mut coin = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 1 { 1.0 } else { -1.0 }
        };
        let signal: Vec<f64> = (0..200_000).map(|_| coin()).collect();
        let spectrum = welch(&signal, 1000.0, 256).unwrap();
        let inner = &spectrum.density[2..126];
        let mean = inner.iter().sum::<f64>() / inner.len() as f64;
        assert!((mean - 2e-3).abs() < 3e-5, "{mean}");
        assert_eq!(welch(&signal[..100], 1000.0, 256), None);
    }
}
