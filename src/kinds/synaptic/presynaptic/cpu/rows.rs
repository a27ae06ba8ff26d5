//! One query.

use super::selection;
use crate::{
    kinds::synaptic::presynaptic::{
        KeyState, Presynaptic,
        release::Draws,
        state::{Key, LANES},
        step::{Sensed, advance, sense},
        tsodyks_markram::{self, Resources},
    },
    nn::real::Real,
};

/// Numbers of a block of keys.
type Block = [f64; LANES];

/// Bias and factor of the edges of a query, before they are rounded. Arrays are padded to whole blocks.
pub struct Row {
    bias: Vec<f64>,
    factor: Vec<f64>,
    /// 1 for edges that drive their keys, otherwise 0.
    selected: Vec<f64>,
    /// Keys by decreasing logit as far as needed; empty: all edges are selected.
    order: Vec<u32>,
    /// The last selected key.
    last: usize,
    /// Columns in use.
    n: usize,
}

/// Some numbers as f64, and `fill` behind them.
#[inline(always)]
fn load<R: Real>(from: &[R], fill: f64) -> Block {
    let mut x = [fill; LANES];
    match <&[R; LANES]>::try_from(from) {
        Ok(whole) => (0..LANES).for_each(|l| x[l] = whole[l].f64()),
        Err(_) => x.iter_mut().zip(from).for_each(|(x, v)| *x = v.f64()),
    }
    x
}

#[inline(always)]
fn store<R: Real>(to: &mut [R], x: &Block) {
    if let Ok(whole) = <&mut [R; LANES]>::try_from(to) {
        (0..LANES).for_each(|l| whole[l] = R::of(x[l]));
    }
}

/// The state of a block of keys.
struct Keys {
    calcium: Block,
    rrp: Block,
    reserve: Block,
    returning: Block,
    primed: Block,
    clamp: Block,
    amplitude: Block,
    energy: Block,
}

impl Keys {
    #[inline(always)]
    fn fresh<R: Real>(op: &Presynaptic) -> Self {
        let key = Key::fresh::<R>(&op.constants);
        let all = |x: f64| [x; LANES];
        Self {
            calcium: all(key.calcium),
            rrp: all(key.rrp),
            reserve: all(key.reserve),
            returning: all(key.returning),
            primed: all(key.primed),
            clamp: all(key.clamp),
            amplitude: all(key.amplitude),
            energy: all(key.energy),
        }
    }

    #[inline(always)]
    fn load<R: Real>(state: &KeyState<R>, from: usize) -> Self {
        let part = |x: &Vec<R>| load(&x[from..from + LANES], 0.0);
        Self {
            calcium: part(&state.calcium),
            rrp: part(&state.rrp),
            reserve: part(&state.reserve),
            returning: state.queue.get(state.cursor).map_or([0.0; LANES], part),
            primed: part(&state.primed),
            clamp: part(&state.clamp),
            amplitude: part(&state.amplitude),
            energy: part(&state.energy),
        }
    }

    #[inline(always)]
    fn store<R: Real>(&self, state: &mut KeyState<R>, from: usize) {
        let at = from..from + LANES;
        store(&mut state.calcium[at.clone()], &self.calcium);
        store(&mut state.rrp[at.clone()], &self.rrp);
        store(&mut state.reserve[at.clone()], &self.reserve);
        store(&mut state.primed[at.clone()], &self.primed);
        store(&mut state.clamp[at.clone()], &self.clamp);
        store(&mut state.amplitude[at.clone()], &self.amplitude);
        store(&mut state.energy[at.clone()], &self.energy);
        if let Some(ring) = state.queue.get_mut(state.cursor) {
            store(&mut ring[at], &self.returning);
        }
    }

    #[inline(always)]
    fn get(&self, l: usize) -> Key {
        Key {
            calcium: self.calcium[l],
            rrp: self.rrp[l],
            reserve: self.reserve[l],
            returning: self.returning[l],
            primed: self.primed[l],
            clamp: self.clamp[l],
            amplitude: self.amplitude[l],
            energy: self.energy[l],
        }
    }

    #[inline(always)]
    fn set(&mut self, l: usize, key: Key) {
        self.calcium[l] = key.calcium;
        self.rrp[l] = key.rrp;
        self.reserve[l] = key.reserve;
        self.returning[l] = key.returning;
        self.primed[l] = key.primed;
        self.clamp[l] = key.clamp;
        self.amplitude[l] = key.amplitude;
        self.energy[l] = key.energy;
    }
}

impl Row {
    pub fn new(op: &Presynaptic, n_keys: usize) -> Self {
        let len = n_keys.next_multiple_of(LANES);
        let order = Vec::with_capacity(if selection(op, n_keys).is_some() { n_keys } else { 0 });
        Self { bias: vec![0.0; len], factor: vec![0.0; len], selected: vec![1.0; len], order, last: 0, n: 0 }
    }

    /// Chooses the edges that drive their keys.
    pub fn select<R: Real>(&mut self, op: &Presynaptic, dots: &[R]) {
        self.n = dots.len();
        self.order.clear();
        let Some(k) = selection(op, self.n) else { return };
        self.order.extend(0..self.n as u32);
        let value = |j: u32| dots[j as usize].f64();
        let (_, last, _) =
            self.order.select_nth_unstable_by(k - 1, |a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
        self.last = *last as usize;
        self.selected.fill(0.0);
        self.order[..k].iter().for_each(|j| self.selected[*j as usize] = 1.0);
    }

    /// No bias.
    pub fn clear(&mut self, n: usize) {
        self.bias[..n].fill(0.0);
        self.factor[..n].fill(0.0);
    }

    /// Every edge with the first state.
    #[inline(always)]
    pub fn unchanging<R: Real>(&mut self, op: &Presynaptic, dots: &[R], drawn: Option<(&Draws, usize)>) {
        for from in (0..self.n).step_by(LANES) {
            let keys = Keys::fresh::<R>(op);
            self.release::<R>(op, from, dots, &keys, drawn);
        }
    }

    /// Every edge with the state of its key, which is advanced.
    #[inline(always)]
    pub fn scan<R: Real>(
        &mut self,
        op: &Presynaptic,
        dots: &[R],
        state: &mut KeyState<R>,
        drawn: Option<(&Draws, usize)>,
    ) {
        let c = &op.constants;
        for from in (0..state.n_keys()).step_by(LANES) {
            let mut keys = Keys::load(state, from);
            let (calcium, released) = self.release::<R>(op, from, dots, &keys, drawn);
            for l in 0..LANES {
                keys.set(l, advance::<R>(c, &keys.get(l), calcium[l], released[l]));
            }
            keys.store(state, from);
        }
        state.cursor = if state.queue.is_empty() { 0 } else { (state.cursor + 1) % state.queue.len() };
    }

    /// Release of a block: bias and factor; returns calcium after the query, and released vesicles.
    #[inline(always)]
    fn release<R: Real>(
        &mut self,
        op: &Presynaptic,
        from: usize,
        dots: &[R],
        keys: &Keys,
        drawn: Option<(&Draws, usize)>,
    ) -> (Block, Block) {
        let c = &op.constants;
        let drive = load(&dots[from.min(self.n)..(from + LANES).min(self.n)], 0.0);
        let selected = load(&self.selected[from..from + LANES], 0.0);
        let (mut calcium, mut p, mut slope) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let sensed: Sensed = sense::<R>(c, &keys.get(l), drive[l]);
            let decayed = c.ca_retain * keys.calcium[l];
            calcium[l] = if selected[l] > 0.0 { sensed.calcium } else { decayed };
            (p[l], slope[l]) = (sensed.p, sensed.slope);
        }
        let mut released = [0.0; LANES];
        for l in 0..LANES {
            released[l] = selected[l] * (p[l] * keys.rrp[l]);
        }
        let expected = released;
        if let Some((draws, query)) = drawn {
            for l in (0..LANES).filter(|l| selected[*l] > 0.0 && from + l < self.n) {
                released[l] = draws.released(query, from + l, keys.rrp[l], p[l]);
            }
        }
        let bias = &mut self.bias[from..from + LANES];
        let factor = &mut self.factor[from..from + LANES];
        for l in 0..LANES {
            let quantum = keys.amplitude[l];
            bias[l] = c.lambda_loge * R::ln_wide(c.log_floor + released[l] * quantum);
            factor[l] = selected[l] * (c.lambda_loge * (quantum * keys.rrp[l]) * slope[l])
                / (c.log_floor + expected[l] * quantum);
        }
        (calcium, released)
    }

    /// Every edge with the resources of its key, which are advanced.
    #[inline(always)]
    pub fn tsodyks_markram<R: Real>(&mut self, op: &Presynaptic, dots: &[R], state: &mut KeyState<R>) {
        let c = &op.constants;
        let decay = tsodyks_markram::decay(c);
        for from in (0..state.n_keys()).step_by(LANES) {
            let at = from..from + LANES;
            let drive = load(&dots[from.min(self.n)..(from + LANES).min(self.n)], 0.0);
            let selected = load(&self.selected[at.clone()], 0.0);
            let (mut x, mut u) = (load(&state.tm_x[at.clone()], 0.0), load(&state.tm_u[at.clone()], 0.0));
            let (bias, factor) = (&mut self.bias[at.clone()], &mut self.factor[at.clone()]);
            for l in 0..LANES {
                let (w, slope) = tsodyks_markram::weight::<R>(drive[l]);
                let resources = tsodyks_markram::relax(c, decay, Resources { x: x[l], u: u[l] });
                let (effect, after) = tsodyks_markram::spike(c, resources, selected[l] * w);
                (x[l], u[l]) = (after.x, after.u);
                bias[l] = c.lambda_loge * R::ln_wide(c.log_floor + effect);
                factor[l] = selected[l] * (c.lambda_loge * c.tm_scale * (resources.u * resources.x) * slope)
                    / (c.log_floor + effect);
            }
            store(&mut state.tm_x[at.clone()], &x);
            store(&mut state.tm_u[at], &u);
        }
    }

    /// Edges that are not selected get the bias of the last selected one.
    pub fn fill_unselected(&mut self) {
        if !self.order.is_empty() {
            let last = self.bias[self.last];
            let edges = self.bias.iter_mut().zip(&self.selected);
            edges.filter(|(_, selected)| **selected == 0.0).for_each(|(bias, _)| *bias = last);
        }
    }

    /// Logits and factors of the keys that the query sees.
    #[inline(always)]
    pub fn write<R: Real>(
        &self,
        op: &Presynaptic,
        query: usize,
        dots: &[R],
        logits: &mut [R],
        factor: Option<&mut [R]>,
    ) {
        let slope = op.constants.barrier_strength / op.context.max(1) as f64;
        for (j, ((logit, dot), bias)) in logits.iter_mut().zip(dots).zip(&self.bias).enumerate() {
            // Distances are less than 2^31: the conversion is a vector instruction.
            let distance = f64::from(query as i32 - j as i32);
            *logit = R::of(dot.f64() + *bias - slope * distance);
        }
        if let Some(factor) = factor {
            factor.iter_mut().zip(&self.factor).for_each(|(to, from)| *to = R::of(*from));
        }
    }
}
