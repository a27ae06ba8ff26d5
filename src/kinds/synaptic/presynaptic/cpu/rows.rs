//! Computes one query in a few passes over the keys.
//!
//! Each pass is a function with slices as separate arguments, so that the compiler knows that they do not overlap. Slices
//! are padded to whole vectors, so that the loops become vector instructions without a remainder.

use super::selection;
use crate::{
    kinds::synaptic::presynaptic::{
        Constants, KeyState, Presynaptic,
        release::Draws,
        state::{Key, LANES},
        step::{advance, probability, softplus},
        tsodyks_markram::{self, Resources},
    },
    nn::real::Real,
};

/// Values of the edges of a query in f64, padded to whole vectors.
pub struct Row {
    drive: Vec<f64>,
    /// Softplus of the drive, and its derivative.
    influx: Vec<f64>,
    influx_slope: Vec<f64>,
    /// Calcium after the query.
    calcium: Vec<f64>,
    /// Release probability, and its derivative with respect to the drive.
    p: Vec<f64>,
    p_slope: Vec<f64>,
    /// Expected and released number of vesicles.
    expected: Vec<f64>,
    released: Vec<f64>,
    bias: Vec<f64>,
    factor: Vec<f64>,
    /// 1 for edges that drive their keys, otherwise 0.
    selected: Vec<f64>,
    /// Keys, of which the first `k` have the largest logits and are selected; empty if all edges are selected.
    order: Vec<u32>,
    /// Selected key with the smallest logit.
    last: usize,
    /// Number of columns in use.
    n: usize,
}

impl Row {
    pub fn new(op: &Presynaptic, n_keys: usize) -> Self {
        let len = n_keys.next_multiple_of(LANES);
        let zeros = || vec![0.0; len];
        Self {
            drive: zeros(),
            influx: zeros(),
            influx_slope: zeros(),
            calcium: zeros(),
            p: zeros(),
            p_slope: zeros(),
            expected: zeros(),
            released: zeros(),
            bias: zeros(),
            factor: zeros(),
            selected: vec![1.0; len],
            order: Vec::with_capacity(if selection(op, n_keys).is_some() { n_keys } else { 0 }),
            last: 0,
            n: 0,
        }
    }

    /// Begins a query with the logits `dots`: selects the edges that drive their keys.
    pub fn begin<R: Real>(&mut self, op: &Presynaptic, dots: &[R]) {
        self.n = dots.len();
        self.drive.iter_mut().zip(dots).for_each(|(to, from)| *to = from.f64());
        self.order.clear();
        let Some(k) = selection(op, self.n) else { return };
        let drive = &self.drive;
        self.order.extend(0..self.n as u32);
        let (_, last, _) = self
            .order
            .select_nth_unstable_by(k - 1, |a, b| drive[*b as usize].total_cmp(&drive[*a as usize]).then(a.cmp(b)));
        self.last = *last as usize;
        self.selected.fill(0.0);
        self.order[..k].iter().for_each(|j| self.selected[*j as usize] = 1.0);
    }

    /// Sets the bias of every edge and its derivative to 0.
    pub fn clear(&mut self) {
        self.bias[..self.n].fill(0.0);
        self.factor[..self.n].fill(0.0);
    }

    /// Computes bias and factor of every edge from the state of its key. `drawn` is the address of the draws and the query.
    #[inline(always)]
    pub fn release<R: Real>(&mut self, op: &Presynaptic, s: &KeyState<R>, drawn: Option<(&Draws, usize)>) {
        let (c, len) = (&op.constants, s.calcium.len());
        open_channels::<R>(&self.drive[..len], &mut self.influx[..len], &mut self.influx_slope[..len]);
        sense::<R>(
            c,
            &self.influx[..len],
            &self.influx_slope[..len],
            &self.selected[..len],
            &s.calcium,
            &s.clamp,
            &s.primed,
            &mut self.calcium[..len],
            &mut self.p[..len],
            &mut self.p_slope[..len],
        );
        expect::<R>(&self.selected[..len], &self.p[..len], &s.rrp, &mut self.expected[..len]);
        self.released[..len].copy_from_slice(&self.expected[..len]);
        if let Some((draws, query)) = drawn {
            for j in (0..self.n).filter(|j| self.selected[*j] > 0.0) {
                self.released[j] = draws.released(query, j, s.rrp[j].f64(), self.p[j]);
            }
        }
        bias_and_factor::<R>(
            c,
            &self.expected[..len],
            &self.released[..len],
            &self.selected[..len],
            &self.p_slope[..len],
            &s.rrp,
            &s.amplitude,
            &mut self.bias[..len],
            &mut self.factor[..len],
        );
    }

    /// Advances the state of every key after [`Self::release`].
    #[inline(always)]
    pub fn advance<R: Real>(&self, op: &Presynaptic, s: &mut KeyState<R>) {
        let len = s.calcium.len();
        advance_keys(
            &op.constants,
            &self.calcium[..len],
            &self.released[..len],
            &mut s.calcium,
            &mut s.rrp,
            &mut s.reserve,
            &mut s.queue[s.cursor],
            &mut s.primed,
            &mut s.clamp,
            &mut s.amplitude,
            &mut s.energy,
        );
        s.cursor = (s.cursor + 1) % s.queue.len();
    }

    /// Computes bias and factor of every edge from the resources of its key, and advances the resources.
    #[inline(always)]
    pub fn tsodyks_markram<R: Real>(&mut self, op: &Presynaptic, s: &mut KeyState<R>) {
        let len = s.tm_x.len();
        use_resources(
            &op.constants,
            &self.drive[..len],
            &self.selected[..len],
            &mut s.tm_x,
            &mut s.tm_u,
            &mut self.bias[..len],
            &mut self.factor[..len],
        );
    }

    /// Sets the bias of edges that are not selected to the bias of the last selected edge.
    pub fn fill_unselected(&mut self) {
        if !self.order.is_empty() {
            let last = self.bias[self.last];
            let edges = self.bias.iter_mut().zip(&self.selected);
            edges.filter(|(_, selected)| **selected == 0.0).for_each(|(bias, _)| *bias = last);
        }
    }

    /// Writes logits and factors of the keys that the query sees.
    #[inline(always)]
    pub fn write<R: Real>(&self, op: &Presynaptic, query: usize, logits: &mut [R], factor: Option<&mut [R]>) {
        let slope = op.constants.bias.barrier / op.context.max(1) as f64;
        for (j, ((logit, drive), bias)) in logits.iter_mut().zip(&self.drive).zip(&self.bias).enumerate() {
            // Distances are less than 2^31, so that the conversion from i32 is a vector instruction.
            let distance = f64::from(query as i32 - j as i32);
            *logit = R::of(*drive + *bias - slope * distance);
        }
        if let Some(factor) = factor {
            factor.iter_mut().zip(&self.factor).for_each(|(to, from)| *to = R::of(*from));
        }
    }
}

/// Computes the calcium influx of every edge, and its derivative with respect to the drive.
#[inline(always)]
fn open_channels<R: Real>(drive: &[f64], influx: &mut [f64], slope: &mut [f64]) {
    let n = drive.len();
    let (influx, slope) = (&mut influx[..n], &mut slope[..n]);
    for j in 0..n {
        (influx[j], slope[j]) = softplus::<R>(drive[j]);
    }
}

/// Computes calcium and release probability of every edge, and the derivative of the probability.
#[inline(always)]
fn sense<R: Real>(
    c: &Constants,
    influx: &[f64],
    influx_slope: &[f64],
    selected: &[f64],
    calcium_before: &[R],
    clamp: &[R],
    primed: &[R],
    calcium: &mut [f64],
    p: &mut [f64],
    p_slope: &mut [f64],
) {
    let c = *c;
    let n = influx.len();
    let (influx_slope, selected) = (&influx_slope[..n], &selected[..n]);
    let (calcium_before, clamp, primed) = (&calcium_before[..n], &clamp[..n], &primed[..n]);
    let (calcium, p, p_slope) = (&mut calcium[..n], &mut p[..n], &mut p_slope[..n]);
    for j in 0..n {
        let left = c.calcium.kappa * calcium_before[j].f64();
        let driven = left + c.calcium.alpha * influx[j];
        let (probability, slope) = probability::<R>(&c, driven, clamp[j].f64(), primed[j].f64());
        calcium[j] = if selected[j] > 0.0 { driven } else { left };
        p[j] = probability;
        p_slope[j] = slope * (c.calcium.alpha * influx_slope[j]);
    }
}

/// Computes the expected number of released vesicles of every edge.
#[inline(always)]
fn expect<R: Real>(selected: &[f64], p: &[f64], rrp: &[R], expected: &mut [f64]) {
    for (((expected, selected), p), rrp) in expected.iter_mut().zip(selected).zip(p).zip(rrp) {
        *expected = selected * (p * rrp.f64());
    }
}

/// Computes the bias of every edge, and its derivative with respect to the drive.
#[inline(always)]
fn bias_and_factor<R: Real>(
    c: &Constants,
    expected: &[f64],
    released: &[f64],
    selected: &[f64],
    p_slope: &[f64],
    rrp: &[R],
    amplitude: &[R],
    bias: &mut [f64],
    factor: &mut [f64],
) {
    let c = *c;
    let n = expected.len();
    let (released, selected, p_slope) = (&released[..n], &selected[..n], &p_slope[..n]);
    let (rrp, amplitude) = (&rrp[..n], &amplitude[..n]);
    let (bias, factor) = (&mut bias[..n], &mut factor[..n]);
    for j in 0..n {
        let quantum = amplitude[j].f64();
        bias[j] = c.bias.lambda * R::ln_wide(c.bias.floor + released[j] * quantum);
        factor[j] = selected[j] * (c.bias.lambda * (quantum * rrp[j].f64()) * p_slope[j])
            / (c.bias.floor + expected[j] * quantum);
    }
}

/// Advances the state of every key after a query.
#[inline(always)]
fn advance_keys<R: Real>(
    c: &Constants,
    calcium_after: &[f64],
    released: &[f64],
    calcium: &mut [R],
    rrp: &mut [R],
    reserve: &mut [R],
    ring: &mut [R],
    primed: &mut [R],
    clamp: &mut [R],
    amplitude: &mut [R],
    energy: &mut [R],
) {
    let c = *c;
    let n = calcium_after.len();
    let released = &released[..n];
    let (calcium, rrp, reserve, ring) = (&mut calcium[..n], &mut rrp[..n], &mut reserve[..n], &mut ring[..n]);
    let (primed, clamp, amplitude) = (&mut primed[..n], &mut clamp[..n], &mut amplitude[..n]);
    let energy = &mut energy[..n];
    for j in 0..n {
        let key = Key {
            calcium: calcium[j].f64(),
            rrp: rrp[j].f64(),
            reserve: reserve[j].f64(),
            returning: ring[j].f64(),
            primed: primed[j].f64(),
            clamp: clamp[j].f64(),
            amplitude: amplitude[j].f64(),
            energy: energy[j].f64(),
        };
        let after = advance::<R>(&c, &key, calcium_after[j], released[j]);
        calcium[j] = R::of(after.calcium);
        rrp[j] = R::of(after.rrp);
        reserve[j] = R::of(after.reserve);
        ring[j] = R::of(after.returning);
        primed[j] = R::of(after.primed);
        clamp[j] = R::of(after.clamp);
        amplitude[j] = R::of(after.amplitude);
        energy[j] = R::of(after.energy);
    }
}

/// Computes bias and factor of every edge from the resources of its key, and the resources after the query.
#[inline(always)]
fn use_resources<R: Real>(
    c: &Constants,
    drive: &[f64],
    selected: &[f64],
    x: &mut [R],
    u: &mut [R],
    bias: &mut [f64],
    factor: &mut [f64],
) {
    let c = *c;
    let n = drive.len();
    let (selected, x, u) = (&selected[..n], &mut x[..n], &mut u[..n]);
    let (bias, factor) = (&mut bias[..n], &mut factor[..n]);
    let decay = tsodyks_markram::decay(&c.resources);
    for j in 0..n {
        let (w, slope) = tsodyks_markram::weight::<R>(drive[j]);
        let resources = tsodyks_markram::relax(&c.resources, decay, Resources { x: x[j].f64(), u: u[j].f64() });
        let (effect, after) = tsodyks_markram::spike(&c.resources, resources, selected[j] * w);
        x[j] = R::of(after.x);
        u[j] = R::of(after.u);
        bias[j] = c.bias.lambda * R::ln_wide(c.bias.floor + effect);
        factor[j] = selected[j] * (c.bias.lambda * c.resources.scale * (resources.u * resources.x) * slope)
            / (c.bias.floor + effect);
    }
}
