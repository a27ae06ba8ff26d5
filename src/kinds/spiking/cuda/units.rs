//! Noisy leaky units on the GPU: what differs from the exponential neurons. [`leaky`](crate::kinds::spiking::leaky) is
//! the definition.

use super::{
    CudaSim,
    kernels::{UnitKernels, Units},
    state,
};
use crate::{
    gpu::{Cell, Gpu, GpuError},
    kinds::spiking::{
        Params,
        cpu::leaky::state as saved,
        layout::Real,
        leaky::{self, NOISE, mean_count},
        setup::Setup,
    },
    sim::SimError,
};
use std::sync::Arc;

/// Kernels and constants of the units.
pub struct UnitStep {
    pub kernels: UnitKernels,
    pub constants: Cell<Units>,
    mean_count: f64,
}

impl UnitStep {
    pub fn new(gpu: &Arc<Gpu>, params: &Params, setup: &Setup) -> Result<Self, GpuError> {
        let mean_count = mean_count(&setup.wiring);
        let constants = Cell::new(gpu, "constants of the units", constants(params, mean_count))?;
        Ok(Self { kernels: UnitKernels::load(gpu)?, constants, mean_count })
    }

    /// Takes up parameters as they are now.
    pub fn derive(&mut self, params: &Params) -> Result<(), GpuError> {
        self.constants.set(constants(params, self.mean_count))
    }
}

fn constants(params: &Params, mean_count: f64) -> Units {
    let c = params.leaky.derive(mean_count);
    Units { w_unit: c.w_unit, amplitude: c.amplitude, decay: c.decay, noise: NOISE }
}

/// v before step 0, as words.
pub fn start(seed: u64, n: u32) -> Vec<u32> {
    (0..n).map(|i| leaky::start(seed, i).to_bits()).collect()
}

impl<T: Real> CudaSim<T> {
    /// v of every unit.
    pub fn unit_potentials(&self) -> Result<Vec<f32>, SimError> {
        let words = self.memory.states.read_range(0..self.desk.setup.n() as usize)?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    pub(super) fn save_units(&self) -> Result<Vec<u8>, SimError> {
        let v = self.unit_potentials()?;
        let (now, sent) = (self.desk.step, self.desk.step.checked_sub(1));
        let last = self.desk.meter.running.iter().map(|r| {
            let ago = (now as u32).wrapping_sub(r.step);
            if r.hz > 0.0 { now - u64::from(ago) } else { saved::NEVER }
        });
        let in_flight = match sent {
            Some(sent) => state::in_flight(self)?.remove(&sent).unwrap_or_default(),
            None => vec![],
        };
        let by_hand: Vec<(u32, f32)> = self.desk.by_hand.iter().map(|(i, w)| (*i, w.wide() as f32)).collect();
        let dt_ms = self.desk.params.dt_ms();
        Ok(saved::compose(dt_ms, now, &v, last, &in_flight, &by_hand, &self.desk.meter))
    }

    pub(super) fn load_units(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        let saved = saved::parse(self.desk.setup.n(), self.desk.params.dt_ms(), bytes)?;
        self.memory.clear()?;
        let v: Vec<u32> = saved.v.iter().map(|v| v.to_bits()).collect();
        self.memory.states.write_at(0, &v)?;
        let sent = saved.step.checked_sub(1).map(|sent| (sent, saved.in_flight));
        self.put_on_their_way(sent.as_slice(), saved.step)?;
        self.desk.step = saved.step;
        self.desk.by_hand = saved.by_hand.into_iter().map(|(i, w)| (i, T::of(f64::from(w)))).collect();
        self.desk.stale = true;
        self.desk.meter.resume(saved.counted, saved.step);
        Ok(())
    }
}
