//! Active stimuli in the layout of the kernels.

use super::{
    kernels::{Kick, KickSource, WeightGain},
    words::words,
};
use crate::{
    kinds::spiking::{
        constants::{Constants, Real},
        saved_state::mark,
        stimuli::{self, ActiveStimuli},
    },
    num::trains::TRAIN_STEPS,
};

/// Bound on inputs that cannot make a state non-finite: the sum of 10⁸ of them fits into single precision.
const MAX_BOUNDED_INPUT: f64 = 1e30;

/// A manual kick of one neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManualKick {
    /// Step in which the kick acts.
    pub step: u64,
    /// Index of the neuron.
    pub lane: u32,
    /// Weight of the kick, mV.
    pub weight: f64,
}

/// Active stimuli in the layout of the device.
#[derive(Debug, Default)]
pub struct DeviceStimuli {
    /// Sources of kicks, in the order in which their kicks are summed.
    pub sources: Vec<KickSource>,
    /// Event probabilities of each source, see [`Chances`](crate::num::trains::Chances).
    pub chances: Vec<u64>,
    /// Targets of each source, one bit per neuron, source by source.
    pub masks: Vec<u32>,
    /// Whether any neuron of a warp has a train, by warp.
    pub trains: Vec<u32>,
    /// Listed and manual kicks, sorted by step, neuron and source.
    pub kicks: Vec<Kick>,
    /// Index of each neuron's gain; empty if no weight is changed.
    pub gain_of: Vec<u16>,
    /// Distinct gains, see [`stimuli::Gain`].
    pub gains: Vec<WeightGain>,
    /// Flags of each neuron.
    pub marks: Vec<u32>,
    /// Current into each neuron, as words; empty without currents.
    pub currents: Vec<u32>,
}

impl DeviceStimuli {
    /// Converts active stimuli and manual kicks.
    pub fn new<T: Real>(stimuli: &ActiveStimuli<T>, manual: &[ManualKick], n: u32) -> Self {
        let warps = n.div_ceil(32) as usize;
        let chances = vec![0; stimuli.sources.len() * TRAIN_STEPS];
        let mut image = Self { trains: vec![0; warps], chances, ..Self::default() };
        for (at, source) in stimuli.sources.iter().enumerate() {
            let mut mask = vec![0_u32; warps];
            match source {
                stimuli::StimulusSource::Train { train, lanes, weight } => {
                    image.sources.push(KickSource {
                        weight: weight.wide(),
                        address: train.address,
                        draws: u32::from(!train.chances.is_never()),
                    });
                    image.chances[at * TRAIN_STEPS..(at + 1) * TRAIN_STEPS].copy_from_slice(&*train.chances.0);
                    if !train.chances.is_never() {
                        lanes.iter().for_each(|lane| mask[*lane as usize / 32] |= 1 << (lane % 32));
                    }
                }
                stimuli::StimulusSource::Kicks { kicks, weight } => {
                    image.sources.push(KickSource::default());
                    let weight = weight.wide();
                    let source = at as u32;
                    image.kicks.extend(kicks.iter().map(|(step, lane)| Kick {
                        step: *step,
                        weight,
                        lane: *lane,
                        source,
                    }));
                }
            }
            image.trains.iter_mut().zip(&mask).for_each(|(any, m)| *any |= u32::from(*m != 0));
            image.masks.extend(mask);
        }
        let source = image.sources.len() as u32;
        image.kicks.extend(manual.iter().map(|h| Kick { step: h.step, weight: h.weight, lane: h.lane, source }));
        image.kicks.sort_by_key(|k| (k.step, k.lane, k.source)); // stable: manual kicks in the order given
        image.set_gains(stimuli, n);
        image
    }

    fn set_gains<T: Real>(&mut self, stimuli: &ActiveStimuli<T>, n: u32) {
        if !stimuli.gain_of.is_empty() {
            self.gain_of.clone_from(&stimuli.gain_of);
            self.gains = stimuli.gains.iter().map(|g| gain(*g)).collect();
        }
        let flag = |flags: &[bool], i: usize, mark: u32| if flags.get(i) == Some(&true) { mark } else { 0 };
        let marks = |i| flag(&stimuli.closed, i, mark::CLOSED) | flag(&stimuli.driven, i, mark::DRIVEN);
        self.marks = (0..n as usize).map(marks).collect();
        self.currents = words(stimuli.currents.iter().copied()).collect();
    }

    /// Whether an input is large enough to make a state non-finite. If so, every step is checked, because the fast paths assume
    /// that states stay finite.
    pub fn may_overflow<T: Real>(&self, stimuli: &ActiveStimuli<T>, constants: &Constants<T>) -> bool {
        let weights = self.sources.iter().map(|s| s.weight).chain(self.kicks.iter().map(|k| k.weight));
        let currents = stimuli.currents.iter().map(|c| c.wide());
        let most_arrivals = constants.w_syn.wide() * f64::from(1_u32 << 31);
        let mut bounded = weights.chain(currents).chain([most_arrivals]).map(|input| input.abs() < MAX_BOUNDED_INPUT);
        !bounded.all(|is_bounded| is_bounded)
    }

    /// Returns the steps of all listed kicks, for planning.
    pub fn kick_steps(&self) -> Vec<u64> {
        self.kicks.iter().map(|k| k.step).collect()
    }
}

fn gain(gain: stimuli::Gain) -> WeightGain {
    WeightGain {
        factor: gain.factor,
        sign: gain.sign,
        silent: u32::from(gain.silent),
        changes: u32::from(gain != stimuli::Gain::NONE),
        pad: 0,
    }
}
