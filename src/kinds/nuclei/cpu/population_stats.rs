//! Statistics of the population. Sums run over chunks of fixed length, in double precision.

use super::phases::Oscillators;
use crate::kinds::nuclei::{events::PopulationStats, params::Params, real::Real, state::State};

/// Number of nuclei per partial sum.
const RUN: usize = 4096;

fn sum<T: Real>(values: &[T], of: impl Fn(f64) -> f64) -> f64 {
    values.chunks(RUN).map(|run| run.iter().map(|x| of(x.wide())).sum::<f64>()).sum()
}

/// Returns the temperature T = 1 + sample standard deviation; 1 for fewer than two values.
pub fn temperature<T: Real>(f: &[T]) -> f64 {
    if f.len() < 2 {
        return 1.0;
    }
    let mean = sum(f, |x| x) / f.len() as f64;
    1.0 + (sum(f, |x| (x - mean).powi(2)) / (f.len() - 1) as f64).sqrt()
}

/// Returns the order parameter r, and the angle of the mean e^{iφ}.
pub fn order<T: Real>(cos: &[T], sin: &[T]) -> (f64, f64) {
    let n = cos.len().max(1) as f64;
    let (re, im) = (sum(cos, |x| x) / n, sum(sin, |x| x) / n);
    (re.hypot(im), im.atan2(re))
}

/// Computes the statistics of all nuclei after an evaluation of the coupling sums. The median error is computed only
/// `with_details`.
pub fn of<T: Real>(
    params: &Params,
    state: &State<T>,
    oscillators: &Oscillators<T>,
    f: &[T],
    h: &[T],
    sorted: &mut Vec<T>,
    with_details: bool,
) -> PopulationStats {
    let n = f.len();
    let at = |field: usize| oscillators.phasors(field);
    let (r, mean_phase) = order(at(0).0, at(0).1);
    let (re, d) = (sum(&oscillators.sums.re[..n], |x| x), sum(&oscillators.sums.d, |x| x));
    let tunnelling = &params.tunnelling;
    let mut stats = PopulationStats {
        n: n as u64,
        r,
        r_more: std::array::from_fn(
            |i| if i + 1 < oscillators.fields { order(at(i + 1).0, at(i + 1).1).0 } else { 0.0 },
        ),
        r_j: if d > 0.0 { (re / d).max(0.0).sqrt() } else { 0.0 },
        mean_phase,
        p_dec: tunnelling.probability(r),
        p_mean: f64::NAN,
        temperature: temperature(f),
        f_best: f.iter().map(|x| x.wide()).fold(f64::INFINITY, f64::min),
        f_mean: sum(f, |x| x) / n.max(1) as f64,
        f_median: f64::NAN,
        f_ensemble: f64::NAN,
        h_mean: sum(h, |x| x) / n.max(1) as f64,
    };
    if with_details && n > 0 {
        let p = |slot: &u32| tunnelling.probability(state.r_local[*slot as usize].wide());
        stats.p_mean = state.idx.chunks(RUN).map(|run| run.iter().map(p).sum::<f64>()).sum::<f64>() / n as f64;
        sorted.clear();
        sorted.extend_from_slice(f);
        let (_, middle, _) = sorted.select_nth_unstable_by(n / 2, |a, b| a.wide().total_cmp(&b.wide()));
        stats.f_median = middle.wide();
    }
    stats
}
