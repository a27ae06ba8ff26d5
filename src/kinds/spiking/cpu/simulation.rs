//! The promises of [`Simulation`].

use super::{CpuSim, neuron::FIRED, state};
use crate::{
    gpu::Pass,
    kinds::spiking::{
        layout::Real,
        probes::{self, ACTIONS, PROBES},
        stimuli::Plan,
    },
    params::{Apply, Change, Params as _, Value},
    sim::{Action, Clock, Digest, Effect, ElementSet, Frame, ProbeId, ProbeSpec, Reading, SimError, Simulation, Tap},
};
use std::sync::Arc;

impl<T: Real> Simulation for CpuSim<T> {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        if probe == probes::CLASS_RATES { self.meter.class_names() } else { vec![] }
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn clock(&self) -> Clock {
        Clock { step: self.step, secs_per_step: self.params.lif.dt * 1e-3 }
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let mut new = self.params.clone();
        if !new.set(change) {
            return Err(SimError::Input(format!("no such parameter, or not its kind of value: {change:?}")));
        }
        if let Some(spec) = new.spec(change.id) {
            if !spec.admits(&change.value) {
                let path = new.path(change.id);
                return Err(SimError::Input(format!("{path} takes {} to {}", spec.hard.0, spec.hard.1)));
            }
            if spec.apply == Apply::Rebuild {
                return Ok(if new == self.params { Effect::Applied } else { Effect::NeedsRebuild });
            }
        }
        let old = &self.params;
        if new.measure != old.measure {
            if new.measure.group_by != old.measure.group_by {
                self.meter.check_column(&new.measure.group_by)?;
            }
            self.meter.configure(&new.measure, self.step);
        }
        if (&new.stimulus, &new.selections, &new.interventions) != (&old.stimulus, &old.selections, &old.interventions)
        {
            self.plan = Plan::new(&new, &self.setup.neurons, &self.scene)?;
            self.stale = true;
        }
        if new.lif != old.lif {
            let shift = T::of(old.lif.v_rest - new.lif.v_rest);
            for part in &mut self.parts {
                part.cells.rebase(self.step as u32, shift, &self.constants);
            }
            self.constants = new.lif.derive();
            self.refile();
        }
        self.params = new;
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let [Value::Real(weight_mv)] = action.values[..] else {
            return Err(SimError::Input(format!("{} takes one number, the weight in mV", ACTIONS[0].name)));
        };
        if action.name != ACTIONS[0].name {
            return Err(SimError::Input(format!("there is no action `{}`; there is {}", action.name, ACTIONS[0].name)));
        }
        if !weight_mv.is_finite() {
            return Err(SimError::Input("kick: weight_mv must be a finite number".to_owned()));
        }
        if let Some(beyond) = action.elements.iter().find(|i| **i >= self.setup.n()) {
            return Err(SimError::Input(format!("kick: there is no neuron {beyond}")));
        }
        self.by_hand.extend(action.elements.iter().map(|i| (*i, T::of(weight_mv))));
        Ok(())
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.meter.tap(taps, self.step)?;
        for part in &mut self.parts {
            let range = part.range();
            let mine = self.meter.traced.iter().filter(|i| range.contains(i));
            part.traced = mine.map(|i| i - range.start).collect();
        }
        Ok(())
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for probe in self.meter.taps() {
            let reading = match probe {
                probes::SPIKES => Reading::Spikes(self.meter.take_spikes()),
                probes::LAST_SPIKE => Reading::Field(self.last_spikes()),
                probes::RATE_FIELD => Reading::Field(self.meter.running_rates(self.step)),
                probes::V_FIELD => Reading::Field(self.potentials()),
                _ => match self.meter.take_series(probe) {
                    Some(series) => Reading::Series(series),
                    None => continue,
                },
            };
            frame.readings.push((probe, reading));
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        Ok(state::write(self))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        state::read(self, bytes)
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.step = 0;
        self.by_hand.clear();
        self.parts.iter_mut().for_each(super::part::Part::rewind);
        self.rings.iter_mut().for_each(super::ring::Ring::clear);
        self.meter.rewind();
        self.stale = true;
        self.refile();
        Ok(())
    }

    fn digest(&self) -> Digest {
        self.meter.digest()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        let (neurons, lists) =
            self.parts.iter().map(super::part::Part::n_bytes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        vec![
            ("wiring", self.setup.wiring.n_bytes() + self.split.n_bytes()),
            ("neurons", neurons),
            ("arrivals and calendar", lists),
            ("spikes in flight", self.rings.iter().map(super::ring::Ring::n_bytes).sum()),
            ("measurements", self.meter.n_bytes()),
            ("names and places", self.setup.neurons.n_bytes()),
        ]
    }
}

impl<T: Real> CpuSim<T> {
    /// Milliseconds since each neuron's last spike, -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let now = (self.step as u32).wrapping_sub(1);
        let dt = self.params.lif.dt;
        let age = |n: &super::neuron::Neuron<T>| {
            if n.is(FIRED) { (f64::from(now.wrapping_sub(n.last_spike)) * dt) as f32 } else { -1.0 }
        };
        self.parts.iter().flat_map(|p| p.cells.neurons.iter().map(age)).collect()
    }

    /// v of every neuron, mV.
    fn potentials(&self) -> Vec<f32> {
        let v = |u: T| (self.constants.v_rest + u.wide()) as f32;
        let of = |p: &super::part::Part<T>, i| v(p.cells.state_of(i, self.step as u32, &self.constants).0);
        self.parts.iter().flat_map(|p| (0..p.cells.neurons.len()).map(move |i| of(p, i))).collect()
    }

    /// u and g of every neuron, mV, exactly: for tests and comparisons of backends.
    pub fn states(&self) -> Vec<(f64, f64)> {
        let of = |p: &super::part::Part<T>, i| {
            let (u, g) = p.cells.state_of(i, self.step as u32, &self.constants);
            (u.wide(), g.wide())
        };
        self.parts.iter().flat_map(|p| (0..p.cells.neurons.len()).map(move |i| of(p, i))).collect()
    }
}
