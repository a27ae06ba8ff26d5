//! Comparison of two implementations of one model on the same input.

use super::{Draws, KeyState, Presynaptic, forward, trace::trace};
use crate::nn::real::Real;

/// Differences in one quantity.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ParityRow {
    /// Name of the compared quantity.
    pub name: &'static str,
    /// Largest `|a - b|`.
    pub max_abs: f64,
    /// Largest `|a - b| / (|b| + tolerance)`.
    pub max_rel: f64,
    /// First step at which `|a - b| > tolerance·(1 + |b|)`; `None` if there is no such step.
    pub first_divergent: Option<usize>,
    /// Number of compared pairs.
    pub n: usize,
}

/// Collects pairs of numbers, step by step.
#[derive(Clone, Debug)]
pub struct Parity {
    /// Tolerance of the difference, absolute and relative.
    pub tolerance: f64,
    /// Quantities compared so far.
    pub rows: Vec<ParityRow>,
}

impl Parity {
    /// Creates a comparison without quantities.
    pub const fn new(tolerance: f64) -> Self {
        Self { tolerance, rows: vec![] }
    }

    /// Compares the value `a` of a step with the reference `b`. Equal infinities are equal; NaN is a difference.
    pub fn add(&mut self, name: &'static str, step: usize, a: f64, b: f64) {
        let at = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(ParityRow { name, max_abs: 0.0, max_rel: 0.0, first_divergent: None, n: 0 });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        let distance = if a == b { 0.0 } else { (a - b).abs() };
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        let size = if b.is_finite() { b.abs() } else { 0.0 };
        row.n += 1;
        row.max_abs = row.max_abs.max(distance);
        row.max_rel = row.max_rel.max(distance / (size + self.tolerance));
        if distance > self.tolerance * (1.0 + size) {
            row.first_divergent = Some(row.first_divergent.map_or(step, |first| first.min(step)));
        }
    }

    /// Whether all quantities are within the tolerance.
    pub fn is_equal(&self) -> bool {
        self.rows.iter().all(|row| row.first_divergent.is_none())
    }
}

/// Compares the vectorised scan in `R` with the plain recurrence of each key in f64, on `dots` `[n, n]`: the logits of all
/// edges, and the state of all keys after the last query. The step of a state is the index of its key.
pub fn compare<R: Real>(op: &Presynaptic, n: usize, dots: &[R], draws: Option<&Draws>, tolerance: f64) -> Parity {
    let mut state = KeyState::fresh(op, n);
    let mut logits = vec![R::zero(); n * n];
    forward(op, 0, n, dots, &mut logits, None, &mut state, draws);
    let wide: Vec<f64> = dots.iter().map(|x| x.f64()).collect();
    let mut parity = Parity::new(tolerance);
    let barrier = op.constants.bias.barrier / op.context.max(1) as f64;
    for key in 0..n {
        let steps = trace(op, n, &wide, key, draws);
        for (i, step) in steps.iter().enumerate() {
            let query = key + i;
            if super::trace::is_selected(op, &wide[query * n..query * n + query + 1], key)
                && op.mode != super::Mode::Off
            {
                let logit = step.drive + step.bias - barrier * i as f64;
                parity.add("Logit", query, logits[query * n + key].f64(), logit);
            }
        }
        let (Some(last), got) = (steps.last(), state.key(key)) else { continue };
        let pairs = [
            ("Calcium", got.calcium, last.calcium),
            ("Readily releasable vesicles", got.rrp, last.rrp),
            ("Reserve vesicles", got.reserve, last.reserve),
            ("Vesicles under endocytosis", state.under_endocytosis(key), last.under_endocytosis),
            ("Primed SNAREs", got.primed, last.primed),
            ("Complexin clamp", got.clamp, last.clamp),
            ("Quantal amplitude", got.amplitude, last.amplitude),
            ("Energy", got.energy, last.energy),
            ("Resources", state.tm_x[key].f64(), last.tm_x),
            ("Use of resources", state.tm_u[key].f64(), last.tm_u),
        ];
        pairs.into_iter().for_each(|(name, a, b)| parity.add(name, key, a, b));
    }
    parity
}
