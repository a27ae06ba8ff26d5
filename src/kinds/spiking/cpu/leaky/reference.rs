//! Literal form of the definition in [`leaky`]: every unit, every step. Backends are tested against it bit for bit.

use crate::{
    data::Csr,
    kinds::spiking::{
        leaky::{self, Constants, NOISE, THRESHOLD},
        stimuli::{StimulusPlan, StimulusSource},
    },
    num::uniform::{signed_unit, word_of_step},
};

/// A network that is stepped unit by unit.
pub struct Reference<'a> {
    connectivity: &'a Csr,
    plan: &'a StimulusPlan,
    constants: Constants,
    seed: u64,
    v: Vec<f32>,
    spiked: Vec<u32>,
    step: u64,
}

impl<'a> Reference<'a> {
    /// Creates the network before step 0.
    pub fn new(connectivity: &'a Csr, plan: &'a StimulusPlan, constants: Constants, seed: u64) -> Self {
        let v = (0..connectivity.n()).map(|i| leaky::start(seed, i)).collect();
        Self { connectivity, plan, constants, seed, v, spiked: vec![], step: 0 }
    }

    /// Takes one step. Returns the units that spiked.
    pub fn step(&mut self) -> &[u32] {
        let now = self.plan.at::<f32>(self.step, self.connectivity.n());
        let mut sums = vec![0_i32; self.v.len()];
        for pre in &self.spiked {
            for (post, count) in self.connectivity.connections(*pre) {
                sums[post as usize] = sums[post as usize].wrapping_add(now.gain(*pre).apply(count));
            }
        }
        let kicks = self.kicks(&now.sources);
        self.spiked.clear();
        for i in 0..self.v.len() {
            let is_closed = now.closed.get(i).copied().unwrap_or(false);
            let (sum, kicks) = if is_closed { (0, 0.0) } else { (sums[i], kicks[i].unwrap_or(0.0)) };
            let current = now.currents.get(i).copied().unwrap_or(0.0);
            let unit = signed_unit(word_of_step(self.seed, NOISE, self.step, i as u32));
            let c = self.constants.w_unit * sum as f32;
            let c = c + (current + kicks);
            let c = c + unit * self.constants.amplitude;
            self.v[i] = self.constants.decay * self.v[i] + c;
            if self.v[i] >= THRESHOLD {
                self.v[i] = 0.0;
                self.spiked.push(i as u32);
            }
        }
        self.step += 1;
        &self.spiked
    }

    fn kicks(&self, sources: &[StimulusSource<f32>]) -> Vec<Option<f32>> {
        let mut kicks: Vec<Option<f32>> = vec![None; self.v.len()];
        let mut kick = |lane: u32, weight: f32| {
            let sum = &mut kicks[lane as usize];
            *sum = Some(sum.map_or(weight, |s| s + weight));
        };
        for source in sources {
            match source {
                StimulusSource::Train { train, lanes, weight } => {
                    lanes.iter().filter(|l| train.event(self.step, **l)).for_each(|l| kick(*l, *weight));
                }
                StimulusSource::Kicks { kicks, weight } => {
                    kicks.iter().filter(|(step, _)| *step == self.step).for_each(|(_, l)| kick(*l, *weight));
                }
            }
        }
        kicks
    }

    /// Returns the current v of every unit.
    pub fn states(&self) -> &[f32] {
        &self.v
    }
}
