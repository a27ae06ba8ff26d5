//! The live model: each call advances the state of every key once, with the sums over all queries of the call.
//!
//! With one query per call this is the recurrence of the synaptic kind at the same constants, but for the normaliser. With more, every query releases from the same pool, so that more vesicles than it holds are released.

use neuropil::kinds::synaptic::presynaptic::{
    Constants,
    step::{clip, probability, softplus},
};

/// Smallest mean effect that enters the running mean.
const EMA_FLOOR: f64 = 1e-3;
/// Share of the running mean that remains after a call.
const EMA_RETAIN: f64 = 0.99;

/// State of the keys: arrays `[heads, keys]`.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Batch entries times heads.
    pub heads: usize,
    /// Keys of a head.
    pub keys: usize,
    /// Calcium C.
    pub calcium: Vec<f64>,
    /// Readily releasable vesicles RRP.
    pub rrp: Vec<f64>,
    /// Reserve vesicles RES.
    pub reserve: Vec<f64>,
    /// Vesicles under endocytosis; the first array returns next.
    pub delay: Vec<Vec<f64>>,
    /// Share of primed SNAREs PR.
    pub primed: Vec<f64>,
    /// Complexin clamp CL.
    pub clamp: Vec<f64>,
    /// Quantal amplitude AMP.
    pub amplitude: Vec<f64>,
    /// Energy E; without effect.
    pub energy: Vec<f64>,
}

impl State {
    /// Every key in its first state.
    pub fn fresh(c: &Constants, heads: usize, keys: usize) -> Self {
        let all = |x: f64| vec![x; heads * keys];
        Self {
            heads,
            keys,
            calcium: all(0.0),
            rrp: all(c.first.rrp),
            reserve: all(c.first.reserve),
            delay: vec![all(0.0); c.vesicles.endo_delay],
            primed: all(c.first.snare),
            clamp: all(c.first.clamp),
            amplitude: all(c.first.amplitude),
            energy: all(c.first.energy),
        }
    }

    /// Adds keys in their first state.
    pub fn extend(&mut self, c: &Constants, keys: usize) {
        let mut grown = Self::fresh(c, self.heads, keys);
        let (from, to) = (self.keys, keys);
        for (to_array, from_array) in grown.arrays().into_iter().zip(self.arrays()) {
            for head in 0..from_array.len() / from.max(1) {
                to_array[head * to..head * to + from].copy_from_slice(&from_array[head * from..(head + 1) * from]);
            }
        }
        *self = grown;
    }

    fn arrays(&mut self) -> Vec<&mut Vec<f64>> {
        let Self { calcium, rrp, reserve, primed, clamp, amplitude, energy, delay, .. } = self;
        let mut all = vec![calcium, rrp, reserve, primed, clamp, amplitude, energy];
        all.extend(delay);
        all
    }
}

/// Selected edges of a call: arrays `[heads, queries, selected]`.
#[derive(Clone, Copy, Debug)]
pub struct SelectedEdges<'a> {
    /// Attention logits.
    pub drive: &'a [f64],
    /// Keys, distinct within a query.
    pub key: &'a [usize],
    /// Whether an edge exists; all do if absent.
    pub valid: Option<&'a [bool]>,
}

/// What a call returns: arrays `[heads, queries, selected]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// Effect, divided by its running mean.
    pub effect: Vec<f64>,
    /// Its derivative with respect to its own drive; the running mean and the state are constants.
    pub slope: Vec<f64>,
}

/// One call. `ema` is the running mean of the effect of the layer.
pub fn release(c: &Constants, epsilon: f64, state: &mut State, ema: &mut f64, edges: &SelectedEdges<'_>) -> Effects {
    let n = edges.drive.len();
    let per_head = n / state.heads.max(1);
    let is_valid = |i: usize| edges.valid.is_none_or(|valid| valid[i]);
    let at = |i: usize| i / per_head * state.keys + edges.key[i];
    let (mut effect, mut slope) = (vec![0.0; n], vec![0.0; n]);
    let zeros = || vec![0.0; state.rrp.len()];
    let (mut released, mut driven, mut count) = (zeros(), zeros(), zeros());
    for i in (0..n).filter(|i| is_valid(*i)) {
        let j = at(i);
        let (influx, influx_slope) = softplus::<f64>(edges.drive[i]);
        let calcium = c.calcium.kappa * state.calcium[j] + c.calcium.alpha * influx;
        let (p, p_slope) = probability::<f64>(c, calcium, state.clamp[j], state.primed[j]);
        effect[i] = p * state.rrp[j] * state.amplitude[j];
        slope[i] = p_slope * c.calcium.alpha * influx_slope * state.rrp[j] * state.amplitude[j];
        released[j] += p * state.rrp[j];
        driven[j] += edges.drive[i];
        count[j] += 1.0;
    }
    let returned = if state.delay.is_empty() { zeros() } else { state.delay.remove(0) };
    if c.vesicles.endo_delay > 0 {
        state.delay.push(released.iter().map(|r| c.vesicles.recycled * r).collect());
    }
    for j in 0..released.len() {
        let r = released[j];
        let influx = if count[j] > 0.0 { softplus::<f64>(driven[j]).0 } else { 0.0 };
        state.calcium[j] = c.calcium.kappa * state.calcium[j] + c.calcium.alpha * influx;
        let reserve = state.reserve[j] + returned[j];
        let take = c.vesicles.k_prime * reserve.min(1.0);
        state.reserve[j] = (reserve - take).max(0.0);
        state.rrp[j] = clip((state.rrp[j] - r).max(0.0) + take, 0.0, c.vesicles.rrp_max);
        let (primed, loss) = (state.primed[j], c.snare.unprime * r);
        state.primed[j] = clip(primed * (1.0 - loss) + c.snare.k_nsf * (1.0 - primed), 0.0, 1.0);
        state.clamp[j] = clip(c.snare.clamp_retain * state.clamp[j] + (1.0 - c.snare.clamp_retain) - loss, 0.0, 1.0);
        let amplitude = state.amplitude[j];
        state.amplitude[j] = clip(
            amplitude + c.amplitude.load * (c.amplitude.target - amplitude) - c.amplitude.leak * amplitude,
            0.0,
            c.amplitude.max,
        );
        let energy = state.energy[j];
        state.energy[j] =
            clip(energy + c.energy.fill * (c.energy.max - energy) - c.energy.per_vesicle * r, 0.0, c.energy.max);
    }
    let mean = effect.iter().map(|e| e.abs()).sum::<f64>() / n.max(1) as f64;
    *ema = EMA_RETAIN * *ema + (1.0 - EMA_RETAIN) * mean.max(EMA_FLOOR);
    let scale = 1.0 / (*ema + epsilon);
    effect.iter_mut().chain(&mut slope).for_each(|x| *x *= scale);
    Effects { effect, slope }
}
