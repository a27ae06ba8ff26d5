//! Noisy leaky units on the GPU: the differences from LIF neurons. [`leaky`](crate::kinds::spiking::leaky) is the definition.

use super::{
    CudaSim,
    kernels::{LeakyConstants, LeakyKernels},
    state,
};
use crate::{
    buffers,
    gpu::{Cell, Gpu, GpuError},
    kinds::spiking::{
        constants::Real,
        cpu::leaky::state as saved,
        leaky::{self, NOISE, mean_count},
        params::Params,
        setup::Setup,
    },
    sim::{SimError, Snapshot},
};
use std::sync::Arc;

buffers! {
    /// Kernels and constants of leaky units.
    pub struct LeakyDevice(gpu: Arc<Gpu>, _sizes: ()) {
        "neurons" {
            /// Constants of the model.
            pub constants: Cell<LeakyConstants> = Derived "constants of the units" 1;
        }
        plain {
            pub kernels: LeakyKernels = LeakyKernels::load(gpu)?;
            /// Mean number of synapses per connection.
            mean_count: f64 = 0.0;
        }
    }
}

impl LeakyDevice {
    /// Applies a network and its parameters.
    pub fn start(&mut self, params: &Params, setup: &Setup) -> Result<(), GpuError> {
        self.mean_count = mean_count(&setup.connectivity);
        self.derive(params)
    }

    /// Applies current parameters.
    pub fn derive(&mut self, params: &Params) -> Result<(), GpuError> {
        self.constants.set(constants(params, self.mean_count))
    }
}

fn constants(params: &Params, mean_count: f64) -> LeakyConstants {
    let c = params.leaky.derive(mean_count);
    LeakyConstants { w_unit: c.w_unit, amplitude: c.amplitude, decay: c.decay, noise: NOISE }
}

/// Returns the potential v of every unit before step 0, as words.
pub fn start(seed: u64, n: u32) -> Vec<u32> {
    (0..n).map(|i| leaky::start(seed, i).to_bits()).collect()
}

impl<T: Real> CudaSim<T> {
    /// Returns the potential v of every unit.
    pub fn leaky_potentials(&self) -> Result<Vec<f32>, SimError> {
        let words = self.memory.states.read_range(0..self.host.setup.n() as usize)?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    pub(super) fn save_leaky(&self) -> Result<Snapshot, SimError> {
        let v = self.leaky_potentials()?;
        let (now, sent) = (self.host.step, self.host.step.checked_sub(1));
        let last = self.host.measurements.running.iter().map(|r| {
            let ago = (now as u32).wrapping_sub(r.step);
            if r.hz > 0.0 { now - u64::from(ago) } else { saved::NEVER }
        });
        let in_flight = match sent {
            Some(sent) => state::in_flight(self)?.remove(&sent).unwrap_or_default(),
            None => vec![],
        };
        let manual_kicks: Vec<(u32, f32)> = self.host.manual_kicks.iter().map(|(i, w)| (*i, w.wide() as f32)).collect();
        let dt_ms = self.host.params.dt_ms();
        Ok(saved::compose(dt_ms, now, v, last.collect(), in_flight, &manual_kicks, &self.host.measurements))
    }

    pub(super) fn load_leaky(&mut self, from: &Snapshot) -> Result<(), SimError> {
        let saved = saved::parse(self.host.setup.n(), self.host.params.dt_ms(), from)?;
        self.memory.clear()?;
        let v: Vec<u32> = saved.v.iter().map(|v| v.to_bits()).collect();
        self.memory.states.write_at(0, &v)?;
        let sent = saved.step.checked_sub(1).map(|sent| (sent, saved.in_flight));
        self.queue_spikes(sent.as_slice(), saved.step)?;
        self.host.step = saved.step;
        self.host.manual_kicks = saved.manual_kicks.into_iter().map(|(i, w)| (i, T::of(f64::from(w)))).collect();
        self.host.stimuli_changed = true;
        self.host.measurements.resume(saved.counted, saved.step);
        Ok(())
    }
}
