//! Computation of spike train statistics on the pool, from the spikes in memory.

use crate::{
    app::views::rate::rate,
    num::{spike_stats, welch},
    sim::{Progress, Spike, TimeBase},
};
use rayon::prelude::*;
use std::sync::Arc;

/// Maximum number of correlated elements; the most active ones are.
pub const MAX_CORRELATED: usize = 40;
/// Maximum number of columns of the spectrogram.
pub const MAX_COLUMNS: usize = 400;
/// Number of bins of the ISI histogram, which have equal ratios.
pub const ISI_BINS: usize = 60;
/// Number of bins of the CV histogram.
pub const CV_BINS: usize = 40;
/// Width of a bin of the CV histogram.
pub const CV_WIDTH: f64 = 0.05;

/// Input of a computation.
#[derive(Clone)]
pub struct Task {
    /// Whether to use all threads of the pool, which the simulation needs while it runs.
    pub is_parallel: bool,
    /// Spikes in time order.
    pub spikes: Vec<Arc<Vec<Spike>>>,
    /// First relative step, and the step after the last one.
    pub steps: (u32, u32),
    /// Absolute step of the relative step 0.
    pub origin: u64,
    /// Unit of the steps.
    pub base: TimeBase,
    /// Elements to analyse, ascending; `None`: all.
    pub of: Option<Arc<Vec<u32>>>,
    /// Whether silent elements have a row too.
    pub lists_silent: bool,
    /// Number of elements of the set.
    pub n: u32,
    /// Window of the Fano factor, ms.
    pub fano_ms: f64,
    /// Bin width of correlations, ms.
    pub bin_ms: f64,
}

/// Statistics of an element; NaN if undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub element: u32,
    /// Number of spikes.
    pub n: u32,
    /// Rate in spikes per second, or per step if steps have no duration.
    pub rate_hz: f32,
    /// Mean interspike interval, ms.
    pub isi_ms: f32,
    /// Coefficient of variation of the interspike intervals.
    pub cv: f32,
    pub fano: f32,
}

/// Correlations of the most active elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlations {
    /// The elements, most active first.
    pub elements: Vec<u32>,
    /// Correlation coefficients, row-major; NaN if a count is constant.
    pub matrix: Vec<f32>,
    /// Mean over all pairs with a correlation.
    pub mean: f64,
    /// Number of pairs with a correlation.
    pub n_pairs: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// One row per element; without silent ones, unless [`Task::lists_silent`].
    pub lines: Vec<Line>,
    /// Number of elements, including silent ones.
    pub n_elements: u32,
    /// Mean rate of the elements, in the unit of [`crate::app::views::rate::unit`].
    pub rate: f64,
    /// Number of spikes.
    pub n_spikes: u64,
    /// Analysed time, seconds.
    pub secs: f64,
    /// ISI histogram, in bins of equal ratios.
    pub isi: Vec<u32>,
    /// Lower and upper end of the ISI histogram, ms.
    pub isi_ends: (f64, f64),
    /// CV histogram, in bins of [`CV_WIDTH`]; the last one includes larger values.
    pub cv: Vec<u32>,
    /// Mean CV, and number of elements with a CV; `None` without any.
    pub mean_cv: Option<(f64, usize)>,
    /// Mean Fano factor, and number of elements with a Fano factor; `None` without any.
    pub mean_fano: Option<(f64, usize)>,
    /// Power spectrum of the mean rate; `None` without spikes or if the time is too short.
    pub spectrum: Option<welch::Spectrum>,
    /// Spectrogram of the mean rate; `None` under the same conditions as the spectrum.
    pub spectrogram: Option<welch::Spectrogram>,
    /// Start of the analysed time, seconds.
    pub from_secs: f64,
    /// Duration of a sample of the spectrum, seconds.
    pub sample_secs: f64,
    pub correlations: Correlations,
}

/// Computes the statistics; `None` if the job was cancelled.
pub fn compute(task: &Task, progress: &Progress) -> Option<Stats> {
    let (elements, trains) = trains(task, progress)?;
    progress.report("statistics", 0.5).ok()?;
    let ms = task.base.per_step() * 1e3;
    let (from, to) = task.steps;
    let n_steps = f64::from(to.saturating_sub(from));
    let (secs, base) = (n_steps * task.base.per_step(), task.base);
    let fano_steps = (task.fano_ms / ms).round().max(1.0) as u32;
    let line = |(element, train): (&u32, &&[u32])| {
        let (isi, cv) = spike_stats::interval_stats(train);
        let fano = spike_stats::fano_of_train(train, from, to, fano_steps);
        let real = |v: Option<f64>| v.map_or(f32::NAN, |v| v as f32);
        Line {
            element: *element,
            n: train.len() as u32,
            rate_hz: rate(train.len() as f64, 1, n_steps, base) as f32,
            isi_ms: real(isi.map(|steps| steps * ms)),
            cv: real(cv),
            fano: real(fano),
        }
    };
    let slices = trains.slices();
    let lines: Vec<Line> = match task.is_parallel {
        true => elements.par_iter().zip(slices.par_iter()).map(line).collect(),
        false => elements.iter().zip(slices.iter()).map(line).collect(),
    };
    progress.report("statistics", 0.8).ok()?;
    let mut stats = Stats { n_spikes: trains.steps.len() as u64, secs, ..Stats::default() };
    stats.n_elements = elements.len() as u32;
    stats.rate = rate(stats.n_spikes as f64, stats.n_elements, n_steps, base);
    stats.from_secs = (task.origin + u64::from(task.steps.0)) as f64 * task.base.per_step();
    stats.isi_ends = (ms, (secs * 1e3).max(ms * 2.0));
    stats.isi = isi_histogram(&slices, ms, stats.isi_ends);
    stats.cv = vec![0; CV_BINS];
    let cvs = lines.iter().map(|l| f64::from(l.cv)).filter(|cv| cv.is_finite());
    cvs.clone().for_each(|cv| stats.cv[((cv / CV_WIDTH) as usize).min(CV_BINS - 1)] += 1);
    stats.mean_cv = mean(cvs);
    stats.mean_fano = mean(lines.iter().map(|l| f64::from(l.fano)).filter(|f| f.is_finite()));
    (stats.spectrum, stats.spectrogram, stats.sample_secs) = spectrum(&trains, task);
    stats.correlations = correlations(&elements, &slices, task);
    stats.lines = lines;
    if !task.lists_silent {
        stats.lines.retain(|l| l.n > 0);
    }
    Some(stats)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<(f64, usize)> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| (sum / n as f64, n))
}

/// Spike trains of the elements, concatenated.
struct Trains {
    starts: Vec<u32>,
    steps: Vec<u32>,
}

impl Trains {
    fn slices(&self) -> Vec<&[u32]> {
        self.starts.windows(2).map(|w| &self.steps[w[0] as usize..w[1] as usize]).collect()
    }
}

fn trains(task: &Task, progress: &Progress) -> Option<(Vec<u32>, Trains)> {
    const NONE: u32 = u32::MAX;
    let elements: Vec<u32> = task.of.as_ref().map_or_else(|| (0..task.n).collect(), |of| of.to_vec());
    let mut place = vec![NONE; task.n as usize];
    for (i, e) in elements.iter().enumerate() {
        if let Some(place) = place.get_mut(*e as usize) {
            *place = i as u32;
        }
    }
    let (from, to) = task.steps;
    let meant = |s: &&Spike| s.step >= from && s.step < to;
    let of = |s: &Spike| place.get(s.lane as usize).copied().filter(|p| *p != NONE);
    let mut starts = vec![0_u32; elements.len() + 1];
    for chunk in &task.spikes {
        progress.report("sorting spikes", 0.1).ok()?;
        chunk.iter().filter(meant).filter_map(of).for_each(|p| starts[p as usize + 1] += 1);
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut next = starts.clone();
    let mut steps = vec![0; starts.last().copied().unwrap_or(0) as usize];
    for chunk in &task.spikes {
        progress.report("sorting spikes", 0.3).ok()?;
        for spike in chunk.iter().filter(meant) {
            if let Some(p) = of(spike) {
                steps[next[p as usize] as usize] = spike.step;
                next[p as usize] += 1;
            }
        }
    }
    Some((elements, Trains { starts, steps }))
}

fn isi_histogram(trains: &[&[u32]], ms: f64, (low, high): (f64, f64)) -> Vec<u32> {
    let per_bin = (high / low).ln() / ISI_BINS as f64;
    let mut out = vec![0; ISI_BINS];
    for isi in trains.iter().flat_map(|train| spike_stats::intervals(train)).filter(|isi| *isi > 0) {
        let bin = ((f64::from(isi) * ms / low).ln() / per_bin).max(0.0) as usize;
        out[bin.min(ISI_BINS - 1)] += 1;
    }
    out
}

/// Computes the spectrum and the spectrogram of the mean rate, sampled every millisecond or step. A signal that is long enough
/// has at least four segments for the spectrum, and sixteen for the spectrogram. Also returns the duration of a sample, seconds.
fn spectrum(trains: &Trains, task: &Task) -> (Option<welch::Spectrum>, Option<welch::Spectrogram>, f64) {
    let per_sample = (1e-3 / task.base.per_step()).round().max(1.0) as u32;
    let sample_secs = f64::from(per_sample) * task.base.per_step();
    let (from, to) = task.steps;
    let n = trains.starts.len().saturating_sub(1).max(1) as f64;
    let mut signal = vec![0.0; (to.saturating_sub(from) / per_sample) as usize];
    for step in &trains.steps {
        if let Some(x) = signal.get_mut(((step - from) / per_sample) as usize) {
            *x += 1.0 / (n * sample_secs);
        }
    }
    if trains.steps.is_empty() {
        return (None, None, sample_secs);
    }
    let segment = |parts: usize, most: usize| (1_usize << (signal.len() / parts).max(1).ilog2()).clamp(64, most);
    let spectrum = welch::welch(&signal, 1.0 / sample_secs, segment(4, 1024));
    let over_time = welch::spectrogram(&signal, 1.0 / sample_secs, segment(16, 512), MAX_COLUMNS);
    (spectrum, over_time, sample_secs)
}

fn correlations(elements: &[u32], trains: &[&[u32]], task: &Task) -> Correlations {
    let mut order: Vec<usize> = (0..elements.len()).filter(|i| !trains[*i].is_empty()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(trains[*i].len()), elements[*i]));
    order.truncate(MAX_CORRELATED);
    let bin = (task.bin_ms * 1e-3 / task.base.per_step()).round().max(1.0) as u32;
    let (from, to) = task.steps;
    let rows: Vec<Vec<u32>> = order.iter().map(|i| spike_stats::counts(trains[*i], from, to, bin)).collect();
    let n = rows.len();
    let pair = |i: usize| spike_stats::correlation(&rows[i / n], &rows[i % n]).map_or(f32::NAN, |r| r as f32);
    let matrix: Vec<f32> = match task.is_parallel {
        true => (0..n * n).into_par_iter().map(pair).collect(),
        false => (0..n * n).map(pair).collect(),
    };
    let upper = (0..n * n).filter(|i| i / n < i % n).map(|i| f64::from(matrix[i])).filter(|r| r.is_finite());
    let (mean, n_pairs) = mean(upper).unwrap_or((0.0, 0));
    Correlations { elements: order.iter().map(|i| elements[*i]).collect(), matrix, mean, n_pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(of: Option<Vec<u32>>) -> Task {
        // Element 0 spikes every 10 ms; 1 at 5, 15, 35 and 65 ms; 2 never; 3 with 0.
        let mut spikes: Vec<Spike> = (0..100).map(|i| Spike { step: i * 100, lane: 0 }).collect();
        spikes.extend((0..100).map(|i| Spike { step: i * 100, lane: 3 }));
        spikes.extend([50, 150, 350, 650].map(|step| Spike { step, lane: 1 }));
        spikes.sort();
        let half = spikes.split_off(90);
        Task {
            is_parallel: false,
            spikes: vec![Arc::new(spikes), Arc::new(half)],
            steps: (0, 10_000),
            origin: 0,
            base: TimeBase::seconds(1e-4),
            lists_silent: of.is_some(),
            of: of.map(Arc::new),
            n: 4,
            fano_ms: 100.0,
            bin_ms: 5.0,
        }
    }

    #[test]
    fn statistics_match_manual_values() {
        let stats = compute(&task(None), &Progress::default()).unwrap();
        assert_eq!((stats.n_spikes, stats.secs), (204, 1.0));
        assert_eq!((stats.n_elements, stats.rate), (4, 51.0), "a rate is a mean over silent elements, too");
        assert_eq!(
            stats.lines.iter().map(|l| l.element).collect::<Vec<_>>(),
            [0, 1, 3],
            "the silent element is left out"
        );
        let (regular, other) = (stats.lines[0], stats.lines[1]);
        assert_eq!((regular.n, regular.rate_hz, regular.cv, regular.fano), (100, 100.0, 0.0, 0.0));
        assert!((regular.isi_ms - 10.0).abs() < 1e-6 && (other.isi_ms - 20.0).abs() < 1e-6);
        assert!((f64::from(other.cv) - (200.0_f64 / 3.0).sqrt() / 20.0).abs() < 1e-6);
        // Counts per 100 ms are 4, then nine times 0, with mean 0.4 and variance 1.44.
        assert!((other.fano - 3.6).abs() < 1e-6);
        assert_eq!(stats.isi.iter().sum::<u32>(), 99 + 99 + 3);
        assert_eq!(stats.correlations.elements, [0, 3, 1]);
        assert!((stats.correlations.matrix[1] - 1.0).abs() < 1e-6, "0 and 3 fire together");
        assert_eq!(stats.correlations.n_pairs, 3);
        let spectrum = stats.spectrum.unwrap();
        let peak = spectrum.density.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
        let hz = spectrum.frequencies[peak];
        assert!(
            (hz - 100.0).abs() < 5.0 || (hz % 100.0).min(100.0 - hz % 100.0) < 5.0,
            "{hz} Hz is not a harmonic of 100"
        );
    }

    #[test]
    fn one_thread_gives_the_same_as_the_pool() {
        let one = compute(&task(None), &Progress::default()).unwrap();
        let many = compute(&Task { is_parallel: true, ..task(None) }, &Progress::default()).unwrap();
        assert_eq!((one.isi, one.correlations.elements), (many.isi, many.correlations.elements));
        assert_eq!(one.lines.len(), many.lines.len());
        assert!(one.lines.iter().zip(&many.lines).all(|(a, b)| (a.n, a.fano.to_bits()) == (b.n, b.fano.to_bits())));
    }

    #[test]
    fn chosen_elements_are_listed_even_when_silent() {
        let stats = compute(&task(Some(vec![1, 2])), &Progress::default()).unwrap();
        assert_eq!(stats.lines.iter().map(|l| (l.element, l.n)).collect::<Vec<_>>(), [(1, 4), (2, 0)]);
        assert!(stats.lines[1].cv.is_nan() && stats.mean_cv.unwrap().1 == 1);
        let cancelled = Progress::default();
        cancelled.cancel();
        assert!(compute(&task(None), &cancelled).is_none());
    }
}
