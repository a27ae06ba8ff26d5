//! Stimuli and silencing: a plan over steps from the parameters, and the stimuli active in a step.

use super::{
    actions::{WeightChange, WeightEdit, listed_projections},
    constants::Real,
    general::{patterns::schedule::PatternSchedule, plasticity::shuffle::ShuffleDraws},
    params::{Effect, Intervention, Params, Sign},
    pattern_stimulus::PatternStimulus,
    select::Selector,
    setup::Setup,
};
use crate::{
    kinds::shared::element_files,
    num::{
        rng::Purpose,
        trains::{Chances, Train, address},
    },
    params::{ParamValue, Role, Schedule, Value, ValueType},
    sim::{BuildContext, SimError},
};
use std::{collections::HashMap, sync::Arc};

/// Minimum number of neurons per driven neuron for which stimuli drive few.
const MIN_NEURONS_PER_DRIVEN: u64 = 128;

/// A change of the outgoing weights of a neuron. The weight of a connection of `n` synapses becomes `round(factor · sign|n|)`
/// synapses, or 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Whether spikes are not delivered.
    pub silent: bool,
    /// Factor of the count.
    pub factor: f64,
    /// Sign that replaces the sign of the count; 0 keeps the sign of the count.
    pub sign: i32,
}

impl Gain {
    /// Gain without a change of weights.
    pub const NONE: Self = Self { silent: false, factor: 1.0, sign: 0 };

    /// Returns the changed count, rounded half away from zero.
    pub fn apply(self, count: i32) -> i32 {
        let signed = if self.sign == 0 { count } else { self.sign * count.abs() };
        if self.silent { 0 } else { (f64::from(signed) * self.factor).round() as i32 }
    }

    fn and(self, later: Self) -> Self {
        let sign = if later.sign == 0 { self.sign } else { later.sign };
        Self { silent: self.silent || later.silent, factor: self.factor * later.factor, sign }
    }
}

/// Effect of a plan item.
#[derive(Clone, Debug)]
enum PlanAction {
    Train {
        train: Train,
        lanes: Arc<[u32]>,
        weight_mv: f64,
    },
    Kicks {
        kicks: Arc<[(u64, u32)]>,
        weight_mv: f64,
    },
    /// The neurons have no refractory period.
    Free {
        lanes: Arc<[u32]>,
    },
    Current {
        lanes: Arc<[u32]>,
        current_mv: f64,
    },
    Weights {
        lanes: Arc<[u32]>,
        gain: Gain,
    },
    /// No input reaches the neurons.
    Close {
        lanes: Arc<[u32]>,
    },
    /// The weights of these projections are permuted once.
    Shuffle {
        projections: Vec<usize>,
    },
}

#[derive(Clone, Debug)]
struct PlanItem {
    when: Schedule,
    what: PlanAction,
}

/// All stimuli and silencing of a project, resolved to neurons and steps.
#[derive(Clone, Debug, Default)]
pub struct StimulusPlan {
    items: Vec<PlanItem>,
    patterns: Option<PatternStimulus>,
}

/// A source of kicks (voltage pulses to the membrane).
#[derive(Clone, Debug)]
pub enum StimulusSource<T> {
    /// Independent Bernoulli trains.
    Train {
        /// Address of the train's draws.
        train: Train,
        /// Targets of the train, ascending.
        lanes: Arc<[u32]>,
        /// Increment of u per event, mV.
        weight: T,
    },
    /// Kicks at listed steps.
    Kicks {
        /// Kicks as (step, neuron), ascending.
        kicks: Arc<[(u64, u32)]>,
        /// Increment of u per kick, mV.
        weight: T,
    },
}

/// Stimuli that are active between two changes of the plan.
#[derive(Clone, Debug)]
pub struct ActiveStimuli<T> {
    /// Sources of kicks, in the order in which their kicks are summed.
    pub sources: Vec<StimulusSource<T>>,
    /// Index of each neuron's gain in `gains`; empty without changed weights.
    pub gain_of: Vec<u16>,
    /// Distinct gains; `gains[0]` is [`Gain::NONE`].
    pub gains: Vec<Gain>,
    /// Current into each neuron, mV; empty if there is none.
    pub currents: Vec<T>,
    /// Whether each neuron lacks a refractory period; empty or one per neuron.
    pub driven: Vec<bool>,
    /// Whether each neuron receives no input; empty or one per neuron.
    pub closed: Vec<bool>,
    /// First step with different stimuli.
    pub until: u64,
}

impl<T> ActiveStimuli<T> {
    /// Returns the gain of a presynaptic neuron.
    #[inline]
    pub fn gain(&self, pre: u32) -> Gain {
        self.gain_of.get(pre as usize).map_or(Gain::NONE, |i| self.gains[usize::from(*i)])
    }
}

impl StimulusPlan {
    /// Resolves all queries and reads all files. Fails if a query, a file or a schedule is invalid.
    pub fn new(params: &Params, setup: &Setup, context: &BuildContext) -> Result<Self, SimError> {
        let selector = Selector::new(setup, &params.selections, context);
        let mut draft = PlanBuilder { selector, dt_ms: params.dt_ms(), items: vec![], known: HashMap::new() };
        draft.stimulus(params)?;
        let is_own = |v: &Intervention| v.enabled && v.effect.role() != Role::SetsParameter;
        for (i, intervention) in params.interventions.iter().enumerate().filter(|(_, v)| is_own(v)) {
            draft.intervention(params, i as u32 + 1, intervention).map_err(|e| named(i, intervention, e))?;
        }
        let items = draft.items;
        Ok(Self { items, patterns: PatternStimulus::new(params, setup, context.seed) })
    }

    /// Returns the plan of the same parameters with the draws of the seed in `context`. Queries are evaluated and files read again only
    /// if targets may be chosen at random. Fails as [`StimulusPlan::new`] does.
    pub fn reseeded(&self, params: &Params, setup: &Setup, context: &BuildContext) -> Result<Self, SimError> {
        if may_choose_at_random(params) {
            return Self::new(params, setup, context);
        }
        let mut plan = Self { patterns: PatternStimulus::new(params, setup, context.seed), ..self.clone() };
        for item in &mut plan.items {
            if let PlanAction::Train { train, .. } = &mut item.what {
                train.seed = context.seed;
            }
        }
        Ok(plan)
    }

    /// Whether the stimuli drive so few of `n` neurons that few are expected to be reached in a window.
    pub fn drives_few(&self, n: u32) -> bool {
        self.n_driven().saturating_mul(MIN_NEURONS_PER_DRIVEN) <= n.into()
    }

    /// Returns the sum over all stimuli of the number of neurons that they drive: an upper bound on the driven neurons.
    fn n_driven(&self) -> u64 {
        let driven = |item: &PlanItem| match &item.what {
            PlanAction::Train { lanes, .. } | PlanAction::Current { lanes, .. } => lanes.len() as u64,
            PlanAction::Kicks { kicks, .. } => kicks.len() as u64,
            PlanAction::Free { .. }
            | PlanAction::Weights { .. }
            | PlanAction::Close { .. }
            | PlanAction::Shuffle { .. } => 0,
        };
        self.items.iter().map(driven).sum()
    }

    /// Returns the stimuli that are active in a step, with the step of the next change.
    pub fn at<T: Real>(&self, step: u64, n: u32) -> ActiveStimuli<T> {
        let until = self.items.iter().map(|item| item.when.at(step).1).min().unwrap_or(u64::MAX);
        let mut now = ActiveStimuli {
            sources: vec![],
            gain_of: vec![],
            gains: vec![Gain::NONE],
            currents: vec![],
            driven: vec![],
            closed: vec![],
            until,
        };
        for item in self.items.iter().filter(|item| item.when.at(step).0) {
            now.add(&item.what, n as usize);
        }
        if let Some(patterns) = &self.patterns {
            patterns.add_to(&mut now, step);
        }
        now
    }

    /// Returns the change of weights before a step at which spans with shuffled weights begin, with the draws of `seed`; `None` in other
    /// steps.
    pub fn shuffle_before(&self, step: u64, seed: u64) -> Option<WeightEdit> {
        let begins = |when: &Schedule| when.at(step).0 && (step == 0 || !when.at(step - 1).0);
        let mut projections = vec![];
        for item in &self.items {
            if let PlanAction::Shuffle { projections: own } = &item.what
                && begins(&item.when)
            {
                projections.extend(own);
            }
        }
        let change = WeightChange::Shuffle(ShuffleDraws { seed, step });
        (!projections.is_empty()).then_some(WeightEdit { change, projections })
    }

    /// Returns the presented patterns; `None` if there are none.
    pub fn patterns(&self) -> Option<&Arc<PatternSchedule>> {
        self.patterns.as_ref().map(|of| &of.schedule)
    }
}

/// Whether the keyword of random choices is in any query of the parameters.
fn may_choose_at_random(params: &Params) -> bool {
    let targets = params.interventions.iter().map(|v| &v.target.0);
    let mut queries = targets.chain(params.selections.iter().map(|selection| &selection.query.0));
    queries.any(|query| query.to_ascii_lowercase().contains("random"))
}

fn named(i: usize, intervention: &Intervention, error: SimError) -> SimError {
    match error {
        SimError::Input(what) if intervention.name.trim().is_empty() => {
            SimError::Input(format!("stimulus {} ({}), {what}", i + 1, label(intervention.effect)))
        }
        SimError::Input(what) => SimError::Input(format!("stimulus {} `{}`, {what}", i + 1, intervention.name)),
        other => other,
    }
}

/// Adds the name of the field to an error.
fn field(name: &str, error: SimError) -> SimError {
    match error {
        SimError::Input(what) => SimError::Input(format!("{name}: {what}")),
        other => other,
    }
}

/// Returns the display name of a stimulus type.
fn label(effect: Effect) -> String {
    let (Value::Choice(i), ValueType::Choice(choices)) = (effect.to_value(), Effect::TYPE) else {
        return String::new();
    };
    choices.get(usize::from(i)).map_or_else(String::new, |choice| choice.label().into_owned())
}

impl<T: Real> ActiveStimuli<T> {
    fn add(&mut self, what: &PlanAction, n: usize) {
        match what {
            PlanAction::Train { train, lanes, weight_mv } => {
                self.sources.push(StimulusSource::Train {
                    train: train.clone(),
                    lanes: lanes.clone(),
                    weight: T::of(*weight_mv),
                });
            }
            PlanAction::Kicks { kicks, weight_mv } => {
                self.sources.push(StimulusSource::Kicks { kicks: kicks.clone(), weight: T::of(*weight_mv) });
            }
            PlanAction::Free { lanes } => mark(&mut self.driven, lanes, n),
            PlanAction::Close { lanes } => mark(&mut self.closed, lanes, n),
            PlanAction::Current { lanes, current_mv } => {
                self.currents.resize(n, T::ZERO);
                for lane in lanes.iter() {
                    let current = &mut self.currents[*lane as usize];
                    *current += T::of(*current_mv);
                }
            }
            PlanAction::Weights { lanes, gain } => self.add_gain(lanes, *gain, n),
            PlanAction::Shuffle { .. } => {}
        }
    }

    fn add_gain(&mut self, lanes: &[u32], gain: Gain, n: usize) {
        self.gain_of.resize(n, 0);
        let mut known: HashMap<u16, u16> = HashMap::new();
        for lane in lanes {
            let of = &mut self.gain_of[*lane as usize];
            *of = *known.entry(*of).or_insert_with(|| {
                let joint = self.gains[usize::from(*of)].and(gain);
                self.gains.push(joint);
                (self.gains.len() - 1) as u16
            });
        }
    }
}

fn mark(flags: &mut Vec<bool>, lanes: &[u32], n: usize) {
    flags.resize(n, false);
    lanes.iter().for_each(|lane| flags[*lane as usize] = true);
}

/// Builder of a plan.
struct PlanBuilder<'a> {
    selector: Selector<'a>,
    dt_ms: f64,
    items: Vec<PlanItem>,
    /// Cached results of queries.
    known: HashMap<String, Arc<[u32]>>,
}

impl PlanBuilder<'_> {
    fn stimulus(&mut self, params: &Params) -> Result<(), SimError> {
        let s = &params.stimulus;
        if !s.kicks.0.trim().is_empty() {
            self.kicks(&s.kicks.0, s.weight_mv, Schedule::ALWAYS)?;
        }
        if !s.poisson.0.trim().is_empty() {
            let path = self.selector.context.resolve(s.poisson.0.trim());
            let lanes: Arc<[u32]> =
                element_files::read_neurons(&path, &self.selector.set().ids, self.selector.set().len)?.into();
            self.train(Purpose::Stimulus, 0, s.rate_hz, s.weight_mv, &lanes, Schedule::ALWAYS);
            self.push(Schedule::ALWAYS, PlanAction::Free { lanes });
        }
        Ok(())
    }

    fn intervention(&mut self, params: &Params, stream: u32, v: &Intervention) -> Result<(), SimError> {
        let when = v.schedule(self.dt_ms).map_err(SimError::Input)?;
        if v.effect == Effect::ShuffleWeights {
            let projections = listed_projections(params, &v.projections)?;
            self.push(when, PlanAction::Shuffle { projections });
            return Ok(());
        }
        if v.effect == Effect::Kicks {
            if v.file.0.trim().is_empty() {
                let what =
                    "pulse file: none is chosen. Choose a CSV file with columns idx and step, or disable the stimulus";
                return Err(SimError::Input(what.to_owned()));
            }
            return self.kicks(&v.file.0, v.weight_mv, when).map_err(|e| field("pulse file", e));
        }
        if v.target.0.trim().is_empty() {
            let what =
                "target: it is empty. Enter a neuron group or a query, for example `all`, or disable the stimulus";
            return Err(SimError::Input(what.to_owned()));
        }
        let lanes = self.lanes(&v.target.0).map_err(|e| field("target", e))?;
        let gain = match v.effect {
            Effect::SilenceOutgoing | Effect::SilenceBoth => Gain { silent: true, ..Gain::NONE },
            Effect::ScaleWeights => Gain { factor: v.factor, ..Gain::NONE },
            Effect::SignOverride => Gain { sign: if v.sign == Sign::Excitatory { 1 } else { -1 }, ..Gain::NONE },
            _ => Gain::NONE,
        };
        match v.effect {
            Effect::Poisson => {
                self.train(Purpose::Stimulus, stream, v.rate_hz, v.weight_mv, &lanes, when);
                self.push(when, PlanAction::Free { lanes });
            }
            Effect::Noise => self.train(Purpose::Noise, stream, v.rate_hz, v.weight_mv, &lanes, when),
            Effect::Current => self.push(when, PlanAction::Current { lanes, current_mv: v.current_mv }),
            Effect::SilenceBoth => {
                self.push(when, PlanAction::Weights { lanes: lanes.clone(), gain });
                self.push(when, PlanAction::Close { lanes });
            }
            Effect::SilenceOutgoing | Effect::ScaleWeights | Effect::SignOverride => {
                self.push(when, PlanAction::Weights { lanes, gain });
            }
            Effect::Kicks | Effect::SetParameter | Effect::ShuffleWeights => {}
        }
        Ok(())
    }

    fn push(&mut self, when: Schedule, what: PlanAction) {
        self.items.push(PlanItem { when, what });
    }

    fn lanes(&mut self, query: &str) -> Result<Arc<[u32]>, SimError> {
        if let Some(lanes) = self.known.get(query) {
            return Ok(lanes.clone());
        }
        let lanes: Arc<[u32]> = self.selector.select(query)?.into();
        self.known.insert(query.to_owned(), lanes.clone());
        Ok(lanes)
    }

    fn kicks(&mut self, file: &str, weight_mv: f64, when: Schedule) -> Result<(), SimError> {
        let kicks = element_files::read_kicks(&self.selector.context.resolve(file.trim()), self.selector.set().len)?;
        let mut lanes: Vec<u32> = kicks.iter().map(|(_, lane)| *lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        self.push(when, PlanAction::Kicks { kicks: kicks.into(), weight_mv });
        self.push(when, PlanAction::Free { lanes: lanes.into() });
        Ok(())
    }

    fn train(
        &mut self,
        purpose: Purpose,
        stream: u32,
        rate_hz: f64,
        weight_mv: f64,
        lanes: &Arc<[u32]>,
        when: Schedule,
    ) {
        let chances = Chances::new(rate_hz * self.dt_ms * 1e-3);
        let train = Train { seed: self.selector.context.seed, address: address(purpose, stream), chances };
        self.push(when, PlanAction::Train { train, lanes: lanes.clone(), weight_mv });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::{Source, SpikingKind},
        sim::{Kind as _, Progress},
    };

    #[test]
    fn a_reseeded_plan_is_that_of_the_seed() {
        let mut params = Params::default();
        params.network.source = Source::Balanced;
        (params.network.n_neurons, params.network.in_degree) = (200, 5);
        let context = |seed| BuildContext { seed, ..BuildContext::default() };
        let setup = SpikingKind::prepare(&params, &context(1), &Progress::default()).expect("a network");
        let new = |params: &Params, seed| StimulusPlan::new(params, &setup, &context(seed)).expect("a plan");
        for target in ["idx = 3..9", "Random 9 of all"] {
            params.interventions = vec![Intervention { target: target.into(), ..Intervention::default() }];
            let got = new(&params, 1).reseeded(&params, &setup, &context(2)).expect("a plan");
            assert_eq!(format!("{got:?}"), format!("{:?}", new(&params, 2)), "{target}");
            assert_ne!(format!("{got:?}"), format!("{:?}", new(&params, 1)), "{target}");
        }
    }
}
