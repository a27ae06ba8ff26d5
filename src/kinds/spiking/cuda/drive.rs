//! Drives and lesions, as the kernels read them.

use super::{
    super::{
        layout::{Constants, Real},
        saved::mark,
        stimuli::{self, Situation},
    },
    kernels::{Gain, Kick, Source},
    words,
};
use crate::num::trains::STEPS;

/// Inputs below this leave a state a number: 10⁸ of them, one upon the other, find room in single precision.
const TAME: f64 = 1e30;

/// A kick by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// When.
    pub step: u64,
    /// Whom.
    pub lane: u32,
    /// mV.
    pub weight: f64,
}

/// A situation, ready to be copied to the device.
#[derive(Debug, Default)]
pub struct Image {
    /// In the order in which kicks are summed.
    pub sources: Vec<Source>,
    /// [`Chances`](crate::num::trains::Chances) of each source.
    pub chances: Vec<u64>,
    /// Who has which train: one bit per neuron, source by source.
    pub masks: Vec<u32>,
    /// Per warp: whether any of its neurons has a train.
    pub trains: Vec<u32>,
    /// Sorted by step, neuron, source.
    pub kicks: Vec<Kick>,
    /// The gain of each neuron; empty when no weight is touched.
    pub gain_of: Vec<u16>,
    /// See there.
    pub gains: Vec<Gain>,
    /// One per neuron.
    pub marks: Vec<u32>,
    /// Currents as words, one number per neuron.
    pub currents: Vec<u32>,
}

impl Image {
    /// Of a situation, with kicks by hand.
    pub fn new<T: Real>(situation: &Situation<T>, hand: &[Hand], n: u32) -> Self {
        let warps = n.div_ceil(32) as usize;
        let chances = vec![0; situation.sources.len() * STEPS];
        let mut image = Self { trains: vec![0; warps], chances, ..Self::default() };
        for (at, source) in situation.sources.iter().enumerate() {
            let mut mask = vec![0_u32; warps];
            match source {
                stimuli::Source::Train { train, lanes, weight } => {
                    image.sources.push(Source {
                        weight: weight.wide(),
                        address: train.address,
                        draws: u32::from(!train.chances.is_never()),
                    });
                    image.chances[at * STEPS..(at + 1) * STEPS].copy_from_slice(&*train.chances.0);
                    if !train.chances.is_never() {
                        lanes.iter().for_each(|lane| mask[*lane as usize / 32] |= 1 << (lane % 32));
                    }
                }
                stimuli::Source::Kicks { kicks, weight } => {
                    image.sources.push(Source::default());
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
        image.kicks.extend(hand.iter().map(|h| Kick { step: h.step, weight: h.weight, lane: h.lane, source }));
        image.kicks.sort_by_key(|k| (k.step, k.lane, k.source)); // stable: by hand in the order given
        image.lesions(situation, n);
        image
    }

    fn lesions<T: Real>(&mut self, situation: &Situation<T>, n: u32) {
        if !situation.gain_of.is_empty() {
            self.gain_of.clone_from(&situation.gain_of);
            self.gains = situation.gains.iter().map(|g| gain(*g)).collect();
        }
        let flag = |flags: &[bool], i: usize, mark: u32| if flags.get(i) == Some(&true) { mark } else { 0 };
        let marks = |i| flag(&situation.closed, i, mark::CLOSED) | flag(&situation.driven, i, mark::DRIVEN);
        self.marks = (0..n as usize).map(marks).collect();
        let current = |i: usize| situation.currents.get(i).copied().unwrap_or(T::ZERO);
        self.currents = words((0..n as usize).map(current)).collect();
    }

    /// Whether an input is so large that it may leave a state no number. Every step is looked at then: what is quick takes
    /// this for impossible.
    pub fn is_wild<T: Real>(&self, situation: &Situation<T>, constants: &Constants<T>) -> bool {
        let weights = self.sources.iter().map(|s| s.weight).chain(self.kicks.iter().map(|k| k.weight));
        let currents = situation.currents.iter().map(|c| c.wide());
        let most_arrivals = constants.w_syn.wide() * f64::from(1_u32 << 31);
        let mut tame = weights.chain(currents).chain([most_arrivals]).map(|input| input.abs() < TAME);
        !tame.all(|is_tame| is_tame)
    }

    /// The steps of the listed kicks, for planning.
    pub fn kick_steps(&self) -> Vec<u64> {
        self.kicks.iter().map(|k| k.step).collect()
    }
}

fn gain(gain: stimuli::Gain) -> Gain {
    Gain {
        factor: gain.factor,
        sign: gain.sign,
        silent: u32::from(gain.silent),
        changes: u32::from(gain != stimuli::Gain::NONE),
        pad: 0,
    }
}
