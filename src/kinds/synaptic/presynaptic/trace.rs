//! Trace of one key along a sequence, for the synapse inspector and for comparisons.

use super::{
    Mode, Presynaptic, Release,
    release::Draws,
    state::Key,
    step::{advance, probability, softplus},
    tsodyks_markram::{self, Resources},
};
use crate::nn::real::Real;

/// Quantities of one key at a query; pools are given after the query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TraceStep {
    /// Attention logit that drives the key.
    pub drive: f64,
    /// Concentration of calcium, C.
    pub calcium: f64,
    /// Readily releasable vesicles.
    pub rrp: f64,
    /// Vesicles in the reserve pool.
    pub reserve: f64,
    /// Vesicles under endocytosis.
    pub under_endocytosis: f64,
    /// Share of primed SNAREs.
    pub primed: f64,
    /// Complexin clamp, 0 to 1.
    pub clamp: f64,
    /// Quantal amplitude: effect per released vesicle.
    pub amplitude: f64,
    /// Energy E, from 0 to `energy.max`.
    pub energy: f64,
    /// Release probability of a vesicle.
    pub p: f64,
    /// Number of vesicles released by this query, before they are rounded to [`whole_quanta`](super::step::whole_quanta).
    pub released: f64,
    /// Effect on the logit, before the logarithm.
    pub effect: f64,
    /// Bias of the logit, computed from `effect`. The operation instead gives an unselected edge the bias of the last
    /// selected edge.
    pub bias: f64,
    /// Available resources of Tsodyks and Markram.
    pub tm_x: f64,
    /// Use of resources of Tsodyks and Markram.
    pub tm_u: f64,
}

impl TraceStep {
    /// Returns the total number of vesicles of the key.
    pub fn vesicles(&self) -> f64 {
        self.rrp + self.reserve + self.under_endocytosis
    }

    /// Returns label, symbol and value of each quantity, in the order of a panel.
    pub fn columns(&self) -> [(&'static str, &'static str, f64); 14] {
        [
            ("Drive", "q·k/√D", self.drive),
            ("Calcium", "C", self.calcium),
            ("Readily releasable vesicles", "RRP", self.rrp),
            ("Reserve vesicles", "RES", self.reserve),
            ("Vesicles under endocytosis", "queue", self.under_endocytosis),
            ("Total vesicles", "RRP + RES + queue", self.vesicles()),
            ("Primed SNAREs", "PR", self.primed),
            ("Complexin clamp", "CL", self.clamp),
            ("Energy", "E", self.energy),
            ("Release probability", "p", self.p),
            ("Released vesicles", "r", self.released),
            ("Logit bias", "λ ln(e + floor)", self.bias),
            ("Resources", "x", self.tm_x),
            ("Use of resources", "u", self.tm_u),
        ]
    }
}

/// State of one key, rounded to `R` after each step as [`KeyState`](super::KeyState) is.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracer<R> {
    key: Key,
    ring: Vec<R>,
    cursor: usize,
    resources: Resources,
}

impl<R: Real> Tracer<R> {
    /// Creates a key in its first state.
    pub fn fresh(op: &Presynaptic) -> Self {
        let c = &op.constants;
        Self {
            key: Key::fresh::<R>(c),
            ring: vec![R::zero(); c.vesicles.endo_delay.max(1)],
            cursor: 0,
            resources: Resources { x: 1.0, u: R::of(c.resources.u).f64() },
        }
    }

    /// Advances the key by one query. `drawn` is the address of the draws with query and key, if the query draws a count.
    pub fn step(
        &mut self,
        op: &Presynaptic,
        drive: R,
        is_selected: bool,
        drawn: Option<(&Draws, usize, usize)>,
    ) -> TraceStep {
        let c = &op.constants;
        let drive = drive.f64();
        let ln = |effect: f64| c.bias.lambda * R::ln_wide(c.bias.floor + effect);
        let mut step = TraceStep { drive, ..TraceStep::default() };
        match op.mode {
            Mode::Off => {}
            Mode::Static | Mode::Scan => {
                let key = Key { returning: self.ring[self.cursor].f64(), ..self.key };
                let left = c.calcium.kappa * key.calcium;
                let driven = left + c.calcium.alpha * softplus::<R>(drive).0;
                let (p, _) = probability::<R>(c, driven, key.clamp, key.primed);
                let released = match drawn {
                    _ if !is_selected => 0.0,
                    Some((draws, query, j)) => draws.released(query, j, key.rrp, p),
                    None => p * key.rrp,
                };
                let effect = released * key.amplitude;
                step = TraceStep { p, released, effect, bias: ln(effect), ..step };
                if op.mode == Mode::Scan {
                    let calcium = if is_selected { driven } else { left };
                    self.key = advance::<R>(c, &key, calcium, released).rounded::<R>();
                    self.ring[self.cursor] = R::of(self.key.returning);
                    self.cursor = (self.cursor + 1) % self.ring.len();
                }
            }
            Mode::TsodyksMarkram => {
                let (w, _) = tsodyks_markram::weight::<R>(drive);
                let resources =
                    tsodyks_markram::relax(&c.resources, tsodyks_markram::decay(&c.resources), self.resources);
                let (effect, after) =
                    tsodyks_markram::spike(&c.resources, resources, if is_selected { w } else { 0.0 });
                self.resources = Resources { x: R::of(after.x).f64(), u: R::of(after.u).f64() };
                step = TraceStep { effect, bias: ln(effect), ..step };
            }
        }
        let key = self.key;
        TraceStep {
            calcium: key.calcium,
            rrp: key.rrp,
            reserve: key.reserve,
            under_endocytosis: self.ring.iter().map(|slot| slot.f64()).sum(),
            primed: key.primed,
            clamp: key.clamp,
            amplitude: key.amplitude,
            energy: key.energy,
            tm_x: self.resources.x,
            tm_u: self.resources.u,
            ..step
        }
    }
}

/// Traces key `key` of a sequence of `n` tokens, from its own query on. `dots` is `[n, n]`, as in
/// [`forward`](super::forward) with `first_query` 0.
pub fn trace<R: Real>(op: &Presynaptic, n: usize, dots: &[R], key: usize, draws: Option<&Draws>) -> Vec<TraceStep> {
    let mut tracer = Tracer::fresh(op);
    let query = |t: usize| {
        let row = &dots[t * n..t * n + t + 1];
        let drawn = match op.release {
            Release::Binomial { fraction } => draws.filter(|draws| draws.is_drawn(fraction, t)),
            Release::Deterministic => None,
        };
        tracer.step(op, row[key], is_selected(op, row, key), drawn.map(|draws| (draws, t, key)))
    };
    (key..n).map(query).collect()
}

/// Whether a query drives a key.
pub(super) fn is_selected<R: Real>(op: &Presynaptic, row: &[R], key: usize) -> bool {
    let Some(k) = op.edges.most() else { return true };
    let own = row[key].f64();
    let before = |(j, dot): (usize, &R)| {
        let order = dot.f64().total_cmp(&own);
        order.is_gt() || (order.is_eq() && j < key)
    };
    row.iter().enumerate().filter(|x| before(*x)).count() < k.max(1)
}
