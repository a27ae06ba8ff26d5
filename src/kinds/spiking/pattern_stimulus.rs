//! Presented patterns as stimuli: a train of voltage pulses for each level of the pixels.

use super::{
    constants::Real,
    general::{
        InputSource, PatternInput,
        patterns::schedule::{LEVELS, PatternSchedule},
    },
    params::{Params, Source},
    setup::Setup,
    stimuli::{ActiveStimuli, StimulusSource},
};
use crate::num::{
    rng::Purpose,
    trains::{Chances, Train, address},
};
use std::sync::Arc;

/// Patterns of a network, with the trains of their levels.
#[derive(Clone, Debug)]
pub struct PatternStimulus {
    /// Pattern of each presentation.
    pub schedule: Arc<PatternSchedule>,
    /// Trains of the levels from 1 to [`LEVELS`].
    trains: Vec<Train>,
    weight_mv: f64,
}

/// Returns the parameters of the presented patterns; `None` if no input presents any.
pub fn parameters(params: &Params) -> Option<&PatternInput> {
    if params.network.source != Source::Rules {
        return None;
    }
    params.external_inputs.iter().find_map(|input| match &input.source {
        InputSource::Patterns(of) => Some(of),
        _ => None,
    })
}

impl PatternStimulus {
    /// Creates the stimulus of a seed; `None` if no input presents patterns.
    pub fn new(params: &Params, setup: &Setup, seed: u64) -> Option<Self> {
        let schedule = setup.rules().ok()?.patterns(seed)?;
        let of = parameters(params)?;
        let train = |level: u8| {
            let rate = of.rate * f64::from(level) / f64::from(LEVELS);
            let chances = Chances::new(rate * params.dt_ms() * 1e-3);
            Train { seed, address: address(Purpose::PatternSpikes, 0), chances }
        };
        Some(Self { schedule, trains: (1..=LEVELS).map(train).collect(), weight_mv: of.weight_mv })
    }

    /// Adds the pattern of a step to active stimuli, and the step of the next change.
    pub fn add_to<T: Real>(&self, now: &mut ActiveStimuli<T>, step: u64) {
        let plan = &self.schedule.plan;
        let (presentation, at) = (step / plan.each, step % plan.each);
        let Some(levels) = self.schedule.levels(presentation) else { return };
        let is_on = at < plan.present;
        let end = presentation * plan.each + if is_on { plan.present } else { plan.each };
        now.until = now.until.min(end);
        if !is_on {
            return;
        }
        for (train, level) in self.trains.iter().zip(1..) {
            let lanes = plan.neurons.clone().zip(&levels).filter(|(_, of)| **of == level).map(|(lane, _)| lane);
            let (lanes, train) = (lanes.collect(), train.clone());
            now.sources.push(StimulusSource::Train { train, lanes, weight: T::of(self.weight_mv) });
        }
    }
}
